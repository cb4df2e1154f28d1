"Training that is killed and goes on, with the real classes of the four architectures, built small."

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
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
    pair_logits,
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
CHECKPOINT = (  # as it was marked when the marker named no files
    "model.safetensors",
    "optimizer.pt",
    "scheduler.pt",
    "rng_state.pth",
    "trainer_state.json",
    "whole.json",
)
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
    whole = place.with_name(f"{place.name}.training") / f"checkpoint-{step}" / "whole.json"
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
    run = json.loads((place / "training" / "run.json").read_text())
    assert run["resumed_from"] == "checkpoint-9"
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
        patch.setattr("cogbias.training._put_away", lambda *_: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            fine_tune(start, tmp_path / "late", QUESTIONS, QUESTIONS.head(6), recipe)
    late = fine_tune(start, tmp_path / "late", QUESTIONS, QUESTIONS.head(6), recipe)
    weights = [(each.folder / "model.safetensors").read_bytes() for each in (through, again, late)]
    assert weights[0] == weights[1] == weights[2]
    assert through.record == again.record == late.record


def test_a_folder_of_an_older_recipe_is_still_read(tmp_path: Path) -> None:
    "Recipes of before said nothing of looks, patience and what is kept."
    start, place = small("bert", tmp_path), tmp_path / "trained"
    first = fine_tune(start, place, QUESTIONS, QUESTIONS, replace(RECIPE, epochs=1))
    record = json.loads((place / "training.json").read_text())
    for name in ("check_every", "patience", "keep"):
        del record["recipe"][name]
    del record["kept_step"]
    (place / "training.json").write_text(json.dumps(record))
    again = fine_tune(start, place, QUESTIONS, QUESTIONS, replace(RECIPE, epochs=1))
    assert again.trace.equals(first.trace)


def test_advice_for_too_little_memory_can_be_followed(tmp_path: Path) -> None:
    "The folder that the first try had begun refused the second, with another recipe."
    import cogbias.training as room

    start, place, plain = small("bert", tmp_path), tmp_path / "trained", room._pairs_loss

    def small_memory(model: object, inputs: dict) -> tuple:
        if len(inputs["labels"]) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return plain(model, inputs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_pairs_loss", small_memory)
        said = "with 4 questions at a time; next smaller: 2, with parts = 2"
        with pytest.raises(CogbiasError, match=said):
            fine_tune(start, place, QUESTIONS, QUESTIONS, RECIPE)
        done = fine_tune(start, place, QUESTIONS, QUESTIONS, replace(RECIPE, parts=2))
    assert done.record["steps"] == 24


def test_a_pretraining_of_another_kind_is_not_gone_on_with(tmp_path: Path) -> None:
    "Checkpoints of another corpus, left by a command that was killed, were taken for its own."
    work = tmp_path / "bert.pretraining"
    (work / "checkpoint-3").mkdir(parents=True)
    for name in CHECKPOINT:
        (work / "checkpoint-3" / name).write_text("{}")
    (work / "plan.json").write_text(json.dumps({"architecture": "bert", "corpus": "another"}))
    with pytest.raises(CogbiasError, match="bert.pretraining: was trained with another corpus"):
        small("bert", tmp_path)
    for text in ("{", "[1]"):
        (work / "plan.json").write_text(text)
        with pytest.raises(CogbiasError, match="plan.json: cannot be read .*; remove its folder"):
            small("bert", tmp_path)


def of_another_architecture(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "gpt2"}))


