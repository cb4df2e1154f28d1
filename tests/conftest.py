"""Where the published data lie, for tests that need them; the data do not ship with the project."""

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


FORKING = (
    "test_notebooks.py",
    "test_trials.py",
)  # their children are forks, and a fork of a process that has computed with torch hangs


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    "Tests that fork come first, before anything computes in this process."
    items.sort(key=lambda item: item.path.name not in FORKING)


def study_site(place: Path, *arguments: str) -> Path:
    "The site of a study, run and built as the README says; each in a process of its own."
    for command in (
        ["run", *arguments, "--outputs", str(place), "--jobs", "2"],
        ["site", str(place)],
    ):
        program = "import sys; from cogbias.cli import main; sys.exit(main())"
        done = subprocess.run(
            [sys.executable, "-c", program, *command], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return place / "site"


@pytest.fixture(scope="session")
def demo_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "The site that `make demo` builds."
    pytest.importorskip("sphinx")
    return study_site(tmp_path_factory.mktemp("pages") / "demo", "demo")


@pytest.fixture(scope="session")
def classic_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "The site of the eight classics for two simulated participants."
    pytest.importorskip("sphinx")
    study = Path(__file__).parent.parent / "data" / "studies" / "classic.toml"
    models = [part for name in ("sim/human", "sim/rational") for part in ("--model", name)]
    return study_site(tmp_path_factory.mktemp("pages") / "classic", str(study), *models)
