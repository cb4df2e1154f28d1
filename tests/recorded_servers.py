"""Conversations with servers, recorded once and played back without any server.

The recording holds what was asked and answered, word for word, and what the participants of that
day made of it: names, revisions, identities, trial ids, answers. Playing back, a request that was
not recorded fails. So a change of the code that changes a request, or the identity of a stored
answer, is seen.

    python tests/recorded_servers.py        # records anew, which is a change of identities

It needs a llama-server; see `servers.py`.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from doubles import item

from cogbias.participants import Participant, Request, participant
from cogbias.tables import CogbiasError

RECORDING = Path(__file__).parent / "fixtures" / "servers.json.gz"
OPENAI, OLLAMA = "http://127.0.0.1:8080/v1", "http://127.0.0.1:11434"
PASSING = ("latency_s", "started_at")  # fields of an answer that no two runs share
PASSING += (
    "tokens_thinking",
    "effort",
    "effort_sent",
    "provider",
)  # and those that came after the recording
CHANGING = ("client", "host")  # facts that belong to the machine


ITEMS = {
    "letters": item("Which option do you choose?\nA) bus\nB) doctor\nAnswer with A or B.\n", *"AB"),
    "brands": item(
        "Which do you buy?\nReply with Brand 1 or Brand 2 only.\n", "Brand 1", "Brand 2"
    ),
    "words": item("Is it valid or invalid?\nReply with one word.\n", "valid", "invalid"),
    "buyer": item("A or B?\nAnswer with A or B only.\n", *"AB", system="You are a buyer."),
}


@dataclass
class Case:
    "A participant, and what it is asked."

    name: str  # of the participant
    server: str  # of those in `servers`
    settings: Mapping[str, Any] = field(default_factory=dict)
    items: Sequence[str] = ("letters",)
    methods: Sequence[str] = ("text", "option_probability")
    home: str | None = None  # address that it is given; None: the usual one


CASES = {
    "llama.cpp": Case("openai/tiny", "llama.cpp", {"system": "Be brief."}, tuple(ITEMS)),
    "llama.cpp, cold": Case("openai/tiny", "llama.cpp", {"temperature": 0.5}, ("brands",)),
    "llama.cpp, warm, in words": Case(
        "openai/tiny",
        "llama.cpp",
        {"temperature": 1.5, "top_p": 0.9, "extra": {"user": "me", "top_k": 5}, "max_tokens": 9},
        ("letters", "buyer"),
        ("text",),
    ),
    "llama.cpp, thinking": Case("openai/think", "thinker", {"think": True}, methods=("text",)),
    "vLLM": Case("openai/tiny", "vLLM", items=("letters", "brands")),
    "OpenAI": Case("openai/gpt-x", "OpenAI", {"think": "low"}, home="https://api.openai.com/v1"),
    "few tokens": Case("openai/tiny", "healthy"),
    "in words": Case("openai/tiny", "words", methods=("text",)),
    "Ollama": Case("ollama/tiny", "Ollama", {"system": "Be brief."}, tuple(ITEMS)),
    "Ollama, cold": Case("ollama/tiny", "Ollama", {"temperature": 0.5}, ("brands",)),
    "Ollama, greedy": Case("ollama/tiny", "Ollama", {"temperature": 0}),
    "Ollama, warm, in words": Case(
        "ollama/tiny",
        "Ollama",
        {"temperature": 1.5, "stop": ["\n"], "num_ctx": 512, "max_tokens": 9},
        ("letters", "buyer"),
        ("text",),
    ),
    "Ollama, raw": Case("ollama/tiny", "closing Ollama", items=("letters", "brands")),
    "Ollama, recut": Case("ollama/tiny", "recutting Ollama"),
    "Ollama, thinking": Case("ollama/tiny", "thinking Ollama", {"think": True}, methods=("text",)),
    "Ollama, few tokens": Case("ollama/tiny", "healthy Ollama"),
    "Ollama, in words": Case("ollama/tiny", "words Ollama", methods=("text",)),
}


def place_of(request: Any) -> str:
    "What tells one request from another: method, path and body."
    body = json.dumps(json.loads(request.content or b"null"), sort_keys=True)
    return f"{request.method} {request.url.path} {body}"


def client_library(name: str) -> Any:
    "The library that the client of a backend speaks through."
    from importlib import import_module

    return import_module("httpx2" if name.startswith("openai/") else "httpx")


def playing(case: Case, tape: Mapping[str, Any]) -> Any:
    "A transport that knows recorded answers only."
    library = client_library(case.name)

    def answer(request: Any) -> Any:
        status, kind, text = tape[place_of(request)]
        return library.Response(status, text=text, headers={"content-type": kind})

    return library.MockTransport(answer)


def asking(case: Case, url: str, tape: dict[str, Any], rewritten: Any) -> Any:
    "A transport that asks a real server, whatever its address, and keeps the answers."
    library = client_library(case.name)
    network = library.Client(timeout=120)

    def answer(request: Any) -> Any:
        head = {"content-type": "application/json"}
        there = network.request(
            request.method, url + request.url.path, content=request.content, headers=head
        )
        text = rewritten(request.url.path, there.text)
        place = place_of(request)
        kind = there.headers.get("content-type", "")
        status, kind, text = tape.setdefault(place, [there.status_code, kind, text])
        return library.Response(status, text=text, headers={"content-type": kind})

    return library.MockTransport(answer)


def made(case: Case, transport: Any) -> Participant:
    "The participant of a case."
    home = case.home or (OPENAI if case.name.startswith("openai/") else OLLAMA)
    who = participant(case.name, base_url=home, concurrency=1, **case.settings)
    return replace(who, transport=transport)


def _answers(who: Participant, case: Case, method: str) -> list[dict[str, Any]] | str:
    "What it answers, without what no two runs share; where it refuses, its words."
    requests = [Request(ITEMS[name], 0, seed) for name in case.items for seed in (1, 2)]
    if method == "option_probability":
        requests = requests[::2]  # seeds do not matter
    try:
        answers = dict(who.answers(requests, method))
    except CogbiasError as error:
        return str(error)
    return [
        {name: value for name, value in answers[n]._asdict().items() if name not in PASSING}
        for n in range(len(requests))
    ]


def portrait(who: Participant, case: Case) -> dict[str, Any]:
    "Everything by which the answers of a participant are known, and these answers."
    facts = {name: value for name, value in who.facts().items() if name not in CHANGING}
    found = {
        "name": who.name,
        "revision": who.revision,
        "identity": who.identity,
        "methods": who.methods,
        "facts": facts,
        "answers": {method: _answers(who, case, method) for method in case.methods},
    }
    return json.loads(json.dumps(found))


def recorded() -> dict[str, Any]:
    "The recording: tapes by server, portraits by case."
    return json.loads(gzip.decompress(RECORDING.read_bytes()))


def without_times(text: str) -> str:
    "A body without what differs from call to call and nobody reads."
    try:
        body = json.loads(text)
    except ValueError:
        return text
    if isinstance(body, dict):
        body = {name: each for name, each in body.items() if name not in ("timings", "created")}
    return json.dumps(body)


def as_vllm(path: str, text: str) -> str:
    "The list of models of a vLLM, and its version."
    if path.endswith("/models"):
        entry = {"id": "tiny", "owned_by": "vllm", "root": "org/tiny", "max_model_len": 4096}
        return json.dumps({"data": [entry]})
    return json.dumps({"version": "0.33.0"}) if path == "/version" else without_times(text)


def as_openai(path: str, text: str) -> str:
    "Answers that carry the dated name of a model."
    if path.endswith("/models"):
        return json.dumps({"data": [{"id": "gpt-x", "owned_by": "openai"}]})
    return json.dumps(json.loads(without_times(text)) | {"model": "gpt-x-2026-01-01"})


@contextmanager
def servers() -> Iterator[dict[str, tuple[str, Any]]]:
    "Every server of the cases: its address, and how what it says is rewritten."
    from doubles import Double
    from ollama_double import OllamaDouble, Quirks
    from servers import llama_server

    from tiny_models import tiny_folder

    gguf = tiny_folder() / "tiny.gguf"
    thinking = tiny_folder(think=True) / "tiny.gguf"
    as_it_is = lambda path, text: without_times(text)
    with ExitStack() as stack:
        enter = stack.enter_context
        tiny, thinker = enter(llama_server(gguf)), enter(llama_server(thinking, alias="think"))
        plain = enter(Double())
        ollama = enter(OllamaDouble(gguf, tiny))
        closing = enter(OllamaDouble(gguf, tiny, quirks=Quirks(continues=False)))
        recutting = enter(OllamaDouble(gguf, tiny, quirks=Quirks(recuts=True)))
        thinks = enter(OllamaDouble(thinking, thinker, quirks=Quirks(thinking=True)))
        yield {
            "llama.cpp": (tiny, as_it_is),
            "thinker": (thinker, as_it_is),
            "vLLM": (tiny, as_vllm),
            "OpenAI": (plain.url, as_openai),
            "words": (plain.url, as_it_is),
            "Ollama": (ollama.url, as_it_is),
            "closing Ollama": (closing.url, as_it_is),
            "recutting Ollama": (recutting.url, as_it_is),
            "thinking Ollama": (thinks.url, as_it_is),
            "words Ollama": (plain.url, as_it_is),
        }


def record() -> None:
    "Record every case anew."
    tapes: dict[str, dict[str, Any]] = {}
    portraits = {}
    os.environ.setdefault("OPENAI_API_KEY", "sk-recorded-0123456789")
    with servers() as running:
        for name, case in CASES.items():
            if case.server not in running:  # a double that is gone: its tape is kept
                tapes[case.server] = recorded()["tapes"][case.server]
                portraits[name] = recorded()["portraits"][name]
                continue
            url, rewritten = running[case.server]
            tape = tapes.setdefault(case.server, {})
            who = made(case, asking(case, url, tape, rewritten))
            portraits[name] = portrait(who, case)
            print(name, who.methods, len(tape))
    text = json.dumps({"tapes": tapes, "portraits": portraits}, ensure_ascii=False)
    RECORDING.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(text):,} characters, {RECORDING.stat().st_size:,} bytes")


if __name__ == "__main__":
    record()
