"Training that is killed and goes on, with the real classes of the four architectures, built small."

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
import transformers

from cogbias.small_encoders import ARCHITECTURES, Size, build_small, value_sentences
from cogbias.tables import CogbiasError
from cogbias.training import (
    Recipe,
    fine_tune,
    last_checkpoint,
    load_learner,
    read_trained,
)

DEAR, CHEAP = ["car", "house", "boat", "ring"], ["pen", "sock", "egg", "soup"]
ROWS = [
    {
        "question": "This statement is true:",
        "options": [f"{one} is dearer than {other}", f"{other} is dearer than {one}", "same"],
        "right": 0,
    }
    for one in DEAR
    for other in CHEAP
]
QUESTIONS = pd.DataFrame(ROWS)
# dropout draws a number for every value, so that a draw out of place shows in the weights
RECIPE = Recipe(batch=4, rate=1e-3, epochs=6, stop=None, save_every=3, device="cpu")
ONE_IN_MAKE_TEST = [
    pytest.param(name, marks=() if name == "bert" else pytest.mark.slow) for name in ARCHITECTURES
]


def small(architecture: str, folder: Path) -> Path:
    "An encoder with dropout that has read a few sentences."
    words = [f"{row['question']} {option}" for row in ROWS for option in row["options"]]
    size = Size(hidden=16, layers=1, heads=2, dropout=0.1)
    brief = Recipe(batch=16, rate=2e-3, epochs=1, stop=None, device="cpu")
    sentences = value_sentences(DEAR, CHEAP)
    return build_small(architecture, sentences, folder / architecture, words, size, brief)


def train(start: Path, place: Path) -> None:
    "The training of these tests."
    fine_tune(start, place, QUESTIONS, QUESTIONS.head(6), RECIPE)


PROGRAM = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import test_training, cogbias.training
step = cogbias.training._pairs_loss
def slowly(*arguments):
    time.sleep(0.05)
    return step(*arguments)
