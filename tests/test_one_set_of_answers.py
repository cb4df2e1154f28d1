"""After a kill, every command reads the same answers: those of the run that asked last."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from calls import command

from cogbias.effects import headlines
from cogbias.outputs import Folder, asked_since, load_effects, read_manifest
from cogbias.running import run_study
from cogbias.status import folder_status, status_lines
from cogbias.study import make_study
from cogbias.tables import CogbiasError, save_table
from cogbias.verification import verify_folder

KILLED_BEFORE_EFFECTS = """
import os, sys
from cogbias import running
from cogbias.study import make_study
from cogbias.tables import CogbiasError, save_table
running._estimated_and_rendered = lambda *_: os._exit(9)
running.run_study(make_study(models=["sim/messy"], paradigms=["choice/certainty"]), sys.argv[1])
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "A run of one template that ended, and one of all three that was killed before the effects."
    place = tmp_path_factory.mktemp("killed") / "outputs"
    first = make_study(
        models=["sim/messy"], paradigms=["choice/certainty"], where={"template": ["1"]}
    )
    run_study(first, place, reports=False)
    killed = subprocess.run([sys.executable, "-c", KILLED_BEFORE_EFFECTS, str(place)])
    assert killed.returncode == 9
    return place


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    "A copy of it that may be changed."
    return Path(shutil.copytree(made, tmp_path / "outputs"))


def headline(place: Path) -> dict:
    "The one headline of the table of effects."
    return headlines(load_effects(place / "effects.parquet")).iloc[0].to_dict()


def test_status_says_that_the_run_was_stopped(folder: Path) -> None:
    found = folder_status(folder)
    (cell,) = found.cells.to_dict("records")
    assert (cell["state"], cell["answers"], cell["planned"]) == ("stopped", 1176, 1176)
    assert "was stopped before it had the effects of them" in cell["reason"]
    assert "1 stopped" in status_lines(found)[0]


def test_effects_and_verify_read_what_the_killed_run_asked(folder: Path) -> None:
    before = headline(folder)
    assert not verify_folder(folder).follows  # the table is that of the run that ended
    command("effects", folder)
    after = headline(folder)
    assert before["n_trials"] < after["n_trials"]
    assert verify_folder(folder).follows
    (cell,) = folder_status(folder).cells.to_dict("records")
    assert (cell["state"], cell["answers"], cell["planned"]) == ("done", 1176, 1176)
    (recorded,) = read_manifest(Folder(folder))["cells"]
    assert (recorded["planned"], recorded["where"]) == (1176, {})
    assert asked_since(Folder(folder)) == {}


def test_a_report_is_of_the_same_answers_as_the_effects(folder: Path) -> None:
    from cogbias.cells import stored_cell

    shown = stored_cell(folder, "sim/messy", "choice/certainty")
    command("effects", folder)
    assert len(shown.trials) == 1176
    assert shown.effects.loc[0, "estimate"] == pytest.approx(headline(folder)["estimate"])


def test_the_same_run_again_ends_as_if_it_had_not_been_killed(folder: Path, tmp_path: Path) -> None:
    study = make_study(models=["sim/messy"], paradigms=["choice/certainty"])
    assert sum(cell["asked"] for cell in run_study(study, folder, reports=False).cells) == 0
    run_study(study, tmp_path / "through", reports=False)
    tables = [place / "effects.csv" for place in (folder, tmp_path / "through")]
    assert headline(folder)["estimate"] == headline(tmp_path / "through")["estimate"]
    assert len({len(each.read_text().splitlines()) for each in tables}) == 1


def test_a_report_is_asked_for_and_the_effects_are_made_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    "The table was that of fewer answers; the report on the study showed it and said: current."
    monkeypatch.setattr("cogbias.rendering.execute_report", lambda *_, **__: None)
    before = headline(folder)
    assert command("report", folder) == 0
    assert "of other answers" in capsys.readouterr().err
    assert headline(folder)["n_trials"] > before["n_trials"]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "Two participants in one paradigm, without reports."
    place = tmp_path_factory.mktemp("two") / "outputs"
    study = make_study(models=["sim/human", "sim/random"], paradigms=["classic/framing"])
    run_study(study, place, reports=False)
    return place


@pytest.fixture
def pair(two: Path, tmp_path: Path) -> Path:
    "A copy of it that may be changed."
    return Path(shutil.copytree(two, tmp_path / "two"))


def asked_in(place: Path) -> set[str]:
    "Who is in the table of effects."
    return set(load_effects(place / "effects.parquet")["participant"])


