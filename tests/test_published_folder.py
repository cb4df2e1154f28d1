"What commands say of a folder into which published answers, some of them to other prompts, came."

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import cogbias as cb
from cogbias.cells import report_facts, stored_cell
from cogbias.cli import app
from cogbias.compare import compare
from cogbias.effects import Analysis
from cogbias.exchange.pagliaro import OUTCOMES, import_pagliaro
from cogbias.outputs import Folder, stored_settings, trials_of
from cogbias.reporting.cell import example_prompts
from cogbias.reporting.methods import methods_paragraph
from cogbias.running import effects_of
from cogbias.study import study_of_cell
from cogbias.tables import CogbiasError, shipped

FACTS = shipped("data", "published", OUTCOMES)
FRAMING = "published/pagliaro_framing"


def imported(place: Path, paradigm: str, **where: list[str]) -> Path:
    "A part of the published answers, as a folder."
    import_pagliaro(FACTS, place / "out", [paradigm], where)
    return place / "out"


@pytest.fixture(scope="module")
def two_arms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "Models without, and one with, a sentence more in every prompt."
    place = tmp_path_factory.mktemp("arms")
    return imported(place, FRAMING, arm=["baseline", "D1_cot"], content_set=["framing_v1"])


def test_a_report_speaks_of_the_prompts_that_its_participant_was_asked(two_arms):
    for participant, added in (("llama-3.1-8b", False), ("llama-3.1-8b+D1_cot", True)):
        cell = stored_cell(two_arms, participant, FRAMING)
        facts = report_facts(
            study_of_cell(stored_settings(Folder(two_arms))[participant, FRAMING]), cell
        )
        asked = methods_paragraph(
            cell.effects, cell.trials, cell.items, cell.paradigm, participant, Analysis(), "1"
        )
        assert "was asked 2 prompts" in asked and facts["prompts"] == 2
        shown = example_prompts(cell.items, cell.trials, cell.paradigm)
        assert "no readable answer" not in shown
        assert set(cell.items["arm"]) == {"D1_cot" if added else "baseline"}


def told_of(effects: pd.DataFrame) -> pd.DataFrame:
    "An effects table in an order of its own, as text."
    keys = ["participant", "measure", "group", "target"]
    return effects.sort_values(keys, ignore_index=True).astype(object).fillna("").astype(str)


def test_trials_alone_lack_published_readings_and_exported_ones_have_them(two_arms, tmp_path):
    whole, items = cb.effects(two_arms), Folder(two_arms).items(FRAMING)
    alone = cb.effects(trials_of(two_arms), items)
    (said,) = alone.attrs["left_out"]
    lacking = int(re.search(r"up to (\d+) rows are not there", said)[1])
    people = whole["participant"].nunique()
    assert said.startswith(f"{FRAMING}: ") and f"{people} have no number (susceptib" in said
    assert lacking == 6 * people >= len(whole) - len(alone) > 0
    of_file = cb.effects(next(two_arms.glob("trials/claude*/*.jsonl")))  # read as its folder is
    assert len(of_file) == (whole["participant"] == of_file["participant"].iloc[0]).sum()
    for ending in ("csv", "jsonl"):
        place = tmp_path / f"trials.{ending}"
        CliRunner().invoke(app, ["export", ending, str(two_arms), "--out", str(place)])
        found = cb.effects(place, items)
        assert found.attrs["left_out"] == []
        assert told_of(found).equals(told_of(whole))
    assert cb.compare(place, items=items).ranks["participant"].nunique() == people
    assert "claude-3.5-sonnet" in repr(cb.show(place))
    with pytest.raises(CogbiasError, match="its prompts are published elsewhere"):
        cb.headline(place)


@pytest.fixture(scope="module")
def with_arms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "All arms of one bias, in which some pairs of prompts were hardly answered."
    return imported(tmp_path_factory.mktemp("all"), FRAMING)


def test_answers_that_never_came_are_told_and_not_waited_for(with_arms):
    "Nobody can be asked again for what was published."
    said = CliRunner().invoke(app, ["status", str(with_arms)]).stdout
    assert "11 cells, 11 done" in said
    assert "352 answers never came, as was published" in said and "asks for them" not in said


def test_ranks_compare_the_same_pairs(with_arms):
    ranks = compare(with_arms).ranks.set_index("participant")
    ranked = ranks[ranks["rank"].notna()]
    assert set(ranked["n_clusters"]) == {1}  # one arm answered one pair often enough
    assert ranked["detail"].str.startswith("framing_v2 (1 of 2 clusters)").all()
    assert ranks.loc["llama-3.1-8b", "estimate"] > ranks.loc["llama-3.1-8b+D3_counter", "estimate"]
    alone = compare(with_arms, "llama-3.1-8b", "claude-3.5-sonnet").ranks
    assert set(alone["n_clusters"]) == {2} and set(alone["detail"]) == {"all 2 clusters"}


