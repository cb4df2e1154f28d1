"Trials that somebody edited: refused by file, trial and column; what is not read is counted."

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tiers import every_few

from cogbias.cells import stored_cell
from cogbias.cli import main
from cogbias.design import paradigm
from cogbias.outputs import left_out
from cogbias.running import run_study
from cogbias.study import make_study
from cogbias.tables import CogbiasError, save_table

TRIALS = "trials/sim-human/choice-certainty.jsonl"
ITEMS = "items/choice-certainty.parquet"
SHARES = ("option_probability", "option_draw")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    "Outputs folders with one cell each, asked by several methods."
    folders = {}
    for method in ("text", *SHARES):
        folders[method] = tmp_path_factory.mktemp("good") / method
        study = make_study(
            models=["sim/human"],
            paradigms=["choice/certainty"],
            where={"template": [1], "design": ["common_ratio"]},
            method=method,
            repeats=1 if method == "option_probability" else 2,
        )
        run_study(study, folders[method], reports=False)
    return folders


@pytest.fixture
def folder(good: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    "A copy of one of them, which a stranger may have changed."
    return lambda method: Path(shutil.copytree(good[method], tmp_path / "outputs"))


def lines_of(folder: Path) -> list[dict[str, Any]]:
    "The trials of a folder."
    return [json.loads(line) for line in (folder / TRIALS).read_text().splitlines()]


def write_lines(folder: Path, lines: list[dict[str, Any]]) -> None:
    "Trials, as a stranger may have written them."
    (folder / TRIALS).write_text("".join(json.dumps(line) + "\n" for line in lines))


def warnings_of(capsys: pytest.CaptureFixture[str], folder: Path, command: str) -> list[str]:
    "What a command warns of."
    capsys.readouterr()
    out = folder.parent / "trials.csv"
    given = ["export", "csv", str(folder), "--out", str(out)] if command == "export" else None
    with pytest.raises(SystemExit) as end:
        main(given or [command, str(folder)])
    said = capsys.readouterr().err
    assert not end.value.code, said
    return said.splitlines()


EDITS: dict[str, tuple[str, dict[str, Any]]] = {  # name -> method, what the third line says
    "p lacks a label": ("option_probability", {"p": {"A": 1.0}}),
    "p is not known": ("option_probability", {"p": {"A": 1.0, "B": None}}),
    "p is empty": ("option_probability", {"p": None}),
    "p of a draw is empty": ("option_draw", {"p": None}),
    "p sums to .6": ("option_probability", {"p": {"A": 0.5, "B": 0.1}}),
    "value of nothing": ("text", {"value": 77}),
    "another role": ("text", {"role": "nobody"}),
    "no role": ("text", {"role": None}),
    "no choice": ("text", {"choice": None, "role": None, "value": None}),
    "a role without a choice": ("text", {"choice": None, "value": None}),
    "a refusal that chooses": ("text", {"status": "refusal"}),
    "an error that chooses": ("text", {"status": "error"}),
    "a refusal with shares": ("option_probability", {"status": "refusal"}),
    "another cluster": ("text", {"cluster": "elsewhere"}),
    "another stratum": ("text", {"stratum": "elsewhere"}),
    "another pair": ("text", {"pair_id": "elsewhere"}),
    "another backend": ("text", {"backend": "openai"}),
    "another model": ("text", {"model": "rational"}),
    "another temperature": ("text", {"temperature": 0.7}),
    "a name that shares its folder": ("text", {"participant": "sim-human"}),
}


@pytest.mark.parametrize("name", every_few(3, EDITS))
def test_an_edited_trial_is_refused_by_trial_and_column(
    name: str, folder: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    method, change = EDITS[name]
    place = folder(method)
    lines = lines_of(place)
    lines[2] |= change
    write_lines(place, lines)
    for command in ("effects", "export"):
        out = ["csv", str(place), "--out", str(place.parent / "trials.csv")]
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([command, *(out if command == "export" else [str(place)])])
        said = capsys.readouterr().err
        assert end.value.code == 2 and said.count("\n") == 1, said
        assert TRIALS in said and repr(lines[2]["trial_id"]) in said and "column '" in said, said
    with pytest.raises(CogbiasError, match=f"trial '{lines[2]['trial_id']}': column '"):
        stored_cell(place, "sim/human", "choice/certainty")


def unknown_item(lines: list[dict[str, Any]]) -> str:
    lines[2]["item_id"] = "nowhere"
    return "1 to items that are not in its items file"


def another_seed(lines: list[dict[str, Any]]) -> str:
    lines[2]["seed"] += 1
    lines[2]["trial_id"] = "made-up"
    return "1 by another method, seed or repeat"


def another_repeat(lines: list[dict[str, Any]]) -> str:
    lines[2]["repeat"] = 99
    return "1 by another method, seed or repeat"


def another_method(lines: list[dict[str, Any]]) -> str:
    lines[2]["method"] = "two_step"
    return "1 by another method, seed or repeat"


def two_lines(lines: list[dict[str, Any]]) -> str:
    other = next(each for each in lines if each["choice"] != lines[2]["choice"])
    lines.append(lines[2] | {name: other[name] for name in ("choice", "role", "value")})
    return "1 with lines that contradict each other; the last counts"


def fewer(lines: list[dict[str, Any]]) -> str:
    del lines[2:5]
    return f"3 of {len(lines) + 3} answers of the last run are missing"


DROPS = (unknown_item, another_seed, another_repeat, another_method, two_lines, fewer)


@pytest.mark.parametrize("drop", DROPS)
def test_what_is_not_read_is_counted_and_said(
    drop: Callable[[list[dict[str, Any]]], str],
    folder: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = folder("text")
    assert warnings_of(capsys, place, "effects") == left_out(place) == []
    lines = lines_of(place)
    said = drop(lines)
    write_lines(place, lines)
    for command in ("effects", "export"):
        warned = warnings_of(capsys, place, command)
        assert len(warned) == 1 and warned[0].startswith("warning   "), warned
        assert TRIALS in warned[0] and said in warned[0], warned


def test_shortened_items_are_counted_and_said(
    folder: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    place = folder("text")
    table = pd.read_parquet(place / ITEMS)
    table.iloc[:-3].to_parquet(place / ITEMS)
    (warned,) = warnings_of(capsys, place, "effects")
    assert "6 to items that are not in its items file" in warned
    assert "6 of 280 answers of the last run are missing" in warned


def test_the_report_and_the_site_say_it_too(
    folder: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import cogbias.rendering
    import cogbias.site.pages

    monkeypatch.setattr(cogbias.rendering, "render_reports", lambda *_, **__: ([], []))
    monkeypatch.setattr(cogbias.rendering, "study_report_is_stale", lambda _: False)
    monkeypatch.setattr(cogbias.site.pages, "build_site", lambda *_, **__: "site")
    place = folder("text")
    lines = lines_of(place)
    said = unknown_item(lines)
    write_lines(place, lines)
    for command in ("report", "site"):
        warned = warnings_of(capsys, place, command)
        assert sum(said in each for each in warned) == 1


def test_an_answer_after_an_error_contradicts_nothing(folder: Callable[[str], Path]) -> None:
    place = folder("text")
    lines = lines_of(place)
    nothing = dict.fromkeys(("choice", "role", "value", "response"))
    failed = lines[2] | nothing | {"status": "error", "detail": "busy"}
    write_lines(place, [failed, *lines, lines[4]])
    assert left_out(place) == []


def edit_table(place: Path, name: str, value: Any, row: int = 2) -> None:
    "One cell of a table says something else."
    table = pd.read_parquet(place)
    cells = table[name].astype("object").tolist()
    cells[row] = value
    table[name] = cells
    table.to_parquet(place)


@pytest.mark.parametrize("name", ["template", "pair_id", "cluster", "stratum", "order_group"])
def test_an_edited_place_in_the_design_is_noticed(
    name: str, folder: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    "The id of an item stands for its text; its factors decide what is estimated."
    place = folder("text")
    edit_table(place / ITEMS, name, 7 if name == "template" else "elsewhere")
    lines = lines_of(place)
    for line in lines:  # so that nothing but the items can tell
        if name in line and line["item_id"] == pd.read_parquet(place / ITEMS)["item_id"][2]:
            line[name] = "elsewhere"
    write_lines(place, lines)
    with pytest.raises(SystemExit) as end:
        main(["effects", str(place)])
    said = capsys.readouterr().err
    assert end.value.code == 2 and said.count("\n") == 1, said
    assert f"{ITEMS}: items table: record 3: column '{name}' holds" in said, said


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_edited_variant_from_outside_is_refused(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = paradigm("classic/framing").items()
    table = table[table["variant"].isin(["base", table["variant"].iloc[-1]])].reset_index(drop=True)
    other = table["variant"].iloc[-1]
    asking = ["plan", "--model", "sim/human", "--paradigm", "classic/framing"]
    for edited in (False, True):
        if edited:
            table.loc[2, "variant"] = other
        file = save_table(table, tmp_path / f"items{edited}.{ending}")
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([*asking, "--items", str(file), "--outputs", str(tmp_path / "outputs")])
        said = capsys.readouterr().err
        assert end.value.code == 2 * edited, said
    assert f"{file.name}: record 3: column 'variant' holds '{other}'" in said, said


EFFECTS: dict[str, tuple[str, Any]] = {  # what is edited in the first row of effects -> its column
    "an unknown status": ("status", "great"),
    "an unknown verdict": ("verdict", "huge"),
    "an infinite estimate": ("estimate", float("inf")),
    "no estimate": ("estimate", float("nan")),
    "an infinite error": ("se", float("inf")),
    "a limit above the estimate": ("ci_low", 0.4),
    "a limit below the estimate": ("ci_high", 0.2),
    "an infinite limit": ("ci_high", float("inf")),
    "no limit": ("ci_low", float("nan")),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_edited_effects_are_refused_by_record_and_column(
    name: str, tmp_path: Path, good: dict[str, Path]
) -> None:
    "Where the site reads them, and where reports do."
    from cogbias.outputs import load_effects
    from cogbias.site.results import Results

    place = tmp_path / "effects.parquet"
    table = pd.read_parquet(good["text"] / "effects.parquet")
    first = {"status": "ok", "estimate": 0.3, "se": 0.1, "ci_low": 0.1, "ci_high": 0.5}
    for column, value in first.items():
        table[column] = [value, *table[column].tolist()[1:]]
    table.to_parquet(place)
    assert len(load_effects(place)) == len(table)
    column, value = EFFECTS[name]
    edit_table(place, column, value, row=0)
    for read in (load_effects, lambda file: Results(file.parent)):
        with pytest.raises(CogbiasError, match="effects.parquet: effects table: ") as refused:
            read(place)
        assert f"column '{column}'" in str(refused.value) and "record 1" in str(refused.value)


def test_a_small_file_that_unpacks_to_all_of_the_memory_is_refused(
    folder: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    "20 kB of parquet that hold one long prompt 40,000 times, which is 16 GB."
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = folder("text") / ITEMS
    table = pq.read_table(place)
    columns = {}
    for name in table.column_names:
        if pa.types.is_null(table[name].type):
            columns[name] = pa.nulls(40_000)
            continue
        value = "x" * 400_000 if name == "prompt" else table[name][0].as_py()
        once = pa.array([value], table[name].type)
        nothing = pa.array([0] * 40_000, pa.int32())
        columns[name] = pa.DictionaryArray.from_arrays(nothing, once)
    bomb = pa.table(columns).replace_schema_metadata(table.schema.metadata)
    pq.write_table(bomb, place, compression="zstd")
    assert place.stat().st_size < 100_000
    with pytest.raises(SystemExit) as end:
        main(["effects", str(place.parents[1])])
    said = capsys.readouterr().err
    assert end.value.code == 2 and said.count("\n") == 1, said
    assert f"{ITEMS}: unpacks to more than 2 GB" in said, said


def test_a_run_strands_only_answers_of_who_is_asked_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    "Another study of the same paradigm in one folder asks one of two participants other items."
    asked = ["run", "--paradigm", "managerial/halo", "--no-reports", "--outputs", str(tmp_path)]
    with pytest.raises(SystemExit) as end:
        main([*asked, "--model", "sim/human", "--model", "sim/random"])
    assert end.value.code == 0
    assert "warning" not in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main([*asked, "--model", "sim/human", "--seed", "7"])
    assert end.value.code == 0
    warned = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning")]
    assert len(warned) == 1 and "sim-human" in warned[0], warned
