"Who is simulated, made here or begun with one's own model is called so wherever numbers stand."

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from test_study_report import folder as simulated_folder  # noqa: F401
from test_trained_encoders import SMALLEST, TINY, own_start, self_made_start

from cogbias.cli import main
from cogbias.outputs import marks_of
from cogbias.rendering import render_study_report
from cogbias.running import run_study
from cogbias.site.pages import Layout, Results, stage_results
from cogbias.small_encoders import build_small
from cogbias.study import make_study
from cogbias.tables import EFFECTS, load_table, save_table
from cogbias.verification import verify_folder

MADE, OWN = "encoder/bert@coin", "encoder/roberta@coin"
SIMULATED = "sim/human"
BETS = {"orders": "published", "item_sets": ["published"], "splits": ["test"]}


def starts(folder: Path) -> dict[str, object]:
    "A BERT that was made here, and a RoBERTa of which nobody says who made it."
    training = self_made_start(folder)
    roberta = build_small("roberta", ["a car is dear"], folder / "other", ["a car"], SMALLEST)
    own_start(roberta)
    return training | {"start": training["start"] | {"roberta": str(roberta)}}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "Encoders with either kind of start beside simulated participants, asked and reported."
    place = tmp_path_factory.mktemp("marks")
    study = make_study(
        name="marks",
        models=[MADE, OWN, SIMULATED],
        paradigms=["bets/coin"],
        settings={"bets/*": BETS},
        training=TINY | starts(place),
    )
    assert run_study(study, place / "out").failed == []
    whole = replace(study, paradigms=["bets/value", "bets/coin"])
    assert run_study(whole, place / "out", reports=False).failed == []
    assert render_study_report(place / "out") == []
    return place / "out"


@pytest.fixture(scope="module")
def marks(out: Path) -> dict[str, str]:
    "Participant -> what has to stand beside its name."
    own = "own start, own scenes (24)"
    return {MADE: "small self-made model", OWN: own, SIMULATED: "simulated"}


def plain(text: str) -> str:
    "Text as a reader sees it."
    return html.unescape(re.sub(r"<br[^>]*>|</?(span|a|wbr)[^>]*>|[\u200b\u00ad]", "", text))


def rows_of(text: str) -> Iterator[list[str]]:
    "The cells of every row of the tables of a page."
    for row in re.findall(r"<tr[^>]*>(.*?)</tr>", text, re.S):
        yield [plain(each) for each in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S)]


def unmarked(text: str, marks: dict[str, str]) -> list[str]:
    "Cells of tables in which a participant stands without its mark."
    return [
        cell
        for row in rows_of(text)
        for cell in row
        for name, mark in marks.items()
        if re.search(rf"{re.escape(name)}(?![\w+]| ?\(?{re.escape(mark)})", cell)
    ]


