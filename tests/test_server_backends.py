"""A server is tried out once in a run."""

import json

import pytest

from cogbias.backends.ollama import OllamaParticipant
from cogbias.backends.openai import OpenaiParticipant
from cogbias.folder import Folder, trials
from cogbias.running.status import folder_status
from cogbias.running.studies import run_study
from cogbias.study import make_study

from doubles import Double


@pytest.mark.parametrize("method", ["auto", "text"])
@pytest.mark.parametrize("kind", [OpenaiParticipant, OllamaParticipant])
def test_a_server_is_tried_out_once_in_a_run(tmp_path, monkeypatch, kind, method):
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


def test_a_router_that_asks_several_providers_is_found_out(tmp_path):
    "Each answer says whose it is, and the run and the status of its folder say that they differ."

    def routed(handler, asked):
        said = handler.answer(asked) | {"provider": "Here" if asked.seed % 2 else "There"}
        handler.send(200, json.dumps(said).encode())

    with Double(script=lambda asked: routed) as double:
        study = make_study(
            models=["openai/tiny"],
            paradigms=["classic/framing"],
            where={"variant": ["base"]},
            method="text",
            participants={"*": {"base_url": double.openai, "concurrency": 8}},
        )
        outcome = run_study(study, tmp_path, reports=False)
    with Folder(tmp_path) as folder:
        table = trials(folder)
    assert set(table["provider"]) == {"Here", "There"}
    counts = ", ".join(
        f"{(table['provider'] == each).sum()} from {each}" for each in ("Here", "There")
    )
    for lines in (outcome.said, folder_status(tmp_path).lines):
        assert any("2 providers" in line and counts in line for line in lines)
