"""A file of trials is read by the declaration it belongs to, and as its folder reads it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import cogbias as cb
from cogbias.design import DECLARED_HERE, OWN, Paradigm
from cogbias.running_in_python import RunResult
from cogbias.tables import CogbiasError, save_table

pytestmark = pytest.mark.usefixtures("forgotten")

ITEMS = cb.items("classic/framing", variants=["base"])
ROWS = {row.prompt: row for row in ITEMS.itertuples()}


def answer(prompt: str, treatment: str, control: str) -> str:
    "The option of one role under treatment, and of another one under control."
    row = next(row for asked, row in ROWS.items() if prompt.endswith(asked))
    role = treatment if row.condition == "treatment" else control
    return next(each["label"] for each in row.options if each["role"] == role)


def biased(prompt: str) -> str:
    "+1 where `target` counts."
    return answer(prompt, "target", "buy")


def turned(prompt: str) -> str:
    "-1 where `target` counts."
    return answer(prompt, "buy", "target")


def ran(
    outputs: Path, what: Paradigm | pd.DataFrame, who: Callable[[str], str] = biased
) -> RunResult:
    "A run of somebody called m."
    return cb.run(who, what, name="m", outputs=outputs, reports=False, progress=False)


def counting(role: str) -> Paradigm:
    "A paradigm of the same prompts, called own/table, which counts one of the roles."
    return cb.paradigm_from(ITEMS, target_role=role)


def first(source: object) -> float:
    "The first estimate of a source of effects."
    return cb.effects(source)["estimate"].iloc[0]


def as_in_another_process() -> None:
    "Forget what was declared."
    OWN.clear()
    DECLARED_HERE.clear()


# --- two paradigms of one name


@pytest.fixture
def only_minus_is_known(tmp_path: Path, forgotten: None) -> Path:
    "Folders plus and minus, and trials of the first as files; only minus was read since."
    trials = ran(tmp_path / "plus", counting("target")).trials
    ran(tmp_path / "minus", counting("buy"))
    trials.to_parquet(tmp_path / "of_pandas.parquet")
    save_table(trials, tmp_path / "ours.parquet")
    trials.to_csv(tmp_path / "plain.csv", index=False)
    as_in_another_process()
    assert first(tmp_path / "minus") == -1
    return tmp_path


def test_a_file_in_a_folder_is_of_the_paradigm_of_its_folder(only_minus_is_known: Path) -> None:
    for folder, expected in {"plus": 1, "minus": -1}.items():
        file = only_minus_is_known / folder / "trials" / "function-m" / "own-table.jsonl"
        assert first(file) == expected
        assert cb.headline(file)["estimate"].tolist() == [expected]
        assert cb.effects(file).attrs["left_out"] == []


@pytest.mark.parametrize("name", ["of_pandas.parquet", "ours.parquet"])
def test_a_parquet_file_says_of_which_declaration_it_is(
    name: str, only_minus_is_known: Path
) -> None:
    file = only_minus_is_known / name
    for read in (cb.effects, cb.headline):
        with pytest.raises(CogbiasError, match="another paradigm of this name than is known here"):
            read(file)
    cb.effects(only_minus_is_known / "plus")
    assert first(file) == 1


def test_of_trials_that_cannot_say_it_a_line_tells_so(only_minus_is_known: Path) -> None:
    file = only_minus_is_known / "plain.csv"
    for found in (cb.effects(file), cb.headline(file), cb.effects(pd.read_csv(file))):
        (line,) = found.attrs["left_out"]
        assert line.startswith("own/table: 96 trials do not say of which declaration they are")
    given = cb.effects(file, counting("target"))
    assert (given["estimate"].iloc[0], given.attrs["left_out"]) == (1, [])


def test_attributes_of_somebody_elses_file_may_be_anything(tmp_path: Path) -> None:
    trials = ran(tmp_path / "o", counting("target")).trials
    for odd in ("text", 5, ["own/table"], {"own/table": 5}):
        trials.attrs["declared"] = odd
        trials.to_parquet(tmp_path / "odd.parquet")
        assert first(tmp_path / "odd.parquet") == first(trials) == 1


# --- answers that the folder does not use


def test_a_file_in_a_folder_holds_what_the_folder_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(tmp_path / "o", ITEMS, biased)
    ran(tmp_path / "o", ITEMS, turned)
    file = tmp_path / "o" / "trials" / "function-m" / "classic-framing.jsonl"
    found, of_folder = cb.effects(file), cb.effects(tmp_path / "o")
    columns = ["measure", "group", "estimate", "ci_low", "ci_high", "n_items", "n_trials"]
    pd.testing.assert_frame_equal(found[columns], of_folder[columns], check_dtype=False)
    assert found["estimate"].iloc[0] == -1
    assert found.attrs["left_out"] == of_folder.attrs["left_out"]
    assert "96 by another method, seed or repeat" in found.attrs["left_out"][0]
    assert cb.headline(file)["n_trials"].tolist() == [96]
    assert "96" in repr(cb.show(file)) and "192" not in repr(cb.show(file))
    monkeypatch.chdir(file.parent)
    assert first(file.name) == -1
    copy = shutil.copy(file, tmp_path / "copy.jsonl")  # which no folder says anything of
    assert cb.effects(copy)["n_trials"].iloc[0] == 192


def test_a_file_in_a_folder_answers_the_items_of_the_folder(tmp_path: Path) -> None:
    ran(tmp_path / "o", ITEMS[ITEMS["cluster"].isin(sorted(set(ITEMS["cluster"]))[:6])])
    file = tmp_path / "o" / "trials" / "function-m" / "classic-framing.jsonl"
    of_folder = cb.effects(tmp_path / "o")
    columns = ["measure", "group", "estimate", "n_items", "n_clusters"]
    pd.testing.assert_frame_equal(cb.effects(file)[columns], of_folder[columns], check_dtype=False)
