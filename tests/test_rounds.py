"Rounds of asking read their file as it grows, and go on after a stop as if there had been none."

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cogbias import trials
from cogbias.cells import _until_valid
from cogbias.study import (
    group_counts,
    make_study,
    plan_until_valid,
    study_items,
    study_participants,
)
from cogbias.tables import CogbiasError
from cogbias.trials import Collected, TrialStore

STUDY = make_study(
    models=["sim/messy"],
    paradigms=["classic/framing"],
    settings={"classic/framing": {"contents": "published", "counterbalance": False}},
    where={"variant": ["base", "odd"]},
    method="text",
    valid_answers=40,
)
MESSY = study_participants(STUDY)[0]
ITEMS = study_items(STUDY, "classic/framing")


def asked_in_rounds(file: Path) -> Collected:
    "The cell, asked until every group has 40 readable answers."
    return _until_valid(STUDY, MESSY, ITEMS, TrialStore(file), None, False, None)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    "The answers of a run that nobody stopped."
    file = tmp_path_factory.mktemp("rounds") / "whole.jsonl"
    done = asked_in_rounds(file)
    assert done.rounds > 40  # some could not be read, so there was more than one round
    return file


@pytest.fixture
def parsed(monkeypatch) -> list[bytes]:
    "Every line that is parsed from now on."
    lines, parse = [], trials._row_of_line

    def parsing(path: Path, number: int, line: bytes) -> dict:
        lines.append(line)
        return parse(path, number, line)

    monkeypatch.setattr(trials, "_row_of_line", parsing)
    return lines


@pytest.mark.parametrize("share", [0, 0.5, 0.9, 1])
def test_a_stopped_run_goes_on_as_if_never_stopped(share, whole, parsed, tmp_path):
    lines = whole.read_bytes().splitlines(keepends=True)
    kept, file = round(share * len(lines)), tmp_path / "cell.jsonl"
    torn = b"".join(lines[kept:])[:100]
    file.write_bytes(b"".join(lines[:kept]) + torn)
    done = asked_in_rounds(file)
    assert file.read_bytes() == whole.read_bytes()
    assert (done.planned, done.stored, done.asked) == (len(lines), kept, len(lines) - kept)
    assert sorted(parsed) == sorted(line.rstrip() for line in lines)  # each of them once


def test_a_plan_parses_each_line_once(whole, parsed):
    planned = plan_until_valid(STUDY, MESSY, ITEMS, TrialStore(whole))
    assert planned.plan.requests == ()
    assert len(parsed) == whole.read_bytes().count(b"\n")


@pytest.mark.parametrize("round_number", [1, 2])
def test_answers_of_another_process_are_not_asked_again(round_number, whole, monkeypatch, tmp_path):
    file, opened, writer = tmp_path / "cell.jsonl", [], TrialStore.writer

    def writer_that_waited(store: TrialStore):
        "Another process has asked everything by the time that this one has its turn."
        opened.append(store)
        if len(opened) == round_number:
            file.write_bytes(whole.read_bytes())
        return writer(store)

    monkeypatch.setattr(TrialStore, "writer", writer_that_waited)
    done = asked_in_rounds(file)
    assert len(opened) == round_number  # what the other one stored was all
    assert file.read_bytes() == whole.read_bytes()
    assert (group_counts(ITEMS, TrialStore(file).read(done.trial_ids))["valid"] >= 40).all()


def test_a_line_that_is_edited_between_two_rounds_is_noticed(whole, tmp_path):
    file = tmp_path / "cell.jsonl"
    file.write_bytes(whole.read_bytes())
    store = TrialStore(file).remembering()
    assert store.read().equals(TrialStore(whole).read())
    first, *others = whole.read_bytes().splitlines(keepends=True)
    changed = json.loads(first) | {"status": "error"}
    file.write_bytes(json.dumps(changed).encode() + b"\n" + b"".join(others))
    assert changed["trial_id"] not in store.keys()
    file.write_bytes(b"".join(others) + b"{}\n")
    with pytest.raises(CogbiasError, match=rf"line {len(others) + 1} is not a trial"):
        store.keys()
    file.write_bytes(b"".join(others))  # what was wrong is not taken for read
    assert len(store.read()) == len(others)
