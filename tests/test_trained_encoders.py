"Encoders that a study trains before it asks: resumption, refusal, doubles, the whole matrix."

from __future__ import annotations

import importlib.util
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import psutil
import pytest

from cogbias.backends.encoder import EncoderParticipant
from cogbias.cli import TRAINING_STOPPED, main
from cogbias.outputs import Folder
from cogbias.running import run_study
from cogbias.small_encoders import Size, build_small, ending_questions
from cogbias.study import Study, make_study, read_study, studies
from cogbias.tables import CogbiasError, save_table
from cogbias.planning.plans import plan_run
from cogbias.trained_encoders import (
    first_stages,
    other_trainings,
    planned_encoders,
    train_encoders,
    unknown_trainings,
)
from cogbias.training import (
    SWAG_INSTANCES,
    SWAG_VALIDATION,
    TRACE,
    planned_steps,
    read_trained,
    swag_questions,
)


SMALLEST = Size(hidden=16, layers=1, heads=2)


def script(name: str) -> ModuleType:
    "A program of docs/, whose functions are used here."
    place = Path(__file__).resolve().parent.parent / "docs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, place)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


small_matrix = script("small_matrix")
TINY = {
    "size": {"hidden": 16, "layers": 1, "heads": 2},
    "pretraining": {"epochs": 1, "device": "cpu"},
    "default": {"epochs": 1, "save_every": 0, "device": "cpu"},
    "task": {"epochs": 2, "rate": 1e-3, "device": "cpu"},
}
ASKED = {"paradigms": ["bets/coin"], "settings": {"bets/coin": {"orders": "published"}}}


def tiny_study(*models: str, **training: Any) -> Study:
    "A study of encoders that are trained in a moment."
    return make_study(name="tiny", models=list(models), training=TINY | training, **ASKED)


def test_a_run_trains_what_is_missing_and_then_asks(tmp_path: Path) -> None:
    study = tiny_study("encoder/small_bert@coin", "sim/rational")
    assert not planned_encoders(study, tmp_path)["trained"].any()
    first = run_study(study, tmp_path, reports=False)
    assert first.failed == []
    assert {cell["participant"] for cell in first.cells} == {
        "encoder/small_bert@coin",
        "sim/rational",
    }
    assert planned_encoders(study, tmp_path)["trained"].all()
    weights = tmp_path / "models" / "small_bert@coin" / "model.safetensors"
    before = weights.stat().st_mtime_ns
    again = run_study(study, tmp_path, reports=False)
    assert [cell["asked"] for cell in again.cells] == [0, 0]
    assert weights.stat().st_mtime_ns == before


def test_facts_say_that_an_encoder_is_small_and_self_made(tmp_path: Path) -> None:
    from cogbias.outputs import recorded_participant

    run_study(tiny_study("encoder/small_untold_bert@coin"), tmp_path, reports=False)
    facts = recorded_participant(Folder(tmp_path), "encoder/small_untold_bert@coin").facts()
    assert facts["label"].startswith("small self-made model, corpus B")
    assert facts["reached_stop"] in (True, False)


def test_the_label_stands_wherever_their_numbers_do_and_the_trace_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    "Report, page of the study, site, status and effects: none shows them without it."
    from cogbias.reporting.bets import bets_table, instruments
    from cogbias.outputs import load_effects, people_of
    from cogbias.site.results import Results, _column_head
    from cogbias.reporting.study import opening_notes

    told, name = "small self-made model, corpus A", "encoder/small_bert@coin"
    run_study(tiny_study(name), tmp_path)
    report = Folder(tmp_path).report(name, "bets/coin").read_text()
    assert report.count(told) >= 2  # beside the name, and among the facts
    shown = nbformat.reads(report, 4).cells
    (at,) = [place for place, cell in enumerate(shown) if "How it was trained" in cell.source]
    assert any("image/png" in each.get("data", {}) for each in shown[at + 1].outputs)  # the trace
    assert "It learnt from 840 questions in" in str(shown[at + 1].outputs)
    effects, people = load_effects(tmp_path / "effects.parquet"), people_of(tmp_path)
    assert told.lower() in opening_notes(effects, people).lower()
    table = bets_table(effects, people, instruments(tmp_path))
    assert f"{name} ({told})" in table["participant"].tolist()
    for command in ("status", "effects"):
        with pytest.raises(SystemExit):
            main([command, str(tmp_path)])
        assert told in capsys.readouterr().out
    head = _column_head(Results(tmp_path), name)
    assert head["tags"] == [told]


