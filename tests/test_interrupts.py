"Ctrl-C ends any command in time, so does the death of a worker, and the same command goes on."

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from doubles import Double

from cogbias.cli import STOPPED, _ending_in_time, main
from cogbias.entry import ended_by
from cogbias.outputs import Folder
from cogbias.running import run_study
from cogbias.status import folder_status, status_lines
from cogbias.study import make_study
from tiers import every_few, slow_but

# From the signal to the end. Two seconds are promised, and kept by a machine that has a core to
# spare. Where others work too (tests side by side, a shared runner), each waking, unwinding and
# reaping waits for its turn, and the limit only says that nobody waits for a server.
PROMISED, SHARING = 2.0, 5.0


def limit() -> float:
    "Seconds that an end may take on the machine as it is now."
    at_work = os.getloadavg()[0] > (os.cpu_count() or 1) / 2
    return SHARING if at_work or "PYTEST_XDIST_WORKER" in os.environ else PROMISED


COMMAND = [sys.executable, "-c", "from cogbias.entry import main; main()"]
ASKED = [
    "--paradigm",
    "choice/certainty",
    "--where",
    "template=1",
    "--where",
    "design=common_ratio",
]


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    "Wait for something to be so."
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen]:
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


def stop(
    process: subprocess.Popen, group: bool = False, number: int = signal.SIGINT, times: int = 1
) -> list[str]:
    "Interrupt it and return its standard error; it must end in time and leave nobody behind."
    children = psutil.Process(process.pid).children(recursive=True)
    begun = time.monotonic()
    for _ in range(times):
        os.killpg(process.pid, number) if group else os.kill(process.pid, number)
        time.sleep(0.001)
    _, said = process.communicate(timeout=30)
    took = time.monotonic() - begun
    assert process.returncode == 128 + number, said
    assert took < limit(), took
    psutil.wait_procs(children, timeout=3)
    assert [each for each in children if each.is_running() and each.status() != "zombie"] == []
    return said.strip().splitlines()


