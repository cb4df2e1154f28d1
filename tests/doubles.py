"""A double of a chat server that fails as it is told, in OpenAI's protocol and in Ollama's.

Faults are scripted; no model is needed.

    with Double(lambda asked: "busy" if asked.number == 3 else None) as double:
        participant("openai/tiny", base_url=double.openai).answers(...)

What it answers depends on the prompt and the seed alone, see `reply`, so that every stored answer
can be checked. It gives no log-probabilities.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from cogbias.tables import option

CHATS = ("/v1/chat/completions", "/api/chat")


def item(prompt: str, *labels: str, **more: Any) -> dict[str, Any]:
    "A row of an items table, as far as a participant needs it."
    return {
        "system": None,
        "prompt": prompt,
        "options": [option(label, label, f"role {label}") for label in labels],
        "answer": "choice",
        "item_id": prompt,
        **more,
    }


def draw(prompt: str, seed: int) -> int:
    "A number that depends on the question and the seed alone."
    return int.from_bytes(hashlib.blake2b(f"{seed} {prompt}".encode(), digest_size=6).digest())


def reply(prompt: str, seed: int) -> str:
    "What the double answers."
    return "AB"[draw(prompt, seed) % 2]


class Asked(NamedTuple):
    "A chat that came in."

    number: int  # of all chats, from 1
    time: int  # how often the same question with the same seed was asked, from 1
    prompt: str
    seed: int
    body: Mapping[str, Any]
    authorization: str

    @property
    def draw(self) -> int:
        "A number that depends on the question and the seed alone."
        return draw(self.prompt, self.seed)


def _json(handler: _Handler, asked: Asked, body: Any, status: int = 200, **headers: str) -> None:
    handler.send(status, json.dumps(body).encode(), **headers)


def _error(asked: Asked, words: str, **more: Any) -> dict[str, Any]:
    "An error body of either protocol, which repeats the key, as some servers do."
    said = f"{words}; you sent Authorization: {asked.authorization}"
    return {"error": said} if "options" in asked.body else {"error": {"message": said, **more}}


def _cut(handler: _Handler, asked: Asked) -> None:
    "Half of the body that was announced, and then nothing."
    body = json.dumps(handler.answer(asked)).encode()
    handler.send(200, body[: len(body) // 2], content_length=str(len(body)))
    handler.close_connection = True


def _torn(handler: _Handler, asked: Asked) -> None:
    "Lines of JSON, the last one torn; the connection ends the body, so nothing tells of the cut."
    whole = handler.answer(asked)
    first = json.dumps({**whole, "done": False}) + "\n"
    handler.send(
        200,
        (first + json.dumps(whole)[:40]).encode(),
        content_type="application/x-ndjson",
        content_length="",
    )
    handler.close_connection = True


def _gone(handler: _Handler, asked: Asked) -> None:
    handler.close_connection = True


def _hang(handler: _Handler, asked: Asked) -> None:
    "Longer than any client waits."
    handler.server.double.stopping.wait(20)
    handler.close_connection = True


FAULTS: dict[str, Callable[[_Handler, Asked], None]] = {
    "busy": lambda handler, asked: _json(
        handler, asked, _error(asked, "rate limit reached"), 429, retry_after="0"
    ),
    "wait": lambda handler, asked: _json(
        handler, asked, _error(asked, "rate limit reached"), 429, retry_after="0.4"
    ),
    "down": lambda handler, asked: _json(
        handler, asked, _error(asked, "overloaded"), 503, retry_after="0"
    ),
    "storm": lambda handler, asked: _json(handler, asked, _error(asked, "overloaded"), 503),
    "wrong": lambda handler, asked: _json(handler, asked, _error(asked, "prompt is too long"), 400),
    "key": lambda handler, asked: _json(
        handler, asked, _error(asked, "incorrect API key provided", code="invalid_api_key"), 401
    ),
    "credit": lambda handler, asked: _json(
        handler, asked, _error(asked, "no credit", code="insufficient_quota"), 429
    ),
    "model": lambda handler, asked: _json(
        handler, asked, _error(asked, "model 'tiny' not found"), 404
    ),
    "error in 200": lambda handler, asked: _json(
        handler, asked, _error(asked, "upstream broke", code=502)
    ),
    "html": lambda handler, asked: handler.send(
        200,
        f"<html><body><h1>Sign in</h1>{asked.authorization}</body></html>".encode(),
        content_type="text/html",
    ),
    "html error": lambda handler, asked: handler.send(
        502,
        f"<html><body><h1>Bad gateway</h1>{asked.authorization}</body></html>".encode(),
        content_type="text/html",
        retry_after="0",
    ),
    "encoding": lambda handler, asked: handler.send(
        200, b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'
    ),
    "compression": lambda handler, asked: handler.send(
        200, b"this is not gzip", content_encoding="gzip"
    ),
    "no choices": lambda handler, asked: _json(handler, asked, {"choices": [], "message": None}),
    "null": lambda handler, asked: handler.send(200, b"null"),
    "empty": lambda handler, asked: handler.send(200, b""),
    "not http": lambda handler, asked: (
        handler.wfile.write(b"220 mail.example ESMTP\r\n") and _gone(handler, asked)
    ),
    "cut": _cut,
    "torn": _torn,
    "gone": _gone,
    "hang": _hang,
}


class _Handler(BaseHTTPRequestHandler):
    "One connection."

    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True
    server: _Server

    def log_message(self, *_: Any) -> None:
        "Say nothing."

    def send(self, status: int, body: bytes, **headers: str) -> None:
        "Head and body in one write: two would wait for each other."
        sent = {"content_type": "application/json", "content_length": str(len(body))} | headers
        head = "".join(
            f"{name.replace('_', '-')}: {value}\r\n" for name, value in sent.items() if value
        )
        self.wfile.write(f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode() + body)

    @property
    def place(self) -> str:
        "The path without what a gateway puts before it."
        known = ("/v1/models", "/api/version", "/api/ps", "/api/tags", *CHATS)
        return next((each for each in known if self.path.endswith(each)), self.path)

    def do_GET(self) -> None:
        pages = {
            "/v1/models": {"data": [{"id": "tiny", "owned_by": "double"}]},
            "/api/version": {"version": "0.40.0"},
            "/api/ps": {"models": []},
            "/api/tags": {"models": [{"name": "tiny:latest", "digest": "d1ce" * 16, "size": 1}]},
        }
        self.send(
            200 if self.place in pages else 404,
            json.dumps(pages.get(self.place, {"error": "not found"})).encode(),
        )

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        if self.place not in CHATS:
            return self.send(
                200,
                json.dumps(
                    {"details": {}, "model_info": {}, "capabilities": ["completion"]}
                ).encode(),
            )
        asked = self.server.double.note(body, self.headers.get("authorization") or "")
        fault = self.server.double.script(asked)
        if callable(fault):
            return fault(self, asked)
        FAULTS[fault](self, asked) if fault else _json(self, asked, self.answer(asked))

    def answer(self, asked: Asked) -> dict[str, Any]:
        "What a server in good health sends."
        message = {"role": "assistant", "content": reply(asked.prompt, asked.seed)}
        if self.place == "/api/chat":
            return {
                "model": "tiny",
                "message": message,
                "done": True,
                "done_reason": "stop",
                "prompt_eval_count": 20,
                "eval_count": 1,
            }
        return {
            "model": "tiny",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 1},
        }


class _Server(ThreadingHTTPServer):
    request_queue_size, daemon_threads = 128, True
    double: Double

    def handle_error(self, *_: Any) -> None:
        "A client that went away is no news."


@dataclass
class Double:
    "The server; a context manager."

    script: Callable[[Asked], str | Callable[[_Handler, Asked], None] | None] = lambda asked: (
        None
    )  # name of a fault, what is done instead, or None; may be changed while it runs
    asked: list[Asked] = field(default_factory=list)  # chats, in order
    times: Counter[tuple[str, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.lock, self.stopping = threading.Lock(), threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.double = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.openai = f"{self.url}/v1"

    def note(self, body: Mapping[str, Any], authorization: str) -> Asked:
        "Keep what was asked."
        prompt, seed = body["messages"][-1]["content"], (body.get("options") or body).get("seed", 0)
        with self.lock:
            self.times[prompt, seed] += 1
            self.asked.append(
                Asked(
                    len(self.asked) + 1, self.times[prompt, seed], prompt, seed, body, authorization
                )
            )
            return self.asked[-1]

    def __enter__(self) -> Double:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        time.sleep(0)
