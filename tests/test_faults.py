"""Servers that fail: what is repeated, what is stored, what ends a run, and no key is written."""

import logging
import pickle
import time
import traceback
from collections import Counter
from functools import partial

import pytest
from doubles import Double, reply

from cogbias.design import paradigm
from cogbias.tables import CogbiasError
from cogbias.elicitation.calls import ask_all
from cogbias.participants import Request, participant

ITEMS = paradigm("choice/certainty").items()
LETTERS = ITEMS[
    ITEMS["options"].map(lambda options: {each["label"] for each in options} == {"A", "B"})
]
ITEM = LETTERS.iloc[0].to_dict()

pytestmark = pytest.mark.usefixtures("no_settings_of_the_machine")


def script_of(**faults):
    'A fault for certain seeds: `seed_7="busy"` once, `always_7="busy"` always; probes have seed 0.'

    def script(asked):
        return faults.get(f"always_{asked.seed}") or (
            faults.get(f"seed_{asked.seed}") if asked.time == 1 else None
        )

    return script


def at(double, backend="openai", **settings):
    "A participant in front of a double."
    return participant(
        f"{backend}/tiny",
        base_url=double.openai if backend == "openai" else double.url,
        **{"timeout": 5.0, "concurrency": 4, **settings},
    )


def asked(who, seeds):
    "Answers in the order of the seeds."
    answers = dict(who.answers([Request(ITEM, 0, seed) for seed in seeds], "text"))
    return [answers[index] for index in range(len(seeds))]


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    "As many attempts as ever, and hardly a pause between where the server asks for none."
    monkeypatch.setattr("cogbias.elicitation.server.ask_all", partial(ask_all, pause=0.001))


REPEATED = ["busy", "down", "storm", "error in 200", "html error", "cut", "gone", "not http"]
# OpenAI-compatible servers stand behind gateways, where such things pass
UNREADABLE = ["compression", "html", "encoding", "no choices", "null", "empty", "torn"]


@pytest.mark.parametrize(
    ("backend", "fault"),
    [
        *(("openai", fault) for fault in REPEATED + UNREADABLE),
        *(("ollama", fault) for fault in REPEATED),
    ],
)
def test_what_is_repeated(backend, fault):
    with Double(script_of(seed_7=fault)) as double:
        answers = asked(at(double, backend), [6, 7, 8])
    assert [(each.status, each.attempt) for each in answers] == [("ok", 1), ("ok", 2), ("ok", 1)]
    assert [each.response for each in answers] == [reply(ITEM["prompt"], n) for n in (6, 7, 8)]


@pytest.mark.parametrize("backend", ["openai", "ollama"])
def test_what_is_refused_is_not_repeated(backend):
    with Double(script_of(always_7="wrong")) as double:
        answers = asked(at(double, backend), [6, 7, 8])
    assert [each.status for each in answers] == ["ok", "error", "ok"] and answers[1].attempt == 1
    assert "prompt is too long" in answers[1].detail
    assert sum(each.seed == 7 for each in double.asked) == 1


@pytest.mark.parametrize("backend", ["openai", "ollama"])
def test_a_hanging_server_is_left(backend):
    with Double(script_of(seed_7="hang")) as double:
        began = time.monotonic()
        answers = asked(at(double, backend, timeout=0.7), [6, 7, 8])
        assert time.monotonic() - began < 8
    assert [(each.status, each.attempt) for each in answers] == [("ok", 1), ("ok", 2), ("ok", 1)]


def test_retry_after_is_obeyed():
    with Double(script_of(seed_7="wait")) as double:
        who = at(double)
        assert who.methods == ("text",)
        began = time.monotonic()
        assert asked(who, [7])[0].attempt == 2
        assert 0.4 <= time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("key", "check the key in OPENAI_API_KEY"),
        ("credit", "quota exceeded; check billing"),
        ("model", "check the name of the model|did you mean 'tiny'"),
    ],
)
def test_what_holds_for_all_ends_the_run(fault, words):
    with Double(script_of()) as double:
        who = at(double)
        assert who.methods == ("text",)
        double.script = lambda asked: fault if asked.number > 30 else None
        answers, before = [], len(double.asked)
        with pytest.raises(CogbiasError, match=words):
            answers += who.answers([Request(ITEM, 0, seed) for seed in range(60)], "text")
        assert len(double.asked) < before + 60


def test_a_server_that_goes_away():
    "Twenty failures in a row end the run; what came before is kept."
    answers = []
    with Double() as double:
        who = at(double)
        assert who.methods == ("text",)
        before = len(double.asked)
        double.script = lambda asked: "gone" if asked.number > before + 50 else None
        words = "the last 20 requests failed .*check whether the server is still running"
        with pytest.raises(CogbiasError, match=words):
            for _, answer in who.answers([Request(ITEM, 0, n) for n in range(120)], "text"):
                answers.append(answer.status)
    assert Counter(answers) == {"ok": 50, "error": 20}


PLANTED = {"OPENAI_API_KEY": "sk-planted-0123456789abcdef", "LAB_PASS": "Planted.horse+battery/42"}


@pytest.fixture(params=list(PLANTED))
def key(request, monkeypatch):
    "A key in the environment: under its usual name, or one that does not look like a secret's."
    monkeypatch.setenv(request.param, PLANTED[request.param])
    yield request.param, PLANTED[request.param]


def test_no_key_is_written(key, caplog, capfd):
    "The double's complaints repeat the key; it may be in nothing given, shown or raised."
    name, secret = key
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    with Double() as double:
        who = at(double, api_key_env=name)
        shown += [repr(who), who.name, repr(who.identity), repr(who.facts()), repr(vars(who))]
        assert all(each.authorization == f"Bearer {secret}" for each in double.asked)  # in use
        for fault in ("wrong", "error in 200", "html", "html error", "busy", "cut", "key"):
            double.script = lambda asked, fault=fault: fault
            try:
                shown += map(repr, who.answers([Request(ITEM, 0, n) for n in range(3)], "text"))
            except CogbiasError as error:
                shown += [str(error), traceback.format_exc(), repr(error.__context__)]
    shown += [pickle.dumps(who).decode("latin-1"), caplog.text, *capfd.readouterr()]
    assert "you sent Authorization: Bearer [secret]" in " ".join(shown)
    for text in shown:
        assert secret not in text and secret[3:] not in text
