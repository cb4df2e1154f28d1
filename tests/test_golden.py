"""Reference values from R and from printed papers, each with the tolerance in the reference file.

The file lives beside the repository, not in it, so these tests skip where it is absent. The
notebooks hold the most telling constants with their source and never skip.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cogbias.stats.clusters import stratified_cluster_t
from cogbias.stats.decisions import adjust
from cogbias.stats.proportions import (
    newcombe_paired,
    rounding_counts,
    weighted_proportions,
    wilson,
)
from cogbias.stats.ratings import (
    RatingRule,
    m_scores,
    rating_effect,
    rating_scores,
    score_tables,
)
from cogbias.stats.repeated_measures import concordance, contrasts_against_base, variation
from cogbias.stats.signal_detection import CELLS, signal_detection_shift
from cogbias.stats.standardised import cohens_d, group_summary
from cogbias.stats.synthesis import synthesise
from golden import beside, close, load, tolerance, use

pytestmark = beside


@pytest.fixture(scope="module")
def golden():
    "The whole reference file, entries by id."
    return load()


@pytest.fixture
def entry(golden, request):
    "One entry, chosen by the test's `indirect` parameter."
    return golden["entries"][request.param]


@use("binom_1_10", "binom_5_10", "binom_298_504", "binom_17_25")
def test_wilson(entry):
    close(
        wilson(entry["inputs"]["x"], entry["inputs"]["n"]),
        entry["expected"]["wilson"],
        tolerance(entry, "wilson"),
    )


@use("newcombe_1998_unpaired")
def test_newcombe(entry):
    x1, n1, x2, n2 = (entry["inputs"][name] for name in ("x1", "n1", "x2", "n2"))
    limits = weighted_proportions([(1, x1, n1), (-1, x2, n2)])[1:]
    close(limits, entry["expected"]["value"], tolerance(entry))


@use("newcombe_paired_no_discordant")
def test_newcombe_paired(entry):
    close(newcombe_paired(**entry["inputs"]), entry["expected"]["value"], tolerance(entry))


@use("grim_seed002")
def test_grim(entry):
    printed = zip(entry["inputs"]["p"], entry["inputs"]["n"])
    possible = [len(rounding_counts(p, n, 3)) > 0 for p, n in printed]
    assert possible == [bool(value) for value in entry["expected"]["value"]]


@use("p_adjust")
def test_holm(entry):
    close(adjust(entry["inputs"]["p"], "holm"), entry["expected"]["holm"], tolerance(entry, "holm"))


def shift_of(valid_believable, invalid_believable, valid_unbelievable, invalid_unbelievable, **how):
    "The shift of criterion and sensitivity between four rates, believable ones first."
    rates = valid_believable, valid_unbelievable, invalid_believable, invalid_unbelievable
    n = how.pop("n", 1)
    table = pd.DataFrame({"stratum": CELLS, "cluster": range(4), "accept": rates, "n": n})
    found = signal_detection_shift(table, **how)
    return found.criterion.estimate, found.sensitivity.estimate


@use("sdt_loglinear_extreme")
def test_signal_detection_from_counts(entry):
    given, expected = entry["inputs"], entry["expected"]
    rates = given["hits"] / given["n_signal"], given["fa"] / given["n_noise"]
    # the other level is at chance without a leaning: 0 and 0
    ours = shift_of(0.5, 0.5, *rates, n=[given["n_signal"]] * 2 + [given["n_noise"]] * 2)
    close(ours, [expected["c"], expected["dprime"]], 1e-10)


@use("sdt_olmo3")
def test_signal_detection_from_rates(entry):
    rates = entry["inputs"]
    ours = shift_of(*(rates[name] for name in ("VB", "IB", "VU", "IU")), exact=True)
    d_believable, c_believable, d, c = np.ravel(entry["expected"]["value"])
    close(ours, [c - c_believable, d - d_believable], 2 * tolerance(entry))


@use("ttest_paired_sleep")
def test_one_stratum_is_the_paired_t_test(entry):
    x, y = (np.array(entry["inputs"][name]) for name in "xy")
    ours, expected = stratified_cluster_t(x - y, ["all"] * len(x)), entry["expected"]
    close(
        (ours.estimate / ours.se, ours.p_value, ours.ci_low, ours.ci_high),
        [expected["t"], expected["p"], *expected["ci"]],
        tolerance(entry),
    )


@pytest.fixture(scope="module")
def certainty(golden):
    "840 answers of the certainty design, 14 clusters, 36 treatment and 24 control answers each."
    table = pd.DataFrame(golden["certainty_sim_csv"])
    return table.assign(condition=np.where(table["T"] == 1, "treatment", "control"))


def differences_of(table):
    "Treatment minus control of every cluster, in the order of their names."
    means = table.groupby(["cluster", "condition"])["y"].mean().unstack()
    return means["treatment"] - means["control"]


@use("cluster_paired_t_certainty")
def test_cluster_t_from_single_answers(entry, certainty):
    expected, tol = entry["expected"], tolerance(entry)
    difference = differences_of(certainty)
    ours = stratified_cluster_t(difference, ["all"] * len(difference))
    # R sorts the clusters by name as text, as we do, so the differences agree one by one
    close(difference, expected["d"], tol)
    close(
        (ours.estimate, ours.se, ours.ci_low, ours.ci_high, ours.p_value),
        [expected["mean"], expected["se"], *expected["ci"], expected["p"]],
        tol,
    )
    assert ours.status == "ok" and ours.df == 13


@use("cluster_robust_certainty")
def test_cluster_t_is_the_cluster_robust_regression(entry, certainty):
    expected, tol = entry["expected"], tolerance(entry, "CR2")
    difference = differences_of(certainty)
    ours = stratified_cluster_t(difference, ["all"] * len(difference))
    for kind in ("CR1", "CR2"):
        close(
            (ours.se, ours.df, ours.p_value),
            [expected[kind][name][1] for name in ("se", "df", "p")],
            tol,
        )
    close(ours.estimate, expected["coef"][1], tol)


def test_stratified_estimate_keeps_the_point(certainty):
    difference = differences_of(certainty)
    ours = stratified_cluster_t(difference, difference.index.str[0])
    close(ours.estimate, difference.mean(), 1e-12)
    assert ours.n_clusters == 14 and 6 <= ours.df <= 12


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
def test_a_variant_against_the_base_is_the_paired_t_test(entry):
    given, expected = entry["inputs"], entry["expected"]
    table = pd.DataFrame({"variant": given["x"], "base": given["y"]})
    ours = contrasts_against_base(table).loc["variant"]
    found = ours.estimate / ours.se, ours.p_value, ours.ci_low, ours.ci_high
    close(found, [expected["t"], expected["p"], *expected["ci"]], tolerance(entry))
    assert ours.p_adjusted == ours.p_value


@use("malberg_m_cases")
def test_malberg_m(entry):
    kappa, control, treatment, x1, x2 = np.array(entry["inputs"]["cases"], float).T
    rule, tol = RatingRule(11, kappa, x1, x2), tolerance(entry)
    expected = np.array(entry["expected"]["value"])
    close(m_scores(control, treatment, rule), expected, tol)
    published = m_scores(control, treatment, rule, epsilon=1e-8)
    assert tol < np.abs(published - expected).max() < 1e-7
    scaled = rating_scores(control, treatment, rule, "scaled")
    assert (np.sign(scaled) == np.sign(expected)).all()
    answers = (np.eye(rule.options)[np.asarray(each, int)] for each in (control, treatment))
    close(rating_effect(*answers, range(6), score_tables(rule)).estimate, expected.mean(), tol)


@use("cohens_d_mtcars")
def test_cohens_d(entry):
    ours = cohens_d(*(group_summary(entry["inputs"][name]) for name in "xy"))
    close(ours.estimate, entry["expected"]["d"], 1e-10)
    # R searches its limits to about seven digits
    close([ours.ci_low, ours.ci_high], entry["expected"]["ci"], 1e-6)


@use("meta_bcg_EE", "meta_normand_EE", "meta_homog_EE")
def test_one_common_effect(entry):
    found = synthesise(entry["inputs"]["yi"], entry["inputs"]["vi"])
    close([found.q, found.q_p_value], [entry["expected"][each] for each in ("Q", "Qp")], 1e-9)


@use("meta_homog_REML")
def test_mean_and_spread_of_a_meta_analysis(entry, golden):
    given, expected = golden["entries"]["meta_homog_EE"]["inputs"], entry["expected"]
    found = synthesise(given["yi"], given["vi"])
    # metafor stops its search when a step is below 1e-5; ours runs to the end
    close([found.tau**2, found.mean.estimate], [expected["tau2"], expected["b"]], 1e-4)
    # the effects of this set agree, so that ours keeps the scale at 1
    assert expected["se_knha"] < expected["se"] and found.mean.se == pytest.approx(expected["se"])


# values of statistics that other packages have, and that the library leaves to them
OF_OTHERS = """hedges_g_mtcars smd_escalc_mtcars cohens_dz_sleep smd_thesis_n100 hedges_J_exact
               escalc_ normand1999_inputs wilcoxon_sleep lmer_sleepstudy_ri lmer_sleepstudy_rs
               geeglm_ohio glmer_certainty icc_shrout_fleiss pwr_2p_0.9 pwr_2p_0.95
               metareg_bcg_ablat auc_aSAH prop2_wald_seed fisher_7_3_2_8 nct_quantiles
               meta_bcg_ meta_normand_ meta_homog_"""


def test_every_entry_is_checked_somewhere(golden):
    "No reference value is left aside: each id is named in a test beside this one."
    told = "".join(
        path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("test_*.py"))
    )
    families = (
        "escalc_",
        "meta_bcg_",
        "meta_normand_",
        "meta_homog_",
        "tang_",
        "binom_",
    )  # tests take these by their beginning
    missing = [
        name
        for name in golden["entries"]
        if name not in told
        and not any(name.startswith(family) and family in told for family in families)
    ]
    assert not missing, missing
