"""Published managerial test cases and decisions: the published scores, what is left out, odd input.

The files are made up here, in the columns of the published ones; nothing of those is in this
repository.
"""

import random
import re
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pandas as pd
import pytest
from typer.testing import CliRunner

from cogbias.running.cells import effects_of
from cogbias.cli import app
from cogbias.design import paradigms
from cogbias.exchange.malberg import import_malberg, read_malberg
from cogbias.folder import Folder, items, requests, status, trials
from cogbias.tables import CogbiasError

DECISIONS = (
    *("id", "model", "temperature", "seed", "timestamp"),
    *("control_options", "control_option_order", "control_answer", "control_extraction"),
    *("control_decision", "treatment_options", "treatment_option_order", "treatment_answer"),
    *("treatment_extraction", "treatment_decision", "status", "error_message"),
    *("individual_score", "weight", "bias"),
)  # columns of a file of decisions

BIASES = {  # name in test cases -> paradigm, length of the scale
    "Escalation Of Commitment": ("managerial/escalation", 11),
    "Conservatism": ("managerial/conservatism", 7),
    "Information Bias": ("managerial/information", 7),
    "Planning Fallacy": ("managerial/planning_fallacy", 11),
    "Fundamental Attribution Error": ("managerial/attribution", 7),
}
SEVEN = """Anthropomorphism, Bandwagon Effect, Disposition Effect, Framing Effect, Halo Effect,
Hyperbolic Discounting, In Group Bias, Loss Aversion, Mental Accounting, Negativity Bias,
Not Invented Here, Self Serving Bias, Social Desirability Bias, Status Quo Bias, Stereotyping,
Survivorship Bias"""
ELEVEN = """Anchoring, Availability Heuristic, Confirmation Bias, Endowment Effect, Hindsight Bias,
Illusion Of Control, Optimism Bias, Reactance, Risk Compensation"""


def _told(names):
    return names.replace("\n", " ").split(", ")


def _paradigm(bias):
    words = [word for word in bias.split() if word not in ("Bias", "Effect", "Heuristic")]
    return "managerial/" + "_".join(words).lower()


