"What is empty in a table is not told: no sentence says nan, however the table came."

import pandas as pd
import pytest

from cogbias.claims import claim
from cogbias.compare import difference_sentence
from cogbias.design import paradigm
from cogbias.effects import Analysis
from cogbias.effects.verdicts import _as_estimate
from cogbias.reporting.cell import _truth_contrasts, _unadjusted_p, accuracy_table
from cogbias.reporting.methods import _decision_sentence, trace_table

EMPTY = {"computed": None, "read from a file": float("nan")}
NUMBERS = {"estimate": 0.2, "se": 0.1, "df": 5.0, "ci_low": 0.1, "ci_high": 0.3, "p_value": 0.01}
ROW = {
    **NUMBERS,
    "paradigm": "choice/certainty",
    "participant": "x",
    "target": "S",
    "n_clusters": 5,
    "measure": "effect",
    "group": "all",
    "unit": "probability",
    "status": "few_clusters",
    "verdict": "present",
    "p_adjusted": 0.01,
    "smallest": 0.05,
    "n_trials": 10,
    "n_valid": 10,
}


@pytest.fixture(params=EMPTY.values(), ids=EMPTY)
def nothing(request):
    "What stands in an empty place."
    return request.param


def test_an_estimate_without_a_detail_has_none(nothing):
    assert _as_estimate(ROW | {"method": nothing}).method == ""


def test_no_family_is_named_where_there_is_none(nothing):
    row = ROW | {"family": nothing, "reason": "said"}
    assert "nan" not in claim(row).p and "None" not in claim(row).p
    assert _decision_sentence(row, Analysis()).startswith("P-values are not corrected")


def test_a_formula_that_is_not_known_is_a_dash(nothing):
    bias = paradigm("choice/certainty")
    row = ROW | {"measure": bias.headline.measure, "method": nothing}
    found = trace_table(pd.DataFrame([row]), bias)
    assert found[["formula", "source"]].iloc[0].tolist() == ["–", "–"]


def test_bars_without_a_remark_say_no_policy(nothing):
    bets = paradigm("bets/coin")
    truth = _truth_contrasts(bets)[0].measure
    share = ROW | {"measure": truth, "detail": nothing, "status": "ok", "n_items": 5}
    rows = pd.DataFrame([share, share | {"measure": f"{truth}_type_only"}])
    found = accuracy_table(rows, bets).iloc[0]
    assert (found["knows only the type"], found["note"]) == ("0.20 (p = .010)", "")


def test_a_difference_without_a_remark_says_its_status(nothing):
    row = {"first": "a", "second": "b", "larger": "not told apart", "estimate": float("nan")}
    row |= {"status": "no_valid_answers", "detail": nothing}
    assert difference_sentence(row) == "a and b: no valid answers"


def test_a_p_value_needs_no_interval(nothing):
    assert _unadjusted_p(ROW | {"ci_low": nothing, "ci_high": nothing}) == ".010"
    assert _unadjusted_p(ROW | {"ci_low": 0.2, "ci_high": 0.2}) == ""
