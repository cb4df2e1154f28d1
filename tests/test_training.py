"Training that is killed and goes on, with the real classes of the four architectures, built small."

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from cogbias.training.small_encoders import ARCHITECTURES, Size, build_small, value_sentences
from cogbias.training import (
    Recipe,
    fine_tune,
    last_checkpoint,
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


def small(architecture, folder):
    "An encoder with dropout that has read a few sentences."
    words = [f"{row['question']} {option}" for row in ROWS for option in row["options"]]
    size = Size(hidden=16, layers=1, heads=2, dropout=0.1)
    brief = Recipe(batch=16, rate=2e-3, epochs=1, stop=None, device="cpu")
    sentences = value_sentences(DEAR, CHEAP)
    return build_small(architecture, sentences, folder / architecture, words, size, brief)


def train(start, place):
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


def killed_after(step, start, place):
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
def test_a_killed_training_ends_with_the_same_weights(architecture, tmp_path):
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


def interrupted_after(steps, start, place, recipe):
    "Train, and end in a step, as an interrupt does."
    import cogbias.training as room

    plain, done = room._pairs_loss, iter(range(steps))

    def ends(model, inputs):
        if model.training and next(done, None) is None:
            raise KeyboardInterrupt
        return plain(model, inputs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_pairs_loss", ends)
        with pytest.raises(KeyboardInterrupt):
            fine_tune(start, place, QUESTIONS, QUESTIONS.head(6), recipe)


def test_the_best_state_is_kept_whether_or_not_a_training_was_interrupted(tmp_path):
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


def test_what_a_kill_leaves_half_written_or_half_removed_is_not_used(tmp_path):
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
