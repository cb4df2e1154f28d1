"What a run says of when it will be done is right where cells differ, with a clock of its own."

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cogbias import bars, progress, trials
from cogbias.outputs import Folder
from cogbias.progress import Forecast, TaskCount, Watch
from cogbias.running import run_study
from cogbias.study import make_study
from cogbias.tables import CogbiasError


class Asked:
    "A task that answers at a speed of its own, from a moment on, until it hangs."

    def __init__(
        self,
        name: str,
        rate: float,  # answers in a second
        size: int = 600,
        before: int = 0,  # answers that an earlier run left
        hangs: float = float("inf"),  # after so many answers
        of: str = "",  # who is asked, where several tasks are of one
    ) -> None:
        self.name, self.rate, self.size, self.of = name, rate, size, of or name
        self.before, self.hangs, self.came, self.begun = before, hangs, 0.0, False

    @property
    def left(self) -> int:
        return self.size - self.before - int(self.came)

    def work(self, seconds: float) -> None:
        self.begun = True
        most = min(self.hangs, self.size - self.before)
        self.came = min(self.came + seconds * self.rate, most)

    def count(self) -> TaskCount:
        asks = self.name if self.begun and self.left else ""
        return TaskCount(self.of, asks, int(self.came), self.left, self.begun)


class Run:
    "Tasks that workers take up one after another, and the bar over them."

    def __init__(
        self,
        tasks: Sequence[Asked],
        monkeypatch: pytest.MonkeyPatch,
        workers: int = 1,
        told: bool = True,  # whether the forecast is told how many workers there are
    ) -> None:
        self.now, self.tasks, self.workers = 0.0, tasks, workers
        monkeypatch.setattr(bars.time, "monotonic", lambda: self.now)
        total, self.there = sum(task.size for task in tasks), sum(task.before for task in tasks)
        self.bar = bars.Bar(total, "cells", "answer", self.there)
        self.forecast = Forecast(workers if told else 1)

    def go_on(self, seconds: float) -> str:
        "What the line says after so many seconds more."
        for _ in range(round(2 * seconds)):
            self.now += 0.5
            for task in [each for each in self.tasks if each.left][: self.workers]:
                task.work(0.5)
            counts = [task.count() for task in self.tasks]
            self.forecast.note(counts, self.bar.worked)
            outlook = self.forecast.outlook(counts, self.bar.worked)
            there = self.there + sum(count.new for count in counts)
            self.bar.show("cells", there, self.bar.total, "the last", outlook=outlook)
        return bars.progress_line(self.bar)

    def until_done(self) -> float:
        "How many seconds it takes from now."
        began = self.now
        while any(task.left for task in self.tasks):
            self.go_on(1)
        return self.now - began


def seconds_said(run: Run) -> float:
    "The time left that is told, without bounds."
    assert run.bar.outlook is not None and run.bar.outlook.bound == "", run.bar.outlook
    assert run.bar.outlook.seconds is not None
    return run.bar.outlook.seconds


