"""Somebody else's server: who is asked, what may come back, what is kept."""

import copy
import json
import math
from typing import Any

import httpx
import httpx2
import pytest
from doubles import item

from cogbias.backends.ollama import OllamaParticipant
from cogbias.backends.openai import OpenaiParticipant
from cogbias.elicitation.calls import without_secrets
from cogbias.participants import Request, participant
from cogbias.tables import CogbiasError

pytestmark = pytest.mark.usefixtures("no_settings_of_the_machine")
ITEM = item("A or B?", "A", "B")
MISSING = object()
META = {"n_vocab": 5, "n_params": 10, "ftype": "Q4", "n_ctx": 100}
OWNED = {"id": "tiny", "aliases": ["t"], "owned_by": "llamacpp", "root": "x"}
PAGES: dict[str, dict[str, Any]] = {
    "openai": {
        "/v1/models": {"data": [OWNED | {"max_model_len": 4096, "meta": META}]},
        "/props": {"build_info": "b1", "chat_template": "{{}}"},
    },
    "ollama": {
        "/api/version": {"version": "0.40"},
        "/api/ps": {"models": [{"name": "tiny:latest", "context_length": 4096}]},
        "/api/tags": {"models": [{"name": "tiny:latest", "digest": "d1ce", "size": 1}]},
        "/api/show": {
            "details": {"family": "llama", "quantization_level": "Q4"},
            "model_info": {"general.parameter_count": 5, "llama.context_length": 9},
            **{"capabilities": ["completion"], "template": "x", "parameters": "p"},
            "remote_host": "",
        },
    },
}
LISTED = [{"token": text, "logprob": math.log(p)} for text, p in (("A", 0.6), ("B", 0.4))]


def healthy(backend, sent):
    "An answer as it should be: A with probability .6, then the end."
    begun = sent["messages"][-1]["role"] == "assistant"
    most = (sent.get("options") or {}).get("num_predict") or sent.get("max_tokens", 1)
    ended = [{"token": "", "logprob": 0.0}]
    tokens = [{"token": "A", "logprob": -0.5, "top_logprobs": ended if begun else LISTED}]
    tokens += [{"token": "", "logprob": 0.0, "top_logprobs": ended}] * (most > 1)
    message, read = {"role": "assistant", "content": "A"}, 21 if begun else 20
    if backend == "ollama":
        body = {"model": "tiny", "message": message, "done": True, "done_reason": "stop"}
        logs = {"logprobs": tokens} if sent.get("logprobs") else {}
        return body | logs | {"prompt_eval_count": read, "eval_count": 1}
    logs = {"logprobs": {"content": tokens}} if sent.get("logprobs") else {}
    return {
        "model": "tiny",
        "choices": [{"message": message, "finish_reason": "stop"} | logs],
        "usage": {"prompt_tokens": read, "completion_tokens": 1},
    }


def places(body, path=()):
    "Where a body holds something."
    yield path
    pairs = body.items() if isinstance(body, dict) else ()
    for name, value in enumerate(body) if isinstance(body, list) else pairs:
        yield from places(value, (*path, name))


def replaced(body, path, value):
    "A body with something else at a place; as it was where there is no such place."
    if not path:
        return {} if value is MISSING else value
    body = copy.deepcopy(body)
    inner = body
    try:
        for name in path[:-1]:
            inner = inner[name]
        if value is MISSING:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
    except (KeyError, IndexError):
        pass
    return body


class World:
    "A server without a network, with something else at one place of one page or of its answers."

    def __init__(self, backend, page="", path=(), other=None):
        self.backend, self.page, self.path, self.other = backend, page, path, other
        self.http = httpx2 if backend == "openai" else httpx

    def body(self, request):
        "What is answered."
        page = request.url.path
        if request.method == "GET" or page == "/api/show":
            body = PAGES[self.backend].get(page, {})
        else:
            body, page = healthy(self.backend, json.loads(request.content)), "answer"
        return replaced(body, self.path, self.other) if page == self.page else body

    def participant(self, **settings):
        "Who is in front of it."
        answer = lambda request: self.http.Response(200, text=json.dumps(self.body(request)))
        made = {"openai": OpenaiParticipant, "ollama": OllamaParticipant}[self.backend]
        url = {"openai": "http://h/v1", "ollama": "http://h"}[self.backend]
        network = self.http.MockTransport(answer)
        return made("tiny", base_url=url, transport=network, concurrency=1, **settings)


