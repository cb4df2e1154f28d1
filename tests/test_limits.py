"A plan asks nobody; a run stops before it costs too much, keeps its pace, and goes on from there."

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import time
from collections import Counter
from functools import partial
from pathlib import Path
from unittest.mock import ANY

import pytest
from tiers import every_few
from doubles import Asked, Double
from test_interrupts import COMMAND, started, stop, until
from typer.testing import CliRunner

from cogbias.cli import STOPPED, app, main
from cogbias.elicitation.calls import NobodyThere, _PaidAnswer
from cogbias.limits import (
    Account,
    Clock,
    Meter,
    account,
    account_left,
    metered,
    request_leaves,
    request_was_free,
    taking,
)
from cogbias.outputs import Folder
from cogbias.participants import Answer, Request, participant
from cogbias.planning import spending
from cogbias.planning.plans import PlannedRun, plan_run
from cogbias.prices import Price
from cogbias.status import folder_status, status_lines, status_totals
from cogbias.study import make_study, plan_study, study_items

ASKED = ["--paradigm", "choice/certainty", "--where", "template=1"]
ASKED += ["--where", "design=common_ratio", "--no-reports"]
PROMPTS = 140
USD = 21e-6  # of an answer of the double, which takes 20 tokens and writes one, at 1 usd a million
PRICE = ["--price", "openai/*=1,1"]
ROUNDING = 1e-9  # usd, of sums that are added up in another order


def run(double: Double, outputs: Path, *more: str, model: str = "openai/tiny") -> tuple[int, str]:
    "A run of the command line in this process: its status, and what it said on standard error."
    command = ["run", "--model", model, *ASKED, "--base-url", double.openai]
    found = CliRunner().invoke(app, [*command, "--outputs", str(outputs), *more])
    return found.exit_code, found.stderr


def stored(outputs: Path, model: str = "openai/tiny") -> int:
    "Answers of a model in a folder."
    return len(Folder(outputs).store(model, "choice/certainty").keys())


def questions(double: Double) -> Counter:
    "How often each question was put, but for those that find out how a server wants to be asked."
    asked = [(each.prompt, each.seed) for each in double.asked]
    return Counter(each for each in asked if "days of the week" not in each[0])


def test_a_run_stops_at_its_limit_and_goes_on_without_doubling(tmp_path: Path) -> None:
    with Double() as double:
        status, said = run(double, tmp_path, *PRICE, "--limit", "usd=0.002")
        first = stored(tmp_path)
        assert status == 3, said
        lines = [line for line in said.splitlines() if line.startswith("stopped")]
        assert len(lines) == 1 and "failed" not in said, said
        assert "the limit of 0.002 usd is reached" in lines[0]
        assert f"{PROMPTS - first:,} of {PROMPTS:,} answers are missing" in lines[0]
        assert 60 < first < PROMPTS and first * USD <= 0.002, "and not much earlier"
        assert first == questions(double).total(), "what was paid for is stored"

        status, said = run(double, tmp_path, *PRICE, "--limit", "usd=0.002")
        assert status == 3 and stored(tmp_path) == first, "stored answers count"

        status, said = run(double, tmp_path, *PRICE, "--limit", "usd=1")
        assert status == 0, said
    assert stored(tmp_path) == PROMPTS
    assert set(questions(double).values()) == {1}


TWO_STEPS = ["--method", "two_step", "--extractor", "openai/reader"]


@pytest.mark.parametrize(
    ("model", "more"),
    [
        ("openai/tiny", []),
        ("ollama/tiny", []),
        ("openai/tiny", ["--model", "openai/other"]),
        ("openai/tiny", TWO_STEPS),
        ("openai/tiny", ["--valid", "10"]),
    ],
    ids=["openai", "ollama", "two models", "two steps", "valid answers"],
)
def test_a_run_with_nothing_new_contacts_nobody(
    model: str, more: list[str], tmp_path: Path
) -> None:
    "Its server is gone by then, nothing is spent, and a plan says so, too."
    price = ["--price", "*=1,1", "--limit", "usd=5"]
    with Double() as double:
        address = double.openai if model.startswith("openai") else double.url
        asked = ["--model", model, *ASKED[:-1], "--base-url", address, "--outputs", str(tmp_path)]
        asked += [*more, *price]
        first = CliRunner().invoke(app, ["run", *asked, "--no-reports"])
    assert first.exit_code == 0, first.stderr
    held = {file: file.read_bytes() for file in tmp_path.glob("trials/*/*")}
    spent = status_totals(folder_status(tmp_path))["usd"]
    for changed in ([], ["--set", "timeout=7"]):  # as complete as before, and planned again
        again = CliRunner().invoke(app, ["run", *asked, *changed, "--no-reports"])
        assert again.exit_code == 0 and "nothing new" in again.output, again.output
    assert {file: file.read_bytes() for file in tmp_path.glob("trials/*/*")} == held
    assert status_totals(folder_status(tmp_path))["usd"] == spent > 0
    shown = CliRunner().invoke(app, ["plan", *asked, "--json"])
    assert {each["calls_to_try_out"] for each in json.loads(shown.stdout)["models"]} == {0}


