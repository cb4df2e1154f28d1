"Two hundred wrong command lines: each ends at once with what, where and what to do, no traceback."

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tiers import slow_but

from cogbias.cli import main
from cogbias.design import paradigm
from cogbias.tables import ITEMS, load_table, save_table
from cogbias.running import run_study
from cogbias.study import make_study

HUGE = "1" + "0" * 30
RUN = ["run", "--no-reports", "--model", "sim/human", "--paradigm", "choice/certainty"]
PLAN = ["plan", "--model", "sim/human", "--paradigm", "choice/certainty"]
STUDIES = {  # name of a study file -> what it says
    "not-toml": "models = [",
    "empty": "",
    "no-models": 'paradigms = ["choice/decoy"]',
    "no-paradigms": 'models = ["sim/human"]',
    "models-a-text": 'models = "sim/human"\nparadigms = ["choice/decoy"]',
    "models-numbers": 'models = [1]\nparadigms = ["choice/decoy"]',
    "unknown-field": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nrepeat = 2',
    "repeats-text": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nrepeats = "2"',
    "repeats-huge": f'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nrepeats = {HUGE}',
    "repeats-float": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nrepeats = 1e30',
    "repeats-bool": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nrepeats = true',
    "repeats-date": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nrepeats = 2020-01-01',
    "seed-huge": f'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nseed = {HUGE}',
    "temperature-inf": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\ntemperature = inf',
    "temperature-list": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\ntemperature = ["a"]',
    "temperature-huge": f'models = ["sim/human"]\nparadigms = ["choice/decoy"]\ntemperature = '
    f"1{'0' * 400}",
    "where-text": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nwhere = "x"',
    "where-number": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\n[where]\ntemplate = 1',
    "where-unknown": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\n[where]\nx = [1]',
    "settings-flat": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\n[settings]\nseed = 1',
    "settings-unknown": 'models = ["sim/human"]\nparadigms = '
    '["choice/decoy"]\n[settings."choice/decoy"]\nx = 1',
    "participants-flat": 'models = ["sim/human"]\nparadigms = '
    '["choice/decoy"]\n[participants]\nx = 1',
    "participants-unknown": 'models = ["sim/human"]\nparadigms = '
    '["choice/decoy"]\n[participants."sim/*"]\nx = 1',
    "analysis-unknown": 'models = ["sim/human"]\nparadigms = '
    '["choice/decoy"]\n[analysis]\nalpha = 7',
    "analysis-text": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nanalysis = "x"',
    "extractor": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nextractor = "nobody"',
    "extractor-list": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nextractor = ["x"]',
    "method": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nmethod = "txt"',
    "items-missing": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nitems_file = '
    '"none.csv"',
    "items-folder": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nitems_file = "."',
    "items-list": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nitems_file = ["x"]',
    "name-list": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nname = ["x"]',
    "valid": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nvalid_answers = -1',
    "attempts": 'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nattempts = 0',
    "attempts-huge": f'models = ["sim/human"]\nparadigms = ["choice/decoy"]\nattempts = {HUGE}',
    "deep": "a." * 2000 + "b = 1",
    "nul": 'models = ["sim/\\u0000"]\nparadigms = ["choice/decoy"]',
}
MANIFESTS = {  # a manifest that is none
    "no-json": "{",
    "empty": "",
    "number": "42",
    "list": "[]",
    "null": "null",
    "text": '"manifest"',
    "no-cells": '{"study": {}}',
    "no-study": '{"cells": []}',
    "cells-text": '{"study": {}, "cells": "x"}',
    "cells-numbers": '{"study": {}, "cells": [1]}',
    "cells-null": '{"study": {}, "cells": [null]}',
    "cell-empty": '{"study": {}, "cells": [{}]}',
    "study-list": '{"study": [], "cells": []}',
    "deep": "[" * 100_000,
    "nan": '{"study": {}, "cells": [{"participant": NaN}]}',
}
CELLS = {  # a field of a cell that cannot be
    "participant": [1, None, ["x"], {}],
    "paradigm": [1, "no/such", "../../etc"],
    "model": [1],
    "method": [1, "poem"],
    "repeats": ["1", -1, 10**40, 1.5],
    "seed": ["x", -1],
    "planned": ["x"],
    "who": [5, ["x"]],
    "note": [["x"]],
    "settings": ["x", {"choice/certainty": 1}, {"choice/certainty": {"no": 1}}],
    "where": ["x", {"no": ["x"]}],
    "temperature": ["hot", [[]]],
    "valid_answers": ["x"],
    "analysis": [[1], {"alpha": "x"}],
    "items_file": [1],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "Files of every wrong kind, and one folder that is right."
    place = tmp_path_factory.mktemp("wrong")
    for name, text in STUDIES.items():
        (place / f"{name}.toml").write_text(text, encoding="utf-8")
    (place / "bytes.toml").write_bytes(b"\xff\xfe")
    (place / "folder.toml").mkdir()
    (place / "file").write_text("a file")
    (place / "empty").mkdir()
    (place / "items.csv").write_text("a,b\n1,2\n")
    (place / "bad.parquet").write_bytes(b"PAR1")
    (place / "bad.jsonl").write_text("{")
    (place / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    (place / "bad.zip").write_bytes(b"PK")
    one = make_study(
        models=["sim/human"],
        paradigms=["choice/certainty"],
        where={"template": [1], "design": ["common_ratio"]},
    )
    run_study(one, place / "good", reports=False)
    for name, text in MANIFESTS.items():
        copy = Path(shutil.copytree(place / "good", place / f"manifest-{name}"))
        (copy / "manifest.json").write_text(text, encoding="utf-8")
    copy = Path(shutil.copytree(place / "good", place / "manifest-bytes"))
    (copy / "manifest.json").write_bytes(b"\xff\xfe{")
    copy = Path(shutil.copytree(place / "good", place / "manifest-folder"))
    (copy / "manifest.json").unlink()
    (copy / "manifest.json").mkdir()
    return place


def wrong_commands() -> list[list[str]]:
    "Command lines; {} stands for the folder of wrong files."
    commands = [
        ["nonsense"],
        ["list", "paradigm"],
        ["list", ""],
        ["list", "paradigms", "more"],
        ["--no-such"],
        ["items"],
        ["items", "choice/certanty"],
        ["items", ""],
        ["items", "choice/*"],
        ["items", "../../etc/passwd"],
        ["items", "choice/certainty", "--seed", "x"],
        ["items", "choice/certainty", "--seed", "1.5"],
        ["items", "choice/certainty", "--seed", "-1"],
        ["items", "choice/certainty", "--seed", HUGE],
        [*PLAN, "--outputs", ""],
        [*PLAN, "--outputs="],
        [*RUN, "--outputs", ""],
        [*RUN, "--outputs", "{}/o", "--base-url", ""],
        ["items", "choice/certainty", "--out", "{}/items.xlsx"],
        ["items", "choice/certainty", "--out", "{}/file/items.csv"],
        ["items", "choice/certainty", "--out", "{}/empty"],
        ["items", "choice/certainty", "--out", ""],
        ["items", "choice/certainty", "--out", "/proc/items.csv"],
        ["items", "choice/certainty", "--out", "{}/" + "x" * 300 + ".csv"],
        ["plan"],
        ["plan", "nowhere.toml"],
        ["plan", "{}/folder.toml"],
        ["plan", "{}/bytes.toml"],
        ["plan", "{}/file"],
        ["plan", "{}/empty"],
        ["plan", "/dev/null"],
        ["plan", "\x00"],
        ["effects"],
        ["effects", "nowhere"],
        ["effects", "{}/file"],
        ["effects", "{}/empty"],
        ["effects", "{}/good", "--out", "{}/effects.doc"],
        ["effects", "{}/good", "--out", "{}/file/effects.csv"],
        ["effects", ""],
        ["report", "nowhere"],
        ["report", "{}/file"],
        ["report", "{}/empty"],
        ["report", "{}/good", "--jobs", "0"],
        ["report", "{}/good", "--jobs", "-1"],
        ["report", "{}/good", "--jobs", "many"],
        ["site", "nowhere"],
        ["site", "{}/file"],
        ["site", "{}/empty"],
        ["site", "{}/good"],
        ["site", "{}/good", "--out", "{}/file"],
        ["site", "{}/good", "--out", "{}/good"],
        ["import", "nobody", "{}/bad.zip", "--out", "{}/x.csv"],
        ["import", "instructed-to-bias", "{}/none.zip", "--out", "{}/x.csv"],
        ["import", "instructed-to-bias", "{}/bad.zip", "--out", "{}/x.csv"],
        ["import", "instructed-to-bias", "{}/empty", "--out", "{}/x.csv"],
        ["import", "instructed-to-bias", "{}/file", "--out", "{}/x.csv"],
        ["import", "instructed-to-bias", "{}/bad.zip"],
        ["export", "csv", "nowhere", "--out", "{}/x.csv"],
        ["export", "csv", "{}/empty", "--out", "{}/x.csv"],
        ["export", "csv", "{}/file", "--out", "{}/x.csv"],
        ["export", "word", "{}/good", "--out", "{}/x.doc"],
        ["export", "word", "choice/certainty", "--out", "{}/x.doc"],
        ["export", "csv", "{}/good", "--out", "{}/file/x.csv"],
        ["export", "inspect", "{}/good", "--out", "{}/empty"],
        ["run"],
        ["run", "{}/none.toml"],
        ["run", "--model", "sim/human"],
        ["run", "--paradigm", "choice/certainty"],
        ["run", "--model", "sim/humann", "--paradigm", "choice/certainty"],
        ["run", "--model", "human", "--paradigm", "choice/certainty"],
        ["run", "--model", "", "--paradigm", "choice/certainty"],
        ["run", "--model", "/", "--paradigm", "choice/certainty"],
        ["run", "--model", "nobody/x", "--paradigm", "choice/certainty"],
        ["run", "--model", "sim/human", "--paradigm", ""],
        ["run", "--model", "sim/human", "--paradigm", "["],
        ["run", "--model", "sim/human", "--paradigm", "chioce/*"],
        [*RUN, "--outputs", "{}/file"],
        [*RUN, "--outputs", "{}/file/x"],
        [*RUN, "--outputs", "/proc/x"],
        [*RUN, "--outputs", "{}/" + "x" * 300],
        [*RUN, "--outputs", "{}/o", "--jobs", "0"],
        [*RUN, "--outputs", "{}/o", "--cluster", "nowhere"],
        [*RUN, "--outputs", "{}/o", "--cluster", "tcp://127.0.0.1:9"],
        [
            "run",
            "--no-reports",
            "--model",
            "openai/x",
            "--paradigm",
            "choice/decoy",
            "--base-url",
            "http://127.0.0.1:9",
            "--outputs",
            "{}/o",
        ],
        [
            "run",
            "--no-reports",
            "--model",
            "openai/x",
            "--paradigm",
            "choice/decoy",
            "--base-url",
            "ftp://x",
            "--outputs",
            "{}/o",
        ],
        [
            "run",
            "--no-reports",
            "--model",
            "openai/x",
            "--paradigm",
            "choice/decoy",
            "--base-url",
            "http://[",
            "--outputs",
            "{}/o",
        ],
        [
            "run",
            "--no-reports",
            "--model",
            "openai/x",
            "--paradigm",
            "choice/decoy",
            "--base-url",
            "http://a:b@c",
            "--outputs",
            "{}/o",
        ],
        [
            "run",
            "--no-reports",
            "--model",
            "hf/{}/empty",
            "--paradigm",
            "choice/decoy",
            "--outputs",
            "{}/o",
        ],
        [
            "run",
            "--no-reports",
            "--model",
            "openai/x",
            "--paradigm",
            "choice/decoy",
            "--set",
            "x=1",
            "--outputs",
            "{}/o",
        ],
        [
            "run",
            "--no-reports",
            "--model",
            "openai/x",
            "--paradigm",
            "choice/decoy",
            "--set",
            "max_tokens=many",
            "--outputs",
            "{}/o",
        ],
        [
            "run",
            "--no-reports",
            "--model",
            "openai/x",
            "--paradigm",
            "choice/decoy",
            "--set",
            "timeout=-1",
            "--outputs",
            "{}/o",
        ],
        [
            "run",
            "--no-reports",
            "--model",
            "openai/x",
            "--paradigm",
            "choice/decoy",
            "--set",
            "concurrency=0",
            "--base-url",
            "http://127.0.0.1:9",
            "--outputs",
            "{}/o",
        ],
    ]
    options = {
        "--repeats": ["0", "-1", "x", "", "1.5", "1e30", HUGE, "6000000", "nan"],
        "--temperature": ["-1", "nan", "inf", "x", ""],
        "--valid": ["-1", "x", HUGE],
        "--method": ["", "txt", "encoder", "reasoning"],
        "--seed": ["-1", "x", HUGE],
        "--items": [
            "none.csv",
            "{}/items.csv",
            "{}/bad.parquet",
            "{}/bad.jsonl",
            "{}/bytes.csv",
            "{}/empty",
            "{}/file",
            "/dev/null",
        ],
        "--where": ["template", "x=1", "template=99", "=1", "=", "template="],
        "--extractor": ["nobody", "sim/nobody"],
        "--set": ["x", "=1"],
        "--no-such": ["1"],
    }
    commands += [[*PLAN, name, value] for name, values in options.items() for value in values]
    commands += [
        ["run", "--no-reports", f"{{}}/{name}.toml", "--outputs", "{}/o"] for name in STUDIES
    ]
    manifests = [*MANIFESTS, "bytes", "folder"]
    commands += [["report", f"{{}}/manifest-{name}"] for name in manifests]
    commands += [["effects", f"{{}}/manifest-{name}"] for name in manifests]
    commands += [[*RUN, "--outputs", f"{{}}/manifest-{name}"] for name in manifests]
    return commands


def call(arguments: list[str]) -> tuple[int, str]:
    "Status and everything on standard error of a command, in this process."
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            main(arguments)
        except SystemExit as end:
            return int(end.code or 0), said.getvalue()
    return 0, said.getvalue()


def complaint(status: int, said: str, allowed: tuple[int, ...] = (1, 2)) -> str:
    "What is wrong with the way in which a command ended; empty where nothing is."
    lines = [line for line in said.splitlines() if line.strip()]
    if status not in allowed:
        return f"status {status}"
    if "Traceback" in said or "unexpected" in said and "please report" in said:
        return "a fault of ours"
    if not lines or any(len(line) > 1500 for line in lines):
        return "no line, or an endless one"
    if not all(line.startswith(("cogbias:", "failed ", "warning ")) for line in lines):
        return "a line that does not say whose it is"
    if sum(line.startswith("cogbias:") for line in lines) > 1:
        return "more than one line"
    return ""


def test_there_are_many() -> None:
    assert len({tuple(each) for each in wrong_commands()}) >= 200


@pytest.mark.parametrize("step", slow_but([3], [3, 1]))  # each third command, or all
def test_wrong_commands_end_in_a_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    found = {}
    for command in wrong_commands()[::step]:
        status, said = call([each.replace("{}", str(place)) for each in command])
        if fault := complaint(status, said):
            found[" ".join(command)[-90:]] = (fault, said[-300:])
    assert found == {}


@pytest.mark.parametrize("name", CELLS)
def test_wrong_cells_of_a_manifest_end_in_a_line(place: Path, tmp_path: Path, name: str) -> None:
    "`report` itself is tried where it need not start a kernel; the reading behind it always."
    from cogbias.tables import CogbiasError
    from cogbias.cells import stored_cell
    from cogbias.outputs import trials_of

    copy = Path(shutil.copytree(place / "good", tmp_path / "copy"))
    manifest = json.loads((copy / "manifest.json").read_text())
    for value in CELLS[name]:
        cell = {**manifest["cells"][0], name: value}
        text = json.dumps({**manifest, "cells": [cell]})
        (copy / "manifest.json").write_text(text)
        with contextlib.suppress(CogbiasError):
            stored_cell(copy, str(cell["participant"]), str(cell["paradigm"]))
        with contextlib.suppress(CogbiasError):
            trials_of(copy)
        status, said = call(["effects", str(copy)])
        assert not complaint(status, said or "cogbias:", (0, 1, 2)), (name, value, said)


def test_imported_items_that_do_not_fit(place: Path, tmp_path: Path) -> None:
    items = paradigm("choice/certainty").items().head(20)
    for column in ("condition", "options", "prompt", "pair_id", "order_group"):
        with contextlib.suppress(ValueError):
            save_table(items.drop(columns=column).assign(usable=True), tmp_path / "items.jsonl")
            status, said = call([*PLAN, "--items", str(tmp_path / "items.jsonl")])
            assert not complaint(status, said), (column, said)
    assert len(load_table(save_table(items, tmp_path / "fine.parquet"), ITEMS)) == 20


WITHOUT_POWERS = [  # the superuser may write everywhere; so it gives that power up
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search,-fowner",
    "--inh-caps=-dac_override,-dac_read_search,-fowner",
]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX")
@pytest.mark.parametrize("command", slow_but(["run"], ["report", "effects", "site", "run"]))
def test_a_folder_that_may_not_be_written(place: Path, tmp_path: Path, command: str) -> None:
    copy = Path(shutil.copytree(place / "good", tmp_path / "copy"))
    if command == "site":
        from test_site import REPORT, write_report

        pytest.importorskip("myst_nb")
        write_report(copy, "sim/human", "choice/certainty", REPORT)
    for path in [*copy.rglob("*"), copy]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    powerful = os.geteuid() == 0
    if powerful and shutil.which("setpriv") is None:
        pytest.skip("the superuser may write everywhere, and setpriv is not here")
    given = {"run": [*RUN, "--repeats", "2", "--outputs", str(copy)]}
    done = subprocess.run(
        [
            *(WITHOUT_POWERS if powerful else []),
            sys.executable,
            "-c",
            "from cogbias.cli import main; main()",
            *given.get(command, [command, str(copy)]),
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    if command == "effects":  # it has nothing to write: what it shows is told, and what stays
        assert done.returncode == 0 and "certainty" in done.stdout
        assert "cannot be written to, so its own tables of effects stay as" in done.stderr
        return
    assert not complaint(done.returncode, done.stderr), (done.returncode, done.stderr)
    assert "that you may write to" in done.stderr or "cannot be written" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout.strip() or command != "report", done.stdout  # nothing beside that line
