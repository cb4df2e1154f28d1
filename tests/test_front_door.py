"""What stands at the door: how the package is called, cited and installed."""

import io
import pydoc
import subprocess
import sys
from configparser import ConfigParser
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pytest
import typer
import yaml
from tiers import KINDS, slow_but

import cogbias as cb
from cogbias.backends.sim import exact_trials
from cogbias.cli import _from_home, app, main
from cogbias.kits.file import FIELDS
from cogbias.outputs import trials_of
from cogbias.study import read_study
from cogbias.tables import CogbiasError, shipped

ROOT = Path(__file__).resolve().parent.parent


def settings() -> dict[str, str]:
    "The settings of the package, as its build reads them."
    config = ConfigParser(delimiters=["="])
    config.read(ROOT / "settings.ini", encoding="utf-8")
    return dict(config["DEFAULT"])


def test_the_module_works_like_the_command() -> None:
    called = [sys.executable, "-m", "cogbias"]
    said = subprocess.run([*called, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == settings()["version"]
    wrong = subprocess.run([*called, "itms"], capture_output=True, text=True)
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1
    assert wrong.stderr.startswith("cogbias: ") and "items" in wrong.stderr


def test_all_is_the_union_of_the_other_extras() -> None:
    extras = {
        key.removesuffix("_requirements"): set(value.split())
        for key, value in settings().items()
        if key.endswith("_requirements")
    }
    every = extras.pop("all")
    assert len(extras) >= 8 and every == set().union(*extras.values())


def test_citation_is_valid_and_in_step() -> None:
    "What the schema of CFF 1.2.0 requires, and what this package says of itself elsewhere."
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    texts = {"cff-version", "message", "type", "title", "abstract", "version", "license"}
    known = texts | {"authors", "repository-code", "keywords"}
    assert {"cff-version", "message", "title", "authors"} <= set(cited) <= known
    assert all(isinstance(cited[name], str) and cited[name] for name in texts & set(cited))
    assert (cited["cff-version"], cited["type"]) == ("1.2.0", "software")
    assert cited["authors"] and all(set(each) == {"name"} for each in cited["authors"])
    assert len(set(cited["keywords"])) == len(cited["keywords"]) > 0
    ours = settings()
    assert (cited["version"], cited["license"]) == (ours["version"], "Apache-2.0")
    assert cited["authors"][0]["name"] == ours["author"]
    assert cited["repository-code"] == ours["git_url"]


# ---- import cogbias as cb

NAMES = [
    *(
        "compare",
        "effects",
        "figures",
        "headline",
        "items",
        "paradigm",
        "paradigm_from",
        "paradigms",
    ),
    *("participant", "plan", "run", "show"),
]


def in_a_new_process(code: str) -> str:
    "What a program prints."
    called = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert called.returncode == 0, called.stderr[-2000:]
    return called.stdout.strip()


def test_the_import_brings_nothing_along() -> None:
    code = (
        "import sys; before = set(sys.modules); import cogbias as cb;"
        "print([name for name in dir(cb) if name[0] != '_'] == %r, 'pandas' in sys.modules,"
        "len(set(sys.modules) - before - {'typing', 're', 'enum', 'importlib', 'warnings'}) < 40)"
    )
    assert in_a_new_process(code % NAMES) == "True False True"


@pytest.mark.parametrize("room", ["effects", "compare", "paradigms", "figures"])
def test_a_name_means_the_same_whatever_was_imported_before(room: str) -> None:
    code = (
        f"import cogbias.{room} as before; import cogbias as cb; from cogbias import {room};"
        f"assert before is cb.{room} is {room}; import sys;"
        f"public = set(getattr(sys.modules['cogbias.{room}'], '__all__', ()));"
        f"assert public <= set(dir(cb.{room})) and 'Annotated' not in dir(cb.{room});"
        f"print(callable(cb.{room}))"
    )
    assert in_a_new_process(code) == str(room != "figures")


def test_a_room_in_a_room_is_found_when_it_was_imported_later() -> None:
    code = (
        "import cogbias as cb; assert 'decoy' not in dir(cb.paradigms);"
        "import cogbias.paradigms.choice.decoy, cogbias.effects.published;"
        "print(cb.paradigms.choice.decoy.PARADIGM.name, hasattr(cb.effects, 'published'),"
        "[name for name in ('np', 'pd', 'Any') if name in dir(cb.effects)])"
    )
    assert in_a_new_process(code) == "choice/decoy True []"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "figures"])
