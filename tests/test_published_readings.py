"Answers that others read otherwise stand in the report: how many, of what kind, in which words."

import json
from pathlib import Path

import pandas as pd
import pytest

from cogbias.cells import stored_cell
from cogbias.exchange.pagliaro import OUTCOMES, import_pagliaro
from cogbias.folder import Folder, readings, request_of
from cogbias.markup import clean_html
from cogbias.rendering import render_reports
from cogbias.reporting.cell import shown
from cogbias.reporting.readings import (
    about_readings,
    kinds_of_difference,
    quoted_answers,
    read_otherwise,
)
from cogbias.tables import shipped

WHO, BIAS = "claude-3.5-sonnet", "published/pagliaro_bandwagon"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    "The bandwagon of the page's second case, from the outcomes that ship."
    place = tmp_path_factory.mktemp("facts") / "out"
    where = {"arm": ["baseline"]}
    found = import_pagliaro(shipped("data", "published", OUTCOMES), place, [BIAS], where)
    assert found.counts["participants"] == 8
    return place


def read_in(folder: Path) -> tuple[object, pd.DataFrame]:
    "A cell, and which of its answers were read otherwise."
    cell = stored_cell(folder, WHO, BIAS)
    with Folder(folder) as opened:
        theirs = readings(opened, request_of(opened, WHO, BIAS))
    return cell, read_otherwise(cell.trials, theirs)


def test_the_refusals_of_the_page_are_counted(folder):
    _, other = read_in(folder)
    counted = kinds_of_difference(other)
    assert counted["difference"].tolist() == ["they read an answer in a refusal"]
    assert counted["commonest: ours / theirs"].tolist() == [f"refusal / A ({len(other)})"]
    assert (other["prompt"] == "bandwagon_v3, control").sum() == 94


def test_a_folder_without_texts_says_where_they_are(folder):
    cell, other = read_in(folder)
    said = about_readings(other, 800, cell.items, cell.paradigm)
    assert "CC BY 4.0" in said and f"{len(other)} of 800" in said
    assert quoted_answers(other).empty and "cogbias import pagliaro ARCHIVE" in said


@pytest.mark.slow
def test_the_report_has_the_table(folder):
    failed, written = render_reports(folder, 1)
    (place,) = (each for each in written if WHO.replace(".", "") in str(each).replace(".", ""))
    cells = json.loads(place.read_text())["cells"]
    said = json.dumps([cell.get("outputs", []) for cell in cells], ensure_ascii=False)
    assert not failed and "they read an answer in a refusal" in said and "refusal / A (" in said
    assert "This folder holds outcomes without texts" in said


def test_a_quote_is_text_and_no_markup():
    trials = pd.DataFrame(
        {
            "trial_id": ["a"],
            "cluster": "x",
            "condition": "control",
            "response": "B. <script>alert(1)</script> is a sunk cost",
            "choice": "B",
            "role": "target",
            "value": None,
            "status": "ok",
        }
    )
    theirs = pd.DataFrame({"trial_id": ["a"], "choice": ["A"], "value": [None]})
    assert "<script>" not in shown(quoted_answers(read_otherwise(trials, theirs))).data


def test_a_sign_that_turns_the_direction_is_shown_by_its_number():
    "In the table of a report, and on a page that is made of somebody's notebook."
    answer = "I choose \u202eB noitpo"
    told = shown(pd.DataFrame({"answer": [answer]})).data
    assert "\u202e" not in told and "I choose ‹U+202E›B noitpo" in told
    assert "\u202e" not in clean_html(f"<p>{answer}</p>")
