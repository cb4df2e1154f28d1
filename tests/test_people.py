"Tables of what people answered go in with one command, and the planted effect comes back."

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import cogbias as cb
from cogbias.backends.sim import answer_probabilities
from cogbias.cli import app
from cogbias.compare import compare
from cogbias.design import human_reference, selected
from cogbias.effects import likenesses
from cogbias.exchange.people import answers, read_answers
from cogbias.folder import Folder, kept_notes
from cogbias.stats.crossed import crossed_difference
from cogbias.tables import CogbiasError

FRAMING = "classic/framing"
PLANTED = {"control": 0.35, "treatment": 0.65}


def invented(people: int = 200, wordings: int = 6, within: bool = False) -> pd.DataFrame:
    "A long table: people differ in how they answer, and so do wordings."
    rng = np.random.default_rng(41)
    names = cb.items(FRAMING)["cluster"].unique()[:wordings]
    rows = []
    for number in range(people):
        own = rng.normal(0, 0.08)
        for place, wording in enumerate(names):
            side = (number + place) % 2 if within else number % 2
            condition = ("control", "treatment")[side]
            target = rng.random() < PLANTED[condition] + own
            answer = "No" if target else "Yes"
            rows.append((f"name{number}@example.org", wording, condition, answer))
    return pd.DataFrame(rows, columns=["pid", "wording", "condition", "resp"])


def as_qualtrics(long: pd.DataFrame) -> pd.DataFrame:
    "The same with a row for each person, and three head rows."
    column = long["wording"] + "_" + long["condition"]
    wide = long.assign(column=column).pivot(index="pid", columns="column", values="resp")
    wide = wide.reset_index().rename(columns={"pid": "ResponseId"}).fillna("")
    wide.insert(1, "Status", "IP Address")
    preview = wide.head(1).assign(ResponseId="R_0", Status="Survey Preview")
    questions = pd.DataFrame([{name: f"Question {name}" for name in wide}])
    ids = pd.DataFrame([{name: json.dumps({"ImportId": name}) for name in wide}])
    return pd.concat([questions, ids, wide, preview])


def as_jspsych(long: pd.DataFrame) -> pd.DataFrame:
    "The same as jsPsych writes it: ids of items, places from 0, pages without a question."
    items = selected(cb.items(FRAMING), cb.paradigm(FRAMING).headline)
    first = items.drop_duplicates(["cluster", "condition"])
    ids = first.set_index(["cluster", "condition"])["item_id"]
    table = pd.DataFrame(
        {
            "trial_type": "html-button-response",
            "trial_index": range(len(long)),
            "PROLIFIC_PID": long["pid"],
            "item_id": [ids[pair] for pair in zip(long["wording"], long["condition"])],
            "response": (long["resp"] == "No").astype(int),
        }
    )
    pages = table.drop_duplicates("PROLIFIC_PID").assign(trial_type="instructions")
    return pd.concat([pages.assign(item_id="", response=""), table])


SHAPES = {"long": lambda long: long, "qualtrics": as_qualtrics, "jspsych": as_jspsych}


def headline(outputs) -> pd.Series:
    "The headline of the people."
    return cb.headline(outputs).iloc[0]


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_planted_effect_comes_back(shape, within, tmp_path):
    file = tmp_path / "my.csv"
    SHAPES[shape](invented(within=within)).to_csv(file, index=False)
    columns = ["--columns", "person=pid,item=wording,answer=resp"] * (shape == "long")
    asked = ["import", "answers", str(file), "--paradigm", FRAMING, "--out", str(tmp_path / "o")]
    said = CliRunner().invoke(app, [*asked, "--participant", "people/mine", *columns])
    assert said.exit_code == 0, said.output
    assert ("within people" if within else "between people") in said.output
    found = headline(tmp_path / "o")
    assert (found["participant"], found["n_valid"]) == ("people/mine", 1200)
    assert found["ci_low"] < 0.3 < found["ci_high"] and found["ci_low"] > 0.1
    plain = selected_shares(invented(within=within))
    assert found["estimate"] == pytest.approx(plain, abs=1e-9)


def selected_shares(long: pd.DataFrame) -> float:
    "The mean over wordings of the difference of shares, by hand."
    shares = (long["resp"] == "No").groupby([long["wording"], long["condition"]]).mean().unstack()
    return (shares["treatment"] - shares["control"]).mean()


