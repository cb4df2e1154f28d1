"What the report on a study says of bets, and that it says nothing where none was asked."

from __future__ import annotations

import html
import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from cogbias.reporting.bets import _height_of_bar, instruments
from cogbias.cli import app
from cogbias.outputs import load_effects
from cogbias.rendering import render_study_report
from test_study_report import words

TITLE = "Bets: what is it worth?"
STUDY = """
name = "bets"
models = {models}
paradigms = {paradigms}
"""
SMALL = """
[settings."bets/*"]
orders = "published"
item_sets = ["published", "graded"]
"""


def asked(place: Path, models: str, paradigms: str, settings: str = "") -> Path:
    "A folder of a small study, with its report."
    study = place / "bets.toml"
    study.write_text(STUDY.format(models=models, paradigms=paradigms) + settings)
    arguments = ["run", str(study), "--outputs", str(place / "out"), "--no-reports"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert render_study_report(place / "out") == []
    return place / "out"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    "Three simulated participants, values and bets on a coin, in the published order."
    models = '["sim/rational", "sim/type_only", "sim/position"]'
    return asked(tmp_path_factory.mktemp("bets"), models, '["bets/value", "bets/coin"]', SMALL)


@pytest.fixture(scope="module")
def text(folder: Path) -> str:
    "What a reader sees, without markup; cells of tables are separated by bars."
    shown = re.sub(r"</t[dh]>", " | ", words(folder / "reports" / "study.ipynb"))
    return html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"</tr>", "\n", shown)))


def test_a_stranger_learns_what_was_asked(text):
    for said in (
        TITLE,
        "If the coin comes up heads, then I win a car. If it comes up tails, then I lose a pen.",
        "Who *never bets* is right in half of the bets",
        "are not to be ranked against each other",
    ):
        assert said in text


def test_both_bars_stand_above_the_accuracies(text):
    table = text[text.index("participant | how asked | coin") :].splitlines()
    assert re.search(r"never bets \| reads no question \| 50%", table[1])
    assert re.search(r"and no more \| reads no question \| 75%", table[2])
    rows = {line.split(" | ")[0]: line for line in table[3:6]}
    assert "75% [66 to 82]" in rows["sim/type_only (simulated)"]
    # no error in questions about ten things is worth seven independent answers or so
    assert "100% [64 to 100]" in rows["sim/rational (simulated)"]


def test_sentences_say_which_bars_are_passed(text):
    assert "75% [66 to 82] (above the best constant policy, not told apart from the type" in text


def test_published_numbers_are_marked_and_beside(text):
    assert text.count("Published (Tang and Kejriwal 2023), no part of this study") >= 3
    assert "everyday scenes only | BERT | 68% | 36% | 56% | 52%" in text  # table 5
    assert "everyday scenes only | DeBERTa | 49% | 53% | 50% | 45% | 48% | 47%" in text  # table 6
    assert "exploratory" in text


def test_who_says_nothing_of_the_values_has_no_belief(folder, text):
    effects = load_effects(folder / "effects.parquet")
    row = effects[
        (effects["measure"] == "belief_conditioned") & (effects["participant"] == "sim/type_only")
    ].iloc[0]
    assert row["status"] == "insufficient" and pd.isna(row["estimate"])
    assert "– (belief about 0 of" in text
    assert "value answers contradict each other)" in text  # it was asked


def test_bars_that_differ_are_given_from_the_lowest_to_the_highest():
    "Where answers are unreadable, participants have bars of their own."
    named = {"paradigm": "bets/coin", "measure": "right_share_constant_policy", "group": "all"}
    bars = pd.DataFrame([named | {"estimate": each} for each in (0.5, 0.6, 0.5)])
    shown = _height_of_bar(bars, "bets/coin", "right_share_constant_policy")
    assert shown == "50% to 60%"
    same = _height_of_bar(bars.iloc[[0, 2]], "bets/coin", "right_share_constant_policy")
    assert same == "50%"


def test_how_they_were_asked_is_recorded(folder):
    assert set(instruments(folder)) == {"sim/rational", "sim/type_only", "sim/position"}


def test_without_a_bias_nothing_is_said_of_biases(text):
    for title in ("## Models and biases", "## Temperature", "## Profiles", "Cohen's d"):
        assert title not in text
    assert "Accuracies, which have no place among biases: bets/coin, bets/value." in text


def test_no_bets_no_section(tmp_path):
    text = words(
        asked(tmp_path, '["sim/human", "sim/rational"]', '["classic/sunk_cost"]')
        / "reports"
        / "study.ipynb"
    )
    assert TITLE not in text and "Tang" not in text and "What did not work" in text
    assert "## Models and biases" in text and "## Temperature" in text
