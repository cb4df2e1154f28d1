"What a plan says of power is what the headline of a run counts."

from __future__ import annotations

from pathlib import Path

import pytest
from tiers import KINDS, slow_but

from cogbias.design import paradigm, paradigms
from cogbias.effects import headlines
from cogbias.planning.plans import plan_run
from cogbias.running import ask_and_estimate
from cogbias.study import make_study

SEEN = {"logic/belief": (24, 0.0838, "probability"), "bets/coin": (100, 0.145, "accuracy gain")}


@pytest.mark.parametrize("name", slow_but(KINDS, paradigms()))
def test_a_plan_counts_what_the_headline_counts(name: str, tmp_path: Path) -> None:
    effects = ask_and_estimate("sim/human", name, tmp_path)
    study = make_study(models=["openai/far"], paradigms=[name])
    (planned,) = plan_run(study, tmp_path / "none").power.to_dict("records")
    (head,) = headlines(effects).to_dict("records")
    assert planned["measure"] == head["measure"] == paradigm(name).headline.measure
    assert planned["clusters"] == head["n_clusters"]
    if head["unit"] in ("probability", "scaled rating", "accuracy gain"):
        assert planned["unit"] == head["unit"]


@pytest.mark.parametrize("name", SEEN)
def test_the_smallest_effect_by_hand(name: str, tmp_path: Path) -> None:
    study = make_study(models=["sim/human"], paradigms=[name])
    (planned,) = plan_run(study, tmp_path).power.to_dict("records")
    clusters, smallest, unit = SEEN[name]
    assert (planned["clusters"], planned["unit"]) == (clusters, unit)
    assert planned["detectable"] == pytest.approx(smallest, abs=0.002)
    assert 3.3 < planned["for_half"] / clusters < 4.5
