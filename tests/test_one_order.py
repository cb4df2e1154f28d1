"Asked in one order only, a liking for a place looks like one for what stands there."

from __future__ import annotations

from pathlib import Path

import pytest

import cogbias as cb
from cogbias.claims import claim

ONE_ORDER = {"variant": "base", "option_order": 1}
SAID = "no prompt was read in two orders, so a liking for a place counts as one for content"


def headline_of(who: object, place: Path, paradigm: str, **where: object) -> dict:
    "The row of the headline, and the verdict in words."
    found = cb.run(who, paradigm, outputs=place, where=where, reports=False)
    (row,) = cb.headline(found.effects).to_dict("records")
    return row | {"said": claim(row)}


def first_when_treated(conditions: dict[str, str]) -> object:
    "Somebody who takes the first option after a treatment, the last one otherwise."

    def answer(prompt: str) -> str:
        condition = next(each for text, each in conditions.items() if prompt.endswith(text))
        return "A" if condition == "treatment" else "B"

    return answer


@pytest.mark.parametrize("where", [ONE_ORDER, {"variant": "base"}])
def test_who_goes_by_place_gets_no_verdict(tmp_path: Path, where: dict) -> None:
    items = cb.items("classic/framing")
    conditions = dict(zip(items["prompt"], items["condition"]))
    row = headline_of(first_when_treated(conditions), tmp_path, "classic/framing", **where)
    assert row["said"].word == "no verdict"
    assert ("place" in row["said"].reason) and (SAID in row["detail"]) == ("option_order" in where)


def test_who_chooses_both_options_keeps_the_verdict_and_is_told(tmp_path: Path) -> None:
    row = headline_of("sim/human", tmp_path, "classic/framing", **ONE_ORDER)
    assert row["status"] != "position_unidentifiable"
    assert SAID in row["detail"]
    both = headline_of("sim/human", tmp_path / "both", "classic/framing", variant="base")
    assert SAID not in (both["detail"] or "")


def test_an_accuracy_and_a_number_have_no_such_note(tmp_path: Path) -> None:
    for paradigm in ("bets/open", "classic/anchoring"):
        row = headline_of("sim/human", tmp_path / paradigm, paradigm)
        assert SAID not in (row["detail"] or "")
