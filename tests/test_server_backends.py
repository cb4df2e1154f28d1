"""The two backends of servers say what is particular to their APIs; the rest is one room's."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from cogbias.backends.ollama import OllamaParticipant
from cogbias.backends.openai import OpenaiParticipant
from cogbias.running import run_study
from cogbias.study import make_study

from doubles import Double

BACKENDS = Path(__file__).resolve().parent.parent / "cogbias" / "backends"
ROLES = {
    "MODELS",
    "PARTICIPANT",
    "SETTINGS",
    "make_client",
    "fetch_page",
    "explain",
    "ModelCard",
    "read_model_card",
    "ROUTES",
    "PROBE",
    "probe",
    "words_answer",
    "_checked_settings",
    "_log",
    "__all__",
}  # what each of them says in its own way


def definitions(name: str) -> dict[str, ast.stmt]:
    "What a backend defines, by name."
    found = {}
    for node in ast.parse((BACKENDS / f"{name}.py").read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        if isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
        if isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
    return found


def bodies(name: str) -> set[str]:
    "What the functions and methods of a backend do, beyond passing a call on."
    functions = [
        node
        for definition in definitions(name).values()
        for node in ast.walk(definition)
        if isinstance(node, ast.FunctionDef)
    ]
    without_words = [node.body[isinstance(node.body[0], ast.Expr) :] for node in functions]
    return {ast.dump(ast.Module(body, [])) for body in without_words if len(body) > 1}


def test_what_two_backends_share_stands_in_one_room() -> None:
    assert definitions("openai").keys() & definitions("ollama").keys() <= ROLES
    assert not bodies("openai") & bodies("ollama")


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
