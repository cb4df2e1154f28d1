"Ctrl-C ends any command in time, so does the death of a worker, and the same command goes on."

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import psutil
import pytest
from doubles import Double

from cogbias.__main__ import STOPPED
from cogbias.folder import Folder
from cogbias.running.studies import run_study
from cogbias.running.status import folder_status
from cogbias.study import make_study, study_items

# From the signal to the end. Two seconds are promised, and kept by a machine that has a core to
# spare. Where others work too (tests side by side, a shared runner), each waking, unwinding and
# reaping waits for its turn, and the limit only says that nobody waits for a server.
PROMISED, SHARING = 2.0, 5.0


def limit():
    "Seconds that an end may take on the machine as it is now."
    at_work = os.getloadavg()[0] > (os.cpu_count() or 1) / 2
    return SHARING if at_work or "PYTEST_XDIST_WORKER" in os.environ else PROMISED


COMMAND = [sys.executable, "-c", "from cogbias.__main__ import main; main()"]
ASKED = ["--paradigm", "choice/certainty", "--where", "template=1"]
ASKED += ["--where", "design=common_ratio"]


def until(true, seconds=60):
    "Wait for something to be so."
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


@contextmanager
def started(*arguments):
    "A command in a session of its own, as under a terminal."
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def stop(process, group=False, number=signal.SIGINT):
    "Interrupt it and return its standard error; it must end in time and leave nobody behind."
    children = psutil.Process(process.pid).children(recursive=True)
    begun = time.monotonic()
    os.killpg(process.pid, number) if group else os.kill(process.pid, number)
    _, said = process.communicate(timeout=30)
    took = time.monotonic() - begun
    assert process.returncode == 128 + number, said
    assert took < limit(), took
    psutil.wait_procs(children, timeout=3)
    assert [each for each in children if each.is_running() and each.status() != "zombie"] == []
    return said.strip().splitlines()


def hanging(after):
    "A server that answers so many chats and then says nothing."
    return lambda asked: "hang" if asked.number > after else None


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 7])
def test_while_a_server_hangs(tmp_path, after):
    with Double(hanging(after)) as double:
        command = ["run", "--model", "openai/tiny", *ASKED, "--base-url", double.openai]
        command += ["--outputs", str(tmp_path), "--no-reports"]
        with started(*command) as process:
            until(lambda: len(double.asked) > after)
            assert stop(process) == [STOPPED]
        with Folder(tmp_path) as folder:
            ((stored,),) = folder.rows("select count(*) from answers")
        double.script, before = lambda asked: None, len(double.asked)
        done = subprocess.run([*COMMAND, *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    where = {"template": ["1"], "design": ["common_ratio"]}
    study = make_study(models=["sim/human"], paradigms=["choice/certainty"], where=where)
    asked = len(study_items(study, "choice/certainty")) - stored
    assert f"{stored} stored, {asked} asked" in done.stdout, done.stdout
    assert after - 7 <= stored <= after and len(double.asked) > before
    assert list(tmp_path.rglob("*.part")) == []


@pytest.mark.parametrize(
    ("number", "group"),
    [
        (signal.SIGINT, True),
        *(
            pytest.param(each, False, marks=pytest.mark.slow)
            for each in (signal.SIGINT, signal.SIGTERM)
        ),
        pytest.param(signal.SIGTERM, True, marks=pytest.mark.slow),
    ],
)
def test_while_workers_wait_for_a_server(tmp_path, number, group):
    "As from a terminal, by kill, and by the queue of a cluster."
    with Double(hanging(40)) as double:
        models = ["--model", "openai/tiny", "--model", "openai/other", "--jobs", "2"]
        command = ["run", *models, *ASKED, "--base-url", double.openai, "--outputs", str(tmp_path)]
        with started(*command) as process:
            until(lambda: len(double.asked) > 44)
            assert stop(process, group, number) == [STOPPED]


def fork_servers(process):
    "What a command has its copies from."
    found = []
    for each in psutil.Process(process.pid).children():
        with suppress(psutil.Error):  # it has just ended
            found += [each] if "forkserver" in " ".join(each.cmdline()) else []
    return found


def copies_at_work(process):
    "The copies that make reports for a command."
    return [copy for each in fork_servers(process) for copy in each.children()]


@pytest.mark.slow  # every day the program is killed, and its copies end
def test_while_a_report_is_made(tmp_path):
    run = ["run", "--model", "sim/human", *ASKED, "--outputs", str(tmp_path)]
    with started(*run) as process:
        until(lambda: copies_at_work(process) != [])
        assert stop(process, group=True) == [STOPPED]
    assert list(tmp_path.glob("reports/*/certainty.ipynb")) == []


def test_a_report_that_was_being_made_leaves_nothing(tmp_path):
    "The program is killed: the copies end, and the report is missing."
    study = make_study(models=["sim/human"], paradigms=["classic/framing"])
    run_study(study, tmp_path, reports=False)
    with started("report", str(tmp_path)) as process:
        until(lambda: copies_at_work(process) != [])
        copies = copies_at_work(process)
        process.kill()
        process.wait()
    assert psutil.wait_procs(copies, timeout=20)[1] == []
    assert [*folder_status(tmp_path).cells["report"]] == ["missing"]
    assert [*tmp_path.rglob("reports/*/*")] == []


# An interrupt that comes just when a module is looked for.
EARLY = """
import os, signal, sys


class Interrupting:
    def find_spec(self, name, *_):
        if name == WANTED and not hasattr(self, "done"):
            self.done = True
            os.kill(os.getpid(), signal.SIGINT)


WANTED = sys.argv.pop(1)
from cogbias.__main__ import main
sys.meta_path.insert(0, Interrupting())
main()
"""


@pytest.mark.parametrize("name", ["cogbias.cli", "typer", "cogbias.design"])
def test_before_anything_is_imported(name):
    "In the first tenths of a second, the program being imported, there was a traceback."
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", EARLY, name, "items", "choice/certainty"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr.strip().splitlines()) == (130, [STOPPED]), done.stderr
    assert time.monotonic() - began < limit() + 2


@pytest.mark.slow
def test_a_worker_that_is_killed_is_one_line(tmp_path):
    with Double(hanging(40)) as double:
        models = ["--model", "openai/tiny", "--model", "openai/other", "--jobs", "2"]
        command = ["run", *models, *ASKED, "--base-url", double.openai, "--outputs", str(tmp_path)]
        command += ["--set", "timeout=5", "--no-reports"]
        with started(*command) as process:
            until(lambda: len(double.asked) > 44)
            workers = [
                each
                for each in psutil.Process(process.pid).children()
                if "resource_tracker" not in " ".join(each.cmdline())
            ]
            workers[0].kill()
            double.script = lambda asked: None  # the other one goes on
            _, said = process.communicate(timeout=120)
    assert process.returncode == 1 and "Traceback" not in said, said
    lines = [line for line in said.strip().splitlines() if "its process was killed" in line]
    assert len(lines) == 1, said
