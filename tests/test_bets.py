"""Bets: published counts and gains, what comes for free, what simulated participants score."""

from functools import cache
from itertools import combinations

import pandas as pd
import pytest

from cogbias.backends.sim import exact_trials
from cogbias.design import paradigm, paradigms
from cogbias.effects import estimate_effects
from cogbias.kits.goods import ITEM_SETS
from cogbias.tables import content_hash
from tiers import slow_but

SUITE = paradigms("bets/*")
LISTED = [name for name in SUITE if name != "bets/open"]
PUBLISHED = ["bets/card", "bets/coin", "bets/dice"]
# two sides, no list of choices, and values without a bet; the kit makes the others
SHAPES = ["bets/coin", "bets/open", "bets/value"]
LISTED_SHAPES = [name for name in SHAPES if name in LISTED]


EVERY = ("everyday", "published", "fresh")
GRID = {"item_sets": ("published", "fresh")}  # things crossed, in all layouts and rotations


@cache
def asked(name, **settings):
    "The items of a paradigm, made once: those of the grid, where nothing else is said."
    return paradigm(name).items(**GRID | settings)


@cache
def by_default(name):
    "The items of a paradigm with the arguments that it has by itself."
    return paradigm(name).items()


# --- the published questions -------------------------------------------------


def test_the_lists_are_those_of_the_paper():
    TRAIN, DEV, TEST, *_ = ITEM_SETS
    assert [(len(each.high), len(each.low)) for each in (TRAIN, DEV, TEST)] == [
        (14, 15),
        (5, 5),
        (5, 5),
    ]
    assert " ".join([*TEST.high, *TEST.low]) == (
        "car house diamond airplane computer pen paper water slipper sock"
    )
    assert " ".join([*DEV.high, *DEV.low]) == (
        "watch ipad phone tv telescope egg apple soda toothbrush toothpaste"
    )


def published(name):
    "The published questions of all splits."
    table = asked(name, splits=("train", "dev", "test"))
    return table[table["is_published"]]


@pytest.mark.parametrize("name", PUBLISHED)
def test_counts_of_published_bets(name):
    table = published(name)
    counts = table.groupby(["split", "kind"]).size().unstack()
    for split, each in (("train", 420), ("dev", 50), ("test", 50)):
        assert counts.loc[split].tolist() == [each, each], split
    place = table[table["split"] == "test"]["target_position"].value_counts()
    assert place.to_dict() == {1: 25, 2: 25, 3: 50}


def test_counts_of_published_values():
    counts = published("bets/value").groupby(["split", "template"]).size().unstack()
    assert counts.loc[["train", "dev", "test"]].to_numpy().tolist() == [
        [210] * 4,
        [25] * 4,
        [25] * 4,
    ]
    assert set(published("bets/value")["target_position"]) == {1}


def test_the_published_layouts():
    coin = published("bets/coin")
    one = coin[coin["pair"] == "car/pen"].sort_values("layout")
    told = [(row["first"], row["kind"]) for row in one["content"]]
    assert told == [
        ("win", "win_high"),
        ("lose", "win_high"),
        ("win", "win_low"),
        ("lose", "win_low"),
    ]
    start = [prompt.partition(". What")[0] for prompt in one["prompt"]]
    assert start == [
        "If the coin comes up heads, then I win a car. If it comes up tails, then I lose a pen",
        "If the coin comes up heads, then I lose a pen. If it comes up tails, then I win a car",
        "If the coin comes up heads, then I win a pen. If it comes up tails, then I lose a car",
        "If the coin comes up heads, then I lose a car. If it comes up tails, then I win a pen",
    ]
    texts = [[each["text"] for each in options] for options in one["options"]]
    assert (
        texts
        == [["I should bet on heads", "I should bet on tails", "I should not bet on either one"]]
        * 4
    )


def test_no_modality_but_the_published_ones_has_published_questions():
    for name in SUITE:
        counted = asked(name)["is_published"].sum()
        assert counted == {"bets/value": 200}.get(name, 200 * (name in PUBLISHED)), name


# --- items ---------------------------------------------------------------------