def test_help_begins_with_the_call(name: str) -> None:
    said = pydoc.render_doc(getattr(cb, name), renderer=pydoc.plaintext).splitlines()
    assert said[0].startswith(f"Python Library Documentation: function {name} in module cogbias.")
    assert said[2].startswith(f"{name}(") and len(said) < 250
    assert any(line.strip() == "Arguments:" for line in said)


def test_editors_find_the_names() -> None:
    "What an editor completes without running anything."
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(ROOT, added_sys_path=[str(ROOT)])
    for name in ("items", "effects", "run", "compare"):
        script = jedi.Script(f"import cogbias as cb\ncb.{name}", project=project)
        found = script.infer(2, len(f"cb.{name}"))
        assert "function" in {each.type for each in found}, (name, found)


def test_each_name_lists_settings_and_columns() -> None:
    wanted = {
        cb.run: ["repeats: answers per prompt", "ci_low: lower limit"],
        cb.plan: ["repeats: answers per prompt", "cells: one row per participant and paradigm"],
        cb.items: ["prompt: the text that is sent"],
        cb.effects: ["alpha: of the tests", "ci_low: lower limit"],
        cb.headline: ["ci_low: lower limit"],
        cb.compare: ["larger: who shows more"],
    }
    for function, lines in wanted.items():
        for line in lines:
            assert f"    {line}" in function.__doc__, (function, line)


def listed_under(function: object, title: str) -> list[str]:
    "The names that help() lists under a title."
    part = function.__doc__.split(f"{title}:\n")[1].split("\n\n")[0]
    return [line.split(":")[0].strip() for line in part.splitlines()]


def test_help_lists_every_column_of_a_result_and_no_other(tmp_path: Path) -> None:
    asked = {"paradigm": "classic/framing", "outputs": tmp_path / "out"}
    planned = cb.plan(["sim/human", "sim/rational"], **asked)
    found = cb.run(["sim/human", "sim/rational"], **asked, reports=False, progress=False)
    apart = cb.compare(found)
    for function, result, names in (
        (cb.plan, planned, ("cells", "models", "power")),
        (cb.run, found, ("effects", "trials")),
        (cb.compare, apart, ("differences", "ranks", "familiar")),
    ):
        for name in names:
            columns = getattr(result, name).columns.tolist()
            assert listed_under(function, f"Columns of {name}") == columns, name
    assert listed_under(cb.plan, "Returns") == list(planned._fields)


def test_help_lists_every_setting_of_a_table_at_hand() -> None:
    settings = listed_under(cb.paradigm_from, "Settings")
    assert sorted([*settings, "name", "wordings"]) == sorted([*FIELDS, "unit"])
    (beside,) = listed_under(cb.paradigm_from, "Settings beside an items table")
    framed = cb.items("classic/framing")
    for name in settings:
        with pytest.raises(CogbiasError) as error:
            cb.paradigm_from(framed, **{name: object()})
        assert ("says nothing beside a table" in str(error.value)) == (
            name not in beside.split(", ")
        )


def test_prompts_of_two_paradigms_are_no_pair() -> None:
    halves = {"managerial/escalation": "control", "managerial/halo": "treatment"}
    parts = [cb.items(name).query(f"condition == '{side}'") for name, side in halves.items()]
    assert set(parts[0]["pair_id"]) & set(parts[1]["pair_id"])
    shown = cb.show(pd.concat(parts)).text
    assert ("[control]" in shown) + ("[treatment]" in shown) == 1
    whole = cb.items("managerial/halo")
    shown = cb.show(pd.concat([parts[0], whole])).text
    assert shown.partition("[control]")[2] == cb.show(whole).text.partition("[control]")[2]


def test_wordings_that_do_not_differ_differ_by_nothing() -> None:
    framed = cb.items("classic/framing")
    both = pd.concat([exact_trials(name, framed) for name in ("human", "rational")])
    assert list(map(str, cb.compare(both).familiar["estimate"])) == ["0.0", "0.0"]


DRAWN = ("managerial/*", "logic/belief")  # paradigms whose prompts hold what is drawn
OF_A_FRESH_SET = {"choice/certainty": {"source": "fresh"}}


def item_ids(name: str, **settings: object) -> list[str]:
    "The prompts of a paradigm, in order."
    return cb.items(name, **settings)["item_id"].tolist()


