"""Meta-analysis against metafor 3.8, entry by entry.

metafor ends Fisher scoring (ML, REML, EB) when a step is below 1e-5 and its root finder (PM,
Q-profile) within 1.2e-4. Ours
run to the end. So the tests come in pairs: our numbers agree within what that early stop allows,
and the same equations with metafor's
stopping rule give its printed values to ten digits, which shows that nothing else differs.
"""

import numpy as np
import pytest

from cogbias.stats.synthesis import between_variance, homogeneity, meta_regression, synthesise
from golden import GOLDEN, beside, close, load

pytestmark = beside
ENTRIES = load()["entries"] if GOLDEN.exists() else {}
CLOSED = {"EE", "DL", "HE", "HS", "SJ"}
ROOT_FINDER = np.finfo(float).eps ** 0.25
FITS = [name for name in ENTRIES if name.startswith("meta_") and not name.endswith("Qprofile")]
PROFILES = [name for name in ENTRIES if name.endswith("tau2_Qprofile")]


def data(name):
    "Effects and variances of an entry; a Q-profile entry shares those of its data set."
    given = ENTRIES[name].get("inputs") or {}
    if "yi" not in given:
        given = ENTRIES[f"{name.rsplit('_', 2)[0]}_EE"]["inputs"]
    return np.array(given["yi"], float), np.array(given["vi"], float)


def test_entries_are_there():
    assert (
        len(FITS) >= 17
        and {"bcg", "normand", "homog"} == {name.split("_")[1] for name in FITS}
        and PROFILES
    )


@pytest.mark.parametrize("name", FITS)
def test_spread_and_mean(name):
    (y, v), expected, method = data(name), ENTRIES[name]["expected"], name.split("_")[2]
    normal, scaled = synthesise(y, v, method, "z"), synthesise(y, v, method, "untruncated")
    # H² divides the spread by a small typical variance, which magnifies the early stop of PM
    tol = 1e-9 if method in CLOSED else 1e-4
    close(
        [
            normal.tau2,
            normal.mean.estimate,
            normal.mean.se,
            normal.mean.ci_low,
            normal.mean.ci_high,
        ],
        [expected[n] for n in ("tau2", "b", "se")] + expected["ci"],
        tol,
    )
    close(
        [scaled.se_knha, scaled.mean.se, scaled.mean.ci_low, scaled.mean.ci_high],
        [expected["se_knha"]] * 2 + expected["ci_knha"],
        tol,
    )
    close(
        [normal.i2.estimate, normal.h2, normal.homogeneity.q],
        [expected[n] for n in ("I2", "H2", "Q")],
        tol,
    )
    assert normal.homogeneity.p_value == pytest.approx(expected["Qp"], rel=1e-9)


@pytest.mark.parametrize("name", FITS)
def test_prediction(name):
    (y, v), expected, method = data(name), ENTRIES[name]["expected"], name.split("_")[2]
    for interval, theirs in (("z", expected["pi"]), ("untruncated", expected["pi_knha"])):
        ahead = synthesise(y, v, method, interval).prediction
        if method == "EE":
            assert not theirs and ahead.status == "undefined"
        else:
            close([ahead.ci_low, ahead.ci_high], theirs, 1e-9 if method in CLOSED else 1e-4)


@pytest.mark.parametrize("name", FITS)
def test_default_is_never_shorter_than_either(name):
    y, v = data(name)
    lengths = {
        i: (m := synthesise(y, v, name.split("_")[2], i).mean).ci_high - m.ci_low
        for i in ("knapp-hartung", "untruncated", "z")
    }
    assert (
        lengths["knapp-hartung"] >= lengths["untruncated"] - 1e-12
        and lengths["knapp-hartung"] > lengths["z"]
    )


def projection(w, x):
    "The matrix P of the notebook."
    weighted = w[:, None] * x
    return np.diag(w) - weighted @ np.linalg.inv(x.T @ weighted) @ weighted.T