def test_whose_answers_are_gone_leaves_the_study_and_is_named(
    pair: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    rendered = []

    def of_study_only(place: Path, *_: object, **__: object) -> None:
        rendered.append(place)
        if place.name != "study.ipynb":
            raise CogbiasError("gone")

    monkeypatch.setattr("cogbias.rendering.execute_report", of_study_only)
    shutil.rmtree(pair / "trials" / "sim-random")
    assert command("report", pair) == 1
    assert "sim/random" in capsys.readouterr().err
    assert asked_in(pair) == {"sim/human"}
    assert [place.name for place in rendered].count("study.ipynb") == 1


def test_an_answer_that_was_cut_off_is_in_no_report(
    pair: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogbias.rendering.execute_report", lambda *_, **__: None)
    answers = Folder(pair).store("sim/human", "classic/framing").path
    answers.write_bytes(answers.read_bytes()[:-100])
    counted = load_effects(pair / "effects.parquet")["n_trials"].sum()
    assert command("report", pair) == 0
    assert load_effects(pair / "effects.parquet")["n_trials"].sum() < counted


def test_where_effects_cannot_be_made_no_report_on_the_study_is(
    pair: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    "The reports of other cells go on."
    rendered = []
    monkeypatch.setattr("cogbias.rendering._report_task", lambda *task: rendered.append(task))
    monkeypatch.setattr(
        "cogbias.rendering.execute_report", lambda *some, **_: rendered.append(some[0])
    )
    answers = Folder(pair).store("sim/random", "classic/framing").path
    answers.write_text("no answer\n" + answers.read_text())
    assert command("report", pair) == 1
    said = capsys.readouterr().err
    assert "report of the study: " in said and "not made from the answers that are here" in said
    assert len(rendered) == 2 and not (pair / "reports" / "study.ipynb").exists()


def test_a_folder_that_may_only_be_read_needs_no_table_where_nothing_is_written(
    pair: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogbias.rendering.execute_report", lambda *_, **__: None)
    monkeypatch.setattr("cogbias.rendering.stale_reports", lambda *_: [])
    monkeypatch.setattr("cogbias.rendering.study_report_is_stale", lambda _: False)
    monkeypatch.setattr("cogbias.running.may_be_written", lambda _: False)
    monkeypatch.setattr("cogbias.running.effects_follow", lambda _: False)
    table = (pair / "effects.parquet").read_bytes()
    assert command("report", pair) == 0
    assert (pair / "effects.parquet").read_bytes() == table


def test_a_table_says_the_same_wherever_it_is_written(pair: Path, tmp_path: Path) -> None:
    "Intervals without width were empty in what was asked for, and numbers in the folder's own."
    own = [pair / "effects.csv", pair / "effects.parquet"]
    before = [place.stat().st_mtime_ns for place in own]
    held = load_effects(own[1])
    assert command("effects", pair, "--out", tmp_path / "asked.csv") == 0
    assert (tmp_path / "asked.csv").read_bytes() == own[0].read_bytes()
    assert (held["status"] == "degenerate_zero_variance").any()
    assert not (held["ci_low"] == held["ci_high"]).any()
    assert [place.stat().st_mtime_ns for place in own] == before


def test_a_table_of_before_that_kept_limits_without_width_still_follows(pair: Path) -> None:
    place = pair / "effects.parquet"
    table = load_effects(place)
    empty = (table["status"] == "degenerate_zero_variance") & table["ci_low"].isna()
    assert empty.any()
    limits = {name: table[name].where(~empty, table["estimate"]) for name in ("ci_low", "ci_high")}
    save_table(table.assign(**limits), place)
    assert verify_folder(pair).differences == []


def test_a_run_leaves_no_stale_report_on_a_study_of_one_cell(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "'cogbias report' had made it; a run of that one cell did not make it again."
    rendered = []
    monkeypatch.setattr(
        "cogbias.rendering.execute_report", lambda *some, **_: rendered.append(some[0])
    )
    report = folder / "reports" / "study.ipynb"
    report.parent.mkdir()
    report.write_text("{}")
    run_study(make_study(models=["sim/messy"], paradigms=["choice/certainty"]), folder)
    of_cell = Folder(folder).report("sim/messy", "choice/certainty")
    assert rendered == [of_cell, report]


def test_a_run_says_that_an_answer_was_edited_and_not_that_answers_came(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    "It asks nothing, and counts the answer as it is now; verify found it before."
    asked = make_study(models=["sim/messy"], paradigms=["classic/framing"])
    run_study(asked, tmp_path, reports=False)
    run_study(replace(asked, repeats=2), tmp_path, reports=False)  # answers came
    assert not caplog.records
    place = Folder(tmp_path).store("sim/messy", "classic/framing").path
    lines = place.read_text().splitlines()
    first = json.loads(lines[0])
    first["response"] = "I would choose none of them."
    lines[0] = json.dumps(first)
    place.write_text("\n".join(lines) + "\n")
    run_study(replace(asked, repeats=2), tmp_path, reports=False)
    (told,) = [each.getMessage() for each in caplog.records]
    assert told.startswith(f"{place}: was edited since the last run")
