"""A server is tried out once in a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from cogbias.backends.ollama import OllamaParticipant
from cogbias.backends.openai import OpenaiParticipant
from cogbias.running.studies import run_study
from cogbias.study import make_study

from doubles import Double


@pytest.mark.parametrize("method", ["auto", "text"])
@pytest.mark.parametrize("kind", [OpenaiParticipant, OllamaParticipant])
def test_a_server_is_tried_out_once_in_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type, method: str
) -> None:
    "Whatever the method and however many paradigms; and again in the next run."
    tried: list[str] = []
    probe = kind.probe
    monkeypatch.setattr(kind, "probe", lambda who: tried.append(who.name) or probe(who))
    with Double() as double:
        addresses = {"openai": double.openai, "ollama": double.url}
        study = make_study(
            models=[f"{kind.backend}/tiny"],
            paradigms=["classic/framing", "classic/endowment"],
            where={"variant": ["base"]},
            method=method,
            participants={"*": {"base_url": addresses[kind.backend], "concurrency": 8}},
        )
        assert run_study(study, tmp_path, reports=False).failed == []
        assert len(tried) == 1
        assert run_study(study, tmp_path, reports=False).failed == []
    assert len(tried) <= 2
