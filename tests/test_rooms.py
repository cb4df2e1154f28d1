"Who imports whom: the table of rooms in CONTRIBUTING.md and the code say the same."

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "cogbias"
ROW = re.compile(
    r"^\| (?P<rooms>`.+?) \| `(?P<of>\w+)` \| (?P<holds>.+?) \| (?P<may>.+?) \|$", re.M
)
BEYOND = re.compile(r"^- `(?P<room>\w+)` imports `(?P<other>\w+)`: \S.+\.$", re.M)
BY_NAME = re.compile(r"^- `(?P<room>\w+)` reaches `(?P<other>\w+)` by name: \S.+\.$", re.M)
IN_VARIABLES = re.compile(r"^Three rooms import what is named elsewhere: (.+)$", re.M)
NAME = re.compile(r"`([\w/]+)`")


@cache
def _contributing() -> str:
    return (ROOT / "CONTRIBUTING.md").read_text()


@cache
def declared() -> dict[str, set[str]]:
    "Room -> the rooms that its row of the table names."
    rows = {}
    for row in ROW.finditer(_contributing()):
        for room in NAME.findall(row["rooms"]):
            others = {each.rstrip("/") for each in NAME.findall(row["may"])}
            rows[room.rstrip("/")] = others - {room.rstrip("/")}
    return rows


@cache
def parts() -> dict[str, str]:
    "Room -> the room of the design that it is part of."
    rows = ROW.finditer(_contributing())
    return {NAME.findall(row["rooms"])[0].rstrip("/"): row["of"] for row in rows}


def room_of(module: str, rooms: dict[str, set[str]]) -> str:
    "The room that a module is, or lies in: the longest name that fits."
    fitting = [room for room in rooms if f"{module}/".startswith(f"{room}/")]
    return max(fitting, key=len, default=module)


def imported(file: Path) -> set[str]:
    "Modules of ours that a file imports, wherever in it, as paths such as stats/clusters."
    package = file.relative_to(LIBRARY.parent).parent.parts
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("cogbias.")}
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "cogbias":
                found |= {f"cogbias.{alias.name}" for alias in node.names}
            elif module.startswith("cogbias."):
                found.add(module)
    names = {each.removeprefix("cogbias.").replace(".", "/") for each in found}
    return {name for name in names if not name.startswith("__")}


def imported_by_name(file: Path) -> set[str]:
    "The same of calls of import_module; `*` where the name does not stand there."
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        called = isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1]
        if called != "import_module":
            continue
        name = node.args[0]
        if isinstance(name, ast.JoinedStr):  # its beginning says which room
            name = name.values[0]
        if not isinstance(name, ast.Constant):
            found.add("*")
        elif name.value.split(".")[0] == "cogbias":
            found.add(name.value.removeprefix("cogbias.").strip(".").replace(".", "/"))
    return found


def reached(room: str, rooms: dict[str, set[str]]) -> set[str]:
    "What a room may import: what its row names, what those may import, and the tables."
    found, left = {"tables"}, set(rooms[room])
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left |= rooms.get(each, set())
    return found


@cache
def files() -> dict[str, Path]:
    "Module -> its file."
    found = {}
    for file in LIBRARY.rglob("*.py"):
        name = file.relative_to(LIBRARY).with_suffix("").as_posix().removesuffix("__init__")
        if name and name != "_modidx":
            found[name.rstrip("/")] = file
    return found


@cache
def modules() -> dict[str, set[str]]:
    "Module -> modules of ours that it imports."
    return {name: imported(file) for name, file in files().items()}


def test_every_module_lies_in_a_room_of_the_table() -> None:
    rooms = declared()
    assert len(rooms) > 15
    assert {room_of(module, rooms) for module in modules()} == set(rooms)


@pytest.mark.parametrize("module", sorted(files()))
def test_a_room_imports_what_its_row_allows(module: str) -> None:
    rooms = declared()
    room = room_of(module, rooms)
    used = {room_of(other, rooms) for other in modules()[module]} - {room}
    assert used <= reached(room, rooms), f"{module} imports {sorted(used - reached(room, rooms))}"


def test_no_arrow_runs_back() -> None:
    "No room reaches itself."
    rooms = declared()
    for room, named in rooms.items():
        for other in named:
            assert room not in reached(other, rooms) - {"tables"}, (room, other)


DESIGN: dict[str, set[str]] = {
    "tables": set(),
    "design": {"tables"},
    "frames": {"tables"},
    "kits": {"design", "frames"},
    "paradigms": {"design", "frames", "kits"},
    "choices": {"tables"},
    "participants": {"tables", "choices"},  # with elicitation and backends
    "training": {"participants"},
    "fillings": {"design", "frames", "participants"},
    "trials": {"tables", "participants"},
    "stats": set(),
    "effects": {"design", "stats"},
    "figures": {"tables"},
    "reporting": {"tables", "effects"},
    "outputs": {"tables", "trials"},
    "site": {"outputs", "reporting", "figures", "effects"},
    "exchange": {"design", "trials", "outputs", "choices", "effects"},
}  # room of the design -> what its row names, and what the sentence below its table adds
DESIGN["study"] = set(DESIGN) - {"site", "exchange"}  # with running: all above
DESIGN["cli"] = set(DESIGN)  # all above
SIMULATED = {("backends/sim", "design"), ("backends/sim", "kits/rules")}  # the same sentence


