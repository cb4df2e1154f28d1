"""A double of Ollama's HTTP protocol in front of a real llama-server.

Sampling and log-probabilities are real, the manners are Ollama's: since 0.30 it is itself a layer
over llama-server, and that layer is imitated as far as the client goes, which never streams.

    with OllamaDouble(gguf, upstream) as double:
        ollama.Client(double.url).chat("tiny", ...)
        double.received[-1].body["options"]
"""

import hashlib
import json
import math
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

BUSY = "server busy, please try again.  maximum pending requests exceeded"  # two blanks
TOKENS_LISTED = 20  # the most that Ollama lists
OPTIONS = {
    **{"num_predict": -1, "num_keep": 4, "seed": -1, "temperature": 0.8, "top_k": 40},
    **{"top_p": 0.9, "min_p": 0.0, "typical_p": 1.0, "repeat_last_n": 64, "repeat_penalty": 1.0},
    **{"presence_penalty": 0.0, "frequency_penalty": 0.0, "num_ctx": 4096},
    "stop": ["<|im_end|>"],  # a PARAMETER of the model
}
UPSTREAM_NAMES = {"num_predict": "n_predict", "num_keep": "n_keep"}


@dataclass
class Quirks:
    "What is unusual about the server; may be changed while it runs."

    thinking: bool = False  # the model can think; the upstream has to be one that does
    logprobs: bool = True  # False: not given, as before 0.12.11 and by cloud models
    renders: bool = True  # False: _debug_render_only is passed over, and an answer is generated
    continues: bool = True  # False: a trailing assistant message is closed, and a new turn opened
    recuts: bool = False  # what was begun is cut into one token more than the model wrote
    tempered: bool = False  # log-probabilities as they are after sampling, which Ollama never gives
    end_text: str = ""  # text of the end of turn among the tokens; before 0.30 it was its name
    remote_host: str = ""  # somebody else's machine answers
    version: str = "0.32.15"
    queue: int = 512  # generations that may wait
    slow: float = 0.0  # seconds before each generation
    drop_every: int = 0  # of so many one loses its connection
    break_every: int = 0  # of so many one breaks off with an error
    undone_every: int = 0  # of so many one ends without `done`, as when the model repeats itself
    new_digest_after: int = 0  # so many generations later the tag leads to other weights


class Received(NamedTuple):
    "A request that came in."

    path: str
    body: dict[str, Any]
    headers: dict[str, str]


