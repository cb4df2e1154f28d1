"""Options whose tokens are not listed, from a double of vLLM with a model of known probabilities.

What it sends is made with the type of the official client, and has vLLM's `prompt_logprobs` beside.
"""

import json
import math
import random
from typing import Any

import httpx2
import pytest
from doubles import item
from openai.types.chat import ChatCompletion

from cogbias.backends.openai import OpenaiParticipant
from cogbias.participants import Request
from cogbias.tables import CogbiasError

pytestmark = pytest.mark.usefixtures("no_settings_of_the_machine")
END = "<|im_end|>"
TALK = ("Well", "So", "Oh", "Hm", "Now", "Ah")  # likelier than any answer
WORDS = (*TALK, "Brand", " 1", " 2", " 3", "A", "B", ".", END)
BRANDS = item("Which do you buy?\nBrand 1, Brand 2 or Brand 3?\n", "Brand 1", "Brand 2", "Brand 3")
LETTERS = item("Which one?\nA or B?\n", "A", "B")
READ = 12  # tokens of a prompt with nothing begun


def chances(begun):
    "The next token after a beginning: talk at first, then another part of an answer, or its end."
    drawn = random.Random(f"{begun}")
    likely = TALK if not begun else (" 1", " 2", " 3") if begun == ("Brand",) else (END, ".")
    rare = {each: 0.05 for each in ("Brand", "A", "B") if not begun}
    weights = {
        each: drawn.uniform(1, 2) * (1 if each in likely else rare.get(each, 1e-9))
        for each in WORDS
    }
    return {each: weight / sum(weights.values()) for each, weight in weights.items()}


def tokens_of(text):
    "A text in tokens."
    found: tuple[str, ...] = ()
    while text:
        first = next(each for each in WORDS if text.startswith(each))
        found, text = (*found, first), text.removeprefix(first)
    return found


def likeliest(begun, count):
    "What a list shows."
    return sorted(chances(begun), key=lambda each: -chances(begun)[each])[:count]


def listed(begun, token, count):
    "A token that was drawn, with its list."
    known = chances(begun)
    top = [{"token": each, "logprob": math.log(known[each])} for each in likeliest(begun, count)]
    return {"token": token, "logprob": math.log(known[token]), "top_logprobs": top}


def of_prompt(begun, count):
    "prompt_logprobs: by id, the token that stands there first."
    shown: list[dict[str, Any] | None] = [None, *[{"0": {"logprob": -0.1, "rank": 1}}] * (READ - 1)]
    for place, token in enumerate(begun):
        before = begun[:place]
        names = dict.fromkeys([token, *likeliest(before, count)])
        held = {
            str(WORDS.index(each)): {
                "logprob": math.log(chances(before)[each]),
                "rank": likeliest(before, len(WORDS)).index(each) + 1,
                "decoded_token": each,
            }
            for each in names
        }
        shown.append(held)
    return shown


