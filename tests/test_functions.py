"A plain function is a participant: the whole door, from the call to every reader of its folder."

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from calls import command
from cogbias.backends.function import arguments_for, taken_by
from cogbias.design import paradigm
from cogbias.participants import Request, answer_from_text, participant
from cogbias.running_in_python import RunResult, run
from cogbias.tables import CogbiasError

FEW = {
    "where": {"variant": "base", "option_order": 1},
    "reports": False,
    "progress": False,
}  # 48 prompts


def asked(model: Any, folder: Path, **settings: Any) -> RunResult:
    "A function in one classic."
    return run(model, "classic/framing", outputs=folder, **{**FEW, "name": "mine", **settings})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    "A function with its report, asked twice without a revision."
    folder = tmp_path_factory.mktemp("functions") / "outputs"
    asked(lambda prompt: "B", folder)
    return asked(lambda prompt: "A", folder, reports=True)


def test_a_function_gets_a_store_effects_and_a_report(whole: RunResult) -> None:
    assert whole.statuses == {"ok": 48}
    assert set(whole.trials["choice"]) == {"A"} and len(whole.effects) > 1
    assert whole.effects["participant"].unique().tolist() == ["function/mine"]
    (report,) = whole.reports
    text = report.read_text()
    assert "function/mine" in text and "Traceback" not in text


