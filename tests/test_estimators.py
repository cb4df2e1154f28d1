"Estimators are a registry: what is beside a headline, what zero means, what an entry may read."

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import cogbias.effects as effects
from cogbias.design import ACCURACY_GAIN, Contrast, Paradigm, contrast_kinds, paradigm
from cogbias.effects.registry import READS
from cogbias.effects import (
    Estimator,
    decide,
    difference,
    estimate_effects,
    read_prompts,
)
from cogbias.reporting.study import common_effects
from cogbias.stats.estimates import Estimate
from cogbias.tables import TRIALS, item_table, option

KEYS = ["paradigm", "item_id", "condition", "pair_id", "cluster", "stratum"]


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


def made_up(items: pd.DataFrame, *contrasts: Contrast, **more: object) -> Paradigm:
    "A paradigm around some items."
    text = dict.fromkeys(("title", "bias", "summary", "norm", "positive", "source"), "")
    named = dict.fromkeys(set(items) - set(KEYS), "")
    return Paradigm(
        name=items["paradigm"].iloc[0],
        factors={
            name: "" for name in named if name in ("wording", "rational", "split", "order_group")
        },
        items=lambda: items,
        contrasts=contrasts,
        **{**text, **more},
    )


def told(items: pd.DataFrame, **columns: object) -> pd.DataFrame:
    "Trials of one participant."
    table = items[KEYS].assign(
        participant="made up", backend="made", model="up", repeat=0, status="ok", attempt=1
    )
    table = table.assign(trial_id=items["item_id"], method="text", **columns)
    return table.reindex(columns=TRIALS.names)


def moved(items: pd.DataFrame, by: int) -> list[str]:
    "Answers of somebody whom the treatment moves up by some tens."
    return [str(10 + by * (condition == "treatment")) for condition in items["condition"]]


def test_a_number_headline_has_what_a_choice_headline_has():
    "Breakdown, bounds and order of options: none of them is lost where numbers are asked for."
    here = made_up(GUESSES, MEANS, breakdown=("wording",))
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
    found = estimate_effects(told(GUESSES, choice=first), GUESSES, made_up(GUESSES, MEANS))
    assert found.iloc[0]["status"] == "position_dominated"


def test_numbers_in_words_have_no_order_of_options_and_say_so():
    spoken = told(GUESSES, value=[float(each) for each in moved(GUESSES, 20)])
    found = estimate_effects(spoken, GUESSES, made_up(GUESSES, MEANS))
    shift = found[(found["target"] == "S") & (found["measure"] == "shift")].iloc[0]
    assert shift["estimate"] == pytest.approx(20)
    kept = found[found["measure"] == "order_consistency"]
    assert set(kept["status"]) == {"position_unidentifiable"}


def test_numbers_that_nobody_could_read_are_a_row_and_no_error():
    "A cell of refusals has a headline that says so."
    refused = told(GUESSES).assign(status="refusal")
    row = estimate_effects(refused, GUESSES, made_up(GUESSES, MEANS)).iloc[0]
    assert (row["measure"], row["status"]) == ("shift", "no_valid_answers")
    assert row["n_trials"] == len(GUESSES) and row["n_valid"] == 0


def test_bounds_that_do_not_exist_are_said_to_be_missing():
    "A criterion shift moves both ways: what unreadable answers could do to it is not known."
    belief = paradigm("logic/belief")
    shifted = next(each for each in belief.contrasts if each.kind == "criterion_shift")
    first = replace(belief, contrasts=(shifted, *belief.contrasts[1:2]), items=belief.items)
    items = belief.items()
    rng = np.random.default_rng(1)
    said = [options[rng.integers(2)]["label"] for options in items["options"]]
    lost = ["refusal" if k % 5 == 0 else "ok" for k in range(len(items))]
    found = estimate_effects(told(items, choice=said).assign(status=lost), items, first)
    ends = found[found["measure"].isin([f"{shifted.measure}_{end}" for end in ("lower", "upper")])]
    assert set(ends["status"]) == {"undefined"} and ends["estimate"].isna().all()
    assert decide(found).iloc[0]["verdict"] in ("none", "inconclusive")


@pytest.mark.parametrize("null", [10.0, "rational"])
def test_a_shift_is_measured_from_what_a_rational_answer_shows(null):
    "A rational answer moves by 10: somebody who moves by 10 shows nothing, by 20 shows 10."
    beyond = replace(MEANS, sense="shift", null=null)
    here = made_up(GUESSES, beyond)
    rows = [
        estimate_effects(told(GUESSES, choice=moved(GUESSES, by)), GUESSES, here).iloc[0]
        for by in (10, 20)
    ]
    assert [row["estimate"] for row in rows] == pytest.approx([0, 10])
    assert "rational answer" in rows[0]["detail"]


def test_a_share_may_have_another_zero_too():
    "The interval keeps to the scale, seen from the declared zero."
    framing = paradigm("classic/framing")
    items = framing.items(variants=["base"])
    from cogbias.backends.sim import exact_trials

    rows = read_prompts(effects.answered(exact_trials("human", items), items), framing.headline)
    plain = difference(framing.headline, rows)
    moved_by = replace(framing.headline, sense="shift", null=plain.estimate)
    beyond = difference(moved_by, rows)
    for name in ("estimate", "ci_low", "ci_high"):
        assert getattr(beyond, name) == pytest.approx(
            getattr(plain, name) - plain.estimate, abs=1e-9
        )
    assert plain.p_value < 0.01 < 0.9 < beyond.p_value


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
    treatment="asked",
    control=None,
    sense="accuracy",
    unit=ACCURACY_GAIN,
)


def right_answers(items: pd.DataFrame) -> list[str]:
    "The labels of the right options."
    return [
        next(each["label"] for each in shown if each["role"] == "right")
        for shown in items["options"]
    ]


def test_an_accuracy_stands_against_the_best_constant_policy_in_words_of_its_own():
    "Always the first option gets three of four right, so that is where zero is."
    here = made_up(BETS, SHARE)
    best = decide(estimate_effects(told(BETS, choice=right_answers(BETS)), BETS, here))
    habit = decide(estimate_effects(told(BETS, choice="A"), BETS, here))
    assert best.iloc[0]["estimate"] == pytest.approx(0.25) and best.iloc[0]["verdict"] == "better"
    assert habit.iloc[0]["estimate"] == pytest.approx(0)
    assert habit.iloc[0]["verdict"] not in ("present", "reversed", "absent", "better")
    assert "gets 0.75 right" in best.iloc[0]["detail"]
    assert common_effects(best).attrs["left_out"] == ["made/bets"]  # no heat map of biases


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
    here = made_up(BETS, conditioned)
    values, bets = told(VALUES, choice="B"), told(BETS, choice="B")
    suite = pd.concat([values, bets]), pd.concat([VALUES, BETS])
    found = estimate_effects(bets, BETS, here, suite=suite)
    assert found.iloc[0]["estimate"] == 1.0  # wrong on both, and true to itself
    assert found.iloc[0]["n_items"] == 80


def test_estimators_of_other_notebooks_are_found():
    kinds = effects.estimators()
    assert {"rating_m", "threshold_accuracy", "difference"} <= set(kinds)
    assert {each.reads for each in kinds.values()} == set(READS)
    assert all(each.meaning for each in kinds.values())
