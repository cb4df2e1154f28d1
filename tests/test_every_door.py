"""Every door says what it takes, and takes a paradigm by its name, by its file or itself."""

import re
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
import typer
from own_files import said, written

import cogbias as cb
from cogbias.backends.sim import exact_trials
from cogbias.cli import TASKS, app
from cogbias.design import DECLARED_HERE, OWN, declare
from cogbias.kits.file import paradigm_from_file
from cogbias.tables import CogbiasError

pytestmark = pytest.mark.usefixtures("forgotten")
PROGRAM = typer.main.get_command(app)


# --- the command line


def test_help_names_every_command_by_its_task():
    assert sorted(name for names in TASKS.values() for name in names) == sorted(PROGRAM.commands)
    told = said("--help")
    assert all(re.search(rf"^  {name} +\w", told, re.M) for name in PROGRAM.commands)


@pytest.mark.parametrize("command", PROGRAM.commands)
def test_help_lists_every_argument_with_words(command: str) -> None:
    told = said(command, "--help")
    for each in PROGRAM.commands[command].params:
        option = each.param_type_name == "option"
        shown = each.opts[0] if option else each.metavar or each.name.upper()
        assert each.help and shown.lower() in told.lower(), each.name


# --- a paradigm by its name, its file or itself


def test_doors_give_for_a_file_what_they_give_for_a_name(tmp_path):
    file = written(tmp_path, {"same.toml": 'based_on = "classic/framing"\n'})
    named = cb.plan("sim/human", "classic/framing").cells["prompts"].tolist()
    for given in (str(file), file, paradigm_from_file(file)):
        OWN.clear()
        assert cb.paradigm(given).name == "own/same"
        assert cb.items(given)["prompt"].tolist() == cb.items("classic/framing")["prompt"].tolist()
        assert cb.plan("sim/human", given).cells["prompts"].tolist() == named
    columns = ["measure", "group", "estimate", "ci_low", "ci_high", "n_items"]
    more = {"reports": False, "progress": False, "where": {"variant": "base"}}
    place = tmp_path / "out"
    wanted, found = (
        cb.run("sim/human", each, outputs=place, **more) for each in ("classic/framing", file)
    )
    OWN.clear()
    for effects in (found.effects, cb.effects(found.trials, file)):
        pd.testing.assert_frame_equal(effects[columns], wanted.effects[columns], check_dtype=False)


def test_a_folder_keeps_a_paradigm_of_a_session(tmp_path):
    own, out = replace(paradigm_from_file(written(tmp_path)), title="Mugs"), tmp_path / "out"
    cb.run("sim/human", own, outputs=out, reports=False, progress=False)
    command = [sys.executable, "-m", "cogbias", "effects", str(out), "--json"]
    told = subprocess.run(command, capture_output=True, text=True)
    assert told.returncode == 0 and '"own/lost"' in told.stdout, told.stderr


def test_trials_are_compared_on_the_items_that_they_answer(tmp_path):
    file = written(tmp_path)
    items = cb.items(file)
    declare(cb.paradigm(file))
    both = pd.concat([exact_trials(name, items) for name in ("human", "rational")])
    wanted = cb.compare(both, items=items).differences
    assert wanted["estimate"].iloc[0] > 0.3
    OWN.clear()
    DECLARED_HERE.clear()
    with pytest.raises(CogbiasError, match="paradigm 'own/lost' is not known"):
        cb.compare(both)
    pd.testing.assert_frame_equal(cb.compare(both, items=file).differences, wanted)


HEAVY = ("scipy.stats", "matplotlib", "torch", "IPython", "nbformat", "transformers")


def test_the_first_answer_of_a_function_waits_for_nothing_that_it_does_not_need(tmp_path):
    "What takes longest is to import; reports need more, and come later."
    code = (
        "import sys, cogbias as cb\n"
        "first = []\n"
        "def answer(prompt):\n"
        f"    first[:] = first or [[name for name in {HEAVY} if name in sys.modules]]\n"
        "    return 'A'\n"
        f"few = {{'outputs': {str(tmp_path)!r}, 'reports': False, 'progress': False}}\n"
        "cb.run(answer, 'classic/framing', name='mine', **few)\n"
        f"print(first, [name for name in {HEAVY} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[[]] []\n", done.stdout + done.stderr
