"What users read keeps to the words of CONTRIBUTING.md."

import ast
import json
import re
from pathlib import Path

import pytest
from typer.main import get_command

from cogbias.tables import words
from cogbias.cli import app
from cogbias.design import paradigm, paradigms
from cogbias.settings import report_parameters

HOME = Path(__file__).parents[1]


def unwanted():
    "The column 'not' of the table of words."
    table = (HOME / "CONTRIBUTING.md").read_text().partition("| use | not |\n")[2]
    rows = table.partition("\n\n")[0].splitlines()[1:]
    found = [each for row in rows for each in row.strip("| ").split(" | ")[1].split(", ")]
    return re.compile(rf"(?i)\b({'|'.join(map(re.escape, found))})\b")


def helps():
    "What --help says of the program, its commands and their options."
    commands = get_command(app).commands.values()
    options = [getattr(each, "help", None) for one in commands for each in one.params]
    return [*filter(None, [*(each.help for each in commands), *options])]


def errors():
    "The texts in the messages of all errors."
    calls = [
        node
        for file in (HOME / "cogbias").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "CogbiasError"
    ]
    parts = (part for call in calls for argument in call.args for part in ast.walk(argument))
    return [part.value for part in parts if isinstance(getattr(part, "value", None), str)]


def pages():
    "The templates of reports and of the site."
    notebooks = [json.loads(each.read_text()) for each in (HOME / "nbs/reports").glob("*.ipynb")]
    cells = ["".join(cell["source"]) for each in notebooks for cell in each["cells"]]
    told = [each.read_text() for each in (HOME / "docs/pages").glob("*.html")]
    return cells + [re.sub(r"{[{%#].*?[#%}]}|<[^>]*>", " ", each) for each in told]


def tables():
    "What is said of statuses, verdicts, reasons, reports and settings."
    known = [*words.STATUSES.values(), *words.VERDICTS.values(), *words.REPORTS.values()]
    meanings = [meaning for _, meaning in report_parameters().values()]
    return [str(each) for each in known] + [*words.REASONS.values(), *meanings]


def abouts():
    "What readers are told about the paradigms."
    known = map(paradigm, paradigms())
    told = ((each.summary, each.norm, each.positive, *each.caveats) for each in known)
    return [text for each in told for text in each]


@pytest.mark.parametrize("read", [helps, errors, pages, tables, abouts])
def test_users_read_the_words_of_the_list(read):
    texts, unwanted_word = read(), unwanted()
    assert len(texts) > 9
    assert [text for text in texts if unwanted_word.search(text)] == []