ALL = BIASES | {
    bias: (_paradigm(bias), points)
    for points, names in ((7, SEVEN), (11, ELEVEN))
    for bias in _told(names)
}
# biases of which the published kappa is always 1
UPWARD = {
    "Escalation Of Commitment",
    *_told("Anchoring, Anthropomorphism, Confirmation Bias, Endowment Effect, Hindsight Bias"),
    *_told("Mental Accounting, Planning Fallacy, Self Serving Bias, Stereotyping"),
    "Survivorship Bias",
}
# biases of which the treatment rating is counted from the other end
FLIPPED = {
    *_told("Bandwagon Effect, Disposition Effect, Information Bias, Loss Aversion"),
    *_told("Negativity Bias, Status Quo Bias"),
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


def template(condition, story, options, inserted):
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


def formatted(story, options):
    "The same as text."
    listed = "".join(f"Option {n}: {each}\n" for n, each in enumerate(options, 1))
    return f"Situation:\n{story}\n\nPrompt:\nWhich?\n\nAnswer Options:\n{listed}"


EITHER = {  # bias -> what is inserted into both, one of two
    "Availability Heuristic": ("outcome", "failure", "success"),
    "Bandwagon Effect": ("majority_opinion", "A", "B"),
    "Confirmation Bias": ("kind", "positive", "negative"),
    "Halo Effect": ("perception", "positively", "negatively"),
    "Optimism Bias": ("event_kind", "positive", "negative"),
}


def was_inserted(bias, draw):
    "What the published code inserts into control and treatment, and its remark."
    both: dict[str, str] = {}
    control: dict[str, str] = {}
    treatment: dict[str, str] = {}
    remarks = "None"
    one, other = draw.sample([0, 1], 2)
    if bias in EITHER:
        name, *texts = EITHER[bias]
        both[name] = texts[one]
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
    if bias == "Hyperbolic Discounting":
        now = "Take {{earlier_reward}} immediately", "Take {{later_reward}} in {{months_delay}}"
        both |= {"earlier_reward": "85", "later_reward": "97"}
        both["months_delay"] = str(draw.randint(2, 11))
        control |= {"control_scheme": now[one], "other_control_scheme": now[other]}
        treatment |= {"treatment_scheme": "in 1 year", "other_treatment_scheme": "in 1 year and"}
    if bias == "Loss Aversion":
        choices = "[[Tell]]. It guarantees {{base_amount}}", "[[Tell]]. It is equally likely"
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


def a_test(number, bias, scenario, draw):
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


def a_tests_file(instances=2, more=()):
    "Test cases of five biases, and of others."
    draw = random.Random(3)
    rows: list[dict[str, Any]] = []
    for bias in (*BIASES, *more):
        for industry in INDUSTRIES:
            scenario = f"A manager at a company from the {industry} industry deciding on {bias}."
            rows += [a_test(len(rows) + n, bias, scenario, draw) for n in range(instances)]
    return rows


def inserted_first(test, condition, name):
    "What was inserted first under a name."
    found = re.search(f'instruction="{name}">(.*?)</insertion>', test[f"raw_{condition}"])
    assert found, (test["bias"], name)
    return found[1]


def published_kappa(test):
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


def published_formula(test, control, treatment, old=True):
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


def a_decision(test, draw, old=True, **changes):
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


def written(folder, tests, decisions=None):
    "A folder with these files."
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(tests).to_csv(folder / "full_dataset.csv", index=False)
    if decisions is not None:
        pd.DataFrame(decisions).to_csv(folder / "GPT-4o.csv", index=False)
    return folder


def decided(tests, old=True, seed=5):
    "A decision on every test."
    draw = random.Random(seed)
    return [a_decision(test, draw, old) for test in tests]


@pytest.fixture(scope="module")
def tests():
    "Two instances of four scenarios of the five biases."
    return a_tests_file()


@pytest.fixture(scope="module")
def all_tests():
    "Two instances of four scenarios of the thirty biases."
    return a_tests_file(more=[bias for bias in ALL if bias not in BIASES])


@pytest.fixture(scope="module")
def imported(tmp_path_factory, all_tests):
    "A made-up data set of all thirty, read and written."
    place, decisions = tmp_path_factory.mktemp("thirty"), decided(all_tests)
    found = import_malberg(written(place / "in", all_tests, decisions), place / "out")
    return found, place / "out", decisions


def stored(outputs):
    "The answers of a folder."
    with Folder(outputs) as folder:
        return trials(folder)


# -- what is read ----------------------------------------------------------------------------------


def test_no_published_bias_is_without_a_paradigm(imported):
    found, _, _ = imported
    here = {name for name in paradigms() if name.startswith("managerial/")}
    assert {*found.items} == {name for name, _ in ALL.values()} == here and len(here) == 30
    counts = {"prompts": 480, "paradigms": 30, "answers": 480, "participants": 1}
    assert found.counts == counts and not found.notes


def test_the_published_metric_gives_the_published_scores(imported, all_tests):
    "Mean by mean, for all biases; the corrected one is what the formula should have been."
    _, out, decisions = imported
    effects = effects_of(out)
    known = effects[effects["group"] == "all"].set_index(["paradigm", "measure"])["estimate"]
    by_id = {test["id"]: test for test in all_tests}
    scores: dict[tuple[str, str], list[float]] = {}
    for each in decisions:
        test = by_id[each["id"]]
        chosen = each["control_decision"], each["treatment_decision"]
        for measure, old in (("rating_m", True), ("rating_m_corrected", False)):
            key = ALL[test["bias"]][0], measure
            scores.setdefault(key, []).append(published_formula(test, *chosen, old))
    for key, mine in scores.items():
        # the references of these were corrected as well, which the formula here does not repeat
        if key in known.index and not (key[1] != "rating_m" and key[0] in CORRECTED):
            assert known[key] == pytest.approx(sum(mine) / len(mine), abs=1e-7), key


CORRECTED = {"managerial/anchoring", "managerial/hindsight", "managerial/planning_fallacy"}


def test_an_item_is_what_was_shown(imported):
    _, out, decisions = imported
    table = stored(out)
    with Folder(out) as folder:
        known = pd.concat(items(folder, each) for each in requests(folder)).set_index("item_id")
    by_id = {each["id"]: each for each in decisions}
    assert set(known["option_order"]) == {1, 2} and set(known["instance"]) == {0, 1}
    for trial in table.to_dict("records"):
        item = known.loc[trial["item_id"]]
        decision, condition = by_id[item["published_id"]], item["condition"]
        assert trial["value"] == decision[f"{condition}_decision"]
        assert trial["choice"] == decision[f"{condition}_extraction"]
        assert trial["response"] == decision[f"{condition}_answer"]
        shown = [
            float(each) for each in decision[f"{condition}_option_order"].strip("[]").split(",")
        ]
        assert [each["value"] for each in item["options"]] == shown
        last = item["prompt"].rpartition("Answer Options:\n")[2].splitlines()
        assert last == [f"{each['label']}: {each['text']}" for each in item["options"]]
    assert (table["method"] == "two_step").all() and (table["seed"] == 43).all()
    assert set(table["participant"]) == {"malberg/GPT-4o"}
    assert known["industry"].isin(INDUSTRIES).all()


def test_commands_work_on_the_folder(tmp_path, tests):
    kept = [test for test in tests if test["bias"] == "Conservatism"]
    other = [each | {"model": "google/gemma-2-9b-it"} for each in decided(kept, seed=9)]
    folder, out = written(tmp_path / "in", kept, decided(kept) + other), str(tmp_path / "out")
    said = CliRunner().invoke(app, ["import", "malberg", str(folder), "--out", out])
    assert said.exit_code == 0, said.output
    assert "paradigms 1, answers 32, participants 2" in said.output
    for command in (["effects", out], ["status", out], ["verify", out]):
        said = CliRunner().invoke(app, command)
        assert said.exit_code == 0, (command, said.output, said.exception)


# -- what is left out is counted -------------------------------------------------------------------


def test_what_cannot_be_used_is_left_out_and_counted(tmp_path, tests):
    more = a_tests_file(more=("Sunk Cost Effect",))
    decisions = decided(more)
    decisions[0] |= ERROR
    decisions[1] |= ERROR | {"error_message": "Could not obtain a decision: 503"}
    points = len(decisions[2]["control_option_order"].split(","))
    turned = str([1, 0, *range(2, points)])
    decisions[2] |= {"control_option_order": turned, "treatment_option_order": turned}
    planned = next(test for test in more if test["bias"] == "Planning Fallacy")
    planned["raw_treatment"] = planned["raw_treatment"].replace("estimation_update", "forgotten")
    again = decisions[4] | {"timestamp": "2024-11-01 10:00:00", "control_answer": "On reflection."}
    late = decisions[5] | ERROR | {"timestamp": "2024-11-01 10:00:00"}
    lost = decisions.pop(6)
    found = import_malberg(
        written(tmp_path / "in", more, [again, late, *decisions]), tmp_path / "out"
    )
    told = "\n".join(found.notes)
    assert "8 test cases of biases that have no paradigm here" in told
    assert "1 test cases that lack a value drawn for them" in told
    assert "9 decisions on tests that are not here" in told
    assert "1 decisions whose options were neither in order nor reversed" in told
    assert "2 earlier or failed records of a decision" in told
    assert "2 decisions failed" in told
    table = stored(tmp_path / "out")
    assert table["status"].value_counts().to_dict() == {"ok": 70, "invalid_format": 2, "error": 2}
    assert "On reflection." in set(table["response"])
    with Folder(tmp_path / "out") as folder:
        rows = status(folder).set_index("paradigm")
    asked, there = rows["asked"], rows[["ok", "invalid_format", "error"]].sum(axis=1)
    name = BIASES[next(t["bias"] for t in more if t["id"] == lost["id"])][0]
    assert asked[name] - there[name] == 4, "the lost one, and the one out of order"


# -- odd files -------------------------------------------------------------------------------------


def complaint(folder, tests, decisions=None):
    "What is said of a folder that cannot be read; one line, and nothing is written."
    with pytest.raises(CogbiasError) as found:
        import_malberg(written(folder, tests, decisions), folder / "out")
    assert "\n" not in str(found.value) and not (folder / "out").exists()
    return str(found.value)


WRONG_DECISIONS = {
    "id": [None, "x", "1.5e400"],
    "control_options": [None, "[", "['a']", "__import__('os')", "[" * 10_000],
    "treatment_option_order": [None, "["],
    "control_decision": [None, "x", 99, -1],
    "temperature": ["hot"],
}


@pytest.mark.parametrize("column", WRONG_DECISIONS)
def test_a_wrong_cell_of_a_decision(tmp_path, tests, column):
    for number, value in enumerate(WRONG_DECISIONS[column]):
        wrong = decided(tests)
        wrong[2] |= {column: value}
        said = complaint(tmp_path / str(number), tests, wrong)
        assert said.startswith("GPT-4o.csv: record 3: "), said


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><t>&b;</t>'


def test_a_template_that_declares_something_is_not_read(tmp_path, tests):
    some = [dict(test) for test in tests if test["bias"] == "Planning Fallacy"]
    decisions = decided(some)
    some[0]["raw_treatment"] = BOMB
    found = read_malberg(written(tmp_path, some, decisions))
    assert any("1 test cases that lack a value" in note for note in found.notes)


def test_wrong_files(tmp_path, tests):
    (tmp_path / "empty").mkdir()
    assert "has no full_dataset.csv" in complaint_of(tmp_path / "empty")
    folder = written(tmp_path / "only", [], decided(tests))
    (folder / "full_dataset.csv").unlink()
    assert "has no full_dataset.csv" in complaint_of(folder)
    folder = written(tmp_path / "more", tests)
    (folder / "other.csv").write_text("a,b\n1,2\n")
    assert "other.csv: record 1: has no 'id'" in complaint_of(folder)
    (folder / "other.csv").unlink()
    text = (folder / "full_dataset.csv").read_text()
    (folder / "full_dataset.csv").write_text(text.rstrip()[:-40])
    assert "full_dataset.csv: " in complaint_of(folder)
    (folder / "full_dataset.csv").write_bytes(b"\xff\xfe\x00" + text.encode())
    assert "full_dataset.csv" in complaint_of(folder)
    (folder / "full_dataset.csv").write_text(text)
    (folder / "link.csv").symlink_to("/etc/passwd")
    assert "link.csv" in complaint_of(folder)


def complaint_of(path):
    "The one line that is said of a folder."
    with pytest.raises(CogbiasError) as found:
        read_malberg(path)
    assert "\n" not in str(found.value)
    return str(found.value)
