"""A double of a chat server that means harm, in both protocols.

It has log-probabilities, and answers in shapes that no protocol has.

    send = SHAPES["usage is 10**30"].send
    with HostileDouble(send, hit=lambda asked: asked.prompt in prompts) as double:
        collect(items, participant("openai/tiny", base_url=double.openai), store)

Where it is not hit it answers in good health: `A` with probability .6, `B` with .3, the end of the
turn with .1, and after a letter the end.
"""

from __future__ import annotations

import gzip
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from doubles import Asked, Double, draw

ROOT = (("A", 0.6), ("B", 0.3), ("", 0.1))
AFTER = (("", 0.9), (".", 0.1))
Send = Callable[[Any, Asked], None]  # what is done with a connection


def is_ollama(asked: Asked) -> bool:
    "Which protocol a chat is in."
    return "options" in asked.body


def listed(asked: Asked, after: bool) -> list[dict[str, Any]]:
    "Next tokens as the protocols list them."
    every = AFTER if after else ROOT
    return [
        {"token": text, "bytes": list(text.encode()), "logprob": math.log(p)} for text, p in every
    ]


def tokens(asked: Asked) -> list[dict[str, Any]]:
    "What is generated, each token with its list."
    begun = asked.body["messages"][-1]["role"] == "assistant"
    options = asked.body.get("options") or {}
    count = options.get("num_predict") or asked.body.get("max_tokens") or 1
    first = "" if begun else "AB"[draw("", asked.seed) % 2]
    said = (
        [] if begun else [{"token": first, "logprob": -0.5, "top_logprobs": listed(asked, False)}]
    )
    if begun or count > 1:
        said.append({"token": ".", "logprob": -2.3, "top_logprobs": listed(asked, True)})
    return said[:count]


def healthy(asked: Asked) -> dict[str, Any]:
    "An answer as it should be."
    said, begun = tokens(asked), asked.body["messages"][-1]["role"] == "assistant"
    wanted, read = bool(asked.body.get("logprobs")), 21 if begun else 20
    content = "".join(each["token"] for each in said) if wanted else said[0]["token"]
    message = {"role": "assistant", "content": content}
    if is_ollama(asked):
        return {
            "model": "tiny",
            "message": message,
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": read,
            "eval_count": len(said),
            **({"logprobs": said} if wanted else {}),
        }
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "model": "tiny",
        "choices": [choice | ({"logprobs": {"content": said}} if wanted else {})],
        "usage": {"prompt_tokens": read, "completion_tokens": min(len(said), 16)},
    }


def send_json(handler: Any, body: Any, **headers: str) -> None:
    "A body of any shape, also one that is no strict JSON."
    handler.send(200, json.dumps(body).encode(), **headers)


# Where the protocols keep what


def message_of(body: dict[str, Any]) -> dict[str, Any]:
    return body["message"] if "message" in body else body["choices"][0]["message"]


def entries_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    "Tokens with their lists; none where none were asked for."
    if "message" in body:
        return body.get("logprobs", [])
    return body["choices"][0].get("logprobs", {}).get("content", [])


def message(**fields: Any) -> Send:
    "A message with other fields."

    def send(handler: Any, asked: Asked) -> None:
        body = healthy(asked)
        message_of(body).update(fields)
        send_json(handler, body)

    return send


def top(**fields: Any) -> Send:
    "A body with other fields; names of both protocols."

    def send(handler: Any, asked: Asked) -> None:
        body = healthy(asked)
        names = {"finish_reason": "done_reason", "completion_tokens": "eval_count"}
        for name, value in fields.items():
            if is_ollama(asked):
                body[names.get(name, name)] = value
            elif name == "finish_reason":
                body["choices"][0][name] = value
            elif name == "completion_tokens":
                body["usage"][name] = value
            else:
                body[name] = value
        send_json(handler, body)

    return send


def lists(change: Callable[[list[dict[str, Any]]], Any]) -> Send:
    "Other lists of next tokens."

    def send(handler: Any, asked: Asked) -> None:
        body = healthy(asked)
        for each in entries_of(body):
            each["top_logprobs"] = change(each["top_logprobs"])
        send_json(handler, body)

    return send


def logprobs(value: Any) -> Send:
    "Something else in place of all lists."

    def send(handler: Any, asked: Asked) -> None:
        body = healthy(asked)
        if is_ollama(asked):
            body["logprobs"] = value
        else:
            body["choices"][0]["logprobs"] = value
        send_json(handler, body)

    return send


def all_with(name: str, value: Any) -> Callable[[list[dict[str, Any]]], Any]:
    "Every listed token with another field."
    return lambda entries: [each | {name: value} for each in entries]


def raw(content: bytes, status: int = 200, **headers: str) -> Send:
    "These bytes."
    return lambda handler, asked: handler.send(status, content, **headers)


def edited(old: bytes, new: bytes) -> Send:
    "A healthy answer with other bytes in it."
    return lambda handler, asked: handler.send(
        200, json.dumps(healthy(asked)).encode().replace(old, new)
    )


