"""Stored answers of servers keep their names, revisions, identities and trial ids."""

from typing import Any

import pytest
from recorded_servers import CASES, made, playing, portrait, recorded


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