class Refused(Exception):
    "A request that is answered by an error body."

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    "One connection."

    protocol_version, disable_nagle_algorithm, wbufsize = "HTTP/1.1", True, 65536

    def log_message(self, *_):
        "Stay quiet."

    def _json(self, status, body):
        sent = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def do_GET(self):
        pages = self.server.double.pages()
        self._json(200 if self.path in pages else 404, pages.get(self.path, {"error": "not found"}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.double.received.append(Received(self.path, body, headers))
        try:
            self._json(200, self.server.double.answer(self.path, body))
        except Refused as refused:
            self._json(refused.status, {"error": str(refused)})
        except ConnectionAbortedError:
            self.close_connection = True


class _Server(ThreadingHTTPServer):
    request_queue_size, daemon_threads = 128, True

    def handle_error(self, request, client_address):
        "Stay quiet about clients that hang up."


@dataclass
class OllamaDouble:
    "The server; a context manager."

    gguf: Path | str  # weights: their hash is the digest
    upstream: str  # address of a llama-server that has loaded them
    name: str = "tiny:latest"
    parallel: int = 1  # generations at the same time
    quirks: Quirks = field(default_factory=Quirks)
    received: list[Received] = field(default_factory=list)  # the POST requests, in order
    generations: int = 0  # how many were begun

    def __post_init__(self):
        weights = Path(self.gguf).read_bytes()
        self.size, self.digest = len(weights), hashlib.sha256(weights).hexdigest()
        with urllib.request.urlopen(f"{self.upstream}/v1/models", timeout=60) as response:
            self.meta = json.load(response)["data"][0]["meta"]
        self._lock, self._waiting = threading.Lock(), 0
        self._slots, self._context = threading.Semaphore(self.parallel), 0
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.double = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def sent(self, path):
        "Bodies of the requests to a path."
        return [each.body for each in self.received if each.path == path]

    # --- what is said of the model

    def _remote(self):
        host = self.quirks.remote_host
        return {"remote_host": host, "remote_model": self.name} if host else {}

    def pages(self):
        "What is answered to GET."
        details = {
            **{"parent_model": "", "format": "gguf", "family": "llama", "families": ["llama"]},
            "parameter_size": f"{self.meta['n_params'] / 1e6:.2f}M",
            "quantization_level": str(self.meta.get("ftype", "F32")).removeprefix("all "),
        }
        listed = {"name": self.name, "model": self.name, "size": self.size}
        listed |= {"digest": self.digest, "details": details}
        loaded = [listed | {"size_vram": 0, "context_length": self._context}]
        return {
            "/api/version": {"version": self.quirks.version},
            "/api/tags": {"models": [listed | self._remote()]},
            "/api/ps": {"models": loaded if self._context else []},
        }

    def _shown(self):
        info = {
            "general.architecture": "llama",
            "general.parameter_count": self.meta["n_params"],
            "llama.context_length": self.meta["n_ctx_train"],
            "llama.embedding_length": self.meta["n_embd"],
            "tokenizer.ggml.tokens": None,
        }
        return {
            "modelfile": "# Modelfile",
            "parameters": 'stop                           "<|im_end|>"',
            "template": "{{ .Prompt }}",
            "details": self.pages()["/api/tags"]["models"][0]["details"],
            "model_info": info,
            "capabilities": ["completion", *(["thinking"] if self.quirks.thinking else [])],
            **self._remote(),
        }

    # --- what is generated

    def answer(self, path, body):
        "What is answered to POST."
        if path not in ("/api/chat", "/api/generate", "/api/show"):
            raise Refused(404, "not found")
        name = body.get("model")
        if name not in (self.name, self.name.removesuffix(":latest")):
            raise Refused(404, f"model '{name}' not found")
        if not 0 <= (body.get("top_logprobs") or 0) <= TOKENS_LISTED:
            raise Refused(400, f"top_logprobs must be between 0 and {TOKENS_LISTED}")
        if body.get("think") and not self.quirks.thinking:
            raise Refused(400, f'"{name}" does not support thinking')
        if path == "/api/show":
            return self._shown()
        assert body["stream"] is False
        chat = path == "/api/chat"
        if body.get("_debug_render_only") and self.quirks.renders:
            return {"_debug_info": {"rendered_template": self._prompt(chat, body)}}
        with self._turn() as number:
            return self._generated(chat, body, number)

    @contextmanager
    def _turn(self):
        "A place among the parallel generations, once it is free; the number of the generation."
        with self._lock:
            self.generations += 1
            self._waiting += 1
            number, waiting = self.generations, self._waiting
        try:
            if waiting > self.quirks.queue + self.parallel:
                raise Refused(503, BUSY)
            if _one_of(self.quirks.drop_every, number):
                raise ConnectionAbortedError
            if self.quirks.new_digest_after and number > self.quirks.new_digest_after:
                self.digest = hashlib.sha256(b"other weights").hexdigest()
            with self._slots:
                time.sleep(self.quirks.slow)
                yield number
        finally:
            with self._lock:
                self._waiting -= 1

    def _ask(self, path, body):
        "What the upstream answers; its errors become ours."
        head = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.upstream + path, json.dumps(body).encode(), head)
        try:
            with urllib.request.urlopen(request, timeout=600) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            said = json.loads(error.read() or b"{}").get("error", {})
            raise Refused(error.code, said.get("message", str(error))) from None

    def _prompt(self, chat, body):
        "The text that the model is shown."
        if body.get("raw"):
            return body["prompt"]
        messages = body["messages"] if chat else [{"role": "user", "content": body["prompt"]}]
        told = {"chat_template_kwargs": {"enable_thinking": body.get("think", True) is not False}}
        if self.quirks.continues or messages[-1]["role"] != "assistant":
            return self._ask("/apply-template", {"messages": messages, **told})["prompt"]
        before = self._ask("/apply-template", {"messages": messages[:-1], **told})["prompt"]
        return f"{before}{messages[-1]['content']}<|im_end|>\n<|im_start|>assistant\n"

    def _fitted(self, prompt, options):
        "The prompt, cut in the middle, as far as `num_keep` allows, where it exceeds the context."
        tokens = self._ask("/tokenize", {"content": prompt, "add_special": True})["tokens"]
        if len(tokens) < self._context:
            return prompt
        most, keep = self._context - 1, options["num_keep"]
        keep = min(len(tokens) if keep < 0 else keep, most)
        rest = self._context - max((self._context - keep) // 2, 1) - keep
        return tokens[:keep] + tokens[len(tokens) - rest :]

    def _generated(self, chat, body, number):
        options = OPTIONS | (body.get("options") or {})
        self._context = min(int(options["num_ctx"]), self.meta["n_ctx"])
        sent = {UPSTREAM_NAMES.get(name, name): value for name, value in options.items()}
        sent |= {"prompt": self._fitted(self._prompt(chat, body), options), "cache_prompt": True}
        sent |= {"post_sampling_probs": self.quirks.tempered}
        if body.get("logprobs") and self.quirks.logprobs:
            sent["n_probs"] = max(body.get("top_logprobs") or 0, 1)
        if body.get("format"):
            sent["json_schema"] = body["format"]
        found = self._ask("/completion", sent)
        if _one_of(self.quirks.break_every, number):
            raise Refused(500, "an error was encountered while running the model: unexpected EOF")
        text, thinking = found["content"], ""
        if self.quirks.thinking and body.get("think", True) is not False and not body.get("raw"):
            before, end, after = text.partition("</think>")
            if before.lstrip().startswith("<think>"):
                thinking, text = before.lstrip().removeprefix("<think>"), after.lstrip()
        said = {"content": text, **({"thinking": thinking} if thinking else {})}
        answer = {"model": body["model"], "done": False}
        answer |= {"message": {"role": "assistant", **said}} if chat else {"response": text, **said}
        top = bool(body.get("top_logprobs"))
        logprobs = [
            self._token(each, top)
            for each in found.get("completion_probabilities") or []
            if each["token"]  # Ollama gives none of the end of turn
        ]
        answer |= {"logprobs": logprobs} if logprobs else {}
        if _one_of(self.quirks.undone_every, number):
            return answer
        timings, begun = found["timings"], chat and body["messages"][-1]["role"] == "assistant"
        read = timings.get("cache_n", 0) + timings["prompt_n"]
        return answer | {
            "done": True,
            "done_reason": "length" if found["stop_type"] == "limit" else "stop",
            "prompt_eval_count": read + (begun and self.quirks.recuts),
            "eval_count": timings["predicted_n"],
        }

    def _token(self, token, top):
        "A log-probability as Ollama writes it: no text for special tokens, and no ids."
        logprob = token["logprob"] if "logprob" in token else math.log(max(token["prob"], 1e-300))
        told = {"token": token["token"], "logprob": logprob}
        if top:
            listed = [self._token(each, False) for each in token.get("top_logprobs", [])]
            listed += [self._token(each, False) for each in token.get("top_probs", [])]
            told["top_logprobs"] = [
                each | {"token": each["token"] or self.quirks.end_text} for each in listed
            ]
        return told


def _one_of(every, number):
    return bool(every) and number % every == 0
