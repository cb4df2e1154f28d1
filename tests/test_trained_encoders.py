"Encoders that a study trains before it asks: resumption, refusal, doubles, the whole matrix."

import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import psutil
import pytest
from conftest import script_of_docs

from cogbias.backends.encoder import EncoderParticipant
from cogbias.cli import main
from cogbias.__main__ import STOPPED
from cogbias.folder import marks_of
from cogbias.running.studies import run_study
from cogbias.training.small_encoders import Size, build_small, ending_questions
from cogbias.study import make_study, read_study, studies
from cogbias.tables import CogbiasError
from cogbias.training.trained_encoders import (
    stored_training,
    train_encoders,
)


SMALLEST = Size(hidden=16, layers=1, heads=2)


small_matrix = script_of_docs("small_matrix")
TINY = {
    "size": {"hidden": 16, "layers": 1, "heads": 2},
    "pretraining": {"epochs": 1, "device": "cpu"},
    "default": {"epochs": 1, "save_every": 0, "device": "cpu"},
    "task": {"epochs": 2, "rate": 1e-3, "device": "cpu"},
}
GRID = {"item_sets": ["published", "fresh"], "orders": "published"}  # whose names they can read
ASKED = {"paradigms": ["bets/coin"], "settings": {"bets/coin": GRID}, "max_prompts": 36}


def tiny_study(*models, **training):
    "A study of encoders that are trained in a moment."
    return make_study(name="tiny", models=list(models), training=TINY | training, **ASKED)


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    "Models of a study of one encoder that was trained on the coin; copy them, do not change them."
    place = tmp_path_factory.mktemp("taught")
    done = run_study(tiny_study("encoder/small_bert@coin", "sim/rational"), place, reports=False)
    assert done.failed == []
    return place / "models"


def of(models, name):
    "The folder of a trained encoder."
    (place,) = models.glob(f"*/{name}")
    return place


def test_a_run_trains_what_is_missing_and_then_asks(taught):
    weights = of(taught, "small_bert@coin") / "model.safetensors"
    before = weights.stat().st_mtime_ns
    names = ["encoder/small_bert@coin", "sim/rational"]
    again = run_study(tiny_study(*names), taught.parent, reports=False)
    assert sorted(cell["participant"] for cell in again.cells) == names
    assert all(cell["stored"] > 0 == cell["asked"] for cell in again.cells)
    assert weights.stat().st_mtime_ns == before


def self_made_start(folder):
    "Settings of a training whose BERT is a small model of ours, and whose SWAG is a small file."
    ending_questions(24).to_csv(folder / "swag.csv", index=False)
    words = ending_questions(24).drop(columns="label").to_numpy().ravel().tolist()
    start = build_small("bert", ["a car is dear"], folder / "start", words, SMALLEST)
    swag = {"swag": str(folder / "swag.csv"), "swag_validation": str(folder / "swag.csv")}
    return {"start": {"bert": str(start)}, **swag}


@pytest.mark.slow
def test_a_folder_is_labelled_by_what_lies_in_it(taught, tmp_path):
    "A copy under any name is the same model; a name like ours makes nobody ours."
    mine = shutil.copytree(of(taught, "small_bert@coin"), tmp_path / "mine")
    bare = shutil.copytree(of(taught, "small_bert@coin"), tmp_path / "bare")
    (Path(bare) / "training.json").unlink()  # as weights are passed on
    real = shutil.copytree(bare, tmp_path / "small_bert@coin")
    config = json.loads((Path(real) / "config.json").read_text())
    assert config.pop("label") == "small self-made model"
    (Path(real) / "config.json").write_text(json.dumps(config))
    names = [f"encoder/{place}" for place in (mine, bare, real)]
    study = make_study(name="folders", models=names, **ASKED)
    assert run_study(study, tmp_path / "out", reports=False).failed == []
    assert marks_of(tmp_path / "out", names) == {
        names[0]: "small self-made model, corpus A",
        names[1]: "small self-made model",
    }


def test_a_name_that_means_no_encoder_is_refused_before_anything_else(tmp_path, capsys):
    study, name = tmp_path / "study.toml", "small_bert@coin+roulette"
    study.write_text(f'models = ["encoder/{name}"]\nparadigms = ["bets/coin"]')
    for command in ("plan", "train", "run"):
        with pytest.raises(SystemExit) as end:
            main([command, str(study), "--outputs", str(tmp_path / "out")])
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert end.value.code == 2 and f"{name}: task 'roulette' is not known" in line


