"""Servers that fail: what is repeated, what is stored, what ends a run, and no key is written."""

from __future__ import annotations

import logging
import pickle
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from doubles import Asked, Double, reply

from cogbias.design import paradigm
from cogbias.tables import CogbiasError
from cogbias.elicitation.calls import ask_all
from cogbias.participants import Answer, Participant, Request, participant
from cogbias.outputs import Folder, keep_record
from cogbias.trials import Collected, TrialStore, collect
from tiers import slow_but

ITEMS = paradigm("choice/certainty").items()
LETTERS = ITEMS[
    ITEMS["options"].map(lambda options: {each["label"] for each in options} == {"A", "B"})
]
ITEM = LETTERS.iloc[0].to_dict()

pytestmark = pytest.mark.usefixtures("no_settings_of_the_machine")


def script_of(**faults: str) -> Any:
    'A fault for certain seeds: `seed_7="busy"` once, `always_7="busy"` always; probes have seed 0.'

    def script(asked: Asked) -> str | None:
        return faults.get(f"always_{asked.seed}") or (
            faults.get(f"seed_{asked.seed}") if asked.time == 1 else None
        )

    return script


def at(double: Double, backend: str = "openai", **settings: Any) -> Participant:
    "A participant in front of a double."
    return participant(
        f"{backend}/tiny",
        base_url=double.openai if backend == "openai" else double.url,
        **{"timeout": 5.0, "concurrency": 4, **settings},
    )


def asked(who: Participant, seeds: range | list[int]) -> list[Answer]:
    "Answers in the order of the seeds."
    answers = dict(who.answers([Request(ITEM, 0, seed) for seed in seeds], "text"))
    return [answers[index] for index in range(len(seeds))]


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    "As many attempts as ever, and hardly a pause between where the server asks for none."
    monkeypatch.setattr("cogbias.elicitation.server.ask_all", partial(ask_all, pause=0.001))


REPEATED = ["busy", "down", "storm", "error in 200", "html error", "cut", "gone", "not http"]
UNREADABLE = [
    "compression",
    "html",
    "encoding",
    "no choices",
    "null",
    "empty",
    "torn",
]  # OpenAI-compatible servers stand behind gateways, where such things pass


@pytest.mark.parametrize(
    ("backend", "fault"),
    [
        *(("openai", fault) for fault in REPEATED + UNREADABLE),
        *(("ollama", fault) for fault in REPEATED),
    ],
)
def test_what_is_repeated(backend: str, fault: str) -> None:
    with Double(script_of(seed_7=fault)) as double:
        answers = asked(at(double, backend), [6, 7, 8])
    assert [(answer.status, answer.attempt) for answer in answers] == [
        ("ok", 1),
        ("ok", 2),
        ("ok", 1),
    ]
    assert [answer.response for answer in answers] == [
        reply(ITEM["prompt"], seed) for seed in (6, 7, 8)
    ]


@pytest.mark.parametrize("backend", ["openai", "ollama"])
def test_what_is_refused_is_not_repeated(backend: str) -> None:
    with Double(script_of(always_7="wrong")) as double:
        answers = asked(at(double, backend), [6, 7, 8])
    assert [(answer.status, answer.attempt) for answer in answers] == [
        ("ok", 1),
        ("error", 1),
        ("ok", 1),
    ] and "prompt is too long" in answers[1].detail
    assert sum(each.seed == 7 for each in double.asked) == 1


@pytest.mark.parametrize("backend", ["openai", "ollama"])
def test_a_hanging_server_is_left(backend: str) -> None:
    with Double(script_of(seed_7="hang")) as double:
        began = time.monotonic()
        answers = asked(at(double, backend, timeout=0.7), [6, 7, 8])
        assert time.monotonic() - began < 8
    assert [(answer.status, answer.attempt) for answer in answers] == [
        ("ok", 1),
        ("ok", 2),
        ("ok", 1),
    ]


