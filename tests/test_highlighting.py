"Code on the site is highlighted as Pygments does it, though not in its order."

from __future__ import annotations

from types import ModuleType

import pytest
from conftest import ROOT, script_of_docs

ODD = (
    "!ls 'x\n$ ",
    "x = '''abc\n  \\N{a} {b!r:>{w}}",
    "  '''doc'''\n \"\"\"x\"\"\"\nif a: 'x'  # b",
    "class \\\n x(a, *b): pass",
    "\f\x00 é ∑ = 1_0.e5j + .5 - 0x_f\r\n0b1 ... 07",
    "f'{a:{b}' + rb\"a\\\" '%(a)s %-5.2f {0.x[1]!r:^3}'",
    "@a.b\ndef f(x: int = 1, /) -> 'y':\n\treturn (y := x) << 2",
    "from . import (a,\n  b as c)",
    ">>> a\n?b\n`c`",
)


@pytest.fixture(scope="module")
def settings() -> ModuleType:
    "The settings of the site."
    pytest.importorskip("sphinx")
    return script_of_docs("conf")


def test_code_is_read_as_pygments_reads_it(settings: ModuleType) -> None:
    from pygments.lexers.python import PythonLexer

    ours, theirs = settings.Python(), PythonLexer()
    modules = sorted((ROOT / "cogbias" / "site").glob("*.py"))
    assert modules
    for source in [*ODD, *(each.read_text(encoding="utf-8") for each in modules)]:
        assert list(ours.get_tokens(source)) == list(theirs.get_tokens(source)), source[:80]


def test_a_formatter_is_made_once_for_what_is_asked(settings: ModuleType) -> None:
    first, again = (settings.formatter(style="default", linenos=False) for _ in range(2))
    assert first is again
    assert settings.formatter(style="default", linenos=True, hl_lines=[1]) is not first
