"Reading a folder from elsewhere contacts nobody, sends nothing and opens nothing outside it."

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import INSTALLED
from doubles import Double

from cogbias.design import paradigm
from cogbias.tables import save_table
from cogbias.running import run_study
from cogbias.study import make_study
from tiers import slow_but

SECRET = "a-secret-of-the-reader"
WATCH = """
import os, sys

def note(event, given):
    if event == "socket.connect" and isinstance(given[1], str | bytes):
        return  # a Unix socket: the kernel of a notebook
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        with open(os.environ["WATCHED"], "a") as log:
            print(event, given[1:], file=log)
    if event == "open" and "outside" in str(given[0]):
        with open(os.environ["WATCHED"], "a") as log:
            print(event, given[0], file=log)

sys.addaudithook(note)
"""  # in every Python that starts: the command itself and the kernels behind its reports


def edit_cells(folder: Path, **given: Any) -> None:
    "Write these values into every cell of the manifest."
    place = folder / "manifest.json"
    manifest = json.loads(place.read_text(encoding="utf-8"))
    for cell in manifest["cells"]:
        cell.update(given)
    place.write_text(json.dumps(manifest), encoding="utf-8")


def reader(folder: Path, *command: str) -> tuple[subprocess.CompletedProcess, str]:
    "A command of somebody who got the folder, and all that it did towards the network."
    watch = folder.parent / "watch"
    watch.mkdir(exist_ok=True)
    (watch / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    log = folder.parent / "watched.txt"
    log.write_text("")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(watch), os.environ.get("PYTHONPATH", "")]),
        "WATCHED": str(log),
        "STRANGERS_WISH": SECRET,
        "OPENAI_API_KEY": SECRET,
        "OLLAMA_API_KEY": SECRET,
    }
    done = subprocess.run(
        [sys.executable, "-c", INSTALLED, *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done, log.read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "What somebody else ran: a server that answers in words, with imported items."
    place = tmp_path_factory.mktemp("elsewhere") / "outputs"
    outside = place.parent / "outside.parquet"
    items = paradigm("choice/certainty").items()
    save_table(items[items["template"] == 1].head(80).assign(usable=True), outside)
    with Double() as double:
        study = make_study(
            models=["openai/tiny"],
            paradigms=["choice/certainty"],
            items_file=str(outside),
            participants={"openai/*": {"base_url": double.openai}},
        )
        done = run_study(study, place, reports=False)
    assert not done.failed
    store = next((place / "trials" / "openai-tiny").glob("*.jsonl"))
    lines = store.read_text(encoding="utf-8").splitlines(keepends=True)
    store.write_text("".join(lines[:-7]), encoding="utf-8")  # so that something is missing
    return place


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    "A copy to be tampered with."
    return Path(shutil.copytree(folder, tmp_path / "outputs"))


NAMED: Mapping[str, dict[str, Any]] = {
    "a server": {"participants": {"*": {"base_url": "{trap}/v1", "api_key_env": "STRANGERS_WISH"}}},
    "another backend": {"model": "ollama/tiny", "participants": {"*": {"base_url": "{trap}"}}},
    "an extractor": {
        "method": "two_step",
        "extractor": "openai/judge",
        "participants": {"*": {"base_url": "{trap}/v1", "api_key_env": "STRANGERS_WISH"}},
    },
    "a model to download": {"model": "hf/somebody/weights", "participants": {}},
    "a backend that is not here": {"model": "command/rm -rf", "participants": {}},
    "a file elsewhere": {"items_file": "/outside/items.parquet"},
}


OFTEN = ("a file elsewhere",)


@pytest.mark.parametrize("what", slow_but(OFTEN, NAMED))
def test_a_report_contacts_nobody(copy: Path, what: str) -> None:
    with Double() as trap:
        edit_cells(copy, **json.loads(json.dumps(NAMED[what]).replace("{trap}", trap.url)))
        done, watched = reader(copy, "report", str(copy))
    assert watched == "" and trap.asked == []
    if what == "an extractor":  # the trials of the folder were not asked in two steps
        assert done.returncode == 1 and "holds no answer of the last run" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    report = (copy / "reports" / "openai-tiny" / "choice-certainty.ipynb").read_text()
    assert "7 of 80 answers are missing" in report and SECRET not in report
    nbformat.validate(nbformat.reads(report, as_version=4))


@pytest.mark.slow
def test_no_reading_command_contacts_anybody(copy: Path) -> None:
    with Double() as trap:
        edit_cells(copy, **json.loads(json.dumps(NAMED["a server"]).replace("{trap}", trap.url)))
        for command in (
            ["effects", str(copy)],
            ["export", "jsonl", str(copy), "--out", str(copy.parent / "trials.jsonl")],
            ["report", str(copy)],
            ["site", str(copy), "--out", str(copy.parent / "site")],
        ):
            done, watched = reader(copy, *command)
            assert (done.returncode, watched) == (0, ""), (command, done.stderr)
    assert trap.asked == []


def test_a_terminal_is_told_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    "A name that would change colours, move the cursor or hide what stands behind it."
    from cogbias.cli import main

    hostile = "ollama/\x1b[31m\x1b]0;title\x07\u202e\rx"
    study = make_study(models=["sim/human"], paradigms=["choice/certainty"])
    run_study(study, tmp_path / "a", reports=False)
    for path in [*tmp_path.rglob("*.json"), *tmp_path.rglob("*.jsonl")]:
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"sim/human"', json.dumps(hostile)), encoding="utf-8")
    for command in (["effects", str(tmp_path / "a")], ["report", str(tmp_path / "a" / hostile)]):
        try:
            main(command)
        except SystemExit as end:
            assert end.code in (1, 2)
    said = "".join(capsys.readouterr())
    assert "ollama/" in said
    assert not [sign for sign in said if sign != "\n" and not sign.isprintable()]


def test_every_promise_names_a_test_that_exists() -> None:
    from cogbias.safety import PROMISES, missing_tests

    assert missing_tests(Path(__file__).parent) == []
    assert sum(len(group) for group in PROMISES.values()) >= 15
