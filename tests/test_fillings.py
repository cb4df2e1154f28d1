"""What models write into stories: broken rules, servers, hostile tables, many writers."""

import json
import logging
import multiprocessing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from doubles import Double
from servers import MISSING, llama_server, llama_server_binary
from written_gguf import writing_gguf

from cogbias.backends.openai import OpenaiParticipant
from cogbias.backends.sim import exact_trials
from cogbias.cli import main
from cogbias.design import paradigm
from cogbias.effects import estimate_effects
from cogbias.fillings.review import broken_rules
from cogbias.fillings.writing import generate
from cogbias.kits.frames import Gap
from cogbias.kits.scenario import (
    CHANGE,
    Metric,
    Scenario,
    load_fillings,
    scenario_items,
)
from cogbias.reporting.markup import marked
from cogbias.participants import Answer
from cogbias.tables import CogbiasError

needs_server = pytest.mark.skipif(llama_server_binary() is None, reason=MISSING)


def story(**gaps):
    "A scenario with some gaps, all of them shared."
    told = " ".join(f"[[{name}]]" for name in gaps)
    return Scenario(
        name="managerial/example",
        situation={"control": f"You own {told}.", "treatment": f"They own {told}."},
        question="By how much do you change the funds?",
        scale=CHANGE,
        gaps=gaps,
        metric=Metric(kappa=1),
    )


ONE = story(goods=Gap("things that an office needs", "plural noun", most=5))


@dataclass
class Writer:
    "Answers from a script: by number of the answer, or well."

    good: Mapping[str, str]  # gap -> text
    script: dict[int, Any] = field(default_factory=dict)  # number, from 1 -> a text or an answer
    name: str = "double/writer"
    backend: str = "double"
    model: str = "writer"
    methods: tuple[str, ...] = ("text",)
    asked: list[Any] = field(default_factory=list)
    stop_after: int = 10**9

    def answers(self, requests, method):
        for index, request in enumerate(requests):
            if len(self.asked) == self.stop_after:
                raise KeyboardInterrupt
            self.asked.append(request)
            wanted = request.item["response_schema"]["required"]
            said = self.script.get(
                len(self.asked), json.dumps({name: self.good.get(name, "") for name in wanted})
            )
            yield index, said if isinstance(said, Answer) else Answer("invalid_format", said)


def attempts(path):
    "Status and detail of every row."
    return list(load_fillings(path)[["status", "detail"]].itertuples(index=False, name=None))


class TestRules:
    "A broken rule is recorded with its status and detail, and asked again."

    BREACHES = [
        ("sentence", "It stays. It is old.", "is more than one sentence"),
        ("noun phrase", "a secret depot", "holds the word 'secret'"),
        ("noun phrase", "a place of this kind", "repeats its instruction"),
        ("noun phrase", "a " + "x" * 9000, "has a word of more than 40 letters"),
    ]

    @pytest.mark.parametrize(("form", "text", "said"), BREACHES)
    def test_a_broken_rule_is_recorded_and_asked_again(self, form, text, said, tmp_path):
        case = story(text=Gap("a place of this kind", form, without=("secret",)))
        good = "The depot stays." if form == "sentence" else "a depot"
        writer = Writer({"text": good}, {1: json.dumps({"text": text})})
        path = tmp_path / "written.jsonl"
        done = generate(case, writer, path, settings=1)
        first, second = attempts(path)
        assert first[0] == "broken" and said in first[1]
        assert second == ("ok", "") and (done.whole, done.asked) == (1, 2)
        assert "An earlier try was refused" in writer.asked[1].item["prompt"]
        assert writer.asked[0].seed != writer.asked[1].seed
        assert len(broken_rules(load_fillings(path))) >= 1

    ANSWERS = [
        ("I would rather not.", "unreadable", "no JSON object"),
        ("{" * 2_000_000, "unreadable", "no JSON object"),
        (
            Answer("truncated", '{"goods": "to', finish_reason="length"),
            "unreadable",
            "no JSON object; the answer was cut off",
        ),
        (Answer("error", None, detail="timed out \ud800"), "error", "timed out \ufffd"),
    ]

    @pytest.mark.parametrize(("said", "status", "detail"), ANSWERS)
    def test_what_cannot_be_read_is_recorded_and_asked_again(self, said, status, detail, tmp_path):
        path = tmp_path / "written.jsonl"
        done = generate(ONE, Writer({"goods": "old tools"}, {1: said}), path, settings=1)
        assert attempts(path) == [(status, detail), ("ok", "")] and done.whole == 1

    def test_what_quotes_a_refused_text_is_written_again_with_it(self, tmp_path):
        case = story(plan=Gap("a project"), news=Gap("how [[plan]] went", "sentence"))
        wrong = json.dumps({"plan": "a canteen with 3 cooks", "news": "The canteen burned."})
        writer = Writer({"plan": "a depot", "news": "The depot burned."}, {1: wrong})
        path = tmp_path / "written.jsonl"
        assert generate(case, writer, path, settings=1).whole == 1
        assert writer.asked[1].item["response_schema"]["required"] == ["plan", "news"]
        items = scenario_items(case, fillings=str(path))
        assert not items["prompt"].str.contains("canteen").any()


