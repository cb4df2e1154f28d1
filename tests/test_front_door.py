"""How the package is called, cited and installed; the names of `import cogbias as cb`."""

import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml

import cogbias as cb

ROOT = Path(__file__).resolve().parent.parent


def settings():
    "The settings of the package, as its build reads them."
    config = ConfigParser(delimiters=["="])
    config.read(ROOT / "settings.ini", encoding="utf-8")
    return dict(config["DEFAULT"])


def test_the_module_works_like_the_command():
    called = [sys.executable, "-m", "cogbias"]
    said = subprocess.run([*called, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == settings()["version"]
    wrong = subprocess.run([*called, "itms"], capture_output=True, text=True)
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1
    assert wrong.stderr.startswith("cogbias: ") and "items" in wrong.stderr


def test_citation_is_in_step():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    ours = settings()
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert (cited["version"], cited["license"]) == (ours["version"], "Apache-2.0")
    assert cited["authors"][0]["name"] == ours["author"]
    assert cited["repository-code"] == ours["git_url"]


# ---- import cogbias as cb

NAMES = [
    *("answers", "compare", "effects", "figures", "headline", "items", "paradigm", "paradigm_from"),
    *("paradigms", "participant", "plan", "run", "show"),
]


def in_a_new_process(code):
    "What a program prints."
    called = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert called.returncode == 0, called.stderr[-2000:]
    return called.stdout.strip()


def test_the_import_brings_nothing_along():
    code = (
        "import sys; before = set(sys.modules); import cogbias as cb;"
        "print([name for name in dir(cb) if name[0] != '_'] == %r, 'pandas' in sys.modules,"
        "len(set(sys.modules) - before - {'typing', 're', 'enum', 'importlib', 'warnings'}) < 40)"
    )
    assert in_a_new_process(code % NAMES) == "True False True"


@pytest.mark.parametrize("room", ["effects", "compare", "paradigms", "figures"])
def test_a_name_means_the_same_whatever_was_imported_before(room):
    code = (
        f"import cogbias.{room} as before; import cogbias as cb; from cogbias import {room};"
        f"assert before is cb.{room} is {room}; print(callable(cb.{room}))"
    )
    assert in_a_new_process(code) == str(room != "figures")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    "What a run of two participants found."
    asked = {"where": {"variant": "base"}, "reports": False, "progress": False}
    place = tmp_path_factory.mktemp("two") / "outputs"
    return cb.run(["sim/human", "sim/messy"], "classic/framing", outputs=place, **asked)


def test_folder_run_and_tables_tell_the_same(found):
    assert set(found.trials["item_id"]) == set(found.items["item_id"])
    estimates = [found.headlines, cb.headline(found.outputs), cb.headline(found.trials)]
    assert len({tuple(each["estimate"].round(9)) for each in estimates}) == 1
    assert "simulated" in repr(found) and "<table" in found._repr_html_()
    for table in (found.items, found.trials, found.effects, found):
        shown = cb.show(table)
        assert shown.text and "<" in shown._repr_html_()
