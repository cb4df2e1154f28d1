"""Whatever sign a text of a design holds, reports and pages show it, and none of it acts."""

import html
import json
import re
from pathlib import Path

import nbformat
import pytest
from hostile import what_could_act
from own_files import NUMBERS, TABLE, TEXT, written

from cogbias.design import OWN
from cogbias.kits.file import paradigm_of_files
from cogbias.running.rendering import render_reports
from cogbias.running.studies import run_study
from cogbias.study import make_study

pytestmark = pytest.mark.usefixtures("forgotten")

ODD = (
    "p < .05 <script>alert(1)</script> <b>bold</b> &amp; [x](javascript:alert(2)) $x$ | `code` \\ "
    "*so* {{ 1 }} ![y](https://a.b/c.png)"
)
FIELDS = ("title", "bias", "summary", "norm", "positive", "source", "compares")


def odd_files(text):
    "A declaration with the odd text in every text that readers are told, each with its field."
    told = {name: json.dumps(f"{name} {ODD}") for name in FIELDS}
    for name, value in told.items():
        text = re.sub(rf"(?m)^{name} = .*\n", "", text)
        text = f"{name} = {value}\n{text}"
    text = text.replace('"cash is lost"', json.dumps(f"control {ODD}"))
    text = text.replace('"a ticket is lost"', json.dumps(f"treatment {ODD}"))
    text = text.replace('"indoors or outdoors"', json.dumps(f"factor {ODD}"))
    text = text.replace('"nights"', json.dumps(f"unit {ODD}"))
    text = f"caveats = [{json.dumps(f'caveats {ODD}')}]\n{text}\n[human]\nestimate = 0.3\n"
    for name in ("label", "source", "note"):
        text += f"{name} = {json.dumps(f'human {name} {ODD}')}\n"
    return {"lost.toml": text, "outings.csv": TABLE}


def words_of(page):
    "What a reader reads of a page, on one line."
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", page)).split())


def test_signs_in_any_text_are_taken():
    made = paradigm_of_files(odd_files(TEXT))
    assert made.summary == f"summary {ODD}" and made.headline.title == f"compares {ODD}"
    assert made.people[0]["label"] == f"human label {ODD} (author-supplied)"


SMALL = NUMBERS.replace("number.unit", "smallest = 2\nnumber.unit")


SIZES = [pytest.param(TEXT, id="choice"), pytest.param(SMALL, id="number")]


@pytest.mark.slow
@pytest.mark.parametrize("text", SIZES)
def test_odd_texts_are_shown_and_do_nothing(text, tmp_path):
    file, out = written(tmp_path / "design", odd_files(text)), tmp_path / "out"
    run_study(make_study(models=["sim/human"], paradigms=[str(file)]), out, reports=False)
    OWN.clear()  # from the folder, as a stranger would
    failed, reports = render_reports(out)
    assert failed == []
    report = nbformat.read(next(Path(each) for each in reports if "own-lost" in str(each)), 4)
    outputs = [each for cell in report.cells for each in cell.get("outputs", ())]
    shown = [each["data"]["text/html"] for each in outputs if "text/html" in each.get("data", {})]
    assert [what_could_act(each) for each in shown] == [[] for _ in shown]
    assert not [each for each in shown if "<b>bold" in each or "<em>so<" in each]
    read = " ".join(map(words_of, shown))
    for name in ("bias", "summary", "norm", "positive", "source", "compares", "caveats"):
        assert f"{name} {ODD}" in read, name
    for name in ("control", "treatment", "human label", "human source"):
        assert f"{name} {ODD}" in read, name
    told = [each["data"].get("text/markdown", "") for each in outputs if "data" in each]
    title = next(line for each in told for line in each.splitlines() if line.startswith("# "))
    assert not set("<$[`\\") & set(re.sub(r"</?span[^>]*>", "", title)), title
    assert f"title {ODD}" in words_of(title)
