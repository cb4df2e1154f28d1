"""Reference values for ratings, shares and exact probabilities, each with its stated tolerance."""

import numpy as np
import pytest

from cogbias.stats.exact import sampled_mean
from cogbias.stats.ratings import RatingRule, m_scores, rating_effect, rating_scores
from cogbias.stats.shares import (
    absolute_share,
    log_odds_shift,
    relative_share,
    share_values,
    target_pair,
)
from golden import beside, load, tolerance

pytestmark = beside


@pytest.fixture(scope="module")
def golden():
    "Entries of the reference file by id."
    return load()["entries"]


def test_malberg_m(golden):
    entry = golden["malberg_m_cases"]
    kappa, control, treatment, x1, x2 = np.array(entry["inputs"]["cases"], float).T
    rule, expected, tol = (
        RatingRule(11, kappa, x1, x2),
        np.array(entry["expected"]["value"]),
        tolerance(entry),
    )
    np.testing.assert_allclose(m_scores(control, treatment, rule), expected, rtol=0, atol=tol)
    published = m_scores(control, treatment, rule, epsilon=1e-8)
    assert np.abs(published - expected).max() < 1e-7 and np.abs(published - expected).max() > tol
    np.testing.assert_array_equal(
        np.sign(rating_scores(control, treatment, rule, "scaled")), np.sign(expected)
    )
    np.testing.assert_allclose(
        rating_effect(control, treatment, range(6), rule).estimate,
        expected.mean(),
        rtol=0,
        atol=tol,
    )


def test_relative_share_is_newcombe(golden):
    entry = golden["newcombe_1998_unpaired"]
    x1, n1, x2, n2 = (entry["inputs"][name] for name in ("x1", "n1", "x2", "n2"))
    counts = x1, n1 - x1, 0, x2, n2 - x2
    for found in (
        relative_share(counts),
        absolute_share(counts),
        target_pair(counts, counts).effect,
    ):
        assert found.estimate == pytest.approx(x1 / n1 - x2 / n2, abs=1e-12) and found.target == "F"
    for found in (relative_share(counts), absolute_share(counts)):
        np.testing.assert_allclose(
            (found.ci_low, found.ci_high), entry["expected"]["value"], rtol=0, atol=tolerance(entry)
        )


@pytest.mark.parametrize("name", ["escalc_OR_59_34", "escalc_OR_zero_cells"])
def test_log_odds_shift_is_metafor(golden, name):
    entry = golden[name]
    x1, n1, x2, n2 = (entry["inputs"][key] for key in ("x1", "n1", "x2", "n2"))
    found, expected = log_odds_shift((x1, n1 - x1, 0, x2, n2 - x2)), entry["expected"]
    tol = tolerance(entry) if "python" in entry else 1e-9  # the second entry states none
    np.testing.assert_allclose(
        (found.estimate, found.se**2), (expected["yi"], expected["vi"]), rtol=tol, atol=tol
    )
    assert (
        share_values((x1, n1 - x1, 7, x2, n2 - x2)).log_odds == found.estimate
    )  # decoys do not enter


@pytest.mark.parametrize("name", ["binom_1_10", "binom_5_10", "binom_298_504", "binom_17_25"])
def test_draws_of_fixed_prompts_are_wilson(golden, name):
    entry = golden[name]
    x, n = entry["inputs"]["x"], entry["inputs"]["n"]
    found = sampled_mean([1] * x + [0] * (n - x), target="F")
    np.testing.assert_allclose(
        (found.ci_low, found.ci_high),
        entry["expected"]["wilson"],
        rtol=0,
        atol=tolerance(entry, "wilson"),
    )
