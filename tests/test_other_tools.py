"""The real inspect_ai and the real lm-eval: they read our files, and find what we find.

They are heavy, so they have an environment of their own: `make tools`.
"""

import json
import os
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from conftest import ROOT
from selenium.webdriver.support.ui import WebDriverWait

from cogbias.design import OWN, paradigm
from cogbias.exchange import export, import_answers
from cogbias.exchange.lm_eval import read_samples, save_tasks
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


def call(place, *command, **settings):
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


def test_inspect_reads_our_logs(tmp_path):
    done = run("sim/human", "classic/framing", outputs=tmp_path / "a", reports=False)
    (log,) = export("inspect", tmp_path / "a", tmp_path / "logs")
    found = json.loads(call(tmp_path, "python", "-c", LOOK, log).splitlines()[-1])
    assert found[:2] == [len(done.trials)] * 2
    (row,) = headline(tmp_path / "a").to_dict("records")
    assert found[2]["estimate"] == pytest.approx(row["estimate"], abs=1e-9)
    assert found[2]["ci_low"] == pytest.approx(row["ci_low"], abs=1e-9)


def test_inspect_asks_our_prompts_and_prints_our_effect(tmp_path):
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


ANSWER = """
import sys
from inspect_ai import eval
from inspect_ai.model import ModelAPI, ModelOutput, modelapi

@modelapi(name="always")
class Always(ModelAPI):
    "A model that says A, and needs no network to count tokens."
    async def generate(self, input, tools, tool_choice, config):
        return ModelOutput.from_content("always", "A")
    async def count_tokens(self, *_, **__):
        return 1
    count_text_tokens = count_tokens

(log,) = eval(sys.argv[1], model="always/a", log_dir="logs", display="none")
print(log.results.scores[0].metrics["estimate"].value)
"""


def test_a_repository_for_the_register_runs_and_its_log_declares_the_bias(tmp_path):
    from cogbias.kits.skeletons import write_skeleton
    from cogbias.running.front_door import paradigm as paradigm_called

    file, *_ = write_skeleton("mine", "file", tmp_path)
    (task,) = export("inspect-evals", paradigm_called(file), tmp_path / "repository")
    assert "@cogbias_own_mine" in call(tmp_path, "inspect", "list", "tasks", "repository/src")
    said = call(tmp_path, "python", "-c", ANSWER, task.relative_to(tmp_path), PYTHONPATH=str(ROOT))
    OWN.clear()  # as in a process that has never heard of it
    import_answers("inspect", tmp_path / "logs", tmp_path / "b")
    (row,) = headline(tmp_path / "b").to_dict("records")
    assert row["paradigm"] == "own/mine"
    assert row["estimate"] == pytest.approx(float(said.splitlines()[-1]), abs=1e-9)


def test_a_bundle_of_the_viewer_shows_our_task_and_its_score(tmp_path, browser):
    run("sim/human", "classic/framing", outputs=tmp_path / "a", reports=False)
    export("inspect", tmp_path / "a", tmp_path / "logs")
    there = ("--log-dir", tmp_path / "logs", "--output-dir", tmp_path / "bundle")
    call(tmp_path, "inspect", "view", "bundle", *there)
    estimate = f"{headline(tmp_path / 'a')['estimate'].item():.3f}"
    answer = partial(SimpleHTTPRequestHandler, directory=tmp_path / "bundle")
    with ThreadingHTTPServer(("127.0.0.1", 0), answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        browser.get(f"http://127.0.0.1:{server.server_address[1]}/")
        shown = lambda page: page.find_element("css selector", "body").text
        for words in ("classic_framing", estimate):
            WebDriverWait(browser, 60).until(lambda page: words in shown(page), shown(browser))
        server.shutdown()


def test_lm_eval_finds_our_probabilities(tmp_path):
    items = paradigm("classic/framing").items()
    some = items[items["variant"] == "base"].groupby("condition").head(20)
    tasks = save_tasks(some.reset_index(drop=True), tmp_path / "tasks")
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
