"""How heavy the library is: nodes of syntax, functions and raises, room by room.

    python docs/mass.py

Lines can be saved by writing densely, nodes cannot. Docstrings are left out. Fails above BUDGET: a
change that needs more lowers something else, or says in its commit what the growth is for.
"""

import ast
import sys
from collections import Counter
from pathlib import Path

LIBRARY = Path(__file__).resolve().parent.parent / "cogbias"
BUDGET = {"nodes": 299_990, "functions": 2_378, "raises": 336}


def is_docstring(node: ast.stmt) -> bool:
    "Whether a statement is a text by itself."
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def measured(path: Path) -> Counter:
    "What a module weighs."
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [each for each in body if not is_docstring(each)]
    nodes = [*ast.walk(tree)]
    functions = sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes)
    raises = sum(isinstance(node, ast.Raise) for node in nodes)
    return Counter(nodes=len(nodes), functions=functions, raises=raises)


def rooms() -> dict[str, Counter]:
    "Room -> what it weighs, the heaviest first."
    found: dict[str, Counter] = {}
    for path in LIBRARY.rglob("*.py"):
        if path.name != "_modidx.py":
            room = path.relative_to(LIBRARY).parts[0].removesuffix(".py")
            found.setdefault(room, Counter()).update(measured(path))
    return dict(sorted(found.items(), key=lambda each: -each[1]["nodes"]))


def main() -> None:
    "Print the rooms; fail above the budget."
    found = rooms()
    total = sum(found.values(), Counter())
    for room, each in [*found.items(), (f"all {len(found)} rooms", total)]:
        print(f"{room:20}" + "".join(f"{each[unit]:>9,} {unit}" for unit in BUDGET))
    over = [f"{total[unit]:,} {unit}, {most:,} at most" for unit, most in BUDGET.items()]
    if over := [line for line, unit in zip(over, BUDGET) if total[unit] > BUDGET[unit]]:
        sys.exit(f"over budget: {'; '.join(over)}")


if __name__ == "__main__":
    main()