def test_another_model_under_the_same_name_is_noticed_once_it_is_asked(tmp_path: Path) -> None:
    "Then it is asked everything, also what was complete before."
    served = ["tiny"]

    def answer(handler: object, asked: Asked) -> None:
        body = handler.answer(asked) | {"model": served[0]}
        handler.send(200, json.dumps(body).encode())

    def run_on(double: Double, *names: str) -> None:
        paradigms = [part for name in names for part in ("--paradigm", name)]
        command = ["run", "--model", "openai/tiny", *paradigms, "--where", "variant=base"]
        command += ["--base-url", double.openai, "--outputs", str(tmp_path), "--no-reports"]
        found = CliRunner().invoke(app, command)
        assert found.exit_code == 0, found.stderr

    with Double(lambda asked: answer) as double:
        run_on(double, "classic/framing")
        served[0], known = "tiny-2", questions(double)
        run_on(double, "classic/framing")
        assert questions(double) == known and set(known.values()) == {1}
        run_on(double, "classic/framing", "classic/anchoring")
        found = questions(double)
    assert {found[question] for question in known} == {2}
    assert {found[question] for question in found.keys() - known.keys()} == {1}


def tokens_of(asked: Asked) -> dict[str, int]:
    "What a server counts that bills about what a request may cost at worst."
    return {"prompt_tokens": len(asked.prompt) // 4, "completion_tokens": 16}


def slowly(handler: object, asked: Asked) -> None:
    "An answer that takes its time, so that a kill meets several on their way."
    time.sleep(0.05)
    body = handler.answer(asked) | {"usage": tokens_of(asked)}
    handler.send(200, json.dumps(body).encode())


def billed(double: Double) -> float:
    "What a server charges for all that it was asked, in usd at 1 usd a million tokens."
    return sum(sum(tokens_of(each).values()) for each in double.asked) / 1e6


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0.0055, None])
@pytest.mark.parametrize(
    ("number", "jobs"),
    [
        (signal.SIGKILL, "1"),
        (signal.SIGTERM, "1"),
        (signal.SIGKILL, "2"),
    ],
)
def test_what_a_kill_cuts_off_is_spent(
    tmp_path: Path, number: signal.Signals, jobs: str, limit: float | None
) -> None:
    "However often a run is killed, the bill keeps to the limit, and no less is told than it says."
    more = [*PRICE, "--set", "concurrency=8", "--set", "max_tokens=16", "--jobs", jobs]
    more += ["--limit", f"usd={limit}"] if limit else []
    more += ["--model", "openai/other"] if jobs == "2" else []
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
            told = status_totals(folder_status(tmp_path))
            assert told["usd"] >= billed(double) - ROUNDING, "nothing is forgotten from run to run"
        assert told["usd_cut_off"] > 0
        last = subprocess.run([*COMMAND, *command], capture_output=True, text=True, timeout=120)
        said = last.stderr
        assert last.returncode == (3 if limit else 0), said
        assert limit is None or billed(double) <= limit + ROUNDING
        whole = folder_status(tmp_path)
    told = status_totals(whole)
    assert billed(double) - ROUNDING <= told["usd"] <= 2 * billed(double)
    assert "usd for requests that were cut off or failed" in "".join(status_lines(whole))
    assert limit is None or "usd for requests that were cut off or failed; " in said
    if limit:
        sum_of_run = float(re.search(r"at most ([0-9.]+) usd are spent", said)[1])
        assert sum_of_run == pytest.approx(told["usd"], rel=0.05)
    planned = plan_of(tmp_path, double.openai, jobs)
    printed = float(f"{told['usd']:.2g}")  # as a plan writes a small sum
    assert spent_so_far(planned) == pytest.approx(printed), "as the status says"


def plan_of(outputs: Path, address: str, jobs: str = "1") -> PlannedRun:
    "The plan of the run of this module that goes on in a folder."
    models = ["openai/tiny", *(["openai/other"] if jobs == "2" else [])]
    study = make_study(
        models=models,
        paradigms=["choice/certainty"],
        where={"template": [1], "design": ["common_ratio"]},
        participants={"openai/*": {"base_url": address, "concurrency": 8, "max_tokens": 16}},
        prices={"openai/*": {"in": 1.0, "out": 1.0}},
    )
    return plan_run(study, outputs)


def spent_so_far(planned: PlannedRun) -> float:
    "What a plan says was spent, in usd."
    (line,) = [each for each in planned.notes if each.startswith("spent so far: ")]
    return float(re.search(r"([0-9.e-]+) usd", line)[1])


def failing(handler: object, asked: Asked) -> None:
    "A server that is broken: whether it bills is not known."
    handler.send(500, b"{}")


