"""Make the files of data/published that come from the repository of Pagliaro (2026).

usage: python docs/pagliaro.py cognitive-biases-llm-main.zip

Writes pagliaro.parquet (the outcome of every answer), pagliaro_known.json (ids of prompts and the
check sum of the outcomes) and pagliaro_refusals.csv (refusals that the published code read as A and
how many of them still would be without articles). Run it again when the reader of answers changes.
The hashes in pagliaro_answers.csv do not depend on the reader; what is read has to have them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pandas as pd

from cogbias.exchange.answers import Imported
from cogbias.exchange.pagliaro import (
    KNOWN,
    OUTCOMES,
    check_sum,
    known_hashes,
    published_choice,
    read_pagliaro,
)

PLACE = Path(__file__).parents[1] / "data" / "published"
TYPES = {"repeat": "int16", "value": "float64", "published_value": "float64"}
ARTICLES = {
    "without_article": re.compile(r"\ba\b"),
    "without_capital": re.compile(r"\ba\b|(?:^|(?<=[.!?] ))A(?= )"),  # A that begins a sentence
}  # column of counts -> what is taken out of the text


def rows_of(found: Imported) -> pd.DataFrame:
    "One row per answer: its outcome, the published one, and its text."
    rows = []
    for cell in found.cells:
        items = found.items[cell.paradigm].set_index("item_id")
        for each in cell.given:
            item, answer = items.loc[each.item_id], each.answer
            is_choice = item["answer"] == "choice"
            row = {
                "model": cell.who.recorded["name in the files"],
                "arm": item["arm"],
                "content_set": item["content_set"],
                "condition": item["condition"],
                "repeat": each.repeat,
                "status": answer.status,
                "choice": answer.choice if is_choice else None,
                "value": None if is_choice else answer.value,
                "published_choice": each.reading[0],
                "published_value": each.reading[1],
            }
            rows.append(row | {"response": answer.response})
    return pd.DataFrame(rows)


def refusals(rows: pd.DataFrame) -> pd.DataFrame:
    "Refusals that were read as A, prompt by prompt, and how many still would without articles."
    mine = rows[(rows["status"] == "refusal") & (rows["published_choice"] == "A")].copy()
    mine["read_as_a"] = 1
    for column, words in ARTICLES.items():
        again = [published_choice(words.sub("", text), "AB") for text in mine["response"]]
        mine[column] = [int(each == "A") for each in again]
    places = ["model", "arm", "content_set", "condition"]
    return mine.groupby(places, as_index=False)[["read_as_a", *ARTICLES]].sum()


def main(archive: str) -> None:
    "Write the three files."
    rows = rows_of(read_pagliaro(archive))
    kinds = {name: TYPES.get(name, "category") for name in rows if name != "response"}
    outcomes = rows[list(kinds)].astype(kinds)
    outcomes.to_parquet(PLACE / OUTCOMES)
    known = {**known_hashes(), "facts": check_sum(outcomes)}
    (PLACE / KNOWN).write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    refusals(rows).to_csv(PLACE / "pagliaro_refusals.csv", index=False)


if __name__ == "__main__":
    main(sys.argv[1])
