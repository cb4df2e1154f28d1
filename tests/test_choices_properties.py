"""What must hold for every response, checked on generated ones."""

import math
import re
import sys

import pytest
from tiers import every_few
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cogbias import choices
from cogbias.choices import (
    clauses,
    commitments,
    menu_of,
    menus,
    normalise,
    numbers,
    probabilities,
    read_choice,
    form_owners,
    statements,
    surface_forms,
    assertions,
)
from cogbias.choices import text as words_and_sentences
from cogbias.choices.menus import find_mentions
from cogbias.tables import STATUSES

bounded = settings(derandomize=True, max_examples=80, deadline=None, database=None)


def options(*labels, texts=()):
    "Options as an item holds them."
    texts = texts or [""] * len(labels)
    return [
        {"label": label, "text": text, "role": f"role {n}", "value": n}
        for n, (label, text) in enumerate(zip(labels, texts))
    ]


MENUS = {
    "letters": options("A", "B", texts=("33% chance to win $2500", "$2400 with certainty")),
    "options": options(
        "Option A", "Option B", texts=("33% chance to win $2500", "$2400 with certainty")
    ),
    "brands": options("Brand 1", "Brand 2", "Brand 3"),
    "validity": options("valid", "invalid"),
    "yes or no": options("yes", "no"),
    "words": options("Doctor Smith", "Doctor Jones"),
    "likert": options(
        *"1234567",
        texts=(
            "strongly disagree",
            "disagree",
            "rather disagree",
            "neutral",
            "rather agree",
            "agree",
            "strongly agree",
        ),
    ),
    "scale": options(*map(str, range(11))),
    "percent": options(*(f"{n}%" for n in range(0, 101, 10))),
    "nine": options(*"ABCDEFGHI"),
    "empty": [],
}
KINDS = {"likert": "scale", "scale": "scale", "percent": "scale", "empty": "number"}
CASES = [(name, KINDS.get(name, "choice")) for name in MENUS]

FRAGMENTS = [
    "A",
    "B",
    "a",
    "I",
    "C",
    "Option A",
    "option b",
    "Option C",
    "(A)",
    "B)",
    "**B**",
    "Brand 1",
    "Brand #2",
    "brand 9",
    "valid",
    "invalid",
    "yes",
    "no",
    "No,",
    "true",
    "false",
    "Doctor Smith",
    "1",
    "2",
    "7",
    "11",
    "30%",
    "$2,500",
    "2.5 million",
    "20-30",
    "7/10",
    "1e5",
    "222 222",
    "-",
    "\u2014",
    "\u2013",
    "not",
    "isn't",
    "never",
    "neither",
    "nor",
    "or",
    "and",
    "either",
    "It depends",
    "maybe",
    "if",
    "because",
    "so",
    "but",
    "therefore,",
    "I would choose",
    "I choose",
    "The answer is",
    "Answer:",
    "Final answer:",
    "my final choice is",
    "the argument is",
    "logically",
    "the conclusion follows",
    "does not follow",
    "rather than",
    "instead of",
    "the second option",
    "the former",
    "wait, actually",
    "As an AI",
    "I cannot",
    "choose",
    "help",
    "sorry",
    "most people",
    "a rational person would",
    "is better",
    "has the higher expected value",
    "$2400 with certainty",
    "agree",
    "strongly disagree",
    "\\boxed{B}",
    "<answer>A</answer>",
    "<think>",
    "</think>",
    '{"answer": "B"}',
    "{",
    "}",
    "`",
    "```",
    "#",
    "> ",
    "\n",
    "\n\n",
    ".",
    "?",
    "!",
    ";",
    ":",
    ",",
    "\u201c",
    "\u201d",
    "\u2019",
    "\u200b",
    "\u00a0",
    "\u0130",
    "\u017f",
    "\u274c",
    "\U0001d5d4",
    "\uff21",
    "\x00",
    "~~A~~",
    "10" * 30,
]
FRAGMENT_TEXT = st.lists(st.sampled_from(FRAGMENTS), max_size=14).flatmap(
    lambda parts: st.sampled_from(["", " ", " ", " "]).map(lambda gap: gap.join(parts))
)
TEXT = st.one_of(FRAGMENT_TEXT, FRAGMENT_TEXT, st.text(max_size=80))
FINISH = st.sampled_from([None, "stop", "length", "content_filter", "error", "unheard of"])