def self_made_start(folder: Path) -> dict[str, Any]:
    "Settings of a training whose BERT is a small model of ours, and whose SWAG is a small file."
    ending_questions(24).to_csv(folder / "swag.csv", index=False)
    words = ending_questions(24).drop(columns="label").to_numpy().ravel().tolist()
    start = build_small("bert", ["a car is dear"], folder / "start", words, SMALLEST)
    swag = {"swag": str(folder / "swag.csv"), "swag_validation": str(folder / "swag.csv")}
    return {"start": {"bert": str(start)}, **swag}


def test_a_published_name_does_not_hide_who_was_made_here(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    "The name said BERT and the weights were ours: their numbers stood unmarked beside BERT's."
    from cogbias.reporting.bets import bets_table, instruments, rebuilt, transfer_table
    from cogbias.outputs import load_effects, people_of
    from cogbias.site.results import Results, _column_head
    from cogbias.reporting.study import opening_notes

    told, name = "small self-made model", "encoder/bert@coin"
    study = tiny_study(name, "sim/rational", **self_made_start(tmp_path))
    out = tmp_path / "out"
    assert run_study(study, out).failed == []
    capsys.readouterr()
    for command in ("status", "effects", "compare"):
        with pytest.raises(SystemExit):
            main([command, str(out)])
        assert f"{told}: 1 participant, none of them a published model" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["effects", str(out), "--json"])
    shown = capsys.readouterr()
    assert told in shown.err and json.loads(shown.out)  # what a program reads stays as it was
    report = nbformat.reads(Folder(out).report(name, "bets/coin").read_text(), 4)
    assert told in report.cells[0].source  # its title
    effects, people = load_effects(out / "effects.parquet"), people_of(out)
    assert f"**Small self-made model:** {name}" in opening_notes(effects, people).replace(
        "&#64;", "@"
    )
    assert (
        f"{name} ({told})" in bets_table(effects, people, instruments(out))["participant"].tolist()
    )
    for table in (transfer_table(effects, people), rebuilt(effects, "table 20", people)):
        assert set(table["encoder"]) == {f"bert ({told})"}
    assert _column_head(Results(out), name)["tags"] == [told]
    whole = Folder(out).place("reports", "study.ipynb").read_text()
    assert "validation accuracy" in whole and "none of this kind" in whole


def test_a_folder_is_labelled_by_what_lies_in_it(tmp_path: Path) -> None:
    "A copy under any name is the same model; a name like ours makes nobody ours."
    from cogbias.outputs import self_made_of

    train_encoders(tiny_study("encoder/small_bert@coin"), tmp_path / "made")
    models = tmp_path / "made" / "models"
    mine = shutil.copytree(models / "small_bert@coin", tmp_path / "mine")
    bare = shutil.copytree(models / "small_bert@coin", tmp_path / "bare")
    (Path(bare) / "training.json").unlink()  # as weights are passed on
    real = shutil.copytree(bare, tmp_path / "small_bert@coin")
    config = json.loads((Path(real) / "config.json").read_text())
    assert config.pop("label") == "small self-made model"
    (Path(real) / "config.json").write_text(json.dumps(config))
    names = [f"encoder/{place}" for place in (mine, bare, real)]
    study = make_study(name="folders", models=names, **ASKED)
    assert run_study(study, tmp_path / "out", reports=False).failed == []
    assert self_made_of(tmp_path / "out", names) == {
        names[0]: "small self-made model, corpus A",
        names[1]: "small self-made model",
    }


