"A terminal is told what is done, and that it goes on, while one step takes long."

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cogbias import bars, outputs, progress, trials
from cogbias.design import paradigm
from cogbias.outputs import Folder
from cogbias.running import run_study
from cogbias.status import folder_status
from cogbias.study import Study, make_study
from cogbias.tables import CogbiasError, save_table

ASKED = ["--model", "sim/human", "--model", "sim/random", "--paradigm", "classic/framing"]
ASKED += ["--where", "variant=base", "--no-reports"]


def under_a_terminal(*words: str, lines: int = 24, columns: int = 100) -> str:
    "What a command shows on a terminal of so many lines and columns."
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    command = [sys.executable, "-m", "cogbias", *words]
    unsized = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        command, stdin=its, stdout=its, stderr=its, close_fds=True, env=unsized
    )
    os.close(its)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # nobody holds the other end any more
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0, shown.decode()
    return shown.decode()


def test_a_run_and_verify_say_what_they_do(tmp_path: Path) -> None:
    shown = under_a_terminal("run", *ASKED, "--outputs", str(tmp_path))
    assert "cells 2 of 2" in shown and "effects:" in shown
    assert "2/2" in shown.partition("effects:")[2], "over cells, so that it shows how far it is"
    shown = under_a_terminal("verify", str(tmp_path))
    assert "effects:" in shown and "answers:" in shown and "all follow" in shown


def test_a_terminal_that_says_it_is_0_columns_wide(tmp_path: Path) -> None:
    "As in some queues and containers; a bar of that width would be empty."
    shown = under_a_terminal("run", *ASKED, "--outputs", str(tmp_path), lines=0, columns=0)
    assert "cells 2 of 2: 100%" in shown and "effects: 100%" in shown
    assert max(len(each) for each in re.split("[\r\n]+", shown) if "%|" in each) <= 80


@pytest.mark.slow
def test_each_stretch_of_a_run_has_a_name(tmp_path: Path) -> None:
    shown = under_a_terminal("run", *ASKED[:-1], "--outputs", str(tmp_path), "--jobs", "2")
    order = ["reading what is asked", "starting", "cells 0 of 2", "effects: ", "reports: "]
    places = [shown.find(each) for each in order]
    assert -1 not in places and places == sorted(places)
    assert "/3 [" in shown[places[-1] :]  # two cells, and the study beside them


@pytest.mark.slow
def test_alone_the_report_on_the_study_has_a_bar_of_its_own(tmp_path: Path) -> None:
    shown = under_a_terminal("run", *ASKED[:-1], "--outputs", str(tmp_path))
    assert -1 < shown.find("reports: ") < shown.find("report on the study: ")


def test_a_file_gets_a_plain_line_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    "With what is done, how far it is, how fast, and how long it will take; no control characters."
    monkeypatch.setattr(bars, "SPOKEN", 0)
    monkeypatch.setattr(bars, "REFRESHED", 0.05)
    study = make_study(models=["sim/human", "sim/random"], paradigms=["classic/framing"])
    run_study(study, tmp_path, reports=False, progress=True)
    said = capsys.readouterr().err
    assert said.isprintable() or set(filter(lambda sign: not sign.isprintable(), said)) == {"\n"}
    line = re.compile(
        r"cells \d of 2: [\d,]+ of [\d,]+ answers after \d\d:\d\d, .+(a second|s each), "
        r"(at most )?\d\d:\d\d left; sim/\w+ in classic/framing"
    )
    assert any(line.fullmatch(each) for each in said.splitlines()), said
    assert "effects: " in said


def test_what_is_over_soon_says_nothing_to_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(bars, "_last_line", [time.monotonic()])
    study = make_study(models=["sim/human"], paradigms=["classic/framing"])
    run_study(study, tmp_path, reports=False, progress=True)
    assert capsys.readouterr() == ("", "")


def test_time_left_does_not_grow_while_the_second_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    bar = bars.Bar(3, "reports", "report")
    now[0] += 12
    bar.done("the first")
    now[0] += 9
    assert "after 00:21, 12.0 s each, at most 00:24 left" in bars.progress_line(bar)


