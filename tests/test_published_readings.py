"Answers that others read otherwise stand in the report: how many, of what kind, in which words."

import json
import tarfile
from pathlib import Path

import pandas as pd
import pytest

from cogbias.cells import stored_cell
from cogbias.exchange.pagliaro import OUTCOMES, import_pagliaro
from cogbias.markup import clean_html
from cogbias.outputs import Folder, kept_readings
from cogbias.rendering import render_reports
from cogbias.reporting.cell import shown
from cogbias.reporting.readings import (
    LONGEST_QUOTE,
    about_readings,
    kinds_of_difference,
    quoted_answers,
    read_otherwise,
)
from cogbias.tables import shipped

ARCHIVE = (
    Path(__file__).parents[2] / "shared" / "data" / "published_answers" / "pagliaro_2026.tar.gz"
)
WHO, BIAS = "claude-3.5-sonnet", "published/pagliaro_bandwagon"


def archive_of(model: str, place: Path) -> Path:
    "The published files of one model and bias, with the prompts."
    with tarfile.open(ARCHIVE) as archive:
        for member in archive.getmembers():
            if member.name.endswith(("prompts.json", f"bandwagon_effect_{model}_baseline.json")):
                archive.extract(member, place, filter="data")
    return place


@pytest.fixture(scope="module", params=["facts", "texts"])
def folder(request, tmp_path_factory):
    "The bandwagon of the page's second case, from the outcomes that ship or from the archive."
    place = tmp_path_factory.mktemp(request.param)
    source = shipped("data", "published", OUTCOMES)
    if request.param == "texts":
        if not ARCHIVE.exists():
            pytest.skip("the published answers are not here")
        source = archive_of(WHO, place / "archive")
    import_pagliaro(source, place / "out", [BIAS])
    return place / "out"


def read_in(folder: Path) -> tuple[object, pd.DataFrame]:
    "A cell, and which of its answers were read otherwise."
    cell = stored_cell(folder, WHO, BIAS)
    return cell, read_otherwise(cell.trials, kept_readings(Folder(folder), WHO, BIAS))


def test_the_refusals_of_the_page_are_counted(folder):
    _, other = read_in(folder)
    counted = kinds_of_difference(other)
    assert counted["difference"].tolist() == ["they read an answer in a refusal"]
    assert counted["ours / theirs"].tolist() == [f"refusal / A ({len(other)})"]
    assert (other["prompt"] == "bandwagon_v3, control").sum() == 94


def test_answers_are_quoted_where_they_are_and_named_where_they_are_not(folder):
    cell, other = read_in(folder)
    quotes, said = quoted_answers(other), about_readings(other, 800, cell.items, cell.paradigm)
    assert "CC BY 4.0" in said and f"{len(other)} of 800" in said
    whole = cell.trials.set_index("trial_id")["response"]
    if whole.isna().all():
        assert quotes.empty and "cogbias import pagliaro ARCHIVE" in said
        return
    assert len(quotes) == 3 and "without texts" not in said
    for row in quotes.to_dict("records"):
        assert len(row["answer"]) <= LONGEST_QUOTE
        assert row["answer"].split(" […] ")[0] in " ".join(whole[row["trial_id"]].split())
        assert (row["ours"], row["theirs"]) == ("refusal", "A")


def test_the_report_has_the_table(folder):
    failed, (place,) = render_reports(folder, 1, only=[(WHO, BIAS)])
    assert not failed
    cells = json.loads(place.read_text())["cells"]
    said = json.dumps([cell.get("outputs", []) for cell in cells], ensure_ascii=False)
    assert "they read an answer in a refusal" in said and "refusal / A (" in said
    has_texts = stored_cell(folder, WHO, BIAS).trials["response"].notna().any()
    assert ("[…]" in said) == has_texts
    assert ("This folder holds outcomes without texts" in said) != has_texts


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
