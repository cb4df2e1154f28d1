"""Every notebook is a test, run from top to bottom in its own process, nbdev's flags honoured.

Its stored outputs are compared with what its code gives.
"""

import contextlib
import gc
import io
import multiprocessing
import os
import re

import nbformat
import pytest
from nbdev.config import get_config
from nbdev.doclinks import nbglob
from nbdev.test import _keep_file
from conftest import lacks_published_data
from stored_outputs import NOT_COMPARED, differences
from tiers import FEW

CONFIG = get_config()
ROOT = CONFIG.config_path
NOTEBOOKS = sorted(
    path.absolute() for path in nbglob(CONFIG.nbs_path, as_path=True) if _keep_file(path, ".notest")
)


# `make slow` runs these: benchmarks, tutorials, and what other tests hold every day in another way,
# such as the numbers of some statistics (test_golden_*), what is trained (test_trained_encoders)
# and what renders (each test of a report).
SLOW = (
    *("benchmarks/", "tutorials/", "published/pagliaro.ipynb", "running/00_engine.ipynb"),
    *("published/bais.ipynb", "published/anchoring_llms.ipynb", "published/people.ipynb"),
    *("published/managerial.ipynb", "published/classics.ipynb"),
    "exchange/published_answers.ipynb",  # as test_published_answers and test_published_bais
    *(
        "kits/frames.ipynb",
        "08_executors.ipynb",
        "training/01_trained_encoders.ipynb",
        "running/03_rendering.ipynb",
    ),
    *(
        "running/06_status.ipynb",
        "planning/04_checking_designs.ipynb",
        "kits/skeletons.ipynb",
        "kits/table.ipynb",
    ),
    *("backends/hf.ipynb", "site/04_pages.ipynb"),
    *("paradigms/bets/value.ipynb", "reporting/07_methods.ipynb"),
    "reporting/05_bets.ipynb",
    *("stats/05_signal_detection.ipynb", "stats/12_shared_things.ipynb"),
    *("stats/11_crossed.ipynb", "published/instructed_to_bias.ipynb"),
)
# Two tutorials show every day that the way from a question to a page is open.
SHORT = ("tutorials/first_steps.ipynb", "tutorials/way_of_one_answer.ipynb")
# Paradigms of one kit have notebooks of one kind; every day those of FEW are run, and of arguments.
SUITES = tuple(
    f"paradigms/{suite}/" for suite in ("choice", "logic", "bets", "classic", "managerial")
)
DAILY = {f"paradigms/{name}.ipynb" for name in (*FEW, "logic/belief")}
LEFT_OUT = CONFIG.tst_flags.split()  # cells with one of these flags


def _is_slow(name):
    "Whether `make slow` runs a notebook, and `make test` does not."
    if name in SHORT:
        return False
    return name.startswith(SLOW) or (name.startswith(SUITES) and name not in DAILY)


def cases():
    """Each notebook without its slow cells, which `make slow` adds.

    Slow cells of a benchmark measure time: who executes the notebook runs them, and no test does.
    """
    for path in NOTEBOOKS:
        name = path.relative_to(CONFIG.nbs_path.absolute()).as_posix()
        marks = [pytest.mark.slow] if _is_slow(name) else []
        if lacks_published_data(path):
            marks.append(pytest.mark.skip(reason="the published data are not here"))
        yield pytest.param(path, LEFT_OUT, id=name, marks=marks)
        slow = re.search(r'"#\|\s*slow\b', path.read_text(encoding="utf-8"))
        if slow and not name.startswith("benchmarks/"):
            some = [flag for flag in LEFT_OUT if flag != "slow"]
            yield pytest.param(path, some, id=f"{name}, whole", marks=pytest.mark.slow)


# What takes long to import and is used by many; what is not installed is left out.
IMPORTED = [
    *("nbdev.test", "seaborn", "statsmodels.api", "papermill", "cogbias.site.pages"),
    *("cogbias.running.front_door", "cogbias.running.studies", "torch", "transformers.trainer"),
]
SERVER = multiprocessing.get_context("forkserver")  # its processes have computed nothing yet
SERVER.set_forkserver_preload(IMPORTED)


