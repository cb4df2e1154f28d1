"""Fail unless notebooks are formatted and clean, library and README their export, in budget."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def snapshot():
    "Contents of the notebooks and of what is made from them."
    files = [*ROOT.glob("nbs/**/*.ipynb"), *ROOT.glob("cogbias/**/*.py"), ROOT / "README.md"]
    return {
        str(path.relative_to(ROOT)): path.read_bytes()
        for path in files
        if ".ipynb_checkpoints" not in path.parts
    }


def main():
    before = snapshot()
    programs = Path(sys.executable).parent
    subprocess.run(
        [str(programs / "ruff"), "format", "--check", "--quiet", "."], check=True, cwd=ROOT
    )
    subprocess.run([str(programs / "ruff"), "check", "--quiet", "."], check=True, cwd=ROOT)
    for step in ("nbdev_clean", "nbdev_export"):
        subprocess.run([str(programs / step)], check=True, cwd=ROOT)
    for script in ("docs/readme.py", "docs/mass.py"):
        subprocess.run([sys.executable, script], check=True, cwd=ROOT)
    after = snapshot()
    changed = sorted(
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    )
    if changed:
        sys.exit(
            "not in step: "
            + ", ".join(changed)
            + "; they are now: look at the change and commit it"
        )
    print(f"{len(after)} files in step")


if __name__ == "__main__":
    main()
