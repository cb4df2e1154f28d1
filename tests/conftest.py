"""Where the published data lie, for tests that need them; the data do not ship with the project."""

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
