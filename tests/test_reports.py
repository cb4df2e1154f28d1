"Reports follow what they are made from, and keep what their reader wrote."

import re
import shutil
import subprocess
import sys

import nbformat
import pytest

from cogbias.running import rendering
from cogbias.running.rendering import render_reports
from cogbias.running.studies import run_study
from cogbias.study import make_study
from cogbias.tables import shipped

ASKED = {
    "models": ["sim/human", "sim/messy"],
    "paradigms": ["classic/framing"],
    "where": {"variant": ["base"]},
}


@pytest.fixture(scope="module", autouse=True)
def _in_this_process():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering, "IMPORTED", ())
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    "Two participants in one paradigm, with reports; copy it, do not change it."
    outcome = run_study(make_study(**ASKED), place := tmp_path_factory.mktemp("made"))
    assert outcome.failed == [] and len(outcome.rendered) == 3
    return place


@pytest.fixture
def folder(made, tmp_path):
    "The same to change."
    return shutil.copytree(made, tmp_path / "folder")


def names(written):
    "Reports by folder and name."
    return {"/".join(each.parts[-2:]) for each in written}


def test_a_report_is_made_again_when_its_answers_change(folder):
    assert render_reports(folder) == ([], [])
    assert run_study(make_study(**ASKED), folder).rendered == []
    more = run_study(make_study(**ASKED | {"models": ["sim/messy"], "repeats": 2}), folder)
    assert names(more.rendered) == {"sim-messy/classic-framing.ipynb", "reports/study.ipynb"}
    (folder / "reports" / "sim-human" / "classic-framing.ipynb").unlink()
    assert names(render_reports(folder)[1]) == {"sim-human/classic-framing.ipynb"}


def test_what_a_reader_wrote_is_kept(folder):
    report = folder / "reports" / "sim-human" / "classic-framing.ipynb"
    notebook = nbformat.read(report, 4)
    notebook.cells.append(nbformat.v4.new_markdown_cell("My remark."))
    nbformat.write(notebook, report)
    render_reports(folder)
    (kept,) = (folder / "reports" / "kept").rglob("*.ipynb")
    assert "My remark." in kept.read_text() and "My remark." not in report.read_text()


def test_a_report_that_fails_is_told_and_the_others_are_made(folder, monkeypatch):
    write_report = rendering.write_report

    def write(template, place, parameters):
        return "no ink" if "human" in str(place) else write_report(template, place, parameters)

    monkeypatch.setattr(rendering, "code_hash", lambda: "later code")  # all are out of date
    monkeypatch.setattr(rendering, "write_report", write)
    failed, written = render_reports(folder)
    assert failed == ["report of sim/human in classic/framing: no ink"] and len(written) == 2
    assert not (folder / "reports" / "sim-human" / "classic-framing.ipynb").exists()


def shown(report):
    "What a reader sees of a report, without where and when it was made."
    cells = nbformat.read(report, 4).cells
    made = [
        str(output.get("data", {}).get("text/html", ""))
        for cell in cells
        if cell.cell_type == "code" and "provenance" not in cell.source
        for output in cell.outputs
    ]
    return [re.sub(r"base64,[^\"]*", "", each) for each in made]


@pytest.mark.slow
def test_plain_papermill_gives_the_same_report(folder, tmp_path):
    out, outputs = tmp_path / "out.ipynb", tmp_path / "other"
    parameters = {"model": "sim/human", "paradigm": "classic/framing", "outputs": str(outputs)}
    command = [sys.executable, "-m", "papermill", shipped("reports", "bias.ipynb"), out]
    command += [part for name, value in parameters.items() for part in ("-p", name, value)]
    command += ["-y", "where: {variant: [base]}"]
    subprocess.run([*map(str, command)], check=True, capture_output=True)
    assert shown(out) == shown(folder / "reports" / "sim-human" / "classic-framing.ipynb")
