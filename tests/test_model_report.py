"The report over participants: copies of a random responder form no structure, planted groups do."

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import nbformat
import pytest
from test_study_report import words
from typer.testing import CliRunner

from cogbias.backends import sim
from cogbias.cli import app
from cogbias.reporting.models import structure
from cogbias.outputs import load_effects, people_of
from cogbias.rendering import render_study_report
from cogbias.reporting.study import common_effects, model_facts

PARADIGMS = (
    *("classic/framing", "classic/loss_aversion", "classic/sunk_cost", "classic/endowment"),
    *("classic/transaction_utility", "classic/gamblers_fallacy"),
)
COPIES = 7
ANSWER = sim._answer_by_rule


def run(place: Path, models: tuple[str, ...], *more: str) -> Path:
    "Participants at as many temperatures as there are copies; stored, without reports."
    arguments = ["run", *more, "--where", "variant=base", "--outputs", str(place), "--no-reports"]
    for flag, values in (("--model", models), ("--paradigm", PARADIGMS)):
        arguments += [part for value in values for part in (flag, value)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return place


def renamed(folder: Path) -> Path:
    "The same folder, as if every participant were a documented model of its own."
    listed = model_facts()
    listed = listed[listed["arena"].notna()].drop_duplicates("family")["model"].tolist()
    manifest = json.loads((folder / "manifest.json").read_text())
    names = dict.fromkeys(cell["participant"] for cell in manifest["cells"])
    models = dict(zip(names, listed))
    for cell in manifest["cells"]:
        cell["model"] = f"ollama/{models[cell['participant']]}"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def drawn_by_itself(who: sim.SimulatedParticipant, request: Any, method: str) -> Any:
    "An answer of a copy; the copies of one study would all draw the same."
    own = zlib.crc32(f"{request.seed} {who.temperature}".encode())
    return ANSWER(who, request._replace(seed=own), method)


def ask_copies(place: Path) -> Path:
    "Copies of a random responder that draw their answers."
    temperatures = [part for t in range(1, COPIES + 1) for part in ("--temperature", str(t))]
    return run(place, ("sim/random",), "--method", "text", *temperatures)


@pytest.fixture(scope="module")
def copies(tmp_path_factory) -> Path:
    "Copies that draw independently."
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sim, "_answer_by_rule", drawn_by_itself)
        return renamed(ask_copies(tmp_path_factory.mktemp("copies")))


def test_copies_of_a_random_responder_form_no_structure(copies):
    common = common_effects(load_effects(copies / "effects.parquet"), people_of(copies))
    assert common["model"].nunique() == COPIES
    found = structure(common[common["variant"] == "base"])
    assert found.groups.status == "undefined" and found.components.components == 0
    assert not (found.pairs["p_adjusted"] < 0.05).any()


@pytest.mark.slow
def test_the_report_shows_sizes_beyond_noise_and_no_structure(copies):
    assert render_study_report(copies) == []
    page = copies / "reports" / "study.ipynb"
    text = words(page)
    assert "How large effects are beyond noise" in text and "noise alone" in text
    assert "Facts and sizes of effects" in text and "arena score" in text
    assert "No groups are named" in text and "No dimension of bias is shown" in text
    assert "0 of 15 pairs" in text
    profiles = [cell for cell in nbformat.read(page, 4).cells if "over.structure" in cell.source]
    pictures = [each for each in profiles[0].outputs if each.get("data", {}).get("image/png")]
    svg = [each for each in profiles[0].outputs if each.get("data", {}).get("image/svg+xml")]
    assert len(pictures + svg) == 1  # the matrix of correlations; no tree is drawn


def test_one_model_at_many_temperatures_is_one_model(tmp_path):
    place = run(tmp_path / "warm", ("sim/human",), "--temperature", "1", "--temperature", "2")
    common = common_effects(load_effects(place / "effects.parquet"), people_of(place))
    assert common["participant"].nunique() == 2 and common["model"].nunique() == 1
    assert structure(common) is None


@pytest.mark.slow  # test_study_report shows every day that few are not looked at together
def test_little_is_said_of_few(tmp_path):
    place = run(tmp_path / "few", ("sim/human", "sim/random", "sim/rational", "sim/mirror"))
    assert render_study_report(place) == []
    text = words(place / "reports" / "study.ipynb")
    assert "Facts and sizes" not in text and "Biases that go together" not in text
    assert "How large effects are beyond noise" in text  # six paradigms are enough for a mean
