"""Bets: gains by hand, published accuracies, right sets and thresholds.

The reference files lie beside the repository, so the tests that need them skip where they are not.
"""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cogbias.stats.bets import (
    BET_TRUTHS,
    KINDS,
    VALUE_OPTIONS,
    VALUE_TRUTHS,
    bet_correct_sets,
    choose_threshold,
    expected_gains,
    right_sets,
    value_correct_sets,
)
from golden import DATA, beside, load

PAGE = Path(__file__).parent.parent / "nbs" / "published" / "bets.ipynb"


def functions_of_the_page():
    "What the page of the paper defines before its first figure."
    import nbformat

    cells = [each.source for each in nbformat.read(PAGE, 4).cells if each.cell_type == "code"]
    (end,) = (place for place, source in enumerate(cells) if "def inferred_counts(" in source)
    page: dict[str, Any] = {}
    exec("\n".join(cells[: end + 1]), page)
    return page


def golden(name):
    "One reference entry; skips when the file does not have it."
    return load()["entries"].get(name) or pytest.skip(f"{name} is not in this reference file")


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
def test_the_shipped_tables_are_the_published_ones():
    "Every accuracy, every P value and every inferred range, against a reading of the paper."
    theirs = json.loads((DATA / "bets_tables.json").read_text())
    page = functions_of_the_page()
    printed = page["published_bets"]()
    ours = page["recomputed"](printed)
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
    found = page["inferred_counts"](printed)
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


def above(scores, tau):
    "The options of every question whose score is above a threshold."
    return [frozenset(row.index[row > tau]) for _, row in scores.iterrows()]


def test_threshold_by_brute_force():
    "The grid search agrees with a loop over thresholds and sets."
    rng = np.random.default_rng(3)
    for truth in VALUE_TRUTHS:
        scores = pd.DataFrame(rng.random((12, 3)).round(2), columns=VALUE_OPTIONS)
        right = value_correct_sets(truth)
        counts = [sum(chosen in right for chosen in above(scores, i / 100)) for i in range(101)]
        best = [i / 100 for i in range(101) if counts[i] == max(counts)]
        found = choose_threshold(scores, right_sets([right] * 12, VALUE_OPTIONS))
        assert (
            found.tau == pytest.approx(np.median(best))
            and found.n_maximisers == len(best)
            and found.accuracy == max(counts) / 12
        )
        assert found.plateau_width == pytest.approx(best[-1] - best[0])


def test_gains_are_exact():
    "A third stays a third."
    assert expected_gains("win_high", "5/3", "1/3", "2/3") == {
        "win": Fraction(1, 2),
        "lose": Fraction(-1, 2),
        "both": Fraction(0),
        "none": Fraction(0),
    }
