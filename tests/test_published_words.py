"What reports say of published answers: what was offered, what was readable, what was left out."

from html import unescape

import pandas as pd
import pytest

from cogbias.design import paradigm
from cogbias.exchange.pagliaro import _fact_answer
from cogbias.reporting.cell import counted, without_places
from cogbias.reporting.methods import _left_out_sentence

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


@pytest.mark.parametrize(
    "readable, said",
    [(800, "on all 800 answers"), (791, "791 could be read"), (0, "None of the 800 answers")],
)
def test_a_headline_rests_on_what_could_be_read(readable, said):
    status = ["ok"] * readable + ["refusal"] * (800 - readable)
    trials = pd.DataFrame({"item_id": range(800), "status": status})
    assert said in counted(trials, trials)
    assert ("rests on all" in counted(trials, trials)) == (readable == 800)


def test_what_is_not_in_the_headline_is_named():
    bias = paradigm("published/pagliaro_representativeness")
    said = _left_out_sentence({"n_clusters": 3}, ITEMS, bias)
    assert "representativeness_v2" in unescape(said) and "same facts" in said
    more = _left_out_sentence({"n_clusters": 2}, ITEMS, bias)
    assert "1 with fewer than 10 readable answers in a condition" in more
    whole = ITEMS[ITEMS["same_facts"]]
    assert _left_out_sentence({"n_clusters": 3}, whole, bias) == ""


@pytest.mark.parametrize(
    "status, said",
    [
        ("ok", "the text of the answer is in the published archive"),
        ("no_response", "published without a text"),
        ("error", "published as a transport error, not as an answer"),
    ],
)
def test_no_text_is_promised_where_none_was_published(status, said):
    fact = {"status": status, "choice": "A" if status == "ok" else None}
    item = {"answer": "choice", "options": [{"label": "A", "role": "target"}]}
    assert _fact_answer(item, fact).detail == said
