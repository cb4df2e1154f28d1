"What is said of a folder whose run was killed: its size, why a report failed, what is there."

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cogbias import rendering
from cogbias.cli import app
from cogbias.outputs import Folder, read_manifest
from cogbias.status import folder_status
from cogbias.tables import CogbiasError

VALID = [
    *("--model", "sim/messy", "--paradigm", "classic/framing", "--where", "variant=base"),
    *("--method", "text", "--valid", "140"),  # 48 prompts in each condition: 3 rounds at the least
]
PLAIN = ["--model", "sim/human", "--paradigm", "classic/framing", "--where", "variant=base"]
KILLED_WHILE_ASKING = """
import os, sys
import cogbias.trials
from cogbias.cli import main

rows = 0
plain = cogbias.trials.trial_row

def row(*arguments):
    global rows
    rows += 1
    if rows > int(sys.argv[1]):
        os._exit(9)
    return plain(*arguments)

cogbias.trials.trial_row = row
main(sys.argv[2:])
"""
KILLED_BEFORE_ITS_END = """
import os, sys
import cogbias.running
from cogbias.cli import main

cogbias.running.write_manifest = lambda *_: os._exit(9)
main(sys.argv[1:])
"""


def killed(code: str, *arguments: str) -> None:
    "A run that ends as if it had been killed."
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 9, done.stderr


def command(*arguments: str) -> tuple[int, str]:
    "Exit status and all that a command says."
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stdout + done.stderr


def planned_at_least(place: Path) -> int:
    "How many answers a plan of the same study counts."
    said = command("plan", *VALID, "--outputs", str(place))[1]
    (line,) = [each for each in said.splitlines() if " answers are missing" in each]
    return int(line.split(" of ")[1].split()[0].replace(",", ""))


@pytest.mark.parametrize("answers", [100, 288])  # within its first pass, and at the end of it
def test_the_size_of_a_killed_run_is_what_its_answers_ask_for(answers: int, tmp_path: Path) -> None:
    "It was the size of the pass that was killed, as if all of it could be read."
    place = tmp_path / "outputs"
    killed(
        KILLED_WHILE_ASKING, str(answers), "run", *VALID, "--no-reports", "--outputs", str(place)
    )
    (cell,) = folder_status(place).cells.to_dict("records")
    assert (cell["answers"], cell["state"], cell["at_least"]) == (answers, "incomplete", True)
    assert cell["planned"] == planned_at_least(place) > 288
    assert f"{answers} of at least {cell['planned']}" in command("status", str(place))[1]


def test_once_the_run_has_ended_its_size_is_known(tmp_path: Path) -> None:
    place = tmp_path / "outputs"
    assert command("run", *VALID, "--no-reports", "--outputs", str(place))[0] == 0
    (cell,) = folder_status(place).cells.to_dict("records")
    assert (cell["state"], cell["at_least"]) == ("done", False)
    assert cell["answers"] == cell["planned"]


def fails(*_: object, **__: object) -> None:
    "Instead of a report."
    raise CogbiasError("the template fails")


def test_a_report_that_failed_is_told_where_no_run_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "Only a run writes a manifest, so nobody said why before the next one."
    place = tmp_path / "outputs"
    killed(KILLED_BEFORE_ITS_END, "run", *PLAIN, "--no-reports", "--outputs", str(place))
    assert read_manifest(Folder(place)) is None
    with monkeypatch.context() as broken:
        broken.setattr(rendering, "execute_report", fails)
        assert command("report", str(place))[0] == 1
    said = "report of sim/human in classic/framing: the template fails"
    assert said in folder_status(place).failed
    assert f"failed    {said}" in command("status", str(place))[1]
    assert command("report", str(place))[0] == 0
    assert folder_status(place).failed == []
    with monkeypatch.context() as broken:
        broken.setattr(rendering, "execute_report", fails)
        assert command("report", str(place), "--all")[0] == 1
    assert command("run", *PLAIN, "--no-reports", "--outputs", str(place))[0] == 0
    assert folder_status(place).failed == []


def test_what_is_said_of_a_stopped_run_holds_once_its_effects_were_made(tmp_path: Path) -> None:
    "It said that there are none yet, before and after."
    place = tmp_path / "outputs"
    killed(KILLED_BEFORE_ITS_END, "run", *PLAIN, "--no-reports", "--outputs", str(place))
    before = folder_status(place).cells["reason"][0]
    assert "was stopped before it had the effects of them" in before
    assert command("effects", str(place))[0] == 0
    assert folder_status(place).cells["reason"][0] == before


def test_a_table_of_a_plan_is_whole_where_no_terminal_is(tmp_path: Path) -> None:
    "Its last column was cut as on a terminal."
    asked = ["--model", "sim/human", "--paradigm", "classic/category_size", "--method", "text"]
    code, said = command("plan", *asked, "--outputs", str(tmp_path / "none"))
    assert code == 0 and "..." not in said
    assert "assumed: clusters 0.14 of scale, answers 16.7 percentage points" in said
