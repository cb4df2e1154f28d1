"""The documentation of the library: `python docs/library.py [OUT]`, or `make docs`.

A notebook is the page already: prose, and code in small cells, each used at once and tested. What
nobody reads (hidden cells, directives) goes, the rest stays, and two things are added: a reference
of the public names at the end, and links from every back-ticked name to that reference. MyST-NB
and Sphinx make the pages.

The reference is read from the source and nothing is imported. What a parameter means is the comment
on its line, or above it. Readers of docstrings such as griffe know neither comments nor the lines
of parameters; so the source is parsed.
"""

import ast
import io
import json
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cogbias.site.results import SUITES, suite_title

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = Path(__file__).resolve().parent / "library_pages"


# ---- templates and cells


@cache
def templates() -> Environment:
    "The templates of pages that are not notebooks."
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def fill(template: str, **values: Any) -> str:
    "A filled template."
    return templates().get_template(template).render(**values).lstrip()


def write_page(path: Path, text: str) -> None:
    "Write a file, and its folder before it."
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def read_cells(path: Path) -> list[dict[str, Any]]:
    "The cells of a notebook."
    cells = nbformat.read(path, as_version=4).cells
    return [{"outputs": [], **cell} for cell in cells]


def notebook_text(cells: Sequence[Mapping[str, Any]], description: str) -> str:
    "A notebook file for MyST-NB."
    numbered = [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(cells)]
    language = {"name": "python", "pygments_lexer": "python"}
    metadata = {"language_info": language, "myst": {"html_meta": {"description": description}}}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": numbered}
    return json.dumps(notebook, ensure_ascii=False, sort_keys=True)


def markdown_cell(source: str) -> dict[str, Any]:
    "A Markdown cell."
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def without_directives(source: str) -> str:
    "The source that a reader sees."
    return re.sub(r"^[ \t]*#\|.*\n?", "", source, flags=re.M).strip("\n")


def code_cell(
    source: str, outputs: Iterable[Mapping[str, Any]], tags: Iterable[str], alt: str
) -> dict[str, Any]:
    "A code cell; `alt` describes its pictures."
    return {
        "cell_type": "code",
        "execution_count": None,
        "source": source,
        "outputs": [*outputs],
        "metadata": {"tags": sorted({*tags}), "mystnb": {"image": {"alt": alt}}},
    }


def heading_after(source: str, before: str) -> str:
    "The heading that the cells after this one stand under."
    found = re.findall(r"^#+ +(.+?)\s*$", source, re.M)
    return re.sub(r"[`*_]", "", found[-1]) if found else before


def raw_block(block: str) -> str:
    "Finished HTML for a Markdown page, on lines of its own."
    return f"~~~{{raw}} html\n<div>\n{block.strip()}\n</div>\n~~~\n"


# ---- public names, read from the source


class Row(NamedTuple):
    "One parameter, field or result of a symbol."

    name: str
    type: str
    default: str
    meaning: str


class Symbol(NamedTuple):
    "A public name of a module."

    name: str  # Class.method for a method
    kind: str  # function, class or constant
    summary: str
    rows: tuple[Row, ...]

    def anchor(self, module: str) -> str:
        "Where its reference is; the kind tells `Paradigm` from `paradigm`, which Sphinx does not."
        return f"{self.kind}-{module}.{self.name}"


def code_of(node: ast.AST | None) -> str:
    "Source of a node; empty for None."
    return "" if node is None else ast.unparse(node)


def summary_of(node: ast.AST) -> str:
    "First line of a docstring."
    return (ast.get_docstring(node) or "").partition("\n")[0]


def comments_by_line(
    source: str,  # Python source
) -> dict[int, str]:  # line -> comment
    "The comments of a piece of source."
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: token.string.lstrip("# ")
        for token in tokens
        if token.type == tokenize.COMMENT
    }


def arguments_of(
    node: ast.FunctionDef,  # a function
) -> list[tuple[str, ast.arg, ast.expr | None]]:  # prefix, argument, default; without self
    "The arguments of a function in the order of its signature."
    given = node.args
    places = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(places) - len(given.defaults)) + list(given.defaults)
    found = [("", place, default) for place, default in zip(places, defaults)]
    if given.vararg:
        found.append(("*", given.vararg, None))
    found += [("", place, default) for place, default in zip(given.kwonlyargs, given.kw_defaults)]
    if given.kwarg:
        found.append(("**", given.kwarg, None))
    return [each for each in found if each[1].arg not in ("self", "cls")]


