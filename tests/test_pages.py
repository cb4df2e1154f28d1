"""One voice: what the pages of a site say of an effect, compared with each other and the table.

The first page, the results, the pages of participants and paradigms, the reports and the report on
the
study are read as a reader sees them. All must show the number, interval, verdict and look that
`cogbias.claims` decides from the stored effects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cogbias.claims import Claim, claim
from cogbias.tables import EFFECTS, load_table
from cogbias.site.results import paradigm_title
from cogbias.stats.decisions import OTHER_VERDICTS, VERDICTS
from cogbias.trials import slug

soup = pytest.importorskip("bs4", reason="beautifulsoup4 is not installed")
MEANINGS = VERDICTS | OTHER_VERDICTS
JARGON = (
    "degenerate",
    "zero variance",
    "no spread",
    "lower bound in size",
    "†",
    "position dominated",
)


def text(node: Any) -> str:
    "What a reader sees, on one line."
    return re.sub(r"\s+", " ", node.get_text(" ")).strip()


def page(site: Path, name: str) -> Any:
    "A page of a site."
    return soup.BeautifulSoup((site / name).read_text(encoding="utf-8"), "html.parser").article


def headlines(site: Path) -> Iterator[tuple[dict[str, Any], Claim]]:
    "Every headline of the stored table, with what may be said of it."
    effects = load_table(site.parent / "effects.parquet", EFFECTS)
    for row in effects[effects["verdict"].notna()].to_dict("records"):
        yield row, claim(row)


def place(first: str, second: str) -> frozenset[str]:
    "Where a cell stands, whichever of participant and paradigm has the rows."
    return frozenset(name.replace(" ", "") for name in (first, second))


def matrix_cells(node: Any) -> dict[frozenset[str], tuple[str, str]]:
    "Text and look of every cell of the tables at a glance, by paradigm title and participant."
    cells = {}
    for table in node.find_all("table", class_="matrix"):
        heads = [text(head.find("a")) for head in table.thead.find_all("th")[1:]]
        for line in table.select("tbody tr:not(.group)"):
            for head, cell in zip(heads, line.find_all("td")):
                look = " ".join(cell.get("class", []))
                cells[place(text(line.th.find("a")), head)] = (text(cell), look)
    return cells


def test_the_tables_at_a_glance_agree(site: Path) -> None:
    first, results = (
        matrix_cells(page(site, name)) for name in ("index.html", "results/index.html")
    )
    assert first == results
    for row, said in headlines(site):
        shown = first[place(paradigm_title(row["paradigm"]), row["participant"])]
        assert shown == (f"{said.number} {said.word}", said.look), (
            row["participant"],
            row["paradigm"],
        )


def forest_rows(node: Any) -> set[tuple[str, str, str]]:
    "Estimate, interval, and verdict with its reason, of every row of the tables of effects."
    found = set()
    for line in node.select("table.forest tbody tr:not(.group)"):
        words = line.th.find("span", class_="verdict")
        if words is None:
            continue
        number, limits = line.find_all("td")[:2]
        found.add((text(number), text(limits), text(words.parent)))
    return found


def test_the_tables_of_effects_agree(site: Path) -> None:
    for row, said in headlines(site):
        want = (said.number, said.interval, f"{said.word} : {said.reason}")
        who, what = slug(row["participant"]), slug(row["paradigm"])
        for name in (
            "results/index.html",
            f"results/participants/{who}/index.html",
            f"results/paradigms/{what}.html",
        ):
            assert want in forest_rows(page(site, name)), (name, want)


def test_reports_say_the_same(site: Path) -> None:
    for row, said in headlines(site):
        name = f"results/participants/{slug(row['participant'])}/{slug(row['paradigm'])}.html"
        shown = page(site, name)
        opening = text(shown)[:3000]
        assert said.text in opening, (name, said.text)
        assert f"{said.word} : {MEANINGS[said.verdict]}" in opening, name
        assert said.reason in opening and said.bound in opening, name
        if said.p:
            assert said.p[1:] in opening, name  # it begins a sentence there
        table = next(
            each for each in shown.find_all("table") if "p, unadjusted" in text(each.thead)
        )
        assert said.text in text(table.tbody.tr), name


def test_a_report_counts_the_answers_behind_its_headline(site: Path) -> None:
    for row, _ in headlines(site):
        name = f"results/participants/{slug(row['participant'])}/{slug(row['paradigm'])}.html"
        shown = text(page(site, name))
        of_all = f"rests on all {row['n_trials']:,} answers"
        about = f"is about all {row['n_trials']:,} answers"
        none = f"None of the {row['n_trials']:,} answers of this cell could be read"
        told = (of_all, about, f"rests on {row['n_trials']:,} of the", none)
        assert any(each in shown for each in told), name
        assert (none in shown) == (row["n_valid"] == 0), name


def verdict_cells(node: Any) -> dict[frozenset[str], tuple[str, str]]:
    "Cell and paradigm, as said in the report on the study, by paradigm and participant."
    cells = {}
    for table in node.find_all("table"):
        heads = [text(each) for each in table.thead.find_all("th")]
        if heads[0] not in ("paradigm", "participant"):
            continue
        for line in table.select("tbody tr"):
            name, *shown = [text(cell) for cell in line.find_all("td")]
            for head, cell in zip(heads[1:], shown):
                where = place(name.partition(" ")[0], head.partition(" ")[0])
                paradigm = name if heads[0] == "paradigm" else head
                cells.setdefault(where, (cell, paradigm))
    return cells


def test_the_report_on_the_study_says_the_same(site: Path) -> None:
    shown = page(site, "results/study.html")
    cells = verdict_cells(shown)
    for row, said in headlines(site):
        cell, paradigm = cells[place(row["paradigm"], row["participant"])]
        assert cell.startswith(f"{said.word}: {said.text}"), cell
        assert said.reason in text(shown) or said.verdict not in ("none", "inconclusive")
        assert said.bound in paradigm
    assert "tested headline" in text(shown) and "may change a verdict" in text(shown)


def test_words_are_explained_where_they_stand_and_nothing_hides_in_a_hover(site: Path) -> None:
    used = {said.verdict for _, said in headlines(site)}
    names = ["index.html", "results/index.html", "results/study.html"]
    names += [str(each.relative_to(site)) for each in site.glob("results/p*/**/*.html")]
    for name in names:
        shown = page(site, name)
        seen = text(shown)
        assert not [word for word in JARGON if word in seen.split(" Provenance ")[0]], name
        assert not shown.select("table [title]"), name
        if shown.select("table.matrix, table.forest"):
            assert all(MEANINGS[each] in seen for each in used), name


def test_unreadable_answers_are_said_where_it_says_what_did_not_work(site: Path) -> None:
    "A study in which answers could not be read does not say that all was answered."
    shown = text(page(site, "results/study.html")).partition(" What did not work ")[2]
    unread = {row["participant"] for row, _ in headlines(site) if row["n_valid"] < row["n_trials"]}
    assert shown and ("Everything that was asked" in shown) <= (not unread)
    for name in unread:  # with what stands beside the name
        spaced = re.escape(name).replace("/", " ?/ ?")
        assert re.search(rf"{spaced}( \([^)]+\))?: ", shown), name


def test_a_legend_explains_only_what_is_there(site: Path) -> None:
    front = page(site, "index.html")
    missing = any(text(cell) == "·" for cell in front.select(".matrix td"))
    assert ("not asked" in text(front)) == missing


def test_colour_is_for_claims_and_not_for_size(site: Path) -> None:
    looks = {look for _, look in matrix_cells(page(site, "index.html")).values()}
    assert looks <= {"claimed towards", "claimed against", "settled", "open", "unsaid"}
    assert "--shade" not in (site / "index.html").read_text(encoding="utf-8")


def test_order_consistency_has_an_interval(site: Path) -> None:
    effects = load_table(site.parent / "effects.parquet", EFFECTS)
    rows = effects[effects["measure"].isin(["order_consistency", "position_locked"])]
    rows = rows[rows["estimate"].notna()]
    assert len(rows) and rows["ci_low"].notna().all()
    assert rows["estimate"].between(rows["ci_low"] - 1e-9, rows["ci_high"] + 1e-9).all()


def test_a_cell_that_is_added_may_change_a_verdict_and_every_page_says_so(tmp_path: Path) -> None:
    from cogbias.effects import decide
    from cogbias.site.results import Results, matrix
    from cogbias.reporting.study import verdict_notes

    columns = {name: None for name in EFFECTS.names}
    row = columns | {
        "paradigm": "choice/certainty",
        "participant": "sim/human",
        "measure": "certainty_effect",
        "group": "all",
        "estimate": 0.3,
        "se": 0.1,
        "df": 9.0,
        "ci_low": 0.08,
        "ci_high": 0.52,
        "ci_level": 0.95,
        "p_value": 0.03,
        "method": "t",
        "target": "S",
        "n_items": 6,
        "n_trials": 6,
        "n_valid": 6,
        "n_clusters": 10,
        "unit": "probability",
        "status": "ok",
        "replication": False,
    }
    alone = decide(pd.DataFrame([row]))
    assert claim(alone.iloc[0]).verdict == "present"
    both = pd.DataFrame([row, row | {"participant": "sim/messy", "p_value": 0.6}])
    grown = decide(both, before=alone)
    assert 'it was "present" in a family of 1 tested headline' in claim(grown.iloc[0]).reason
    assert "Changed since cells were added" in verdict_notes(grown)
    (tmp_path / "reports" / "sim-human").mkdir(parents=True)
    notebook = '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}'
    (tmp_path / "reports" / "sim-human" / "choice-certainty.ipynb").write_text(notebook)
    from cogbias.tables import save_table

    save_table(grown, tmp_path / "effects.parquet")
    assert "inconclusive" in matrix(Results(tmp_path))["changed"][0]
