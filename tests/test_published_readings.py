"Answers that others read otherwise stand in the report: how many, of what kind, in which words."

import pandas as pd
import pytest

from cogbias.running.cells import stored_cell
from cogbias.exchange import import_answers
from cogbias.folder import Folder, readings, request_of
from cogbias.reporting.markup import clean_html
from cogbias.reporting.cell import shown
from cogbias.reporting.readings import (
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
    shown = shipped("data", "published", "pagliaro.parquet")
    found = import_answers("pagliaro", shown, place, [BIAS], where)
    assert found.counts["participants"] == 8
    return place


def read_in(folder):
    "A cell, and which of its answers were read otherwise."
    cell = stored_cell(folder, WHO, BIAS)
    with Folder(folder) as opened:
        theirs = readings(opened, request_of(opened, WHO, BIAS))
    return cell, read_otherwise(cell.trials, theirs)


def test_the_refusals_of_the_page_are_counted(folder):
    _, other = read_in(folder)
    counted = kinds_of_difference(other)
    assert counted["difference"].tolist() == ["they found an answer in a refusal"]
    assert counted["commonest: ours / theirs"].tolist() == [f"refusal / A ({len(other)})"]
    assert (other["prompt"] == "bandwagon_v3, control").sum() == 94


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
