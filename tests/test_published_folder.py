"What commands say of a folder into which published answers, some of them to other prompts, came."

from __future__ import annotations

from pathlib import Path

import pytest

from cogbias.cells import report_facts, stored_cell
from cogbias.exchange.pagliaro import OUTCOMES, import_pagliaro
from cogbias.reporting.cell import example_prompts, methods_paragraph
from cogbias.effects import Analysis
from cogbias.study import study_of_cell
from cogbias.outputs import Folder, stored_settings
from cogbias.tables import shipped

FACTS = shipped("data", "published", OUTCOMES)
FRAMING = "published/pagliaro_framing"


def imported(place: Path, paradigm: str, **where: list[str]) -> Path:
    "A part of the published answers, as a folder."
    import_pagliaro(FACTS, place / "out", [paradigm], where)
    return place / "out"


@pytest.fixture(scope="module")
def two_arms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "Models without, and one with, a sentence more in every prompt."
    place = tmp_path_factory.mktemp("arms")
    return imported(place, FRAMING, arm=["baseline", "D1_cot"], content_set=["framing_v1"])


def test_a_report_speaks_of_the_prompts_that_its_participant_was_asked(two_arms):
    for participant, added in (("llama-3.1-8b", False), ("llama-3.1-8b+D1_cot", True)):
        cell = stored_cell(two_arms, participant, FRAMING)
        facts = report_facts(
            study_of_cell(stored_settings(Folder(two_arms))[participant, FRAMING]), cell
        )
        asked = methods_paragraph(
            cell.effects, cell.trials, cell.items, cell.paradigm, participant, Analysis(), "1"
        )
        assert "was asked 2 prompts" in asked and facts["prompts"] == 2
        shown = example_prompts(cell.items, cell.trials, cell.paradigm)
        assert "no readable answer" not in shown
        assert set(cell.items["arm"]) == {"D1_cot" if added else "baseline"}