@pytest.mark.parametrize("end", ["it is answered", "it is refused", "it is lost"])
def test_what_the_workers_of_a_killed_run_still_get_is_not_cut_off(
    end: str, tmp_path: Path
) -> None:
    "A run on a cluster whose client is killed; the next one begins before its workers are done."
    asked = participant("openai/tiny", max_tokens=10)
    worker, later = [
        Meter({"usd": 1.0}, tmp_path / "account", lambda who: Price(1.0, 1.0)) for _ in range(2)
    ]
    answer = Answer("ok")
    with metered(worker):
        with taking(asked, 300, time.sleep) as first:
            first.settle(100, 3)  # it has come, and is not stored yet
        with pytest.raises(ConnectionError), taking(asked, 300, time.sleep) as second:
            request_leaves()
            later.begin(0.0)
            assert later.cut_off == pytest.approx(first.used + second.usd)
            _PaidAnswer(answer, first).is_stored()
            if end == "it is answered":
                second.settle(100, 3)
                _PaidAnswer(answer, second).is_stored()
            elif end == "it is refused":
                request_was_free()
            raise ConnectionError
    lost = second.usd if end == "it is lost" else 0.0
    assert later.cut_off == pytest.approx(lost, abs=ROUNDING)
    assert later.spent == pytest.approx(first.used + second.used + lost, abs=ROUNDING)
    later.begin(first.used + second.used)  # nothing is out any more
    assert later.spent == pytest.approx(first.used + second.used + lost, abs=ROUNDING)


def test_a_plan_a_run_and_the_status_tell_one_sum_of_a_server_that_fails(tmp_path: Path) -> None:
    "What nobody knows was billed is said to be the most that it may have been."
    more = [*PRICE, "--set", "concurrency=8", "--set", "max_tokens=16", "--limit", "usd=0.0055"]
    half = iter(range(10**6))
    with Double(lambda asked: failing if next(half) % 3 == 2 else slowly) as double:
        status, said = run(double, tmp_path, *more)
        planned = plan_of(tmp_path, double.openai)
    assert status == 3, said
    of_run = float(re.search(r"reached: at most ([0-9.e-]+) usd are spent", said)[1])
    told = folder_status(tmp_path)
    totals = status_totals(told)
    assert totals["usd_cut_off"] > 0 and "at most " in "".join(status_lines(told))
    assert of_run == pytest.approx(totals["usd"], rel=0.02)
    assert spent_so_far(planned) == pytest.approx(totals["usd"], rel=0.02)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": 20, "completion_tokens": 0},
        {"prompt_tokens": 20},
    ],
    ids=["none", "zero", "a text of none", "the prompt alone"],
)
def test_answers_that_nobody_counted_are_paid_at_the_most(usage: object, tmp_path: Path) -> None:
    "By the run, by `status` and by the next run alike; no prompt takes 0 tokens, and no text."

    def uncounted(handler: object, asked: Asked) -> None:
        body = handler.answer(asked) | {"usage": usage}
        handler.send(200, json.dumps(body).encode())

    more = [*PRICE, "--set", "max_tokens=16", "--limit", "usd=0.002"]
    with Double(lambda asked: uncounted) as double:
        code, said = run(double, tmp_path, *more)
        found = folder_status(tmp_path)
        first = status_totals(found)["answers"]
        assert code == 3 and 0 < first < PROMPTS, said
        spent = float(re.search(r"([0-9.]+) usd are spent", said)[1])
        assert status_totals(found)["usd"] == pytest.approx(spent, rel=0.05)
        planned = plan_of(tmp_path, double.openai)
        assert spent_so_far(planned) == pytest.approx(spent, rel=0.02), "so does a plan"
        assert f"reached: at most {spent:g} usd are spent" in said
        assert 0.0018 < spent <= 0.002
        told = "\n".join(status_lines(found))
        assert f"{first} answers came without counts of tokens" in told
        assert "nothing is stored" not in told
        code, said = run(double, tmp_path, *more)
    last = status_totals(folder_status(tmp_path))["answers"]
    assert code == 3 and last == first, "what nobody counted is not forgotten"


@pytest.mark.parametrize("usage", [{"prompt_tokens": 20, "completion_tokens": 1}, None])
def test_an_extractor_is_paid_its_own_price(usage: object, tmp_path: Path) -> None:
    "By run, plan and status alike; nobody is paid for a choice that was never extracted."

    def sometimes_mute(handler: object, asked: Asked) -> None:
        body = handler.answer(asked) | {"usage": usage}
        if asked.body["model"] == "tiny" and asked.draw % 10 == 0:
            body["choices"][0]["message"]["content"] = ""  # there is nothing to extract
        handler.send(200, json.dumps(body).encode())

    more = [*TWO_STEPS, "--price", "openai/tiny=1,1", "--price", "openai/reader=50,50"]
    more += ["--set", "max_tokens=16"]
    with Double(lambda asked: sometimes_mute) as double:
        code, said = run(double, tmp_path, *more, "--limit", f"usd={1 if usage else 0.1}")
        asked = Counter(each.body["model"] for each in double.asked)
    assert code == (0 if usage else 3), said
    found = folder_status(tmp_path)
    told = status_totals(found)["usd"]
    if usage:
        assert told == pytest.approx(USD * (asked["tiny"] + 50 * asked["reader"]))
        assert asked["reader"] < asked["tiny"]
    else:
        of_run = float(re.search(r"at most ([0-9.e-]+) usd are spent", said)[1])
        assert told == pytest.approx(of_run, rel=0.02)
        assert 0.09 < told <= 0.1
    study = make_study(
        models=["openai/tiny"],
        paradigms=["choice/certainty"],
        where={"template": [1], "design": ["common_ratio"]},
        method="two_step",
        extractor="openai/reader",
        participants={"openai/*": {"base_url": double.openai, "max_tokens": 16}},
        prices={"openai/tiny": {"in": 1.0, "out": 1.0}, "openai/reader": {"in": 50.0, "out": 50.0}},
    )
    assert spent_so_far(plan_run(study, tmp_path)) == pytest.approx(told, rel=0.05)