@pytest.mark.parametrize("name", slow_but(KINDS, cb.paradigms()))
def test_another_seed_gives_other_prompts_where_help_says_so_and_nowhere_else(name: str) -> None:
    seed = next(line for line in cb.items.__doc__.splitlines() if line.startswith("    seed: "))
    is_drawn = any(fnmatch(name, pattern) for pattern in DRAWN)
    assert all(pattern in seed for pattern in (*DRAWN, *OF_A_FRESH_SET))
    assert (item_ids(name) != item_ids(name, seed=1)) == is_drawn
    if fresh := OF_A_FRESH_SET.get(name):
        assert not set(item_ids(name, **fresh)) & set(item_ids(name, seed=1, **fresh))


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    return exact_trials("human", cb.items("choice/certainty"))


def test_bets_at_hand_are_judged_by_the_values_beside_them_as_in_their_folder(
    tmp_path: Path,
) -> None:
    tables = [cb.items(name, orders="published") for name in ("bets/coin", "bets/value")]
    some = tables[0].loc[tables[0]["split"] == "test", "pair"].unique()[:30]
    asked = pd.concat([table[table["pair"].isin(some)] for table in tables])
    cb.run("sim/messy", asked, outputs=tmp_path, reports=False)
    at_hand, folder = (
        cb.effects(*source).set_index(["paradigm", "measure", "group", "target"]).sort_index()
        for source in ([trials_of(tmp_path), asked], [tmp_path])
    )
    by_own_values = at_hand.loc[("bets/coin", "belief_conditioned", "all")].iloc[0]
    assert by_own_values["status"] == "ok"
    numbers = ["estimate", "ci_low", "ci_high", "n_items", "n_valid", "n_clusters"]
    pd.testing.assert_frame_equal(at_hand[numbers], folder[numbers], check_dtype=False)
    assert set(at_hand["shown_name"]) == set(folder["shown_name"]) == {"sim/messy (simulated)"}


def wrong_frames(frame: pd.DataFrame, number: str) -> dict[str, object]:
    "What somebody might give instead of a table."
    return {
        "None": None,
        "a number": 3,
        "a list": [1, 2],
        "an empty frame": pd.DataFrame(),
        "a missing column": frame.drop(columns=number),
        "a wrong dtype": frame.assign(**{number: "much"}),
        "no such path": "no/such/place",
    }


@pytest.mark.parametrize("name", ["effects", "headline", "compare", "show"])
def test_a_wrong_table_is_one_line(name: str, trials: pd.DataFrame) -> None:
    found = cb.effects(trials)
    function = getattr(cb, name)
    tables = [(trials, "latency_s")] if name == "effects" else [(trials, "value")]
    tables += [(found, "estimate")] if name != "effects" else []
    for frame, number in tables:
        for what, wrong in wrong_frames(frame, number).items():
            with pytest.raises(CogbiasError) as error:
                function(wrong)
            assert len(str(error.value).splitlines()) == 1, what
            if what == "a missing column" and (name, number) != ("compare", "estimate"):
                assert f"column {number!r} is missing" in str(error.value), (name, what)


@pytest.mark.parametrize("name", ["items", "paradigm", "paradigms", "participant", "plan"])
def test_a_wrong_name_is_one_line(name: str) -> None:
    function = getattr(cb, name)
    for wrong in (None, 3, ["x"], {}, pd.DataFrame(), "no/such/place", "no such place.toml", ""):
        with pytest.raises(CogbiasError) as error:
            function(wrong)
        assert len(str(error.value).splitlines()) == 1, wrong


def test_a_wrong_run_is_one_line(tmp_path: Path) -> None:
    items = cb.items("choice/certainty")
    wrong_models = [None, 3, {}, pd.DataFrame(), "sim/humen", "human", ""]
    wrong_paradigms = [None, 3, {}, pd.DataFrame(), items.head(0), "choice/decoi", ""]
    wrong_paradigms += [items.drop(columns="prompt"), items.assign(prompt=3)]
    asked = [(model, "choice/certainty") for model in wrong_models]
    asked += [("sim/human", paradigm) for paradigm in wrong_paradigms]
    for model, paradigm in asked:
        with pytest.raises(CogbiasError) as error:
            cb.run(model, paradigm, outputs=tmp_path, reports=False, progress=False)
        assert len(str(error.value).splitlines()) == 1, (model, paradigm)


@pytest.mark.parametrize("name", ["models", "paradigms"])
def test_a_field_of_study_files_is_refused_beside_its_argument(name: str, tmp_path: Path) -> None:
    asked = ("sim/human", "choice/certainty")
    for call in (cb.run, cb.plan):
        with pytest.raises(CogbiasError, match=f"{name} is a field of study files; give") as error:
            call(*asked, outputs=tmp_path / "out", **{name: ["x"]})
        assert str(error.value).startswith(call.__name__)
    assert not list(tmp_path.iterdir())


