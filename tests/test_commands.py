"A program is a participant: started by the user only, and told apart from what it is not."

import json
import shlex
import signal
import subprocess
import sys
import time

import psutil
import pytest

from calls import command
from cogbias.backends.command import PARTICIPANT, commands_allowed
from cogbias.design import paradigm
from cogbias.participants import Request
from cogbias.running.in_python import run
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


def program(folder, *lines):
    "The command line of a program that does this with each question."
    place = folder / "model.py"
    place.write_text(BEGINNING + "".join(f"    {line}\n" for line in lines))
    return shlex.join([sys.executable, str(place)])


def answers(model, method="text", **settings):
    "What a program answers to 48 questions, in their order."
    with commands_allowed():
        given = dict(PARTICIPANT(model, **settings).answers(REQUESTS, method))
    return [given[place] for place in range(len(REQUESTS))]


def test_a_study_file_starts_no_program(tmp_path, capsys):
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


def test_leave_is_given_on_a_line_and_not_by_the_environment(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COGBIAS_COMMANDS_ALLOWED_BY", "1")
    model = "command/" + program(tmp_path, FIRST)
    assert command("run", "--model", model, *FEW, "--outputs", tmp_path / "outputs") == 2
    with pytest.raises(CogbiasError, match="allow_command=True"):
        run(model, "classic/framing", outputs=tmp_path / "outputs", progress=False)


@pytest.mark.parametrize("arguments", ["; touch {0}", "&& touch {0}", "$(touch {0})", "> {0}"])
def test_no_shell_sees_the_command_line(tmp_path, arguments):
    note = tmp_path / "touched"
    model = f"{program(tmp_path, FIRST)} {arguments.format(note)}"
    assert {each.status for each in answers(model)} == {"ok"}
    assert not note.exists()


def test_a_program_and_what_it_started_end_with_the_run(tmp_path):
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
def test_an_interrupt_ends_the_program_too(tmp_path):
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


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("print('Loading', flush=True)", "but 'Loading'"),
        ("answer('A', -1)", "wrote no answer to question"),
        ("sys.exit('no memory')", "its last words: no memory"),
        ("time.sleep(60)", "did not return within 0.5 s"),
    ],
)
def test_what_is_no_answer_costs_one_and_then_the_cell(tmp_path, line, words):
    now_and_then = program(tmp_path, f"if asked['seed'] % 9 == 0: {line}", FIRST)
    requests = [Request(ITEMS[0], 0, seed) for seed in range(1, 20)]
    with commands_allowed():
        who = PARTICIPANT(now_and_then, timeout=0.5)
        given = [answer for _, answer in who.answers(requests, "text")]
        assert [each.status for each in given].count("error") == 2
        assert words in " ".join(each.detail or "" for each in given)
        never = PARTICIPANT(program(tmp_path, line), timeout=0.5)
        with pytest.raises(CogbiasError, match="3 "):
            list(never.answers(requests, "text"))