def test_retry_after_is_obeyed() -> None:
    with Double(script_of(seed_7="wait")) as double:
        who = at(double)
        assert who.methods == ("text",)
        began = time.monotonic()
        assert asked(who, [7])[0].attempt == 2
        assert 0.4 <= time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("key", "refuses the key in OPENAI_API_KEY"),
        ("credit", "wants to be paid first"),
        ("model", "has no model 'tiny'"),
    ],
)
def test_what_holds_for_all_ends_the_run(fault: str, words: str, tmp_path: Path) -> None:
    with Double(script_of()) as double:
        who = at(double)
        assert who.methods == ("text",)
        double.script = lambda asked: fault if asked.number > 30 else None
        with pytest.raises(CogbiasError, match=words) as ended:
            collect(LETTERS.head(60), who, TrialStore(tmp_path / "trials.jsonl"))
    assert (
        "what came is stored, run again to ask for the rest only" in str(ended.value)
        and len(double.asked) < 60
    )
    stored = TrialStore(tmp_path / "trials.jsonl").read()
    assert 0 < len(stored) <= 30 and set(stored["status"]) == {"ok"}


def test_a_server_that_goes_away(tmp_path: Path) -> None:
    "Twenty failures in a row end the run; what came before is kept, the rest is asked for later."
    store = TrialStore(tmp_path / "trials.jsonl")
    with Double() as double:
        who = at(double)
        assert who.methods == ("text",)
        before = len(double.asked)
        double.script = lambda asked: "gone" if asked.number > before + 50 else None
        with pytest.raises(
            CogbiasError,
            match="the last 20 requests failed .*see whether the server is still there",
        ):
            collect(LETTERS.head(120), who, store)
        assert Counter(store.read()["status"]) == {"ok": 50, "error": 20}
        double.script = lambda asked: None
        again = collect(LETTERS.head(120), who, store)
    assert (again.stored, again.asked, again.complete) == (50, 70, True)


@pytest.mark.parametrize("fault", ["html", "torn", "no choices"])
def test_ollama_and_something_else(fault: str) -> None:
    "Something that is no Ollama, or half an answer, is no answer."
    with Double(script_of(always_7=fault)) as double:
        try:
            answers = asked(at(double, "ollama"), [6, 7])
        except CogbiasError as error:
            assert "not as Ollama does" in str(error)
        else:
            assert answers[1].status == "error"


class TestThousands:
    "Thousands of requests against a server that fails one in five, some of them for good."

    KINDS = (
        "busy",
        "down",
        "error in 200",
        "html error",
        "busy",
        "down",
        "wait",
        "cut",
        "gone",
        "busy",
    )

    def script(self, asked: Asked) -> str | None:
        if asked.seed == 0 or asked.draw % 5:
            return None
        which = asked.draw // 5 % 100
        if which < 3:
            return "wrong"  # for good, at once
        if which == 3 and asked.draw // 500 % 10 == 0:
            return "down"  # for good, five times
        return self.KINDS[which % 10] if asked.time == 1 else None

    @pytest.mark.parametrize("requests", slow_but([1_000], [1_000, 4_000, 10_000]))
    def test_every_trial_once(self, tmp_path: Path, requests: int) -> None:
        store, items = TrialStore(tmp_path / "trials.jsonl"), LETTERS.head(500)
        repeats = requests // len(items)
        began = time.monotonic()
        with Double(self.script) as double:
            who = at(double, concurrency=24)
            first = collect(items, who, store, method="text", repeats=repeats)
            self.check(first, store.read(), items, double)
            double.script, in_first = (lambda asked: None), len(double.asked)
            second = collect(items, who, store, method="text", repeats=repeats)
        table, again = store.read(), double.asked[in_first:]
        assert (second.planned, second.stored, second.asked, second.complete) == (
            first.planned,
            first.planned - first.statuses["error"],
            first.statuses["error"],
            True,
        )
        assert len(again) == first.statuses["error"]  # nothing else is asked, not even by the probe
        assert (
            len(table) == first.planned
            and set(table["status"]) == {"ok"}
            and table.attrs["superseded"] == first.statuses["error"]
        )
        print(
            f"{first.planned} trials in {first.seconds:.1f} s, {time.monotonic() - began:.1f} "
            f"s in all"
        )

    def check(
        self, done: Collected, table: pd.DataFrame, items: pd.DataFrame, double: Double
    ) -> None:
        "The store against the script."
        prompts = items.set_index("item_id")["prompt"]
        wanted = {
            key: self.script(Asked(0, 5, prompts[key[0]], key[1], {}, ""))
            for key in zip(table["item_id"], table["seed"])
        }
        assert len(wanted) == len(table) == done.planned == done.asked and set(
            table["trial_id"]
        ) == set(done.trial_ids)
        found = {(row.item_id, row.seed): row for row in table.itertuples()}
        for key, fault in wanted.items():
            row, prompt = found[key], prompts[key[0]]
            assert (row.status, row.attempt) == {
                None: ("ok", 2 if self.script(Asked(0, 1, prompt, key[1], {}, "")) else 1),
                "wrong": ("error", 1),
                "down": ("error", 5),
            }[fault]
            assert row.status == "error" or row.response == reply(prompt, key[1])
        assert (
            done.statuses["error"] == sum(map(bool, wanted.values())) > len(table) / 200
            and 0.17 < sum(table["attempt"] > 1) / len(table) < 0.23
        )
        assert all(
            double.times[prompts[item], seed] == found[item, seed].attempt for item, seed in wanted
        )


