"""The reader on answers of models of 2025 and 2026, labelled by a language model from the texts.

Raw answers of voder-ai/bAIs (MIT): file, line and label. A label is a number in the unit that is
asked for, `refused`, or `range` where two numbers are given. Those of `bais_unseen.json` were drawn
and labelled after the reader was mended for the last time, the others before.
"""

import json
from pathlib import Path

import pytest

from cogbias.exchange.bais import SENTENCING, items_of, records
from cogbias.exchange.rows import files_of
from cogbias.participants import answer_from_text
from cogbias.tables import shipped

DATA = Path(__file__).resolve().parent / "data"
ARCHIVE = shipped("data", "published", "bais.zip")
LABELS = {
    "drawn from all": json.loads((DATA / "bais_labels.json").read_text()),
    "read differently before": json.loads((DATA / "bais_disagreements.json").read_text()),
    **json.loads((DATA / "bais_unseen.json").read_text()),
}


@pytest.fixture(scope="module")
def told():
    "File and line -> what was asked and answered there."
    lines = [
        (name.removeprefix("results/"), line)
        for name, data in files_of(ARCHIVE, (".jsonl",)).items()
        for line in range(len(data.splitlines()))
    ]
    found = zip(lines, records(ARCHIVE), strict=True)
    return {place: each for place, each in found if each and each.script != SENTENCING}


@pytest.fixture(scope="module")
def items(told):
    "Prompt -> its row in the table of items."
    tables, ids = items_of(told.values())
    rows = {row["item_id"]: row for each in tables.values() for row in each.to_dict("records")}
    return {prompt: rows[item_id] for prompt, item_id in ids.items()}


@pytest.mark.parametrize("name", LABELS)
def test_at_most_one_in_a_hundred_is_misread_and_ten_unread(told, items, name):
    misread, unread = [], []
    labelled = [row for row in LABELS[name] if (row[0], row[1]) in told]
    for file, line, label in labelled:
        each = told[file, line]
        got = answer_from_text(items[each.prompt], each.text)
        if got.status == "ok" and got.value != label:
            misread.append((file, line, label, got.value))
        elif got.status != "ok" and not isinstance(label, str):
            unread.append((file, line, label, got.detail))
    assert len(labelled) >= 50
    assert len(misread) <= 0.01 * len(labelled), misread
    assert len(unread) <= 0.1 * len(labelled), unread
