"""A bias in a text file: from the file to the page, whatever is wrong with it, wherever it goes."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from cogbias.checking_designs import check_design
from cogbias.cli import app, main
from cogbias.design import DECLARED_HERE, OWN, declare, paradigm
from cogbias.kits.classic import against, classic
from cogbias.kits.file import own_rules, own_stimulus, paradigm_from_file, paradigm_of_files
from cogbias.kits.table import paradigm_from
from cogbias.kits.variants import ContentSet, Question, Variable
from cogbias.rendering import render_reports
from cogbias.running import effects_of, run_study
from cogbias.site.pages import build_site
from cogbias.skeletons import write_skeleton
from cogbias.status import folder_status
from cogbias.study import make_study, read_study, study_paradigms
from cogbias.tables import CogbiasError
from cogbias.verification import verify_folder

TEXT = """\
title = "Lost ticket"
bias = "lost ticket effect"
summary = "Who lost a ticket buys no other one; who lost the money does."
norm = "The same amount is gone in both conditions."
positive = "going home is chosen more often after losing the ticket"
options = ["Buy a ticket", "Go home"]
target = "Go home"
wordings = "outings.csv"
numbers.price = "money"
factors.kind_of_outing = "indoors or outdoors"

[conditions]
control = "cash is lost"
treatment = "a ticket is lost"

[question]
control = "A ticket to {place} is ${price}. You lost ${price} in cash. What do you do?"
treatment = "A ticket to {place} is ${price}. You lost your ticket. What do you do?"
"""
ROOT = Path(__file__).resolve().parent.parent
PLACES = (
    ("play", "the theatre", 10, "indoors"),
    ("match", "a handball match", 20, "indoors"),
    ("zoo", "the zoo", 8, "outdoors"),
    ("film", "the cinema", 9, "indoors"),
    ("opera", "the opera", 50, "indoors"),
    ("circus", "the circus", 22, "indoors"),
    ("ferry", "the island", 14, "outdoors"),
    ("garden", "the botanical garden", 7, "outdoors"),
    ("castle", "the castle", 11, "outdoors"),
    ("concert", "the concert in the park", 12, "outdoors"),
)
TABLE = "wording,place,price,kind_of_outing\n" + "".join(
    f"{name},{place},{price},{kind}\n" for name, place, price, kind in PLACES
)
FILES = {"lost.toml": TEXT, "outings.csv": TABLE}


pytestmark = pytest.mark.usefixtures("forgotten")


def written(folder: Path, files: dict[str, str] = FILES) -> Path:
    "The files in a folder; the declaration among them."
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / next(name for name in files if name.endswith(".toml"))


def said(*arguments: str, status: int = 0) -> str:
    "What a command prints, on both streams."
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == status, (arguments, done.output, done.exception)
    return done.output


# --- the same kit


def test_ten_wordings_give_the_same_items_as_in_python() -> None:
    question = Question(
        "own/lost",
        "own",
        {
            "control": "A ticket to {place} is ${price}. You lost ${price} in cash. "
            "What do you do?",
            "treatment": "A ticket to {place} is ${price}. You lost your ticket. What do you do?",
        },
        tuple(
            ContentSet(
                name,
                {"place": place},
                {"price": Variable("money", price)},
                facts={"kind_of_outing": kind},
            )
            for name, place, price, kind in PLACES
        ),
        dict.fromkeys(("control", "treatment"), {"other": "Buy a ticket", "target": "Go home"}),
        stimulus=own_stimulus,
        flags=dict.fromkeys(("no_persona", "odd", "large"), "not_applicable"),
        shows={"kind_of_outing": "kind_of_outing"},
        persona="",
    )
    own = paradigm_of_files(FILES)
    about = replace(own, items=own.items)
    told = {name: getattr(about, name) for name in ("title", "bias", "summary", "norm", "positive")}
    from cogbias.design import About

    in_python = classic(
        About(**told, source=own.source, conditions=own.conditions),
        question,
        against("lost_ticket_effect", "Go home, treatment minus control"),
        rules=own_rules(),
        factors={"kind_of_outing": "indoors or outdoors"},
    )
    first, second = own.items(), in_python.items()
    assert len(first) == 10 * 2 * 2
    pd.testing.assert_frame_equal(first, second)
    assert own.contrasts == in_python.contrasts


def test_variants_scale_numbers_and_personas_are_told() -> None:
    more = 'variants = ["base", "no_persona", "odd"]\npersona = "You are a nurse."\n'
    own = paradigm_of_files({**FILES, "lost.toml": more + TEXT})
    items = own.items()
    assert set(items["variant"]) == {"base", "no_persona", "odd"}
    assert items[items["variant"] == "odd"]["prompt"].str.contains(r"\$97", regex=True).any()
    told = items["system"].str.startswith("You are a nurse.")
    assert (told == (items["variant"] != "no_persona")).all()


def test_whole_prompts_in_a_table_and_inline_are_the_same() -> None:
    head = TEXT.partition("options")[0] + 'conditions = { control = "c", treatment = "t" }\n'
    rows = [("a", "control", "See a cup?"), ("a", "treatment", "Own a cup?")]
    rows += [("b", "control", "See a pen?"), ("b", "treatment", "Own a pen?")]
    table = "wording,condition,prompt,option_a,option_b,target\n" + "".join(
        f"{name},{condition},{prompt},sell,keep,keep\n" for name, condition, prompt in rows
    )
    inline = "".join(
        f'[[wordings]]\nname = "{name}"\noptions = ["sell", "keep"]\ntarget = "B"\n'
        f'prompt = {{ control = "See a {thing}?", treatment = "Own a {thing}?" }}\n'
        for name, thing in (("a", "cup"), ("b", "pen"))
    )
    first = paradigm_of_files({"x.toml": head + 'wordings = "w.csv"\n', "w.csv": table})
    second = paradigm_of_files({"x.toml": head + inline})
    assert first.items()["item_id"].tolist() == second.items()["item_id"].tolist()
    frame = pd.DataFrame(
        [dict(zip(("wording", "condition", "prompt"), row)) for row in rows]
    ).assign(option_a="sell", option_b="keep", target="keep")
    assert (
        paradigm_from(frame, "x").items()["item_id"].tolist() == first.items()["item_id"].tolist()
    )


def test_a_number_is_asked_for() -> None:
    text = TEXT.replace('options = ["Buy a ticket", "Go home"]\ntarget = "Go home"\n', "")
    text = text.replace("What do you do?", "How many years will you remember it?")
    text = text.replace("numbers.price", 'number.unit = "years"\nnumber.high = 80\nnumbers.price')
    text = text.replace("[conditions]", "[conditions]")
    own = paradigm_of_files({**FILES, "lost.toml": text})
    assert set(own.items()["answer"]) == {"number"}
    assert own.headline.unit == "years" and own.headline.kind == "mean_difference"


def test_python_takes_the_name_of_a_file(tmp_path: Path) -> None:
    from cogbias.front_door import items, plan

    file = str(written(tmp_path))
    assert len(items(file)) == 40
    planned = plan("sim/human", file, outputs=tmp_path / "out")
    assert planned.cells["paradigm"].tolist() == ["own/lost"]


# --- every mistake

MISTAKES = [  # (what is replaced in the declaration, with what, what is said)
    ("title = ", "titel = ", "lost.toml, line 1, column 1: titel: there is no such field; did you"),
    ('title = "Lost ticket"', "title = 3", "line 1, column 1: title: should be a text"),
    ('title = "Lost ticket"\n', "", "title: is missing; write a text (heading of its reports)"),
    ('"Lost ticket"', '"Lost ticket', "lost.toml, line 1, column 21: no valid TOML (Illegal"),
    ('"Lost ticket"', '"a\\u001b[31m"', "cannot be printed"),
    ('target = "Go home"', 'target = "Go out"', "line 7, column 1: target: 'Go out' is none of"),
    ('target = "Go home"\n', "", "target: is missing; write the option that shows the bias"),
    (
        '["Buy a ticket", "Go home"]',
        '["Go home"]',
        "line 6, column 1: options: there is 1 option; write",
    ),
    ('["Buy a ticket", "Go home"]', '["Go home", "Go home"]', "stands there twice"),
    ('["Buy a ticket", "Go home"]', '["Buy\\na", "Go home"]', "has several lines"),
    ('["Buy a ticket", "Go home"]', '"Go home"', "options: should be a list of texts"),
    ('target = "Go home"', "target = true", "line 7, column 1: target: should be a text, or"),
    ('bias = "', 'title = "x"\nbias = "', "(Cannot overwrite a value); the field that ends here"),
    ('"money"', '"mony"', "line 9, column 1: numbers.price: the kind 'mony' is not known; did you"),
    ("factors.", 'factors.variant = "x"\nfactors.', "line 10, column 1: factors.variant: is taken"),
    (
        "{place} is ${price}. You lost your",
        "{palce} is ${price}. You lost your",
        "question.treatment: no wording fills the gap {palce}; did you mean 'place'",
    ),
    ('"outings.csv"', '"../outings.csv"', "line 8, column 1: wordings: '../outings.csv' is not a"),
    ('"outings.csv"', '"/etc/passwd"', "wordings: '/etc/passwd' is not a file beside this one"),
    ('"outings.csv"', '"outings.txt"', "is no CSV file"),
    ('"outings.csv"', "[]", "line 8, column 1: wordings: there is none; write one at least"),
    ('treatment = "a ticket is lost"', "", "line 12, column 1: conditions: should be a table"),
    ('treatment = "a ticket', 'tretment = "a ticket', "conditions: should be a table with a text"),
    ("You lost your ticket", "You lost ${price} in cash", "both conditions of 'play' read alike"),
    ('bias = "', 'measure = "dominance"\nbias = "', "line 2, column 1: measure: 'dominance' is"),
    ('bias = "', 'variants = ["odd"]\nbias = "', "variants: base is not among them"),
    ('bias = "', 'variants = ["bsae"]\nbias = "', "variant 'bsae' is not known; did you mean"),
    ('bias = "', 'variants = ["base", "no_persona"]\nbias = "', "where there is no persona"),
    ('bias = "', 'settings = {}\nbias = "', "line 2, column 1: settings: belongs to based_on"),
    ('bias = "', 'name = "../x"\nbias = "', "line 2, column 1: name: '../x' is no name"),
    ('bias = "', 'number.unit = "years"\nbias = "', "number: a number is asked for; leave out"),
    (
        'bias = "',
        'human.label = "x"\nhuman.source = "s"\nbias = "',
        "line 2, column 1: human.estimate: is missing",
    ),
    (
        "[question]",
        '[human]\nlabel = "x"\nestimate = 3\nci_low = 4\nci_high = 5\nsource = "s"\n[question]',
        "line 19, column 1: human.ci_low: the estimate lies outside",
    ),
    (
        "[question]\n",
        '[question]\noptions = ["a", "b"]\n',
        "line 17, column 1: question.options: stands below [question]",
    ),
]


@pytest.mark.parametrize(("old", "new", "what"), MISTAKES)
def test_a_mistake_in_a_declaration_is_named(old: str, new: str, what: str, tmp_path: Path) -> None:
    assert old in TEXT
    file = written(tmp_path, {**FILES, "lost.toml": TEXT.replace(old, new, 1)})
    with pytest.raises(CogbiasError) as found:
        paradigm_from_file(file)
    told = str(found.value)
    assert what in told, told
    assert f"{file}, line " in told and "\n" not in told


EIGHT_FAULTS = """\
titel = "Lost ticket"
bias = 3
summary = "Who lost a ticket buys no other one; who lost the money does."
norm = "The same amount is gone in both conditions."
positive = "going home is chosen more often after losing the ticket"
options = ["Go home", "go  home"]
target = "Stay"
wordings = "outings.csv"
numbers.price = "mony"
factors.variant = "indoors or outdoors"