def check(reading, menu, answer):
    "What every reading must satisfy."
    assert reading.status in STATUSES
    assert (reading.choice is not None) == (reading.status == "ok")
    assert isinstance(reading.detail, str) and reading.detail
    if answer == "number":
        assert (reading.value is not None) == (reading.status == "ok")
        assert reading.value is None or (
            math.isfinite(reading.value) and float(reading.choice) == reading.value
        )
    else:
        assert reading.choice is None or reading.choice in {each["label"] for each in menu}
        assert reading.value == next(
            (each["value"] for each in menu if each["label"] == reading.choice), None
        )


@pytest.mark.parametrize("name,answer", CASES)
@bounded
@given(text=TEXT, finish=FINISH)
def test_any_text_gives_a_reading(name, answer, text, finish):
    check(read_choice(text, MENUS[name], answer, finish), MENUS[name], answer)


@bounded
@given(
    text=TEXT,
    name=st.sampled_from(list(MENUS)),
    answer=st.sampled_from(["choice", "scale", "number"]),
)
def test_any_kind_of_answer_fits_any_menu(text, name, answer):
    check(
        read_choice(text, MENUS[name], answer),
        MENUS[name],
        answer if answer == "number" else "choice",
    )


@bounded
@given(text=TEXT)
def test_a_reading_depends_on_nothing_but_the_text(text):
    first = read_choice(text, MENUS["options"])
    read_choice("Option A or B", MENUS["nine"])
    assert read_choice(text, MENUS["options"]) == first


WRAPS = [
    "{}",
    "**{}**",
    "*{}*",
    "__{}__",
    "_{}_",
    "`{}`",
    "```\n{}\n```",
    "({})",
    "[{}]",
    "{{{}}}",
    "<{}>",
    '"{}"',
    "'{}'",
    "\u201c{}\u201d",
    "\u2018{}\u2019",
    "\u00ab{}\u00bb",
    "> {}",
    "# {}",
    "### {}\n",
    "- {}",
    "* {}",
    "{}.",
    "{}!",
    "{};",
    "{}:",
    "  {}  ",
    "\n\n{}\n",
    "\t{}",
    "\u00a0{}\u200b",
    "$\\boxed{{\\text{{{}}}}}$",
    "<b>{}</b>",
    "<answer>{}</answer>",
    "Answer: {}",
    "Answer:\n\n{}",
    "answer - {}",
    "Final answer: **{}**.",
    '{{"answer": "{}"}}',
    '```json\n{{"answer": "{}"}}\n```',
    "<think>not sure, A or B or 1</think>{}",
    "My answer is {}.",
    "The answer is ({}).",
]
CASED = st.sampled_from([str, str.lower, str.upper, str.title])
ANSWERS = [
    (name, each["label"], form)
    for name in MENUS
    for each in MENUS[name]
    for form in dict.fromkeys(
        [
            each["label"],
            *(
                {
                    "letters": [f"Option {each['label']}"],
                    "options": [each["label"][-1]],
                    "brands": [f"Brand #{each['label'][-1]}", each["label"][-1]],
                }.get(name, [])
            ),
        ]
    )
]


@settings(bounded, max_examples=200)
@given(case=st.sampled_from(ANSWERS), wrap=st.sampled_from(WRAPS), cased=CASED)
def test_dress_does_not_change_a_reading(case, wrap, cased):
    name, label, form = case
    reading = read_choice(wrap.format(cased(form)), MENUS[name], KINDS.get(name, "choice"))
    assert (reading.choice, reading.status) == (label, "ok"), (wrap, form, reading)


@bounded
@given(
    outer=st.sampled_from(WRAPS[:25]),
    inner=st.sampled_from(WRAPS[:12]),
    label=st.sampled_from(["Option A", "Option B"]),
)
def test_dress_over_dress(outer, inner, label):
    assume("#" not in inner)
    assert read_choice(outer.format(inner.format(label)), MENUS["options"]).choice == label


SENTENCES = [
    "I would choose {}.",
    "I choose {} because it suits me better than the rest.",
    "My final choice is {}.",
    "A rational person would choose {}.",
    "It depends on the person, but {}.",
    "Let me think.\nThere is much to weigh.\nTherefore, my final choice is {}",
    "There are 2 good ones but {}",
    "So, {}.",
    "I'd go with {}, all things considered.",
    "Given all this, I would pick {}.",
]


@bounded
@given(sentence=st.sampled_from(SENTENCES), label=st.sampled_from([1, 2, 3]), cased=CASED)
def test_sentences_that_choose(sentence, label, cased):
    assert (
        read_choice(cased(sentence.format(f"Brand {label}")), MENUS["brands"]).choice
        == f"Brand {label}"
    )


