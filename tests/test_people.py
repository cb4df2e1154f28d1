"Tables of what people answered go in with one command, and the planted effect comes back."

import csv
import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiers import every_few, slow_but
from typer.testing import CliRunner

import cogbias as cb
from cogbias.backends.sim import answer_probabilities, exact_trials
from cogbias.cli import app
from cogbias.compare import compare
from cogbias.design import human_reference, selected
from cogbias.effects import likenesses
from cogbias.exchange.experiment import lists_of
from cogbias.exchange.people import SAMPLES, _key, answers, names_of_items, read_answers
from cogbias.folder import Folder, items, kept_notes, requests
from cogbias.stats.crossed import crossed_difference
from cogbias.stats.ratings import RatingRule, Side, rating_effect_of_people, score_tables
from cogbias.tables import CogbiasError, shipped

FRAMING = "classic/framing"
PLANTED = {"control": 0.35, "treatment": 0.65}


def invented(people=200, wordings=6, within=False):
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


def as_qualtrics(long):
    "The same with a row for each person, and three head rows."
    column = long["wording"] + "_" + long["condition"]
    wide = long.assign(column=column).pivot(index="pid", columns="column", values="resp")
    wide = wide.reset_index().rename(columns={"pid": "ResponseId"}).fillna("")
    wide.insert(1, "Status", "IP Address")
    preview = wide.head(1).assign(ResponseId="R_0", Status="Survey Preview")
    questions = pd.DataFrame([{name: f"Question {name}" for name in wide}])
    ids = pd.DataFrame([{name: json.dumps({"ImportId": name}) for name in wide}])
    return pd.concat([questions, ids, wide, preview])


def as_jspsych(long):
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


def headline(outputs):
    "The headline of the people."
    return cb.headline(outputs).iloc[0]


@pytest.mark.parametrize(("shape", "within"), [*zip(SHAPES, (False, False, True)), ("long", True)])
def test_a_planted_effect_comes_back(shape, within, tmp_path):
    file = tmp_path / "my.csv"
    SHAPES[shape](invented(within=within)).to_csv(file, index=False)
    columns = ["--columns", "person=pid,item=wording,answer=resp"] * (shape == "long")
    asked = ["import", "answers", str(file), "--paradigm", FRAMING, "--out", str(tmp_path / "o")]
    said = CliRunner().invoke(app, [*asked, "--participant", "people/mine", *columns])
    assert said.exit_code == 0, said.output
    assert ("within-subjects" if within else "between-subjects") in said.output
    found = headline(tmp_path / "o")
    assert (found["participant"], found["n_valid"]) == ("people/mine", 1200)
    assert found["ci_low"] < 0.3 < found["ci_high"] and found["ci_low"] > 0.1
    plain = selected_shares(invented(within=within))
    assert found["estimate"] == pytest.approx(plain, abs=1e-9)


def selected_shares(long):
    "The mean over wordings of the difference of shares, by hand."
    shares = (long["resp"] == "No").groupby([long["wording"], long["condition"]]).mean().unstack()
    return (shares["treatment"] - shares["control"]).mean()


def simulated(people=80, seed=3):
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
    given["where"] = {"variant": ["base"]}
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
    assert "between-subjects" in notes


def by_lists(name, people, seed=1):
    "A long table: each person answers one list of an experiment, as sim/human would."
    items = selected(cb.items(name), cb.paradigm(name).headline)
    asked, rng = items.set_index("item_id", drop=False), np.random.default_rng(seed)
    lists, rows = [asked.loc[each].to_dict("records") for each in lists_of(items)], []
    for number in range(people):
        for item in lists[number % len(lists)]:
            p = answer_probabilities("human", item)
            rows.append((number, item["item_id"], rng.choice([*p], p=[*p.values()])))
    return pd.DataFrame(rows, columns=["person", "item_id", "answer"])


def test_orders_that_differ_between_people_are_two_orders(tmp_path):
    found = answers(by_lists(FRAMING, 48), FRAMING, outputs=tmp_path)
    assert "order" not in found.headlines.iloc[0]["detail"]
    consistency = found.effects[found.effects["measure"] == "order_consistency"]
    assert consistency["estimate"].notna().all() and len(consistency) == 2


@pytest.mark.parametrize("name", every_few(2, ["classic/endowment", "classic/category_size"]))
def test_numbers_of_people_say_what_holds_on_these_wordings(name, tmp_path):
    found = answers(by_lists(name, 80), name, outputs=tmp_path).effects
    head = found[found["headline"]].iloc[0]
    (these,) = found[(found["measure"] == head["measure"]) & (found["target"] == "F")].to_dict(
        "records"
    )
    assert "80 people" in these["detail"] and these["estimate"] == head["estimate"]
    assert these["ci_low"] < these["estimate"] < these["ci_high"]
    assert head["verdict_these_prompts"] == "present"


