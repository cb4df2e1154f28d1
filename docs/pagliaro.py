"""Make the files of data/published that come from the repository of Pagliaro (2026).

usage: python docs/pagliaro.py cognitive-biases-llm-main.zip [read_again.csv]

With a second name it writes one table: every answer word by word, as we read it and as the
published code read it. Without one it writes pagliaro.parquet (the outcome of every answer),
pagliaro_items.parquet (the prompts without their texts) and pagliaro_refusals.csv (refusals that
the published code read as A and how many of them still would be without articles).
Run it again when the reader of answers changes.
The hashes in pagliaro_answers.csv and pagliaro_prompts.json do not depend on the reader; what is
read has to have them.

Prompts stand in two Python files of the repository, which are parsed and never run. Options are
found in the texts of the prompts, as *(A) a sure gain* or *Plan A: ...*.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from cogbias.exchange.published_answers import ABOUT, COLUMNS
from cogbias.exchange.rows import files_of
from cogbias.kits.published import PublishedPair, pairs_of
from cogbias.participants import answer_from_text
from cogbias.tables import item_table, option, save_table

PLACE = Path(__file__).parents[1] / "data" / "published"
BIASES = ABOUT["pagliaro"]["biases"]
CONDITIONS = ("control", "treatment")
BASELINE = "baseline"
MODELS = {
    "gpt-4.1-mini": "gpt-4.1-mini",
    "claude-3.5-sonnet": "claude-sonnet-4-20250514",
    "gemini-2.5-flash": "gemini-2.5-flash",
    "mistral-large": "mistral-large-latest",
    "deepseek-v3-together": "deepseek-ai/DeepSeek-V3",
    "minimax-m2.5": "MiniMaxAI/MiniMax-M2.5",
    "llama-3.3-70b": "llama-3.3-70b-versatile",
    "llama-3.1-8b": "llama-3.1-8b-instant",
}  # name in the files -> model that was configured
TEMPERATURE = 0.7
WITHOUT_TEXT = {
    "no_response": "published without a text",
    "error": "published as a transport error, not as an answer",
}  # status -> what stands in the archive instead of an answer
TYPES = {"repeat": "int16", "temperature": "float64", "value": "float64"}
TYPES |= {"published_value": "float64"}
ARTICLES = {
    "without_article": re.compile(r"\ba\b"),
    "without_capital": re.compile(r"\ba\b|(?:^|(?<=[.!?] ))A(?= )"),  # A that begins a sentence
}  # column of counts -> what is taken out of the text
LEFT_OUT = "overconfidence"


# -- prompts ---------------------------------------------------------------------------------------

_RANGES_OF_PAIRS = {
    "framing_v4": (1, 10),
    "framing_v5": (1, 10),
    "primacy_v2": (1, 10),
    "primacy_v3": (1, 5),
}


@cache
def pairs() -> Mapping[str, tuple[str, Any]]:
    "Name of a pair of prompts -> its bias, and what its paradigm declares of it."
    return {
        pair.name: (bias, pair)
        for bias, name in BIASES.items()
        for pair in pairs_of(f"published/pagliaro_{name}")
    }


class Question(NamedTuple):
    "A pair of prompts, as it was asked in one arm."

    name: str
    arm: str  # baseline, or what was added to the prompts
    prompts: Mapping[str, str]  # condition -> text
    options: Mapping[str, Sequence[Mapping[str, str]]]  # condition -> label and text, in order


def _role(pair: PublishedPair, label: str) -> str:
    "The role of an option."
    if pair.roles is not None:
        return pair.roles[label]
    return "target" if label == pair.target else "other"


def _item_row(question: Question, condition: str) -> dict[str, Any]:
    "A prompt as a row of an items table."
    _, pair = pairs()[question.name]
    offered = question.options[condition] if pair.target is not None else ()
    shown = [option(each["label"], each["text"], _role(pair, each["label"])) for each in offered]
    row = {
        "condition": condition,
        "pair_id": question.name if question.arm == BASELINE else f"{question.name}+{question.arm}",
        "cluster": question.name,
        "stratum": pair.stratum,
        "prompt": question.prompts[condition],
        "options": shown,
        "answer": pair.stratum,
        "content": {"kind": "published", "source": "pagliaro", "set": question.name},
        "arm": question.arm,
        **pair.factors(),
    }
    if pair.target is not None:
        row["target_position"] = [each["label"] for each in shown].index(pair.target) + 1
    if question.name in _RANGES_OF_PAIRS:
        row["lowest"], row["highest"] = _RANGES_OF_PAIRS[question.name]
    return row


def items_of(questions: Iterable[Question]) -> dict[str, pd.DataFrame]:
    "Paradigm -> items, those of the baseline first."
    rows: dict[str, list[dict]] = {}
    for each in sorted(questions, key=lambda each: (each.arm != BASELINE, each.arm)):
        mine = rows.setdefault(f"published/pagliaro_{BIASES[pairs()[each.name][0]]}", [])
        mine += (_item_row(each, condition) for condition in CONDITIONS)
    return {name: item_table(name, each) for name, each in sorted(rows.items())}


def by_prompt(items: Mapping[str, pd.DataFrame]) -> dict[tuple[str, str, str], dict[str, Any]]:
    "Arm, pair and condition -> the item."
    rows = (row for table in items.values() for row in table.to_dict("records"))
    return {(row["arm"], row["content_set"], row["condition"]): row for row in rows}


_TEXT_IS_ELSEWHERE = (
    "[{name}, {condition}, {arm}: the text is in the published archive, doi "
    "10.5281/zenodo.20406397, CC BY 4.0]"
)


def _bare_question(name: str, arm: str) -> Question:
    "A pair of prompts without its texts."
    bias, _ = pairs()[name]
    texts = {
        each: _TEXT_IS_ELSEWHERE.format(name=name, condition=each, arm=arm) for each in CONDITIONS
    }
    letters = {"control": "AB", "treatment": "ACB" if bias == "decoy_effect" else "AB"}
    offered = {
        each: [{"label": letter, "text": f"option {letter}"} for letter in letters[each]]
        for each in CONDITIONS
    }
    return Question(name, arm, texts, offered)


def items_without_texts(
    asked: Iterable[tuple[str, str]],  # arms and pairs of prompts, in the order of their answers
) -> pd.DataFrame:
    "The items of all paradigms, without their texts."
    present = {*asked}
    arms = dict.fromkeys(arm for arm, _ in asked)
    bare = (_bare_question(name, arm) for arm in arms for name in pairs() if (arm, name) in present)
    return pd.concat(items_of(bare).values(), ignore_index=True)


# -- what the published code read ------------------------------------------------------------------
# It takes the first label that stands alone in the first 50 characters, A before B; else the first
# that stands alone anywhere. Of numbers it takes the first, and knows million and billion.

EARLY_IN_RESPONSE = 50  # characters
FACTOR_OF_WORD = {"million": 1e6, "billion": 1e9}


def published_choice(
    response: str,  # as stored
    labels: Sequence[str],  # that the published code tried, in its order
) -> str | None:  # a label; None where it found none
    "The letter that the published code read."
    text = response.strip().upper()
    if text in labels:
        return text
    for label in labels:
        found = re.search(rf"\b{label}\b|{label}\)|{label}\.", text)
        if found and found.start() < EARLY_IN_RESPONSE:
            return label
    alone = [
        (found.start(), label) for label in labels if (found := re.search(rf"\b{label}\b", text))
    ]
    return min(alone)[1] if alone else None


def published_number(
    response: str,  # as stored
) -> float | None:  # None where it found none
    "The number that the published code read."
    large = re.search(r"([\d,.]+)\s*(million|billion)", response, re.I)
    if large and re.fullmatch(r"\d*\.?\d*", plain := large[1].replace(",", "")) and plain != ".":
        return float(plain) * FACTOR_OF_WORD[large[2].lower()]
    found = re.search(r"-?\d+\.?\d*", re.sub(r"[, %]", "", response))
    return float(found[0]) if found else None


def published_reading(
    name: str,  # of the pair of prompts
    response: str,  # as stored
) -> tuple[str | None, float | None]:  # choice and value
    "What the published code read from an answer."
    bias, pair = pairs()[name]
    if response == "" or response.startswith("ERROR"):
        return None, None
    if pair.target is None:
        return None, published_number(response)
    return published_choice(response, "ABC" if bias == "decoy_effect" else "AB"), None


# -- the repository --------------------------------------------------------------------------------

SOURCES = ("code/biases.py", "code/debiasing.py")  # prompts, and what the arms add
ARMS = ("D1_cot", "D3_counter", "D4_role")
OPTION_IN_BRACKETS = re.compile(
    r"""
    \(([ABC])\)\s          # (A)
    ([^()]+?)              # what it says
    (?= ,?\ or\ \(         # up to the next option
      | ,\ \(
      | [.?](?:\ |$)       # or the end of the sentence
    )
""",
    re.VERBOSE,
)
DESCRIBED_OPTION = re.compile(
    r"""
    \b[A-Z]\w+\ ([ABC]):\   # Plan A:
    (.+?)\.                 # a sentence; a number may have a point
    (?=\ [A-Z])             # up to the next sentence
""",
    re.VERBOSE,
)


def plain_values(source: bytes) -> Iterator[tuple[str, Any]]:
    "What names are given plain values in a Python file."
    for each in ast.parse(source).body:
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            try:
                yield each.targets[0].id, ast.literal_eval(each.value)
            except ValueError:  # something that would have to be run
                continue


def options_in(prompt: str) -> list[dict[str, str]]:
    "The options that a prompt offers, in its order."
    found = OPTION_IN_BRACKETS.findall(prompt) or DESCRIBED_OPTION.findall(prompt)
    return [{"label": label, "text": text} for label, text in found]


def read_questions(files: Mapping[str, bytes]) -> dict[tuple[str, str], Question]:
    "Pair and arm -> its prompts."
    sources = [
        next(data for name, data in files.items() if name.endswith(each)) for each in SOURCES
    ]
    strategies = dict(plain_values(sources[1]))
    found = {}
    for _, told in plain_values(sources[0]):
        bias = told.get("name") if isinstance(told, dict) else None
        for each in told["variants"] if bias in BIASES else ():
            before = {
                BASELINE: "",
                ARMS[0]: "",
                ARMS[1]: strategies["COUNTER_PROMPTS"].get(bias, "") + "\n\n",
                ARMS[2]: strategies["ROLE_PROMPT"] + "\n\n",
            }
            for arm, first in before.items():
                last = "\n\nLet's think step by step." if arm == ARMS[0] else ""
                texts = {condition: first + each[condition] + last for condition in CONDITIONS}
                offered = {condition: options_in(each[condition]) for condition in CONDITIONS}
                found[each["id"], arm] = Question(each["id"], arm, texts, offered)
    return found


class Answers(NamedTuple):
    "The answers of one model, in one arm, to one prompt."

    model: str
    arm: str
    name: str  # of the pair of prompts
    condition: str
    responses: Sequence[str]

    @property
    def hash(self) -> str:
        "What the answers are recognised by."
        return hashlib.sha256(json.dumps(list(self.responses)).encode()).hexdigest()[:16]


def read_answers(files: Mapping[str, bytes]) -> list[Answers]:
    "The answers of all files, but for questions for an interval."
    found = []
    for name, data in files.items():
        if not (name.endswith(".json") and "raw_responses/" in name):
            continue
        told = json.loads(data)
        for each in told["variants"] if told["bias_name"] != LEFT_OUT else ():
            lists = [each[f"{condition}_responses"] for condition in CONDITIONS]
            who = told["model_name"], told["strategy"], each["variant_id"]
            found += (Answers(*who, *pair) for pair in zip(CONDITIONS, lists))
    return found


HASHES = "pagliaro_answers.csv"  # hashes of the published answers
PROMPTS = "pagliaro_prompts.json"  # ids of the published prompts


def check(items: Mapping[str, pd.DataFrame], answers: Sequence[Answers]) -> None:
    "Refuse prompts and answers that are not those that were published."
    known = json.loads((PLACE / PROMPTS).read_text(encoding="utf-8"))
    for row in pd.concat(items.values()).itertuples():
        name = f"{row.content_set}, {row.condition}, {row.arm}"
        if known.get(name) != row.item_id:
            raise ValueError(f"prompt {name} is not the published one")
    published = pd.read_csv(PLACE / HASHES, dtype=str)
    of_prompt = {tuple(row[:4]): row[-1] for row in published.itertuples(index=False)}
    for each in answers:
        if of_prompt.get(each[:4]) != each.hash:
            raise ValueError(f"the answers of {' '.join(each[:4])} are not the published ones")


def in_order(each: Answers) -> tuple[str, str]:
    "By participant, then by paradigm."
    arm = "" if each.arm == BASELINE else f"+{each.arm}"
    return f"{each.model}{arm}", BIASES[pairs()[each.name][0]]


def rows_of(archive: Path | str) -> pd.DataFrame:
    "One row per answer: its outcome, the published one, and its text."
    files = files_of(archive)
    answers, questions = read_answers(files), read_questions(files)
    of_arm = {(each.arm, pairs()[each.name][0]) for each in answers}
    of_arm |= {(BASELINE, bias) for bias in BIASES}
    items = items_of(
        each for each in questions.values() if (each.arm, pairs()[each.name][0]) in of_arm
    )
    check(items, answers)
    bare = items_without_texts([(each.arm, each.name) for each in answers])
    ids = dict(zip(zip(bare["arm"], bare["content_set"], bare["condition"]), bare["item_id"]))
    item_of, rows = by_prompt(items), []
    for each in sorted(answers, key=lambda each: in_order(each)):
        item = item_of[each.arm, each.name, each.condition]
        is_choice = item["answer"] == "choice"
        for repeat, response in enumerate(each.responses):
            failed = response.startswith("ERROR")
            answer = None if failed else answer_from_text(item, response)
            choice, value = published_reading(each.name, response)
            status = "error" if failed else answer.status
            row = {
                "paradigm": item["paradigm"],
                "participant": in_order(each)[0],
                "model": MODELS[each.model],
                "temperature": TEMPERATURE,
                "item_id": ids[each.arm, each.name, each.condition],
                "repeat": repeat,
                "status": status,
                "choice": answer.choice if answer else None,
                "value": answer.value if not is_choice and answer else None,
                "detail": WITHOUT_TEXT.get(status, TEXT_ELSEWHERE),
                "published_choice": choice,
                "published_value": value,
                "arm": each.arm,
                "content_set": each.name,
                "condition": each.condition,
            }
            rows.append(row | {"response": None if failed else answer.response})
    return pd.DataFrame(rows)


TEXT_ELSEWHERE = "the text of the answer is in the published archive"


def refusals(rows: pd.DataFrame) -> pd.DataFrame:
    "Refusals that were read as A, prompt by prompt, and how many still would without articles."
    mine = rows[(rows["status"] == "refusal") & (rows["published_choice"] == "A")].copy()
    mine["read_as_a"] = 1
    for column, words in ARTICLES.items():
        again = [published_choice(words.sub("", text), "AB") for text in mine["response"]]
        mine[column] = [int(each == "A") for each in again]
    mine["model"] = mine["participant"].str.partition("+")[0]
    places = ["model", "arm", "content_set", "condition"]
    return mine.groupby(places, as_index=False)[["read_as_a", *ARTICLES]].sum()


def main(archive: str, table: str = "") -> None:
    "Write one table of everything, or the files that ship."
    rows = rows_of(archive)
    if table:
        rows.to_csv(table, index=False)
        return
    kinds = {name: TYPES.get(name, "category") for name in COLUMNS}
    shown = rows.drop(columns="response").reindex(columns=COLUMNS).astype(kinds)
    shown.to_parquet(PLACE / "pagliaro.parquet", index=False)
    asked = [*zip(rows["arm"], rows["content_set"])]
    save_table(items_without_texts(asked), PLACE / "pagliaro_items.parquet")
    refusals(rows).to_csv(PLACE / "pagliaro_refusals.csv", index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
