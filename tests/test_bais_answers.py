"""The reader on answers of models of 2025 and 2026, labelled by a language model from the texts.

Raw answers of voder-ai/bAIs (MIT): file, line and label. A label is a number in the unit that is
asked for, `refused`, or `range` where two numbers are given. Those of `bais_unseen.json` were drawn
and labelled after the reader was mended for the last time, the others before.
"""

import json
from pathlib import Path

import pandas as pd
import pytest

from cogbias.design import load_items
from cogbias.participants import answer_from_text
from cogbias.tables import shipped

DATA = Path(__file__).resolve().parent / "data"
ANSWERS = shipped("data", "published", "bais.parquet")
LABELS = {
    "drawn from all": json.loads((DATA / "bais_labels.json").read_text()),
    "read differently before": json.loads((DATA / "bais_disagreements.json").read_text()),
    **json.loads((DATA / "bais_unseen.json").read_text()),
}


@pytest.fixture(scope="module")
def told():
    "File and line -> what was answered there to which item; those of sentences have no text."
    items = load_items(ANSWERS.with_name("bais_items.parquet"))
    item_of = {each["item_id"]: each for each in items.to_dict("records")}
    rows = pd.read_parquet(ANSWERS).dropna(subset="response").itertuples()
    return {(row.file, row.line): (item_of[row.item_id], row.response) for row in rows}


@pytest.mark.parametrize("name", LABELS)
def test_at_most_one_in_a_hundred_is_misread_and_ten_unread(told, name):
    misread, unread = [], []
    labelled = [row for row in LABELS[name] if (row[0], row[1]) in told]
    for file, line, label in labelled:
        got = answer_from_text(*told[file, line])
        if got.status == "ok" and got.value != label:
            misread.append((file, line, label, got.value))
        elif got.status != "ok" and not isinstance(label, str):
            unread.append((file, line, label, got.detail))
    assert len(labelled) >= 50
    assert len(misread) <= 0.01 * len(labelled), misread
    assert len(unread) <= 0.1 * len(labelled), unread
