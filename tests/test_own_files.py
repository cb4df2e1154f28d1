"""A bias in a text file: the design that it makes, and what is said of every mistake in it."""

import json
import os
from pathlib import Path

import pandas as pd
import pytest
from own_files import FILES, HEAD, TABLE, TEXT, WHOLE, said, written

from cogbias.cli import main
from cogbias.design import About
from cogbias.kits.classic import against, classic
from cogbias.kits.file import own_rules, own_stimulus, paradigm_from_file, paradigm_of_files
from cogbias.kits.table import paradigm_from, paradigm_of_texts
from cogbias.kits.variants import ContentSet, Question, Variable
from cogbias.tables import CogbiasError

pytestmark = pytest.mark.usefixtures("forgotten")


def ids(files):
    "The ids of the items that some files make."
    return paradigm_of_files(files).items()["item_id"].tolist()


def faults(files):
    "What is said of some files, line by line."
    with pytest.raises(CogbiasError) as found:
        paradigm_of_files(files)
    return str(found.value).split("\n")


# --- the same kit


def test_a_file_makes_the_items_that_python_makes():
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


def test_wordings_in_a_table_in_the_file_and_in_a_data_frame_are_the_same():
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


# --- every mistake

# what is replaced, with what, and what is said
MISTAKES = json.loads((Path(__file__).parent / "data" / "own_file_mistakes.json").read_text())


@pytest.mark.parametrize(("old", "new", "what"), MISTAKES["declaration"])
def test_a_mistake_in_a_declaration_is_named(old, new, what):
    assert old in TEXT
    told = faults({**FILES, "lost.toml": TEXT.replace(old, new, 1)})
    assert any(what in line for line in told), told
    assert all(line.startswith("lost.toml: ") and len(line) < 400 for line in told)


@pytest.mark.parametrize(("old", "new", "what"), MISTAKES["table"])
def test_a_mistake_in_a_table_is_named(old, new, what):
    assert old in TABLE
    told = faults({**FILES, "outings.csv": TABLE.replace(old, new, 1)})
    assert any(what in line for line in told), told


def test_all_mistakes_are_told_at_once_and_counted(tmp_path, capsys):
    odd = TEXT.replace('target = "Go home"', 'target = "Stay"\nvariants = ["odd"]')
    odd = odd.replace("lost your ticket", "lost it near {corner}")
    table = TABLE.replace("the zoo", "").replace("the cinema", "a {b}")
    file = written(tmp_path, {"lost.toml": odd, "outings.csv": table})
    with pytest.raises(SystemExit) as ended:  # a command has a line for each, and one status
        main(["check", str(file)])
    lines = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2 and len(lines) == 5, lines
    assert all(line.startswith(f"cogbias: {file}: ") for line in lines)


def test_files_that_are_no_declarations(tmp_path, capsys):
    file = written(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "caf\xe9"\n')
    (tmp_path / "large.toml").write_text("#" * 2**21)
    (tmp_path / "deep.toml").write_text("a = " + "[" * 3000)
    (tmp_path / "outings.csv").unlink()
    for name, what in (
        ("none.toml", "there is no such file"),
        ("latin.toml", "is not UTF-8 text"),
        ("large.toml", "has 2,097,152 bytes, more than 1,048,576"),
        ("deep.toml", "deep.toml"),
        (file.name, "outings.csv: there is no such file"),
    ):
        with pytest.raises(SystemExit) as end:
            main(["items", str(tmp_path / name)])
        told = capsys.readouterr().err
        assert end.value.code == 2 and told.count("\n") == 1 and what in told, told
        assert "please report" not in told


def test_a_table_elsewhere_is_not_read(tmp_path):
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


def test_a_file_goes_from_a_draft_to_effects_and_its_folder_needs_it_no_more(tmp_path):
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
