"""Make data/published/bais*.parquet from the repository of bAIs (2026).

usage: python docs/bais.py PATH

PATH is the repository voder-ai/bAIs at 33b515b, as a folder or a zip file. Three scripts ran the
vignettes, each with its own wording; the fields of a record show which one wrote it. A fourth
experiment is the sentence for Lena M. Records of others (pilots, spot checks, six-turn controls)
are left out and counted. Kept of an answer are its last text, the number that the published code
stored, and where the record stands; the license of the repository lies beside.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from cogbias.exchange.published_answers import COLUMNS
from cogbias.exchange.rows import files_of
from cogbias.kits.published import PublishedPair
from cogbias.tables import item_table, save_table

PLACE = Path(__file__).parents[1] / "data" / "published"
WORDINGS = json.loads((PLACE / "bais_prompts.json").read_text(encoding="utf-8"))
ARMS = {
    "baseline": "none",
    "low-anchor": "none",
    "high-anchor": "none",
    "devils-advocate": "devils-advocate",
    "premortem": "premortem",
    "random-control": "random-control",
    "outside-view": "outside-view",
    "full-sacd": "sacd",
    "sacd": "sacd",
}  # name in a record -> what was added to the question
SENTENCING = "sentencing"  # the experiment whose texts were not kept
TEMPERATURE = 0.7  # of the vignettes, where a record does not say it
LARGEST_LOW = 18  # months; the smallest high demand is 27
ANSWER = "\n\n[answer of the model]\n\n"  # between two turns
NOT_KEPT = "the text was not kept; the number is that of the published code"


class Told(NamedTuple):
    "One answer, as a record tells it."

    script: str  # vignettes, haiku or sentencing: which wording was asked
    vignette: str
    arm: str
    condition: str  # none, low or high
    anchor: float | None
    model: str
    temperature: float
    text: str | None  # None: it was not kept
    stored: float | None  # the number that the published code read
    file: str
    line: int  # from 0

    @property
    def prompt(self) -> tuple[str, str, str, str, float | None]:
        "What was asked."
        return self[:5]

    @property
    def paradigm(self) -> str:
        "The paradigm of its script."
        return f"published/bais_{SENTENCING if self.script == SENTENCING else 'vignettes'}"

    @property
    def participant(self) -> str:
        "An arm is a participant of its own, and so is another temperature."
        added = [] if self.temperature == TEMPERATURE else [f"t{self.temperature:g}"]
        return "+".join([self.model, *added, *([] if self.arm == "none" else [self.arm])])


def told(record: Mapping[str, Any], *place: Any) -> Told | None:
    "What a record tells; None where it belongs to another experiment."
    vignette = record.get("vignetteId") or record.get("vignette")
    script = "vignettes" if vignette else SENTENCING
    arm = ARMS.get(record["technique"] if vignette else record.get("experimentId"))
    if arm is None:
        return None
    texts = [record.get("raw") or record.get("rawResponse")] if vignette else [None]
    if "rawResponses" in record:
        script, texts = "haiku", record["rawResponses"]
    anchor = record.get("anchor")
    demanded = "none" if anchor is None else "low" if anchor <= LARGEST_LOW else "high"
    return Told(
        script,
        vignette or SENTENCING,
        arm,
        record["anchorType"] if vignette else demanded,
        anchor,
        record["model"].rpartition("/")[2].replace(".", "-"),
        record.get("temperature", TEMPERATURE),
        texts[-1],
        record.get("response", record.get("sentenceMonths", record.get("final"))),
        *place,
    )


def records(path: str) -> Iterator[Told | None]:
    "Every record of the published files."
    for name, data in files_of(path, (".jsonl",)).items():
        for number, line in enumerate(data.splitlines()):
            if line.strip():
                yield told(json.loads(line), name.rpartition("results/")[2], number)


def item_row(asked: Told, usual: bool) -> dict[str, Any]:
    "What was asked as a row of an items table."
    wording = WORDINGS[asked.script][asked.vignette]
    bare = "none" if asked.condition == "none" else "anchored"
    turns = wording["turns"][bare if asked.arm == "none" else asked.arm]
    low, high = wording["range"] or (None, None)
    return {
        "condition": asked.condition,
        "pair_id": "/".join(asked[:3]),
        "cluster": asked.vignette,
        "stratum": "number",
        "prompt": ANSWER.join(turns).replace("{anchor}", f"{asked.anchor}"),
        "options": [],
        "answer": "number",
        "content": {"kind": "published", "source": "bais", "set": "/".join(asked[:2])},
        "arm": asked.arm,
        "anchor": asked.anchor,
        "script": asked.script,
        "lowest": low,
        "highest": high,
        **PublishedPair(name=asked.vignette, same_facts=usual).factors(),
    }


def items_of(answers: Sequence[Told]) -> tuple[pd.DataFrame, dict[tuple, str]]:
    "The prompts that were answered; prompt -> its id."
    shown: dict[tuple, Counter] = defaultdict(Counter)
    for each in answers:
        shown[each.model, each.vignette, each.condition][each.anchor] += 1
    usual = {(place[1:], counts.most_common(1)[0][0]) for place, counts in shown.items()}
    asked = {each.prompt: each for each in answers}
    tables, ids = [], {}
    for name in sorted({each.paradigm for each in asked.values()}):
        mine = [each for each in asked.values() if each.paradigm == name]
        rows = [
            item_row(each, ((each.vignette, each.condition), each.anchor) in usual) for each in mine
        ]
        tables.append(item_table(name, rows))
        ids |= {each.prompt: item for each, item in zip(mine, tables[-1]["item_id"])}
    return pd.concat(tables, ignore_index=True), ids


def answer_rows(answers: Sequence[Told], ids: Mapping[tuple, str]) -> pd.DataFrame:
    "The answers, those of one participant together."
    order = lambda each: (each.model, each.temperature, each.arm, each.paradigm)  # noqa: E731
    rows = [
        {
            "paradigm": each.paradigm,
            "participant": each.participant,
            "arm": each.arm,
            "model": each.model,
            "temperature": each.temperature,
            "item_id": ids[each.prompt],
            "response": each.text,
            "published_value": each.stored,
            "file": each.file,
            "line": each.line,
        }
        for each in sorted(answers, key=order)
    ]
    table = pd.DataFrame(rows).astype({"published_value": float})
    number, lost = table["published_value"], table["response"].isna()
    table["repeat"] = table.groupby(["participant", "item_id"]).cumcount()
    table["status"] = pd.Series("ok", table.index).where(number.notna(), "invalid_format")
    table["value"], table["choice"] = number, number.map("{:g}".format).where(number.notna())
    table["detail"] = NOT_KEPT
    read_again = ["status", "value", "choice", "detail"]
    table[read_again] = table[read_again].astype(object).where(lost, None)
    table = table.astype({"value": float})
    return table.reindex(columns=[*COLUMNS, "file", "line"])


def main(path: str) -> None:
    "Write the files that ship."
    every = list(records(path))
    answers = [each for each in every if each is not None]
    items, ids = items_of(answers)
    save_table(items, PLACE / "bais_items.parquet")
    table = answer_rows(answers, ids)
    table.to_parquet(PLACE / "bais.parquet", compression="zstd", index=False)
    for name, data in files_of(path, ("LICENSE",)).items():
        (PLACE / "bais_LICENSE.txt").write_bytes(data)
    print(
        f"left out because they belong to other experiments: {len(every) - len(answers):,} records"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
