"""Answers that an outside reader of the rules wrote to break them, in sentences of our own."""

import pytest

from made_up_menus import options
from cogbias.choices import read_choice
from cogbias.participants import answer_from_text

NONE = None


GAMBLE = options("A sure gain of $30", "An even chance of $70", labels=["Option A", "Option B"])
PROGRAMS = options("Program A: 60 whales will be saved.", "Program B: a third of a chance for all.")
CLERK = options("Tom is a clerk.", "Tom is a clerk and plays in a band.", labels="12")
BRANDS = options("", "", "", labels=["Brand 1", "Brand 2", "Brand 3"])
VALIDITY = options("Valid", "Invalid")
TICKET = options("Buy a new ticket", "Do not buy a new ticket", labels="12")
UNSURE = options("Oslo", "Bergen", "I am not sure")
SUMS = options("12", "24", "36")

CASES = {
    "a fact praises one option, the choice in other words is another": (
        GAMBLE,
        {
            "Option B has the higher expected value, but I'd take the money that is certain.": NONE,
            "Option A is the better choice on paper. Still, I'd gamble.": NONE,
            "Option B has the higher expected value.": "Option B",
        },
    ),
    "cut off after a lean": (
        PROGRAMS,
        {
            (
                "Program A seems to be the better choice at first. But we also have to",
                "length",
            ): NONE,
            (
                "I look at both. Program B has the higher expected value. However, the",
                "length",
            ): NONE,
            ("Therefore, Program B is the better choice, because it", "length"): "B",
        },
    ),
    "a longer option begins with the words of a shorter one": (
        CLERK,
        {
            "Tom is a clerk and plays in a band.": "2",
            "Tom is a clerk and a musician.": NONE,
            "Tom is a clerk.": "1",
        },
    ),
    "second places": (
        BRANDS,
        {
            "Answer: Brand 2\n\nRunner-up: Brand 1": "Brand 2",
            "First choice: Brand 3\nSecond choice: Brand 1": "Brand 3",
            "We can eliminate Brand 3.": NONE,
            "I would skip Brand 2.": NONE,
        },
    ),
    "what others say": (
        PROGRAMS,
        {
            "Most people, however, prefer Program A in this situation.": NONE,
            "The usual answer was Program A when whales are saved.": NONE,
            "You said that the answer is B. I cannot settle it.": NONE,
            "The most common answer is A.": NONE,
        },
    ),
    "verbs of choosing that describe": (
        GAMBLE,
        {
            "When you choose Option A, you get $30 for sure.": NONE,
            "Should you choose Option B, you may get nothing.": NONE,
            "You have to choose either Option A, which is safe, or Option B, which is not.": NONE,
            "For a cautious investor, Option A would be the best choice.": NONE,
        },
    ),
    "another assertion than that of the argument": (
        VALIDITY,
        {
            "Modus ponens is valid. That is well known.": NONE,
            "It's valid to ask whether the premises hold.": NONE,
            "An argument is invalid otherwise.": NONE,
            "Modus ponens is valid. This argument, however, is invalid.": "B",
        },
    ),
    "doing and not doing": (
        TICKET,
        {
            "I would not buy a new ticket.": "2",
            "I wouldn't buy a new ticket.": "2",
            "I would buy a new ticket.": "1",
            "To buy a new ticket would be silly.": NONE,
        },
    ),
    "an option that sounds like a doubt": (
        UNSURE,
        {
            "I'm not sure.": "C",
            "It is Bergen (B), although I am not sure about the year.": "B",
        },
    ),
    "options that are numbers": (
        SUMS,
        {
            "The answer is 24.": "B",
            "2 x 12 = 24. The answer is **24**.": "B",
            "\\boxed{36}": "C",
            "There are 12 months. Let us": NONE,
        },
    ),
    "a change of mind without a word for it": (
        PROGRAMS,
        {
            "At first I would go with A because it is safe. On reflection I choose B.": "B",
            "I initially thought of A. The answer is B.": "B",
        },
    ),
    "thinking in square brackets": (
        PROGRAMS,
        {"[THINK]A looks good. Wait, actually B.[/THINK]The answer is A.": "A"},
    ),
}
NUMBERS = {
    "The intuitive answer is 10 cents, but the pen costs 5 cents.": 5,
    "As of my last update in September 2021, I can't tell you the price.": NONE,
    "There are at least 3 factors to consider. I can't give you a price.": NONE,
    "I'd guess about thirty-five percent.": 35,
    "The wheel stopped at 65. I'd guess it is 35.": 35,
    "It would be $1{,}200$.": 1200,
}
TEN = options(*[""] * 10, labels=[str(number) for number in range(1, 11)])
SCALES = {
    "I'd give it a seven. It beats all 3 of its rivals.": "7",
    "Five. I'm in the middle.": "5",
    "I can't rate this, though people recommended it 3 times.": NONE,
}


@pytest.mark.parametrize(
    "menu,text,finish,want",
    [
        pytest.param(menu, *(text if isinstance(text, tuple) else (text, None)), want)
        for menu, texts in CASES.values()
        for text, want in texts.items()
    ],
)
def test_answers_written_to_break_the_reader(menu, text, finish, want):
    reading = read_choice(text, menu, finish_reason=finish)
    assert reading.choice == want, reading


@pytest.mark.parametrize("text,want", NUMBERS.items())
def test_numbers_written_to_break_the_reader(text, want):
    reading = read_choice(text, [], "number")
    assert reading.value == want, reading


@pytest.mark.parametrize("text,want", SCALES.items())
def test_scales_written_to_break_the_reader(text, want):
    reading = read_choice(text, TEN, "scale")
    assert reading.choice == want, reading


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I am 35, so 60", 60),
        ("I'm 35 years old and would pay 60", 60),
        ("I'm 6 feet tall, so 60", 60),
        ("I am 35.", NONE),
        ("The answer is 35, so 60", NONE),
        ("I spend 35 a week, so 60", NONE),
        ("I'm 80% confident", 80),
        ("I am at 60", 60),
    ],
)
def test_what_somebody_is_and_what_leads_to_an_answer_are_no_answers(text, value):
    assert read_choice(text, [], "number").value == value


@pytest.mark.parametrize(
    "text", ["80 %", "about 80%", "80 percent", "eighty percent", "Answer: 80%"]
)
def test_a_percentage_is_no_number_of_years(text):
    years = {"prompt": "How old was she?", "options": [], "answer": "number", "content": {}}
    chance = {**years, "prompt": "How probable is it that she was old?"}
    assert answer_from_text(years, text).status == "invalid_format"
    assert answer_from_text(chance, text).value == 80