[conditions]
control = "cash is lost"
treatment = "a ticket is lost"

[question]
control = "A ticket to {place} is ${price}. You lost ${price} in cash. What do you do?"
treatment = "A ticket to {place} is ${price}. You lost your ticket near {corner}. What now?"

[human]
label = "students"
estimate = 0.3
source = "Author 1999"
n = 0
"""
TWO_FAULTS = "wording,place,price,variant\nplay,the theatre,10,indoors\nzoo,,8,x\nfilm,a {b},9,y\n"
ALL_TEN = [
    "line 1, column 1: titel: there is no such field; did you mean 'title'",
    "line 2, column 1: bias: should be a text",
    "line 6, column 1: options: the option 'Go home' stands there twice",
    "line 7, column 1: target: 'Stay' is none of the options; write one of 'Go home', 'go  home'",
    "line 9, column 1: numbers.price: the kind 'mony' is not known; did you mean 'money'",
    "line 10, column 1: factors.variant: is taken",
    "line 18, column 1: question.treatment: no wording fills the gap {corner}",
    "line 24, column 1: human.n: 0 is no number of people",
    "outings.csv, line 3, column 'place': the wording 'zoo' has nothing for 'place'; write it",
    "outings.csv, line 4, column 'place': nothing fills the gap {b}",
]


def test_all_faults_of_a_file_and_its_table_are_told_at_once_in_their_order(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    file = written(tmp_path, {"lost.toml": EIGHT_FAULTS, "outings.csv": TWO_FAULTS})
    with pytest.raises(CogbiasError) as found:
        paradigm_from_file(file)
    lines = str(found.value).split("\n")
    assert len(lines) == len(ALL_TEN), lines
    for line, what in zip(lines, ALL_TEN):
        assert line.startswith(f"{tmp_path}/") and what in line
    with pytest.raises(SystemExit) as ended:  # a command has a line for each, and one status
        main(["check", str(file)])
    assert ended.value.code == 2
    assert capsys.readouterr().err == "".join(f"cogbias: {line}\n" for line in lines)


def with_slips(field: str = "") -> dict[str, str]:
    "A declaration with five slips, and perhaps one more in a wording."
    text = LISTED
    for right, wrong in {
        '["{first}", "{second}"]': '["{first}", "{first}"]',
        'target = "{second}"': 'target = "{third}"\nvariants = ["base", "odder"]',
        '"money"': '"moneyy"',
        "{place} is ${price}. You lost your": "{plcae} is ${price}. You lost your",
        "\nplace = ": f"\n{field}\nplace = ",
    }.items():
        assert right in text, right
        text = text.replace(right, wrong, 1)
    return {"lost.toml": text}


def test_no_fault_is_left_out_and_none_follows_from_another() -> None:
    "Of a slip in the options, no wording is blamed for the gap that they lost."
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files(with_slips())
    lines = str(found.value).split("\n")
    told = ["'{first}' stands there twice", "'{third}' is none of", "'odder' is not known"]
    told += ["the kind 'moneyy' is not known", "fills the gap {plcae}; did you mean 'place'"]
    assert len(lines) == len(told), lines
    assert all(what in line for what, line in zip(told, lines)), lines


def test_all_faults_of_a_changed_experiment_are_told_at_once() -> None:
    text = """\
