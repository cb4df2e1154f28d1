"""Where the published data lie, for tests that need them; the data do not ship with the project."""

import gc
import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from tiers import slow_but

# The processes of tests share the cores already; more threads of torch and of BLAS within each
# would only wait for one another. It is read when these are loaded, so it stands before any test.
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "nbs"
SHARED = ROOT.parent / "shared" / "data"

# A run that a shell has put into the background ignores interrupts, and so would all that it
# starts; tests interrupt what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def lacks_published_data(notebook):
    "Whether a page is computed from published files that lie beside the checkout, and do not here."
    return "COGBIAS_DATA" in notebook.read_text(encoding="utf-8") and not SHARED.exists()


@pytest.fixture(scope="session")
def published():
    "The published data of the InstructedToBias project."
    path = SHARED / "instructed_to_bias" / "Data.zip"
    if not path.exists():
        pytest.skip("the published data are not here")
    return path


@pytest.fixture
def no_settings_of_the_machine(monkeypatch):
    "Neither a key nor the address of a server."
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-component-update",
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    "A browser without a window that talks to nobody."
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in programs.items() if path is None]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)} here: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(programs["chromedriver"])
    )
    yield driver
    driver.quit()


@pytest.fixture
def forgotten():
    "What a test declares is known to no other."
    from cogbias.design import DECLARED_HERE, OWN

    yield
    OWN.clear()
    DECLARED_HERE.clear()


# Each process takes one file after another in this order, so that what a file sets up is set up
# once: the long files first. test_browser looks at the site that test_site makes, so it comes when
# that is made. The notebooks come last, one by one: small pieces fill all cores to the end.
ORDER = (
    *("test_site.py", "test_interrupts.py", "test_trained_encoders.py", "test_cluster.py"),
    *("test_end_to_end.py", "test_hostile_servers.py", "test_bets.py", "test_browser.py"),
    *("test_published_answers.py", "test_commands.py", "test_faults.py"),
)
ONE_BY_ONE = "test_notebooks.py"


def pytest_collection_modifyitems(items):
    "An order in which no core waits at the end."
    places = {name: place for place, name in enumerate(ORDER)} | {ONE_BY_ONE: len(ORDER) + 1}
    items.sort(key=lambda item: places.get(item.path.name, len(ORDER)))


LEFT: list[pytest.Item] = []


def pytest_deselected(items):
    "Remember what is left to `make slow`."
    LEFT.extend(each for each in items if each.get_closest_marker("slow"))


def pytest_terminal_summary(terminalreporter):
    "Say so."
    if LEFT and not terminalreporter.config.option.markexpr.startswith("slow"):
        terminalreporter.write_line(
            f'{len(LEFT)} slow tests were left out, such as {LEFT[0].name}; -m "slow or not slow" '
            "runs them, too"
        )


@pytest.fixture(scope="module", autouse=True)
def _searched_no_more():
    """What was imported and collected stays to the end, so the search for garbage leaves it out.

    Libraries call for that search at every turn, and thousands of tests are much to go through.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)  # without xdist there is one process, and nothing to deal out
def pytest_xdist_make_scheduler(config, log):
    "Files are dealt out whole, but those whose tests stand alone."
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Pieces(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return nodeid if file.endswith(ONE_BY_ONE) else file

    return Pieces(config, log)


def script_of_docs(name):
    "A program of docs/, whose functions are used by a test."
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def in_a_process(program, *arguments):
    "Run Python code in a process of its own."
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def made_once(factory, name, make):
    "A folder that all processes of a test run share: one makes it, the others wait for it."
    alone = os.environ.get("PYTEST_XDIST_WORKER") is None
    folder = (factory.getbasetemp() if alone else factory.getbasetemp().parent) / name
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            folder.mkdir()
            make(folder)
    return folder


CLI = "import sys; from cogbias.cli import main; sys.exit(main())"


def demo_commands(place):
    "The calls of `cogbias` in the recipe of `make demo`, with their outputs at another place."
    recipe = (ROOT / "Makefile").read_text().partition("\ndemo:")[2].partition("\n\n")[0]
    lines = re.findall(r"^\t\$\(BIN\)/cogbias (.+)$", recipe, re.M)
    moved = [
        line.replace("outputs/demo", place).replace(" data/", f" {ROOT}/data/") for line in lines
    ]
    return [shlex.split(line) for line in moved]


def _make_demo(folder):
    "What `make demo` makes; where COGBIAS_DEMO names what it has made, that."
    place = str(folder / "outputs")
    if made := os.environ.get("COGBIAS_DEMO"):
        shutil.copytree(made, place)
        return
    for command in demo_commands(place):
        in_a_process(CLI, *command)


SMALL = """
name = "small"
models = ["sim/rational", "sim/human", "sim/position", "sim/messy"]
paradigms = ["choice/certainty", "managerial/framing"]

[analysis]
family = "study"
adjustment = "holm"
"""


def _make_small(folder):
    "A choice and a rating; a bias, none, a position, unreadable answers."
    from cogbias.running.studies import run_study
    from cogbias.site.pages import build_site
    from cogbias.study import read_study

    (folder / "small.toml").write_text(SMALL)
    assert run_study(read_study(folder / "small.toml"), folder / "outputs").failed == []
    build_site(folder / "outputs")


MADE = {"small": _make_small, "demo": _make_demo}


@pytest.fixture(params=slow_but(["small"], MADE), scope="session")
def site(request, tmp_path_factory):
    """A site with reports; read it, do not change it.

    The small one has a page of every kind. The slow tests look at the demo of the README.
    """
    name = request.param
    return made_once(tmp_path_factory, f"pages-of-{name}", MADE[name]) / "outputs" / "site"
