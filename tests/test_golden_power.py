"""Power and clustered standard errors against R, each with the tolerance in the reference file.

The file lives beside the repository, not in it, so these tests skip where it is absent.
"""

import pandas as pd
import pytest

from cogbias.stats.power import evaluation_mean, proportions_power, proportions_sample_size
from golden import beside, load, tolerance

pytestmark = beside


@pytest.fixture(scope="module")
def golden():
    "The whole reference file, entries by id."
    return load()


@pytest.mark.parametrize("name", ["pwr_2p_0.9", "pwr_2p_0.95"])
@pytest.mark.parametrize(
    "kind, expected, call",
    [
        ("arcsine", "n", "NormalIndPower"),
        ("fleiss", "n_power_prop_test", "Fleiss"),
        ("t", "n_t", "tt_ind"),
    ],
)
def test_two_proportions(golden, name, kind, expected, call):
    entry = golden["entries"][name]
    given = entry["inputs"]
    ours = proportions_sample_size(given["p1"], given["p2"], given["power"], kind=kind).exact
    assert ours == pytest.approx(entry["expected"][expected], rel=tolerance(entry, call))
    assert proportions_power(
        given["p1"], given["p2"], entry["expected"][expected], kind=kind
    ) == pytest.approx(given["power"], abs=1e-6)


def test_clustered_standard_error_is_cr0(golden):
    # with a treatment column in the regression, the intercept is the control mean and its CR0 error
    # that of the control answers alone
    table, entry = (
        pd.DataFrame(golden["certainty_sim_csv"]),
        golden["entries"]["cluster_robust_certainty"],
    )
    control = table[table["T"] == 0]
    ours = evaluation_mean(control["y"], control["cluster"])
    tol = tolerance(entry, "CR0")
    assert ours.estimate == pytest.approx(entry["expected"]["coef"][0], rel=tol)
    assert ours.se == pytest.approx(entry["expected"]["CR0"]["se"][0], rel=tol)