def simulated(people: int = 80, seed: int = 3) -> pd.DataFrame:
    "A long table: each person answers every wording in one condition, as sim/human would."
    items = selected(cb.items(FRAMING), cb.paradigm(FRAMING).headline)
    first = items.drop_duplicates(["cluster", "condition"])
    sides = [part.to_dict("records") for _, part in first.groupby("condition")]
    shares = [[answer_probabilities("human", item)["A"] for item in side] for side in sides]
    rng = np.random.default_rng(seed)
    rows = [
        (f"P{number}", item["item_id"], "AB"[int(rng.random() > share)])
        for number in range(people)
        for item, share in zip(sides[number % 2], shares[number % 2])
    ]
    return pd.DataFrame(rows, columns=["pid", "item_id", "answer"])


WORDS = {
    "sim/human": "like",
    "sim/human temperature=0.4": "stronger",
    "sim/rational": "weaker",
    "sim/mirror": "opposite",
    "sim/messy": "cannot tell",
}


def test_five_participants_show_the_five_words(tmp_path):
    answers(simulated(), FRAMING, outputs=tmp_path)
    given = {"outputs": tmp_path, "progress": False, "reports": False}
    cb.run(["sim/human", "sim/rational", "sim/mirror"], FRAMING, **given)
    cb.run("sim/human", FRAMING, temperature=0.4, **given)
    cb.run("sim/messy", FRAMING, max_prompts=32, **given)
    found = compare(tmp_path, *WORDS, "people/mine").differences
    beside = found[found["second"] == "people/mine"].set_index("first")
    assert beside["likeness"].to_dict() == WORDS
    apart = found[found["second"] != "people/mine"]
    assert apart["likeness"].isna().all() and (apart["n_prompts"] > 0).any()
    on_pages = likenesses(cb.effects(tmp_path))
    assert {who: each.word for (who, _), each in on_pages.items()} == WORDS


def test_nobody_can_be_found_in_the_folder(tmp_path):
    answers(invented(20), FRAMING, columns={"answer": "resp"}, outputs=tmp_path / "out")
    held = (tmp_path / "out" / "study.sqlite").read_bytes()
    assert b"example.org" not in held
    with Folder(tmp_path / "out") as folder:
        notes = " ".join(text for _, text in kept_notes(folder))
    assert "between people" in notes


def test_what_cannot_be_read_stays_with_its_status(tmp_path):
    long = invented(20)
    long.loc[:2, "resp"] = ["perhaps", "", "7"]
    found = answers(long, FRAMING, columns={"answer": "resp"}, outputs=tmp_path / "out")
    assert found.statuses == {"ok": 117, "invalid_format": 2, "no_response": 1}
    assert len(found.trials) == 120


def test_what_is_missing_is_named():
    long, framing = invented(4), cb.paradigm(FRAMING)
    with pytest.raises(CogbiasError, match="person=COLUMN"):
        read_answers(long.drop(columns="pid"), framing)
    with pytest.raises(CogbiasError, match=".rsp.; did you mean .resp."):
        read_answers(long, framing, columns={"answer": "rsp"})
    with pytest.raises(CogbiasError, match="no answer is to an item"):
        read_answers(long.assign(condition="a"), framing)


def drawn(rng, people: int, wordings: int, within: bool, slopes: float):
    "Scores of people who cross wordings, with an effect of .4 that differs by both."
    person, wording = (each.ravel() for each in np.indices((people, wordings)))
    if within and wordings == 1:
        person, wording = np.tile(person, 2), np.tile(wording, 2)
        treated = np.arange(2 * people) < people
    else:
        treated = (rng.permutation(people)[person] + wording * within) % 2 == 1
    by_wording = rng.normal(0.4, slopes * (wordings > 1), wordings)
    level, effect = (
        rng.normal(0, 0.7, people),
        by_wording[wording] + rng.normal(0, 0.3, people)[person],
    )
    score = level[person] + wording / 10 + effect * treated + rng.normal(size=len(person))
    size = np.bincount(2 * wording + treated)[2 * wording + treated]
    part = np.where(treated, 1, -1) / wordings / size
    return score, part, treated, wording, person


