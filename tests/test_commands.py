"A program is a participant: started by the user only, and told apart from what it is not."

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from calls import command
from cogbias.backends.command import PARTICIPANT, commands_allowed
from cogbias.design import paradigm
from cogbias.outputs import manifest_text
from cogbias.participants import Request
from cogbias.running_in_python import run
from cogbias.study import recorded_study_hash
from cogbias.tables import CogbiasError

ITEMS = paradigm("classic/framing").items().head(48).to_dict("records")
REQUESTS = [Request(item, 0, 7) for item in ITEMS]
FEW = ("--paradigm", "classic/framing", "--where", "variant=base", "--where", "option_order=1")
FIRST = "answer(list(asked['options'])[0])"  # what an orderly program does with a question
BEGINNING = """
import json, os, sys, time

def answer(value, number=None):
    number = asked["id"] if number is None else number
    print(json.dumps({"id": number, "answer": value}), flush=True)

count = 0
for line in sys.stdin:
    asked, count = json.loads(line), count + 1
"""


def program(folder: Path, *lines: str) -> str:
    "The command line of a program that does this with each question."
    place = folder / "model.py"
    place.write_text(BEGINNING + "".join(f"    {line}\n" for line in lines))
    return shlex.join([sys.executable, str(place)])


def answers(model: str, method: str = "text", **settings: Any) -> list:
    "What a program answers to 48 questions, in their order."
    with commands_allowed():
        given = dict(PARTICIPANT(model, **settings).answers(REQUESTS, method))
    return [given[place] for place in range(len(REQUESTS))]


def test_a_program_gets_a_store_effects_and_a_report(tmp_path: Path, capsys: Any) -> None:
    model = "command/" + program(tmp_path, FIRST)
    place = tmp_path / "outputs"
    asked = ("run", "--model", model, *FEW, "--outputs", place)
    assert command(*asked, "--allow-command") == 0
    assert "48 asked (48 ok), method text" in capsys.readouterr().out
    (report,) = (place / "reports").glob("*/classic-framing.ipynb")
    assert "hash of files" in report.read_text()
    assert command(*asked, "--allow-command") == 0
    assert "nothing new" in capsys.readouterr().out  # the program is the same
    for reader in ("status", "effects", "verify"):
        assert command(reader, place) == 0
    (tmp_path / "model.py").write_text((tmp_path / "model.py").read_text() + "\n# changed\n")
    assert command(*asked, "--allow-command", "--no-reports") == 0
    assert "0 stored, 48 asked" in capsys.readouterr().out


def test_a_program_is_started_once_for_all_paradigms(tmp_path: Path) -> None:
    note = tmp_path / "started"
    model = program(tmp_path, f"open({str(note)!r}, 'a').write(f'{{os.getpid()}} ')", FIRST)
    asked = ("run", "--model", f"command/{model}", "--paradigm", "classic/framing")
    asked += ("--paradigm", "classic/endowment", "--where", "variant=base", "--no-reports")
    assert command(*asked, "--outputs", tmp_path / "outputs", "--allow-command") == 0
    assert len(set(note.read_text().split())) == 1


