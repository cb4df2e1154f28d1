"""The decoy design against the published files: same numbers, other words. Skipped without them."""

import json
import re
import zipfile
from collections import Counter
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


def price_of(text):
    "A published price in dollars; .98 becomes .99, the one difference that is meant."
    number = float(text.strip("$K")) * (1000 if text.endswith("K") else 1)
    return round(number + 0.01, 2) if text.endswith(".98") else number


def published_key(record):
    "Everything that the design fixes about a published record."
    code = record["bias_type"].removeprefix("Decoy_type.")
    shown = range(1, 3 if code == "TWO_OPTIONS" else 4)
    return (
        record["template"],
        record["permutation_id"],
        None if code == "TWO_OPTIONS" else code,
        record["target"],
        record["competitor"],
        record["decoy"],
        tuple(
            (price_of(record[f"price{place}"]), float(record[f"quality{place}"])) for place in shown
        ),
    )


def own_key(row):
    "The same of one of our rows."
    offers = [row["content"]["options"][each["role"]] for each in row["options"]]
    return (
        row["template"],
        row["permutation_id"],
        row["published_decoy"],
        row["target_position"],
        row["competitor_position"],
        row["decoy_position"],
        tuple((each["price"], each["quality"]) for each in offers),
    )


@published
def test_same_numbers(table, records):
    for where, group in table.groupby(["product", "target_side", "condition"]):
        own = Counter(
            own_key(
                row | {"published_decoy": row["published_decoy"] if row["n_options"] == 3 else None}
            )
            for row in group.to_dict("records")
        )
        assert own == Counter(map(published_key, records[where])), where


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
