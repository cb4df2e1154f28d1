"""What a user gets from a wheel: the library, and the data, templates and site pages it reads."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# programs that need the notebooks, or are for whoever works on this project
FOR_A_CLONE = {*(ROOT / "docs").glob("*.py"), *(ROOT / "docs" / "library_pages").iterdir()}
PICTURES = ("overview.png", "published.png")  # of the README
FOR_A_CLONE |= {ROOT / "docs" / "static" / name for name in PICTURES}


@pytest.mark.slow
def test_wheel_holds_what_the_library_reads(tmp_path):
    build = "-m pip wheel --quiet --disable-pip-version-check --no-deps -w".split()
    subprocess.run([sys.executable, *build, str(tmp_path), str(ROOT)], check=True)
    wheel = zipfile.ZipFile(next(tmp_path.glob("*.whl")))
    names = set(wheel.namelist())
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "cogbias").rglob("*.py")}
    assert modules <= names
    for folder, inside in (("data", "data"), ("docs", "docs"), ("nbs/reports", "reports")):
        for path in (ROOT / folder).rglob("*"):
            if (
                path.is_file()
                and "__pycache__" not in path.parts
                and ".ipynb_checkpoints" not in path.parts
                and path not in FOR_A_CLONE
            ):
                assert f"cogbias/_shipped/{inside}/{path.relative_to(ROOT / folder)}" in names
    assert not [name for name in names if re.match("cogbias/_shipped/docs/.*[.]py", name)]
    assert not [name for name in names if name.endswith(PICTURES)]
    (described,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    links = re.findall(r"\]\((.+?)\)", wheel.read(described).decode("utf-8"))
    assert len(links) > 8 and all(link.startswith("https://github.com/") for link in links)


def test_importing_is_light():
    "Neither package nor command line imports pandas or heavier modules before a command needs it."
    for imported, heavy in (
        ("cogbias, cogbias.cli", "pandas numpy matplotlib torch papermill"),
        ("cogbias.study", "torch transformers seaborn statsmodels pingouin papermill"),
    ):
        code = f"import sys, {imported}; print({set(heavy.split())} & set(sys.modules))"
        called = [sys.executable, "-c", code]
        done = subprocess.run(called, check=True, capture_output=True, text=True)
        assert done.stdout == "set()\n", imported
