"An estimator of another package that reads a participant's whole suite gets it from the runner."

from dataclasses import replace

import numpy as np
import pytest

import cogbias.effects as effects
from cogbias import design
from cogbias.cells import stored_cell
from cogbias.design import paradigm
from cogbias.effects import Estimator, _effect_row
from cogbias.outputs import load_effects
from cogbias.running import run_study
from cogbias.study import make_study

SEEN = "prompts answered in the whole suite"


def counted(contrast, answers, group="all", seed=0):
    "How many items of the suite were answered, and in which paradigms."
    asked = answers.layout.items.iloc[np.unique(answers.item)]
    rows = effects.read_prompts(answers, contrast)
    found = {"estimate": float(len(asked)), "method": "made", "status": "undefined"}
    said = ", ".join(sorted(asked["paradigm"].unique()))
    return [_effect_row(contrast, rows, group, **found, detail=said)]


@pytest.fixture
def choosing(monkeypatch):
    "choice/certainty with a contrast of a kind that somebody else has registered."
    entry = Estimator(SEEN, counted, "participant", bounded=False)
    monkeypatch.setitem(effects.ESTIMATORS, "suite_count", entry)
    usual = paradigm("choice/certainty")
    seen = replace(usual.headline, measure="seen", title="Seen", kind="suite_count")
    mine = replace(usual, contrasts=(*usual.contrasts, seen))
    known = design._installed_paradigms()
    monkeypatch.setattr(design, "_installed_paradigms", lambda: known | {usual.name: lambda: mine})
    return mine


@pytest.mark.slow
def test_the_runner_gives_estimators_the_whole_suite(choosing, tmp_path):
    names = ["choice/certainty", "choice/decoy", "classic/framing"]
    study = make_study(
        models=["sim/human"],
        paradigms=names,
        settings={
            "choice/decoy": {"products": ["car"]},
            "classic/framing": {"variants": ["base"]},
        },
    )
    assert not run_study(study, tmp_path, reports=False).failed
    table = load_effects(tmp_path / "effects.parquet")
    row = table[table["measure"] == "seen"].iloc[0]
    asked = {name: len(paradigm(name).items()) for name in names[:1]}
    asked["choice/decoy"] = len(paradigm("choice/decoy").items(products=["car"]))
    assert row["detail"] == "choice/certainty, choice/decoy"  # framing is of another
    assert row["estimate"] == sum(asked.values())
    cell = stored_cell(tmp_path, "sim/human", "choice/certainty")  # as a report reads it
    shown = cell.effects[cell.effects["measure"] == "seen"].iloc[0]
    assert shown["estimate"] == row["estimate"]
