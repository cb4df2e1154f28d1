"A study on its folder: what is asked, by whom, once; what a kill costs; what others read of it."

import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cogbias.cli import main
from cogbias.running import rendering
from cogbias.running.cells import effects_of
from cogbias.folder import Folder, requests, runs, status
from cogbias.participants import Answer, at_hand
from cogbias.running.studies import run_study
from cogbias.running.status import folder_status
from cogbias.study import make_study, planned_cells
from cogbias.running.verification import verify_folder
from doubles import Double

FRAMING = "classic/framing"


def answers_of(folder):
    "The ids of all answers, as they are stored."
    with Folder(folder) as opened:
        return [key for (key,) in opened.rows("select trial_id from answers order by trial_id")]


def total(outcome, what):
    "A count over the cells of a run."
    return sum(cell[what] for cell in outcome.cells)


class Steady:
    "Takes the first option, in a few milliseconds; says how often it was asked."

    backend, revision, temperature, simulated, methods = "made", "1", None, True, ("text",)
    identity: dict = {}

    def __init__(self, model="steady", wait=0.0):
        self.name, self.model, self.wait, self.asked = f"made/{model}", model, wait, 0

    def answers(self, requests, method):
        for index, request in enumerate(requests):
            time.sleep(self.wait)
            self.asked += 1
            first = request.item["options"][0]
            said = {"choice": first["label"], "role": first["role"], "value": first["value"]}
            yield index, Answer("ok", "yes", **said)


# ---- what is asked


def test_what_is_there_is_not_asked_again_in_whatever_way_a_study_grows(tmp_path):
    study = make_study(models=["sim/human"], paradigms=[FRAMING], where={"variant": ["base"]})
    counts = []
    for more in (
        {},
        {"models": ("sim/human", "sim/random")},
        {"where": {}},
        {"paradigms": (FRAMING, "classic/anchoring")},
        {"models": ("sim/human",), "repeats": 2, "method": "option_draw"},
    ):
        study = replace(study, **more)
        planned = sum(len(cell.requests) for cell in planned_cells(study, tmp_path))
        found = run_study(study, tmp_path, reports=False)
        assert not found.failed and total(found, "asked") == planned
        counts.append((total(found, "stored"), total(found, "asked")))
    few, whole, more = 160, 448, 240
    assert counts == [
        *((0, few), (few, few), (2 * few, 2 * (whole - few)), (2 * whole, 2 * more)),
        (0, 2 * (whole + more)),
    ]
    with Folder(tmp_path) as folder:
        assert len(requests(folder)) == 4 and len(runs(folder)) == 5
        assert folder.rows("select count(*) from asked where run_id = 1") == [(1,)]


def test_what_fails_costs_only_itself_and_is_asked_again(tmp_path):
    class Unsteady(Steady):
        def answers(self, requests, method):
            for index, answer in super().answers(requests, method):
                if self.asked == 100:
                    raise ConnectionError("the line went dead")
                yield index, Answer("error", detail="refused") if self.asked < 4 else answer

    with at_hand(Unsteady()) as who, at_hand(Steady("other")) as other:
        study = make_study(models=[who.name, other.name], paradigms=[FRAMING])
        found = run_study(study, tmp_path, reports=False)
        assert "the line went dead; 99 of 448 answers" in found.failed[0]
        assert len(found.failed) == 1 and found.effects is not None
        state = folder_status(tmp_path)
        assert state.cells["state"].tolist() == ["failed", "done"] or set(
            zip(state.cells["participant"], state.cells["state"])
        ) == {(who.name, "failed"), (other.name, "done")}
        again = run_study(study, tmp_path, reports=False)
    assert not again.failed and total(again, "stored") == 448 + 96
    assert other.asked == 448 and len(set(answers_of(tmp_path))) == 2 * 448
    attempts = {row[0] for row in Folder(tmp_path).rows("select attempt from answers")}
    assert attempts == {1, 2}


def test_a_participant_of_whom_nothing_can_be_read_is_stopped(tmp_path):
    class Mumbler(Steady):
        def answers(self, requests, method):
            for index, answer in super().answers(requests, method):
                yield index, Answer("invalid_format", response="Mhm.")

    with at_hand(Mumbler()) as who:
        study = make_study(models=[who.name], paradigms=[FRAMING, "classic/sunk_cost"])
        found = run_study(study, tmp_path, reports=False)
        assert who.asked == 20 and all("'Mhm.'" in line for line in found.failed)
        run_study(study, tmp_path, reports=False, keep_asking=True)
        assert who.asked == total(found, "planned")


