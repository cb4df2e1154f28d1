"Arms of instructions against a bias: what is sent, who is refused, what comes back."

import json
import sys

import pytest
from typer.testing import CliRunner

import cogbias as cb
from cogbias.backends.sim import SimulatedParticipant, expected_effect
from cogbias.cli import app
from cogbias.compare import arm_sentence, compare
from cogbias.participants import Request, participant
from cogbias.folder import Folder, requests
from cogbias.participants.arms import InArm, arm_pairs
from cogbias.running.rendering import write_report
from cogbias.site.pages import build_site
from cogbias.study import make_study, participants_by_model
from cogbias.tables import CogbiasError

NAMES = ("classic/framing", "classic/sunk_cost")
ARMS = {
    "none": "",
    "control": "Before you answer, read all of the text once more from the start.",
    "opposite": "Before you answer, think of reasons why your first answer may be wrong.",
}
KEPT = 0.4  # of the bias of sim/human in the arm `opposite`
PROGRAM = f"""
import json, sys
import cogbias as cb
from cogbias.backends.sim import answer_probabilities

rows = {{row["prompt"]: row for each in {NAMES} for row in cb.items(each).to_dict("records")}}
for line in sys.stdin:
    asked = json.loads(line)
    kept = {KEPT} if "may be wrong" in (asked["system"] or "") else 1.0
    row = rows[asked["prompt"]]
    human, calm = (answer_probabilities(who, row) for who in ("human", "rational"))
    answer = {{each: kept * human[each] + (1 - kept) * calm[each] for each in human}}
    print(json.dumps({{"id": asked["id"], "answer": answer}}), flush=True)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    "A program that shows less of its bias in one of the arms."
    file = tmp_path_factory.mktemp("program") / "debiased.py"
    file.write_text(PROGRAM)
    return f"command/{sys.executable} {file}"


def called(*arguments):
    "What a command prints."
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    assert found.exit_code == 0, (found.output, found.exception)
    return found.output


def planted(name):
    "What the arm `opposite` does to the headline."
    asked = cb.paradigm(name)
    human, calm = (
        expected_effect(SimulatedParticipant(who), asked.items(), asked.headline)
        for who in ("human", "rational")
    )
    return (1 - KEPT) * (calm - human)


def check_effects_of_arms(folder, model):
    "The planted effect lies within the interval, and nothing else is found."
    found = compare(folder).arms
    assert len(found) == 4 and set(found["second"]) == {f"{model} arm=control"}
    for row in found.to_dict("records"):
        if row["first"].endswith("arm=none"):
            assert row["larger"] == "tied"
            continue
        assert row["ci_low"] < planted(row["paradigm"]) < row["ci_high"] < 0
        assert arm_sentence(row).startswith("opposite reduces the bias by 0.")
        assert arm_sentence(row).endswith("relative to control") and row["p_adjusted"] < 0.01
    assert "2 tested differences" in found["family"].iloc[0]


def test_planted_effects_come_back_from_a_study_file(model, tmp_path):
    texts = "\n".join(f"{arm} = {json.dumps(text)}" for arm, text in ARMS.items())
    file, folder = tmp_path / "arms.toml", tmp_path / "out"
    asked = f"models = [{json.dumps(model)}]\nparadigms = {json.dumps(NAMES)}\n"
    file.write_text(
        f'{asked}method = "option_probability"\n[where]\nvariant = ["base"]\n[arms]\n{texts}\n'
    )
    called("run", file, "--outputs", folder, "--allow-command", "--no-reports")
    check_effects_of_arms(folder, model)
    text = tmp_path / "opposite.txt"
    text.write_text(f"{ARMS['opposite']}\n")
    arms = [f"none={ARMS['none']}", f"control={ARMS['control']}", f"opposite=@{text}"]
    given = [part for each in arms for part in ("--arm", each)]  # the same on the command line
    again = called(
        "run", file, *given, "--outputs", folder, "--allow-command", "--no-reports", "--json"
    )
    assert [cell["asked"] for cell in json.loads(again)["cells"]] == [0] * 6
    printed = called("compare", folder)
    assert "Effects of arms" in printed and "opposite reduces the bias by" in printed


@pytest.mark.parametrize("by", ["a study file", "the command line"])
def test_several_methods_are_arms(by, tmp_path):
    file, methods = tmp_path / "methods.toml", ["option_probability", "text"]
    asked = 'models = ["sim/human"]\nparadigms = ["classic/framing"]\n'
    file.write_text(f"{asked}method = {json.dumps(methods)}\n")
    line = ["run", "--model", "sim/human", "--paradigm", "classic/framing"]
    line += [part for each in methods for part in ("--method", each)]
    line = ["run", file] if by == "a study file" else line
    printed = called(*line, "--outputs", tmp_path / "o", "--no-reports")
    assert all(f"sim/human arm={each}" in printed for each in methods)
    (row,) = compare(tmp_path / "o").arms.to_dict("records")
    assert {row["first"], row["second"]} == {f"sim/human arm={each}" for each in methods}
    assert row["ci_low"] < 0 < row["ci_high"]  # one rule answers by both
    with Folder(tmp_path / "o") as folder:
        found = {each.participant.rpartition("=")[2]: each.method for each in requests(folder)}
    assert found == dict(zip(methods, methods))


def test_every_arm_is_asked_by_every_method(tmp_path):
    given = {"arms": {"none": "", "calm": {}}, "method": ["option_probability", "text"]}
    quick = {"progress": False, "reports": False, "where": {"variant": ["base"]}}
    found = cb.run("sim/human", "classic/framing", outputs=tmp_path, **quick, **given)
    asked = found.effects[["arm", "asked_by"]].drop_duplicates()
    pairs = {(arm, method) for arm in given["arms"] for method in given["method"]}
    assert {*asked.itertuples(index=False, name=None)} == pairs
    arms = compare(tmp_path).arms
    ends = {
        tuple(name.rpartition("=")[2] for name in pair)
        for pair in zip(arms["first"], arms["second"])
    }
    by = [f"{{}} by {each}" for each in given["method"]]
    within = {tuple(each.format(arm) for arm in ("calm", "none")) for each in by}
    assert ends == within | {(by[1].format("none"), by[0].format("none"))}


@pytest.mark.slow
def test_the_site_says_what_arms_do(tmp_path):
    given = {"method": ["option_probability", "text"], "max_prompts": 16, "progress": False}
    cb.run("sim/human", "classic/framing", outputs=tmp_path, **given)
    pages = [
        each.read_text(encoding="utf-8") for each in build_site(tmp_path).parent.rglob("*.html")
    ]
    (row,) = compare(tmp_path).arms.to_dict("records")
    assert any("Effects of arms" in each and arm_sentence(row) in each for each in pages)


def test_an_effort_is_an_arm():
    arms = {"low": {"think": "low"}, "high": {"think": "high", "instruction": "Take your time."}}
    study = make_study(models=["openai/x"], paradigms=["classic/framing"], arms=arms)
    asked = {who.name: who for _, who in participants_by_model(study)}
    assert {name: who.think for name, who in asked.items()} == {
        "openai/x arm=low": "low",
        "openai/x arm=high": "high",
    }
    item = {"system": None, "prompt": "?"}
    told = [who.told(Request(item, 0, 0)).item["system"] for who in asked.values()]
    assert told == [None, "Take your time."]
    assert [*arm_pairs(asked)] == [("openai/x arm=high", "openai/x arm=low")]
    with pytest.raises(CogbiasError, match="method 'txt' is not known; did you mean 'text'"):
        make_study(models=["x/x"], paradigms=["classic/framing"], arms={"a": {"method": "txt"}})


def test_who_reads_no_instructions_is_refused():
    given = ["--model", "sim/human", "--model", "encoder/bert@coin", "--paradigm", "bets/coin"]
    given += ["--arm", "none=", "--arm", "warned=Take care."]
    refused = json.loads(called("plan", *given, "--json"))["refused"]
    said = "does not read instructions, so it cannot be used with arms; leave this model out"
    assert {f"sim/human {said}", f"encoder/bert@coin {said}"} <= set(refused)
    found = CliRunner().invoke(app, ["run", *given])
    assert f"sim/human {said}" in str(found.exception)


def test_a_plan_shows_what_is_added_and_a_short_control():
    alike, short = (
        " ".join(cb.plan("openai/x", "classic/framing", arms=arms).notes)
        for arms in (ARMS, ARMS | {"control": "Read on."})
    )
    assert all(text in alike for text in ARMS.values())
    assert "length could explain" in short and "length could explain" not in alike


@pytest.mark.parametrize("arms", [{"two words": ""}, {"": "x"}, {"one": 1}])
def test_faults_of_arms_are_one_line(arms):
    with pytest.raises(CogbiasError, match="arms.*a text, under a name of letters") as fault:
        make_study(models=["openai/x"], paradigms=["classic/framing"], arms=arms)
    assert "\n" not in str(fault.value)


def test_a_function_is_told_in_each_arm(tmp_path):
    heard = []

    def model(prompt):
        heard.append(prompt)
        return "A"

    given = {"where": {"variant": ["base"]}, "max_prompts": 8, "reports": False, "progress": False}
    found = cb.run(model, "classic/framing", arms=ARMS, outputs=tmp_path, **given)
    prompts = len(found.items)
    assert len(heard) == len({*heard}) == 3 * prompts  # the first answers, too, are of their arm
    for arm in ("control", "opposite"):
        assert sum(ARMS[arm] in each for each in heard) == prompts
    assert {*found.trials["participant"]} == {f"function/model arm={arm}" for arm in ARMS}
    assert not write_report("study.ipynb", tmp_path / "study.ipynb", {"outputs": str(tmp_path)})
    report = (tmp_path / "study.running.ipynb").read_text()
    assert "Effects of arms" in report and ARMS["opposite"] in report


def test_an_instruction_does_not_stand_where_a_choice_is_read_from_reasoning(tmp_path):
    heard = []

    def model(prompt):
        heard.append(prompt)
        return "A"

    given = {"max_prompts": 8, "method": "two_step", "reports": False, "progress": False}
    arms = {"opposite": ARMS["opposite"]}
    found = cb.run(model, "classic/framing", arms=arms, outputs=tmp_path, **given)
    told = [ARMS["opposite"] in each for each in heard]
    assert told == ["Reply with" not in each for each in heard]
    assert sum(told) == len(told) / 2 == len(found.items)


@pytest.mark.slow
def test_a_local_model_reads_its_own_system_text_and_that_of_the_arm():
    asked = {"system": "Be brief.", "prompt": "?", "options": []}
    who = InArm(participant("hf/tiny"), "opposite", ARMS["opposite"])
    read = who.rendered(who.told(Request(asked, 0, 0)).item)
    assert f"Be brief.\n\n{ARMS['opposite']}<" in read
