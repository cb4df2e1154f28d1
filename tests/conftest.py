"""Where the published data lie, for tests that need them; the data do not ship with the project."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


@pytest.fixture(scope="session")
def published() -> Path:
    "The published data of the InstructedToBias project."
    path = SHARED / "instructed_to_bias" / "Data.zip"
    if not path.exists():
        pytest.skip("the published data are not here")
    return path


FIRST = ("test_trials.py",)  # it forks, and a fork of a process that has computed hangs
PAGES = ("test_browser.py", "test_pages.py", "test_site.py")  # they look at the same sites
LONG = (
    *PAGES,
    "test_end_to_end.py",
    "test_faults.py",
)  # begun early, so that no core waits at the end
NOTEBOOKS = "test_notebooks.py"  # each in a process of its own, whoever starts it


def _turn(item: pytest.Item) -> int:
    "When a test should start."
    name = item.path.name
    if name in FIRST:
        return 0
    if name in LONG:
        return 1
    return 3 if name == NOTEBOOKS else 2


@pytest.hookimpl(tryfirst=True)  # the groups are read by a later hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    "An order for one or two processes; the tests of a file stay in one, those of notebooks do not."
    items.sort(key=_turn)
    for item in items:
        name = item.path.name
        if name != NOTEBOOKS:
            group = "pages" if name in PAGES else name
            item.add_marker(pytest.mark.xdist_group(group))


def in_a_process(program: str, *arguments: str) -> None:
    "Run Python code in a process of its own."
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


CLI = "import sys; from cogbias.cli import main; sys.exit(main())"


@pytest.fixture(scope="session")
def demo_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "The site that `make demo` builds, with the pages of the library."
    pytest.importorskip("sphinx")
    place = str(tmp_path_factory.mktemp("pages") / "demo")
    in_a_process(CLI, "run", "demo", "--outputs", place, "--jobs", "2")
    in_a_process(CLI, "site", place)
    return Path(place) / "site"


@pytest.fixture(scope="session")
def classic_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "The site of the eight classics for two simulated participants, with one page of the library."
    pytest.importorskip("sphinx")
    root, folder = Path(__file__).parent.parent, tmp_path_factory.mktemp("pages")
    place, library = str(folder / "classic"), folder / "library"
    models = [part for name in ("sim/human", "sim/rational") for part in ("--model", name)]
    study = str(root / "data" / "studies" / "classic.toml")
    in_a_process(CLI, "run", study, *models, "--outputs", place, "--jobs", "2")
    library.mkdir()
    shutil.copy(root / "nbs" / "08_claims.ipynb", library)
    build = (
        "import sys; from cogbias.site import build_site; build_site(sys.argv[1], "
        "notebooks=sys.argv[2])"
    )
    in_a_process(build, place, str(library))
    return Path(place) / "site"
