"""The two backends of servers say what is particular to their APIs; the rest is one room's."""

from __future__ import annotations

import ast
from pathlib import Path

BACKENDS = Path(__file__).resolve().parent.parent / "cogbias" / "backends"
ROLES = {
    "MODELS",
    "PARTICIPANT",
    "make_client",
    "fetch_page",
    "explain",
    "ModelCard",
    "read_model_card",
    "ROUTES",
    "PROBE",
    "probe",
    "words_answer",
    "_checked",
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
