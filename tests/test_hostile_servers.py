"""Somebody else's server: who is asked, what may come back, what is kept, how long it may take."""

from __future__ import annotations

import copy
import json
import logging
import math
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from tiers import every_few
from doubles import Asked, Double, _Handler
from hostile_double import (
    BOMB,
    ESCAPES,
    LISTS,
    REDIRECTS,
    TEXT,
    TOLERATED,
    HostileDouble,
    Shape,
    healthy,
    raw,
)

from cogbias import cli
from cogbias.backends.ollama import OllamaParticipant
from cogbias.backends.openai import OpenaiParticipant
from cogbias.design import paradigm
from cogbias.tables import CogbiasError
from cogbias.elicitation import calls, server, transport
from cogbias.participants import Participant, participant
from cogbias.outputs import Folder, keep_record
from cogbias.study import make_study, study_participant
from cogbias.trials import TrialStore, collect

ITEMS = paradigm("choice/certainty").items()
LETTERS = ITEMS[
    ITEMS["options"].map(lambda options: {each["label"] for each in options} == {"A", "B"})
].drop_duplicates("prompt")
FEW, HIT = LETTERS.head(6), set(LETTERS["prompt"].iloc[[1, 4]])
TIMEOUT = 1.0  # seconds for an answer

pytestmark = pytest.mark.usefixtures("no_settings_of_the_machine")


