"""The errors over models of a regression on features, against R's clubSandwich.

Skips where the reference file is not beside the checkout.
"""

import numpy as np
import pandas as pd
import pytest

from cogbias.stats.features import ols_on_features
from golden import beside, load

pytestmark = beside


@pytest.fixture(scope="module")
def golden():
    "Expected values of the entry, and the 840 rows they come from."
    loaded = load()
    return loaded["entries"]["cluster_robust_certainty"]["expected"], pd.DataFrame(
        loaded["certainty_sim_csv"]
    )


def test_jackknife_is_cr3(golden):
    "R: coef_test(lm(y ~ T), vcovCR(., cluster, 'CR3'), test = 'naive-t'); T varies in clusters."
    expected, rows = golden
    table = ols_on_features(rows, "y", "cluster", features=[], design=["T"]).coefficients
    assert list(table["term"]) == ["intercept", "T"] and (table["df"] == 13).all()
    for ours, theirs in (
        (table["estimate"], expected["coef"]),
        (table["published_se"], expected["se_iid"]),
        (table["se"], expected["CR3"]["se"]),
        (table["p_value"], expected["CR3"]["p"]),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_do_not_matter(golden, scale):
    rows = golden[1].assign(T=lambda rows: rows["T"] * scale)
    np.testing.assert_allclose(
        ols_on_features(rows, "y", "cluster", features=[], design=["T"]).coefficients["p_value"],
        golden[0]["CR3"]["p"],
        rtol=1e-7,
    )
