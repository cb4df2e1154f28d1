"""What written answers are read as: labelled ones of tests/data, and what must hold for any text.

The answers are as models write them, as somebody wrote them to break the reader, and of the kinds
that were misread; all are sentences of our own.
"""

import json
import math
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tiers import KINDS, every_few, slow_but

from cogbias.choices import menu_of, normalise, read_choice
from cogbias.choices.menus import find_mentions
from cogbias.design import paradigm, paradigms
from cogbias.participants import answer_from_text
from cogbias.tables import STATUSES

DATA = Path(__file__).parent / "data"
READINGS = json.loads((DATA / "readings.json").read_text())
PHRASES = json.loads((DATA / "phrases.json").read_text())
MENUS = {
    name: [
        {"label": label, "text": text, "role": f"role {n}", "value": n}
        for n, (label, text) in enumerate(options)
    ]
    for name, options in READINGS["menus"].items()
}
# a label, the number that was meant, or the status of what gives none; null is any such status
ROWS = [
    pytest.param(case, text, want, id=f"{case['kind']}: {text[-40:]}")
    for case in READINGS["cases"]
    for text, want in (case.get("wanted") or dict.fromkeys(case["texts"], case.get("want"))).items()
]


def is_read_as(reading, want):
    "Whether a reading is what was meant."
    if want is None:
        return reading.choice is None
    if isinstance(want, str):
        return (reading.choice or reading.status) == want
    return reading.value == want


@pytest.mark.parametrize(("case", "text", "want"), ROWS)
def test_a_labelled_answer(case, text, want):
    reading = read_choice(text, MENUS[case["menu"]], case["answer"], case.get("finish"))
    assert is_read_as(reading, want), reading
    if case["menu"] == "options" and not case.get("finish"):  # bare letters, read like these
        letters = [each | {"label": each["label"][-1]} for each in MENUS["options"]]
        assert is_read_as(read_choice(text, letters), want.removeprefix("Option "))


@pytest.mark.parametrize("text", ["I can't take a position on this, as it is a value.", "Neither."])
def test_a_complete_refusal_has_one_status_whether_cut_or_not(text):
    assert len({read_choice(text, MENUS["programs"], "choice", x) for x in ("stop", "length")}) == 1


@pytest.mark.parametrize("text", ["80 %", "about 80%", "eighty percent", "Answer: 80%"])
def test_a_percentage_is_no_number_of_years(text):
    years = {"prompt": "How old was she?", "options": [], "answer": "number", "content": {}}
    chance = {**years, "prompt": "How probable is it that she was old?"}
    assert answer_from_text(years, text).status == "invalid_format"
    assert answer_from_text(chance, text).value == 80


@pytest.mark.parametrize("name", slow_but(KINDS, paradigms()))
def test_restated_options_of_every_shipped_paradigm_say_nothing(name):
    "Whatever the options of an item are, to list them is not to choose, cut off or not."
    for shown in paradigm(name).items(seed=0).drop_duplicates("prompt")["options"].iloc[::97]:
        if not 2 <= len(shown) <= 9:
            continue
        lines = [f"{each['label']}: {each['text']}" for each in shown]
        if shown[0]["text"] in ("", shown[0]["label"]):
            lines = [each["label"] for each in shown]
        for lead in ("Let's compare the options:\n", ""):
            for finish in ("stop", "length"):
                for order in (lines, lines[::-1]):
                    text = lead + "\n".join(order)
                    assert read_choice(text, shown, finish_reason=finish).choice is None, text


# --- any text

bounded = settings(derandomize=True, max_examples=80, deadline=None, database=None)
CASES = {
    **{name: "choice" for name in ("options", "brands", "validity", "yes or no", "doctors")},
    **{name: "scale" for name in ("agreement", "zero to ten", "percent")},
    "none": "number",
}
NINE = [{"label": each, "text": "", "role": each, "value": n} for n, each in enumerate("ABCDEFGHI")]
FRAGMENTS = st.lists(st.sampled_from([*PHRASES["fragments"], "10" * 30]), max_size=14)
TEXT = st.one_of(FRAGMENTS.map(" ".join), FRAGMENTS.map("".join), st.text(max_size=80))
FINISH = st.sampled_from([None, "stop", "length", "content_filter", "error", "unheard of"])
CASED = st.sampled_from([str, str.lower, str.upper, str.title])
ANSWERS = [
    (name, each["label"], form)
    for name in CASES
    for each in MENUS[name]
    for form in {each["label"], *([each["label"][-1]] if name in ("options", "brands") else [])}
]


def check(reading, menu, answer):
    "What every reading must satisfy."
    assert reading.status in STATUSES
    assert (reading.choice is not None) == (reading.status == "ok")
    assert isinstance(reading.detail, str) and reading.detail
    if answer == "number":
        assert (reading.value is not None) == (reading.status == "ok")
        assert reading.value is None or math.isfinite(reading.value)
    else:
        known = {None: None} | {each["label"]: each["value"] for each in menu}
        assert reading.value == known[reading.choice]


