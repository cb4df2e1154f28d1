"Two participants are compared as each is measured: both orders of a scale count alike."

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

import cogbias as cb

ITEMS = cb.items("managerial/escalation")
STORIES = {row.prompt: row for row in ITEMS.itertuples()}


def story_of(prompt):
    "The item that was asked, whatever stands before its text."
    return next(row for text, row in STORIES.items() if prompt.endswith(text))


def by_place(prompt):
    "The first option after a treatment, the last one otherwise: content counts for nothing."
    story = story_of(prompt)
    return story.options[0 if story.condition == "treatment" else -1]["label"]


def seldom_in_the_second_order(prompt):
    "The middle of the scale; of four in five stories in the second order, nothing."
    story = story_of(prompt)
    chance = int(hashlib.sha256(str(story.cluster).encode()).hexdigest(), 16)
    if str(story.option_order) == "2" and chance % 5:
        return "I cannot answer that."
    return next(option["label"] for option in story.options if option["value"] == 3)


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("orders") / "out"
    asked: list[Callable[[str], str]] = [by_place, seldom_in_the_second_order]
    found = cb.run(asked, ITEMS, outputs=folder, reports=False)
    headlines = cb.headline(found.effects)["estimate"]
    assert headlines.abs().max() < 1e-9, "neither has an effect"
    return cb.compare(found)


def test_two_without_an_effect_do_not_differ(compared):
    (row,) = compared.differences.to_dict("records")
    assert abs(row["estimate"]) < 1e-9
    assert not row["p_value"] < 0.05
    assert row["larger"] == "not told apart"


ALL_OF_FRAMING = cb.items("classic/framing")
FRAMING = ALL_OF_FRAMING[  # of the content sets that are asked in every variant
    ALL_OF_FRAMING.groupby("content_set")["variant"].transform("nunique") > 1
].reset_index(drop=True)
OF_FRAMING = {row.prompt: row for row in ALL_OF_FRAMING.itertuples()}


def framing_by_place(prompt):
    "The first option after a treatment, the last one otherwise."
    item = next(row for text, row in OF_FRAMING.items() if prompt.endswith(text))
    return item.options[0 if item.condition == "treatment" else -1]["label"]


def framing_in_one_order(prompt):
    "The safe option; most stories of the second order are refused."
    item = next(row for text, row in OF_FRAMING.items() if prompt.endswith(text))
    chance = int(hashlib.sha256(str(item.item_id).encode()).hexdigest(), 16)
    if str(item.option_order) == "2" and chance % 5:
        return "I cannot answer that."
    return item.options[0 if str(item.option_order) == "1" else -1]["label"]


def test_a_liking_for_a_place_is_no_difference_where_orders_lack(tmp_path):
    asked = [framing_by_place, framing_in_one_order]
    found = cb.run(asked, FRAMING, outputs=tmp_path / "out", reports=False)
    compared = cb.compare(found)
    (row,) = compared.differences.to_dict("records")
    assert abs(row["estimate"]) > 0.5, "without a look at places it would be a large one"
    assert row["status"] == "position_dominated" and row["larger"] == "not told apart"
    assert "framing_by_place answered mostly by position" in row["detail"]
    assert set(compared.ranks["rank_high"]) == {2}


@pytest.mark.parametrize(
    ("paradigm", "by_place"),
    [("classic/framing", framing_by_place), ("managerial/escalation", by_place)],
)
def test_one_order_supports_no_difference_to_who_goes_by_place(tmp_path, paradigm, by_place):
    asked = [by_place, "sim/random"]
    where = {"option_order": 1}
    found = cb.run(asked, paradigm, outputs=tmp_path, where=where, reports=False)
    compared = cb.compare(found)
    (row,) = compared.differences.to_dict("records")
    assert row["larger"] == "not told apart"
    assert "place" in row["detail"]
    assert set(compared.ranks["rank_low"]) == {1} and set(compared.ranks["rank_high"]) == {2}