def parameter_comments(
    node: ast.FunctionDef,  # a function
    comments: Mapping[int, str],  # of its source, by line
) -> dict[str, str]:  # name -> words; a comment on a line of several belongs to none of them
    "What comments say of each parameter: those of their own above it, and the one on its line."
    arguments = arguments_of(node)
    ends = [(default or place).end_lineno for _, place, default in arguments]
    on_line = Counter([*ends, node.returns.end_lineno if node.returns else 0])
    words, last = {}, node.lineno
    for (_, place, _), end in zip(arguments, ends):
        said = [comments[line] for line in range(last + 1, place.lineno) if line in comments]
        if end in comments and on_line[end] == 1:
            said.append(comments[end])
        words[place.arg], last = " ".join(said), end
    return words


def parameters_of(node: ast.FunctionDef, comments: Mapping[int, str]) -> tuple[Row, ...]:
    "The rows of a function, its result last."
    said = parameter_comments(node, comments)
    rows = [
        Row(prefix + place.arg, code_of(place.annotation), code_of(default), said[place.arg])
        for prefix, place, default in arguments_of(node)
    ]
    returns = node.returns.end_lineno if node.returns else 0
    if code_of(node.returns) not in ("", "None"):
        meaning = comments.get(returns, "") if returns > node.lineno else ""
        rows.append(Row("returns", code_of(node.returns), "", meaning))
    return tuple(rows)


def sets_a_property(node: ast.FunctionDef) -> bool:
    "Whether a function is what a property is set with; the page has the one that it is read with."
    return any(code_of(each).endswith(".setter") for each in node.decorator_list)


def function_symbols(
    node: ast.FunctionDef, comments: Mapping[int, str], owner: str = ""
) -> list[Symbol]:
    "A public function or method."
    if node.name.startswith("_") or sets_a_property(node):
        return []
    rows = parameters_of(node, comments)
    return [Symbol(owner + node.name, "function", summary_of(node), rows)]


def class_symbols(node: ast.ClassDef, comments: Mapping[int, str]) -> list[Symbol]:
    "A public class with its fields, then its methods."
    if node.name.startswith("_"):
        return []
    fields, methods = [], []
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and not code_of(each.target).startswith("_"):
            meaning = comments.get(each.end_lineno, "")
            parts = map(code_of, (each.target, each.annotation, each.value))
            fields.append(Row(*parts, meaning))
        if isinstance(each, ast.FunctionDef):
            methods += function_symbols(each, comments, f"{node.name}.")
    return [Symbol(node.name, "class", summary_of(node), tuple(fields)), *methods]


def constant_symbols(node: ast.Assign | ast.AnnAssign, comments: Mapping[int, str]) -> list[Symbol]:
    "A public name in capitals, or the name of a type."
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if not isinstance(target, ast.Name) or not target.id[0].isupper():
        return []
    value = code_of(node.value)
    rows = (Row("value", value, "", ""),) if 0 < len(value) <= 80 else ()
    comment = comments.get(node.end_lineno, comments.get(node.lineno, ""))
    return [Symbol(target.id, "constant", comment, rows)]


def is_private(node: ast.AST) -> bool:
    "Whether a node is a function or class that no reference shows."
    return isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name.startswith("_")


READERS: dict[type, Callable[..., list[Symbol]]] = {
    ast.FunctionDef: function_symbols,
    ast.ClassDef: class_symbols,
    ast.Assign: constant_symbols,
    ast.AnnAssign: constant_symbols,
}


def public_symbols(
    source: str,  # Python source
) -> list[Symbol]:  # in the order of the source
    "The public names that a piece of source defines."
    nodes = [node for node in ast.parse(source).body if type(node) in READERS]
    has_comments = "#" in source and any(not is_private(node) for node in nodes)
    comments = comments_by_line(source) if has_comments else {}
    return [symbol for node in nodes for symbol in READERS[type(node)](node, comments)]


# ---- a notebook as a page


class Page(NamedTuple):
    "A notebook that becomes a page."

    docname: str  # path on the site, without ending
    title: str
    subtitle: str
    module: str  # what the notebook exports to; empty where nothing
    cells: list[dict[str, Any]]
    symbols: list[Symbol]


def directives(source: str) -> dict[str, str]:
    "The nbdev and Quarto directives of a cell: word -> the rest of its line."
    found = re.findall(r"^[ \t]*#\|[ \t]*([\w-]+):?[ \t]*(.*?)[ \t]*$", source, re.M)
    return {word.replace("-", "_"): rest for word, rest in found}


def is_exported(cell: Mapping[str, Any]) -> bool:
    "Whether nbdev exports this cell."
    words = {"export", "exporti", "exports"}
    return cell["cell_type"] == "code" and not words.isdisjoint(directives(cell["source"]))