NEGATIONS = [
    "not {}",
    "Not {}.",
    "not: {}",
    "not - {}",
    "not\n{}",
    "not ({})",
    "NOT **{}**",
    "not \u201c{}\u201d",
    "isn't {}",
    "it is not {}",
    "never {}",
    "definitely not {}",
    "The answer is not {}.",
    "Answer: not {}",
    "I would not choose {}.",
    "I wouldn't choose {}",
    "I wont choose {}",
    "I do not choose {}",
    "I cannot choose {}",
    "I would never pick {}",
    "I do not think {} is the best choice.",
    "{} is not my choice.",
    "I would not, under any circumstances, choose {}.",
    "anything but {}",
    "rather than {}",
    "instead of {}",
    "I refuse to choose {}",
    "It is not the case that I would choose {}",
    "neither {}",
    "the wrong answer is {}",
    "Nobody would choose {}",
    "I don't believe it's {}",
    "\u274c {}",
    "It would be a mistake to choose {}",
    "I'd avoid {}",
    "my least preferred option is {}",
]


@settings(bounded, max_examples=150)
@given(
    negation=st.sampled_from(NEGATIONS),
    case=st.sampled_from([case for case in ANSWERS if KINDS.get(case[0], "choice") == "choice"]),
    cased=st.sampled_from([str, str.upper]),
    tail=st.sampled_from(["", ".", "!", " ", "\n", " because it is risky."]),
)
def test_not_x_never_gives_x(negation, case, cased, tail):
    name, label, form = case
    assert read_choice(cased(negation.format(form)) + tail, MENUS[name]).choice != label


@bounded
@given(
    number=st.integers(0, 10),
    negation=st.sampled_from(
        ["not {}", "It is not {}", "Not a {}.", "I would not say {}", "never {}"]
    ),
)
def test_not_a_number_never_gives_the_number(number, negation):
    assert read_choice(negation.format(number), MENUS["scale"], "scale").choice is None
    assert read_choice(negation.format(number), [], "number").choice is None


NEUTRAL = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "the",
                "we",
                "think",
                "hope",
                "price",
                "answer",
                "choose",
                "is",
                "would",
                "my",
                "best",
                "higher",
                "because",
                "so",
                "therefore",
                "final",
                "people",
                "option",
                "brand",
                "Answer:",
                "it",
            ]
        ),
        st.text(alphabet="qwxzkjv\u00e9\u00df\u0416", min_size=3, max_size=8),
    ),
    max_size=12,
)


@bounded
@given(
    words=NEUTRAL,
    gap=st.sampled_from([" ", ", ", ".\n", " - "]),
    name=st.sampled_from([name for name in MENUS if name != "empty"]),
)
def test_nothing_named_nothing_chosen(words, gap, name):
    text = gap.join(words)
    assume(not find_mentions(normalise(text), menu_of(MENUS[name])))
    assert read_choice(text, MENUS[name], KINDS.get(name, "choice")).choice is None


@bounded
@given(
    one=st.sampled_from("ABCDEFGHI"),
    two=st.sampled_from("ABCDEFGHI"),
    joint=st.sampled_from(
        [
            "{} or {}",
            "Either {} or {}",
            "{} and {}",
            "{}/{}",
            "{}, {}",
            "I choose {} and {}",
            "I would choose {} or {}.",
            "Answer: {} or {}",
            "{} and {} are equal",
            "Option {} or Option {}",
            "{}\n{}",
            "{}. Wait, actually {}",
            "I can't choose between {} and {}",
        ]
    ),
)
def test_two_options_are_no_choice(one, two, joint):
    assume(one != two and one != "I")  # which is also a word: nothing says that it is a label
    assert read_choice(joint.format(one, two), MENUS["nine"]).choice is None