FREE = ["busy", "down", "wrong"]  # refused before anything was done
PERHAPS_BILLED = ["gone", "hang", "cut", "html", "html error", "no choices"]


def first_question() -> Request:
    "One question of a paradigm."
    study = make_study(models=["openai/tiny"], paradigms=["classic/framing"])
    return Request(study_items(study, "classic/framing").iloc[0].to_dict(), 0, 1)


@pytest.mark.parametrize("backend", ["openai", "ollama"])
@pytest.mark.parametrize("fault", every_few(3, [*FREE, *PERHAPS_BILLED]))
def test_a_request_of_unknown_fate_is_spent(fault: str, backend: str, tmp_path: Path) -> None:
    "The first try of a question fails; what nobody can have billed is given back, nothing else."
    request = first_question()

    def script(asked: Asked) -> str | None:
        return fault if asked.prompt == request.item["prompt"] and asked.time == 1 else None

    meter = Meter({"usd": 1.0}, tmp_path / "account", lambda who: Price(1.0, 1.0))
    with Double(script) as double:
        address = double.openai if backend == "openai" else double.url
        who = participant(f"{backend}/tiny", base_url=address, timeout=2.0)
        with metered(meter):
            ((_, answer),) = who.answers([request], "text")
    held = account_left(meter.path)
    tried = sum(each.prompt == request.item["prompt"] for each in double.asked)
    own = USD if answer.status != "error" else 0.0
    assert (tried == 2) == (answer.status != "error"), "it is asked again, or it is an error"
    sent = len(request.item["prompt"]) + len(request.item["system"] or "")
    at_worst = (sent / 3 + 16 + 256) / 1e6  # few characters a token, and the longest answer
    assert held.cut_off == pytest.approx(0.0 if fault in FREE else at_worst, abs=1e-12)
    assert held.usd == pytest.approx(held.beside + own + held.cut_off), answer
    assert held.under_way == 0.0


@pytest.mark.parametrize("backend", ["openai", "ollama"])
def test_a_request_that_never_left_costs_nothing(backend: str, tmp_path: Path) -> None:
    "The server is gone when a question comes: nobody listens, so nobody bills."
    request = first_question()
    with Double() as double:
        address = double.openai if backend == "openai" else double.url
        who = participant(f"{backend}/tiny", base_url=address)
        assert who.methods == ("text",), "it was tried out"
    gone = participant(f"{backend}/tiny", base_url="http://127.0.0.1:9/v1")
    gone.connection.learned |= who.connection.learned
    meter = Meter({"usd": 1.0}, tmp_path / "account", lambda who: Price(1.0, 1.0))
    with pytest.raises(Exception) as failed, metered(meter):
        with taking(gone, 300, time.sleep) as taken:
            gone.answer_in_words(request)
    assert isinstance(gone.fault(failed.value), NobodyThere)
    assert taken.usd > 0 and account_left(meter.path) == Account(moved_at=ANY)


def test_trying_out_a_server_is_paid_for_however_often_a_run_is_resumed(tmp_path: Path) -> None:
    "What is served never exceeds the limit, and every run tells the whole of it."
    dear, price = ["--limit", "usd=0.2", "--set", "max_tokens=16"], ["--price", "openai/*=100,1000"]
    of_one = (20 * 100 + 1000) / 1e6  # usd, of a call to the double
    with Double() as double:
        for _ in range(9):
            status, said = run(double, tmp_path, *price, *dear)
            served = len(double.asked) * of_one
            assert status == 3 and served <= 0.2 + of_one, (served, said)
            told = float(re.search(r"([0-9.]+) usd are spent", said)[1])
            assert told == pytest.approx(served, rel=0.05), "calls beside the answers are told"
        tried = len(double.asked) - questions(double).total()
    (file,) = (tmp_path / "trials").glob("*/*.jsonl")
    kept = file.read_bytes().count(b"\n")
    assert tried >= 2 and kept == questions(double).total()


def test_trying_out_a_server_keeps_to_the_pace(tmp_path: Path, monkeypatch) -> None:
    "At thirty requests a minute no minute sees 31, those at the start of two runs among them."
    clock, times = Doubled(), []
    monkeypatch.setattr(spending, "Meter", partial(Meter, clock=clock))
    slow = ["--limit", "requests_per_minute=30", "--set", "concurrency=1"]
    slow += ["--where", "vals_index=1"]
    with Double(lambda asked: times.append(clock.time)) as double:
        for more in ([], ["--repeats", "2"]):
            status, said = run(double, tmp_path, *slow, *more)
            assert status == 0, said
    assert len(times) > 31 and len(times) > questions(double).total()
    busiest = max(sum(start <= each < start + 60 for each in times) for start in times)
    assert busiest <= 30


