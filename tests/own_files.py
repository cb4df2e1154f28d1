"""A bias in a text file, as the tests of own designs change it."""

from pathlib import Path

from typer.testing import CliRunner

from cogbias.cli import app

ROOT = Path(__file__).resolve().parent.parent
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
OPTIONS = 'options = ["Buy a ticket", "Go home"]\ntarget = "Go home"\n'
NUMBERS = TEXT.replace(OPTIONS, "").replace(
    "numbers.price", 'number.unit = "nights"\nnumbers.price'
)
GAPS = TEXT.replace(OPTIONS, 'options = ["{first}", "{second}"]\ntarget = "{second}"\n')
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
HEAD = TEXT.partition("options")[0] + 'wordings = "w.csv"\n'  # whole prompts stand in its table
HEAD += 'conditions = { control = "c", treatment = "t" }\n'
WHOLE = """\
wording,condition,prompt,option_a,option_b,target
a,control,See a cup?,sell,keep,keep
a,treatment,Own a cup?,sell,keep,B
b,control,See a pen?,sell,keep,keep
b,treatment,Own a pen?,sell,keep,B
"""


def written(folder, files=FILES):
    "The files in a folder; the declaration among them."
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / next(name for name in files if name.endswith(".toml"))


def said(*arguments, status=0):
    "What a command prints, on both streams."
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == status, (arguments, done.output, done.exception)
    return done.output
