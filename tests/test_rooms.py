"Who imports whom: the table of rooms in CONTRIBUTING.md and the code say the same."

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "cogbias"
ROW = re.compile(r"^\| (?P<rooms>`[^|]+`) \| [^|]+ \| (?P<may>[^|]+) \|$", re.M)
BY_NAME = re.compile(r"^- `(?P<room>[\w/]+)` reaches `(?P<other>\w+)`: \S.+\.$", re.M)
NAME = re.compile(r"`([\w/]+)`")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


@cache
def declared():
    "Room -> the rooms that its row of the table names."
    rows = {}
    for row in ROW.finditer(CONTRIBUTING):
        others = {each.rstrip("/") for each in NAME.findall(row["may"])}
        for room in NAME.findall(row["rooms"]):
            rows[room.rstrip("/")] = others - {room.rstrip("/")}
    return rows


def room_of(module):
    "The room that a module is, or lies in: the longest name that fits."
    fitting = [room for room in declared() if f"{module}/".startswith(f"{room}/")]
    return max(fitting, key=len, default=module)


def imported(file):
    "Modules of ours that a file imports, wherever in it, as paths such as stats/clusters."
    package = file.relative_to(ROOT).parent.parts
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            inner = [f"cogbias.{alias.name}" for alias in node.names]
            found |= set(inner) if module == "cogbias" else {module}
    ours = (each for each in found if each.startswith("cogbias.") and "__" not in each)
    return {each.removeprefix("cogbias.").replace(".", "/") for each in ours}


def reached_by_name(file):
    "The same of calls of import_module with a name of ours."
    said = re.findall(r'import_module\(\s*f?"cogbias\.([\w.]+)', file.read_text())
    return {each.strip(".").replace(".", "/") for each in said}


def allowed(room):
    "What a room may import: what its row names, what those may import, and the tables."
    found, left = {"tables", room}, {*declared()[room]}
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left |= declared().get(each, set())
    return found


@cache
def files():
    "Module -> its file."
    found = {}
    for file in LIBRARY.rglob("*.py"):
        name = file.relative_to(LIBRARY).with_suffix("").as_posix().removesuffix("__init__")
        if name and name != "_modidx":
            found[name.rstrip("/")] = file
    return found


def test_every_module_lies_in_a_room_of_the_table():
    assert {room_of(module) for module in files()} == set(declared())


@pytest.mark.parametrize("module", sorted(files()))
def test_a_room_imports_what_its_row_allows(module):
    used = {room_of(other) for other in imported(files()[module])}
    beyond = used - allowed(room_of(module))
    assert not beyond, f"{module} imports {sorted(beyond)}"


def test_no_arrow_runs_back():
    for room, named in declared().items():
        for other in named:
            assert room not in allowed(other) - {"tables"}, (room, other)


def test_a_row_names_what_its_room_imports():
    for room, named in declared().items():
        mine = [file for module, file in files().items() if room_of(module) == room]
        used = {room_of(other) for file in mine for other in imported(file)}
        assert named <= used, (room, named - used)


def test_what_is_reached_by_name_is_told_with_its_reason():
    told = {(row["room"], row["other"]) for row in BY_NAME.finditer(CONTRIBUTING)}
    later = {
        (room_of(module), room_of(other))
        for module, file in files().items()
        for other in reached_by_name(file)
        if room_of(other) not in allowed(room_of(module))
    }
    assert later == told


EXPORTS = re.compile(r"default_exp ([\w.]+)")
NUMBERED = sorted((ROOT / "nbs").rglob("[0-9]*.ipynb"))


@pytest.mark.parametrize("folder", sorted({each.parent for each in NUMBERED}), ids=lambda f: f.name)
def test_notebooks_are_numbered_as_they_are_read(folder):
    "None imports a later one of its folder."
    mine = [each for each in NUMBERED if each.parent == folder]
    exported = [EXPORTS.search(each.read_text()) for each in mine]
    places = {
        each[1].replace(".", "/").removesuffix("/__init__"): place
        for place, each in enumerate(exported)
        if each
    }
    for name in places.keys() & files().keys():
        place = places[name]
        later = {other for other in imported(files()[name]) if places.get(other, 0) > place}
        assert not later, (name, later)
