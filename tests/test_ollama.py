"""The official Ollama client against a double of Ollama before a real llama-server.

Where asked for, it also runs against a real Ollama.
"""

from __future__ import annotations

import asyncio
import json
import math
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import ollama
import pytest
from doubles import item
from ollama_double import BUSY, OllamaDouble, Quirks
from servers import MISSING, free_port, llama_server, llama_server_binary

from cogbias.backends import ollama as backend
from cogbias.backends.ollama import (
    FLAT,
    MOST_TOKENS_LISTED,
    PARTICIPANT,
    explain,
    make_client,
    messages_of,
    sampling,
)
from cogbias.design import paradigm
from cogbias.tables import CogbiasError, item_table, option
from cogbias.elicitation import calls
from cogbias.elicitation.answer_trees import NextTokens, Token, answer_tree, measure, tempered
from cogbias.participants import Answer, Request, participant
from cogbias.trials import TrialStore, collect

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
    from cogbias.elicitation.tiny import tiny_folder

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


def items(count: int) -> Any:
    "A small items table."
    faces = [option("A", "heads", "target"), option("B", "tails", "other")]
    return item_table(
        "example/coin",
        [
            {
                "condition": "treatment",
                "pair_id": str(n),
                "cluster": str(n),
                "stratum": "all",
                "prompt": f"Toss {n}.\nReply with A or B only.\n",
                "options": faces,
                "content": {"n": n},
            }
            for n in range(count)
        ],
    )


# What is sent


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


def test_a_look_asks_for_one_flat_token_and_the_longest_list(double: OllamaDouble) -> None:
    asked(at(double, stop=["x"]), REQUESTS[:1], "option_probability")
    last = double.sent("/api/chat")[-1]
    assert (last["logprobs"], last["top_logprobs"], last["think"]) == (
        True,
        MOST_TOKENS_LISTED,
        False,
    ) and last["options"] == {**sampling(), **FLAT, "seed": last["options"]["seed"]}
    assert all("format" not in body for body in double.sent("/api/chat"))


def test_nothing_is_contacted_before_something_has_to_be_known(double: OllamaDouble) -> None:
    who = participant("ollama/tiny", base_url=double.url, temperature=0.7)
    assert (
        (who.name, who.backend, who.model, who.simulated, who.temperature)
        == ("ollama/tiny temperature=0.7", "ollama", "tiny", False, 0.7)
        and repr(who)
        and not double.received
    )
    assert who.revision == double.model.digest and not double.generations


def test_the_key_for_ollama_com_stays_at_home(
    double: OllamaDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "a-secret-key")
    who = at(double)
    who.methods, asked(who, REQUESTS[:2])
    assert double.received and all("authorization" not in each.headers for each in double.received)
    assert "a-secret-key" not in repr((who, who.identity, who.facts(), pickle.dumps(who)))


