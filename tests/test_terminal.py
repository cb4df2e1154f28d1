"A terminal is told what is done, and that it goes on, while one step takes long."

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from cogbias import progress

ASKED = ["--model", "sim/human", "--model", "sim/random", "--paradigm", "classic/framing"]
ASKED += ["--where", "variant=base", "--no-reports"]


def under_a_terminal(*words: str) -> str:
    "What a command shows on a terminal of 24 lines of 100 signs."
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [sys.executable, "-m", "cogbias", *words]
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, close_fds=True)
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


def test_a_bar_is_drawn_again_while_a_step_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(progress, "_watched", lambda: True)
    monkeypatch.setattr(progress, "REFRESHED", 0.02)
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
    monkeypatch.setattr(progress, "_watched", lambda: True)
    made: list[int] = []
    with progress.counting(True, 3, "pages", "page", lambda: len(made)):
        made += [1, 2, 3, 4]
    assert "3/3" in capsys.readouterr().err, "never more than there are to be"
