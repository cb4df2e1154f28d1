"""Standardised differences against R (effectsize, metafor), with the tolerances of the file.

The file lives beside the repository, not in it, so these tests skip where it is absent. What
libraries are known to get wrong is
asserted too, so that we notice when one of them is mended.
"""

import warnings

import numpy as np
import pytest

from cogbias.stats.standardised import (
    BINARY_MEASURES,
    GroupSummary,
    binary_effect,
    cohens_d,
    cohens_dz,
    hedges_g,
    small_sample_correction,
)
from golden import beside, close, load

pytestmark = beside
BINARY = [rule.metafor for rule in BINARY_MEASURES.values() if rule.metafor]


@pytest.fixture(scope="module")
def entries():
    "Reference entries by id."
    return load()["entries"]


def tolerance(entry, call=""):
    "The tolerance stated for a check that agrees; 1e-9 where the entry states none."
    return min(
        (
            check["tol_rel"]
            for check in entry.get("python", [])
            if check["agrees"] and call in check["call"]
        ),
        default=1e-9,
    )


def deviation(entry, call):
    "A documented library deviation: its value and what R gives."
    found = [check for check in entry["python"] if not check["agrees"] and call in check["call"]]
    assert len(found) == 1, f"{entry['id']} documents {len(found)} deviations of {call!r}"
    return found[0]


def groups(inputs):
    "Both conditions of an entry of summaries, treatment first."
    return (
        GroupSummary(*(inputs[name + "1"] for name in ("m", "sd", "n"))),
        GroupSummary(*(inputs[name + "2"] for name in ("m", "sd", "n"))),
    )


def test_small_sample_correction(entries):
    entry = entries["hedges_J_exact"]
    close(
        [small_sample_correction(df) for df in entry["inputs"]["df"]],
        entry["expected"]["J"],
        tolerance(entry),
    )
    usual = deviation(entry, "1-3/(4df-1)")
    gap = np.abs(
        np.array([1 - 3 / (4 * df - 1) for df in entry["inputs"]["df"]]) - entry["expected"]["J"]
    )
    assert gap.argmax() == 0 and gap.max() == pytest.approx(usual["max_abs_diff"], rel=1e-6)


@pytest.mark.parametrize(
    "name, function, key",
    [
        ("cohens_d_mtcars", cohens_d, "d"),
        ("hedges_g_mtcars", hedges_g, "g"),
        ("cohens_dz_sleep", cohens_dz, "dz"),
    ],
)
def test_from_answers(entries, name, function, key):
    entry = entries[name]
    ours = function(entry["inputs"]["x"], entry["inputs"]["y"])
    close(ours.estimate, entry["expected"][key], 1e-10)
    close(
        [ours.ci_low, ours.ci_high], entry["expected"]["ci"], 1e-6
    )  # R searches its limits to about seven digits
    assert ours.status == "ok"


def test_from_summaries(entries):
    for name in ("smd_escalc_mtcars", "smd_thesis_n100"):
        entry = entries[name]
        ours = hedges_g(*groups(entry["inputs"]))
        close(
            [ours.estimate, ours.se**2], [entry["expected"]["g"], entry["expected"]["var_LS"]], 1e-9
        )
    close(
        hedges_g(*groups(entries["smd_escalc_mtcars"]["inputs"]), variance="UB").se ** 2,
        entries["smd_escalc_mtcars"]["expected"]["var_UB"],
        1e-9,
    )


def test_published_summaries_and_their_variances(entries):
    entry = entries["normand1999_inputs"]
    columns = [entry["inputs"][name] for name in ("m1i", "sd1i", "n1i", "m2i", "sd2i", "n2i")]
    ours = [hedges_g(GroupSummary(*row[:3]), GroupSummary(*row[3:])) for row in zip(*columns)]
    close([one.estimate for one in ours], entry["expected"]["yi"], 1e-10)
    close([one.se**2 for one in ours], entry["expected"]["vi"], 1e-10)


@pytest.mark.parametrize("code", BINARY)
def test_binary_measures(entries, code):
    entry = entries.get(f"escalc_{code}_59_34")
    if entry is None:
        pytest.skip(f"the reference file has no entry for {code}")
    measure = next(name for name, rule in BINARY_MEASURES.items() if rule.metafor == code)
    ours = binary_effect(measure, *(entry["inputs"][name] for name in ("x1", "n1", "x2", "n2")))
    close(
        [ours.estimate, ours.se**2],
        [entry["expected"]["yi"], entry["expected"]["vi"]],
        tolerance(entry),
    )


def test_half_is_added_where_a_cell_is_zero(entries):
    entry = entries["escalc_OR_zero_cells"]
    ours = binary_effect(
        "log_odds_ratio", *(entry["inputs"][name] for name in ("x1", "n1", "x2", "n2"))
    )
    close([ours.estimate, ours.se**2], [entry["expected"]["yi"], entry["expected"]["vi"]], 1e-9)
    assert ours.status == "bounded" and "1/2" in ours.detail


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
    from statsmodels.stats.meta_analysis import effectsize_smd

    d, g, smd = (
        entries[name] for name in ("cohens_d_mtcars", "hedges_g_mtcars", "smd_escalc_mtcars")
    )
    x, y = (np.array(d["inputs"][name], float) for name in "xy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        interval = pingouin.compute_esci(stat=d["expected"]["d"], nx=len(x), ny=len(y), decimals=6)
        corrected = pingouin.compute_effsize(x, y, eftype="hedges")
    close(interval, deviation(d, "compute_esci")["value"], 1e-5)
    close(corrected, deviation(g, "compute_effsize")["value"][0], 1e-9)
    close(
        effectsize_smd(*groups(smd["inputs"])[0][:3], *groups(smd["inputs"])[1][:3]),
        deviation(smd, "effectsize_smd")["value"],
        1e-9,
    )
    ours = cohens_d(x, y)
    assert abs(interval[0] - ours.ci_low) > 0.03 and abs(corrected - hedges_g(x, y).estimate) > 4e-5
