"""The official OpenAI SDK against a real llama-server, `transformers serve`, and nothing at all."""

from itertools import product

import pytest
from doubles import item
from servers import MISSING, free_port, llama_server, llama_server_binary

from cogbias.backends.openai import PARTICIPANT
from cogbias.tables import CogbiasError
from tiny_models import tiny_folder, tiny_probabilities
from cogbias.participants import Request, participant

needs_server = pytest.mark.skipif(llama_server_binary() is None, reason=MISSING)
CHOICE = (
    "Which option do you choose?\nA) take the bus\nB) call a doctor\nAnswer with A or B only.\n"
)


LETTERS = item(CHOICE, "A", "B")
THREE = ("Brand 1", "Brand 2", "Brand 3")
BRANDS = item("Which do you buy?\nReply with Brand 1, Brand 2 or Brand 3 only.\n", *THREE)
WORDS = item("Is the argument valid or invalid?\nReply with one word.\n", "valid", "invalid")
PERCENT = item("How sure are you, from 0 to 100? Answer with one number.\n", *map(str, range(101)))


@pytest.fixture(scope="module", autouse=True)
def no_key():
    "Servers of one's own need no key, and a server elsewhere must not be asked by mistake."
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="module")
def address():
    "A llama-server with the tiny model; one thread, because two wait for each other under load."
    with llama_server(tiny_folder() / "tiny.gguf", "-t", "1", slots=8) as url:
        yield f"{url}/v1"


@pytest.fixture(scope="module")
def thinking_address():
    "A llama-server with a model that thinks unless told not to."
    with llama_server(tiny_folder(think=True) / "tiny.gguf", "-t", "1") as url:
        yield f"{url}/v1"


def at(address, model="tiny", **settings):
    "A participant at a server."
    return PARTICIPANT(model, base_url=address, timeout=30.0, **settings)


def asked(who, requests, method="text"):
    "Answers in the order of the requests."
    answers = dict(who.answers(requests, method))
    return [answers[index] for index in range(len(requests))]


def drawn(count, which=LETTERS):
    "The same question, with one seed after the other."
    return [Request(which, repeat, 1000 + repeat) for repeat in range(count)]


@needs_server
class TestLlamaServer:
    def test_what_is_found_out(self, address):
        who, same = at(address), at(address.replace("127.0.0.1", "localhost"), concurrency=1)
        facts = who.facts()
        assert (who.methods[0], facts["server"]) == ("option_probability", "llama.cpp")
        words = "256 tokens listed; answers are begun by plain"
        assert words in facts["probabilities"]
        assert (len(who.revision), who.revision) == (16, same.revision)
        assert who.identity == same.identity

    @pytest.mark.parametrize(
        ("which", "temperature"),
        [*product((LETTERS, BRANDS, WORDS), (1.0, 0.5, 0.0)), (PERCENT, 1.0)],
    )
    def test_probabilities_are_those_of_transformers(self, address, which, temperature):
        whom = at(address, temperature=temperature), participant("hf/tiny", temperature=temperature)
        asking = [Request(which, 0, 0)], "option_probability"
        (seen,), (true,) = (asked(who, *asking) for who in whom)
        assert seen.status == true.status == "ok" and seen.detail is None
        assert seen.p == pytest.approx(true.p, abs=1e-3)
        assert seen.valid_mass == pytest.approx(true.valid_mass, abs=1e-3)

    def test_words_follow_the_probabilities(self, address):
        answers = asked(at(address), drawn(300))
        assert {(each.status, each.finish_reason) for each in answers} == {("ok", "stop")}
        share = sum(answer.choice == "A" for answer in answers) / 300
        assert abs(share - tiny_probabilities(CHOICE)["A"]) < 4 * (0.7 * 0.3 / 300) ** 0.5
        first = answers[0]
        assert first.tokens_in > 10 and first.tokens_out == 2 and first.latency_s > 0

    def test_seeds(self, address):
        who, one_at_a_time = at(address), at(address, concurrency=1)
        once, again, alone = (
            [answer.response for answer in asked(each, drawn(40))]
            for each in (who, who, one_at_a_time)
        )
        assert once == again == alone and len(set(once)) == 2

    def test_temperature_0_and_limits(self, address):
        assert {answer.choice for answer in asked(at(address, temperature=0.0), drawn(10))} == {"A"}
        short = asked(at(address, max_tokens=1), drawn(4, BRANDS))
        assert {(answer.status, answer.finish_reason, answer.tokens_out) for answer in short} == {
            ("truncated", "length", 1)
        }

    def test_system_and_extra_fields_are_sent(self, address):
        buyer = at(address, system="You are a careful buyer.")
        plain, longer = (asked(who, drawn(1))[0] for who in (at(address), buyer))
        assert longer.tokens_in > plain.tokens_in
        (both,) = asked(buyer, [Request({**LETTERS, "system": "Be brief."}, 0, 1000)])
        assert both.tokens_in > longer.tokens_in
        assert asked(at(address, extra={"logit_bias": [["A", False]]}), drawn(5))[0].response == "B"

    def test_prompt_longer_than_the_context(self, address):
        long = Request({**LETTERS, "prompt": "word " * 3000}, 0, 0)
        answers = asked(at(address), [long, *drawn(2)])
        assert [answer.status for answer in answers] == ["error", "ok", "ok"]
        assert "exceeds the available context" in answers[0].detail and answers[0].attempt == 1


@needs_server
class TestThinking:
    def test_told_not_to(self, thinking_address):
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

    def test_told_to(self, thinking_address):
        who = at(thinking_address, think=True)
        assert who.methods == ("text",) and who.name == "openai/tiny max_tokens=4096 think=True"
        answers = asked(who, drawn(20))
        assert {answer.status for answer in answers} == {"ok"} and all(
            answer.thinking and "<think>" not in answer.response for answer in answers
        )
        with pytest.raises(CogbiasError, match="it thinks before it answers; use method text"):
            asked(who, drawn(1), "option_probability")


def test_nothing_there():
    who = at(f"http://127.0.0.1:{free_port()}/v1")
    assert who.name == "openai/tiny" and not who.simulated  # known without contact
    for ask in (lambda: who.methods, lambda: who.identity, lambda: asked(who, drawn(1))):
        with pytest.raises(CogbiasError, match="no response from http://localhost:"):
            ask()
