"""The official OpenAI SDK against a real llama-server, `transformers serve`, and nothing at all."""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import pickle
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest
from doubles import item
from servers import MISSING, free_port, llama_server, llama_server_binary

from cogbias.backends.openai import PARTICIPANT, OpenaiParticipant
from cogbias.design import paradigm
from cogbias.tables import CogbiasError
from cogbias.elicitation.tiny import tiny_folder, tiny_probabilities
from cogbias.participants import Answer, Request, participant, resolve_method
from cogbias.trials import TrialStore, collect

needs_server = pytest.mark.skipif(llama_server_binary() is None, reason=MISSING)
CHOICE = (
    "Which option do you choose?\nA) take the bus\nB) call a doctor\nAnswer with A or B only.\n"
)


LETTERS = item(CHOICE, "A", "B")
BRANDS = item(
    "Which do you buy?\nReply with Brand 1, Brand 2 or Brand 3 only.\n",
    "Brand 1",
    "Brand 2",
    "Brand 3",
)
WORDS = item("Is the argument valid or invalid?\nReply with one word.\n", "valid", "invalid")
PERCENT = item("How sure are you, from 0 to 100? Answer with one number.\n", *map(str, range(101)))


@pytest.fixture(scope="module", autouse=True)
def no_key() -> Iterator[None]:
    "Servers of one's own need no key, and a server elsewhere must not be asked by mistake."
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    "A llama-server with the tiny model; one thread, because two wait for each other under load."
    with llama_server(tiny_folder() / "tiny.gguf", "-t", "1", slots=8) as url:
        yield f"{url}/v1"


@pytest.fixture(scope="module")
def thinking_address() -> Iterator[str]:
    "A llama-server with a model that thinks unless told not to."
    with llama_server(tiny_folder(think=True) / "tiny.gguf", "-t", "1") as url:
        yield f"{url}/v1"


def at(address: str, model: str = "tiny", **settings: Any) -> OpenaiParticipant:
    "A participant at a server."
    return PARTICIPANT(model, base_url=address, timeout=30.0, **settings)


def asked(who: OpenaiParticipant, requests: list[Request], method: str = "text") -> list[Answer]:
    "Answers in the order of the requests."
    answers = dict(who.answers(requests, method))
    return [answers[index] for index in range(len(requests))]


def drawn(count: int, which: dict[str, Any] = LETTERS) -> list[Request]:
    "The same question, with one seed after the other."
    return [Request(which, repeat, 1000 + repeat) for repeat in range(count)]


def everywhere(address: str) -> tuple[float, list[str]]:
    "What a participant measures and says, for workers; the arguments travel by pickle."
    who = pickle.loads(pickle.dumps(at(address)))
    return asked(who, drawn(1), "option_probability")[0].p["A"], [
        answer.response or "" for answer in asked(who, drawn(3))
    ]