def test_a_training_that_fails_costs_only_itself(tmp_path, monkeypatch):
    import cogbias.training.trained_encoders as room

    learn = room.fine_tune

    def fails_on_coin(start, place, *rest):
        if place.name.endswith("@coin"):
            raise CogbiasError(f"{place.name}: a weight is not finite after step 3")
        return learn(start, place, *rest)

    monkeypatch.setattr(room, "fine_tune", fails_on_coin)
    study = tiny_study("encoder/small_bert@coin", "encoder/small_bert@default")
    done = run_study(study, tmp_path, reports=False)
    assert done.failed == [
        "encoder/small_bert@coin: small_bert@coin: a weight is not finite after step 3"
    ]
    assert [cell["participant"] for cell in done.cells] == ["encoder/small_bert@default"]


@pytest.mark.slow
def test_the_published_study_is_planned_and_refused_without_weights(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "nothing"))
    study = read_study(studies()["bets_published"])
    tasks = pd.Series(study.models).str.partition("@")[2]
    assert (tasks == "default").sum() == 4
    assert tasks.str.startswith("value_").sum() == 16
    assert tasks.isin(["coin", "dice", "card"]).sum() == 12
    assert tasks.str.contains("+", regex=False).sum() == 12
    with pytest.raises(SystemExit):
        main(["plan", "bets_published", "--outputs", str(tmp_path / "out")])
    refused = capsys.readouterr().err.strip().splitlines()  # it said nothing of that
    assert len(refused) == 4
    assert refused[0].startswith("refused   encoder/bert@default starts from bert-base-")
    with pytest.raises(SystemExit) as end:
        main(["train", "bets_published", "--outputs", str(tmp_path / "out")])
    said = capsys.readouterr().err.strip().splitlines()
    assert (end.value.code, len(said)) == (2, 1)
    assert "encoder/bert@default starts from bert-base-uncased" in said[0]
    assert "[training.start] bert" in said[0]
    assert not list((tmp_path / "out" / "models").glob("*/*@*"))


def test_a_start_that_was_made_here_is_no_published_model(tmp_path):
    "Named as the start of a published name, it was recorded as pretrained."
    study = tiny_study("encoder/bert@default", **self_made_start(tmp_path))
    done = train_encoders(study, tmp_path / "out")
    assert done.failed == []
    row = done.encoders.iloc[0]
    assert (row["label"], row["published_accuracy"]) == ("small self-made model", None)
    models = of(tmp_path / "out" / "models", "bert@default").parent
    facts = EncoderParticipant("bert@default", checkpoints=str(models)).facts()
    assert facts["label"] == "small self-made model"


def swag_on_the_hub(folder):
    "The files of the hub's data set, as the double serves them."
    place = folder / "regular"
    place.mkdir(parents=True)
    for split, seed in (("train", 0), ("validation", 1)):
        table = ending_questions(24, seed).assign(gold="gold")
        table.to_parquet(place / f"{split}-00000-of-00001.parquet")


def test_swag_comes_from_the_hub(taught, tmp_path, monkeypatch):
    "A double of the hub: a pretrained folder of ours learns SWAG from it, then its task."
    import huggingface_hub

    swag_on_the_hub(tmp_path / "hub")
    asked = []

    def snapshot(name, **given):
        asked.append((name, given["repo_type"], *given["allow_patterns"]))
        return str(tmp_path / "hub")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    start = {"bert": str(of(taught, "small_bert"))}
    study = tiny_study("encoder/bert@value_be", start=start)
    done = train_encoders(study, tmp_path / "out")
    assert done.failed == []
    assert done.encoders["label"].tolist() == ["small self-made model"] * 2  # as its record says
    assert done.encoders["published_accuracy"].isna().all()  # no paper is about it
    assert ("allenai/swag", "dataset", "regular/train*.parquet") in asked


def long_training(folder, *tasks):
    "A study whose tasks take their time, and the command that trains it."
    study = folder / "tiny.toml"
    sizes = "size = {hidden = 16, layers = 1, heads = 2}\npretraining = {epochs = 1}\n"
    stages = "default = {epochs = 1, save_every = 0}\ntask = {epochs = 8, rate = 1e-5}\n"
    models = [f"encoder/small_bert@{task}" for task in tasks]
    study.write_text(f'models = {models}\nparadigms = ["bets/coin"]\n[training]\n{sizes}{stages}')
    program = [sys.executable, "-c", "from cogbias.__main__ import main; main()", "train"]
    return study, [*program, str(study), "--outputs", str(folder / "out")]


def until(true, process):
    "Wait for something that a process does."
    deadline = time.monotonic() + 200
    while not true():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)


def whole_checkpoints(folder, task):
    "The checkpoints of a task's training that are whole."
    return list(folder.glob(f"out/models/*/small_bert@{task}.training/checkpoint-*/whole"))


