"A plan asks nobody; a run stops before it costs too much, keeps its pace, and goes on from there."

import json
import os
import signal
import socket
import subprocess
import time
from collections import Counter

import pytest
from doubles import Double
from test_interrupts import COMMAND, started, until
from typer.testing import CliRunner

from cogbias.cli import app, main
from cogbias.folder import Folder, requests, status, taken
from cogbias.elicitation.limits import Meter, metered
from cogbias.participants import Request, participant
from cogbias.planning.plans import plan_run
from cogbias.participants.prices import Price
from cogbias.study import make_study, study_items

ASKED = ["--paradigm", "choice/certainty", "--where", "template=1"]
ASKED += ["--where", "design=common_ratio", "--no-reports"]
PROMPTS = 88
PRICE = ["--price", "openai/*=1,1"]


def run(double, outputs, *more, model="openai/tiny"):
    "A run of the command line in this process: its status, and what it said on standard error."
    command = ["run", "--model", model, *ASKED, "--base-url", double.openai]
    found = CliRunner().invoke(app, [*command, "--outputs", str(outputs), *more])
    return found.exit_code, found.stderr


def stored(outputs, model="openai/tiny"):
    "Answers of a model in a folder."
    with Folder(outputs) as folder:
        asked = [each for each in requests(folder) if each.participant == model]
        return int(status(folder, asked)["ok"].sum())


def spent(outputs):
    "Usd that were paid in a folder, or may have been."
    with Folder(outputs) as folder:
        held = taken(folder, 0)
    return held.paid + held.in_flight


def questions(double):
    "How often each question was put, but for those that find out how a server wants to be asked."
    asked = [(each.prompt, each.seed) for each in double.asked]
    return Counter(each for each in asked if "days of the week" not in each[0])


def test_a_run_stops_at_its_limit_and_goes_on_without_doubling(tmp_path):
    with Double() as double:
        status, said = run(double, tmp_path, *PRICE, "--limit", "usd=0.0015")
        first = stored(tmp_path)
        assert status == 3, said
        lines = [line for line in said.splitlines() if line.startswith("stopped")]
        assert len(lines) == 1 and "failed" not in said, said
        assert "the limit of 0.0015 usd is reached" in lines[0]
        assert f"{PROMPTS - first:,} of {PROMPTS:,} answers are missing" in lines[0]
        assert 45 < first < PROMPTS and spent(tmp_path) <= 0.0015, "and not much earlier"
        assert first == questions(double).total(), "what was paid for is stored"

        status, said = run(double, tmp_path, *PRICE, "--limit", "usd=0.0015")
        assert status == 3 and stored(tmp_path) == first, "stored answers count"

        status, said = run(double, tmp_path, *PRICE, "--limit", "usd=1")
        assert status == 0, said
    assert stored(tmp_path) == PROMPTS
    assert set(questions(double).values()) == {1}


TWO_STEPS = ["--method", "two_step", "--extractor", "openai/reader"]


@pytest.mark.parametrize("more", [TWO_STEPS, ["--valid", "10"]], ids=["two steps", "valid"])
def test_a_run_with_nothing_new_contacts_nobody(more, tmp_path):
    "Its server is gone by then, nothing is spent, and a plan says so, too."
    with Double() as double:
        assert run(double, tmp_path, *more, *PRICE, "--limit", "usd=5")[0] == 0
        before = spent(tmp_path), len(double.asked)
    status, said = run(double, tmp_path, *more, *PRICE, "--limit", "usd=5")
    assert status == 0 and (spent(tmp_path), len(double.asked)) == before, said
    command = ["plan", "--model", "openai/tiny", *ASKED[:-1], *more, *PRICE, "--json"]
    command += ["--base-url", double.openai, "--outputs", str(tmp_path)]
    (model, *_) = json.loads(CliRunner().invoke(app, command).stdout)["models"]
    assert model["calls"] == 0