def uncounted(handler: Any, asked: Asked) -> None:
    "An answer without counts."
    body = healthy(asked)
    for name in ("usage", "eval_count", "prompt_eval_count"):
        body.pop(name, None)
    send_json(handler, body)


def dripping(head: bool) -> Send:
    "A byte every twentieth of a second, from the head on or from the body on; it never ends."

    def send(handler: Any, asked: Asked) -> None:
        start = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        if not head:
            handler.wfile.write(start + b"Content-Length: 100000\r\n\r\n")
        for byte in forever(b"X-Slow: 1\r\n" if head else b" "):
            handler.wfile.write(start + byte if head else byte)
            handler.wfile.flush()
            start = b""
            if handler.server.double.stopping.wait(0.05):
                return

    return send


def forever(pattern: bytes) -> Iterator[bytes]:
    "The bytes of a pattern, one by one."
    while True:
        yield from (bytes([each]) for each in pattern)


def flood(piece: bytes, packed: bool = False) -> Send:
    "As much as the client takes."

    def send(handler: Any, asked: Asked) -> None:
        coding = "Content-Encoding: gzip\r\n" if packed else ""
        handler.wfile.write(
            f"HTTP/1.1 200 OK\r\n{coding}Transfer-Encoding: chunked\r\n\r\n".encode()
        )
        until = time.monotonic() + 20
        while time.monotonic() < until and not handler.server.double.stopping.is_set():
            handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        handler.close_connection = True

    return send


def informed(handler: Any, asked: Asked) -> None:
    "Interim answers without end."
    until = time.monotonic() + 20
    while time.monotonic() < until and not handler.server.double.stopping.wait(0.01):
        handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")


def complaint(status: int, words: Any, **headers: str) -> Send:
    "An error of the server, in words of any kind."

    def send(handler: Any, asked: Asked) -> None:
        body = {"error": words} if is_ollama(asked) else {"error": {"message": words}}
        handler.send(status, json.dumps(body).encode(), **headers)

    return send


BOMB = gzip.compress(bytes(300_000_000))
DEEP = b"[" * 200_000
ESCAPES = "\x1b[2J\x1b]0;owned\x07\x1b[31mred\x1b[0m \u202ereversed\u009b5m"


class Shape(NamedTuple):
    "A way to answer, and what must come of it."

    send: Send
    status: str | tuple[str, ...] = "error"  # of the trials that are hit
    method: str = "text"  # by which it is seen
    ends: str = ""  # backend whose run it ends, because the client follows no redirect


def _every(shapes: dict[str, Send], **more: Any) -> dict[str, Shape]:
    return {name: Shape(send, **more) for name, send in shapes.items()}


TEXT = _every(
    {
        "content is a number": message(content=42),
        "content is true": message(content=True),
        "content is a list of numbers": message(content=[4, 2]),
        "content is a list of texts": message(content=["A"]),
        "content is a part whose text is a number": message(content=[{"type": "text", "text": 42}]),
        "content is an object": message(content={"A": 1}),
        "content is NaN": edited(b'"content": "', b'"content": NaN, "was": "'),
        "content is half of a character": message(content="A \ud800"),
        "content is a book": message(content="A or B " * 400_000),
        "thinking is a book": message(thinking="Hm. " * 400_000, reasoning="Hm. " * 400_000),
        "thinking is a number": message(thinking=7, reasoning=7),
        "thinking is a list": message(thinking=[[1]], reasoning=[[1]]),
        "finish_reason is a list": top(finish_reason=["stop"]),
        "finish_reason is an object": top(finish_reason={"why": "stop"}),
        "finish_reason is a number": top(finish_reason=3),
        "finish_reason is a book": top(finish_reason="stop " * 10_000),
        "finish_reason moves the cursor": top(finish_reason=ESCAPES),
        "finish_reason is half of a character": top(finish_reason="\udcff"),
        "a count is 10**30": top(completion_tokens=10**30),
        "a count is negative": top(completion_tokens=-1),
        "a count is a list": top(completion_tokens=[1]),
        "a count is half": top(completion_tokens=0.5),
        "a count is infinite": top(completion_tokens=math.inf),
        "model is a number": top(model=42),
        "body is a number": raw(b"42"),
        "body is a text": raw(b'"A"'),
        "body is a list": raw(b'[{"choices": []}]'),
        "body is true": raw(b"true"),
        "body is deep": raw(DEEP),
        "body is deep inside": edited(b'"stop"', b"[" * 900 + b"]" * 900),
        "body holds a number of 5000 digits": edited(b'"stop"', b"1" * 5000),
        "body is cut inside a character": edited(b'"stop"', b'"\xe2\x82"'),
        "message is missing": edited(b'"message"', b'"massage"'),
        "message is null": edited(b'"message": {', b'"message": null, "was": {'),
        "message is a list": edited(b'"message": {', b'"message": [1], "was": {'),
        "message is a text": edited(b'"message": {', b'"message": "A", "was": {'),
        "an error that is a list": raw(b'{"error": [1, 2]}'),
        "an error that is a number": raw(b'{"error": 7}'),
        "an error whose code is no digit": raw('{"error": {"code": "²"}}'.encode()),
        "an error whose code is a list": raw(b'{"error": {"code": [401]}}'),
        "an error that moves the cursor": complaint(400, ESCAPES),
        "an error that is deep": raw(DEEP, 400),
        "an error in another alphabet": raw(
            b"\xff\xfe", 400, content_type="text/plain; charset=hex"
        ),
        "an error of 50 MB": raw(b" " * 50_000_000, 400),
        "another alphabet": edited(b'"stop"', b'"\xff"'),
        "status 206 with half a body": raw(b'{"choices"', 206),
        "status 299 without a body": raw(b"", 299),
        "a packing that nobody asked for": raw(b"xx", content_encoding="br"),
        "a packing inside a packing": raw(b"xx", content_encoding="gzip, gzip"),
        "packed, and cut": raw(gzip.compress(b" " * 1000)[:15], content_encoding="gzip"),
        "a redirect to no address": raw(b"", 307, location="http://[::"),
        "300 MB in 300 kB": raw(BOMB, content_encoding="gzip"),
        "a flood": flood(b" " * 2**16),
        "a packed flood": flood(BOMB[: 2**16], packed=True),
        "four million empty lists": raw(b"[" + b"[]," * 1_300_000 + b"0]"),
        "a head without end": lambda handler, asked: handler.wfile.write(
            b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 3_000_000
        ),
        "a body that drips": dripping(head=False),
        "a head that drips": dripping(head=True),
        "interim answers without end": informed,
    }
)