@pytest.mark.slow
def test_a_killed_command_goes_on(tmp_path):
    study, command = long_training(tmp_path, "coin")
    process = subprocess.Popen(command)
    until(lambda: whole_checkpoints(tmp_path, "coin"), process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    place = tmp_path / "out"
    done = train_encoders(read_study(study), place)
    assert done.failed == []
    assert not whole_checkpoints(tmp_path, "coin") and of(place / "models", "small_bert@coin")


@pytest.mark.slow  # every day a command without workers is killed
def test_workers_end_with_the_command_and_keep_their_checkpoints(tmp_path):
    "As a cluster's queue ends it; its workers went on training for nobody."
    _, command = long_training(tmp_path, "coin", "dice")
    process = subprocess.Popen([*command, "--jobs", "2"], stderr=subprocess.PIPE, text=True)
    until(lambda: all(whole_checkpoints(tmp_path, task) for task in ("coin", "dice")), process)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    assert said.splitlines()[-1:] == [STOPPED]
    _, left = psutil.wait_procs(workers, timeout=5)
    try:
        assert left == []
    finally:
        for each in left:
            each.kill()
    for task in ("coin", "dice"):
        assert whole_checkpoints(tmp_path, task)


def told(rows):
    "Rows of the matrix by name, for a message."
    return rows.drop(columns="own").to_string(index=False)


@pytest.mark.slow
def test_the_matrix_of_small_encoders(tmp_path):
    """Told what things are worth, encoders learn the questions; not told, they cannot.

    In each way to bet that it was trained on, every architecture beats its best constant policy,
    and one at least reaches 90%. Each is told apart from the policy by an interval in one way at
    least, not in all: five dear and five cheap things are behind 100 bets, and who errs about two
    of them has given about seven answers. Which cells fall short follows the processor, whose sums
    round in their own way: two of twelve on one, three on another. The report names them. Who was
    not told what the things of the test are worth prefers the dear ones no more often than any
    others, were prices dealt out at random.
    """
    study = read_study(studies()["bets_small"])
    done = run_study(study, tmp_path, jobs=2, reports=False)
    assert done.failed == []
    shown = small_matrix.accuracies(done.effects)
    print(shown.to_string())
    bets = shown[shown["own"] & (shown["asked"] != "value")]
    single = bets[bets["task"].isin(["coin", "dice", "card"])]
    assert single.groupby("encoder").size().tolist() == [3, 3, 3, 3]
    short = bets[~(bets["gain"] > 0)]
    assert short.empty, f"no better than the best constant policy:\n{told(short)}"
    unsure = single[~(single["low"] > 0)]
    none_told_apart = unsure.groupby("encoder").filter(lambda rows: len(rows) == 3)
    assert none_told_apart.empty, f"in no way told apart from the policy:\n{told(unsure)}"
    assert single["accuracy"].max() >= 0.9, f"none reaches 90%:\n{told(single)}"
    third = shown[shown["task"].str.contains("+", regex=False) & ~shown["own"]]
    assert set(third["asked"]) == {"value", "coin", "dice", "card"}  # as it comes out
    values = shown[shown["own"] & (shown["asked"] == "value")]
    read = values[~values["encoder"].str.contains("untold")]
    assert read["accuracy"].mean() > 0.9, f"told, and yet:\n{told(read)}"
    assert_prices_are_unknown(tmp_path / "models")
    control = small_matrix.untold_prices(tmp_path / "models", "small").iloc[-1]
    assert control["p"] < 0.001  # the same test finds those who were told


def assert_prices_are_unknown(models):
    """Corpus B says nothing of the things of the test, in any way.

    Even so one matrix in a hundred has a p below .01. Encoders that were told have the least
    there is.
    """
    found = small_matrix.untold_prices(models)
    print(found.to_string())
    *each, together = found.to_dict("records")
    assert together["p"] > 0.01, found.to_string()
    assert min(row["p"] for row in each) * len(each) > 0.01, found.to_string()


def test_another_recipe_trains_another_model_beside_it(taught, tmp_path):
    study, out = tiny_study("encoder/small_bert@coin"), tmp_path / "out"
    shutil.copytree(taught, out / "models")

    def trained():
        return {each.parent.name for each in out.glob("models/*/small_bert@coin")}

    (before,) = trained()
    same = replace(study, training=TINY | {"task": TINY["task"] | {"threads": 2, "save_every": 3}})
    assert train_encoders(same, out).failed == [] and trained() == {before}
    answered = []
    for each in (
        study,
        replace(study, training=TINY | {"task": TINY["task"] | {"epochs": 3}}),
        replace(study, training=TINY | {"size": TINY["size"] | {"hidden": 24}}),  # of its start
    ):
        assert run_study(each, out, reports=False).failed == []
        answered.append(stored_training(out, "encoder/small_bert@coin").folder.parent.name)
    assert len(set(answered)) == 3 and set(answered) == trained() and answered[0] == before
