"""Whatever somebody gives to a name of `cb` or to a figure, a mistake is one line of ours."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tiers import every_few
from matplotlib import pyplot as plt

import cogbias as cb
from cogbias.backends.sim import exact_trials
from cogbias.tables import CogbiasError

WRONG = {
    "None": None,
    "a number": 3,
    "nan": float("nan"),
    "True": True,
    "a text": "nonsense",
    "no text": "",
    "a null byte": "a\0b",
    "bytes": b"x",
    "no such folder": Path("no/such"),
    "no such file": "no/such.csv",
    "a list": [1, 2],
    "an empty list": [],
    "an empty table": {},
    "an array": np.zeros(3),
    "a column": pd.Series([1.0]),
    "an empty frame": pd.DataFrame(),
    "a foreign frame": pd.DataFrame({"x": [1, 2]}),
    "a function": len,
    "an object": object(),
}
NAME = "choice/certainty"


def few_items() -> pd.DataFrame:
    "Some prompts of one paradigm."
    items = cb.items(NAME)
    some = items["cluster"].isin(items["cluster"].unique()[:12]) & (items["template"] == 1)
    return items[some].reset_index(drop=True)


ITEMS = few_items()
TRIALS = pd.concat([exact_trials(who, ITEMS) for who in ("human", "rational")], ignore_index=True)
EFFECTS = cb.effects(TRIALS, ITEMS)
HEADS = cb.headline(EFFECTS)


def refused(call: Callable[[], Any]) -> str:
    "What a call says that cannot be followed; empty where it can be."
    try:
        call()
    except CogbiasError as error:
        assert len(str(error).splitlines()) == 1 and len(str(error)) > 15
        return str(error)
    finally:
        plt.close("all")
    return ""


# --- the front door

GIVEN: dict[str, dict[str, Any]] = {
    "paradigm": {"what": NAME},
    "paradigms": {"pattern": "choice/*"},
    "items": {"paradigm": NAME, "seed": 0},
    "participant": {"name": "sim/human", "temperature": None},
    "show": {"thing": EFFECTS},
    "effects": {"source": TRIALS, "items": ITEMS, "seed": 0, "alpha": 0.05, "family": "study"},
    "headline": {"source": EFFECTS},
    "compare": {
        **{"source": TRIALS, "participants": ["sim/human", "sim/rational"], "items": ITEMS},
        **{"alpha": 0.05, "seed": 0},
    },
    "paradigm_from": {"items": ITEMS, "name": "mine", "target_role": "target"},
    "plan": {"model": "sim/human", "paradigm": NAME, "outputs": "no/such", "repeats": 1},
}
FIRST = {name: next(iter(given)) for name, given in GIVEN.items()}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("name", GIVEN)
def test_no_name_takes_a_wrong_thing(name: str, what: str) -> None:
    assert refused(lambda: getattr(cb, name)(**GIVEN[name] | {FIRST[name]: WRONG[what]})), name


@pytest.mark.parametrize(("name", "argument"), [(n, a) for n, g in GIVEN.items() for a in g])
def test_a_wrong_argument_is_never_an_error_of_somebody_else(name: str, argument: str) -> None:
    for wrong in WRONG.values():  # some are right: None is a seed that was not given
        refused(lambda: getattr(cb, name)(**GIVEN[name] | {argument: wrong}))


OF_A_RUN = {
    **{"model": "sim/human", "paradigm": ITEMS, "outputs": "out", "name": None, "repeats": 1},
    **{"temperature": None, "where": None, "timeout": None, "concurrency": None, "seed": 0},
    **{"revision": None, "method": "auto", "analysis": {}, "limits": {}, "settings": {}},
}


@pytest.mark.parametrize("argument", every_few(12, OF_A_RUN))
def test_a_wrong_run_is_never_an_error_of_somebody_else(
    argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fixed = {"reports": False, "progress": False}
    said = [refused(lambda: cb.run(**OF_A_RUN | fixed | {argument: x})) for x in WRONG.values()]
    assert sum(map(bool, said)) > 10


def test_every_name_is_tried() -> None:
    assert {*GIVEN, "run", "figures"} == {name for name in dir(cb) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: cb.items("choice/certanty"), "did you mean 'choice/certainty'"),
        (lambda: cb.run("sim/humen", NAME, outputs="x"), "did you mean 'sim/human'"),
        (lambda: cb.run("sim/human", NAME, outputs=None), "outputs: None is no path of a folder"),
        (lambda: cb.plan("sim/human", NAME, outputs=5), "outputs: 5 is no path of a folder"),
        (
            lambda: cb.run("sim/human", "items.csv", outputs="x"),
            "'items.csv' is a file of a table; give what",
        ),
        (lambda: cb.participant("sim"), "should read backend/name; known: sim/random, sim/ration"),
        (lambda: cb.participant("SIM/HUMAN"), "should read backend/name; known: sim/random, sim/"),
        (lambda: cb.effects("x" * 300), "has 300 characters, more than a path may have here"),
        (lambda: cb.run("sim/human", NAME, outputs="x" * 300), "has 300 characters, more than"),
        (lambda: cb.compare("x" * 300), "has 300 characters, more than a path may have here"),
        (lambda: cb.effects(TRIALS, ITEMS, alpha=5), "analysis.alpha is 5; give a number between"),
        (lambda: cb.compare(TRIALS, items=ITEMS, alpha=5), "analysis.alpha is 5"),
        (
            lambda: cb.compare(TRIALS, participant="x"),
            "is no argument; did you mean 'participants'",
        ),
        (lambda: cb.compare(TRIALS, [3, "x"], items=ITEMS), "participant 3 has no answers here"),
        (lambda: cb.effects(TRIALS, ITEMS.drop(columns="prompt")), "column 'prompt' is missing"),
        (lambda: cb.effects(pd.concat([TRIALS] * 2), ITEMS), "have one trial_id and are the same"),
        (lambda: cb.paradigm_from("mine.csv"), "should be a DataFrame, but is 'mine.csv'"),
        (lambda: cb.paradigm_from(ITEMS, caveats=3), "caveats: should be a valid list, not 3"),
        (lambda: cb.paradigm_from(ITEMS, titel="A"), "'titel' is not known; did you mean 'title'"),
        (lambda: cb.paradigm_from(ITEMS, role="A"), "is not known; known: bias, caveats, compares"),
        (lambda: cb.paradigm_from(ITEMS, persona="A"), "'persona' is said by the rows of an items"),
        (lambda: cb.paradigm_from(ITEMS, title=None), "title: should be a valid string, not None"),
        (
            lambda: cb.paradigm_from(ITEMS.assign(options="yes, no")),
            "column 'options' should hold list but holds text 'yes, no' in row 0",
        ),
    ],
)
def test_a_mistake_says_what_and_what_to_do(call: Callable[[], Any], said: str) -> None:
    assert said in refused(call)


def test_an_answer_names_an_option_that_its_item_offers() -> None:
    first = TRIALS.index == 0
    for p, said in [({}, "has an empty table p"), ({"Z": 1.0}, "answers with 'Z', which its item")]:
        wrong = TRIALS.assign(p=[p if at else each for at, each in zip(first, TRIALS["p"])])
        for call in (lambda: cb.effects(wrong, ITEMS), lambda: cb.compare(wrong, items=ITEMS)):
            assert said in refused(call)
    odd = TRIALS.assign(p=None, choice="Z", method="text")
    assert "answers with 'Z'" in refused(lambda: cb.effects(odd, ITEMS))


def test_a_readable_answer_has_an_answer() -> None:
    nothing = TRIALS.assign(p=None, choice=None, value=None, method="text")
    for call in (cb.effects, cb.headline, lambda trials: cb.compare(trials, items=ITEMS)):
        assert "has status 'ok' and no answer; give its choice" in refused(lambda: call(nothing))
    unread = nothing.assign(status=["refusal", *["ok"] * (len(TRIALS) - 1)]).head(1)
    assert cb.effects(unread)["n_valid"].iloc[0] == 0


def test_a_folder_and_a_result_are_shown_by_their_effects(tmp_path: Path) -> None:
    found = cb.run("sim/human", ITEMS, outputs=tmp_path, reports=False, progress=False)
    wanted = repr(cb.show(found.effects))
    assert "sim/human" in wanted
    assert [repr(cb.show(each)) for each in (found, tmp_path, str(tmp_path))] == [wanted] * 3


def test_those_who_are_compared_are_names_or_a_list() -> None:
    wanted = cb.compare(EFFECTS, "sim/rational", "sim/human").differences
    assert wanted["first"].tolist() == ["sim/rational"]
    for found in (
        cb.compare(EFFECTS, ["sim/rational", "sim/human"]),
        cb.compare(EFFECTS, participants=["sim/rational", "sim/human"]),
        cb.compare(EFFECTS, np.array(["sim/rational", "sim/human"])),
        cb.compare(EFFECTS, pd.Series(["sim/rational", "sim/human"])),
    ):
        pd.testing.assert_frame_equal(found.differences, wanted)
    assert cb.compare(EFFECTS, {"sim/rational", "sim/human"}).differences["estimate"].notna().all()


@pytest.mark.parametrize("levels", [np.array([1, 2]), range(1, 3), pd.Series([1, 2]), {1, 2}])
def test_levels_that_are_asked_are_any_list(levels: Any, tmp_path: Path) -> None:
    fixed = {"outputs": tmp_path, "reports": False, "progress": False}
    found = cb.run("sim/rational", NAME, where={"template": levels, "vals_index": 1}, **fixed)
    items = cb.items(NAME).set_index("item_id")
    assert set(items.loc[found.trials["item_id"], "template"]) == {1, 2}


def test_a_level_that_no_item_has_is_told_in_a_line(tmp_path: Path) -> None:
    said = refused(lambda: cb.run("sim/human", NAME, where={"prompt": "x"}, outputs=tmp_path))
    assert "where 'prompt' names 'x', which no item has" in said and len(said) < 1000


def test_a_column_that_a_comparison_reads_is_named() -> None:
    framed = cb.items("classic/framing").drop(columns="variant")
    both = [exact_trials(who, framed) for who in ("human", "rational")]
    said = refused(lambda: cb.compare(pd.concat(both), items=framed))
    assert "classic/framing: column 'variant' is missing" in said


TAKES_A_FRAME: dict[str, tuple[pd.DataFrame, Callable[[pd.DataFrame], Any]]] = {
    "show items": (ITEMS, cb.show),
    "show trials": (TRIALS, cb.show),
    "show effects": (EFFECTS, cb.show),
    "effects": (TRIALS, lambda frame: cb.effects(frame, ITEMS)),
    "effects of items": (ITEMS, lambda frame: cb.effects(TRIALS, frame)),
    "headline": (EFFECTS, cb.headline),
    "compare effects": (EFFECTS, cb.compare),
    "compare trials": (TRIALS, lambda frame: cb.compare(frame, items=ITEMS)),
    "paradigm_from": (ITEMS, cb.paradigm_from),
    "plan": (ITEMS, lambda frame: cb.plan("sim/human", frame)),
}


@pytest.mark.parametrize("name", TAKES_A_FRAME)
def test_a_column_that_is_there_twice_is_named(name: str) -> None:
    frame, call = TAKES_A_FRAME[name]
    for column in ("paradigm", frame.columns[-1]):
        joined = pd.concat([frame, frame[[column]]], axis=1)
        assert f"column {column!r} is there twice; keep one of them" in refused(
            lambda: call(joined)
        )


def through_a_parquet_file_of_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    "The same table as pandas writes and reads it, with arrays in place of lists."
    written = io.BytesIO()
    frame.to_parquet(written)
    return pd.read_parquet(written)


KEPT: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "nullable": lambda frame: frame.convert_dtypes(),
    "arrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "categorical": lambda frame: frame.astype(dict.fromkeys(texts_of(frame), "category")),
    "objects": lambda frame: frame.astype(object),
    "parquet": lambda frame: through_a_parquet_file_of_pandas(frame),
    "index of a column": lambda frame: frame.set_index("paradigm", drop=False),
    "index of columns": lambda frame: frame.set_index(list(frame.columns[:3]), drop=False),
    "one name for all rows": lambda frame: frame.set_axis(["row"] * len(frame)),
}  # ways in which pandas keeps the same columns


def texts_of(frame: pd.DataFrame) -> list[str]:
    "Names of the columns of texts."
    return [name for name in frame if isinstance(frame[name].iloc[0], str)]


def numbers_of(found: Any) -> list[float]:
    "The estimates of a result, or how much a plan asks."
    found = getattr(found, "differences", getattr(found, "cells", found))
    name = "estimate" if "estimate" in found else "prompts"
    return found[name].astype(float).tolist()


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("name", TAKES_A_FRAME)
def test_how_pandas_keeps_a_table_changes_nothing(name: str, kept: str) -> None:
    frame, call = TAKES_A_FRAME[name]
    same, wanted = call(KEPT[kept](frame)), call(frame)
    if isinstance(wanted, pd.DataFrame) or name.startswith(("compare", "plan")):
        assert numbers_of(same) == pytest.approx(numbers_of(wanted), nan_ok=True)
    elif name == "paradigm_from":
        assert repr(cb.show(same)) == repr(cb.show(wanted))
    else:
        assert repr(same) == repr(wanted)


@pytest.mark.parametrize("kept", KEPT)
def test_items_are_asked_however_pandas_keeps_them(kept: str, tmp_path: Path) -> None:
    fixed = {"outputs": tmp_path / "out", "reports": False, "progress": False}
    found = cb.run("sim/human", KEPT[kept](ITEMS), **fixed)
    assert sorted(found.trials["item_id"]) == sorted(ITEMS["item_id"])


@pytest.mark.parametrize("name", TAKES_A_FRAME)
def test_an_index_that_is_called_like_a_column_and_differs_is_refused(name: str) -> None:
    frame, call = TAKES_A_FRAME[name]
    numbered = frame.rename_axis(index="paradigm")
    said = refused(lambda: call(numbered))
    assert "the index is called 'paradigm' like a column, and holds something else" in said
    assert said.endswith("drop it: reset_index(drop=True)")


@pytest.mark.parametrize("name", ["show", "headline", "compare"])
@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("replication", "False", "should hold flag but holds text 'False'"),
        ("unit", None, "column 'unit' is empty in row 0"),
        ("n_clusters", -5, "holds -5, which is not between 0 and"),
        ("colour", 1, "unknown column 'colour'"),
        ("participant", [["a"]] * len(EFFECTS), "should hold text but holds list"),
        ("estimate", np.inf, "only one that is 'separated' is infinite"),
        ("se", np.inf, "column 'se' holds inf in row 0"),
    ],
)
def test_what_no_table_of_effects_holds_is_refused(
    name: str, column: str, value: Any, said: str
) -> None:
    wrong = EFFECTS.assign(**{column: value})
    assert said in refused(lambda: getattr(cb, name)(wrong))


def test_an_infinite_effect_that_says_why_is_shown() -> None:
    endless = HEADS.assign(estimate=np.inf, status="separated")
    assert len(cb.headline(endless)) == len(HEADS) and "sim/human" in repr(cb.show(endless))


def test_effects_without_a_number_are_compared_and_told_nothing_of() -> None:
    nothing = HEADS.assign(estimate=None, se=None, ci_low=None, ci_high=None)
    (row,) = cb.compare(nothing).differences.to_dict("records")
    assert pd.isna(row["estimate"]) and row["larger"] == "not told apart"


def test_two_runs_of_one_participant_are_told_apart_by_the_names_that_they_are_given() -> None:
    marked = HEADS[HEADS["participant"] == "sim/human"].assign(shown_name="sim/human (simulated)")
    both = pd.concat([marked.assign(participant=name) for name in ("one", "two")])
    for shown in (repr(cb.compare(both)), repr(cb.show(both))):
        assert "one (sim/human, simulated)" in shown and "two (sim/human, simulated)" in shown


def test_a_run_asks_no_table_with_a_column_twice(tmp_path: Path) -> None:
    joined = pd.concat([ITEMS, ITEMS[["prompt"]]], axis=1)
    said = refused(lambda: cb.run("sim/human", joined, outputs=tmp_path / "out"))
    assert said == "items table: column 'prompt' is there twice; keep one of them"


@pytest.mark.parametrize("name", ["show", "headline", "compare"])
@pytest.mark.parametrize(("column", "near"), [("status", "separated"), ("verdict", "present")])
def test_a_word_that_no_estimate_has_is_named(name: str, column: str, near: str) -> None:
    wrong = EFFECTS.assign(**{column: near[:-1]})
    said = refused(lambda: getattr(cb, name)(wrong))
    assert f"column {column!r} holds {near[:-1]!r} in row 0; did you mean {near!r}" in said


def wordings() -> pd.DataFrame:
    "A table of wordings with prompts of several lines; its rows have names."
    rows = [
        {"wording": thing, "condition": each, "prompt": f"{start}\n\nWhat do you do with {thing}?"}
        for thing in ("a mug", "a pen", "a lamp", "a book", "a vase", "a bag")
        for each, start in {"control": "You may have it.", "treatment": "It is yours."}.items()
    ]
    table = pd.DataFrame(rows, index=[f"r{number}" for number in range(len(rows))])
    return table.assign(option_a="sell it", option_b="keep it", target="keep it")


def test_faults_of_a_table_at_hand_are_told_at_once_by_wording() -> None:
    wrong = wordings()
    wrong.loc["r7", "target"] = "burn it"
    wrong.loc["r9", "target"] = "lose it"
    with pytest.raises(CogbiasError) as error:
        cb.paradigm_from(wrong, "mine")
    first, second = str(error.value).splitlines()
    assert first.startswith("paradigm_from: wordings.a book.target: 'burn it' is none of")
    assert "'lose it' is none of the options" in second


def test_items_that_a_csv_file_has_held_are_the_same_paradigm(tmp_path: Path) -> None:
    ITEMS.to_csv(tmp_path / "items.csv", index=False)
    read = pd.read_csv(tmp_path / "items.csv")  # its lists are texts
    one, other = (cb.paradigm_from(each, "mine").items() for each in (ITEMS, read))
    assert one["item_id"].tolist() == other["item_id"].tolist()
    assert one["options"].tolist() == other["options"].tolist()


def test_a_paradigm_of_a_table_says_so_and_ships_nowhere(tmp_path: Path) -> None:
    made = cb.paradigm_from(wordings(), "mine")
    assert "Made from a table of wordings, outside of the package." in made.caveats
    assert ".toml" not in " ".join(made.caveats)
    told = " ".join(cb.plan("sim/human", made, outputs=tmp_path).power["note"].dropna())
    assert told.startswith("6 clusters cannot show") and "as it ships" not in told


def test_items_that_cannot_be_asked_leave_nothing_behind(tmp_path: Path) -> None:
    prompts = ITEMS["prompt"].astype(object)
    for wrong, said in [
        (ITEMS.assign(prompt=[3, *prompts[1:]]), "column 'prompt' should hold text but holds"),
        (ITEMS.assign(prompt=3), "column 'prompt' should hold text but holds integer 3"),
        (ITEMS.assign(paradigm="choice/certanty"), "did you mean 'choice/certainty'"),
    ]:
        told = refused(lambda: cb.run("sim/human", wrong, outputs=tmp_path / "out"))
        assert told.startswith("items table: column") and said in told and "in row 0" in told
        assert not list(tmp_path.iterdir())


def test_who_decides_by_rules_says_that_a_table_has_none(tmp_path: Path) -> None:
    own = cb.paradigm_from(ITEMS, "mine")
    told = refused(lambda: cb.run("sim/human", own, outputs=tmp_path / "out", progress=False))
    assert "sim/human has no rule in own/mine: a table, or what a folder keeps" in told


FAULTS_OF_ITEMS = {
    "condition": ("x", "row 0 has the condition 'x', which is not declared; known: control"),
    "answer": ("scale", "row 0: column 'answer' holds 'scale', but the item of that text has"),
    "is_original": ("no", "row 0 holds 'no' as 'is_original', which should be true or false"),
    "options": ("a", "column 'options' should hold list but holds text 'a' in row 0"),
}


@pytest.mark.parametrize("column", FAULTS_OF_ITEMS)
def test_a_fault_of_items_at_hand_is_named_by_its_row_and_by_no_file(
    column: str, tmp_path: Path
) -> None:
    framed = cb.items("classic/framing", variants=["base"]).head(8)
    value, said = FAULTS_OF_ITEMS[column]
    wrong = framed.assign(**{column: value})
    told = refused(lambda: cb.run("sim/human", wrong, outputs=tmp_path / "out"))
    assert f"items table: {said}" in told and ".parquet" not in told


WITHOUT_IDS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "in the index": lambda items: items.set_index("item_id"),
    "nowhere": lambda items: items.drop(columns="item_id"),
    "out of a csv file": lambda items: pd.read_csv(io.StringIO(items.to_csv(index=False))),
}


@pytest.mark.parametrize("kept", WITHOUT_IDS)
def test_items_stay_those_of_their_paradigm_without_a_column_of_ids(
    kept: str, tmp_path: Path
) -> None:
    framed = cb.items("classic/framing", variants=["base"])
    fixed = {"outputs": tmp_path / "out", "reports": False, "progress": False}
    found = cb.run("sim/human", WITHOUT_IDS[kept](framed), **fixed)
    assert found.headlines["measure"].tolist() == ["framing_effect"]
    assert sorted(found.trials["item_id"]) == sorted(framed["item_id"])


# --- figures


ROWS = cb.headline(EFFECTS).assign(unit="probability", group="condition=control")
ROWS_OF_PLACES = ROWS.assign(measure="choose_position_1", participant="a", paradigm="b/c")
LEVELS = {"variant": "base", "condition": "control", "status": "ok", "stratum": "a"}
NUMBERS = {"answer": [1, 2], "probability": 0.5, "share": 0.4, "log_ratio": [0.2, 0.4]}
MEANS = {"mean_control": 0.2, "mean_treatment": 0.3, "label": "somebody", "beyond": 0.1}
ROWS = ROWS.assign(**LEVELS, **NUMBERS, **MEANS)
PEOPLE = {name: {"simulated": True, "mark": "simulated"} for name in ROWS["participant"]}
NEEDED: dict[str, Any] = {
    **dict.fromkeys(("data", "points", "differences", "effects", "trials", "shares"), ROWS),
    **{"human": ROWS.head(0), "trivial": ROWS.head(0), "people": PEOPLE},
    **{"names": {"control": "c", "treatment": "t"}, "x": "share", "y": "beyond"},
}
OTHERS = ("COLOURS", "set_theme", "interval_rows", "dendrogram")  # these take no table
DRAWN = [name for name in cb.figures.__all__ if name not in OTHERS]


def arguments(name: str) -> dict[str, Any]:
    "What a figure cannot do without."
    asked = inspect.signature(getattr(cb.figures, name)).parameters.values()
    given = {each.name: NEEDED[each.name] for each in asked if each.default is each.empty}
    one = ROWS_OF_PLACES if name == "position_bars" else ROWS.assign(participant="a", paradigm="b")
    of_one = name in ("breakdown", "position_bars", "status_bars")
    return {each: one if value is ROWS and of_one else value for each, value in given.items()}


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_takes_no_wrong_table(name: str) -> None:
    draw, given = getattr(cb.figures, name), arguments(name)
    first = next(iter(given))
    assert not refused(lambda: draw(**given))
    for wrong in (None, "effects.csv", pd.DataFrame({"other": [1]})):
        assert refused(lambda: draw(**given | {first: wrong})), wrong
    plt.close("all")


def test_what_one_axis_cannot_show_is_refused() -> None:
    assert EFFECTS["unit"].nunique() > 1
    assert "several units" in refused(lambda: cb.figures.effect_forest(EFFECTS))
    two = ROWS_OF_PLACES.assign(participant=["a", "b"])
    assert "several participants (a, b)" in refused(lambda: cb.figures.position_bars(two))
    assert "one row each" in refused(lambda: cb.figures.effect_forest(pd.concat([HEADS] * 2)))


@pytest.mark.parametrize("name", DRAWN)
def test_a_name_with_a_dollar_sign_is_drawn_as_it_is(name: str) -> None:
    "Whatever the theme: matplotlib reads a formula between two of them."
    formula = r"a$x_{\frac$"
    given = arguments(name)
    first = next(iter(given))
    words = [each for each in ("participant", "label", "paradigm") if each in given[first]]
    odd = given[first].assign(**dict.fromkeys(words, formula))
    if name not in ("breakdown", "position_bars", "status_bars"):
        odd["participant"] = [formula, "b"]
    given |= {first: odd}
    if "people" in given:
        given["people"] = {each: {"simulated": False, "mark": ""} for each in odd["participant"]}
    getattr(cb.figures, name)(**given)
    plt.gcf().canvas.draw()
    plt.close("all")


def test_right_answers_are_not_called_a_bias() -> None:
    right = HEADS.assign(unit="accuracy gain")
    forest = cb.figures.effect_forest(right)
    scale = cb.figures.model_bias_heatmap(right).figure.axes[-1]
    for label in (forest.get_xlabel(), scale.get_ylabel()):
        assert "more right than the best constant policy" in label and "bias" not in label
    plt.close("all")


# --- what help() says


@pytest.mark.parametrize("name", ["run", *GIVEN, *DRAWN])
def test_help_lists_every_argument(name: str) -> None:
    function = getattr(cb.figures if name in DRAWN else cb, name)
    for argument in inspect.signature(function).parameters:
        assert f"\n    {argument}: " in function.__doc__, argument
