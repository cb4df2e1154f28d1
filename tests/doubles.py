"""A double of a chat server that fails as it is told, in OpenAI's protocol and in Ollama's.

Faults are scripted; no model is needed.

    with Double(lambda asked: "busy" if asked.number == 3 else None) as double:
        participant("openai/tiny", base_url=double.openai).answers(...)

What it answers depends on the prompt and the seed alone, see `reply`, so that every stored answer
can be checked. It gives no log-probabilities.
"""

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


def item(prompt, *labels, **more):
    "A row of an items table, as far as a participant needs it."
    return {
        "system": None,
        "prompt": prompt,
        "options": [option(label, label, f"role {label}") for label in labels],
        "answer": "choice",
        "item_id": prompt,
        **more,
    }


def draw(prompt, seed):
    "A number that depends on the question and the seed alone."
    return int.from_bytes(hashlib.blake2b(f"{seed} {prompt}".encode(), digest_size=6).digest())


def reply(prompt, seed):
    "What the double answers."
    return "AB"[draw(prompt, seed) % 2]


Fault = Callable[["_Handler", "Asked"], None]


class Asked(NamedTuple):
    "A chat that came in."

    number: int  # of all chats, from 1
    time: int  # how often the same question with the same seed was asked, from 1
    prompt: str
    seed: int
    body: Mapping[str, Any]
    authorization: str


def _json(handler, asked, body, status=200, **headers):
    handler.send(status, json.dumps(body).encode(), **headers)


def _error(asked, words, **more):
    "An error body of either protocol, which repeats the key, as some servers do."
    said = f"{words}; you sent Authorization: {asked.authorization}"
    return {"error": said} if "options" in asked.body else {"error": {"message": said, **more}}


def _cut(handler, asked):
    "Half of the body that was announced, and then nothing."
    body = json.dumps(handler.answer(asked)).encode()
    handler.send(200, body[: len(body) // 2], content_length=str(len(body)))
    handler.close_connection = True


def _torn(handler, asked):
    "Lines of JSON, the last one torn; the connection ends the body, so nothing tells of the cut."
    whole = handler.answer(asked)
    first = json.dumps({**whole, "done": False}) + "\n"
    lines = (first + json.dumps(whole)[:40]).encode()
    handler.send(200, lines, content_type="application/x-ndjson", content_length="")
    handler.close_connection = True


def _gone(handler, asked):
    handler.close_connection = True


def _hang(handler, asked):
    "Longer than any client waits."
    handler.server.double.stopping.wait(20)
    handler.close_connection = True


def _says(words, status, retry_after="", code=None):
    "An error of either protocol."
    more, head = {"code": code} if code else {}, {"retry_after": retry_after}
    return lambda handler, asked: _json(
        handler, asked, _error(asked, words, **more), status, **head
    )


def _page(status, words):
    "A page for people."
    return lambda handler, asked: handler.send(
        status,
        f"<html><body><h1>{words}</h1>{asked.authorization}</body></html>".encode(),
        content_type="text/html",
        retry_after="" if status == 200 else "0",
    )


def _sends(body, **headers):
    return lambda handler, asked: handler.send(200, body, **headers)


FAULTS: dict[str, Fault] = {
    "busy": _says("rate limit reached", 429, "0"),
    "wait": _says("rate limit reached", 429, "0.4"),
    "down": _says("overloaded", 503, "0"),
    "storm": _says("overloaded", 503),
    "wrong": _says("prompt is too long", 400),
    "key": _says("incorrect API key provided", 401, code="invalid_api_key"),
    "credit": _says("no credit", 429, code="insufficient_quota"),
    "model": _says("model 'tiny' not found", 404),
    "error in 200": _says("upstream broke", 200, code=502),
    "html": _page(200, "Sign in"),
    "html error": _page(502, "Bad gateway"),
    "encoding": _sends(b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'),
    "compression": _sends(b"this is not gzip", content_encoding="gzip"),
    "no choices": _sends(b'{"choices": [], "message": null}'),
    "null": _sends(b"null"),
    "empty": _sends(b""),
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

    def log_message(self, *_):
        "Say nothing."

    def send(self, status, body, **headers):
        "Head and body in one write: two would wait for each other."
        sent = {"content_type": "application/json", "content_length": str(len(body))} | headers
        head = "".join(
            f"{name.replace('_', '-')}: {value}\r\n" for name, value in sent.items() if value
        )
        self.wfile.write(f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode() + body)

    @property
    def place(self):
        "The path without what a gateway puts before it."
        known = ("/v1/models", "/api/version", "/api/ps", "/api/tags", *CHATS)
        return next((each for each in known if self.path.endswith(each)), self.path)

    def do_GET(self):
        pages = {
            "/v1/models": {"data": [{"id": "tiny", "owned_by": "double"}]},
            "/api/version": {"version": "0.40.0"},
            "/api/ps": {"models": []},
            "/api/tags": {"models": [{"name": "tiny:latest", "digest": "d1ce" * 16, "size": 1}]},
        }
        body = json.dumps(pages.get(self.place, {"error": "not found"})).encode()
        self.send(200 if self.place in pages else 404, body)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        if self.place not in CHATS:
            shown = {"details": {}, "model_info": {}, "capabilities": ["completion"]}
            return self.send(200, json.dumps(shown).encode())
        asked = self.server.double.note(body, self.headers.get("authorization") or "")
        fault = self.server.double.script(asked)
        if callable(fault):
            return fault(self, asked)
        FAULTS[fault](self, asked) if fault else _json(self, asked, self.answer(asked))

    def answer(self, asked):
        "What a server in good health sends."
        message = {"role": "assistant", "content": reply(asked.prompt, asked.seed)}
        if self.place == "/api/chat":
            counts = {"prompt_eval_count": 20, "eval_count": 1}
            said = {"model": "tiny", "message": message}
            return said | counts | {"done": True, "done_reason": "stop"}
        return {
            "model": "tiny",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 1},
        }


class _Server(ThreadingHTTPServer):
    request_queue_size, daemon_threads = 128, True

    def handle_error(self, *_):
        "A client that went away is no news."


@dataclass
class Double:
    "The server; a context manager."

    # name of a fault, what is done instead, or None; may be changed while it runs
    script: Callable[[Asked], str | Fault | None] = lambda asked: None
    asked: list[Asked] = field(default_factory=list)  # chats, in order
    times: Counter[tuple[str, int]] = field(default_factory=Counter)

    def __post_init__(self):
        self.lock, self.stopping = threading.Lock(), threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.double = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.openai = f"{self.url}/v1"

    def note(self, body, authorization):
        "Keep what was asked."
        prompt, seed = body["messages"][-1]["content"], (body.get("options") or body).get("seed", 0)
        with self.lock:
            self.times[prompt, seed] += 1
            place = len(self.asked) + 1, self.times[prompt, seed]
            self.asked.append(Asked(*place, prompt, seed, body, authorization))
            return self.asked[-1]

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        time.sleep(0)
