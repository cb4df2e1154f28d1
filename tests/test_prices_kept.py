"What was paid for an answer stays: each counts at the price that held when it was asked."

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from doubles import Double
from typer.testing import CliRunner

from cogbias.cli import app
from cogbias.limits import account
from cogbias.outputs import Folder, begun, keep_record, kept_prices
from cogbias.participants import Answer
from cogbias.planning.plans import stopped_line
from cogbias.planning.spending import (
    account_place,
    keep_study_prices,
    open_account,
    study_meter,
)
from cogbias.study import Study, make_study, recorded_study, study_items, study_participants
from cogbias.trials import trial_row

ASKED = ["--paradigm", "choice/certainty", "--where", "template=1"]
ASKED += ["--where", "design=common_ratio", "--no-reports"]
PROMPTS = 140
OTHERS = ["--paradigm", "classic/framing", "--where", "variant=base", "--no-reports"]


def usd(calls: int, price_in: float, price_out: float) -> float:
    "What so many answers of the double cost, which takes 20 tokens and writes one."
    return calls * (20 * price_in + price_out) / 1e6


def run(double: Double, outputs: Path, *more: str, asked: list[str] = ASKED) -> str:
    "A run that ends well; what it said."
    command = ["run", *asked, "--base-url", double.openai, "--outputs", str(outputs), *more]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0, found.stderr
    return found.output


def totals(outputs: Path) -> dict:
    "What status tells a program of a whole folder."
    found = CliRunner().invoke(app, ["status", str(outputs), "--json"])
    assert found.exit_code == 0, found.stderr
    return json.loads(found.stdout)["totals"]


def answers_cost(outputs: Path) -> float | None:
    "Of that, what stored answers have cost."
    told = totals(outputs)
    return told["usd"] and told["usd"] - told["usd_no_answer"]


def said(outputs: Path) -> str:
    "What status tells a reader."
    return CliRunner().invoke(app, ["status", str(outputs)]).stdout


def of(model: str, *price: str) -> list[str]:
    "Options that ask a model at a price."
    return ["--model", model, *(["--price", f"{model}={price[0]}"] if price else [])]


def test_a_run_of_others_at_other_prices_forgets_nothing(tmp_path: Path) -> None:
    first = usd(PROMPTS, 10, 30)
    with Double() as double:
        run(double, tmp_path, *of("openai/m1", "10,30"))
        assert answers_cost(tmp_path) == pytest.approx(first)

        run(double, tmp_path, *of("openai/m2"))
        told = totals(tmp_path)
        assert answers_cost(tmp_path) == pytest.approx(first)
        assert told["unpriced"] == {"openai/m2": PROMPTS}
        line = f"no price is known of openai/m2 ({PROMPTS} calls): the sum is of the others only; "
        assert line in said(tmp_path)

        run(double, tmp_path, *of("openai/m3", "100,300"))
        both = first + usd(PROMPTS, 100, 300)
        assert answers_cost(tmp_path) == pytest.approx(both)
        assert line in said(tmp_path)


def test_a_price_of_a_run_with_nothing_new_changes_nothing_that_was_paid(tmp_path: Path) -> None:
    with Double() as double:
        run(double, tmp_path, *of("openai/m1", "10,30"))
        for other in ("1,3", "500,500"):
            assert "nothing new" in run(double, tmp_path, *of("openai/m1", other))
            assert answers_cost(tmp_path) == pytest.approx(usd(PROMPTS, 10, 30))


def test_answers_of_each_run_count_at_its_price(tmp_path: Path) -> None:
    "Also those of one cell, and of a plan and of the limit of the next run."
    with Double() as double:
        run(double, tmp_path, *of("openai/m1", "10,30"))
        run(double, tmp_path, *of("openai/m1", "1,3"), "--repeats", "2")
        paid = usd(PROMPTS, 10, 30) + usd(PROMPTS, 1, 3)
        assert answers_cost(tmp_path) == pytest.approx(paid)

        plan = ["plan", *ASKED[:-1], *of("openai/m1", "0,0"), "--repeats", "3", "--json"]
        plan += ["--base-url", double.openai, "--outputs", str(tmp_path)]
        (model,) = json.loads(CliRunner().invoke(app, plan).stdout)["models"]
        assert model["spent_usd"] == pytest.approx(paid)

        capped = ["--limit", f"usd={paid:.6f}", "--repeats", "3"]
        command = ["run", *ASKED, "--base-url", double.openai, "--outputs", str(tmp_path), *capped]
        stopped = CliRunner().invoke(app, [*command, *of("openai/m1", "1,3")])
        assert stopped.exit_code == 3, "what was paid at the old price counts at it"
        assert answers_cost(tmp_path) == pytest.approx(paid)


