"The published answers of Pagliaro (2026): both readings, every row of the published table."

import json
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from tiers import slow_but
from typer.testing import CliRunner

from cogbias.cli import app
from cogbias.design import paradigm, paradigms
from cogbias.effects import effect_rows, effects_table
from cogbias.effects.published import INDEX_COLUMNS, SUSCEPTIBILITY
from cogbias.exchange.answers import keep_imported, part_of
from cogbias.exchange import import_answers
from cogbias.exchange.published_answers import read_published
from cogbias.folder import Folder, items, readings, requests, trials
from cogbias.running.rendering import render_reports
from cogbias.tables import CogbiasError, shipped

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE / "docs"))
import pagliaro  # noqa: E402
from pagliaro import BASELINE, BIASES  # noqa: E402

ARCHIVE = HERE.parent / "shared" / "data" / "published_answers" / "pagliaro_2026.tar.gz"
needs_texts = pytest.mark.skipif(not ARCHIVE.exists(), reason="the published answers are not here")
FACTS = shipped("data", "published", "pagliaro.parquet")
NAMES = paradigms("published/pagliaro_*")
EVERY_DAY = ("published/pagliaro_primacy",)


def of_sources(told):
    "The two source files of the repository, of which nobody runs anything."
    lines = ["import os", "raise SystemExit('this file was run')"]
    for number, (bias, each) in enumerate(told["biases"].items()):
        variants = [
            {"id": name, "parse_type": known["answer"]}
            | {side: known["prompts"][side] for side in ("control", "treatment")}
            for name, known in each["variants"].items()
        ]
        lines.append(f"BIAS_{number} = { ({'name': bias, 'variants': variants})!r}")
    warnings = told["arms"]["D3_counter"]["prepend"]
    strategies = [
        "import models",
        f"COUNTER_PROMPTS = { ({bias: text.rstrip() for bias, text in warnings.items()})!r}",
        f"ROLE_PROMPT = {told['arms']['D4_role']['prepend'].rstrip()!r}",
    ]
    return {"biases.py": "\n".join(lines), "debiasing.py": "\n".join(strategies)}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    "The repository as it is downloaded: all texts, and sources with the prompts."
    if not ARCHIVE.exists():
        pytest.skip("the published answers are not here")
    place = tmp_path_factory.mktemp("repository")
    shutil.unpack_archive(ARCHIVE, place / "results")
    told = json.loads((place / "results" / "prompts.json").read_text())
    (place / "code").mkdir()
    for name, text in of_sources(told).items():
        (place / "code" / name).write_text(text)
    return place


@cache
def facts():
    "What ships of the published answers."
    return read_published("pagliaro", FACTS)


@cache
def effects_of(name):
    "The effects of everybody who was asked about a bias."
    rows = []
    with tempfile.TemporaryDirectory() as place:
        keep_imported(part_of(facts(), [name]), place)
        with Folder(place) as folder:
            for each in requests(folder):
                theirs = readings(folder, each)
                mine = items(folder, each)
                rows += effect_rows(trials(folder, [each]), mine, paradigm(name), readings=theirs)
    return effects_table(rows)


def test_everything_is_there():
    found = facts()
    assert found.counts == {"prompts": 162, "paradigms": 11, "answers": 67_300, "participants": 11}
    assert sum(each.answer.status == "error" for cell in found.cells for each in cell.given) == 4206
    assert "claude-sonnet-4-20250514" in {cell.who.model for cell in found.cells}
    assert len(NAMES) == len(BIASES) == 11 and not set(NAMES) & set(paradigms())
    with pytest.raises(CogbiasError, match="published elsewhere"):
        paradigm("published/pagliaro_decoy").items()


def test_the_shipped_items_are_what_the_paradigms_declare():
    told = pd.read_parquet(FACTS.with_name("pagliaro_items.parquet"))
    made = pagliaro.items_without_texts([*zip(told["arm"], told["content_set"])])
    shipped_ids = [key for table in facts().items.values() for key in table["item_id"]]
    assert made["item_id"].tolist() == shipped_ids


def test_the_published_code_took_the_first_label_that_stands_alone():
    "Within 50 characters, A before B; else the first of all. Of numbers it took the first."
    told = {"B.": "B", "A tie: B": "A", "-" * 49 + "B. A": "B", "-" * 50 + "B. A": "B"}
    for text, label in told.items():
        assert pagliaro.published_choice(text, "BA" if "B. A" in text else "AB") == label
    numbers = {"$1.5 million": 1.5e6, "1,200": 1200, "3%": 3, "none": None}
    for text, number in numbers.items():
        assert pagliaro.published_number(text) == number


