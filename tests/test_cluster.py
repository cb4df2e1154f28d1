"""A study on a real scheduler, whose workers are killed; and on other executors."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest

from cogbias import executors
from cogbias.bars import Bar, progress_line
from cogbias.rendering import stale_reports
from cogbias.running import run_study
from cogbias.study import make_study
from tiers import slow_but

COMMAND = [sys.executable, "-c", "from cogbias.cli import main; main()"]
MODELS, PARADIGMS = ["sim/human", "sim/messy"], "managerial/[a-e]*"
ASKED = ["--model", MODELS[0], "--model", MODELS[1], "--paradigm", PARADIGMS]
RUN = ["run", *ASKED, "--no-reports"]
FEW = "managerial/an*"


def until(true: Callable[[], object], seconds: float = 180) -> None:
    "Wait for something."
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


class Cluster:
    "A scheduler and its workers, each a process of its own."

    def __init__(self, folder: Path) -> None:
        self.folder, self.workers, self.file = folder, [], folder / "scheduler.json"
        self.scheduler = self.started("scheduler", "--port", "0", "--no-dashboard")
        until(self.file.exists)
        until(lambda: self.file.read_text().endswith("}"))
        self.address = json.loads(self.file.read_text())["address"]

    def started(self, kind: str, *options: str) -> subprocess.Popen:
        "A new process of the cluster."
        command = [sys.executable, "-m", "distributed.cli.dask_" + kind]
        return subprocess.Popen(
            [*command, "--scheduler-file", str(self.file), *options],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def add_worker(self) -> None:
        "One more that works."
        one = ["--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--no-dashboard"]
        self.workers.append(self.started("worker", *one))

    def kill_worker(self) -> None:
        "One of them is gone without a word."
        worker = self.workers.pop()
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def end(self) -> None:
        "End all processes."
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    place = tmp_path / "cluster"
    place.mkdir()
    cluster = Cluster(place)
    yield cluster
    cluster.end()


def in_one_process(factory: pytest.TempPathFactory, paradigms: str) -> Path:
    "The same study in one process."
    place = factory.mktemp("alone")
    study = make_study(models=MODELS, paradigms=[paradigms])
    assert run_study(study, place, reports=False).failed == []
    return place


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "The study that a cluster runs."
    return in_one_process(tmp_path_factory, PARADIGMS)


def answers(place: Path) -> dict[str, list[str]]:
    "File -> ids of its trials, one a line."
    return {
        path.relative_to(place).as_posix(): [
            json.loads(line)["trial_id"] for line in path.read_text().splitlines()
        ]
        for path in sorted(place.glob("trials/*/*.jsonl"))
    }


def begun(place: Path) -> int:
    "How many cells have answers."
    return len(list(place.glob("trials/*/*.jsonl")))


@pytest.mark.slow  # every day a worker is killed while it renders
def test_workers_are_killed_and_others_take_over(
    cluster: Cluster, alone: Path, tmp_path: Path
) -> None:
    "One is killed, then all of them, then others come: nothing is lost, nothing is asked twice."
    place = tmp_path / "outputs"
    for _ in range(2):
        cluster.add_worker()
    command = [*COMMAND, *RUN, "--cluster", cluster.address, "--outputs", str(place)]
    said = tmp_path / "said"
    with said.open("w") as errors:
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        until(lambda: begun(place) >= 3)
        cluster.kill_worker()
        until(lambda: begun(place) >= 9)
        cluster.kill_worker()
        assert begun(place) < begun(alone) and run.poll() is None
        until(lambda: "has no worker; waiting for one" in said.read_text())
        assert run.poll() is None
        cluster.add_worker()
        out, _ = run.communicate(timeout=300)
    finally:
        run.kill()
    assert run.returncode == 0, said.read_text()
    lines = said.read_text().splitlines()
    assert len(lines) == 2, lines
    assert re.search(r"a worker is there again, after \d+ seconds", lines[1]), lines
    found, expected = answers(place), answers(alone)
    assert {name: sorted(ids) for name, ids in found.items()} == {
        name: sorted(ids) for name, ids in expected.items()
    }
    assert (place / "effects.csv").read_bytes() == (alone / "effects.csv").read_bytes()


def finished(place: Path) -> list[Path]:
    "Reports that are whole."
    found = sorted(place.glob("reports/*/*.ipynb"))
    return [path for path in found if not path.name.endswith(".running.ipynb")]


@pytest.mark.slow
def test_workers_render_reports_and_others_take_over(cluster: Cluster, tmp_path: Path) -> None:
    "A worker is killed while it renders; every report is there, up to date, and nobody is left."
    place, said = tmp_path / "outputs", tmp_path / "said"
    for _ in range(2):
        cluster.add_worker()
    study = ["--model", MODELS[0], "--model", MODELS[1], "--paradigm", "managerial/an*"]
    command = [*COMMAND, "run", *study, "--cluster", cluster.address, "--outputs", str(place)]
    with said.open("w") as errors:
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        until(lambda: list(place.glob("reports/*/*.running.ipynb")))
        kernels = psutil.Process(cluster.workers[-1].pid).children(recursive=True)
        cluster.kill_worker()
        out, _ = run.communicate(timeout=300)
    finally:
        run.kill()
    assert run.returncode == 0, said.read_text()
    assert len(finished(place)) == begun(place) == 4 and "reports" in out
    assert stale_reports(place) == []
    assert psutil.wait_procs(kernels, timeout=20)[1] == [], "kernels end with their worker"


def test_whoever_waits_for_a_worker_is_told_for_how_long(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    "While nobody works there is no time left to tell, and none of it counts for the rate."
    monkeypatch.setattr(executors, "SECONDS_BETWEEN_LOOKS", 0.02)
    bar, there = Bar(10, "cells 1 of 2", "answer"), time.monotonic() + 0.5
    bar.done("sim/human in choice/decoy", 2)
    lines = []

    def no_worker() -> str:
        lines.append(progress_line(bar))
        return "" if time.monotonic() > there else "cluster: has no worker"

    with ThreadPoolExecutor(1) as pool:
        executors._wait_until_done([pool.submit(time.sleep, 1.0)], no_worker, bar.lacks)
    assert lines[3].endswith("; waiting for a worker for 00:00") and "left" not in lines[3]
    assert "left" in lines[-1] and lines[-1].endswith("; sim/human in choice/decoy")
    assert 0.4 < bar._idle < 0.9
    told = [each.getMessage() for each in caplog.records]
    assert told[0] == "cluster: has no worker" and len(told) == 2
    assert told[1].startswith("cluster: a worker is there again, after ")


@pytest.mark.slow
def test_no_scheduler_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    command = [*COMMAND, *RUN, "--cluster", "tcp://127.0.0.1:9", "--outputs", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.strip().splitlines()
    assert "no scheduler answers there" in line


@pytest.mark.parametrize("paradigms", slow_but([FEW], [FEW, PARADIGMS]))
@pytest.mark.parametrize("kind", slow_but(["processes"], ["threads", "processes"]))
def test_any_executor(
    kind: str, paradigms: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    "Tasks and results can be pickled; the answers and effects are the same."
    made = {
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    }
    alone = in_one_process(tmp_path_factory, paradigms)
    study = make_study(models=MODELS, paradigms=[paradigms])
    with made[kind]() as executor:
        outcome = run_study(study, tmp_path, reports=False, cluster=executor)
        assert executor.submit(int, "1").result() == 1  # it is its owner's to close
    assert outcome.failed == []
    names = [(cell["participant"], cell["paradigm"]) for cell in outcome.cells]
    assert names == sorted(names)
    assert (tmp_path / "effects.csv").read_bytes() == (alone / "effects.csv").read_bytes()
