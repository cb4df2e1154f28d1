"""Damaged and edited folders and tables: commands name the file in one line, with no traceback."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from calls import command
from cogbias.design import paradigm
from cogbias.tables import CogbiasError, save_table
from cogbias.cells import stored_cell
from tiers import slow_but

OLD = Path(__file__).parent / "fixtures" / "outputs_0_1_0"
MANIFEST = "manifest.json"
WHO = "trials/sim-messy/participant.json"
TRIALS = "trials/sim-messy/classic-framing.jsonl"
ITEMS = "items/classic-framing.parquet"
EFFECTS = "effects.parquet"
NESTED = b"[" * 100_000 + b"]" * 100_000
HUGE = 10**30

Damage = Callable[[Path], None]


def written(content: bytes) -> Damage:
    "The file holds something else."
    return lambda path: path.write_bytes(content) and None


def a_folder(path: Path) -> None:
    "A folder stands where a file should."
    path.unlink()
    path.mkdir()


def cut(path: Path) -> None:
    "The second half of the file is lost."
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


BYTES: dict[str, Damage] = {
    "empty": written(b""),
    "no_utf8": written(b'{"\xff": 1}\n'),
    "nested": written(NESTED + b"\n"),
    "a_number": written(b"5\n"),
    "a_list": written(b"[]\n"),
    "an_object": written(b"{}\n"),
    "null": written(b"null\n"),
    "long_number": written(b"1" * 5000 + b"\n"),
    "zeros": written(bytes(300) + b"\n"),
    "folder": a_folder,
    "cut": cut,
}


def in_json(*keys: str, to: Any) -> Damage:
    "A value in a JSON file is another."

    def damage(path: Path) -> None:
        content = json.loads(path.read_text())
        place = content
        for key in keys[:-1]:
            place = place[key]
        if to is KeyError:
            del place[keys[-1]]
        else:
            place[keys[-1]] = to
        path.write_text(json.dumps(content))

    return damage


def in_line(**change: Any) -> Damage:
    "The first trial says something else."

    def damage(path: Path) -> None:
        first, *rest = path.read_text().splitlines(keepends=True)
        path.write_text(json.dumps(json.loads(first) | change) + "\n" + "".join(rest))

    return damage


def in_table(**change: Any) -> Damage:
    "The third row of a table says something else, whatever its column held before."

    def damage(path: Path) -> None:
        table = pd.read_parquet(path)
        for name, value in change.items():
            cells = table[name].tolist()
            cells[2] = value
            table[name] = cells
        table.to_parquet(path)

    return damage


def without(column: str) -> Damage:
    "A column of a table is lost."
    return lambda path: pd.read_parquet(path).drop(columns=column).to_parquet(path)


def twice(path: Path) -> None:
    "A row of a table occurs twice."
    table = pd.read_parquet(path)
    pd.concat([table, table.head(1)]).to_parquet(path)


def no_rows(path: Path) -> None:
    "A table has no rows."
    pd.read_parquet(path).head(0).to_parquet(path)


def newer(path: Path) -> None:
    "A table is of a version that nobody knows yet."
    table = pd.read_parquet(path)
    table.attrs = {"schema_version": 9}
    table.to_parquet(path)


def cells(**change: Any) -> Damage:
    "Every cell of the manifest says something else."

    def damage(path: Path) -> None:
        content = json.loads(path.read_text())
        content["cells"] = [cell | change for cell in content["cells"]]
        path.write_text(json.dumps(content))

    return damage


REFUSED: dict[str, tuple[str, Damage]] = {  # name -> file, what happens to it
    **{f"manifest_{name}": (MANIFEST, damage) for name, damage in BYTES.items()},
    **{f"who_{name}": (WHO, damage) for name, damage in BYTES.items()},
    **{f"items_{name}": (ITEMS, damage) for name, damage in BYTES.items()},
    **{
        f"trials_{name}": (TRIALS, damage)
        for name, damage in BYTES.items()
        if name not in ("empty", "cut")  # as after a kill
    },
    "manifest_cells_number": (MANIFEST, in_json("cells", to=5)),
    "manifest_cells_numbers": (MANIFEST, in_json("cells", to=[5])),
    "manifest_cells_empty": (MANIFEST, in_json("cells", to=[{}])),
    "manifest_cells_gone": (MANIFEST, in_json("cells", to=KeyError)),
    "manifest_study_list": (MANIFEST, in_json("study", to=[])),
    "manifest_study_gone": (MANIFEST, in_json("study", to=KeyError)),
    "manifest_analysis_number": (MANIFEST, in_json("study", "analysis", to=5)),
    "manifest_analysis_odd": (MANIFEST, in_json("study", "analysis", to={"alpha": "x"})),
    **{
        f"manifest_{name}_{number}": (MANIFEST, cells(**{name: value}))
        for name, values in {
            "participant": [[], 5, None, ""],
            "paradigm": [[], None],
            "model": [5, None],
            "method": [5, "great"],
            "who": [5, []],
            "repeats": ["x", 0, HUGE, 1.5],
            "seed": ["x", HUGE, -1],
            "planned": ["x", HUGE],
            "settings": [5, [1]],
            "where": [5],
            "participants": [5],
            "statuses": [5],
            "temperature": ["hot"],
            "note": [5],
            "items_file": [5],
        }.items()
        for number, value in enumerate(values)
    },
    **{
        f"who_{name}_{number}": (WHO, in_json(name, to=value))
        for name, values in {
            "name": [5, "sim/other", KeyError],
            "backend": [5],
            "model": [[]],
            "revision": [5],
            "temperature": ["hot"],
            "simulated": ["yes"],
            "methods": [5, "text", [5]],
            "identity": [5],
            "facts": [5],
        }.items()
        for number, value in enumerate(values)
    },
    **{
        f"trials_{name}_{number}": (TRIALS, in_line(**{name: value}))
        for name, values in {
            "trial_id": [[], 5, "", None],
            "item_id": [[], 5],
            "paradigm": ["choice/decoy", "nobody/nothing"],
            "condition": ["treatment", 5],
            "participant": ["sim/other", "", 5],
            "temperature": ["hot", -1, 1e999],
            "repeat": [HUGE, -1, 1.5, "x"],
            "seed": [HUGE, "x", -1],
            "method": ["guess", None],
            "response": [5, [], {}],
            "choice": ["Z", 5],
            "role": ["nobody", 5],
            "value": [1e999, "x", True],
            "p": [{"A": 1.5}, {"A": -0.1}, {"A": "x"}, {"Z": 1.0}, 5, {"A": 0.9, "B": 0.9}],
            "valid_mass": [2, -1, "x"],
            "status": ["great", 5, None],
            "detail": [5],
            "tokens_in": [HUGE, -1],
            "latency_s": [-1, "x"],
            "attempt": [0, HUGE, "x"],
            "mood": ["good"],
            "schema_version": [9, "x", 0],
        }.items()
        for number, value in enumerate(values)
    },
    **{
        f"items_{name}_{number}": (ITEMS, in_table(**{name: value}))
        for name, values in {
            "paradigm": ["nobody/nothing", "", "choice/decoy"],
            "item_id": ["another", ""],
            "condition": ["treatmnt", ""],
            "prompt": ["Edited.", "", "   "],
            "options": ["[]", "[5]", "5", "not JSON", '[{"label": "A"}]', "[" * 5000],
            "answer": ["poem", ""],
            "content": ["[]", '{"a": NaN}', "not JSON"],
            "cluster": [""],
            "stratum": [""],
        }.items()
        for number, value in enumerate(values)
    },
    **{
        f"items_without_{name}": (ITEMS, without(name))
        for name in ("item_id", "paradigm", "condition", "prompt", "options", "cluster", "content")
    },
    "items_twice": (ITEMS, twice),
    "items_none": (ITEMS, no_rows),
    "items_newer": (ITEMS, newer),
}


COMMANDS: dict[str, Callable[[Path], list[Any]]] = {
    "effects": lambda folder: ["effects", folder],
    "effects_out": lambda folder: ["effects", folder, "--out", folder.parent / "effects.csv"],
    "export": lambda folder: ["export", "csv", folder, "--out", folder.parent / "trials.csv"],
    "site": lambda folder: ["site", folder, "--out", folder.parent / "site"],
    "plan": lambda folder: ["plan", *ASKING, "--outputs", folder],
    "run": lambda folder: ["run", *ASKING, "--outputs", folder, "--no-reports"],
}
ASKING = ["--model", "sim/messy", "--paradigm", "classic/framing", "--where", "variant=base"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    "A copy of the stored folder, to be damaged."
    others = shutil.ignore_patterns("sim-human", "classic-anchoring*")  # one cell is enough
    return Path(shutil.copytree(OLD, tmp_path / "outputs", ignore=others))


FILES = [name for name in REFUSED if name.split("_", 1)[1] in BYTES]  # damaged as a whole
SHORT = ("effects", "run")  # one that reads and one that writes


FIELDS = [name for name in REFUSED if name not in FILES]  # one value of a line or a row


# each second file damaged as a whole, and every sixteenth field
@pytest.mark.parametrize("name", slow_but([*[*FILES][::2], *FIELDS[::16]], REFUSED))
def test_every_command_ends_in_one_line(name, folder, capsys):
    file, damage = REFUSED[name]
    damage(folder / file)
    refusals = []
    for asked in COMMANDS if name in FILES else SHORT:
        capsys.readouterr()
        status, said = command(*COMMANDS[asked](folder)), capsys.readouterr().err
        assert status in (0, 1, 2) and "Traceback" not in said
        assert all(len(line) < 700 for line in said.splitlines())
        refusals += [said] if status and Path(file).name in said else []
    try:
        stored_cell(folder, "sim/messy", "classic/framing")  # what a report is made from
    except CogbiasError as error:
        assert "\n" not in str(error)
        refusals.append(str(error))
    assert refusals, "nobody noticed"


def test_damaged_effects_are_made_again(folder, capsys):
    for damage in BYTES.values():
        shutil.rmtree(folder / EFFECTS) if (folder / EFFECTS).is_dir() else None
        (folder / EFFECTS).write_bytes((OLD / EFFECTS).read_bytes())
        damage(folder / EFFECTS)
        status = command("effects", folder)
        said = capsys.readouterr().err
        assert status == 0 or (status == 2 and EFFECTS in said and "Traceback" not in said)


TABLE = paradigm("classic/framing").items().head(4)
OUTSIDE: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {  # name -> what happens to a table
    "role": lambda table: with_option(table, role="nobody"),
    "role_blank": lambda table: with_option(table, role=""),
    "label": lambda table: with_option(table, label=table.options[2][1]["label"]),
    "label_number": lambda table: with_option(table, label=5),
    "value": lambda table: with_option(table, value="much"),
    "no_options": lambda table: with_cell(table, "options", [{}]),
    "prompt": lambda table: with_cell(table, "prompt", "  "),
    "prompt_number": lambda table: with_cell(table, "prompt", 5),
    "answer": lambda table: with_cell(table, "answer", "poem"),
    "condition": lambda table: with_cell(table, "condition", "treatmnt"),
    "paradigm": lambda table: with_cell(table, "paradigm", "classic/famring"),
    "content": lambda table: with_cell(table, "content", []),
    "flag": lambda table: with_cell(table, "is_original", "perhaps"),
    "group": lambda table: with_cell(table, "order_group", None),
    "twice": lambda table: with_cell(pd.concat([table.head(2), table.head(2)]), "flag", ""),
    "none": lambda table: table.head(0),
    "newer": lambda table: table.assign(schema_version=9),
    "without": lambda table: table.drop(columns="cluster"),
    "factor": lambda table: table.drop(columns="variant"),
}


def with_cell(table: pd.DataFrame, name: str, value: Any) -> pd.DataFrame:
    "The table with another value in the third row."
    table = table.reset_index(drop=True)
    return table.assign(**{name: [*table[name][:2].tolist(), value, *table[name][3:].tolist()]})


def with_option(table: pd.DataFrame, **change: Any) -> pd.DataFrame:
    "The table with another first option in the third row."
    first, *rest = table.options[2]
    return with_cell(table, "options", [first | change, *rest])


@pytest.mark.parametrize("ending", slow_but(["csv"], ["csv", "jsonl", "parquet"]))
@pytest.mark.parametrize("name", OUTSIDE)
def test_a_table_from_outside_is_refused_by_record_and_field(name, ending, tmp_path, capsys):
    place = tmp_path / f"items.{ending}"
    try:
        save_table(OUTSIDE[name](TABLE), place)
    except CogbiasError:
        pytest.skip("this format cannot hold that")
    if name == "newer" and ending == "parquet":
        pytest.skip("a column there, which is a factor")
    if name == "prompt_number" and ending == "csv":
        pytest.skip("a text like any other there")
    asking = ["--paradigm", "classic/framing", "--items", place, "--outputs", tmp_path / "outputs"]
    for asked in (
        ["run", "--model", "sim/human", *asking, "--no-reports"],
        ["plan", "--model", "sim/human", *asking],
    ):
        capsys.readouterr()
        status, said = command(*asked), capsys.readouterr().err
        assert status in (1, 2) and place.name in said and "Traceback" not in said
        if name not in ("none", "newer", "without", "factor", "group"):
            assert re.search(r"record \d", said)
    assert not list((tmp_path / "outputs").glob("trials/*/*.jsonl"))
