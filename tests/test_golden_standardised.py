"""Standardised differences against R (effectsize), with the tolerances of the file.

The file lives beside the repository, not in it, so these tests skip where it is absent. What a
library is known to get wrong is asserted too, so that we notice when it is mended.
"""

import pytest

from cogbias.stats.standardised import cohens_d, group_summary
from golden import beside, close, load

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