def test_an_answer_of_unknown_price_takes_the_first_that_is_given_later(tmp_path: Path) -> None:
    with Double() as double:
        run(double, tmp_path, *of("openai/m1"))
        assert totals(tmp_path)["usd"] is None
        line = f"no price is known of openai/m1 ({PROMPTS} calls): where somebody is paid, give one"
        assert line in said(tmp_path)
        for price in ("10,30", "1,3"):  # the second is of answers to come
            run(double, tmp_path, *of("openai/m1", price))
            assert answers_cost(tmp_path) == pytest.approx(usd(PROMPTS, 10, 30))
            assert totals(tmp_path)["unpriced"] == {}


def test_a_run_without_a_price_does_not_take_the_one_before(tmp_path: Path) -> None:
    with Double() as double:
        run(double, tmp_path, *of("openai/m1", "10,30"))
        run(double, tmp_path, *of("openai/m1"), asked=OTHERS)
    told = totals(tmp_path)
    assert answers_cost(tmp_path) == pytest.approx(usd(PROMPTS, 10, 30))
    assert set(told["unpriced"]) == {"openai/m1"}
    assert told["unpriced"]["openai/m1"] == told["answers"] - PROMPTS


def test_prices_are_kept_with_source_and_without_secrets(tmp_path: Path) -> None:
    with Double() as double:
        run(double, tmp_path, *of("openai/m1", "10,30"), "--model", "sim/human")
    (entry,) = kept_prices(Folder(tmp_path), "openai/m1")
    assert entry == {"since": "", "in": 10.0, "out": 30.0, "date": "", "source": ""}
    assert kept_prices(Folder(tmp_path), "sim/human") is None, "nobody is paid"
    held = json.loads(CliRunner().invoke(app, ["status", str(tmp_path), "--json"]).stdout)
    assert held["prices"] == {"openai/m1": [entry]}


def as_an_earlier_version_left_it(outputs: Path) -> None:
    "A folder in which nobody kept prices but the study of the last run."
    for place in outputs.glob("trials/*/prices.json"):
        place.unlink()


def test_a_folder_of_an_earlier_version_keeps_what_its_study_says(tmp_path: Path) -> None:
    first = usd(PROMPTS, 10, 30)
    with Double() as double:
        run(double, tmp_path, *of("openai/m1", "10,30"))
        as_an_earlier_version_left_it(tmp_path)
        assert answers_cost(tmp_path) == pytest.approx(first)
        verified = CliRunner().invoke(app, ["verify", str(tmp_path)])
        assert verified.exit_code == 0, verified.output

        moved = tmp_path.with_name("moved")
        shutil.copytree(tmp_path, moved)
        run(double, moved, *of("openai/m2", "1,3"))
        assert answers_cost(moved) == pytest.approx(first + usd(PROMPTS, 1, 3))

        run(double, tmp_path, *of("openai/m1", "1,3"))
        assert answers_cost(tmp_path) == pytest.approx(first)


def test_a_file_of_prices_that_was_spoilt_is_named(tmp_path: Path) -> None:
    with Double() as double:
        run(double, tmp_path, *of("openai/m1", "10,30"))
        place = Folder(tmp_path).prices("openai/m1")
        place.write_text(place.read_text().replace("10.0", '"ten"'))
        assert (
            "price 1, field 'in' should hold number"
            in CliRunner().invoke(app, ["status", str(tmp_path)]).output
        )
        command = ["run", *ASKED, *of("openai/m1", "1,1"), "--base-url", double.openai]
        found = CliRunner().invoke(app, [*command, "--outputs", str(tmp_path)])
    assert "prices.json: broken record (price 1" in str(found.exception), "nobody was asked"