@pytest.mark.parametrize("own", [False, True])
def test_a_model_is_asked_what_people_were_asked(own, tmp_path):
    name, people = FRAMING, tmp_path / "people"
    if own:
        name = shipped("data", "people", "many_labs_2_price.toml")
        sides = [f"P{n}" for n in range(40)], ["Cheap", "Expensive"] * 20, ["Yes", "No"] * 20
        table = pd.DataFrame(dict(zip(("person", "condition", "answer"), sides)))
    else:
        table = by_lists(name, 24).query("person % 16 < 6")
    theirs = answers(table, name, outputs=people)
    line = ["run", "--model", "sim/human", "--paradigm", str(name), "--items", str(people)]
    said = CliRunner().invoke(app, [*line, "--outputs", str(people), "--no-reports"])
    assert said.exit_code == 0, said.output
    with Folder(people) as folder:
        asked = {each.participant: items(folder, each) for each in requests(folder)}
    assert len(asked["people/mine"]) == len(table)
    texts = {who: {*each["prompt"]} for who, each in asked.items()}
    assert texts["people/mine"] == texts["sim/human"] and asked["sim/human"]["system"].isna().all()
    assert len(asked["sim/human"]) == len(texts["sim/human"]) < len(table)
    (row,) = compare(people).differences.to_dict("records")
    assert (row["first"], row["second"]) == ("sim/human", "people/mine")
    mine = cb.headline(people).set_index("participant")["estimate"]
    assert row["estimate"] == pytest.approx(mine["sim/human"] - mine["people/mine"])
    assert mine["people/mine"] == pytest.approx(theirs.headlines.iloc[0]["estimate"])


def answered_in_qualtrics(survey, people):
    "The table that Qualtrics would write: each person answers one block of each paradigm."
    blocks = re.split(r"\[\[Block:(.*)\]\]", survey)[1:]
    lists: dict[str, list] = {}
    for head, body in zip(blocks[2::2], blocks[3::2]):  # after the first, which says what to set
        asked = re.findall(r"\[\[Question:(.*)\]\]\n\[\[ID:(.*)\]\]\n(.*)\n", body)
        lists.setdefault(head.split(" list ")[0], []).append(asked)
    named = re.search(r"\[\[ED:paradigms:(.*)\]\]", survey)[1]
    assert named.split() == [*lists]
    rng, rows, texts = np.random.default_rng(5), [], {}
    items = {each["item_id"]: each for name in lists for each in cb.items(name).to_dict("records")}
    for number in range(people):
        row = {"ResponseId": f"R_{number}", "Status": "IP Address", "Finished": "True"}
        for blocks_of in lists.values():
            for kind, item_id, text in blocks_of[number % len(blocks_of)]:
                p = answer_probabilities("human", items[item_id])
                label = rng.choice([*p], p=[*p.values()])
                named = {each["label"]: each["text"] for each in items[item_id]["options"]}
                row[item_id] = label if kind == "TE:SingleLine" else html.escape(named[label])
                texts[item_id] = text
        rows.append(row)
    answers = pd.DataFrame(rows).fillna("")
    heads = [texts, {name: json.dumps({"ImportId": name}) for name in answers}]
    return pd.concat([pd.DataFrame(heads, columns=answers.columns), answers])


def test_a_survey_for_qualtrics_brings_the_planted_effects_back(tmp_path):
    study, file, out = tmp_path / "my.toml", tmp_path / "survey.txt", tmp_path / "out"
    names = ["classic/framing", "classic/category_size"]
    study.write_text(f'models = ["sim/human"]\nparadigms = {json.dumps(names)}\n')
    said = CliRunner().invoke(app, ["export", "qualtrics", str(study), "--out", str(file)])
    assert said.exit_code == 0, said.output
    survey = file.read_text(encoding="utf-8")
    assert len({*re.findall(r"\[\[ID:(.*)\]\]", survey)}) == survey.count("[[ID:")
    table = tmp_path / "answers.csv"
    answered_in_qualtrics(survey, 48).to_csv(table, index=False)
    for name in names:
        line = ["import", "answers", str(table), "--paradigm", name, "--out", str(out)]
        said = CliRunner().invoke(app, line)
        assert said.exit_code == 0 and "could not be read" not in said.output, said.output
    found = cb.headline(out).set_index("paradigm")
    for name in names:
        asked = selected(cb.items(name), cb.paradigm(name).headline)
        planted = cb.headline(cb.effects(exact_trials("human", asked), asked)).iloc[0]["estimate"]
        assert 0 < found.loc[name, "ci_low"] < planted < found.loc[name, "ci_high"]


