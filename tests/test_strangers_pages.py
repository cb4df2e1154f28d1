"Other people's text: nothing in a report, a notebook as HTML or the site may act, or read a file."

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from html import unescape
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from doubles import Double
from hostile import (
    ACT,
    IMG,
    NAMES,
    SCRIPT,
    SENTINEL,
    browser,
    html_payloads,
    markdown_payloads,
    seen_by_a_browser,
    what_could_act,
)
from hypothesis import given, settings
from hypothesis import strategies as some
from test_site import NOTEBOOK, PIXEL, code, effect, markdown, shown, write_report

import cogbias.site.pages as site
from cogbias.tables import EFFECTS, CogbiasError, save_table
from cogbias.markup import NO_FORMULAS, clean_html, markdown_html, markdown_parts
from cogbias.site import inert
from cogbias.site.inert import markdown_text
from cogbias.outputs import Folder
from cogbias.rendering import render_reports
from cogbias.running import run_study
from cogbias.study import make_study

for needed in ("sphinx", "myst_nb", "pydata_sphinx_theme", "latex2mathml"):
    pytest.importorskip(needed)


def error(words: str) -> dict:
    "An output of a cell that failed."
    return {"output_type": "error", "ename": words, "evalue": words, "traceback": [words]}


def stranger(secret: Path) -> list[dict]:
    "A report whose every part tries something."
    page = [
        markdown("# Report\n\nFine."),
        *(markdown(each) for each in markdown_payloads(secret)),
        *(code("html()", shown(text_html=each)) for each in html_payloads()),
        *(code("md()", shown(text_markdown=each)) for each in markdown_payloads(secret)),
        *(code(each, {"output_type": "stream", "name": "stdout", "text": each}) for each in NAMES),
        *(code("error()", error(each)) for each in NAMES),
        code(
            "svg()", {**shown(), "data": {"image/svg+xml": f"<svg onload='{ACT}'>{SCRIPT}</svg>"}}
        ),
        code("latex()", shown(text_latex=f"$\\href{{javascript:{ACT}}}{{x}}$")),
        code("js()", {**shown(), "data": {"application/javascript": ACT}}),
        code("png()", shown(image_png="bm90IGEgcGljdHVyZQ==")),
        code("png()", shown(image_png=PIXEL)),
    ]
    page[-1]["metadata"] = {"tags": ["x", f'"><b {IMG}'], "mystnb": {"image": {"alt": IMG}}}
    for number, cell in enumerate(page):
        cell["id"] = f"cell-{number}"
    return page


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    "The site of a stranger's folder, and what was said while it was built."
    folder = tmp_path_factory.mktemp("strangers")
    secret, outputs = folder / "private.txt", folder / "outputs"
    secret.write_text(SENTINEL)
    rows = []
    for name in NAMES:
        write_report(
            outputs, f"ollama/{name}", "choice/certainty", [markdown(f"# {name}\n\n{name}")]
        )
        rows.append(effect(f"ollama/{name}", unit=name, detail=name))
        rows.append(effect(f"ollama/{name}", measure="certainty_score", replication=True))
        rows.append(effect(f"ollama/{name}", paradigm=f"other/{name}", measure=name, unit=name))
    write_report(outputs, "ollama/hostile", "choice/certainty", stranger(secret))
    write_report(outputs, "ollama/hostile", f"other/{IMG}", stranger(secret))
    (outputs / "reports" / "study.ipynb").write_text(
        json.dumps({**NOTEBOOK, "cells": stranger(secret)}), encoding="utf-8"
    )
    save_table(pd.DataFrame(rows)[EFFECTS.names], outputs / "effects.parquet")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        first = site.build_site(outputs, out=folder / "site", notebooks=_no_notebooks(folder))
    return first.parent, [str(each.message) for each in said]


def _no_notebooks(folder: Path) -> Path:
    "A library of one page, so that the test does not build the whole."
    (folder / "nbs").mkdir()
    (folder / "nbs" / "00_own.ipynb").write_text(
        json.dumps({**NOTEBOOK, "cells": [markdown("# Own\n\n> Ours.\n\n$\\frac{a}{b}$")]})
    )
    return folder / "nbs"


def pages_of(folder: Path) -> dict[str, str]:
    "The pages of a site."
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.relative_to(folder).parts
    }


HOSTILE = "results/participants/ollama-hostile/choice-certainty.html"


def test_there_are_payloads_of_many_kinds() -> None:
    payloads = {*markdown_payloads(Path("x")), *html_payloads(), *NAMES}
    assert len(payloads) > 110