@pytest.mark.slow
def test_workers_may_start_what_the_user_allowed(tmp_path: Path) -> None:
    models = [f"command/{program(tmp_path, FIRST)} {name}" for name in ("one", "two")]
    asked = [part for model in models for part in ("--model", model)]
    outputs = ("--outputs", tmp_path / "outputs", "--jobs", "2", "--no-reports")
    script = "import sys; from cogbias.cli import main; sys.exit(main())"
    line = [sys.executable, "-c", script, "run", *asked, *FEW, *map(str, outputs)]
    refused = subprocess.run(line, capture_output=True, text=True)
    assert refused.returncode == 2 and "add --allow-command" in refused.stderr
    done = subprocess.run([*line, "--allow-command"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("48 asked (48 ok)") == 2


# Strangers


def test_a_study_file_starts_no_program(tmp_path: Path, capsys: Any) -> None:
    note = tmp_path / "started"
    model = program(tmp_path, f"open({str(note)!r}, 'a')", FIRST)
    study = tmp_path / "study.toml"
    named = json.dumps(f"command/{model}")
    study.write_text(f'models = [{named}]\nparadigms = ["classic/framing"]\n')
    place = ("--outputs", tmp_path / "outputs")
    assert command("run", study, *place) == 2
    assert "add --allow-command" in capsys.readouterr().err
    assert command("plan", study, *place) == 0
    assert not note.exists()
    study.write_text(
        f'models = ["sim/messy"]\nparadigms = ["classic/framing"]\nmethod = "two_step"\n'
        f"extractor = {named}\n"
    )
    assert command("run", study, *place) == 2
    assert not note.exists()


def test_a_setting_in_a_study_file_gives_no_leave(tmp_path: Path, capsys: Any) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        'models = ["command/./x"]\nparadigms = ["classic/framing"]\nallow_command = true'
    )
    assert command("run", study, "--outputs", tmp_path / "outputs") == 2
    assert "'allow_command' is not a field of a study" in capsys.readouterr().err


def test_a_manifest_from_elsewhere_starts_no_program(tmp_path: Path) -> None:
    place = tmp_path / "outputs"
    assert command("run", "--model", "sim/human", *FEW, "--outputs", place, "--no-reports") == 0
    note = tmp_path / "started"
    model = program(tmp_path, f"open({str(note)!r}, 'a')", FIRST)
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["cells"][0]["model"] = f"command/{model}"
    manifest["study"]["models"] = [f"command/{model}"]
    manifest["study_hash"] = recorded_study_hash(manifest["study"])  # as if it had been made there
    (place / "manifest.json").write_text(manifest_text(manifest))
    with commands_allowed():  # even if a user gave leave for something else
        for reader in ("status", "effects", "verify", "report"):
            assert command(reader, place) == 0
    assert not note.exists()


def test_leave_is_given_on_a_line_and_not_by_the_environment(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setenv("COGBIAS_COMMANDS_ALLOWED_BY", "1")
    model = "command/" + program(tmp_path, FIRST)
    assert command("run", "--model", model, *FEW, "--outputs", tmp_path / "outputs") == 2
    with pytest.raises(CogbiasError, match="allow_command=True"):
        run(model, "classic/framing", outputs=tmp_path / "outputs", progress=False)


def test_a_writer_needs_leave_too(tmp_path: Path, capsys: Any) -> None:
    texts = "{name: 'x' for name in asked['schema']['required']}"
    model = "command/" + program(tmp_path, f"answer(json.dumps({texts}))")
    asked = ("generate", "managerial/escalation", "--model", model, "--settings", "1")
    asked += ("--attempts", "1", "--out", tmp_path / "texts.jsonl")
    assert command(*asked) == 2
    assert not (tmp_path / "texts.jsonl").exists()
    assert command(*asked, "--allow-command") == 1  # x is no story
    assert '"x"' in (tmp_path / "texts.jsonl").read_text()


@pytest.mark.parametrize("arguments", ["; touch {0}", "&& touch {0}", "$(touch {0})", "> {0}"])
def test_no_shell_sees_the_command_line(tmp_path: Path, arguments: str) -> None:
    note = tmp_path / "touched"
    model = f"{program(tmp_path, FIRST)} {arguments.format(note)}"
    assert {each.status for each in answers(model)} == {"ok"}
    assert not note.exists()


def test_nothing_of_the_environment_is_written(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("MY_MODEL_TOKEN", "tok-verysecretvalue99")
    says = "sys.stderr.write(os.environ['MY_MODEL_TOKEN'] + ' is wrong'); sys.exit(3)"
    model = "command/" + program(tmp_path, "if count == 20:", f"    {says}", FIRST)
    place = tmp_path / "outputs"
    assert command("run", "--model", model, *FEW, "--outputs", place, "--allow-command") == 1
    held = b"".join(file.read_bytes() for file in place.rglob("*") if file.is_file())
    assert b"its last words" in held and b"verysecretvalue" not in held


# What a program may do wrong


def test_answers_of_all_kinds(tmp_path: Path) -> None:
    model = program(
        tmp_path,
        "if count == 1: answer(None)",
        "elif count == 2: answer(3)",
        "elif count == 3: print(json.dumps({'id': asked['id'], 'error': 'no idea'}), flush=True)",
        "elif count == 4: answer({'A': 1.0})",
        f"else: {FIRST}",
    )
    given = answers(model)
    statuses = [each.status for each in given[:5]]
    assert statuses == ["no_response", "invalid_format", "error", "invalid_format", "ok"]
    assert given[2].detail == "the program says: no idea"


def test_probabilities_are_asked_for_by_a_method(tmp_path: Path) -> None:
    model = program(
        tmp_path, "assert asked['want'] == 'probabilities'", "answer({'A': .7, 'B': .3})"
    )
    assert {each.p["A"] for each in answers(model, "option_probability")} == {0.7}
    found = run(
        f"command/{model}",
        "classic/framing",
        method="option_probability",
        outputs=tmp_path / "outputs",
        where={"variant": "base"},
        reports=False,
        progress=False,
        allow_command=True,
    )
    assert found.trials["method"].unique().tolist() == ["option_probability"]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["sys.exit('out of memory')"], "ended with status 1; its last words: out of memory"),
        (["os.abort()"], "was killed by signal 6"),
        (["print('Loading ...', flush=True)"], "no JSON: 'Loading ...'"),
        (["answer('A', 99)"], "answered a question 99 that does not wait for an answer"),
        ([FIRST, FIRST], "answered a question 1 that does not wait"),
        (["answer('A' * 2**21)"], "more than 1,048,576 bytes"),
        (["print('x' * 2**21, end='', flush=True); time.sleep(60)"], "more than 1,048,576 bytes"),
        (["print('{}', flush=True)"], "without the id of a question: '{}'"),
        (["sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush()"], "no UTF-8 text: "),
        pytest.param(
            ["sys.stdout.close(); os.close(1); time.sleep(60)"],
            "closed its output",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_program_that_fails_ends_its_cell(tmp_path: Path, lines: list[str], words: str) -> None:
    with pytest.raises(CogbiasError) as error:
        answers(program(tmp_path, *lines))
    assert words in str(error.value) and "\n" not in str(error.value)


def test_the_last_words_of_a_program_are_shortened(tmp_path: Path) -> None:
    model = program(tmp_path, "sys.stderr.write('noise\\n' * 10**5 + 'x' * 10**5)", "sys.exit(2)")
    with pytest.raises(CogbiasError) as error:
        answers(model)
    assert "status 2; its last words: xxx" in str(error.value) and len(str(error.value)) < 300


@pytest.mark.slow
def test_a_program_that_stalls_costs_an_answer_and_then_the_cell(tmp_path: Path) -> None:
    slow = program(tmp_path, "if count == 3: time.sleep(4)", FIRST)
    given = answers(slow, timeout=3)
    assert [each.status for each in given].count("error") == 1
    assert given[2].detail == "no answer within 3 s"
    with pytest.raises(CogbiasError, match="3 times in a row; see that it flushes every line"):
        answers(program(tmp_path, "time.sleep(60)"), timeout=0.1)


def test_a_program_that_does_not_read_does_not_block(tmp_path: Path) -> None:
    place = tmp_path / "deaf.py"
    place.write_text("import time; time.sleep(60)")
    long = [REQUESTS[0]._replace(item={**ITEMS[0], "prompt": "x" * 10**6})] * 4
    start = time.monotonic()
    with commands_allowed(), pytest.raises(CogbiasError, match="3 times in a row"):
        who = PARTICIPANT(shlex.join([sys.executable, str(place)]), timeout=0.2)
        list(who.answers(long, "text"))
    assert time.monotonic() - start < 20


def test_answers_may_come_in_any_order(tmp_path: Path) -> None:
    model = program(
        tmp_path,
        "held = globals().setdefault('held', [])",
        "held.append(asked)",
        "if len(held) == 4:",
        "    for asked in reversed(held): answer('AB'[not asked['prompt'].endswith('only.')])",
        "    held.clear()",
    )
    assert {each.choice for each in answers(model, concurrency=4)} == {"A"}


def test_a_program_and_what_it_started_end_with_the_run(tmp_path: Path) -> None:
    note = tmp_path / "children"
    child = "import subprocess; child = subprocess.Popen(['sleep', '600'])"
    model = program(
        tmp_path,
        f"if count == 1: {child}",
        f"open({str(note)!r}, 'w').write(str(child.pid))",
        FIRST,
    )
    assert len(answers(model)) == 48
    for _ in range(50):
        if not psutil.pid_exists(int(note.read_text())):
            return
        time.sleep(0.1)
    assert psutil.Process(int(note.read_text())).status() == psutil.STATUS_ZOMBIE


@pytest.mark.slow
def test_an_interrupt_ends_the_program_too(tmp_path: Path) -> None:
    note = tmp_path / "process"
    model = "command/" + program(
        tmp_path, f"open({str(note)!r}, 'w').write(str(os.getpid()))", "time.sleep(600)"
    )
    script = "import sys; from cogbias.cli import main; sys.exit(main())"
    line = ("run", "--model", model, *FEW, "--outputs", str(tmp_path / "o"), "--allow-command")
    running = subprocess.Popen([sys.executable, "-c", script, *line], stderr=subprocess.PIPE)
    for _ in range(600):
        if note.exists() and note.read_text():
            break
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    assert running.wait(30) == 130
    number = int(note.read_text())
    for _ in range(50):
        if not psutil.pid_exists(number):
            return
        time.sleep(0.1)
    assert psutil.Process(number).status() == psutil.STATUS_ZOMBIE


def test_there_is_no_such_program(tmp_path: Path, capsys: Any) -> None:
    asked = ("run", "--model", "command/./nowhere --x", *FEW, "--outputs", tmp_path)
    assert command(*asked, "--allow-command") in (1, 2)
    assert "there is no such program that can be run" in capsys.readouterr().err
    not_executable = tmp_path / "model.py"
    not_executable.write_text("")
    with pytest.raises(CogbiasError, match="chmod"):
        answers(str(not_executable))
    not_executable.write_text("no program")
    os.chmod(not_executable, 0o755)
    with pytest.raises(CogbiasError, match="cannot be started"):
        answers(str(not_executable))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("print('Loading 50%', flush=True)", "no JSON: 'Loading 50%'; write answers only to"),
        ("print(json.dumps({'answer': 'A'}), flush=True)", "without the id of a question"),
        ("answer('A', str(asked['id']))", "write the number that the question has as id"),
        ("answer('A', 99)", "answered a question 99 that does not wait"),
        ("print(json.dumps({'id': asked['id'], 'reply': 'A'}), flush=True)", "holds 'reply'"),
    ],
)
def test_a_line_that_is_no_answer_costs_one(tmp_path: Path, line: str, words: str) -> None:
    "Whether the right answer follows it or not."
    for after in (FIRST, "pass"):
        given = answers(program(tmp_path, f"if count % 4 == 3: {line}; {after}", f"else: {FIRST}"))
        statuses = [each.status for each in given]
        assert statuses == ["ok", "ok", "error", "ok"] * 12
        assert words in given[2].detail


def test_a_program_that_is_ended_for_its_lines_is_told_the_keys_of_one(tmp_path: Path) -> None:
    line = "print(json.dumps({'id': asked['id'], 'probabilities': {'A': 1}}), flush=True)"
    with pytest.raises(CogbiasError) as error:
        answers(program(tmp_path, line))
    said = str(error.value)
    assert "holds 'probabilities'" in said and "(3 questions in a row)" in said
    assert "an answer has the keys id and answer, or id and error" in said and "\n" not in said


def test_talk_before_the_first_question_costs_the_first_answer(tmp_path: Path) -> None:
    place = tmp_path / "talks.py"
    beginning = BEGINNING.replace("count = 0", "count = 0\nprint('Loading', flush=True)")
    place.write_text(f"{beginning}    {FIRST}\n")
    given = answers(shlex.join([sys.executable, str(place)]))
    assert [each.status for each in given] == ["error", *["ok"] * 47]
    assert "everything else to standard error" in given[0].detail


def test_a_question_that_is_answered_twice_keeps_its_first_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    again = "if count % 3 == 0: answer('B')"
    given = answers(program(tmp_path, "answer('A')", again, "time.sleep(0.001)"))
    assert {each.choice for each in given} == {"A"}
    assert "questions twice; the first answers are used" in caplog.text


def test_a_line_that_is_no_answer_among_several_questions_ends_the_cell(tmp_path: Path) -> None:
    wait = "time.sleep(0.5)"
    line = "print('Loading', flush=True)"
    with pytest.raises(CogbiasError, match="no JSON: 'Loading'"):
        answers(program(tmp_path, wait, line, FIRST), concurrency=4)


def test_a_program_that_gives_probabilities_unasked_is_told_how_to_ask(
    tmp_path: Path, caplog: Any
) -> None:
    model = program(tmp_path, "answer({'A': .7, 'B': .3})")
    assert {each.status for each in answers(model)} == {"invalid_format"}
    assert "gave probabilities 48 times where text was asked for" in caplog.text
    assert "--method option_probability" in caplog.text


def test_an_answer_before_its_question_is_refused_counted_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "ahead.py"
    place.write_text(
        "import json, sys\n"
        "for each in range(1, 60):\n"
        "    print(json.dumps({'id': each, 'answer': 'A'}), flush=True)\n"
        "for line in sys.stdin: pass\n"
    )
    given: list = []
    refused = pytest.raises(CogbiasError, match="that does not wait for an answer")
    model = shlex.join([sys.executable, str(place)])
    with commands_allowed(), refused:
        for each in PARTICIPANT(model, timeout=5).answers(REQUESTS, "text"):
            given.append(each[1])
    assert [each.status for each in given].count("ok") <= 1  # the first id is known to be 1
    assert "answered questions that it was not asked, " in caplog.text


def test_the_next_question_cannot_be_answered_ahead(tmp_path: Path) -> None:
    ahead = "answer('B', asked['id'] + 1)"
    given = answers(program(tmp_path, f"if count == 5: {ahead}; time.sleep(0.3)", FIRST))
    assert [place for place, each in enumerate(given) if each.status != "ok"] == [4]
    assert {each.choice for each in given if each.status == "ok"} == {"A"}


def test_a_table_that_comes_out_the_same_is_not_called_missing(tmp_path, monkeypatch, capsys):
    from cogbias import cli

    table = tmp_path / "effects.parquet"

    def estimated(content):
        def estimate(folder, jobs):
            table.write_bytes(content)
            return 52

        monkeypatch.setattr("cogbias.running.estimate_what_lacks", estimate)
        cli._estimate_what_lacks(tmp_path)
        return capsys.readouterr().err

    assert "it was missing, or of other answers" in estimated(b"first")
    assert f"52 estimates made again: {table} is as it was" in estimated(b"first")
    assert "it was missing, or of other answers" in estimated(b"second")
