"What a plan says of power is what the headline of a run counts, and what its verdict would be."

from math import inf

import numpy as np
import pytest
from made_up_studies import FOUND, verdicts
from tiers import slow_but

from cogbias.design import paradigm
from cogbias.effects import headlines
from cogbias.planning.plans import plan_run
from cogbias.planning.power import design_of, power_of, smallest_in_unit
from cogbias.running.in_python import run
from cogbias.study import make_study

TEN = [
    *("choice/certainty", "choice/decoy", "logic/belief", "bets/coin"),
    *("classic/framing", "classic/category_size", "classic/anchoring", "classic/endowment"),
    *("managerial/framing", "managerial/optimism"),
]


@pytest.mark.parametrize(
    "name", slow_but(["choice/certainty", "bets/coin", "classic/anchoring"], TEN)
)
def test_a_plan_counts_what_the_headline_counts(name, tmp_path):
    quiet = {"outputs": tmp_path, "reports": False, "progress": False}
    effects = run("sim/human", name, **quiet).effects
    study = make_study(models=["openai/far"], paradigms=[name])
    (planned,) = plan_run(study, tmp_path / "none").power.to_dict("records")
    (head,) = headlines(effects).to_dict("records")
    assert planned["measure"] == head["measure"] == paradigm(name).headline.measure
    assert planned["clusters"] == head["n_clusters"]
    assert planned["unit"] == head["unit"] and planned["present_from"] > 0
    assert planned["smallest"] == head["smallest"]
    assert 0 <= planned["zero_absent"] <= 1


def called_present(name, exact, studies):
    "The share of studies that call the effect present that 4 of 5 should."
    headline = paradigm(name).headline
    design = design_of(paradigm(name).items(), headline)
    smallest = smallest_in_unit(name, headline, design)
    promised = power_of(design, smallest, inf if exact else 1).present_from
    return float(verdicts(name, exact, promised, studies).isin(FOUND).mean())


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", TEN)
def test_four_of_five_studies_call_the_effect_present(name, exact):
    "Within 5 points, and two standard errors of the 400 studies made up without the package."
    assert called_present(name, exact, 400) == pytest.approx(0.8, abs=0.05 + 0.04)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", ["classic/framing"])
def test_most_studies_call_the_effect_present(name, exact):
    assert called_present(name, exact, 60) == pytest.approx(0.8, abs=0.16)


def test_confirming_a_family_takes_larger_effects(tmp_path):
    asked = {"models": ["openai/far"], "paradigms": ["classic/framing", "classic/sunk_cost"]}
    screened, confirmed = (
        plan_run(make_study(**asked, analysis={"adjustment": each}), tmp_path).power
        for each in ("benjamini_hochberg", "holm")
    )
    assert (screened["present_from"] < confirmed["present_from"]).all()


def test_a_plan_of_half_of_the_cells_can_see_nothing(tmp_path):
    "Belief against logic needs all four; the headline of such a run has no estimate."
    asked = {"models": ["openai/far"], "paradigms": ["logic/belief"]}
    half, whole = (
        plan_run(make_study(**asked, **more), tmp_path / "none").power.iloc[0]
        for more in ({"where": {"is_valid": [True]}}, {})
    )
    assert np.isnan(half["present_from"]) and whole["present_from"] > 0
    said = "invalid_believable or invalid_unbelievable"
    assert said in half["why_none"] and said not in whole["why_none"]


@pytest.mark.parametrize("name", ["classic/framing", "managerial/framing"])
def test_a_plan_of_one_condition_can_see_nothing(name, tmp_path):
    one = make_study(models=["openai/far"], paradigms=[name], where={"condition": ["treatment"]})
    (row,) = plan_run(one, tmp_path / "none").power.to_dict("records")
    assert row["clusters"] == 0 and "fewer than six clusters" in row["why_none"]