def test_two_functions_of_one_name_in_two_threads_answer_for_themselves(tmp_path: Path) -> None:
    def always(label: str) -> Callable[[str], str]:
        def mine(prompt: str) -> str:
            time.sleep(0.005)  # the other one begins meanwhile
            return label

        return mine

    found = {}

    def ask(label: str) -> None:
        found[label] = asked(always(label), tmp_path / label)

    threads = [threading.Thread(target=ask, args=(label,)) for label in ("A", "B")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert {label: set(found[label].trials["choice"]) for label in found} == {
        "A": {"A"},
        "B": {"B"},
    }


def test_answers_without_a_revision_are_asked_again_and_never_mixed(whole: RunResult) -> None:
    lines = [line for line in whole.said if line.startswith("asked anew")]
    assert lines == [
        "asked anew: 48 earlier answers of function/mine are kept and not used, since nobody says "
        "that it is the same; give revision= to reuse answers"
    ]
    stored = (whole.outputs / "trials" / "function-mine" / "classic-framing.jsonl").read_text()
    assert len(stored.splitlines()) == 96
    assert set(whole.trials["choice"]) == {"A"}  # the ones before said B


@pytest.mark.parametrize("reader", ["effects", "status", "verify", "report"])
def test_every_reader_takes_the_folder(whole: RunResult, reader: str, capsys: Any) -> None:
    assert command(reader, whole.outputs) == 0
    assert "function/mine" in capsys.readouterr().out or reader in ("verify", "report")


@pytest.mark.slow
def test_its_folder_becomes_a_site(whole: RunResult, tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    assert command("site", whole.outputs, "--out", tmp_path / "site") == 0
    pages = [page.read_text() for page in (tmp_path / "site").rglob("*.html")]
    assert any("function/mine" in page for page in pages)


def test_the_result_is_shown(whole: RunResult) -> None:
    said, page = repr(whole), whole._repr_html_()
    assert "48 answers: 48 ok" in said and "effects.csv" in said and "asked anew" in said
    assert "function/mine" in page and "<table" in page and "framing_effect" in page


def test_a_command_says_which_answers_are_not_used(whole: RunResult, capsys: Any) -> None:
    assert command("effects", whole.outputs) == 0
    assert "48 by another method, seed or repeat" in (said := capsys.readouterr().err)
    assert "or by an earlier revision of who answered" in said


def test_no_name_acts_in_a_notebook(tmp_path: Path) -> None:
    found = asked(lambda prompt: None, tmp_path, name="<script>1</script>**x**")
    assert "<script>" not in found._repr_html_() and "&#60;script&#62;" in found._repr_html_()


def test_the_printed_help_is_enough(tmp_path: Path) -> None:
    "What help() prints holds a line that runs as it is, and says what a function takes and gives."
    said = inspect.getdoc(run)
    line = next(each.strip() for each in said.splitlines() if 'name="mine"' in each)
    call = line[: line.index("): ") + 1]
    few = call.replace(")", ", **few)")
    namespace = {"run": run, "few": {"outputs": tmp_path, **FEW}}
    assert eval(few, namespace).statuses == {"ok": 48}
    for words in ("options: label -> text", "label -> probability", "revision: of a function"):
        assert words in said


def test_a_revision_reuses_answers(tmp_path: Path) -> None:
    count: list[str] = []

    def answer(prompt: str) -> str:
        count.append(prompt)
        return "A"

    settings = {"name": None, "revision": "1"}
    assert asked(answer, tmp_path, **settings).said == []
    assert len(count) == 48
    again = asked(answer, tmp_path, **settings)
    assert (len(count), again.statuses, again.said) == (48, {"ok": 48}, [])
    other = asked(answer, tmp_path, name=None, revision="2")
    assert (len(count), other.statuses) == (96, {"ok": 48})


def test_a_function_with_an_answer_for_each_option_is_measured_exactly(tmp_path: Path) -> None:
    count: list[str] = []

    def chances(prompt: str, options: dict[str, str], system: str | None = None) -> dict:
        count.append(prompt)
        assert system and system not in prompt
        first, second = options
        return {first: 0.7, second: 0.3}

    found = asked(chances, tmp_path, name=None, repeats=20)
    assert found.trials["method"].unique().tolist() == ["option_draw"]
    assert len(count) == 48  # each prompt once, whatever the repeats
    assert found.trials["p"].iloc[0] == {"A": 0.7, "B": 0.3}


def test_what_it_gives_is_known_from_the_record_of_its_revision(tmp_path: Path) -> None:
    count: list[str] = []

    def chances(prompt: str, options: dict[str, str]) -> dict:
        count.append(prompt)
        return dict.fromkeys(options, 0.5)

    for _ in range(2):
        found = asked(chances, tmp_path, revision="1")
    assert len(count) == 48 and found.cells[0]["method"] == "option_probability"


def test_a_function_may_answer_one_paradigm_exactly_and_another_with_numbers(
    tmp_path: Path,
) -> None:
    count: list[str] = []

    def both(prompt: str, options: dict[str, str], kind: str) -> Any:
        count.append(prompt)
        return 50 if kind == "number" else dict.fromkeys(options, 1 / len(options))

    few = {"outputs": tmp_path, "reports": False, "progress": False, "revision": "1"}
    for name in ("classic/anchoring", "classic/[ef]*", "classic/[aef]*"):
        found = run(both, name, where={"variant": "base"}, **few)
    assert found.statuses == {"ok": len(count)}
    methods = {cell["paradigm"]: cell["method"] for cell in found.cells}
    assert methods["classic/anchoring"] == methods["classic/endowment"] == "text"
    assert methods["classic/framing"] == "option_probability"


def test_a_number_beyond_the_steps_on_offer_is_an_answer(tmp_path: Path) -> None:
    found = run(lambda prompt: "50", "classic/endowment", name="fifty", outputs=tmp_path, **FEW)
    assert found.statuses == {"ok": 48}  # the steps of an exact method end at 20


def test_an_async_function_answers_under_a_loop_that_runs(tmp_path: Path) -> None:
    under_way: list[int] = []

    async def answer(prompt: str) -> str:
        under_way.append(1)
        most.append(sum(under_way))
        await asyncio.sleep(0.001)
        under_way.pop()
        return "A"

    async def notebook() -> RunResult:
        return asked(answer, tmp_path, name=None, concurrency=6)

    most: list[int] = []
    assert asyncio.run(notebook()).statuses == {"ok": 48}
    assert 1 < max(most) <= 6


def test_what_goes_wrong_costs_its_answer_and_is_told(tmp_path: Path) -> None:
    replies = ["A", None, 3, {"A": 0.5, "B": 0.5}, ["A"], 1 / 3, True, b"A"]
    count: list[str] = []

    def moody(prompt: str) -> Any:
        count.append(prompt)
        if len(count) == 10:
            raise ValueError("no idea")
        return replies[len(count) - 1] if len(count) <= len(replies) else "B"

    found = asked(moody, tmp_path, name=None)
    assert found.statuses == {"ok": 40, "invalid_format": 6, "no_response": 1, "error": 1}
    details = " ".join(found.trials["detail"].dropna())
    for words in ("gave nothing", "gave the number 3 for a choice", "ValueError: no idea"):
        assert words in details
    assert "function/moody in classic/framing: 1 answer is missing; run again" in found.said
    assert any(" x invalid_format: gave " in line for line in found.said)


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ({"A": 0.5, "C": 0.5}, "'C', which is not offered (A, B)"),
        ({"A": 0.5, "B": 0.6}, "add up to 1.1 instead of 1"),
        ({"A": float("nan"), "B": 1.0}, "that is NaN or infinite"),
        ({}, "add up to 0 instead of 1"),
    ],
)
def test_wrong_probabilities_are_told(tmp_path: Path, chances: dict, words: str) -> None:
    found = asked(lambda prompt: chances, tmp_path)
    assert found.statuses == {"invalid_format": 48}
    assert any(words in line for line in found.said)


