"""A double of two providers that have batches: OpenAI's protocol and Anthropic's, on localhost.

What it sends is made with the types of the official clients. A batch ends after some looks; its
results come in reverse, one of them twice, and every fifth is an error. Each request that it
answers is counted, so a test can tell whether anything was answered, and paid, twice.
"""

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from anthropic.types import Message, ModelInfo
from anthropic.types.messages import MessageBatch, MessageBatchIndividualResponse
from openai.types import Batch, FileObject
from openai.types.chat import ChatCompletion

DAY = 86_400


def chat(body):
    "What OpenAI's model says: the first label that it is offered."
    choice = {"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22}
    made = {"id": "c", "object": "chat.completion", "created": 0, "model": "tiny"}
    return ChatCompletion.model_validate(made | {"choices": [choice], "usage": usage}).to_dict()


def message(body):
    "What Anthropic's says."
    made = {"id": "m", "type": "message", "role": "assistant", "model": "tiny"}
    made |= {"content": [{"type": "text", "text": "A"}], "stop_reason": "end_turn"}
    made |= {"usage": {"input_tokens": 20, "output_tokens": 2}}
    return Message.model_validate(made).to_dict()


@dataclass
class Held:
    "A batch."

    number: int
    asked: dict[str, Any]  # custom id -> body
    mark: str = ""
    file: str = ""
    looks: int = 0
    cancelled: bool = False
    since: int = 0  # looks before it was cancelled
    created_at: float = field(default_factory=time.time)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        "Say nothing."

    def send(self, body, status=200):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\n"
        self.wfile.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)

    def answer(self, method):
        length = int(self.headers.get("content-length") or 0)
        content = self.rfile.read(length)
        path = self.path.partition("?")[0]
        double = self.server.double
        double.key = self.headers.get("x-api-key") or self.headers.get("authorization", "")[7:]
        with double.lock:
            made = double.answer(method, path, content)
        if made is None:  # done, but the connection is lost before anybody hears of it
            self.close_connection = True
            return
        self.send(*made) if isinstance(made, tuple) else self.send(made)

    def do_GET(self):
        self.answer("get")

    def do_POST(self):
        self.answer("post")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        "A client that went away is no news."


