"""Kinds of answers that a reader of published answers found misread, in sentences of our own.

Where the text of a question matters, it is that of the published prompts: two programmes, two
candidates, five proposals of which one is named by its number.
"""

import pytest

from made_up_menus import options
from cogbias.choices import read_choice

NONE = None


PROGRAMS = options("40 whales will be saved", "A half of 80 whales may be saved")
COINS = options("HHTT", "HTHT")
PLACES = options("The big school", "The village school")
LAPTOPS = options("$700", "$900", "$990")
LONG = "We look at what each of them offers, at what each of them costs, and at what remains. " * 2

CASES = {
    "an article at the cut end is no option": (
        PROGRAMS,
        {
            "The choice to recommend a": NONE,
            "I would go with a": NONE,
            "Answer: a": "A",
            "I recommend (a)": "A",
            "a": "A",
        },
    ),
    "a label alone on the first line stands": (
        COINS,
        {
            "B\n\nFor a coin all are alike. Sequence A (HHTT) has a chance of 1/16.": "B",
            "B. \n\nOrder matters. Listed in the same order as A, we can see the rest.": "B",
            "B\n\nWait, let me reconsider this. Each sequence has": NONE,
            "A\nB": NONE,
        },
    ),
    "a thing and its letter on the first line": (
        PROGRAMS,
        {
            "Program B. \n\nAlthough Program B may seem worse, Program A saves fewer.": "B",
            f"{LONG}Program A costs less. Program B": NONE,
        },
    ),
    "what most people choose, in brackets": (
        PROGRAMS,
        {
            "People often prefer what is certain (Program A) over what is not (Program B).": NONE,
            "Participants usually choose the certain one (Program A).": NONE,
            "I would choose the certain one (Program A).": "A",
        },
    ),
    "a list of points that breaks off": (
        LAPTOPS,
        {
            f"{LONG}\nSpeed: B is faster.\nScreen: C and B are alike.\nPrice: Laptop A": NONE,
            f"{LONG}\nKind: fair.\nProud: it may hurt.\nEnvious: A": NONE,
            "1. Speed: B is the best in this respect.\n2. Price: A and C are cheaper.": NONE,
            f"{LONG}\nSpeed: B leads, then C, and then A (small). If cheap, A would be the": NONE,
        },
    ),
    "a formula": (
        PLACES,
        {
            f"{LONG}\nFor the big school:\n\\[\n\\sigma_b = \\sqrt{{\\frac{{": NONE,
            "Both follow a law.\n- For the big school: n = 45\n- For the other one: n = 15": NONE,
        },
    ),
    "a question that is told again": (
        COINS,
        {
            'It is a multiple-choice where A is "HHTT" and B is "HTHT" but it says more': NONE,
            "Sequence (A) is HHTT:\nits chance is 1/16": NONE,
        },
    ),
    "another file after the answer": (
        PROGRAMS,
        {
            "B\n\n\n+++++ data/answers/23.md\n1. A": "B",
            "B\n\n\n+++++ data/answers/7.md\n*A. Duty*\n*B. Virt": "B",
            "B<|im_end|>\n<|im_start|>user\nIs it A or B?": "B",
        },
    ),
}

NUMBERS = {
    "The mean is 16 / 3 = 5.33, which I'll round to 5.": 5,
    "So, the overall rating is 5.33, but I'll round it to 5.": 5,
    "Average = 5.33\n\nWe round down to 5.": 5,
    "16 / 3 = 5.33. We'll round it to the nearest whole number.": NONE,
    "We'll round it to the nearest whole number.\n\n5.33 is closer to 5 than 6.": 5,
    "1. Cut operational costs (3)\n2. Hire (5)\n\nSo, the most promising proposal is 5.": 5,
    "- Cutting operational costs (3) is quick.\n- Hiring (5) is slow.\nBoth have merits.": NONE,
    "It is hard. If we must choose, I would select proposal 4, as it lasts.": 4,
    "At random, the most promising proposal: 2": 2,
    "I would recommend proposal 2: Invest in R&D. Hiring (5) is slow.": 2,
    "I would not recommend proposal 2.": NONE,
    "I would rank them as follows:\n\n1. Invest in R&D (2)\n2. Hire new talent (5)": 2,
    "1. Costs: quick.\n2. Marketing: costly.\n3. Talent: slow.\n4. R&D: risky.\n5.": NONE,
    "1. **Costs**: quick.\n\n2. **Marketing**: costly.\n\n3. **Talent**: slow.\n\n4. **": NONE,
    "None of them is clearly ahead.\n\n5": 5,
    "A bad review gets -2, a good one 2.\n\nReview 1: -2 (bad)\nReview 2: 2 (good)": NONE,
    "It is about **330** metres tall. Without antennas, the height is 300 metres.": 330,
    "The mean is **11.3°C**. Sources report it to be around 11-12°C.": 11.3,
    "**1. Costs**: it is 3. **2. Talent**: it is 4.": NONE,
    f"{LONG}\n\nI would rate this product: 4": 4,
    f"{LONG}\n\nI'd rate the product: 7": 7,
    f"{LONG}16 / 3 = 5.33\n\nSo, the product's rating is: 5": 5,
    f"{LONG}16 / 3 = 5.33\n\nSo, the rating for this product based on the reviews is: 5": 5,
    f"{LONG}\n\nI would rank the proposals as follows:\n\n1.": NONE,
    f"{LONG}\n\nThe most promising proposal is:\n\n1.": 1,
}

