"Folders that are not ours alone: several runs at once lose nothing; only what we made is deleted."

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from test_site import REPORT, write_report
from typer.testing import CliRunner

import cogbias.site.pages as site
import cogbias.running as running
from cogbias.cli import app
from cogbias.tables import EFFECTS, CogbiasError, load_table, whole_file
from cogbias.outputs import Folder, stored_settings, turn
from cogbias.stamps import SITE_FILES
from cogbias.running import effects_of, run_study, write_manifest
from cogbias.study import make_study

RULES = ("sim/human", "sim/rational", "sim/random", "sim/position")
COMMAND = [sys.executable, "-c", "from cogbias.cli import main; main()"]


def test_runs_that_end_together_lose_no_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "Each takes its time between reading the manifest and writing it."
    now = running.timestamp

    def slowly() -> str:
        time.sleep(0.1)
        return now()

    monkeypatch.setattr(running, "timestamp", slowly)
    folder = Folder(tmp_path)

    def end(name: str) -> None:
        mine = make_study(models=[name], paradigms=["choice/certainty"])
        cell = {"participant": name, "paradigm": "choice/certainty", "who": "x", "model": name}
        cell |= {"method": "text", "repeats": 1, "seed": 0, "planned": 0, "temperature": None}
        write_manifest(mine, folder, [cell], [], "then")

    threads = [threading.Thread(target=end, args=(name,)) for name in RULES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name for name, _ in stored_settings(folder)} == set(RULES)


@pytest.mark.slow
def test_four_processes_on_four_cells_of_one_folder(tmp_path: Path) -> None:
    options = ["--paradigm", "choice/certainty", "--where", "design=common_ratio", "--no-reports"]
    runs = [
        subprocess.Popen(
            [*COMMAND, "run", "--model", name, *options, "--outputs", str(tmp_path)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in RULES
    ]
    said = [(each.wait(300), each.stderr.read()) for each in runs]
    assert [status for status, _ in said] == [0] * 4 and "Traceback" not in str(said)
    assert {name for name, _ in stored_settings(Folder(tmp_path))} == set(RULES)
    stored = set(load_table(tmp_path / "effects.parquet", EFFECTS)["participant"])
    assert stored == set(RULES)
    assert list(tmp_path.rglob("*.part")) == []


def test_effects_are_written_by_one_process_at_a_time(tmp_path: Path) -> None:
    "A run that has read the answers earlier must not overwrite what a later one wrote."
    run_study(
        make_study(models=["sim/human"], paradigms=["choice/certainty"]), tmp_path, reports=False
    )
    done: list[bool] = []
    waiting = threading.Thread(target=lambda: (effects_of(tmp_path), done.append(True)))
    with turn(Folder(tmp_path)):
        waiting.start()
        waiting.join(1.0)
        assert not done
    waiting.join(60)
    assert done


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    "A folder with effects that may not be written to, even by root, whom no mode binds."
    place, opened, asked = tmp_path / "archive", os.open, os.access
    study = make_study(models=["sim/human"], paradigms=["classic/framing"])
    assert run_study(study, place, reports=False).failed == []

    def refuse_to_write(path: str | Path, flags: int, *more: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR) and Path(path).is_relative_to(place):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, flags, *more)

    def may(path: str | Path, mode: int) -> bool:
        return asked(path, mode) and not (mode & os.W_OK and Path(path).is_relative_to(place))

    monkeypatch.setattr(os, "open", refuse_to_write)
    monkeypatch.setattr(os, "access", may)
    return place


def test_effects_of_an_archive_are_written_elsewhere(archive: Path, tmp_path: Path) -> None:
    "Who only reads takes no turn; that nothing is written into the archive is said."
    held = {path: path.read_bytes() for path in archive.rglob("*") if path.is_file()}
    found = CliRunner().invoke(app, ["effects", str(archive), "--out", str(tmp_path / "e.csv")])
    assert found.exit_code == 0, found.stderr
    written = load_table(tmp_path / "e.csv", EFFECTS)
    assert len(written) == len(load_table(archive / "effects.csv", EFFECTS))
    assert f"{archive}: cannot be written to, so its own tables of effects stay" in found.stderr
    assert {path: path.read_bytes() for path in archive.rglob("*") if path.is_file()} == held
    with pytest.raises(CogbiasError, match="cannot write"):
        effects_of(archive)


def test_parts_of_killed_runs_are_removed_and_only_they(tmp_path: Path) -> None:
    code = (
        "import os, sys, pathlib; from cogbias.tables import whole_file\n"
        "with whole_file(pathlib.Path(sys.argv[1])) as part:\n"
        "    part.write_text('half'); os.kill(os.getpid(), 9)"
    )
    for name in ("manifest.json", "items/choice-certainty.parquet", "trials/sim-human/x.json"):
        subprocess.run([sys.executable, "-c", code, str(tmp_path / name)])
    mine = tmp_path / "thesis.part"
    mine.write_text("mine")
    with whole_file(tmp_path / "running.json") as running:
        running.write_text("half")
        assert len(list(tmp_path.rglob("*.part"))) == 5
        one = make_study(models=["sim/human"], paradigms=["choice/certainty"])
        run_study(one, tmp_path, reports=False)
        assert sorted(tmp_path.rglob("*.part")) == sorted([mine, running])


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    "An outputs folder with one report."
    pytest.importorskip("myst_nb")
    write_report(tmp_path / "outputs", "sim/human", "choice/certainty", REPORT)
    (tmp_path / "nbs").mkdir()
    (tmp_path / "nbs" / "00_own.ipynb").write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []})
    )
    return tmp_path / "outputs"