def module_of(cells: Iterable[Mapping[str, Any]]) -> str:
    "The module that a notebook exports to."
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    names = [directives(source).get("default_exp") for source in code]
    module = next((f"cogbias.{name}" for name in names if name), "")
    return module.removesuffix(".__init__")  # a folder is imported by its own name


def symbols_of(path: Path, cells: Iterable[Mapping[str, Any]]) -> list[Symbol]:
    "Public names of all exported cells."
    sources = [without_directives(cell["source"]) for cell in cells if is_exported(cell)]
    try:
        return [symbol for source in sources for symbol in public_symbols(source)]
    except (SyntaxError, tokenize.TokenError) as error:
        sys.exit(f"{path}: an exported cell is not Python ({error})")


def read_page(
    path: Path,  # an .ipynb file
    root: Path,  # the folder that names are relative to
) -> Page:
    "A library notebook, taken apart."
    cells = read_cells(path)
    prose = "\n\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    title = re.search(r"^# +(.+?)\s*$", prose, re.M)
    if not title:  # without one, no menu could link to the page
        cells = [markdown_cell(f"# {path.stem}"), *cells]
    subtitle = re.search(r"^> *(.+?)\s*$", prose, re.M)
    return Page(
        path.relative_to(root).with_suffix("").as_posix(),
        title[1] if title else path.stem,
        subtitle[1] if subtitle else "",
        module_of(cells),
        cells,
        symbols_of(path, cells),
    )


