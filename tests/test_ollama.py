"""The official Ollama client against a double of Ollama before a real llama-server."""

import math
import pickle

import pytest
from doubles import item
from ollama_double import OPTIONS, OllamaDouble, Quirks
from servers import MISSING, llama_server, llama_server_binary

from cogbias.backends.ollama import PARTICIPANT, OllamaSettings
from cogbias.tables import CogbiasError
from cogbias.participants import Request

CHOICE = (
    "Question: Which option do you choose?\nA) take the bus\nB) call a doctor\nAnswer with A "
    "or B only.\n"
)


LETTERS = item(CHOICE, "A", "B")
REQUESTS = [Request(LETTERS, 0, seed) for seed in range(24)]


@pytest.fixture(scope="module")
def gguf():
    "Writes the tiny model as a file for llama-server; skips where there is none to run it."
    if llama_server_binary() is None:
        pytest.skip(MISSING)
    pytest.importorskip("gguf", reason="the tiny model is written by the package gguf")
    from tiny_models import tiny_folder

    return lambda **planted: tiny_folder(**planted) / "tiny.gguf"


@pytest.fixture(scope="module")
def upstream(gguf):
    "A llama-server with the tiny model."
    with llama_server(gguf(), "-t", "1") as url:
        yield url


@pytest.fixture
def double(gguf, upstream):
    "An Ollama with the tiny model."
    with OllamaDouble(gguf(), upstream, parallel=4) as serving:
        yield serving


@pytest.fixture
def thinker(gguf):
    "An Ollama with a model that thinks unless told not to."
    weights = gguf(think=True)
    with llama_server(weights, "-t", "1") as url:
        with OllamaDouble(weights, url, parallel=4, quirks=Quirks(thinking=True)) as serving:
            yield serving


def at(double, **settings):
    "A participant at a double."
    return PARTICIPANT("tiny", base_url=double.url, timeout=20.0, **settings)


def asked(who, requests=REQUESTS, method="text"):
    "Answers in the order of the requests."
    answers = dict(who.answers(requests, method))
    return [answers[index] for index in range(len(requests))]


def test_every_option_is_sent_and_nothing_is_left_to_the_server(double):
    own = {"temperature": 0.5, "max_tokens": 7, "num_ctx": 512}
    who = at(double, **own, keep_alive="5m", system="Be brief.")
    buyer = {**LETTERS, "system": "You are a buyer."}
    asked(who, [Request(LETTERS, 0, 12345), Request(buyer, 0, 6)])
    first, second = double.sent("/api/chat")
    assert first == {
        **{"model": "tiny", "stream": False, "think": False, "tools": [], "keep_alive": "5m"},
        "options": {
            **OllamaSettings("tiny", 0.5, None, 7, num_ctx=512).options,
            "seed": 12345,
        },
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": CHOICE},
        ],
    }
    assert second["messages"][0]["content"] == "You are a buyer.\n\nBe brief."
    assert second["options"]["seed"] == 6
    assert set(first["options"]) == {*OPTIONS}


def test_the_key_for_ollama_com_stays_at_home(double, monkeypatch):
    monkeypatch.setenv("OLLAMA_API_KEY", "a-secret-key")
    who = at(double)
    who.methods, asked(who, REQUESTS[:2])
    assert double.received and all("authorization" not in each.headers for each in double.received)
    assert "a-secret-key" not in repr((who, who.identity, who.facts(), pickle.dumps(who)))


def test_words_are_drawn_by_the_seed_from_the_models_own_distribution(double):
    answers = asked(at(double, concurrency=4), [Request(LETTERS, 0, n) for n in range(200)])
    share = sum(answer.choice == "A" for answer in answers) / 200
    assert {answer.status for answer in answers} == {"ok"}
    assert abs(share - 0.7) < 4 * math.sqrt(0.21 / 200)
    one_at_a_time = asked(at(double), REQUESTS)
    assert [each.response for each in one_at_a_time] == [each.response for each in answers[:24]]
    assert {answer.response for answer in asked(at(double, temperature=0.0), REQUESTS)} == {"A"}
    first = answers[0]
    assert (first.finish_reason, first.tokens_out, first.attempt) == ("stop", 2, 1)
    assert first.tokens_in > 20 and first.latency_s > 0 and first.started_at


def test_thinking_is_explicit_and_kept_apart(thinker):
    quick, slow = at(thinker), at(thinker, think=True)
    for who, thinks in ((quick, False), (slow, True)):
        answer = asked(who, REQUESTS[:1])[0]
        assert thinker.sent("/api/chat")[-1]["think"] is thinks
        assert answer.status == "ok" and answer.response in "AB"
        assert bool(answer.thinking) is thinks
    assert (quick.methods, slow.methods) == (("option_probability", "text"), ("text",))
    assert slow.identity["think"] is True
    with pytest.raises(CogbiasError, match="it thinks before it answers; use method text"):
        asked(slow, REQUESTS[:1], "option_probability")


BRANDS = "Reply with Brand 1, Brand 2 or Brand 3 only.\nAnswer:"
TWO = "Reply with Brand 1 or Brand 2 only.\nAnswer:"
VALID = "Is the argument valid or invalid?\nReply with valid or invalid.\nAnswer:"
THREE = item(BRANDS, "Brand 1", "Brand 2", "Brand 3")
NUMBER = item("Answer with one number.\n", *map(str, range(1, 100)), answer="scale")


