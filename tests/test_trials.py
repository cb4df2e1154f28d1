"""Trials beyond a notebook: killed processes, parallel processes, torn files, full disks."""

import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogbias import bars
from cogbias.tables import TRIALS, VERSION, CogbiasError, item_table, option
from cogbias.participants import Answer
from cogbias.trials import SLUG_BYTES, TrialStore, collect, plan, slug, trial_line, trial_row

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
fork = multiprocessing.get_context(
    "fork"
)  # a child is running within milliseconds, so that a kill can hit any moment of its work
WAIT = 60  # seconds after which a test gives up on a child


@dataclass(frozen=True)
class Clerk:
    "Answers by the seed, and reports each answer once `collect` has come back for the next one."

    pause: float = 0.0  # seconds per answer
    padding: int = 0  # characters that make a line long
    report: int | None = None  # descriptor that is told the item and the repeat of what was stored
    name: str = "example/clerk"
    backend: str = "example"
    model: str = "clerk"
    revision: str | None = None
    temperature: float | None = 0.7
    simulated: bool = True
    methods: tuple[str, ...] = ("text",)
    identity: dict = field(default_factory=lambda: {"system": "Be brief.", "tags": ["b", "a"]})

    def answers(self, requests, method):
        for index, request in enumerate(requests):
            time.sleep(self.pause)
            label = "AB"[request.seed % 2]
            yield (
                index,
                Answer(
                    "ok",
                    f"{label}: né\n" + "x" * self.padding,
                    choice=label,
                    p={"A": 0.1, "B": 0.9},
                    finish_reason="stop",
                ),
            )
            if self.report is not None:
                os.write(self.report, f"{request.item['item_id']} {request.repeat}\n".encode())


def questions(count: int) -> pd.DataFrame:
    "A small items table."
    faces = [option("A", "heads", "target"), option("B", "tails", "other")]
    return item_table(
        "example/clerk",
        [
            {
                "condition": "treatment",
                "pair_id": str(n),
                "cluster": str(n),
                "stratum": "all",
                "prompt": f"Toss {n}: A or B?",
                "options": faces,
                "content": {"n": n},
            }
            for n in range(count)
        ],
    )


def rows(count: int) -> list[dict]:
    "Rows ready to be written."
    todo = plan(questions(count), Clerk())
    given_answers = Clerk().answers(todo.requests, "text")
    return [
        trial_row(todo.requests[index].item, Clerk(), answer, "text", 0, todo.requests[index].seed)
        for index, answer in given_answers
    ]


def whole(path: Path, items: pd.DataFrame, clerk: Clerk, repeats: int = 1) -> bytes:
    "The file that a collection without interruption leaves."
    assert collect(items, clerk, TrialStore(path), repeats=repeats).complete
    return path.read_bytes()


def ended(child) -> int:
    "Exit code of a child; a child that hangs fails the test."
    child.join(WAIT)
    if child.is_alive():
        child.kill()
        pytest.fail("a child did not end")
    return child.exitcode


# --- SIGKILL
# --------------------------------------------------------------------------------------------------


def collect_until_killed(
    store: TrialStore, items: pd.DataFrame, clerk: Clerk, at_work: bool, delay: float
) -> tuple[set[tuple[str, int]], bool]:
    "Kill a child after `delay` seconds; what it reported as stored, and whether that was in time."
    outlet, inlet = os.pipe()
    child = fork.Process(
        target=collect, args=(items, replace(clerk, report=inlet), store), kwargs={"repeats": 2}
    )
    child.start()
    os.close(inlet)
    head = os.read(outlet, 1) if at_work else b""
    time.sleep(delay)
    os.kill(child.pid, signal.SIGKILL)
    killed = ended(child) == -signal.SIGKILL
    with os.fdopen(outlet, "rb") as pipe:
        lines = (head + pipe.read()).decode().splitlines()
    return {(item, int(repeat)) for item, repeat in map(str.split, lines)}, killed


@pytest.mark.parametrize(
    ("clerk", "longest", "seed"),
    [(Clerk(pause=0.002), 0.1, 1), (Clerk(padding=300_000), 0.04, 2)],
    ids=["slow", "fast"],
)
def test_sigkill_loses_at_most_the_answer_in_flight(tmp_path, clerk, longest, seed):
    items, draw, kills, at_work = questions(60), random.Random(seed), 0, 0
    expected = whole(tmp_path / "whole.jsonl", items, clerk, repeats=2)
    store = TrialStore(tmp_path / "cell.jsonl")
    while kills < 12 or at_work < 6:
        before = store.keys()
        reported, killed = collect_until_killed(
            store, items, clerk, draw.random() < 0.75, draw.uniform(0, longest)
        )
        table = store.read()  # raises if any complete line is broken
        assert table.trial_id.is_unique and table.attrs["superseded"] == 0
        kept = set(zip(table.item_id, table.repeat))
        assert reported <= kept, "an answer that was reported as stored is missing"
        assert len(kept) - len(before) - len(reported) in (0, 1), (
            "more than the answer in flight went unreported"
        )
        kills, at_work = kills + killed, at_work + (killed and bool(reported))
        if not killed:  # it was done before the kill: start over, so that every kill hits some work
            assert store.path.read_bytes() == expected
            store.path.unlink()
    assert collect(items, clerk, store, repeats=2).complete
    assert store.path.read_bytes() == expected
    pd.testing.assert_frame_equal(store.read(), TrialStore(tmp_path / "whole.jsonl").read())


