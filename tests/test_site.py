"""The site of a folder: every page says what the claims say, and nothing of a stranger can act.

The first page, the pages of participants and paradigms, the reports and the report on the study are
read as a reader sees them, and compared with the stored effects.
"""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import nbformat
import pandas as pd
import pytest
import yaml
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

from cogbias.compare import compare
from cogbias.reporting.claims import claim, signed
from cogbias.folder import Folder, report_file, requests, trials
from cogbias.reporting.markup import clean_html, markdown_html
from cogbias.running.rendering import render_reports
from cogbias.running.in_python import run
from cogbias.site.pages import FILES, build_site
from cogbias.site.results import paradigm_title
from cogbias.tables import EFFECTS, CogbiasError, load_table

soup = pytest.importorskip("bs4", reason="beautifulsoup4 is not installed")


def text(node):
    "What a reader sees, on one line."
    return re.sub(r"\s+", " ", node.get_text(" ")).strip()


def page(site, name):
    "The main part of a page."
    return soup.BeautifulSoup((site / name).read_text(encoding="utf-8"), "html.parser").main


def headlines(site):
    "Every headline, what may be said of it, and the pages of participant and paradigm."
    effects = load_table(site.parent / "effects.parquet", EFFECTS)
    for row in effects[effects["verdict"].notna()].to_dict("records"):
        file = Path(report_file(row["participant"], row["paradigm"]))
        yield row, claim(row), file.parts[1], file.stem


def matrix_cells(node):
    "Text and look of every cell of the tables at a glance, by paradigm title and participant."
    cells = {}
    for table in node.find_all("table", class_="matrix"):
        heads = [text(head.find("a") or head) for head in table.thead.find_all("th")]
        for line in table.select("tbody tr:not(.group)"):
            for head, cell in zip(heads, line.find_all("td")):
                where = frozenset(n.replace(" ", "") for n in (text(line.th.find("a")), head))
                looks = [look for look in cell.get("class", []) if look != "simulated"]
                cells[where] = (text(cell), " ".join(looks))
    return cells


def forest_rows(node):
    "Estimate and interval of every row of the tables of effects."
    rows = node.select("table.forest tbody tr:not(.group)")
    return {tuple(text(each) for each in row.find_all("td")[:2]) for row in rows}


def test_all_pages_say_what_the_claims_say(site):
    glance, study = matrix_cells(page(site, "index.html")), text(page(site, "results/study.html"))
    for row, said, who, what in headlines(site):
        names = paradigm_title(row["paradigm"]), row["participant"]
        shown, look = glance[frozenset(name.replace(" ", "") for name in names)]
        assert shown.startswith(f"{said.number} {said.word}") and look == said.look
        for name in ("index", f"participants/{who}/index", f"paradigms/{what}"):
            assert (said.number, said.interval) in forest_rows(page(site, f"results/{name}.html"))
        report = text(page(site, f"results/participants/{who}/{what}.html"))
        assert said.text in report[:3000] and said.reason in report
        assert f"{said.word}: {said.text}" in study
    assert "sim/ human" in text(page(site, "answers.html"))


def test_two_participants_are_compared_as_the_command_does(site):
    pages = [each for each in (site / "results" / "compared").rglob("*.csv")]
    pages = [each for each in pages if "people-as-published" not in each.name]
    table = pd.read_csv(pages[0])
    found = compare(site.parent, table["first"][0], table["second"][0]).differences
    made = soup.BeautifulSoup(pages[0].with_suffix(".html").read_text(), "html.parser").main
    rows = made.select("table.forest tbody tr:not(.group)")
    assert len(rows) == len(found) == len(table)
    shown = {(text(row.find("a")), text(row.select_one("td.estimate"))) for row in rows}
    known = found.to_dict("records")
    assert shown == {(paradigm_title(row["paradigm"]), signed(row["estimate"], 2)) for row in known}
    assert {row["larger"] for row in known} == {*table["larger"]}


