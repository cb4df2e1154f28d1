"A plain function is a participant: the whole door, from the call to every reader of its folder."

import asyncio
import time
from pathlib import Path

import pandas as pd
import pytest

from calls import command
from cogbias.backends.function import function_participant
from cogbias.design import paradigm
from cogbias.participants import Request, answer_from_text, participant
from cogbias.running import rendering
from cogbias.running.in_python import run
from cogbias.tables import CogbiasError

FEW = {
    "where": {"variant": "base", "option_order": 1},
    "reports": False,
    "progress": False,
}  # 80 prompts


def asked(model, folder, **settings):
    "A function in one classic."
    return run(model, "classic/framing", outputs=folder, **{**FEW, "name": "mine", **settings})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    "A function with its report, asked twice without a revision."
    folder = tmp_path_factory.mktemp("functions") / "outputs"
    asked(lambda prompt: "B", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering, "IMPORTED", ())  # in this process
        return asked(lambda prompt: "A", folder, reports=True)


def test_a_function_gets_a_store_effects_and_a_report(whole):
    assert whole.statuses == {"ok": 80}
    assert set(whole.trials["choice"]) == {"A"} and len(whole.effects) > 1
    assert whole.effects["participant"].unique().tolist() == ["function/mine"]
    (report,) = whole.reports
    text = report.read_text()
    assert "function/mine" in text and "Traceback" not in text


@pytest.mark.parametrize("reader", ["effects", "status", "verify"])
def test_every_reader_takes_the_folder(whole, reader, capsys):
    assert command(reader, whole.outputs) == 0
    assert "function/mine" in capsys.readouterr().out or reader == "verify"


def test_a_revision_reuses_answers(tmp_path):
    count: list[str] = []

    def answer(prompt):
        count.append(prompt)
        return "A"

    settings = {"name": None, "revision": "1"}
    assert asked(answer, tmp_path, **settings).said == []
    assert len(count) == 80
    again = asked(answer, tmp_path, **settings)
    assert (len(count), again.statuses, again.said) == (80, {"ok": 80}, [])
    other = asked(answer, tmp_path, name=None, revision="2")
    assert (len(count), other.statuses) == (160, {"ok": 80})


def test_a_function_with_an_answer_for_each_option_is_measured_exactly(tmp_path):
    count: list[str] = []

    def chances(prompt, options, system=None):
        count.append(prompt)
        assert system and system not in prompt
        first, second = options
        return {first: 0.7, second: 0.3}

    found = asked(chances, tmp_path, name=None, repeats=20)
    assert found.trials["method"].unique().tolist() == ["option_draw"]
    assert len(count) == 80  # each prompt once, whatever the repeats
    assert found.trials["p"].iloc[0] == {"A": 0.7, "B": 0.3}


def test_a_function_may_answer_one_paradigm_exactly_and_another_with_numbers(tmp_path):
    count: list[str] = []

    def both(prompt, options, kind):
        count.append(prompt)
        return 50 if kind == "number" else dict.fromkeys(options, 1 / len(options))

    few = {"outputs": tmp_path, "reports": False, "progress": False, "revision": "1"}
    for name in ("classic/anchoring", "classic/[ef]*", "classic/[aef]*"):
        found = run(both, name, where={"variant": "base"}, **few)
    assert found.statuses == {"ok": len(count)}
    methods = {cell["paradigm"]: cell["method"] for cell in found.cells}
    assert methods["classic/anchoring"] == methods["classic/endowment"] == "text"
    assert methods["classic/framing"] == "option_probability"


def test_an_async_function_answers_under_a_loop_that_runs(tmp_path):
    under_way: list[int] = []

    async def answer(prompt):
        under_way.append(1)
        most.append(sum(under_way))
        await asyncio.sleep(0.001)
        under_way.pop()
        return "A"

    async def notebook():
        return asked(answer, tmp_path, name=None, concurrency=6)

    most: list[int] = []
    assert asyncio.run(notebook()).statuses == {"ok": 80}
    assert 1 < max(most) <= 6


def test_a_name_is_needed_where_there_is_none(tmp_path):
    with pytest.raises(CogbiasError, match="name='mine'"):
        run(lambda prompt: "A", "classic/framing", outputs=tmp_path)
    with pytest.raises(CogbiasError, match="printable"):
        asked(lambda prompt: "A", tmp_path, name="a\nb")