def test_tokens_that_were_not_used_are_given_back_to_those_who_wait(tmp_path: Path) -> None:
    "Answers take as long as their own tokens, not as the longest answers that are allowed."
    study = make_study(models=["openai/tiny"], paradigms=["classic/framing"])
    items = study_items(study, "classic/framing").head(40).to_dict("records")
    requests = [Request(item, 0, number) for number, item in enumerate(items)]
    with Double() as double:
        who = participant("openai/tiny", base_url=double.openai, concurrency=8)
        begun = time.monotonic()
        with metered(Meter({"tokens_per_minute": 12_600}, tmp_path / "account")):
            assert len(list(who.answers(requests, "text"))) == 40
    assert time.monotonic() - begun < 15, "4 s for 840 tokens, 29 s with places that stay"


def test_a_price_of_nobody_is_refused_by_name(tmp_path: Path, capsys) -> None:
    for command in ("plan", "run"):
        with pytest.raises(SystemExit) as ended:
            main([command, "--model", "openai/dub", *ASKED[:2], "--price", "dub=1,1"])
        said = capsys.readouterr().err
        assert ended.value.code == 2 and said.count("\n") == 1
        assert "prices 'dub' is for nobody who is asked; known: openai/dub" in said, said


@pytest.mark.parametrize("command", ["plan", "run", "generate"])
def test_the_help_says_which_of_several_prices_counts(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"]).stdout
    words = " ".join(shown.replace("│", " ").split())
    assert "of several that hold for one model the last one counts" in words


def test_a_plan_says_that_a_run_would_refuse_its_limit(tmp_path: Path) -> None:
    command = ["plan", "--model", "openai/a", "--model", "openai/b", *ASKED[:6]]
    command += ["--price", "openai/a=1,1", "--limit", "usd=5", "--outputs", str(tmp_path)]
    shown = CliRunner().invoke(app, command)
    (line,) = shown.stderr.splitlines()
    assert shown.exit_code == 0 and line.startswith("refused") and "openai/b, so a limit" in line


def test_a_plan_counts_what_was_spent_beside_answers(tmp_path: Path) -> None:
    "As the run does, which stops at the same limit."
    price = {"openai/*": {"in": 1.0, "out": 1.0}}
    asked = dict(models=["openai/tiny"], paradigms=["classic/framing"], prices=price)
    study = make_study(**asked, limits={"usd": 3.0})
    assert "would stop this run" not in "".join(plan_run(study, tmp_path).notes)
    with account(spending.account_place(tmp_path)) as held:
        held.cut_off, held.beside = 2.5, 0.5
    told = "".join(plan_run(study, tmp_path).notes)
    assert "spent so far: at most 3.00 usd, of this 0.5 usd for calls that gave no answer" in told
    assert "and at most 2.50 usd for requests that were cut off or failed" in told
    assert "the limit of 3 usd would stop this run: 3." in told


def test_a_request_longer_than_a_minute_of_tokens_is_told(tmp_path: Path, caplog) -> None:
    meter = Meter({"tokens_per_minute": 30}, tmp_path / "account", clock=Doubled())
    for _ in range(3):
        meter.wait_for_turn(0.0, 100, None)
    told = [each.getMessage() for each in caplog.records]
    assert told == [
        "tokens_per_minute=30: one request may take 100 tokens, so the next one may wait for 4 "
        "minutes; raise it to 100 or more"
    ]
    assert meter.clock.time - meter.clock.began == pytest.approx(400)


def test_a_limit_that_pays_for_nothing_asks_nothing(tmp_path: Path) -> None:
    with Double() as double:
        status, said = run(double, tmp_path, *PRICE, "--limit", "usd=1e-12")
    assert (status, double.asked) == (3, []) and said.count("\n") == 1, said
    assert "0 usd are spent on the cells that this run asks, earlier runs of them included" in said
    assert f" included; {PROMPTS} of {PROMPTS} answers are missing" in said


def test_processes_keep_one_limit_together(tmp_path: Path) -> None:
    with Double() as double:
        more = ["--model", "openai/other", "--jobs", "2", *PRICE, "--limit", "usd=0.003"]
        status, said = run(double, tmp_path, *more)
        both = stored(tmp_path) + stored(tmp_path, "openai/other")
    assert status == 3, said
    assert 100 < both < 2 * PROMPTS and both * USD <= 0.003


def test_a_limit_without_a_price_asks_nobody(tmp_path: Path, capsys) -> None:
    with Double() as double:
        command = ["run", "--model", "openai/tiny", *ASKED, "--base-url", double.openai]
        with pytest.raises(SystemExit) as ended:
            main([*command, "--outputs", str(tmp_path), "--limit", "usd=5"])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and double.asked == []
    assert "no price is known of openai/tiny, so a limit of 5 usd cannot be kept" in said
    assert said.count("\n") == 1


@pytest.mark.slow
def test_an_interrupt_while_requests_wait_for_their_turn(tmp_path: Path) -> None:
    with Double() as double:
        command = ["run", "--model", "openai/tiny", *ASKED, "--base-url", double.openai]
        command += ["--outputs", str(tmp_path)]
        with started(*command, "--limit", "requests_per_minute=60") as process:
            until(lambda: questions(double).total() >= 2)
            assert stop(process) == [STOPPED]
        kept, asked = stored(tmp_path), questions(double).total()
        assert asked - 2 <= kept <= asked
        done = subprocess.run([*COMMAND, *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert stored(tmp_path) == PROMPTS
    assert questions(double).total() <= PROMPTS + (asked - kept)


class Doubled(Clock):
    "A clock that moves when somebody waits."

    def __init__(self) -> None:
        self.time, self.began = 1_000.0, 1_000.0

    def now(self) -> float:
        "The time."
        return self.time

    def wait_until(self, moment: float, wait: object) -> float:
        "It is that time now."
        waited = max(0.0, moment - self.time)
        self.time += waited
        return waited


@pytest.mark.parametrize("model", ["openai/tiny", "ollama/tiny"])
def test_no_minute_sees_more_requests_than_allowed(tmp_path: Path, model: str) -> None:
    clock, times = Doubled(), []
    study = make_study(models=[model], paradigms=["classic/framing"])
    items = study_items(study, "classic/framing").head(60).to_dict("records")
    requests = [Request(item, 0, number) for number, item in enumerate(items)]
    with Double(lambda asked: times.append(clock.time)) as double:
        address = double.openai if model.startswith("openai") else double.url
        who = participant(model, base_url=address, concurrency=1)
        begun = time.monotonic()
        with metered(Meter({"requests_per_minute": 20}, tmp_path / "account", clock=clock)):
            answers = dict(who.answers(requests, "text"))
    assert len(answers) == 60 and time.monotonic() - begun < 30
    assert len(times) >= 60 and min(b - a for a, b in zip(times, times[1:])) >= 3 - 1e-6
    busiest = max(sum(start <= each < start + 60 for each in times) for start in times)
    assert busiest <= 20
    taken = [answer.latency_s for answer in answers.values()]
    assert max(taken) < 2, "waiting for a turn is no part of an answer's time"


def busiest_minute(taken: list[tuple[float, float]]) -> float:
    "The most tokens of any minute, of which each begins with a request."
    return max(
        sum(tokens for moment, tokens in taken if start <= moment < start + 60)
        for start, _ in taken
    )


@pytest.mark.parametrize("per_character", [0.25, 2.0], ids=["English", "denser than any script"])
def test_no_minute_takes_more_tokens_than_allowed(tmp_path: Path, per_character: float) -> None:
    "As the server counts them, which bills each request in the moment in which it comes."
    clock, taken = Doubled(), []
    study = make_study(models=["openai/tiny"], paradigms=["classic/framing"])
    items = study_items(study, "classic/framing").head(240).to_dict("records")
    requests = [Request(item, 0, number) for number, item in enumerate(items)]

    def bill(handler: object, asked: Asked) -> None:
        counts = {"prompt_tokens": int(len(asked.prompt) * per_character), "completion_tokens": 7}
        taken.append((clock.time, sum(counts.values())))
        handler.send(200, json.dumps(handler.answer(asked) | {"usage": counts}).encode())

    with Double(lambda asked: bill) as double:
        who = participant("openai/tiny", base_url=double.openai, concurrency=1, max_tokens=64)
        with metered(Meter({"tokens_per_minute": 5_000}, tmp_path / "account", clock=clock)):
            assert len(list(who.answers(requests, "text"))) == 240
    assert sum(tokens for _, tokens in taken) > 3 * 5_000, "for several minutes"
    assert 0.7 * 5_000 < busiest_minute(taken) <= 5_000


def test_no_minute_takes_more_with_many_answers_under_way(tmp_path: Path) -> None:
    "Eight at a time, each of which may take 500 tokens, takes fewer, and gives the rest back late."
    clock, draw, left = Doubled(), random.Random(1), []
    meter = Meter({"tokens_per_minute": 5_000}, tmp_path / "account", clock=clock)
    under_way: list[tuple[float, float, int]] = []  # when it comes, when it left, what it took
    while len(left) < 300 or under_way:
        while under_way and min(under_way)[0] <= clock.time:
            _, left_at, used = under_way.pop(under_way.index(min(under_way)))
            meter.settle_tokens(500, used, left_at)
        later = min(under_way, default=(clock.time + 1,))[0]
        if len(under_way) < 8 and len(left) < 300:
            turn = meter.take(0.0, 500)
            if turn.leaves:
                used = draw.randint(50, 500)
                under_way.append((turn.at + draw.uniform(0.2, 20), turn.at, used))
                left.append((turn.at, used))
                continue
            later = min(later, turn.at) if under_way else turn.at
        clock.time = later
    assert busiest_minute(left) <= 5_000
    minutes = sum(used for _, used in left) / 5_000
    assert (clock.time - clock.began) / 60 < 1.5 * minutes, "and not much is wasted"


def test_many_threads_leave_one_after_the_other(tmp_path: Path) -> None:
    clock = Doubled()
    study = make_study(models=["openai/tiny"], paradigms=["classic/framing"])
    items = study_items(study, "classic/framing").head(40).to_dict("records")
    requests = [Request(item, 0, number) for number, item in enumerate(items)]
    with Double() as double:
        who = participant("openai/tiny", base_url=double.openai, concurrency=8)
        meter = Meter({"tokens_per_minute": 210}, tmp_path / "account", clock=clock)
        with metered(meter):
            list(who.answers(requests, "text"))
    assert 40 * 21 / 210 * 60 <= clock.time - clock.began, "40 answers of 21 tokens"


def test_a_limit_is_part_of_no_answer(tmp_path: Path) -> None:
    "With and without limits a run gives the same trials, and the manifest says what held."
    with Double() as double:
        for folder, more in (("bare", []), ("limited", ["--limit", "tokens_per_minute=90000000"])):
            assert run(double, tmp_path / folder, *more)[0] == 0
    ids = [
        Folder(tmp_path / folder).store("openai/tiny", "choice/certainty").keys()
        for folder in ("bare", "limited")
    ]
    assert ids[0] == ids[1]
    said = json.loads((tmp_path / "limited" / "manifest.json").read_text())
    assert said["study"]["limits"] == {"tokens_per_minute": 90000000.0}
    bare = json.loads((tmp_path / "bare" / "manifest.json").read_text())
    assert bare["study_hash"] == said["study_hash"]


class Unreachable(Exception):
    "Somebody was contacted."


def _refuse(*_: object, **__: object) -> None:
    raise Unreachable


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    "No network and no key."
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket.socket, "connect", _refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", _refuse)
    monkeypatch.setattr(socket, "getaddrinfo", _refuse)


MODELS = ["openai/gpt-4o-mini", "ollama/gemma2:9b", "hf/Qwen/Qwen2.5-0.5B", "hf/tiny", "sim/human"]
MODELS += ["encoder/bert-base-uncased", "encoder/bert@coin"]


def test_a_plan_needs_no_network_and_no_key(offline: None, tmp_path: Path) -> None:
    command = ["plan", *(part for model in MODELS for part in ("--model", model))]
    command += ["--paradigm", "bets/coin", "--outputs", str(tmp_path / "none")]
    shown = CliRunner().invoke(app, [*command, "--limit", "usd=5"])
    assert shown.exit_code == 0, (shown.stderr, shown.exception)
    assert "no price is known of ollama/gemma2:9b" in shown.stdout
    found = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    cells = {cell["participant"]: cell for cell in found["cells"]}
    assert set(cells) == set(MODELS) and not (tmp_path / "none").exists()
    assert "own tokenizer" in cells["hf/tiny"]["told"]
    assert "estimated" in cells["hf/Qwen/Qwen2.5-0.5B"]["told"]
    for name in ("encoder/bert-base-uncased", "encoder/bert@coin"):
        assert (cells[name]["method"], cells[name]["usd"]) == ("encoder", None)
    assert "encoder" not in "".join(line for line in found["notes"] if "price" in line)
    assert cells["sim/human"]["tokens_in"] is None and cells["hf/tiny"]["usd"] is None
    assert cells["openai/gpt-4o-mini"]["usd"] > 0 and cells["ollama/gemma2:9b"]["usd"] is None


def test_two_steps_are_planned_without_contact(offline: None) -> None:
    study = make_study(
        models=["openai/a"],
        paradigms=["classic/framing"],
        method="two_step",
        extractor="ollama/b",
    )
    planned = plan_run(study, "nowhere")
    assert planned.models["model"].tolist() == ["openai/a", "ollama/b"]
    assert planned.models["calls"].tolist() == [384, 384]
    assert plan_study(study, "nowhere")["missing"].sum() == 384


def test_a_plan_subtracts_what_is_stored_and_learns_from_it(tmp_path: Path) -> None:
    with Double() as double:
        run(double, tmp_path, *PRICE, "--limit", "usd=0.002")
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
    cell, model = planned.cells.iloc[0], planned.models.iloc[0]
    assert (cell["stored"], cell["missing"]) == (kept, PROMPTS - kept)
    assert cell["tokens_out"] == PROMPTS - kept and cell["seconds"] > 0
    assert abs(cell["tokens_in"] / (20 * (PROMPTS - kept)) - 1) < 0.1
    assert abs(model["spent_usd"] - kept * USD) < 1e-9
    assert cell["told"] == f"as in its {kept} answers here"


def test_a_plan_for_another_server_takes_no_answers_of_the_one_before(tmp_path: Path) -> None:
    "As a run there would, which has another participant before it."
    with Double() as double:
        assert run(double, tmp_path)[0] == 0
    command = ["plan", "--model", "openai/tiny", *ASKED[:-1], "--outputs", str(tmp_path), "--json"]
    for address, missing in ((double.openai, 0), ("http://elsewhere.example/v1", PROMPTS)):
        shown = CliRunner().invoke(app, [*command, "--base-url", address])
        (cell,) = json.loads(shown.stdout)["cells"]
        assert cell["missing"] == missing, address


@pytest.mark.filterwarnings(
    "error",
    "ignore::pytest.PytestUnraisableExceptionWarning",  # sockets of tests before this one
)
def test_a_pilot_says_how_much_clusters_differ(tmp_path: Path) -> None:
    "The plan of somebody who has answered sees what the interval of its answers says."
    from cogbias.running import ask_and_estimate

    paradigms = ["classic/framing"]
    effects = ask_and_estimate("sim/human", paradigms, tmp_path)
    study = make_study(models=["sim/human", "sim/messy", "openai/far"], paradigms=paradigms)
    own, other, real = plan_run(study, tmp_path).power.to_dict("records")
    head = effects.iloc[0]
    assert own["told"] == f"stored: its own {head['n_clusters']} clusters"
    assert abs(own["spread"] - head["se"] * head["n_clusters"] ** 0.5) < 1e-9
    assert other["told"] == "stored: median of 1 others here"
    assert real["told"].startswith("assumed"), "simulated participants say nothing of a real one"
    assert own["detectable"] < real["detectable"] and own["for_half"] > own["there"]


def test_who_costs_nothing_goes_on_when_the_money_is_used_up(tmp_path: Path) -> None:
    with Double() as double:
        more = ["--model", "sim/human", *PRICE, "--limit", "usd=0.001"]
        status, said = run(double, tmp_path, *more)
    assert status == 3, said
    assert stored(tmp_path, "sim/human") == PROMPTS and 0 < stored(tmp_path) < PROMPTS
    assert "sim/human" in (tmp_path / "effects.csv").read_text()


WRONG = {
    "--limit usd": "'' is no number; write it as in usd=5",
    "--limit usd=much": "'much' is no number",
    "--limit eur=5": "limits has no entry 'eur'; known: requests_per_minute",
    "--limit usd=nan": "limits 'usd' should be a number above 0, not nan",
    "--limit usd=-1": "limits 'usd' should be a number above 0, not -1.0",
    "--price openai/x=1": "'' is no number; write it as in openai/x=0.15,0.60",
    "--price openai/x=1,-2": "prices 'openai/x' should be a table with in and out",
}


@pytest.mark.parametrize("option", WRONG)
def test_a_wrong_limit_or_price_is_one_line(option: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", "--model", "openai/x", "--paradigm", "classic/framing", *option.split()])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.count("\n") == 1 and WRONG[option] in said, said


def half_silent(asked: Asked) -> str | object:
    "A server that has nothing to say to every other question."

    def answer(handler: object, asked: Asked) -> None:
        body = handler.answer(asked)
        body["choices"][0]["message"]["content"] = ""
        handler.send(200, json.dumps(body).encode())

    return answer if asked.number % 2 and "days of the week" not in asked.prompt else None


@pytest.mark.parametrize("script", [lambda asked: None, half_silent], ids=["all read", "half"])
def test_a_stopped_run_that_wants_readable_answers_has_one_count_of_what_is_missing(
    script: object, tmp_path: Path
) -> None:
    "Its last line, the status and the next plan; 'raise the limit' was said of 0 missing answers."
    wanted = ["--valid", str(PROMPTS + 1)]
    with Double(script) as double:
        status, said = run(double, tmp_path, *PRICE, "--limit", "usd=0.004", *wanted)
        assert status == 3, said
        (line,) = [line for line in said.splitlines() if line.startswith("stopped")]
        told = re.search(r"(?:at least )?([\d,]+) of ([\d,]+) answers are missing", line)
        missing, planned = (int(each.replace(",", "")) for each in told.groups())
        cell = folder_status(tmp_path).cells.iloc[0]
        assert (cell.planned, cell.planned - cell.answers) == (planned, missing)
        assert planned - missing == stored(tmp_path) and missing > 0
        study = make_study(
            models=["openai/tiny"],
            paradigms=["choice/certainty"],
            where={"template": [1], "design": ["common_ratio"]},
            participants={"openai/*": {"base_url": double.openai}},
            valid_answers=PROMPTS + 1,
        )
        (row,) = plan_run(study, tmp_path).cells.to_dict("records")
        assert (row["missing"], row["planned"]) == (missing, planned)
        assert run(double, tmp_path, *PRICE, "--limit", "usd=1", *wanted)[0] == 0
    assert plan_run(study, tmp_path).cells["most_missing"].sum() == 0


def test_a_plan_says_of_a_price_that_nobody_is_paid(tmp_path: Path) -> None:
    "It was ignored without a word; a pattern that holds for somebody else, too, is no mistake."
    models = ["hf/tiny", "sim/human", "openai/tiny"]
    prices = {name: {"in": 1.0, "out": 2.0} for name in ("hf/tiny", "sim/*", "*")}
    study = make_study(models=models, paradigms=["classic/framing"], prices=prices)
    lines = [each for each in plan_run(study, tmp_path).notes if "is not used" in each]
    assert lines == [
        "the price of hf/tiny is not used: hf/tiny answers in this program, and nobody is paid",
        "the price of sim/* is not used: sim/human answers in this program, and nobody is paid",
    ]