@settings(bounded, max_examples=120)
@given(
    value=st.one_of(st.integers(-(10**9), 10**9), st.decimals(0, 10**6, places=2)),
    form=st.sampled_from(
        [
            "{}",
            "${}",
            "{}%",
            "{} dollars",
            "**{}**",
            "I would pay {}.",
            "My estimate is {}.",
            "Answer: {}",
            "about {} people",
        ]
    ),
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
    assert read_choice(f"{lead}{low}{gap}{high}", [], "number").choice is None
    assume((low, high) != (0, 10))  # the two ends of the scale describe the scale
    assert read_choice(f"{lead}{low}{gap}{high}", MENUS["scale"], "scale").choice is None


@pytest.mark.parametrize("name", [name for name in MENUS if name != "empty"])
def test_every_surface_form_of_a_label_is_read_as_that_label(name):
    forms = {each["label"]: surface_forms(each["label"]) for each in MENUS[name]}
    for label, own in forms.items():
        assert own[0] == label and len(own) == len(set(own))
        owners = form_owners(tuple(forms))
        assert {owners.get(form, label) for form in own} == {label} == {owners[label]}


# Reading time: no pattern can backtrack more than a bounded amount, and the work done in Python
# grows with the length of the text.

PAGES = (
    words_and_sentences,
    menus,
    clauses,
    statements,
    assertions,
    commitments,
    numbers,
    probabilities,
    choices,
)
PATTERNS = {
    f"{page.__name__}.{name}": value
    for page in PAGES
    for name, value in vars(page).items()
    if isinstance(value, re.Pattern)
}
PATTERNS |= {f"rewrite {n}": each for n, (each, _) in enumerate(words_and_sentences.REWRITES)}
PATTERNS |= {f"block {why} {where}": each for (why, where), each in clauses.BLOCKS.items()}
PATTERNS |= {
    f"cue {n} {side}": getattr(each, side)
    for n, each in enumerate(statements.CUES)
    for side in ("before", "after")
    if getattr(each, side)
}
PATTERNS |= {f"part {name}": each for name, each in numbers.PARTS.items()}
PATTERNS |= {f"scanner {name}": menu_of(menu).scan for name, menu in MENUS.items()}


def repeats(parsed, inside=()):
    "Every unbounded repeat of a parsed pattern: what it repeats, and how many repeats enclose it."
    for code, argument in parsed:
        if code in (
            re._constants.MAX_REPEAT,
            re._constants.MIN_REPEAT,
            re._constants.POSSESSIVE_REPEAT,
        ):
            _, most, body = argument
            if most == re._constants.MAXREPEAT:
                yield body, len(inside)
            yield from repeats(body, (*inside, most))
        elif code is re._constants.BRANCH:
            for branch in argument[1]:
                yield from repeats(branch, inside)
        elif code is re._constants.SUBPATTERN:
            yield from repeats(argument[-1], inside)
        elif code in (re._constants.ASSERT, re._constants.ASSERT_NOT):
            yield from repeats(argument[1], inside)


@pytest.mark.parametrize("name", PATTERNS)
def test_unbounded_repeats_are_of_one_character_and_not_nested(name):
    for body, depth in repeats(
        re._parser.parse(PATTERNS[name].pattern, PATTERNS[name].flags & ~re.UNICODE)
    ):
        assert depth == 0, f"{name}: a repeat without limit inside another repeat"
        assert len(body) == 1 and body[0][0] in (
            re._constants.IN,
            re._constants.LITERAL,
            re._constants.NOT_LITERAL,
        ), f"{name}: an unlimited repeat of more than one character"


def test_the_check_of_patterns_finds_a_bad_one():
    assert [depth for _, depth in repeats(re._parser.parse(r"(?:a+)+b"))] == [0, 1]


ADVERSARIES = [
    "A ",
    "A, ",
    "A or ",
    "Option A ",
    "option (",
    "not ",
    "is not ",
    "so ",
    "the that is be ",
    "final answer is ",
    "answer: the ",
    "I would choose ",
    "if A ",
    "A.\n",
    "B\nA\n",
    "wait A ",
    "1 ",
    "1-",
    "1,",
    "5k ",
    "between 1 ",
    "7/10 ",
    "from 0 to 10 ",
    "(",
    "*",
    "~~a",
    "{",
    "\n",
    "<b>",
    "<think>",
    "\\boxed{",
    "$2400 with ",
    "33% chance to win $2500 or ",
    "\u0130",
    "\u00a0",
    "conclusion logically ",
]


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


@pytest.mark.parametrize(
    "name,answer",
    [("options", "choice"), ("validity", "choice"), ("scale", "scale"), ("empty", "number")],
)
def test_work_grows_with_the_length(name, answer):
    for unit in ADVERSARIES:
        work(unit, MENUS[name], answer)  # builds the menu and fills the caches
        short, long = (
            work((unit * (size // len(unit) + 1))[:size], MENUS[name], answer)
            for size in (2000, 8000)
        )
        assert long <= 5 * short + 400, (unit, short, long)


@pytest.mark.parametrize("unit", every_few(4, ADVERSARIES))
def test_very_long_text(unit):
    text = (unit * 50_000)[:50_000]
    for name in ("options", "validity"):
        check(read_choice(text, MENUS[name]), MENUS[name], "choice")
    check(read_choice(text, [], "number"), [], "number")
