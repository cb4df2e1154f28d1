"A model that writes stories keeps within limits, as one that answers does."

import json

from doubles import Double
from typer.testing import CliRunner

from cogbias.cli import app

PRICE = ["--price", "openai/*=1,1"]  # usd a million; an answer of the double costs 21 of them


def generate(double, out, *more):
    "Status and standard error of a call."
    words = ["generate", "managerial/escalation", "--model", "openai/tiny", "--out", str(out)]
    words += ["--base-url", double.openai, "--settings", "20", "--set", "max_tokens=64"]
    found = CliRunner().invoke(app, [*words, *more])
    return found.exit_code, found.stderr


def answers(out):
    "How many answers a table holds."
    if not out.exists():
        return 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return len({(row["setting"], row["instance"], row["attempt"], row["seed"]) for row in rows})


def test_writing_stops_at_its_limit_and_goes_on_from_there(tmp_path):
    out = tmp_path / "stories.jsonl"
    with Double() as double:
        status, said = generate(double, out, *PRICE, "--limit", "usd=0.0015")
        assert status == 3, said
        lines = [line for line in said.splitlines() if line.startswith("stopped")]
        assert len(lines) == 1 and "the limit of 0.0015 usd is reached" in lines[0], said
        first = answers(out)
        assert 0 < first < 60 and first * 21e-6 <= 0.0015

        status, said = generate(double, out, *PRICE, "--limit", "usd=0.0015")
        assert status == 3 and answers(out) - first <= 2, "what was spent before counts"

        status, said = generate(double, out, *PRICE, "--limit", "usd=1")
        assert status == 1, "it writes no story, and every try was made"
        assert answers(out) == 60