def without_padding(folder: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.pad_token = None
    tokenizer.save_pretrained(folder)


def with_labels_of_another_task(folder: Path) -> None:
    config = transformers.AutoConfig.from_pretrained(folder)
    config.id2label = {0: "right", 1: "wrong"}
    transformers.BertForSequenceClassification(config).save_pretrained(folder)


STARTS = {
    "no head for it": (of_another_architecture, "has the architecture 'gpt2'"),
    "no padding": (without_padding, "its tokenizer has no padding token"),
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


def test_weights_that_were_no_numbers_before_are_not_blamed_on_the_rate(tmp_path: Path) -> None:
    "It read: take a lower rate; no rate would have helped."
    from safetensors.torch import load_file, save_file

    start = small("bert", tmp_path)
    weights = load_file(start / "model.safetensors")
    name = next(each for each in sorted(weights) if each.endswith("query.weight"))
    weights[name][0, 0] = float("nan")
    save_file(weights, start / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CogbiasError) as found:
        train(start, tmp_path / "trained")
    said = str(found.value)
    assert str(start) in said and name.removeprefix("bert.") in said
    assert "are no numbers" in said and "rate" not in said


def test_another_seed_gives_other_weights(tmp_path: Path) -> None:
    start = small("bert", tmp_path)
    ends = [
        fine_tune(start, tmp_path / f"{seed}", QUESTIONS, QUESTIONS, Recipe(epochs=1, seed=seed))
        for seed in (0, 1)
    ]
    weights = [(each.folder / "model.safetensors").read_bytes() for each in ends]
    assert weights[0] != weights[1]


def test_a_checkpoint_that_is_half_written_does_not_count(tmp_path: Path) -> None:
    for step, whole in ((3, True), (6, False)):
        place = tmp_path / f"checkpoint-{step}"
        place.mkdir()
        (place / "model.safetensors").write_bytes(b"half")
        for name in CHECKPOINT if whole else ():
            (place / name).write_text("{}")
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-3"
    assert not (tmp_path / "checkpoint-6").exists()


def test_a_training_killed_after_its_stop_does_not_go_on_learning(tmp_path: Path) -> None:
    "What was killed between the last checkpoint and the end has learnt enough already."
    start = small("bert", tmp_path)
    easy = Recipe(batch=4, rate=1e-3, epochs=6, stop=0.0, device="cpu")  # reached after one epoch
    through = fine_tune(start, tmp_path / "through", QUESTIONS, QUESTIONS, easy)
    assert (through.record["steps"], through.record["reached_stop"]) == (4, True)
    place = tmp_path / "killed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cogbias.training._put_away", lambda *_: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            fine_tune(start, place, QUESTIONS, QUESTIONS, easy)
    killed = fine_tune(start, place, QUESTIONS, QUESTIONS, easy)
    weights = [(each.folder / "model.safetensors").read_bytes() for each in (through, killed)]
    assert weights[0] == weights[1]
    assert killed.record == through.record


def removed(name: str) -> Callable[[Path], None]:
    "What removes a file of a checkpoint."
    return lambda checkpoint: (checkpoint / name).unlink()


def shortened(name: str) -> Callable[[Path], None]:
    "What leaves half of a file."
    return lambda checkpoint: os.truncate(checkpoint / name, 10)


DAMAGES = {
    "optimizer": removed("optimizer.pt"),
    "scheduler": removed("scheduler.pt"),
    "random states": removed("rng_state.pth"),
    "state of the training": removed("trainer_state.json"),
    "weights": removed("model.safetensors"),
    "model.safetensors is not as it was written": shortened("model.safetensors"),
    "config.json is not as it was written": removed("config.json"),
    "being written or removed": removed("whole.json"),
}


def test_a_checkpoint_that_is_not_whole_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    "A Trainer goes on without a missing optimizer or scheduler, and learns something else."
    start = small("bert", tmp_path)
    train(start, tmp_path / "through")
    through = (tmp_path / "through" / "model.safetensors").read_bytes()
    place = tmp_path / "stopped"
    work = place.with_name("stopped.training")
    interrupted_after(10, start, place, RECIPE)
    shutil.copytree(work, tmp_path / "kept")
    for said, damage in DAMAGES.items():
        shutil.rmtree(work)
        shutil.copytree(tmp_path / "kept", work)
        damage(work / "checkpoint-9")
        caplog.clear()
        assert last_checkpoint(work) == work / "checkpoint-6", said
        assert "checkpoint-9: not used and removed" in caplog.text
        assert said in caplog.text
    train(start, place)
    assert (place / "model.safetensors").read_bytes() == through


def test_a_checkpoint_half_removed_is_marked_as_whole_no_more(tmp_path: Path) -> None:
    "A kill while an old checkpoint was removed left a marked one without its optimizer."
    import cogbias.training as room

    start, place = small("bert", tmp_path), tmp_path / "killed"

    def half(folder: Path, *_: object, **__: object) -> None:
        (Path(folder) / "optimizer.pt").unlink()
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutil, "rmtree", half)
        with pytest.raises(KeyboardInterrupt):
            train(start, place)
    work = place.with_name("killed.training")
    steps = sorted(int(each.parent.name.partition("-")[2]) for each in work.glob("*/whole.json"))
    assert steps == [6, 9]  # the newer ones were whole before the old one was touched
    assert room.last_checkpoint(work) == work / "checkpoint-9"


def test_a_checkpoint_whose_best_is_damaged_is_not_used(tmp_path: Path) -> None:
    "A Trainer that does not find the best state keeps the last one in its place."
    start, place = small("bert", tmp_path), tmp_path / "best"
    recipe = replace(RECIPE, keep="best", check_every=2, save_every=0)
    interrupted_after(7, start, place, recipe)
    work = place.with_name("best.training")
    last = last_checkpoint(work)
    state = json.loads((last / "trainer_state.json").read_text())
    best = last.with_name("checkpoint-2")
    state["best_model_checkpoint"] = str(best)
    if not best.exists():
        shutil.copytree(last, best)
    os.truncate(best / "model.safetensors", 10)
    (last / "trainer_state.json").write_text(json.dumps(state))
    marker = json.loads((last / "whole.json").read_text())
    marker["files"]["trainer_state.json"] = (last / "trainer_state.json").stat().st_size
    (last / "whole.json").write_text(json.dumps(marker))
    assert last_checkpoint(work) != last
    assert not last.exists()


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


def test_scores_that_are_no_numbers_are_no_accuracy(tmp_path: Path) -> None:
    "The largest of numbers and of what is none is what is none: a look at it told a share."
    import cogbias.training as room

    plain, start = room._pairs_loss, small("bert", tmp_path)

    def lost(model: object, inputs: dict) -> tuple:
        loss, scores = plain(model, inputs)
        return loss, scores if model.training else scores * float("nan")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_pairs_loss", lost)
        with pytest.raises(CogbiasError, match="a score of a development question is no number"):
            train(start, tmp_path / "lost")
    assert not (tmp_path / "lost").exists()


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


def test_checkpoints_of_nobody_are_not_gone_on_with(tmp_path: Path) -> None:
    "Without the plan beside them, checkpoints of any training were taken for those of this one."
    start = small("bert", tmp_path)
    interrupted_after(10, start, tmp_path / "stopped", RECIPE)
    work = tmp_path / "stopped.training"
    (work / "plan.json").unlink()
    with pytest.raises(CogbiasError, match="holds checkpoints and no plan.json.*remove it"):
        train(start, tmp_path / "stopped")


def test_a_place_that_is_taken_is_said_before_anything_is_learnt(tmp_path: Path) -> None:
    "It was found out when all was learnt, by an error of the system."
    start, place = small("bert", tmp_path), tmp_path / "taken"
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    with pytest.raises(CogbiasError, match="is there, but holds no training.json; move it away"):
        train(start, place)
    assert not (tmp_path / "taken.training").exists()


def test_other_questions_or_another_start_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    start, place = small("bert", tmp_path), tmp_path / "trained"
    brief = replace(RECIPE, epochs=1)
    fine_tune(start, place, QUESTIONS, QUESTIONS, brief)
    with pytest.raises(CogbiasError, match="the questions that it learns from have changed since"):
        fine_tune(start, place, QUESTIONS.assign(right=1), QUESTIONS, brief)
    other = small("bert", tmp_path / "other")
    shutil.copyfile(place / "model.safetensors", other / "model.safetensors")
    with pytest.raises(CogbiasError, match="the weights that it begins with have changed since"):
        fine_tune(other, place, QUESTIONS, QUESTIONS, brief)
    record = json.loads((place / "training.json").read_text())
    assert record.pop("label") == "small self-made model"  # as its start says
    del record["data"], record["start"]
    (place / "training.json").write_text(json.dumps(record))
    fine_tune(other, place, QUESTIONS, QUESTIONS, brief)
    assert "whether that has changed is not known" in caplog.text


def test_bigbird_learns_a_long_pair_alike_whatever_came_before(tmp_path: Path) -> None:
    "It read all in full once it had met a short pair, and after an interruption did not."
    size = Size(hidden=16, layers=2, heads=2)  # of one layer, what is read first sees all anyway
    start = build_small("bigbird", value_sentences(DEAR, CHEAP), tmp_path / "bigbird", size=size)
    config = json.loads((start / "config.json").read_text())
    sparse = {"attention_type": "block_sparse", "block_size": 2, "num_random_blocks": 1}
    (start / "config.json").write_text(json.dumps(config | sparse))
    model, _ = load_learner(start)

    def scores(tokens: int) -> torch.Tensor:
        ids = torch.arange(3 * tokens).reshape(1, 3, tokens) % 20 + 5
        with torch.no_grad():
            return pair_logits(model.eval(), {"input_ids": ids, "attention_mask": ids * 0 + 1})

    before = scores(40)
    scores(6)
    assert torch.equal(scores(40), before)


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
