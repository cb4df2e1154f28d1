"""A bias in a text file: the design that it makes, and what is said of every mistake in it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from own_files import FILES, GAPS, HEAD, LISTED, NUMBERS, OPTIONS, TABLE, TEXT, WHOLE, said, written

from cogbias.cli import main
from cogbias.design import About, paradigm, paradigms
from cogbias.kits.classic import against, classic
from cogbias.kits.file import own_rules, own_stimulus, paradigm_from_file, paradigm_of_files
from cogbias.kits.table import paradigm_from, paradigm_of_texts
from cogbias.kits.variants import ContentSet, Question, Variable
from cogbias.tables import CogbiasError

pytestmark = pytest.mark.usefixtures("forgotten")


def ids(files: dict[str, str]) -> list[str]:
    "The ids of the items that some files make."
    return paradigm_of_files(files).items()["item_id"].tolist()


def faults(files: dict[str, str]) -> list[str]:
    "What is said of some files, line by line."
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files(files)
    return str(found.value).split("\n")


# --- the same kit


def test_a_file_makes_the_items_that_python_makes() -> None:
    own = paradigm_of_files(FILES)
    rows = [line.split(",") for line in TABLE.splitlines()[1:]]
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
                {"price": Variable("money", int(price))},
                facts={"kind_of_outing": kind},
            )
            for name, place, price, kind in rows
        ),
        dict.fromkeys(("control", "treatment"), {"other": "Buy a ticket", "target": "Go home"}),
        stimulus=own_stimulus,
        flags=dict.fromkeys(("no_persona", "odd", "large"), "not_applicable"),
        shows={"kind_of_outing": "kind_of_outing"},
        persona="",
    )
    told = {name: getattr(own, name) for name in ("title", "bias", "summary", "norm", "positive")}
    in_python = classic(
        About(**told, source=own.source, conditions=own.conditions),
        question,
        against("lost_ticket_effect", "Go home, treatment minus control"),
        rules=own_rules(),
        factors={"kind_of_outing": "indoors or outdoors"},
    )
    pd.testing.assert_frame_equal(own.items(), in_python.items())
    assert own.contrasts == in_python.contrasts


def test_variants_scale_numbers_and_personas_are_told() -> None:
    more = 'variants = ["base", "no_persona", "odd"]\npersona = "You are a nurse."\n'
    items = paradigm_of_files({**FILES, "lost.toml": more + TEXT}).items()
    assert items[items["variant"] == "odd"]["prompt"].str.contains(r"\$97", regex=True).any()
    told = items["system"].str.startswith("You are a nurse.")
    assert (told == (items["variant"] != "no_persona")).all()
    assert items["system"].str.contains("Nothing but the letter").all()  # the usual message
    silent = paradigm_of_files({**FILES, "lost.toml": 'system = ""\n' + TEXT}).items()
    assert silent["system"].isna().all()


def test_wordings_in_a_table_in_the_file_and_in_a_data_frame_are_the_same() -> None:
    inline = "".join(
        f'[[wordings]]\nname = "{name}"\noptions = ["sell", "keep"]\ntarget = "B"\n'
        f'prompt = {{ control = "See a {thing}?", treatment = "Own a {thing}?" }}\n'
        for name, thing in (("a", "cup"), ("b", "pen"))
    )
    first = ids({"x.toml": HEAD, "w.csv": WHOLE})
    assert ids({"x.toml": HEAD.replace('wordings = "w.csv"\n', "") + inline}) == first
    rows = [line.split(",") for line in WHOLE.splitlines()]
    at_hand = paradigm_from(pd.DataFrame(rows[1:], columns=rows[0]), "x")
    assert at_hand.items()["item_id"].tolist() == first
    assert paradigm_of_texts(at_hand.files).items()["item_id"].tolist() == first
    assert ids({"x.toml": HEAD, "w.csv": "\ufeff" + WHOLE.replace("\n", "\r\n")}) == first


def test_numbers_are_asked_for_and_given_by_variant() -> None:
    text = NUMBERS.replace("number.unit", 'number.high = 80\nnumber.bias = "lower"\nnumber.unit')
    own = paradigm_of_files({**FILES, "lost.toml": text})
    assert set(own.items()["answer"]) == {"number"}
    assert (own.headline.unit, own.headline.direction) == ("nights", -1)
    assert own.headline.title == "Answer, control minus treatment"
    listed = LISTED.replace("price = 10", "price = { base = 10, odd = 99 }")
    items = paradigm_of_files({"lost.toml": 'variants = ["base", "odd"]\n' + listed}).items()
    assert items[items["variant"] == "odd"]["prompt"].str.contains("$99", regex=False).all()


def test_a_target_of_a_wording_is_not_passed_over() -> None:
    table = TABLE.replace("\n", ",A\n").replace("outing,A", "outing,target")
    items = paradigm_of_files({**FILES, "outings.csv": table}).items()
    targets = {each["text"] for options in items["options"] for each in options if each["value"]}
    assert targets == {"Buy a ticket"}


def test_braces_around_something_else_and_joined_letters_pass() -> None:
    asked = TEXT.replace("What do you", 'Answer as {\\"x\\": 1}. What do you')
    items = paradigm_of_files({**FILES, "lost.toml": asked}).items()
    assert items["prompt"].str.contains('{"x": 1}', regex=False).all()
    for place in ("می\u200cروم", "\U0001f468\u200d\U0001f469"):
        table = TABLE.replace("the zoo", place)
        items = paradigm_of_files({**FILES, "outings.csv": table}).items()
        assert items["prompt"].str.contains(place).sum() == 4


def test_no_shipped_paradigm_is_taken_for_ones_own() -> None:
    assert not [name for name in paradigms() if name.startswith("own/")]
    own = paradigm_of_files({**FILES, "lost.toml": 'name = "framing"\n' + TEXT})
    assert own.name == "own/framing"
    made = paradigm_from(paradigm("classic/framing").items(variants=["base"]), "part")
    with pytest.raises(CogbiasError, match="'own/part' is not known"):
        paradigm(made.name)


def test_a_paradigm_goes_to_another_process_by_its_texts(tmp_path: Path) -> None:
    own = paradigm_of_files(FILES)
    place = tmp_path / "own.pickle"
    place.write_bytes(pickle.dumps(own))
    code = f"import pickle; print(len(pickle.load(open({str(place)!r}, 'rb')).items()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(len(own.items()))


# --- every mistake

HUMAN = '[human]\nlabel = "x"\nsource = "s"\nestimate = 0.3\n'
IN_THE_TEXT = [  # (what is replaced in the declaration, with what, what is said)
    ("title = ", "titel = ", "titel: there is no such field; did you mean 'title'"),
    ('title = "Lost ticket"', "title = 3", "title: should be a valid string, not 3 (heading of"),
    ('title = "Lost ticket"\n', "", "title: is missing; write it (heading of its reports)"),
    ('"Lost ticket"', '"Lost ticket', "lost.toml: is no valid TOML: Illegal character"),
    ('"Lost ticket"', "1" * 10_000, "lost.toml: is no valid TOML: Exceeds the limit"),
    ('"Lost ticket"', '"a\\u001b[31m"', "title: contains '\\x1b', which cannot be printed"),
    ('"Lost ticket"', '"a\\u202eb"', "title: contains '\\u202e', which cannot be printed"),
    ('target = "Go home"', 'target = "Go out"', "target: 'Go out' is none of the options; write"),
    ('target = "Go home"\n', "", "target: is missing; write the option that shows the bias"),
    ('["Buy a ticket", "Go home"]', '["Go home"]', "target: there are 1 options; write 2"),
    ('["Buy a ticket", "Go home"]', '["Go home", "Go  Home"]', "two options have the same text"),
    ('["Buy a ticket", "Go home"]', '["Buy\\na", "Go home"]', "options.1: has several lines"),
    ('["Buy a ticket", "Go home"]', '"Go home"', "options: should be a valid list, not 'Go home'"),
    ('"money"', '"mony"', "numbers.price: should be 'money', 'count', "),
    ("factors.", 'factors.variant = "x"\nfactors.', "factors.variant: is taken, or no name"),
    ("lost your", "lost {palce} your", "question.treatment: no wording fills the gap {palce}; did"),
    ("lost your", "lost {Place} your", "belongs to no gap, at '{Place}'"),
    ('"outings.csv"', '"../outings.csv"', "wordings: '../outings.csv' is no CSV file beside this"),
    ('"outings.csv"', '"/etc/passwd"', "wordings: '/etc/passwd' is no CSV file beside this one"),
    ('"outings.csv"', '"other.csv"', "wordings: there is no file 'other.csv' beside it"),
    ('"outings.csv"', "[]", "wordings: List should have at least 1 item"),
    ('treatment = "a ticket is lost"', "", "conditions.treatment: is missing"),
    ('treatment = "a ticket', 'gift = "g"\ntreatment = "a ticket', "conditions.gift: is neither"),
    ("You lost your ticket", "You lost ${price} in cash", "both conditions of 'play' read alike"),
    ('bias = "', 'measure = "dominance"\nbias = "', "measure: is taken, or no name"),
    ('bias = "', 'smallest = 0\nbias = "', "smallest: 0 is no effect; write a number above 0"),
    ('bias = "', 'smallest = nan\nbias = "', "smallest: should be a number, not nan"),
    ('bias = "', 'variants = ["odd"]\nbias = "', "variants: base is not among them"),
    ('bias = "', 'variants = ["bsae"]\nbias = "', "variants.1: should be 'base', 'no_persona'"),
    ('bias = "', 'variants = ["base", "no_persona"]\nbias = "', "where there is no persona"),
    ('bias = "', 'settings = {}\nbias = "', "settings: belongs to based_on; leave it out"),
    ('bias = "', 'name = "../x"\nbias = "', "name: '../x' is no name; use letters"),
    ('bias = "', 'persona = "From {place}"\nbias = "', "persona: contains '{place}', and no gap"),
    ('bias = "', 'number.unit = "years"\nbias = "', "number: a number is asked for; leave out"),
    ('bias = "', 'models = ["x"]\nbias = "', "lost.toml: models belong to a study"),
    ("[question]\n", HUMAN.replace("0.3", "30") + "[question]\n", "human.1.estimate: effects in"),
    ("[question]\n", HUMAN + "n = -3\n[question]\n", "human.n: should be greater than 0, not -3"),
    ("[question]\n", HUMAN + "ci_low = 1\nci_high = 2\n[question]\n", "outside its interval"),
    ("[question]\n", '[question]\noptions = ["a", "b"]\n', "question.options: stands below"),
]


@pytest.mark.parametrize(("old", "new", "what"), IN_THE_TEXT)
def test_a_mistake_in_a_declaration_is_named(old: str, new: str, what: str) -> None:
    assert old in TEXT
    told = faults({**FILES, "lost.toml": TEXT.replace(old, new, 1)})
    assert any(what in line for line in told), told
    assert all(line.startswith("lost.toml: ") and len(line) < 400 for line in told)


IN_THE_TABLE = [
    ("price", "prcie", "question.control: no wording fills the gap {price}; did you mean 'prcie'"),
    (TABLE, TABLE.replace("\n", ",x\n"), "wordings.play.x: fills no gap, and is no number"),
    ("theatre,10", "theatre,ten", "wordings.play.price: should be a number, not 'ten'"),
    ("match,", "play,", "wordings.play: two wordings have this name; rename one"),
    ("zoo,the zoo,8", "zoo,,8", "wordings.zoo.place: is missing; write what fills it"),
    ("the cinema,9", "the cinema,9,9", "wordings: no valid CSV (Error tokenizing data"),
    ("zoo,the zoo", "zoo,the \x1bzoo", "wordings.zoo.place: contains '\\x1b', which cannot"),
    ("film,the", 'film,"the', "wordings: no valid CSV"),
    (
        "match,a handball match,20",
        "match,the theatre,10",
        "wordings.match: reads like the wording 'play'",
    ),
    ("zoo,the zoo", "zoo,the {b}", "wordings.zoo.place: nothing fills the gap {b}"),
    ("wording,", "called,", "wordings: the table has no column 'wording'; its columns are called"),
]


@pytest.mark.parametrize(("old", "new", "what"), IN_THE_TABLE)
def test_a_mistake_in_a_table_is_named(old: str, new: str, what: str) -> None:
    assert old in TABLE
    told = faults({**FILES, "outings.csv": TABLE.replace(old, new, 1)})
    assert any(what in line for line in told), told


@pytest.mark.parametrize(
    ("text", "table", "what"),
    [
        (LISTED.replace("\nplace =", "\nplce ="), "", "no wording fills the gap {place}; did you"),
        (LISTED.replace('wording = "play"\n', ""), "", "wordings.1.wording: is missing"),
        (LISTED.replace('"pay"', '"{second}"'), "", "two options of 'play' have the same text"),
        (LISTED.replace('"pay"', '"a {first}"'), "", "the gap {first} is filled by a text with"),
        (LISTED + "truth = 3\n", "", "wordings.play.truth: no number is asked for"),
        (HEAD, WHOLE.replace("keep,B", "keep,"), "wordings.a.target: '' is none of"),
        (HEAD, WHOLE.replace("a,treatment", "a,gift"), "wordings.a.prompt.treatment: is missing"),
        (HEAD, WHOLE.replace("a,treatment", "a,control"), "wordings.a: has two rows for one"),
        (HEAD, WHOLE.replace("option_a", "optian"), "optian: fills no gap"),
        (GAPS.replace(OPTIONS, ""), TABLE, "no wording fills the gap {first}"),
    ],
)
def test_a_mistake_of_a_text_with_its_wordings_is_named(text: str, table: str, what: str) -> None:
    told = faults({"lost.toml": text, "outings.csv": table, "w.csv": table})
    assert any(what in line for line in told), told


def test_all_mistakes_are_told_at_once_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    odd = TEXT.replace('target = "Go home"', 'target = "Stay"\nvariants = ["odd"]')
    odd = odd.replace("lost your ticket", "lost it near {corner}")
    table = TABLE.replace("the zoo", "").replace("the cinema", "a {b}")
    file = written(tmp_path, {"lost.toml": odd, "outings.csv": table})
    with pytest.raises(SystemExit) as ended:  # a command has a line for each, and one status
        main(["check", str(file)])
    lines = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2 and len(lines) == 5, lines
    assert all(line.startswith(f"cogbias: {file}: ") for line in lines)


def test_files_that_are_no_declarations(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = written(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "caf\xe9"\n')
    (tmp_path / "large.toml").write_text("#" * 2**21)
    (tmp_path / "deep.toml").write_text("a = " + "[" * 3000)
    (tmp_path / "outings.csv").unlink()
    for name, what in (
        ("none.toml", "there is no such file"),
        ("latin.toml", "is no UTF-8 text"),
        ("large.toml", "has 2,097,152 bytes, more than 1,048,576"),
        ("deep.toml", "deep.toml"),
        (file.name, "outings.csv: there is no such file"),
    ):
        with pytest.raises(SystemExit) as end:
            main(["items", str(tmp_path / name)])
        told = capsys.readouterr().err
        assert end.value.code == 2 and told.count("\n") == 1 and what in told, told
        assert "please report" not in told


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


def test_a_file_goes_from_a_draft_to_effects_and_its_folder_needs_it_no_more(
    tmp_path: Path,
) -> None:
    said("new", "paradigm", "my_bias", "--folder", str(tmp_path))
    file, out = str(tmp_path / "my_bias.toml"), str(tmp_path / "out")
    assert "own/my_bias" in said("items", file, "--json")
    run = ("--model", "sim/human", "--paradigm", file, "--outputs", out)
    assert "own/my_bias" in said("plan", *run)
    said("run", *run, "--no-reports")
    for each in ("my_bias.toml", "my_bias.csv"):
        (tmp_path / each).unlink()
    assert "own/my_bias" in said("effects", out)
    said("verify", out)
