"The outputs stored in a notebook are what its code gives: each is executed again and compared."

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from conftest import NOTEBOOKS, lacks_published_data
from nbdev.test import _keep_file

# what differs from run to run: addresses, places of files, times, dates
VARIES = re.compile(
    r"( at )?0x[0-9a-f]+|/tmp/\S+|\d+(\.\d+)? ?(s|ms|seconds|minutes)\b"
    r"|\d{4}-\d\d-\d\d[T ]?[\d:.+]*"
)
LEFT_OUT = ("benchmarks/", "reports/")  # measured on one machine; templates


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    "The words of each cell's outputs, without bars and what else differs from run to run."
    shown = []
    for cell in notebook.cells:
        outputs = [each for each in cell.get("outputs", []) if each.get("name") != "stderr"]
        said = [each.get("text") or each.get("data", {}).get("text/plain", "") for each in outputs]
        shown.append(" ".join(VARIES.sub("", "".join(said)).split()))
    return shown


def with_outputs() -> list[str]:
    "Notebooks that store outputs."
    names = []
    for path in sorted(NOTEBOOKS.rglob("*.ipynb")):
        name = path.relative_to(NOTEBOOKS).as_posix()
        if name.startswith(LEFT_OUT) or ".ipynb_checkpoints" in name:
            continue
        if lacks_published_data(path):
            continue
        if _keep_file(path, ".notest") and any(texts(nbformat.read(path, 4))):
            names.append(name)
    return names


@pytest.mark.slow
@pytest.mark.parametrize("name", with_outputs())
def test_stored_outputs_are_what_the_code_gives(name: str, tmp_path: Path) -> None:
    from nbclient import NotebookClient

    stored = nbformat.read(NOTEBOOKS / name, 4)
    kept = [cell for cell in stored.cells if cell.cell_type == "code"]
    left = [cell for cell in kept if re.match(r"#\|\s*(eval: false|slow)", cell.source)]
    executed = nbformat.from_dict({**stored, "cells": [each for each in kept if each not in left]})
    before = texts(executed)
    resources = {"metadata": {"path": str((NOTEBOOKS / name).parent)}}
    NotebookClient(executed, timeout=600, resources=resources).execute()
    assert texts(executed) == before