def test_the_lock_dies_with_its_holder(tmp_path):
    items, store = questions(20), TrialStore(tmp_path / "cell.jsonl")
    outlet, inlet = os.pipe()
    holder = fork.Process(target=collect, args=(items, Clerk(pause=0.2, report=inlet), store))
    holder.start()
    os.close(inlet)
    os.read(outlet, 1)  # it has stored something, so it holds the lock
    heir = fork.Process(target=collect, args=(items, Clerk(), store))
    heir.start()
    time.sleep(0.1)
    assert heir.is_alive()  # waits for its turn
    os.kill(holder.pid, signal.SIGKILL)
    assert ended(holder) == -signal.SIGKILL and ended(heir) == 0
    os.close(outlet)
    assert store.path.read_bytes() == whole(tmp_path / "whole.jsonl", items, Clerk())


# --- processes side by side
# --------------------------------------------------------------------------------------------------


def collect_and_tell(start, queue, *arguments) -> None:
    "Wait for the signal, collect, and tell how it went."
    start.wait(WAIT)
    collected = collect(*arguments)
    queue.put((collected.asked, collected.stored, collected.complete))


@pytest.mark.parametrize("count", [2, 4])
def test_processes_on_one_cell_take_turns(tmp_path, count):
    items, store, start, queue = (
        questions(100),
        TrialStore(tmp_path / "new" / "cell.jsonl"),
        fork.Event(),
        fork.SimpleQueue(),
    )
    children = [
        fork.Process(target=collect_and_tell, args=(start, queue, items, Clerk(pause=0.002), store))
        for _ in range(count)
    ]
    for child in children:
        child.start()
    start.set()
    while any(
        child.is_alive() for child in children
    ):  # readers never wait and never see a broken line
        assert store.read().trial_id.is_unique
        time.sleep(0.01)
    assert [ended(child) for child in children] == [0] * count
    told = sorted(queue.get() for _ in children)
    assert told == [(0, 100, True)] * (count - 1) + [(100, 0, True)]
    assert store.path.read_bytes() == whole(tmp_path / "whole.jsonl", items, Clerk())


def write_in_pieces(start, queue, store: TrialStore, own_rows: list[dict]) -> None:
    "Write all rows in an order of one's own, giving the turn away after each three."
    start.wait(WAIT)
    written = 0
    for first in range(0, len(own_rows), 3):
        with store.writer() as writer:
            written += sum(writer.write(row) for row in own_rows[first : first + 3])
    queue.put(written)


def test_writers_that_alternate_store_each_trial_once(tmp_path):
    all_rows, store, start, queue = (
        rows(60),
        TrialStore(tmp_path / "cell.jsonl"),
        fork.Event(),
        fork.SimpleQueue(),
    )
    children = [
        fork.Process(
            target=write_in_pieces,
            args=(start, queue, store, random.Random(seed).sample(all_rows, k=60)),
        )
        for seed in range(4)
    ]
    for child in children:
        child.start()
    start.set()
    assert [ended(child) for child in children] == [0] * 4
    assert sum(queue.get() for _ in children) == 60
    assert sorted(store.path.read_bytes().splitlines(keepends=True)) == sorted(
        map(trial_line, all_rows)
    )


def test_a_file_removed_during_the_wait_is_not_written_to(tmp_path):
    items, store = questions(5), TrialStore(tmp_path / "cell.jsonl")
    with store.writer() as writer:
        writer.write(rows(5)[0])
        heir = fork.Process(target=collect, args=(items, Clerk(), store))
        heir.start()
        time.sleep(0.2)
        assert heir.is_alive()
        store.path.unlink()
    assert ended(heir) == 0
    assert store.path.read_bytes() == whole(tmp_path / "whole.jsonl", items, Clerk())


