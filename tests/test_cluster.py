"""A study on a real scheduler, whose workers are killed."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from cogbias.folder import Folder
from cogbias.running.studies import run_study
from cogbias.study import make_study
from cogbias.tables import CogbiasError

COMMAND = [sys.executable, "-c", "from cogbias.cli import main; main()"]
MODELS, PARADIGMS = ["sim/human", "sim/messy"], "managerial/[a-e]*"
ASKED = ["--model", MODELS[0], "--model", MODELS[1], "--paradigm", PARADIGMS]
RUN = ["run", *ASKED, "--no-reports"]


def until(true, seconds=180):
    "Wait for something."
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


class Cluster:
    "A scheduler and its workers, each a process of its own."

    def __init__(self, folder):
        self.folder, self.workers, self.file = folder, [], folder / "scheduler.json"
        self.scheduler = self.started("scheduler", "--port", "0", "--no-dashboard")
        until(self.file.exists)
        until(lambda: self.file.read_text().endswith("}"))
        self.address = json.loads(self.file.read_text())["address"]

    def started(self, kind, *options):
        "A new process of the cluster."
        command = [sys.executable, "-m", "distributed.cli.dask_" + kind]
        return subprocess.Popen(
            [*command, "--scheduler-file", str(self.file), *options],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def add_worker(self):
        "One more that works."
        one = ["--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--no-dashboard"]
        self.workers.append(self.started("worker", *one))

    def kill_worker(self):
        "One of them is gone without a word."
        worker = self.workers.pop()
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def end(self):
        "End all processes."
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    place = tmp_path / "cluster"
    place.mkdir()
    cluster = Cluster(place)
    yield cluster
    cluster.end()


def answers(place):
    "The ids of the answers of a folder."
    try:
        with Folder(place) as folder:
            return [key for (key,) in folder.rows("select trial_id from answers order by trial_id")]
    except CogbiasError:
        return []


@pytest.mark.slow
def test_workers_are_killed_and_others_take_over(cluster, tmp_path):
    "None is there, one comes and is killed, another comes: nothing is lost or stored twice."
    alone, place, said = tmp_path / "alone", tmp_path / "outputs", tmp_path / "said"
    study = make_study(models=MODELS, paradigms=[PARADIGMS])
    assert run_study(study, alone, reports=False).failed == []
    command = [*COMMAND, *RUN, "--cluster", cluster.address, "--outputs", str(place)]
    with said.open("w") as errors:
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        until(lambda: "has no worker; waiting for one" in said.read_text())
        cluster.add_worker()
        until(lambda: len(answers(place)) > 0)
        cluster.kill_worker()
        cluster.add_worker()
        out, _ = run.communicate(timeout=300)
    finally:
        run.kill()
    assert run.returncode == 0, said.read_text()
    assert answers(place) == answers(alone)
    assert (place / "effects.csv").read_bytes() == (alone / "effects.csv").read_bytes()


@pytest.mark.slow
def test_no_scheduler_is_one_line(tmp_path):
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    command = [*COMMAND, *RUN, "--cluster", "tcp://127.0.0.1:9", "--outputs", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode in (1, 2)
    assert "no scheduler answers there" in done.stderr
