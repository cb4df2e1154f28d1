"""Published managerial test cases and decisions: the published scores, oddities, broken files.

The files are made up here, in the columns of the published ones; nothing of those is in this
repository.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pandas as pd
import pytest
from typer.testing import CliRunner

from cogbias.cli import app
from cogbias.design import paradigm, paradigms
from cogbias.effects import estimate_effects
from cogbias.exchange import import_answers, import_items
from cogbias.exchange.malberg import (
    DECISIONS,
    ODDITIES,
    TESTS,
    import_malberg,
    published_score,
    read_malberg,
)
from cogbias.outputs import Folder, left_out, stored_settings, trials_of
from cogbias.tables import CogbiasError

BIASES = {  # name in test cases -> paradigm, length of the scale
    "Escalation Of Commitment": ("managerial/escalation", 11),
    "Conservatism": ("managerial/conservatism", 7),
    "Information Bias": ("managerial/information", 7),
    "Planning Fallacy": ("managerial/planning_fallacy", 11),
    "Fundamental Attribution Error": ("managerial/attribution", 7),
}
ALL = BIASES | {
    "Anchoring": ("managerial/anchoring", 11),
    "Anthropomorphism": ("managerial/anthropomorphism", 7),
    "Availability Heuristic": ("managerial/availability", 11),
    "Bandwagon Effect": ("managerial/bandwagon", 7),
    "Confirmation Bias": ("managerial/confirmation", 11),
    "Disposition Effect": ("managerial/disposition", 7),
    "Endowment Effect": ("managerial/endowment", 11),
    "Framing Effect": ("managerial/framing", 7),
    "Halo Effect": ("managerial/halo", 7),
    "Hindsight Bias": ("managerial/hindsight", 11),
    "Hyperbolic Discounting": ("managerial/hyperbolic_discounting", 7),
    "Illusion Of Control": ("managerial/illusion_of_control", 11),
    "In Group Bias": ("managerial/in_group", 7),
    "Loss Aversion": ("managerial/loss_aversion", 7),
    "Mental Accounting": ("managerial/mental_accounting", 7),
    "Negativity Bias": ("managerial/negativity", 7),
    "Not Invented Here": ("managerial/not_invented_here", 7),
    "Optimism Bias": ("managerial/optimism", 11),
    "Reactance": ("managerial/reactance", 11),
    "Risk Compensation": ("managerial/risk_compensation", 11),
    "Self Serving Bias": ("managerial/self_serving", 7),
    "Social Desirability Bias": ("managerial/social_desirability", 7),
    "Status Quo Bias": ("managerial/status_quo", 7),
    "Stereotyping": ("managerial/stereotyping", 7),
    "Survivorship Bias": ("managerial/survivorship", 7),
}
UPWARD = {  # biases of which the published kappa is always 1
    *("Anchoring", "Anthropomorphism", "Confirmation Bias", "Endowment Effect", "Hindsight Bias"),
    *("Escalation Of Commitment", "Mental Accounting", "Planning Fallacy", "Self Serving Bias"),
    *("Stereotyping", "Survivorship Bias"),
}
FLIPPED = {  # biases of which the treatment rating is counted from the other end
    *("Bandwagon Effect", "Disposition Effect", "Information Bias", "Loss Aversion"),
    *("Negativity Bias", "Status Quo Bias"),
}
CUES = (
    " ",
    "You are competing against several other managers",
    "You have full authority over the tests",
    "You are very familiar with tests",
    "For each test, you will be personally and deeply involved",
)
INDUSTRIES = ("energy", "banks", "media & entertainment", "utilities")


# -- made-up files ---------------------------------------------------------------------------------


def template(condition: str, story: str, options: list[str], inserted: dict[str, str]) -> str:
    "A template as XML, with what was inserted."
    insertions = "".join(
        f'<insertion origin="user" instruction={quoteattr(name)}>{escape(text)}</insertion>'
        for name, text in inserted.items()
    )
    listed = "".join(f"<option>{escape(each)}</option>" for each in options)
    return (
        f'<template type="{condition}"><situation>{escape(story)}</situation>'
        f"<prompt>Which?</prompt>{listed}<insertions>{insertions}</insertions></template>"
    )


def formatted(story: str, options: list[str]) -> str:
    "The same as text."
    listed = "".join(f"Option {n}: {each}\n" for n, each in enumerate(options, 1))
    return f"Situation:\n{story}\n\nPrompt:\nWhich?\n\nAnswer Options:\n{listed}"


def was_inserted(bias: str, draw: random.Random) -> tuple[dict[str, str], dict[str, str], str]:
    "What the published code inserts into control and treatment, and its remark."
    both: dict[str, str] = {}
    control: dict[str, str] = {}
    treatment: dict[str, str] = {}
    remarks = "None"
    one, other = draw.sample([0, 1], 2)
    if bias == "Planning Fallacy":
        treatment["estimation_update"] = str(10 * draw.randint(1, 4))
    if bias == "Fundamental Attribution Error":
        kinds = "dispositional", "situational"
        for name, place in (("control_reason", one), ("other_control_reason", other)):
            control[name] = f"[[Give a {kinds[place]} reason]]"
    if bias == "Anchoring":
        treatment["anchor"] = str(draw.randint(10, 89))
    if bias == "Hindsight Bias":
        treatment["percentage"] = str(draw.randint(-49, 49))
    if bias == "Availability Heuristic":
        both["outcome"] = ("failure", "success")[one]
    if bias == "Bandwagon Effect":
        both["majority_opinion"] = "AB"[one]
    if bias == "Confirmation Bias":
        both["kind"] = ("positive", "negative")[one]
    if bias == "Halo Effect":
        both["perception"] = ("positively", "negatively")[one]
    if bias == "Optimism Bias":
        both["event_kind"] = ("positive", "negative")[one]
    if bias == "Hyperbolic Discounting":
        now = (
            "Take {{earlier_reward}} immediately",
            "Take {{later_reward}} in {{months_delay}} months",
        )
        both |= {"earlier_reward": "85", "later_reward": "97"}
        both["months_delay"] = str(draw.randint(2, 11))
        control |= {"control_scheme": now[one], "other_control_scheme": now[other]}
        treatment |= {"treatment_scheme": "in 1 year", "other_treatment_scheme": "in 1 year and"}
    if bias == "Loss Aversion":
        choices = (
            "[[Tell]]. It guarantees {{base_amount}}",
            "[[Tell]]. It is equally likely to lead",
        )
        control |= {"control_choice": choices[one], "other_control_choice": choices[other]}
        treatment |= {"treatment_choice": choices[one], "other_treatment_choice": choices[other]}
        both |= {"lambda_amount": "712.4", "base_amount": "31"}
    if bias == "Risk Compensation":
        risk = 10 * draw.randint(2, 9)
        both["initial_risk"] = f"{risk}%"
        treatment["risk_reduction"] = f"{draw.randrange(10, risk, 10)}%"
    if bias == "Social Desirability Bias":
        both["statement"] = "I'm never late"
        remarks = str({"statement": "I'm never late", "desirable": one == 0})
    if bias == "Not Invented Here":
        remarks = str({"externality": draw.choice(["organizational", "contextual", "spatial"])})
    if bias == "Illusion Of Control":
        treatment["treatment_variant"] = draw.choice(CUES)
        remarks = str({"treatment_variant": treatment["treatment_variant"]})
    return both | control, both | treatment, remarks


def a_test(number: int, bias: str, scenario: str, draw: random.Random) -> dict[str, Any]:
    "A row of test cases."
    points = ALL[bias][1] if bias in ALL else 7
    options = [f"point {place} of plan {number}" for place in range(points)]
    inserted: dict[str, dict[str, str]] = {}
    inserted["control"], inserted["treatment"], remarks = was_inserted(bias, draw)
    row = {"id": number, "bias": bias, "scenario": scenario, "variant": "None", "remarks": remarks}
    row |= {"generator": "gpt-4o-2024-08-06", "temperature": 0.7, "seed": 1, "timestamp": "2024"}
    for condition in ("control", "treatment"):
        story = f"You are a manager. Case {number} of {bias}, {condition}."
        row[f"raw_{condition}"] = template(condition, story, options, inserted[condition])
        row[condition] = formatted(story, options)
    return row


def a_tests_file(instances: int = 2, more: Iterable[str] = ()) -> list[dict[str, Any]]:
    "Test cases of five biases, and of others."
    draw = random.Random(3)
    rows: list[dict[str, Any]] = []
    for bias in (*BIASES, *more):
        for industry in INDUSTRIES:
            scenario = f"A manager at a company from the {industry} industry deciding on {bias}."
            rows += [a_test(len(rows) + n, bias, scenario, draw) for n in range(instances)]
    return rows


def inserted_first(test: dict[str, Any], condition: str, name: str) -> str:
    "What was inserted first under a name."
    found = re.search(f'instruction="{name}">(.*?)</insertion>', test[f"raw_{condition}"])
    assert found, (test["bias"], name)
    return found[1]


def published_kappa(test: dict[str, Any]) -> int:
    "The sign of the bias, as the published code finds it."
    telling = {
        "Bandwagon Effect": ("control", "majority_opinion", "A", -1),
        "Fundamental Attribution Error": ("control", "control_reason", "dispositional", 1),
        "Halo Effect": ("treatment", "perception", "positively", 1),
        "Hyperbolic Discounting": ("control", "control_scheme", "immediately", -1),
        "Loss Aversion": ("treatment", "treatment_choice", "guarantees", -1),
        "Optimism Bias": ("treatment", "event_kind", "positive", -1),
    }
    bias = test["bias"]
    if bias == "Social Desirability Bias":
        return 1 if "'desirable': True" in test["remarks"] else -1
    if bias in telling:
        condition, name, word, kappa = telling[bias]
        return kappa if word in inserted_first(test, condition, name) else -kappa
    return 1 if bias in UPWARD else -1


def published_formula(
    test: dict[str, Any], control: int, treatment: int, old: bool = True
) -> float:
    "The score as the published code computes it, written down a second time."
    bias, kappa, x1, x2 = test["bias"], published_kappa(test), 0, 0
    if bias == "Planning Fallacy":
        x1, x2 = -int(inserted_first(test, "treatment", "estimation_update")) // 10, -3
    if bias == "Anchoring":
        x1 = x2 = round(int(inserted_first(test, "treatment", "anchor")) / 10)
    if bias == "Hindsight Bias":
        x1 = x2 = 5 + round(int(inserted_first(test, "treatment", "percentage")) / 10)
    if bias in FLIPPED or bias == "Conservatism" and old:
        treatment = ALL[bias][1] - 1 - treatment
    one, two = abs(control - x1), abs(treatment - x2)
    return kappa * (one - two) / (max(one, two) + 1e-8)


def a_decision(
    test: dict[str, Any], draw: random.Random, old: bool = True, **changes: Any
) -> dict[str, Any]:
    "A row of decisions."
    points = ALL[test["bias"]][1] if test["bias"] in ALL else 7
    order = [*range(points)][:: draw.choice([1, -1])]
    places = {each: draw.randrange(points) for each in ("control", "treatment")}
    row = {"id": test["id"], "model": "GPT-4o", "temperature": 0.0, "seed": 43, "status": "OK"}
    row |= {"timestamp": "2024-10-01 10:00:00", "bias": test["bias"].title().replace(" ", "")}
    for condition, place in places.items():
        row |= {
            f"{condition}_options": str([f"point {n} of plan {test['id']}" for n in range(points)]),
            f"{condition}_option_order": str(order),
            f"{condition}_answer": f"I weigh it,\nand take “point {place}”.",
            f"{condition}_extraction": f"Option {order.index(place) + 1}",
            f"{condition}_decision": place,
        }
    row["individual_score"] = published_formula(test, *places.values(), old)
    row["weight"] = 1.0
    return {name: row.get(name) for name in DECISIONS} | changes


ERROR: dict[str, Any] = {
    **{name: None for name in DECISIONS if name.startswith(("control_", "treatment_"))},
    **{"individual_score": None, "weight": None, "status": "ERROR"},
    "error_message": "Could not extract the chosen option from the model's response:\n\nHm.",
}


def written(folder: Path, tests: list[dict], decisions: list[dict] | None = None) -> Path:
    "A folder with these files."
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(tests).to_csv(folder / "full_dataset.csv", index=False)
    if decisions is not None:
        pd.DataFrame(decisions).to_csv(folder / "GPT-4o.csv", index=False)
    return folder


def decided(tests: list[dict], old: bool = True, seed: int = 5) -> list[dict[str, Any]]:
    "A decision on every test."
    draw = random.Random(seed)
    return [a_decision(test, draw, old) for test in tests]


def counts(found: Any) -> dict[str, int]:
    "How often each oddity was met."
    return found.oddities.groupby("code")["count"].sum().to_dict()


@pytest.fixture(scope="module")
def tests() -> list[dict[str, Any]]:
    "Two instances of four scenarios of the five biases."
    return a_tests_file()


# -- what is read ----------------------------------------------------------------------------------


def test_the_columns_are_those_of_the_publication(tests: list[dict]) -> None:
    assert len(TESTS) == 12 and len(DECISIONS) == 20
    assert set(tests[0]) == {"id", *TESTS}
    assert set(decided(tests)[0]) == set(DECISIONS)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory, tests: list[dict]) -> tuple[Any, Path, list]:
    "The made-up data set, read and written."
    place = tmp_path_factory.mktemp("malberg")
    decisions = decided(tests)
    return import_malberg(written(place / "in", tests, decisions), place / "out"), place, decisions


@pytest.fixture(scope="module")
def all_tests() -> list[dict[str, Any]]:
    "Two instances of four scenarios of the thirty biases."
    return a_tests_file(more=[bias for bias in ALL if bias not in BIASES])


@pytest.fixture(scope="module")
def imported_all(
    tmp_path_factory: pytest.TempPathFactory, all_tests: list[dict]
) -> tuple[Any, Path, list]:
    "A made-up data set of all thirty, read and written."
    place = tmp_path_factory.mktemp("thirty")
    decisions = decided(all_tests)
    found = import_malberg(written(place / "in", all_tests, decisions), place / "out")
    return found, place, decisions


def test_no_published_bias_is_without_a_paradigm(imported_all: tuple) -> None:
    found, _, _ = imported_all
    here = {name for name in paradigms() if name.startswith("managerial/")}
    assert {*found.items} == {name for name, _ in ALL.values()} == here and len(here) == 30
    assert set(found.tests.values()) == {8}
    assert set(counts(found)) == {"none_text", "reversed", "old_flip", "epsilon"}


def test_every_item_can_be_asked_again(imported_all: tuple) -> None:
    found, _, _ = imported_all
    for name, items in found.items.items():
        assert set(paradigm(name).breakdown) <= set(items.columns), name


@pytest.fixture(scope="module")
def all_trials(imported_all: tuple) -> pd.DataFrame:
    "The answers to all thirty."
    return trials_of(imported_all[1] / "out")


@pytest.mark.parametrize("bias", ALL)
def test_the_published_metric_gives_the_published_scores(
    imported_all: tuple, all_trials: pd.DataFrame, bias: str
) -> None:
    found, _, decisions = imported_all
    name = ALL[bias][0]
    mine = [each for each in decisions if each["bias"] == bias.title().replace(" ", "")]
    published = sum(each["individual_score"] for each in mine) / len(mine)
    trials = all_trials[all_trials["paradigm"] == name]
    effects = estimate_effects(trials, found.items[name], paradigm(name))
    score = effects.set_index(["measure", "group"])["estimate"]["rating_m", "all"]
    assert abs(score - published) < 1e-7
    assert abs(published) > 1e-3  # a score of nothing would agree with anything


def test_every_single_score_is_the_published_one(
    imported_all: tuple, all_tests: list[dict]
) -> None:
    found, _, _ = imported_all
    by_id = {test["id"]: test for test in all_tests}
    assert len(found.decisions) == len(all_tests) == 240
    for each in found.decisions:
        formula = published_formula(by_id[each.test.number], *each.chosen.values())
        assert abs(published_score(each.test, each.chosen) - formula) < 1e-7, each.test.paradigm


@pytest.mark.parametrize(("bias", "shift"), [("Anchoring", 0), ("Hindsight Bias", 5)])
def test_a_corrected_reference_is_not_rounded(
    imported_all: tuple, all_tests: list[dict], bias: str, shift: int
) -> None:
    found, _, _ = imported_all
    by_id = {test["id"]: test for test in all_tests}
    inserted = {"Anchoring": "anchor", "Hindsight Bias": "percentage"}[bias]
    for item in found.items[ALL[bias][0]].to_dict("records"):
        number = int(inserted_first(by_id[item["published_id"]], "treatment", inserted))
        assert item["corrected_reference_treatment"] == shift + number / 10
        assert item["reference_treatment"] == shift + round(number / 10)
        assert item["reference_control"] == item["reference_treatment"]


@pytest.mark.parametrize("bias", ALL)
def test_both_spellings_of_a_bias_are_read(tmp_path: Path, bias: str) -> None:
    made = a_test(0, bias, "A manager.", random.Random(1))
    joined = bias.title().replace(" ", "")
    for place, spelling in enumerate((bias, joined, bias.replace(" Of ", " of ").upper())):
        found = read_malberg(written(tmp_path / str(place), [made | {"bias": spelling}]))
        assert found.tests == {ALL[bias][0]: 1}


NOT_THERE = [  # bias, the column that lacks what was drawn, what it holds instead
    ("Anchoring", "raw_treatment", "<template/>"),
    ("Availability Heuristic", "raw_control", "<template/>"),
    ("Bandwagon Effect", "raw_control", None),
    ("Fundamental Attribution Error", "raw_control", "<template/>"),
    ("Halo Effect", "raw_treatment", "<template/>"),
    ("Hindsight Bias", "raw_treatment", None),
    ("Hyperbolic Discounting", "raw_control", "<template/>"),
    ("Illusion Of Control", "remarks", "None"),
    ("Loss Aversion", "raw_treatment", "<template/>"),
    ("Not Invented Here", "remarks", "{}"),
    ("Optimism Bias", "raw_treatment", "<template/>"),
    ("Planning Fallacy", "raw_treatment", "<template/>"),
    ("Risk Compensation", "raw_treatment", "<template/>"),
    ("Social Desirability Bias", "remarks", "None"),
]


@pytest.mark.parametrize(("bias", "column", "value"), NOT_THERE)
def test_a_test_without_its_drawn_value_is_left_out_and_named(
    tmp_path: Path, all_tests: list[dict], bias: str, column: str, value: str | None
) -> None:
    mine = [test for test in all_tests if test["bias"] == bias]
    decisions = decided(mine)
    mine[2] = mine[2] | {column: value}
    found = read_malberg(written(tmp_path / "in", mine, decisions))
    left = found.oddities[found.oddities["code"] == "not_drawn"].set_index("where")
    assert left["count"].to_dict() == {f"{bias!r}": 2}  # the test and the decision on it
    assert left["first"].tolist() == ["full_dataset.csv: record 3"]
    assert found.tests == {ALL[bias][0]: 7} and len(found.decisions) == 7
    assert not {"unknown_id", "lost", "score_differs"} & set(counts(found))


@pytest.mark.parametrize(
    ("bias", "column", "old", "new", "said"),
    [
        ("Anchoring", "raw_treatment", r">-?\d+<", ">many<", "inserts 'many'"),
        ("Bandwagon Effect", "raw_control", ">[AB]<", ">C<", "inserts 'C'"),
        ("Halo Effect", "raw_treatment", ">(posi|nega)tively<", ">oddly<", "inserts 'oddly'"),
        ("Hindsight Bias", "raw_treatment", r">-?\d+<", ">70<", "inserts '70'"),
        ("Hyperbolic Discounting", "raw_control", ">Take[^<]+<", ">Take<", "inserts 'Take'"),
        ("Loss Aversion", "raw_treatment", ">[^<>]*It [^<]+<", ">It<", "inserts 'It'"),
        ("Risk Compensation", "raw_treatment", ">[0-9]+%<", ">5<", "inserts '5'"),
        ("Social Desirability Bias", "remarks", "True|False", "'yes'", "'desirable'"),
        ("Social Desirability Bias", "remarks", "^.*$", "open(1)", "printed dictionary"),
        ("Social Desirability Bias", "remarks", "^.*$", "[1]", "printed dictionary"),
        ("Not Invented Here", "remarks", "'[a-z]+'}", "'lunar'}", "'externality'"),
        ("Illusion Of Control", "remarks", ": .*}", ": 'You win'}", "'treatment_variant'"),
    ],
)
def test_a_drawn_value_that_is_none_stops_the_import(
    tmp_path: Path, all_tests: list[dict], bias: str, column: str, old: str, new: str, said: str
) -> None:
    mine = [test for test in all_tests if test["bias"] == bias]
    changed = re.sub(old, new, mine[1][column])
    assert changed != mine[1][column]
    mine[1] = mine[1] | {column: changed}
    found = complaint(tmp_path / "in", mine, None)
    assert found.startswith(f"full_dataset.csv: record 2: column '{column}'") and said in found


def test_conservatism_agrees_under_both_formulas(imported: tuple, tests: list[dict]) -> None:
    found, place, decisions = imported
    name = "managerial/conservatism"
    trials = trials_of(place / "out")
    effects = estimate_effects(
        trials[trials["paradigm"] == name], found.items[name], paradigm(name)
    )
    score = effects.set_index(["measure", "group"])["estimate"]
    by_id = {test["id"]: test for test in tests}
    mine = [each for each in decisions if each["bias"] == "Conservatism"]
    for measure, old in (("rating_m", True), ("rating_m_corrected", False)):
        scores = [
            published_formula(
                by_id[each["id"]], each["control_decision"], each["treatment_decision"], old
            )
            for each in mine
        ]
        assert abs(score[measure, "all"] - sum(scores) / len(scores)) < 1e-7
    assert abs(score["rating_m", "all"] - score["rating_m_corrected", "all"]) > 0.01


def test_unequal_numbers_of_instances_weigh_as_published(tmp_path: Path, tests: list[dict]) -> None:
    some = [test for test in tests if test["bias"] == "Information Bias"][:7]
    decisions = decided(some)
    found = import_malberg(written(tmp_path / "in", some, decisions), tmp_path / "out")
    name = "managerial/information"
    effects = estimate_effects(trials_of(tmp_path / "out"), found.items[name], paradigm(name))
    score = effects.set_index(["measure", "group"])["estimate"]["rating_m", "all"]
    assert abs(score - sum(each["individual_score"] for each in decisions) / 7) < 1e-7


def test_an_item_is_what_was_shown(imported: tuple, tests: list[dict]) -> None:
    found, place, decisions = imported
    trials = trials_of(place / "out")
    items = pd.concat(found.items.values()).set_index("item_id")
    by_id = {each["id"]: each for each in decisions}
    assert set(items["option_order"]) == {1, 2}
    for trial in trials.to_dict("records"):
        item = items.loc[trial["item_id"]]
        decision = by_id[item["published_id"]]
        condition = item["condition"]
        assert trial["value"] == decision[f"{condition}_decision"]
        assert trial["choice"] == decision[f"{condition}_extraction"]
        assert trial["response"] == decision[f"{condition}_answer"]
        shown = [float(each) for each in eval_list(decision[f"{condition}_option_order"])]
        assert [each["value"] for each in item["options"]] == shown
        last = item["prompt"].rpartition("Answer Options:\n")[2].splitlines()
        assert last == [f"{each['label']}: {each['text']}" for each in item["options"]]
    assert (trials["method"] == "two_step").all() and (trials["seed"] == 43).all()
    assert (trials["temperature"] == 0).all() and set(trials["participant"]) == {"malberg/GPT-4o"}
    assert items["industry"].isin(INDUSTRIES).all() and set(items["instance"]) == {0, 1}
    assert items.groupby("paradigm")["cluster"].nunique().tolist() == [4] * 5


def eval_list(text: str) -> list[str]:
    "The parts of a printed list of numbers."
    return text.strip("[]").split(", ")


def test_drawn_values_are_those_of_the_test(imported: tuple, tests: list[dict]) -> None:
    found, _, _ = imported
    by_id = {test["id"]: test for test in tests}
    for item in found.items["managerial/planning_fallacy"].to_dict("records"):
        text = by_id[item["published_id"]]["raw_treatment"]
        assert f'"estimation_update">{item["drawn_longer"]}<' in text
        assert item["reference_control"] == -item["drawn_longer"] / 10
        assert (item["reference_treatment"], item["corrected_reference_treatment"]) == (-3, 0)
    for item in found.items["managerial/attribution"].to_dict("records"):
        first = by_id[item["published_id"]]["raw_control"].split('"control_reason"')[1][:40]
        assert (item["drawn_reason_x"] == "character") == ("dispositional" in first)
        assert item["kappa"] == (1 if item["drawn_reason_x"] == "character" else -1)


def test_import_is_the_same_from_files_in_another_order(tmp_path: Path, tests: list[dict]) -> None:
    decisions = decided(tests)
    one = import_malberg(written(tmp_path / "a", tests, decisions), tmp_path / "one")
    two = import_malberg(written(tmp_path / "b", tests, decisions[::-1]), tmp_path / "two")
    assert one.tests == two.tests
    ids = [set(trials_of(tmp_path / each)["trial_id"]) for each in ("one", "two")]
    assert ids[0] == ids[1] and len(ids[0]) == 2 * len(tests)


# -- the folder ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_command_works_on_the_folder(
    tmp_path: Path, tests: list[dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    # pages of the library are not looked at
    monkeypatch.setattr("cogbias.site.pages.repository_notebooks", lambda: None)
    kept = [test for test in tests if test["bias"] == "Conservatism"]
    decisions = decided(kept)
    other = [each | {"model": "google/gemma-2-9b-it"} for each in decided(kept, seed=9)]
    folder = written(tmp_path / "in", kept, decisions + other)
    out, runner = str(tmp_path / "out"), CliRunner()
    said = runner.invoke(app, ["import", "malberg", str(folder), "--out", out])
    assert said.exit_code == 0, said.output
    assert "test cases 8, paradigms 1, decisions 16, participants 2: written" in said.output
    for command in (
        ["effects", out],
        ["compare", out, "malberg/GPT-4o", "malberg/google/gemma-2-9b-it"],
        ["report", out],
        ["site", out],
    ):
        said = runner.invoke(app, command)
        assert said.exit_code == 0, (command, said.output, said.exception)
    assert not left_out(out)
    reports = sorted(Path(out, "reports").glob("*/*.ipynb"))
    assert len(reports) == 2
    assert "imported from published files, in their wording" in reports[0].read_text()


def test_test_cases_alone_are_items(tmp_path: Path, tests: list[dict]) -> None:
    out = tmp_path / "out"
    place = written(tmp_path / "in", tests) / "full_dataset.csv"
    said = CliRunner().invoke(app, ["import", "malberg", str(place), "--out", str(out)])
    assert said.exit_code == 0 and "no decisions here" in said.output
    assert len(list(out.glob("items/*.parquet"))) == 5 and not (out / "trials").exists()
    asked = CliRunner().invoke(
        app,
        ["run", "--model", "sim/human", "--paradigm", "managerial/conservatism", "--no-reports"]
        + ["--items", str(out / "items" / "managerial-conservatism.parquet")]
        + ["--outputs", str(tmp_path / "asked")],
    )
    assert asked.exit_code == 0, asked.output


def test_a_folder_with_results_is_left_alone(tmp_path: Path, tests: list[dict]) -> None:
    folder = written(tmp_path / "in", tests, decided(tests))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "note.txt").write_text("mine")
    with pytest.raises(CogbiasError, match="is not empty; name a new folder"):
        import_malberg(folder, tmp_path / "out")
    assert [each.name for each in (tmp_path / "out").iterdir()] == ["note.txt"]
    with pytest.raises(CogbiasError, match="name a new folder"):
        import_items("malberg", folder)
    with pytest.raises(CogbiasError, match="holds no answers"):
        import_answers("csv", folder, tmp_path / "new")


def test_nothing_is_written_when_a_file_is_broken(tmp_path: Path, tests: list[dict]) -> None:
    wrong = decided(tests)
    wrong[-1]["status"] = "PERHAPS"
    with pytest.raises(CogbiasError):
        import_malberg(written(tmp_path / "in", tests, wrong), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("model", ["Random", "random-model"])
def test_the_random_model_is_marked_as_simulated(
    tmp_path: Path, tests: list[dict], model: str
) -> None:
    decisions = [each | {"model": model} for each in decided(tests)]
    import_malberg(written(tmp_path / "in", tests, decisions), tmp_path / "out")
    trials = trials_of(tmp_path / "out")
    assert set(trials["participant"]) == {"sim/malberg-random"}


def test_temperatures_are_participants(tmp_path: Path, tests: list[dict]) -> None:
    decisions = decided(tests)
    for each in decisions[::2]:
        each["temperature"] = 0.7
    import_malberg(written(tmp_path / "in", tests, decisions), tmp_path / "out")
    people = set(trials_of(tmp_path / "out")["participant"])
    assert people == {"malberg/GPT-4o", "malberg/GPT-4o temperature=0.7"}


# -- oddities, each named --------------------------------------------------------------------------


def test_a_plain_data_set_has_only_the_oddities_of_all(imported: tuple) -> None:
    found = counts(imported[0])
    assert found["none_text"] == 40  # the word None in every row
    assert found["reversed"] > 0
    assert found["old_flip"] > 0
    assert found["epsilon"] > 0  # 1e-8 in the denominator
    assert set(found) == {"none_text", "reversed", "old_flip", "epsilon"}
    assert set(ODDITIES) >= set(found)


def test_scores_after_the_correction_are_told_apart(tmp_path: Path, tests: list[dict]) -> None:
    found = counts(read_malberg(written(tmp_path / "in", tests, decided(tests, old=False))))
    assert found["new_flip"] > 0 and "old_flip" not in found and "score_differs" not in found


def test_scores_that_no_formula_gives_are_named(tmp_path: Path, tests: list[dict]) -> None:
    decisions = decided(tests)
    decisions[0]["individual_score"] = 0.123
    found = read_malberg(written(tmp_path / "in", tests, decisions))
    row = found.oddities.set_index("code").loc["score_differs"]
    assert (row["count"], row["first"]) == (1, "GPT-4o.csv: record 1")


def test_other_biases_are_counted_and_named(tmp_path: Path) -> None:
    more = a_tests_file(more=("Sunk Cost Effect", "Peak End Rule"))
    found = read_malberg(written(tmp_path / "in", more, decided(more)))
    left = found.oddities[found.oddities["code"] == "no_paradigm"].set_index("where")["count"]
    assert left.to_dict() == {
        "'Sunk Cost Effect'": 16,
        "'Peak End Rule'": 16,
    }  # tests and decisions
    assert set(found.items) == {name for name, _ in BIASES.values()}


def test_row_order_of_the_file_system(tmp_path: Path, tests: list[dict]) -> None:
    first = tests[0]["bias"]
    # the same four scenarios in every bias
    same = [test | {"scenario": test["scenario"].split(" deciding ")[0]} for test in tests]
    turned = [test for test in same if test["bias"] != first]
    mixed = [test for test in same if test["bias"] == first][::-1] + turned
    found = read_malberg(written(tmp_path / "in", mixed, decided(mixed)))
    assert counts(found)["row_order"] == 4
    straight = read_malberg(written(tmp_path / "straight", same, decided(same)))
    assert "row_order" not in counts(straight)


def test_failed_decisions_count_as_unanswered(tmp_path: Path, tests: list[dict]) -> None:
    decisions = decided(tests)
    decisions[0] |= ERROR
    decisions[1] |= ERROR | {"error_message": "Could not obtain a decision: 503"}
    found = import_malberg(written(tmp_path / "in", tests, decisions), tmp_path / "out")
    assert counts(found)["failed"] == 2
    trials = trials_of(tmp_path / "out")
    assert trials["status"].value_counts().to_dict() == {"ok": 76, "invalid_format": 2, "error": 2}
    cell = stored_settings(Folder(tmp_path / "out"))["malberg/GPT-4o", "managerial/escalation"]
    assert "2: decisions with status ERROR" in cell["note"]
    assert pd.read_csv(tmp_path / "in" / "GPT-4o.csv")["control_decision"].dtype == float  # 3.0


def test_a_batch_without_score_columns(tmp_path: Path, tests: list[dict]) -> None:
    decisions = decided(tests)
    folder = written(tmp_path / "in", tests, decisions[1:])
    failed = {name: value for name, value in (decisions[0] | ERROR).items()}
    for name in ("individual_score", "weight"):
        del failed[name]
    pd.DataFrame([failed]).to_csv(folder / "batch_7.csv", index=False)
    found = counts(read_malberg(folder))
    assert (found["no_score_columns"], found["failed"]) == (1, 1)


def test_a_part_tells_what_is_odd_about_it(tmp_path: Path, tests: list[dict]) -> None:
    "Every note is of a test or of a paradigm; those on other biases are not told."
    one, other = ("managerial/escalation", "managerial/reactance")
    more = a_tests_file(more=("Reactance",))
    decisions = decided(more)
    ours = [each for each in decisions if each["bias"].lower().startswith("reactance")]
    ours[0]["individual_score"] = 0.123
    folder = written(tmp_path / "in", more, decisions[:-1])  # the last decision is lost
    whole = import_malberg(folder, tmp_path / "whole")
    assert {"score_differs", "lost", "none_text"} <= set(counts(whole))
    assert all(of for _, _, of in whole.odd.counts)  # none without what it is of
    part = import_malberg(folder, tmp_path / "part", [one])
    assert not {"score_differs", "lost"} & set(counts(part))
    assert counts(part)["none_text"] == 8  # tests of one bias
    rest = import_malberg(folder, tmp_path / "rest", [other])
    assert counts(rest)["score_differs"] == counts(rest)["lost"] == 1
    manifest = json.loads((tmp_path / "rest" / "manifest.json").read_text())
    assert {each["code"] for each in manifest["oddities"]} == set(counts(rest))
    assert "tests on which this model has no record" in manifest["cells"][0]["note"]


def test_lost_results_are_counted(tmp_path: Path, tests: list[dict]) -> None:
    folder = written(tmp_path / "in", tests, decided(tests)[3:])
    found = import_malberg(folder, tmp_path / "out")
    row = found.oddities.set_index("code").loc["lost"]
    assert (row["where"], row["count"]) == ("malberg/GPT-4o, managerial/escalation", 3)
    assert "6 of 16 answers of the last run are missing" in left_out(tmp_path / "out")[0]


def test_results_merged_twice_count_once(tmp_path: Path, tests: list[dict]) -> None:
    decisions = decided(tests)
    folder = written(tmp_path / "in", tests, decisions)
    (folder / "GPT-4o").mkdir()
    pd.DataFrame(decisions[:5]).to_csv(folder / "GPT-4o" / "batch_1.csv", index=False)
    found = import_malberg(folder, tmp_path / "out")
    assert counts(found)["duplicate"] == 5
    assert len(trials_of(tmp_path / "out")) == 80


def test_another_answer_to_a_test_is_a_repeat(tmp_path: Path, tests: list[dict]) -> None:
    decisions = decided(tests)
    again = decisions[0] | {"timestamp": "2024-11-01 10:00:00", "control_answer": "On reflection."}
    late = decisions[1] | ERROR | {"timestamp": "2024-11-01 10:00:00"}
    found = import_malberg(
        written(tmp_path / "in", tests, [again, late, *decisions]), tmp_path / "out"
    )
    assert (counts(found)["answered_again"], counts(found)["later_answered"]) == (1, 1)
    trials = trials_of(tmp_path / "out")
    assert trials["repeat"].value_counts().to_dict() == {0: 80, 1: 2}
    assert "On reflection." in trials.loc[trials["repeat"] == 1, "response"].tolist()
    assert not left_out(tmp_path / "out")


def test_two_orders_of_one_test(tmp_path: Path, tests: list[dict]) -> None:
    decisions = decided(tests)
    other = [each | {"model": "Yi-Large"} for each in decided(tests, seed=8)]
    found = import_malberg(written(tmp_path / "in", tests, decisions + other), tmp_path / "out")
    items = found.items["managerial/escalation"]
    assert 16 < len(items) <= 32 and items["item_id"].is_unique
    assert not left_out(tmp_path / "out")


def test_identical_instances_stay_apart(tmp_path: Path, tests: list[dict]) -> None:
    first, second, *rest = tests
    texts = {name: first[name] for name in TESTS}
    decisions = decided(tests)
    decisions[1] = decisions[0] | {"id": 1}
    found = import_malberg(
        written(tmp_path / "in", [first, {"id": 1, **texts}, *rest], decisions), tmp_path / "out"
    )
    assert counts(found)["same_text"] == 1
    assert len(trials_of(tmp_path / "out")) == 80


def test_orders_that_cannot_be_coded_are_left_out(tmp_path: Path, tests: list[dict]) -> None:
    decisions = decided(tests)
    mixed = str([1, 0, *range(2, 11)])
    decisions[0] |= {"control_option_order": mixed, "treatment_option_order": mixed}
    straight, turned = str([*range(11)]), str([*range(10, -1, -1)])
    decisions[1] |= {"control_option_order": straight, "treatment_option_order": turned}
    found = read_malberg(written(tmp_path / "in", tests, decisions))
    assert (counts(found)["shuffled"], counts(found)["orders_differ"]) == (1, 1)
    assert counts(found)["lost"] == 2 and len(found.decisions) == 38


def test_small_oddities(tmp_path: Path, tests: list[dict]) -> None:
    changed = [dict(test) for test in tests]
    changed[0]["control"] = changed[0]["control"].replace("a manager", "[[a/an]] manager")
    changed[1] |= {"correct": True}
    decisions = decided(changed)
    decisions[0]["control_extraction"] = "Option 99"
    decisions[1]["individual_score"] = None
    decisions[2]["id"] = 4711
    folder = written(tmp_path / "in", changed, decisions)
    (folder / "plot.pdf").write_text("")
    (folder / "only.csv").write_text(
        pd.DataFrame(changed[:8]).drop(columns="id").to_csv(index=False)
    )
    found = counts(read_malberg(folder))
    wanted = ("open_gap", "correct_flag", "extraction_differs", "no_score", "unknown_id")
    assert {name: found[name] for name in wanted} == dict.fromkeys(wanted, 1) | {
        "open_gap": 2,
        "correct_flag": 2,
    }
    assert (found["other_file"], found["also_elsewhere"], found["lost"]) == (1, 8, 1)


# -- broken and hostile files ----------------------------------------------------------------------


def complaint(folder: Path, tests: list[dict], decisions: list[dict] | None) -> str:
    "The error that these files end in, which is one line."
    with pytest.raises(CogbiasError) as caught:
        read_malberg(written(folder, tests, decisions))
    said = str(caught.value)
    assert len(said.splitlines()) == 1 and len(said) < 500
    return said


NONSENSE = "__import__('os').system('touch /tmp/cogbias-was-here')"
BOMB = "<!DOCTYPE x [<!ENTITY a 'b'>]><template>&a;</template>"


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("control_decision", 11, "'control_decision' holds 11, which is not between 0 and 10"),
        ("treatment_decision", -1, "'treatment_decision' holds -1"),
        ("control_decision", "=1+1", "should hold a whole number but holds '=1+1'"),
        ("control_decision", None, "'control_decision' should hold a whole number"),
        ("control_options", NONSENSE, "should hold a printed list of texts"),
        ("control_options", "[" * 5000, "should hold a printed list of texts"),
        ("control_options", "['yes', 'no']", "does not hold the options of full_dataset.csv"),
        ("control_option_order", "[0, 0, 1]", "should name the places 0 to 10, each once"),
        ("control_option_order", "[True, False]", "should hold a printed list of whole numbers"),
        ("id", "one", "'id' should hold a whole number but holds 'one'"),
        ("status", "PERHAPS", "'status' holds 'PERHAPS'; use OK or ERROR"),
        ("status", "ERROR", "holds ERROR, but there is a decision"),
        ("model", "", "should hold the name of a model"),
        ("model", "a\x1b[2Jb", "should hold the name of a model"),
        ("temperature", "warm", "'temperature' holds 'warm'; give a number"),
        ("individual_score", 7, "'individual_score' holds '7"),
        ("seed", -3, "'seed' holds -3"),
        ("bias", "Conservatism", "but its id is that of a test of 'Escalation Of Commitment'"),
    ],
)
def test_a_wrong_cell_of_a_decision(
    tmp_path: Path, tests: list[dict], column: str, value: Any, said: str
) -> None:
    decisions = decided(tests)
    decisions[2] = decisions[2] | {column: value}
    found = complaint(tmp_path / "in", tests, decisions)
    assert found.startswith("GPT-4o.csv: record 3: column ") and said in found
    assert not Path("/tmp/cogbias-was-here").exists()


@pytest.mark.parametrize(
    ("bias", "column", "value", "said"),
    [
        ("Planning Fallacy", "raw_treatment", "<template>", "is no XML"),
        ("Planning Fallacy", "raw_treatment", BOMB, "declares something"),
        ("Conservatism", "control", "What now?", "does not end with 'Answer Options:'"),
        (
            "Conservatism",
            "treatment",
            formatted("x", ["a", "b"]),
            "offers 2 options; the scale has 7",
        ),
        ("Conservatism", "scenario", None, "'scenario' is empty"),
        ("Conservatism", "id", 0, "'id' holds 0, which full_dataset.csv: record 1 has too"),
    ],
)
def test_a_wrong_cell_of_a_test(
    tmp_path: Path, tests: list[dict], bias: str, column: str, value: Any, said: str
) -> None:
    place = next(n for n, test in enumerate(tests) if test["bias"] == bias)
    changed = [*tests[:place], tests[place] | {column: value}, *tests[place + 1 :]]
    found = complaint(tmp_path / "in", changed, None)
    assert found.startswith(f"full_dataset.csv: record {place + 1}: column '{column}'")
    assert said in found


def test_wrong_files(tmp_path: Path, tests: list[dict]) -> None:
    decisions = decided(tests)
    lacking = [{k: v for k, v in each.items() if k != "seed"} for each in decisions]
    found = complaint(tmp_path / "a", tests, lacking)
    assert "GPT-4o.csv: column 'seed' is missing" in found
    more = complaint(tmp_path / "b", [test | {"mood": 1} for test in tests], None)
    assert "full_dataset.csv: column 'mood' is unknown" in more
    other = complaint(tmp_path / "c", [{"a": 1, "b": 2}], None)
    assert "leave the file out" in other
    for number, (content, said) in enumerate(
        [
            (b"\x89PNG\r\n\x1a\n\x00\xff\xfe", "is not a CSV file in UTF-8"),
            (b"", "is empty"),
            (b'{"id": 1}', "is missing"),
            (b'"never closed,' + b"x" * 100, "is not a CSV file in UTF-8"),
        ]
    ):
        folder = tmp_path / f"wrong{number}"
        folder.mkdir()
        (folder / "GPT-4o.csv").write_bytes(content)
        assert said in complaint(folder, tests, None)


def test_a_huge_cell(tmp_path: Path, tests: list[dict]) -> None:
    decisions = decided(tests)
    decisions[4]["control_answer"] = "a" * 200_000
    found = complaint(tmp_path / "in", tests, decisions)
    assert "GPT-4o.csv: is not a CSV file in UTF-8 behind record 4" in found
    assert "field limit" in found


def test_cut_rows(tmp_path: Path, tests: list[dict]) -> None:
    folder = written(tmp_path / "in", tests, decided(tests))
    place = folder / "GPT-4o.csv"
    place.write_text(place.read_text() + "1,2,3\n")
    with pytest.raises(CogbiasError, match="record 41: has 3 cells under 20 columns"):
        read_malberg(folder)


def test_formulas_stay_text(tmp_path: Path, tests: list[dict]) -> None:
    decisions = decided(tests)
    decisions[0] |= {"control_answer": "=HYPERLINK(1)", "control_extraction": "@SUM(1)"}
    decisions = [each | {"model": "=cmd|x"} for each in decisions]
    folder = written(tmp_path / "in", tests, decisions)
    import_malberg(folder, tmp_path / "out")
    trials = trials_of(tmp_path / "out")
    assert "=HYPERLINK(1)" in trials["response"].tolist()
    place = tmp_path / "trials.csv"
    said = CliRunner().invoke(app, ["export", "csv", str(tmp_path / "out"), "--out", str(place)])
    assert said.exit_code == 0, said.output
    cells = pd.read_csv(place, dtype=str, keep_default_na=False).to_numpy().ravel()
    assert not any(str(cell).startswith(("=", "@")) for cell in cells)


def test_what_is_missing_is_said(tmp_path: Path, tests: list[dict]) -> None:
    folder = written(tmp_path / "in", tests, decided(tests))
    with pytest.raises(CogbiasError, match="no test cases with ids; put full_dataset.csv"):
        read_malberg(folder / "GPT-4o.csv")
    no_ids = [{name: test[name] for name in TESTS} for test in tests]
    found = complaint(tmp_path / "no_ids", no_ids, decided(tests))
    assert "no test cases with ids; put full_dataset.csv (13 columns, the first is id)" in found
    (tmp_path / "empty").mkdir()
    with pytest.raises(CogbiasError, match="holds no .csv file"):
        read_malberg(tmp_path / "empty")
    with pytest.raises(CogbiasError, match="no such file or folder"):
        read_malberg(tmp_path / "nowhere")
    strange = a_tests_file(more=("Sunk Cost Effect",))[40:]
    assert "a bias that has a paradigm here" in complaint(tmp_path / "strange", strange, None)


def test_two_data_sets_are_not_mixed(tmp_path: Path, tests: list[dict]) -> None:
    folder = written(tmp_path / "in", tests, decided(tests))
    other = [test | {"control": test["control"].replace("Case", "Another case")} for test in tests]
    pd.DataFrame(other).to_csv(folder / "other.csv", index=False)
    with pytest.raises(CogbiasError, match="import one data set at a time"):
        read_malberg(folder)


def test_thousands_of_batches_are_read_one_by_one(tmp_path: Path, tests: list[dict]) -> None:
    folder, decisions = written(tmp_path / "in", tests), decided(tests)
    for number, each in enumerate(decisions):
        pd.DataFrame([each]).to_csv(folder / f"batch_{number}.csv", index=False)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, hard))
    try:
        assert len(read_malberg(folder).decisions) == 40
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_pipes_are_refused(tmp_path: Path, tests: list[dict]) -> None:
    os.mkfifo(written(tmp_path / "in", tests) / "more.csv")
    with pytest.raises(CogbiasError, match="is a pipe or a device"):
        read_malberg(tmp_path / "in")


def test_links_that_lead_out_are_refused(tmp_path: Path, tests: list[dict]) -> None:
    elsewhere = written(tmp_path / "elsewhere", tests)
    folder = written(tmp_path / "in", tests)
    (folder / "more.csv").symlink_to(elsewhere / "full_dataset.csv")
    with pytest.raises(CogbiasError, match="link"):
        read_malberg(folder)
