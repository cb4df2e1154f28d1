"""A paradigm by its name, by its file or itself: every door does the same, now and later."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from own_files import ROOT, written

import cogbias as cb
from cogbias.backends.sim import exact_trials
from cogbias.design import DECLARED_HERE, OWN, About, Paradigm, declare, paradigm
from cogbias.kits.classic import against, classic
from cogbias.kits.file import own_rules, own_stimulus, paradigm_from_file
from cogbias.kits.table import paradigm_from
from cogbias.kits.variants import ContentSet, Question, Variable
from cogbias.running import effects_of
from cogbias.site.pages import build_site
from cogbias.tables import CogbiasError

pytestmark = pytest.mark.usefixtures("forgotten")

# --- every door: a name, a file, a paradigm at hand


ABOUT_MINE = About(
    title="Mugs",
    bias="endowment effect",
    summary="People keep what is theirs.",
    norm="A thing is worth the same to whoever owns it.",
    positive="the thing is kept more often by its owner",
    source="a design of the user, unpublished",
    conditions={"control": "a choice", "treatment": "an offer"},
)


def made_in_python(name: str = "mine/mugs", of: str = "mug", human: float = 1.0) -> Paradigm:
    "A paradigm that no file declares, with rules of its own."
    frames = {
        "control": "You may have a {thing} for ${price}. Keep the money?",
        "treatment": "You own a {thing} and are offered ${price}. Keep it?",
    }
    things = (of, "pen", "lamp", "book", "vase", "clock", "rug", "chair")
    contents = tuple(
        ContentSet(thing, {"thing": thing}, {"price": Variable("money", price)})
        for price, thing in enumerate(things, 4)
    )
    question = Question(
        name,
        "mugs",
        frames,
        contents,
        dict.fromkeys(frames, {"other": "No", "target": "Yes"}),
        stimulus=own_stimulus,
    )
    rules = own_rules() | {"human": lambda content, roles: own_rules()["human"](content, roles)}
    if human != 1.0:
        rules["human"] = own_rules()["mirror"]
    return classic(ABOUT_MINE, question, against("kept", "Kept"), rules=rules)


WITHOUT_NAMES = ["measure", "group", "estimate", "ci_low", "ci_high", "n_items", "verdict"]


@pytest.mark.slow
def test_doors_give_for_a_file_what_they_give_for_a_name(tmp_path: Path) -> None:
    file = str(written(tmp_path, {"same.toml": 'based_on = "classic/framing"\n'}))
    by_name, at_hand = "classic/framing", paradigm_from_file(file)
    assert cb.items(file)["prompt"].tolist() == cb.items(by_name)["prompt"].tolist()
    for given in (file, Path(file), at_hand):
        OWN.clear()
        assert cb.paradigm(given).name == "own/same"
        assert cb.items(given)["item_id"].tolist() == at_hand.items()["item_id"].tolist()
        planned = cb.plan("sim/human", given, outputs=tmp_path / "none")
        usual = cb.plan("sim/human", by_name, outputs=tmp_path / "none")
        columns = ["participant", "prompts", "planned", "missing", "calls", "tokens_in"]
        assert planned.cells[columns].equals(usual.cells[columns])
        assert planned.power["present_from"].equals(usual.power["present_from"])
    both = cb.plan(["sim/human"], [by_name, at_hand, made_in_python()], outputs=tmp_path / "none")
    assert both.cells["paradigm"].tolist() == [by_name, "own/same", "mine/mugs"]
    found = {}
    for number, given in enumerate((by_name, file, at_hand)):
        out = tmp_path / str(number)
        for model in ("sim/human", "sim/rational"):
            cb.run(model, given, outputs=out, reports=False, progress=False)
        OWN.clear()
        first = cb.effects(out)
        trials = cb.run("sim/human", given, outputs=out, reports=False, progress=False).trials
        OWN.clear()
        answered = None if given == by_name else given
        again = cb.effects(trials, answered)
        human = first[first["participant"] == "sim/human"].reset_index(drop=True)
        assert again[WITHOUT_NAMES].equals(human[WITHOUT_NAMES])
        found[number] = cb.compare(out).differences.drop(columns="paradigm"), first[WITHOUT_NAMES]
    for compared, estimated in list(found.values())[1:]:
        pd.testing.assert_frame_equal(compared, found[0][0])
        pd.testing.assert_frame_equal(estimated, found[0][1])


def test_a_cell_that_is_run_again_means_the_new_paradigm(tmp_path: Path) -> None:
    first, second = made_in_python(), made_in_python(of="cup")
    for door in (cb.plan, lambda *asked, **more: cb.run(*asked, **more, reports=False)):
        for own in (first, second):
            door("sim/human", own, outputs=tmp_path / "out")
            assert paradigm("mine/mugs") is own
    table = second.items()
    trials = exact_trials("human", table)
    DECLARED_HERE.clear()
    with pytest.raises(CogbiasError, match="is not known.*give the paradigm or its file"):
        cb.effects(trials)
    assert cb.effects(trials, second)["n_clusters"].iloc[0] == 8


def test_a_copy_that_was_changed_is_not_what_its_file_says(tmp_path: Path) -> None:
    own = paradigm_from_file(written(tmp_path))
    other = replace(own, title="Another title", rules=own.rules | {"human": own.rules["mirror"]})
    found = cb.run("sim/human", other, outputs=tmp_path / "out", reports=False, progress=False)
    assert found.headlines["estimate"].iloc[0] < 0
    DECLARED_HERE.clear()
    effects_of(tmp_path / "out", save=False)
    assert paradigm("own/lost").title == "Another title"


def test_what_no_folder_can_keep_is_said_before_anybody_is_asked(tmp_path: Path) -> None:
    asked = []
    odd = replace(made_in_python(), title="Mugs \x1b[31mhere")
    with pytest.raises(
        CogbiasError, match="mine/mugs: title: contains .*, which cannot be printed"
    ):
        cb.run(asked.append, odd, name="mine", outputs=tmp_path / "out", progress=False)
    assert not asked


# --- a paradigm that no file declares, read by others


def in_a_new_process(*arguments: str, status: int = 0) -> str:
    "What a command prints, where nobody knows of this session."
    called = subprocess.run(
        [sys.executable, "-m", "cogbias", *arguments], capture_output=True, text=True
    )
    assert called.returncode == status, (arguments, called.stdout, called.stderr)
    return called.stdout + called.stderr


@pytest.fixture(scope="module")
def python_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "A folder with a report, asked of a paradigm that only this process knew."
    out = tmp_path_factory.mktemp("session") / "out"
    found = cb.run("sim/human", made_in_python(), outputs=out, reports=True, progress=False)
    assert [each.exists() for each in found.reports] == [True]
    DECLARED_HERE.clear()
    return out


def test_the_report_of_a_session_is_that_of_a_file(python_only: Path) -> None:
    report = (python_only / "reports" / "sim-human" / "mine-mugs.ipynb").read_text()
    assert ">Mugs: " in report and "kept more often by its owner" in report
    assert "Traceback" not in report


@pytest.mark.slow
def test_another_process_makes_report_and_site_of_a_session(
    python_only: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(python_only, out)
    report = out / "reports" / "sim-human" / "mine-mugs.ipynb"
    before = report.read_text()
    report.unlink()
    assert "2 reports" in in_a_new_process("report", str(out))  # one is on the study
    assert ">Mugs: " in report.read_text() and ">Mugs: " in before
    assert "all follow" in in_a_new_process("verify", str(out))
    OWN.clear()
    (tmp_path / "notebooks").mkdir()
    shutil.copy(min((ROOT / "nbs").glob("0*.ipynb")), tmp_path / "notebooks")
    build_site(out, tmp_path / "site", tmp_path / "notebooks")
    page = next((tmp_path / "site").rglob("*mine-mugs*.html")).read_text()
    assert "kept more often by its owner" in page


@pytest.mark.slow
def test_what_another_process_cannot_do_is_said_in_a_line(
    python_only: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(python_only, out)
    asked = ("--paradigm", "mine/mugs", "--outputs", str(out), "--no-reports")
    told = in_a_new_process("run", "--model", "sim/mirror", *asked, status=1)
    assert "no rule in mine/mugs: a table, or what a folder keeps of a paradigm made in" in told
    assert told.strip().count("\n") == 0, told
    told = in_a_new_process("run", "--model", "sim/random", *asked)
    assert "128 asked" in " ".join(told.split())


def test_trials_are_compared_on_the_items_that_they_answer(tmp_path: Path) -> None:
    own = made_in_python()
    items = own.items()
    declare(own)
    both = pd.concat([exact_trials(name, items) for name in ("human", "rational")])
    wanted = cb.compare(both, items=items).differences
    assert wanted["n_prompts"].iloc[0] == 32 and wanted["estimate"].iloc[0] > 0.3
    DECLARED_HERE.clear()
    with pytest.raises(
        CogbiasError, match=r"give the paradigm or its file: compare\(trials, items"
    ):
        cb.compare(both)
    pd.testing.assert_frame_equal(cb.compare(both, items=own).differences, wanted)
    other = paradigm("classic/anchoring").items(arbitrary=True, variants=["base"])
    both = pd.concat([exact_trials(name, other) for name in ("human", "rational")])
    with pytest.raises(CogbiasError, match="160 of 160 trials answer items that are not there"):
        cb.compare(both)  # it said that no prompt was answered by both
    assert cb.compare(both, items=other).differences["n_prompts"].iloc[0] == 80
    with pytest.raises(CogbiasError, match="a folder has its items; leave them out"):
        cb.compare(tmp_path, items=other)


def test_what_is_said_beside_a_table_of_items_is_heard_or_refused() -> None:
    items = paradigm("classic/anchoring").items(variants=["base"])
    lower = paradigm_from(items, "lower", number={"unit": "percent", "bias": "lower"})
    assert (lower.headline.direction, lower.headline.unit) == (-1, "percent")
    for more in ({"persona": "You."}, {"human": {}}, {"variants": ["base"]}, {"factors": {}}):
        with pytest.raises(CogbiasError, match="is said by the rows of an items table"):
            paradigm_from(items, "more", **more)
    with pytest.raises(CogbiasError, match="number.high: there is no such field"):
        paradigm_from(items, "odd", number={"unit": "percent", "high": 3})


HEAVY = ("scipy.stats", "matplotlib", "torch", "IPython", "nbformat", "transformers")


def test_the_first_answer_of_a_function_waits_for_nothing_that_it_does_not_need(
    tmp_path: Path,
) -> None:
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
    called = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert called.stdout == "[[]] []\n", called.stdout + called.stderr