def tables_of(report: Path) -> str:
    "All tables of a report, as HTML."
    cells = nbformat.read(report, 4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error"]
    return "\n".join(output.get("data", {}).get("text/html", "") for output in outputs)


def test_a_row_without_its_mark_is_found() -> None:
    marks = {MADE: "small self-made model", "sim/human": "simulated"}
    row = "<tr><td>{}</td><td>0.5</td></tr>"
    assert unmarked(row.format(f"{MADE} (small self-made model)"), marks) == []
    assert unmarked(row.format(f"{MADE}+dice"), marks) == []  # another participant
    for name in marks:
        assert unmarked(row.format(name), marks) == [name]
    both = row.format(f"sim/human (simulated) shows more: sim/human minus {MADE}")
    assert len(unmarked(both, marks)) == 2


@pytest.mark.slow
def test_everybody_has_the_mark_of_its_record(out: Path, marks: dict[str, str]) -> None:
    assert marks_of(out, marks) == marks


@pytest.mark.slow
def test_no_table_of_the_study_report_lacks_a_mark(out: Path, marks: dict[str, str]) -> None:
    tables = tables_of(out / "reports" / "study.ipynb")
    assert unmarked(tables, marks) == []
    shown = [cell for row in rows_of(tables) for cell in row]
    for name, mark in marks.items():
        assert f"{name} ({mark})" in shown
    architectures = {f"bert ({marks[MADE]})", f"roberta ({marks[OWN]})"}
    assert architectures <= set(shown)  # tables of the paper, built again
    assert not {"bert", "roberta"} & set(shown)


@pytest.mark.slow
def test_no_table_of_simulated_participants_lacks_a_mark(simulated_folder: Path) -> None:  # noqa: F811
    "Biases, on the common scale, at two temperatures: here models stand in tables, too."
    tables = tables_of(simulated_folder / "reports" / "study.ipynb")
    found = [
        cell
        for row in rows_of(tables)
        for cell in row
        if re.search(r"\bsim/\w+", cell) and "simulated" not in cell
    ]
    assert found == []
    assert sum("(simulated)" in cell for row in rows_of(tables) for cell in row) > 20


@pytest.mark.slow
def test_every_report_of_a_cell_has_the_mark_in_its_title(out: Path, marks: dict[str, str]) -> None:
    for report in (out / "reports").glob("*/*.ipynb"):
        title = nbformat.read(report, 4).cells[0].source
        (name,) = [name for name in marks if f"{plain(title).strip()} ".find(f": {name} ") > 0]
        assert f"{name} ({marks[name]})" in plain(title)
        assert unmarked(tables_of(report), {}) == []


@pytest.mark.slow
def test_no_page_of_the_site_lacks_a_mark(out: Path, marks: dict[str, str], tmp_path: Path) -> None:
    results = Results(out)
    stage_results(results, tmp_path, Layout())
    pages = [*tmp_path.glob("results/index.md"), *tmp_path.glob("results/paradigms/**/*.md")]
    assert len(pages) == 2
    for page in pages:
        text = page.read_text()
        assert unmarked(text, marks) == [], page
        for name, mark in marks.items():
            assert any(name in cell and mark in cell for row in rows_of(text) for cell in row)
    for name, mark in marks.items():
        (place,) = {each.participant_page for each in results.reports if each.participant == name}
        page = tmp_path / "results" / "participants" / place / "index.md"
        said = "A simulated participant" if mark == "simulated" else mark
        assert said in plain(page.read_text()).replace("\\", "")
    study = json.loads((tmp_path / "results" / "study.ipynb").read_text())
    assert unmarked(json.dumps(study, ensure_ascii=False), marks) == []


@pytest.mark.slow
def test_tables_of_effects_have_the_mark_in_every_row(out: Path, marks: dict[str, str]) -> None:
    for ending in ("csv", "parquet"):
        table = load_table(out / f"effects.{ending}", EFFECTS)
        named = [f"{name} ({marks[name]})" for name in table["participant"]]
        assert table["shown_name"].tolist() == named


@pytest.mark.slow
@pytest.mark.parametrize("command", ["effects", "compare", "status"])
def test_commands_say_the_mark_in_every_line_and_row(
    command: str, out: Path, marks: dict[str, str], capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit):
        main([command, str(out)])
    lines = capsys.readouterr().out.splitlines()
    named = [line for line in lines for name in marks if re.search(rf"{name}(?![\w+])", line)]
    assert len(named) >= len(marks)
    cells = "".join(f"<tr><td>{line}</td></tr>" for line in named)
    assert unmarked(cells, marks) == []
    with pytest.raises(SystemExit):
        main([command, str(out), "--json"])
    told = json.loads(capsys.readouterr().out)
    if command == "status":
        assert told["marks"] == marks
        return
    rows = told if isinstance(told, list) else told["ranks"] + told["differences"]
    for row in rows:
        for column, shown in (("participant", "shown_name"), ("first", "first_shown_name")):
            if column in row:
                assert row[shown] == f"{row[column]} ({marks[row[column]]})"


@pytest.mark.slow
def test_a_folder_of_before_that_marked_small_models_only_follows(out: Path) -> None:
    "Its tables are right as they are; a row that lost the mark of a small model is told."
    place = out / "effects.parquet"
    table = load_table(place, EFFECTS)
    small = table["shown_name"].str.contains("small self-made", regex=False)
    before = table.assign(shown_name=table["shown_name"].where(small, None))
    for file in (place, out / "effects.csv"):
        save_table(before, file)
    assert verify_folder(out).follows
    lost = before.assign(shown_name=before["shown_name"].mask(before.index == small.idxmax(), None))
    save_table(lost, place)
    (found,) = verify_folder(out).differences
    assert (found.participant, found.column) == (MADE, "shown_name")