# --- torn and broken lines
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0, 2], ids=["only line", "third line"])
def test_a_last_line_torn_anywhere_is_repaired(tmp_path, kept):
    *others, last = rows(kept + 1)
    intact, line, store = (
        b"".join(map(trial_line, others)),
        trial_line(last),
        TrialStore(tmp_path / "cell.jsonl"),
    )
    assert "é".encode() in line  # some cuts fall inside a character
    for cut in range(1, len(line)):  # the last one lacks the newline alone
        store.path.write_bytes(intact + line[:cut])
        assert len(store.keys()) == kept
        if cut % 20 == 1 or cut == len(line) - 1:
            table = store.read()
            assert table.attrs["torn"] == 1 and len(table) == kept
        with store.writer() as writer:
            assert writer.repaired == cut and writer.write(last) and not writer.write(last)
        assert store.path.read_bytes() == intact + line
    assert store.read().attrs["torn"] == 0


def test_zeros_left_by_a_power_failure_are_a_torn_line(tmp_path):
    store, (first, second) = TrialStore(tmp_path / "cell.jsonl"), rows(2)
    store.path.write_bytes(trial_line(first) + bytes(4096))
    assert len(store.read()) == 1
    with store.writer() as writer:
        assert writer.repaired == 4096 and writer.write(second)
    assert store.path.read_bytes() == trial_line(first) + trial_line(second)


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"null", b"\xff", b"\x00\x00", b'{"trial_id": "x"}', b"[" * 100_000],
    ids=lambda line: repr(line[:9]),
)
def test_a_broken_line_in_the_middle_is_named_and_left_alone(tmp_path, line):
    first, second = map(trial_line, rows(2))
    store = TrialStore(tmp_path / "cell.jsonl")
    store.path.write_bytes(first + line + b"\n" + second + b'{"torn')
    before = store.path.read_bytes()
    for action in (store.read, store.keys, store.writer().__enter__):
        with pytest.raises(
            CogbiasError, match=r"cell\.jsonl: line 2 is not .*; mend or remove that line$"
        ) as caught:
            action()
        assert "\n" not in str(caught.value)
    assert store.path.read_bytes() == before


def test_a_wrong_type_in_a_stored_line_is_named(tmp_path):
    store = TrialStore(tmp_path / "cell.jsonl")
    store.path.write_text(json.dumps({**rows(1)[0], "choice": 1}) + "\n")
    with pytest.raises(
        CogbiasError, match=r"cell\.jsonl: trials table: column 'choice' should hold text"
    ):
        store.read()


# --- a system that refuses
# --------------------------------------------------------------------------------------------------


def test_a_path_below_a_file_is_refused_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    store = TrialStore(tmp_path / "file" / "trials" / "cell.jsonl")
    with pytest.raises(
        CogbiasError, match="cannot write .*; choose a folder that you may write to"
    ) as caught:
        collect(questions(1), Clerk(), store)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(CogbiasError, match=r"cannot write \(Permission denied\)"):
        collect(questions(1), Clerk(), TrialStore(tmp_path / "locked" / "cell.jsonl"))


def collect_with_little_room(queue, room: int, *arguments) -> None:
    "Collect while files may only grow to `room` bytes."
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    try:
        collect(*arguments)
    except CogbiasError as error:
        queue.put(str(error))


def test_a_full_disk_leaves_whole_lines(tmp_path):
    items, store, queue = questions(9), TrialStore(tmp_path / "cell.jsonl"), fork.SimpleQueue()
    expected = whole(tmp_path / "whole.jsonl", items, Clerk())
    room = len(expected) // 2 + 10
    child = fork.Process(target=collect_with_little_room, args=(queue, room, items, Clerk(), store))
    child.start()
    assert ended(child) == 0
    assert re.fullmatch(
        r"example/clerk: .*cell\.jsonl: cannot write \(File too large\); .*; "
        r"stopped after 4 of 9 answers, "
        r"what came is stored, run again .*",
        queue.get(),
    )
    assert store.path.read_bytes() == b"".join(expected.splitlines(keepends=True)[:4])
    assert collect(items, Clerk(), store).asked == 5 and store.path.read_bytes() == expected


def test_short_writes_are_continued_and_interrupted_ones_taken_back(tmp_path, monkeypatch):
    store, (first, second), write = TrialStore(tmp_path / "cell.jsonl"), rows(2), os.write
    with store.writer() as writer:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:7]))
            assert writer.write(first)
        calls = []

        def interrupted(descriptor, data):
            calls.append(data)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return write(descriptor, data[:100])

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                writer.write(second)
        assert store.path.read_bytes() == trial_line(first)
        assert writer.write(second)
    assert store.path.read_bytes() == trial_line(first) + trial_line(second)


# --- idempotence and determinism
# --------------------------------------------------------------------------------------------------