def tokens_of(asked):
    "What a server counts that bills about what a request may cost at worst."
    return {"prompt_tokens": len(asked.prompt) // 4, "completion_tokens": 16}


def slowly(handler, asked):
    "An answer that takes its time, so that a kill meets several on their way."
    time.sleep(0.05)
    body = handler.answer(asked) | {"usage": tokens_of(asked)}
    handler.send(200, json.dumps(body).encode())


def billed(double):
    "What a server charges for all that it was asked, in usd at 1 usd a million tokens."
    return sum(sum(tokens_of(each).values()) for each in double.asked) / 1e6


@pytest.mark.slow
@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGKILL, "2"), (signal.SIGTERM, "1")])
def test_what_a_kill_cuts_off_is_spent(tmp_path, number, jobs):
    "However often a run is killed, the bill keeps to the limit, and no less is told than it says."
    limit = 0.0055
    more = [*PRICE, "--set", "concurrency=8", "--set", "max_tokens=16", "--jobs", jobs]
    more += ["--limit", f"usd={limit}", "--model", "openai/other"]
    with Double(lambda asked: slowly) as double:
        command = ["run", "--model", "openai/tiny", *ASKED, "--base-url", double.openai]
        command += ["--outputs", str(tmp_path), *more]
        for _ in range(4):
            before = len(double.asked)
            with started(*command) as process:
                until(lambda: process.poll() is not None or len(double.asked) > before + 14)
                if process.poll() is None:
                    os.killpg(process.pid, number)
                process.wait()
            assert spent(tmp_path) >= billed(double) - 1e-9, "nothing is forgotten"
        last = subprocess.run([*COMMAND, *command], capture_output=True, text=True, timeout=120)
    assert last.returncode == 3 and "spent so far" in last.stderr, last.stderr
    assert billed(double) - 1e-9 <= spent(tmp_path) <= limit + 1e-9


def first_question():
    "One question of a paradigm."
    study = make_study(models=["openai/tiny"], paradigms=["classic/framing"])
    return Request(study_items(study, "classic/framing").iloc[0].to_dict(), 0, 1)


@pytest.mark.parametrize("backend", ["openai", "ollama"])
@pytest.mark.parametrize(("fault", "is_free"), [("busy", True), ("gone", False), ("cut", False)])
def test_a_request_of_unknown_fate_is_spent(fault, is_free, backend, tmp_path):
    "The first try of a question fails; what nobody can have billed is given back, nothing else."
    request = first_question()

    def script(asked):
        return fault if asked.prompt == request.item["prompt"] and asked.time == 1 else None

    with Double(script) as double:
        address = double.openai if backend == "openai" else double.url
        who = participant(f"{backend}/tiny", base_url=address, timeout=2.0)
        with metered(Meter(tmp_path, {"usd": 1.0}, lambda who: Price(1.0, 1.0))):
            ((_, answer),) = who.answers([request], "text")
    sent = len(request.item["prompt"]) + len(request.item["system"] or "")
    at_worst = (sent / 3 + 16 + 256) / 1e6  # few characters a token, and the longest answer
    with Folder(tmp_path) as folder:
        in_flight = taken(folder, 0).in_flight
    assert in_flight == pytest.approx(0.0 if is_free else at_worst, abs=1e-12), answer


class Clock:
    "A clock that moves by some seconds whenever somebody looks."

    time = 1_000.0

    def __call__(self):
        self.time += 2
        return self.time


