"""Where the published data lie, for tests that need them; the data do not ship with the project."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

# Two processes of tests share the cores already; more threads of torch and of BLAS within each
# would only wait for one another. It is read when these are loaded, so it stands before any test.
os.environ.setdefault("OMP_NUM_THREADS", "1")

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"

# A run that a shell has put into the background ignores interrupts, and so would all that it
# starts; tests interrupt what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def published() -> Path:
    "The published data of the InstructedToBias project."
    path = SHARED / "instructed_to_bias" / "Data.zip"
    if not path.exists():
        pytest.skip("the published data are not here")
    return path


# With two processes, each takes file after file in this order: the notebooks are nearly half of
# all, and long files must not come last. test_trials forks, and a fork of a process that computes
# hangs; so it goes before everything that computes in the process.
ORDER = (
    "test_notebooks.py",
    "test_trials.py",
    "test_pages.py",
    "test_browser.py",
    "test_end_to_end.py",
    "test_site.py",
    "test_faults.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    "An order in which no core waits at the end."
    places = {name: place for place, name in enumerate(ORDER)}
    items.sort(key=lambda item: places.get(item.path.name, len(ORDER)))


def in_a_process(program: str, *arguments: str) -> None:
    "Run Python code in a process of its own."
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    "A folder that all processes of a test run share: one makes it, the others wait for it."
    alone = os.environ.get("PYTEST_XDIST_WORKER") is None
    folder = (factory.getbasetemp() if alone else factory.getbasetemp().parent) / name
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            folder.mkdir()
            make(folder)
    return folder


CLI = "import sys; from cogbias.cli import main; sys.exit(main())"


def _make_demo(folder: Path) -> None:
    "What `make demo` makes; where COGBIAS_DEMO names what it has made, that."
    place = str(folder / "demo")
    if made := os.environ.get("COGBIAS_DEMO"):
        shutil.copytree(made, place)
        return
    in_a_process(CLI, "run", "demo", "--outputs", place, "--jobs", "2")
    in_a_process(CLI, "site", place)


def _make_classic(folder: Path) -> None:
    "The eight classics for two simulated participants, and a site with one page of the library."
    root, place, library = Path(__file__).parent.parent, str(folder / "classic"), folder / "library"
    models = [part for name in ("sim/human", "sim/rational") for part in ("--model", name)]
    study = str(root / "data" / "studies" / "classic.toml")
    in_a_process(CLI, "run", study, *models, "--outputs", place, "--jobs", "2")
    library.mkdir()
    shutil.copy(root / "nbs" / "12_claims.ipynb", library)
    build = (
        "import sys; from cogbias.site import build_site; "
        "build_site(sys.argv[1], notebooks=sys.argv[2])"
    )
    in_a_process(build, place, str(library))


@pytest.fixture(scope="session")
def demo_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "The site that `make demo` builds, with the pages of the library; read it, do not change it."
    pytest.importorskip("sphinx")
    return made_once(tmp_path_factory, "pages-of-demo", _make_demo) / "demo" / "site"


@pytest.fixture(scope="session")
def classic_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "A site of the classics; read it, do not change it."
    pytest.importorskip("sphinx")
    return made_once(tmp_path_factory, "pages-of-classic", _make_classic) / "classic" / "site"