@pytest.mark.parametrize(
    "question",
    [LETTERS, item(VALID, "valid", "invalid"), THREE, item(TWO, "Brand 2", "Brand 1"), NUMBER],
    ids=["letters", "words", "brands", "two of three brands", "numbers"],
)
def test_probabilities_are_those_of_the_model(question, double):
    "Numbers need their end: two digits may be followed by a third."
    from tiny_models import tiny_probabilities

    (answer,) = asked(at(double), [Request(question, 0, 1)], "option_probability")
    known = tiny_probabilities(question["prompt"])
    known = {each["label"]: known[each["label"]] for each in question["options"]}
    total = sum(known.values())
    assert answer.status == "ok"
    assert answer.p == pytest.approx({label: p / total for label, p in known.items()}, abs=1e-3)
    assert answer.valid_mass == pytest.approx(total, abs=2e-3)


@pytest.mark.parametrize(
    "quirks",
    [
        Quirks(continues=False),
        Quirks(end_text="<|im_end|>"),
        Quirks(version="0.13.0", end_text="<|im_end|>", continues=False),
    ],
    ids=["raw", "named end", "both"],
)
def test_other_ways_to_the_same_probabilities(double, quirks):
    questions = [Request(THREE, 0, 1), Request(NUMBER, 0, 2)]
    usual = asked(at(double), questions, "option_probability")
    double.quirks = quirks
    for one, other in zip(usual, asked(at(double), questions, "option_probability")):
        assert one.p == pytest.approx(other.p, abs=1e-6)
        assert one.valid_mass == pytest.approx(other.valid_mass, abs=1e-6)
    raw = double.sent("/api/generate")
    assert bool(raw) is not quirks.continues and all(body["raw"] for body in raw)


@pytest.mark.parametrize("temperature", [0.0, 0.4, 0.7])
def test_lower_temperatures(double, temperature):
    odds = (0.7 / 0.3) ** (1 / temperature) if temperature else math.inf
    answer = asked(at(double, temperature=temperature), REQUESTS[:1], "option_probability")[0]
    assert answer.p["A"] == pytest.approx(1 / (1 + 1 / odds), abs=1e-3)


@pytest.mark.parametrize(
    ("quirks", "reason"),
    [
        (Quirks(logprobs=False), "gives no log-probabilities"),
        (Quirks(remote_host="https://ollama.com:443"), "cloud models give no log-probabilities"),
        (Quirks(continues=False, renders=False), "does not continue a prefilled answer"),
        (Quirks(tempered=True), "depend on how tokens are drawn"),
    ],
    ids=["old", "cloud", "neither", "tempered"],
)
def test_where_probabilities_cannot_be_seen_words_are_asked_for(double, quirks, reason, caplog):
    double.quirks = quirks
    who = at(double)
    assert who.methods == ("text",) and reason in caplog.text and len(double.sent("/api/chat")) < 60
    assert {answer.status for answer in asked(who, REQUESTS[:4])} == {"ok"}
    with pytest.raises(CogbiasError, match="use method text"):
        asked(who, REQUESTS[:1], "option_probability")


def test_a_server_that_cuts_what_was_begun_into_other_tokens(double):
    who = at(double)
    assert who.probability_access.counts
    double.quirks = Quirks(recuts=True)
    one_token = asked(who, REQUESTS[:1], "option_probability")[0]
    assert one_token.status == "ok"  # needs no beginning
    (several,) = asked(who, [Request(THREE, 0, 1)], "option_probability")
    assert several.status == "error" and "tokenized differently" in several.detail


@pytest.mark.parametrize(
    ("quirks", "concurrency"),
    [(Quirks(queue=0, slow=0.05), 12), (Quirks(drop_every=4), 2), (Quirks(break_every=4), 2)],
    ids=["full queue", "lost connection", "broken off"],
)
def test_what_fails_for_now_is_asked_again(double, quirks, concurrency):
    double.quirks = quirks
    answers = asked(at(double, concurrency=concurrency), REQUESTS[:12])
    assert {answer.status for answer in answers} == {"ok"}
    assert max(answer.attempt for answer in answers) > 1


def test_a_generation_without_done_is_no_answer(double):
    double.quirks = Quirks(undone_every=2)
    answers = asked(at(double), REQUESTS[:6])
    assert [answer.status for answer in answers] == ["ok", "error"] * 3
    assert "before it was complete" in answers[1].detail and answers[1].attempt == 1


def test_weights_that_change_under_way(double, monkeypatch):
    "No answer is given after the tag was found to lead elsewhere."
    monkeypatch.setattr("cogbias.elicitation.server.CHECK_SECONDS", 0.0)
    who, given = at(double), []
    who.methods, setattr(double, "quirks", Quirks(new_digest_after=double.generations + 5))
    with pytest.raises(CogbiasError, match="points to different .* stored under the old digest"):
        for pair in who.answers(REQUESTS, "text"):
            given.append(pair)
    assert 3 <= len(given) <= 5
    with pytest.raises(CogbiasError, match="points to different weights"):
        asked(who)


def test_a_model_that_was_not_pulled(double):
    words = (
        "model 'tinny' has not been pulled; did you mean 'tiny:latest'. Or run `ollama pull tinny`"
    )
    with pytest.raises(CogbiasError, match=words):
        PARTICIPANT("tinny", base_url=double.url).revision
