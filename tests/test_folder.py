"The database of an outputs folder: nothing is lost or stored twice, whatever happens to a writer."

import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import cogbias.folder as store
from cogbias.backends.sim import exact_trials
from cogbias.design import paradigm
from cogbias.effects import effect_rows, effects_table
from cogbias.participants import Answer, ask, participant
from cogbias.tables import ITEMS, TRIALS, CogbiasError
from tiers import FEW, KINDS, slow_but


@pytest.fixture(autouse=True)
def nothing_read_yet():
    "No list of items is at hand, as in another process."
    store._LISTS.clear()


HUMAN = participant("sim/human")
CERTAINTY = paradigm("choice/certainty").items()


def new_request(folder, items=CERTAINTY, **how):
    "A request of one more run."
    run = store.begin_run(folder, {}, {})
    who, method = how.pop("who", HUMAN), how.pop("method", "option_probability")
    return store.ask(folder, run, who, store.keep_items(folder, items), method, **how)


def even(each):
    "The answer of whoever has no preference."
    labels = [option["label"] for option in each.request.item["options"]]
    return Answer("ok", p=dict.fromkeys(labels, 1 / len(labels)))


def answer(folder, asked, who=HUMAN):
    "Ask for all that is missing, once."
    left = store.missing(folder, asked)
    came = ask(who, [each.request for each in left], asked.method)
    return store.keep_answers(folder, asked, [(left[at], each) for at, each in came])


# ---- writers that are killed, at once, and on a full disk; run in processes of their own


def _write_slowly(place, seed):
    "Answer what is missing in small batches, in any order."
    drawn = random.Random(seed)
    with store.Folder(place, writes=True) as folder:
        [asked] = store.requests(folder)
        while left := store.missing(folder, asked):
            drawn.shuffle(left)
            for at in range(0, min(200, len(left)), 10):
                store.keep_answers(folder, asked, [(e, even(e)) for e in left[at : at + 10]])
                time.sleep(0.005)


def _forked(what, *arguments):
    "The process that does something."
    if process := os.fork():
        return process
    try:
        what(*arguments)
        os._exit(0)
    except BaseException as error:  # said where the test sees it
        print(error, file=sys.stderr)
        os._exit(1)


def _sound(place):
    "How many answers a sound database holds, each once."
    with store.Folder(place) as folder:
        assert folder.rows("pragma integrity_check") == [("ok",)]
        [(count, distinct)] = folder.rows("select count(*), count(distinct trial_id) from answers")
        assert count == distinct
        assert not store.verify(folder)["refused"].any()
        return count


def _wait_for_more(place, count):
    "Wait until a folder holds so many answers; how many there are."
    with store.Folder(place) as folder:
        while (found := folder.rows("select count(*) from answers")[0][0]) < count:
            time.sleep(0.002)
    return found