@needs_server
class TestLlamaServer:
    def test_what_is_found_out(self, address: str) -> None:
        who = at(address)
        facts = who.facts()
        assert (who.methods, facts["server"], facts["served_model"]) == (
            ("option_probability", "text"),
            "llama.cpp",
            "tiny",
        )
        assert (
            facts["probabilities"]
            == f"{facts['vocabulary']} tokens listed, the whole vocabulary; answers are begun "
            f"by plain"
        )
        assert (facts["limit_field"], facts["host"], facts["probe_difference"] < 1e-3) == (
            "max_tokens",
            "this machine",
            True,
        )
        assert (
            len(who.revision) == 16
            and who.revision == at(address.replace("127.0.0.1", "localhost")).revision
        )
        assert who.identity == at(
            address.replace("127.0.0.1", "localhost"), concurrency=1
        ).identity and address.split(":")[2][:5] not in str(who.identity)

    @pytest.mark.parametrize(
        ("which", "temperature"),
        [
            *(
                (which, temperature)
                for which in (LETTERS, BRANDS, WORDS)
                for temperature in (1.0, 0.5, 1.5, 0.0)
            ),
            (PERCENT, 1.0),
        ],
    )
    def test_probabilities_are_those_of_transformers(
        self, address: str, which: dict[str, Any], temperature: float
    ) -> None:
        seen = asked(
            at(address, temperature=temperature), [Request(which, 0, 0)], "option_probability"
        )[0]
        true = asked(
            participant("hf/tiny", temperature=temperature),
            [Request(which, 0, 0)],
            "option_probability",
        )[0]  # type: ignore[arg-type]
        assert seen.status == true.status == "ok" and seen.detail is None
        assert (
            max(abs(seen.p[label] - true.p[label]) for label in true.p) < 1e-3
            and abs(seen.valid_mass - true.valid_mass) < 1e-3
        )

    def test_probabilities_are_those_of_a_forward_pass(self, address: str) -> None:
        "Without our code in between: the joint probability of each option's tokens and of the end."
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer, model = (
            AutoTokenizer.from_pretrained(tiny_folder()),
            AutoModelForCausalLM.from_pretrained(tiny_folder(), dtype=torch.float32),
        )
        for which in (LETTERS, BRANDS, WORDS):
            prompt = tokenizer.apply_chat_template(
                [{"role": "user", "content": which["prompt"]}],
                add_generation_prompt=True,
                return_dict=False,
            )
            mass = {}
            for each in which["options"]:
                tokens = tokenizer(each["label"], add_special_tokens=False)["input_ids"]
                with torch.no_grad():
                    logprobs = model(torch.tensor([[*prompt, *tokens]])).logits[0].log_softmax(-1)
                mass[each["label"]] = math.exp(
                    sum(
                        logprobs[len(prompt) - 1 + place, token].item()
                        for place, token in enumerate(tokens)
                    )
                )
            seen = asked(at(address), [Request(which, 0, 0)], "option_probability")[0]
            assert all(
                abs(seen.p[label] - each / sum(mass.values())) < 1e-3
                for label, each in mass.items()
            )
            assert abs(seen.valid_mass - sum(mass.values())) < 1e-3

    def test_words_follow_the_probabilities(self, address: str) -> None:
        answers = asked(at(address), drawn(300))
        assert {answer.status for answer in answers} == {"ok"} and {
            answer.finish_reason for answer in answers
        } == {"stop"}
        share = sum(answer.choice == "A" for answer in answers) / 300
        assert abs(share - tiny_probabilities(CHOICE)["A"]) < 4 * (0.7 * 0.3 / 300) ** 0.5
        assert all(
            answer.tokens_in > 10
            and answer.tokens_out == 2
            and answer.latency_s > 0
            and answer.started_at
            for answer in answers
        )

    def test_server_defaults_do_not_cut_the_draw(self, address: str) -> None:
        "At high temperature tokens are about equally likely, unless min_p or top_k hold most back."
        first = [
            answer.response
            for answer in asked(at(address, temperature=1000.0, max_tokens=1), drawn(100))
        ]
        held = [
            answer.response
            for answer in asked(
                at(address, temperature=1000.0, max_tokens=1, extra={"min_p": 0.05}), drawn(100)
            )
        ]
        assert len(set(first)) > 60 and set(held) == {"A", "B"}

    def test_seeds(self, address: str) -> None:
        who = at(address)
        once, again, alone = (
            tuple(answer.response for answer in asked(each, drawn(40)))
            for each in (who, who, at(address, concurrency=1))
        )
        assert once == again == alone and len(set(once)) == 2
        assert (
            len(
                {
                    answer.response
                    for answer in asked(who, [Request(LETTERS, repeat, 7) for repeat in range(8)])
                }
            )
            == 1
        )

    def test_temperature_0_and_limits(self, address: str) -> None:
        assert {answer.choice for answer in asked(at(address, temperature=0.0), drawn(10))} == {"A"}
        short = asked(at(address, max_tokens=1), drawn(4, BRANDS))
        assert {(answer.status, answer.finish_reason, answer.tokens_out) for answer in short} == {
            ("truncated", "length", 1)
        }

    def test_system_and_extra_fields_are_sent(self, address: str) -> None:
        plain, longer = (
            asked(at(address), drawn(1))[0],
            asked(at(address, system="You are a careful buyer."), drawn(1))[0],
        )
        assert longer.tokens_in > plain.tokens_in
        both = asked(
            at(address, system="You are a careful buyer."),
            [Request({**LETTERS, "system": "Be brief."}, 0, 1000)],
        )[0]
        assert both.tokens_in > longer.tokens_in
        assert asked(at(address, extra={"logit_bias": [["A", False]]}), drawn(5))[0].response == "B"

    def test_any_name_is_answered(self, address: str, caplog: pytest.LogCaptureFixture) -> None:
        "llama-server answers to every name; that is logged, and the served name is kept apart."
        other = at(address, model="some-other-model")
        assert asked(other, drawn(1))[0].status == "ok"
        assert (
            "answers to any name, and serves 'tiny'" in caplog.text
            and other.facts()["served_model"] == "tiny"
            and other.revision == at(address).revision
        )

    def test_prompt_longer_than_the_context(self, address: str) -> None:
        answers = asked(
            at(address), [Request({**LETTERS, "prompt": "word " * 3000}, 0, 0), *drawn(2)]
        )
        assert (
            [answer.status for answer in answers] == ["error", "ok", "ok"]
            and "exceeds the available context" in answers[0].detail
            and answers[0].attempt == 1
        )

    def test_sixteen_at_once(self, address: str) -> None:
        who = at(address, concurrency=16)
        assert asked(who, drawn(1))[0].status == "ok"  # what is learned from the server is learned
        began = time.monotonic()
        answers = asked(who, drawn(200))
        assert (
            Counter(answer.status for answer in answers) == {"ok": 200}
            and time.monotonic() - began < 30
        )
        measured = asked(
            who, [Request(LETTERS, 0, 0), Request(BRANDS, 0, 0)] * 16, "option_probability"
        )
        for pair in (measured[::2], measured[1::2]):
            assert (
                max(
                    abs(answer.p[label] - pair[0].p[label]) for answer in pair for label in answer.p
                )
                < 1e-4
            )

    def test_in_a_worker_process_a_thread_and_a_running_loop(self, address: str) -> None:
        here = everywhere(address)
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            there = pool.submit(everywhere, address).result(timeout=120)
        with ThreadPoolExecutor(1) as pool:
            beside = pool.submit(everywhere, address).result(timeout=60)

        async def inside() -> tuple[float, list[str]]:
            return everywhere(address)

        within = asyncio.run(inside())
        for each in (there, beside, within):
            assert abs(each[0] - here[0]) < 1e-4 and each[1] == here[1]

    def test_one_participant_in_many_threads(self, address: str) -> None:
        who, found = at(address), []
        threads = [
            threading.Thread(
                target=lambda: found.append(
                    (who.revision, asked(who, drawn(4), "option_probability")[0].p["A"])
                )
            )
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert (
            len(found) == 6
            and len({revision for revision, _ in found}) == 1
            and max(p for _, p in found) - min(p for _, p in found) < 1e-4
        )

    def test_a_study_is_collected_once(self, address: str, tmp_path: Any) -> None:
        items = paradigm("choice/certainty").items().head(40)
        store, who = TrialStore(tmp_path / "trials.jsonl"), at(address)
        first, second = (
            collect(items, who, store),
            collect(items, at(address, concurrency=2), store),
        )
        assert (first.method, first.planned, first.asked, first.statuses, first.complete) == (
            "option_probability",
            40,
            40,
            {"ok": 40},
            True,
        )
        assert (second.asked, second.stored) == (0, 40)


@needs_server
class TestThinking:
    def test_told_not_to(self, thinking_address: str) -> None:
        who = at(thinking_address)
        assert (
            who.methods == ("option_probability", "text")
            and who.facts()["thinking"] == '{"chat_template_kwargs": {"enable_thinking": false}}'
        )
        measured = asked(who, drawn(1), "option_probability")[0]
        assert abs(measured.p["A"] - 0.7) < 1e-3 and measured.valid_mass > 0.999
        brands = asked(who, drawn(1, BRANDS), "option_probability")[0]
        assert (
            abs(brands.p["Brand 1"] - 0.5) < 1e-3 and brands.detail is None
        )  # an answer that is begun keeps its empty thinking block
        assert {answer.thinking for answer in asked(who, drawn(5))} == {None}

    def test_told_to(self, thinking_address: str) -> None:
        who = at(thinking_address, think=True)
        assert who.methods == ("text",) and who.name == "openai/tiny max_tokens=4096 think=True"
        answers = asked(who, drawn(20))
        assert {answer.status for answer in answers} == {"ok"} and all(
            answer.thinking and "<think>" not in answer.response for answer in answers
        )
        with pytest.raises(CogbiasError, match="it thinks before it answers; use method text"):
            asked(who, drawn(1), "option_probability")


class TestNothingThere:
    def test_unreachable(self, tmp_path: Any) -> None:
        url = f"http://127.0.0.1:{free_port()}/v1"
        began, who = time.monotonic(), at(url)
        assert who.name == "openai/tiny" and not who.simulated  # known without contact
        for ask in (
            lambda: who.methods,
            lambda: who.identity,
            lambda: asked(who, drawn(1)),
            lambda: who.facts(),
        ):
            with pytest.raises(
                CogbiasError,
                match=f"nothing answers at {url}; start the server, or say where it is with "
                f"base_url or OPENAI_BASE_URL",
            ):
                ask()
        assert time.monotonic() - began < 10
        items = paradigm("choice/certainty").items().head(3)
        with pytest.raises(CogbiasError, match="nothing answers"):
            collect(items, who, TrialStore(tmp_path / "trials.jsonl"))

    def test_address_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{free_port()}/v1")
        with pytest.raises(CogbiasError, match="nothing answers at http://127.0.0.1"):
            PARTICIPANT("tiny").methods
        monkeypatch.setenv("OPENAI_BASE_URL", "http://me:hunter22@127.0.0.1:9/v1")
        with pytest.raises(CogbiasError, match="put keys into the environment") as refused:
            PARTICIPANT("tiny").methods
        assert "hunter22" not in str(refused.value)

    def test_openai_itself_without_a_key(self) -> None:
        with pytest.raises(
            CogbiasError, match="OPENAI_API_KEY holds no key for https://api.openai.com/v1"
        ):
            PARTICIPANT("gpt-5.1").methods


@pytest.fixture(scope="module")
def serve_address() -> Iterator[str]:
    "`transformers serve` in this process: a server that accepts logprobs and gives none."
    serving = pytest.importorskip("transformers.cli.serve")
    pytest.importorskip("fastapi")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        port = free_port()
        server = serving.Serve(
            force_model=str(tiny_folder()), device="cpu", port=port, non_blocking=True
        )
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill_server()


class TestTransformersServe:
    def test_text_is_what_is_left(self, serve_address: str) -> None:
        who = at(serve_address, model=str(tiny_folder()), concurrency=2)
        assert who.methods == ("text",) and resolve_method(who) == "text"
        answers = asked(who, drawn(6))
        assert {answer.status for answer in answers} == {"ok"} and {
            answer.choice for answer in answers
        } <= {"A", "B"}
        assert who.facts()["probabilities"].startswith("no: the server")

    def test_probabilities_are_refused(self, serve_address: str) -> None:
        who = at(serve_address, model=str(tiny_folder()))
        with pytest.raises(
            CogbiasError,
            match="probabilities cannot be seen: .*log-probabilities.*; use method text",
        ):
            asked(who, drawn(1), "option_probability")
        with pytest.raises(CogbiasError, match="it offers text"):
            resolve_method(who, "option_probability")
