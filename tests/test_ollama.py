"""The official Ollama client against a double of Ollama before a real llama-server."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from doubles import item
from ollama_double import OllamaDouble, Quirks
from servers import MISSING, llama_server, llama_server_binary

from cogbias.backends import ollama as backend
from cogbias.backends.ollama import (
    PARTICIPANT,
    sampling,
)
from cogbias.tables import CogbiasError
from cogbias.participants import Answer, Request

CHOICE = (
    "Question: Which option do you choose?\nA) take the bus\nB) call a doctor\nAnswer with A "
    "or B only.\n"
)


LETTERS = item(CHOICE, "A", "B")
REQUESTS = [Request(LETTERS, 0, seed) for seed in range(24)]


class Tiny(NamedTuple):
    "The tiny model: its folder, and the file for llama-server."

    folder: Path
    gguf: Path


def built(**planted: Any) -> Tiny:
    "The tiny model with a server to run it; skips where there is none."
    if llama_server_binary() is None:
        pytest.skip(MISSING)
    pytest.importorskip("gguf", reason="the tiny model is written by the package gguf")
    from tiny_models import tiny_folder

    folder = tiny_folder(**planted)
    return Tiny(folder, folder / "tiny.gguf")


@pytest.fixture(scope="module")
def tiny() -> Tiny:
    "A model that answers as planted."
    return built()


@pytest.fixture(scope="module")
def tiny_thinking() -> Tiny:
    "A model that thinks first."
    return built(think=True)


@pytest.fixture(scope="module")
def upstream(tiny: Tiny) -> Iterator[str]:
    "A llama-server with the tiny model."
    with llama_server(tiny.gguf, "-t", "1") as url:
        yield url


@pytest.fixture
def double(tiny: Tiny, upstream: str) -> Iterator[OllamaDouble]:
    "An Ollama with the tiny model."
    with OllamaDouble(tiny.gguf, upstream, parallel=4) as serving:
        yield serving


@pytest.fixture(scope="module")
def thinking_upstream(tiny_thinking: Tiny) -> Iterator[str]:
    "A llama-server with a model that thinks unless told not to."
    with llama_server(tiny_thinking.gguf, "-t", "1") as url:
        yield url


@pytest.fixture
def thinker(tiny_thinking: Tiny, thinking_upstream: str) -> Iterator[OllamaDouble]:
    "An Ollama with a model that thinks unless told not to."
    with OllamaDouble(
        tiny_thinking.gguf, thinking_upstream, parallel=4, quirks=Quirks(thinking=True)
    ) as serving:
        yield serving


def at(double: OllamaDouble, **settings: Any) -> backend.OllamaParticipant:
    "A participant at a double."
    return PARTICIPANT("tiny", base_url=double.url, timeout=20.0, **settings)


def asked(
    who: backend.OllamaParticipant, requests: list[Request] = REQUESTS, method: str = "text"
) -> list[Answer]:
    "Answers in the order of the requests."
    answers = dict(who.answers(requests, method))
    return [answers[index] for index in range(len(requests))]


def test_every_option_is_sent_and_nothing_is_left_to_the_server(double: OllamaDouble) -> None:
    who = at(
        double,
        temperature=0.5,
        max_tokens=7,
        num_ctx=512,
        stop=["\n"],
        keep_alive="5m",
        system="Be brief.",
    )
    asked(
        who, [Request(LETTERS, 0, 12345), Request({**LETTERS, "system": "You are a buyer."}, 0, 6)]
    )
    first, second = double.sent("/api/chat")
    assert first == {
        "model": "tiny",
        "stream": False,
        "think": False,
        "tools": [],
        "keep_alive": "5m",
        "options": {**sampling(0.5, 7, 512, ["\n"]), "seed": 12345},
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": CHOICE},
        ],
    }
    assert (
        second["messages"][0]["content"] == "You are a buyer.\n\nBe brief."
        and second["options"]["seed"] == 6
    )
    from_the_server = {
        "temperature",
        "top_k",
        "top_p",
        "min_p",
        "typical_p",
        "repeat_penalty",
        "repeat_last_n",
        "presence_penalty",
        "frequency_penalty",
        "num_predict",
        "num_ctx",
        "num_keep",
        "stop",
        "seed",
    }
    assert set(first["options"]) == from_the_server


def test_the_key_for_ollama_com_stays_at_home(
    double: OllamaDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "a-secret-key")
    who = at(double)
    who.methods, asked(who, REQUESTS[:2])
    assert double.received and all("authorization" not in each.headers for each in double.received)
    assert "a-secret-key" not in repr((who, who.identity, who.facts(), pickle.dumps(who)))


def test_words_are_drawn_by_the_seed_from_the_models_own_distribution(double: OllamaDouble) -> None:
    who = at(double, concurrency=4)
    answers = asked(who, [Request(LETTERS, 0, seed) for seed in range(200)])
    share = sum(answer.choice == "A" for answer in answers) / 200
    assert {answer.status for answer in answers} == {"ok"} and abs(share - 0.7) < 4 * math.sqrt(
        0.21 / 200
    )
    assert asked(at(double), [Request(LETTERS, 0, seed) for seed in range(12)]) != [] and [
        answer.response for answer in answers[:12]
    ] == [
        answer.response
        for answer in asked(at(double), [Request(LETTERS, 0, seed) for seed in range(12)])
    ]  # one at a time gives the same
    assert {answer.response for answer in asked(at(double, temperature=0.0), REQUESTS)} == {"A"}
    first = answers[0]
    assert (
        first.finish_reason == "stop"
        and first.tokens_in > 20
        and first.tokens_out == 2
        and first.latency_s > 0
        and first.started_at
        and first.attempt == 1
    )


def test_thinking_is_explicit_and_kept_apart(thinker: OllamaDouble) -> None:
    quick, slow = at(thinker), at(thinker, think=True)
    for who, thinks in ((quick, False), (slow, True)):
        answer = asked(who, REQUESTS[:1])[0]
        assert (
            thinker.sent("/api/chat")[-1]["think"] is thinks
            and answer.status == "ok"
            and bool(answer.thinking) is thinks
            and answer.response in "AB"
        )
    assert (
        quick.methods == ("option_probability", "text")
        and slow.methods == ("text",)
        and slow.facts()["capabilities"] == "completion, thinking"
    )
    assert (
        slow.identity["think"] is True
        and slow.name == "ollama/tiny max_tokens=4096 num_ctx=8192 think=True"
    )
    with pytest.raises(CogbiasError, match="it thinks before it answers; use method text"):
        asked(slow, REQUESTS[:1], "option_probability")


def test_letters_words_and_brands(double: OllamaDouble) -> None:
    from tiny_models import tiny_probabilities

    who = at(double, concurrency=4)
    for prompt, labels, mass in (
        (CHOICE, ["A", "B"], 1.0),
        (
            "Is the argument valid or invalid?\nReply with valid or invalid.\nAnswer:",
            ["valid", "invalid"],
            1.0,
        ),
        (
            "Reply with Brand 1, Brand 2 or Brand 3 only.\nAnswer:",
            ["Brand 1", "Brand 2", "Brand 3"],
            1.0,
        ),
        ("Reply with Brand 1 or Brand 2 only.\nAnswer:", ["Brand 2", "Brand 1"], 0.8),
    ):
        answer, known = (
            asked(who, [Request(item(prompt, *labels), 0, 1)], "option_probability")[0],
            tiny_probabilities(prompt),
        )
        total = sum(known[label] for label in labels)
        assert answer.status == "ok" and answer.p == pytest.approx(
            {label: known[label] / total for label in labels}, abs=1e-3
        ), prompt
        assert answer.valid_mass == pytest.approx(mass, abs=2e-3) and answer.tokens_out == (
            3 if "Brand" in prompt else 1
        )


def test_numbers_need_their_end(double: OllamaDouble) -> None:
    from tiny_models import tiny_probabilities

    question = item("Answer with one number.\n", *map(str, range(1, 100)), answer="scale")
    answer, known = (
        asked(at(double), [Request(question, 0, 1)], "option_probability")[0],
        tiny_probabilities(question["prompt"]),
    )
    total = sum(known.values())  # two digits may be followed by a third
    assert answer.p == pytest.approx(
        {label: p / total for label, p in known.items()}, abs=1e-3
    ) and answer.valid_mass == pytest.approx(total, abs=2e-3)


@pytest.mark.parametrize(
    "quirks",
    [
        Quirks(continues=False),
        Quirks(end_text="<|im_end|>"),
        Quirks(version="0.13.0", end_text="<|im_end|>", continues=False),
    ],
    ids=["raw", "named end", "both"],
)
def test_other_ways_to_the_same_probabilities(double: OllamaDouble, quirks: Quirks) -> None:
    questions = [
        Request(
            item(
                "Reply with Brand 1, Brand 2 or Brand 3 only.\nAnswer:",
                "Brand 1",
                "Brand 2",
                "Brand 3",
            ),
            0,
            1,
        ),
        Request(item("Answer with one number.\n", *map(str, range(1, 100)), answer="scale"), 0, 2),
    ]
    usual = asked(at(double), questions, "option_probability")
    double.quirks = quirks
    who = at(double)
    assert (
        who.facts()["probabilities"]
        == f"yes, answers begun by {'chat' if quirks.continues else 'raw'}"
    )
    for one, other in zip(usual, asked(who, questions, "option_probability")):
        assert one.p == pytest.approx(other.p, abs=1e-6) and one.valid_mass == pytest.approx(
            other.valid_mass, abs=1e-6
        )
    assert bool(double.sent("/api/generate")) is not quirks.continues and all(
        body["raw"] for body in double.sent("/api/generate")
    )


@pytest.mark.parametrize("temperature", [0.0, 0.4, 0.7])
def test_lower_temperatures(double: OllamaDouble, temperature: float) -> None:
    odds = (0.7 / 0.3) ** (1 / temperature) if temperature else math.inf
    answer = asked(at(double, temperature=temperature), REQUESTS[:1], "option_probability")[0]
    assert answer.p["A"] == pytest.approx(1 / (1 + 1 / odds), abs=1e-3)


@pytest.mark.parametrize(
    "quirks, reason",
    [
        (Quirks(logprobs=False), "gives no log-probabilities"),
        (Quirks(remote_host="https://ollama.com:443"), "cloud models give no log-probabilities"),
        (
            Quirks(continues=False, renders=False),
            "cannot be made to go on with an answer that was begun",
        ),
        (Quirks(tempered=True), "depend on how tokens are drawn"),
    ],
    ids=["old", "cloud", "neither", "tempered"],
)
def test_where_probabilities_cannot_be_seen_words_are_asked_for(
    double: OllamaDouble, quirks: Quirks, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    double.quirks = quirks
    who = at(double)
    assert who.methods == ("text",) and reason in caplog.text and len(double.sent("/api/chat")) < 60
    assert {answer.status for answer in asked(who, REQUESTS[:4])} == {
        "ok"
    } and reason in who.facts()["probabilities"]
    with pytest.raises(CogbiasError, match="use method text"):
        asked(who, REQUESTS[:1], "option_probability")


def test_a_server_that_cuts_what_was_begun_into_other_tokens(double: OllamaDouble) -> None:
    brands = [
        Request(
            item(
                "Reply with Brand 1, Brand 2 or Brand 3 only.\nAnswer:",
                "Brand 1",
                "Brand 2",
                "Brand 3",
            ),
            0,
            1,
        )
    ]
    who = at(double)
    assert who.probability_access.counts
    double.quirks = Quirks(recuts=True)
    assert (
        asked(who, REQUESTS[:1], "option_probability")[0].status == "ok"
    )  # one token needs no beginning
    with pytest.raises(
        CogbiasError,
        match="cuts answers that were begun into other tokens than the model, .* use method text",
    ):
        asked(who, brands, "option_probability")


def test_a_real_queue_that_is_full(double: OllamaDouble) -> None:
    double.quirks = Quirks(queue=0, slow=0.05)
    answers = asked(at(double, concurrency=12), REQUESTS[:12])
    assert {answer.status for answer in answers} == {"ok"} and max(
        answer.attempt for answer in answers
    ) > 1


@pytest.mark.parametrize(
    "quirks",
    [Quirks(drop_every=4), Quirks(break_every=4)],
    ids=["lost connection", "error in the middle"],
)
def test_lost_connections_and_broken_generations_are_asked_again(
    double: OllamaDouble, quirks: Quirks
) -> None:
    double.quirks = quirks
    answers = asked(at(double, concurrency=2))
    assert {answer.status for answer in answers} == {"ok"} and max(
        answer.attempt for answer in answers
    ) > 1


def test_a_generation_without_done_is_no_answer(double: OllamaDouble) -> None:
    double.quirks = Quirks(undone_every=2)
    answers = asked(at(double), REQUESTS[:6])
    assert (
        [answer.status for answer in answers] == ["ok", "error"] * 3
        and "without being done" in answers[1].detail
        and answers[1].attempt == 1
    )


def test_weights_that_change_under_way(
    double: OllamaDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    "No answer is given after the tag was found to lead elsewhere."
    monkeypatch.setattr("cogbias.elicitation.server.CHECK_SECONDS", 0.0)
    who, given = at(double), []
    who.methods, setattr(double, "quirks", Quirks(new_digest_after=double.generations + 5))
    with pytest.raises(CogbiasError, match="leads to other weights .* stored under the old digest"):
        for pair in who.answers(REQUESTS, "text"):
            given.append(pair)
    assert 3 <= len(given) <= 5
    with pytest.raises(CogbiasError, match="leads to other weights"):
        asked(who)


def test_a_model_that_was_not_pulled(double: OllamaDouble) -> None:
    words = "model 'tinny' was not pulled; did you mean 'tiny:latest'. Or run `ollama pull tinny`"
    with pytest.raises(CogbiasError, match=words):
        PARTICIPANT("tinny", base_url=double.url).revision