REDIRECTS = _every(
    {
        "a redirect to another port": raw(b"", 307, location="http://127.0.0.1:9/v1"),
        "a redirect to itself": raw(b"", 307, location="/v1/chat/completions"),
        "a redirect to a file": raw(b"", 307, location="file:///etc/passwd"),
    },
    ends="ollama",
)

TOLERATED = {
    "content is null": Shape(message(content=None), "no_response"),
    "content is missing": Shape(edited(b'"content": ', b'"contents": '), ("no_response", "error")),
    "counts are missing": Shape(uncounted, "ok"),
    "one logprob is null": Shape(
        lists(lambda entries: [entries[0] | {"logprob": None}, *entries[1:]]),
        ("ok", "error"),
        "option_probability",
    ),
    "a count that is written with a point": Shape(top(completion_tokens=1.0), "ok"),
    "unknown fields": Shape(top(surprise=[1, {"a": None}]), "ok"),
}

LISTS = _every(
    {
        "every logprob is NaN": lists(all_with("logprob", math.nan)),
        "every logprob is infinite": lists(all_with("logprob", math.inf)),
        "every logprob is positive": lists(all_with("logprob", 0.7)),
        "probabilities in place of logprobs": lists(
            lambda entries: [each | {"logprob": math.exp(each["logprob"])} for each in entries]
        ),
        "every logprob is a word": lists(all_with("logprob", "likely")),
        "every logprob is a list": lists(all_with("logprob", [-1])),
        "every logprob is true": lists(all_with("logprob", True)),
        "every logprob has 400 digits": lists(all_with("logprob", -(10**400))),
        "every list comes four times": lists(lambda entries: entries * 4),
        "one token four times": lists(lambda entries: [entries[0] | {"logprob": -2.0}] * 4),
        "one token with four probabilities": lists(
            lambda entries: [entries[0] | {"logprob": -2.0 - n} for n in range(4)]
        ),
        "more than all": lists(all_with("logprob", -0.1)),
        "tokens are numbers": lists(all_with("token", 7)),
        "tokens are null": lists(all_with("token", None)),
        "one logprob is missing": lists(lambda entries: [{"token": "A"}, *entries[1:]]),
        "tokens are missing": lists(lambda entries: [{"logprob": -1.0} for _ in entries]),
        "tokens are half characters": lists(all_with("token", "\ud83d")),
        "the list is a number": lists(lambda entries: 7),
        "the list is an object": lists(lambda entries: {"A": -0.5}),
        "the list holds numbers": lists(lambda entries: [1, 2]),
        "the list holds nothing": lists(lambda entries: [None]),
        "lists are a number": logprobs(7),
        "lists are a text": logprobs("A"),
        "lists are missing": logprobs(None),
        "lists are empty": logprobs([]),
        "lists hold numbers": logprobs([1]),
        "lists hold a number for a list": logprobs({"content": 7}),
    },
    method="option_probability",
)


@dataclass
class HostileDouble(Double):
    "The server; a context manager."

    send: Send | None = None  # what is done with the chats that are hit
    hit: Callable[[Asked], bool] = lambda asked: False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.script = lambda asked: (
            self.send
            if self.send and self.hit(asked)
            else lambda handler, asked: send_json(handler, healthy(asked))
        )