def test_a_call_that_hangs_costs_its_answer(tmp_path: Path) -> None:
    count: list[str] = []

    def slow(prompt: str) -> str:
        count.append(prompt)
        if len(count) == 5:
            time.sleep(60)
        return "A"

    found = asked(slow, tmp_path, name=None, timeout=3)
    assert found.statuses == {"ok": 47, "error": 1}
    assert "1 x error: did not return within 3 s" in found.said


def test_who_never_returns_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(CogbiasError, match="3 times in a row; give a longer timeout="):
        asked(lambda prompt: time.sleep(3), tmp_path, timeout=0.05)


def test_who_always_raises_ends_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CogbiasError, match="ZeroDivisionError: division by zero") as error:
        asked(lambda prompt: 1 / 0, tmp_path)
    assert "\n" not in str(error.value)


def test_a_key_in_an_exception_is_not_kept(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-abcdefghijklmnop1234")

    def leaks(prompt: str) -> str:
        raise ValueError("wrong key sk-abcdefghijklmnop1234")

    with pytest.raises(CogbiasError) as error:
        asked(leaks, tmp_path, name=None)
    held = " ".join(
        file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()
    )
    assert "abcdefghijklmnop" not in str(error.value) + held


def test_an_interrupt_within_passes(tmp_path: Path) -> None:
    count: list[str] = []

    def stop(prompt: str) -> str:
        count.append(prompt)
        if len(count) > 3:
            raise KeyboardInterrupt
        return "A"

    with pytest.raises(KeyboardInterrupt):
        asked(stop, tmp_path, name=None)
    stored = tmp_path / "trials" / "function-stop" / "classic-framing.jsonl"
    assert 1 <= len(stored.read_text().splitlines()) <= 3


def test_a_function_that_prints_does_no_harm(tmp_path: Path, capsys: Any) -> None:
    def talks(prompt: str) -> str:
        print("{not json", prompt[:5])
        return "A"

    assert asked(talks, tmp_path, name=None).statuses == {"ok": 48}
    assert "{not json" in capsys.readouterr().out


def test_a_script_that_is_interrupted_ends_at_once(tmp_path: Path) -> None:
    "A thread that hangs keeps nobody."
    script = (
        "import os, signal, sys, threading, time\n"
        "from cogbias.running_in_python import run\n"
        "def hang(prompt):\n"
        "    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    time.sleep(60)\n"
        "run(hang, 'classic/framing', outputs=sys.argv[1], reports=False)\n"
    )
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=50
    )
    assert "KeyboardInterrupt" in done.stderr and time.monotonic() - start < 40


def test_a_name_is_needed_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(CogbiasError, match="name='mine'"):
        run(lambda prompt: "A", "classic/framing", outputs=tmp_path)
    with pytest.raises(CogbiasError, match="printable"):
        asked(lambda prompt: "A", tmp_path, name="a\nb")


def test_a_name_alone_finds_no_function(tmp_path: Path, capsys: Any) -> None:
    asked(lambda prompt: "A", tmp_path)
    arguments = ("--model", "function/mine", "--paradigm", "classic/framing", "--outputs", tmp_path)
    for verb in ("run", "plan"):
        assert command(verb, *arguments) == 2
        assert "only the program that holds it can ask it" in capsys.readouterr().err


class Cautious:
    "Somebody with the protocol."

    name, backend, model = "mine/cautious", "mine", "cautious"
    temperature, simulated, methods, identity = None, False, ("text",), {}

    def __init__(self, revision: str | None = None) -> None:
        self.revision, self.count = revision, 0

    def answers(self, requests: Any, method: str) -> Any:
        for place, request in enumerate(requests):
            self.count += 1
            yield place, answer_from_text(request.item, "A")