def test_a_comparison_says_who_was_made_here(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    run_study(tiny_study("encoder/small_bert@default", "sim/rational"), tmp_path, reports=False)
    with pytest.raises(SystemExit):
        main(["compare", str(tmp_path)])
    assert "small self-made model, corpus A: 1 participant" in capsys.readouterr().out


def test_the_report_rebuilds_every_table_and_figure_of_the_paper() -> None:
    from cogbias.reporting.bets import REBUILT
    from cogbias.tables import shipped

    template = nbformat.reads(shipped("nbs", "reports", "study.ipynb").read_text(), 4)
    source = "\n".join(cell.source for cell in template.cells)
    numbers = (5, 6, 14, 20)
    assert set(REBUILT) == {*(f"table {n}" for n in numbers), *(f"figure {n}" for n in (1, 2, 3))}
    for which in REBUILT:
        assert f'"{which}"' in source
    assert "transfer_sentence" in source  # the drop, beside the paper's


def test_a_training_that_fails_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cogbias.trained_encoders as room

    learn = room.fine_tune

    def fails_on_coin(start: Path, place: Path, *rest: Any) -> Any:
        if place.name.endswith("@coin"):
            raise CogbiasError(f"{place.name}: the loss is nan in step 3")
        return learn(start, place, *rest)

    monkeypatch.setattr(room, "fine_tune", fails_on_coin)
    study = tiny_study("encoder/small_bert@coin", "encoder/small_bert@default")
    done = run_study(study, tmp_path, reports=False)
    assert done.failed == ["encoder/small_bert@coin: small_bert@coin: the loss is nan in step 3"]
    assert [cell["participant"] for cell in done.cells] == ["encoder/small_bert@default"]


def test_the_published_study_is_planned_and_refused_without_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "nothing"))
    study = read_study(studies()["bets_published"])
    planned = planned_encoders(study, tmp_path)
    tasks = planned["encoder"].str.partition("@")[2]
    assert (tasks == "default").sum() == 4
    assert tasks.str.startswith("value_").sum() == 16
    assert tasks.isin(["coin", "dice", "card"]).sum() == 12
    assert tasks.str.contains("+", regex=False).sum() == 12
    with pytest.raises(SystemExit) as end:
        main(["train", "bets_published", "--outputs", str(tmp_path / "out")])
    said = capsys.readouterr().err.strip().splitlines()
    assert (end.value.code, len(said)) == (2, 1)
    assert "encoder/bert@default begins with bert-base-uncased" in said[0]
    assert "[training.start] bert = './folder'" in said[0]
    assert not list((tmp_path / "out" / "models").glob("*@*"))