def test_a_number_of_numpy_is_a_number(tmp_path: Path) -> None:
    asked = ("sim/human", cb.items("choice/certainty").head(4))
    planned = cb.plan(*asked, repeats=np.int64(2), temperature=np.float32(0.5))
    assert planned.cells["planned"].tolist() == [8]
    numbers = {"repeats": np.int64(2), "temperature": np.float32(0.5), "seed": np.int64(1)}
    found = cb.run(
        "sim/human",
        "classic/framing",
        where={"variant": "base"},
        outputs=tmp_path,
        reports=False,
        **numbers,
    )
    assert found.trials["temperature"].unique().tolist() == [0.5]


FRAMED = cb.items("classic/framing")
FROM_A_TABLE = {
    "a level": {"where": {"option_order": FRAMED["option_order"].iloc[0]}},
    "levels": {"where": {"option_order": list(FRAMED["option_order"].unique())}},
    "a flag": {"where": {"is_original": np.bool_(True)}},
    "an array": {"where": {"variant": FRAMED["variant"].unique()[:1]}},
    "a limit": {"limits": {"requests_per_minute": np.int64(100)}},
    "a size": {"analysis": {"smallest": {"probability": np.float32(0.1)}}},
    "arguments": {"settings": {"classic/framing": {"variants": FRAMED["variant"].unique()[:1]}}},
    "a seed": {"seed": np.int64(1), "settings": {"classic/framing": {"seed": np.int64(1)}}},
}


@pytest.mark.parametrize("what", FROM_A_TABLE)
def test_what_stands_in_a_table_can_be_set(what: str, tmp_path: Path) -> None:
    asked = {"model": "sim/human", "paradigm": "classic/framing", "outputs": tmp_path / "out"}
    planned = cb.plan(**asked, **FROM_A_TABLE[what]).cells["missing"].tolist()
    found = cb.run(**asked, **FROM_A_TABLE[what], reports=False, progress=False)
    assert [len(found.trials)] == planned


def test_arguments_of_items_may_stand_in_a_table() -> None:
    assert len(cb.items("choice/certainty", source="fresh", count=np.int64(3), seed=np.int64(1)))
    one = cb.items("classic/framing", variants=FRAMED["variant"].unique()[:1])
    assert one["variant"].unique().tolist() == ["base"]


def test_a_folder_at_home_is_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    asked = {"where": {"variant": "base"}, "outputs": "~/answers", "reports": False}
    found = cb.run("sim/human", "classic/framing", **asked)
    assert found.outputs == tmp_path / "answers"
    assert cb.headline("~/answers")["estimate"].tolist() == found.headlines["estimate"].tolist()


def test_a_bias_in_a_text_file_has_items_and_a_plan(tmp_path: Path) -> None:
    for ending in ("toml", "csv"):
        text = shipped("data", "skeletons", f"file.{ending}").read_text(encoding="utf-8")
        (tmp_path / f"mine.{ending}").write_text(text.replace("NAME", "mine"), encoding="utf-8")
    items = cb.items(tmp_path / "mine.toml")
    assert len(items) and items.equals(cb.items(str(tmp_path / "mine.toml")))
    planned = cb.plan("sim/random", str(tmp_path / "mine.toml"), outputs=tmp_path / "out")
    assert planned.cells["prompts"].tolist() == [len(items)]


def test_a_run_is_compared_as_its_folder_is_and_two_folders_are_told_how(tmp_path) -> None:
    places = [tmp_path / "one", tmp_path / "two"]
    runs = [
        cb.run(["sim/human", name], "classic/framing", outputs=place, reports=False)
        for name, place in zip(("sim/rational", "sim/random"), places)
    ]
    assert repr(cb.compare(runs[0])) == repr(cb.compare(places[0]))
    later = cb.run(["sim/human", "sim/random"], "classic/framing", outputs=places[0], reports=False)
    assert set(cb.compare(later).ranks["participant"]) == {"sim/human", "sim/random"}
    for several in ([places], [str(places[0]), str(places[1])]):
        with pytest.raises(CogbiasError, match="takes one folder; the answers of several are one"):
            cb.compare(*several)
    for several in ([runs], runs, [{"one": runs[0], "two": runs[1]}], [[runs[0].trials] * 2]):
        with pytest.raises(CogbiasError, match="takes one run or table; several are one table"):
            cb.compare(*several)
    named = [run.trials.assign(participant=name) for run, name in zip(runs, ("one", "two"))]
    assert set(cb.compare(pd.concat(named)).ranks["participant"]) == {"one", "two"}
    both = pd.concat(map(trials_of, places)).drop_duplicates("trial_id")
    assert cb.compare(both).ranks["participant"].nunique() == 3