class TestGivingUp:
    "A story that fails after its retries is reported, and the rest goes on."

    def test_the_command_says_so_and_ends_with_status_1(self, tmp_path, monkeypatch, capsys):
        good = {"plan": "a depot", "news": "Nobody buys amber."}
        hopeless = Writer(good, dict.fromkeys((1, 4, 5), "No."))
        monkeypatch.setattr("cogbias.participants.participant", lambda name, **more: hopeless)
        path = tmp_path / "written.jsonl"
        words = ["generate", "managerial/escalation", "--model", "openai/double", "--out"]
        with pytest.raises(SystemExit) as ended:
            main([*words, str(path), "--settings", "3"])
        out = capsys.readouterr().out
        assert ended.value.code == 1
        assert "2 of 3 stories are complete" in " ".join(out.split())
        items = scenario_items(paradigm("managerial/escalation").written, fillings=str(path))
        assert (items["cluster"].nunique(), items.attrs["left_out"]) == (2, 1)
        with pytest.raises(SystemExit) as ended:
            main([*words, str(path), "--settings", "3", "--json"])
        told = json.loads(capsys.readouterr().out)
        assert ended.value.code == 1
        assert (told["whole"], told["stories"], told["asked"]) == (2, 3, 0) and told["quality"]

    def test_an_answer_that_never_came_is_no_try(self, tmp_path):
        path = tmp_path / "written.jsonl"
        down = Writer({}, {number: Answer("error", None, detail="down") for number in range(1, 7)})
        done = generate(ONE, down, path, settings=2)
        assert (done.whole, done.asked, done.statuses) == (0, 6, {"error": 6})
        assert generate(ONE, Writer({"goods": "tools"}), path, settings=2).whole == 2

    def test_an_interrupt_loses_nothing(self, tmp_path):
        path = tmp_path / "written.jsonl"
        with pytest.raises(KeyboardInterrupt):
            generate(ONE, Writer({"goods": "tools"}, stop_after=3), path, settings=5)
        assert generate(ONE, Writer({"goods": "tools"}), path, settings=5).asked == 2


@pytest.fixture
def table(tmp_path):
    "Three stories of one writer."
    path = tmp_path / "written.jsonl"
    generate(ONE, Writer({"goods": "old tools"}), path, settings=3)
    return path


def items_of(path):
    return scenario_items(ONE, fillings=str(path))


def lacking(path):
    path.write_text(path.read_text().replace('"gap"', '"gup"'))


def latin(path):
    path.write_bytes(path.read_text().replace("old", "\xf6ld").encode("latin-1"))


def gone(path):
    path.unlink()


class TestHostileTables:
    "A table from elsewhere is refused in one line, and never changed by that."

    CASES = [
        (lacking, "column 'gap' is missing"),
        (latin, "cannot be read"),
        (gone, "no such file"),
    ]

    @pytest.mark.parametrize(("damage", "said"), CASES)
    def test_damage_is_refused(self, damage, said, table):
        damage(table)
        uses = [
            lambda: items_of(table),
            lambda: generate(ONE, Writer({"goods": "tools"}), table, settings=3),
        ]
        for use in uses[: 1 if damage is gone else 2]:  # what is not there is begun
            with pytest.raises(CogbiasError) as refused:
                use()
            assert said in str(refused.value) and "\n" not in str(refused.value)

    def test_a_torn_line_is_asked_again(self, table):
        text = table.read_text()
        table.write_text(text[:-20])
        assert generate(ONE, Writer({"goods": "tools"}), table, settings=3).asked == 1
        assert table.read_text().count("\n") == text.count("\n")

    def test_a_file_of_something_else_is_left_alone(self, tmp_path):
        for text in ("my notes", '["mine"]', '{"mine": 1}\n'):
            path = tmp_path / "notes.jsonl"
            path.write_text(text)
            with pytest.raises(CogbiasError):
                generate(ONE, Writer({"goods": "tools"}), path, settings=1)
            assert path.read_text() == text

    def test_hostile_text_is_shown_as_text(self, tmp_path):
        path, trap = tmp_path / "written.jsonl", "<img src=x onerror=alert(1)>"
        generate(ONE, Writer({}, {1: json.dumps({"goods": trap})}), path, settings=1, attempts=1)
        text = load_fillings(path)["text"][0]
        assert text == trap and "<img" not in marked(text, [("goods", 0, len(text))])