def one(who, method):
    "Its answer to one question."
    return next(iter(who.answers([Request(ITEM, 0, 1)], method)))[1]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    "Nobody pauses."
    monkeypatch.setattr("cogbias.elicitation.calls.LONGEST_PAUSE", 0.0)


INSTEAD = (MISSING, 10**30, [1], math.nan, "\x1b[31m\ud800")


@pytest.mark.parametrize("method", ["text", "option_probability"])
@pytest.mark.parametrize("backend", ["openai", "ollama"])
def test_every_field_of_an_answer(backend, method):
    "Missing and of four wrong types: it costs that answer, or changes nothing."
    sent = {"messages": [{"role": "user"}], "logprobs": method != "text", "max_tokens": 1}
    for path in places(healthy(backend, sent)):
        world = World(backend)
        who = world.participant()
        assert method in who.methods
        world.page, world.path = "answer", path
        for world.other in INSTEAD:
            try:
                answer = one(who, method)
            except CogbiasError as error:
                assert str(error).isprintable()
                continue
            said = f"{answer.detail or ''}{answer.finish_reason or ''}"
            assert said.isprintable() and len(said) < 700
            if answer.p and answer.status == "ok":
                assert answer.p["A"] == pytest.approx(0.6, abs=1e-6) or (
                    answer.detail or answer.valid_mass < 0.99
                ), path


@pytest.mark.parametrize("backend", ["openai", "ollama"])
def test_every_field_of_a_page(backend):
    for page, body in PAGES[backend].items():
        for path in places(body):
            for value in INSTEAD:
                who = World(backend, page, path, value).participant()
                try:
                    told = json.dumps([who.identity, who.facts(), who.name])
                    assert "u001b" not in told and one(who, "text").status == "ok"
                except CogbiasError as error:
                    assert str(error).isprintable() and len(str(error)) < 700


@pytest.mark.parametrize("backend", ["openai", "ollama"])
def test_no_request_goes_to_another_host(backend):
    went = []
    world = World(backend)
    who = world.participant()
    assert who.methods

    def moving(request):
        went.append(str(request.url))
        return world.http.Response(307, headers={"location": "https://there.example/x-key/v1"})

    who.client._client._transport.inner = world.http.MockTransport(moving)
    with pytest.raises(CogbiasError, match="redirects us to https://there.example/.hidden./v1"):
        one(who, "text")
    assert all(url.startswith("http://h/") for url in went) and len(went) < 4


SECRETS = ("correct.horse+battery/42", "tr0ub4dor")


def test_what_a_good_answer_repeats_is_taken_out(monkeypatch):
    "A server repeats all that it was sent, in every text of an answer that is otherwise good."
    monkeypatch.setenv("OPENAI_API_KEY", SECRETS[0])

    def answer(request):
        told = " ".join(SECRETS)
        if request.method == "GET":
            body = {"data": [{"id": "tiny", "owned_by": told, "root": told}]}
        else:
            body = healthy("openai", json.loads(request.content)) | {"model": told}
            body["choices"][0]["message"] = {"content": f"A\n{told}", "reasoning": told}
        return httpx2.Response(200, text=json.dumps(body).replace("/", "\\/"))

    who = OpenaiParticipant(
        "tiny",
        base_url=f"http://h/{SECRETS[1]}/v1",
        extra={"min_p": 0.05},
        transport=httpx2.MockTransport(answer),
    )
    answers = list(who.answers([Request(ITEM, 0, n) for n in range(3)], "text"))
    told = f"{answers} {who.identity} {who.facts()} {who.name} {who!r}"
    assert "[secret]" in answers[0][1].response and "min_p" in told
    assert not [secret for secret in SECRETS if secret in told]


def test_no_secret_gets_into_a_record():
    for extra in ({"api_key": "one"}, {"chat_template": "Zq7planted5ecretVa1ue"}):
        with pytest.raises(CogbiasError, match="extra holds what looks like a key") as refused:
            participant("openai/m", extra=extra)
        assert "planted" not in str(refused.value)
    kept = without_secrets({"base_url": "http://h/planted/v1"})
    assert kept == {"base_url": "http://h/[hidden]/v1"}
    one, another = (participant("openai/m", extra={"persona": who}) for who in ("shy", "bold"))
    assert one.name != another.name  # a text that may shape answers makes another participant
    with pytest.raises(CogbiasError, match="comes from a record, which keeps no secrets"):
        participant("openai/tiny", **kept)
