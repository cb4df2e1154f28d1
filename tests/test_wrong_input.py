"""A mistake in a call of `cb` is one line that says what is wrong."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import cogbias as cb
from cogbias.backends.sim import exact_trials
from cogbias.tables import CogbiasError

NAME, WHO = "choice/certainty", "sim/human"


def few_items():
    "Some prompts of one paradigm."
    items = cb.items(NAME)
    some = items["cluster"].isin(items["cluster"].unique()[:12]) & (items["template"] == 1)
    return items[some].reset_index(drop=True)


ITEMS = few_items()
TRIALS = pd.concat([exact_trials(who, ITEMS) for who in ("human", "rational")], ignore_index=True)
EFFECTS = cb.effects(TRIALS, ITEMS)
FOREIGN = pd.DataFrame({"x": [1, 2]})
WORDINGS = pd.DataFrame(
    [
        {"wording": "mug", "condition": each, "prompt": f"{each}?", "target": "A"}
        | {"option_a": "sell", "option_b": "keep"}
        for each in ("control", "treatment")
    ]
)
NEAR = "did you mean 'choice/certainty'"

WRONG: dict[str, list[tuple[tuple, dict[str, Any], str]]] = {
    "paradigm": [
        (("choice/certanty",), {}, NEAR),
    ],
    "paradigms": [
        (("chioce/*",), {}, "paradigm 'chioce/*' is not known; did you mean"),
    ],
    "items": [
        (("choice/certanty",), {}, NEAR),
        ((NAME,), {"template": 1}, "'template' is not an argument of its items()"),
        ((NAME,), {"seed": "x"}, "seed must be a whole number from 0"),
    ],
    "participant": [
        (("sim/humen",), {}, "did you mean 'sim/human'"),
        (("opnai/x",), {}, "did you mean 'openai'"),
        (("human",), {}, "have the form backend/name"),
        ((3,), {}, "model 3 is not known"),
        (("openai/x",), {"temprature": 1}, "did you mean 'temperature'"),
    ],
    "plan": [
        ((WHO, "choice/certanty"), {}, NEAR),
        (("sim/humen", NAME), {}, "did you mean 'sim/human'"),
        (("no.toml",), {}, "no.toml: no such study file"),
        ((WHO, 3), {}, "should be a name, a pattern, a Paradigm or a table of items, not 3"),
    ],
    "run": [
        ((WHO, "choice/certanty"), {}, NEAR),
        (("sim/humen", NAME), {}, "did you mean 'sim/human'"),
        ((None, NAME), {}, "None cannot be called; give a function"),
        ((WHO, "items.csv"), {}, "a Paradigm or a table of items, not 'items.csv'"),
        ((WHO, FOREIGN), {}, "the table lacks 'wording'"),
        ((WHO, NAME), {"where": {"tmplate": 1}}, "did you mean 'template'"),
        ((WHO, NAME), {"where": {"template": 99}}, "no item has template = '99'"),
        ((WHO, NAME), {"analysis": {"alpha": 7}}, "analysis.alpha must be a number between"),
        ((WHO, NAME), {"name": "mine"}, "name: applies to a single function"),
        ((WHO, NAME), {"outputs": None}, "not NoneType"),
        ((lambda prompt: "A", NAME), {}, "give one, as in run(function, paradigm, name='mine')"),
    ],
    "effects": [
        (("nowhere",), {}, "nowhere: not an outputs folder with answers"),
        ((None,), {}, "None has no effects; give an outputs folder or a trials table"),
        ((FOREIGN,), {}, "trials table: column 'trial_id' is missing; it has x"),
        ((TRIALS, ITEMS.drop(columns="prompt")), {}, "items table: column 'prompt' is missing"),
        ((TRIALS, ITEMS.head(3)), {}, "90 of 96 trials answer items that are not there"),
        ((TRIALS, "classic/framing"), {}, "items are those of classic/framing, but trials are"),
        ((TRIALS, ITEMS), {"alpha": 5}, "alpha must be a number between 0 and .5, not 5"),
        ((TRIALS, ITEMS), {"alfa": 0.05}, "did you mean 'alpha'"),
    ],
    "headline": [
        (("nowhere",), {}, "nowhere: not an outputs folder"),
    ],
    "answers": [
        (("nowhere.csv", NAME), {}, "nowhere.csv"),
        ((FOREIGN, NAME), {}, "--columns person=COLUMN"),
    ],
    "show": [
        ((None,), {}, "None is not a table of items or trials or effects; give a DataFrame"),
        ((TRIALS.head(0),), {}, "trials table: has no rows to show"),
    ],
    "compare": [
        (("nowhere",), {}, "nowhere: not an outputs folder"),
        ((None,), {}, "None is not a table of trials; give a DataFrame"),
        ((EFFECTS,), {}, "trials table: column 'trial_id' is missing"),
        ((TRIALS, "sim/humen"), {"items": ITEMS}, "did you mean 'sim/human'"),
        ((TRIALS, WHO), {"items": ITEMS}, "needs two participants, not 1"),
        ((TRIALS,), {"participant": WHO}, "unexpected keyword argument 'participant'"),
    ],
    "paradigm_from": [
        (("mine.csv",), {}, "should be a DataFrame, but is 'mine.csv'"),
        ((FOREIGN,), {}, "the table lacks 'wording'; give the columns wording, condition"),
        ((WORDINGS, "a b/"), {}, "'a b/' is not a valid name"),
        ((WORDINGS,), {"titel": "A"}, "'titel' is not known; did you mean 'title'"),
        ((WORDINGS,), {"caveats": 3}, "caveats: "),
        ((WORDINGS.head(0),), {}, "wordings: "),
    ],
}


@pytest.mark.parametrize(
    ("name", "given", "named", "said"),
    [
        pytest.param(name, *case, id=f"{name}-{number}")
        for name, cases in WRONG.items()
        for number, case in enumerate(cases)
    ],
)
def test_a_mistake_is_said_in_a_line(name, given, named, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((CogbiasError, TypeError)) as error:
        getattr(cb, name)(*given, **named)
    assert said in str(error.value) and len(str(error.value).splitlines()) == 1
    assert not list(tmp_path.iterdir()), "nothing was asked"


def test_every_name_is_tried():
    assert {*WRONG, "figures"} == {name for name in dir(cb) if not name.startswith("_")}
    with pytest.raises(AttributeError, match="no attribute 'efects'"):
        _ = cb.efects


FIGURES = [
    (None, "effect_forest: should be a DataFrame, but is None"),
    ("effects.csv", "effect_forest: should be a DataFrame, but is 'effects.csv'"),
    (FOREIGN, "missing; the table has x"),
    (EFFECTS, "effect_forest: rows have several units"),
]


@pytest.mark.parametrize(("data", "said"), FIGURES)
def test_a_figure_of_a_wrong_table_is_refused(data, said):
    with pytest.raises(CogbiasError) as error:
        cb.figures.effect_forest(data)
    assert said in str(error.value)


KEPT: dict[str, Callable[[pd.DataFrame, Path], pd.DataFrame]] = {
    "as it is": lambda items, place: items,
    "nullable": lambda items, place: items.convert_dtypes(),
    "ids in the index": lambda items, place: items.set_index("item_id"),
    "out of a csv file": lambda items, place: (
        items.to_csv(place / "items.csv", index=False) or pd.read_csv(place / "items.csv")
    ),
    "out of a parquet file": lambda items, place: (
        items.to_parquet(place / "items.parquet") or pd.read_parquet(place / "items.parquet")
    ),
}


@pytest.mark.parametrize("kept", KEPT)
def test_items_are_asked_however_pandas_keeps_them(kept, tmp_path):
    fixed = {"outputs": tmp_path / "out", "reports": False, "progress": False}
    found = cb.run(WHO, KEPT[kept](ITEMS, tmp_path), **fixed)
    assert sorted(found.trials["item_id"]) == sorted(ITEMS["item_id"])


@pytest.mark.parametrize("name", WRONG)
def test_help_lists_every_argument(name):
    function = getattr(cb, name)
    for each in inspect.signature(function).parameters.values():
        if each.kind is not each.VAR_KEYWORD:
            assert f"\n    {each.name}: " in function.__doc__, each.name