def test_the_same_answers_in_every_process(tmp_path, monkeypatch):
    "Workers of another hash seed, and one process alone store and estimate the same."
    base = {"variant": ["base"]}
    study = make_study(models=["sim/human", "sim/messy"], paradigms=[FRAMING], where=base)
    alone = run_study(study, tmp_path / "alone", reports=False)
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    two = run_study(study, tmp_path / "two", jobs=2, reports=False)
    assert two.effects.equals(alone.effects)
    assert answers_of(tmp_path / "two") == answers_of(tmp_path / "alone")
    csv = [(tmp_path / each / "effects.csv").read_bytes() for each in ("alone", "two")]
    assert csv[0] == csv[1]


# ---- kills

SLOWLY = """
import sys
sys.path.insert(0, {tests!r})
from test_running import FRAMING, Steady
from cogbias.participants import at_hand
from cogbias.running.studies import run_study
from cogbias.study import make_study
with at_hand(Steady(wait=0.002)):
    study = make_study(models=["made/steady"], paradigms=[FRAMING, "classic/sunk_cost"])
    done = run_study(study, sys.argv[1], reports=False)
    assert not done.failed, done.failed
"""


@pytest.mark.parametrize(
    ("number", "times"),
    [
        (signal.SIGKILL, 3),
        pytest.param(signal.SIGKILL, 20, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 6, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 6, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_killed_again_and_again_loses_nothing(number, times, tmp_path):
    "What was stored stays, nothing is stored twice, and the last run ends as if none was killed."
    drawn, known = random.Random(times), set()
    code = SLOWLY.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-c", code, str(tmp_path)]
    for _ in range(times):
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(drawn.uniform(0.5, 4))
        run.send_signal(number)
        run.wait(30)
        if (tmp_path / "study.sqlite").exists():
            there = answers_of(tmp_path)
            assert known <= set(there) and len(there) == len(set(there))
            known = set(there)
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    with Folder(tmp_path) as folder:
        assert folder.rows("pragma integrity_check") == [("ok",)]
        assert (status(folder)["ok"] == status(folder)["asked"]).all()
    assert verify_folder(tmp_path).holds


def test_two_runs_at_once_in_one_folder_ask_everything_once(tmp_path):
    paradigms = ("classic/endowment", FRAMING, "classic/anchoring")
    command = [sys.executable, "-m", "cogbias", "run", "--no-reports", "--outputs", str(tmp_path)]
    command += ["--model", "sim/human", "--max-prompts", "60"]
    both = [
        subprocess.Popen(
            [*command, *(part for name in names for part in ("--paradigm", name))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for names in (paradigms[:2], paradigms[1:])
    ]
    for run in both:
        assert run.wait(120) == 0, run.stderr.read()
    there = answers_of(tmp_path)
    assert len(there) == len(set(there))
    assert verify_folder(tmp_path).holds
    assert set(effects_of(tmp_path)["paradigm"]) == {*paradigms}


# ---- what is read of it


def test_a_stranger_s_folder_is_read_and_nobody_is_contacted(tmp_path, monkeypatch, capsys):
    "It names a server: every command that reads it works, and the server hears nothing."
    monkeypatch.setattr(rendering, "IMPORTED", ())  # reports are made in this process
    with Double() as double:
        study = make_study(
            models=["openai/tiny"],
            paradigms=["choice/certainty"],
            where={"template": [1]},
            participants={"openai/*": {"base_url": double.openai}},
        )
        assert not run_study(study, tmp_path, reports=False).failed
        with Folder(tmp_path, writes=True) as folder:
            folder.db.execute("delete from answers where rowid % 9 = 0")
        before = len(double.asked)
        for command in ("status", "effects", "verify", "report"):
            with pytest.raises(SystemExit) as ended:
                main([command, str(tmp_path)])
            assert ended.value.code in (0, 1), capsys.readouterr().err
        assert len(double.asked) == before
    assert folder_status(tmp_path).cells["state"].tolist() == ["incomplete"]
