"""What a folder shows depends on its answers, and not on the order in which they came."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from cogbias.running import effects_of, run_study
from cogbias.study import make_study
from cogbias.verification import verify_folder
from tiers import slow_but

TABLES = ("effects.csv", "effects.parquet")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "Choices, numbers and ratings of participants who answer exactly, now and then, and oddly."
    place = tmp_path_factory.mktemp("order") / "outputs"
    study = make_study(
        models=["sim/human", "sim/messy"],
        paradigms=["classic/framing", "classic/anchoring", "managerial/escalation"],
        repeats=2,
    )
    assert run_study(study, place, reports=False).failed == []
    return place


def shuffled(folder: Path, to: Path, seed: int) -> Path:
    "A copy of a folder whose answers lie in another order."
    shutil.copytree(folder, to)
    chance = random.Random(seed)
    for file in sorted(to.glob("trials/*/*.jsonl")):
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        chance.shuffle(lines)
        file.write_text("".join(lines), encoding="utf-8")
    return to


@pytest.mark.parametrize("seed", slow_but([0], range(2)))
def test_the_same_answers_in_another_order_give_the_same_bytes(
    collected: Path, tmp_path: Path, seed: int
) -> None:
    folder = shuffled(collected, tmp_path / "outputs", seed)
    assert verify_folder(folder).follows
    for name in TABLES:
        (folder / name).unlink()
    effects_of(folder)
    for name in TABLES:
        assert (folder / name).read_bytes() == (collected / name).read_bytes(), name
