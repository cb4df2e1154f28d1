"""Batches: nothing is lost, doubled or paid twice, wherever a run is killed."""

import os
import random
import signal
import threading
from dataclasses import replace

import pytest
from calls import command, refused
from hosted_double import Providers

from cogbias.elicitation import batches
from cogbias.folder import Folder, taken, trials
from cogbias.planning.plans import plan_run
from cogbias.running.status import folder_status
from cogbias.running import studies
from cogbias.running.studies import cancel_study, run_study
from cogbias.study import make_study

PROVIDERS = ("openai", "anthropic")
POINTS = ("intent", "uploaded", "created", "polled", "stored")  # of the journal


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    "Look often."
    monkeypatch.setattr(batches, "PAUSES", (0.01, 0.05))
    monkeypatch.setattr(batches, "SETTLES", 0.01)


@pytest.fixture(params=PROVIDERS)
def provider(request):
    return request.param


def study_of(provider, double, **more):
    "Some prompts of two paradigms, at a price of 1 usd a million tokens."
    name = f"{provider}/tiny"
    return make_study(
        **{
            "models": [name],
            "paradigms": ["classic/framing", "classic/endowment"],
            "max_prompts": 12,
            "method": "text",
            "participants": {name: {"base_url": double.address[provider]}},
            "prices": {name: {"in": 1.0, "out": 1.0}},
            "batch": True,
        }
        | more
    )


def run(study, outputs):
    "Ask what is missing; lines of failures, and the limit that stopped it."
    cells, failed, limit = studies._collected(study, outputs, 1, None, False, False)
    return failed + [limit] * bool(limit)


def in_a_copy(what):
    "The status with which a copy of this process ends that does something."
    if not (child := os.fork()):
        try:
            what()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def kill_at(point, early):
    "Have this process killed at a point of the journal, before or after that is written."
    write, intend, looked = batches.journal, batches._Asking.intend, []

    def here(name):
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def of(now):
        if "server_id" in now:
            looked.append(now)
            return "created" if len(looked) == 1 else "polled"
        return "uploaded" if "file_id" in now else "stored" if "ended" in now else ""

    def journal(folder, batch_id, **now):
        name = of(now)
        if early:
            here(name)
        write(folder, batch_id, **now)
        here(name)

    def intended(self, ids):
        if early:
            here("intent")
        entry = intend(self, ids)
        here("intent")
        return entry

    batches.journal, batches._Asking.intend = journal, intended


def killed(study, outputs, point, early):
    "Run a study in a copy that is killed on the way."

    def killing():
        kill_at(point, early)
        run(study, outputs)

    status = in_a_copy(killing)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def finished(study, outputs, double):
    "Run until nothing is missing; then each request was answered once, and paid once, at half."
    for _ in range(6):
        failed = run(study, outputs)
        if not failed:
            break
        assert all("missing" in line for line in failed), failed
    with Folder(outputs) as folder:
        table, held = trials(folder), taken(folder, 0)
        assert batches.entries(folder) == []
    assert len(table) == 24 and not (table["status"] == "error").any()
    assert len(double.answered) == 24 and set(double.answered.values()) == {1}
    assert held.in_flight == 0
    assert held.paid >= 24 * 22 / 2 / 1e6 - 1e-9
    probes = sum(22 for _ in double.direct)
    assert held.paid <= (24 * 22 / 2 + probes) / 1e6 + 1e-9


def test_answers_come_in_batches_at_half_the_price(provider, tmp_path):
    with Providers() as double:
        study = study_of(provider, double)
        full = plan_run(replace(study, batch=False), tmp_path / "none").cells["usd"].sum()
        assert plan_run(study, tmp_path / "none").cells["usd"].sum() == pytest.approx(full / 2)
        cells, *_ = studies._collected(study, tmp_path, 1, None, False, False)
        assert len(double.held) == 1 and len(double.held[0].asked) == 24  # both cells at once
        assert sum(cell.statuses["error"] for cell in cells) == 4
        finished(study, tmp_path, double)
        assert not any("custom_id" in body for body in double.direct)


def test_each_arm_is_told_in_its_batch(provider, tmp_path):
    with Providers() as double:
        arms = {"none": "", "warned": "Take your time."}
        run(study_of(provider, double, paradigms=["classic/framing"], arms=arms), tmp_path)
        told = [
            [arms["warned"] in str(each) for each in held.asked.values()] for held in double.held
        ]
    assert told == [[False] * 12, [True] * 12]


def test_no_key_is_stored(provider, tmp_path, monkeypatch):
    "Though the provider repeats it in its results."
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", key := "correct-horse-battery-9")
    with Providers() as double:
        assert "overloaded, [secret]" in run(study_of(provider, double), tmp_path)[0]
        assert double.key == key
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert any(each.suffix == ".jsonl" for each in files)
    assert not any(key.encode() in each.read_bytes() for each in files)


@pytest.mark.parametrize(
    ("provider", "expire"), [("openai", True), ("anthropic", False)], indirect=["provider"]
)
def test_what_expires_is_asked_again(provider, tmp_path, expire):
    with Providers(expire=expire, every=3) as double:
        finished(study_of(provider, double), tmp_path, double)


