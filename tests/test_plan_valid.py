"What a plan says of a study that asks until enough answers can be read is what its run does."

import pytest

from cogbias.planning.plans import plan_run, plan_tables
from cogbias.running.studies import run_study
from cogbias.study import make_study

ONE_VARIANT = {"where": {"variant": ["base"]}}


def study_of(model, name, **settings):
    return make_study(models=[model], paradigms=[name], method="text", **settings)


def asked_by_run(study, outputs):
    outcome = run_study(study, outputs, reports=False)
    assert not outcome.failed
    return outcome.cells[0]["asked"]


def answers_of(planned):
    "Planned, missing, and missing at the most."
    return tuple(int(planned.cells[name].sum()) for name in ("planned", "missing", "most_missing"))


@pytest.mark.parametrize(
    ("name", "valid", "asked"),
    [
        (
            "classic/framing",
            60,
            2 * 80 + 3 * 2 * 48 * 2,
        ),  # 80 prompts a group in base, 48 elsewhere
        ("classic/framing", 96, 2 * 80 * 2 + 3 * 2 * 48 * 2),
        ("classic/framing", 97, 2 * 80 * 2 + 3 * 2 * 48 * 3),
    ],
)
def test_where_all_can_be_read_a_plan_says_what_a_run_asks(name, valid, asked, tmp_path):
    study = study_of("sim/human", name, valid_answers=valid)
    planned = plan_run(study, tmp_path)
    assert answers_of(planned)[:2] == (asked, asked)
    assert asked_by_run(study, tmp_path) == asked
    assert answers_of(plan_run(study, tmp_path)) == (asked, 0, 0)


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_where_some_cannot_be_read_a_run_lies_between_the_two_numbers_of_a_plan(attempts, tmp_path):
    wanted = {"valid_answers": 120, "attempts": attempts}
    study = study_of("sim/messy", "classic/framing", **ONE_VARIANT, **wanted)
    planned = plan_run(study, tmp_path)
    least, _, most = answers_of(planned)
    assert (least, most) == (2 * 80 * 2, 2 * 80 * -(-120 * attempts // 80))
    title, *_ = plan_tables(planned)
    if attempts == 1:  # nothing is asked twice, and both are one number
        assert title == f"{least} of {least} answers are missing"
    else:
        assert title == f"at least {least} of {least} answers are missing, at most {most:,}"
    asked = asked_by_run(study, tmp_path)
    assert least <= asked <= most
    assert answers_of(plan_run(study, tmp_path)) == (asked, 0, 0)