def test_who_has_no_effect_is_neither_ranked_nor_tied(with_arms):
    found = compare(with_arms)
    mine = found.ranks.set_index("participant").loc["minimax-m2.5"]
    assert pd.isna(mine["rank"]) and mine["detail"].startswith("not ranked: too few")
    rows = found.differences.query("first == 'minimax-m2.5' or second == 'minimax-m2.5'")
    assert len(rows) == 10 and set(rows["larger"]) == {"not told apart"}
    said = "minimax-m2.5 cannot be compared: too few readable answers in a condition"
    assert set(rows["detail"]) == {said}


def test_an_arm_is_compared_with_its_baseline_pair_by_pair(with_arms):
    found = compare(with_arms, "llama-3.1-8b", "llama-3.1-8b+D1_cot")
    (row,) = found.differences.to_dict("records")
    effects = effects_of(with_arms, save=False)
    heads = effects.drop_duplicates("participant").set_index("participant")["estimate"]
    gap = heads["llama-3.1-8b"] - heads["llama-3.1-8b+D1_cot"]
    assert row["estimate"] == pytest.approx(gap, abs=1e-12) and row["n_prompts"] == 0
    assert row["n_clusters"] == 2 and "no prompt was answered by both" in row["detail"]


@pytest.mark.slow
def test_what_was_imported_is_estimated_before_it_is_shown(tmp_path, monkeypatch):
    out = imported(tmp_path, FRAMING, arm=["D3_counter"], content_set=["framing_v2"])
    said = CliRunner().invoke(app, ["report", str(out)])
    assert said.exit_code == 0, said.output
    assert (out / "effects.parquet").exists() and (out / "reports" / "study.ipynb").exists()
    assert not list(out.rglob("*.running.ipynb"))
    (out / "effects.parquet").unlink()
    import_pagliaro(FACTS, out, ["published/pagliaro_primacy"], {"arm": ["D3_counter"]})
    shown = []

    def build_site(folder: Path, *_: object, **__: object) -> Path:
        shown.append(pd.read_parquet(folder / "effects.parquet"))
        return folder / "site" / "index.html"

    monkeypatch.setattr("cogbias.site.pages.build_site", build_site)
    said = CliRunner().invoke(app, ["site", str(out)])
    assert said.exit_code == 0, said.output
    assert set(shown[0]["paradigm"]) == {FRAMING, "published/pagliaro_primacy"}


def edited(place: Path, pattern: str, old: str, new: str) -> str:
    "Change a text once in the first file of a pattern that holds it; its name."
    for file in sorted(place.glob(pattern)):
        if old in (text := file.read_text(encoding="utf-8")):
            file.write_text(text.replace(old, new, 1), encoding="utf-8")
            return file.relative_to(place).as_posix()
    raise AssertionError(f"no {pattern} holds {old}")


def test_a_changed_answer_is_noticed_where_no_number_changes(two_arms, tmp_path):
    out = Path(shutil.copytree(two_arms, tmp_path / "out"))
    assert CliRunner().invoke(app, ["effects", str(out)]).exit_code == 0
    said = CliRunner().invoke(app, ["verify", str(out)])
    assert said.exit_code == 0 and "as the run left them in 9 cells" in said.output
    file = edited(out, "trials/*/*.jsonl", '"response":null', '"response":"I choose B."')
    said = CliRunner().invoke(app, ["verify", str(out)])
    assert said.exit_code == 1 and f"changed   {file}" in said.output
    assert "1 file of answers is not as" in said.output


def test_changed_readings_are_noticed(two_arms, tmp_path):
    out = Path(shutil.copytree(two_arms, tmp_path / "out"))
    effects_of(out)
    place = next(out.glob("readings/gpt*/*.parquet"))
    table = pd.read_parquet(place)
    table.iloc[::-1].to_parquet(place)  # the same readings in another order
    said = CliRunner().invoke(app, ["verify", str(out)])
    assert said.exit_code == 1 and "the readings beside it" in said.output


def test_an_edited_record_of_who_answered_is_named(two_arms: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(two_arms, tmp_path / "edited"))
    verify = ["verify", str(folder)]
    CliRunner().invoke(app, ["effects", str(folder)])
    assert CliRunner().invoke(app, verify).exit_code == 0
    place = Folder(folder).participant("llama-3.1-8b")
    place.write_text(place.read_text().replace("CC BY 4.0", "CC BY 9.0"))
    for _ in range(2):  # effects that are made anew do not bless it
        result = CliRunner().invoke(app, verify)
        assert result.exit_code == 1
        assert "participant.json: is not as a run left it" in result.output.replace("\n", " ")
        CliRunner().invoke(app, ["effects", str(folder)])


def test_nobody_is_asked_to_price_answers_that_others_collected(two_arms: Path) -> None:
    told = CliRunner().invoke(app, ["status", str(two_arms)]).output
    assert "published answers of Pagliaro 2026" in told
    assert "price" not in told
