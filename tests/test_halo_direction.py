"""Which way the halo effect counts, on a scale whose first degree is the best."""

from __future__ import annotations

import pytest

from cogbias.backends.sim import exact_trials
from cogbias.running.front_door import effects, headline, items


@pytest.mark.parametrize(("follows", "expected"), [(True, 1 / 3), (False, -1 / 3)])
def test_who_expects_good_of_what_is_praised_shows_the_bias(follows: bool, expected: float) -> None:
    "One sure answer each: good or bad as the opinion is, neither without one."
    asked = items("managerial/halo")
    chosen = {}
    for item in asked.to_dict("records"):
        praised = (item["drawn_opinion"] == "positive") == follows
        told = "good" if praised else "bad"
        wanted = "neither good nor bad" if item["condition"] == "control" else told
        labels = {each["text"]: each["label"] for each in item["options"]}
        sure = {label: float(text == wanted) for text, label in labels.items()}
        chosen[item["item_id"]] = sure
    trials = exact_trials("human", asked)
    found = effects(trials.assign(p=[chosen[each] for each in trials["item_id"]]), asked)
    assert headline(found)["estimate"].tolist() == pytest.approx([expected])
    opinions = found[found["group"].str.startswith("drawn_opinion=", na=False)]
    shifts = opinions[opinions["measure"] == "rating_shift"]["estimate"]
    assert shifts.tolist() == pytest.approx([expected, expected])
