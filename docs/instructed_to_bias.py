"""Make data/published/instructed_to_bias.parquet: what the published records of Itzhak et al. are.

usage: python docs/instructed_to_bias.py Data.zip

Each record of the zip file becomes an item with the factors of `choice/decoy`, `choice/certainty`
or `logic/belief`, read off its fields; the same item in several files becomes one row. The table
has everything but the prompts, which an import takes from the published file. It ends by printing
the hash of the item ids that `cogbias.exchange.instructed_to_bias` compares with.
"""

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from cogbias.design import SOURCE_COLUMNS, with_typed_factors
from cogbias.exchange.instructed_to_bias import FINDINGS, KNOWN, PACKED
from cogbias.exchange.rows import files_of
from cogbias.tables import IDENTITY, content_hash, item_table, option

PLACE = Path(__file__).parents[1] / "data" / "published"

_NUMBER = re.compile(r"\$?([0-9.]+)(K?)%?")


def _number(
    text: str,  # such as $2500, 250K, 0.4% or 60
) -> float:  # whole where it is whole
    "A published number."
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is not a number written like $2500, 250K, 0.4% or 60")
    value = Fraction(found[1]) * (1000 if found[2] else 1)
    return int(value) if value.denominator == 1 else float(value)


def _in_order(fields: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    "Names of fields that hold places, sorted by place."
    return sorted(names, key=fields.__getitem__)


def _words_behind(fields: Mapping[str, Any], label: str) -> str:
    "What the prompt says behind a label."
    found = re.search(rf"^{re.escape(label)} - (.+)\.$", fields["text"], re.MULTILINE)
    if found is None:
        raise ValueError(f"field 'text' has no line for {label[:40]!r}")
    return found[1]


CERTAINTY_TYPES = MappingProxyType(
    {  # bias_type -> design, name in the file names
        "Certainty_type.DEVIDE_OPTION_A_TO_THREE_PROBS": ("common_consequence", "three_probs"),
        "Certainty_type.DEVIDE_OPTION_A_TO_TWO_PROBS": ("common_ratio", "two_probs"),
        "Certainty_type.NOT_PROBABLE": ("possibility", "not_probable"),
    }
)
Lottery = list[list[float]]  # [prize in dollars, chance in percent], ...


def _lottery(fields: Mapping[str, Any]) -> Lottery:
    "The numbered prizes and chances of an option."
    count = max(1, (len(fields) - 1) // 2)
    return [
        [_number(fields[f"PRIZE{n}"]), _number(fields[f"PROB{n}"])] for n in range(1, count + 1)
    ]


def _expected_prize(lottery: Lottery) -> float:
    "Mean prize in dollars."
    parts = (Fraction(str(prize)) * Fraction(str(chance)) for prize, chance in lottery)
    return float(sum(parts) / 100)


def _certainty_item(fields: Mapping[str, Any]) -> dict[str, Any]:
    "An item of the certainty designs."
    design, name = CERTAINTY_TYPES[fields["bias_type"]]
    rival = "riskier" if design == "possibility" else "better_expected_value"
    options, by_role = [], {}
    places = _in_order(fields, ("target", "better_expected_value"))
    for letter, opening, place in zip("ab", ("first", "second"), places):
        label = fields[f"{opening}_option_opening"]
        role = "target" if place == "target" else rival
        by_role[role] = _lottery(fields[f"option_{letter}"])
        value = _expected_prize(by_role[role])
        options.append(option(label, _words_behind(fields, label), role, value))
    sub = fields["subtemplates"]
    number = [each for each, _ in CERTAINTY_TYPES.values()].index(design) + 1
    where = number, sub["vals_index"], sub["options_a_template_id"], fields["template"]
    condition = "treatment" if fields["with_bias"] else "control"
    tie = options[0]["value"] == options[1]["value"]
    return {
        "paradigm": "choice/certainty",
        "part": name,
        "options": options,
        "content": {"kind": "lotteries", "lotteries": by_role},
        "target_position": fields["target"],
        **sub,
        "design": design,
        "stratum": design,
        "cluster": f"{design}/{sub['vals_index']}",
        "pair_id": "-".join(map(str, (*where, sub["permutation_index"], "bare"))),
        "order_group": "-".join(
            map(str, (condition, *where, sub["options_b_template_id"], "bare"))
        ),
        "note": "void_label" if design == "possibility" and tie else "",
    }


def _chance_differences(lotteries: Mapping[str, Lottery]) -> dict[float, Fraction]:
    "Chance of each prize with the rival minus with the target."
    gap: dict[float, Fraction] = defaultdict(Fraction)
    for role, lottery in lotteries.items():
        for prize, chance in lottery:
            gap[prize] += Fraction(str(chance)) * (-1 if role == "target" else 1)
    return gap


def is_linked(
    treatment: Mapping[str, Lottery],  # role -> lottery
    control: Mapping[str, Lottery],  # the same in the other condition
) -> bool:
    "Whether expected utility forbids a switch between two choices."
    one, other = _chance_differences(treatment), _chance_differences(control)
    top = max({**one, **other})
    return one[top] * other[top] > 0 and all(
        one[prize] * other[top] == other[prize] * one[top] for prize in {**one, **other}
    )


DECOY_KINDS = MappingProxyType(
    {  # target side -> published code -> what the decoy does
        "expensive": dict(
            R="range", RF="range_frequency", F="frequency", R_EXTREAM="range_extreme"
        ),
        "cheaper": dict(
            R="frequency", RF="range_frequency", F="range", R_EXTREAM="frequency_extreme"
        ),
    }
)
TEMPLATES = MappingProxyType(
    {
        1: ("before", "short"),
        2: ("after", "short"),
        3: ("after", "long"),
        4: ("before", "long"),
        5: ("after", "long"),
    }
)  # question, lines
Offer = dict[str, float]  # price and quality


def _dominates(better: Offer, worse: Offer) -> bool:
    "Whether an option is as good in both attributes and better in one."
    as_good = better["price"] <= worse["price"] and better["quality"] >= worse["quality"]
    return as_good and better != worse


def _decoy_indices(fields: Mapping[str, Any]) -> dict[str, int]:
    "The stimulus set of a record, by the places of its pairs of prices and qualities in the lists."
    lists = [each.split(", ") for each in re.findall(r"\[([^\]]*)\]", fields["vals_range"])]
    found = {}
    for attribute, pairs in (("price", zip(*lists[:2])), ("quality", zip(*lists[2:]))):
        numbers = (fields[f"{attribute}{fields[role]}"] for role in ("competitor", "target"))
        mine = tuple(str(each).strip("$K") for each in numbers)
        found[f"{attribute}_index"] = [*pairs].index(mine) + 1
    number = len(lists[2]) * (found["price_index"] - 1) + found["quality_index"]
    return found | {"vals_index": number}


def _decoy_item(fields: Mapping[str, Any]) -> dict[str, Any]:
    "An item of the decoy design."
    product = fields["product"].removesuffix("_cheaper")
    side = "cheaper" if fields["product"].endswith("_cheaper") else "expensive"
    code = fields["bias_type"].removeprefix("Decoy_type.")
    code = None if code == "TWO_OPTIONS" else code
    kind = DECOY_KINDS[side][code] if code else None
    options, offers = [], {}
    roles = ("competitor", "target", "decoy") if code else ("competitor", "target")
    for place, role in enumerate(_in_order(fields, roles), 1):
        numbers = (_number(str(fields[f"{name}{place}"])) for name in ("price", "quality"))
        offers[role] = dict(zip(("price", "quality"), map(float, numbers)))
        label = f"{fields['product_type'].title()} {place}"
        words = _words_behind(fields, label)
        options.append(option(label, words, role, offers[role]["price"]))
    fault = code and _dominates(offers["competitor"], offers["decoy"])
    question, lines = TEMPLATES[fields["template"]]
    indices = _decoy_indices(fields)
    name, template = f"{product}-{side}-{indices['vals_index']}", fields["template"]
    first = "target" if fields["target"] < fields["competitor"] else "competitor"
    return {
        "paradigm": "choice/decoy",
        "part": fields["product"],
        "options": options,
        "content": {"kind": "attributes", "options": offers, "decoy_kind": kind},
        "product": product,
        "target_side": side,
        "stratum": product,
        "cluster": f"{product}/{indices['vals_index']}",
        "pair_id": f"{name}-{template}-bare-{first}",
        "order_group": f"{name}-{code or 'control'}-{template}-bare",
        **indices,
        "decoy_kind": kind,
        "published_decoy": code,
        "question_place": question,
        "line_style": lines,
        "permutation_id": fields["permutation_id"],
        "target_position": fields["target"],
        "competitor_position": fields["competitor"],
        "decoy_position": fields["decoy"],
        "asymmetric": not fault,
        "problem": "decoy_dominated_by_both" if fault else "",
    }


BELIEF_TYPES = MappingProxyType(
    {
        "Belief_type.EXP_DM_FULL": "dm_full",
        "Belief_type.EXP_DM_1": "dm_1",
        "Belief_type.EXP_DM_2": "dm_2",
    }
)
_FIGURES = MappingProxyType({("MP", "SM"): 1, ("PM", "SM"): 2, ("MP", "MS"): 3, ("PM", "MS"): 4})
_SENTENCE = re.compile(r"(All|No|Some) (.+?) are (not )?(.+?)\.?")
_LETTERS = {("All", None): "A", ("No", None): "E", ("Some", None): "I", ("Some", "not "): "O"}


def read_sentence(
    text: str,  # such as "Some bakers are joggers."
) -> list[str]:  # quantifier letter, subject, predicate
    "A sentence of a syllogism."
    quantifier, subject, negated, predicate = _SENTENCE.fullmatch(text).groups()
    return [_LETTERS[quantifier, negated], subject, predicate]


def _logical_form(premises: Sequence[list[str]], conclusion: list[str]) -> dict[str, Any]:
    "Form, mood, figure and the order of the premises."
    letters = dict(zip(conclusion[1:], "SP"))
    for term in (term for premise in premises for term in premise[1:]):
        letters.setdefault(term, "M")
    named = [(premise[0], "".join(letters[term] for term in premise[1:])) for premise in premises]
    major, minor = sorted(named, key=lambda each: ("P" not in each[1], each))
    return {
        "form": f"{major[0]}({major[1]})+{minor[0]}({minor[1]})->{conclusion[0]}",
        "mood": major[0] + minor[0] + conclusion[0],
        "figure": _FIGURES.get((major[1], minor[1])),
        "quantifier": conclusion[0],
        "premise_order": 1 if named[0] == major else 2,
    }


def _are_contradictory(premises: Sequence[list[str]]) -> bool:
    "Whether the premises cannot both be true of terms that apply to something."
    (one, *first), (other, *second) = premises
    return (set(first) == set(second) and {one, other} in ({"A", "E"}, {"E", "I"})) or (
        first == second and {one, other} == {"A", "O"}
    )


def _belief_item(fields: Mapping[str, Any]) -> dict[str, Any]:
    "An item of the belief paradigm; the keys that need its twin come later."
    premises = [read_sentence(fields[name]) for name in ("premise_1", "premise_2")]
    conclusion = read_sentence(fields["conclusion"])
    valid, believable = fields["is_valid"], fields["is_believable"]
    contradict = _are_contradictory(premises)
    says_yes = fields["template"] == 4 or fields["closing_line_id"] == 2
    words = ("yes", "no") if says_yes else ("valid", "invalid")
    return {
        "paradigm": "logic/belief",
        "part": BELIEF_TYPES[fields["bias_type"]],
        "options": [option(word, word, role) for word, role in zip(words, ("accept", "reject"))],
        "content": {
            "kind": "syllogism",
            "valid": valid,
            "believable": believable,
            "real": fields["with_bias"],
            "premises": premises,
            "conclusion": conclusion,
        },
        "stratum": f"{'' if valid else 'in'}valid_{'' if believable else 'un'}believable",
        **_logical_form(premises, conclusion),
        "option_order": 1,
        "target_position": 1,
        "is_permuted_option": int(fields["is_permuted_option"]),
        "closing_line_id": fields["closing_line_id"],
        "is_valid": valid,
        "is_believable": believable,
        "premises_consistent": not contradict,
        "problem": "contradictory_premises" if contradict else "",
    }


def _belief_clusters(rows: Sequence[dict[str, Any]]) -> None:
    "Give belief items their noun triple and the keys that follow from it; a twin has it, too."
    triples: dict[str, dict[frozenset, int]] = defaultdict(dict)  # data set -> nouns -> number
    originals: dict[tuple, int] = {}
    for row in sorted(rows, key=lambda row: row["condition"] != "treatment"):
        sentences = (*row["content"]["premises"], row["content"]["conclusion"])
        nouns = frozenset(term for each in sentences for term in each[1:])
        twin = tuple(
            row[name]
            for name in ("folder", "source_record", "template", "stratum", "form", "premise_order")
        )
        numbers, full = triples[row["data_set"]], row["part"] == "dm_full"
        triple = originals.get(twin) if full else None
        triple = triple or numbers.setdefault(nouns, len(numbers) + 1)
        if full and row["condition"] == "treatment":
            originals[twin] = triple
        cluster = triple if full else row["part"]
        closing = () if row["closing_line_id"] == 1 else (f"closing{row['closing_line_id']}",)
        where = f"{row['stratum']}/{cluster}", row["template"], row["premise_order"]
        row |= {
            "triple_index": triple,
            "cluster": f"triple/{triple}" if full else "dm_1,dm_2",
            "pair_id": "-".join(map(str, (*where, row["option_order"], *closing, "bare"))),
            "order_group": "-".join(map(str, (row["condition"], *where, *closing, "bare"))),
        }


_READERS = {"decoy": _decoy_item, "certainty": _certainty_item, "false_belief": _belief_item}
_OUTSIDE_IDENTITY = frozenset(("text", "with_bias", "human_or_right_answer", "vals_range"))
_HELPERS = frozenset(("folder", "older", "part", "same"))


def _item_of(file: str, number: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    "The item that a record stands for."
    folder = str(PurePosixPath(file).parent)
    same = {name: value for name, value in fields.items() if name not in _OUTSIDE_IDENTITY}
    shared = {
        "condition": "treatment" if fields["with_bias"] else "control",
        "prompt": fields["text"],
        "template": fields["template"],
        "bias_type": fields["bias_type"],
        "answer_format": "bare",
        "is_original": True,
        "folder": folder,
        "older": re.search(r"_wbias_(True|False)\.json$", file) is not None,
        "same": (folder, json.dumps(same, sort_keys=True)),
        "source_file": file,
        "source_record": int(number),
        "also_in": [],
        "problem": "",
        "note": "",
    }
    row = shared | _READERS[fields["bias_name"]](fields)
    return row | {"n_options": len(row["options"])}


def _add_code(row: dict[str, Any], column: str, code: str) -> None:
    "Add a code to the column `problem` or `note`."
    row[column] = "; ".join(filter(None, (row[column], code)))


def _note_copies(rows: Sequence[dict[str, Any]]) -> None:
    "Name records that copy another condition, or that a later file words otherwise."
    texts: dict[tuple, set[str]] = defaultdict(set)
    for row in rows:
        texts[row["same"], row["condition"], row["older"]].add(row["prompt"])
    for row in rows:
        control = texts[row["same"], "control", False] | texts[row["same"], "control", True]
        current = texts[row["same"], row["condition"], False]
        if row["condition"] == "treatment" and row["prompt"] in control:
            _add_code(row, "problem", "copy_of_control")
        elif row["older"] and current and row["prompt"] not in current:
            _add_code(row, "problem", "older_wording")


def _once(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    "Each item once, with the data set of its file and the other places where it stands."
    parts: dict[str, dict[str, None]] = defaultdict(dict)  # file -> designs, in their order
    for row in rows:
        parts[row["source_file"]][row["part"]] = None
    for row in rows:
        name = row["paradigm"].partition("/")[2]
        row["data_set"] = f"{name}/{','.join(parts[row['source_file']])}"
    kept: dict[str, dict[str, Any]] = {}
    for row in sorted(
        rows,
        key=lambda row: (
            *(row["older"], row["folder"]),
            *(row["data_set"].count(","), row["source_file"]),
        ),
    ):
        key = content_hash([{"system": None, "answer": "choice", **row}[name] for name in IDENTITY])
        first = kept.setdefault(key, row)
        if first is not row:
            first["also_in"].append(f"{row['source_file']}#{row['source_record']}")
    return [*kept.values()]


def _is_usable(row: Mapping[str, Any]) -> bool:
    "Whether no problem of a row forbids asking it."
    return all(FINDINGS[code].usable for code in row["problem"].split("; ") if code)


def _note_links(rows: Iterable[dict[str, Any]]) -> None:
    "Say for certainty items whether expected utility forbids a switch."
    sets: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in rows:
        if _is_usable(row):
            sets[row["cluster"]][row["condition"]] = row["content"]["lotteries"]
    for row in rows:
        mine = sets[row["cluster"]]
        row["eu_consistent"] = len(mine) == 2 and is_linked(mine["treatment"], mine["control"])


def main(archive: str) -> None:
    "Write the table."
    rows = []
    for file, data in files_of(archive, (".json",)).items():
        rows += (_item_of(file, *record) for record in json.loads(data).items())
    _note_copies(rows)
    by_paradigm: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in _once(rows):
        by_paradigm[row["paradigm"]].append(row)
    _note_links(by_paradigm["choice/certainty"])
    _belief_clusters(by_paradigm["logic/belief"])
    rows = [row for name in sorted(by_paradigm) for row in by_paradigm[name]]
    counts = Counter((row["paradigm"], row["condition"], row["prompt"]) for row in rows)
    for row in rows:
        if counts[row["paradigm"], row["condition"], row["prompt"]] > 1:
            _add_code(row, "note", "shared_text")
        row["usable"] = _is_usable(row)
        row["also_in"] = "; ".join(row["also_in"]) or None
    made = [{name: row[name] for name in row if name not in _HELPERS} for row in rows]
    table = with_typed_factors(item_table("imported", made))
    factors = [name for name in table.columns if name not in SOURCE_COLUMNS]
    facts = table[[*factors, *SOURCE_COLUMNS]].assign(item_id="", prompt="")
    packed = {name: facts[name].map(json.dumps) for name in PACKED}
    settings = {"index": False, "compression": "zstd", "compression_level": 19}
    facts.assign(**packed).to_parquet(PLACE / KNOWN, **settings)
    print(len(facts), "items", content_hash([*table["item_id"]]))


if __name__ == "__main__":
    main(sys.argv[1])
