"""What the effects table says of published answers: a row for exactly these prompts beside every
comparison, and a row for every number of the published table."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from tiers import slow_but

from cogbias.claims import on_these_prompts
from cogbias.design import Contrast, Paradigm, paradigm, paradigms
from cogbias.effects import CLAIMS_FROM, effect_rows, effects_table, estimate_contrast
from cogbias.effects.published import INDEX_COLUMNS, SUSCEPTIBILITY, published_columns
from cogbias.exchange.pagliaro import BASELINE, BIASES, OUTCOMES, PublishedAnswers, read_outcomes
from cogbias.tables import item_table, shipped
from cogbias.trials import typed_trials

NAMES = paradigms("published/*")
EVERY_DAY = ("published/pagliaro_anchoring", "published/pagliaro_primacy")


@cache
def facts() -> PublishedAnswers:
    "What ships of the published answers."
    return read_outcomes(shipped("data", "published", OUTCOMES))


@cache
def effects_of(name: str) -> pd.DataFrame:
    "The effects of everybody who was asked about a bias."
    found, asked, rows = facts(), paradigm(name), []
    for cell in found.cells:
        if cell.paradigm == name:
            readings = found.readings[cell.who.name, name]
            trials = typed_trials(pd.DataFrame(list(cell.rows)))
            rows += effect_rows(trials, found.items[name], asked, readings=readings)
    return effects_table(rows)


def pairs_of_rows(effects: pd.DataFrame, measure: str) -> pd.DataFrame:
    "Estimates for prompts like these and for exactly these, side by side."
    rows = effects[effects["measure"] == measure]
    return rows.set_index(["participant", "group", "target"])["estimate"].unstack("target")


@pytest.mark.parametrize("name", slow_but(EVERY_DAY, NAMES))
def test_every_comparison_has_a_row_for_exactly_these_prompts(name: str) -> None:
    effects, compared = effects_of(name), 0
    for contrast in paradigm(name).contrasts:
        if contrast.replication or contrast.control is None:
            continue
        both = pairs_of_rows(effects, contrast.measure)
        assert list(both.columns) == ["F", "S"] and len(both), contrast.measure
        assert np.allclose(both["F"], both["S"], rtol=0, atol=1e-9, equal_nan=True)
        compared += 1
    assert compared


@pytest.mark.parametrize("name", slow_but(EVERY_DAY, NAMES))
def test_its_interval_is_there_or_it_says_why_not_and_claims_nothing_more(name: str) -> None:
    measures = [each.measure for each in paradigm(name).contrasts if each.these_prompts]
    effects = effects_of(name)
    these = effects[effects["measure"].isin(measures) & (effects["target"] == "F")]
    assert len(these)
    for row in these.to_dict("records"):
        known = not np.isnan(row["estimate"])
        assert known == (row["n_clusters"] > 0)
        if known:
            assert 0 < row["n_clusters"] < CLAIMS_FROM
            assert "no claim beyond them" in row["detail"]
        if np.isnan(row["ci_low"]):
            assert row["status"] in ("equal_answers", "no_valid_answers", "insufficient"), row
        else:
            assert row["ci_low"] <= row["estimate"] <= row["ci_high"]
        assert row["verdict"] is None and pd.isna(row["p_value"])
    assert these["ci_low"].notna().any()


def test_a_report_says_what_three_prompts_can_tell() -> None:
    name = "published/pagliaro_primacy"
    effects, asked = effects_of(name), paradigm(name)
    mine = effects[effects["participant"] == "llama-3.1-8b"]
    said = on_these_prompts(mine, asked.headline.measure, asked.clusters)
    assert "exactly these prompts" in said and "claim beyond itself" in said
    many = mine.assign(n_clusters=CLAIMS_FROM)
    assert on_these_prompts(many, asked.headline.measure, asked.clusters) == ""


@pytest.mark.parametrize("name", slow_but(EVERY_DAY, NAMES))
def test_every_number_of_the_published_table_is_a_row(name: str) -> None:
    "Nothing has to be read out of words."
    printed = pd.read_csv(shipped("data", "published", "pagliaro_summary.csv"))
    printed = printed[printed["bias_name"].map(dict(BIASES)) == name.partition("pagliaro_")[2]]
    rows = effects_of(name)
    rows = rows[rows["replication"] & (rows["status"] == "ok")]
    values = rows.set_index(["participant", "measure"])
    assert len(printed) == (rows["measure"] == SUSCEPTIBILITY).sum()
    for row in printed.to_dict("records"):
        arm = "" if row["strategy"] == BASELINE else f"+{row['strategy']}"
        mine = values.loc[row["model_name"] + arm]
        found = {
            column: mine.loc[f"{SUSCEPTIBILITY}_{column}", "estimate"] for column in INDEX_COLUMNS
        }
        found |= {
            "bsi_mean": mine.loc[SUSCEPTIBILITY, "estimate"],
            "p_value": pd.to_numeric(mine["p_value"])[SUSCEPTIBILITY],
            "n_variants": mine.loc[SUSCEPTIBILITY, "n_clusters"],
        }
        numeric = {key: value for key, value in row.items() if not isinstance(value, str)}
        assert set(numeric) == set(found)
        for column, value in numeric.items():
            assert found[column] == pytest.approx(float(value), abs=1e-6, nan_ok=True), column


def test_the_report_shows_the_row_of_the_published_table() -> None:
    effects = effects_of("published/pagliaro_anchoring")
    mine = effects[effects["participant"] == "llama-3.1-8b"]
    shown = published_columns(mine).set_index("column")["value"]
    printed = pd.read_csv(shipped("data", "published", "pagliaro_summary.csv"))
    mine = (printed["bias_name"] == "anchoring") & (printed["model_name"] == "llama-3.1-8b")
    (row,) = printed[mine].to_dict("records")
    assert set(shown.index) == {each for each in row if not isinstance(row[each], str)}
    assert shown["sigma_tot"] == f"{row['sigma_tot']:.4f}"
    assert shown["significant_bh"] == ("yes" if row["significant_bh"] else "no")
    none = effects[effects["participant"] == "minimax-m2.5"]
    assert published_columns(none).empty


# Direction: a bias that makes numbers smaller.
ROWS = {"a": (8.0, 6.0), "b": (7.0, 6.0), "c": (9.0, 5.0), "d": (6.0, 6.0)}  # control, treatment


def rated(unread: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    "Ratings of four products without and with a bad word, and their items."
    items = item_table(
        "test/rated",
        [
            {
                "condition": condition,
                "pair_id": name,
                "cluster": name,
                "stratum": "all",
                "prompt": f"{name} {condition}",
                "options": [],
                "answer": "number",
                "content": {"kind": "made", "range": [1, 10]},
            }
            for name in ROWS
            for condition in ("control", "treatment")
        ],
    )
    keys = ["item_id", "paradigm", "condition", "pair_id", "cluster", "stratum"]
    told = items[keys].assign(
        trial_id=[str(place) for place in range(len(items))],
        participant="made up",
        status="ok",
        method="text",
        choice=None,
        p=None,
        valid_mass=None,
        value=[number for both in ROWS.values() for number in both],
    )
    if unread:
        told.loc[told.index[-1], ["status", "value"]] = ["refusal", np.nan]
    return told, items


FALL = {"outcome": "value", "direction": -1.0, "unit": "points", "score": {}}


def test_a_difference_of_numbers_follows_the_direction_of_the_bias() -> None:
    told, items = rated()
    means = [
        estimate_contrast(Contrast("fall", "Fall", kind=kind, **FALL), told, items)[0]
        for kind in ("difference", "mean_difference")
    ]
    for row in means:
        assert row["estimate"] == pytest.approx(np.mean([c - t for c, t in ROWS.values()]))
        assert row["ci_low"] < row["estimate"] < row["ci_high"]


def test_its_bounds_lie_on_either_side_of_it() -> None:
    told, items = rated(unread=True)
    text = dict.fromkeys(("title", "bias", "summary", "norm", "positive", "source"), "")
    contrast = Contrast("fall", "Fall", **FALL)
    asked = Paradigm(
        name="test/rated", factors={}, items=lambda: items, contrasts=(contrast,), **text
    )
    rows = effects_table(effect_rows(told, items, asked)).set_index("measure")["estimate"]
    # the control of the last product is 6; nobody knows whether it fell to 1 or rose to 10
    assert rows["fall_lower"] == pytest.approx((2 + 1 + 4 + (6 - 10)) / 4)
    assert rows["fall_upper"] == pytest.approx((2 + 1 + 4 + (6 - 1)) / 4)
    assert rows["fall_lower"] <= rows["fall"] <= rows["fall_upper"]
