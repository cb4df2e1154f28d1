"""Stored answers of servers keep their names, revisions, identities and trial ids."""

from dataclasses import replace
from typing import Any

import pytest
from recorded_servers import CASES, ITEMS, client_library, made, playing, portrait, recorded

from cogbias.participants import Answer, Request


@pytest.fixture(scope="module")
def recording() -> dict[str, Any]:
    "What was asked and answered, and what was made of it when it was recorded."
    return recorded()


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_conversation_makes_the_same_participant(
    name: str, recording: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-recorded-0123456789")
    case = CASES[name]
    tape = recording["tapes"][case.server]
    found = portrait(made(case, playing(case, tape)), case)
    before = recording["portraits"][name]
    for part in before:
        assert found[part] == before[part], part
    assert found.keys() == before.keys()


class Losing:
    "A transport that loses its connection at one of the chats, and counts them."

    def __init__(self, name: str, tape: dict[str, Any], lost: int = 0):
        self.library, self.lost, self.chats = client_library(CASES[name].name), lost, 0
        self.inner = playing(CASES[name], tape)
        self.transport = self.library.MockTransport(self.answer)

    def answer(self, request: Any) -> Any:
        if request.url.path.endswith(("/chat", "/chat/completions", "/api/generate")):
            self.chats += 1
            if self.chats == self.lost:
                raise self.library.ReadError("connection reset by peer")
        return self.inner.handle_request(request)


def measured(name: str, losing: Losing) -> tuple[Answer, int]:
    "The answer to a question of several tokens, and the chats up to it."
    who = replace(made(CASES[name], None), transport=losing.transport)
    assert who.methods[0] == "option_probability"
    request = Request(ITEMS["brands"], 0, 1)
    return next(who.answers([request], "option_probability"))[1], losing.chats


@pytest.mark.parametrize("name", ["llama.cpp", "Ollama"])
def test_a_measurement_that_loses_its_connection_goes_on_where_it_stopped(
    name: str, recording: dict[str, Any]
) -> None:
    tape = recording["tapes"][CASES[name].server]
    whole, chats = measured(name, Losing(name, tape))
    again, chats_again = measured(name, Losing(name, tape, lost=chats))
    assert (whole.attempt, again.attempt, chats_again) == (1, 2, chats + 1)
    assert (again.p, again.tokens_in) == (whole.p, whole.tokens_in)


def test_a_plan_counts_the_calls_that_try_out_a_server(
    recording: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    "No recorded server took more calls than a plan says, and of either kind one took as many."
    monkeypatch.setenv("OPENAI_API_KEY", "sk-recorded-0123456789")
    taken: dict[str, list[int]] = {"openai": [], "ollama": []}
    planned = {}
    for name, case in CASES.items():
        counting = Losing(name, recording["tapes"][case.server])
        who = replace(made(case, None), transport=counting.transport)
        _ = who.methods, who.identity, who.facts()  # what a run looks at before it asks
        taken[who.backend].append(counting.chats)
        planned[who.backend] = who.trying_out.calls
    assert {name: max(counts) for name, counts in taken.items()} == planned
