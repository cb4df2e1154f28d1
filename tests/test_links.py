"Links from notebook to notebook lead somewhere."

import json
import re
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parent.parent / "nbs"
LINK = re.compile(r"\]\((?!https?:|#|mailto:)(?P<target>[^)\s#]+\.ipynb)(?:#[^)]*)?\)")


def linked(notebook):
    "The notebooks that the prose of a notebook links to."
    cells = json.loads(notebook.read_text())["cells"]
    prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    return [found["target"] for text in prose for found in LINK.finditer(text)]


def place(notebook, target):
    "Where a link leads; the README's source stands one folder higher when it is read."
    start = NOTEBOOKS.parent if notebook.name == "index.ipynb" else notebook.parent
    return (start / target).resolve()


def test_every_linked_notebook_is_there():
    notebooks = [each for each in NOTEBOOKS.rglob("*.ipynb") if ".ipynb_" not in str(each)]
    links = [(each, target) for each in notebooks for target in linked(each)]
    assert len(links) > 15
    lost = [(str(each), target) for each, target in links if not place(each, target).exists()]
    assert not lost
