"""A page is read from the top: what a notebook exports is shown at work by the cell below it.

A use or a test follows at once, so that a reader need not keep ten functions in mind until the
first of them does something. Few functions that only serve the next one share a cell with it.
"""

import json
import re
from functools import cache
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).resolve().parent.parent / "nbs"
MOST_IN_A_ROW = 4
SHARE = 0.78  # of all exported cells; 0.80 when this was written, and notebooks come and go
# these pages are held to it, each by name
SHOWN = (
    "participants/* running/02_cells 11_exchange figures/* reporting/* site/* "
    "backends/anthropic backends/ollama backends/openai "
    "choices/* "
    "elicitation/0[1-5]_* elicitation/0[78]_* effects/05_bets "
    "fillings/00_writing kits/variants paradigms/choice/* paradigms/classic/* paradigms/logic/* "
    "stats/0[0-8]_* stats/1[0-9]_* stats/2[0-2]_*"
).split()
HELD = sorted({path for each in SHOWN for path in NOTEBOOKS.glob(f"{each}.ipynb")})


@cache
def exported(path):
    "For every code cell in order, whether it is exported."
    cells = json.loads(path.read_text("utf8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return [bool(re.search(r"^#\|\s*export\b", source, re.M)) for source in sources]


def longest(cells):
    "How many exported cells stand in a row at most."
    return max(map(len, re.findall("1+", "".join(str(int(each)) for each in cells))), default=0)


@pytest.mark.parametrize("path", HELD, ids=lambda path: str(path.relative_to(NOTEBOOKS)))
def test_an_exported_cell_is_followed_by_its_use(path):
    assert longest(exported(path)) <= MOST_IN_A_ROW, "show each step at work before the next one"


def test_most_exported_cells_are_followed_by_a_use():
    pages = [exported(path) for path in NOTEBOOKS.rglob("*.ipynb")]
    shown = sum(here and not below for page in pages for here, below in zip(page, page[1:]))
    assert shown >= SHARE * sum(map(sum, pages))
