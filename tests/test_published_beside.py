"Published answers of real models beside simulated ones: what the demo asks, shows and refuses."

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT, demo_commands
from typer.testing import CliRunner

from cogbias.cells import trivial_responders
from cogbias.cli import app
from cogbias.compare import compare, for_readers
from cogbias.design import paradigm, paradigms
from cogbias.exchange import archives, import_answers
from cogbias.exchange.pagliaro import OUTCOMES, import_pagliaro, read_outcomes
from cogbias.outputs import Folder, stored_settings
from cogbias.rendering import render_reports
from cogbias.running import ask_and_estimate, estimate_folder
from cogbias.site.pages import Layout, _participant_page
from cogbias.site.results import Results, matrix
from cogbias.study import read_study, studies, study_paradigms
from cogbias.tables import CogbiasError, shipped

FACTS = shipped("data", "published", OUTCOMES)
BASELINE = {"arm": ["baseline"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "Two published experiments, estimated; in one of them the answers of some models never vary."
    out = tmp_path_factory.mktemp("published") / "out"
    import_answers("pagliaro", FACTS, out, ["*_decoy", "*_anchoring"], BASELINE)
    estimate_folder(out)
    report = Folder(out).report("gpt-4.1-mini", "published/pagliaro_decoy")
    report.parent.mkdir(parents=True)  # a site needs one
    report.write_text('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}')
    return out


@pytest.mark.slow
def test_an_interval_without_width_is_shown_as_none(folder: Path) -> None:
    "The status says why; two equal numbers would claim a precision that nobody has."
    printed = CliRunner().invoke(app, ["effects", str(folder)]).output
    lines = [line for line in printed.splitlines() if "degenerate_zero_variance" in line]
    assert lines and all(line.split()[4:6] == ["–", "–"] for line in lines), lines
    rows = json.loads(CliRunner().invoke(app, ["effects", str(folder), "--json"]).stdout)
    limits = [(row["ci_low"], row["ci_high"]) for row in rows]
    assert (None, None) in limits
    assert not [pair for pair in limits if pair[0] is not None and pair[0] == pair[1]]


def test_real_models_are_marked_in_words(folder: Path) -> None:
    "Not by a colour: the words are in the head of the column, where a screen reader finds them."
    results = Results(folder)
    results.headlines = [row for row in results.headlines if row["paradigm"].endswith("_decoy")]
    glance = matrix(results)  # as in the demo
    (published,) = glance["published"]  # so many models that each has a row
    tags = {line["label"]: line["tags"] for line in published["lines"]}
    assert len(tags) == 8 and all("published" in each for each in tags.values())
    unread = {name for name, each in tags.items() if "not analysable" in " ".join(each)}
    assert unread == {"minimax-m2.5"}
    assert not glance["suites"] and not glance["accuracies"]
    called = {name for name, each in tags.items() if any("called " in tag for tag in each)}
    assert called == {"claude-3.5-sonnet"}
    assert "called claude-sonnet-4-20250514" in tags["claude-3.5-sonnet"]
    text = _participant_page(results, "claude-3.5-sonnet", Layout())
    assert "the model that was called is claude-sonnet-4-20250514" in text.replace("\\", "")


def test_who_gave_no_number_has_no_rank(folder: Path) -> None:
    "Seven are ranked; the eighth, of whose answers none could be read, is not the last of eight."
    found = compare(folder)
    ranks = found.ranks.set_index(["paradigm", "participant"])
    for name, silent in (("decoy", 1), ("anchoring", 2)):
        mine = ranks.loc[f"published/pagliaro_{name}"]
        assert set(mine["of"]) == {8 - silent}
        places = ["rank", "rank_low", "rank_high"]
        assert mine.loc["minimax-m2.5", places].isna().all()
        assert mine[places].isna().all(axis=1).sum() == silent
        assert (mine["rank_high"].dropna() <= 8 - silent).all()
    shown = for_readers(found)["Ranks"].set_index(["paradigm", "participant"])
    row = shown.loc["published/pagliaro_decoy", "minimax-m2.5"]
    assert (row["rank"], row["interval"]) == ("–", "–")
    assert shown.loc[("published/pagliaro_decoy", "llama-3.1-8b"), "rank"] == "1"


def test_pulls_towards_an_anchor_are_compared_pair_by_pair(folder: Path) -> None:
    rows = compare(folder, "deepseek-v3-together", "llama-3.1-8b").differences
    row = rows.set_index("paradigm").loc["published/pagliaro_anchoring"]
    assert row["n_clusters"] == 5 and row["ci_low"] < row["estimate"] < row["ci_high"]


@pytest.mark.slow
def test_a_run_beside_them_keeps_them(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "both"
    shutil.copytree(folder, place)
    before = set(stored_settings(Folder(place)))
    ask_and_estimate("sim/human", "choice/certainty", place, where={"template": ["1"]})
    assert set(stored_settings(Folder(place))) - before == {("sim/human", "choice/certainty")}
    glance = matrix(Results(place))
    assert [head["label"] for head in glance["heads"]["suites"]] == ["sim/human"]
    assert "sim/human" not in [head["label"] for head in glance["heads"]["published"]]
    held = {each: each.read_bytes() for each in place.rglob("*.jsonl")}
    import_answers("pagliaro", FACTS, place, ["*_decoy", "*_anchoring"], BASELINE)  # again
    assert {each: each.read_bytes() for each in place.rglob("*.jsonl")} == held
    assert set(stored_settings(Folder(place))) > before


def test_what_the_readme_says_of_the_demo_is_what_it_asks() -> None:
    said = re.search(
        r"^make demo +# (\d+) simulated participants in (\d+) paradigms of (\d+) suites, "
        r"published answers of (\d+) real models in (\d+)",
        (ROOT / "README.md").read_text(),
        re.M,
    )
    study = read_study(studies()["demo"])
    names = study_paradigms(study)
    suites = {name.partition("/")[0] for name in names}
    assert suites == {name.partition("/")[0] for name in paradigms()}  # a slice of every suite
    imported = next(line for line in demo_commands("place") if line[0] == "import")
    counts = len(study.models), len(names), len(suites)
    models = pd.read_parquet(FACTS)["model"].nunique()
    assert tuple(map(int, said.groups())) == (*counts, models, imported.count("--paradigm"))


def test_nobody_is_shown_beside_a_headline_about_open_numbers() -> None:
    "Some of these experiments ask for choices, but compare numbers."
    items = read_outcomes(FACTS).items
    shown = {name: trivial_responders(paradigm(name), each) for name, each in items.items()}
    assert shown["published/pagliaro_primacy"].empty
    assert not shown["published/pagliaro_decoy"].empty
    beside = shown["published/pagliaro_status_quo"]  # an exact answer counts as many as it takes
    assert beside["estimate"].tolist() == [0.0, 0.0] and list(beside) == ["label", "estimate"]


@pytest.mark.slow
def test_the_report_of_every_published_experiment_is_rendered(tmp_path: Path) -> None:
    "Also where hardly an answer could be read."
    import_answers("pagliaro", FACTS, tmp_path / "out", where=BASELINE)
    whom = ("gpt-4.1-mini", "minimax-m2.5")
    cells = [key for key in stored_settings(Folder(tmp_path / "out")) if key[0] in whom]
    failed, written = render_reports(tmp_path / "out", 2, only=cells)
    assert not failed and len(written) == len(cells) == 22
    assert all("As their authors read them" in each.read_text() for each in written)


PROMPTS = {
    "another encoding": ('{"source": "caf\xe9"}'.encode("latin-1"), "prompts.json: is not JSON"),
    "a key that occurs twice": (b'{"source": "a", "source": "b"}', "the key 'source' occurs twice"),
    "a word for a number": (b'{"source": NaN}', "NaN is no number"),
    "brackets without an end": (b"[" * 100_000, "is not JSON"),
    "a list": (b"[]", "holds no object"),
}


@pytest.mark.parametrize("fault", PROMPTS)
def test_odd_json_is_one_line_and_nothing_is_imported(tmp_path: Path, fault: str) -> None:
    data, said = PROMPTS[fault]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "prompts.json").write_bytes(data)
    with pytest.raises(CogbiasError, match=re.escape(said)) as error:
        import_pagliaro(tmp_path / "in", tmp_path / "out")
    assert "\n" not in str(error.value) and not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["leads out", "too large"])
def test_odd_archives_are_one_line_and_nothing_is_unpacked(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "LARGEST_ARCHIVE", 1_000_000)
    names = {"leads out": ("../prompts.json", 2), "too large": ("prompts.json", 2_000_000)}
    name, size = names[kind]
    with zipfile.ZipFile(tmp_path / "in.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, b"0" * size)
    with pytest.raises(CogbiasError, match="leads out|MB unpacked, more than 1"):
        import_pagliaro(tmp_path / "in.zip", tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == ["in.zip"]


def test_a_part_that_is_not_there_is_said(tmp_path: Path) -> None:
    asked = ["import", "pagliaro", str(FACTS), "--out", str(tmp_path / "out")]
    for more, said in (
        (["--paradigm", "published/pagliaro_decoi"], "did you mean 'published/pagliaro_decoy'"),
        (["--where", "arm"], "should read FACTOR=LEVEL"),
    ):
        done = CliRunner().invoke(app, [*asked, *more])
        assert isinstance(done.exception, CogbiasError) and said in str(done.exception), said
    assert not (tmp_path / "out").exists()