def test_ratings_of_people_who_saw_one_side_of_a_pair_give_the_planted_effect(tmp_path):
    name = "managerial/framing"
    table = by_lists(name, 100)
    found = answers(table, name, outputs=tmp_path).headlines.iloc[0]
    assert found["n_people"] == 100 and "100 people" in found["detail"]
    assert found["n_items"] == table["item_id"].nunique()
    asked = selected(cb.items(name), cb.paradigm(name).headline)
    planted = cb.headline(cb.effects(exact_trials("human", asked), asked)).iloc[0]["estimate"]
    assert 0 < found["ci_low"] < planted < found["ci_high"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    "A folder with answers of people and of a simulated participant, and its two exports."
    place = tmp_path_factory.mktemp("shared")
    answers(by_lists(FRAMING, 16), FRAMING, outputs=place / "out")
    given = {"outputs": place / "out", "progress": False, "reports": False, "max_prompts": 16}
    cb.run("sim/human", FRAMING, **given)
    for name in ("psych-ds", "datasets"):
        line = ["export", name, str(place / "out"), "--out", str(place / name)]
        assert CliRunner().invoke(app, line).exit_code == 0
    return place


OFFICIAL = "study site subject session task condition trial stimulus description".split()
OF_PROPERTY_VALUE = {"@type", "name", "description", "minValue", "maxValue", "valueReference"}


def test_a_psych_ds_folder_keeps_the_rules_of_its_validator(shared):
    "Schema 1.5.1, its warnings about names and properties among them."
    folder = shared / "psych-ds"
    files = {each.name for each in folder.iterdir()}
    assert files == {"dataset_description.json", "README.md", "data"}
    said = json.loads((folder / "dataset_description.json").read_text(encoding="utf-8"))
    assert (said["@context"], said["@type"]) == ("https://schema.org", "Dataset")
    assert said["name"] and said["description"]
    variables = said["variableMeasured"]
    assert all(
        {"@type", "name", "description"} <= {*each} <= OF_PROPERTY_VALUE for each in variables
    )
    names, heads = [each["name"] for each in variables], set()
    assert len({*names}) == len(names)
    for file in (folder / "data").rglob("*"):
        assert re.fullmatch(r"([a-z]+-[a-zA-Z0-9]+)(_[a-z]+-[a-zA-Z0-9]+)*_data\.csv", file.name)
        assert {part.split("-")[0] for part in file.stem.split("_")[:-1]} <= {*OFFICIAL}
        with file.open(encoding="utf-8", newline="") as lines:
            head, *rows = csv.reader(lines, strict=True)
        assert all(head) and len({*head}) == len(head) and "row_id" not in head
        assert rows and {len(row) for row in rows} == {len(head)}
        heads |= {*head}
    assert heads == {*names}


def test_a_folder_of_datasets_loads_as_its_card_says(shared):
    yaml = pytest.importorskip("yaml")
    folder = shared / "datasets"
    head = (folder / "README.md").read_text(encoding="utf-8").split("---")[1]
    tables = {
        each["config_name"]: pd.read_parquet(folder / each["data_files"])
        for each in yaml.safe_load(head)["configs"]
    }
    assert [*tables] == ["items", "trials", "effects"]
    assert {*tables["trials"]["item_id"]} == {*tables["items"]["item_id"]}
    assert {*tables["trials"]["participant"]} == {"people/mine", "sim/human"}
    assert len(tables["trials"]) == 16 * 10 + 16 and len(tables["effects"])


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
    with pytest.raises(CogbiasError, match="no answer matches an item"):
        read_answers(long.assign(condition="a"), framing)


def drawn(rng, people, wordings, within, slopes):
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


def covered(people, wordings, within, slopes, draws):
    "How often the interval holds the effect."
    rng = np.random.default_rng(people + wordings)
    found = [
        crossed_difference(*drawn(rng, people, wordings, within, slopes)) for _ in range(draws)
    ]
    return np.mean([each.ci_low <= 0.4 <= each.ci_high for each in found])


@pytest.mark.slow
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("wordings", [1, 6, 36])
@pytest.mark.parametrize("people", [30, 200])
def test_intervals_cover(people, wordings, within):
    assert 0.93 <= covered(people, wordings, within, 0.3, 2000) <= 0.97


def ratings_drawn(rng, people, wordings):
    "Ratings from 0 to 6, of people who differ in level and effect, as wordings do."
    person, wording = (each.ravel() for each in np.indices((people, wordings)))
    apart = 0.3 * (wordings > 1)  # how far wordings differ
    treated = (rng.permutation(people)[person] + wording * (wordings > 1)) % 2 == 1
    effect = rng.normal(0.6, apart, wordings)[wording] + rng.normal(0, 0.3, people)[person]
    level = 2.7 + rng.normal(0, 0.8, people)[person] + rng.normal(0, apart, wordings)[wording]
    latent = level + effect * treated + rng.normal(size=len(person))
    rating = np.eye(7)[np.clip(np.rint(latent), 0, 6).astype(int)]
    sides = [Side(rating[at], wording[at], person[at]) for at in (~treated, treated)]
    tables = score_tables(RatingRule(7), "shift")
    return rating_effect_of_people(*sides, np.arange(wordings), tables, "shift")


def ratings_covered(people, wordings, draws):
    "How often the interval of ratings holds the effect, that of very many people."
    rng, apart = np.random.default_rng(people + wordings), 0.3 * (wordings > 1)
    level = rng.normal(2.7, np.sqrt(0.8**2 + apart**2 + 1), 10**6)
    treated = level + rng.normal(0.6, np.hypot(0.3, apart), 10**6)
    means = [np.clip(np.rint(each), 0, 6).mean() for each in (level, treated)]
    truth = (means[1] - means[0]) / 6
    found = [ratings_drawn(rng, people, wordings) for _ in range(draws)]
    return np.mean([each.ci_low <= truth <= each.ci_high for each in found])


@pytest.mark.slow
@pytest.mark.parametrize("wordings", [1, 6, 36])
@pytest.mark.parametrize("people", [30, 200])
def test_intervals_of_ratings_cover(people, wordings):
    assert 0.93 <= ratings_covered(people, wordings, 1000) <= 0.97


def test_an_interval_over_ratings_of_people_covers():
    assert 0.90 <= ratings_covered(60, 12, 300) <= 0.99


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
    assert (found.word, found.people) == ("cannot tell", "a class (author-supplied)")
    assert set(human_reference("own/own")["grade"]) == {"author-supplied"}


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
PUBLISHED = {  # file -> format, what is asked, and the difference as checked by hand
    "many_labs_2_jacket_calculator.csv.gz": (
        "many-labs-2",
        {"own/many_labs_2_price": 1782 / 3609 - 1162 / 3619},
    ),
    "many_labs_2_less_is_better.csv.gz": ("many-labs-2", {"own/many_labs_2_gift": 5.50 - 4.61}),
    "twin2k_context_effects.csv": (
        "twin-2k-500",
        {"own/twin_2k_attraction": 0.629 - 0.557, "own/twin_2k_compromise": 0.581 - 0.557},
    ),
}


@pytest.mark.skipif(not MANY_LABS.exists(), reason="the published files are not here")
@pytest.mark.parametrize("file", slow_but(["twin2k_context_effects.csv"], PUBLISHED))
def test_published_answers_of_people_give_their_figures(file, tmp_path):
    format, effects = PUBLISHED[file]
    out = str(tmp_path / "out")
    line = ["import", format, str(MANY_LABS / file), "--out", out]
    assert CliRunner().invoke(app, line).exit_code == 0
    found = cb.headline(out).set_index("paradigm")["estimate"]
    assert found.to_dict() == pytest.approx(effects, abs=0.006)


@pytest.mark.parametrize("name", [each for files in SAMPLES.values() for each in files])
def test_what_a_published_sample_asked_is_declared(name):
    asked = cb.paradigm(shipped("data", "people", f"{name}.toml"))
    table = pd.DataFrame(dict.fromkeys(asked.answers["items"], ["1"]))
    known = names_of_items(asked, asked.items())
    assert {known[_key(each)] for each in table} == {*asked.items()["item_id"]}


def test_decimal_commas_are_read_where_they_can_be_nothing_else(tmp_path):
    name = "classic/category_size"
    table = by_lists(name, 8).astype(str)
    whole = read_answers(table, cb.paradigm(name))
    table["answer"] = [f"{each},0" for each in table["answer"]]
    found = read_answers(table, cb.paradigm(name))
    values = [[each.answer.value for each in one.cells[0].given] for one in (whole, found)]
    assert values[0] == values[1] and not [each for each in found.notes if "read" in each]
    table.loc[0, "answer"] = "12.5"
    assert "write decimals with a point" in " ".join(read_answers(table, cb.paradigm(name)).notes)
