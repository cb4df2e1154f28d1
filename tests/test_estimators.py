"Estimators are a registry: what is beside a headline of choices is beside one of numbers."

import pytest

from made_up_trials import around, told

from cogbias.design import Contrast
from cogbias.effects import (
    estimate_effects,
)
from cogbias.tables import item_table, option


def guess(cluster, condition, order, wording):
    "A question about a number, with five numbers on offer in one of two orders."
    numbers = [option(str(n), "", f"n{n}", float(n)) for n in (0, 10, 20, 30, 40)]
    return {
        "condition": condition,
        "pair_id": f"{cluster} {wording} {order}",
        "cluster": f"c{cluster}",
        "stratum": "all",
        "prompt": f"{cluster} {condition} {order} {wording}",
        "answer": "number",
        "options": numbers if order == 1 else numbers[2:] + numbers[:2],
        "content": {"cluster": cluster},
        "order_group": f"{cluster} {condition} {wording}",
        "wording": wording,
        "rational": 10.0,
    }


GUESSES = item_table(
    "made/up",
    [
        guess(cluster, condition, order, wording)
        for cluster in range(12)
        for condition in ("control", "treatment")
        for order in (1, -1)
        for wording in ("long", "short")
    ],
)
MEANS = Contrast("shift", "Shift", {}, kind="mean_difference", outcome="value", unit="index")


def moved(items, by):
    "Answers of somebody whom the treatment moves up by some tens."
    return [str(10 + by * (condition == "treatment")) for condition in items["condition"]]


def test_a_number_headline_has_what_a_choice_headline_has():
    "Breakdown, bounds and order of options: none of them is lost where numbers are asked for."
    here = around(GUESSES, MEANS, breakdown=("wording",))
    trials = told(GUESSES, choice=moved(GUESSES, 20))
    lost = trials.assign(status=["refusal" if k % 9 == 0 else "ok" for k in range(len(trials))])
    found = estimate_effects(lost, GUESSES, here).set_index(["measure", "group"])
    assert {("shift", "wording=long"), ("shift", "wording=short")} <= set(found.index)
    assert found.loc[("shift", "wording=long"), "estimate"] == pytest.approx(20)
    assert {("shift_lower", "all"), ("shift_upper", "all")} <= set(found.index)
    kept = found.loc[("order_consistency", "condition=treatment")]
    assert kept["estimate"] == pytest.approx(1) and kept["status"] == "ok"


def test_a_number_that_follows_its_place_is_flagged():
    "Always the first number on offer, in whichever order."
    first = [shown[0]["label"] for shown in GUESSES["options"]]
    found = estimate_effects(told(GUESSES, choice=first), GUESSES, around(GUESSES, MEANS))
    assert found.iloc[0]["status"] == "position_dominated"