PLANTED = {"OPENAI_API_KEY": "sk-planted-0123456789abcdef", "LAB_PASS": "Planted.horse+battery/42"}


@pytest.fixture(params=list(PLANTED))
def key(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str]]:
    "A key in the environment: under its usual name, or one that does not look like a secret's."
    monkeypatch.setenv(request.param, PLANTED[request.param])
    yield request.param, PLANTED[request.param]


def test_no_key_is_written(
    key: tuple[str, str],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    "The double's complaints repeat the key; it may be in nothing written, shown or raised."
    name, secret = key
    caplog.set_level(logging.DEBUG)
    faults = ["wrong", "error in 200", "html", "html error", "busy", "down", "cut", "key"]
    folder, errors = Folder(tmp_path), []
    with Double() as double:
        who = at(double, api_key_env=name)
        keep_record(folder, who)
        assert double.asked and all(
            each.authorization == f"Bearer {secret}" for each in double.asked
        )  # it is in use
        for number, fault in enumerate(faults):
            items = LETTERS.iloc[3 * number : 3 * number + 3]
            double.script = lambda asked, fault=fault, last=len(double.asked): (
                fault if asked.number % 2 or fault == "key" else None
            )
            try:
                collect(items, who, folder.store(who.name, ITEM["paradigm"]))
            except CogbiasError as error:
                errors += [
                    str(error),
                    repr(error),
                    traceback.format_exc(),
                    *map(str, (error.__cause__, error.__context__)),
                ]
        double.script = lambda asked: "key"
        for use in (
            lambda: at(double, api_key_env=name).methods,
            lambda: at(double, api_key_env=name).identity,
            lambda: list(who.answers([Request(ITEM, 0, 1)], "text")),
        ):
            with pytest.raises(CogbiasError, match=f"refuses the key in {name}"):
                try:
                    use()
                except CogbiasError as error:
                    errors += [
                        traceback.format_exc(),
                        repr(error.__context__),
                        pickle.dumps(error).decode("latin-1"),
                    ]
                    raise
    written = {
        str(file): file.read_text(encoding="utf-8")
        for file in tmp_path.rglob("*")
        if file.is_file()
    }
    assert len(written) == 2 and any(
        "you sent Authorization: Bearer [secret]" in text for text in written.values()
    )
    shown = [
        repr(who),
        str(vars(who)),
        repr(vars(who.connection)),
        who.name,
        repr(who.identity),
        repr(who.facts()),
        pickle.dumps(who).decode("latin-1"),
        caplog.text,
        *capfd.readouterr(),
        *errors,
    ]
    for text in [*written.values(), *shown]:
        assert secret not in text and secret[3:] not in text
    assert len(errors) >= 8


def test_an_ollama_key_stays_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "planted-for-ollama.com")
    with Double() as double:
        asked(at(double, "ollama"), [1, 2])
    assert {each.authorization for each in double.asked} == {""}