def test_nothing_on_the_site_could_act(built: tuple[Path, list[str]]) -> None:
    pages = pages_of(built[0])
    own = {each.strip() for each in inert._theme_scripts(built[0])}
    found = {name: what_could_act(page, own) for name, page in pages.items()}
    assert {name: each for name, each in found.items() if each} == {}
    assert len(pages) > 25 and HOSTILE in pages and "results/study.html" in pages


def test_no_page_shows_its_own_source(built: tuple[Path, list[str]]) -> None:
    "Where a block of HTML does not end, the Markdown behind it, and the names in it, become HTML."
    for name, page in pages_of(built[0]).items():
        assert "](/results" not in page, name


def test_no_file_is_read_into_a_page(built: tuple[Path, list[str]]) -> None:
    found = [
        path
        for path in built[0].rglob("*")
        if path.is_file() and SENTINEL.encode() in path.read_bytes()
    ]
    assert found == []


def test_no_file_of_the_site_is_a_script_of_a_stranger(built: tuple[Path, list[str]]) -> None:
    "An SVG of its own would run its script when somebody is led to it."
    assert not list((built[0] / "_images").glob("*.svg"))
    for path in built[0].rglob("*"):
        if path.is_file() and path.suffix in (".svg", ".js", ".xml"):
            assert ACT not in unescape(path.read_text(encoding="utf-8")) or path.name == (
                "searchindex.js"
            ), path


def test_what_was_meant_to_act_is_shown_as_text(built: tuple[Path, list[str]]) -> None:
    text = pages_of(built[0])[HOSTILE]
    assert text.count("&lt;script&gt;document.documentElement.dataset.acted=1&lt;/script&gt;") > 20
    assert "{include}" in text and "{raw} html" in text and "cannot be shown" in text


def test_a_broken_picture_names_its_page(built: tuple[Path, list[str]]) -> None:
    said = "\n".join(built[1])
    assert "results/study: 1 broken pictures are not shown" in said
    assert "results/participants/ollama-hostile/choice-certainty: 1 broken" in said
    assert inert.BROKEN in pages_of(built[0])[HOSTILE]
    assert len(list((built[0] / "_images").glob("*.png"))) == 1


def test_every_page_says_which_scripts_may_run(built: tuple[Path, list[str]]) -> None:
    for name, page in pages_of(built[0]).items():
        policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
        assert policy and policy.start() < page.index("<script"), name
        rules = dict(each.strip().split(" ", 1) for each in policy[1].split(";"))
        assert rules["default-src"] == rules["base-uri"] == "'none'"
        assert "unsafe" not in rules["script-src"] and "http" not in rules["script-src"]
        assert rules["script-src"].count("'sha256-") in (3, 4)


@pytest.mark.skipif(browser() is None, reason="no Chromium here")
@pytest.mark.parametrize(
    "page", [HOSTILE, "results/study.html", "results/index.html", "index.html"]
)
def test_nothing_acts_in_a_browser(built: tuple[Path, list[str]], page: str) -> None:
    dom, said = seen_by_a_browser(f"file://{built[0] / page}")
    assert 'data-theme="light"' in dom and "data-acted" not in dom.split(">", 3)[1]
    assert "Content Security Policy" not in said  # and the policy stops nothing of ours


@pytest.mark.skipif(browser() is None, reason="no Chromium here")
def test_the_policy_stops_what_would_get_through(built: tuple[Path, list[str]]) -> None:
    page = (built[0] / "index.html").read_text(encoding="utf-8")
    place = built[0].parent / "pierced.html"
    place.write_text(page.replace("</main>", f"{SCRIPT}{IMG}</main>"), encoding="utf-8")
    assert "data-acted" not in seen_by_a_browser(f"file://{place}")[0].split(">", 3)[1]
    bare = re.sub(r"<meta http-equiv=[^>]*>", "", place.read_text(encoding="utf-8"))
    place.write_text(bare, encoding="utf-8")
    assert "data-acted" in seen_by_a_browser(f"file://{place}")[0].split(">", 3)[1]


@pytest.mark.skipif(browser() is None, reason="no Chromium here")
def test_search_finds_headings_as_text(built: tuple[Path, list[str]]) -> None:
    dom, _ = seen_by_a_browser(f"file://{built[0] / 'search.html'}?q=heading")
    assert "Search Results" in dom and "data-acted" not in dom.split(">", 3)[1]


