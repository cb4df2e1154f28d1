"""Bets: gains by hand, what guessing earns, published accuracies, properties of any participant.

The reference files lie beside the repository, so the tests that need them skip where they are not.
"""

import json
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from cogbias.published.bets import inferred_counts, published_bets, recomputed
from cogbias.stats.bets import (
    BET_OPTIONS,
    BET_TRUTHS,
    KINDS,
    VALUE_OPTIONS,
    VALUE_TRUTHS,
    bet_accuracies,
    bet_correct_sets,
    bet_credit,
    belief_conditioned,
    beliefs,
    choose_threshold,
    expected_gains,
    random_set_baselines,
    threshold_set,
    value_correct_sets,
)
from cogbias.stats.chance import binomial_p
from cogbias.stats.proportions import mcnemar_exact
from golden import DATA, beside, load

ORDERS = (("win", "lose", "none"), ("lose", "win", "none"))


def golden(name):
    "One reference entry; skips when the file does not have it."
    return load()["entries"].get(name) or pytest.skip(f"{name} is not in this reference file")


def design(pairs=25, modalities=1):
    "Bets on pairs of things in all four structures."
    rows = [
        (f"pair {pair}", kind, order)
        for _ in range(modalities)
        for pair in range(pairs)
        for kind in KINDS
        for order in ORDERS
    ]
    return pd.DataFrame(rows, columns=["pair", "kind", "order"])


def scored(bets, scores):
    "The bets with scores, one column per option, of shape (n, 3)."
    return bets.assign(**dict(zip(BET_OPTIONS, np.asarray(scores, float).T)))


@beside
def test_expected_gains():
    entry = golden("bets_expected_gain")
    ours = [
        float(gain)
        for kind in KINDS
        for gain in expected_gains(kind, *(entry["inputs"][name] for name in "HLX")).values()
    ]
    assert ours == entry["expected"]["value"]


@beside
def test_random_set_baselines():
    expected = golden("random_set_baselines")["expected"]["value"]
    assert [float(rate) for rate in random_set_baselines().values()] == pytest.approx(
        expected, abs=1e-12
    )


@beside
def test_published_accuracies_against_never_betting():
    "Nine of 24 published accuracies are exactly 25 or 50; none significantly beats never betting."
    cells = json.loads((DATA / "bets_tables.json").read_text())["tables"]["6"]["cells"]
    percents = [
        row[setting]["percent"]
        for row in cells
        if row["metric"] == "ACC"
        for setting in ("default", "fine_tuned")
    ]
    assert len(percents) == 24 and sum(percent in (25, 50) for percent in percents) == 9
    assert min(binomial_p(percent, 100, 0.5) for percent in percents) > 0.05


@beside
def test_the_shipped_tables_are_the_published_ones():
    "Every accuracy, every P value and every inferred range, against a reading of the paper."
    theirs = json.loads((DATA / "bets_tables.json").read_text())
    ours = recomputed(published_bets())
    cells = theirs["recomputed"]
    assert len(ours) == len(cells) == 224
    assert sorted(ours["p_printed"]) == sorted(cell["printed"] for cell in cells)
    few = ours[ours["n"] <= 100]
    assert np.allclose(
        sorted(few["p_value"]),
        sorted(cell["computed"] for cell in cells if cell["n"] <= 100),
        atol=1e-12,
    )
    percents = [
        row[setting]["percent"]
        for name in ("5", "6", "14", "20")
        for row in theirs["tables"][name]["cells"]
        for setting in ("default", "fine_tuned", "train_items", "test_items")
        if setting in row
    ]
    assert sorted(ours["percent"]) == sorted(percents)
    found = inferred_counts(published_bets())
    for table, rows in theirs["inferred_from_p_values"].items():
        mine = found[found["p_table"] == int(table)]
        ranges = list(zip(mine["percent_low"], mine["percent_high"]))
        assert ranges == [tuple(row["percent_range"]) for row in rows], table


def test_sets_partition():
    "Every right set is one of the eight, and the ground truths are nested where they must be."
    for kind in KINDS:
        strict, positive, non_negative = (bet_correct_sets(kind, truth) for truth in BET_TRUTHS)
        assert strict <= non_negative and positive <= non_negative
    assert bet_correct_sets("win_high", "strict") <= bet_correct_sets("win_high", "positive")
    assert all(
        {"none"} == chosen or "none" not in chosen
        for kind in KINDS
        for truth in BET_TRUTHS
        for chosen in bet_correct_sets(kind, truth)
    )


def test_enumerated_baselines_are_what_random_sets_score():
    "A simulation of 200,000 random sets for each inclusion probability."
    rng = np.random.default_rng(1)
    for q in (0.2, 0.5, 0.7):
        bets = scored(pd.concat([design(500)] * 10, ignore_index=True), rng.random((20_000, 3)))
        expected = random_set_baselines(q)
        for truth in BET_TRUTHS:
            assert np.nanmean(bet_credit(bets, truth, 1 - q)) == pytest.approx(
                expected[truth], abs=0.015
            )


def test_nesting_at_one_threshold():
    "At one threshold, right win_high bets are nested: strict in positive in non-negative."
    rng = np.random.default_rng(2)
    bets = scored(design(50), rng.random((200, 3)))
    for tau in (0, 0.2, 0.5, 0.8, 1):
        strict, positive, non_negative = (bet_credit(bets, truth, tau) for truth in BET_TRUTHS)
        high = (bets["kind"] == "win_high").to_numpy()
        assert (
            np.all(strict[high] <= positive[high])
            and np.all(positive[high] <= non_negative[high])
            and np.all(strict <= non_negative)
        )
        assert np.isnan(positive[~high]).all()


