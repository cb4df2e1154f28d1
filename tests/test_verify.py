"""Whether the numbers of a folder follow from its answers, wherever it lies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from calls import command

from cogbias import verification
from cogbias.cli import app, main
from cogbias.outputs import (
    _CELL_COLUMNS,
    _MANIFEST_COLUMNS,
    Folder,
    load_effects,
    manifest_text,
    read_manifest,
)
from cogbias.rendering import _hash_of_what_is_shown, render_reports, render_study_report
from cogbias.running import run_study
from cogbias.status import folder_status
from cogbias.study import make_study, recorded_study_hash
from cogbias.tables import CogbiasError, content_hash, is_empty
from cogbias.verification import verify_folder

STUDY = {
    "models": ["sim/human", "sim/messy"],
    "paradigms": ["classic/framing"],
    "where": {"variant": ["base"]},
}


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "A folder with effects."
    place = tmp_path_factory.mktemp("verify") / "outputs"
    assert run_study(make_study(**STUDY), place, reports=False).failed == []
    return place


@pytest.fixture
def folder(collected: Path, tmp_path: Path) -> Path:
    "A copy of it that may be changed."
    return Path(shutil.copytree(collected, tmp_path / "outputs"))


def verified(place: Path, *more: str) -> tuple[int, str]:
    "Exit status and what is said."
    done = CliRunner().invoke(app, ["verify", str(place), *more])
    return done.exit_code, done.stdout


def edit_effects(place: Path, column: str, value: Any) -> None:
    "The first row of the table says something else."
    table = pd.read_parquet(place / "effects.parquet")
    table.loc[0, column] = value
    table.to_parquet(place / "effects.parquet")


def test_they_follow(folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, said = verified(folder)
    assert code == 0 and "all follow" in said and "192 answers in 2 cells" in said
    assert "as the run left them in 2 cells" in said
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {name: text for name, text in after.items() if name.name != ".lock"} == {
        name: text for name, text in before.items() if name.name != ".lock"
    }


@pytest.mark.parametrize(
    ("column", "value"), [("estimate", 0.4321), ("p_adjusted", 0.5), ("verdict", "absent")]
)
def test_a_number_that_was_edited(folder: Path, column: str, value: Any) -> None:
    if column == "estimate":
        edit_effects(folder, "ci_low", 0.0)
        edit_effects(folder, "ci_high", 0.9)
    edit_effects(folder, column, value)
    code, said = verified(folder)
    assert code == 1 and "not all follow" in said
    assert f"{column} {value} is " in said and "sim/human in classic/framing" in said


def test_a_row_that_is_gone_and_one_too_many(folder: Path) -> None:
    table = pd.read_parquet(folder / "effects.parquet")
    odd = table.iloc[[1]].assign(group="invented=1")
    pd.concat([table.iloc[2:], odd]).to_parquet(folder / "effects.parquet")
    said = [(each.group, each.column, each.stored) for each in verify_folder(folder).differences]
    assert len(said) == 3 and {column for _, column, _ in said} == {""}
    assert [stored is None for _, _, stored in said] == [False, True, True]


def test_answers_that_were_edited(folder: Path) -> None:
    "Half of the answers turned round: the numbers are others, and so is the file."
    store = Folder(folder).store("sim/human", "classic/framing").path
    rows = [json.loads(line) for line in store.read_text().splitlines()]
    for row in rows[::2]:
        row["p"] = dict(zip(row["p"], reversed(row["p"].values())))
    store.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    found = verify_folder(folder)
    assert not found.follows
    assert {each.participant for each in found.differences if each.column == "estimate"} == {
        "sim/human"
    }
    assert [each.as_left for each in found.sources] == [False, True]
    assert "changed   trials/sim-human/classic-framing.jsonl" in verified(folder)[1]


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "A folder whose answers are texts."
    place = tmp_path_factory.mktemp("sampled") / "outputs"
    asked = {"models": ["sim/messy"], "paradigms": ["classic/framing"], "method": "text"}
    run_study(make_study(**asked, where={"variant": ["base"]}), place, reports=False)
    return place


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("response", "something else"),
        ("detail", "made up"),
        ("seed", 5),
        ("choice", "C"),
        ("role", "other"),
        ("value", 3.0),
        ("status", "refusal"),
        ("p", {"A": 0.5, "B": 0.5}),
    ],
)
def test_every_field_of_an_answer_is_guarded(
    sampled: Path, tmp_path: Path, field: str, value: Any
) -> None:
    "Also those on which no number rests."
    place = Path(shutil.copytree(sampled, tmp_path / "outputs"))
    assert verified(place)[0] == 0
    store = Folder(place).store("sim/messy", "classic/framing").path
    rows = [json.loads(line) for line in store.read_text().splitlines()]
    next(row for row in rows if row["status"] == "ok")[field] = value
    store.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    code, said = verified(place)
    assert code != 0
    if field in ("response", "detail", "seed"):
        assert "all follow, but 1 file of answers is not as when it was complete" in said
        assert verify_folder(place).sources[0].changed == ("answers",)


def test_the_prompts_and_the_seed_of_a_run_are_guarded(sampled: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(sampled, tmp_path / "outputs"))
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["cells"][0]["seed"] = 7
    (place / "manifest.json").write_text(json.dumps(manifest))
    assert verified(place)[0] != 0
    place = Path(shutil.copytree(sampled, tmp_path / "another"))
    items = Folder(place).items("classic/framing")
    table = pd.read_parquet(items)
    table.loc[0, "prompt"] += " Really."
    table.to_parquet(items)
    with pytest.raises(CogbiasError, match="the row was edited"):
        verify_folder(place)


def test_for_programs(folder: Path) -> None:
    code, said = verified(folder, "--json")
    told = json.loads(said)
    assert code == 0 and told["follows"] and told["differences"] == []
    assert [each["answers"] for each in told["sources"]] == [96, 96]
    assert all(len(each["answers_hash"]) == 32 for each in told["sources"])


def test_an_archive_opened_elsewhere(folder: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "archive"), "gztar", folder)
    shutil.rmtree(folder)
    elsewhere = tmp_path / "another place"
    shutil.unpack_archive(archive, elsewhere)
    assert verified(elsewhere)[0] == 0
    assert set(folder_status(elsewhere).cells["state"]) == {"done"}
    outcome = run_study(make_study(**STUDY), elsewhere, reports=False)
    assert {cell["asked"] for cell in outcome.cells} == {0}


def test_a_folder_of_an_earlier_version(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in ("effects", "asked_cells", "version", "as_written"):
        del manifest[name]
    for cell in manifest["cells"]:
        del cell["made_from"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    code, said = verified(folder)
    assert code == 0 and "of 2 cells: the run did not keep the hashes" in said
    assert "manifest  of an earlier version, which kept no hashes of what it says" in said


def test_opened_by_a_newer_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    "What it does not know is left alone, and versions that differ are named."
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["of_the_future"] = {"more": 1}
    manifest["cells"][0]["of_the_future"] = 2
    (folder / "manifest.json").write_text(manifest_text(manifest))
    later = verification.installed_versions() | {"cogbias": "9.9.9"}
    monkeypatch.setattr(verification, "installed_versions", lambda: later)
    code, said = verified(folder)
    assert code == 0 and "version   cogbias: 0.1.0 then, 9.9.9 now" in said


# --- the manifest


def test_every_field_of_a_manifest_is_declared(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    assert set(manifest) == {column.name for column in _MANIFEST_COLUMNS}
    for cell in manifest["cells"]:
        assert set(cell) == {column.name for column in _CELL_COLUMNS}


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("packages", {"numpy": 2}, "field 'packages' names 'numpy' without a version"),
        ("participants", ["sim/human"], "field 'participants' holds text as entry 1"),
        ("items", {"classic/framing": 384}, "field 'items' names 'classic/framing' without hashes"),
        ("asked_cells", [["sim/human"]], "field 'asked_cells' holds an entry 1"),
        ("failed", [1], "field 'failed' holds integer as entry 1"),
        ("effects", {"made_from": "x"}, "field 'effects' lacks a hash"),
        ("finished_at", 5, "field 'finished_at' should hold text"),
    ],
)
def test_and_has_a_type(folder: Path, field: str, value: Any, fault: str) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {field: value}))
    with pytest.raises(CogbiasError, match="broken manifest") as raised:
        read_manifest(Folder(folder))
    assert fault in str(raised.value)


def test_no_secret_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    study = make_study(
        models=["sim/human", "openai/none"],
        paradigms=["classic/framing"],
        participants={"openai/*": {"base_url": "http://127.0.0.1:9/v1"}},
    )
    assert len(run_study(study, tmp_path, reports=False).failed) == 1
    for file in filter(Path.is_file, tmp_path.rglob("*")):
        assert b"sk-planted" not in file.read_bytes(), file


# --- what readers open


@pytest.fixture(scope="module")
def reported(collected: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    "A folder with a report on the study."
    place = Path(shutil.copytree(collected, tmp_path_factory.mktemp("reported") / "outputs"))
    assert render_study_report(place) == []
    return place


@pytest.fixture
def with_report(reported: Path, tmp_path: Path) -> Path:
    "A copy of it that may be changed."
    return Path(shutil.copytree(reported, tmp_path / "outputs"))


def edit_csv(place: Path, change: Any) -> None:
    "The lines of effects.csv are others."
    file = place / "effects.csv"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(change(lines)), encoding="utf-8")


def first_number(lines: list[str]) -> list[str]:
    "The first estimate is another."
    name, row = lines[0].split(","), lines[1].split(",")
    row[name.index("estimate")] = "0.3"
    return [lines[0], ",".join(row), *lines[2:]]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (first_number, ": estimate 0.3 is 0.4"),
        (lambda lines: [lines[0].replace("estimate", "guess"), *lines[1:]], "estimate"),
        (lambda lines: [line.replace(",present,", ",absent,") for line in lines], "absent is pre"),
        (lambda lines: lines[:-1], "the row is missing"),
        (lambda lines: [*lines, lines[-1]], "the row is not one"),
        (lambda lines: lines[:1], "the row is missing"),
        (lambda lines: [], "effects.csv: "),
    ],
    ids=["number", "column", "verdict", "short", "twice", "empty", "nothing"],
)
def test_the_table_that_people_read_was_edited(folder: Path, change: Any, fault: str) -> None:
    as_made = (folder / "effects.csv").read_bytes()
    edit_csv(folder, change)
    code, said = verified(folder)
    assert code == 1 and fault in said
    assert "all follow, but not everything beside them is as it was made" in said
    again = run_study(make_study(**STUDY), folder, reports=False)
    assert "effects.csv: was edited or lost since it was made" in again.left_out[0]
    assert (folder / "effects.csv").read_bytes() == as_made
    assert verified(folder)[0] == 0
    assert run_study(make_study(**STUDY), folder, reports=False).left_out == []


def test_and_is_gone(folder: Path) -> None:
    (folder / "effects.csv").unlink()
    code, said = verified(folder)
    assert code == 1 and "edited    effects.csv: is missing" in said
    run_study(make_study(**STUDY), folder, reports=False)
    assert verified(folder)[0] == 0


def test_the_table_of_effects_is_gone(with_report: Path) -> None:
    "It is named, with what to do, for programs too; the rest is compared as ever."
    (with_report / "effects.parquet").unlink()
    code, said = verified(with_report)
    assert code == 1 and "there is no table to compare them with" in said
    edited = [line for line in said.splitlines() if line.startswith("edited")]
    assert edited == ["edited    effects.parquet: is missing; 'cogbias effects' makes it again"]
    code, said = verified(with_report, "--json")
    told = json.loads(said)
    assert (code, told["rows"], told["follows"]) == (1, 0, False)
    assert [each["place"] for each in told["edited"]] == ["effects.parquet"]
    assert CliRunner().invoke(app, ["effects", str(with_report)]).exit_code == 0
    assert verified(with_report)[0] == 0


def test_a_folder_without_results_cannot_be_verified(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of ours")
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(tmp_path)])
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda lines: [line.replace("\n", "\r\n") for line in lines], "holds other bytes"),
        (lambda lines: ["\ufeff", *lines], "holds other bytes"),
        (
            lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
            "holds the same rows in another order",
        ),
    ],
    ids=["ends of lines", "mark", "order"],
)
def test_the_same_numbers_written_in_another_way(folder: Path, change: Any, fault: str) -> None:
    "A run writes such a table again and says so; so verify says so, too."
    edit_csv(folder, change)
    code, said = verified(folder)
    assert code == 1 and f"edited    effects.csv: {fault}" in said
    assert "'cogbias effects' makes it again" in said
    assert CliRunner().invoke(app, ["effects", str(folder)]).exit_code == 0
    assert verified(folder)[0] == 0


def test_a_number_in_a_report_was_edited(with_report: Path) -> None:
    place = with_report / "reports" / "study.ipynb"
    code, said = verified(with_report, "--json")
    assert code == 0 and json.loads(said)["edited"] == []
    assert folder_status(with_report).study_report == "current"
    place.write_text(place.read_text().replace("present", "absent", 1))
    code, said = verified(with_report)
    assert code == 1 and "edited    reports/study.ipynb: was edited since it was made" in said
    assert folder_status(with_report).study_report == "edited"
    assert render_study_report(with_report, anew=True) == []
    assert verified(with_report)[0] == 0


def test_a_report_that_was_only_looked_at(with_report: Path) -> None:
    "Whoever opens and saves a notebook writes its names in another order, and folds cells."
    place = with_report / "reports" / "study.ipynb"
    held = json.loads(place.read_text())
    held["cells"][0]["metadata"]["collapsed"] = True
    place.write_text(json.dumps(dict(reversed(held.items()))))
    assert verified(with_report)[0] == 0


def test_a_report_of_an_earlier_version_is_not_called_edited(with_report: Path) -> None:
    place = with_report / "reports" / "study.ipynb"
    held = json.loads(place.read_text())
    del held["metadata"]["cogbias"]["shown"], held["metadata"]["cogbias"]["version"]
    place.write_text(json.dumps(held))
    code, said = verified(with_report)
    assert code == 0 and "1 do not say what they showed" in said


def test_a_report_made_from_a_table_that_lacked_a_column_of_today(with_report: Path) -> None:
    "The version before wrote no `shown_name`; an untouched folder of it is as it was made."
    place = with_report / "reports" / "study.ipynb"
    table = load_effects(with_report / "effects.parquet").drop(columns="shown_name")
    rows: dict[tuple[str, str], list[list[Any]]] = {}
    for row in table.to_dict("records"):
        values = [repr(None if is_empty(each) else each) for each in row.values()]
        rows.setdefault((row["participant"], row["paradigm"]), []).append(values)
    held = json.loads(place.read_text())
    for effects, status in [(sorted(rows.items()), 0), (sorted(rows.items())[1:], 1)]:
        made_from = held["metadata"]["cogbias"]["made_from"]
        kept = {"version": 1, "made_from": made_from | {"effects": content_hash(effects, 32)}}
        held["metadata"]["cogbias"] = kept | {"shown": _hash_of_what_is_shown(held, kept)}
        place.write_text(json.dumps(held))
        code, said = verified(with_report)
        assert code == status and ("was made from other effects" in said) == bool(status)


# --- what was recorded of the study


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("repeats", "two", "study: repeats is 'two'"),
        ("repeats", 3, "study: repeats is 3, but its cells were asked with 1"),
        ("seed", 5, "study: seed is 5, but its cells were asked with 0"),
        ("api_key", "sk-planted", "study: 'api_key' is not a field of a study"),
        ("where", {"variant": ["odd"]}, "study: where is {'variant': ['odd']}, but its cells"),
        ("models", ["sim/human"], "study: its hash is"),
    ],
)
def test_the_recorded_study_was_edited(folder: Path, field: str, value: Any, fault: str) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["study"][field] = value
    (folder / "manifest.json").write_text(json.dumps(manifest))
    code, said = verified(folder)
    assert code == 1 and f"edited    manifest.json: {fault}" in said
    assert "sk-planted" not in said


def test_what_no_number_rests_on_was_edited(folder: Path) -> None:
    "Limits, and how many answers were there before, follow from no answer."
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["study"]["limits"] = {"usd": 5.0}
    manifest["cells"][1]["stored"] = 95
    (folder / "manifest.json").write_text(json.dumps(manifest))
    code, said = verified(folder)
    assert code == 1 and "edited    manifest.json: study: limits: is not as it was written" in said
    assert "manifest.json: cell sim/messy in classic/framing: is not as it was written" in said
    assert run_study(make_study(**STUDY), folder, reports=False).failed == []
    assert verified(folder)[0] == 0  # the cell was looked at again


def test_its_hash_was_edited(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"study_hash": "0" * 16}))
    code, said = verified(folder)
    assert code == 1 and f"but {'0' * 16} was written down" in said


def test_a_later_version_may_record_more_of_a_study(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["study"]["of_the_future"] = {"more": 1}
    manifest["study_hash"] = recorded_study_hash(manifest["study"])
    (folder / "manifest.json").write_text(manifest_text(manifest))
    assert verified(folder)[0] == 0


@pytest.mark.parametrize(
    "more", [{}, {"analysis": {"family": "participant"}}], ids=["same", "another study"]
)
def test_a_table_that_was_edited_is_made_again_and_that_is_said(
    folder: Path, more: dict[str, Any]
) -> None:
    "Whatever else has changed since; and no more than once."
    as_made = (folder / "effects.parquet").read_bytes()
    edit_effects(folder, "estimate", 9.0)
    said = run_study(make_study(**STUDY, **more), folder, reports=False).left_out
    assert len(said) == 1, said
    assert "effects.parquet: was edited or lost since it was made, and is made again" in said[0]
    assert more or (folder / "effects.parquet").read_bytes() == as_made
    assert verified(folder)[0] == 0
    assert run_study(make_study(**STUDY, **more), folder, reports=False).left_out == []


@pytest.mark.parametrize("command", ["status", pytest.param("report", marks=pytest.mark.slow)])
def test_a_table_that_was_edited_is_told_by_who_does_not_make_it_again(
    folder: Path, command: str
) -> None:
    "One digit of effects.csv; `effects` makes it again, and then nobody says it."
    place = folder / "effects.csv"
    place.write_text(place.read_text().replace("0.", "1.", 1))
    said = CliRunner().invoke(app, [command, str(folder)]).stderr
    assert f"{place}: was edited or lost since it was made; 'cogbias effects" in said
    assert CliRunner().invoke(app, ["effects", str(folder)]).exit_code == 0
    assert "was edited" not in CliRunner().invoke(app, [command, str(folder)]).stderr


def test_a_table_that_a_command_made_again_was_not_edited(folder: Path) -> None:
    "`cogbias effects` writes it, after answers have come to the folder."
    other = Folder(folder).store("sim/messy", "classic/framing").path
    other.write_text("".join(other.read_text().splitlines(keepends=True)[:-5]))
    before = (folder / "effects.parquet").read_bytes()
    assert CliRunner().invoke(app, ["effects", str(folder)]).exit_code == 0
    assert (folder / "effects.parquet").read_bytes() != before
    assert run_study(make_study(**STUDY), folder, reports=False).left_out == []


@pytest.mark.slow
def test_a_report_that_was_edited_is_not_replaced_silently(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = Folder(folder).report("sim/human", "classic/framing")
    only = [("sim/human", "classic/framing")]
    render_reports(folder, only=only)
    report = json.loads(place.read_text())
    report["cells"][0]["source"] = "My own words."
    place.write_text(json.dumps(report))
    render_reports(folder, only=only, anew=True)
    assert f"{place}: was edited since it was made, and is made again" in caplog.messages
    assert "My own words." not in place.read_text()
    caplog.clear()
    render_reports(folder, only=only, anew=True)
    assert caplog.messages == []


# --- what is gone, or said otherwise


@pytest.mark.parametrize(
    "change",
    [
        lambda text: json.dumps(json.loads(text) | {"metadata": {}}),
        lambda text: '{"cells":',
        lambda text: "",
    ],
    ids=["stamp", "cut", "empty"],
)
def test_a_report_that_lost_its_stamp_is_not_as_it_was_made(with_report: Path, change: Any) -> None:
    place = with_report / "reports" / "study.ipynb"
    place.write_text(change(place.read_text()))
    code, said = verified(with_report)
    assert code == 1 and "edited    reports/study.ipynb: is cut short, or what was written" in said


@pytest.mark.parametrize(
    ("field", "value"), [("revision", "another"), ("facts", {"made": "up"}), ("methods", ["text"])]
)
@pytest.mark.parametrize("where", ["record", "manifest"])
def test_who_answered_is_said_otherwise(folder: Path, field: str, value: Any, where: str) -> None:
    place, named = Folder(folder).participant("sim/human"), folder / "manifest.json"
    if where == "record":
        place.write_text(json.dumps(json.loads(place.read_text()) | {field: value}))
    else:
        manifest = json.loads(named.read_text())
        manifest["participants"][0][field] = value
        named.write_text(json.dumps(manifest))
    code, said = verified(folder)
    assert code == 1 and f"edited    trials/sim-human/participant.json: {field} is " in said


def test_a_simulated_participant_stays_one_whatever_is_written(folder: Path) -> None:
    place = Folder(folder).participant("sim/human")
    place.write_text(json.dumps(json.loads(place.read_text()) | {"simulated": False}))
    with pytest.raises(CogbiasError, match="'simulated' holds false, but nobody real answers so"):
        verify_folder(folder)
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code != 0


def test_a_record_of_who_answered_is_gone(folder: Path) -> None:
    Folder(folder).participant("sim/human").unlink()
    code, said = verified(folder)
    assert code == 1 and "trials/sim-human/participant.json: is missing" in said


def test_a_participant_of_an_earlier_run_is_guarded_too(folder: Path) -> None:
    "The manifest names those of the last run; the cells of the others keep a hash."
    other = make_study(**STUDY | {"models": ["sim/random"]})
    assert run_study(other, folder, reports=False).failed == []
    assert verified(folder)[0] == 0
    place = Folder(folder).participant("sim/human")
    place.write_text(json.dumps(json.loads(place.read_text()) | {"facts": {"made": "up"}}))
    code, said = verified(folder)
    assert code == 1 and "trials/sim-human/participant.json: is not as a run left it" in said


def test_the_manifest_names_no_participant_that_was_asked(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["participants"][0]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    code, said = verified(folder)
    assert code == 1 and "was asked in the last run and is not named" in said


def test_without_a_manifest_nobody_can_say_how_answers_were_left(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    code, said = verified(folder)
    assert code == 1 and "of 2 cells nobody can say whether they are as left" in said
    assert "unknown   trials/sim-human/classic-framing.jsonl: manifest.json is missing" in said
    assert "the run did not keep" not in said


def test_nor_of_a_cell_that_it_does_not_name(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["cells"][0]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    code, said = verified(folder, "--json")
    assert code == 1
    assert json.loads(said)["unknown"] == ["trials/sim-human/classic-framing.jsonl"]


def test_a_refusal_names_what_lacks(folder: Path, tmp_path: Path) -> None:
    "Not that nothing was run."
    place = Path(shutil.copytree(folder, tmp_path / "items gone"))
    Folder(place).items("classic/framing").unlink()
    with pytest.raises(CogbiasError, match="classic-framing.parquet: is missing, so nobody can"):
        verify_folder(place)
    place = Path(shutil.copytree(folder, tmp_path / "emptied"))
    for file in place.glob("trials/*/*.jsonl"):
        file.write_text("")
    with pytest.raises(CogbiasError, match="classic-framing.jsonl: holds no answers"):
        verify_folder(place)


def test_where_the_manifest_was_edited_it_is_named_and_not_the_answers(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    for cell in manifest["cells"]:
        cell["seed"] = 7
    (folder / "manifest.json").write_text(json.dumps(manifest))
    said = "manifest.json: cell sim/human in classic/framing is not as it was written, .* 2 of its"
    with pytest.raises(CogbiasError, match=said):
        verify_folder(folder)
    (folder / "manifest.json").write_text(manifest_text(manifest))  # as if it had been asked so
    with pytest.raises(CogbiasError, match="none of its answers counts .96 by another method, se"):
        verify_folder(folder)


def test_a_folder_whose_only_run_was_stopped_was_not_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    "It has no table and no manifest: not one of an earlier version, and not one that is gone."
    monkeypatch.setattr("cogbias.running._estimated_and_rendered", stopped)
    with pytest.raises(KeyboardInterrupt):
        run_study(make_study(**STUDY), tmp_path / "out", reports=False)
    code, said = verified(tmp_path / "out")
    assert code == 1 and "no run has ended here" in said
    assert "edited" not in said and "earlier version" not in said
    command("effects", tmp_path / "out")
    code, said = verified(tmp_path / "out")
    assert code == 0 and "all follow\n" in said and "no run has ended here" in said
    assert "earlier version" not in said


def stopped(*_: Any) -> None:
    "As where somebody interrupts a run."
    raise KeyboardInterrupt