def test_what_cannot_be_made_here_is_missed_before_anything_is_made(tmp_path: Path) -> None:
    "A missing file of SWAG was named when other encoders had been trained for hours."
    start = build_small("bert", ["a car is dear"], tmp_path / "bert", size=SMALLEST)
    told = {"start": {"bert": str(start)}, "swag": str(tmp_path / "no.csv")}
    models = ("encoder/small_bert@coin", "encoder/bert@coin")
    study = tiny_study(*models, **told, swag_validation=str(tmp_path / "no.csv"))
    with pytest.raises(CogbiasError, match="training.swag = .*no.csv' is no file"):
        train_encoders(study, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    study = tiny_study(*models, start={"bert": str(tmp_path / "none")})
    with pytest.raises(CogbiasError, match="Nothing was trained or asked"):
        train_encoders(study, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_start_that_was_made_here_is_no_published_model(tmp_path: Path) -> None:
    "Named as the start of a published name, it was recorded as pretrained."
    study = tiny_study("encoder/bert@default", **self_made_start(tmp_path))
    assert planned_encoders(study, tmp_path / "out")["label"].tolist() == ["small self-made model"]
    done = train_encoders(study, tmp_path / "out")
    assert done.failed == []
    row = done.encoders.iloc[0]
    assert (row["label"], row["published_accuracy"]) == ("small self-made model", None)
    models = tmp_path / "out" / "models"
    facts = EncoderParticipant("bert@default", checkpoints=str(models)).facts()
    assert facts["label"] == "small self-made model"


def swag_on_the_hub(folder: Path) -> None:
    "The files of the hub's data set, as the double serves them."
    place = folder / "regular"
    place.mkdir(parents=True)
    for split, seed in (("train", 0), ("validation", 1)):
        table = ending_questions(24, seed).assign(gold="gold")
        table.to_parquet(place / f"{split}-00000-of-00001.parquet")


def test_swag_comes_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    "A double of the hub: a pretrained folder of ours learns SWAG from it, then its task."
    import huggingface_hub

    swag_on_the_hub(tmp_path / "hub")
    asked = []

    def snapshot(name: str, **given: Any) -> str:
        asked.append((name, given["repo_type"], *given["allow_patterns"]))
        return str(tmp_path / "hub")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    train_encoders(tiny_study("encoder/small_bert@default"), tmp_path / "made")
    start = {"bert": str(tmp_path / "made" / "models" / "small_bert")}
    study = tiny_study("encoder/bert@value_be", start=start)
    done = train_encoders(study, tmp_path / "out")
    assert done.failed == []
    assert done.encoders["label"].tolist() == ["small self-made model"] * 2  # as its record says
    assert done.encoders["published_accuracy"].isna().all()  # no paper is about it
    assert ("allenai/swag", "dataset", "regular/train*.parquet") in asked


def test_swag_from_a_file_of_its_columns_gives_the_same(tmp_path: Path) -> None:
    table = ending_questions(24)
    for ending in ("csv", "parquet", "jsonl"):
        path = tmp_path / f"swag.{ending}"
        if ending == "jsonl":
            table.to_json(path, orient="records", lines=True)
        else:
            getattr(table, f"to_{ending}")(path, index=False)
        pd.testing.assert_frame_equal(swag_questions(path), swag_questions(tmp_path / "swag.csv"))


def test_the_published_stage_has_as_many_steps_as_the_specification() -> None:
    from cogbias.training import SWAG

    assert planned_steps(SWAG, SWAG_INSTANCES) == 27_582


def long_training(folder: Path, *tasks: str) -> tuple[Path, list[str]]:
    "A study whose tasks take their time, and the command that trains it."
    study = folder / "tiny.toml"
    sizes = "size = {hidden = 16, layers = 1, heads = 2}\npretraining = {epochs = 1}\n"
    stages = "default = {epochs = 1, save_every = 0}\ntask = {epochs = 20, rate = 1e-5}\n"
    models = [f"encoder/small_bert@{task}" for task in tasks]
    study.write_text(f'models = {models}\nparadigms = ["bets/coin"]\n[training]\n{sizes}{stages}')
    program = [sys.executable, "-c", "from cogbias.entry import main; main()", "train"]
    return study, [*program, str(study), "--outputs", str(folder / "out")]


def until(true: Callable[[], Any], process: subprocess.Popen) -> None:
    "Wait for something that a process does."
    deadline = time.monotonic() + 200
    while not true():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)


def whole_checkpoints(folder: Path, task: str) -> list[Path]:
    "The checkpoints of a task's training that are whole."
    work = folder / "out" / "models" / f"small_bert@{task}.training"
    return list(work.glob("checkpoint-*/whole.json"))


def test_a_killed_command_goes_on(tmp_path: Path) -> None:
    study, command = long_training(tmp_path, "coin")
    process = subprocess.Popen(command)
    until(lambda: whole_checkpoints(tmp_path, "coin"), process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    place = tmp_path / "out"
    done = train_encoders(read_study(study), place)
    assert done.failed == []
    run = (place / "models" / "small_bert@coin" / "training" / "run.json").read_text()
    assert '"resumed_from": "checkpoint-' in run


def test_workers_end_with_the_command_and_keep_their_checkpoints(tmp_path: Path) -> None:
    "As a cluster's queue ends it; its workers went on training for nobody."
    _, command = long_training(tmp_path, "coin", "dice")
    process = subprocess.Popen([*command, "--jobs", "2"], stderr=subprocess.PIPE, text=True)
    until(lambda: all(whole_checkpoints(tmp_path, task) for task in ("coin", "dice")), process)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    assert said.splitlines()[-1:] == [TRAINING_STOPPED]  # it said that answers are stored
    _, left = psutil.wait_procs(workers, timeout=5)
    try:
        assert left == []
    finally:
        for each in left:
            each.kill()
    for task in ("coin", "dice"):
        assert whole_checkpoints(tmp_path, task)


@pytest.mark.parametrize("text", ["{", "[1, 2]", '{"loss": 1}', '{"recipe": 3, "steps": "x"}'])
def test_a_record_that_is_damaged_or_of_another_program_is_one_line(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    study, _ = long_training(tmp_path, "coin")
    place = tmp_path / "out" / "models" / "small_bert@coin"
    place.mkdir(parents=True)
    (place / "training.json").write_text(text)
    for command in ("train", "run"):
        with pytest.raises(SystemExit) as end:
            main([command, str(study), "--outputs", str(tmp_path / "out")])
        said = capsys.readouterr().err.strip().splitlines()
        assert (end.value.code, len(said)) == (2, 1), said
        assert "training.json: is no record of a training (" in said[0]
        assert "move its folder away and train again" in said[0]
    shown = EncoderParticipant("./small_bert@coin", checkpoints=str(place.parent))
    vars(shown)["folder"] = place
    (place / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(CogbiasError, match="is no record of a training"):
        shown.facts()


def test_a_price_test_tells_who_knows_from_who_has_preferences() -> None:
    "Eight things, four of them dear: whoever knows is found, an order of one's own is not."
    price_test = small_matrix.price_test
    knows = np.triu(np.ones((8, 8)), 1)
    assert price_test(knows, 4).share == 1.0
    assert price_test(knows, 4).p < 0.05
    own = [3, 6, 0, 5, 4, 1, 7, 2]  # neither dear nor cheap things lie ahead
    prefers = knows[np.ix_(own, own)]
    found = price_test(prefers, 4)
    assert found.low < found.share < found.high and found.p > 0.3
    assert price_test(knows.T, 4).p == 1.0  # the wrong way round is no knowledge


def told(rows: pd.DataFrame) -> str:
    "Rows of the matrix by name, for a message."
    return rows.drop(columns="own").to_string(index=False)


@pytest.mark.slow
def test_the_matrix_of_small_encoders(tmp_path: Path) -> None:
    """Told what things are worth, encoders learn the questions; not told, they cannot.

    In each way to bet that it was trained on, every architecture beats its best constant policy,
    interval and all, and one at least reaches 90%. Who was not told what the things of the test are
    worth prefers the dear ones no more often than any others, were prices dealt out at random.
    """
    study = read_study(studies()["bets_small"])
    done = run_study(study, tmp_path, jobs=2, reports=False)
    assert done.failed == []
    shown = small_matrix.accuracies(done.effects)
    print(shown.to_string())
    bets = shown[shown["own"] & (shown["asked"] != "value")]
    single = bets[bets["task"].isin(["coin", "dice", "card"])]
    assert single.groupby("encoder").size().tolist() == [3, 3, 3, 3]
    short = bets[~(bets["low"] > 0)]
    assert short.empty, f"no better than the best constant policy:\n{told(short)}"
    assert single["accuracy"].max() >= 0.9, f"none reaches 90%:\n{told(single)}"
    third = shown[shown["task"].str.contains("+", regex=False) & ~shown["own"]]
    assert set(third["asked"]) == {"value", "coin", "dice", "card"}  # as it comes out
    values = shown[shown["own"] & (shown["asked"] == "value")]
    read = values[~values["encoder"].str.contains("untold")]
    assert read["accuracy"].mean() > 0.9, f"told, and yet:\n{told(read)}"
    assert_prices_are_unknown(tmp_path / "models")
    control = small_matrix.untold_prices(tmp_path / "models", "small").iloc[-1]
    assert control["p"] < 0.001  # the same test finds those who were told


def assert_prices_are_unknown(models: Path) -> None:
    """Corpus B says nothing of the things of the test, in any way.

    Even so one matrix in a hundred has a p below .01. Encoders that were told have the least
    there is.
    """
    found = small_matrix.untold_prices(models)
    print(found.to_string())
    *each, together = found.to_dict("records")
    assert together["p"] > 0.01, found.to_string()
    assert min(row["p"] for row in each) * len(each) > 0.01, found.to_string()


@pytest.mark.slow
def test_untold_prices_stay_unknown_whatever_the_seed(tmp_path: Path) -> None:
    "One architecture with three more seeds: preferences change, knowledge does not come."
    base = read_study(studies()["bets_small"])
    models = tuple(f"encoder/small_untold_roberta@value_{name}" for name in ("be", "ce"))
    gathered = tmp_path / "models"
    for seed in (1, 2, 3):
        place = tmp_path / str(seed)
        done = train_encoders(replace(base, seed=seed, models=models), place, jobs=2)
        assert done.failed == []
        for each in (place / "models").glob("*@value_*"):
            named = each.name.replace("roberta", f"roberta{seed}")
            shutil.copytree(each, gathered / named)
    assert_prices_are_unknown(gathered)


def test_a_study_with_another_recipe_does_not_ask_what_was_trained_before(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    "The same name, two ways to learn: the answers would stand beside each other without a word."
    study, out = tiny_study("encoder/small_bert@coin", "sim/rational"), tmp_path / "out"
    assert train_encoders(study, out).failed == []
    longer = replace(study, training=TINY | {"task": TINY["task"] | {"epochs": 3}})
    (said,) = other_trainings(longer, out)
    assert "encoder/small_bert@coin" in said and "task.epochs was 2 and is 3" in said
    assert f"move {out / 'models' / 'small_bert@coin'} away" in said
    assert said in plan_run(longer, out).notes
    for attempt in (train_encoders, run_study):
        with pytest.raises(CogbiasError, match="task.epochs was 2 and is 3.*Nothing was asked"):
            attempt(longer, out)
    assert not list(out.glob("trials/**/*.jsonl"))  # nor anybody else
    # what changes no more than rounding, or how often a state is saved, is no difference
    same = replace(study, training=TINY | {"task": TINY["task"] | {"threads": 2, "save_every": 3}})
    assert other_trainings(same, out) == [] == other_trainings(study, out)
    assert train_encoders(same, out).failed == []


def test_a_task_that_began_with_another_default_model_is_said(tmp_path: Path) -> None:
    "The default model and what it was made of are part of how a task was learnt."
    study = tiny_study("encoder/small_bert@coin")
    train_encoders(study, tmp_path)
    wider = replace(study, training=TINY | {"size": TINY["size"] | {"hidden": 24}})
    assert "size.hidden was 16 and is 24" in other_trainings(wider, tmp_path)[0]
    shutil.rmtree(tmp_path / "models" / "small_bert@default")
    with pytest.raises(CogbiasError, match="began with another small_bert@default"):
        train_encoders(wider, tmp_path)
    shutil.rmtree(tmp_path / "models" / "small_bert@coin")
    assert train_encoders(wider, tmp_path).failed == []


def test_a_training_on_other_questions_is_not_taken_for_this_one(tmp_path: Path) -> None:
    "Only the recipe was compared, so answers of encoders that learnt other questions were mixed."
    study, out = tiny_study("encoder/small_bert@value_be"), tmp_path / "out"
    train_encoders(study, out)
    assert other_trainings(study, out) == [] == unknown_trainings(study, out)
    turned = replace(study, training=TINY | {"item_order": "both"})
    (said,) = other_trainings(turned, out)
    assert "encoder/small_bert@value_be" in said and "\n" not in said
    assert "the questions that it learnt from have changed since" in said
    assert f"move {out / 'models' / 'small_bert@value_be'} away" in said
    assert said in plan_run(turned, out).notes
    with pytest.raises(CogbiasError, match="have changed since.*Nothing was asked"):
        train_encoders(turned, out)


def test_another_swag_or_another_start_is_not_taken_for_this_one(tmp_path: Path) -> None:
    training = self_made_start(tmp_path)
    study, out = tiny_study("encoder/bert@default", **training), tmp_path / "out"
    train_encoders(study, out)
    assert other_trainings(study, out) == [] == unknown_trainings(study, out)
    ending_questions(24, seed=5).to_csv(tmp_path / "swag.csv", index=False)
    with pytest.raises(CogbiasError, match="SWAG, or the file in its place, has changed since"):
        train_encoders(study, out)
    (tmp_path / "swag.csv").unlink()
    (said,) = unknown_trainings(study, out)
    assert "the questions that it learns from are not on this machine" in said
    self_made_start(tmp_path)  # as it was
    assert other_trainings(study, out) == []
    shutil.rmtree(tmp_path / "start")
    build_small("bert", ["a pen is cheap"], tmp_path / "start", ["a car"], SMALLEST)
    with pytest.raises(CogbiasError, match="began with another .*start than lies there"):
        train_encoders(study, out)


def test_a_small_encoder_of_another_corpus_is_not_taken_for_this_one(tmp_path: Path) -> None:
    study = tiny_study("encoder/small_bert@default")
    train_encoders(study, tmp_path)
    place = tmp_path / "models" / "small_bert" / "pretraining.json"
    made = json.loads(place.read_text())
    place.write_text(json.dumps(made | {"corpus": "another"}))
    (said,) = other_trainings(study, tmp_path)
    assert "the sentences that it was pretrained on have changed since" in said


def test_of_an_older_record_it_is_said_what_is_not_known(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    "Folders of before are read, and what cannot be compared is named."
    study = tiny_study("encoder/small_bert@coin", "encoder/small_bert@dice")
    train_encoders(study, tmp_path)
    for task in ("coin", "dice"):
        place = tmp_path / "models" / f"small_bert@{task}" / "training.json"
        record = json.loads(place.read_text())
        del record["data"]
        place.write_text(json.dumps(record))
    (said,) = unknown_trainings(study, tmp_path)
    assert said.startswith("encoder/small_bert@coin and 1 more: its record, an older one, does not")
    assert "the questions that it learns from" in said
    assert said in plan_run(study, tmp_path).notes
    assert train_encoders(study, tmp_path).failed == []
    assert said in caplog.text


def first_stage_of(models: Path, **record: Any) -> None:
    "The record of a first stage, as a training leaves it."
    place = models / "bert@default"
    told = {"recipe": {}, "steps": 27_582, "reached_stop": False, "dev_accuracy": 0.771}
    (place / "training").mkdir(parents=True, exist_ok=True)
    trace = pd.DataFrame([{"step": 1, "epoch": 1.0}]).reindex(columns=TRACE.names)
    save_table(trace, place / "training" / "trace.csv")
    (place / "training.json").write_text(json.dumps(told | record))
    assert read_trained(place) is not None


def test_the_first_stage_stands_beside_the_paper_where_it_is_of_its_kind(tmp_path: Path) -> None:
    models, asked = tmp_path / "models", ["encoder/bert@coin", "sim/human"]
    whole = {"train": SWAG_INSTANCES, "dev": SWAG_VALIDATION}
    first_stage_of(models, questions=whole, label="pretrained")
    (row,) = first_stages(tmp_path, asked).to_dict("records")
    assert row["learnt from"] == "73,546 instances (SWAG)"
    assert row["validation accuracy"] == "77.1% [76.5% to 77.7%] of 20,006"
    assert row["published"] == "77%"
    first_stage_of(models, questions=whole, label="small self-made model")
    (row,) = first_stages(tmp_path, asked).to_dict("records")
    assert row["encoder"] == "bert (small self-made model)"
    assert row["published"] == "none of this kind"
    first_stage_of(models, questions={"train": 24, "dev": 24}, swag="made.csv")
    (row,) = first_stages(tmp_path, asked).to_dict("records")
    assert row["learnt from"] == "24 instances (not SWAG: made.csv)"
    assert row["published"] == "none of this kind"
    assert first_stages(tmp_path, ["sim/human"]).empty
