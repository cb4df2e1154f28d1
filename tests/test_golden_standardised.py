"""Standardised differences against R (effectsize), with the tolerances of the file.

The file lives beside the repository, not in it, so these tests skip where it is absent. What a
library is known to get wrong is asserted too, so that we notice when it is mended.
"""

import warnings

import numpy as np
import pytest

from cogbias.stats.standardised import cohens_d, group_summary
from golden import beside, close, load, tolerance

pytestmark = beside


@pytest.fixture(scope="module")
def entries():
    "Reference entries by id."
    return load()["entries"]


def test_from_answers(entries):
    entry = entries["cohens_d_mtcars"]
    ours = cohens_d(*(group_summary(entry["inputs"][name]) for name in "xy"))
    close(ours.estimate, entry["expected"]["d"], 1e-10)
    # R searches its limits to about seven digits
    close([ours.ci_low, ours.ci_high], entry["expected"]["ci"], 1e-6)
    assert ours.status == "ok"


def test_noncentral_t(entries):
    from scipy.stats import nct

    expected = entries["nct_quantiles"]["expected"]  # pt(2.5, 18, 1.2) and qt(.975, 18, 1.2)
    close(
        [nct.cdf(2.5, 18, 1.2), nct.ppf(0.975, 18, 1.2)],
        [expected["pt"], expected["qt"]],
        tolerance(entries["nct_quantiles"]),
    )


def test_library_deviations_still_exist(entries):
    pingouin = pytest.importorskip("pingouin")
    entry = entries["cohens_d_mtcars"]
    (told,) = (
        check
        for check in entry["python"]
        if not check["agrees"] and "compute_esci" in check["call"]
    )
    x, y = (np.array(entry["inputs"][name], float) for name in "xy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        interval = pingouin.compute_esci(
            stat=entry["expected"]["d"], nx=len(x), ny=len(y), decimals=6
        )
    close(interval, told["value"], 1e-5)
    assert abs(interval[0] - cohens_d(group_summary(x), group_summary(y)).ci_low) > 0.03
