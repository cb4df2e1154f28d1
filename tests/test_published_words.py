"What reports say of published answers: what was offered, what was readable, what was left out."

import pandas as pd

from cogbias.reporting.cell import counted, without_places

ITEMS = pd.DataFrame(
    {
        "cluster": [f"representativeness_v{n}" for n in (1, 2, 3, 4)],
        "condition": "control",
        "same_facts": [True, False, True, True],
        "options": [[{"label": "A"}, {"label": "B"}]] * 4,
    }
)


def test_options_in_one_order_are_not_called_numbers():
    assert "Numbers" not in without_places(ITEMS) and "one order" in without_places(ITEMS)
    asked = ITEMS.assign(options=[[]] * 4)
    assert without_places(asked).startswith("Numbers were asked for")


def test_a_headline_rests_on_what_could_be_read():
    status = ["ok"] * 791 + ["refusal"] * 9
    trials = pd.DataFrame({"item_id": range(800), "status": status})
    assert counted(trials, trials).startswith("791 of the 800 answers")