@dataclass
class Providers:
    "Both providers; a context manager."

    looks: int = 1  # after which a batch has ended
    every: int = 5  # one in so many requests fails
    expire: bool = False  # whether those that fail expire
    lose: int = 0  # batches whose creation is told to nobody
    has_batches: bool = True
    keeps_marks: bool = True
    key: str = ""  # that was sent last
    held: list[Held] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    answered: Counter[str] = field(default_factory=Counter)  # custom id -> times
    direct: list[Any] = field(default_factory=list)  # questions that were put by themselves

    def __enter__(self):
        self.lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.double = self
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.address = {"openai": f"{self.url}/v1", "anthropic": self.url}
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method, path, content):
        "What is sent; None: nothing."
        *_, place, last = f"/{path}".rsplit("/", 2)
        if path == "/v1/chat/completions":
            self.direct.append(json.loads(content))
            return chat(self.direct[-1])
        if path == "/v1/messages":
            self.direct.append(json.loads(content))
            return message(self.direct[-1])
        if path == "/v1/models":
            return {"data": [{"id": "tiny", "owned_by": "double"}]}
        if place == "models":
            return self.model()
        if not self.has_batches or "batches" not in path and "files" not in path:
            return {"error": {"message": "not found"}}, 404
        if path == "/v1/files":
            return self.keep(content)
        if place.startswith("file-"):
            return self.results(self.held[int(place.split("-")[1])], place)
        provider = "anthropic" if path.startswith("/v1/messages") else "openai"
        if last == "batches":
            return self.create(provider, content) if method == "post" else self.listed(provider)
        name = place if last in ("cancel", "results") else last
        one = self.held[int(name.split("_")[1])]
        if last == "results":
            return self.results(one, "anthropic")
        if last == "cancel":
            one.cancelled, one.since = True, one.looks
        else:
            one.looks += 1
        return self.told(provider, one)

    def model(self):
        "The card of Anthropic's model."
        made = {"id": "tiny", "type": "model", "display_name": "Tiny", "lifecycle": "active"}
        return json.loads(
            ModelInfo.model_validate(made | {"created_at": "2026-01-01T00:00:00Z"}).to_json()
        )

    def keep(self, content):
        "A file that is uploaded, within its form."
        name = f"up-{len(self.files)}"
        self.files[name] = content.partition(b"\r\n\r\n")[2]
        made = {"id": name, "object": "file", "purpose": "batch", "status": "uploaded"}
        made |= {"bytes": len(content), "created_at": 0, "filename": "requests.jsonl"}
        return FileObject.model_validate(made).to_dict()

    def create(self, provider, content):
        "A new batch; the first ones may be told to nobody."
        told = json.loads(content)
        if provider == "openai":
            form = self.files[told["input_file_id"]].decode()
            lines = [json.loads(line) for line in form.splitlines() if line.startswith("{")]
            asked = {line["custom_id"]: line["body"] for line in lines}
            assert len(asked) == len(lines) and {line["url"] for line in lines} == {
                "/v1/chat/completions"
            }
            mark = told["metadata"]["cogbias"], told["input_file_id"]
            one = Held(len(self.held), asked, *mark)
        else:
            asked = {each["custom_id"]: each["params"] for each in told["requests"]}
            assert len(asked) == len(told["requests"])
            one = Held(len(self.held), asked)
        assert all(1 <= len(each) <= 64 for each in asked)
        self.held.append(one)
        if self.lose:
            self.lose -= 1
            return None
        return self.told(provider, one)

    def listed(self, provider):
        "All batches of a provider, the newest first."
        return {"data": [self.told(provider, each) for each in self.held[::-1]], "has_more": False}

    def has_ended(self, one):
        return one.looks > self.looks or one.cancelled and one.looks > one.since

    def fails(self, one, at):
        "Whether a request of a batch fails."
        return one.cancelled or at % self.every == self.every - 1

    def told(self, provider, one):
        "A batch as its provider tells of it."
        ended, count = self.has_ended(one), len(one.asked)
        failed = sum(self.fails(one, at) for at in range(count))
        if provider == "openai":
            state = ("cancelled" if one.cancelled else "completed") if ended else "in_progress"
            state = "cancelling" if one.cancelled and not ended else state
            made = {
                "id": f"batch_{one.number}",
                "status": state,
                "object": "batch",
                "endpoint": "/v1/chat/completions",
                "input_file_id": one.file,
                "completion_window": "24h",
                "created_at": int(one.created_at),
                "expires_at": int(one.created_at) + DAY,
                "metadata": {"cogbias": one.mark} if self.keeps_marks else None,
                "request_counts": {"total": count, "completed": count - failed, "failed": failed},
            }
            if ended:
                made |= {"output_file_id": f"file-{one.number}-out"}
                made |= {"error_file_id": f"file-{one.number}-err"}
            return json.loads(Batch.model_validate(made).to_json())
        stamp = "%Y-%m-%dT%H:%M:%SZ"
        sums = {"processing": 0 if ended else count, "canceled": 0, "expired": 0}
        sums |= {"succeeded": ended and count - failed, "errored": ended and failed}
        made = {
            "id": f"msgbatch_{one.number}",
            "type": "message_batch",
            "processing_status": "canceling" if one.cancelled else "in_progress",
            "created_at": time.strftime(stamp, time.gmtime(one.created_at)),
            "expires_at": time.strftime(stamp, time.gmtime(one.created_at + DAY)),
            "request_counts": {name: int(each) for name, each in sums.items()},
        }
        made |= {"processing_status": "ended"} if ended else {}
        return json.loads(MessageBatch.model_validate(made).to_json())

    def results(self, one, kind):
        "Lines in reverse, the last one twice; what succeeds is counted once for each batch."
        good, bad = [], []
        for at, (key, body) in enumerate(one.asked.items()):
            (bad if self.fails(one, at) else good).append(self.line(kind, key, body, at, one))
        if kind.endswith("err"):
            return b"\n".join(reversed(bad))
        if not getattr(one, "counted", False):
            one.counted = True
            self.answered.update(key for at, key in enumerate(one.asked) if not self.fails(one, at))
        lines = good if kind.endswith("out") else good + bad
        return b"\n".join(reversed(lines + lines[:1]))

    def line(self, kind, key, body, at, one):
        "One result."
        failed = self.fails(one, at)
        if kind != "anthropic":
            made = {"id": f"r{at}", "custom_id": key, "error": None, "response": None}
            if failed and self.expire:
                made["error"] = {"code": "batch_expired", "message": "expired"}
            else:
                error = {"message": f"overloaded, {self.key}"}
                said = {"error": error} if failed else chat(body)
                made["response"] = {"status_code": 500 if failed else 200, "body": said}
            return json.dumps(made).encode()
        error = {
            "type": "error",
            "error": {"type": "api_error", "message": f"overloaded, {self.key}"},
        }
        failure = {"type": "expired"} if self.expire else {"type": "errored", "error": error}
        result = failure if failed else {"type": "succeeded", "message": message(body)}
        told = {"custom_id": key, "result": result}
        return MessageBatchIndividualResponse.model_validate(told).to_json(indent=None).encode()
