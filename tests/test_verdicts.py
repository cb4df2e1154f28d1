"""What the default designs can decide of participants with a bias, without one, and at random."""

import pytest
from tiers import FEW, KINDS, slow_but

import cogbias as cb
from cogbias.design import paradigm, paradigms

CAST = ("sim/rational", "sim/random", "sim/human")
# the bias of people is itself smaller than the smallest effect of interest
SMALL_IN_PEOPLE = ("choice/decoy",)
OURS = [name for name in paradigms() if not name.startswith("published/")]


@pytest.mark.parametrize("name", slow_but(FEW, OURS))
def test_a_default_design_decides(name, tmp_path):
    found = cb.run([*CAST], name, outputs=tmp_path, reports=False, progress=False).headlines
    said = dict(zip(found["participant"], found["verdict"]))
    of_bets = paradigm(name).headline.sense == "accuracy"
    assert said["sim/rational"] == ("better" if of_bets else "absent")
    assert said["sim/random"] in ({"no better", "worse"} if of_bets else {"absent"})
    biased = {"better"} if of_bets else {"present"}
    assert said["sim/human"] in (biased | {"negligible"} if name in SMALL_IN_PEOPLE else biased)
    assert found["verdict_these_prompts"].notna().all()
    assert found["n_items"].max() <= 600


def test_a_default_design_costs_what_one_would_pay():
    sizes = {name: len(paradigm(name).items()) for name in KINDS}
    assert max(sizes.values()) <= 600