def test_a_second_collection_asks_nothing_and_opens_nothing(tmp_path, monkeypatch):
    items, store = questions(10), TrialStore(tmp_path / "cell.jsonl")
    assert collect(items, Clerk(), store, repeats=2).asked == 20
    before = store.path.stat()
    monkeypatch.setattr(
        TrialStore, "writer", lambda self: pytest.fail("a complete store was opened for writing")
    )
    monkeypatch.setattr(
        Clerk, "answers", lambda *_: pytest.fail("a complete store was asked for more")
    )
    again = collect(items, Clerk(), store, repeats=2)
    assert (again.asked, again.stored, again.complete) == (0, 20, True)
    assert collect(items.head(3), Clerk(), store).stored == 3  # part of the plan is there as well
    after = store.path.stat()
    assert (before.st_size, before.st_mtime_ns, before.st_ino) == (
        after.st_size,
        after.st_mtime_ns,
        after.st_ino,
    )


def test_more_repeats_and_items_ask_for_the_new_ones_only(tmp_path):
    store = TrialStore(tmp_path / "cell.jsonl")
    collect(questions(10), Clerk(), store)
    assert collect(questions(10), Clerk(), store, repeats=3).asked == 20
    assert collect(questions(12), Clerk(), store, repeats=3).asked == 6
    assert collect(questions(12), replace(Clerk(), temperature=0.8), store, repeats=3).stored == 0
    table = store.read(
        plan(questions(12), Clerk(), repeats=3).trial_ids
    )  # in the order of the plan, without the other temperature
    assert table.repeat.tolist() == [0] * 12 + [1] * 12 + [2] * 12 and set(table.temperature) == {
        0.7
    }


def test_another_hash_seed_gives_the_same_bytes(tmp_path):
    expected = whole(tmp_path / "here.jsonl", questions(20), Clerk(), repeats=2)
    for salt in ("1", "2"):
        path = tmp_path / f"{salt}.jsonl"
        subprocess.run(
            [sys.executable, __file__, str(path)],
            env=os.environ | {"PYTHONHASHSEED": salt},
            check=True,
            timeout=WAIT,
        )
        assert path.read_bytes() == expected


def test_progress_is_shown_only_where_somebody_can_see_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bars, "_last_line", [time.monotonic()])  # a line has just been written
    collect(
        questions(2), Clerk(), TrialStore(tmp_path / "quiet.jsonl"), progress=True
    )  # pytest is no terminal
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(bars, "_is_watched", lambda: True)
    collect(questions(2), Clerk(), TrialStore(tmp_path / "seen.jsonl"), progress=True)
    assert "example/clerk" in capsys.readouterr().err


# --- names and lines
# --------------------------------------------------------------------------------------------------

ANY_TEXT = st.text(
    st.characters(exclude_categories=())
)  # lone surrogates included: a command line can hold them


@settings(deadline=None, max_examples=166)
@given(ANY_TEXT)
def test_a_slug_is_always_a_safe_file_name(name):
    made = slug(name)
    assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*", made) and not made.endswith(
        "."
    )  # no separator, not empty, not . or .., not hidden
    assert len(made.encode()) <= SLUG_BYTES == 120
    assert made == slug(name)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.text("aA-/._ é", max_size=6) | ANY_TEXT, unique=True))
def test_different_names_have_different_slugs(names):
    assert len({slug(name).casefold() for name in names}) == len(names)


def test_no_two_short_names_share_a_slug():
    names = ["".join(letters) for length in range(7) for letters in product("aA-/.", repeat=length)]
    assert len({slug(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("sim/human", "sim-human"),
        ("choice/certainty", "choice-certainty"),
        ("openai/gpt-4o-mini", "openai-gpt-4o-mini"),
    ],
)
def test_plain_names_stay_plain(name, made):
    assert slug(name) == made
    assert slug(made) not in (
        made,
        slug(name),
    )  # the name that looks like this slug gets another one


@pytest.mark.parametrize("name", ["Sim/Human", "sim/human temperature=0.7", "a/b/c"])
def test_no_plain_name_can_be_made_to_meet_a_hashed_slug(name):
    made = slug(name)
    words = made.split("-")
    for cut in range(1, len(words)):
        assert slug("-".join(words[:cut]) + "/" + "-".join(words[cut:])) != made


@settings(deadline=None, max_examples=100)
@given(response=ANY_TEXT, value=st.none() | st.floats(), seed=st.none() | st.integers(0, 2**31 - 1))
def test_any_answer_becomes_one_line_of_strict_json(response, value, seed):
    line = trial_line({**rows(1)[0], "response": response, "value": value, "seed": seed})
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    back = json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert back.pop(VERSION) == TRIALS.version
    assert list(back) == TRIALS.names and back["seed"] == seed
    assert back["value"] == (value if value is not None and abs(value) < float("inf") else None)
    if response.isprintable() or response.isascii():
        assert back["response"] == response


if __name__ == "__main__":  # what the test of hash seeds runs
    whole(Path(sys.argv[1]), questions(20), Clerk(), repeats=2)
