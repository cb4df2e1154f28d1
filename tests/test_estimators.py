"Estimators are a registry: what is beside a headline, what zero means, what an entry may read."

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from made_up_trials import around, told

import cogbias.effects as effects
from cogbias.design import ACCURACY_GAIN, Contrast, contrast_kinds
from cogbias.effects import (
    Estimator,
    estimate_effects,
)
from cogbias.stats.estimates import Estimate
from cogbias.tables import item_table, option


def guess(cluster: int, condition: str, order: int, wording: str) -> dict:
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


def moved(items: pd.DataFrame, by: int) -> list[str]:
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


def question(suite: str, number: int, right: int, split: str = "test") -> dict:
    "A question with one right option of two; the first is right three times of four."
    roles = ["right" if place == right else "wrong" for place in (0, 1)]
    return {
        "condition": "asked",
        "pair_id": f"q{number}",
        "cluster": f"q{number // 4}",
        "stratum": "all",
        "prompt": f"{suite} {number}",
        "options": [option(label, "", role) for label, role in zip("AB", roles)],
        "content": {"number": number},
        "split": split,
    }


VALUES, BETS = (
    item_table(
        f"made/{suite}",
        [
            question(suite, number, int(number % 4 == 3), "dev" if number < 80 else "test")
            for number in range(160)
        ],
    )
    for suite in ("values", "bets")
)
SHARE = Contrast(
    "right",
    "Right answers",
    {"right": 1.0, "wrong": 0.0},
    **{"treatment": "asked", "control": None, "sense": "accuracy", "unit": ACCURACY_GAIN},
)


def believed(contrast: Contrast, answers: effects.Answered) -> effects.Found:
    "Share of bets that fit what the participant itself said of the values, on the test split."
    layout = answers.layout
    said = np.full(len(layout), -1)
    said[answers.item] = answers.p.argmax(axis=1)
    rows = effects.Rows(answers, np.arange(len(layout)))
    test = rows.at("split", "test")
    values, bets = (test & rows.at("paradigm", name) for name in ("made/values", "made/bets"))
    belief = dict(zip(rows["pair_id"][values], said[values]))
    fits = [
        said[item] == belief[pair] for item, pair in zip(rows.item[bets], rows["pair_id"][bets])
    ]
    return effects.Found(Estimate(float(np.mean(fits)), method="made"), rows.part(bets))


def test_an_estimator_may_read_all_trials_of_a_participant(monkeypatch):
    "An accuracy conditioned on beliefs of another paradigm, on one split: an entry, nothing else."
    entry = Estimator("made up", believed, "participant", factor="split", bounded=False)
    monkeypatch.setitem(effects.estimators(), "believed", entry)
    assert contrast_kinds()["believed"] is entry
    conditioned = replace(SHARE, measure="fits", kind="believed")
    here = around(BETS, conditioned)
    values, bets = told(VALUES, choice="B"), told(BETS, choice="B")
    suite = pd.concat([values, bets]), pd.concat([VALUES, BETS])
    found = estimate_effects(bets, BETS, here, suite=suite)
    assert found.iloc[0]["estimate"] == 1.0  # wrong on both, and true to itself
    assert found.iloc[0]["n_items"] == 80
