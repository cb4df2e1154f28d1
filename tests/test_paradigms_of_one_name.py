"""Two paradigms of one's own may have one name: no answer is scored by the other's declaration."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from threading import Barrier
from typing import NamedTuple

import pandas as pd
import pytest

import cogbias as cb
from cogbias.design import DECLARED_HERE, OWN, Paradigm, declare, paradigm
from cogbias.outputs import trials_of
from cogbias.running_in_python import RunResult
from cogbias.tables import CogbiasError
from cogbias.verification import verified_lines, verify_folder

pytestmark = pytest.mark.usefixtures("forgotten")

ITEMS = cb.items("classic/framing", variants=["base"])
SAID = {
    row.prompt: next(
        each["label"]
        for each in row.options
        if each["role"] == ("target" if row.condition == "treatment" else "buy")
    )
    for row in ITEMS.itertuples()
}  # prompt -> the option of the bias under treatment, and the other one under control


def biased(prompt: str) -> str:
    "Who shows all of the bias: +1 where `target` counts, and -1 where `buy` does."
    return next(label for asked, label in SAID.items() if prompt.endswith(asked))


def counting(role: str) -> Paradigm:
    "A paradigm of the same prompts, called own/table, which counts one of the roles."
    return cb.paradigm_from(ITEMS, target_role=role)


def ran(own: Paradigm, outputs: Path) -> RunResult:
    "A run of who shows all of the bias."
    return cb.run(biased, own, name="m", outputs=outputs, reports=False, progress=False)


def estimate(*source: object) -> float:
    "The headline of a source of effects."
    return cb.effects(*source)["estimate"].iloc[0]


def target_role_of(own: Paradigm) -> str:
    "What a paradigm counts, for another process to say."
    return own.target_role


class Two(NamedTuple):
    "Two runs of one name, in two folders."

    plus: RunResult
    minus: RunResult


@pytest.fixture
def two(tmp_path: Path, forgotten: None) -> Two:
    "The same answers, scored +1 and -1."
    return Two(ran(counting("target"), tmp_path / "plus"), ran(counting("buy"), tmp_path / "minus"))


def test_trials_of_a_run_are_scored_by_what_was_run(two: Two) -> None:
    for read in ([], [two.plus], [two.minus], [two.minus, two.plus]):
        for found in read:
            cb.effects(found.outputs)  # reading a folder changes nothing
        assert estimate(two.plus.trials) == 1
        assert estimate(two.minus.trials) == -1
        assert cb.headline(two.plus.trials)["estimate"].tolist() == [1]
        assert cb.headline(two.minus.outputs)["estimate"].tolist() == [-1]


def test_trials_that_do_not_say_of_which_they_are_get_no_number(two: Two, tmp_path: Path) -> None:
    two.plus.trials.to_parquet(tmp_path / "trials.parquet")
    bare = pd.DataFrame(two.plus.trials.to_dict("list"))
    assert not bare.attrs
    for give in (cb.effects, cb.headline, cb.compare):
        with pytest.raises(CogbiasError, match="own/table: 2 different paradigms of this name"):
            give(bare)
    assert estimate(bare, counting("target")) == 1  # the remedy
    assert estimate(bare, counting("buy")) == -1


def test_of_declarations_that_say_the_same_either_will_do(tmp_path: Path) -> None:
    own = counting("target")
    found = ran(own, tmp_path / "out")
    declare(replace(own, title="Another title"))
    bare = pd.DataFrame(found.trials.to_dict("list"))
    assert estimate(bare) == 1


def test_trials_of_other_prompts_are_those_of_the_paradigm_that_asks_them(tmp_path: Path) -> None:
    clusters = sorted(set(ITEMS["cluster"]))
    parts = [ITEMS["cluster"].isin(clusters[:4]), ITEMS["cluster"].isin(clusters[4:])]
    found = [ran(cb.paradigm_from(ITEMS[part]), tmp_path / str(n)) for n, part in enumerate(parts)]
    for each in [*found, *reversed(found)]:
        bare = pd.DataFrame(each.trials.to_dict("list"))
        assert estimate(bare) == 1
        assert estimate(each.trials) == 1


def test_a_name_means_afterwards_what_it_meant_before(two: Two) -> None:
    meant = paradigm("own/table")
    cb.effects(two.plus.outputs)
    cb.effects(two.plus.trials, counting("target"))
    cb.compare(pd.concat([two.plus.trials, two.plus.trials.assign(participant="n/n")]))
    assert paradigm("own/table") is meant


def test_a_folder_is_read_by_its_own_declaration_whatever_a_notebook_declares(two: Two) -> None:
    own = counting("target")
    turned = [replace(each, score={"buy": 1.0}) for each in own.contrasts]
    mine = declare(replace(own, target_role="buy", contrasts=tuple(turned)))
    assert estimate(two.plus.outputs) == 1
    assert paradigm("own/table") is mine  # what was declared is still meant by the name


@pytest.mark.parametrize("read", [cb.effects, cb.headline], ids=["effects", "headline"])
def test_threads_read_folders_each_by_its_own_declaration(
    two: Two, read: Callable[[Path], pd.DataFrame]
) -> None:
    folders = [two.plus.outputs, two.minus.outputs] * 4
    with ThreadPoolExecutor(4) as threads:
        found = [table["estimate"].iloc[0] for table in threads.map(read, folders)]
    assert found == [1, -1] * 4


def test_threads_run_each_their_own_paradigm(tmp_path: Path) -> None:
    both = Barrier(2)

    def run_with_the_other(role: str) -> RunResult:
        own = counting(role)
        both.wait()
        return ran(own, tmp_path / role)

    with ThreadPoolExecutor(2) as threads:
        plus, minus = threads.map(run_with_the_other, ["target", "buy"])
    assert (plus.headlines["estimate"].item(), minus.headlines["estimate"].item()) == (1, -1)
    stored = [pd.read_csv(tmp_path / role / "effects.csv") for role in ("target", "buy")]
    assert [table["estimate"][0] for table in stored] == [1, -1]


def test_a_thread_knows_what_was_declared_in_another_one_unless_there_are_two(two: Two) -> None:
    alone = declare(replace(counting("buy"), name="own/alone"))
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(paradigm, "own/alone").result() is alone
        thread.submit(declare, counting("target")).result()
    with ThreadPoolExecutor(1) as third:
        with pytest.raises(CogbiasError, match="other threads mean 2 different ones by this name"):
            third.submit(paradigm, "own/table").result()
    OWN.clear()
    DECLARED_HERE.clear()
    with pytest.raises(CogbiasError, match="is not known"):
        paradigm("own/table")


def test_a_copy_is_the_same_declaration(tmp_path: Path) -> None:
    own = counting("target")
    first = ran(own, tmp_path / "out")
    for same in (copy.copy(own), copy.deepcopy(own)):
        again = ran(same, tmp_path / "out")
        assert not [line for line in again.said if "declared otherwise" in line]
        assert again.headlines["estimate"].item() == first.headlines["estimate"].item() == 1


def test_trials_read_from_a_folder_are_of_its_paradigm(two: Two) -> None:
    OWN.clear()
    cb.effects(two.plus.outputs)  # the one that is known now
    assert estimate(trials_of(two.minus.outputs)) == -1
    moved = trials_of(two.minus.outputs)
    OWN.clear()
    cb.effects(two.plus.outputs)
    with pytest.raises(CogbiasError, match="another paradigm of this name than is known here"):
        cb.effects(moved)
    assert estimate(moved, counting("buy")) == -1  # the remedy


def test_a_paradigm_goes_to_another_process_by_its_texts(two: Two) -> None:
    plus, minus = counting("target"), counting("buy")
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        roles = [process.submit(target_role_of, own).result() for own in (plus, minus)]
    assert roles == ["target", "buy"]
    back = pickle.loads(pickle.dumps(plus))
    assert back.target_role == "target" and paradigm("own/table").target_role == "buy"
    changed = replace(plus, title="Another title")
    with pytest.raises(CogbiasError, match="cannot be sent to another"):
        pickle.dumps(changed)


def test_a_result_is_shown_by_the_paradigm_that_was_run(tmp_path: Path) -> None:
    own = counting("target")
    found = ran(replace(own, positive="more of the first kind"), tmp_path / "one")
    before = found._repr_html_()
    ran(replace(own, positive="more of another kind"), tmp_path / "two")
    assert found._repr_html_() == before


def test_who_gives_the_original_again_is_not_asked_what_a_copy_of_it_asks(tmp_path: Path) -> None:
    own = counting("target")
    half = own.items()[lambda items: items["cluster"] == items["cluster"].min()]
    changed = replace(own, title="Another title", items=lambda seed=0: half.reset_index(drop=True))
    assert len(ran(changed, tmp_path / "half").trials) == len(half)
    assert len(ran(own, tmp_path / "whole").trials) == len(own.items()) > len(half)
    assert paradigm("own/table").title == own.title


# --- a wording that is called otherwise


def wordings(first: str) -> pd.DataFrame:
    "Four wordings of a choice; the first is called as you say."
    things = ["mug", "pen", "lamp", "book"]
    names = [first, *things[1:]]
    rows = [
        {
            "wording": name,
            "condition": condition,
            "prompt": f"You {verb} a {thing}. Which do you take?",
            "option_a": f"the {thing}",
            "option_b": "five dollars",
            "target": "a",
        }
        for thing, name in zip(things, names)
        for condition, verb in (("control", "see"), ("treatment", "own"))
    ]
    return pd.DataFrame(rows)


def verified(outputs: Path) -> list[str]:
    "What verify says of a folder."
    return verified_lines(verify_folder(outputs))


def test_a_wording_may_be_called_otherwise_and_keeps_its_answers(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return "A"

    def run_it(name: str, of: pd.DataFrame) -> RunResult:
        own = cb.paradigm_from(of, "mugs")
        how = {"outputs": tmp_path / "out", "revision": "1", "reports": False, "progress": False}
        return cb.run(ask, own, name=name, **how)

    run_it("first", wordings("mug"))
    before = run_it("second", wordings("mug"))
    count = len(asked)
    after = run_it("first", wordings("cup"))
    assert len(asked) == count  # no prompt is new
    assert any("its prompts are the same" in line for line in after.said)
    assert after.effects["estimate"].iloc[0] == before.effects["estimate"].iloc[0]
    assert set(after.trials["cluster"]) == {"cup", "pen", "lamp", "book"}
    assert verify_folder(tmp_path / "out").follows
    told = [line for line in verified(tmp_path / "out") if line.startswith("places ")]
    assert ["function-first" in line or "function-second" in line for line in told] == [True, True]
    assert all("4 answers have another pair, cluster or stratum" in line for line in told), told
    assert all("'mug-base-1', and its item 'cup-base-1'" in line for line in told), told
    everybody = cb.effects(tmp_path / "out")["participant"].unique().tolist()
    assert everybody == ["function/first", "function/second"]  # who was not asked again, too
    assert estimate(after.trials) == after.effects["estimate"].iloc[0]


def test_an_edited_place_in_the_design_is_named(tmp_path: Path) -> None:
    own = cb.paradigm_from(wordings("mug"), "mugs")
    cb.run(lambda prompt: "A", own, name="m", outputs=tmp_path / "out", reports=False)
    assert not [line for line in verified(tmp_path / "out") if line.startswith("places ")]
    (file,) = tmp_path.glob("out/trials/*/own-mugs.jsonl")
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    number = next(at for at, line in enumerate(lines) if '"cluster":"pen"' in line)
    lines[number] = lines[number].replace('"cluster":"pen"', '"cluster":"lamp"')
    file.write_text("".join(lines), encoding="utf-8")
    said = "\n".join(verified(tmp_path / "out"))
    assert "1 answer has another pair, cluster or stratum than the item, which counts" in said
    assert "cluster 'lamp', and its item 'pen'" in said and "or the lines were edited" in said
    assert "not as the run left it, or the import (its answers)" in said


def test_a_table_that_says_no_smallest_effect_says_whose_was_taken(tmp_path: Path) -> None:
    """Numbers of 3 to 7 percent matter where the smallest effect is 1, and not where it is 25.

    The table does not say of which of two paradigms of its name it is.
    """
    asked = cb.items("classic/anchoring", variants=["base"])

    def pull(smallest: float) -> Paradigm:
        number = {"unit": "percent", "smallest": smallest}
        return cb.paradigm_from(asked, "pull", measure="pull", number=number)

    said = {}
    for smallest in (1.0, 25.0):
        how = {"name": "m", "reports": False, "outputs": tmp_path / str(smallest)}
        whole = cb.run(lambda prompt: "30", pull(smallest), **how).effects
        found = whole.assign(estimate=5.0, ci_low=3.0, ci_high=7.0, status="ok", p_value=0.001)
        assert "its table says no smallest effect" not in repr(cb.show(found))
        bare = found.assign(verdict=None, reason=None)
        assert "its table says no smallest effect" not in repr(cb.show(bare))
        said[smallest] = repr(cb.show(bare.assign(smallest=None)))
        assert "own/pull: its table says no smallest effect, so that of the para" in said[smallest]
    assert " present" in said[1.0] and " absent" in said[25.0]