def _killed(place, kills, how):
    "Four writers at a time are killed, until there were so many kills; then one goes on."
    with store.Folder(place, writes=True) as folder:
        new_request(folder, repeats=kills // 4, method="option_draw")
    before, all_of_them = 0, kills // 4 * len(CERTAINTY)
    step = all_of_them // (4 * kills)
    for first in range(0, kills, 4):
        writers = [_forked(_write_slowly, place, first + each) for each in range(4)]
        for each in writers:  # in the middle of writing, as each of them has its turn
            before = _wait_for_more(place, before + step)
            os.kill(each, how)
        ended = [os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in writers]
        assert ended == [-how] * 4, ended
        assert before <= _sound(place) < all_of_them
    left = os.waitpid(_forked(_finish, place), 0)[1]
    assert left == 0 and _sound(place) == all_of_them


def _finish(place):
    "Answer all that is missing."
    with store.Folder(place, writes=True) as folder:
        [asked] = store.requests(folder)
        left = store.missing(folder, asked)
        store.keep_answers(folder, asked, [(each, even(each)) for each in left])


def _plan(place, number):
    "Open a folder that may not be there yet, and ask somebody, and the same as all others."
    with store.Folder(place, writes=True) as folder:
        new_request(folder)
        who = store.Recorded(f"made/{number}", "made", "x", None, None, False, ("text",), {}, {})
        asked = new_request(folder, who=who)
        left = store.missing(folder, asked)[:50]
        assert store.keep_answers(folder, asked, [(each, even(each)) for each in left]) == {
            "ok": 50
        }


def _planned_at_once(place):
    "Six processes make one folder."
    planners = [_forked(_plan, place, number) for number in range(6)]
    assert [os.waitpid(each, 0)[1] for each in planners] == [0] * 6
    with store.Folder(place) as folder:
        assert len(store.requests(folder)) == 7  # one of all, and one of each
        assert folder.rows("select count(*) from items") == [(len(CERTAINTY),)]
    assert _sound(place) == 300


def _on_a_full_disk(place):
    "A file may not grow: what was stored stays, and the writer says what to do."
    with store.Folder(place, writes=True) as folder:
        asked = new_request(folder)
        left = store.missing(folder, asked)
        store.keep_answers(folder, asked, [(each, even(each)) for each in left[:100]])
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
    with store.Folder(place, writes=True) as folder:
        try:
            store.keep_answers(folder, asked, [(each, even(each)) for each in left[100:]])
            raise AssertionError("the disk was not full")
        except CogbiasError as error:
            assert "free some space and run again" in str(error), error
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert _sound(place) == 100
    _finish(place)
    assert _sound(place) == len(CERTAINTY)


def _elsewhere(call):
    "Do something in a process that computes nothing else: a fork of it is safe."
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_folder as t"
    )
    code = f"{code}; {call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    "kills, how",
    [
        (8, signal.SIGKILL),
        pytest.param(20, signal.SIGKILL, marks=pytest.mark.slow),
        pytest.param(15, signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_killed_writers_lose_nothing_and_store_nothing_twice(tmp_path, kills, how):
    _elsewhere(f"t._killed({str(tmp_path)!r}, {kills}, {int(how)})")


def test_processes_plan_and_write_at_once(tmp_path):
    _elsewhere(f"t._planned_at_once({str(tmp_path)!r})")


def test_a_full_disk_keeps_what_was_stored(tmp_path):
    _elsewhere(f"t._on_a_full_disk({str(tmp_path)!r})")


# ---- a study that grows


def test_a_study_that_grows_asks_only_what_is_new(tmp_path):
    "More settings, more stories, more repeats, another method, participant, paradigm and wording."
    source = paradigm("managerial/framing")

    def items(**design):
        return source.items(orders="published", style="published", **design)

    with store.Folder(tmp_path, writes=True) as folder:

        def new(table, **how):
            asked = new_request(folder, table, **how)
            left = len(store.missing(folder, asked))
            answer(folder, asked, how.get("who", HUMAN))
            assert len(store.trials(folder, [asked])) == len(table) * how.get("repeats", 1)
            return left

        few = items(settings=10, instances=1)
        assert new(few) == len(few)
        more = items(settings=20, instances=1)
        assert set(few["item_id"]) < set(more["item_id"])
        assert new(more) == len(more) - len(few)
        stories = items(settings=20, instances=5)
        known = set(more["item_id"]) & set(stories["item_id"])
        assert known and new(stories) == len(stories) - len(known)
        assert new(few) == 0  # and a smaller one again
        assert new(few, method="option_draw", repeats=2) == 2 * len(few)
        assert new(few, method="option_draw", repeats=3) == len(few)
        assert new(few, who=participant("sim/random")) == len(few)
        assert new(CERTAINTY) == len(CERTAINTY)
        renamed = few.assign(cluster=few["cluster"] + "!", pair_id=few["pair_id"] + "!")
        assert new(renamed) == 0
        assert set(store.trials(folder)["cluster"]) >= set(renamed["cluster"])
        assert len(store.requests(folder)) == 3  # the last of each participant and paradigm
        assert folder.rows("select count(*) from asked where run_id = 1") == [(1,)]


def test_rounds_go_on_until_enough_answers_are_readable(tmp_path):
    few = CERTAINTY.head(40).reset_index(drop=True)
    size = few.groupby("condition").size()
    with store.Folder(tmp_path, writes=True) as folder:
        asked = new_request(folder, few, method="text", valid_answers=50, attempts=2)
        left = store.missing(folder, asked)
        assert len(left) == sum(-(-50 // each) * each for each in size)
        unread = [(each, Answer("refusal", response="no")) for each in left]
        assert store.keep_answers(folder, asked, unread) == {"refusal": len(left)}
        again = store.missing(folder, asked)
        assert {each.trial_id for each in again}.isdisjoint({each.trial_id for each in left})
        store.keep_answers(folder, asked, [(e, Answer("refusal", response="no")) for e in again])
        assert store.missing(folder, asked) == []  # as often as a prompt may be put
        put = store.trials(folder, [asked])["condition"].value_counts()
        assert (put >= 100).all() and (put < 100 + size[put.index]).all()
        fewer = new_request(folder, few, method="text", valid_answers=1, attempts=1)
        assert store.missing(folder, fewer) == []
        assert len(store.trials(folder, [fewer])) == len(few)


def test_two_steps_keep_the_reasoning_apart(tmp_path):
    "A second step that failed is asked again; its reasoning already exists."
    reader = store.Recorded("made/reader", "made", "r", None, None, False, ("text",), {}, {})
    with store.Folder(tmp_path, writes=True) as folder:
        asked = new_request(folder, CERTAINTY.head(3), method="two_step", extractor=reader)
        first = store.missing(folder, asked, "reasoning")
        thought = [(each, Answer("ok", response="I think")) for each in first]
        assert store.keep_answers(folder, asked, thought, "reasoning") == {"ok": 3}
        assert store.missing(folder, asked, "reasoning") == []
        assert store.trials(folder, [asked], "reasoning")["method"].unique() == ["reasoning"]
        left = store.missing(folder, asked)
        store.keep_answers(folder, asked, [(left[0], Answer("error", detail="lost"))])
        assert [each.attempts for each in store.missing(folder, asked)] == [1, 0, 0]
        [row] = store.status(folder).to_dict("records")
        assert (row["asked"], row["ok"], row["error"], row["reason"]) == (3, 0, 1, "lost")


def test_an_answer_that_no_table_can_hold_costs_only_itself(tmp_path):
    with store.Folder(tmp_path, writes=True) as folder:
        asked = new_request(folder)
        first, second, third, fourth, *_ = store.missing(folder, asked)
        came = [
            (first, even(first)._replace(response="half \ud83d and whole \ud83d\ude00")),
            (second, even(second)._replace(valid_mass=float("nan"))),
            (third, even(third)._replace(p={"nobody": 1.0})),
            (fourth, even(fourth)._replace(tokens_in=-1)),
        ]
        assert store.keep_answers(folder, asked, came) == {"ok": 2, "error": 2}
        found = store.trials(folder).set_index("trial_id")
        assert found.loc[second.trial_id, "status"] == "ok"
        assert pd.isna(found.loc[second.trial_id, "valid_mass"])
        assert found.loc[third.trial_id, "detail"].startswith("the answer cannot be stored: ")
        assert found.loc[fourth.trial_id, "status"] == "error"


def test_a_declaration_travels_with_its_answers(tmp_path):
    "Another text is another request, and the same prompts are not asked again."
    with store.Folder(tmp_path, writes=True) as folder:
        first = new_request(folder, files={"bias.toml": "name = 'one'"})
        answer(folder, first)
        second = new_request(folder, files={"bias.toml": "name = 'two'"})
        assert second.request_id != first.request_id and not store.missing(folder, second)
        assert store.declarations(folder) == {"choice/certainty": {"bias.toml": "name = 'two'"}}
        folder.db.execute('update paradigms set files = \'{"bias.toml":"name = 3"}\'')
        with pytest.raises(CogbiasError, match="1 of 1 rows have changed since they were stored"):
            store.declarations(folder)


# ---- what comes back


@pytest.mark.parametrize("name", slow_but(FEW, KINDS))
def test_items_and_effects_come_back_as_they_were(name, tmp_path):
    "A list that is read from the database is the table that was stored, factors and types too."
    items = paradigm(name).items()
    with store.Folder(tmp_path, writes=True) as folder:
        asked = new_request(folder, items)
        answer(folder, asked)
    store._LISTS.clear()  # as in another process
    with store.Folder(tmp_path) as folder:
        [asked] = store.requests(folder)
        pd.testing.assert_frame_equal(store.items(folder, asked), items, check_dtype=False)
        stored = store.trials(folder, [asked])
        stored = stored[stored["status"] == "ok"]  # a number without an end has no distribution
        now, then = (
            effects_table(effect_rows(trials, table, paradigm(name)))
            for trials, table in (
                (stored, store.items(folder, asked)),
                (exact_trials("human", items), items),
            )
        )
    pd.testing.assert_frame_equal(now, then, rtol=1e-9, atol=1e-9)


def test_other_programs_read_the_views(tmp_path):
    with store.Folder(tmp_path, writes=True) as folder:
        asked = new_request(folder)
        answer(folder, asked)
        found = store.trials(folder)
        items = store.items(folder, asked)
    with sqlite3.connect(tmp_path / store.DATABASE) as elsewhere:
        trials = pd.read_sql_query("select * from v_trials", elsewhere)
        rows = pd.read_sql_query("select * from v_items", elsewhere)
    found = found.drop(columns="p").astype(object).where(found.notna(), None)
    pd.testing.assert_frame_equal(trials.drop(columns="p").astype(object), found)
    assert set(ITEMS.names) <= set(rows) and rows["item_id"].tolist() == items["item_id"].tolist()


def test_a_new_column_of_trials_is_a_column_of_the_database():
    named = {row[1] for row in _columns_of("answers")}
    assert {each.name for each in TRIALS.columns} - store.POINTED_AT < named
    assert [row[1] for row in _columns_of("v_trials")] == TRIALS.names


def _columns_of(table):
    db = sqlite3.connect(":memory:")
    db.executescript(store.SCHEMA)
    return db.execute(f"pragma table_info({table})").fetchall()


# ---- folders of strangers


def _bytes(db):
    db.execute("update answers set response = x'ff00'")


def _half_utf8(db):
    db.execute("update answers set response = cast(x'ff41' as text)")


def _huge(db):
    db.execute("update answers set response = zeroblob(100000000) where rowid = 1")


def _text_for_number(db):
    db.execute("update answers set value = 'many'")


def _often(db):
    db.execute("update requests set repeats = 1000000000")


def _of_another(db):
    db.execute("update requests set participant_id = 'somebody'")


def _deep(db):
    db.execute("update lists set rows = ?", ("[" * 100_000,))


def _same_id(db):
    db.execute("update items set prompt = 'Another question?'")


def _trigger(db):
    db.execute("create trigger t after insert on runs begin delete from answers; end")


def _view(db):
    db.execute("drop view v_requests")
    db.execute("create view v_requests as select load_extension('evil')")


def _version(db):
    db.execute("pragma user_version = 2")


def _table(db):
    db.execute("create table more (a)")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    place = tmp_path_factory.mktemp("sound")
    with store.Folder(place, writes=True) as folder:
        answer(folder, new_request(folder, CERTAINTY.head(20)))
    return place


@pytest.mark.parametrize(
    "change",
    [
        *(_bytes, _half_utf8, _huge, _text_for_number, _often, _of_another),
        *(_deep, _same_id, _trigger, _view, _version, _table),
    ],
)
def test_what_a_stranger_changed_is_refused_in_one_line(sound, tmp_path, change):
    (tmp_path / store.DATABASE).write_bytes((sound / store.DATABASE).read_bytes())
    db = sqlite3.connect(tmp_path / store.DATABASE)
    change(db)
    db.commit()
    db.close()
    try:
        with store.Folder(tmp_path) as folder:
            found = store.trials(folder)
    except CogbiasError as error:
        assert "\n" not in str(error) and len(str(error)) < 400
        return
    assert found.empty or found.attrs["refused"] == 20 - len(found)


@pytest.mark.parametrize("content", [b"", b"x" * 5000, b"SQLite format 3\0" + b"x" * 5000])
def test_what_is_no_database_is_refused_in_one_line(tmp_path, content):
    (tmp_path / store.DATABASE).write_bytes(content)
    with pytest.raises(CogbiasError, match=store.DATABASE):
        store.Folder(tmp_path)


@pytest.mark.parametrize("ending", ["", "-wal", "-journal"])
def test_a_link_out_of_the_folder_is_not_followed(sound, tmp_path, ending):
    inside = tmp_path / "inside"
    inside.mkdir()
    if ending:
        (inside / store.DATABASE).write_bytes((sound / store.DATABASE).read_bytes())
    (inside / f"{store.DATABASE}{ending}").symlink_to(tmp_path / "mine")
    (tmp_path / "mine").write_bytes((sound / store.DATABASE).read_bytes())
    for writes in (False, True):
        with pytest.raises(CogbiasError, match="a link that leads out"):
            store.Folder(inside, writes=writes)


def test_a_reader_writes_nothing(sound):
    with store.Folder(sound) as folder:
        with pytest.raises(CogbiasError, match="readonly"):
            store.keep_notes(folder, "", ["a note"])
        assert len(store.trials(folder)) == 20


# ---- what was made, and what was spent


def test_a_file_is_made_again_when_its_input_has_changed(sound, tmp_path):
    (tmp_path / store.DATABASE).write_bytes((sound / store.DATABASE).read_bytes())
    file = "reports/sim-human/choice-certainty.ipynb"
    with store.Folder(tmp_path, writes=True) as folder:
        states = [store.state_of(folder, file, "1")]
        for text, made_from in (("one", "1"), ("two", "2"), ("one", "3")):
            store.make(folder, file, made_from, lambda place: place.write_text(text), keep=True)
            states.append(store.state_of(folder, file, made_from))
        assert states == ["missing", "current", "current", "current"]
        assert store.state_of(folder, file, "4") == "outdated"
        folder.place(file).write_text("mine")
        assert store.state_of(folder, file, "3") == "edited"
        kept = store.make(folder, file, "4", lambda place: place.write_text("two"), keep=True)
        assert kept.read_text() == "mine" and kept.is_relative_to(tmp_path / "reports" / "kept")
        assert folder.place(file).read_text() == "two"


def test_the_content_of_a_request_changes_with_its_answers(tmp_path):
    with store.Folder(tmp_path, writes=True) as folder:
        asked = new_request(folder)
        contents = [store.content_of(folder, [asked])]
        left = store.missing(folder, asked)
        store.keep_answers(folder, asked, [(left[0], Answer("error", detail="lost"))])
        contents.append(store.content_of(folder, [asked]))
        answer(folder, asked)
        contents.append(store.content_of(folder, [asked]))
        assert len({*contents}) == 3
        new_request(folder, who=participant("sim/random"))
        assert store.content_of(folder, [asked]) == contents[-1]


def _spend(place, number):
    "Set aside a dollar at a time, and never settle."
    with store.Folder(place, writes=True) as folder:
        while store.set_aside(folder, store.Call(f"{number}", 1.0), 0, {"usd": 20})[0]:
            time.sleep(0.001)


def _spent_at_once(place):
    "Four processes, one of which is killed, keep to one limit."
    store.Folder(place, writes=True).db.close()
    spenders = [_forked(_spend, place, number) for number in range(4)]
    os.kill(spenders[0], signal.SIGKILL)
    for each in spenders:
        os.waitpid(each, 0)
    with store.Folder(place) as folder:
        assert store.taken(folder, 0) == (0, 20, 20, 0)


def test_a_limit_holds_over_processes_and_kills(tmp_path):
    _elsewhere(f"t._spent_at_once({str(tmp_path)!r})")