def test_threshold_by_brute_force():
    "The grid search agrees with a loop over thresholds and sets."
    rng = np.random.default_rng(3)
    for truth in VALUE_TRUTHS:
        scores = pd.DataFrame(rng.random((12, 3)).round(2), columns=VALUE_OPTIONS)
        right = [value_correct_sets(truth)] * 12
        counts = [
            sum(chosen in right[0] for chosen in threshold_set(scores, i / 100)) for i in range(101)
        ]
        best = [i / 100 for i in range(101) if counts[i] == max(counts)]
        found = choose_threshold(scores, right)
        assert (
            found.tau == pytest.approx(np.median(best))
            and found.n_maximisers == len(best)
            and found.accuracy == max(counts) / 12
        )
        assert found.plateau_width == pytest.approx(best[-1] - best[0]) and found.has_gap == (
            round(100 * (best[-1] - best[0])) >= len(best)
        )


@pytest.mark.parametrize("error", [0, 0.2, 0.5, 1])
def test_rational_bettor_with_wrong_beliefs(error):
    "A swapped belief fails a pair for the authors only: ACC is the share of right beliefs, BCA 1."
    rng = np.random.default_rng(4)
    wrong = rng.random(25) < error
    values = pd.DataFrame(
        {
            "pair": [f"pair {i}" for i in range(25)],
            "order": [VALUE_OPTIONS] * 25,
            "high": 1.0 - wrong,
            "low": wrong * 1.0,
            "same": 0.0,
        }
    )
    bets = design(modalities=3)
    held = beliefs(values)
    believed_high = (bets["pair"].map(held) == "high").to_numpy()
    wins = believed_high == (bets["kind"] == "win_high").to_numpy()
    result = belief_conditioned(
        scored(bets, np.column_stack([wins, np.zeros(len(bets)), ~wins])), held
    )
    assert (
        result.accuracy.estimate == pytest.approx(1 - wrong.mean())
        and result.belief_conditioned.estimate == 1
    )
    assert result.difference.p_value == mcnemar_exact(12 * int(wrong.sum()), 0)
    assert result.by_belief.set_index("belief").loc[["high", "low"], "pairs"].tolist() == [
        25 - wrong.sum(),
        wrong.sum(),
    ]
    assert result.difference_by_pair.n_clusters == 25 and result.difference.n == 300


def test_noise_leaves_bca_at_chance():
    "A participant that bets at random scores a third under both keys and they do not differ."
    rng = np.random.default_rng(5)
    bets = scored(design(400), rng.random((1600, 3)))
    held = pd.Series(rng.choice(["high", "low"], 400), [f"pair {i}" for i in range(400)])
    result = belief_conditioned(bets, held)
    for each in (result.accuracy, result.belief_conditioned):
        assert each.ci_low < 1 / 3 < each.ci_high
    assert result.difference.p_value > 0.01 and result.difference_by_pair.p_value > 0.01
    assert result.difference_by_pair.estimate == pytest.approx(result.difference.estimate)


def test_renaming_and_shuffling_change_nothing():
    "Row order, pair names and the labels of the index do not matter."
    rng = np.random.default_rng(6)
    bets = scored(design(), rng.random((100, 3)))
    other = bets.sample(frac=1, random_state=1).assign(
        pair=lambda table: table["pair"] + " renamed"
    )
    taus = dict.fromkeys(BET_TRUTHS, 0.4)
    ours, theirs = (
        bet_accuracies(each, taus).drop(columns=["method", "detail"]) for each in (bets, other)
    )
    numbers = ours.select_dtypes("number").columns
    assert np.allclose(ours[numbers], theirs[numbers], rtol=1e-10, atol=1e-12, equal_nan=True)
    repeated = bets.set_axis([0] * len(bets))
    assert np.array_equal(bet_credit(repeated), bet_credit(bets))


def test_degenerate_input_is_quiet():
    "No warning, no exception, and a status for each number that is missing."
    rng = np.random.default_rng(7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for bets in (design(1), design(2), design(5), design(), design().iloc[:0]):
            for scores in (
                np.zeros((len(bets), 3)),
                np.full((len(bets), 3), np.nan),
                rng.random((len(bets), 3)),
            ):
                table = bet_accuracies(scored(bets, scores), dict.fromkeys(BET_TRUTHS, 0.5))
                assert (table["estimate"].notna() | (table["status"] != "ok")).all()
                for held in (
                    {},
                    {f"pair {i}": "same" for i in range(25)},
                    {f"pair {i}": "low" for i in range(25)},
                ):
                    for equal in ("no_bet", "exclude"):
                        result = belief_conditioned(scored(bets, scores), held, equal)
                        assert (
                            np.isfinite(result.belief_conditioned.estimate)
                            or result.belief_conditioned.status == "no_valid_answers"
                        )


def test_gains_are_exact():
    "A third stays a third."
    assert expected_gains("win_high", "5/3", "1/3", "2/3") == {
        "win": Fraction(1, 2),
        "lose": Fraction(-1, 2),
        "both": Fraction(0),
        "none": Fraction(0),
    }
