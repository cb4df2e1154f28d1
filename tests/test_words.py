"""Words with one meaning: `frame`, `variants` and `verdict` are names of one thing each.

A frame is a wording with gaps, variants are the dresses of one prompt, and a verdict is what is
said of an effect. The house is read as code, so that another meaning is found where it begins.
"""

import ast
from pathlib import Path

import pytest

import cogbias

HOUSE = Path(cogbias.__file__).parent
FILES = sorted(path for path in HOUSE.rglob("*.py") if path.name != "_modidx.py")
# where texts are made
WORDINGS = ("frames.py", "kits", "fillings", "paradigms")


def named(tree):
    "Names of arguments, variables, functions and methods that a file gives."
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef):
            yield node.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOUSE)))
def test_a_frame_is_a_wording(path):
    if str(path.relative_to(HOUSE)).startswith(WORDINGS):
        return
    said = {name.strip("_").lower() for name in named(ast.parse(path.read_text("utf8")))}
    assert not said & {"frame", "frames", "framed"}, "a table is a table, an outline an outline"


def test_one_module_is_about_variants():
    assert [each.parent.name for each in FILES if each.stem == "variants"] == ["kits"]


def test_verdicts_are_said_of_effects():
    giving = [
        path.name
        for path in FILES
        for node in ast.parse(path.read_text("utf8")).body
        if isinstance(node, ast.FunctionDef) and node.name.strip("_") in ("verdict", "verdicts")
    ]
    assert giving == ["decisions.py"]
