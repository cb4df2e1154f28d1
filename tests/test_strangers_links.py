"Links, pipes, devices and gaps in a strange outputs folder reach and hold up nothing outside it."

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tiers import every_few

from cogbias.cli import main
from cogbias.running import run_study
from cogbias.study import make_study

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
RUN = ["run", "--no-reports", "--model", "sim/human", "--paradigm", "choice/certainty"]
NOTE = b"a last line that is the user's own"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    "An outputs folder with one cell."
    folder = tmp_path_factory.mktemp("good") / "outputs"
    study = make_study(models=["sim/human"], paradigms=["choice/certainty"])
    run_study(study, folder, reports=False)
    return folder


@pytest.fixture
def copy(good: Path, tmp_path: Path) -> Path:
    "A copy of it, which a stranger may have changed."
    return Path(shutil.copytree(good, tmp_path / "stranger" / "outputs"))


def refusal(*command: str) -> str:
    "The line with which a command is refused; it ends within a minute."
    code = "import sys; from cogbias.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, timeout=60, check=False
    )
    said = done.stderr.decode()
    assert done.returncode in (1, 2) and said.count("\n") == 1, said
    assert "unexpected" not in said and "Traceback" not in said, said
    return said


def refused(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    "The same in this process, for what does not hang."
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(list(command))
    said = capsys.readouterr().err
    assert end.value.code in (1, 2) and said.count("\n") == 1, said
    assert "unexpected" not in said, said
    return said


def contents(folder: Path) -> dict[str, bytes]:
    "Every file of a folder."
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


TRIALS = "trials/sim-human/choice-certainty.jsonl"
LINKS = [  # place in the folder, command
    (TRIALS, "run"),
    (TRIALS, "effects"),
    (TRIALS, "export"),
    ("trials/sim-human", "run"),
    ("trials/sim-human", "effects"),
    ("trials", "run"),
    ("trials", "effects"),
    ("trials/.lock", "run"),
    ("trials/.lock", "effects"),
    ("trials/sim-human/participant.json", "run"),
    ("trials/sim-human/participant.json", "report"),
    ("items", "run"),
    ("items", "effects"),
    ("items/choice-certainty.parquet", "run"),
    ("manifest.json", "run"),
    ("manifest.json", "effects"),
    ("effects.csv", "effects"),
    ("effects.parquet", "effects"),
    ("effects.parquet", "site"),
    ("reports", "report"),
    ("reports/sim-human", "report"),
    ("reports/sim-human/choice-certainty.ipynb", "report"),
    ("reports", "site"),
    ("site", "site"),
]


def command_on(folder: Path, name: str) -> list[str]:
    "A command on this folder."
    if name == "run":
        return [*RUN, "--outputs", str(folder)]
    if name == "export":
        return ["export", "jsonl", str(folder), "--out", str(folder.parent / "trials.jsonl")]
    return [name, str(folder)]


@pytest.mark.parametrize(("place", "name"), LINKS)
def test_a_link_that_leads_out_is_refused(
    copy: Path, tmp_path: Path, place: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "site":
        pytest.importorskip("myst_nb")
    private = tmp_path / "private"
    private.mkdir()
    link = copy / place
    outside = private / link.name
    if link.exists():  # what the command looks for is there, so nothing else stops it
        link.rename(outside)
    elif link.suffix:
        outside.write_bytes(NOTE)
    else:
        outside.mkdir()
    if outside.suffix == ".jsonl":
        outside.write_bytes(outside.read_bytes() + NOTE)
    if outside.is_dir():
        (outside / "note.txt").write_bytes(NOTE)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    before = contents(private)
    said = refused(capsys, *command_on(copy, name))
    assert f"{link}: is a link that leads out of {copy}; remove the link" in said
    assert contents(private) == before


def test_a_lock_is_not_made_elsewhere(copy: Path, tmp_path: Path) -> None:
    (copy / "trials" / ".lock").unlink(missing_ok=True)
    (copy / "trials" / ".lock").symlink_to(tmp_path / "new")
    refusal("effects", str(copy))
    assert not (tmp_path / "new").exists()


def test_parts_are_not_removed_elsewhere(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from cogbias.tables import _name_of_machine

    private = tmp_path / "private"
    private.mkdir()
    (private / f"thesis.{_name_of_machine()}-999999999-1.part").write_bytes(NOTE)
    (copy / "trials" / "else").symlink_to(private)
    said = refused(capsys, *command_on(copy, "run"))
    assert f"{copy / 'trials' / 'else'}: is a link" in said
    assert list(contents(private).values()) == [NOTE]


def test_the_folder_itself_may_be_a_link(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").symlink_to(copy)
    main_ends_well(command_on(tmp_path / "mine", "run"))
    (copy / "items").rename(copy / "kept")
    (copy / "items").symlink_to("kept")  # inside, so it is followed
    main_ends_well(command_on(tmp_path / "mine", "effects"))


def main_ends_well(command: list[str]) -> None:
    "Run a command that must succeed."
    try:
        main(command)
    except SystemExit as end:
        assert not end.code


@pytest.mark.parametrize(
    "text", [NOTE, b"\n\n" + NOTE, b'{"name": "a-package"}', b"[1, 2]", b"\0" * 9]
)
def test_a_file_without_trials_is_not_emptied(
    copy: Path, text: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / TRIALS).write_bytes(text)
    for name in ("run", "effects"):
        assert "holds no trial" in refused(capsys, *command_on(copy, name))
    assert (copy / TRIALS).read_bytes() == text


def test_what_is_cut_is_said(copy: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = (copy / TRIALS).read_bytes()
    lines = whole.splitlines(keepends=True)
    for left in (b"".join(lines[:-1]) + lines[-1][:40], lines[0][:40], lines[0][:3]):
        (copy / TRIALS).write_bytes(left)
        caplog.clear()
        main_ends_well(command_on(copy, "run"))
        assert "a torn last line of" in caplog.text
        assert sorted((copy / TRIALS).read_bytes().splitlines()) == sorted(whole.splitlines())


@pytest.mark.parametrize("kind", ["pipe", "device", "giant"])
@pytest.mark.parametrize(
    "place_and_command",
    every_few(
        5,
        [
            ("manifest.json", "effects"),
            ("trials/sim-human/participant.json", "run"),
            ("study.toml", "study"),
            (TRIALS, "effects"),
            ("items/choice-certainty.parquet", "effects"),
            ("trials/.lock", "effects"),
            ("items.jsonl", "items"),
        ],
    ),
    ids="-".join,
)
def test_pipes_devices_and_giants_are_refused(
    copy: Path, kind: str, place_and_command: tuple[str, str]
) -> None:
    place, name = place_and_command
    path = copy / place
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.touch()
        os.truncate(path, 2**40)  # a file with a hole takes no room
    command = {
        "study": ["plan", str(path)],
        "items": ["plan", *RUN[2:], "--items", str(path)],
    }.get(name, command_on(copy, name))
    said = refusal(*command)
    words = ("not a regular file", "it is not ours", "leads out of")
    assert str(path) in said and any(each in said for each in words), said
    assert "broken" not in said and "not valid" not in said, said


def test_a_folder_without_our_list_is_no_site(
    copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("myst_nb")
    from test_site import REPORT, write_report

    write_report(copy, "sim/human", "choice/certainty", REPORT)
    mine = tmp_path / "mine"
    (mine / "_static").mkdir(parents=True)
    (mine / "_static" / "cogbias.css").write_bytes(NOTE)
    (mine / "index.html").write_bytes(NOTE)
    for listed in (None, "", "my own notes on files\n"):
        if listed is not None:
            (mine / "_static" / "site-files.txt").write_text(listed)
        before = contents(mine)
        said = refused(capsys, "site", str(copy), "--out", str(mine))
        assert "is not a site of cogbias; give a new or empty folder" in said
        assert contents(mine) == before


def test_a_listed_site_does_not_cover_other_files(tmp_path: Path) -> None:
    pytest.importorskip("myst_nb")
    from cogbias.tables import CogbiasError
    from cogbias.site.pages import _check_places

    (tmp_path / "index.html").write_bytes(NOTE)
    for earlier in ({}, {"other.html": "0" * 64}):
        with pytest.raises(CogbiasError, match="index.html: is not of an earlier site"):
            _check_places(tmp_path, ["index.html"], earlier)


FIELDS = "participant paradigm model who method repeats seed planned temperature".split()


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_a_cell_lacks_is_named(
    copy: Path, field: str, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["cells"][0][field]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    for name in ("effects", "report", "run"):
        said = refused(capsys, *command_on(copy, name))
        assert f"broken manifest (cell 1: {field} is missing)" in said


BYTE = os.fsdecode(b"\xff")
MODEL = ["run", "--no-reports", "--model", "openai/x", "--paradigm", "choice/certainty"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "extra=" + "[" * 100_000], "--set extra: has too many brackets"),
        (["--set", "extra=" + "[" * 600 + "]" * 600], "nested more than 50 deep"),
        (["--base-url", f"http://{BYTE}/"], "no UTF-8 text"),
        (["--base-url", "http://☃.net/"], "base_url is no address"),
        (["--base-url", "http://256.1.1.1/"], "base_url is no address"),
        (["--base-url", "http://a b/"], "base_url is no address"),
    ],
)
def test_odd_arguments_are_one_line(
    tmp_path: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, *MODEL, "--outputs", str(tmp_path / "new"), *arguments)
    assert words in said, said


def test_a_folder_whose_name_is_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / f"x{BYTE}"
    assert "no UTF-8 text" in refused(capsys, *RUN, "--outputs", str(place))
    assert not place.exists()
    place.mkdir()
    monkeypatch.chdir(place)
    assert "no UTF-8 text" in refused(capsys, *RUN, "--outputs", "new")


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_an_imported_folder_leads_nowhere(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    "A data set from elsewhere holds a link to a file of ours, or to a folder of them."
    private, data = tmp_path / "private", tmp_path / "data"
    private.mkdir()
    data.mkdir()
    (private / "notes.json").write_text('{"1": {"Prompt": "private"}}')
    target = private / "notes.json" if kind == "file" else private
    (data / "x.json").symlink_to(target, target_is_directory=kind == "folder")
    out = tmp_path / "items.csv"
    said = refused(capsys, "import", "instructed-to-bias", str(data), "--out", str(out))
    assert "is a link that leads out of" in said and not out.exists()
