"""What no door of the library reaches: definitions that no command, page or registry leads to.

A door is what a user opens: the program, the names of `import cogbias`, paradigms, the names that
a registry asks a module for, and the pages and scripts of PAGES. What a door uses is reached, and
what is used there, and so on. Names are looked up where they were imported from; nothing is run.
"""

import ast
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHOLE = re.compile(
    r"cogbias(\.(__main__|entry|cli|exchange\.inspect_tasks|paradigms\..+))?"
)  # modules
HOOKS = set("ESTIMATORS PARTICIPANT MODELS SETTINGS LOCAL SIMULATED READS_PAIRS".split())
HOOKS |= {"__getattr__", "__dir__"}
PAGES = [f"nbs/{each}/**/*.ipynb" for each in "reports tutorials benchmarks published".split()]
PAGES += ["nbs/paradigms/**/*.ipynb", "nbs/index.ipynb", "data/skeletons/*.ipynb", "docs/*.py"]
IN_TEXT = re.compile(r"from (cogbias[\w.]*) import (\w+)")  # what another process runs
KEPT = {
    "cogbias.elicitation.tiny.tiny_probabilities": "known answers, by which tests judge backends",
    "cogbias.elicitation.tiny.build_reader": "an encoder-decoder for the tests of hf",
}  # definition -> why it stays though nothing else leads to it


def bound(node):
    "The names that a statement at the top of a module defines."
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    inner = [each for target in targets if target for each in ast.walk(target)]
    return [each.id for each in inner if isinstance(each, ast.Name)]


class Module:
    "A module or a page: what it defines, and where the names come from that it imports."

    def __init__(self, path):
        source = path.read_text(encoding="utf-8")
        parts = path.relative_to(ROOT).with_suffix("").parts
        self.name = ".".join(parts).removesuffix(".__init__")
        if path.suffix == ".ipynb":
            cells = [each for each in json.loads(source)["cells"] if each["cell_type"] == "code"]
            source = "\n".join("".join(each["source"]) for each in cells)
            exported = re.search(r"#\| default_exp (\S+)", source)
            self.name = f"cogbias.{exported[1]}" if exported else "a page"
        self.tree, self.defined, self.imported = ast.parse(source), {}, {}
        for node in self.tree.body:
            for each in bound(node):
                self.defined.setdefault(each, []).append(node)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                level = getattr(node, "level", 0)
                origin = [*parts[: len(parts) - level]] if level else []
                origin += filter(None, [getattr(node, "module", None)])
                for alias in node.names:
                    self.imported[alias.asname or alias.name] = ".".join([*origin, alias.name])

    def meaning(self, node):
        "What a name or an attribute stands for, as a dotted name."
        if isinstance(node, ast.Attribute):
            return f"{self.meaning(node.value)}.{node.attr}"
        word = getattr(node, "id", "?")
        here = f"{self.name}.{word}"
        return here if word in self.defined else self.imported.get(word, here)


FILES = [path for path in (ROOT / "cogbias").rglob("*.py") if path.name != "_modidx.py"]
MODULES = {each.name: each for each in map(Module, FILES)}
REACHED: set[tuple[str, str]] = set()  # module and name


def reach(dotted):
    "A dotted name is used: what it stands for is reached, and all that is used there."
    module, _, name = dotted.rpartition(".")
    while module and module not in MODULES:  # methods and fields lie in what is defined
        module, _, name = module.rpartition(".")
    if not module or (module, name) in REACHED:
        return
    REACHED.add((module, name))
    home = MODULES[module]
    for node in home.defined.get(name, ()):
        follow(home, node)
    if name not in home.defined and name in home.imported:
        reach(home.imported[name] + dotted.removeprefix(f"{module}.{name}"))


def follow(home, node):
    "Reach what a part of a module uses: names, and words of the rooms that it imports late."
    words, late = set(), set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name | ast.Attribute):
            reach(home.meaning(each))
            words.add(getattr(each, "attr", ""))
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            words.add(each.value)
            late |= {each.value.rstrip(".")} & set(MODULES)
            for said in (each.value.replace(":", "."), *map(".".join, IN_TEXT.findall(each.value))):
                reach(said)
    for dotted in (f"{room}.{word}" for room in late for word in words):
        reach(dotted)


def unreached():
    "Definition -> its nodes, of those that nothing leads to; the heaviest first."
    for name, module in MODULES.items():
        for node in module.tree.body:
            names = bound(node)
            for each in names if WHOLE.fullmatch(name) else HOOKS.intersection(names):
                reach(f"{name}.{each}")
            if not names and not isinstance(node, ast.If):
                follow(module, node)
    for dotted in (*MODULES["cogbias"].imported.values(), *KEPT):
        reach(dotted)
    for page in (Module(path) for pattern in PAGES for path in ROOT.glob(pattern)):
        follow(page, page.tree)
    lost = {
        f"{name}.{each}": sum(1 for node in nodes for _ in ast.walk(node))
        for name, module in MODULES.items()
        for each, nodes in module.defined.items()
        if (name, each) not in REACHED and each.strip("_") != "all"
    }
    return dict(sorted(lost.items(), key=lambda each: -each[1]))


if __name__ == "__main__":
    found = unreached()
    print(*(f"{nodes:>6} {name}" for name, nodes in found.items()), sep="\n")
    sys.exit(f"{len(found)} definitions are reached by nothing" if found else 0)