based_on = "classic/framing"
titel = "Framing"
persona = "You are {who}."
variants = ["base", "odder"]
settings = { colour = 3, seed = 1 }
question = "What?"
"""
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files({"nurse.toml": text})
    lines = str(found.value).split("\n")
    told = ["titel: there is no such field", "persona: holds '{who}'", "'odder' is not known"]
    told += ["'colour' is not an argument of its items()", "the seed is that of a study"]
    told += ["question: the design is that of classic/framing"]
    assert len(lines) == len(told), lines
    assert all(what in line for what, line in zip(told, lines)), lines


def test_a_misspelt_field_of_a_wording_is_told_beside_such_slips() -> None:
    for field, said in [("publishd = true", "did you mean 'published'"), ("trueth = 3", "'truth'")]:
        with pytest.raises(CogbiasError) as found:
            paradigm_of_files(with_slips(field))
        last = str(found.value).split("\n")[-1]
        assert "there is no such field" in last and said in last


def test_a_wording_that_calls_its_name_otherwise_is_told_of_both_fields() -> None:
    file = {"lost.toml": LISTED.replace("\nwording =", "\ncalled =")}
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files(file)
    missing, unknown = str(found.value).split("\n")
    assert "wordings.1.wording: is missing" in missing
    assert "wordings.1.called: there is no such field" in unknown


def test_a_text_with_a_wrong_brace_blames_no_column_for_gaps_that_nobody_can_see() -> None:
    text = TEXT.replace("A ticket to {place}", "A ticket to {Place}", 1)
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files({**FILES, "lost.toml": text})
    assert "question.control: has a brace that belongs to no gap" in str(found.value)
    assert "\n" not in str(found.value)
    both = TEXT.replace("A ticket to {place}", "A ticket to {Place}")
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files({**FILES, "lost.toml": both})
    assert "outings.csv" not in str(found.value)


def test_what_all_wordings_lack_is_said_once(tmp_path: Path) -> None:
    whole = "".join(
        f"{name},{each},Do you go to {place} {each}?,yes,no\n"
        for name, place, *_ in PLACES
        for each in ("control", "treatment")
    )
    told = TEXT.partition("[question]")[0]
    for field in ("options", "target", "numbers", "factors"):
        told = "".join(line for line in told.splitlines(True) if not line.startswith(field))
    heading = "wording,condition,prompt,option_a,option_b\n"
    for text, table, what in [
        (told, heading + whole, "outings.csv, line 2, column 'option_a': nothing says which"),
        (
            told,
            "wording,condition,prompt\n" + whole.replace(",yes,no", ""),
            "outings.csv, line 2, column 'wording': the wording 'play' has no options, and",
        ),
        (
            told,
            "wording\nplay\nzoo\n",
            "outings.csv, line 2, column 'wording': the wording 'play' has no prompt, and",
        ),
    ]:
        file = written(tmp_path, {"lost.toml": text, "outings.csv": table})
        with pytest.raises(CogbiasError) as found:
            paradigm_from_file(file)
        assert what in str(found.value)
        assert str(found.value).count("nothing says which") <= 1
        assert str(found.value).count("has no options") <= 1


def test_a_table_with_many_faults_is_cut_and_counted(tmp_path: Path) -> None:
    rows = "".join(f"w{number},,{number + 1},indoors\n" for number in range(150))
    table = "wording,place,price,kind_of_outing\n" + rows
    file = written(tmp_path, {**FILES, "outings.csv": table})
    with pytest.raises(CogbiasError) as found:
        paradigm_from_file(file)
    lines = str(found.value).split("\n")
    assert len(lines) == 101 and lines[-1] == "and 50 more faults"


IN_TABLES = [
    ("price", "prcie", "lost.toml, line 17, column 1: question.control: no wording fills the gap"),
    (TABLE, TABLE.replace("\n", ",x\n"), "outings.csv, line 1, column 'x': fills no gap"),
    ("theatre,10", "theatre,ten", "outings.csv, line 2, column 'price': 'ten' is no number"),
    ("match,", "play,", "outings.csv, line 3, column 'wording': 'play' stands there twice"),
    ("zoo,the zoo,8", "zoo,,8", "outings.csv, line 4, column 'place': the wording 'zoo' has no"),
    ("the cinema,9", "the cinema,9,9", "outings.csv, line 5, column 1: has 5 cells for 4 columns"),
    ("zoo,the zoo", "zoo,the \x1bzoo", "column 'place': holds '\\x1b', which cannot be printed"),
    ("film,the", 'film,"the', "no valid CSV"),
    ("the cinema", "x" * 150_000, "line 5, column 1: has a cell of more than 131,072 characters"),
    ("match,a handball match,20", "match,the theatre,10", "the wordings 'play' and 'match' read"),
    ("film,the", "=1+2;x,the", "is no name; use letters"),
]


@pytest.mark.parametrize(("old", "new", "what"), IN_TABLES)
def test_a_mistake_in_a_table_is_named(old: str, new: str, what: str, tmp_path: Path) -> None:
    assert old in TABLE
    file = written(tmp_path, {**FILES, "outings.csv": TABLE.replace(old, new, 1)})
    with pytest.raises(CogbiasError) as found:
        paradigm_from_file(file)
    told = str(found.value)
    assert what in told, told
    assert "\n" not in told


GAPS = TEXT.replace('["Buy a ticket", "Go home"]', '["{first}", "{second}"]').replace(
    'target = "Go home"', 'target = "{second}"'
)
FILLED = (
    TABLE.replace("\n", ",to pay,to leave\n")
    .replace("kind_of_outing,to pay,to leave", "kind_of_outing,first,second")
    .replace(",to pay", ",to pay {price}")
)
HUMAN = '[human]\nlabel = "x"\nsource = "s"\nestimate = 0.3\n'
WHOLE = """\
wording,condition,prompt,option_a,option_b,target
a,control,Which?,x,y,B
a,treatment,Which then?,x,y,B
"""
PLAIN = (
    TEXT.partition("options")[0]
    + 'wordings = "outings.csv"\n'
    + """