def test_host_from_the_environment(double: OllamaDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", double.url.removeprefix("http://"))
    assert PARTICIPANT("tiny:latest").revision == double.model.digest


# Provenance


def test_facts_and_identity(double: OllamaDouble) -> None:
    who = at(double, concurrency=3)
    asked(who, REQUESTS[:1])
    facts = who.facts()
    assert {
        "server": "Ollama 0.32.15",
        "digest": double.model.digest,
        "family": "llama",
        "quantisation": "F32",
        "capabilities": "completion",
        "concurrency": 3,
        "context": double.model.meta["n_ctx"],
        "probabilities": "yes, answers begun by chat",
    }.items() <= facts.items() and facts["context"] < 4096
    assert (
        all(isinstance(value, (str, int, float)) for value in facts.values())
        and "<|im_start|>user" in facts["rendered_prompt"]
    )
    assert (
        json.loads(json.dumps(who.identity)) == who.identity
        and who.identity["options"] == sampling()
    )
    assert (
        who.identity
        == at(double, concurrency=1, keep_alive=60).identity
        != at(double, system="Be brief.").identity
    )
    assert who.name == at(double, concurrency=1).name != at(double, system="Be brief.").name


def test_effective_context_is_the_servers(double: OllamaDouble) -> None:
    who = at(double, num_ctx=600)
    assert who.context == 600  # nothing runs yet
    asked(who, REQUESTS[:1])
    assert who.context == 600 and at(double, num_ctx=100_000).context == 600


# Words


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


def test_too_few_tokens_and_a_prompt_that_was_cut(double: OllamaDouble) -> None:
    number = item("Say a number.\n", *map(str, range(1, 100)))
    assert {
        answer.finish_reason
        for answer in asked(
            at(double, max_tokens=1), [Request(number, 0, seed) for seed in range(4)]
        )
    } == {"length"}
    long, small = (
        Request(item("A long story. " * 40 + CHOICE, "A", "B"), 0, 1),
        at(double, num_ctx=64, max_tokens=8),
    )
    for method in ("text", "option_probability"):
        assert (
            "the prompt fills the context of 64 tokens and was probably cut; raise num_ctx"
            in asked(small, [long], method)[0].detail
        )
        assert "cut" not in (asked(small, REQUESTS[:1], method)[0].detail or "")


# Thinking


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


def test_thinking_that_was_left_in_the_text(thinker: OllamaDouble) -> None:
    thinker.quirks = Quirks(
        obeys=False
    )  # the server knows no tags and takes the model for one that cannot think
    answer = asked(at(thinker), REQUESTS[:1])[0]
    assert answer.status == "ok" and answer.response in ("A", "B") and answer.thinking == "think"
    cut = asked(at(thinker, max_tokens=2), REQUESTS[:1])[0]
    assert (cut.status, cut.response, cut.thinking) == ("truncated", "", "think")


def test_a_model_that_thinks_although_told_not_to_is_asked_in_words(
    thinker: OllamaDouble, caplog: pytest.LogCaptureFixture
) -> None:
    thinker.quirks = Quirks(thinking=True, obeys=False)
    assert (
        at(thinker).methods == ("text",)
        and "the model thinks although it is told not to" in caplog.text
    )


def test_a_model_that_cannot_think_is_not_asked_to(double: OllamaDouble) -> None:
    with pytest.raises(CogbiasError, match="model 'tiny' cannot think; leave out think"):
        asked(at(double, think="low"))
    assert not double.sent("/api/chat")
    with pytest.raises(ollama.ResponseError) as refused:
        make_client(double.url).chat("tiny", messages_of(LETTERS), think=True)
    assert explain(refused.value, "tiny", double.url).fatal


# Probabilities


def test_letters_words_and_brands(double: OllamaDouble) -> None:
    from cogbias.elicitation.tiny import tiny_probabilities

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
    from cogbias.elicitation.tiny import tiny_probabilities

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


def test_bounds_hold_for_what_a_short_list_does_not_show(
    double: OllamaDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = at(double)
    assert "option_probability" in who.methods  # asked with the whole list
    monkeypatch.setattr(backend, "MOST_TOKENS_LISTED", 2)
    monkeypatch.setitem(backend.FLAT, "top_k", 2)
    answer = asked(
        who,
        [
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
        ],
        "option_probability",
    )[0]
    bounds = {
        label: (float(low), float(high))
        for label, low, high in re.findall(r"(Brand \d) ([\d.]+) to ([\d.]+)", answer.detail)
    }
    assert (
        answer.p["Brand 3"] == 0
        and answer.valid_mass == pytest.approx(0.8, abs=1e-3)
        and set(bounds) == set(answer.p)
    )
    assert all(
        bounds[label][0] - 1e-4 <= p <= bounds[label][1] + 1e-4
        for label, p in {"Brand 1": 0.5, "Brand 2": 0.3, "Brand 3": 0.2}.items()
    )


def test_lower_temperature_against_the_whole_vocabulary(tiny: Tiny, double: OllamaDouble) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = (
        AutoTokenizer.from_pretrained(tiny.folder),
        AutoModelForCausalLM.from_pretrained(tiny.folder).eval(),
    )
    question = item(
        "Reply with Brand 1, Brand 2 or Brand 3 only.\nAnswer:", "Brand 1", "Brand 2", "Brand 3"
    )
    prompt = tokenizer.apply_chat_template(
        messages_of(question), add_generation_prompt=True, return_dict=True
    )["input_ids"]

    def whole(path: tuple[int, ...]) -> NextTokens:
        with torch.no_grad():
            logprobs = (
                model(torch.tensor([[*prompt, *path]])).logits[0, -1].log_softmax(-1).tolist()
            )
        tokens = [
            Token(key, tokenizer.decode([key], skip_special_tokens=True), logprob)
            for key, logprob in enumerate(logprobs)
        ]
        return tempered(NextTokens(tokens, logprobs[tokenizer.eos_token_id]), 0.6)

    exact = measure(answer_tree(question["options"]), whole)
    seen = asked(at(double, temperature=0.6), [Request(question, 0, 1)], "option_probability")[0]
    assert seen.p == pytest.approx(exact.p, abs=1e-3) and seen.valid_mass == pytest.approx(
        exact.valid_mass, abs=2e-3
    )


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


# What goes wrong


def test_a_storm_of_full_queues_is_sat_out(double: OllamaDouble) -> None:
    double.quirks = Quirks(fail_every=3)
    answers = asked(at(double, concurrency=4))
    assert {answer.status for answer in answers} == {"ok"} and max(
        answer.attempt for answer in answers
    ) > 1
    assert len(double.sent("/api/chat")) == 24 + sum(answer.attempt - 1 for answer in answers)


def test_a_real_queue_that_is_full(double: OllamaDouble) -> None:
    double.quirks = Quirks(queue=0, slow=0.05)
    answers = asked(at(double, concurrency=12), REQUESTS[:12])
    assert {answer.status for answer in answers} == {"ok"} and max(
        answer.attempt for answer in answers
    ) > 1


def test_a_server_that_stays_busy(double: OllamaDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    hurried = partial(calls.ask_all, attempts=2, pause=0.01)
    monkeypatch.setattr("cogbias.elicitation.server.ask_all", hurried)
    double.quirks = Quirks(fail_every=1)
    answers = asked(at(double), REQUESTS[:3])
    assert [(answer.status, answer.attempt) for answer in answers] == [
        ("error", 2)
    ] * 3 and answers[0].detail.startswith("ollama: the server's queue is full; lower concurrency")
    with pytest.raises(CogbiasError, match="the last 20 requests failed"):
        asked(at(double))


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


def test_an_error_in_mid_stream_is_worth_another_try(double: OllamaDouble) -> None:
    double.quirks = Quirks(break_every=1)
    with pytest.raises(ollama.ResponseError) as broken:
        list(make_client(double.url).chat("tiny", messages_of(LETTERS), stream=True))
    assert broken.value.status_code == -1 and explain(broken.value, "tiny", double.url).retry


def test_a_generation_without_done_is_no_answer(double: OllamaDouble) -> None:
    double.quirks = Quirks(undone_every=2)
    answers = asked(at(double), REQUESTS[:6])
    assert (
        [answer.status for answer in answers] == ["ok", "error"] * 3
        and "without being done" in answers[1].detail
        and answers[1].attempt == 1
    )


def test_weights_that_change_under_way(
    double: OllamaDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "CHECK_SECONDS", 0.0)
    who, store, before = at(double), TrialStore(tmp_path / "tiny.jsonl"), double.model.digest
    who.methods, setattr(double, "quirks", Quirks(new_digest_after=double.generations + 5))
    with pytest.raises(
        CogbiasError, match="now leads to other weights .* stored under the old digest"
    ):
        collect(items(12), who, store, "text")
    assert 3 <= len(store.read()) <= 5 and set(store.read().revision) == {
        before
    }  # an answer is stored only after the digest was found unchanged
    with pytest.raises(CogbiasError, match="nothing was asked"):
        asked(who)
    fresh = collect(items(12), at(double), store, "text")
    assert (
        fresh.asked == 12
        and store.read(fresh.trial_ids).revision.nunique() == 1
        and store.read().revision.nunique() == 2
    )


def test_a_model_that_was_not_pulled(double: OllamaDouble) -> None:
    with pytest.raises(
        CogbiasError,
        match="model 'tinny' was not pulled; did you mean 'tiny:latest'. Or run `ollama "
        "pull tinny`",
    ):
        PARTICIPANT("tinny", base_url=double.url).revision
    with pytest.raises(ollama.ResponseError) as refused:
        make_client(double.url).chat("gone", messages_of(LETTERS))
    assert explain(refused.value, "gone", double.url)[1:] == (False, None, True)


def test_no_server() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(
        CogbiasError, match="no server answers at http://127.0.0.1:.* start it with `ollama serve`"
    ):
        PARTICIPANT("tiny", base_url=url).methods
    with pytest.raises(ConnectionError) as down:
        make_client(url).list()
    with pytest.raises(httpx.ConnectError) as down_while_streaming:
        list(make_client(url).chat("tiny", messages_of(LETTERS), stream=True))
    assert explain(down.value, "tiny", url) == explain(down_while_streaming.value, "tiny", url)


def test_something_that_is_no_ollama(double: OllamaDouble, upstream: str) -> None:
    double.quirks = Quirks(html=True)
    for url in (double.url, upstream):
        with pytest.raises(
            CogbiasError, match="not as Ollama does; check base_url|has no Ollama API there"
        ) as refused:
            PARTICIPANT("tiny", base_url=url).revision
        assert "\n" not in str(refused.value)


def test_a_server_that_hangs(double: OllamaDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    hurried = partial(calls.ask_all, attempts=2, pause=0.01)
    monkeypatch.setattr("cogbias.elicitation.server.ask_all", hurried)
    double.quirks = Quirks(slow=4.0)
    began = time.monotonic()
    answer = asked(PARTICIPANT("tiny", base_url=double.url, timeout=0.5), REQUESTS[:1])[0]
    assert (
        (answer.status, answer.attempt) == ("error", 2)
        and "no answer within the time limit" in answer.detail
        and time.monotonic() - began < 4.0
    )


# Where it runs


def test_one_participant_in_many_threads(double: OllamaDouble) -> None:
    who = at(double)
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda seed: asked(who, [Request(LETTERS, 0, seed)])[0].response, range(32))
        )
        assert len(set(map(id, pool.map(lambda _: who.connection, range(32))))) == 1
    assert found == [
        answer.response
        for answer in asked(at(double), [Request(LETTERS, 0, seed) for seed in range(32)])
    ]


def test_inside_a_running_event_loop(double: OllamaDouble) -> None:
    async def page() -> list[Answer]:
        return asked(at(double, concurrency=2), REQUESTS[:4])

    assert [answer.status for answer in asyncio.run(page())] == ["ok"] * 4


def _response(who: backend.OllamaParticipant) -> str | None:
    return asked(who, REQUESTS[:1])[0].response


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_in_a_worker_process(double: OllamaDouble, start: str) -> None:
    who = at(double)
    here = _response(who)  # the connection is made before the process is
    assert pickle.loads(pickle.dumps(who)) == who and set(
        pickle.loads(pickle.dumps(who)).__dict__
    ) == set(at(double).__dict__)
    with ProcessPoolExecutor(1, multiprocessing.get_context(start)) as pool:
        assert pool.submit(_response, who).result(60) == here


def test_a_collection_is_resumed_without_asking_again(double: OllamaDouble, tmp_path: Path) -> None:
    store = TrialStore(tmp_path / "tiny.jsonl")
    first = collect(items(6), at(double), store)
    count = double.generations
    again = collect(items(6), at(double), store)
    assert (
        first.method == "option_probability"
        and (first.asked, again.asked, again.stored) == (6, 0, 6)
        and first.complete
    )
    assert double.generations - count < 10  # only the question whether probabilities can be seen
    assert (
        set(store.read().revision) == {double.model.digest}
        and store.read().p.map(lambda p: abs(sum(p.values()) - 1) < 1e-9).all()
    )


# The double itself


def test_the_double_speaks_ollama(double: OllamaDouble) -> None:
    client, chat = make_client(double.url), {"model": "tiny", "messages": messages_of(LETTERS)}
    parts = list(
        client.chat(
            **chat,
            stream=True,
            logprobs=True,
            top_logprobs=2,
            options={"seed": 1, "num_predict": 3},
        )
    )
    assert (
        parts[-1].done
        and parts[-1].logprobs is None
        and parts[0].logprobs
        and not parts[0].done
        and parts[0].message.content in "AB"
    )
    assert client.chat(
        **chat,
        options={"temperature": 0},
        format={
            "type": "object",
            "properties": {"answer": {"enum": ["A", "B"]}},
            "required": ["answer"],
        },
    ).message.content.startswith("{")
    for wrong, status in (
        ({"top_logprobs": 21, "logprobs": True}, 400),
        ({"format": "yaml"}, 400),
        ({"model": "none"}, 404),
        ({"model": ""}, 400),
    ):
        request = urllib.request.Request(
            f"{double.url}/api/chat",
            json.dumps({**chat, **wrong, "stream": False}).encode(),
            {"Content-Type": "application/json"},
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == status and "error" in json.load(refused.value)
    assert (
        client.generate("tiny", "").done_reason == "load"
        and client.ps().models
        and client.generate("tiny", "", keep_alive=0).done_reason == "unload"
        and not client.ps().models
    )
    double.quirks = Quirks(fail_every=1)
    with pytest.raises(ollama.ResponseError, match=BUSY):
        client.chat(**chat)


def test_the_double_as_a_program(tiny: Tiny, upstream: str) -> None:
    command = [
        sys.executable,
        str(Path(__file__).with_name("ollama_double.py")),
        "--gguf",
        str(tiny.gguf),
        "--upstream",
        upstream,
        "--port",
        "0",
        "--version",
        "0.31.0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            url = program.stdout.readline().split()[3].rstrip(",")
            with urllib.request.urlopen(f"{url}/api/version") as page:
                assert json.load(page) == {"version": "0.31.0"}
        finally:
            program.terminate()


# A real Ollama, for those who have one: OLLAMA_HOST=127.0.0.1:11434 COGBIAS_LIVE_MODEL=qwen3:0.6b
# pytest tests/test_ollama.py -k live


@pytest.fixture(scope="module")
def live() -> backend.OllamaParticipant:
    "A participant at a real server."
    model = os.environ.get("COGBIAS_LIVE_MODEL")
    if not (model and os.environ.get("OLLAMA_HOST")):
        pytest.skip("no live Ollama: set OLLAMA_HOST and COGBIAS_LIVE_MODEL to ask one")
    who = PARTICIPANT(model)
    try:
        who.revision
    except CogbiasError as error:
        pytest.skip(f"no live Ollama: {error}")
    return who


def test_live_facts(live: backend.OllamaParticipant) -> None:
    facts = live.facts()
    assert (
        len(live.revision) == 64
        and facts["server"].startswith("Ollama ")
        and facts["rendered_prompt"]
    ), facts


def test_live_words(live: backend.OllamaParticipant) -> None:
    questions = [
        Request(each, 0, 1)
        for each in paradigm("choice/certainty").items().head(4).to_dict("records")
    ]
    answers = asked(live, questions)
    assert all(answer.status != "error" and answer.tokens_in for answer in answers), answers
    assert [
        answer.response for answer in asked(PARTICIPANT(live.model, temperature=0.0), questions)
    ] == [answer.response for answer in asked(PARTICIPANT(live.model, temperature=0.0), questions)]


def test_live_probabilities_agree_with_words(live: backend.OllamaParticipant) -> None:
    if "option_probability" not in live.methods:
        pytest.skip(f"no probabilities: {live.probability_access.reason}")
    question = paradigm("choice/certainty").items().iloc[0].to_dict()
    measured = asked(live, [Request(question, 0, 1)], "option_probability")[0]
    answers = asked(live, [Request(question, 0, seed) for seed in range(60)])
    read = [answer.choice for answer in answers if answer.status == "ok"]
    assert measured.status == "ok" and measured.valid_mass > 0.5, measured
    assert (
        abs(read.count("A") / len(read) - measured.p["A"]) < 4 * math.sqrt(0.25 / len(read)) + 0.05
    )