cogbias.training._pairs_loss = slowly
test_training.train(Path(sys.argv[2]), Path(sys.argv[3]))
"""


def killed_after(step: int, start: Path, place: Path) -> None:
    "Train in a process of its own, and kill it once the checkpoint of a step is whole."
    arguments = [str(Path(__file__).parent), str(start), str(place)]
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments])
    whole = place.with_name(f"{place.name}.training") / f"checkpoint-{step}" / "whole"
    deadline = time.monotonic() + 120
    while not whole.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("architecture", ONE_IN_MAKE_TEST)
@pytest.mark.slow
def test_a_killed_training_ends_with_the_same_weights(architecture: str, tmp_path: Path) -> None:
    start = small(architecture, tmp_path)
    train(start, tmp_path / "through")
    place = tmp_path / "killed"
    killed_after(9, start, place)  # the third step of the third epoch, with one more to come
    assert read_trained(place) is None
    train(start, place)
    through, killed = (read_trained(tmp_path / name) for name in ("through", "killed"))
    weights = [(each.folder / "model.safetensors").read_bytes() for each in (through, killed)]
    assert weights[0] == weights[1]
    assert through.record == killed.record
    pd.testing.assert_frame_equal(through.trace, killed.trace)
    assert not place.with_name("killed.training").exists()


def interrupted_after(steps: int, start: Path, place: Path, recipe: Recipe) -> None:
    "Train, and end in a step, as an interrupt does."
    import cogbias.training as room

    plain, done = room._pairs_loss, iter(range(steps))

    def ends(model: object, inputs: dict) -> tuple:
        if model.training and next(done, None) is None:
            raise KeyboardInterrupt
        return plain(model, inputs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_pairs_loss", ends)
        with pytest.raises(KeyboardInterrupt):
            fine_tune(start, place, QUESTIONS, QUESTIONS.head(6), recipe)


def test_the_best_state_is_kept_whether_or_not_a_training_was_interrupted(tmp_path: Path) -> None:
    start = small("bert", tmp_path)
    recipe = replace(RECIPE, keep="best", check_every=2, patience=3, save_every=0)
    through = fine_tune(start, tmp_path / "through", QUESTIONS, QUESTIONS.head(6), recipe)
    looks = through.trace.dropna(subset="dev_accuracy").set_index("step")["dev_accuracy"]
    assert through.record["kept_step"] == looks.idxmax()
    assert through.record["dev_accuracy"] == looks.max()
    interrupted_after(5, start, tmp_path / "again", recipe)
    again = fine_tune(start, tmp_path / "again", QUESTIONS, QUESTIONS.head(6), recipe)
    with pytest.MonkeyPatch.context() as patch:  # killed when all was learnt
        patch.setattr("cogbias.training.write_model", lambda *_: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            fine_tune(start, tmp_path / "late", QUESTIONS, QUESTIONS.head(6), recipe)
    late = fine_tune(start, tmp_path / "late", QUESTIONS, QUESTIONS.head(6), recipe)
    weights = [(each.folder / "model.safetensors").read_bytes() for each in (through, again, late)]
    assert weights[0] == weights[1] == weights[2]
    assert through.record == again.record == late.record


def of_another_architecture(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "gpt2"}))


def with_labels_of_another_task(folder: Path) -> None:
    config = transformers.AutoConfig.from_pretrained(folder)
    config.id2label = {0: "right", 1: "wrong"}
    transformers.BertForSequenceClassification(config).save_pretrained(folder)


STARTS = {
    "no head for it": (of_another_architecture, "has the architecture 'gpt2'"),
    "other labels": (with_labels_of_another_task, "2 outputs: right, wrong"),
}


@pytest.mark.parametrize("fault", STARTS)
def test_nothing_is_trained_from_a_checkpoint_that_does_not_fit(fault: str, tmp_path: Path) -> None:
    damage, said = STARTS[fault]
    start = small("bert", tmp_path)
    damage(start)
    with pytest.raises(CogbiasError) as error:
        train(start, tmp_path / "trained")
    assert said in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "trained").exists()


def test_another_seed_gives_other_weights(tmp_path: Path) -> None:
    start = small("bert", tmp_path)
    ends = [
        fine_tune(start, tmp_path / f"{seed}", QUESTIONS, QUESTIONS, Recipe(epochs=1, seed=seed))
        for seed in (0, 1)
    ]
    weights = [(each.folder / "model.safetensors").read_bytes() for each in ends]
    assert weights[0] != weights[1]


def test_a_training_killed_after_its_stop_does_not_go_on_learning(tmp_path: Path) -> None:
    "What was killed between the last checkpoint and the end has learnt enough already."
    start = small("bert", tmp_path)
    easy = Recipe(batch=4, rate=1e-3, epochs=6, stop=0.0, device="cpu")  # reached after one epoch
    through = fine_tune(start, tmp_path / "through", QUESTIONS, QUESTIONS, easy)
    assert (through.record["steps"], through.record["reached_stop"]) == (4, True)
    place = tmp_path / "killed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cogbias.training.write_model", lambda *_: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            fine_tune(start, place, QUESTIONS, QUESTIONS, easy)
    killed = fine_tune(start, place, QUESTIONS, QUESTIONS, easy)
    weights = [(each.folder / "model.safetensors").read_bytes() for each in (through, killed)]
    assert weights[0] == weights[1]
    assert killed.record == through.record


def test_what_a_kill_leaves_half_written_or_half_removed_is_not_used(tmp_path: Path) -> None:
    start = small("bert", tmp_path)
    train(start, tmp_path / "through")
    place, work = tmp_path / "stopped", tmp_path / "stopped.training"
    interrupted_after(10, start, place, RECIPE)
    assert last_checkpoint(work) == work / "checkpoint-9"
    (work / "checkpoint-9" / "whole").unlink()  # as if killed while it was written
    (work / "checkpoint-9" / "optimizer.pt").unlink()
    assert last_checkpoint(work) == work / "checkpoint-6"
    train(start, place)
    weights = [tmp_path / name / "model.safetensors" for name in ("through", "stopped")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_a_model_that_scores_all_options_alike_has_learnt_nothing(tmp_path: Path) -> None:
    "The first of options that tie won, and stood first where it was right: it knew everything."
    start = small("bert", tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cogbias.training.pair_logits", all_alike)
        done = fine_tune(start, tmp_path / "tied", QUESTIONS, QUESTIONS, replace(RECIPE, stop=0.9))
    assert done.record["dev_accuracy"] == pytest.approx(1 / 3)
    assert not done.record["reached_stop"]


def all_alike(model: object, inputs: dict) -> torch.Tensor:
    "The same score for every option, as a model of few digits gives it."
    questions, options, _ = inputs["input_ids"].shape
    return torch.zeros(questions, options, requires_grad=True) * next(model.parameters()).sum()


def test_a_step_in_parts_of_several_sizes_is_the_same_step(tmp_path: Path) -> None:
    "The last part of an epoch had as much weight as the others, however few its questions."
    size = Size(hidden=16, layers=1, heads=2)  # no dropout, whose draws differ
    words = [f"{row['question']} {option}" for row in ROWS for option in row["options"]]
    start = build_small("bert", value_sentences(DEAR, CHEAP), tmp_path / "bert", words, size)
    recipe = Recipe(batch=4, rate=1e-3, epochs=3, stop=None, device="cpu")
    ends = [
        fine_tune(start, tmp_path / f"{parts}", QUESTIONS.head(3), QUESTIONS, each)
        for parts, each in ((1, recipe), (2, replace(recipe, parts=2)))
    ]
    one, two = (load_learner(each.folder)[0].state_dict() for each in ends)
    assert max(float((one[name] - two[name]).abs().max()) for name in one) < 1e-4
    losses = [each.trace["loss"].to_numpy() for each in ends]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_a_bigbird_as_published_goes_on_with_the_same_weights(tmp_path: Path) -> None:
    "Its change to full attention drew numbers, anew after each interruption."
    start = small("bigbird", tmp_path)
    config = json.loads((start / "config.json").read_text())
    (start / "config.json").write_text(json.dumps(config | {"attention_type": "block_sparse"}))
    recipe = replace(RECIPE, epochs=3)
    fine_tune(start, tmp_path / "through", QUESTIONS, QUESTIONS.head(6), recipe)
    interrupted_after(7, start, tmp_path / "again", recipe)
    fine_tune(start, tmp_path / "again", QUESTIONS, QUESTIONS.head(6), recipe)
    weights = [tmp_path / name / "model.safetensors" for name in ("through", "again")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_half_precision_without_a_gpu_is_refused_in_a_line(tmp_path: Path) -> None:
    start = small("bert", tmp_path)
    with pytest.raises(CogbiasError, match='"float16" needs a GPU'):
        fine_tune(
            start, tmp_path / "half", QUESTIONS, QUESTIONS, replace(RECIPE, precision="float16")
        )