def test_time_left_does_not_count_how_long_the_first_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    "Ten seconds until the first report, one for each of the next five: 34 seconds for the others."
    now = [100.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    bar = bars.Bar(40, "reports", "report")
    now[0] += 10
    for number in range(6):
        bar.done(f"report {number}")
        now[0] += number < 5
    assert "1.0 a second, 00:34 left" in bars.progress_line(bar)


def test_time_left_follows_from_the_rate_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    "A hundred a second at first, then 14.4: with 90 seconds to go, 35 were said to be left."
    now = [100.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    bar, there = bars.Bar(4608, "cells 0 of 4", "answer"), 0.0
    for _ in range(2 * 90):
        now[0] += 0.5
        there += 50 if there < 2304 else 7.2
        bar.show("cells 0 of 4", int(there), 4608)
    assert "after 01:30, 14.4 a second, 01:30 left" in bars.progress_line(bar)


def test_a_bar_is_drawn_again_while_a_step_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(bars, "_is_watched", lambda: True)
    monkeypatch.setattr(bars, "REFRESHED", 0.02)
    with progress.steps(True, 2, "slow things", "thing") as done:
        done("the first")
        capsys.readouterr()
        end = time.monotonic() + 10
        drawn = 0
        while drawn < 3 and time.monotonic() < end:
            time.sleep(0.02)
            drawn += capsys.readouterr().err.count("slow things")
    assert drawn >= 3


def test_what_another_program_makes_is_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(bars, "_is_watched", lambda: True)
    made: list[int] = []
    with progress.counting(True, 3, "pages", "page", lambda: len(made)):
        made += [1, 2, 3, 4]
    assert "3/3" in capsys.readouterr().err, "never more than there are to be"


def test_prompts_that_are_left_out_are_not_waited_for(tmp_path: Path) -> None:
    "An exact method asks no open number; the bar of a whole run ended at 36 of 40 cells."
    cells = [("sim/human", "classic/endowment")]
    watch = progress.Watch(Folder(tmp_path), cells, 1)
    study = make_study(models=["sim/human"], paradigms=["classic/endowment"])
    (cell,) = run_study(study, tmp_path, reports=False).cells
    seen = watch.look()
    assert cell["note"].endswith("ask them with method text")
    assert (seen.answers, seen.expected, seen.cells) == (cell["planned"], cell["planned"], 1)
    Folder(tmp_path).manifest.unlink()  # as while the run goes on
    assert folder_status(tmp_path).cells["state"].tolist() == ["done"]


def test_a_bar_reads_no_more_of_the_items_than_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "To check them all took a second of each run of eight paradigms in which nothing was new."
    study = make_study(models=["sim/human"], paradigms=["classic/framing"])
    run_study(study, tmp_path, reports=False)
    monkeypatch.setattr(outputs, "load_table", None)
    seen = progress.Watch(Folder(tmp_path), [("sim/human", "classic/framing")], 1).look()
    assert (seen.answers, seen.expected, seen.cells) == (448, 448, 1)
    place = Folder(tmp_path).items("classic/framing")
    place.write_bytes(place.read_bytes()[:100])
    assert progress.Watch(Folder(tmp_path), [("sim/human", "classic/framing")], 1).look().cells == 0


FRAMING = {"models": ["sim/messy"], "paradigms": ["classic/framing"]}


@pytest.fixture
def look_after(monkeypatch: pytest.MonkeyPatch) -> Callable[..., progress.Count]:
    "Run a study and say what its bar shows after so many new answers; it may be stopped there."
    watching, keep = [], trials._store_answer

    class Kept(progress.Watch):
        def __init__(self, *args) -> None:
            super().__init__(*args)
            watching.append(self)

    monkeypatch.setattr(progress, "Watch", Kept)

    def run(study: Study, place: Path, answers: int, stops: bool = False) -> progress.Count:
        seen: list[progress.Count] = []
        left = [answers]

        def kept_and_seen(*args):
            row = keep(*args)
            left[0] -= 1
            if left[0] == 0:
                seen.append(watching[-1].look())
                if stops:
                    raise CogbiasError("stopped here")
            return row

        monkeypatch.setattr(trials, "_store_answer", kept_and_seen)
        run_study(study, place, reports=False, progress=True)
        assert stops or watching[-1].look().cells == 1
        return seen[0]

    return run


@pytest.mark.parametrize(
    ("changed", "expected"),
    [({"seed": 2}, 448), ({"method": "two_step"}, 896), ({"items_file": "half.jsonl"}, 224)],
)
def test_answers_that_the_run_does_not_need_are_not_done(
    changed: dict, expected: int, tmp_path: Path, look_after: Callable[..., progress.Count]
) -> None:
    "A run with another seed said '448 of 448 answers' from its first moment to its last."
    first = make_study(**FRAMING)
    if "items_file" in changed:
        half = paradigm("classic/framing").items().head(224)
        changed = {"items_file": str(save_table(half, tmp_path / "half.jsonl")), "seed": 5}
    run_study(first, tmp_path / "out", reports=False)
    seen = look_after(replace(first, **changed), tmp_path / "out", 100)
    assert (seen.answers, seen.expected, seen.cells, seen.before) == (100, expected, 0, 0)


@pytest.mark.parametrize(("method", "expected"), [("text", 448), ("two_step", 896)])
def test_a_run_that_goes_on_counts_what_it_finds(
    method: str, expected: int, tmp_path: Path, look_after: Callable[..., progress.Count]
) -> None:
    study = make_study(**FRAMING, method=method)
    look_after(study, tmp_path, 200, stops=True)
    seen = look_after(study, tmp_path, 100)
    assert (seen.answers, seen.expected, seen.before) == (300, expected, 200)


def test_a_run_that_goes_on_says_that_it_looks_at_what_is_stored(
    tmp_path: Path, look_after: Callable[..., progress.Count]
) -> None:
    "It said 'waiting for the first' for minutes, though nobody had been asked."
    study, cells = make_study(**FRAMING), {("sim/messy", "classic/framing")}
    nothing_stored = progress.Watch(Folder(tmp_path), sorted(cells), 1, None, cells).look()
    look_after(study, tmp_path, 200, stops=True)
    stopped = progress.Watch(Folder(tmp_path), sorted(cells), 1, None, cells).look()
    assert (nothing_stored.looking, stopped.looking) == (False, True)
    assert not look_after(study, tmp_path, 1).looking


def test_each_cell_takes_as_many_answers_as_it_has_items_of_its_own(tmp_path: Path) -> None:
    "Who was asked a part counted as one who lacks the rest."
    run_study(make_study(**FRAMING), tmp_path, reports=False)
    part = {"models": ["sim/human"], "where": {"variant": ["base"]}}
    run_study(make_study(**FRAMING | part), tmp_path, reports=False)
    cells = [(who, "classic/framing") for who in ("sim/messy", "sim/human")]
    seen = progress.Watch(Folder(tmp_path), cells, 1).look()
    assert (seen.answers, seen.expected, seen.cells) == (448 + 160, 448 + 160, 2)


def test_what_is_found_makes_nothing_faster() -> None:
    "Of 100 answers 90 were there: the rate is that of the other ten."
    bar = progress.Bar(None, "cells 0 of 1", "answer")
    bar.began -= 10
    bar.show("cells 0 of 1", 100, 200, before=90)
    assert bar.rate == pytest.approx(1, rel=0.01)
