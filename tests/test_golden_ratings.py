"""Reference values for ratings and shares, each with its stated tolerance."""

import numpy as np
import pytest

from cogbias.stats.ratings import RatingRule, m_scores, rating_effect, rating_scores
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
    answers = (np.eye(rule.options)[np.asarray(each, int)] for each in (control, treatment))
    np.testing.assert_allclose(
        rating_effect(*answers, range(6), rule).estimate,
        expected.mean(),
        rtol=0,
        atol=tol,
    )