def build(outputs: Path, out: Path) -> None:
    "The site of a folder, without the library."
    site.build_site(outputs, out=out, notebooks=outputs.parent / "nbs", strict=True)


def test_a_site_deletes_nothing_that_it_did_not_make(outputs: Path) -> None:
    out = outputs.parent / "keepme"
    for name in ("keepme.part", "keepme.old", ".keepme"):
        (out.with_name(name)).mkdir()
        (out.with_name(name) / "thesis.txt").write_text("mine")
    build(outputs, out)
    (out / "CNAME").write_text("example.org")
    (out / ".git").mkdir()
    (out / ".git" / "config").write_text("[core]")
    stale = out / "results" / "participants" / "gone.html"
    stale.write_text("an earlier page")
    listed = out / SITE_FILES
    digest = site._hash_of_file(stale)
    listed.write_text(f"{listed.read_text()}{digest} results/participants/gone.html\n")
    build(outputs, out)
    assert not stale.exists()  # ours, by its list, and as it was
    assert (out / "CNAME").read_text() == "example.org" and (out / ".git" / "config").exists()
    for name in ("keepme.part", "keepme.old", ".keepme"):
        assert (out.with_name(name) / "thesis.txt").read_text() == "mine"
    assert not list(outputs.parent.rglob("*-*.part"))


@pytest.mark.slow
def test_the_list_of_a_strangers_site_leads_nowhere(outputs: Path) -> None:
    out, private = outputs.parent / "site", outputs.parent / "private"
    build(outputs, out)
    private.mkdir()
    (private / "thesis.txt").write_text("mine")
    (out / "link").symlink_to(private)
    digest = site._hash_of_file(private / "thesis.txt")
    names = ("../private/thesis.txt", "link/thesis.txt", str(private / "thesis.txt"))
    listed = out / SITE_FILES
    listed.write_text(listed.read_text() + "".join(f"{digest} {name}\n" for name in names))
    build(outputs, out)
    assert (private / "thesis.txt").read_text() == "mine"


@pytest.mark.slow
def test_a_site_is_not_written_through_links_or_over_files_of_others(outputs: Path) -> None:
    out, private = outputs.parent / "site", outputs.parent / "private"
    build(outputs, out)
    private.mkdir()
    os.rename(out / "results", private / "results")
    (out / "results").symlink_to(private / "results")
    before = {path: path.read_bytes() for path in private.rglob("*") if path.is_file()}
    with pytest.raises(CogbiasError, match="is reached through a link; give a new folder"):
        build(outputs, out)
    assert before == {path: path.read_bytes() for path in private.rglob("*") if path.is_file()}
    (out / "results").unlink()
    listed = out / SITE_FILES
    lines = listed.read_text().splitlines(keepends=True)
    listed.write_text("".join(line for line in lines if not line.endswith(" index.html\n")))
    with pytest.raises(CogbiasError, match="index.html: is not of an earlier site; move it away"):
        build(outputs, out)