def _execute(path, left_out):
    "What is wrong with a notebook: an error of its code, or outputs that it does not store."
    import pandas as pd
    from execnb.shell import CaptureShell
    from fastcore.xtras import working_directory
    from nbdev.process import NBProcessor

    def is_left_out(cell):
        directives = getattr(cell, "directives_", None) or {}
        flagged = directives.keys() & set(left_out) or "false" in directives.get("eval:", [])
        return cell.cell_type != "code" or bool(flagged)

    os.environ["IN_TEST"] = "1"
    pd.set_option("display.max_columns", 20)  # as in Jupyter
    shell = CaptureShell(path)
    notebook = NBProcessor(path, process=True).nb
    try:
        with working_directory(path.parent):
            shell.run_all(notebook, exc_stop=True, preproc=is_left_out)
    except BaseException:  # an exit, too, ends a notebook
        return shell.prettytb(fname=path)
    name = path.relative_to(CONFIG.nbs_path.absolute()).as_posix()
    if left_out != LEFT_OUT or name.startswith(NOT_COMPARED):
        return ""
    differing = differences(nbformat.read(path, 4).cells, notebook.cells)
    return "\n".join([*differing, f"make outputs NB={name}"] if differing else [])


def _run(path, left_out, queue):
    "Execute one notebook and report."
    gc.freeze()  # nothing that was imported before is garbage
    unread = io.StringIO()
    with contextlib.redirect_stderr(unread), contextlib.redirect_stdout(unread):
        wrong = _execute(path, left_out)
    queue.put(wrong[-4000:])  # more would fill the pipe before anybody reads


@pytest.mark.parametrize(("path", "left_out"), cases())
def test_notebook(path, left_out):
    queue = SERVER.SimpleQueue()
    process = SERVER.Process(target=_run, args=(path, left_out, queue))
    process.start()
    process.join(300)
    if process.is_alive():
        process.kill()
        pytest.fail(f"{path.name} ran for more than 300 s", pytrace=False)
    if queue.empty():
        pytest.fail(
            f"{path.name}: the process ended with status {process.exitcode} and no result",
            pytrace=False,
        )
    wrong = queue.get()
    if wrong:
        pytest.fail(wrong, pytrace=False)


def test_slow_notebooks_are_there():
    names = [path.relative_to(CONFIG.nbs_path.absolute()).as_posix() for path in NOTEBOOKS]
    assert all(any(name.startswith(each) for name in names) for each in (*SLOW, *SHORT, *SUITES))
    assert set(names) >= DAILY


def test_report_templates_are_tagged():
    "Without the tag papermill injects parameters above the defaults, which then win in silence."
    templates = sorted((CONFIG.nbs_path / "reports").glob("*.ipynb"))
    assert templates
    for template in templates:
        tagged = [
            cell
            for cell in nbformat.read(template, as_version=4).cells
            if "parameters" in cell.metadata.get("tags", [])
        ]
        assert len(tagged) == 1, template.name


def test_notebooks_are_small():
    for path in CONFIG.nbs_path.glob("**/*.ipynb"):
        assert path.stat().st_size <= 300_000, (
            f"{path.name} is {path.stat().st_size // 1000} KB; 300 at most"
        )


def test_outputs_tell_nothing_of_the_machine():
    "What a reader sees holds no path of the machine that ran it, and no stray warning."
    import nbformat

    for path in sorted((ROOT / "nbs").glob("**/*.ipynb")):
        if ".ipynb_checkpoints" in path.parts:
            continue
        for cell in nbformat.read(path, 4).cells:
            for output in cell.get("outputs", []):
                text = output.get("text", "") + "".join(
                    value
                    for value in output.get("data", {}).values()
                    if isinstance(value, str) and len(value) < 100_000
                )
                assert "site-packages" not in text and "/home/" not in text, (path.name, text[:200])
