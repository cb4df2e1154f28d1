"""The decoy design has other words than the published files. Skipped without them."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from cogbias.paradigms.choice.decoy import PRODUCTS, TARGET_SIDES, items

ARCHIVE = Path(__file__).parents[2] / "shared" / "data" / "instructed_to_bias" / "Data.zip"
published = pytest.mark.skipif(not ARCHIVE.exists(), reason="the published files are not here")


@pytest.fixture(scope="module")
def table():
    "All prompts with the published numbers."
    return items(grid="published", source="published")


@pytest.fixture(scope="module")
def records():
    "Published records by product, side and condition."
    found = {}
    with zipfile.ZipFile(ARCHIVE) as archive:
        for product in PRODUCTS:
            for side in TARGET_SIDES:
                folder = product + ("_cheaper" if side == "cheaper" else "")
                for condition in ("Treatment", "Control"):
                    name = (
                        f"Data/decoy/{folder}/all_permutations/t_[1, 2, 3, 4]_all_{condition}.json"
                    )
                    found[product, side, condition.lower()] = list(
                        json.loads(archive.read(name)).values()
                    )
    return found


@published
def test_other_words(table, records):
    theirs = {
        line for each in records.values() for record in each for line in record["text"].splitlines()
    }
    ours = {line for prompt in table.prompt for line in prompt.splitlines()}
    assert ours & theirs == {"Answer:"}
    five = lambda lines: {
        tuple(words[at : at + 5])
        for line in lines
        for words in [re.findall(r"[a-z]+", line.lower())]
        for at in range(len(words) - 4)
    }
    assert not five(ours) & five(theirs)
