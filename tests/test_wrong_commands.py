"A wrong command ends at once, with one line on standard error that says what is wrong."

import contextlib
import io

import pytest

from cogbias.cli import main

ASKED = "--model sim/human --paradigm choice/certainty"
RUN, PLAN = f"run --no-reports {ASKED}", f"plan {ASKED}"
MODEL = "run --no-reports --paradigm choice/decoy --outputs o --model"
FILES = {  # of every wrong kind
    "file": b"a file",
    "items.csv": b"a,b\n1,2\n",
    "bad.parquet": b"PAR1",
    "bad.jsonl": b"{",
    "bad.zip": b"PK",
    "not.toml": b"models = [",
    "empty.toml": b"",
}
STUDIES = {  # what stands below the models and paradigms of a study file -> what is said
    "repeat = 2": "did you mean 'repeats'",
    'method = "txt"': "did you mean 'text'",
    "[where]\nx = [1]": "has no factor 'x'",
    '[settings."choice/decoy"]\nx = 1': "'x' is not an argument of its items()",
    'items_file = "none.csv"': "none.csv: no such file",
}
FOLDERS = ("status", "effects", "compare", "report", "site", "verify")  # they read answers
COMMANDS = {  # what is typed -> what is said
    "nonsense": "No such command 'nonsense'",
    "--no-such": "No such option: --no-such",
    "list paradigm": "did you mean 'paradigms'",
    "items": "Missing argument 'PARADIGM'",
    "items choice/certanty": "did you mean 'choice/certainty'",
    "items choice/certainty --seed x": "'--seed'",
    "items choice/certainty --out file/items.csv": "file/items.csv cannot write",
    "plan": "give a study file, or both --model and --paradigm",
    "plan nowhere.toml": "nowhere.toml: no such study file",
    "plan not.toml": "not.toml: not valid TOML",
    "plan empty.toml": "empty.toml: models must be a list of names",
    "run --model human --paradigm choice/decoy": "have the form backend/name",
    "run --model sim/human --paradigm chioce/*": "did you mean 'choice/decoy'",
    f"{RUN} --outputs file": "choose a folder",
    f"{RUN} --outputs o --jobs 0": "'--jobs'",
    f"{RUN} --outputs o --cluster nowhere": "cluster 'nowhere': no scheduler answers there",
    f"{MODEL} openai/x": "OPENAI_API_KEY is not set",
    f"{MODEL} openai/x --base-url http://127.0.0.1:9": "no response from",
    f"{MODEL} openai/x --base-url ftp://x": "base_url is not an address",
    f"{MODEL} openai/x --set x=1": "has no setting 'x'",
    f"{MODEL} hf/nobody": "cannot be downloaded",
    f"{MODEL} command/ls": "add --allow-command",
    f"{PLAN} --repeats 0": "repeats must be a whole number",
    f"{PLAN} --method encoder": "sim/human cannot be asked with",
    f"{PLAN} --where template": "template=1; see",
    f"{PLAN} --where template=99": "no item of choice/certainty matches",
    f"{PLAN} --limit usd": "usd=5; see",
    f"{PLAN} --price a=1": "prices.a must be a table with in and out",
    f"{PLAN} --items items.csv": "column 'paradigm' is missing",
    f"{PLAN} --items bad.parquet": "bad.parquet cannot be read",
    f"train {ASKED} --outputs o": "has no encoder to train",
    "generate choice/certainty --model sim/human --out x.jsonl": "there is nothing to generate",
    "new thing x": "use 'cogbias new paradigm NAME'",
    "new paradigm a/b": "'a/b' is not a valid name",
    "new paradigm mine --kit no": "kit 'no' is not known",
    **{f"{name} folder": "folder: not an outputs folder with answers" for name in FOLDERS},
    "effects good --out e.doc": "unknown format '.doc'",
    "compare good": "a comparison needs two participants",
    "site good": "good has no reports; run 'cogbias report good' first",
    "import nobody bad.zip --out x.csv": "import format 'nobody' is not known",
    "import instructed-to-bias bad.zip --out x.csv": "bad.zip cannot be read",
    "import csv items.csv --out x.csv": "has no items.csv",
    "import csv items.csv": "Missing option '--out'",
    "import answers items.csv": "the one that these answers come from",
    "import answers items.csv --paradigm classic/framing": "--columns person=COLUMN",
    "import answers items.csv --paradigm classic/framing --paradigm logic/belief": "come from",
    "import answers items.csv --paradigm classic/framing --where variant=base": "there is no",
    "export csv choice/certanty --out x.csv": "did you mean 'choice/certainty'",
    "export word good --out x.doc": "available: csv, datasets, inspect, inspect-evals, jsonl",
    "export jspsych good --out x": "good: is a folder; write as in 'cogbias export jspsych ",
    "export csv good --out file/x.csv": "cannot write",
}


def called(arguments):
    "Status and the lines on standard error of a command, in this process."
    said = io.StringIO()
    with (
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(io.StringIO()),
        pytest.raises(SystemExit) as end,
    ):
        main(arguments)
    return end.value.code, said.getvalue().splitlines()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    "Files of every wrong kind, and one folder that is right."
    place = tmp_path_factory.mktemp("wrong")
    for name, text in FILES.items():
        (place / name).write_bytes(text)
    (place / "folder").mkdir()
    few = ["--where", "template=1", "--where", "design=common_ratio"]
    assert called([*RUN.split(), *few, "--outputs", str(place / "good")]) == (0, [])
    return place


@pytest.fixture(autouse=True)
def _here(place, monkeypatch, no_settings_of_the_machine):
    monkeypatch.chdir(place)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def check(arguments, said):
    "A command ends in one line that says so, and was foreseen."
    status, lines = called(arguments)
    assert status in (1, 2) and len(lines) == 1, (status, lines)
    assert said in lines[0] and "please report it" not in lines[0], lines
    assert lines[0].startswith("failed " if status == 1 else "cogbias: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_command_ends_in_a_line(command: str) -> None:
    check(command.split(), COMMANDS[command])


@pytest.mark.parametrize("text", STUDIES)
def test_a_wrong_study_file_ends_in_a_line(text, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(f'models = ["sim/human"]\nparadigms = ["choice/decoy"]\n{text}\n')
    check(["plan", str(study)], STUDIES[text])