@pytest.mark.parametrize("name", slow_but(LISTED_SHAPES, LISTED))
def test_places_are_balanced(name):
    "Every choice stands in every place equally often, the right one too, in every layout."
    table = asked(name)
    by = "template" if name == "bets/value" else "layout"
    places = len(table["options"].iloc[0])
    for _, rows in table.groupby(["pair", by, "item_order"]):
        assert sorted(rows["target_position"]) == sorted(
            [*range(1, places + 1)] * (len(rows) // places)
        )
        shown = pd.DataFrame([order.split() for order in rows["option_order"]])
        assert all(column.nunique() == places for _, column in shown.items())
    assert table["item_order"].value_counts().nunique() == 1
    assert table.groupby("order_group").size().unique().tolist() == [places]


@pytest.mark.parametrize("name", slow_but(SHAPES, SUITE))
def test_a_study_trains_only_when_it_asks_to(name):
    assert set(by_default(name)["split"]) == {"test"}
    assert set(by_default(name)["item_set"]) == {"everyday"}
    assert set(asked(name)["split"]) == {"dev", "test"}
    assert set(asked(name)["item_set"]) == {"published", "fresh"}
    train = asked(name, splits=("train",), item_order="hl")
    assert set(train["split"]) == {"train"} and set(train["item_set"]) == {"published"}


@pytest.mark.parametrize("name", slow_but(SHAPES, SUITE))
def test_no_two_splits_share_a_thing(name):
    table = asked(name, splits=("train", "dev", "test"), item_sets=EVERY)
    things = table.groupby("split")[["high", "low"]].agg(set)
    held = {split: row["high"] | row["low"] for split, row in things.iterrows()}
    assert all(not held[one] & held[other] for one, other in combinations(held, 2))
    assert set(table["pair"]) == set(table["cluster"] + "/" + table["crossed"].fillna(table["low"]))


# hash of all ids of a paradigm's grid; changes only when questions or their content do
FIRST_IDS = {
    "bets/card": "77369da19eefc063",
    "bets/clock": "e5de8a36d8ef73fb",
    "bets/coin": "24074b3b3fb00508",
    "bets/dice": "77204d7846b0d055",
    "bets/marble": "26f5f0508410f6c4",
    "bets/open": "34fd935a42e53f29",
    "bets/spinner": "6d15b83190883a80",
    "bets/urn": "3349a57760862b65",
    "bets/value": "c69792301d640f13",
}


@pytest.mark.parametrize("name", slow_but(SHAPES, SUITE))
def test_ids_are_stable(name):
    table = asked(name)
    assert table["item_id"].is_unique
    assert content_hash(table["item_id"].tolist()) == FIRST_IDS[name]
    again = paradigm(name).items(seed=7, **GRID)
    assert again["item_id"].tolist() == table["item_id"].tolist()  # nothing is drawn


# --- what is asked by default ----------------------------------------------------


@pytest.mark.parametrize("name", SUITE)
def test_a_hundred_pairs_that_share_nothing(name):
    "Every thing is in one pair, and nothing but the pair joins two prompts."
    table = by_default(name)
    pairs = table[["high", "low"]].drop_duplicates()
    things = [*pairs["high"], *pairs["low"]]
    assert len(pairs) == 100 and len(set(things)) == 200
    assert table["cluster"].nunique() == 100 and table["crossed"].isna().all()
    assert len(table) == (300 if name == "bets/open" else 600)
    assert table["item_id"].is_unique and table["prompt"].is_unique
    known = {thing for each in ITEM_SETS if each.name != "everyday" for thing in named(each)}
    assert not known & set(things)
    assert table["content"].map(lambda each: each["value_high"] / each["value_low"]).min() >= 10
    again = paradigm(name).items(seed=7)
    assert again["item_id"].tolist() == table["item_id"].tolist()  # nothing is drawn


def named(things):
    "All things of a set."
    return [*things.high, *things.low]


@pytest.mark.parametrize("name", SUITE)
def test_constant_policies_earn_the_same(name):
    "In every pair of two-sided bets and of values; of a spinner, over all pairs."
    table = by_default(name)
    choices = len(table["options"].iloc[0])
    policies = {f"place {place}": table["target_position"] == place for place in range(1, 4)}
    if name == "bets/value":
        policies |= {first: table["item_order"] == first for first in ("hl", "lh")}
    else:
        said = [
            next(each["text"] for each in options if each["role"] == right)
            for options, right in zip(table["options"], table["right"])
        ]
        policies |= {text: pd.Series(said) == text for text in sorted(set(said))}
        assert len(set(said)) == choices
    for policy, right in policies.items():
        share = right.groupby(table["pair"]).mean()
        earned = 1 / 2 if policy in ("hl", "lh") else 1 / choices
        assert share.mean() == pytest.approx(earned), policy
        if name != "bets/spinner" and not (name == "bets/open" and policy[:5] == "place"):
            assert share.nunique() == 1, policy


# --- what comes for free ---------------------------------------------------------


# simulated participant -> accuracy by the standard method and under every ground truth
BET_ACCURACY = {
    "rational": {"standard": 1, "strict": 1, "positive": 1, "non_negative": 1},
    "graded": {"standard": 1, "strict": 1, "positive": 1, "non_negative": 1},
    "human": {"standard": 1, "strict": 1, "positive": 1, "non_negative": 1},
    "type_only": {"standard": 3 / 4, "strict": 3 / 4, "positive": 1 / 2, "non_negative": 3 / 4},
    "mirror": {"standard": 0, "strict": 0, "positive": 0, "non_negative": 1 / 2},
    "position": {"standard": 1 / 3, "strict": 1 / 3, "positive": 1 / 3, "non_negative": 1 / 2},
    # all or nothing exceeds a threshold, and neither set is right
    "random": {"standard": 1 / 3, "strict": 0, "positive": 0, "non_negative": 0},
}
VALUE_ACCURACY = {
    "rational": {"standard": 1, "normal": 1, "weak_normal": 1, "weak": 1},
    "graded": {"standard": 1, "normal": 1, "weak_normal": 1, "weak": 1},
    "human": {"standard": 1, "normal": 1, "weak_normal": 1, "weak": 1},
    "type_only": {"standard": 1 / 2, "normal": 1 / 2, "weak_normal": 1 / 2, "weak": 1},
    "mirror": {"standard": 0, "normal": 0, "weak_normal": 0, "weak": 1},
    "position": {"standard": 1 / 3, "normal": 1 / 3, "weak_normal": 1 / 3, "weak": 1},
    "random": {"standard": 1 / 3, "normal": 0, "weak_normal": 0, "weak": 0},
}
IN_ORDER = {"standard": 1 / 4, "strict": 1 / 4, "positive": 1 / 2, "non_negative": 1 / 4}
NAMES = {"standard": "right_share"}


def accuracies(name, who, **settings):
    "Accuracy of a simulated participant under every truth, from the effects table."
    table, made = asked(name, **settings), paradigm(name)
    found = estimate_effects(exact_trials(who, table), table, made)
    whole = (
        found[found["group"] == "all"].drop_duplicates("measure").set_index("measure")["estimate"]
    )
    truths = VALUE_ACCURACY if name == "bets/value" else BET_ACCURACY
    return {
        truth: whole[NAMES.get(truth, f"threshold_{truth}")]
        for truth in truths[who]
        if NAMES.get(truth, f"threshold_{truth}") in whole
    }


# the notebook of each paradigm has its own
@pytest.mark.parametrize("who", slow_but(("type_only", "mirror", "random"), BET_ACCURACY))
def test_closed_forms_of_bets(who):
    assert accuracies("bets/coin", who) == pytest.approx(BET_ACCURACY[who])


@pytest.mark.parametrize("who", slow_but(("type_only", "mirror", "random"), VALUE_ACCURACY))
def test_closed_forms_of_values(who):
    assert accuracies("bets/value", who) == pytest.approx(VALUE_ACCURACY[who])


def test_closed_forms_in_the_published_order():
    "Whoever always says A is right in a quarter of the bets, and in all value questions."
    assert accuracies("bets/coin", "position", orders="published") == pytest.approx(IN_ORDER)
    found = accuracies("bets/value", "position", orders="published", item_order="hl")
    assert found == pytest.approx(dict.fromkeys(found, 1))
