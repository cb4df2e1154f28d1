"""The real inspect_ai and the real lm-eval: they read our files, and find what we find.

They are heavy, so they have an environment of their own: `make tools`.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

from cogbias.design import paradigm
from cogbias.exchange import export_folder, export_items, import_answers
from cogbias.exchange.lm_eval import read_samples
from cogbias.folder import Folder, trials
from cogbias.running.front_door import headline
from cogbias.running.in_python import run

TOOLS = Path(os.environ.get("COGBIAS_TOOLS", ROOT / ".tools")) / "bin"
TINY = ROOT / "data" / "tiny"
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not TOOLS.is_dir(), reason="no inspect_ai and no lm-eval: make tools"),
]


def call(place: Path, *command: str | Path, **settings: str) -> str:
    "What a program of theirs prints."
    done = subprocess.run(
        [str(TOOLS / command[0]), *map(str, command[1:])],
        cwd=place,
        env=os.environ | OFFLINE | settings,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


LOOK = """
import json, sys
from inspect_ai.log import read_eval_log
from inspect_ai.analysis import samples_df
log = read_eval_log(sys.argv[1])
head = read_eval_log(sys.argv[1], header_only=True)
metrics = {name: each.value for name, each in head.results.scores[0].metrics.items()}
print(json.dumps([len(log.samples), len(samples_df(sys.argv[1])), metrics]))
"""


def test_inspect_reads_our_logs(tmp_path: Path) -> None:
    done = run("sim/human", "classic/framing", outputs=tmp_path / "a", reports=False)
    (log,) = export_folder("inspect", tmp_path / "a", tmp_path / "logs")
    found = json.loads(call(tmp_path, "python", "-c", LOOK, log).splitlines()[-1])
    assert found[:2] == [len(done.trials)] * 2
    (row,) = headline(tmp_path / "a").to_dict("records")
    assert found[2]["estimate"] == pytest.approx(row["estimate"], abs=1e-9)
    assert found[2]["ci_low"] == pytest.approx(row["ci_low"], abs=1e-9)


def test_inspect_asks_our_prompts_and_prints_our_effect(tmp_path: Path) -> None:
    asked = ("cogbias/classic_framing", "--model", "hf/tiny", "-M", f"model_path={TINY}")
    said = call(
        tmp_path, "inspect", "eval", *asked, "--max-tokens", "8", "--display", "plain",
        INSPECT_LOG_DIR=str(tmp_path / "logs"),
    )  # fmt: skip
    printed = dict(
        line.split() for line in said.splitlines() if line.startswith(("estimate", "ci"))
    )
    found = import_answers("inspect", tmp_path / "logs", tmp_path / "b")
    assert found.counts["answers"] == len(paradigm("classic/framing").items())
    (row,) = headline(tmp_path / "b").to_dict("records")
    assert {name: float(each) for name, each in printed.items()} == {
        name: pytest.approx(row[name], abs=6e-4) for name in printed
    }
    assert printed


def test_lm_eval_finds_our_probabilities(tmp_path: Path) -> None:
    items = paradigm("classic/framing").items()
    some = items[items["variant"] == "base"].groupby("condition").head(20)
    tasks = export_items("lm-eval", some.reset_index(drop=True), tmp_path / "tasks")
    names = ",".join(path.stem for path in tasks)
    call(
        tmp_path, "lm-eval", "run", "--model", "hf", "--model_args", f"pretrained={TINY}",
        "--tasks", names, "--include_path", tmp_path / "tasks", "--output_path", tmp_path / "out",
        "--log_samples", "--apply_chat_template",
    )  # fmt: skip
    where = {"variant": "base"}
    run("hf/tiny", "classic/framing", where=where, outputs=tmp_path / "ours", reports=False)
    with Folder(tmp_path / "ours") as folder:
        ours = trials(folder).set_index("item_id")["p"]
    (cell,) = read_samples(tmp_path / "out").cells
    assert len(cell.given) == len(some)
    for each in cell.given:
        assert each.answer.p == pytest.approx(ours[each.item_id], abs=1e-4)
