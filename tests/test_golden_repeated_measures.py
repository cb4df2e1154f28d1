"""Reference values from R for prompt variants, with the tolerance that the reference file states.

The file lives beside the repository, not in it, so these tests skip where it is absent.
"""

import numpy as np
import pandas as pd
import pytest

from cogbias.stats.repeated_measures import concordance, contrasts_against_base, variation
from golden import beside, close, load, tolerance, use

pytestmark = beside


@pytest.fixture(scope="module")
def golden():
    "The whole reference file, entries by id."
    return load()


@pytest.fixture
def entry(golden, request):
    "One entry; skips where this copy of the file does not hold it."
    if request.param not in golden["entries"]:
        pytest.skip(f"{request.param} is not in the reference file")
    return golden["entries"][request.param]


@use("rm_anova_md12_angle")
def test_repeated_measures_anova(entry):
    ours, expected = variation(pd.DataFrame(entry["inputs"]["wide"])), entry["expected"]
    close(ours.estimate, expected["ges"], tolerance(entry))
    # a p-value of 1e-7 would pass any absolute tolerance
    close(np.log(ours.p_value), np.log(expected["p_GG"]), tolerance(entry))


@use("kendalls_w_rounding_times")
def test_kendalls_w(entry):
    ours = concordance(pd.DataFrame(entry["inputs"]["X"]))
    close(ours.estimate, entry["expected"]["W"], tolerance(entry))


@use("ttest_paired_sleep")
def test_contrast_is_the_paired_t_test(entry):
    given, expected = entry["inputs"], entry["expected"]
    table = pd.DataFrame({"variant": given["x"], "base": given["y"]})
    ours = contrasts_against_base(table).loc["variant"]
    close(
        (ours.estimate / ours.se, ours.p_value, ours.ci_low, ours.ci_high),
        [expected["t"], expected["p"], *expected["ci"]],
        tolerance(entry),
    )
    assert ours.p_adjusted == ours.p_value
