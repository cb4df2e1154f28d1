"What a plan says of a study that asks until enough answers can be read is what its run does."

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cogbias.cells import collect_cell
from cogbias.effects import headlines
from cogbias.outputs import Folder, load_effects
from cogbias.planning.plans import PlannedRun, plan_lines, plan_run, plan_tables
from cogbias.progress import Watch
from cogbias.running import _cell_record, run_study
from cogbias.settings import setting_words
from cogbias.study import Study, answer_groups, make_study, study_items, study_participants
from cogbias.trials import Collected

ONE_VARIANT = {"where": {"variant": ["base"]}}


def study_of(model: str, name: str, **settings: Any) -> Study:
    return make_study(models=[model], paradigms=[name], method="text", **settings)


def asked_by_run(study: Study, outputs: Path) -> int:
    outcome = run_study(study, outputs, reports=False)
    assert not outcome.failed
    return outcome.cells[0]["asked"]


def answers_of(planned: PlannedRun) -> tuple[int, int, int]:
    "Planned, missing, and missing at the most."
    return tuple(int(planned.cells[name].sum()) for name in ("planned", "missing", "most_missing"))


@pytest.mark.parametrize(
    ("name", "valid", "asked"),
    [
        ("classic/framing", 60, 4 * 2 * 48 * 2),  # 48 prompts a group, so two rounds
        ("classic/framing", 96, 4 * 2 * 48 * 2),
        ("classic/framing", 97, 4 * 2 * 48 * 3),
    ],
)
def test_where_all_can_be_read_a_plan_says_what_a_run_asks(
    name: str, valid: int, asked: int, tmp_path: Path
) -> None:
    study = study_of("sim/human", name, valid_answers=valid)
    planned = plan_run(study, tmp_path)
    assert answers_of(planned)[:2] == (asked, asked)
    assert asked_by_run(study, tmp_path) == asked
    assert answers_of(plan_run(study, tmp_path)) == (asked, 0, 0)


