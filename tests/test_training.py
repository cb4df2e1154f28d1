"Training that is killed and goes on, with the real classes of the four architectures, built small."

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from cogbias.small_encoders import ARCHITECTURES, Size, build_small, value_sentences
from cogbias.training import Recipe, fine_tune, last_checkpoint, read_trained

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
    whole = place.with_name(f"{place.name}.training") / f"checkpoint-{step}" / "whole.json"
    deadline = time.monotonic() + 120
    while not whole.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("architecture", ONE_IN_MAKE_TEST)
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
        if whole:
            (place / "whole.json").write_text("{}")
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
