"""Reports that are rendered again, and those that are not: who starts a kernel, and why."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from socket import socket
from typing import IO

import nbformat
import pandas as pd
import pytest
from typer.testing import CliRunner

from cogbias import executors, kernels, outputs, rendering, running, stamps
from cogbias.cli import app
from cogbias.outputs import Folder
from cogbias.rendering import render_reports, stale_reports, study_report_is_stale
from cogbias.running import Outcome, failed_reports, run_study
from cogbias.settings import REPORT_PARAMETERS
from cogbias.status import folder_status
from cogbias.study import make_study
from cogbias.tables import _name_of_machine, shipped

CELLS = [("sim/human", "classic/anchoring"), ("sim/random", "classic/anchoring")]


def asked(**more: object) -> Callable[[Path], Outcome]:
    "A study of two cells, run in a folder with its reports."
    given = {"models": ["sim/human", "sim/random"], "paradigms": ["classic/anchoring"]} | more
    return lambda place: run_study(make_study(**given), place)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "A folder with two reports and one on the study."
    place = tmp_path_factory.mktemp("stale") / "outputs"
    outcome = asked()(place)
    assert (outcome.failed, outcome.rendered) == ([], 2)
    assert (place / "reports" / "study.ipynb").exists()
    return place


@pytest.fixture
def folder(rendered: Path, tmp_path: Path) -> Path:
    "A copy of it that may be changed."
    return Path(shutil.copytree(rendered, tmp_path / "outputs"))


@pytest.fixture
def kernels_started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    "One entry for each kernel that is asked for in this process."
    started: list[str] = []
    ask = kernels._FirstProcess.ask

    def counted(first: kernels._FirstProcess, request: dict, printed: IO[bytes]) -> socket:
        started.append(request["cwd"])
        return ask(first, request, printed)

    monkeypatch.setattr(kernels._FirstProcess, "ask", counted)
    return started


def stale(place: Path) -> dict[str, list[str]]:
    "Participant -> what has changed since the report was made."
    return {each.cell["participant"]: each.changed for each in stale_reports(place)}


def test_nothing_new_starts_no_kernel(folder: Path, kernels_started: list[str]) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*.ipynb")}
    outcome = asked()(folder)
    assert (outcome.failed, outcome.rendered) == ([], 0)
    assert kernels_started == []
    assert before == {path: path.read_bytes() for path in folder.rglob("*.ipynb")}
    assert {cell["asked"] for cell in outcome.cells} == {0}


def test_nothing_new_starts_no_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    "Two processes that import everything take longer than all that there is to look at."
    others = []
    monkeypatch.setattr(executors, "_local_pool", lambda jobs: others.append(jobs))
    study = make_study(models=["sim/human", "sim/random"], paradigms=["classic/anchoring"])
    outcome = run_study(study, folder, jobs=2)
    assert (outcome.failed, others) == ([], [])
    assert {cell["asked"] for cell in outcome.cells} == {0}


def test_only_what_lacks_answers_is_collected(folder: Path, monkeypatch) -> None:
    "Of two complete participants one loses its answers; the other is not looked at again."
    collected = []
    collect = running._collect_model
    monkeypatch.setattr(
        running, "_collect_model", lambda *task: collected.append(task[1]) or collect(*task)
    )
    (folder / "trials" / "sim-human" / "classic-anchoring.jsonl").unlink()
    study = make_study(models=["sim/human", "sim/random"], paradigms=["classic/anchoring"])
    outcome = run_study(study, folder, jobs=2)
    assert (outcome.failed, collected) == ([], ["sim/human"])
    assert [cell["asked"] > 0 for cell in outcome.cells] == [
        cell["participant"] == "sim/human" for cell in outcome.cells
    ]


def count_writes(arguments: list, tell: Callable[[str], None]) -> int:
    "How often papermill writes a report; called in a copy."
    from papermill import iorw

    written, write = [], iorw.PapermillIO.write
    iorw.PapermillIO.write = lambda of, *more, **named: (
        written.append(1) or write(of, *more, **named)
    )
    rendering.make_report(*arguments, tell=tell)
    return len(written)


def test_a_report_is_written_once_not_at_each_cell(folder: Path, tmp_path: Path) -> None:
    "Writing all of it at each cell took as long as a third of the report."
    cell = stale_reports(folder, only=CELLS[:1], anew=True)[0].cell
    given = {name: cell[name] for name in REPORT_PARAMETERS if name in cell}
    given["outputs"] = str(folder)
    template = shipped("reports", "bias.ipynb")
    asked = [str(template), str(tmp_path / "report.ipynb"), given]
    told: list[str] = []
    written = kernels.in_a_copy(
        "test_stale:count_writes", [asked], rendering.IMPORTED, told=told.append
    )
    cells = json.loads(template.read_text())["cells"]
    assert written == 1
    assert len(told) == 1 + sum(each["cell_type"] == "code" for each in cells)  # the parameters


def test_nothing_new_writes_the_manifest_once_and_checks_it_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "Its text as it was found and as it was left, however often it is read."
    asked()(folder)  # the copy lies in another place than the manifest says
    written, write = [], running.write_manifest
    monkeypatch.setattr(running, "write_manifest", lambda *of: written.append(of) or write(*of))
    outputs._check_manifest.cache_clear()
    asked()(folder)
    assert len(written) == 1
    assert outputs._check_manifest.cache_info().misses <= 2


def test_and_the_effects_are_those_that_were_computed(folder: Path, rendered: Path) -> None:
    from cogbias.running import effects_of

    read = asked()(folder).effects
    again = effects_of(folder, save=False)
    assert read["estimate"].tolist() == pytest.approx(again["estimate"].tolist(), nan_ok=True)
    assert (folder / "effects.csv").read_bytes() == (rendered / "effects.csv").read_bytes()


def test_one_answer_more_makes_one_report_stale(folder: Path) -> None:
    store = Folder(folder).store(*CELLS[0]).path
    lines = store.read_text().splitlines(keepends=True)
    store.write_text("".join(lines[:-1]))
    assert stale(folder) == {"sim/human": ["answers"]}


def test_an_answer_that_is_lost_is_asked_again(folder: Path, kernels_started: list[str]) -> None:
    "What the manifest says of a cell counts only as long as its files are as they were."
    store = Folder(folder).store(*CELLS[0]).path
    whole = store.read_text()
    store.write_text("".join(whole.splitlines(keepends=True)[:-1]))
    outcome = asked()(folder)
    assert [cell["asked"] for cell in outcome.cells] == [1, 0]
    assert len(store.read_text().splitlines()) == len(whole.splitlines())


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"analysis": {"smallest": {"probability": 0.4}}}, {"method": "text"}],
    ids=str,
)
def test_what_is_asked_otherwise_is_shown_anew(folder: Path, change: dict) -> None:
    study = make_study(
        models=["sim/human", "sim/random"], paradigms=["classic/anchoring"], **change
    )
    run_study(study, folder, reports=False)
    changed = stale(folder)
    assert set(changed) == {"sim/human", "sim/random"}
    assert "parameters" in changed["sim/human"]


def test_a_row_of_effects_that_is_shown(folder: Path) -> None:
    "The family of a headline is that of the folder: a new cell may change what others show."
    place = folder / "effects.parquet"
    table = pd.read_parquet(place)
    row = table.index[(table["participant"] == "sim/random") & table["verdict"].notna()][0]
    table.loc[row, "p_adjusted"] = 0.123
    table.to_parquet(place)
    assert stale(folder) == {"sim/random": ["effects"]}


def test_new_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "code_hash", lambda: "another")
    assert stale(folder) == {"sim/human": ["code"], "sim/random": ["code"]}


def test_a_template_is_that_of_its_own_reports(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "Another template of cells renders cells again, and not the report on the study."
    other = tmp_path / "bias.ipynb"
    other.write_text(shipped("reports", "bias.ipynb").read_text() + "\n")

    def found(*parts: str) -> Path:
        return other if parts == ("reports", "bias.ipynb") else shipped(*parts)

    monkeypatch.setattr(rendering, "shipped", found)
    assert stale(folder) == {"sim/human": ["template"], "sim/random": ["template"]}
    assert not study_report_is_stale(folder)
    monkeypatch.setattr(stamps, "shipped", lambda *of: shipped(*of) if "data" in of else tmp_path)
    assert stamps.code_hash.__wrapped__() == stamps.code_hash()


def test_a_report_that_is_not_whole(folder: Path) -> None:
    place = Folder(folder).report(*CELLS[1])
    place.write_bytes(place.read_bytes()[:1000])
    assert list(stale(folder)) == ["sim/random"]


def test_a_folder_may_be_moved(folder: Path, tmp_path: Path) -> None:
    folder.rename(tmp_path / "elsewhere")
    assert stale(tmp_path / "elsewhere") == {}


def test_all_of_them_on_request(folder: Path) -> None:
    assert [each.changed for each in stale_reports(folder, anew=True)] != []
    assert len(stale_reports(folder, anew=True)) == 2


def test_a_folder_of_an_earlier_version(folder: Path) -> None:
    "Its manifest has no stamps and its reports have none: it is read, and they are made again."
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["effects"]
    for cell in manifest["cells"]:
        del cell["made_from"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    place = Folder(folder).report(*CELLS[0])
    report = nbformat.read(place, 4)
    del report.metadata["cogbias"]
    nbformat.write(report, place)
    assert list(stale(folder)) == ["sim/human"]
    study = make_study(models=["sim/human", "sim/random"], paradigms=["classic/anchoring"])
    assert {cell["asked"] for cell in run_study(study, folder, reports=False).cells} == {0}


# --- what fails


def failing(monkeypatch: pytest.MonkeyPatch, times: int) -> list[int]:
    "The first kernels do not start; the list grows with each attempt."
    attempts: list[int] = []
    ask = kernels._FirstProcess.ask

    def refused(first: kernels._FirstProcess, request: dict, printed: IO[bytes]) -> socket:
        attempts.append(len(attempts))
        if len(attempts) <= times:
            raise kernels.NotStarted("no memory for a kernel")
        return ask(first, request, printed)

    monkeypatch.setattr(kernels._FirstProcess, "ask", refused)
    return attempts


def test_a_kernel_that_does_not_start_is_started_once_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = failing(monkeypatch, 1)
    failed, written = render_reports(folder, only=CELLS[:1], anew=True)
    assert (failed, len(written), len(attempts)) == ([], 1, 2)


def test_and_not_more_than_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = failing(monkeypatch, 2)
    failed, written = render_reports(folder, anew=True)
    assert len(failed) == 1 and "no memory for a kernel" in failed[0]
    assert [path.parent.name for path in written] == ["sim-random"]  # it did not stop the other
    assert len(attempts) == 3


def test_a_cell_that_fails_is_shown_and_not_tried_again(
    folder: Path, kernels_started: list[str]
) -> None:
    store = Folder(folder).store(*CELLS[0]).path
    store.write_text("{\n" + store.read_text())
    failed, written = render_reports(folder)
    assert len(failed) == 1 and written == [] and len(kernels_started) == 1
    left = Folder(folder).report(*CELLS[0]).with_name("classic-anchoring.running.ipynb")
    assert str(left) in failed[0]
    kinds = [
        output.output_type
        for cell in nbformat.read(left, 4).cells
        for output in cell.get("outputs", [])
    ]
    assert "error" in kinds


def shown_in(report: Path) -> list:
    "What a reader of a report sees but for its parameters."
    cells = nbformat.read(report, 4).cells
    given = [each for each in cells if "injected-parameters" in each.metadata.tags]
    assert len(given) == 1
    return [(each.source, each.get("outputs")) for each in cells if each not in given]


def test_the_report_on_the_study_is_made_once_and_beside_the_others(
    folder: Path, kernels_started: list[str]
) -> None:
    whole = folder / "reports" / "study.ipynb"
    alone = shown_in(whole)
    shutil.rmtree(folder / "reports")
    study = make_study(models=["sim/human", "sim/random"], paradigms=["classic/anchoring"])
    outcome = run_study(study, folder, jobs=2)
    assert (outcome.failed, outcome.rendered) == ([], 2)
    assert len(kernels_started) == 3
    assert shown_in(whole) == alone


def test_rendered_with_the_others_it_is_among_what_was_written(folder: Path) -> None:
    failed, written = render_reports(folder, jobs=2, anew=True, study=True)
    assert failed == [] and len(written) == 3
    assert folder / "reports" / "study.ipynb" in written
    assert not study_report_is_stale(folder)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_all_of_them_are_made_once(
    folder: Path, kernels_started: list[str], monkeypatch: pytest.MonkeyPatch, jobs: str
) -> None:
    "A folder that is named from where the user is, not from the top."
    monkeypatch.chdir(folder.parent)
    done = CliRunner().invoke(app, ["report", folder.name, "--jobs", jobs, "--all"])
    assert done.exit_code == 0, done.output
    assert "3 reports written" in done.stdout
    assert len(kernels_started) == 3


def test_it_is_made_again_where_another_report_fails_and_tells_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = nbformat.read(shipped("reports", "bias.ipynb"), 4)
    fails = 'if cell.participant.name == "sim/human":\n    raise ValueError("of this participant")'
    notebook.cells.append(nbformat.v4.new_code_cell(fails))
    template = tmp_path / "bias.ipynb"
    nbformat.write(notebook, template)
    monkeypatch.setattr(
        rendering, "shipped", lambda *of: template if "bias.ipynb" in of else shipped(*of)
    )
    shutil.rmtree(folder / "reports")
    study = make_study(models=["sim/human", "sim/random"], paradigms=["classic/anchoring"])
    outcome = run_study(study, folder, jobs=2)
    assert outcome.rendered == 1 and len(outcome.failed) == 1
    whole = json.dumps(shown_in(folder / "reports" / "study.ipynb"))
    assert "report of sim/human in classic/anchoring" in whole
    assert not study_report_is_stale(folder)


def killed(asked: list, *_: object) -> None:
    "Instead of making a report: its kernel begins, and is killed."
    shutil.copyfile(asked[0], rendering._running_part(Path(asked[1])))
    raise RuntimeError("killed by SIGKILL")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_reports_that_fail_when_made_again_leave_those_of_before_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch, jobs: str
) -> None:
    "All of them are up to date as they are, so no command has anything to say of them later."
    before = {path: path.read_bytes() for path in folder.rglob("*.ipynb")}
    command = ["report", str(folder), "--jobs", jobs]
    with monkeypatch.context() as broken:
        broken.setattr(rendering, "_make_or_retry", killed)
        done = CliRunner().invoke(app, [*command, "--all"])
    assert done.exit_code == 1 and "3 failed" in done.stdout
    verified = CliRunner().invoke(app, ["verify", str(folder)])
    assert verified.exit_code == 0, verified.output
    assert folder_status(folder).study_report == "current"
    assert "0 reports written" in CliRunner().invoke(app, command).stdout
    assert before == {path: path.read_bytes() for path in folder.rglob("*.ipynb")}


@pytest.mark.parametrize("again", ["report", "run"])
def test_what_killed_ones_left_beside_whole_reports_is_removed(folder: Path, again: str) -> None:
    for each in (folder / "reports" / "study.ipynb", Folder(folder).report(*CELLS[0])):
        each.with_name(f".{each.stem}.making-{_name_of_machine()}-{2**22}").touch()  # of no process
        rendering._running_part(each).touch()
    before = [*folder.rglob(".*.making-*"), *folder.rglob("*.running.ipynb")]
    if again == "run":
        asked()(folder)
    else:
        assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    assert len(before) == 4 and not any(each.exists() for each in before)


def test_a_report_that_fails_and_is_lacking_stays_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Folder(folder).report(*CELLS[0]).unlink()
    with monkeypatch.context() as broken:
        broken.setattr(rendering, "_make_or_retry", killed)
        assert CliRunner().invoke(app, ["report", str(folder), "--all"]).exit_code == 1
    told = [line.partition(": ")[0] for line in failed_reports(Folder(folder))]
    assert told == ["report of sim/human in classic/anchoring", "report of the study"]
    verified = CliRunner().invoke(app, ["verify", str(folder)])
    assert "reports/study.ipynb: does not name the reports that failed since" in verified.stdout
    assert verified.exit_code == 1 and "other settings" not in verified.stdout
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    assert CliRunner().invoke(app, ["verify", str(folder)]).exit_code == 0