def notebook_pages(
    folder: Path,  # library notebooks
) -> list[Page]:  # in the order of their paths
    "The notebooks that become pages: neither report templates nor the front page."
    paths = [
        path
        for path in sorted(folder.rglob("*.ipynb"))
        if path.relative_to(folder).parts[0] not in ("reports", "index.ipynb")
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    return [read_page(path, folder) for path in paths]


# ---- links between pages


class Names:
    "Where the reference of each public name is."

    def __init__(self, pages: Sequence[Page]) -> None:
        self.at: dict[str, list[tuple[str, str]]] = {}  # name -> [(module, anchor)]
        for page in pages:
            for symbol in page.symbols:
                place = (page.module, f"#{symbol.anchor(page.module)}")
                self.at.setdefault(symbol.name, []).append(place)
            if page.module:
                self.at[page.module] = [(page.module, f"/{page.docname}.ipynb")]

    def target(self, name: str, module: str) -> str | None:
        "Target of a name as seen from a module; None where it is unknown or means several things."
        known = self.at.get(name.removesuffix("()"), [])
        here = [anchor for owner, anchor in known if owner == module]
        if here:
            return here[0]
        return known[0][1] if len(known) == 1 else None


CODE_OR_LINK = re.compile(
    r"""
    (`{2,}).*?\1                                # longer code
    | \[[^\]]*\] (?:\([^)]*\) | \[[^\]]*\])     # a link
    | ` (?P<name> [A-Za-z_][\w.]* (?:\(\))? ) ` # a name
    | `[^`]*`                                   # other code
    """,
    re.X,
)


def link_names_of_line(line: str, names: Names, module: str) -> str:
    "Link the back-ticked names of one line."

    def linked(span: re.Match[str]) -> str:
        target = names.target(span["name"], module) if span["name"] else None
        return f"[{span[0]}]({target})" if target else span[0]

    return CODE_OR_LINK.sub(linked, line)


def link_names(
    source: str,  # Markdown
    names: Names,  # of all pages
    module: str,  # of this page
) -> str:
    "Link back-ticked names to their reference; code blocks and headings stay as they are."
    lines, fenced = [], False
    for line in source.split("\n"):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        kept = fenced or line.startswith("#")
        lines.append(line if kept else link_names_of_line(line, names, module))
    return "\n".join(lines)


# ---- the cells of a page

TAGS = {
    ("echo", "false"): "remove-input",
    ("hide_input", ""): "remove-input",
    ("output", "false"): "remove-output",
    ("hide_output", ""): "remove-output",
    ("include", "false"): "remove-cell",
    ("code_fold", "true"): "hide-input",
}  # directive -> the tag that MyST-NB knows


# blank lines and comments first
BEGINS_AS_IMPORTS = re.compile(r"(?:[ \t]*(?:#.*)?\n)*(?:import\b|from\b|[ \t]*(?:#.*)?\Z)")


def only_imports(source: str) -> bool:
    "Whether a cell does nothing but import."
    if not BEGINS_AS_IMPORTS.match(source):  # so most cells need not be parsed
        return False
    try:
        return all(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.parse(source).body)
    except SyntaxError:  # shell commands and magics are for IPython
        return False


def library_code(cell: Mapping[str, Any], alt: str) -> dict[str, Any] | None:
    "A code cell of a library notebook; None where it is hidden."
    words, source = directives(cell["source"]), without_directives(cell["source"])
    if "hide" in words or not source:
        return None
    tags = {*cell["metadata"].get("tags", [])}
    tags |= {TAGS[each] for each in words.items() if each in TAGS}
    if is_exported(cell):
        tags.add("exported")
    if only_imports(source):
        tags.add("hide-input")
    return code_cell(source, cell["outputs"], tags, f"Figure: {alt}")


# pages of findings: who came for the figures opens the code with a click
FOLDED = ("published/",)


def add_folded(cells: list[dict[str, Any]], code: dict[str, Any]) -> None:
    "Add a code cell, folded; of neighbours of which one shows nothing, one fold holds the code."
    code["metadata"]["tags"] = sorted({*code["metadata"]["tags"], "hide-input"})
    before = cells[-1] if cells else None
    is_neighbour = before and before["cell_type"] == "code"
    if is_neighbour and before["metadata"]["tags"] == code["metadata"]["tags"]:
        if not (before["outputs"] and code["outputs"]):
            before["source"] += f"\n\n\n{code['source']}"
            before["outputs"] += code["outputs"]
            return
    cells.append(code)


def module_line(page: Page) -> list[dict[str, Any]]:
    "A line that says which module a page exports to."
    if not page.module:
        return []
    reference = " · [Reference](#reference)" if page.symbols else ""
    return [markdown_cell(f"Module `{page.module}`{reference}")]


def reference_cells(page: Page) -> list[dict[str, Any]]:
    "The cells of the reference at the end of a page."
    cells = [markdown_cell("## Reference")] if page.symbols else []
    for symbol in page.symbols:
        table = raw_block(fill("reference.html", symbol=symbol))
        head = f"({symbol.anchor(page.module)})=\n### `{symbol.name}`"
        cells.append(markdown_cell(f"{head}\n\n{table}"))
    return cells


def library_page(
    page: Page,  # from read_page
    names: Names,  # of all pages
) -> str:  # an .ipynb file
    "A library notebook as a page of the site."
    cells, heading = [], page.title
    for cell in page.cells:
        if cell["cell_type"] == "markdown":
            heading = heading_after(cell["source"], heading)
            said = markdown_cell(link_names(cell["source"], names, page.module))
            cells += [said] if cells else [said, *module_line(page)]
        elif cell["cell_type"] == "code":
            shown = library_code(cell, heading)
            if shown and page.docname.startswith(FOLDED):
                add_folded(cells, shown)
            elif shown:
                cells.append(shown)
    return notebook_text(cells + reference_cells(page), page.subtitle)


# ---- sections


class Section(NamedTuple):
    "A part of the site, from one folder of notebooks."

    folder: str  # empty for the rooms, which lie at the top
    title: str
    lead: str
    order: tuple[str, ...] = ()  # of notebooks without numbers: how they are read; others follow

    def place_of(self, page: Page) -> int:
        "Where a page stands; those that are not named stand last, in the order of their paths."
        name = page.docname.rpartition("/")[2]
        return self.order.index(name) if name in self.order else len(self.order)

    @property
    def docname(self) -> str:
        "The page that opens the section."
        return f"{self.folder}/index" if self.folder else "library"


SECTIONS = (
    Section(
        "",
        "Library",
        "The rooms of the package, in reading order: how a bias is asked, answered, measured "
        "and shown.",
    ),
    Section(
        "paradigms",
        "Paradigms",
        "The procedures that reveal a bias: what is asked, what an unbiased participant would do, "
        "what is compared.",
    ),
    Section(
        "kits",
        "Kits",
        "What the paradigms of one shape share, and how simulated participants decide.",
    ),
    Section(
        "backends",
        "Backends",
        "Who answers: simulated participants, local models, servers and encoders.",
    ),
    Section("tables", "Tables", "The words in tables and reports: statuses, verdicts, units."),
    Section("cli", "Command line", "Conditions that a model must meet, for a check in CI."),
    Section("participants", "Participants", "What is known of a participant: prices, ids."),
    Section(
        "choices",
        "Choices",
        "What an answer says: words, options, statements, numbers, and probabilities of tokens.",
    ),
    Section(
        "elicitation",
        "Elicitation",
        "From a model to an answer: exact probabilities of options, shared prefixes, calls to "
        "servers, a model of known answers.",
    ),
    Section(
        "stats",
        "Statistics",
        "How sure one can be of an effect, with formulas, references and checks against R.",
    ),
    Section("training", "Training", "Encoders that are made here, and those that a study trains."),
    Section("study", "Studies", "A user's own paradigms, kept with their answers."),
    Section(
        "planning",
        "Planning",
        "What a run would ask, what that costs and takes, which effects it would call present, and "
        "what was spent.",
    ),
    Section(
        "running",
        "Running",
        "From a study to answers, effects and reports: what is collected, rendered and verified.",
    ),
    Section("figures", "Figures", "Tables in, axes out: of one participant, and of a whole study."),
    Section("reporting", "Reporting", "The words and tables of reports, apart from their layout."),
    Section("site", "Site", "From an outputs folder to pages in which nothing runs or is fetched."),
    Section(
        "effects",
        "Estimators",
        "What a contrast may ask for beside a difference of shares or means.",
    ),
    Section(
        "published",
        "Published results",
        "What papers printed, recomputed from their own numbers: what holds, and what does not.",
        order=("coverage", "classics", "instructed_to_bias", "managerial", "bets", "pagliaro"),
    ),
    Section("exchange", "Exchange", "Published data and tables of other tools, in and out."),
    Section("fillings", "Fillings", "Stories that a model writes: asked for, checked, reviewed."),
    Section(
        "tutorials",
        "Tutorials",
        "First steps, exact and sampled answers, other tests, stories to review, models and biases "
        "of your own.",
        order=(
            *("first_steps", "your_own_model", "a_bias_of_your_own", "exact_or_sampled"),
            *("debiasing", "people", "other_tests", "review_fillings", "cluster"),
            *("beyond_management", "way_of_one_answer"),
        ),
    ),
    Section(
        "benchmarks",
        "Benchmarks",
        "How fast it is, against its peers and against the machine, and how often its intervals "
        "hold the truth.",
    ),
)


def sections_of(
    pages: Iterable[Page],  # library pages
) -> list[tuple[Section, list[Page]]]:  # in the order of the site; empty ones are left out
    "Library pages by section; a folder that is not listed gets a section under its own name."
    by_folder: dict[str, list[Page]] = {}
    for page in pages:
        by_folder.setdefault(page.docname.rpartition("/")[0].partition("/")[0], []).append(page)
    known = {section.folder for section in SECTIONS}
    others = [folder for folder in sorted(by_folder) if folder not in known]
    extra = [Section(folder, suite_title(folder), "More notebooks.") for folder in others]
    every = [*SECTIONS, *extra]
    there = [each for each in every if each.folder in by_folder]
    return [(each, sorted(by_folder[each.folder], key=each.place_of)) for each in there]


def pages_by_suite(pages: Sequence[Page]) -> list[dict[str, Any]]:
    "Groups of a section's pages; one without a title where there are no subfolders."
    groups: dict[str, list[Page]] = {}
    for page in pages:
        groups.setdefault("/".join(page.docname.split("/")[1:-1]), []).append(page)
    return [
        {"title": suite_title(suite) if suite else "", "pages": groups[suite]}
        for suite in sorted(groups, key=lambda each: [*SUITES, each].index(each))
    ]


def stage_library(
    folder: Path,  # library notebooks
    stage: Path,  # where Sphinx will look
) -> list[Section]:
    "Write the library pages and the page that opens each section."
    pages = notebook_pages(folder)
    names = Names(pages)
    for page in pages:
        write_page(stage / f"{page.docname}.ipynb", library_page(page, names))
    sections = sections_of(pages)
    for section, members in sections:
        told = {"title": section.title, "lead": section.lead, "groups": pages_by_suite(members)}
        write_page(stage / f"{section.docname}.md", fill("section.md", **told))
    parts = [{"title": "", "pages": [section for section, _ in sections]}]
    lead = "Measure cognitive biases in language models: the library, page by page."
    home = fill("section.md", title="cogbias", lead=lead, groups=parts)
    write_page(stage / "index.md", home)
    return [section for section, _ in sections]


def build(
    notebooks: Path,  # the library's
    out: Path,  # where the pages go
) -> None:
    "Make the documentation."
    with tempfile.TemporaryDirectory() as place:
        stage_library(notebooks, Path(place))
        options = ["-q", "-b", "html", "-j", "auto", "-c", TEMPLATES]
        command = [sys.executable, "-m", "sphinx", *options, place, out]
        subprocess.run([*map(str, command)], check=True)


if __name__ == "__main__":
    target = Path(*sys.argv[1:2]) if sys.argv[1:] else ROOT / "_docs"
    build(ROOT / "nbs", target)
    print(f"docs      {target / 'index.html'}")