def imports() -> set[tuple[str, str]]:
    "Pairs of our rooms of which one imports the other, as the code has them."
    rooms = declared()
    return {
        (room_of(module, rooms), room_of(other, rooms))
        for module, others in modules().items()
        for other in others
        if (module, other) not in SIMULATED
    }


def beyond_design(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    "Those of some pairs of our rooms that the design does not name."
    of = parts()
    return {
        (room, other)
        for room, other in pairs
        if of[other] not in reached(of[room], DESIGN) | {of[room]}
    }


def test_every_room_is_part_of_a_room_of_the_design() -> None:
    assert set(parts().values()) == set(DESIGN)


def test_what_goes_beyond_the_design_is_told_with_its_reason() -> None:
    told = {(row["room"], row["other"]) for row in BEYOND.finditer(_contributing())}
    assert beyond_design(imports()) == told


def test_the_table_names_nothing_beyond_the_design_but_what_is_told() -> None:
    rows = {(room, other) for room, named in declared().items() for other in named}
    rows -= {("backends/sim", "design"), ("backends/sim", "kits")}
    assert beyond_design(rows) <= beyond_design(imports())


def test_a_row_names_what_its_room_imports() -> None:
    used = imports() | {("backends/sim", "design"), ("backends/sim", "kits")}
    for room, named in declared().items():
        assert {other for other in named if (room, other) not in used} == set(), room


@cache
def pairs_by_name() -> set[tuple[str, str]]:
    "Pairs of our rooms of which one reaches the other by name."
    rooms = declared()
    return {
        (room_of(module, rooms), other if other == "*" else room_of(other, rooms))
        for module, file in files().items()
        for other in imported_by_name(file)
    }


def test_a_later_room_that_is_reached_by_name_is_told_with_its_reason() -> None:
    rooms = declared()
    told = {(row["room"], row["other"]) for row in BY_NAME.finditer(_contributing())}
    later = {
        (room, other)
        for room, other in pairs_by_name()
        if other not in reached(room, rooms) | {room, "*"}
    }
    assert later == told


def test_names_that_do_not_stand_there_are_told() -> None:
    found = {room for room, other in pairs_by_name() if other == "*"}
    assert found == set(NAME.findall(IN_VARIABLES.search(_contributing())[1]))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('import_module("cogbias.showing").page()', {"showing"}),
        ('importlib.import_module(f"cogbias.backends.{name}")', {"backends"}),
        ('import_module("cogbias.stats.clusters")', {"stats/clusters"}),
        ("import_module(name)", {"*"}),
        ('import_module("numpy")', set()),
    ],
)
def test_a_room_in_a_string_is_seen(line: str, said: set[str], tmp_path: Path) -> None:
    file = tmp_path / "room.py"
    file.write_text(line)
    assert imported_by_name(file) == said


PARTS = {
    "figures": ("cell", "study"),
    "reporting": ("cell", "methods", "study", "models", "bets"),
    "site": ("inert", "results", "pages"),
}  # in the order in which they are read


@pytest.mark.parametrize("room", PARTS)
def test_a_part_of_a_room_imports_only_parts_before_it(room: str) -> None:
    for place, part in enumerate(PARTS[room]):
        used = {other for other in modules()[f"{room}/{part}"] if other.startswith(f"{room}")}
        assert used <= {f"{room}/{before}" for before in PARTS[room][:place]}, (part, used)


NUMBERED = sorted((ROOT / "nbs").rglob("[0-9]*.ipynb"))
EXPORTS = re.compile(r"default_exp ([\w.]+)")


def exported_by(notebook: Path) -> str:
    "The module that a notebook exports to, as `modules` names it."
    return EXPORTS.search(notebook.read_text())[1].replace(".", "/").removesuffix("/__init__")


@pytest.mark.parametrize("folder", sorted({each.parent for each in NUMBERED}), ids=lambda f: f.name)
def test_notebooks_are_numbered_as_they_are_read(folder: Path) -> None:
    "From 00 on without gaps, and none imports a later one of its folder."
    mine = [each for each in NUMBERED if each.parent == folder]
    assert [int(each.name[:2]) for each in mine] == list(range(len(mine)))
    places = {exported_by(each): place for place, each in enumerate(mine)}
    for name, place in places.items():
        later = {other for other in modules().get(name, ()) if places.get(other, 0) > place}
        assert not later, (name, later)


def test_the_table_is_read_as_it_is_meant() -> None:
    rooms = {"stats": set(), "effects": {"stats", "design"}, "design": set(), "cli": {"effects"}}
    assert reached("cli", rooms) == {"tables", "effects", "stats", "design"}
    assert room_of("stats/clusters", rooms) == "stats" and room_of("new", rooms) == "new"