class Vllm:
    "The server: it lists five tokens at most, and goes on with an answer where it is told to."

    def __init__(self, most=5, shown=lambda shown: shown):
        self.most, self.shown, self.asked = most, shown, []

    def __call__(self, request):
        if request.method == "GET":
            entry = {"id": "tiny", "owned_by": "vllm", "root": "org/tiny"}
            body = {"data": [entry]} if request.url.path == "/v1/models" else {"version": "0.33.0"}
            return httpx2.Response(200, json=body)
        body = json.loads(request.content)
        self.asked.append(body)
        wanted = max(body.get("top_logprobs", 0), body.get("prompt_logprobs", 0))
        if wanted > self.most:
            return httpx2.Response(400, json={"error": {"message": f"at most {self.most}"}})
        return httpx2.Response(200, json=self.answer(body))

    def answer(self, body):
        "A chat completion."
        last = body["messages"][-1]
        begun = tokens_of(last["content"]) if body.get("continue_final_message") else ()
        said = [*self.drawn(begun, body)]
        count = body.get("top_logprobs", 0)
        logs = [listed((*begun, *said[:at]), token, count) for at, token in enumerate(said)]
        content = "".join(each for each in said if each != END)
        choice = {"index": 0, "message": {"role": "assistant", "content": content}}
        choice |= {"finish_reason": "stop", "logprobs": {"content": logs}}
        read = READ + len(begun) + 3 * (last["role"] == "assistant" and not begun)
        usage = {"prompt_tokens": read, "completion_tokens": len(said)}
        made = {"id": "c", "object": "chat.completion", "created": 0, "model": "tiny"}
        made |= {"choices": [choice], "usage": usage | {"total_tokens": read + len(said)}}
        if "prompt_logprobs" in body:
            made["prompt_logprobs"] = self.shown(of_prompt(begun, body["prompt_logprobs"]))
        return ChatCompletion.model_validate(made).to_dict()

    def drawn(self, begun, body):
        "The tokens of an answer."
        for step in range(min(3, body["max_tokens"])):
            known = chances(begun)
            draw = random.Random(f"{body.get('seed')} {step}")
            (token,) = draw.choices([*known], [*known.values()])
            yield token
            begun = (*begun, token)
            if token == END:
                return

    def participant(self, **settings):
        "Who is in front of it."
        network = httpx2.MockTransport(self)
        return OpenaiParticipant("tiny", base_url="http://h/v1", transport=network, **settings)


def measured(who, asked):
    "Its answer to an item, by the probabilities of its options."
    return next(iter(who.answers([Request(asked, 0, 1)], "option_probability")))[1]


@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("asked", [BRANDS, LETTERS])
def test_options_that_are_not_listed_have_the_probabilities_of_the_whole_vocabulary(
    asked, temperature
):
    five, all_ = Vllm(), Vllm(most=256)
    some = measured(five.participant(temperature=temperature), asked)
    whole = measured(all_.participant(temperature=temperature), asked)
    assert some.status == whole.status == "ok"
    assert some.p == pytest.approx(whole.p, rel=1e-6)
    if temperature == 1:  # what is left over is known then
        assert some.valid_mass == pytest.approx(whole.valid_mass, rel=1e-6)
    looked_up = [each for each in five.asked if each.get("prompt_logprobs") == 5]
    assert len(looked_up) == 1 + len(asked["options"]) and whole.detail is None
    assert "of the probability was not observed" in some.detail  # talk that no list shows


def test_what_is_known_of_a_server_says_whether_tokens_are_looked_up():
    told = {
        name: Vllm(shown=shown).participant()
        for name, shown in {
            "vLLM": lambda shown: shown,
            "ignores it": lambda shown: None,
            "leaves tokens out": lambda shown: shown[1:],
            "shows another prompt": lambda shown: [*shown[:-1], shown[1]],
        }.items()
    }
    given = {name: who.probability_access.given for name, who in told.items()}
    assert given == dict.fromkeys(told, False) | {"vLLM": True}
    assert {who.probability_access.route for who in told.values()} == {"continue_final_message"}
    assert "others looked up" in told["vLLM"].facts()["probabilities"]
    assert "looked up" not in told["ignores it"].facts()["probabilities"]


def test_a_server_that_stops_to_show_every_token_is_found_out():
    double = Vllm()
    who = double.participant()
    assert who.probability_access.given
    double.shown = lambda shown: shown[1:]
    answer = measured(who, BRANDS)
    assert "tokenized differently" in answer.detail


def test_the_same_probability_for_everything_is_none():
    class Flat(Vllm):
        def answer(self, body):
            made = super().answer(body)
            for each in made["choices"][0]["logprobs"]["content"]:
                each["top_logprobs"] = [one | {"logprob": -2.0} for one in each["top_logprobs"]]
            return made

    with pytest.raises(CogbiasError, match="all tokens have the same probability"):
        measured(Flat().participant(), LETTERS)