def stopped_early(y, v, x, method):
    "Fisher scoring from Hedges' estimate that ends when a step is below 1e-5."
    (k, p), flat = x.shape, projection(np.ones(len(y)), x)
    tau2, change = max(0.0, (y @ flat @ y - np.trace(flat * v)) / (k - p)), 1.0
    while change > 1e-5:
        w = 1 / (v + tau2)
        big = projection(w, x)
        twice = big @ big
        step = {
            "ML": (y @ twice @ y - w.sum()) / (w @ w),
            "REML": (y @ twice @ y - np.trace(big)) / np.trace(twice),
            "EB": (y @ big @ y * k / (k - p) - k) / w.sum(),
        }[method]
        change, tau2 = abs(max(0.0, tau2 + step) - tau2), max(0.0, tau2 + step)
    return tau2


def found_early(y, v, target):
    "Brent's method from 0 to 100 that ends within eps^(1/4)."
    from scipy.optimize import brentq

    def excess(tau2):
        w = 1 / (v + tau2)
        return w @ (y - w @ y / w.sum()) ** 2 - target

    return 0.0 if excess(0) < 0 else brentq(excess, 0, 100, xtol=ROOT_FINDER, rtol=1e-15)


@pytest.mark.parametrize("name", [name for name in FITS if name.split("_")[2] not in CLOSED])
def test_the_rest_is_the_stopping_rule(name):
    (y, v), method = data(name), name.split("_")[2]
    early = (
        found_early(y, v, len(y) - 1)
        if method == "PM"
        else stopped_early(y, v, np.ones((len(y), 1)), method)
    )
    close(early, ENTRIES[name]["expected"]["tau2"], 1e-10)


@pytest.mark.parametrize("name", PROFILES)
def test_q_profile(name):
    (y, v), expected = data(name), ENTRIES[name]["expected"]
    spread, share = between_variance(y, v), synthesise(y, v).i2
    close([spread.estimate, spread.ci_low, spread.ci_high], expected["tau2"], 2 * ROOT_FINDER)
    close([share.estimate, share.ci_low, share.ci_high], expected["I2"], 2e-3)


def test_equal_effects_of_the_homogeneous_set_has_the_q_form():
    y, v = data("meta_homog_EE")
    assert homogeneity(y, v).h2 == pytest.approx(
        ENTRIES["meta_homog_EE"]["expected"]["H2"], abs=1e-12
    )
    assert synthesise(y, v, "EE").h2 == homogeneity(y, v).h2 < 1 == synthesise(y, v, "REML").h2


@pytest.mark.parametrize("method", ["REML", "DL"])
def test_meta_regression(method):
    given, expected = (
        ENTRIES["metareg_bcg_ablat"]["inputs"],
        ENTRIES["metareg_bcg_ablat"]["expected"][method],
    )
    ours = meta_regression(given["yi"], given["vi"], given["ablat"], method, "z")
    tol = 1e-10 if method == "DL" else 1e-4
    close([one.estimate for one in ours.coefficients.values()], expected["b"], tol)
    close([one.se for one in ours.coefficients.values()], expected["se"], tol)
    close(ours.tau.estimate**2, expected["tau2"], tol)
    if "QE" in expected:
        close(ours.residual.q, expected["QE"], 1e-10)
    if "QM" in expected:
        close(ours.q_moderators, expected["QM"], 1e-4)


def test_the_rest_of_the_regression_is_the_stopping_rule():
    given, expected = (
        ENTRIES["metareg_bcg_ablat"]["inputs"],
        ENTRIES["metareg_bcg_ablat"]["expected"]["REML"],
    )
    y, v, x = (
        np.array(given["yi"]),
        np.array(given["vi"]),
        np.column_stack([np.ones(13), given["ablat"]]),
    )
    close(stopped_early(y, v, x, "REML"), expected["tau2"], 1e-10)
