"A plan is written down as a preregistration: every paradigm with what is expected and computed."

import json

from typer.testing import CliRunner

import cogbias as cb
from cogbias.cli import app

NAMES = ("classic/anchoring", "choice/certainty", "bets/coin")


def test_a_plan_is_written_down(tmp_path):
    file = tmp_path / "plan.md"
    asked = [part for each in NAMES for part in ("--paradigm", each)]
    given = ["--model", "openai/far", "--model", "sim/human", "--max-prompts", "60", *asked]
    given += ["--outputs", str(tmp_path / "out"), "--preregistration", str(file), "--json"]
    done = CliRunner().invoke(app, ["plan", *given])
    assert done.exit_code == 0, (done.output, done.exception)
    text, power = file.read_text(), json.loads(done.stdout)["power"]
    for name in NAMES:
        one = cb.paradigm(name)
        for words in (f"(`{name}`)", one.headline.title, one.positive.rstrip("."), one.norm):
            assert words in text
    assert text.count("A primary effect is declared different from zero") == len(NAMES)
    for row in power:
        assert f"| {row['participant']} | {row['paradigm']} |" in " ".join(text.split())
    assert "refusal, no_response" in text and "3 primary effects of each participant" in text
    assert "Benjamini, Y." in text and "&#" not in text and "{{" not in text
    assert not (tmp_path / "out").exists()  # nothing is asked
