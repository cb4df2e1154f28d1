"Trials at hand of several runs: repeats are named, prompts of two designs are kept apart."

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import cogbias as cb
from cogbias.tables import CogbiasError

REPEATS = "count as repeats"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, pd.DataFrame]:
    "The same prompts, answered in two runs whose answers are drawn with other seeds."
    place = tmp_path_factory.mktemp("runs")
    return {
        seed: cb.run(
            "sim/human",
            "classic/anchoring",
            where={"variant": ["base"]},
            method="text",
            seed=seed,
            outputs=place / str(seed),
            reports=False,
        ).trials
        for seed in (1, 2)
    }


def details(effects: pd.DataFrame) -> list[str]:
    "What stands beside each number."
    return effects["detail"].fillna("").tolist()


def test_one_run_has_nothing_to_tell(runs: dict[int, pd.DataFrame]) -> None:
    assert not any(REPEATS in each for each in details(cb.effects(runs[1])))


def test_answers_of_two_seeds_to_the_same_prompts_are_repeats_and_each_row_says_so(
    runs: dict[int, pd.DataFrame],
) -> None:
    both = cb.effects(pd.concat(runs.values()))
    said = "48 of 48 prompts were answered in 2 runs (other seeds), which count as repeats"
    assert all(said in each for each in details(both))
    head = cb.headline(both).iloc[0]
    assert (head["n_items"], head["n_trials"]) == (48, 96)


def test_only_whom_it_concerns_is_told_of_it(runs: dict[int, pd.DataFrame]) -> None:
    once = runs[1].assign(participant="once", trial_id="x" + runs[1]["trial_id"])
    found = cb.effects(pd.concat([*runs.values(), once]))
    of = found.set_index("participant")["detail"].fillna("")
    assert of["sim/human"].str.contains(REPEATS).all()
    assert not of["once"].str.contains(REPEATS).any()


def test_a_comparison_says_it_too(runs: dict[int, pd.DataFrame]) -> None:
    once = runs[1].assign(participant="once", trial_id="x" + runs[1]["trial_id"])
    row = cb.compare(pd.concat([*runs.values(), once])).differences.iloc[0]
    assert "sim/human: 48 of 48 prompts were answered in 2 runs" in row["detail"]
    assert "once: " not in row["detail"]


def test_another_revision_and_another_method_are_named(runs: dict[int, pd.DataFrame]) -> None:
    changed = runs[2].assign(revision="later", method="two_step")
    found = cb.effects(pd.concat([runs[1].assign(revision="first"), changed]))
    for said in (
        "2 methods under one name (text, two_step)",
        "2 revisions under one name (first, later)",
    ):
        assert all(said in each for each in details(found)), said


@pytest.mark.parametrize("name", ["managerial/attribution", "choice/certainty"])
def test_prompts_of_two_seeds_that_share_their_places_are_no_pairs(
    name: str, tmp_path: Path
) -> None:
    told = {"source": "fresh"} if name == "choice/certainty" else {}
    items = [cb.items(name, seed=seed, **told) for seed in (1, 2)]
    trials = [
        cb.run("sim/human", table, outputs=tmp_path / str(number), reports=False).trials
        for number, table in enumerate(items)
    ]
    for mine, asked in zip(trials, items):
        assert len(cb.effects(mine, asked))
    pooled = pd.concat(items, ignore_index=True)
    with pytest.raises(CogbiasError, match="hold the place of another prompt") as end:
        cb.effects(pd.concat(trials), pooled)
    assert name in str(end.value) and "\n" not in str(end.value)


def test_a_run_of_such_prompts_says_so(tmp_path: Path) -> None:
    one, other = (cb.items("managerial/framing", seed=seed) for seed in (1, 2))
    asked = {"one": one, "both": pd.concat([one, other], ignore_index=True)}
    said = {
        name: cb.run("sim/human", items, outputs=tmp_path / name, reports=False).said
        for name, items in asked.items()
    }
    found = {name: [each for each in said[name] if "hold the place of" in each] for name in asked}
    assert found["one"] == []
    (line,) = found["both"]
    assert line.startswith("managerial/framing: ") and "in a folder of its own" in line


def test_two_participants_may_each_have_prompts_of_another_seed(tmp_path: Path) -> None:
    items = [cb.items("managerial/attribution", seed=seed) for seed in (1, 2)]
    trials = [
        cb.run(who, table, outputs=tmp_path / who, reports=False).trials
        for who, table in zip(("sim/human", "sim/rational"), items)
    ]
    found = cb.headline(cb.effects(pd.concat(trials), pd.concat(items, ignore_index=True)))
    assert found["n_items"].tolist() == [200, 200]


def test_prompts_of_two_seeds_with_places_of_their_own_are_more_prompts(tmp_path: Path) -> None:
    trials, items = [], []
    for seed in (1, 2):
        table = cb.items("managerial/attribution", seed=seed)
        for name in ("pair_id", "cluster", "order_group"):
            table[name] = f"seed {seed}: " + table[name]
        trials.append(
            cb.run("sim/human", table, outputs=tmp_path / str(seed), reports=False).trials
        )
        items.append(table)
    head = cb.headline(cb.effects(pd.concat(trials), pd.concat(items, ignore_index=True))).iloc[0]
    assert head["n_items"] == 400 and "100 clusters" in head["detail"]


@pytest.mark.parametrize("number", [1000.0, -1.0, 100.5])
def test_a_number_that_the_prompt_does_not_ask_for_is_no_answer(
    number: float, runs: dict[int, pd.DataFrame]
) -> None:
    trials = runs[1].reset_index(drop=True)
    trials.loc[:1, ["choice", "value"]] = f"{number:g}", number
    with pytest.raises(CogbiasError, match="2 of 48 trials give a number outside 0 to 100") as end:
        cb.effects(trials)
    said = str(end.value)
    assert trials["trial_id"][0] in said and f"{number:g}" in said and "\n" not in said


@pytest.mark.parametrize("number", [0.0, 100.0])
def test_the_ends_of_a_range_belong_to_it(number: float, runs: dict[int, pd.DataFrame]) -> None:
    trials = runs[1].reset_index(drop=True)
    trials.loc[0, ["choice", "value"]] = f"{number:g}", number
    assert cb.headline(cb.effects(trials))["n_valid"].tolist() == [48]


def test_a_design_with_two_prompts_at_one_place_is_estimated_from_trials_too(tmp_path) -> None:
    rows = []
    for number in range(8):
        for condition in ("control", "treatment"):
            for persona in ("a clerk", "a pilot"):
                for order in (1, 2):
                    texts = ["red", "blue"][:: 1 if order == 1 else -1]
                    options = [
                        {
                            "label": label,
                            "text": text,
                            "role": "target" if text == "red" else "other",
                            "value": 1,
                        }
                        for label, text in zip("AB", texts)
                    ]
                    rows.append(
                        {
                            "condition": condition,
                            "cluster": f"c{number}",
                            "pair_id": f"p{number}",
                            "stratum": "all",
                            "order_group": f"{number} {condition}",
                            "persona": persona,
                            "prompt": f"You are {persona}. Story {number} {condition}: {texts}?",
                            "answer": "choice",
                            "system": None,
                            "content": {},
                            "options": options,
                        }
                    )
    mine = cb.paradigm_from(pd.DataFrame(rows), name="perso", bias="redness")
    run = cb.run(lambda prompt: "A", mine, name="A", outputs=tmp_path, reports=False)
    again = cb.effects(run.trials, items=mine.items())
    assert cb.headline(again)["estimate"].tolist() == cb.headline(run.effects)["estimate"].tolist()