def test_what_others_show_beside_a_link(site, hostile):
    for place, shown in ((site, False), (hostile, True)):
        for name in ("index.html", "compare.html"):
            made = soup.BeautifulSoup((place / name).read_text(encoding="utf-8"), "html.parser")
            said = {each["property"]: each["content"] for each in made.select("meta[property]")}
            assert said["og:title"] and said["og:description"] and ("og:image" in said) is shown
    assert (hostile / "static" / "overview.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(CogbiasError, match="give the full address"):
        build_site(site.parent, address="example.org")


def test_a_study_and_its_sources_can_be_cited(site, hostile):
    listed = (site / "references.bib").read_text(encoding="utf-8")
    for place, address in ((site, None), (hostile, "https://example.org/a%20site/")):
        cited = yaml.safe_load((place / "CITATION.cff").read_text(encoding="utf-8"))
        assert {"cff-version", "message", "title", "authors", "date-released"} <= {*cited}
        assert cited.get("url") == address and cited["title"] in text(page(place, "methods.html"))
    for each in (site / "results" / "paradigms").glob("*.html"):
        shown = page(site, f"results/paradigms/{each.name}").find("pre").get_text()
        assert shown.startswith("@") and all(entry in listed for entry in shown.split("\n\n"))


def test_every_link_leads_to_a_page(site):
    for path in site.rglob("*.html"):
        made = soup.BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for tag, name in (("a", "href"), ("link", "href"), ("script", "src"), ("img", "src")):
            for each in made.find_all(tag):
                address = each.get(name, "").partition("#")[0]
                if address and not re.match(r"[a-z]+:", address):
                    assert (path.parent / address).is_file(), (path, address)


def test_the_same_folder_gives_the_same_site(site, tmp_path):
    first = build_site(site.parent, tmp_path / "again").parent
    names = sorted(each.relative_to(first) for each in first.rglob("*") if each.is_file())
    assert names and all((first / n).read_bytes() == (site / n).read_bytes() for n in names)
    listed = (first / FILES).read_text().splitlines()
    (first / "results" / "old.html").write_text("old")
    (first / "CNAME").write_text("mine")
    (first / FILES).write_text("\n".join([*listed, "results/old.html"]))
    build_site(site.parent, first)
    assert not (first / "results" / "old.html").exists() and (first / "CNAME").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(CogbiasError, match="choose an empty folder"):
        build_site(site.parent, tmp_path / "other")


def test_every_answer_is_shown_once(site):
    shown = {(each["paradigm"], each["participant"]): each for each in cells_of(site)}
    with Folder(site.parent) as folder:
        for asked in requests(folder):
            cell, table = shown.pop((asked.paradigm, asked.participant)), trials(folder, [asked])
            found, texts = shard(site, f"cell-{cell['cell']}"), shard(site, f"texts-{cell['cell']}")
            assert sum(found["asked"]) == len(table)
            assert sum(found["readable"]) == (table["status"] == "ok").sum()
            told = [said for each in texts["texts"] for said in each["said"]]
            assert sum(each["times"] for each in told) == len(table)
            assert {each["response"] for each in told if "response" in each} == {
                *table["response"].dropna()
            }
    assert not shown


# ---- strangers


def stranger(secret):
    "A report whose every part tries something."
    html = [{"text/html": each} for each in html_payloads()]
    html += [{"text/markdown": each} for each in markdown_payloads(secret)]
    html += [{"image/svg+xml": f"<svg onload='{ACT}'>{SCRIPT}</svg>"}]
    html += [{"application/javascript": ACT}, {"image/png": f'"{IMG}'}]
    outputs = [nbformat.v4.new_output("display_data", data=each) for each in html]
    outputs += [nbformat.v4.new_output("stream", text=each) for each in NAMES]
    outputs += [nbformat.v4.new_output("error", ename=each, evalue=each) for each in NAMES]
    cells = [nbformat.v4.new_markdown_cell(each) for each in markdown_payloads(secret)]
    cells += [nbformat.v4.new_code_cell(SCRIPT, outputs=outputs)]
    return nbformat.v4.new_notebook(cells=cells)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    "The site of a stranger's folder."
    place = tmp_path_factory.mktemp("strangers")
    outputs, secret = place / "outputs", place / "private.txt"
    secret.write_text(SENTINEL)
    for name in NAMES[2:4]:
        asked = {"where": {"variant": "base"}, "outputs": outputs, "progress": False}
        said = f"{name}\n\nMy answer: A"  # so that there is something to compare
        run(lambda prompt, said=said: said, "classic/framing", name=name, reports=False, **asked)
    failed, written = render_reports(outputs)
    assert failed == [] and len(written) == 3
    nbformat.write(stranger(secret), written[1])
    nbformat.write(stranger(secret), outputs / "reports" / "study.ipynb")
    return build_site(outputs, address="https://example.org/a site/").parent


def shard(site, name):
    "Data that a page of answers loads."
    call = (site / "answers" / f"{name}.js").read_text(encoding="ascii")
    assert call.startswith(f'cogbias("{name}", ') and call.endswith(");\n")
    return json.loads(call.removeprefix(f'cogbias("{name}", ').removesuffix(");\n"))


def cells_of(site):
    "The cells whose answers a site shows."
    return shard(site, "index")


def test_nothing_on_the_site_could_act(hostile):
    pages = {path: path.read_text(encoding="utf-8") for path in hostile.rglob("*.html")}
    assert len(pages) > 12
    assert {path: found for path, each in pages.items() if (found := what_could_act(each))} == {}
    for each in pages.values():
        (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', each)
        assert "default-src 'none'; script-src 'self' file:;" in policy
    for path in hostile.rglob("*"):
        if path.is_file():
            assert SENTINEL.encode() not in path.read_bytes()
    assert ACT not in unescape((hostile / "static" / "mark.svg").read_text())


@pytest.mark.skipif(browser() is None, reason="no Chromium here")
def test_nothing_acts_in_a_browser(hostile):
    compared = sorted((hostile / "results" / "compared").rglob("*.html"))
    for page in (hostile / "index.html", hostile / "results" / "study.html", compared[0]):
        dom, said = seen_by_a_browser(f"file://{page}")
        assert "data-acted" not in dom.split(">", 3)[1] and "Content Security Policy" not in said
    dom, _ = seen_by_a_browser(f"file://{hostile / 'search.html'}?q=framing")
    assert "pages found" in dom and "data-acted" not in dom.split(">", 3)[1]
    for cell in cells_of(hostile):
        place = urlencode({name: cell[name] for name in ("paradigm", "participant")})
        items = shard(hostile, f"items-{cell['list']}")
        address = f"file://{hostile / 'answers.html'}#{place}&item={items['id'][0]}"
        dom, said = seen_by_a_browser(address)
        assert "data-acted" not in dom.split(">", 3)[1] and "Content Security Policy" not in said
        assert 'class="cards"' in dom
    pierced = hostile / "pierced.html"
    source = (hostile / "index.html").read_text(encoding="utf-8")
    pierced.write_text(source.replace("</main>", f"{SCRIPT}{IMG}</main>"), encoding="utf-8")
    assert "data-acted" not in seen_by_a_browser(f"file://{pierced}")[0].split(">", 3)[1]


def test_a_report_holds_no_markup_of_strangers(hostile):
    for path in hostile.parent.glob("reports/[!s]*/*.ipynb"):
        for cell in nbformat.read(path, 4).cells:
            for output in cell.get("outputs", []):
                if "text/html" in (data := output.get("data", {})) and SCRIPT not in cell.source:
                    assert what_could_act(data["text/html"]) == []


@pytest.mark.slow
def test_nothing_acts_after_nbconvert(hostile, tmp_path):
    report = sorted(hostile.parent.glob("reports/*--*/*.ipynb"))[0]  # the other is a stranger's
    command = ["-m", "nbconvert", "--to", "html", str(report), "--output-dir", str(tmp_path)]
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    body = next(tmp_path.glob("*.html")).read_text(encoding="utf-8").partition("<body")[2]
    assert not [each for each in what_could_act(body) if "acted" in each or "onerror" in each]


@given(some.text(alphabet="<>/!-'\"=&;:#ascriptonermghtyl \n`~${}\\[]()*_|", max_size=120))
@settings(max_examples=100, deadline=None)
def test_cleaned_html_stays_clean(source):
    for made in (clean_html(source), markdown_html(source)):
        assert clean_html(made) == made and what_could_act(made) == []
