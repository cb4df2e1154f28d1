"Who imports whom: the table of rooms in CONTRIBUTING.md and the code say the same."

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "cogbias"
ROW = re.compile(r"^\| (?P<rooms>`.+?) \| (?P<holds>.+?) \| (?P<may>.+?) \|$", re.M)
NAME = re.compile(r"`([\w/]+)`")


@cache
def declared() -> dict[str, set[str]]:
    "Room -> the rooms that its row of the table names."
    rows = {}
    for row in ROW.finditer((ROOT / "CONTRIBUTING.md").read_text()):
        for room in NAME.findall(row["rooms"]):
            others = {each.rstrip("/") for each in NAME.findall(row["may"])}
            rows[room.rstrip("/")] = others - {room.rstrip("/")}
    return rows


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
def modules() -> dict[str, set[str]]:
    "Module -> modules of ours that it imports."
    files = [file for file in LIBRARY.rglob("*.py") if file.name != "_modidx.py"]
    found = {}
    for file in files:
        name = file.relative_to(LIBRARY).with_suffix("").as_posix().removesuffix("__init__")
        if name:
            found[name.rstrip("/")] = imported(file)
    return found


def test_every_module_lies_in_a_room_of_the_table() -> None:
    rooms = declared()
    assert len(rooms) > 15
    assert {room_of(module, rooms) for module in modules()} == set(rooms)


@pytest.mark.parametrize("module", sorted(modules()))
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


PARTS = {
    "figures": ("cell", "study"),
    "reporting": ("cell", "study", "models", "bets"),
    "site": ("inert", "results", "pages"),
}  # in the order in which they are read


@pytest.mark.parametrize("room", PARTS)
def test_a_part_of_a_room_imports_only_parts_before_it(room: str) -> None:
    for place, part in enumerate(PARTS[room]):
        used = {other for other in modules()[f"{room}/{part}"] if other.startswith(f"{room}")}
        assert used <= {f"{room}/{before}" for before in PARTS[room][:place]}, (part, used)


def test_the_table_is_read_as_it_is_meant() -> None:
    rooms = {"stats": set(), "effects": {"stats", "design"}, "design": set(), "cli": {"effects"}}
    assert reached("cli", rooms) == {"tables", "effects", "stats", "design"}
    assert room_of("stats/clusters", rooms) == "stats" and room_of("new", rooms) == "new"