def test_groups_of_other_sizes_take_other_numbers_of_rounds(tmp_path: Path) -> None:
    study = study_of("sim/human", "choice/certainty", valid_answers=1000)
    planned = plan_run(study, tmp_path)
    items = study_items(study, "choice/certainty")
    sizes = items.groupby(answer_groups(items)).size()
    assert sizes.nunique() > 1
    asked = int((sizes * -(-1000 // sizes)).sum())
    assert answers_of(planned)[:2] == (asked, asked)
    assert asked_by_run(study, tmp_path) == asked


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_where_some_cannot_be_read_a_run_lies_between_the_two_numbers_of_a_plan(
    attempts: int, tmp_path: Path
) -> None:
    wanted = {"valid_answers": 120, "attempts": attempts}
    study = study_of("sim/messy", "classic/framing", **ONE_VARIANT, **wanted)
    planned = plan_run(study, tmp_path)
    least, _, most = answers_of(planned)
    assert (least, most) == (2 * 48 * 3, 2 * 48 * -(-120 * attempts // 48))
    title, *_ = plan_tables(planned)
    lines = "\n".join(plan_lines(planned))
    if attempts == 1:  # nothing is asked twice, and both are one number
        assert title == f"{least} of {least} answers are missing"
        assert "as long as" not in lines
    else:
        assert title == f"at least {least} of {least} answers are missing, at most {most:,}"
        assert "as long as every answer can be read" in lines
    asked = asked_by_run(study, tmp_path)
    assert least <= asked <= most
    assert answers_of(plan_run(study, tmp_path)) == (asked, 0, 0)


def test_what_is_stored_already_counts_in_a_plan(tmp_path: Path) -> None:
    asked = {"model": "sim/messy", "name": "classic/framing", **ONE_VARIANT}
    first = asked_by_run(study_of(**asked, valid_answers=100), tmp_path)
    further = study_of(**asked, valid_answers=400)
    planned, missing, most = answers_of(plan_run(further, tmp_path))
    assert planned - missing == first
    more = asked_by_run(further, tmp_path)
    assert missing <= more <= most


def test_the_most_that_is_paid_holds_all_attempts() -> None:
    price = {"prices": {"openai/m": {"in": 10.0, "out": 30.0}}}
    wanted = {"valid_answers": 96, "attempts": 5}
    study = study_of("openai/m", "classic/framing", **ONE_VARIANT, **wanted, **price)
    once = study_of("openai/m", "classic/framing", **ONE_VARIANT, repeats=2, **price)
    least, plain = (plan_run(each, "nowhere").models.iloc[0] for each in (study, once))
    assert least["usd"] == pytest.approx(plain["usd"])
    tried = plan_run(study_of("openai/m", "classic/framing", **ONE_VARIANT, **price), "nowhere")
    of_trying = 2 * tried.models.iloc[0]["most_usd"] - plain["most_usd"]
    assert least["most_usd"] - of_trying == pytest.approx(5 * (plain["most_usd"] - of_trying))


def seen_by(study: Study, outputs: Path | str = "nowhere") -> dict[str, Any]:
    (row,) = plan_run(study, outputs).power.to_dict("records")
    return row


@pytest.mark.parametrize("name", ["classic/framing", "classic/category_size"])
def test_power_rests_on_the_readable_answers_that_are_wanted(name: str) -> None:
    "So many as 10 repeats give, of every prompt."
    model, size = "sim/human", study_items(study_of("sim/human", name), name)
    groups = size.groupby(answer_groups(size)).size()
    assert groups.nunique() == 1
    once, ten = (seen_by(study_of(model, name, repeats=count)) for count in (1, 10))
    wanted = seen_by(study_of(model, name, valid_answers=10 * int(groups.iloc[0])))
    assert wanted["detectable"] == pytest.approx(ten["detectable"])
    assert wanted["detectable"] < 0.8 * once["detectable"]


def test_power_rests_on_the_readable_answers_that_are_stored(tmp_path: Path) -> None:
    study = study_of("sim/messy", "classic/framing", valid_answers=240)
    asked_by_run(study, tmp_path)
    whole = seen_by(study, tmp_path)
    assert whole["told"] == "stored: its own 24 clusters", "as many as are there"
    (head,) = headlines(load_effects(tmp_path / "effects.parquet")).to_dict("records")
    assert whole["spread"] == pytest.approx(head["se"] * head["n_clusters"] ** 0.5)
    more = seen_by(replace(study, valid_answers=960), tmp_path)
    told = re.search(r"at ([0-9.]+) per prompt", more["told"])
    assert 20 <= float(told[1]) < 21, "960 of each 48, and what whole rounds bring beyond"
    assert more["detectable"] < whole["detectable"]


def test_where_nothing_can_be_read_nothing_can_be_seen(tmp_path: Path) -> None:
    asked = {"name": "classic/framing", **ONE_VARIANT}
    study = study_of("sim/human", **asked, valid_answers=20, attempts=1)
    asked_by_run(study, tmp_path)
    (file,) = tmp_path.glob("trials/*/*.jsonl")
    told = [json.loads(line) for line in file.read_text().splitlines()]
    silent = {"status": "no_response", "response": "", "choice": None, "role": None}
    file.write_text("".join(json.dumps(each | silent) + "\n" for each in told))
    seen = seen_by(study, tmp_path)
    assert seen["detectable"] != seen["detectable"]
    assert "no answer that is planned can be read" in seen["note"]


def test_the_progress_of_a_run_knows_its_whole_size_from_the_beginning(tmp_path: Path) -> None:
    "It counted one round, and turned to two when that was over."
    study = study_of("sim/human", "classic/framing", **ONE_VARIANT, valid_answers=60)
    who, items = study_participants(study)[0], study_items(study, "classic/framing")
    told: list[Collected] = []

    def as_recorded(planned: Collected) -> dict[str, Any]:
        told.append(planned)
        return _cell_record(study, "sim/human", who, "classic/framing", planned)

    collect_cell(study, who, items, Folder(tmp_path), record=as_recorded)
    assert [(each.planned, each.rounds) for each in told] == [(192, 2)]


def test_a_complete_cell_beside_others_counts_with_all_its_rounds(tmp_path: Path) -> None:
    study = study_of("sim/messy", "classic/framing", **ONE_VARIANT, valid_answers=60)
    asked = asked_by_run(study, tmp_path)
    cells = [("sim/messy", "classic/framing")]
    now = Watch(Folder(tmp_path), cells, study.repeats, complete={cells[0]: asked}).look()
    assert (now.answers, now.expected, now.cells) == (asked, asked, 1)


def test_what_is_said_of_attempts_holds_where_a_round_goes_beyond_them(tmp_path: Path) -> None:
    "30 attempts were 48, and nobody said that a round is asked to its end."
    study = study_of("sim/messy", "classic/framing", **ONE_VARIANT, valid_answers=30, attempts=1)
    assert asked_by_run(study, tmp_path) == 2 * 48
    said = setting_words(Study)
    assert "a round is asked to its end" in said["attempts"]
    assert "in whole rounds" in said["valid_answers"]
