"""Tables from elsewhere: edited prompts, damaged rows, spreadsheets."""

import json
import math
from functools import cache

import pandas as pd
import pytest

import cogbias as cb
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calls import command

from cogbias.backends.sim import exact_trials
from cogbias.design import load_items, paradigm
from cogbias.tables import EFFECTS, ITEMS, TRIALS, CogbiasError, load_table, save_table
from cogbias.effects import estimate_effects
from cogbias.study import make_study, study_items
from tiers import KINDS

ENDINGS = ("csv", "jsonl", "parquet")
FRAMING = paradigm("classic/framing").items()


# --- ids ---------------------------------------------------------------------


@cache
def some_items(name):
    "Up to 40 items of a paradigm; made once for all formats."
    drawn = paradigm(name).items().sample(40, random_state=1, replace=True)
    return drawn.drop_duplicates("item_id")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", KINDS)
def test_ids_survive_every_format(tmp_path, name, ending):
    items = some_items(name)
    place = save_table(items, tmp_path / f"items.{ending}")
    assert load_table(place, ITEMS)["item_id"].tolist() == items["item_id"].tolist()
    outside = load_items(place)
    assert outside["item_id"].tolist() == items["item_id"].tolist()


# --- spreadsheets ------------------------------------------------------------

RISKY = st.sampled_from(["=", "+", "-", "@", "\t", "\r", "'", "'=", "＝"])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def test_no_cell_of_an_exported_table_is_a_formula(tmp_path, capsys):
    place = tmp_path / "items.csv"
    items = paradigm("classic/framing").items().head(6)
    risky = ["=1+1", "+1 is fine", "-2+3", "@SUM(A1)", "\tA", "\r\n=1"]
    edited = items.assign(prompt=risky, **{"=cmd": risky, "number": [-1, -0.5, 2, 3, 4, 5]})
    save_table(edited.drop(columns="item_id"), place)
    plain = pd.read_csv(place, dtype=str, keep_default_na=False)
    cells = [*plain.columns, *plain.to_numpy().ravel()]
    dangerous = [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert dangerous == ["-1.0", "-0.5"]
    back = load_items(place)
    assert back["prompt"].tolist() == back["=cmd"].tolist() == risky
    assert back["number"].tolist() == [-1, -0.5, 2, 3, 4, 5]


@settings(deadline=None, max_examples=20)
@given(st.lists(st.builds("{}{}".format, RISKY | st.just(""), TEXT), min_size=1, max_size=4))
@example(
    ["NA", "None", "nan", "1e5", "007", "True", '"', "a,b", "#", "a\r\nb\rc\nd", "-5", "\ufeff"]
)
def test_any_prompt_comes_back_from_csv(tmp_path_factory, prompts):
    prompts = list(dict.fromkeys(text for text in prompts if text.strip()))
    one = paradigm("classic/framing").items.unchecked().drop(columns="item_id").iloc[[0]]
    made = pd.concat([one] * len(prompts), ignore_index=True) if prompts else one
    if prompts:
        made = made.assign(prompt=prompts, pair_id=prompts, system=prompts)
    made = made.assign(cluster=[f"{number:03}" for number in range(len(made))])
    back = load_items(save_table(made, tmp_path_factory.mktemp("csv") / "items.csv"))
    for name in ("prompt", "pair_id", "cluster"):
        assert back[name].tolist() == made[name].tolist()


# --- anything at all ---------------------------------------------------------

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**30, -1, 0, 1, 2**63, math.nan, math.inf, -math.inf, 1e308, 0.5])
    | st.text(max_size=6)
    | st.sampled_from(["", " ", "A", "B", "ok", "error", "target", "treatment", "\ud800", "\x00"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


def in_one_line(make):
    "What comes of it; None where it is refused in one line of a reasonable length."
    try:
        return make()
    except CogbiasError as error:
        assert "\n" not in str(error) and len(str(error)) < 800
        return None


ROWS = paradigm("classic/framing").items().head(8).to_dict("records")


@settings(deadline=None, max_examples=33)
@given(st.sampled_from([*ITEMS.names, "variant", "flag", "order_group", "usable"]), ANYTHING)
def test_any_value_in_a_table_from_outside(tmp_path_factory, name, value):
    folder = tmp_path_factory.mktemp("any")
    rows = [dict(row) for row in ROWS]
    rows[3][name] = value
    place = folder / "items.jsonl"
    place.write_text("\n".join(json.dumps(row) for row in rows))
    study = make_study(models=["sim/human"], paradigms=["classic/framing"], items_file=str(place))
    items = in_one_line(lambda: study_items(study, "classic/framing"))
    if items is not None:
        in_one_line(lambda: save_table(items, folder / "items.parquet"))
        trials = in_one_line(lambda: exact_trials("human", items))
        if trials is not None:
            in_one_line(lambda: estimate_effects(trials, items, paradigm("classic/framing")))


@settings(deadline=None, max_examples=66)
@given(st.binary(max_size=200), st.sampled_from(ENDINGS), st.sampled_from([ITEMS, TRIALS, EFFECTS]))
@example(b"PAR1" + bytes(40) + b"PAR1", "parquet", ITEMS)
@example(b'"a,b\n', "csv", ITEMS)
def test_any_bytes_are_no_table(tmp_path_factory, content, ending, schema):
    place = tmp_path_factory.mktemp("any") / f"table.{ending}"
    place.write_bytes(content)
    assert in_one_line(lambda: load_table(place, schema)) is None
    assert in_one_line(lambda: load_items(place)) is None


def test_items_of_a_paradigm_can_be_asked_from_a_file(tmp_path, capsys):
    place, name = tmp_path / "items.csv", "classic/anchoring"
    assert command("items", name, "--out", place) == 0
    told = {"outputs": tmp_path / "outputs", "reports": False, "progress": False}
    cb.run("sim/human", name, **told)
    again = cb.run("sim/human", name, items_file=str(place), **told)
    assert [cell["asked"] for cell in again.cells] == [0]