def _write(path, words):
    generate(ONE, Writer({"goods": words}), path, settings=25)


class TestManyWriters:
    "A story belongs to the one who wrote it."

    def test_two_processes_write_the_same_table(self, tmp_path):
        path = tmp_path / "written.jsonl"
        context = multiprocessing.get_context("fork")
        running = [context.Process(target=_write, args=(path, "old tools")) for _ in range(4)]
        for each in running:
            each.start()
        for each in running:
            each.join(60)
        assert [each.exitcode for each in running] == [0] * 4
        assert len(load_fillings(path)) == 25  # nothing was asked twice

    def test_three_stories_told_thirty_times_are_three(self, tmp_path):
        "However many settings they are told in; they were counted as thirty independent texts."
        path, escalation = tmp_path / "three.jsonl", paradigm("managerial/escalation")
        told = [
            {"plan": "a depot", "news": "It stands empty."},
            {"plan": "a canteen", "news": "Few people eat there."},
            {"plan": "a fleet of vans", "news": "Most of them are parked."},
        ]
        script = {number + 1: json.dumps(told[number % 3]) for number in range(30)}
        assert generate(escalation, Writer({}, script), path, settings=30).whole == 30
        items = escalation.items(fillings=str(path))
        assert (items["crossed"].nunique(), items["cluster"].nunique()) == (3, 30)
        row = estimate_effects(exact_trials("human", items), items, escalation).iloc[0]
        assert row["status"] == "too_few_clusters" and row["n_clusters"] == 3


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    "Weights that write nouns, and now and then a number."
    return writing_gguf(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="module")
def address(weights):
    "A llama-server that has them."
    with llama_server(weights) as url:
        yield url


def at(url, **settings):
    wanted = {"temperature": 1.0, "max_tokens": 60, "timeout": 60.0} | settings
    return OpenaiParticipant("tiny", base_url=f"{url}/v1", **wanted)


@needs_server
class TestServer:
    "A llama-server with a JSON schema."

    def test_valid_and_invalid_texts_come_and_the_invalid_ones_are_asked_again(
        self, address, tmp_path
    ):
        path = tmp_path / "written.jsonl"
        done = generate(ONE, at(address), path, settings=25, attempts=5)
        assert done.statuses["ok"] == done.whole > 15 and done.statuses["broken"] > 5
        assert "unreadable" not in done.statuses  # the schema holds them to JSON
        rules = set(broken_rules(load_fillings(path))["rule"])
        assert "is empty" in rules and any("at the most" in rule for rule in rules)
        assert scenario_items(ONE, fillings=str(path))["cluster"].nunique() == done.whole


class TestRefusedSchema:
    "A server that knows no schema is asked without it, which is said once."

    def test_it_is_asked_again_and_read_as_it_comes(self, tmp_path, caplog):
        def script(asked):
            if "response_format" in asked.body:
                said = b'{"error": {"message": "response_format is not supported"}}'
                return lambda handler, asked: handler.send(400, said)
            if "Write a text" not in asked.prompt:
                return None
            message = {"role": "assistant", "content": 'Sure: {"goods": "old tools"} ok?'}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            body = json.dumps({"model": "tiny", "choices": [choice]})
            return lambda handler, asked: handler.send(200, body.encode())

        with Double(script) as double, caplog.at_level(logging.WARNING):
            writer = OpenaiParticipant("tiny", base_url=double.openai, timeout=10.0, concurrency=1)
            done = generate(ONE, writer, tmp_path / "written.jsonl", settings=5)
            refused = [each for each in double.asked if "response_format" in each.body]
        assert (done.whole, done.asked, len(refused)) == (5, 5, 1)
        assert sum("refuses response_format" in text for text in caplog.messages) == 1