@pytest.mark.parametrize(("name", "limit"), [("requests", 4), ("tokens", 300)])
def test_no_minute_sees_more_than_allowed(name, limit, tmp_path):
    study = make_study(models=["openai/tiny"], paradigms=["classic/framing"])
    items = study_items(study, "classic/framing").head(12).to_dict("records")
    questions = [Request(item, 0, number) for number, item in enumerate(items)]
    with Double() as double:
        who = participant("openai/tiny", base_url=double.openai, concurrency=2, max_tokens=64)
        with metered(Meter(tmp_path, {f"{name}_per_minute": limit}, clock=Clock())):
            assert len(list(who.answers(questions, "text"))) == 12
    with Folder(tmp_path) as folder:
        left = folder.rows("select left_at, tokens from calls where tokens > 0")
    counts = [(moment, tokens if name == "tokens" else 1) for moment, tokens in left]
    busiest = max(
        sum(count for moment, count in counts if start <= moment < start + 60)
        for start, _ in counts
    )
    assert len(counts) >= 12 and limit / 3 < busiest <= limit


def test_a_limit_without_a_price_asks_nobody(tmp_path, capsys):
    with Double() as double:
        command = ["run", "--model", "openai/tiny", *ASKED, "--base-url", double.openai]
        with pytest.raises(SystemExit) as ended:
            main([*command, "--outputs", str(tmp_path), "--limit", "usd=5"])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and double.asked == []
    assert "no price is known for openai/tiny" in said and "5 usd" in said
    assert said.count("\n") == 1


class Unreachable(Exception):
    "Somebody was contacted."


def _refuse(*_, **__):
    raise Unreachable


@pytest.fixture
def offline(monkeypatch):
    "No network and no key."
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket.socket, "connect", _refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", _refuse)
    monkeypatch.setattr(socket, "getaddrinfo", _refuse)


MODELS = ["openai/gpt-4o-mini", "ollama/gemma2:9b", "hf/Qwen/Qwen2.5-0.5B", "hf/tiny", "sim/human"]
MODELS += ["encoder/bert-base-uncased", "encoder/bert@coin"]


def test_a_plan_needs_no_network_and_no_key(offline, tmp_path):
    command = ["plan", *(part for model in MODELS for part in ("--model", model))]
    command += ["--paradigm", "bets/coin", "--outputs", str(tmp_path / "none")]
    shown = CliRunner().invoke(app, [*command, "--limit", "usd=5"])
    assert shown.exit_code == 0, (shown.stderr, shown.exception)
    assert "no price is known for ollama/gemma2:9b" in shown.stdout
    found = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    cells = {cell["participant"]: cell for cell in found["cells"]}
    assert set(cells) == set(MODELS) and not (tmp_path / "none").exists()
    for name in ("encoder/bert-base-uncased", "encoder/bert@coin"):
        assert (cells[name]["method"], cells[name]["usd"]) == ("encoder", None)
    assert "encoder" not in "".join(line for line in found["notes"] if "price" in line)
    assert cells["sim/human"]["tokens_in"] == 0 and cells["hf/tiny"]["usd"] is None
    assert cells["openai/gpt-4o-mini"]["usd"] > 0 and cells["ollama/gemma2:9b"]["usd"] is None


def test_a_plan_subtracts_what_is_stored_and_learns_from_it(tmp_path):
    with Double() as double:
        run(double, tmp_path, *PRICE, "--limit", "usd=0.0015")
        address = double.openai
    kept = stored(tmp_path)
    study = make_study(
        models=["openai/tiny"],
        paradigms=["choice/certainty"],
        where={"template": [1], "design": ["common_ratio"]},
        participants={"openai/tiny": {"base_url": address}},
        prices={"openai/tiny": {"in": 1.0, "out": 1.0}},
    )
    planned = plan_run(study, tmp_path)  # the server is gone by now
    cell = planned.cells.iloc[0]
    assert (cell["stored"], cell["missing"]) == (kept, PROMPTS - kept)
    assert cell["tokens_out"] == PROMPTS - kept and cell["seconds"] > 0
    assert abs(cell["tokens_in"] / (20 * (PROMPTS - kept)) - 1) < 0.1
    assert any(line.startswith("spent so far") for line in planned.notes)
    assert cell["told"] == f"as in its {kept} answers"