@given(some.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_a_name_is_literal_text_for_the_parser_of_the_pages(name: str) -> None:
    "The one way of outside text to the parser of directives: backslashes before every mark."
    from markdown_it.renderer import RendererHTML
    from myst_parser.config.main import MdParserConfig
    from myst_parser.parsers.mdit import create_md_parser

    extensions = {"amsmath", "colon_fence", "deflist", "dollarmath"}
    parser = create_md_parser(MdParserConfig(enable_extensions=extensions), RendererHTML)
    tokens = parser.parse(f"# {markdown_text(name)} end")
    assert [token.type for token in tokens][:3] == ["heading_open", "inline", "heading_close"]
    assert (
        "".join(each.content for each in tokens[1].children) == f"{inert.plain(name)} end".strip()
    )


@given(some.text(alphabet="<>/!-'\"=&;:#ascriptonermghtyl \n`~${}\\[]()*_|", max_size=120))
@settings(max_examples=166, deadline=None)
def test_cleaned_html_stays_clean(text: str) -> None:
    for made in (clean_html(text), markdown_html(text), *(p.content for p in markdown_parts(text))):
        assert clean_html(clean_html(made)) == clean_html(made)
        assert what_could_act(clean_html(made)) == []


# Reports of our own making, about a model whose name and answers are a stranger's.

MODEL = f"openai/{NAMES[0]}{NAMES[4]}`*_"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "The report on a model with such a name, which gave such answers."
    outputs = tmp_path_factory.mktemp("reported") / "outputs"
    with Double() as double:
        study = make_study(
            models=[MODEL],
            paradigms=["choice/certainty"],
            where={"template": [1], "design": ["common_ratio"]},
            participants={"openai/*": {"base_url": double.openai}},
        )
        cells = run_study(study, outputs, reports=False).cells
    store = Folder(outputs).store(cells[0]["participant"], "choice/certainty").path
    rows = [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()]
    for row, words in zip(rows, [*NAMES, *html_payloads()]):
        row |= {"status": "invalid_format", "choice": None, "role": None, "value": None}
        row |= {"response": words, "detail": words}
    store.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    failed, made = render_reports(outputs)
    assert failed == []
    return made[0]


def test_a_report_holds_no_markup_of_strangers(report: Path) -> None:
    cells = nbformat.read(report, 4).cells
    outputs = [each for cell in cells if cell.cell_type == "code" for each in cell.outputs]
    kinds = {kind for each in outputs for kind in each.get("data", {})}
    assert kinds <= {"text/html", "text/plain", "image/png"}  # no Markdown, which is read elsewhere
    made = [each["data"]["text/html"] for each in outputs if "text/html" in each.get("data", {})]
    assert len(made) > 8 and all(NO_FORMULAS in each[:80] for each in made)
    assert [what_could_act(each) for each in made] == [[] for _ in made]
    assert any("&lt;img src=x onerror" in each for each in made)
    title = next(cell.source for cell in cells if cell.cell_type == "markdown")
    assert "<img" not in title and "$" not in title and NO_FORMULAS in title


@pytest.mark.slow
def test_nothing_acts_after_nbconvert(report: Path, tmp_path: Path) -> None:
    command = ["-m", "nbconvert", "--to", "html", str(report), "--output-dir", str(tmp_path)]
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    page = next(tmp_path.glob("*.html"))
    text = page.read_text(encoding="utf-8")
    body = text[text.index("<body") :]
    assert not [each for each in what_could_act(body) if "acted" in each or "onerror" in each]
    assert ACT in unescape(body)  # it is there, to be read
    if browser():
        assert "data-acted" not in seen_by_a_browser(f"file://{page}")[0].split(">", 3)[1]


def test_a_damaged_notebook_is_named(tmp_path: Path) -> None:
    for number, cell in enumerate(
        [
            {"cell_type": "code", "source": "", "outputs": 1},
            {"cell_type": "code", "source": "", "outputs": [{"output_type": "stream"}]},
            {"cell_type": "code", "source": "", "outputs": [{"output_type": "x", "data": {}}]},
            {"cell_type": "code", "source": "", "metadata": {"tags": [{}]}, "outputs": []},
            {"cell_type": "markdown", "source": "", "metadata": []},
        ]
    ):
        outputs = tmp_path / str(number)
        write_report(outputs, "sim/human", "choice/certainty", [cell])
        with pytest.raises(
            CogbiasError, match=r"choice-certainty.ipynb: .*; run it again or delete"
        ):
            site.stage_site(outputs, outputs / "pages", None)


def test_templates_leave_no_markdown_to_whoever_shows_them() -> None:
    for path in sorted(Path(site.__file__).parents[2].joinpath("nbs", "reports").glob("*.ipynb")):
        for cell in nbformat.read(path, 4).cells:
            assert cell.cell_type == "markdown" or not re.search(r"\bMarkdown\b", cell.source), path