def test_an_object_with_the_protocol_is_asked_likewise(tmp_path: Path) -> None:
    who = Cautious("1")
    for _ in range(2):
        found = run(who, "classic/framing", outputs=tmp_path, **FEW)
    assert (who.count, found.statuses, found.said) == (48, {"ok": 48}, [])
    assert command("effects", tmp_path) == command("status", tmp_path) == 0
    nobody_vouches = Cautious()
    for _ in range(2):
        found = run(nobody_vouches, "classic/framing", outputs=tmp_path / "other", **FEW)
    assert nobody_vouches.count == 96 and found.said[0].startswith("asked anew: 48 ")


class NoAnswers(Cautious):
    "One whose answers() gives nothing back."

    def answers(self, requests: Any, method: str) -> None: ...


@pytest.mark.parametrize(
    ("who", "words"),
    [
        (Cautious, r"Cautious is a class; give an object of it: Cautious\(\.\.\.\)"),
        (NoAnswers("1"), r"answers\(\) should yield .* not None"),
    ],
)
def test_what_is_almost_a_participant_is_told_what_it_lacks(
    who: Any, words: str, tmp_path: Path
) -> None:
    with pytest.raises(CogbiasError, match=words):
        run(who, "classic/framing", outputs=tmp_path, **FEW)


def test_nobody_passes_for_somebody_else(tmp_path: Path) -> None:
    who = Cautious("1")
    who.name, who.backend = "sim/human", "sim"
    with pytest.raises(CogbiasError, match="sim is a backend that is installed"):
        run(who, "classic/framing", outputs=tmp_path, **FEW)
    with pytest.raises(CogbiasError, match="lacks 'name'"):
        run(type("Half", (), {"answers": None})(), "classic/framing", outputs=tmp_path, **FEW)


def test_a_participant_of_a_backend_and_a_name_give_the_same(tmp_path: Path) -> None:
    first = run("sim/human", "classic/framing", outputs=tmp_path / "name", **FEW)
    second = run(participant("sim/human"), "classic/framing", outputs=tmp_path / "object", **FEW)
    assert first.effects.equals(second.effects)
    warm = run("sim/human", "classic/framing", outputs=tmp_path / "name", temperature=0.5, **FEW)
    assert warm.cells[0]["participant"] == "sim/human temperature=0.5"


def test_items_and_paradigms_at_hand_are_asked(tmp_path: Path) -> None:
    certainty = paradigm("choice/certainty")
    items = certainty.items().head(84)
    settings = {"outputs": tmp_path, "reports": False, "progress": False, "name": "mine"}
    assert len(run(lambda prompt: "A", items, **settings).trials) == 84
    found = run(lambda prompt: "A", certainty, **settings, where={"template": 1})
    assert found.cells[0]["paradigm"] == "choice/certainty"
    assert command("verify", tmp_path) == 0


def test_both_doors_open_into_each_other(tmp_path: Path, monkeypatch: Any) -> None:
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