class TestNames:
    "A name is itself before it is a pattern."

    MODELS = ("openai/llama[4bit]", "openai/llama4", "openai/llama?", "openai/*")

    @pytest.mark.parametrize("model", MODELS)
    def test_settings_reach_the_model_that_is_named(self, model: str) -> None:
        study = make_study(
            models=list(self.MODELS),
            paradigms=["choice/certainty"],
            participants={name: {"max_tokens": n + 1} for n, name in enumerate(self.MODELS)},
        )
        assert study_participant(study, model).max_tokens == self.MODELS.index(model) + 1

    @pytest.mark.parametrize("model", MODELS)
    def test_the_address_reaches_the_model_that_is_named(
        self, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        "The default server, which has a key of its own, is never asked."
        monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
        with Double() as default, Double() as meant:
            monkeypatch.setenv("OPENAI_BASE_URL", default.openai)
            arguments = ["run", "--model", model, "--paradigm", "choice/certainty", "--no-reports"]
            arguments += ["--where", "template=1", "--where", "design=common_ratio"]
            arguments += ["--base-url", meant.openai, "--set", "max_tokens=7"]
            try:
                cli.main([*arguments, "--outputs", str(tmp_path)])
            except SystemExit as ended:
                assert not ended.code
            assert not default.asked
            assert meant.asked
            assert 7 in {each.body.get("max_tokens") for each in meant.asked}

    def test_options_win_over_every_pattern_of_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "study.toml"
        file.write_text(
            'models = ["openai/tiny"]\nparadigms = ["choice/certainty"]\n'
            '[participants."openai/tiny"]\nmax_tokens = 5\nbase_url = "http://a/v1"\n'
            '[participants."openai/*"]\nbase_url = "http://b/v1"\nmax_tokens = 6\n'
        )
        study = cli._study_of_options(str(file), None, None, base_url="http://c/v1")
        who = study_participant(study, "openai/tiny")
        assert (who.base_url, who.max_tokens) == ("http://c/v1", 6)
        assert participant("openai/tiny").base_url is None


def at(double: Double, backend: str, **settings: object) -> Participant:
    "A participant in front of a double."
    url = double.openai if backend == "openai" else double.url
    return participant(f"{backend}/tiny", base_url=url, timeout=TIMEOUT, concurrency=3, **settings)


def hit(asked: Asked) -> bool:
    "Two of six prompts are answered in the shape under test; what is asked about the model is not."
    return asked.prompt in HIT


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    "Two attempts, and no pause between."
    monkeypatch.setattr(
        calls, "Retries", lambda attempts, pause, kind=calls.Retries: kind(2, 0.001)
    )


ALL = {**TEXT, **LISTS, **REDIRECTS, **TOLERATED}


@pytest.mark.usefixtures("hurried")
class TestShapes:
    "An answer in a shape that no protocol has costs only itself: no cell, no store and no run."

    @pytest.mark.parametrize("backend", ["openai", "ollama"])
    @pytest.mark.parametrize("name", every_few(8, ALL))
    def test_a_shape_costs_its_answer(self, name: str, backend: str, tmp_path: Path) -> None:
        shape: Shape = ALL[name]
        store = TrialStore(tmp_path / "trials.jsonl")
        with HostileDouble(send=shape.send, hit=hit) as double:
            who = at(double, backend)
            assert shape.method in who.methods
            began = time.monotonic()
            if shape.ends == backend:
                with pytest.raises(CogbiasError, match="has no Ollama API there"):
                    collect(FEW, who, store, method=shape.method)
                assert set(store.read()["status"]) <= {"ok"}
                return
            done = collect(FEW, who, store, method=shape.method)
            assert time.monotonic() - began < 2 * 2 * TIMEOUT + 3
        assert done.planned == done.asked == len(FEW)
        table = store.read().merge(FEW[["item_id", "prompt"]], on="item_id").set_index("prompt")
        assert len(table) == len(FEW) and set(table.drop(list(HIT))["status"]) == {"ok"}
        for row in table.loc[list(HIT)].itertuples():
            wanted = shape.status if isinstance(shape.status, tuple) else (shape.status,)
            assert row.status in wanted, (row.status, row.detail)
            if row.status == "error":
                assert row.detail.startswith(f"{backend}: ") or name in TOLERATED
                assert row.detail.isprintable() and 10 < len(row.detail) < 700
        with HostileDouble() as double:  # the store is as good as before
            again = collect(FEW, at(double, backend), store, method=shape.method)
        assert again.complete and set(store.read(again.trial_ids)["status"]) <= {
            "ok",
            *(["no_response"] if name in TOLERATED else []),
        }


SECRETS = {
    "key": "sk-planted-0123456789abcdef",
    "path": "tr0ub4dor-in-the-path",
    "field": "correct.horse+battery/42",
    "header": "staple of the team",
    "user": "me@planted.example",
}
EXTRA = {
    "api_key": SECRETS["field"],
    "headers": {"X-Team": SECRETS["header"]},
    "user": SECRETS["user"],
    "min_p": 0.05,
    "reasoning_effort": "low",
}


def telltale(handler: Any, asked: Asked) -> None:
    "Repeats all that it was sent (path, key, body) as an error, a page, or an error in mid-air."
    told = f"{handler.path} {dict(handler.headers)} {json.dumps(asked.body)}"
    if asked.number % 3 == 0:
        return handler.send(200, f"<p>{told}</p>".encode(), content_type="text/html")
    status = 400 if asked.number % 3 == 1 else 503
    words = told if "options" in asked.body else {"message": told}
    handler.send(status, json.dumps({"error": words}).encode(), retry_after="0")


class TestSecrets:
    "What is sent with a request and is nobody's business is kept nowhere."

    @pytest.mark.slow  # every day answers repeat what they were sent
    def test_nothing_is_written_or_shown(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", SECRETS["key"])
        caplog.set_level(logging.DEBUG)
        with Double() as double:
            url = f"{double.url}/accounts/{SECRETS['path']}/v1"
            arguments = ["run", "--model", "openai/tiny", "--paradigm", "classic/framing"]
            arguments += ["--where", "variant=base", "--base-url", url, "--outputs", str(tmp_path)]
            arguments += ["--set", f"extra={json.dumps(EXTRA)}"]
            double.script = lambda asked: telltale if asked.number in (9, 10, 11) else None
            with pytest.raises(SystemExit):
                cli.main([*arguments, "--no-reports"])  # some answers are missing
            assert {each.body["api_key"] for each in double.asked} == {SECRETS["field"]}
            assert {each.authorization for each in double.asked} == {f"Bearer {SECRETS['key']}"}
            double.script = lambda asked: telltale
            with pytest.raises(SystemExit):
                cli.main([*arguments, "--no-reports"])
            double.script = lambda asked: None
            with pytest.raises(SystemExit) as ended:
                cli.main(arguments)  # asks only for what is missing
            assert ended.value.code == 0
        written = {str(file): file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
        assert any(name.endswith("participant.json") for name in written)
        assert any(name.endswith("framing.ipynb") for name in written)
        manifest = json.loads((tmp_path / "manifest.json").read_text())
        kept = manifest["study"]["participants"]["openai/tiny"]
        assert kept["extra"]["min_p"] == 0.05 and kept["extra"]["reasoning_effort"] == "low"
        assert kept["base_url"] == f"{double.url}/[hidden]/[hidden]/v1"
        shown = [*written.values(), caplog.text.encode(), *map(str.encode, capfd.readouterr())]
        for text in shown:
            for secret in SECRETS.values():
                for form in (secret, secret.split(" ")[0] if " " in secret else secret[4:]):
                    assert form.encode() not in text

    @pytest.mark.parametrize("backend", ["openai", "ollama"])
    def test_what_a_good_answer_repeats_is_not_stored(
        self, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        "A server repeats all that it was sent, in every field of an answer that is otherwise good."
        name = "OPENAI_API_KEY" if backend == "openai" else "OLLAMA_API_KEY"
        monkeypatch.setenv(name, SECRETS["key"])
        usual = _Handler.send

        def repeating(handler: Any, status: int, content: bytes, **headers: str) -> None:
            texts = [SECRETS[each] for each in ("field", "header", "user") if backend == "openai"]
            sent = " ".join([handler.headers.get("authorization", ""), handler.path, *texts])
            body = json.loads(content)
            for place in (body, *body.get("models", []), *body.get("data", [])):
                place |= {
                    "model": sent,
                    "version": sent,
                    "system_fingerprint": sent,
                    "details": {"family": sent, sent: sent},
                }
            message = body["choices"][0]["message"] if "choices" in body else body.get("message")
            if message:
                message |= {"content": f"{message['content']}\n{sent}", "reasoning": sent}
                message["thinking"] = sent
            text = json.dumps(body).replace("/", "\\/")  # as some languages write it
            usual(handler, status, text.encode(), **headers)

        monkeypatch.setattr(_Handler, "send", repeating)
        with Double() as double:
            root = f"{double.url}/{SECRETS['path']}"
            arguments = ["run", "--model", f"{backend}/tiny", "--paradigm", "choice/certainty"]
            arguments += ["--where", "template=1", "--where", "design=common_ratio"]
            arguments += ["--base-url", root + ("/v1" if backend == "openai" else "")]
            arguments += ["--method", "text", "--no-reports", "--outputs", str(tmp_path)]
            if backend == "openai":
                arguments += ["--set", f"extra={json.dumps(EXTRA)}"]
            with pytest.raises(SystemExit) as ended:
                cli.main(arguments)
            assert ended.value.code == 0
            if backend == "openai":  # the other one sends its key to nobody but its own host
                assert all(SECRETS["key"] in each.authorization for each in double.asked)
        stored = TrialStore(next(tmp_path.glob("trials/*/choice-certainty.jsonl"))).read()
        assert len(stored) and stored["response"].str.contains("[secret]", regex=False).all()
        for file in filter(Path.is_file, tmp_path.rglob("*")):
            for secret in SECRETS.values():
                assert secret.encode() not in file.read_bytes(), file

    @pytest.mark.parametrize(
        "value", ["sk_live_51H8xAbCdEfGh", "AKIAIOSFODNN7EXAMPLE", "Zq7planted5ecretVa1ue"]
    )
    def test_a_key_in_place_of_a_name_is_refused_and_not_repeated(self, value: str) -> None:
        with pytest.raises(CogbiasError, match="the name of an environment variable") as refused:
            participant("openai/m", api_key_env=value)
        assert value not in str(refused.value)
        extra = {value: 1, "metadata": {value: 2}, "chat_template": f"{{{{ x }}}} {value}"}
        who = participant("openai/m", extra=extra)
        assert value not in json.dumps(who.kept_extra) and value not in repr(who) + who.name

    def test_nobody_is_asked_with_what_a_record_keeps(self, tmp_path: Path) -> None:
        with Double() as double:
            for settings in (
                {"base_url": f"{double.url}/[hidden]/v1"},
                {"base_url": double.openai, "extra": {"api_key": "[secret]"}},
                {"base_url": double.openai, "extra": {"user": "[text 12ab34]"}},
            ):
                with pytest.raises(CogbiasError, match="comes from a record, which keeps no"):
                    participant("openai/tiny", **settings).methods
            with pytest.raises(CogbiasError, match="comes from a record, which keeps no"):
                participant("ollama/tiny", base_url=f"{double.url}/[hidden]").methods
            assert not double.asked

    def test_a_key_in_extra_changes_nobody(self) -> None:
        "No key shapes name or identity; a text that may shape answers makes another participant."
        one, other = (participant("openai/m", extra={"api_key": key}) for key in ("one", "two"))
        assert one.name == other.name and SECRETS["field"] not in repr(one)
        one, other = (participant("openai/m", extra={"persona": each}) for each in ("shy", "bold"))
        assert one.name != other.name and one.kept_extra["persona"].startswith("[text ")
        plain = {"min_p": 0.1, "stop": ["x"], "reasoning_effort": "low"}
        assert participant("openai/m", extra=plain).kept_extra == plain

    @pytest.mark.parametrize("wrong", [{"extra": "sk-planted-12345"}, {"base_url": "planted"}])
    def test_a_refused_setting_is_not_repeated(self, wrong: dict[str, str]) -> None:
        with pytest.raises(CogbiasError) as refused:
            participant("openai/m", **wrong)
        assert "planted" not in str(refused.value)


class TestLimits:
    "One host, one time, one size."

    @pytest.mark.parametrize("backend", ["openai", "ollama"])
    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_no_request_goes_to_another_host(self, status: int, backend: str) -> None:
        with HostileDouble() as trap, HostileDouble(hit=hit) as double:
            double.send = raw(b"", status, location=trap.url + "/v1/chat/completions")
            who = at(double, backend)
            assert who.methods
            request = calls.Request(FEW[FEW["prompt"].isin(HIT)].iloc[0].to_dict(), 0, 1)
            try:
                answer = next(who.answers([request], "text"))[1]
            except CogbiasError as error:
                assert backend == "ollama" and f"status {status}" in str(error)
            else:
                assert answer.status == "error" and answer.attempt == 1
                assert f"sends us on to {trap.url}" in answer.detail
            assert not trap.asked

    @pytest.mark.parametrize("backend", ["openai", "ollama"])
    @pytest.mark.parametrize(
        "name", ["a body that drips", "a head that drips", "interim answers without end"]
    )
    def test_the_time_limit_is_for_the_whole_answer(self, name: str, backend: str) -> None:
        with HostileDouble(send=TEXT[name].send, hit=hit) as double:
            who = at(double, backend)
            assert who.methods
            row = FEW[FEW["prompt"].isin(HIT)].iloc[0].to_dict()
            began = time.monotonic()
            with pytest.raises(Exception) as late:
                if backend == "openai":
                    who.complete(
                        [{"role": "user", "content": row["prompt"]}], who.dialect, 5, seed=1
                    )
                else:
                    who.client.chat(
                        "tiny", [{"role": "user", "content": row["prompt"]}], options={"seed": 1}
                    )
            assert TIMEOUT * 0.9 < time.monotonic() - began < TIMEOUT + 1
            fault = who.fault(late.value)
            assert "no answer within the time limit of 1 s" in fault.message
            assert not fault.retry  # it would take as long again

    @pytest.mark.parametrize("backend", ["openai", "ollama"])
    @pytest.mark.parametrize("name", ["a body that drips", "a head that drips"])
    def test_a_server_that_drips_costs_one_time_limit(
        self, name: str, backend: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        "Also where it drips from the first page on; five attempts took five."
        with HostileDouble() as double:
            assert at(double, backend).methods  # what has to be imported is
        monkeypatch.setattr(_Handler, "do_GET", lambda handler: TEXT[name].send(handler, None))
        monkeypatch.setattr(_Handler, "do_POST", lambda handler: TEXT[name].send(handler, None))
        with HostileDouble() as double:
            began = time.monotonic()
            with pytest.raises(CogbiasError, match="though it had begun to come"):
                at(double, backend).methods
            assert time.monotonic() - began < 3 * TIMEOUT  # a busy machine included

    @pytest.mark.parametrize("length", [1, 2, 40])
    def test_a_server_that_sends_us_in_circles(
        self, length: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        "To itself, to and fro, or on and on."
        asked = []

        def onwards(handler: Any) -> None:
            asked.append(handler.path)
            place = f"/v1/{len(asked) % length}"
            handler.send(307, b"", location=handler.path if length == 1 else place)

        monkeypatch.setattr(_Handler, "do_GET", onwards)
        with HostileDouble() as double:
            began = time.monotonic()
            with pytest.raises(CogbiasError, match="sends us on in circles .*; check base_url"):
                at(double, "openai").methods
        assert time.monotonic() - began < 5 and len(asked) <= 6

    def test_a_redirect_of_one_step_is_followed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        usual = _Handler.do_GET

        def once(handler: Any) -> None:
            if not handler.path.endswith("/"):
                return handler.send(307, b"", location=f"{handler.path}/")
            handler.path = handler.path.rstrip("/")
            usual(handler)

        monkeypatch.setattr(_Handler, "do_GET", once)
        with HostileDouble() as double:
            assert at(double, "openai").methods

    @pytest.mark.parametrize("backend", ["openai", "ollama"])
    @pytest.mark.parametrize(
        "name", ["300 MB in 300 kB", "a flood", "a packed flood", "four million empty lists"]
    )
    def test_memory_is_bounded(self, name: str, backend: str) -> None:
        "An answer may take 4 MB; three requests are in flight, and each is unpacked and read."
        with HostileDouble(send=TEXT[name].send, hit=hit) as double:
            who = at(double, backend)
            assert who.methods
            row = FEW[FEW["prompt"].isin(HIT)].iloc[0].to_dict()
            tracemalloc.start()
            try:
                answer = next(who.answers([calls.Request(row, 0, 1)], "text"))[1]
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        assert answer.status == "error" and answer.attempt == 1
        assert "larger than 4 MB" in answer.detail or "more than 500,000 values" in answer.detail
        assert peak < 60e6, f"{peak / 1e6:.0f} MB"

    @pytest.mark.parametrize("backend", ["openai", "ollama"])
    def test_pages_about_the_model_have_the_same_limits(
        self, backend: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        "The list of models is packed: 300 MB in 300 kB."

        def page(handler: Any) -> None:
            handler.send(200, BOMB, content_encoding="gzip")

        monkeypatch.setattr(_Handler, "do_GET", page)
        with HostileDouble() as double, pytest.raises(CogbiasError, match="larger than 4 MB"):
            at(double, backend).methods

    def test_a_long_list_has_its_room(self) -> None:
        "Who asks for a hundred thousand tokens gets as many, and no more than that."
        listing = (
            b"[" + b'{"token":"word","bytes":[119,111,114,100],"logprob":-12.345678},' * 100_000
        )
        with pytest.raises(transport.TooLarge):
            transport.received([listing])
        with transport.room_for(100_000):
            assert transport.received([listing]) == listing
        with transport.room_for(10**12), pytest.raises(transport.TooLarge):
            transport.received(bytes(2**20) for _ in range(300))


class TestWords:
    "What a server says is shown in words, never obeyed."

    @pytest.mark.parametrize("backend", ["openai", "ollama"])
    def test_control_characters_stay_out(
        self, backend: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any
    ) -> None:
        "An error, the names of models and what the server says about itself."
        usual = _Handler.do_GET

        def page(handler: Any) -> None:
            name = f"tiny{ESCAPES}"
            pages = {
                "/v1/models": {"data": [{"id": name}]},
                "/api/tags": {"models": [{"name": name, "digest": "d1ce"}]},
            }
            if handler.place in pages:
                return handler.send(200, json.dumps(pages[handler.place]).encode())
            usual(handler)

        monkeypatch.setattr(_Handler, "do_GET", page)
        with Double(
            lambda asked: (
                lambda handler, _: handler.send(404, json.dumps({"error": ESCAPES}).encode())
            )
        ) as double:
            url = double.openai if backend == "openai" else double.url
            arguments = ["run", "--model", f"{backend}/tiny", "--paradigm", "choice/certainty"]
            with pytest.raises(SystemExit):
                cli.main([*arguments, "--base-url", url, "--outputs", str(tmp_path)])
        out, err = capfd.readouterr()
        assert "tiny" in err
        for text in (out, err, *(each.read_text() for each in tmp_path.rglob("*.json*"))):
            assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text
            assert "\u009b" not in text and "\\u001b" not in text


class TestWaiting:
    "A server may ask to wait, and whoever waits is told."

    @pytest.fixture(autouse=True)
    def seconds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        "Two minutes are three tenths of a second here, and ten seconds are one tenth."
        monkeypatch.setattr(calls, "LONGEST_WAIT", 0.3)
        monkeypatch.setattr(calls, "SECONDS_WORTH_A_WORD", 0.1)

    @pytest.mark.parametrize("wanted", ["1e9", "1e999", "Fri, 31 Dec 2999 23:59:59 GMT"])
    def test_a_long_wait_is_cut_and_said(
        self, wanted: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with HostileDouble(hit=hit) as double:
            double.send = lambda handler, asked: handler.send(
                429, b'{"error": {"message": "slow down"}}', retry_after=wanted
            )
            who = at(double, "openai")
            assert who.methods
            row = FEW[FEW["prompt"].isin(HIT)].iloc[0].to_dict()
            began = time.monotonic()
            answer = next(who.answers([calls.Request(row, 0, 1)], "text"))[1]
            assert 0.3 <= time.monotonic() - began < 2
        assert (answer.status, answer.attempt) == ("error", 2)
        assert "slow down" in answer.detail and "run again later" in answer.detail
        assert "for the server, which asks for" in caplog.text

    def test_while_the_model_is_asked_about(self, caplog: pytest.LogCaptureFixture) -> None:
        with HostileDouble(hit=lambda asked: True) as double:
            double.send = lambda handler, asked: handler.send(429, b"{}", retry_after="1e9")
            began = time.monotonic()
            with pytest.raises(CogbiasError, match="asks to wait 1,000,000,000 s"):
                at(double, "openai").methods
            assert time.monotonic() - began < 2
        assert "for the server, which asks for 1,000,000,000 s" in caplog.text


PAGES: dict[str, dict[str, Any]] = {
    "openai": {
        "/v1/models": {
            "data": [
                {
                    "id": "tiny",
                    "aliases": ["t"],
                    "owned_by": "llamacpp",
                    "root": "x",
                    "max_model_len": 4096,
                    "meta": {"n_vocab": 5, "n_params": 10, "ftype": "Q4", "n_ctx": 100},
                }
            ]
        },
        "/props": {"build_info": "b1", "chat_template": "{{}}"},
    },
    "ollama": {
        "/api/version": {"version": "0.40"},
        "/api/ps": {"models": [{"name": "tiny:latest", "context_length": 4096}]},
        "/api/tags": {"models": [{"name": "tiny:latest", "digest": "d1ce", "size": 1}]},
        "/api/show": {
            "details": {"family": "llama", "quantization_level": "Q4"},
            "model_info": {"general.parameter_count": 5, "llama.context_length": 9},
            "capabilities": ["completion"],
            "template": "x",
            "parameters": "p",
            "remote_host": "",
        },
    },
}
MISSING = object()
INSTEAD = (MISSING, 10**30, [1], math.nan, "\x1b[31m\ud800")


def places(body: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    "Where a body holds something."
    yield path
    for name, value in (
        body.items()
        if isinstance(body, dict)
        else enumerate(body)
        if isinstance(body, list)
        else ()
    ):
        yield from places(value, (*path, name))


def replaced(body: Any, path: tuple[Any, ...], value: Any) -> Any:
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
    """A server without a network, with something else at one place of one page or of its answers.

    Of answers, each prompt that is named has its own: what else stands there.
    """

    def __init__(self, backend: str, page: str, path: tuple[Any, ...], other: Any):
        self.backend, self.page, self.path, self.other = backend, page, path, other
        self.http = httpx2 if backend == "openai" else httpx

    def body(self, request: Any) -> Any:
        "What is answered."
        page, pages = request.url.path, PAGES[self.backend]
        if request.method == "GET" or page == "/api/show":
            body = pages.get(page, {})
            return replaced(body, self.path, self.other) if page == self.page else body
        sent = json.loads(request.content)
        seed = (sent.get("options") or sent).get("seed", 0)
        asked = Asked(1, 1, sent["messages"][-1]["content"], seed, sent, "")
        if self.page == "answer" and asked.prompt in self.other:
            return replaced(healthy(asked), self.path, self.other[asked.prompt])
        return healthy(asked)

    def participant(self) -> Participant:
        "Who is in front of it."
        transport = self.http.MockTransport(
            lambda request: self.http.Response(200, content=json.dumps(self.body(request)).encode())
        )
        if self.backend == "openai":
            return OpenaiParticipant("tiny", base_url="http://h/v1", transport=transport)
        return OllamaParticipant("tiny", base_url="http://h", transport=transport)


def sample(backend: str, method: str) -> dict[str, Any]:
    "An answer in good health."
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "?"}], "max_tokens": 1}
    body |= {"options": {"num_predict": 1}} if backend == "ollama" else {}
    body |= {"logprobs": True} if method == "option_probability" else {}
    return healthy(Asked(1, 1, "?", 3, body, ""))


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("backend", ["openai", "ollama"])
class TestEveryField:
    "Every field of every page and of every answer, missing and in four wrong types."

    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        "Questions about the model are not put again."
        monkeypatch.setattr(server.time, "sleep", lambda seconds: None)

    @pytest.mark.parametrize("method", ["text", "option_probability"])
    def test_an_answer(self, method: str, backend: str, tmp_path: Path) -> None:
        others = dict(zip(FEW["prompt"].iloc[1:], INSTEAD, strict=True))
        count = 0
        for number, path in enumerate(places(sample(backend, method))):
            store = TrialStore(tmp_path / f"{number}.jsonl")
            who = World(backend, "answer", path, others).participant()
            done = collect(FEW, who, store, method=method)
            rows = store.read().set_index("item_id").loc[FEW["item_id"]].to_dict("records")
            assert done.asked == len(FEW) and rows[0]["status"] == "ok"
            for hurt, value in zip(rows[1:], INSTEAD, strict=True):
                count += 1
                if hurt["status"] == "error":
                    assert hurt["detail"].isprintable() and "cannot be read" not in hurt["detail"]
                elif method == "option_probability":
                    whole = hurt["p"]["A"] == pytest.approx(2 / 3)
                    assert whole or "was not seen" in hurt["detail"], (path, value)
        assert count > 40

    def test_a_page(self, backend: str, tmp_path: Path) -> None:
        count = 0
        for page, body in PAGES[backend].items():
            for path in places(body):
                for value in INSTEAD:
                    count += 1
                    folder = tmp_path / str(count)
                    who = World(backend, page, path, value).participant()
                    try:
                        keep_record(Folder(folder), who)
                        collect(FEW.head(1), who, TrialStore(folder / "t.jsonl"), method="text")
                    except CogbiasError as error:
                        assert str(error).isprintable() and len(str(error)) < 700
                        continue
                    (record,) = folder.rglob("participant.json")
                    assert "\\u001b" not in record.read_text(encoding="utf-8")
                    assert len(TrialStore(folder / "t.jsonl").read()) == 1
        assert count > 40
