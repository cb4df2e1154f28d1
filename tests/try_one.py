"""Try one notebook after a change: `make try NB=nbs/paradigms/classic/framing.ipynb`.

Exports the library, runs the notebook whole, and for a paradigm the tests of its suite that name
it. Says whether `make test` leaves the notebook to `make slow`.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITES = {"classic": "test_classic.py", "managerial": "test_managerial.py", "bets": "test_bets.py"}
OF_PARADIGMS = ("test_declarations.py",)


def main(notebook):
    "The exit status of the tests of a notebook."
    from test_notebooks import _is_slow

    path = Path(notebook).resolve().relative_to(ROOT / "nbs")
    name, parts = path.as_posix(), path.with_suffix("").parts
    programs = Path(sys.executable).parent
    subprocess.run([programs / "nbdev_export"], check=True, cwd=ROOT)
    subprocess.run([programs / "ruff", "format", ROOT / "nbs" / path], check=True, cwd=ROOT)
    pytest = [sys.executable, "-m", "pytest", "-q", "-m", "slow or not slow"]
    runs = [[f"tests/test_notebooks.py::test_notebook[{name}]", "tests/test_rooms.py"]]
    if parts[0] == "paradigms":
        files = [SUITES[parts[1]]] if parts[1] in SUITES else []
        runs.append([*(f"tests/{each}" for each in (*files, *OF_PARADIGMS)), "-k", parts[-1]])
    done = [subprocess.run([*pytest, *each], cwd=ROOT).returncode for each in runs]
    if _is_slow(name):
        print(f"{name}: `make test` leaves it out; `make slow` runs it, and `make try` did.")
    return max(code for code in done if code != 5)  # 5: no test names this paradigm


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