def test_a_record_in_a_folder_starts_nothing(tmp_path: Path, capsys: Any) -> None:
    "A manifest that says that a function answered: read, and never asked."
    asked(lambda prompt: "A", tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["cells"][0]["model"] == "function/mine"
    assert command("report", tmp_path) == 0
    assert "2 reports written" in capsys.readouterr().out  # of the cell, and on the study


@pytest.mark.parametrize(
    "ending", [SystemExit(3), GeneratorExit(), BaseExceptionGroup("x", [KeyError()])]
)
def test_who_wants_to_end_the_program_loses_that_answer(
    tmp_path: Path, ending: BaseException
) -> None:
    count: list[str] = []

    def ends(prompt: str) -> str:
        count.append(prompt)
        if len(count) == 5:
            raise ending
        return "A"

    async def ends_later(prompt: str) -> str:
        await asyncio.sleep(0)
        return ends(prompt)

    for each in (ends, ends_later):
        count.clear()
        found = asked(each, tmp_path, name=None)
        assert found.statuses == {"ok": 47, "error": 1}
        assert f"1 x error: {type(ending).__name__}" in " ".join(found.said)


def test_the_help_says_where_the_system_text_is() -> None:
    said = inspect.getdoc(run)
    assert (
        "prompt: the text of the question, below the system text if the function takes no" in said
    )
    assert "the first answer decides between the two" in said
    item = paradigm("classic/framing").items().iloc[0].to_dict()
    request = Request({**item, "system": "You are a judge."}, 0, 1)
    for function, prompt, system in [
        (lambda text: "A", f"You are a judge.\n\n{item['prompt']}", None),
        (lambda text, system: "A", item["prompt"], "You are a judge."),
        (lambda text, **more: "A", item["prompt"], "You are a judge."),
    ]:
        places, names = arguments_for(taken_by(function, "mine"), request)
        assert (places, names.get("system")) == ([prompt], system)


def test_nothing_is_called_where_a_revision_has_answered_everything(tmp_path: Path) -> None:
    "Whoever was asked in between, and for all prompts or for some."
    count: list[str] = []

    def words(prompt: str) -> str:
        count.append(prompt)
        return "A"

    def chances(prompt: str, options: dict[str, str]) -> dict:
        count.append(prompt)
        return dict.fromkeys(options, 0.5)

    some = {"variant": "base", "option_order": 1, "condition": "control"}
    for name, function in (("words", words), ("chances", chances)):
        place = tmp_path / name
        for revision in ("1", "2"):
            asked(function, place, revision=revision)
        asked(function, place)
        count.clear()
        again = asked(function, place, revision="1", where=some)
        assert (count, again.cells[0]["asked"], again.statuses) == ([], 0, {"ok": 24})


def test_probabilities_that_were_rounded_are_taken_and_told(tmp_path: Path) -> None:
    found = asked(lambda prompt: {"A": 0.5, "B": 0.499}, tmp_path)
    assert found.statuses == {"ok": 48}
    trial = found.trials.iloc[0]
    assert sum(trial["p"].values()) == pytest.approx(1) and trial["valid_mass"] == 0.999
    assert "add up to 0.999; they were divided by their sum" in trial["detail"]


@pytest.mark.parametrize("in_python", [True, False])
def test_answers_to_other_items_are_kept_and_said_to_be(
    tmp_path: Path, capsys: Any, in_python: bool
) -> None:
    "The same in Python and on the command line, and all of them count again."
    asked_for = ("run", "--model", "sim/human", "--paradigm", "classic/framing", "--no-reports")
    said, statuses = [], []
    for condition in ([], ["control"], []):
        if in_python:
            where = {"variant": "base"} | ({"condition": condition} if condition else {})
            found = asked("sim/human", tmp_path, name=None, where=where)
            said.append(" ".join(found.said))
            statuses.append(sum(found.statuses.values()))
        else:
            more = [f"condition={each}" for each in condition]
            where = [part for each in ("variant=base", *more) for part in ("--where", each)]
            assert command(*asked_for, *where, "--outputs", tmp_path) == 0
            shown = capsys.readouterr()
            said.append(shown.err)
            statuses.append("nothing new" in shown.out)
    kept = "which holds what was asked last: these answers stay, and count when their items are"
    assert [kept in line for line in said] == [False, True, False]
    assert statuses == ([96, 48, 96] if in_python else [False, True, True])


def test_a_notebook_shows_a_mistake_in_one_line() -> None:
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
    code = "import cogbias; cogbias.run('sim/human', 'no_such_file.toml')"
    shown: list[str] = []
    shell._showtraceback = lambda kind, error, lines: shown.extend(lines)
    shell.run_cell(code)
    assert len(shown) == 1 and shown[0].startswith("CogbiasError: ") and "\n" not in shown[0]


class OffByOne(Cautious):
    "It counts its answers from 1."

    def __init__(self, all_at_once: bool) -> None:
        super().__init__("1")
        self.all_at_once = all_at_once

    def answers(self, requests: Any, method: str) -> Any:
        for place, request in enumerate(list(requests) if self.all_at_once else requests):
            self.count += 1
            yield place + 1, answer_from_text(request.item, "A")


@pytest.mark.parametrize("all_at_once", [False, True])
def test_who_counts_wrongly_is_told_and_nothing_is_stored(
    all_at_once: bool, tmp_path: Path
) -> None:
    who = OffByOne(all_at_once)
    with pytest.raises(CogbiasError, match="counted from 0"):
        run(who, "classic/framing", outputs=tmp_path, **FEW)
    assert who.count == (48 if all_at_once else 1)
    assert not [line for file in tmp_path.rglob("*.jsonl") for line in file.open()]
