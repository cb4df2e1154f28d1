"""The outputs stored in a notebook are what its code gives.

`test_notebooks.py` compares them whenever a notebook runs. `make outputs NB=framing` executes the
notebooks whose name holds `framing` in Jupyter and stores what they give.
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
# measured on one machine; templates of reports
NOT_COMPARED = ("benchmarks/", "reports/")
# what differs from run to run: addresses, folders, times, dates
VARIES = re.compile(
    r"( at )?0x[0-9a-f]+|/tmp/\S+|\d+(\.\d+)? ?(s|ms|seconds|minutes)\b"
    r"|\d{4}-\d\d-\d\d[T ]?[\d:.+-]*"
)
DECIMAL = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")
LEFT_OUT = re.compile(r"#\|\s*(eval: false|slow)")


def text(cell):
    "The words of a cell's outputs, without bars and what differs from run to run."
    outputs = [each for each in cell.get("outputs", []) if each.get("name") != "stderr"]
    said = [each.get("text") or each.get("data", {}).get("text/plain", "") for each in outputs]
    return " ".join(VARIES.sub("", "".join("".join(each) for each in said)).split())


def same(stored, given):
    "Whether two texts agree, their decimal numbers to four digits and however they are spaced."
    words = [DECIMAL.sub("#", each).replace(" ", "") for each in (stored, given)]
    if words[0] != words[1]:
        return False
    pairs = zip(DECIMAL.findall(stored), DECIMAL.findall(given), strict=True)
    return all(np.isclose(float(one), float(other), 1e-4, 1e-6) for one, other in pairs)


def differences(stored, executed):
    """What cells gave otherwise than is stored; nothing is compared where nothing is stored.

    A cell that was not run still has the outputs that it had.
    """
    if not any(map(text, stored)):
        return []
    return [
        f"{before.source[:80]!r} stores\n  {text(before)}\nand gives\n  {text(after)}"
        for before, after in zip(stored, executed, strict=True)
        if not same(text(before), text(after))
    ]


def store(path):
    "Execute a notebook in Jupyter and keep the outputs of every cell that tests run."
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, 4)
    run = [cell for cell in notebook.cells if not LEFT_OUT.match(cell.source)]
    executed = nbformat.from_dict({**notebook, "cells": run})
    place = {"metadata": {"path": str(path.parent)}}
    NotebookClient(executed, timeout=600, resources=place).execute()
    outputs = {  # warnings tell of the machine
        cell.id: [each for each in cell.outputs if each.get("name") != "stderr"]
        for cell in executed.cells
        if cell.cell_type == "code"
    }
    for cell in notebook.cells:
        if cell.id in outputs:
            cell.outputs = outputs[cell.id]
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for each in sorted((ROOT / "nbs").rglob("*.ipynb")):
        name = each.relative_to(ROOT / "nbs").as_posix()
        if any(part in name for part in sys.argv[1:]) and not name.startswith(NOT_COMPARED):
            print(name)
            store(each)
    subprocess.run([Path(sys.executable).parent / "nbdev_clean"], check=True, cwd=ROOT)
