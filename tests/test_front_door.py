"""What stands at the door: how the package is called, cited and installed."""

import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent


def settings() -> dict[str, str]:
    "The settings of the package, as its build reads them."
    config = ConfigParser(delimiters=["="])
    config.read(ROOT / "settings.ini", encoding="utf-8")
    return dict(config["DEFAULT"])


def test_the_module_works_like_the_command() -> None:
    called = [sys.executable, "-m", "cogbias"]
    said = subprocess.run([*called, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == settings()["version"]
    wrong = subprocess.run([*called, "itms"], capture_output=True, text=True)
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1
    assert wrong.stderr.startswith("cogbias: ") and "items" in wrong.stderr


def test_all_is_the_union_of_the_other_extras() -> None:
    extras = {
        key.removesuffix("_requirements"): set(value.split())
        for key, value in settings().items()
        if key.endswith("_requirements")
    }
    every = extras.pop("all")
    assert len(extras) >= 8 and every == set().union(*extras.values())


def test_citation_is_valid_and_in_step() -> None:
    "What the schema of CFF 1.2.0 requires, and what this package says of itself elsewhere."
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    texts = {"cff-version", "message", "type", "title", "abstract", "version", "license"}
    known = texts | {"authors", "repository-code", "keywords"}
    assert {"cff-version", "message", "title", "authors"} <= set(cited) <= known
    assert all(isinstance(cited[name], str) and cited[name] for name in texts & set(cited))
    assert (cited["cff-version"], cited["type"]) == ("1.2.0", "software")
    assert cited["authors"] and all(set(each) == {"name"} for each in cited["authors"])
    assert len(set(cited["keywords"])) == len(cited["keywords"]) > 0
    ours = settings()
    assert (cited["version"], cited["license"]) == (ours["version"], "Apache-2.0")
    assert cited["authors"][0]["name"] == ours["author"]
    assert cited["repository-code"] == ours["git_url"]