STEPS = {  # what a cut leaves of a way to an answer, and the same where the way has an end
    f"1. \n\n{LONG}\n\n1. Costs (3): quick.\n2. Talent (5) may bring": NONE,
    f"1. \n\n{LONG}\n\n1. Costs (3): quick.\n2. Talent (5) may bring ideas.": 1,
    f"1. Cut costs, as that is quick and as it lasts. {LONG}It may also": NONE,
    f"1. Cut costs, as that is quick and as it lasts. {LONG}It may also help.": 1,
    f"{LONG}\n- Review 1 is good, so let's give it 9 points\n- Review 2 (bad) is": NONE,
    f"{LONG}\nWe count:\n- Excellent: 9\n- Average: 5\n\nNow we add up all of them: (9 + 5": NONE,
    f"{LONG}\nAdd them: 3 + 1 + 2 = 6\n\nAs there are three of them, we divide by": NONE,
    f"{LONG}\n(5 + 1 + 3) / 3 = 3\n\nHowever, as the last one counts more, we": NONE,
    f"{LONG}\n(5 + 1 + 3) / 3 = 3": 3,
    f"I would recommend proposal 3: Cut costs.\n\n{LONG}It may also": 3,
    f"I would rank them as follows:\n\n1. Invest in R&D (2)\n2. Talent (5)\n\n{LONG}As": 2,
    f"{LONG}\n\nI'd rate the product: 4": 4,
}
LEANS = {  # the same of options
    f"{LONG}\n\nConsidering all of it, Laptop B seems the best choice. It is fast, and": "B",
    f"{LONG}\n\nConsidering all of it, Laptop B seems the best choice. However,": NONE,
    f"{LONG}\n3. B is fast.\n4. Considering the price, Laptop C is the best choice for the": NONE,
    f"{LONG}\n3. B is fast.\n4. Therefore, Laptop C is the best choice for the": "C",
}

REFUSED = "I can't take a position on this question, as it involves values. {}"
STATUSES = {
    REFUSED.format("Both sides have merits."): "refusal",
    REFUSED.format("Among them are work, time, health, the economy, and the implementation"): (
        "refusal"
    ),
    "Neither A nor B.": "invalid_format",
    "Neither A nor B": "invalid_format",
    f"{LONG}Therefore, the answer is: Neither A nor B": "invalid_format",
    f"{LONG}However, as the question asks for one of them, I would": "truncated",
    f"{LONG}\n1. Cheap.\n2. Fast.\n3.": "truncated",
    f'{LONG}Words for (A) and (B): "ask," "desk," "risk," "': "truncated",
    f'{LONG}The question about (A) and (B) says that "one may seem likelier,"': "truncated",
    f"{LONG}Both (A) and (B) have merits.\n\nConsidering the ": "truncated",
    f'{LONG}Both (A) and (B) are called "fair".': "invalid_format",
    f"{LONG}Therefore, the answer is: Neither is more": "invalid_format",
    f"{LONG}Therefore, the answer is: Neither is more likely.": "invalid_format",
    "I am an AI": "refusal",
    "I am an AI, but my answer is (A).": "ok",
}


@pytest.mark.parametrize(
    ("menu", "text", "want"),
    [
        pytest.param(menu, text, want, id=f"{name}: {text[-40:]}")
        for name, (menu, texts) in CASES.items()
        for text, want in texts.items()
    ],
)
def test_kinds_of_published_choices(menu, text, want):
    reading = read_choice(text, menu)
    assert reading.choice == want, reading


@pytest.mark.parametrize(("text", "want"), NUMBERS.items())
def test_kinds_of_published_numbers(text, want):
    reading = read_choice(text, [], "number")
    assert reading.value == want, reading


@pytest.mark.parametrize(("text", "want"), STATUSES.items())
def test_the_same_refusal_has_one_status(text, want):
    assert read_choice(text, PROGRAMS).status == want


NO_INFORMATION = {
    "I cannot determine which of them is better without knowing what each costs.": "refusal",
    "I don't have enough information about the two to give an answer.": "refusal",
    "I cannot determine which is better.": "invalid_format",
}


@pytest.mark.parametrize(("text", "want"), NO_INFORMATION.items())
@pytest.mark.parametrize("kind", ["choice", "number"])
def test_who_asks_for_more_information_declines_whatever_is_asked(text, want, kind):
    "One rule for letters and numbers; that neither is better remains a hedge."
    assert read_choice(text, PROGRAMS if kind == "choice" else [], kind).status == want


@pytest.mark.parametrize("text", [REFUSED.format("So"), "Neither A nor B", "Neither."])
def test_a_complete_refusal_has_one_status_whether_cut_or_not(text):
    readings = {read_choice(text, PROGRAMS, finish_reason=each) for each in ("stop", "length")}
    assert len(readings) == 1


@pytest.mark.parametrize(("text", "want"), STEPS.items(), ids=lambda each: str(each)[-40:])
def test_a_step_before_a_cut_is_no_answer(text, want):
    reading = read_choice(text, [], "number")
    assert (reading.value, reading.status) == (want, "truncated" if want is NONE else "ok"), reading


@pytest.mark.parametrize(("text", "want"), LEANS.items(), ids=lambda each: str(each)[-40:])
def test_a_lean_before_a_cut_is_no_choice(text, want):
    reading = read_choice(text, LAPTOPS)
    assert (reading.choice, reading.status) == (want, "truncated" if want is NONE else "ok"), (
        reading
    )
