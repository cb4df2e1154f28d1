"Reference values of prospect theory and simulated participants; skipped without the file."

import math

import numpy as np
import pytest

from cogbias.backends.sim import SimulatedParticipant, expected_effect
from cogbias.design import paradigm, selected
from cogbias.kits.rules import expected_prize, prospect_value, weight
from cogbias.paradigms.choice.certainty import choose_lottery
from golden import beside, load

pytestmark = beside


@pytest.fixture(scope="module")
def entries():
    "Entries by id."
    return load()["entries"]


def test_prospect_values(entries):
    lotteries = [
        [(4000, 80), (0, 20)],
        [(3000, 100)],
        [(4000, 20), (0, 80)],
        [(3000, 25), (0, 75)],
        [(2500, 33), (2400, 66), (0, 1)],
        [(200, 50), (-100, 50)],
    ]
    assert np.allclose(
        [prospect_value(lottery) for lottery in lotteries],
        entries["cpt_tk1992"]["expected"]["value"],
        rtol=1e-6,
    )


def test_decision_weights(entries):
    entry = entries["cpt_weights_tk1992"]
    assert np.allclose(
        [weight(p, 0.61) for p in entry["inputs"]["p"]], entry["expected"]["value"], rtol=1e-5
    )


def delta(rule, position=0.0, lapse=0.0):
    "Effect on the published sets of a chooser with a position habit (logits) and uniform lapses."
    bias = paradigm("choice/certainty")
    contrast = next(each for each in bias.contrasts if each.measure == "certainty_effect_all_sets")
    items = selected(bias.items(grid="published"), contrast)
    chances = []
    for row in items.to_dict("records"):
        p = rule(row["content"], [each["role"] for each in row["options"]])["target"]
        logit = math.log(p / (1 - p)) if 0 < p < 1 else math.inf * (p - 0.5)
        shifted = (
            1
            / (
                1
                + math.exp(
                    -(logit + (position / 2 if row["target_position"] == 1 else -position / 2))
                )
            )
            if math.isfinite(logit)
            else p
        )
        chances.append((1 - lapse) * shifted + lapse / 2)
    means = (
        items.assign(p=chances).groupby(["stratum", "cluster", "condition"])["p"].mean().unstack()
    )
    return float((means["treatment"] - means["control"]).groupby("stratum").mean().mean())


def test_closed_forms_of_the_certainty_participants(entries):
    "Random, expected value and utility, noise, prospect theory, position habit and lock, lapses."
    expected = entries["participants_certainty"]["expected"]["value"]

    def utility(lottery):
        return sum(chance / 100 * prize**0.6 for prize, chance in lottery)

    value = [
        0.0,
        delta(choose_lottery(expected_prize, math.inf)),
        delta(choose_lottery(expected_prize, 10)),
        delta(choose_lottery(utility, 20)),
        delta(choose_lottery(prospect_value, 5)),
        delta(choose_lottery(prospect_value, 10)),
        delta(choose_lottery(prospect_value, 10), position=4),
        delta(choose_lottery(prospect_value, 10), lapse=0.2),
        0.0,
    ]
    assert np.allclose(value, expected, atol=6e-5), value
    assert math.isclose(
        delta(choose_lottery(expected_prize, 20)), 0.0972, abs_tol=5e-5
    )  # printed beside the table
    assert math.isclose(delta(choose_lottery(prospect_value, 6.5)), 0.3729, abs_tol=5e-5)
    locked = SimulatedParticipant("position")
    bias = paradigm("choice/certainty")
    assert expected_effect(locked, bias.items(), bias.headline) == 0
