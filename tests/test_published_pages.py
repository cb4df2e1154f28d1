"Every table and figure of the papers has a place in the notebooks, and the place is there."

import re

import nbformat
import pandas as pd
import pytest
from conftest import NOTEBOOKS

from cogbias.tables import shipped

COVERAGE = pd.read_csv(shipped("data", "published", "coverage.csv"), dtype=str)
PAGES = ("classics", "instructed_to_bias", "managerial", "bets", "pagliaro", "coverage")


def test_no_cell_is_empty_and_no_row_comes_twice():
    assert COVERAGE.notna().all().all()
    assert not COVERAGE.map(str.strip).eq("").any().any()
    assert not COVERAGE.duplicated(["paper", "table_or_figure"]).any()


def headings(notebook):
    "The headings of a notebook."
    cells = nbformat.read(NOTEBOOKS / notebook, as_version=4).cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return re.findall(r"^#+ +(.+?) *$", prose, re.M)


@pytest.mark.parametrize("where", sorted(COVERAGE["where"].unique()))
def test_the_place_is_there(where):
    notebook, _, heading = where.partition("#")
    assert (NOTEBOOKS / notebook).is_file()
    assert not heading or heading in headings(notebook)


def test_readers_find_the_pages():
    readme = (NOTEBOOKS.parent / "README.md").read_text(encoding="utf-8")
    index = (NOTEBOOKS / "published" / "coverage.ipynb").read_text(encoding="utf-8")
    assert "nbs/published/coverage.ipynb" in readme
    for page in PAGES:
        assert page == "coverage" or f"({page}.ipynb)" in index
        assert f"nbs/published/{page}.ipynb" in readme