def test_one_kill_at_each_point_of_the_journal(provider, tmp_path):
    "One folder, five runs that are killed, and then one that ends."
    with Providers() as double:
        study = study_of(provider, double)
        for point in POINTS:
            killed(study, tmp_path, point, early=point != "intent")
        finished(study, tmp_path, double)


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_twenty_kills(provider, tmp_path, point):
    "Two at each point for each provider, before or after the row, connections lost at times."
    for number in range(2):
        draw = random.Random(f"{provider} {point} {number}")
        with Providers(looks=draw.randrange(3), lose=draw.randrange(2)) as double:
            outputs = tmp_path / str(number)
            killed(study_of(provider, double), outputs, point, early=draw.random() < 0.5)
            finished(study_of(provider, double), outputs, double)


def test_a_lost_answer_to_a_creation_makes_no_second_batch(provider, tmp_path):
    with Providers(lose=1) as double:
        run(study_of(provider, double), tmp_path)
        assert len(double.held) == 1


def test_a_server_that_keeps_no_marks_knows_it_by_its_file(tmp_path):
    with Providers(lose=1, keeps_marks=False) as double:
        run(study_of("openai", double), tmp_path)
        assert len(double.held) == 1


def test_a_batch_that_is_not_known_for_a_moment_is_not_lost(tmp_path):
    with Providers() as double:
        study = study_of("anthropic", double)
        killed(study, tmp_path, "created", early=False)
        double.has_batches = False
        assert all("its provider does not know batch" in line for line in run(study, tmp_path))
        double.has_batches = True
        finished(study, tmp_path, double)


def test_a_smaller_study_does_not_lose_the_rest(tmp_path):
    "Results that nobody asks for now are stored by a run that does."
    with Providers(every=10**6) as double:
        study = study_of("openai", double)
        killed(study, tmp_path, "polled", early=True)
        assert run(replace(study, paradigms=("classic/framing",)), tmp_path) == []
        finished(study, tmp_path, double)
        assert len(double.held) == 1


@pytest.fixture
def left_running(provider, tmp_path):
    "A study whose run was interrupted while it waited."
    with Providers(looks=10**6) as double:
        study = study_of(provider, double)

        def interrupted(number):
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batches.answers_in_batches, "__defaults__", (None, interrupted))
            with pytest.raises(KeyboardInterrupt):
                run(study, tmp_path)
        yield double, study


def test_an_interrupt_leaves_it_running(left_running, tmp_path, capsys):
    double, study = left_running
    (line,) = folder_status(tmp_path).batches
    assert "of 24 requests is running, until 20" in line and line in folder_status(tmp_path).lines
    assert line in plan_run(study, tmp_path).notes
    assert command("status", tmp_path) == 0 and line in capsys.readouterr().out
    assert "run with --batch to wait for it" in refused(
        lambda: run(replace(study, batch=False), tmp_path)
    )
    assert double.held[0].cancelled is False
    double.looks = 0
    finished(study, tmp_path, double)


def test_cancel_ends_it_and_the_rest_is_asked_again(left_running, tmp_path):
    double, study = left_running
    (line,) = cancel_study(study, tmp_path)
    assert "is being canceled; run with --batch" in line and double.held[0].cancelled
    assert "is being canceled" in folder_status(tmp_path).batches[0]
    double.looks = 0
    run(study, tmp_path)
    assert len(double.held) == 1
    finished(study, tmp_path, double)


def test_one_process_waits_at_a_time(tmp_path):
    with Providers(looks=10**6) as double:
        study = study_of("anthropic", double)
        threading.Thread(target=run, args=(study, tmp_path), daemon=True).start()
        while not double.held:
            threading.Event().wait(0.01)
        assert "another process waits" in refused(lambda: run(study, tmp_path))
        double.looks = 0


def test_a_server_without_batches_says_so(tmp_path):
    with Providers(has_batches=False) as double:
        failed = run(study_of("openai", double), tmp_path)
        assert all(
            "its server does not support batches; run without --batch" in line for line in failed
        )
        with Folder(tmp_path) as folder:
            assert taken(folder, 0).in_flight == 0


def test_a_limit_holds_for_a_batch(tmp_path):
    with Providers() as double:
        study = study_of("anthropic", double, limits={"usd": 1e-5})
        assert "the limit of 1e-05 usd is reached" in run(study, tmp_path)[-1] and not double.held


def test_two_steps_are_two_rounds_of_batches(tmp_path):
    with Providers(every=10**6) as double:
        study = study_of("anthropic", double, method="two_step", paradigms=["classic/framing"])
        assert run_study(study, tmp_path, reports=False).failed == []
        first, second = double.held
        assert len(first.asked) == len(second.asked) == 12 and not {*first.asked} & {*second.asked}
        with Folder(tmp_path) as folder:
            assert len(trials(folder)) == len(trials(folder, step="reasoning")) == 12


@pytest.mark.parametrize(
    ("provider", "batch"), [("openai", True), ("anthropic", False)], indirect=["provider"]
)
def test_effort_is_stored_either_way(provider, tmp_path, batch):
    with Providers(every=10**6) as double:
        study = study_of(provider, double, batch=batch, paradigms=["classic/framing"])
        named = {f"{provider}/tiny": {**study.participants[f"{provider}/tiny"], "think": "low"}}
        assert run(replace(study, participants=named), tmp_path) == []
        with Folder(tmp_path) as folder:
            table = trials(folder)
        assert set(table["effort"]) == set(table["effort_sent"]) == {"low"}