def test_a_name_alone_finds_no_function(tmp_path, capsys):
    asked(lambda prompt: "A", tmp_path)
    arguments = ("--model", "function/mine", "--paradigm", "classic/framing", "--outputs", tmp_path)
    for verb in ("run", "plan"):
        assert command(verb, *arguments) == 2
        assert "only the program that holds it can ask it" in capsys.readouterr().err


class Cautious:
    "Somebody with the protocol."

    name, backend, model = "mine/cautious", "mine", "cautious"
    temperature, simulated, methods, identity = None, False, ("text",), {}

    def __init__(self, revision=None):
        self.revision, self.count = revision, 0

    def answers(self, requests, method):
        for place, request in enumerate(requests):
            self.count += 1
            yield place, answer_from_text(request.item, "A")


class NoAnswers(Cautious):
    "One whose answers() gives nothing back."

    def answers(self, requests, method): ...


@pytest.mark.parametrize(
    ("who", "words"),
    [
        (Cautious, r"Cautious is a class; give an instance of it: Cautious\(\.\.\.\)"),
        (NoAnswers("1"), r"answers\(\) should yield .* not None"),
    ],
)
def test_what_is_almost_a_participant_is_told_what_it_lacks(who, words, tmp_path):
    with pytest.raises(CogbiasError, match=words):
        run(who, "classic/framing", outputs=tmp_path, **FEW)


def test_a_participant_of_a_backend_and_a_name_give_the_same(tmp_path):
    first = run("sim/human", "classic/framing", outputs=tmp_path / "name", **FEW)
    second = run(participant("sim/human"), "classic/framing", outputs=tmp_path / "object", **FEW)
    assert first.effects.equals(second.effects)
    warm = run("sim/human", "classic/framing", outputs=tmp_path / "name", temperature=0.5, **FEW)
    assert warm.cells[0]["participant"] == "sim/human temperature=0.5"


def test_both_doors_open_into_each_other(tmp_path, monkeypatch):
    "A function is asked a bias in a text file, and one in a table of wordings."
    monkeypatch.chdir(tmp_path)
    assert command("new", "paradigm", "my_bias") == 0
    settings = {"name": "mine", "reports": False, "progress": False}
    for place in ("my_bias.toml", Path("my_bias.toml")):
        found = run(lambda prompt: "A", place, outputs="of_file", **settings)
    assert found.cells[0]["paradigm"] == "own/my_bias" and set(found.statuses) == {"ok"}
    assert command("verify", "of_file") == command("status", "of_file") == 0
    wordings = pd.DataFrame(
        {
            "wording": ["coat", "coat", "lamp", "lamp"],
            "condition": ["control", "treatment"] * 2,
            "prompt": ["Buy the coat?", "Leave the coat?", "Buy this lamp?", "Leave this lamp?"],
            "option_a": "Yes",
            "option_b": "No",
            "target": "a",
        }
    )
    found = run(lambda prompt: "A", wordings, outputs="of_table", **settings)
    assert found.statuses == {"ok": 8} and command("verify", "of_table") == 0


def test_what_goes_wrong_costs_its_answer_and_is_told(monkeypatch):
    monkeypatch.setenv("LAB_KEY", "planted-horse-42")
    endings = [ValueError("no planted-horse-42"), SystemExit(3), GeneratorExit(), None]

    def moody(prompt, repeat):
        if endings[repeat] is None:
            time.sleep(30)
        raise endings[repeat]

    item = paradigm("classic/framing").items().iloc[0].to_dict()
    requests = [Request(item, repeat, 1) for repeat in range(4)]
    who = function_participant(moody, timeout=0.3)
    details = [answer.detail for _, answer in who.answers(requests, "text")]
    assert details == [
        "ValueError: no [secret]",
        "SystemExit: 3",
        "GeneratorExit",
        "did not return within 0.3 s",
    ]
    with pytest.raises(CogbiasError, match="5 requests failed.*give a longer timeout="):
        list(who.answers([requests[3]] * 5, "text"))
    always = function_participant(lambda prompt: 1 / 0, "always")
    with pytest.raises(CogbiasError, match="division by zero.*try the function with one prompt"):
        list(always.answers(requests * 6, "text"))

    def stop(prompt):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(function_participant(stop).answers(requests, "text"))
