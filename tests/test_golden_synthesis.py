"""Meta-analysis against metafor 3.8: the restricted maximum likelihood of its data sets."""

import pytest

from cogbias.stats.synthesis import synthesise
from golden import GOLDEN, beside, close, load

pytestmark = beside
ENTRIES = load()["entries"] if GOLDEN.exists() else {}
SETS = ("meta_bcg", "meta_normand", "meta_homog")


@pytest.mark.parametrize("name", SETS)
def test_one_common_effect(name):
    entry = ENTRIES[f"{name}_EE"]
    found = synthesise(entry["inputs"]["yi"], entry["inputs"]["vi"])
    close([found.q, found.q_p_value], [entry["expected"][each] for each in ("Q", "Qp")], 1e-9)


def test_mean_spread_and_prediction():
    given, expected = ENTRIES["meta_homog_EE"]["inputs"], ENTRIES["meta_homog_REML"]["expected"]
    found = synthesise(given["yi"], given["vi"])
    # metafor stops its search when a step is below 1e-5; ours runs to the end
    close([found.tau**2, found.mean.estimate], [expected["tau2"], expected["b"]], 1e-4)
    # the effects of this set agree, so that ours keeps the scale at 1
    assert expected["se_knha"] < expected["se"] and found.mean.se == pytest.approx(expected["se"])
