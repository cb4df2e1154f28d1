"""Tables from elsewhere: older and newer versions, edited prompts, damaged rows, spreadsheets."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calls import command, refused

import cogbias as cb
from cogbias import tables, trials
from cogbias.backends.sim import exact_trials
from cogbias.design import load_items, paradigm, paradigms
from cogbias.tables import (
    EFFECTS,
    ITEMS,
    TRIALS,
    CogbiasError,
    Column,
    harmless,
    item_ids,
    load_table,
    save_table,
)
from cogbias.effects import estimate_effects
from cogbias.cells import stored_cell
from cogbias.outputs import Folder, read_cell, stored_cells, trials_of
from cogbias.study import make_study, study_items
from cogbias.trials import TrialStore, check_answers
from tiers import KINDS, slow_but

OLD = Path(__file__).parent / "fixtures" / "outputs_0_1_0"  # written by version 0.1.0
ENDINGS = ("csv", "jsonl", "parquet")
FRAMING = paradigm("classic/framing").items()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    "A copy of the stored folder, to be damaged."
    return Path(shutil.copytree(OLD, tmp_path / "outputs"))


# --- versions ----------------------------------------------------------------


def test_a_folder_of_an_older_version_is_read(capsys):
    cells = {
        (items["paradigm"].iloc[0], found["participant"].iloc[0]): len(found)
        for items, found in (read_cell(Folder(OLD), *cell) for cell in stored_cells(Folder(OLD)))
    }
    assert cells == {
        ("classic/anchoring", "sim/human"): 12,
        ("classic/framing", "sim/human"): 48,
        ("classic/framing", "sim/messy"): 48,
    }
    effects = load_table(OLD / "effects.parquet", EFFECTS)
    assert len(effects) and effects["p_method"].isna().all()
    assert len(trials_of(OLD)) == 108


def test_no_answer_of_an_older_version_is_asked_again(folder, capsys):
    for model, names, more in [
        ("sim/human", "classic/framing", ["--repeats", 2]),
        ("sim/messy", "classic/framing", ["--repeats", 2]),
        ("sim/human", "classic/anchoring", []),
    ]:
        stored = pd.read_parquet(folder / "items" / f"{names.replace('/', '-')}.parquet")
        for level in stored["content_set"].unique():  # other wordings came later
            more += ["--where", f"content_set={level}"]
        where = ["--where", "variant=base", "--no-reports", "--outputs", folder]
        assert command("run", "--model", model, "--paradigm", names, *more, *where) == 0
        assert " 0 asked" in capsys.readouterr().out
    for file in OLD.glob("trials/*/*.jsonl"):
        assert (folder / file.relative_to(OLD)).read_bytes() == file.read_bytes()


LATER = Column("mood", "text", "how it was said", optional=True, since=TRIALS.version + 1)


@pytest.fixture
def next_version(monkeypatch) -> Callable[[], None]:
    "Call it, and the trials schema is that of a later version."

    def upgrade() -> None:
        newer = replace(TRIALS, columns=(*TRIALS.columns, LATER))
        monkeypatch.setattr(trials, "TRIALS", newer)
        monkeypatch.setattr(trials, "_COLUMN_NAMES", frozenset(newer.names))
        monkeypatch.setattr(
            trials, "_TYPES_OF_COLUMNS", [*trials._TYPES_OF_COLUMNS, ("mood", {str, type(None)})]
        )
        monkeypatch.setattr(trials, "_DTYPES", {**trials._DTYPES, "mood": "str"})

    return upgrade


def test_a_store_may_hold_lines_of_two_versions_and_refuses_a_third(folder, next_version):
    store = Folder(folder).store("sim/messy", "classic/framing")
    before = store.read()
    line = store.path.read_bytes().splitlines(keepends=True)[0]
    next_version()
    assert store.read()["mood"].isna().all() and len(store.read()) == len(before)
    with store.writer() as writer:
        row = json.loads(line) | {"trial_id": "another", "logits": None, "mood": "dry"}
        assert writer.write(row)
    assert store.path.read_bytes().splitlines()[0] + b"\n" == line
    assert json.loads(store.path.read_bytes().splitlines()[-1])["schema_version"] == LATER.since
    assert store.read()["mood"].dropna().tolist() == ["dry"]
    newest = LATER.since + 1
    last = json.loads(store.path.read_bytes().splitlines()[-1]) | {"schema_version": newest}
    with store.path.open("ab") as file:
        file.write(json.dumps(last).encode() + b"\n")
    said = refused(store.read)
    assert f"line {len(before) + 2}: written by a newer cogbias (trials schema {newest}" in said


def test_a_newer_store_is_refused_by_name(folder):
    store = Folder(folder).store("sim/messy", "classic/framing")
    lines = [json.loads(line) for line in store.path.read_bytes().splitlines()]
    newer = [line | {"mood": "dry", "schema_version": LATER.since} for line in lines]
    store.path.write_text("".join(json.dumps(line) + "\n" for line in newer))
    said = refused(store.read)
    newer = f"written by a newer cogbias (trials schema {LATER.since}"
    assert f"classic-framing.jsonl: line 1: {newer}" in said


def test_scores_of_an_encoder_stand_beside_answers_of_the_first_version(folder):
    store = Folder(folder).store("sim/messy", "classic/framing")
    old = store.path.read_bytes().splitlines()
    assert not any(b"logits" in line or b"schema_version" in line for line in old)
    assert store.read()["logits"].isna().all()
    p, logits = {"A": 0.5, "B": 0.5}, {"A": -3.25, "B": -3.25}
    scored = json.loads(old[0]) | {"trial_id": "scored", "p": p, "logits": logits}
    with store.writer() as writer:
        assert writer.write(scored | {"method": "encoder"})
    assert store.path.read_bytes().splitlines()[:-1] == old
    assert store.read().set_index("trial_id").loc["scored", "logits"] == logits
    save_table(store.read(), folder / "all.csv")
    back = load_table(folder / "all.csv", TRIALS).set_index("trial_id")
    assert back.loc["scored", "logits"] == logits and back["logits"].notna().sum() == 1


def test_trial_keys_of_the_first_version_stay():
    messy = TrialStore(OLD / "trials" / "sim-messy" / "classic-framing.jsonl").read()
    first = messy.iloc[0]
    assert (first["trial_id"], first["item_id"], first["seed"]) == (
        "fed827552a0c6e0ef833e53c7cd34889",
        "4325b08d5095d269",
        1364505214,
    )


# --- ids ---------------------------------------------------------------------


@cache
def some_items(name):
    "Up to 40 items of a paradigm; made once for all formats."
    drawn = paradigm(name).items().sample(40, random_state=1, replace=True)
    return drawn.drop_duplicates("item_id")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", slow_but(KINDS, paradigms()))
def test_ids_survive_every_format(tmp_path, name, ending):
    items = some_items(name)
    place = save_table(items, tmp_path / f"items.{ending}")
    assert load_table(place, ITEMS)["item_id"].tolist() == items["item_id"].tolist()
    outside = load_items(place)
    assert outside["item_id"].tolist() == items["item_id"].tolist()
    assert outside.attrs == {"edited": 0}


@pytest.mark.parametrize("ending", slow_but(["csv"], ENDINGS))
def test_edited_prompts_get_answers_of_their_own(tmp_path, capsys, ending):
    place, outputs = tmp_path / f"mine.{ending}", tmp_path / "outputs"
    asking = ["run", "--model", "sim/messy", "--paradigm", "classic/framing", "--items", place]
    asking += ["--outputs", outputs, "--no-reports"]
    assert command("items", "classic/framing", "--out", place) == 0
    assert command(*asking) == 0
    assert f"0 stored, {len(FRAMING)} asked" in capsys.readouterr().out
    table = load_table(place, ITEMS)
    save_table(table.assign(prompt="Think twice. " + table["prompt"]), place)
    assert command(*asking) == 0
    assert f"0 stored, {len(FRAMING)} asked" in capsys.readouterr().out
    items, found = read_cell(Folder(outputs), *stored_cells(Folder(outputs))[0])
    assert items["prompt"].str.startswith("Think twice. ").all()
    assert set(found["item_id"]) == set(items["item_id"])
    assert not set(found["item_id"]) & set(table["item_id"])
    save_table(table.drop(columns="item_id"), place)  # the old wording, without ids
    assert command(*asking) == 0
    assert f"{len(FRAMING)} stored, 0 asked" in capsys.readouterr().out


def test_new_wording_never_stands_above_old_probabilities(folder, capsys):
    place = folder / "items" / "classic-framing.parquet"
    stored = pd.read_parquet(place)
    stored.assign(prompt="Edited. " + stored["prompt"]).to_parquet(place)
    assert command("effects", folder) == 2
    said = capsys.readouterr().err
    assert "classic-framing.parquet: items table: column 'item_id' holds" in said
    assert "in record 1, but the row was edited" in said
    report = stored_cell(folder, "sim/human", "classic/framing")  # what a report is made from
    assert not report.items["prompt"].str.contains("Edited.").any()


def test_tagging_an_item_anew_keeps_its_answers_and_takes_effect(tmp_path, capsys):
    place, outputs = tmp_path / "mine.csv", tmp_path / "outputs"
    asking = ["run", "--model", "sim/human", "--paradigm", "classic/framing", "--items", place]
    asking += ["--outputs", outputs, "--no-reports"]
    command("items", "classic/framing", "--out", place)
    assert command(*asking) == 0
    table = load_table(place, ITEMS)
    save_table(table.assign(cluster="c" + table["cluster"]), place)
    capsys.readouterr()
    assert command(*asking) == 0
    assert f"{len(FRAMING)} stored, 0 asked" in capsys.readouterr().out
    items, _ = read_cell(Folder(outputs), *stored_cells(Folder(outputs))[0])
    assert items["cluster"].str.startswith("c").all()


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


@settings(deadline=None, max_examples=60)
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


@settings(deadline=None, max_examples=100)
@given(st.builds("{}{}".format, RISKY, TEXT))
def test_harmless_text_comes_back(text):
    assert tables.as_written(harmless(text)) == text
    assert not harmless(text).startswith(("=", "@", "\t", "\r"))


def test_stored_answers_come_back_from_csv(tmp_path, capsys):
    place = tmp_path / "trials.csv"
    assert command("export", "csv", OLD, "--out", place) == 0
    back, stored = load_table(place, TRIALS), trials_of(OLD)
    for name in TRIALS.names:
        there, here = (
            [None if tables.is_empty(cell) or cell == "" else cell for cell in table[name]]
            for table in (back, stored)
        )  # an empty cell says nothing about what was empty
        assert there == here, name


def test_an_exported_table_is_imported_again(tmp_path, capsys):
    place, again = tmp_path / "items.csv", tmp_path / "again.parquet"
    assert command("export", "csv", "classic/framing", "--out", place) == 0
    assert command("import", "csv", place, "--out", again) == 0
    assert f"{len(FRAMING)} items written" in capsys.readouterr().out
    assert load_table(again, ITEMS)["item_id"].tolist() == FRAMING["item_id"].tolist()


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
LINES = (OLD / "trials" / "sim-messy" / "classic-framing.jsonl").read_text().splitlines()


def in_one_line(make: Callable[[], Any]) -> Any:
    "What comes of it; None where it is refused in one line of a reasonable length."
    try:
        return make()
    except CogbiasError as error:
        assert "\n" not in str(error) and len(str(error)) < 800
        return None


@settings(deadline=None, max_examples=66)
@given(st.sampled_from([*TRIALS.names, "schema_version", "mood"]), ANYTHING, st.sampled_from(LINES))
def test_any_value_in_a_stored_line(tmp_path_factory, name, value, line):
    folder = tmp_path_factory.mktemp("any") / "sim-messy"
    folder.mkdir()
    store = TrialStore(folder / "classic-framing.jsonl")
    store.path.write_text("\n".join([*LINES, json.dumps(json.loads(line) | {name: value})]) + "\n")
    items = load_table(OLD / "items" / "classic-framing.parquet", ITEMS)
    table = in_one_line(store.read)
    in_one_line(store.keys)
    if table is not None:
        found = in_one_line(lambda: check_answers(table, items, store.path))
        if found is not None:
            in_one_line(lambda: estimate_effects(found, items, paradigm("classic/framing")))


def test_a_parquet_file_that_pandas_wrote_holds_the_same_items(tmp_path: Path) -> None:
    "It keeps lists as lists, where ours keep JSON text."
    items = paradigm("classic/framing").items()
    items.to_parquet(tmp_path / "items.parquet")
    held = load_table(tmp_path / "items.parquet", ITEMS)
    assert held["options"].tolist() == items["options"].tolist()
    assert held["item_id"].tolist() == items["item_id"].tolist()


ROWS = paradigm("classic/framing").items().head(8).to_dict("records")


@settings(deadline=None, max_examples=66)
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


@pytest.mark.parametrize("name", ["classic/anchoring", "classic/sunk_cost"])
def test_items_of_any_paradigm_can_be_asked_from_a_file(tmp_path, capsys, name):
    place = tmp_path / "items.csv"
    assert command("items", name, "--out", place) == 0
    asking = ["--model", "sim/human", "--paradigm", name, "--outputs", tmp_path / "outputs"]
    assert command("run", *asking, "--no-reports") == 0
    assert command("run", *asking, "--no-reports", "--items", place) == 0
    assert " 0 asked" in capsys.readouterr().out.splitlines()[-2]


def test_words_of_effects_are_those_that_statistics_explain() -> None:
    "Tables know nothing of statistics, and refuse a word that these do not have."
    from cogbias.stats.decisions import OTHER_VERDICTS, VERDICTS
    from cogbias.stats.estimates import STATUSES
    from cogbias.tables import EFFECT_VERDICTS, ESTIMATE_STATUSES

    assert ESTIMATE_STATUSES == tuple(STATUSES)
    assert EFFECT_VERDICTS == (*VERDICTS, *OTHER_VERDICTS)


WRITERS = {
    "csv": lambda items, place: items.to_csv(place, index=False),
    "parquet": lambda items, place: items.to_parquet(place),
}  # ending -> how pandas writes a file of items, which is not how we do


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize(
    "name",
    slow_but(["choice/certainty", "bets/coin"], ["choice/certainty", "choice/decoy", "bets/coin"]),
)
def test_a_file_that_pandas_wrote_holds_the_same_items(
    name: str, ending: str, tmp_path: Path
) -> None:
    "Its whole numbers are decimals where a decimal stands beside them."
    items, place = paradigm(name).items(), tmp_path / f"items.{ending}"
    WRITERS[ending](items, place)
    study = make_study(models=["sim/human"], paradigms=[name], items_file=str(place))
    asked = study_items(study, name)
    assert asked["item_id"].tolist() == items["item_id"].tolist()
    assert item_ids(asked) == asked["item_id"].tolist()
    trials = exact_trials("human", items)
    assert repr(cb.effects(trials, place)) == repr(cb.effects(trials, items))


def test_a_number_that_is_not_exactly_the_same_is_an_edit(tmp_path: Path) -> None:
    items, place = paradigm("choice/certainty").items(), tmp_path / "items.parquet"
    content = items["content"].iloc[0]
    nearly = {**content, "lotteries": {**content["lotteries"], "target": [[2400.5, 100]]}}
    assert content["lotteries"]["target"] == [[2400, 100]]
    items.assign(content=[nearly, *items["content"][1:]]).to_parquet(place)
    study = make_study(models=["sim/human"], paradigms=["choice/certainty"], items_file=str(place))
    with pytest.raises(CogbiasError, match="record 1: column 'content' .* undo the edit"):
        study_items(study, "choice/certainty")


def test_a_file_of_items_that_cannot_be_read_says_what_to_do(tmp_path: Path) -> None:
    items, place = paradigm("classic/framing").items().head(2), tmp_path / "items.csv"
    items.assign(options="[{'label': ").to_csv(place, index=False)
    with pytest.raises(CogbiasError) as refused:
        cb.effects(exact_trials("human", items), place)
    assert str(refused.value) == (
        f"{place}: record 1, field 'options' is not JSON; export the table again, as "
        "'cogbias items --out' does"
    )


OPTION = {"label": "A", "text": "heads", "role": "target", "value": 1.0}
ODD_CELLS = [None, True, 1, "", " ", "\ud83d", math.nan, math.inf, 10**400, (1, 2), [1], {}, b"x"]
ODD_LISTS = [
    *([OPTION | {name: cell}] for name in OPTION for cell in ODD_CELLS),
    [OPTION, OPTION],  # one label twice
    [OPTION | {"note": "x"}],
    [OPTION | {7: "x"}],
    [{"label": "A"}],
    ["A"],
    [None],
    [[OPTION]],
]


@pytest.mark.parametrize("options", ODD_LISTS, ids=lambda options: repr(options)[:60])
def test_a_glance_at_options_passes_nothing_that_a_look_at_each_refuses(options):
    fault = tables._options_fault(options)
    assert not (fault and tables._are_options([[OPTION], options]))
    rows = FRAMING.head(3).assign(options=[[OPTION], options, options])  # two rows share a list
    if fault:
        with pytest.raises(CogbiasError) as said:
            ITEMS.check(rows)
        assert f"column 'options' {fault} in row 1; " in str(said.value)
    else:
        ITEMS.check(rows)


def test_a_content_that_rows_share_is_named_at_the_first_of_them():
    odd = {"kind": "coin", "chance": {1, 2}}
    rows = FRAMING.head(4).assign(content=[{"kind": "coin"}, odd, odd, {"kind": "coin"}])
    with pytest.raises(CogbiasError, match=r"column 'content' holds \{1, 2\}.* in row 1; "):
        ITEMS.check(rows)