@pytest.mark.parametrize(
    ("tasks", "workers"),
    [
        ([Asked("fast", 100, 2304), Asked("slow", 14.4, 2304)], 1),
        ([Asked("fast", 3, 300), Asked("slow", 1, 300)], 2),
        ([Asked("slow", 0.05, 20), Asked("slower", 0.04, 20)], 2),
        ([Asked("a", 2, 240, before=100), Asked("b", 1, 600, before=500)], 2),
    ],
)
def test_time_left_is_that_of_who_takes_longest(
    tasks: list[Asked], workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    "One slow among fast, one after another or side by side; very slow ones; a resumed run."
    run = Run(tasks, monkeypatch, workers)
    while run.bar.outlook is None or run.bar.outlook.bound or run.bar.outlook.seconds is None:
        run.go_on(1)
    run.go_on(20)
    said = seconds_said(run)
    at_work = [task for task in tasks if task.left][:workers]
    assert run.bar.rate == pytest.approx(sum(task.rate for task in at_work), rel=0.1)
    assert run.until_done() == pytest.approx(said, rel=0.1, abs=2)


def test_a_task_that_has_not_answered_counts_as_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run([Asked("fast", 10), Asked("slow", 0.5, 60)], monkeypatch)
    assert "10.0 a second, at least 00:30 left; the last" in run.go_on(30)
    assert "0.5 a second" not in run.go_on(31) and run.bar.left == "", "nothing is known yet"
    line = run.go_on(70)
    assert "left" in line and "at least" not in line


def test_cells_of_one_participant_on_a_cluster_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    "Six cells of 100 seconds each, two workers: 300 seconds, of which 50 have gone by."
    cells = [Asked(f"slow in {number}", 2, 200, of="slow") for number in range(6)]
    run = Run(cells, monkeypatch, workers=2, told=False)
    run.go_on(50)
    assert seconds_said(run) == pytest.approx(250, abs=5)


def test_who_answers_in_bursts_of_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    "Ten answers at the beginning of each minute, as a limit of tokens allows."
    task = Asked("paced", 0, 100)
    run = Run([task], monkeypatch)
    run.forecast = Forecast(1, bars.SILENCE + 60)
    for minute in range(5):
        task.came = 10.0 * (minute + 1)
        run.go_on(59)
        assert run.bar.outlook.silent == ""
        run.go_on(1)
    assert seconds_said(run) == pytest.approx(300, rel=0.05)


def test_who_hangs_beside_one_that_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    talks, hangs = Asked("command/talks", 4), Asked("command/hangs", 4, hangs=30)
    run = Run([talks, hangs], monkeypatch, workers=2)
    line = run.go_on(60)
    assert line.endswith("4.0 a second, at least 01:30 left; no answer of command/hangs for 00:52")
    run.go_on(90)  # the other is done
    line = run.go_on(40)
    assert line.endswith("answers after 03:10; no answer of command/hangs for 03:02"), line
    hangs.hangs = 600
    assert "no answer" not in run.go_on(10) and run.bar.left, "it goes on"


def test_who_never_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run([Asked("a", 4), Asked("b", 0), Asked("c", 0)], monkeypatch, workers=3)
    assert "no answer of b and 1 other for 00:59" in run.go_on(60)


def test_a_task_that_has_ended_lacks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "Its server is gone after 100 answers; the others will not come in this run."
    keep, seen = trials._store_answer, []

    class Seen(Watch):
        def ended(self, task: Sequence[tuple[str, str]]) -> None:
            before = self.look().tasks
            super().ended(task)
            seen.append((before, self.look().tasks))

    def kept(writer, participant, *rest):
        if participant.name == "sim/random" and kept.left == 0:
            raise CogbiasError("the server is gone")
        kept.left -= participant.name == "sim/random"
        return keep(writer, participant, *rest)

    kept.left = 100
    monkeypatch.setattr(trials, "_store_answer", kept)
    monkeypatch.setattr(progress, "Watch", Seen)
    study = make_study(models=["sim/random", "sim/human"], paradigms=["classic/framing"])
    assert run_study(study, tmp_path, reports=False, progress=True).failed
    (before, after), (_, end) = seen
    assert before[0][1:5] == ("sim/random", 100, 284, True)
    assert after[0][1:5] == ("", 100, 0, True) and after[1].left == 384
    assert [task.left for task in end] == [0, 0]


def test_the_size_may_grow_where_answers_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    "A round more is asked then; the line says so of the size and of the time."
    now = [100.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    bar, forecast = bars.Bar(480, "cells 0 of 1", "answer"), Forecast()
    for second in range(28):
        now[0] += 1
        there = 14 * (second + 1)
        tasks = [TaskCount("openai/m", "openai/m", there, 480 - there, True, grows=True)]
        forecast.note(tasks, bar.worked)
        outlook = forecast.outlook(tasks, bar.worked)
        bar.show("cells 0 of 1", there, 480, "openai/m", outlook=outlook)
    assert bars.progress_line(bar) == (
        "cells 0 of 1: 392 of at least 480 answers after 00:28, 14.0 a second, "
        "at least 00:06 left; openai/m"
    )


def test_a_name_has_room_on_a_terminal_of_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(bars, "_terminal_width", lambda: 80)
    bar = bars._DrawnBar(1536, "cells 0 of 2", "answer", 0)
    known = bars.Outlook(75, "at least ", False, "no answer of openai/m-hang for 00:35", True, 16.7)
    bar.show("cells 0 of 2", 712, 1536, outlook=known)
    bar.show("cells 0 of 2", 712, 1536, outlook=known._replace(silent="", is_least=True))
    bar._draw()
    shown = capsys.readouterr().err
    assert "712/at least 1536 [00:00<at least 01:15, 16.70answer/s" in shown
    bar.outlook = known
    bar.close()
    last = capsys.readouterr().err.split("\r")[-1].strip()
    assert last.endswith(" 712/1536 [00:00, no answer of openai/m-hang for 00:35]")
    assert len(last) <= 80


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[progress.Count]:
    "What a run shows after each answer that is stored, and at its end."
    keep, watching, seen = trials._store_answer, [], []

    class Kept(Watch):
        def __init__(self, *args) -> None:
            super().__init__(*args)
            watching.append(self)

        def ended(self, task: Sequence[tuple[str, str]]) -> None:
            super().ended(task)
            seen.append(self.look())

    def kept_and_seen(*args):
        row = keep(*args)
        seen.append(watching[-1].look())
        return row

    monkeypatch.setattr(progress, "Watch", Kept)
    monkeypatch.setattr(trials, "_store_answer", kept_and_seen)
    return seen


ONE_PART = {"paradigms": ["classic/framing"], "where": {"variant": ["base"]}}


def test_rounds_make_the_size_the_least(tmp_path: Path, looks: list[progress.Count]) -> None:
    "96 prompts, of which not all are read: more rounds follow, until the run has ended."
    study = make_study(models=["sim/messy"], **ONE_PART, method="text", valid_answers=90)
    run_study(study, tmp_path, reports=False, progress=True)
    first, *_, last, end = looks
    assert (first.expected, last.expected) == (192, 288)
    assert first.tasks[0].grows and last.tasks[0].grows and not end.tasks[0].grows


def test_who_is_asked_once_has_a_whole_size(tmp_path: Path, looks: list[progress.Count]) -> None:
    study = make_study(models=["sim/human"], **ONE_PART, valid_answers=90)
    run_study(study, tmp_path, reports=False, progress=True)
    assert looks and not any(task.grows for look in looks for task in look.tasks)


def test_what_nobody_has_looked_at_yet_is_missing_at_least(tmp_path: Path) -> None:
    "All that lies there may be of this run, or nothing."
    study = make_study(models=["sim/messy"], **ONE_PART)
    run_study(study, tmp_path, reports=False)
    cells = [("sim/messy", "classic/framing"), ("sim/human", "classic/framing")]
    watch = Watch(Folder(tmp_path), cells, 1, None, cells[:1], {cells[0]: 96})
    assert [(task.left, task.is_least) for task in watch.look().tasks] == [(0, True), (0, False)]
