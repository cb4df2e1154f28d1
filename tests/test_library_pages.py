"The pages about the library: what stands on them, what is linked, which names have a reference."

import ast
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from cogbias.site import pages as site
from cogbias.site.pages import Layout, build_site, library_pages, repository_notebooks
from cogbias.tables import CogbiasError

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
def library() -> ModuleType:
    "The glue of the project's own site."
    return library_pages()


@pytest.fixture(scope="module")
def pages(library: ModuleType) -> list:
    "The notebooks of the repository, taken apart."
    return library.notebook_pages(repository_notebooks())


@pytest.fixture(scope="module")
def frames(pages: list) -> tuple:
    "One of them."
    return next(page for page in pages if page.module == "cogbias.frames")


# ---- public names


def test_comments_are_found_by_their_lines(library: ModuleType) -> None:
    assert library.comments_by_line("x = 1  # one\ny = '# no'") == {1: "one"}
    documented = ast.parse("def f():\n    'First.\\n\\nSecond.'").body[0]
    assert library.summary_of(documented) == "First."


def test_arguments_come_in_the_order_of_the_signature(library: ModuleType) -> None:
    asked = ast.parse("def f(self, a, /, b=1, *, c, d=2, **e): pass").body[0]
    found = [
        (prefix + place.arg, library.code_of(default))
        for prefix, place, default in library.arguments_of(asked)
    ]
    assert found == [("a", ""), ("b", "1"), ("c", ""), ("d", "2"), ("**e", "")]


def test_a_comment_on_a_crowded_line_belongs_to_nobody(library: ModuleType) -> None:
    crowded = "def f(a: int, b: int) -> int:  # both\n    pass"
    rows = library.parameters_of(ast.parse(crowded).body[0], library.comments_by_line(crowded))
    assert [row.meaning for row in rows] == ["", "", ""]


def test_public_names_have_their_parameters_and_meanings(library: ModuleType) -> None:
    constant, function, point, method = library.public_symbols(SIGNATURES)
    assert function.rows == (
        ("k", "float", "", "number of target answers"),
        ("n", "int", "9", ""),
        ("*rest", "int", "", ""),
        ("level", "float", "LEVEL", ""),
        ("returns", "float", "", "lower limit"),
    )
    assert constant.summary == "coverage" and point.rows == (("x", "float", "0.0", "to the right"),)
    assert (method.name, method.rows[0].name) == ("Point.length", "scale")


def test_a_reference_shows_no_markup(library: ModuleType) -> None:
    function, layout = library.public_symbols(SIGNATURES)[1], Layout()
    assert "<code>float</code>" in layout.fill("reference.html", symbol=function)
    odd = function._replace(summary="<script>")
    assert "<script>" not in layout.fill("reference.html", symbol=odd)


# ---- notebooks


def test_directives_are_read(library: ModuleType) -> None:
    found = library.directives("#| export\n#|code-fold: true\nx = 1  #| not one")
    assert found == {"export": "", "code_fold": "true"}


def test_a_notebook_has_the_names_that_it_exports(library: ModuleType) -> None:
    cells = [
        {"cell_type": "code", "source": "#| default_exp a.b\n#| export\nX = 1"},
        {"cell_type": "code", "source": "Y = 2"},
    ]
    assert library.module_of(cells) == "cogbias.a.b"
    assert [symbol.name for symbol in library.symbols_of(Path("a"), cells)] == ["X"]
    broken = [{"cell_type": "code", "source": "#| export\nx ="}]
    with pytest.raises(CogbiasError, match="a.ipynb: an exported cell is not Python"):
        library.symbols_of(Path("a.ipynb"), broken)


def test_every_notebook_but_templates_and_the_front_page_is_one(
    library: ModuleType, pages: list
) -> None:
    names = {page.docname for page in pages}
    assert "00_tables" in names and "site/02_pages" in names
    assert "index" not in names and not any(name.startswith("reports/") for name in names)
    assert all(page.title for page in pages)
    tables = next(page for page in pages if page.module == "cogbias.tables")
    classes = [symbol.name for symbol in tables.symbols if symbol.kind == "class"]
    assert classes[:2] == ["CogbiasError", "Column"]
    with pytest.raises(CogbiasError, match="holds no notebooks"):
        library.notebook_pages(Path("no/such/folder"))


# ---- links


def test_a_name_is_linked_where_it_is_clear_what_it_means(library: ModuleType, pages: list) -> None:
    names = library.Names(pages)
    source = "See `item_table`, `cogbias.frames`, `items` and `os`.\n```\n`item_table`\n```"
    linked = library.link_names(source, names, "cogbias.site.pages")
    first, *block = linked.split("\n")
    assert re.search(r"\[`item_table`\]\(#function-cogbias\.[\w.]+\.item_table\)", first)
    assert "[`cogbias.frames`](/03_frames.ipynb)" in first and "`items` and `os`" in first
    assert block == ["```", "`item_table`", "```"]
    kept = "# `item_table`\n[`item_table`](x) ``a `item_table` b``"
    assert library.link_names(kept, names, "") == kept
    home = names.target("items", "cogbias.paradigms.choice.certainty")
    assert home.endswith("choice.certainty.items")
    assert names.target("items", "cogbias.site.pages") is None  # every paradigm has it


# ---- cells


def code_cell(source: str) -> dict:
    "A code cell without outputs."
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}


