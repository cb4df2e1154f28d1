"""Chance tests: published P values of the bets study, and the libraries' own tests.

The reference files lie beside the repository, so these tests skip where they are absent.
"""

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.weightstats import ztest

from cogbias.stats.chance import z_against_chance, z_p
from cogbias.stats.proportions import rounding_counts
from golden import DATA, beside, close, load, tolerance

pytestmark = beside


def binomial_p(k, n, chance, alternative="greater"):
    "P-value of the exact binomial test."
    return binomtest(k, n, chance, alternative).pvalue


@pytest.fixture(scope="module")
def entries():
    "The reference entries by id."
    return load()["entries"]


@pytest.fixture(scope="module")
def published():
    "The published tables of the bets study."
    return json.loads((DATA / "bets_tables.json").read_text())


@pytest.mark.parametrize(
    "name", ["tang_t9_36", "tang_t9_56", "tang_t9_24", "tang_t13_43", "tang_t13_53", "tang_t13_32"]
)
def test_published_z(entries, name):
    entry = entries[name]
    k, n, p0 = (entry["inputs"][each] for each in ("x", "n", "p0"))
    close(z_p(k, n, p0), entry["expected"]["value"][0], tolerance(entry))
    close(z_against_chance(k, n, p0).p_value, entry["python"][0]["value"][0], 1e-9)
    close(z_p(k, n, p0), ztest(np.arange(n) < k, value=p0, alternative="larger")[1], 1e-12)


def printed_pairs(published, accuracy, p_value, settings=("default", "fine_tuned")):
    "Count, number of questions, null and printed P value of every cell of a pair of tables."
    rows, tests = (published["tables"][each]["cells"] for each in (accuracy, p_value))
    n, p0 = published["tables"][p_value]["n"], published["tables"][p_value]["p0"]
    for row, test in zip(rows, tests):
        same = [
            name
            for name in ("model", "template", "modality", "metric", "ground_truth")
            if name in row
        ]
        assert [row[name] for name in same] == [test[name] for name in same]
        truth = row.get("ground_truth")
        size, null = (n[truth], p0[truth]) if truth else (n, p0)
        for setting in settings:
            counts = rounding_counts(row[setting]["percent"] / 100, size, 2)
            assert len(counts) == 1
            yield counts[0], size, float(Fraction(str(null))), test[setting], row[setting]


@pytest.mark.parametrize(
    "accuracy, p_value, cells", [("5", "9", 32), ("6", "13", 48), ("14", "15", 72)]
)
def test_published_tables(published, accuracy, p_value, cells):
    found = 0
    for k, n, p0, printed, row in printed_pairs(published, accuracy, p_value):
        ours = z_p(k, n, p0)
        assert (
            ours < 0.001
            if "lt" in printed
            else abs(ours - printed["value"]) <= 1.01e-3
            or (printed["value"] == 1 and ours >= 0.995)
        ), (k, n, p0, printed, ours)
        assert (ours <= 0.05) == row["flagged"] == (binomial_p(k, n, p0) <= 0.05)
        found += 1
    assert found == cells


def test_every_recomputed_cell(published):
    "All 224 cells with an accuracy and a P value; one of them is a misprint."
    assert len(published["recomputed"]) == 224
    misprints = []
    for cell in published["recomputed"]:
        n, p0 = cell["n"], float(Fraction(str(cell["p0"])))
        counts = (
            rounding_counts(cell["k"] / n, n, 2) if n > 100 else [round(cell["k"])]
        )  # of 840, a whole percentage leaves several counts
        ours = [z_p(k, n, p0) for k in counts]
        if n <= 100:
            assert ours[0] == pytest.approx(cell["computed"], abs=1e-12)
        printed = cell["printed"]
        right = (
            all(p < 0.001 for p in ours)
            if printed.startswith("<")
            else any(
                abs(p - float(printed)) <= (0.005 if printed == "1.00" else 1.01e-3) for p in ours
            )
        )
        if not right:
            misprints.append(cell["cell"])
    assert len(misprints) == 1 and misprints[0].startswith("T16") and "RoBERTa" in misprints[0], (
        misprints
    )
