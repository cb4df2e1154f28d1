"A managerial paradigm is laid out for a reader: all sets of its shelf in each of some settings."

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_every_set_is_told_in_both_ways_in_every_setting():
    "Two settings x 40 sets: 80 pairs, and the scale, which never changes, only once."
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "read_aloud.py", "managerial/attribution", "2"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    told = done.stdout.split("\n")
    assert sum(line.startswith("== ") for line in told) == 2 * 40
    assert sum(line.startswith("control: You are the ") for line in told) == 2 * 40
    assert sum(line.startswith("treatment: You are the ") for line in told) == 2 * 40
    assert told.count("A) very likely reason X") == 1