def covered(people: int, wordings: int, within: bool, slopes: float, draws: int) -> float:
    "How often the interval holds the effect."
    rng = np.random.default_rng(people + wordings)
    found = [
        crossed_difference(*drawn(rng, people, wordings, within, slopes)) for _ in range(draws)
    ]
    return np.mean([each.ci_low <= 0.4 <= each.ci_high for each in found])


@pytest.mark.slow
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("wordings", [1, 6, 36])
@pytest.mark.parametrize("people", [30, 200, 500])
def test_intervals_cover(people, wordings, within):
    assert 0.93 <= covered(people, wordings, within, 0.3, 2000) <= 0.97


def test_an_interval_over_people_and_wordings_covers():
    assert 0.90 <= covered(60, 12, True, 0.3, 300) <= 0.99


def test_a_mixed_model_says_the_same():
    import statsmodels.formula.api as smf

    score, part, treated, wording, person = drawn(np.random.default_rng(3), 60, 20, True, 0.4)
    ours = crossed_difference(score, part, treated, wording, person)
    columns = {"score": score, "treated": treated * 1.0, "person": person, "wording": wording}
    table = pd.DataFrame(columns).assign(all=1)
    random = {
        "person": "0 + C(person)",
        "wording": "0 + C(wording)",
        "person_effect": "0 + C(person):treated",
        "wording_effect": "0 + C(wording):treated",
    }
    model = smf.mixedlm("score ~ treated", table, groups="all", re_formula="0", vc_formula=random)
    theirs = model.fit(method="powell")
    assert theirs.converged
    assert ours.estimate == pytest.approx(theirs.params["treated"], abs=0.02)
    assert ours.se == pytest.approx(theirs.bse["treated"], rel=0.15)


def test_a_human_value_typed_in_is_marked_and_not_graded(tmp_path, forgotten):
    own = tmp_path / "own.toml"
    human = 'options = ["Yes", "No"]\ntarget = "Yes"\n'
    human += 'human = [{label = "a class", estimate = 0.4, source = "a book"}]\n'
    own.write_text(human + ABOUT.format(control="First", treatment="Second"), encoding="utf-8")
    cb.run("sim/human", own, outputs=tmp_path / "out", reports=False, progress=False)
    (found,) = likenesses(cb.effects(tmp_path / "out")).values()
    assert (found.word, found.people) == ("cannot tell", "a class (typed in)")
    assert set(human_reference("own/own")["grade"]) == {"typed in"}


MANY_LABS = Path(__file__).parents[2] / "shared" / "data" / "people"
ABOUT = """title = "A published comparison"
bias = "comparison"
summary = "One thing is said in two ways. The answers should be the same."
norm = "The same answer in both conditions."
positive = "more of it under treatment"
conditions = {{control = "{control}", treatment = "{treatment}"}}
question = {{control = "What of the first?", treatment = "What of the second?"}}
wordings = [{{wording = "published"}}]
"""
PUBLISHED = {  # file -> control, treatment, what is asked, and the difference as checked by hand
    "many_labs_2_jacket_calculator": (
        *("Expensive", "Cheap", 'options = ["Yes", "No"]\ntarget = "Yes"'),
        1782 / 3609 - 1162 / 3619,
    ),
    "many_labs_2_less_is_better": (
        *("Coat", "Scarf", 'number = {unit = "points", low = 0, high = 6}'),
        5.50 - 4.61,
    ),
}


@pytest.mark.slow
@pytest.mark.skipif(not MANY_LABS.exists(), reason="the published files are not here")
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_answers_of_people_give_their_figures(name, tmp_path):
    control, treatment, asked, difference = PUBLISHED[name]
    own = tmp_path / "own.toml"
    text = ABOUT.format(control=control, treatment=treatment)
    own.write_text(asked + "\n" + text, encoding="utf-8")
    table = pd.read_csv(MANY_LABS / f"{name}.csv.gz")
    columns = {"person": "uID", "condition": "factor", "answer": "variable"}
    found = answers(table, own, columns=columns, outputs=tmp_path / "out").headlines.iloc[0]
    assert found["estimate"] == pytest.approx(difference, abs=0.006)
    assert found["n_valid"] == len(table)