[conditions]
control = "c"
treatment = "t"
"""
)
LISTED = (
    GAPS.replace('wordings = "outings.csv"\n', "")
    + """
[[wordings]]
wording = "play"
place = "the theatre"
price = 10
kind_of_outing = "indoors"
first = "pay"
second = "leave"
"""
)

BOTH = [  # (declaration, table, what is said)
    (
        GAPS,
        FILLED.replace("to leave", "to pay 10", 1),
        "2, column 'second': the option 'to pay 10'",
    ),
    (GAPS, FILLED.replace("to leave", "To  Pay 20 ", 2), "line 3, column 'second': the option"),
    (GAPS, FILLED.replace("to pay {price}", "{second}", 1), "of 'play' stands there twice; write"),
    (
        'variants = ["base", "odd"]\n' + GAPS,
        FILLED.replace("to leave", "to pay 97", 1),
        "of 'play' stands there twice in the variant 'odd'",
    ),
    (PLAIN, WHOLE.replace("x,y", "X,x ", 1), "line 2, column 'option_a': the option 'X' stands"),
    (GAPS, FILLED.replace("to leave", "to {leave", 1), "line 2, column 'second': has a brace that"),
    (
        GAPS,
        FILLED.replace("to leave", "to {leave}", 1),
        "2, column 'second': nothing fills the gap",
    ),
    (
        GAPS,
        FILLED.replace("to leave", "a {second}", 1),
        "column 'second': the gap {second} is filled",
    ),
    (
        GAPS.replace("lost your", "lost {place your"),
        FILLED,
        "line 18, column 56: question.treatment",
    ),
    (GAPS.replace("lost your", "lost {Place} your"), FILLED, "at '{Place} your ticket.'"),
    ('persona = "From {place}"\n' + GAPS, FILLED, "line 1, column 17: persona: holds '{place}'"),
    (TEXT + HUMAN.replace("0.3", "30"), TABLE, "human.estimate: 30 is no effect in the unit prob"),
    (TEXT + HUMAN + "n = -3\n", TABLE, "column 1: human.n: -3 is no number of people; write 1"),
    (TEXT + HUMAN + "ci_low = 0.4\nci_high = 0.2\n", TABLE, "human.ci_low: 0.4 is above ci_high"),
    (TEXT + HUMAN + "ci_low = 0.2\nci_high = 1.2\n", TABLE, "human.ci_high: 1.2 is no effect"),
    (
        TEXT.replace("factors.kind", 'factors.other = "x"\nfactors.kind'),
        TABLE,
        "outings.csv, line 1, column 1: has no column 'other'",
    ),
    (PLAIN, WHOLE.replace("then?,x,y,B", "then?,x,y,"), "line 3, column 'target': nothing says"),
    (TEXT, TABLE.replace("zoo,the", 'zoo,"the'), "line 4, column 5: no valid CSV (a quote begins"),
    (
        TEXT,
        TABLE.replace("\n", ",5\n").replace("g,5", "g,truth"),
        "column 'truth': is the right num",
    ),
    (PLAIN, WHOLE.replace("option_b", "option_c"), "column 'option_c': there is no option_b bef"),
    (
        PLAIN,
        WHOLE.replace("option_b", "option_b,option_c").replace("x,y", "x,,y"),
        "line 2, column 'option_b': is empty, and an option follows it",
    ),
    (PLAIN, WHOLE.replace("prompt", "id,prompt").replace(",W", ",1,W"), "option_a, option_b"),
    (
        LISTED.replace("\nplace =", "\nplce ="),
        "",
        "line 21, column 1: wordings.1.plce: fills no gap",
    ),
    (LISTED.replace('wording = "play"\n', ""), "", "wordings.1.wording: is missing"),
    (LISTED + 'name = "x"\n', "", "wordings.1.name: stands beside wording; leave one"),
]


@pytest.mark.parametrize(("text", "table", "what"), BOTH)
def test_a_mistake_of_a_text_with_its_table_is_named(
    text: str, table: str, what: str, tmp_path: Path
) -> None:
    file = written(tmp_path, {"lost.toml": text, "outings.csv": table})
    with pytest.raises(CogbiasError) as found:
        paradigm_from_file(file)
    told = str(found.value)
    assert what in told, told
    assert ", line " in told and "\n" not in told


def test_options_with_gaps_and_braces_around_something_else_pass() -> None:
    own = paradigm_of_files({"lost.toml": GAPS, "outings.csv": FILLED})
    assert own.items()["prompt"].str.contains("A) to pay 10", regex=False).any()
    json_asked = GAPS.replace("What do you", 'Answer as {\\"x\\": 1}. What do you')
    own = paradigm_of_files({"lost.toml": json_asked, "outings.csv": FILLED})
    assert own.items()["prompt"].str.contains('{"x": 1}', regex=False).all()


def test_a_wording_has_its_name_as_in_a_table_or_as_before() -> None:
    first = paradigm_of_files({"lost.toml": LISTED}).items()
    second = paradigm_of_files({"lost.toml": LISTED.replace("\nwording =", "\nname =")}).items()
    assert first["item_id"].tolist() == second["item_id"].tolist()


def test_the_mark_of_some_editors_is_no_part_of_a_file(tmp_path: Path) -> None:
    file = written(tmp_path)
    for name in FILES:
        (tmp_path / name).write_text(FILES[name], encoding="utf-8-sig")
    assert paradigm_from_file(file).title == "Lost ticket"


@pytest.mark.parametrize(
    ("name", "encoding", "what"),
    [
        (
            "lost.toml",
            "latin-1",
            "lost.toml, line 2, column 12: is no UTF-8 text; save it as UTF-8",
        ),
        ("outings.csv", "latin-1", "outings.csv, line 4, column 11: is no UTF-8 text; save it as"),
        ("lost.toml", "utf-16", "lost.toml: is no UTF-8 text, but UTF-16; save it as UTF-8"),
        ("outings.csv", "utf-16", "outings.csv: is no UTF-8 text, but UTF-16; save it as UTF-8"),
    ],
)
def test_another_encoding_is_named(name: str, encoding: str, what: str, tmp_path: Path) -> None:
    file = written(tmp_path)
    odd = FILES[name].replace('bias = "los', 'bias = "losé').replace("the zoo", "the zoö")
    (tmp_path / name).write_bytes(odd.encode(encoding))
    with pytest.raises(CogbiasError) as found:
        paradigm_from_file(file)
    assert what in str(found.value), found.value


def test_files_that_are_no_declarations(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = written(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "caf\xe9"\n')
    (tmp_path / "large.toml").write_text("#" * 2**21)
    (tmp_path / "deep.toml").write_text("a = " + "[" * 3000)
    (tmp_path / "outings.csv").unlink()
    for name, what in (
        ("none.toml", "there is no such file"),
        ("latin.toml", "is no UTF-8 text"),
        ("large.toml", "has 2,097,152 bytes, and 1,048,576 are the most"),
        ("deep.toml", "deep.toml"),
        (file.name, "line 8, column 1: wordings: there is no file 'outings.csv' beside it"),
    ):
        with pytest.raises(SystemExit) as end:
            main(["items", str(tmp_path / name)])
        told = capsys.readouterr().err
        assert end.value.code == 2 and told.count("\n") == 1 and what in told, told


def test_a_table_elsewhere_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text(TABLE)
    file = written(tmp_path / "own", {"lost.toml": TEXT})
    (file.parent / "outings.csv").symlink_to(secret)
    with pytest.raises(CogbiasError, match="is a link that leads out of"):
        paradigm_from_file(file)
    (file.parent / "outings.csv").unlink()
    os.mkfifo(file.parent / "outings.csv")
    with pytest.raises(CogbiasError, match="is a pipe or a device"):
        paradigm_from_file(file)


# --- the door, as far as a machine can walk it


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "A folder of outputs of a file that is gone by now."
    place = tmp_path_factory.mktemp("door")
    said("new", "paradigm", "my_bias", "--folder", str(place))
    file = str(place / "my_bias.toml")
    assert "nothing is lacking" in said("check", file)
    assert "own/my_bias" in said("items", file, "--json")
    outputs = str(place / "out")
    run = ("--model", "sim/human", "--model", "sim/random", "--paradigm", file)
    assert "96 of 96 answers are missing" in said("plan", *run, "--outputs", outputs)
    told = said("run", *run, "--outputs", outputs)
    assert "sim/human (simulated)  own/my_bias: 0 stored, 48 asked" in told.replace("\n", " ")
    (place / "my_bias.toml").unlink()
    (place / "my_bias.csv").unlink()
    moved = tmp_path_factory.mktemp("elsewhere") / "moved"
    shutil.move(outputs, moved)
    OWN.clear()
    return moved


def test_a_folder_that_was_moved_needs_no_file(walked: Path) -> None:
    for arguments, what in (
        (("effects", walked), "default_effect"),
        (("verify", walked), "all follow"),
        (("status", walked), "2 current"),
        (("compare", walked), "own/my_bias"),
        (("report", walked), "0 reports written"),
        (("export", "csv", walked, "--out", walked.parent / "trials.csv"), "96 rows written"),
    ):
        OWN.clear()
        assert what in said(*map(str, arguments)), arguments


def test_a_run_goes_on_without_the_file(walked: Path) -> None:
    arguments = ("--model", "sim/human", "--paradigm", "own/my_bias", "--outputs", str(walked))
    OWN.clear()
    assert "nothing new" in said("run", *arguments, "--no-reports")


def test_its_report_and_its_page_say_what_it_is(walked: Path, tmp_path: Path) -> None:
    report = (walked / "reports" / "sim-human" / "own-my_bias.ipynb").read_text()
    assert ">Default effect: sim/human" in report and "outside of the package" in report
    OWN.clear()
    (tmp_path / "notebooks").mkdir()
    shutil.copy(min((ROOT / "nbs").glob("0*.ipynb")), tmp_path / "notebooks")
    build_site(walked, tmp_path / "site", tmp_path / "notebooks")
    pages = [page.read_text() for page in (tmp_path / "site").rglob("*.html")]
    assert any("Default effect" in page for page in pages)


def test_the_effects_are_those_of_the_planted_rule(walked: Path) -> None:
    first = effects_of(walked, save=False).iloc[0]
    assert (first["participant"], first["measure"]) == ("sim/human", "default_effect")
    assert first["estimate"] == pytest.approx(0.3799, abs=1e-3)  # sigmoid(0.8) - sigmoid(-0.8)


def test_a_study_file_names_it_from_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "designs")
    study = tmp_path / "designs" / "study.toml"
    study.write_text('models = ["sim/human"]\nparadigms = ["./lost.toml", "classic/framing"]\n')
    monkeypatch.chdir(tmp_path)
    asked = read_study(study)
    assert study_paradigms(asked) == ["own/lost", "classic/framing"]
    told = said("plan", "designs/study.toml", "--outputs", "out")
    assert "own/lost" in told


def test_a_paradigm_is_no_study_and_a_study_no_paradigm(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    file = written(tmp_path)
    study = tmp_path / "study.toml"
    study.write_text('models = ["sim/human"]\nparadigms = ["classic/framing"]\n')
    for arguments, what in (
        (
            ["run", str(file)],
            f"declares a paradigm, and is no study; name it with --paradigm {file}",
        ),
        (["check", str(study)], "study.toml, line 1, column 1: models: belongs to a study"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert what in capsys.readouterr().err


# --- a file that changes


def test_a_changed_file_is_other_items_and_that_is_said(tmp_path: Path) -> None:
    file, out = written(tmp_path), tmp_path / "out"
    fields = {"models": ["sim/human"], "paradigms": [str(file)]}
    before = run_study(make_study(**fields), out, reports=False)
    assert before.left_out == []
    first = effects_of(out, save=False)
    file.write_text(TEXT.replace("You lost your ticket", "Your ticket is gone"))
    after = run_study(make_study(**fields), out, reports=False)
    assert "20 of its 40 prompts are new" in after.left_out[0]
    assert after.cells[0]["asked"] == 20 and after.cells[0]["stored"] == 20
    assert "20 to items that are not in its items file" in after.left_out[1]
    assert effects_of(out, save=False)["estimate"].iloc[0] == first["estimate"].iloc[0]
    assert verify_folder(out).follows


def test_of_who_is_not_asked_the_changed_file_the_prompts_of_both_count(tmp_path: Path) -> None:
    "What the file declares now says nothing about prompts that it does not make any more."
    file, out = written(tmp_path), tmp_path / "out"
    fields = {"models": ["sim/human", "sim/random"], "paradigms": [str(file)]}
    run_study(make_study(**fields), out, reports=False)
    file.write_text(TEXT.replace("You lost your ticket", "Your ticket is gone"))
    after = run_study(make_study(**fields | {"models": ["sim/human"]}), out, reports=False)
    (line,) = [each for each in after.left_out if "sim-random" in each]
    assert "20 to items that are not in its items file" in line
    assert not [*out.glob("items/*/*")]


def test_a_changed_word_keeps_the_answers(tmp_path: Path) -> None:
    file, out = written(tmp_path), tmp_path / "out"
    fields = {"models": ["sim/human"], "paradigms": [str(file)]}
    run_study(make_study(**fields), out, reports=False)
    file.write_text(TEXT.replace("Lost ticket", "A lost ticket"))
    after = run_study(make_study(**fields), out, reports=False)
    assert after.cells[0]["asked"] == 0 and "its prompts are the same" in after.left_out[0]
    assert paradigm("own/lost").title == "A lost ticket"


def test_each_folder_means_its_own_version(tmp_path: Path) -> None:
    file = written(tmp_path)
    fields = {"models": ["sim/human"], "paradigms": [str(file)]}
    old = make_study(**fields)
    run_study(old, tmp_path / "old", reports=False)
    file.write_text(TEXT.replace('bias = "lost ticket effect"', 'bias = "other effect"'))
    new = make_study(**fields)
    run_study(new, tmp_path / "new", reports=False)
    assert effects_of(tmp_path / "old", save=False)["measure"].iloc[0] == "lost_ticket_effect"
    assert effects_of(tmp_path / "new", save=False)["measure"].iloc[0] == "other_effect"
    effects_of(tmp_path / "new", save=False)
    run_study(old, tmp_path / "again", reports=False)  # it carries its own text
    assert effects_of(tmp_path / "again", save=False)["measure"].iloc[0] == "lost_ticket_effect"


def test_a_manifest_holds_the_hash_and_not_the_text(tmp_path: Path) -> None:
    file, out = written(tmp_path), tmp_path / "out"
    run_study(make_study(models=["sim/human"], paradigms=[str(file)]), out, reports=False)
    study = json.loads((out / "manifest.json").read_text())["study"]
    assert study["paradigms"] == ["own/lost"]
    assert len(study["declared"]["own/lost"]) < 70 and "lost.toml" not in study["declared"]


# --- strangers


def test_a_strangers_declaration_is_held_to_the_same_rules(tmp_path: Path) -> None:
    file, out = written(tmp_path), tmp_path / "out"
    run_study(make_study(models=["sim/human"], paradigms=[str(file)]), out, reports=False)
    kept = out / "paradigms" / "own-lost" / "lost.toml"
    for odd, what in (
        (TEXT.replace('"Lost ticket"', '"a\\u001b[31m"'), "cannot be printed"),
        (TEXT.replace('bias = "', 'name = "framing"\nbias = "'), "does not belong there"),
        (TEXT.replace('"outings.csv"', '"/etc/passwd"'), "is not a file beside this one"),
    ):
        kept.write_text(odd)
        OWN.clear()
        with pytest.raises(CogbiasError, match=what):
            effects_of(out, save=False)


def test_verify_notices_an_edited_declaration(tmp_path: Path) -> None:
    file, out = written(tmp_path), tmp_path / "out"
    run_study(make_study(models=["sim/human"], paradigms=[str(file)]), out, reports=False)
    assert [each.as_left for each in verify_folder(out).sources] == [True]
    kept = out / "paradigms" / "own-lost" / "lost.toml"
    kept.write_text(TEXT.replace('bias = "lost ticket effect"', 'bias = "other effect"'))
    OWN.clear()
    found = verify_folder(out)
    assert not found.follows and [each.as_left for each in found.sources] == [False]


def test_verify_says_by_its_status_that_a_declaration_was_changed(tmp_path: Path) -> None:
    file, out = written(tmp_path), tmp_path / "out"
    run_study(make_study(models=["sim/human"], paradigms=[str(file)]), out, reports=False)
    assert "all follow\n" in said("verify", str(out))
    for name, odd in (
        ("lost.toml", TEXT.replace("Lost ticket", "A lost ticket")),  # no number moves
        ("outings.csv", TABLE + "\n"),
    ):
        kept = out / "paradigms" / "own-lost" / name
        before = kept.read_text()
        kept.write_text(odd)
        told = said("verify", str(out), status=1)
        assert "all follow, and what was asked was declared otherwise" in told
        assert "paradigms/own-lost: the declaration or its table is not as the run left" in told
        kept.write_text(before)
    assert "Status 1: a number does not follow" in said("verify", "--help")


def test_a_folder_that_lost_its_declarations_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    file, out = written(tmp_path), tmp_path / "out"
    study = make_study(models=["sim/human"], paradigms=[str(file)])
    run_study(study, out, reports=False)
    (out / "reports").mkdir(exist_ok=True)
    shutil.rmtree(out / "paradigms")
    for command in ("effects", "verify", "report", "site", "compare"):
        OWN.clear()
        with pytest.raises(SystemExit) as end:
            main([command, str(out)])
        shown = capsys.readouterr()
        assert end.value.code == 2, command
        assert "paradigms/own-lost: is missing, where the folder kept what own/lost is" in shown.err
        assert shown.err.count("\n") == 1 and "up to date" not in shown.out, command
    OWN.clear()
    arguments = ("--model", "sim/human", "--paradigm", str(file), "--outputs", str(out))
    assert "nothing new" in said("run", *arguments, "--no-reports")  # the remedy
    assert "all follow" in said("verify", str(out))


def test_a_report_that_failed_is_not_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = lambda *arguments: (["report of a in b: is odd"], [])  # noqa: E731
    monkeypatch.setattr("cogbias.rendering.render_reports", failing)
    told = said("report", str(tmp_path), status=1)
    assert " failed\n" in told and "up to date" not in told
    assert not (tmp_path / "manifest.json").exists()  # half a one would be no manifest


def test_no_shipped_paradigm_is_taken_for_ones_own() -> None:
    from cogbias.design import paradigms

    assert not [name for name in paradigms() if name.startswith("own/")]
    own = paradigm_of_files({**FILES, "lost.toml": 'name = "framing"\n' + TEXT})
    assert own.name == "own/framing"


# --- a table, and a notebook


def test_a_table_is_known_to_nobody_else() -> None:
    made = paradigm_from(paradigm("classic/framing").items(variants=["base"]), "part")
    assert made.name == "own/part" and "own/part" not in OWN
    with pytest.raises(CogbiasError, match="'own/part' is not known"):
        paradigm("own/part")


def test_what_was_declared_from_a_file_gives_way_to_the_file(tmp_path: Path) -> None:
    declare(paradigm_of_files(FILES))
    changed = {**FILES, "lost.toml": TEXT.replace("Lost ticket", "Other")}
    make_study(models=["sim/human"], paradigms=[str(written(tmp_path, changed))])
    assert paradigm("own/lost").title == "Other"


def test_a_table_is_run_and_its_folder_stands_alone(tmp_path: Path) -> None:
    from cogbias.running_in_python import run

    made = paradigm_from(paradigm("classic/framing").items(variants=["base"]), "part")
    found = run("sim/random", made, outputs=tmp_path / "out", reports=False)
    assert found.effects["paradigm"].unique().tolist() == ["own/part"]
    OWN.clear()
    assert verify_folder(tmp_path / "out").follows


def test_a_paradigm_of_a_notebook_leaves_a_folder_that_stands_alone(tmp_path: Path) -> None:
    mine = declare(replace(paradigm("classic/framing"), name="mine/framing"))
    out = tmp_path / "out"
    fields = {"settings": {"mine/framing": {"variants": ["base"]}}}
    study = make_study(models=["sim/human"], paradigms=[mine.name], **fields)
    with pytest.raises(CogbiasError):  # its items say classic/framing
        run_study(study, out, reports=False)
    table = paradigm("classic/framing").items(variants=["base"])
    own = paradigm_from(table, "x").items().assign(paradigm="mine/framing")
    from cogbias.tables import identified

    kept = identified(own)
    DECLARED_HERE.clear()
    declare(replace(mine, items=lambda seed=0: kept, question=None))
    outcome = run_study(make_study(models=["sim/human"], paradigms=[mine.name]), out, reports=False)
    assert outcome.failed == []
    DECLARED_HERE.clear()
    assert verify_folder(out).follows
    failed, reports = render_reports(out)
    assert failed == [] and len(reports) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kit", ["classic", "scenario"])
def test_a_draft_of_a_notebook_runs_as_it_is(
    kit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat
    from nbclient import NotebookClient

    (file,) = write_skeleton("mine_too", kit, tmp_path)
    notebook = nbformat.read(file, as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    monkeypatch.chdir(tmp_path)
    assert "all follow" in said("verify", "outputs/mine_too")
    assert "1 current" in said("status", "outputs/mine_too")


# --- before money is spent


def test_check_ends_with_a_status(tmp_path: Path) -> None:
    file = written(tmp_path)
    assert "look" in said("check", str(file))
    one = TABLE.splitlines()[0] + "\n" + TABLE.splitlines()[1] + "\n"
    (tmp_path / "outings.csv").write_text(one)
    told = said("check", str(file), status=1)
    assert "lacks: there is one wording: the result will be of these prompts" in told
    found = json.loads(said("check", str(file), "--json", status=1))
    assert found["lacks"] and found["findings"][0]["code"] == "one_wording"
    assert found["detectable"] == {"sampled once": None, "exact probabilities": None}


def test_check_finds_what_can_be_found() -> None:
    always = paradigm_of_files({**FILES, "lost.toml": "both_orders = false\n" + TEXT})
    assert "one_position" in [each.code for each in check_design(always).findings]
    long = TEXT.replace('"Go home"', '"Go home at once, because the evening is spoilt anyway"')
    found = check_design(paradigm_of_files({**FILES, "lost.toml": long})).findings
    assert "option_length" in [each.code for each in found]
    first, second = check_design(paradigm_of_files(FILES)).difference
    assert "[$10 in cash]" in first and "[your ticket]" in second


NUMBERS = TEXT.replace('options = ["Buy a ticket", "Go home"]\ntarget = "Go home"\n', "").replace(
    "numbers.price", 'number.unit = "nights"\nnumbers.price'
)


def test_check_says_what_a_number_question_leaves_open(tmp_path: Path) -> None:
    file = written(tmp_path, {**FILES, "lost.toml": NUMBERS.replace("${price}", "{price}")})
    told = said("check", str(file))
    assert "look: nothing says where the bias moves the number, so larger is taken" in told
    assert "look: 2 of 2 questions name no number" not in told  # each wording counts
    assert "look: 20 of 20 questions name no number that is asked for" in told
    clear = NUMBERS.replace("What do you do?", "How many nights will you think of it?")
    clear = clear.replace("number.unit", 'number.bias = "lower"\nnumber.unit')
    told = said("check", str(written(tmp_path, {**FILES, "lost.toml": clear})))
    assert "where the bias moves" not in told and "name no number" not in told
    assert "times the standard deviation of the effect between wordings" in told


def test_check_says_that_a_number_of_a_unit_of_ones_own_gets_no_verdict(tmp_path: Path) -> None:
    said_so = "look: the file does not say which effect is small in nights, so there will be an"
    assert said_so in said("check", str(written(tmp_path, {**FILES, "lost.toml": NUMBERS})))
    told = NUMBERS.replace("number.unit", "number.smallest = 5\nnumber.unit")
    assert said_so not in said("check", str(written(tmp_path, {**FILES, "lost.toml": told})))


def test_a_run_says_why_there_is_no_verdict(tmp_path: Path) -> None:
    file = written(tmp_path, {**FILES, "lost.toml": NUMBERS})
    asked = ("run", "--model", "sim/human", "--paradigm", str(file), "--no-reports")
    told = said(*asked, "--outputs", str(tmp_path / "outputs"))
    assert "no verdict: no smallest effect of interest is declared for the unit 'nights'" in told


def test_a_run_says_why_a_verdict_is_not_that_of_its_interval(tmp_path: Path) -> None:
    "A third of the answers of sim/messy cannot be read."
    told = said(
        *("run", "--model", "sim/messy", "--paradigm", "choice/certainty", "--no-reports"),
        *("--outputs", str(tmp_path / "outputs")),
    )
    assert "inconclusive: unreadable answers could undo it (choice/certainty)" in told


def test_check_knows_where_a_target_stands_not_only_on_average() -> None:
    moved = TEXT.replace(
        'options = ["Buy a ticket", "Go home"]',
        'options.control = ["Walk", "Go home", "Buy a ticket"]\n'
        'options.treatment = ["Walk", "Buy a ticket", "Go home"]',
    )
    found = check_design(paradigm_of_files({**FILES, "lost.toml": moved})).findings
    assert "position_by_condition" in [each.code for each in found]  # middle, and first or last
    decoy = check_design(paradigm("choice/decoy"))  # a third option, and every place as often
    assert "position_by_condition" not in [each.code for each in decoy.findings]


def test_check_compares_the_length_of_questions_whatever_stands_below_them() -> None:
    longer = TEXT.replace("You lost your ticket.", "You lost your ticket. " + "It rained. " * 9)
    options = 'options = ["Buy a ticket' + " or another one" * 9 + '", "Go home"]'
    longer = longer.replace('options = ["Buy a ticket", "Go home"]', options)
    found = check_design(paradigm_of_files({**FILES, "lost.toml": longer})).findings
    told = {each.code: each.said for each in found}
    assert "prompt_length" not in told
    assert "the question is 2.1 times longer under treatment" in told["question_length"]
    found = check_design(paradigm_of_files(FILES)).findings
    assert "question_length" not in [each.code for each in found]


def test_check_calls_the_units_of_a_paradigm_by_their_name() -> None:
    said_of = {each.code: each.said for each in check_design(paradigm("choice/certainty")).findings}
    assert "10 value sets" in said_of["options_by_condition"]


def test_check_says_that_wordings_are_marked_as_published() -> None:
    table = TABLE.replace("\n", ",yes\n").replace("outing,yes", "outing,published")
    made = paradigm_of_files({**FILES, "outings.csv": table})
    (found,) = [each for each in check_design(made).findings if each.code == "published"]
    assert found.said.startswith("10 of 10 wordings are marked as published") and not found.lacks


def test_check_counts_one_as_one(tmp_path: Path) -> None:
    one = "".join(TABLE.splitlines(keepends=True)[:2])
    told = said("check", str(written(tmp_path, {**FILES, "outings.csv": one})), status=1)
    assert "4 prompts in 1 wording\n" in told and "1 wordings" not in told
    apart = TEXT.replace("You lost your ticket. What", "Your ticket is gone. Now then, what")
    told = said("check", str(written(tmp_path, {**FILES, "lost.toml": apart})))
    assert "places, marked in both prompts; whatever" in told and "below" not in told


def test_the_draft_shows_wordings_without_a_table(tmp_path: Path) -> None:
    file, _ = write_skeleton("mine", "file", tmp_path)
    head, _, remark = file.read_text().partition("# [[wordings]]\n")
    shown = remark.partition("\n\n")[0].replace("# ", "")
    head = head.replace('wordings = "mine.csv"\n', "")
    inline = paradigm_of_files({"mine.toml": f"{head}\n[[wordings]]\n{shown}\n"}).items()
    assert set(inline["item_id"]) <= set(paradigm_from_file(file).items()["item_id"])


def test_check_is_done_of_what_ships() -> None:
    for name in ("choice/certainty", "classic/category_size", "managerial/escalation"):
        assert check_design(paradigm(name)).clusters.clusters >= 6


def test_new_overwrites_nothing(tmp_path: Path) -> None:
    said("new", "paradigm", "mine", "--folder", str(tmp_path))
    before = (tmp_path / "mine.csv").read_bytes()
    with pytest.raises(CogbiasError, match="is there already"):
        write_skeleton("mine", "file", tmp_path)
    (tmp_path / "mine.toml").unlink()
    with pytest.raises(CogbiasError, match=r"mine\.csv: is there already"):
        write_skeleton("mine", "file", tmp_path)
    assert (tmp_path / "mine.csv").read_bytes() == before
    assert not (tmp_path / "mine.toml").exists()


# --- other wordings for what ships


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ('based_on = "classic/farming"', "line 1, column 1: based_on: paradigm 'classic/farming'"),
        ('based_on = "own/x"', "does not ship with items of its own"),
        ('based_on = "published/pagliaro_framing"', "is asked in its published wordings"),
        ('based_on = "classic/framing"\ntarget = "A"', "line 2, column 1: target: the design is"),
        ('based_on = "choice/decoy"\n[settings]\ntempltes = [1]', "settings: "),
        ('based_on = "classic/framing"\n[[wordings]]\nname = "x"\nplan = "Go."', "has nothing for"),
        ('based_on = "classic/framing"\nvariants = ["odd"]', "base is not among them"),
    ],
)
def test_a_mistake_about_a_base_is_named(more: str, what: str) -> None:
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files({"other.toml": more})
    assert what in str(found.value) and "other.toml, line" in str(found.value)


def test_a_classic_takes_another_persona() -> None:
    for name in ("anchoring", "category_size", "sunk_cost"):
        text = f'based_on = "classic/{name}"\npersona = "You are a sailor."\n'
        made = paradigm_of_files({"sailor.toml": text}).items()
        told = made["system"].fillna("").str.startswith("You are a sailor.")
        assert told.any() and (told | (made["variant"] == "no_persona")).all(), name


def test_kept_wordings_and_own_ones_are_asked_together() -> None:
    text = (
        'based_on = "classic/framing"\nkeep_wordings = true\n[[wordings]]\nname = "sauna"\n'
        'plan = "You go to the sauna."\nticket = "a ticket"\nplace = "the door"\nprice = 7\n'
        "cash = 7\n"
    )
    made = paradigm_of_files({"more.toml": text})
    assert made.items()["cluster"].nunique() == 25
    assert [each.measure for each in made.contrasts][-1] == "standardised_difference"


@pytest.mark.parametrize(
    ("file", "now", "answers"),
    [
        ("outings.csv", TABLE.rsplit("\n", 2)[0] + "\n", "some"),  # one wording fewer
        ("lost.toml", TEXT.replace("Lost ticket", "A lost ticket"), "all"),  # no prompt changes
        ("lost.toml", TEXT.replace("What do you do?", "What will you do?"), "none"),
    ],
)
def test_who_was_asked_before_a_later_run_declared_anew_is_named_with_the_way_out(
    file: str, now: str, answers: str, tmp_path: Path
) -> None:
    "It was told as an edit of the folder; who had no answer left was gone, and verify said fine."
    ours, out = written(tmp_path), tmp_path / "out"
    run_study(make_study(models=["sim/human"], paradigms=[str(ours)]), out, reports=False)
    (tmp_path / file).write_text(now)
    OWN.clear()
    later = make_study(models=["sim/messy"], paradigms=[str(ours)])
    warned = "\n".join(run_study(later, out, reports=False).left_out)
    again = f"'cogbias run --model sim/human --paradigm lost.toml --outputs {out}'"
    assert "sim/human in own/lost: was asked before" in warned and again in warned
    cells = folder_status(out).cells.set_index("participant")
    states = {"some": "incomplete", "all": "done", "none": "missing"}
    assert cells.loc["sim/human", "state"] == states[answers]
    assert answers == "all" or again in cells.loc["sim/human", "reason"]
    told = said("verify", str(out), status=1)
    assert again in told and "put it back" not in told and "not as the run left it" not in told
    assert ("no answer counts of 1 cell to which answers came" in told) == (answers == "none")
    run_study(make_study(models=["sim/human"], paradigms=[str(ours)]), out, reports=False)
    assert "all follow\n" in said("verify", str(out))