def test_a_command_finds_the_home_folder_that_no_shell_has_put_in(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    ask = ["run", "--model", "sim/random", "--paradigm", "classic/framing", "--no-reports"]
    for command in ([*ask, "--outputs=~/here"], ["effects", "~/here", "--out=~/of.csv"]):
        with pytest.raises(SystemExit) as end:
            main(command)
        assert end.value.code == 0
    assert {each.name for each in tmp_path.iterdir()} >= {"here", "of.csv"}
    assert not (tmp_path / "~").exists()


def paths_of_commands() -> dict[tuple[str, str], typer.models.ParameterInfo]:
    "Every option and argument of the command line that is a path, by function and parameter."
    functions = [each.callback for each in app.registered_commands]
    found = {}
    for function in functions:
        for name, hint in get_type_hints(function, include_extras=True).items():
            kind, *told = get_args(hint) if get_origin(hint) is Annotated else (hint,)
            if kind is Path or Path in get_args(kind):
                found[function.__name__, name] = told[0]
    return found


def test_every_path_of_the_command_line_may_begin_at_home() -> None:
    found = paths_of_commands()
    named = {function for function, _ in found}
    assert named >= {"effects", "generate", "import_command", "export_command", "new", "site"}
    for where, told in found.items():
        assert told.callback is _from_home, where


def test_commands_and_the_front_door_read_and_write_at_home(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    here = tmp_path / "elsewhere"
    here.mkdir()
    monkeypatch.chdir(here)
    ask = ["run", "--model=sim/human", "--no-reports", "--outputs=~/S"]
    for command in (
        ["new", "paradigm", "at_home", "--folder=~"],
        ["check", "~/at_home.toml"],
        ["items", "~/at_home.toml", "--out=~/prompts.csv"],
        [*ask, "--paradigm=~/at_home.toml"],
        [*ask, "--paradigm=own/at_home", "--items=~/prompts.csv"],
        ["export", "csv", "~/S", "--out=~/trials.csv"],
    ):
        with pytest.raises(SystemExit) as end:
            main(command)
        assert end.value.code == 0, command
    assert {each.name for each in tmp_path.iterdir()} >= {"S", "trials.csv", "at_home.toml"}
    assert list(here.iterdir()) == []
    name = cb.paradigm("~/at_home.toml").name
    assert cb.items("~/at_home.toml")["paradigm"].unique().tolist() == [name]
    assert cb.show("~/S") is not None and len(cb.effects("~/trials.csv", "~/prompts.csv"))
    study = "models = ['sim/human']\nparadigms = ['~/at_home.toml']\nitems_file = '~/prompts.csv'"
    (tmp_path / "study.toml").write_text(study)
    assert len(cb.plan("~/study.toml", outputs="~/S").cells) == 1
    (tmp_path / "study.toml").write_text(f"{study}\n[training]\nswag = '~/swag.csv'")
    assert read_study("~/study.toml").training["swag"] == str(tmp_path / "swag.csv")
    with pytest.raises(CogbiasError, match="home of nobody who is known here; give the whole"):
        cb.paradigm("~nobody-at-all/at_home.toml")


def test_a_table_in_a_wrong_place_is_named_and_not_printed(tmp_path) -> None:
    table = cb.items("classic/framing")
    calls = (
        lambda: cb.plan(table),
        lambda: cb.paradigms(table),
        lambda: cb.participant(table),
        lambda: cb.run(table, "bets/coin", outputs=tmp_path / "no"),
        lambda: cb.compare(table["prompt"]),
        lambda: cb.effects(table["prompt"]),
    )
    for call in calls:
        with pytest.raises(CogbiasError, match="a (DataFrame|Series) (is|has|cannot)"):
            call()


@pytest.mark.parametrize("name", ["a/b", "classic/framing", "Ä b"])
def test_a_wrong_name_of_a_table_is_one_line_and_speaks_of_no_file(name: str) -> None:
    text = shipped("data", "skeletons", "file.csv").read_text(encoding="utf-8")
    wordings = pd.read_csv(io.StringIO(text))
    with pytest.raises(CogbiasError) as error:
        cb.paradigm_from(wordings, name)
    assert str(error.value).startswith(f"paradigm_from: name: {name!r} is no name; use letters")
    assert "file" not in str(error.value) and "\n" not in str(error.value)
