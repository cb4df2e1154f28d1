"""Reference values from R for prompt variants, mixed models and cluster-robust inference.

The tolerance is the one that the reference file states.

The file lives beside the repository, not in it, so these tests skip where it is absent. Library
deviations that we avoid are
asserted as they are, so that a mended library is noticed.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

from cogbias.stats.repeated_measures import (
    cluster_robust,
    contrasts_against_base,
    friedman_test,
    gee_logit,
    intraclass_correlation,
    mixed_model,
    random_intercept_logit,
    repeated_measures_anova,
    signed_rank,
    variant_contrast,
)
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


@pytest.fixture(scope="module")
def certainty(golden):
    "840 answers of the certainty design: cluster, T, y."
    return pd.DataFrame(golden["certainty_sim_csv"])


@use("rm_anova_md12_angle")
def test_repeated_measures_anova(entry):
    ours, expected, tol = (
        repeated_measures_anova(pd.DataFrame(entry["inputs"]["wide"])),
        entry["expected"],
        tolerance(entry),
    )
    close(
        (
            ours.statistic,
            ours.variation.estimate,
            ours.partial_eta_squared,
            ours.epsilon_gg,
            ours.epsilon_hf,
            ours.mauchly_w,
            ours.p_sphericity,
        ),
        [expected[name] for name in ("F", "ges", "pes", "GG", "HF", "W", "pW")],
        tol,
    )
    # p-values of 1e-7 would pass any absolute tolerance
    close(
        np.log([ours.p_uncorrected, ours.variation.p_value]),
        np.log([expected["p_unc"], expected["p_GG"]]),
        tol,
    )
    assert [ours.df_variants, ours.df_rest] == expected["df"]


@use("kendalls_w_rounding_times")
def test_kendalls_w(entry):
    close(
        friedman_test(pd.DataFrame(entry["inputs"]["X"])).concordance.estimate,
        entry["expected"]["W"],
        tolerance(entry),
    )


@use("ttest_paired_sleep")
def test_contrast_is_the_paired_t_test(entry):
    table, expected = (
        pd.DataFrame({"variant": entry["inputs"]["x"], "base": entry["inputs"]["y"]}),
        entry["expected"],
    )
    ours = variant_contrast(table, "variant")
    close(
        (ours.estimate / ours.se, ours.p_value, ours.ci_low, ours.ci_high),
        [expected["t"], expected["p"], *expected["ci"]],
        tolerance(entry),
    )
    assert contrasts_against_base(table).loc["variant", "p_adjusted"] == ours.p_value


@use("wilcoxon_sleep")
def test_signed_rank(entry):
    ours = signed_rank(entry["inputs"]["x"], entry["inputs"]["y"], "normal")
    close(
        (ours.v, ours.correlation.p_value),
        [entry["expected"]["V"], entry["expected"]["p"]],
        tolerance(entry),
    )


@use("icc_shrout_fleiss")
def test_intraclass_correlation(entry):
    ours, expected, tol = (
        intraclass_correlation(pd.DataFrame(entry["inputs"]["X"])),
        entry["expected"],
        tolerance(entry),
    )
    assert list(ours.index) == expected["type"]
    close(ours["estimate"], expected["ICC"], tol)
    close(ours[["ci_low", "ci_high"]], np.c_[expected["lb"], expected["ub"]], tol)


@use("lmer_sleepstudy_ri")
def test_random_intercept(entry):
    ours, expected = (
        mixed_model(pd.DataFrame(entry["inputs"]), "Reaction ~ Days", cluster="Subject", unit="ms"),
        entry["expected"],
    )
    assert ours.status == "ok"
    tol = tolerance(entry)
    close(ours.coefficients["estimate"], expected["fixef"], tol)
    close(ours.coefficients["se"], expected["se"], tol)
    close(
        (ours.variances["intercept"], ours.variances["residual"], -2 * ours.log_likelihood),
        [expected["var_subject"], expected["var_resid"], expected["reml"]],
        tol,
    )


@use("lmer_sleepstudy_rs")
def test_random_slope(golden, entry):
    table = pd.DataFrame(golden["entries"]["lmer_sleepstudy_ri"]["inputs"])
    ours, expected, tol = (
        mixed_model(table, "Reaction ~ Days", cluster="Subject", slopes="~ Days", unit="ms"),
        entry["expected"],
        tolerance(entry),
    )
    assert ours.status == "ok" and list(ours.variances.index) == [
        "intercept",
        "intercept, Days",
        "Days",
        "residual",
    ]
    close(ours.coefficients["estimate"], expected["fixef"], tol)
    close(ours.coefficients["se"], expected["se"], tol)
    close(
        ours.variances, [*np.array(expected["vcov_subject"])[[0, 1, 3]], expected["var_resid"]], tol
    )
    # the slope of Days is between subjects, so its t has 17 degrees of freedom, as lmerTest finds
    assert ours.coefficients.loc["Days", "df"] == 17


@use("geeglm_ohio")
def test_gee_exchangeable(entry):
    ours = gee_logit(
        pd.DataFrame(entry["inputs"]),
        "resp ~ age * smoke",
        cluster="id",
        working="exchangeable",
        covariance="robust",
    )
    expected, tol = entry["expected"], tolerance(entry)
    close(ours["estimate"], expected["coef"], tol)
    close(ours["se"], expected["se"], tol)
    close(ours.attrs["working_correlation"], expected["alpha"], tol)


@use("cluster_robust_certainty")
@pytest.mark.parametrize("kind", ("CR0", "CR1", "CR1S", "CR2", "CR3"))
def test_cluster_robust(entry, certainty, kind):
    ours, expected, tol = (
        cluster_robust(certainty, "y ~ T", kind=kind),
        entry["expected"],
        tolerance(entry, "CR0"),
    )
    close(ours["estimate"], expected["coef"], tol)
    close(ours[["se", "df"]], np.c_[expected[kind]["se"], expected[kind]["df"]], tol)
    close(np.log(ours["p_value"]), np.log(expected[kind]["p"]), tol)


@use("glmer_certainty")
def test_random_intercept_logit(entry, certainty):
    ours, expected = random_intercept_logit(certainty, "y ~ T", quadrature=15), entry["expected"]
    # the entry states a tolerance for variational Bayes only (.05); both programs stop their search
    # a little off the maximum
    close(ours.coefficients["estimate"], expected["ri_fixef"], 1e-5)
    close(ours.coefficients["se"], expected["ri_se"], 1e-5)
    close(ours.sd.estimate, expected["ri_sd"], 1e-5)


@use("glmer_certainty")
def test_variational_bayes_understates_its_spread(entry, certainty):
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

    model = BinomialBayesMixedGLM.from_formula("y ~ T", {"cluster": "0 + C(cluster)"}, certainty)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = model.fit_vb()
    close(fit.fe_mean, entry["expected"]["ri_fixef"], tolerance(entry, "fixed effects, sd"))
    spread, honest = np.asarray(fit.fe_sd), np.array(entry["expected"]["ri_se"])
    assert spread[0] < 0.4 * honest[0] and spread[1] < 0.75 * honest[1]


def test_bias_reduced_gee_is_wider_than_the_sandwich(certainty):
    ours, robust = gee_logit(certainty, "y ~ T"), gee_logit(certainty, "y ~ T", covariance="robust")
    rates = certainty.groupby("T")["y"].mean()
    logits = np.log(rates / (1 - rates))
    close(ours["estimate"], [logits[0], logits[1] - logits[0]], 1e-8)
    assert (ours["se"] > robust["se"]).all() and (ours["df"] == 13).all()
