"Asked in one order only, a liking for a place looks like one for what stands there."

from dataclasses import replace

import pandas as pd
import pytest

import cogbias as cb
from cogbias.design import Contrast
from cogbias.reporting.claims import claim
from cogbias.reporting.study import common_effects, homogeneity_table
from cogbias.tables import identified

ONE_ORDER = {"variant": "base", "option_order": 1}
SAID = (
    "no prompt was answered in two option orders, so a preference for a position counts as a "
    "preference for content"
)


def headline_of(who, place, paradigm, **where):
    "The row of the headline, and the verdict in words."
    found = cb.run(who, paradigm, outputs=place, where=where, reports=False)
    (row,) = cb.headline(found.effects).to_dict("records")
    return row | {"said": claim(row)}


def first_when_treated(conditions):
    "Somebody who takes the first option after a treatment, the last one otherwise."

    def answer(prompt):
        condition = next(each for text, each in conditions.items() if prompt.endswith(text))
        return "A" if condition == "treatment" else "B"

    return answer


@pytest.mark.parametrize("where", [ONE_ORDER, {"variant": "base"}])
def test_who_goes_by_place_gets_no_verdict(tmp_path, where):
    items = cb.items("classic/framing")
    conditions = dict(zip(items["prompt"], items["condition"]))
    row = headline_of(first_when_treated(conditions), tmp_path, "classic/framing", **where)
    assert row["said"].word == "no verdict"
    assert ("position" in row["said"].reason) and (SAID in row["detail"]) == (
        "option_order" in where
    )


def test_who_chooses_both_options_keeps_the_verdict_and_is_told(tmp_path):
    row = headline_of("sim/human", tmp_path, "classic/framing", **ONE_ORDER)
    assert row["status"] != "position_unidentifiable"
    assert SAID in row["detail"]
    both = headline_of("sim/human", tmp_path / "both", "classic/framing", variant="base")
    assert SAID not in (both["detail"] or "")


def test_a_few_prompts_in_both_orders_do_not_help(tmp_path):
    items = cb.items("classic/framing").query("variant == 'base'")
    few = sorted(set(items["order_group"]))[:5]
    asked = items[(items["option_order"].map(str) == "1") | items["order_group"].isin(few)]
    by_place = first_when_treated(dict(zip(items["prompt"], items["condition"])))
    found = cb.run(by_place, asked, name="by place", outputs=tmp_path, reports=False)
    (row,) = cb.headline(found.effects).to_dict("records")
    assert claim(row).word == "no verdict"
    assert "75 of 85 prompts were not answered in two option orders" in row["detail"]


def story(number, condition, moved):
    "A row of items without orders, whose target may stand at another place when treated."
    texts = ["blue", "red"] if moved and condition == "treatment" else ["red", "blue"]
    options = [
        {"label": label, "text": text, "role": "target" if text == "red" else "other", "value": 1}
        for label, text in zip("AB", texts)
    ]
    named = {"paradigm": "own/mine", "item_id": f"{number}{condition}", "condition": condition}
    units = {"cluster": f"c{number}", "pair_id": f"p{number}", "stratum": "all"}
    asked = {"prompt": f"Story {number}, {condition}: A or B?", "answer": "choice"}
    return {**named, **units, **asked, "system": None, "content": {}, "options": options}


@pytest.mark.parametrize("moved", [True, False])
def test_items_without_orders_whose_target_moves_with_the_condition(tmp_path, moved):
    conditions = ("control", "treatment")
    rows = [story(number, each, moved) for number in range(12) for each in conditions]
    redness = Contrast("redness", "Red, treatment minus control", {"target": 1.0, "other": 0.0})
    mine = replace(
        cb.paradigm("classic/framing"),
        name="own/mine",
        items=lambda seed=0: identified(pd.DataFrame(rows)),
        factors={},
        breakdown=(),
        contrasts=(redness,),
        levels={},
    )
    found = cb.run(lambda prompt: "A", mine, name="A", outputs=tmp_path, reports=False)
    (row,) = cb.headline(found.effects).to_dict("records")
    assert abs(row["estimate"]) == moved
    assert (claim(row).word == "no verdict") == moved
    assert (SAID in (row["detail"] or "")) == moved


def test_a_mean_over_models_is_without_who_goes_by_place(tmp_path):
    items = cb.items("classic/framing")
    by_place = first_when_treated(dict(zip(items["prompt"], items["condition"])))
    asked = [by_place, "sim/human", "sim/random", "sim/noisy_rational"]
    found = cb.run(asked, "classic/framing", outputs=tmp_path, where=ONE_ORDER, reports=False)
    table = homogeneity_table(common_effects(found.effects))
    (row,) = table.to_dict("records")
    assert (row["participants"], row["left out"]) == (3, 1)


def test_a_rating_in_one_order_is_not_said_to_follow_its_place(tmp_path):
    def the_middle(prompt, options):
        return list(options)[5]

    where = {"option_order": 1}
    row = headline_of(the_middle, tmp_path, "managerial/escalation", **where)
    assert (row["status"], row["said"].word) == ("position_unidentifiable", "no verdict")
    assert SAID in row["detail"]
