"""A double of Ollama's HTTP protocol in front of a real llama-server.

Sampling and log-probabilities are real, the manners are Ollama's.

Ollama since 0.30 is itself a layer over llama-server, so only that layer is imitated: endpoints,
NDJSON, options, logprobs, think, format, keep_alive and the bodies of
errors. Where versions differ it follows 0.32, and `Quirks` turns to others. In a test:

    with OllamaDouble(gguf, upstream) as double:
        ollama.Client(double.url).chat("tiny", ...)
        double.received[-1].body["options"]

By hand: python tests/ollama_double.py --gguf tiny.gguf --upstream http://127.0.0.1:8080 --port
11434
Only the standard library.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

# two blanks, as Ollama has it
BUSY = "server busy, please try again.  maximum pending requests exceeded"
TOKENS_LISTED = 20  # the most that Ollama lists
OPTIONS = {
    "num_predict": -1,
    "num_keep": 4,
    "seed": -1,
    "temperature": 0.8,
    "top_k": 40,
    "top_p": 0.9,
    "min_p": 0.0,
    "typical_p": 1.0,
    "repeat_last_n": 64,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "stop": ["<|im_end|>"],
    "num_ctx": 4096,
}  # stop: a PARAMETER of the model
UPSTREAM_NAMES = {"num_predict": "n_predict", "num_keep": "n_keep"}


@dataclass
class Quirks:
    "What is unusual about the server; may be changed while it runs."

    thinking: bool = False  # the model can think; the upstream has to be one that does
    logprobs: bool = (
        True  # False: not given though asked for, as before 0.12.11 and by cloud models
    )
    renders: bool = True  # False: _debug_render_only is passed over, and an answer is generated
    obeys: bool = True  # False: the model thinks although it is told not to
    continues: bool = (
        True  # False: the template closes a trailing assistant message and opens a new turn
    )
    recuts: bool = False  # what was begun is cut into one token more than the model wrote
    tempered: bool = False  # log-probabilities as they are after sampling, which Ollama never gives
    end_text: str = ""  # text of the end of turn among the tokens; before 0.30 it was its name
    remote_host: str = ""  # somebody else's machine answers
    version: str = "0.32.15"
    queue: int = 512  # generations that may wait
    slow: float = 0.0  # seconds before each generation
    fail_every: int = 0  # of so many generations one finds the queue full
    drop_every: int = 0  # of so many one loses its connection
    break_every: int = 0  # of so many one breaks off with an error after its first token
    undone_every: int = 0  # of so many one ends without `done`, as when the model repeats itself
    new_digest_after: int = 0  # so many generations later the tag leads to other weights
    html: bool = False  # something that is no Ollama answers


class Received(NamedTuple):
    "A request that came in."

    path: str
    body: dict[str, Any]
    headers: dict[str, str]


class Refused(Exception):
    "A request that is answered by an error body."

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def _post(url: str, body: Mapping[str, Any]) -> Any:
    "The open response of the upstream; its errors become ours."
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        return urllib.request.urlopen(request, timeout=600)
    except urllib.error.HTTPError as error:
        said = json.loads(error.read() or b"{}").get("error", {})
        raise Refused(error.code, said.get("message", str(error))) from None
    except urllib.error.URLError as error:
        raise Refused(500, f"model runner has unexpectedly stopped: {error.reason}") from None


class _Model:
    "The one model that was pulled."

    def __init__(self, name: str, gguf: Path | str, upstream: str):
        weights = Path(gguf).read_bytes()
        self.name, self.upstream, self.size, self.modified = (
            name,
            upstream.rstrip("/"),
            len(weights),
            _now(),
        )
        self.digest, self.loaded, self.context = hashlib.sha256(weights).hexdigest(), False, 0
        with urllib.request.urlopen(f"{self.upstream}/v1/models", timeout=60) as response:
            self.meta = json.load(response)["data"][0]["meta"]

    def is_called(self, name: str) -> bool:
        return name in (self.name, self.name.removesuffix(":latest"))

    @property
    def details(self) -> dict[str, Any]:
        count = self.meta["n_params"]
        return {
            "parent_model": "",
            "format": "gguf",
            "family": "llama",
            "families": ["llama"],
            "parameter_size": f"{count / 1e6:.2f}M",
            "quantization_level": str(self.meta.get("ftype", "F32")).removeprefix("all "),
        }

    def listed(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "model": self.name,
            "size": self.size,
            "digest": self.digest,
            "details": self.details,
        }

    def shown(self, quirks: Quirks) -> dict[str, Any]:
        info = {
            "general.architecture": "llama",
            "general.parameter_count": self.meta["n_params"],
            "llama.context_length": self.meta["n_ctx_train"],
            "llama.embedding_length": self.meta["n_embd"],
            "tokenizer.ggml.tokens": None,
        }
        remote = (
            {"remote_host": quirks.remote_host, "remote_model": self.name}
            if quirks.remote_host
            else {}
        )
        return {
            "modelfile": "# Modelfile",
            "parameters": 'stop                           "<|im_end|>"',
            "template": "{{ .Prompt }}",
            "details": self.details,
            "model_info": info,
            "capabilities": ["completion", *(["thinking"] if quirks.thinking else [])],
            "modified_at": self.modified,
            **remote,
        }

    def ask(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        with _post(self.upstream + path, body) as response:
            return json.load(response)


class _Splitter:
    "Takes thinking out of a stream of text."

    def __init__(self) -> None:
        self.held, self.place = "", "before"

    def add(self, text: str, last: bool = False) -> tuple[str, str]:
        "What has become clear: thinking and content."
        self.held += text
        if self.place == "before" and self.held.lstrip().startswith("<think>"):
            self.held, self.place = self.held.lstrip().removeprefix("<think>"), "inside"
        elif self.place == "before" and (last or not "<think>".startswith(self.held.lstrip())):
            self.place = "after"
        if self.place == "inside":
            return self._inside(last)
        if self.place == "blank":  # between thinking and answer
            self.held = self.held.lstrip()
            self.place = "after" if self.held else "blank"
        return ("", self._release(len(self.held))) if self.place == "after" else ("", "")

    def _inside(self, last: bool) -> tuple[str, str]:
        thinking, end, content = self.held.partition("</think>")
        if end:
            self.held, self.place = "", "after" if content.strip() else "blank"
            return thinking, content.lstrip()
        return self._release(len(self.held) - (0 if last else len("</think>"))), ""

    def _release(self, count: int) -> str:
        "The first characters held; the rest may be half of a tag."
        released, self.held = self.held[: max(0, count)], self.held[max(0, count) :]
        return released


class _Generation:
    "One run of the model, in Ollama's chunks."

    def __init__(self, double: OllamaDouble, chat: bool, request: Mapping[str, Any], number: int):
        self.model, self.quirks, self.chat, self.request, self.number = (
            double.model,
            double.quirks,
            chat,
            request,
            number,
        )
        given = request.get("options") or {}
        self.options = {name: given.get(name, default) for name, default in OPTIONS.items()}
        self.context = min(int(self.options["num_ctx"]), self.model.meta["n_ctx"])
        self.top = int(request.get("top_logprobs") or 0)

    def prompt(self) -> str:
        "The text that the model is shown."
        if self.request.get("raw"):
            return self.request["prompt"]
        system = (
            [{"role": "system", "content": self.request["system"]}]
            if self.request.get("system")
            else []
        )
        messages = (
            self.request["messages"]
            if self.chat
            else [*system, {"role": "user", "content": self.request["prompt"]}]
        )
        kwargs = {
            "chat_template_kwargs": {
                "enable_thinking": self.request.get("think", True) is not False
                or not self.quirks.obeys
            }
        }
        if self.quirks.continues or messages[-1]["role"] != "assistant":
            return self.model.ask("/apply-template", {"messages": messages, **kwargs})["prompt"]
        before = self.model.ask("/apply-template", {"messages": messages[:-1], **kwargs})["prompt"]
        return f"{before}{messages[-1]['content']}<|im_end|>\n<|im_start|>assistant\n"

    def _fitted(self, prompt: str) -> str | list[int]:
        "The prompt, cut in the middle, as far as `num_keep` allows, where it exceeds the context."
        tokens = self.model.ask("/tokenize", {"content": prompt, "add_special": True})["tokens"]
        if len(tokens) < self.context:
            return prompt
        keep = min(
            len(tokens) if self.options["num_keep"] < 0 else self.options["num_keep"],
            self.context - 1,
        )
        rest = self.context - max((self.context - keep) // 2, 1) - keep
        return tokens[:keep] + tokens[len(tokens) - rest :]

    def _body(self, prompt: str) -> dict[str, Any]:
        "What the upstream is asked."
        body = {
            UPSTREAM_NAMES.get(name, name): value
            for name, value in self.options.items()
            if name != "num_ctx"
        }
        body |= {
            "prompt": self._fitted(prompt),
            "stream": True,
            "cache_prompt": True,
            "post_sampling_probs": self.quirks.tempered,
        }
        if self.request.get("logprobs") and self.quirks.logprobs:
            body["n_probs"] = max(self.top, 1)
        if self.request.get("format"):
            body["json_schema"] = (
                {"type": "object"} if self.request["format"] == "json" else self.request["format"]
            )
        return body

    def events(self, prompt: str) -> Iterator[dict[str, Any]]:
        "The upstream's events."
        with _post(f"{self.model.upstream}/completion", self._body(prompt)) as response:
            for line in response:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])

    def _token(self, token: Mapping[str, Any], text: str) -> dict[str, Any]:
        logprob = token["logprob"] if "logprob" in token else math.log(max(token["prob"], 1e-300))
        return {
            "token": text,
            "logprob": logprob,
            **({"bytes": list(text.encode())} if text else {}),
        }

    def _logprobs(self, event: Mapping[str, Any]) -> list[dict[str, Any]]:
        "Log-probabilities as Ollama writes them: no text for special tokens, and no ids."
        entries = []
        for each in event.get("completion_probabilities") or []:
            entry = self._token(each, each["token"])
            if self.top:
                entry["top_logprobs"] = [
                    self._token(token, token["token"] or self.quirks.end_text)
                    for token in each.get("top_logprobs", each.get("top_probs"))
                ]
            entries.append(entry)
        return entries

    def _chunk(self, thinking: str, content: str, **more: Any) -> dict[str, Any]:
        thought = {"thinking": thinking} if thinking else {}
        said = (
            {"message": {"role": "assistant", "content": content, **thought}}
            if self.chat
            else {"response": content, **thought}
        )
        return {"model": self.request["model"], "created_at": _now(), **said, "done": False, **more}

    def chunks(self) -> Iterator[dict[str, Any]]:
        "What goes over the wire, chunk by chunk."
        splits = (
            self.quirks.thinking
            and self.request.get("think", True) is not False
            and not self.request.get("raw")
        )
        splitter, began = (_Splitter() if splits else None), time.monotonic_ns()
        for event in self.events(self.prompt()):
            if event["stop"]:
                thinking, content = splitter.add("", last=True) if splitter else ("", "")
                if not self._is_one_of(self.quirks.undone_every):
                    yield self._chunk(thinking, content, **self._end(event, began))
                return
            if event[
                "content"
            ]:  # Ollama drops empty events, and with them the log-probabilities of an end of turn
                thinking, content = (
                    splitter.add(event["content"]) if splitter else ("", event["content"])
                )
                logprobs = self._logprobs(event)
                if thinking or content or logprobs:
                    yield self._chunk(
                        thinking, content, **({"logprobs": logprobs} if logprobs else {})
                    )
                if self._is_one_of(self.quirks.break_every):
                    raise Refused(
                        500, "an error was encountered while running the model: unexpected EOF"
                    )

    def _is_one_of(self, every: int) -> bool:
        return bool(every) and self.number % every == 0

    def _end(self, event: Mapping[str, Any], began: int) -> dict[str, Any]:
        "The last chunk; it never has log-probabilities."
        timings, begun = (
            event["timings"],
            self.chat and self.request["messages"][-1]["role"] == "assistant",
        )
        return {
            "done": True,
            "done_reason": "length" if event["stop_type"] == "limit" else "stop",
            "total_duration": time.monotonic_ns() - began,
            "load_duration": 1000,
            "prompt_eval_count": timings.get("cache_n", 0)
            + timings["prompt_n"]
            + (begun and self.quirks.recuts),
            "prompt_eval_duration": int(timings["prompt_ms"] * 1e6),
            "eval_count": timings["predicted_n"],
            "eval_duration": int(timings["predicted_ms"] * 1e6),
        }

    def whole(self) -> dict[str, Any]:
        "All chunks in one, for a request that does not stream."
        chunks = list(self.chunks()) or [self._chunk("", "")]
        thinking = "".join(
            (each["message"] if self.chat else each).get("thinking", "") for each in chunks
        )
        content = "".join(
            each["message"]["content"] if self.chat else each["response"] for each in chunks
        )
        logprobs = [entry for each in chunks for entry in each.get("logprobs", [])]
        metrics = {
            name: value
            for name, value in chunks[-1].items()
            if name not in ("message", "response", "thinking", "logprobs")
        }
        return (
            self._chunk(thinking, content) | metrics | ({"logprobs": logprobs} if logprobs else {})
        )


class _Handler(BaseHTTPRequestHandler):
    "One connection."

    protocol_version, disable_nagle_algorithm, wbufsize = "HTTP/1.1", True, 65536
    server: _Server

    def log_message(self, *_: Any) -> None:
        "Stay quiet."

    def _reply(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _json(self, status: int, body: Mapping[str, Any]) -> None:
        self._reply(status, json.dumps(body).encode(), "application/json; charset=utf-8")

    def _stream(self, chunks: Iterator[Mapping[str, Any]]) -> None:
        "NDJSON; the status is sent with the first chunk, so that what breaks later is a last line."
        first = next(chunks, None)
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for chunk in [] if first is None else [first]:
                self._line(chunk)
            for chunk in chunks:
                self._line(chunk)
        except Refused as refused:
            self._line({"error": str(refused)})
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _line(self, chunk: Mapping[str, Any]) -> None:
        line = json.dumps(chunk).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.flush()

    def do_GET(self) -> None:
        double, model = self.server.double, self.server.double.model
        remote = (
            {"remote_host": double.quirks.remote_host, "remote_model": model.name}
            if double.quirks.remote_host
            else {}
        )
        bodies = {
            "/api/version": {"version": double.quirks.version},
            "/api/tags": {"models": [model.listed() | remote | {"modified_at": model.modified}]},
            "/api/ps": {
                "models": [
                    model.listed()
                    | {"expires_at": _now(), "size_vram": 0, "context_length": model.context}
                ]
                if model.loaded
                else []
            },
        }
        if double.quirks.html:
            return self._reply(200, b"<html>Please sign in</html>", "text/html")
        if self.path == "/":
            return self._reply(200, b"Ollama is running", "text/plain; charset=utf-8")
        self._json(200, bodies[self.path]) if self.path in bodies else self._json(
            404, {"error": "not found"}
        )

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.server.double.quirks.html:
            return self._reply(200, b"<html>Please sign in</html>", "text/html")
        try:
            body = self._parsed(raw)
            self.server.double.received.append(
                Received(
                    self.path, body, {name.lower(): value for name, value in self.headers.items()}
                )
            )
            self._answer(body)
        except Refused as refused:
            self._json(refused.status, {"error": str(refused)})
        except ConnectionAbortedError:
            self.close_connection = True

    def _parsed(self, raw: bytes) -> dict[str, Any]:
        if not raw:
            raise Refused(400, "missing request body")
        try:
            return json.loads(raw)
        except ValueError as error:
            raise Refused(400, str(error)) from None

    def _answer(self, body: dict[str, Any]) -> None:
        double, chat = self.server.double, self.path == "/api/chat"
        if self.path not in ("/api/chat", "/api/generate", "/api/show"):
            raise Refused(404, "not found")
        double.check(self.path, body)
        if self.path == "/api/show":
            return self._json(200, double.model.shown(double.quirks))
        if not body.get("messages" if chat else "prompt"):
            return self._json(200, double.load(chat, body))
        generation = _Generation(double, chat, body, 0)
        if body.get("_debug_render_only") and double.quirks.renders:
            return self._json(
                200,
                generation._chunk("", "")
                | {"_debug_info": {"rendered_template": generation.prompt()}},
            )
        with double.turn(generation):
            self._stream(generation.chunks()) if body.get("stream", True) else self._json(
                200, generation.whole()
            )


class _Server(ThreadingHTTPServer):
    request_queue_size, daemon_threads = 128, True
    double: OllamaDouble

    def handle_error(self, request: Any, client_address: Any) -> None:
        "Stay quiet about clients that hang up."
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@dataclass
class OllamaDouble:
    "The server; a context manager."

    gguf: Path | str  # weights: their hash is the digest
    upstream: str  # address of a llama-server that has loaded them
    name: str = "tiny:latest"
    port: int = 0  # 0: any free port
    host: str = "127.0.0.1"
    parallel: int = 1  # generations at the same time
    quirks: Quirks = field(default_factory=Quirks)
    received: list[Received] = field(default_factory=list)  # the POST requests, in order
    generations: int = 0  # how many were begun

    def __post_init__(self) -> None:
        self.model, self._lock = _Model(self.name, self.gguf, self.upstream), threading.Lock()
        self._slots, self._waiting = threading.Semaphore(self.parallel), 0
        self._server = _Server((self.host, self.port), _Handler)
        self._server.double, self.port = self, self._server.server_address[1]
        self.url = f"http://{self.host}:{self.port}"

    def __enter__(self) -> OllamaDouble:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve_forever(self) -> None:
        self._server.serve_forever()

    def sent(self, path: str) -> list[dict[str, Any]]:
        "Bodies of the requests to a path."
        return [each.body for each in self.received if each.path == path]

    def check(self, path: str, body: Mapping[str, Any]) -> None:
        "Refuse what Ollama refuses."
        name, top, wanted = (
            body.get("model") or body.get("name"),
            body.get("top_logprobs") or 0,
            body.get("format"),
        )
        if not name:
            raise Refused(400, "model is required")
        if not self.model.is_called(name):
            raise Refused(404, f"model '{name}' not found")
        if not 0 <= top <= TOKENS_LISTED:
            raise Refused(400, f"top_logprobs must be between 0 and {TOKENS_LISTED}")
        if body.get("think") and not self.quirks.thinking:
            raise Refused(400, f'"{name}" does not support thinking')
        if body.get("raw") and (body.get("template") or body.get("system") or body.get("context")):
            raise Refused(400, "raw mode does not support template, system, or context")
        if wanted and wanted != "json" and not isinstance(wanted, dict):
            raise Refused(
                400,
                f'invalid format: {json.dumps(wanted)}; expected "json" or a valid JSON '
                f"Schema object",
            )

    def load(self, chat: bool, body: Mapping[str, Any]) -> dict[str, Any]:
        "What an empty request does: load the model, or unload it."
        self.model.loaded = body.get("keep_alive") != 0
        said = {"message": {"role": "assistant", "content": ""}} if chat else {"response": ""}
        return {
            "model": body["model"],
            "created_at": _now(),
            **said,
            "done": True,
            "done_reason": "load" if self.model.loaded else "unload",
        }

    @contextmanager
    def turn(self, generation: _Generation) -> Iterator[None]:
        "A place among the parallel generations, once it is free."
        with self._lock:
            self.generations += 1
            self._waiting += 1
            generation.number = self.generations
            waiting = self._waiting
        try:
            self._mishaps(generation, waiting)
            with self._slots:
                time.sleep(self.quirks.slow)
                self.model.loaded, self.model.context = True, generation.context
                yield
        finally:
            with self._lock:
                self._waiting -= 1

    def _mishaps(self, generation: _Generation, waiting: int) -> None:
        if (
            generation._is_one_of(self.quirks.fail_every)
            or waiting > self.quirks.queue + self.parallel
        ):
            raise Refused(503, BUSY)
        if generation._is_one_of(self.quirks.drop_every):
            raise ConnectionAbortedError
        if self.quirks.new_digest_after and generation.number > self.quirks.new_digest_after:
            self.model.digest = hashlib.sha256(b"other weights").hexdigest()


def main() -> None:
    "Serve until interrupted."
    parser = argparse.ArgumentParser(description="A double of Ollama in front of a llama-server.")
    for name, kind in {
        "gguf": str,
        "upstream": str,
        "name": str,
        "host": str,
        "port": int,
        "parallel": int,
    }.items():
        parser.add_argument(
            f"--{name}", type=kind, required=name in ("gguf", "upstream"), default=argparse.SUPPRESS
        )
    for each in fields(Quirks):
        kind: dict[str, Any] = (
            {"action": argparse.BooleanOptionalAction}
            if isinstance(each.default, bool)
            else {"type": type(each.default)}
        )
        parser.add_argument(f"--{each.name.replace('_', '-')}", default=each.default, **kind)
    given = vars(parser.parse_args())
    quirks = Quirks(**{each.name: given.pop(each.name) for each in fields(Quirks)})
    double = OllamaDouble(**{"port": 11434, **given}, quirks=quirks)
    print(f"ollama double at {double.url}, model {double.name}", flush=True)
    double.serve_forever()


if __name__ == "__main__":
    main()
