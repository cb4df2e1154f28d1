"The documentation of the library: what stands on its pages, what is linked, what has a reference."

import json

import pytest
from conftest import NOTEBOOKS, script_of_docs

SIGNATURES = """
LEVEL = 0.95  # coverage

def wilson(k: float,  # number of target answers
           n: int = 9, *rest: int, level: float = LEVEL,
           ) -> float:  # lower limit
    "Score interval."

class Point(NamedTuple):
    "A point."
    x: float = 0.0  # to the right
    def length(self, scale: float) -> float: "How far away."
    def _hidden(self): pass
"""


@pytest.fixture(scope="module")
def library():
    "The program that makes the documentation."
    return script_of_docs("library")


@pytest.fixture(scope="module")
def pages(library):
    "The notebooks of the repository, taken apart."
    return library.notebook_pages(NOTEBOOKS)


def test_public_names_have_their_parameters_and_meanings(library):
    symbols = {each.name: each for each in library.public_symbols(SIGNATURES)}
    assert list(symbols) == ["LEVEL", "wilson", "Point", "Point.length"]
    rows = {row.name: row for row in symbols["wilson"].rows}
    assert rows["k"].meaning == "number of target answers"
    assert (rows["level"].default, rows["returns"].meaning) == ("LEVEL", "lower limit")
    assert symbols["Point"].rows[0].meaning == "to the right"


def test_every_notebook_but_templates_and_the_front_page_is_one(pages):
    names = {page.docname for page in pages}
    assert {"00_tables", "stats/01_clusters", "tutorials/first_steps"} <= names
    assert not [name for name in names if name.startswith(("reports/", "index"))]


def test_a_name_is_linked_where_it_is_clear_what_it_means(library, pages):
    names = library.Names(pages)
    linked = library.link_names("See `check_settings` and `x = 1`.", names, "cogbias.study")
    assert linked == (
        "See [`check_settings`](#function-cogbias.settings.check_settings) and `x = 1`."
    )
    assert (
        library.link_names("```\n`check_settings`\n```", names, "") == "```\n`check_settings`\n```"
    )


@pytest.mark.slow
def test_pages_are_built(library, tmp_path):
    pytest.importorskip("sphinx")
    source = json.loads((NOTEBOOKS / "stats" / "01_clusters.ipynb").read_text())
    (tmp_path / "nbs" / "stats").mkdir(parents=True)
    (tmp_path / "nbs" / "stats" / "01_clusters.ipynb").write_text(json.dumps(source))
    library.build(tmp_path / "nbs", tmp_path / "out")
    page = (tmp_path / "out" / "stats" / "01_clusters.html").read_text()
    assert "<h2>Reference" in page