# --- what a limit in usd is of


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Path, Study, Study]]:
    "A folder, and two studies of other cells in it, each with a limit."
    with Double() as double:
        shared = dict(limits={"usd": 0.02}, prices={"openai/*": {"in": 10.0, "out": 30.0}})
        shared |= {"participants": {"openai/*": {"base_url": double.openai}}}
        shared |= {"paradigms": ["classic/framing"]}
        studies = [make_study(models=[name], **shared) for name in ("openai/m1", "openai/m2")]
        for each in studies:
            keep_study_prices(each, Folder(tmp_path))
            keep_record(Folder(tmp_path), study_participants(each)[0])
        yield tmp_path, *studies


def going(outputs: Path, study: Study) -> AbstractContextManager[None]:
    "A run of a study that goes on, until the block ends."
    cells = [(who.name, name) for who in study_participants(study) for name in study.paradigms]
    started = "2026-01-01T08:00:00+00:00"
    return begun(Folder(outputs), recorded_study(study), cells, started)


def answered(outputs: Path, study: Study, count: int) -> float:
    "Store answers as a run of a study does, and pay for them; what they cost, in usd."
    (who,), name = study_participants(study), study.paradigms[0]
    rows, meter = study_items(study, name).to_dict("records"), study_meter(study, outputs)
    paid = usd(count, 10, 30)
    with Folder(outputs).store(who.name, name).writer() as writer:
        for item in rows[:count]:
            answer = Answer("ok", "A", tokens_in=20, tokens_out=1)
            writer.write(trial_row(item, who, answer, "text"))
    meter.settle(0.0, paid)
    meter.is_stored(paid)
    return paid


def test_a_run_that_begins_beside_another_forgets_nothing_that_one_has_spent(two) -> None:
    "Both together keep the limit."
    outputs, study, other = two
    with going(outputs, study):
        open_account(study, outputs)
        first = answered(outputs, study, 40)
        open_account(other, outputs)
        assert study_meter(other, outputs).spent == pytest.approx(first)
        second = answered(outputs, other, 20)
        open_account(other, outputs)
        assert study_meter(study, outputs).spent == pytest.approx(first + second)


def test_what_other_cells_cost_earlier_is_no_part_of_a_limit(two) -> None:
    outputs, study, other = two
    with going(outputs, study):
        open_account(study, outputs)
        answered(outputs, study, 40)
    open_account(other, outputs)
    assert study_meter(other, outputs).spent == 0


def test_the_line_of_a_reached_limit_says_what_its_sum_is_of(two) -> None:
    "The part of a run beside it is named; of one that was there earlier nothing is said."
    outputs, study, other = two
    with going(outputs, study):
        open_account(study, outputs)
        answered(outputs, study, 40)
        open_account(other, outputs)
        answered(outputs, other, 20)
        with account(account_place(outputs)) as held:
            held.reached = True
        told = stopped_line(other, outputs)
    here = "0.0046 usd are spent on the cells that this run asks, earlier runs of them included"
    assert f"the limit of 0.02 usd is reached: {here}, and 0.0092 usd by runs beside it; " in told
    open_account(other, outputs)
    with account(account_place(outputs)) as held:
        held.reached = True
    assert f"reached: {here}; " in stopped_line(other, outputs)


def test_a_run_without_a_limit_is_not_stopped_by_that_of_one_beside_it(two) -> None:
    outputs, study, _ = two
    open_account(study, outputs)
    with account(account_place(outputs)) as held:
        held.reached = True
    assert stopped_line(study, outputs)
    assert stopped_line(replace(study, limits={}), outputs) == ""


@pytest.mark.parametrize("command", ["run", "plan"])
def test_the_help_says_what_a_limit_is_of(command: str) -> None:
    said = " ".join(
        CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "300"}).stdout.split()
    )
    assert "usd (of what it asks, earlier runs of the same in its folder and runs beside" in said
