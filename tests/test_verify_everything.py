"""Whatever is changed in a finished folder, one thing after the other: `verify` names it.

A number is estimated once and not again for each change: what is asked here is whether a change is
noticed even where no estimate moves. What carries no number is named in `CARRIES_NO_NUMBER`, with
the reason, and has to stay unnoticed: otherwise the list would be longer than it is true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from calls import command
from tiers import slow_but

from cogbias import verification
from cogbias.running import run_study
from cogbias.site import pages
from cogbias.study import make_study
from cogbias.tables import CogbiasError
from cogbias.verification import verify_folder

STUDY = {
    "models": ["sim/human", "sim/messy"],
    "paradigms": ["classic/framing"],
    "where": {"variant": ["base"]},
    "limits": {"requests_per_minute": 1000},
}

CARRIES_NO_NUMBER = {
    r"report: metadata\.(kernelspec|language_info)\b.*": "how code is run and coloured",
    r"report: metadata\.papermill\.(?!parameters|exception)\w+(\.\w+)* .*": "when it was executed",
    r"report: nbformat(_minor)? .*": "the form of the file",
    r"report: (metadata\.)?((papermill|cogbias)\.)?added added": "a field that nobody reads",
    r"report: metadata(\.(papermill|cogbias))? altered": "the same",
    r"report: cells\.\d+\.(id|execution_count) .*": "how Jupyter names and counts cells",
    r"report: cells\.\d+\.metadata altered": "folding, and what Jupyter notes of a cell",
    r"report: metadata\.papermill\.exception removed, was empty": "empty is absent",
    r"manifest: cells\.0\.(items_file|extractor|analysis) removed, was empty": "the same",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    "A finished folder with reports and a site; each test puts back what it changes."
    pytest.importorskip("sphinx")
    place = tmp_path_factory.mktemp("everything") / "outputs"
    assert run_study(make_study(**STUDY), place).failed == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "repository_notebooks", lambda: None)
        pages.build_site(place)
        estimated = verification.estimate_folder(place, False)
        patch.setattr(verification, "estimate_folder", lambda *_: estimated)
        yield place


@pytest.fixture
def site_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    "The pages of the site are not looked at, which takes longer than all else."
    monkeypatch.setattr(verification, "_edited_site", lambda *_: [])


@contextmanager
def changed(place: Path, content: bytes | None) -> Iterator[None]:
    "A file with another content; None: without the file."
    before = place.read_bytes() if place.exists() else None
    try:
        place.unlink(missing_ok=True) if content is None else place.write_bytes(content)
        yield
    finally:
        place.unlink(missing_ok=True) if before is None else place.write_bytes(before)


def told(folder: Path) -> str:
    "What is wrong with a folder, in a word for each place; empty where it all follows."
    try:
        found = verify_folder(folder)
    except CogbiasError as error:
        return str(error)
    places = [each.place for each in found.edited]
    differing = ["effects.parquet"] * bool(found.differences)
    return " ".join([*places, *differing, *found.changed_answers, *found.unknown])


def another(value: Any) -> Any:
    "A value of the same kind that says something else."
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}0"
    return [*value, "0"] if isinstance(value, list) else {**value, "added": 0}


every = pytest.mark.parametrize("step", slow_but([16], [16, 1]))  # each sixteenth change, or all

Change = tuple[str, Any]  # where, and the whole record with this one change


def changes_of(
    record: Any, whole: Any, at: tuple[Any, ...] = (), deep: int = 9
) -> Iterator[Change]:
    "Every entry of a record: altered, removed, and one added to each mapping and list."
    name = ".".join(map(str, at))
    keys = list(record) if isinstance(record, dict) else range(len(record))
    for key in keys:
        here = ".".join(map(str, (*at, key)))
        was = ", was empty" if record[key] is None else ""
        yield f"{here} altered", with_change(whole, (*at, key), another)
        yield f"{here} removed{was}", with_change(whole, (*at, key), None)
        if isinstance(record[key], dict | list) and deep:
            yield from changes_of(record[key], whole, (*at, key), deep - 1)
    if isinstance(record, dict):
        here = ".".join(filter(None, [name, "added"]))
        yield f"{here} added", with_change(whole, (*at, "added"), another)


def with_change(whole: Any, at: tuple[Any, ...], change: Callable[[Any], Any] | None) -> Any:
    "A copy of a record in which one place is another; None: in which it is gone."
    copy = deepcopy(whole)
    inner = copy
    for key in at[:-1]:
        inner = inner[key]
    if change is None:
        del inner[at[-1]]
    else:
        held = inner[at[-1]] if isinstance(inner, list) or at[-1] in inner else "something"
        inner[at[-1]] = change(held)
    return copy


def is_argued(what: str) -> bool:
    "Whether a change is in the list of what carries no number."
    return any(re.fullmatch(each, what) for each in CARRIES_NO_NUMBER)


def unnoticed(folder: Path, place: Path, kind: str, changes: Iterator[Change]) -> list[str]:
    "Changes of a file that are told, though they are argued away, or that are not, and should be."
    wrong = []
    name = place.relative_to(folder).as_posix()
    for at, record in changes:
        with changed(place, json.dumps(record, ensure_ascii=False).encode()):
            said = told(folder)
        if is_argued(f"{kind}: {at}") == bool(said):
            wrong.append(f"{kind}: {at}: {said or 'nobody says so'}")
        elif said and name not in said:
            wrong.append(f"{kind}: {at}: not said where, but {said}")
    return wrong


def test_nothing_is_wrong_with_it_as_it_is(folder: Path) -> None:
    assert told(folder) == ""


@every
def test_every_field_of_the_manifest(folder: Path, site_aside: None, step: int) -> None:
    place = folder / "manifest.json"
    manifest = json.loads(place.read_text())
    first = manifest | {name: manifest[name][:1] for name in ("cells", "participants")}
    first["as_written"] = dict([*manifest["as_written"].items()][:2])  # the others are alike
    changes = changes_of(first, manifest)
    names = ("cells", "participants", "study", "packages", "effects", "version", "as_written")
    seen = [(at, record) for at, record in changes]
    assert {name for name in names if any(at.startswith(name) for at, _ in seen)} == set(names)
    wrong = []
    for at, record in seen[::step]:
        with changed(place, json.dumps(record).encode()):
            said = told(folder)
        if is_argued(f"manifest: {at}") == ("manifest.json" in said):
            wrong.append(f"{at}: {said or 'nobody says so'}")
    assert wrong == []
    with changed(place, None):
        assert "trials/sim-human/classic-framing.jsonl" in told(folder)


def test_every_field_of_the_record_of_a_participant(folder: Path, site_aside: None) -> None:
    place = folder / "trials" / "sim-human" / "participant.json"
    record = json.loads(place.read_text())
    assert unnoticed(folder, place, "record", changes_of(record, record)) == []
    with changed(place, None):
        assert "trials/sim-human/participant.json" in told(folder)


@every
@pytest.mark.parametrize("name", ["sim-human/classic-framing.ipynb", "study.ipynb"])
def test_every_part_of_a_report(folder: Path, site_aside: None, name: str, step: int) -> None:
    "Its metadata, and one cell of each kind; the others are alike."
    place = folder / "reports" / name
    report = json.loads(place.read_text())
    about = {key: value for key, value in report.items() if key != "cells"}
    changes = [*changes_of(about, report)]
    seen: dict[tuple[str, bool, str], int] = {}
    for number, cell in enumerate(report["cells"]):
        tags = ",".join(cell["metadata"].get("tags", []))
        seen.setdefault((cell["cell_type"], bool(cell.get("outputs")), tags), number)
    for number in seen.values():
        for key in report["cells"][number]:
            at = ("cells", number, key)
            here = ".".join(map(str, at))
            changes.append((f"{here} altered", with_change(report, at, another)))
            changes.append((f"{here} removed", with_change(report, at, None)))
        tags = ("cells", number, "metadata")
        hidden = with_change(report, tags, lambda held: {**held, "tags": ["remove-cell"]})
        changes.append((f"cells.{number}.metadata.tags altered", hidden))
    wrong = unnoticed(folder, place, "report", iter(changes[::step]))
    assert wrong == []


def test_a_report_that_is_another_or_of_nobody(folder: Path) -> None:
    human = folder / "reports" / "sim-human" / "classic-framing.ipynb"
    messy = folder / "reports" / "sim-messy" / "classic-framing.ipynb"
    with changed(messy, human.read_bytes()):
        assert "reports/sim-messy/classic-framing.ipynb" in told(folder)
    with changed(human.with_name("choice-decoy.ipynb"), human.read_bytes()):
        assert "reports/sim-human/choice-decoy.ipynb" in told(folder)
    with changed(human, human.read_bytes()[:5000]):
        assert "reports/sim-human/classic-framing.ipynb" in told(folder)


def as_csv(text: str) -> dict[str, str]:
    "Tables that differ from one in one thing."
    lines = text.splitlines(keepends=True)
    other = {
        "rows swapped": "".join([lines[0], lines[2], lines[1], *lines[3:]]),
        "row removed": "".join(lines[:-1]),
        "row added": "".join([*lines, lines[-1]]),
        "ends of lines": text.replace("\n", "\r\n"),
        "byte order mark": "\ufeff" + text,
        "nothing": "",
    }
    return other


@every
def test_every_column_of_the_tables_of_effects(folder: Path, site_aside: None, step: int) -> None:
    parquet, csv = folder / "effects.parquet", folder / "effects.csv"
    table, text = pd.read_parquet(parquet), csv.read_text(encoding="utf-8")
    quiet = []
    for name in table.columns[::step]:
        filled = table[name].notna()
        row = int(filled.to_numpy().argmax())
        value = table[name].iloc[row]
        value = value.item() if hasattr(value, "item") else value
        edited = table.assign(**{name: table[name].astype(object)})
        edited.loc[row, name] = another(value) if filled.any() else "said"
        for what, odd in {"altered": edited, "removed": table.drop(columns=name)}.items():
            made = folder / "odd.parquet"
            odd.to_parquet(made)
            content = made.read_bytes()
            made.unlink()
            with changed(parquet, content):
                if "effects.parquet" not in told(folder):
                    quiet.append(f"parquet, {name} {what}")
        with changed(csv, table.drop(columns=name).to_csv(index=False).encode()):
            if "effects.csv" not in told(folder):
                quiet.append(f"csv, {name} removed")
    for what, content in as_csv(text).items():
        with changed(csv, content.encode()):
            if "effects.csv" not in told(folder):
                quiet.append(f"csv, {what}")
    assert quiet == []


def test_every_file_of_answers_and_items(folder: Path) -> None:
    quiet = []
    files = [*folder.glob("trials/*/*.jsonl"), *folder.glob("items/*.parquet")]
    assert len(files) == 3
    for place in files:
        name = place.relative_to(folder).as_posix()
        for what, content in {"altered": place.read_bytes() + b"\n", "removed": None}.items():
            with changed(place, content):
                found = [each for each in verify_folder(folder).sources if each.as_left is False]
            if not found:
                quiet.append(f"{name} {what}")
    assert quiet == []


def test_every_file_of_the_site(folder: Path) -> None:
    site = folder / "site"
    files = [each for each in site.rglob("*") if each.is_file()]
    pages_of = [each for each in files if each.suffix in (".html", ".csv", ".txt")]
    wrong = []
    for place in pages_of:
        name = place.relative_to(folder).as_posix()
        for what, content in {"altered": place.read_bytes() + b"0", "removed": None}.items():
            with changed(place, content):
                said = told(folder)
            if name not in said and not (name.endswith("site-files.txt") and "site" in said):
                wrong.append(f"{name} {what}: {said or 'nobody says so'}")
    for name in ("more.html", "MORE.HTML", "more.htm", "more.svg", "more.css"):
        with changed(site / "results" / name, b"<p>0.9</p>"):
            assert f"site/results/{name}" in told(folder)
    assert wrong == []


def test_a_site_of_other_effects(folder: Path) -> None:
    "The list of what a site was made from is among its files."
    table = pd.read_parquet(folder / "effects.parquet")
    made = folder / "odd.parquet"
    table.to_parquet(made)
    content = made.read_bytes()
    made.unlink()
    with changed(folder / "effects.parquet", content):
        found = verify_folder(folder)
    whats = {each.what for each in found.edited if each.place == "site"}
    assert any("was built from another effects.parquet" in each for each in whats)


def test_what_nobody_reads_may_lie_there(folder: Path) -> None:
    for name in ("notes.txt", "reports/sim-human/notes.md", "site/CNAME", "trials/.account.json"):
        with changed(folder / name, b"{}"):
            assert told(folder) == "", name
    report = folder / "reports" / "sim-human" / "classic-framing.ipynb"
    with changed(report, None):  # it can be made again
        assert told(folder) == ""


def test_report_and_site_name_an_edited_report_with_the_remedy(
    folder: Path, capsys: pytest.CaptureFixture
) -> None:
    "'report' said that all are up to date, and the edited number stood."
    report = folder / "reports" / "sim-messy" / "classic-framing.ipynb"
    edited = json.loads(report.read_text())
    edited["cells"][0]["source"] = "# Another title"
    for number, words in enumerate((["report", folder], ["site", folder])):
        out = ["--out", folder.parent / "site"] if number else []
        with changed(report, json.dumps(edited).encode()):
            assert command(*words, *out) == 0
            assert report.read_text() == json.dumps(edited)
        said = capsys.readouterr().err
        assert f"{report}: was edited since it was made; 'cogbias report {folder} --all'" in said
    assert command("report", folder) == 0
    assert "was edited" not in capsys.readouterr().err
