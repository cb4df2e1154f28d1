"The analyses over participants: copies of a random responder form no structure."

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

from cogbias.backends import sim
from cogbias.reporting.models import structure
from cogbias.reporting.study import common_effects
from cogbias.running.studies import run_study
from cogbias.study import make_study

ASKED = {
    "paradigms": [
        *("classic/framing", "classic/loss_aversion", "classic/sunk_cost", "classic/endowment"),
        *("classic/transaction_utility", "classic/gamblers_fallacy"),
    ],
    "where": {"variant": ["base"]},
}
COPIES = 7
ANSWER = sim._answer_by_rule


def drawn_by_itself(who: sim.SimulatedParticipant, request: Any, method: str) -> Any:
    "An answer of a copy; the copies of one study would all draw the same."
    own = zlib.crc32(f"{request.seed} {who.temperature}".encode())
    return ANSWER(who, request._replace(seed=own), method)


def test_copies_of_a_random_responder_form_no_structure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sim, "_answer_by_rule", drawn_by_itself)
    warm = [float(each) for each in range(1, COPIES + 1)]
    study = make_study("copies", models=["sim/random"], method="text", temperature=warm, **ASKED)
    effects = run_study(study, tmp_path, reports=False).effects
    people = {name: {"model": name} for name in effects["participant"]}  # each a model of its own
    common = common_effects(effects, people)
    assert common["model"].nunique() == COPIES
    found = structure(common[common["variant"] == "base"])
    assert found.groups.groups.empty and not (found.pairs["p_adjusted"] < 0.05).any()
    one = common_effects(effects, {name: {"model": "sim/random"} for name in people})
    assert structure(one) is None  # one model at many temperatures is one model
