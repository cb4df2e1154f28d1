"""The reference file of golden values: its place, its entries, and agreement within tolerance.

The file lives beside the repository, not in it, so tests marked `beside` skip where it is absent.
"""

import json
from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
GOLDEN = DATA / "golden.json"
beside = pytest.mark.skipif(
    not GOLDEN.exists(), reason="the reference file is not beside this checkout"
)


def load():
    "The whole reference file, entries by id."
    loaded = json.loads(GOLDEN.read_text())
    return loaded | {"entries": {entry["id"]: entry for entry in loaded["entries"]}}


def tolerance(entry, call=""):
    "The tolerance stated by this entry's agreeing checks: relative above 1, absolute below."
    stated = [
        check["tol_rel"] for check in entry["python"] if check["agrees"] and call in check["call"]
    ]
    assert stated, f"{entry['id']} states no tolerance for {call!r}"
    return min(stated)


def close(ours, theirs, tol):
    "Agreement within the stated tolerance, relative above 1 and absolute below."
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape
    assert np.all(np.abs(ours - theirs) <= tol * np.maximum(1, np.abs(theirs))), (ours, theirs, tol)


def use(*ids):
    return pytest.mark.parametrize("entry", ids, indirect=True, ids=str)