@settings(bounded, max_examples=200)
@given(
    text=TEXT,
    name=st.sampled_from([*CASES]),
    answer=st.sampled_from(["choice", "scale", "number"]),
    finish=FINISH,
)
def test_any_text_gives_a_reading_of_any_menu(text, name, answer, finish):
    check(read_choice(text, MENUS[name], answer, finish), MENUS[name], answer)


@settings(bounded, max_examples=200)
@given(case=st.sampled_from(ANSWERS), wrap=st.sampled_from(PHRASES["dress"]), cased=CASED)
def test_dress_does_not_change_a_reading(case, wrap, cased):
    name, label, form = case
    reading = read_choice(wrap.format(cased(form)), MENUS[name], CASES[name])
    assert (reading.choice, reading.status) == (label, "ok"), (wrap, form, reading)


@bounded
@given(sentence=st.sampled_from(PHRASES["choosing"]), label=st.sampled_from([1, 2, 3]), cased=CASED)
def test_sentences_that_choose(sentence, label, cased):
    text = cased(sentence.format(f"Brand {label}"))
    assert read_choice(text, MENUS["brands"]).choice == f"Brand {label}"


@settings(bounded, max_examples=150)
@given(
    negation=st.sampled_from(PHRASES["negations"]),
    case=st.sampled_from([case for case in ANSWERS if CASES[case[0]] == "choice"]),
    cased=st.sampled_from([str, str.upper]),
    tail=st.sampled_from(["", ".", "!", " ", "\n", " because it is risky."]),
)
def test_not_x_never_gives_x(negation, case, cased, tail):
    name, label, form = case
    assert read_choice(cased(negation.format(form)) + tail, MENUS[name]).choice != label


@bounded
@given(number=st.integers(0, 10), negation=st.sampled_from(["not {}", "It is not {}", "never {}"]))
def test_not_a_number_never_gives_the_number(number, negation):
    text = negation.format(number)
    assert read_choice(text, MENUS["zero to ten"], "scale").choice is None
    assert read_choice(text, [], "number").choice is None


WORDS = "the we think price answer choose is best because so final people option brand Answer: it"
NEUTRAL = st.one_of(
    st.sampled_from(WORDS.split()),
    st.text(alphabet="qwxzkjv\u00e9\u00df\u0416", min_size=3, max_size=8),
)


@bounded
@given(
    words=st.lists(NEUTRAL, max_size=12),
    gap=st.sampled_from([" ", ", ", ".\n", " - "]),
    name=st.sampled_from([name for name in CASES if name != "none"]),
)
def test_nothing_named_nothing_chosen(words, gap, name):
    text = gap.join(words)
    assume(not find_mentions(normalise(text), menu_of(MENUS[name])))
    assert read_choice(text, MENUS[name], CASES[name]).choice is None


@bounded
@given(
    one=st.sampled_from("ABCDEFGH"),  # I is also a word: nothing says that it is a label
    two=st.sampled_from("ABCDEFGHI"),
    joint=st.sampled_from(PHRASES["two at once"]),
)
def test_two_options_are_no_choice(one, two, joint):
    assume(one != two)
    assert read_choice(joint.format(one, two), NINE).choice is None


@settings(bounded, max_examples=120)
@given(
    value=st.one_of(st.integers(-(10**9), 10**9), st.decimals(0, 10**6, places=2)),
    form=st.sampled_from(["{}", "${}", "{}%", "**{}**", "I would pay {}.", "about {} people"]),
    comma=st.booleans(),
)
def test_numbers_come_back(value, form, comma):
    written = f"{value:,}" if comma else f"{value}"
    reading = read_choice(form.format(written), [], "number")
    assert reading.status == "ok" and reading.value == float(value), (written, reading)


@bounded
@given(
    low=st.integers(0, 9),
    high=st.integers(0, 10),
    gap=st.sampled_from(["-", " - ", "\u2013", " to ", " or ", " or maybe ", "~", ", maybe "]),
    lead=st.sampled_from(["", "between ", "I'd say ", "Answer: "]),
)
def test_ranges_are_no_numbers(low, high, gap, lead):
    assume(low != high)
    text = f"{lead}{low}{gap}{high}"
    assert read_choice(text, [], "number").choice is None
    assume((low, high) != (0, 10))  # the two ends of the scale describe the scale
    assert read_choice(text, MENUS["zero to ten"], "scale").choice is None


# --- the time that reading takes grows with the length of the text


def work(text, menu, answer):
    "How many calls it takes to read a text."
    count = 0

    def tick(place, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(tick)
    try:
        read_choice(text, menu, answer)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", every_few(3, ["options", "validity", "zero to ten", "none"]))
def test_work_grows_with_the_length(name):
    for unit in PHRASES["adversaries"]:
        work(unit, MENUS[name], CASES[name])  # builds the menu and fills the caches
        short, long = (
            work((unit * (size // len(unit) + 1))[:size], MENUS[name], CASES[name])
            for size in (2000, 8000)
        )
        assert long <= 5 * short + 400, (unit, short, long)


@pytest.mark.parametrize("unit", every_few(4, PHRASES["adversaries"]))
def test_very_long_text(unit):
    text = (unit * 20_000)[:20_000]
    for name in ("options", "validity", "none"):
        check(read_choice(text, MENUS[name], CASES[name]), MENUS[name], CASES[name])