def hanging(after: int) -> Callable[..., str | None]:
    "A server that answers so many chats and then says nothing."
    return lambda asked: "hang" if asked.number > after else None


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 7])
def test_while_a_server_hangs(tmp_path: Path, after: int) -> None:
    with Double(hanging(after)) as double:
        command = ["run", "--model", "openai/tiny", *ASKED, "--base-url", double.openai]
        command += ["--outputs", str(tmp_path), "--no-reports"]
        with started(*command) as process:
            until(lambda: len(double.asked) > after)
            assert stop(process) == [STOPPED]
        stored = len(Folder(tmp_path).store("openai/tiny", "choice/certainty").keys())
        double.script, before = lambda asked: None, len(double.asked)
        done = subprocess.run([*COMMAND, *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert f"{stored} stored, {70 * 2 - stored} asked" in done.stdout, done.stdout
    assert after - 7 <= stored <= after and len(double.asked) > before
    assert list(tmp_path.rglob("*.part")) == []


@pytest.mark.parametrize(
    "group", slow_but([True], [False, True]), ids=["to the process", "as from a terminal"]
)
def test_while_workers_wait_for_a_server(tmp_path: Path, group: bool) -> None:
    with Double(hanging(40)) as double:
        models = ["--model", "openai/tiny", "--model", "openai/other", "--jobs", "2"]
        command = ["run", *models, *ASKED, "--base-url", double.openai, "--outputs", str(tmp_path)]
        with started(*command) as process:
            until(lambda: len(double.asked) > 44)
            assert stop(process, group) == [STOPPED]


@pytest.mark.slow
@pytest.mark.parametrize("group", [False, True], ids=["by kill", "by the queue of a cluster"])
def test_asked_to_end_while_workers_wait_for_a_server(tmp_path: Path, group: bool) -> None:
    with Double(hanging(40)) as double:
        models = ["--model", "openai/tiny", "--model", "openai/other", "--jobs", "2"]
        command = ["run", *models, *ASKED, "--base-url", double.openai, "--outputs", str(tmp_path)]
        with started(*command) as process:
            until(lambda: len(double.asked) > 44)
            assert stop(process, group, signal.SIGTERM) == [STOPPED]


@pytest.mark.slow  # every day one report is interrupted, and workers are asked to end
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_asked_to_end_while_reports_are_made(tmp_path: Path, jobs: str) -> None:
    models = ["--model", "sim/human", "--model", "sim/random"]
    run = ["run", *models, *ASKED, "--outputs", str(tmp_path), "--jobs", jobs]
    with started(*run) as process:
        until(lambda: list(tmp_path.glob("reports/*/*.running.ipynb")) != [])
        assert stop(process, number=signal.SIGTERM) == [STOPPED]
    again = [*COMMAND, *run, "--jobs", "1"]  # the last one counts
    done = subprocess.run(again, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("reports/*/*certainty.ipynb"))) == 2


def test_asked_to_end_before_anything_is_imported() -> None:
    with started("list") as process:
        until(lambda: signal_is_answered(process.pid, signal.SIGTERM))
        assert stop(process, number=signal.SIGTERM) == [STOPPED]


def signal_is_answered(process: int, number: int) -> bool:
    "Whether a process has a handler for a signal."
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    caught = next(line for line in lines if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def test_while_workers_start(tmp_path: Path) -> None:
    "A worker that is interrupted before it has begun would print a traceback."
    models = ["--model", "sim/human", "--model", "sim/messy", "--jobs", "2"]
    with started("run", *models, *ASKED, "--outputs", str(tmp_path)) as process:
        until(lambda: len(psutil.Process(process.pid).children()) >= 2)
        assert stop(process, group=True) == [STOPPED]


def test_while_a_report_is_made(tmp_path: Path) -> None:
    run = ["run", "--model", "sim/human", *ASKED, "--outputs", str(tmp_path)]
    with started(*run) as process:
        until(lambda: list(tmp_path.glob("reports/*/*.running.ipynb")) != [])
        assert stop(process, group=True) == [STOPPED]
    assert list(tmp_path.glob("reports/*/certainty.ipynb")) == []


@pytest.mark.parametrize("times", every_few(3, [2, 3, 20]))
def test_who_asks_twice_wants_no_more_than_who_asks_once(tmp_path: Path, times: int) -> None:
    "`timeout` sends an interrupt to the program and again to its group."
    study = make_study(models=["sim/human", "sim/random"], paradigms=["classic/framing"])
    run_study(study, tmp_path, reports=False)
    with started("report", str(tmp_path), "--jobs", "2") as process:
        until(lambda: list(tmp_path.glob("reports/*/*.running.ipynb")) != [])
        assert stop(process, group=True, times=times) == [STOPPED]


def test_who_asks_until_it_ends_ends_it_as_once() -> None:
    "While Python cleans up, an interrupt was deadly, or there was a line of what it broke."
    with started("plan", "--model", "sim/human", "--paradigm", "*") as process:
        until(lambda: psutil.Process(process.pid).num_threads() > 1)
        while process.poll() is None:
            os.kill(process.pid, signal.SIGINT)
            time.sleep(0.0005)
        assert (process.stderr.read().splitlines(), process.returncode) == ([STOPPED], 130)


def test_while_what_reports_import_is_imported_nothing_is_left_beside_them(tmp_path: Path) -> None:
    "Two threads waited for that, longer than an end may take; their notes stayed."
    study = make_study(models=["sim/human", "sim/random"], paradigms=["classic/framing"])
    run_study(study, tmp_path, reports=False)
    with started("report", str(tmp_path), "--jobs", "2") as process:
        until(lambda: len([*tmp_path.rglob(".*.making-*")]) == 2)
        assert stop(process, times=2) == [STOPPED]
    assert [*tmp_path.rglob(".*.making-*"), *tmp_path.rglob("*.ipynb")] == []


def reports_in(folder: Path) -> list[str]:
    "What the status of a folder says of its reports, and of what is being made."
    found = folder_status(folder)
    now = [line for line in status_lines(found) if "being made" in line]
    return [*found.cells["report"], *now]


@pytest.mark.parametrize(
    ("number", "left"),
    [
        (signal.SIGHUP, "missing"),
        pytest.param(signal.SIGKILL, "stopped", marks=pytest.mark.slow),
    ],
    ids=["its terminal is closed", "it is killed"],
)
def test_a_report_that_another_process_makes_is_not_called_stopped(
    tmp_path: Path, number: int, left: str
) -> None:
    study = make_study(models=["sim/human"], paradigms=["classic/framing"])
    run_study(study, tmp_path, reports=False)
    assert reports_in(tmp_path) == ["missing"]
    with started("report", str(tmp_path)) as process:
        until(lambda: list(tmp_path.glob("reports/*/*.running.ipynb")) != [])
        assert reports_in(tmp_path) == ["begun", "1 report is being made right now"]
        if number == signal.SIGKILL:
            process.kill()
            process.wait()
        else:
            assert stop(process, number=number) == [STOPPED]
    assert reports_in(tmp_path) == [left]
    beside = [each.name for each in tmp_path.rglob("reports/*/*")]
    assert (beside == []) == (left == "missing"), beside


def test_what_an_end_leaves_half_closed_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    "Errors that nobody can catch are told while a command runs, and not once it is to end."

    class Failing:
        def __init__(self, error: BaseException) -> None:
            self.error = error

        def __del__(self) -> None:
            raise self.error

    with _ending_in_time(whole_process=False):
        Failing(KeyboardInterrupt())
        assert capsys.readouterr().err == ""
        Failing(ValueError("lost"))
        assert "ValueError: lost" in capsys.readouterr().err
        ended_by.append(signal.SIGINT)
        Failing(ValueError("lost"))
        assert capsys.readouterr().err == ""


# A kernel that is launched while the process that wants it is already ending, and a machine that
# takes its time over that end.
LATE_KERNEL = """
import atexit, os, signal, sys, threading, time
import cogbias.cli
import cogbias.kernels

atexit.register(time.sleep, 3)  # registered first: the last to be done
cogbias.cli.PATIENCE = 30.0
ended = threading.Event()
end_children = cogbias.cli._end_children
ask = cogbias.kernels._FirstProcess.ask


def slow_ask(*arguments):
    os.kill(os.getpid(), signal.SIGINT)
    ended.wait(0.5)
    return ask(*arguments)


def end_and_tell():
    end_children()
    ended.set()


cogbias.kernels._FirstProcess.ask, cogbias.cli._end_children = slow_ask, end_and_tell
cogbias.cli.main()
"""


@pytest.mark.slow
def test_a_kernel_that_starts_too_late_is_not_heard(tmp_path: Path) -> None:
    "A kernel of Jupyter printed a traceback to the terminal then."
    run = ["run", "--model", "sim/human", *ASKED, "--outputs", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", LATE_KERNEL, *run], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.strip().splitlines() == [STOPPED]


def test_while_another_process_has_the_turn(tmp_path: Path) -> None:
    from cogbias.outputs import turn

    with turn(Folder(tmp_path)):
        run = ["run", "--model", "sim/human", *ASKED, "--outputs", str(tmp_path)]
        with started(*run) as process:
            assert "waiting for it" in process.stderr.readline()
            assert stop(process) == [STOPPED]


@pytest.mark.parametrize("seconds", [0.0, 0.4, 1.5])
def test_at_any_moment_of_a_command(seconds: float) -> None:
    "From the moment on when it has begun to watch: it has a second thread then."
    with started("plan", "--model", "sim/human", "--paradigm", "*") as process:
        until(lambda: psutil.Process(process.pid).num_threads() > 1)
        time.sleep(seconds)
        if process.poll() is None:
            assert stop(process) == [STOPPED]


# An interrupt that comes just when a module is looked for.
EARLY = """
import os, signal, sys


class Interrupting:
    def find_spec(self, name, *_):
        if name == WANTED and not hasattr(self, "done"):
            self.done = True
            os.kill(os.getpid(), signal.SIGINT)


WANTED = sys.argv.pop(1)
from cogbias.entry import main
sys.meta_path.insert(0, Interrupting())
main()
"""


@pytest.mark.parametrize("name", ["cogbias.cli", "typer", "inspect", "psutil", "cogbias.design"])
def test_before_anything_is_imported(name: str) -> None:
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


def test_a_shell_that_ignores_interrupts_is_obeyed() -> None:
    "As `nohup` and jobs in the background are."
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);" + EARLY
    done = subprocess.run(
        [sys.executable, "-c", code, "typer", "list", "studies"], capture_output=True, text=True
    )
    assert done.returncode == 0 and "demo" in done.stdout, done.stderr


@pytest.mark.slow
def test_a_worker_that_is_killed_is_one_line(tmp_path: Path) -> None:
    with Double(hanging(40)) as double:
        models = ["--model", "openai/tiny", "--model", "openai/other", "--jobs", "2"]
        command = ["run", *models, *ASKED, "--base-url", double.openai, "--outputs", str(tmp_path)]
        with started(*command) as process:
            until(lambda: len(double.asked) > 44)
            workers = [
                each
                for each in psutil.Process(process.pid).children()
                if "resource_tracker" not in " ".join(each.cmdline())
            ]
            workers[0].kill()
            _, said = process.communicate(timeout=60)
    assert process.returncode == 1 and "Traceback" not in said, said
    lines = said.strip().splitlines()
    assert len(lines) == 2 and all("its process was killed" in line for line in lines), said
    assert {line.split()[1] for line in lines} == {"openai/tiny:", "openai/other:"}


def test_a_listener_that_is_gone_does_not_end_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    "An event loop of the same process was closed and left its descriptor with the signals."
    heard, told = socket.socketpair()
    told.setblocking(False)
    before = signal.set_wakeup_fd(told.fileno())
    told.close()
    heard.close()
    try:
        with pytest.raises(SystemExit) as end:
            main(["items", "no/such"])
        assert end.value.code == 2
        assert "no/such" in capsys.readouterr().err
        assert signal.set_wakeup_fd(-1) == -1
    finally:
        signal.set_wakeup_fd(before)