def test_cells_are_hidden_folded_and_marked_by_their_directives(library: ModuleType) -> None:
    def tags(source: str) -> list[str]:
        return library.library_code(code_cell(source), "")["metadata"]["tags"]

    assert library.library_code(code_cell("#| hide\nx = 1"), "") is None
    assert tags("#| export\nimport os") == ["exported", "hide-input"]
    assert tags("#| echo: false\n1") == ["remove-input"]
    sources = ("import os\nfrom a import b", "x = 1", "!ls")
    assert [library.only_imports(source) for source in sources] == [True, False, False]


def test_a_page_names_its_module_and_ends_with_its_reference(
    library: ModuleType, pages: list, frames: tuple
) -> None:
    line = library.module_line(frames)[0]["source"]
    assert line == "Module `cogbias.frames` · [Reference](#reference)"
    assert library.module_line(frames._replace(module="")) == []
    staged = json.loads(library.library_page(frames, library.Names(pages), Layout()))
    sources = [cell["source"] for cell in staged["cells"]]
    assert not any(re.search(r"^#\|", source, re.M) for source in sources)
    assert sum("~~~{raw} html" in source for source in sources) == len(frames.symbols)


def test_code_of_a_page_of_findings_is_folded_and_none_is_lost(
    library: ModuleType, pages: list
) -> None:
    page = next(page for page in pages if page.docname == "published/pagliaro")
    staged = json.loads(library.library_page(page, library.Names(pages), Layout()))
    folded = [cell for cell in staged["cells"] if cell["cell_type"] == "code"]
    assert all("hide-input" in cell["metadata"]["tags"] for cell in folded)
    alone = [library.library_code(cell, "") for cell in page.cells if cell["cell_type"] == "code"]
    alone = [cell for cell in alone if cell]
    assert "\n\n\n".join(cell["source"] for cell in folded) == "\n\n\n".join(
        cell["source"] for cell in alone
    )
    shown, expected = (sum(len(cell["outputs"]) for cell in each) for each in (folded, alone))
    assert shown == expected > 0


def test_neighbours_share_a_fold_unless_both_show_something(library: ModuleType) -> None:
    def code(source: str, shows: bool) -> dict:
        outputs = [source] if shows else []
        return dict(cell_type="code", source=source, outputs=outputs, metadata={"tags": []})

    cells: list[dict] = []
    for name, shows in (("a", False), ("b", True), ("c", False), ("d", True)):
        library.add_folded(cells, code(name, shows))
    assert [cell["source"].split() for cell in cells] == [["a", "b", "c"], ["d"]]
    assert [cell["outputs"] for cell in cells] == [["b"], ["d"]]


# ---- sections


def test_sections_stand_in_the_order_of_the_site(library: ModuleType, frames: tuple) -> None:
    def named(*names: str) -> list:
        return [frames._replace(docname=name) for name in names]

    sections = library.sections_of(named("paradigms/logic/a", "own_ideas/b", "01_x"))
    assert [section.title for section, _ in sections] == ["Library", "Paradigms", "Own ideas"]
    groups = library.pages_by_suite(
        named("paradigms/own/a", "paradigms/bets/a", "paradigms/choice/a")
    )
    assert [group["title"] for group in groups] == ["Choice", "Bets", "Own"]


def test_every_folder_of_notebooks_has_a_section_with_a_sentence(
    library: ModuleType, pages: list
) -> None:
    sections = [section for section, _ in library.sections_of(pages)]
    assert set(sections) == set(library.SECTIONS)  # none is unknown, none is empty
    assert all(section.lead.endswith(".") for section in sections)


def test_tutorials_stand_in_the_order_in_which_they_are_read(
    library: ModuleType, pages: list
) -> None:
    ((section, mine),) = (
        each for each in library.sections_of(pages) if each[0].title == "Tutorials"
    )
    assert mine[0].docname == "tutorials/first_steps"
    assert [page.docname for page in mine] == [f"tutorials/{name}" for name in section.order]


@pytest.mark.slow
def test_all_pages_are_staged(library: ModuleType, tmp_path: Path) -> None:
    sections = library.stage_library(repository_notebooks(), tmp_path, Layout())
    assert [section.title for section in sections][:2] == ["Library", "Paradigms"]
    assert "[The certainty effect](/paradigms/choice/certainty.ipynb)" in (
        tmp_path / "paradigms" / "index.md"
    ).read_text(encoding="utf-8")


# ---- an installed package


def test_an_installed_package_says_that_it_makes_no_library_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "It has neither the notebooks nor the glue, and folders beside it belong to others."
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "library.py").write_text("raise SystemExit('of somebody else')")
    monkeypatch.setattr(site, "PACKAGE", tmp_path / "cogbias")
    assert repository_notebooks() is None
    with pytest.raises(CogbiasError, match="in a clone of its repository; leave `notebooks` out"):
        library_pages()


def test_notebooks_that_are_given_are_not_left_out_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sphinx")
    place = tmp_path / "outputs" / "reports" / "sim-human"
    place.mkdir(parents=True)
    (place / "choice-certainty.ipynb").write_text('{"cells": [], "metadata": {}}')
    monkeypatch.setattr(site, "PACKAGE", tmp_path / "cogbias")
    with pytest.raises(CogbiasError, match="leave `notebooks` out"):
        build_site(tmp_path / "outputs", notebooks=tmp_path)
