"""What a run says, what status says of a folder, tables for programs, names for a shell."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from calls import command
from tiers import KINDS, slow_but
from typer.testing import CliRunner

from cogbias import design, rendering
from cogbias.cli import app
from cogbias.outputs import Folder, begun
from cogbias.running import run_study
from cogbias.status import folder_status, status_lines, status_totals
from cogbias.study import make_study, recorded_study
from cogbias.tables import CogbiasError, _name_of_machine

COMMAND = [sys.executable, "-c", "from cogbias.cli import main; main()"]
FRAMING = ["--paradigm", "classic/framing"]


def run(*arguments: str) -> tuple[int, str, str]:
    "Exit status, standard output and standard error of a call."
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "Two participants in one paradigm; a third that no server answers for."
    place = tmp_path_factory.mktemp("status") / "outputs"
    study = make_study(
        models=["sim/human", "sim/messy", "openai/none"],
        paradigms=["classic/framing"],
        participants={"openai/*": {"base_url": "http://127.0.0.1:9/v1"}},
    )
    failed = run_study(study, place, reports=False).failed
    assert len(failed) == 1
    return place


@pytest.fixture
def folder(collected: Path, tmp_path: Path) -> Path:
    "A copy of it that may be changed."
    return Path(shutil.copytree(collected, tmp_path / "outputs"))


def states(place: Path) -> dict[str, str]:
    "Participant -> state."
    cells = folder_status(place).cells
    return dict(zip(cells["participant"], cells["state"]))


def test_each_cell_has_a_state(folder: Path) -> None:
    store = Folder(folder).store("sim/messy", "classic/framing").path
    store.write_text("".join(store.read_text().splitlines(keepends=True)[:10]))
    found = folder_status(folder)
    assert states(folder) == {
        "sim/human": "done",
        "sim/messy": "incomplete",
        "openai/none": "failed",
    }
    failed = found.cells.set_index("participant").loc["openai/none"]
    assert "127.0.0.1:9" in failed["reason"] and failed["answers"] == 0
    totals = status_totals(found)
    assert (totals["cells"], totals["done"], totals["failed"]) == (3, 1, 1)
    assert totals["answers"] == 384 + 10


def test_what_failed_is_the_same_for_readers_and_for_programs(folder: Path) -> None:
    "Cells that failed stood in the text, and programs were told of none."
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["failed"] += ["report of sim/human in classic/framing: the template fails"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    told = json.loads(run("status", str(folder), "--json")[1])["failed"]
    said = run("status", str(folder))[2].splitlines()
    assert told == [each.removeprefix("failed    ") for each in said if each.startswith("failed ")]
    assert [each.partition(": ")[0] for each in told] == [
        "openai/none in classic/framing",
        "report of sim/human in classic/framing",
    ]


def test_a_file_that_cannot_be_read(folder: Path) -> None:
    Folder(folder).store("sim/human", "classic/framing").path.write_text("[]\n{}\n")
    found = folder_status(folder).cells.set_index("participant").loc["sim/human"]
    assert found["state"] == "unreadable" and "classic-framing.jsonl" in found["reason"]


def test_prompts_that_are_gone_are_told(folder: Path) -> None:
    "Every cell was called done, and no command but verify said a word."
    Folder(folder).items("classic/framing").unlink()
    cells = folder_status(folder).cells
    assert set(cells.loc[cells["participant"] != "openai/none", "state"]) == {"unreadable"}
    said = run("status", str(folder))[1]
    assert "not begun" not in said.partition("openai/none")[0]
    assert "classic-framing.parquet: is missing; put it back" in run("status", str(folder))[2]


@pytest.mark.parametrize("year", [2001, 2035])
def test_the_last_answer_is_as_old_as_its_run_not_as_its_file(folder: Path, year: int) -> None:
    "Simulated answers have no time; an archive gives its files other dates."
    moment = time.mktime((year, 1, 1, 0, 0, 0, 0, 0, 0))
    for place in folder.glob("trials/*/*.jsonl"):
        os.utime(place, (moment, moment))
    found = folder_status(folder)
    assert found.last_activity == found.finished_at


def test_a_last_answer_is_never_to_come(folder: Path) -> None:
    manifest = folder / "manifest.json"
    said = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(said | {"finished_at": "2999-01-01T00:00:00+00:00"}))
    assert folder_status(folder).last_activity is None


def test_nobody_is_asked_and_nothing_changed(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert run("status", str(folder))[0] == 0
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_readable_shares_and_errors(folder: Path) -> None:
    store = Folder(folder).store("sim/messy", "classic/framing")
    share = (store.read()["status"] == "ok").mean()
    found = folder_status(folder).cells.set_index("participant").loc["sim/messy"]
    assert found["readable"] == pytest.approx(share)
    assert found["tokens_in"] is None  # nobody counted


def test_tokens_are_added_up(folder: Path) -> None:
    store = Folder(folder).store("sim/human", "classic/framing").path
    rows = [json.loads(line) for line in store.read_text().splitlines()]
    for row in rows:
        row |= {"tokens_in": 20, "tokens_out": 3}
    store.write_text("".join(json.dumps(row) + "\n" for row in rows))
    totals = status_totals(folder_status(folder))
    assert (totals["tokens_in"], totals["tokens_out"]) == (20 * 384, 3 * 384)


def test_a_run_that_is_killed(tmp_path: Path) -> None:
    "What it was to do is known from its beginning on, and what it has done from its answers."
    command = ["run", "--model", "sim/human", "--paradigm", "managerial/*", "--no-reports"]
    process = subprocess.Popen(
        [*COMMAND, *command, "--outputs", str(tmp_path)], stdout=subprocess.DEVNULL
    )
    end = time.monotonic() + 120
    while len(list(tmp_path.glob("trials/*/*.jsonl"))) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = folder_status(tmp_path)
    totals = status_totals(found)
    assert (totals["cells"], found.finished_at) == (30, None)
    assert [each.goes_on for each in found.runs] == [False]
    assert totals["stopped"] >= 2 and totals["missing"] > 10
    assert totals["stopped"] + totals["incomplete"] + totals["missing"] == 30
    said = run("status", str(tmp_path))[1]
    assert "was stopped on the way; run the same command to go on" in said


def test_the_first_start_stays_and_the_last_run_is_told(tmp_path: Path) -> None:
    "Neither a run with nothing new nor one that goes on after a kill moves the first start."
    study = make_study(models=["sim/human"], paradigms=["classic/framing"])
    killed = tmp_path / "trials" / ".begun-elsewhere-1.json"
    killed.parent.mkdir()
    long_ago = {"started_at": "2026-01-01T08:00:00+00:00", "study": {}, "cells": []}
    killed.write_text(json.dumps(long_ago))
    times = []
    for _ in range(2):
        run_study(study, tmp_path, reports=False)
        found = folder_status(tmp_path)
        times.append(found.last_run_at)
        assert found.started_at == long_ago["started_at"]
        killed.unlink(missing_ok=True)
        time.sleep(1.1)  # times are told to the second
    assert long_ago["started_at"] < times[0] < times[1] <= found.finished_at
    said = run("status", str(tmp_path))[1]
    assert f"first run {long_ago['started_at']}, last run {times[1]}" in said


@pytest.mark.parametrize("cluster", [False, True])
def test_of_a_stopped_run_on_a_cluster_workers_may_go_on(tmp_path: Path, cluster: bool) -> None:
    "Only its client was killed; answers came for a while."
    study = recorded_study(make_study(models=["sim/human"], paradigms=["classic/framing"]))
    cells = [("sim/human", "classic/framing")]
    with begun(Folder(tmp_path), study, cells, "2026-01-01T00:00:00Z", cluster):
        (mine,) = (tmp_path / "trials").glob(".begun-*.json")
        assert "goes on" in status_lines(folder_status(tmp_path))[-1]
        mine.rename(mine.with_name(f".begun-{_name_of_machine()}-{2**22}.json"))  # no process
        said = status_lines(folder_status(tmp_path))[-1]
    assert "was stopped on the way" in said and "run the same command to go on" in said
    assert ("workers of its cluster may go on" in said) == cluster


def test_what_has_not_begun(tmp_path: Path) -> None:
    "Without its prompts in the folder nobody knows how many there will be; nobody asks, either."
    study = make_study(models=["sim/human"], paradigms=["classic/framing", "classic/anchoring"])
    cells = [("sim/human", name) for name in study.paradigms]
    with begun(Folder(tmp_path), recorded_study(study), cells, "2026-01-01T00:00:00Z"):
        code, said, _ = run("status", str(tmp_path))
    assert code == 0 and said.count("not begun") == 2 and "?" not in said


def test_a_folder_without_cells_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert command("status", tmp_path) == 2
    said, complaint = capfd.readouterr()
    assert said == "" and "no cells here" in complaint
    assert len(complaint.strip().splitlines()) == 1


# --- what a run says


def test_nothing_new_is_one_line(tmp_path: Path) -> None:
    asked = ["run", "--model", "sim/human", *FRAMING, "--outputs", str(tmp_path), "--no-reports"]
    first, second = run(*asked)[1], run(*asked)[1]
    assert "0 stored, 384 asked" in first and "nothing new" not in first
    assert second.splitlines() == [
        "nothing new: 1 cell complete, 384 stored, 0 asked",
        f"effects   {tmp_path / 'effects.csv'}",
    ]


def test_a_run_for_a_program(tmp_path: Path) -> None:
    "What the tables print, as JSON, and nothing else on standard output; the status stays."
    asked = ["run", "--model", "sim/human", *FRAMING, "--outputs", str(tmp_path), "--no-reports"]
    code, said, _ = run(*asked, "--json")
    told = json.loads(said)
    assert (code, told["nothing_new"], told["failed"]) == (0, False, [])
    assert (told["cells"][0]["asked"], len(told["headlines"])) == (384, 1)
    assert told["headlines"][0]["measure"] == "framing_effect"
    assert json.loads(run(*asked, "--json")[1])["nothing_new"]
    nobody = ["--model", "openai/none", "--base-url", "http://127.0.0.1:9/v1"]
    code, said, complaint = run(*asked, *nobody, "--json")
    assert code == 1 and len(json.loads(said)["failed"]) == 1 and "failed    " in complaint


def test_every_command_that_prints_a_table_has_it_for_programs() -> None:
    tables = ["list", "items", "check", "plan", "run", "generate", "train", "status", "effects"]
    for name in [*tables, "compare", "verify"]:
        assert "--json" in run(name, "--help")[1], name


@pytest.mark.slow
def test_the_headline_of_every_cell_and_the_study_first(tmp_path: Path) -> None:
    models = ["--model", "sim/human", "--model", "sim/random"]
    code, said, _ = run("run", *models, *FRAMING, "--outputs", str(tmp_path))
    assert code == 0
    lines = said.splitlines()
    table = [line.split() for line in lines if line.split()[:1] in (["sim/human"], ["sim/random"])]
    assert ["present" in words for words in table] == [False, False, True, False]
    paths = [line for line in lines if line.split()[:1] in (["study"], ["effects"], ["reports"])]
    assert [line.split()[0] for line in paths] == ["study", "effects", "reports"]
    assert paths[0].endswith("reports/study.ipynb")


# --- for programs


@pytest.mark.parametrize("name", ["list", "items", "effects", "compare", "status"])
def test_tables_for_programs(folder: Path, name: str) -> None:
    what = {"list": [], "items": ["classic/framing"]}.get(name, [str(folder)])
    code, said, _ = run(name, *what, "--json")
    assert code == 0 and json.loads(said)


def test_errors_of_them_stay_on_standard_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("effects", "compare", "status"):
        assert command(name, tmp_path, "--json") == 2
        said, complaint = capfd.readouterr()
        assert said == "" and complaint.startswith("cogbias: ")


def test_what_is_listed() -> None:
    said = run("list")[1]
    assert "The certainty effect" in said and "sim/human" in said and "openai/NAME" in said
    bare = json.loads(run("list", "--json")[1])
    framing = next(row for row in bare["paradigms"] if row["name"] == "classic/framing")
    assert framing == {
        "name": "classic/framing",
        "title": "Framing",
        "prompts": 384,
        "clusters": 24,
        "crossed": None,
        "clusters_are": "content sets",
        "size": "384 prompts in 24 content sets",
    }
    assert all(row["prompts"] > 0 and row["title"] for row in bare["paradigms"])
    assert any("sim/human" in row["models"] for row in bare["backends"])
    assert all(row["title"] for row in [*bare["backends"], *bare["studies"]])
    demo = next(row for row in bare["studies"] if row["name"] == "demo")
    assert "sim/human" in demo["models"] and "logic/*" in demo["paradigms"]
    assert demo["participants"] == demo["models"] and demo["cells"] == 4 * 6
    assert "24 cells" in said and "200 prompts in 50 clusters that share 33 sets of texts" in said
    sampled = next(row for row in bare["studies"] if row["name"] == "classic_sampled")
    assert len(sampled["participants"]) == 5, "one at each temperature"


def test_details_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    "What is not in the shipped table of sizes is said to be so, and counted on request."
    monkeypatch.setattr(design, "known_sizes", dict)
    monkeypatch.setattr(design, "paradigms", lambda: ["classic/framing"])
    assert "not counted: see --details" in run("list", "paradigms")[1]
    (row,) = json.loads(run("list", "paradigms", "--json")[1])
    assert (row["prompts"], row["clusters"]) == (None, None)
    (row,) = json.loads(run("list", "paradigms", "--json", "--details")[1])
    assert (row["prompts"], row["size"]) == (384, "384 prompts in 24 content sets")


def test_the_table_of_sizes_has_every_paradigm() -> None:
    assert list(design.known_sizes()) == design.paradigms(), "run 'make sizes'"


@pytest.mark.parametrize("name", slow_but(KINDS, design.paradigms()))
def test_the_table_of_sizes_is_right(name: str) -> None:
    assert design.known_sizes()[name] == design.size_of(design.paradigm(name).items())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("run --paradigm classic/f", ["classic/framing"]),
        ("run --model sim/hu", ["sim/human"]),
        ("plan dem", ["demo"]),
        ("items choice/c", ["choice/certainty"]),
        ("list ba", ["backends"]),
        ("run --method two", ["two_step"]),
    ],
)
def test_a_shell_completes_names(words: str, expected: list[str], tmp_path: Path) -> None:
    told = {"_COGBIAS_COMPLETE": "complete_bash", "COMP_WORDS": f"cogbias {words}"}
    told["COMP_CWORD"] = str(len(words.split()))
    done = subprocess.run(
        COMMAND, env=os.environ | told, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == expected, done.stderr


# --- while it runs


def on_a_terminal(*arguments: str) -> str:
    "What a command shows on a terminal of its own."
    import fcntl
    import pty
    import struct
    import termios

    mine, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=its)
    os.close(its)
    shown = b""
    while True:
        try:
            part = os.read(mine, 4096)
        except OSError:  # everybody has closed it
            break
        if not part:
            break
        shown += part
    assert process.wait() == 0
    return shown.decode(errors="replace")


MODELS = ["--model", "sim/human", "--model", "sim/random"]
FEW = [*FRAMING, "--where", "variant=base"]  # 96 answers of each


@pytest.mark.slow
def test_a_terminal_is_told_what_is_done_and_how_long_it_takes(tmp_path: Path) -> None:
    shown = on_a_terminal("run", *MODELS, *FEW, "--outputs", str(tmp_path))
    assert "cells 2 of 2" in shown and "192/192" in shown
    assert "in classic/framing" in shown and "answer/s" in shown
    for title in ("effects", "reports", "report on the study"):
        assert f"{title}: 100%" in shown, shown
    assert "0/2" in shown and "2/2" in shown


@pytest.mark.slow
def test_also_where_several_processes_collect(tmp_path: Path) -> None:
    several = ["--outputs", str(tmp_path), "--no-reports", "--jobs", "2"]
    shown = on_a_terminal("run", *MODELS, *FEW, *several)
    assert "cells 2 of 2" in shown and "192/192" in shown


def test_and_nobody_else(tmp_path: Path) -> None:
    asked = ["run", "--model", "sim/human", *FRAMING, "--outputs", str(tmp_path), "--no-reports"]
    done = subprocess.run([*COMMAND, *asked], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_planned_while_a_run_goes_on_counts_repeats(tmp_path: Path) -> None:
    "Without a manifest, as before a run has ended: draws count once for each repeat."
    study = make_study(models=["sim/human", "sim/messy"], paradigms=["classic/framing"], repeats=2)
    run_study(study, tmp_path, reports=False)
    (tmp_path / "manifest.json").unlink()
    where = Folder(tmp_path)
    kept = where.store("sim/human", "classic/framing").path
    kept.write_text("".join(kept.read_text().splitlines(keepends=True)[:400]))
    cells = [("sim/human", "classic/framing"), ("openai/none", "choice/decoy")]
    with begun(where, recorded_study(study), cells, "2026-01-01T00:00:00+00:00"):
        cell = folder_status(tmp_path).cells.set_index("participant").loc["sim/human"]
        shown = run("status", str(tmp_path))[1]
    assert (cell["answers"], cell["planned"], cell["state"]) == (400, 768, "incomplete")
    assert "400 of 768" in shown and ".0 " not in shown, shown


def test_prompts_that_are_not_asked_are_told_by_run_and_status(tmp_path: Path) -> None:
    arguments = ("--model", "sim/human", "--paradigm", "classic/endowment", "--no-reports")
    told = "48 prompts that ask for an open number are left out of 192 (variant large)"
    assert told in run("run", *arguments, "--outputs", str(tmp_path / "out"))[1]
    assert f"classic/endowment, sim/human: {told}" in run("status", str(tmp_path / "out"))[1]


# --- reports that failed


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "A folder of two cells with their reports, and one on the study."
    place = tmp_path_factory.mktemp("rendered") / "outputs"
    study = make_study(models=["sim/human", "sim/random"], paradigms=["classic/framing"])
    assert run_study(study, place).failed == []
    return place


@pytest.fixture
def reported(rendered: Path, tmp_path: Path) -> Path:
    "A copy of it that may be changed."
    return Path(shutil.copytree(rendered, tmp_path / "outputs"))


def test_a_report_that_failed_is_told_until_it_is_mended(
    reported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "Whichever command renders it."
    from cogbias import rendering

    def fails(*_: object, **__: object) -> None:
        raise rendering.CogbiasError("the template fails")

    place = Folder(reported).report("sim/human", "classic/framing")
    place.unlink()
    with monkeypatch.context() as broken:
        broken.setattr(rendering, "execute_report", fails)
        assert run("report", str(reported))[0] == 1
    found = folder_status(reported)
    assert "report of sim/human in classic/framing: the template fails" in found.failed
    assert found.study_report == "failed"
    assert run("report", str(reported))[0] == 0
    found = folder_status(reported)
    assert (found.failed, found.study_report, place.exists()) == ([], "current", True)


def test_a_run_names_reports_that_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "The first report failed, and its path was told."

    def one_fails(_: Path, cell: dict | None, *__: object, **___: object) -> str | None:
        if cell is None:  # the report on the study
            return None
        if cell["participant"] == "sim/human":
            return "report of sim/human in classic/framing: the template fails"
        place = Folder(tmp_path).report(cell["participant"], cell["paradigm"])
        place.parent.mkdir(parents=True)
        place.write_text("{}")
        return None

    monkeypatch.setattr(rendering, "_report_task", one_fails)
    monkeypatch.setattr(rendering, "execute_report", lambda *_, **__: None)
    models = ["--model", "sim/human", "--model", "sim/messy"]
    code, said, _ = run("run", *models, *FRAMING, "--outputs", str(tmp_path))
    assert code == 1
    (line,) = [each for each in said.splitlines() if each.startswith("reports ")]
    assert "sim-messy" in line and "sim-human" not in line and "more" not in line


def test_a_long_message_of_a_report_is_cut_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from papermill import PapermillExecutionError

    def fails(*_: object) -> None:
        raise PapermillExecutionError(0, 0, "", "ValueError", "x" * 3000, [])

    monkeypatch.setattr(rendering, "execute_notebook", fails)
    template = rendering.shipped("reports", "bias.ipynb")
    with pytest.raises(CogbiasError) as caught:
        rendering.make_report(str(template), str(tmp_path / "report.ipynb"), {})
    assert "x … (3,000 characters)" in str(caught.value) and len(str(caught.value)) < 700


@pytest.mark.slow
def test_what_a_stopped_report_left_goes_where_the_report_is_good(reported: Path) -> None:
    place = Folder(reported).report("sim/human", "classic/framing")
    left = place.with_name("classic-framing.running.ipynb")
    left.write_text("{}")
    assert run("report", str(reported))[0] == 0
    assert place.exists() and not left.exists()


@pytest.mark.slow
def test_nothing_to_render_needs_no_right_to_write(
    reported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "Also for somebody who may write everywhere, as the root user of a container."
    import tempfile

    def refused(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    code, said, _ = run("report", str(reported))
    assert code == 0 and said.startswith("0 reports written")


def test_a_killed_kernel_asks_for_what_helps(tmp_path: Path) -> None:
    "The signal is named. There is one job, so fewer of them would be none."
    template = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell("outputs = ''", metadata={"tags": ["parameters"]}),
            nbformat.v4.new_code_cell("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
        ],
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}
        },
    )
    nbformat.write(template, tmp_path / "killed.ipynb")
    with pytest.raises(CogbiasError, match="the notebook kernel failed") as failed:
        rendering.execute_report(tmp_path / "out.ipynb", {}, tmp_path / "killed.ipynb")
    assert "--jobs" not in str(failed.value)
    assert "(killed by SIGKILL; perhaps memory ran out)" in str(failed.value)
    assert str(failed.value).endswith("a machine with more memory, and run again")
