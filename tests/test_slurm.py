"""A study as jobs of SLURM. The scheduler's commands are doubled: no SLURM was at hand."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cogbias.running import run_study
from cogbias.study import make_study

SBATCH = """#!{python}
import os, pathlib, subprocess, sys
place = pathlib.Path(__file__).parent
number = os.getpid()  # two may be called at once
with open(place / f"{{number}}.log", "w") as log:
    job = subprocess.Popen(["bash", sys.argv[-1]], stdout=log, stderr=log, start_new_session=True)
(place / f"{{number}}.job").write_text(str(job.pid))
(place / f"{{number}}.script").write_text(pathlib.Path(sys.argv[-1]).read_text())
print("Submitted batch job", number)
"""
SCANCEL = """#!{python}
import os, pathlib, signal, sys
for number in sys.argv[1:]:
    try:
        os.killpg(int((pathlib.Path(__file__).parent / f"{{number}}.job").read_text()), 9)
    except OSError:
        pass
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    "A folder with commands that start a job at once, each as a process of its own."
    place = tmp_path / "bin"
    place.mkdir()
    for name, program in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        command = place / name
        command.write_text(program.format(python=sys.executable))
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    yield place
    for job in place.glob("*.job"):
        with suppress(OSError):
            os.killpg(int(job.read_text()), signal.SIGKILL)


def wait_for(is_so: Callable[[], bool], seconds: float = 60) -> None:
    "Wait until something is so, or for some time."
    until = time.monotonic() + seconds
    while not is_so() and time.monotonic() < until:
        time.sleep(0.1)


@pytest.mark.slow
def test_a_study_as_jobs_of_slurm(slurm: Path, tmp_path: Path) -> None:
    jobqueue = pytest.importorskip("dask_jobqueue", reason="the extra 'cluster' is not installed")
    study = make_study(models=["sim/human", "sim/messy"], paradigms=["classic/[a-f]*"])
    asked = {"cores": 1, "processes": 1, "memory": "2GB", "walltime": "00:30:00"}
    with jobqueue.SLURMCluster(
        **asked,
        python=sys.executable,
        local_directory=str(tmp_path),
        log_directory=str(tmp_path),
        scheduler_options={"dashboard": False},
    ) as cluster:
        cluster.scale(jobs=2)
        wait_for(lambda: len(list(slurm.glob("*.script"))) == 2)  # one alone could do it all
        outcome = run_study(
            study, tmp_path / "slurm", reports=False, cluster=cluster.scheduler_address
        )
    assert outcome.failed == []
    scripts = [path.read_text() for path in sorted(slurm.glob("*.script"))]
    assert len(scripts) == 2 and all("#SBATCH -t 00:30:00" in script for script in scripts)
    run_study(study, tmp_path / "alone", reports=False)
    one, other = (tmp_path / name / "effects.csv" for name in ("slurm", "alone"))
    assert one.read_bytes() == other.read_bytes()
