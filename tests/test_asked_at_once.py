"""Who is asked two things at once: every number is of one of them, that which was asked last."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import cogbias.running as running
from cogbias import trials
from cogbias.cells import open_cell
from cogbias.design import paradigm
from cogbias.effects import headlines
from cogbias.outputs import Folder, load_effects
from cogbias.running import Outcome, effects_of, run_study
from cogbias.status import folder_status
from cogbias.study import Study, make_study
from cogbias.tables import ITEMS, load_table, save_table
from cogbias.verification import verify_folder
from tiers import slow_but

CERTAINTY = "choice/certainty"


@pytest.fixture
def asked(tmp_path: Path) -> tuple[Study, Study]:
    "A list of a user, and other prompts, drawn with another seed."
    items = paradigm(CERTAINTY).items()
    few = items[items["cluster"].isin(items["cluster"].unique()[:5])].head(300)
    save_table(few, tmp_path / "own.jsonl")
    drawn = make_study(models=["sim/messy"], paradigms=[CERTAINTY], seed=3)
    return replace(drawn, seed=0, items_file=str(tmp_path / "own.jsonl")), drawn


def headline(place: Path) -> float:
    "The headline of the only cell of a folder."
    return headlines(load_effects(place / "effects.parquet")).iloc[0]["estimate"]


def speaks_of(place: Path, study: Study, elsewhere: Path) -> None:
    "Check that effects, status and verify speak of what a study asks, and of nothing else."
    alone = run_study(study, elsewhere, reports=False).cells[0]
    effects_of(place)
    assert headline(place) == headline(elsewhere)
    (cell,) = folder_status(place).cells.to_dict("records")
    assert (cell["answers"], cell["planned"]) == (alone["planned"], alone["planned"])
    assert verify_folder(place).follows


def run_beside(
    monkeypatch: pytest.MonkeyPatch, when: str, other: Study, place: Path
) -> list[Outcome]:
    "Have another run begin and end where this one comes to a function of its own."
    before, said = getattr(running, when), []

    def after_the_other(*args, **more):
        if not said:
            said.append(Outcome(None, [], []))  # the other one comes here, too
            said[0] = run_study(other, place, reports=False)
        return before(*args, **more)

    monkeypatch.setattr(running, when, after_the_other)
    return said


@pytest.mark.parametrize("first", slow_but([0], [0, 1]))
def test_a_run_that_another_overtook_says_so_and_every_number_is_of_the_other(
    first: int, asked: tuple[Study, Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "The list was of one run, and how it was asked of the other; verify blessed that."
    mine, other = asked[first], asked[1 - first]
    place = tmp_path / "outputs"
    run_study(asked[0], place, reports=False)
    said = run_beside(monkeypatch, "_estimated_and_rendered", other, place)
    outcome = run_study(mine, place, reports=False)
    assert said[0].failed == []
    (line,) = outcome.failed
    assert line.startswith(f"sim/messy in {CERTAINTY}: another run has asked it otherwise since")
    monkeypatch.undo()
    speaks_of(place, other, tmp_path / "alone")
    assert run_study(mine, place, reports=False).failed == []
    assert verify_folder(place).follows


def test_two_runs_of_the_same_prompts_overtake_nobody(
    asked: tuple[Study, Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = run_beside(monkeypatch, "_estimated_and_rendered", asked[1], tmp_path / "outputs")
    outcome = run_study(asked[1], tmp_path / "outputs", reports=False)
    assert outcome.failed == said[0].failed == []


def test_answers_that_come_after_a_run_was_complete_are_no_edit(
    asked: tuple[Study, Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "A run that finds everything stored ends while another one adds answers to the same file."
    place, keep, left = tmp_path / "outputs", trials._store_answer, [100]
    run_study(asked[0], place, reports=False)

    def kept(*args):
        row = keep(*args)
        left[0] -= 1
        if left[0] == 0:
            assert run_study(asked[0], place, reports=False).failed == []
        return row

    monkeypatch.setattr(trials, "_store_answer", kept)
    (line,) = run_study(asked[1], place, reports=False).failed
    assert "another run has asked it otherwise since" in line
    found = verify_folder(place)
    assert found.follows and [each.as_left for each in found.sources] == [True]
    assert [each.answers for each in found.sources] == [300]


KILLED = """
import os, sys
from pathlib import Path
from cogbias import outputs
from cogbias.running import run_study
from cogbias.study import make_study

left, move = int(sys.argv[2]), os.replace

def killed_after_a_move(source, target):
    "End without a word after so many files took their places."
    global left
    move(source, target)
    if Path(target).parent.name in ("items", "sim-messy"):
        left -= 1
        if not left:
            os._exit(9)

os.replace = killed_after_a_move
Path.replace = lambda self, target: killed_after_a_move(self, target)
run_study(make_study(models=["sim/messy"], paradigms=["choice/certainty"], seed=3), sys.argv[1],
          reports=False)
"""


@pytest.mark.parametrize("moves", slow_but([2], [1, 2, 3]))
def test_a_run_killed_as_it_begins_leaves_the_old_numbers_or_no_number_of_neither(
    moves: int, asked: tuple[Study, Study], tmp_path: Path
) -> None:
    "The record of what is asked comes, then its list, then the record takes its place."
    place = tmp_path / "outputs"
    run_study(asked[0], place, reports=False)
    before = headline(place)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(place), str(moves)])
    assert killed.returncode == 9
    (cell,) = folder_status(place).cells.to_dict("records")
    if moves == 1:  # what was asked before is what counts
        assert (cell["answers"], cell["planned"]) == (300, 300)
        effects_of(place)
        assert headline(place) == before
        assert verify_folder(place).follows
    else:
        assert (cell["answers"], cell["planned"]) == (0, 1176)
    assert run_study(asked[1], place, reports=False).failed == []
    speaks_of(place, asked[1], tmp_path / "alone")
    assert not [*Folder(place).path.rglob(".ask*")]


def test_a_report_made_by_itself_leaves_the_folder_to_its_last_run(
    asked: tuple[Study, Study], tmp_path: Path
) -> None:
    "It asked with another seed, and the folder then had its items with the seed of the run."
    place = tmp_path / "outputs"
    run_study(asked[0], place, reports=False)
    assert len(open_cell(asked[1], place).trials) == 1176
    speaks_of(place, asked[0], tmp_path / "alone")
    assert len(load_table(Folder(place).items(CERTAINTY), ITEMS)) == 300
