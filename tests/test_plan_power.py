"What a plan says of power is what the headline of a run counts."

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from tiers import FEW, slow_but

from cogbias.design import paradigm, paradigms, selected
from cogbias.effects import headlines
from cogbias.planning import plans
from cogbias.planning.plans import plan_run, plan_tables
from cogbias.running import ask_and_estimate
from cogbias.study import make_study

# those of the bets take seconds each
SEEN = {"logic/belief": (24, 0.0838, "probability"), "bets/coin": (100, 0.145, "accuracy gain")}


@pytest.mark.parametrize("name", slow_but([*FEW, "logic/belief"], paradigms()))
def test_a_plan_counts_what_the_headline_counts(name: str, tmp_path: Path) -> None:
    effects = ask_and_estimate("sim/human", name, tmp_path)
    study = make_study(models=["openai/far"], paradigms=[name])
    (planned,) = plan_run(study, tmp_path / "none").power.to_dict("records")
    (head,) = headlines(effects).to_dict("records")
    assert planned["measure"] == head["measure"] == paradigm(name).headline.measure
    assert planned["clusters"] == head["n_clusters"]
    assert planned["unit"] == head["unit"] and planned["detectable"] > 0
    assert planned["for_half"] > 3 * planned["clusters"]
    items = selected(paradigm(name).items(), paradigm(name).headline)
    if "sets of texts" in paradigm(name).clusters:  # settings and texts cross
        kinds = items["cluster"].nunique(), items["crossed"].nunique()
        assert planned["of_either"] == kinds and planned["clusters"] == min(kinds)
        assert f"{kinds[0]} clusters share {kinds[1]} crossed units" in head["detail"]
        assert f"{kinds[0]} clusters that share {kinds[1]} units" in planned["note"]
    else:
        assert planned["of_either"] == ()
    if head["unit"] == "scaled rating":
        points = len(items["options"].iloc[0])
        assert planned["told"].endswith(f"{(points - 1) / 6:.2g} of {points} points")


@pytest.mark.parametrize("name", SEEN)
def test_the_smallest_effect_by_hand(name: str, tmp_path: Path) -> None:
    study = make_study(models=["sim/human"], paradigms=[name])
    (planned,) = plan_run(study, tmp_path).power.to_dict("records")
    clusters, smallest, unit = SEEN[name]
    assert (planned["clusters"], planned["unit"]) == (clusters, unit)
    assert planned["detectable"] == pytest.approx(smallest, abs=0.002)
    assert 3.3 < planned["for_half"] / clusters < 4.5


@pytest.mark.parametrize("repeats", [1, 3, 30])
def test_the_smallest_effect_of_a_number_is_found_in_four_studies_of_five(repeats: int) -> None:
    "Drawn as the plan assumes: two prompts a cluster, whose answers repeat."
    study = make_study(models=["openai/far"], paradigms=["classic/category_size"], repeats=repeats)
    (planned,) = plan_run(study, "nowhere").power.to_dict("records")
    draws = np.random.default_rng(1)
    studies, clusters = 4000, planned["clusters"]
    effects = draws.normal(planned["detectable"], 14, (studies, clusters))
    of_one_prompt = 100 / 6 / np.sqrt(repeats)
    treatment, control = draws.normal(0, of_one_prompt, (2, studies, clusters))
    found = ttest_1samp(effects + treatment - control, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.03)


def test_only_of_a_server_a_plan_says_what_a_server_may_do(tmp_path: Path) -> None:
    "The sentence stood under a model that runs here, too."
    study = make_study(models=["hf/somebody", "openai/somebody"], paradigms=["classic/framing"])
    lines = [each for each in plan_run(study, tmp_path).notes if "planned by the settings" in each]
    assert [("hf/" in each, "server" in each) for each in lines] == [(False, True), (True, False)]


def test_a_plan_of_half_of_the_cells_can_see_nothing(tmp_path: Path) -> None:
    "Belief against logic needs all four; the headline of such a run has no estimate."
    asked = {"models": ["openai/far"], "paradigms": ["logic/belief"]}
    half, whole = (
        plan_run(make_study(**asked, **more), tmp_path / "none").power.iloc[0]
        for more in ({"where": {"is_valid": [True]}}, {})
    )
    assert np.isnan(half["detectable"]) and whole["detectable"] > 0
    said = "nothing is asked in invalid_believable or invalid_unbelievable"
    assert said in half["note"] and "nothing is asked" not in whole["note"]


def test_where_nothing_can_be_seen_no_number_of_clusters_shows_half_of_it(tmp_path: Path) -> None:
    "It said '1': half of nothing needs as many as there are."
    few = {"classic/framing": {"contents": "published"}}
    asked = {"models": ["openai/far"], "paradigms": ["classic/framing", "classic/anchoring"]}
    planned = plan_run(make_study(**asked, settings=few), tmp_path / "none")
    one, many = planned.power.to_dict("records")
    assert np.isnan(one["detectable"]) and one["for_half"] is None
    assert isinstance(many["for_half"], int), "beside it, too"
    shown = plan_tables(planned)[plans.TITLE_OF_POWER]
    assert shown[["can be seen", "half with"]].iloc[0].tolist() == ["–", "–"]
    assert "fewer than 4 clusters: no interval" in one["note"]