@pytest.mark.slow
@needs_texts
def test_the_texts_give_the_shipped_outcomes(repository):
    "As the script that made them computes them, and the counts of refusals, too."
    rows = pagliaro.rows_of(repository)
    old = pd.read_parquet(FACTS).astype(object)
    for name in old.columns.drop(["response", "p"]):
        assert rows[name].fillna("-").tolist() == old[name].fillna("-").tolist(), name
    counts = pd.read_csv(shipped("data", "published", "pagliaro_refusals.csv"))
    pd.testing.assert_frame_equal(pagliaro.refusals(rows), counts, check_dtype=False)
    mine = rows[
        rows["participant"].str.startswith("claude-3.5") & (rows["content_set"] == "sunkcost_v2")
    ]
    read_as_a = mine[mine["published_choice"] == "A"]["response"]
    without = read_as_a.str.replace(r"\ba\b", "", regex=True)
    again = [pagliaro.published_choice(text, "AB") for text in without]
    assert len(again) > 90 and "A" not in again, "it comes from the article alone"


@needs_texts
@pytest.mark.parametrize("changed", ["an answer", "a prompt"])
def test_what_is_not_as_published_is_refused(repository, tmp_path, changed):
    name = "framing_effect_gpt-4.1-mini_baseline.json"
    shutil.copytree(repository / "code", tmp_path / "in" / "code")
    (tmp_path / "in" / "raw_responses").mkdir()
    told = json.loads((repository / "results" / "raw_responses" / name).read_text())
    if changed == "an answer":
        told["variants"][1]["treatment_responses"][3] += " "
    else:
        source = tmp_path / "in" / "code" / "biases.py"
        source.write_text(source.read_text().replace(" the ", " thee ", 1))
    (tmp_path / "in" / "raw_responses" / name).write_text(json.dumps(told))
    with pytest.raises(ValueError, match="not the published one"):
        pagliaro.rows_of(tmp_path / "in")


@pytest.mark.parametrize("name", slow_but(EVERY_DAY, NAMES))
def test_every_number_of_the_published_table_is_a_row(name):
    printed = pd.read_csv(shipped("data", "published", "pagliaro_summary.csv"))
    printed = printed[printed["bias_name"].map(BIASES) == name.partition("pagliaro_")[2]]
    rows = effects_of(name)
    rows = rows[rows["replication"] & (rows["status"] == "ok")]
    values = rows.set_index(["participant", "measure"])
    assert len(printed) == (rows["measure"] == SUSCEPTIBILITY).sum()
    for row in printed.to_dict("records"):
        arm = "" if row["strategy"] == BASELINE else f"+{row['strategy']}"
        mine = values.loc[row["model_name"] + arm]
        found = {
            column: mine.loc[f"{SUSCEPTIBILITY}_{column}", "estimate"] for column in INDEX_COLUMNS
        }
        found |= {
            "bsi_mean": mine.loc[SUSCEPTIBILITY, "estimate"],
            "p_value": pd.to_numeric(mine["p_value"])[SUSCEPTIBILITY],
            "n_variants": mine.loc[SUSCEPTIBILITY, "n_clusters"],
        }
        numeric = {key: value for key, value in row.items() if not isinstance(value, str)}
        assert set(numeric) == {*found, "significant_bh"}  # which belongs to the whole table
        for column, value in found.items():
            assert value == pytest.approx(float(numeric[column]), abs=1e-6, nan_ok=True), column


# -- folders ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    "Two published experiments; in one of them the answers of some models never vary."
    out = tmp_path_factory.mktemp("published") / "out"
    asked = ["import", "pagliaro", str(FACTS), "--out", str(out), "--where", "arm=baseline"]
    asked += ["--paradigm", "*_decoy", "--paradigm", "*_anchoring"]
    said = CliRunner().invoke(app, asked)
    assert said.exit_code == 0 and "paradigms 2," in said.output, said.output
    return out


def test_one_command_puts_both_readings_beside_the_answers(tmp_path):
    "As the page on these answers tells those who doubt it."
    out, place = str(tmp_path / "out"), tmp_path / "tables"
    asked = ["import", "pagliaro", str(FACTS), "--out", out, "--where", "content_set=sunkcost_v2"]
    assert CliRunner().invoke(app, [*asked, "--where", "arm=baseline"]).exit_code == 0
    assert CliRunner().invoke(app, ["export", "csv", out, "--out", str(place)]).exit_code == 0
    told = pd.read_csv(place / "trials.csv")
    mine = told[(told["participant"] == "claude-3.5-sonnet") & (told["condition"] == "treatment")]
    assert set(mine["choice"]) == {"B"} and len(mine) == 100
    assert mine["published_choice"].value_counts().to_dict() == {"A": 97, "B": 3}


@pytest.mark.slow
def test_the_report_of_every_published_experiment_is_rendered(tmp_path):
    "Also where hardly an answer could be read."
    import_answers("pagliaro", FACTS, tmp_path / "out", where={"arm": ["baseline"]})
    failed, written = render_reports(tmp_path / "out", 2)
    of_cells = [each for each in written if each.stem.startswith("published")]
    assert not failed and len(of_cells) == 88
    assert all("As the authors read them" in each.read_text() for each in of_cells)
