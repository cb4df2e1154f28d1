"""The kinds of statement in real answers, in our own sentences; none stands in a corpus."""

import pytest

from made_up_menus import options
from cogbias.choices import read_choice
from cogbias.design import paradigm, paradigms
from tiers import KINDS, slow_but


BOATS = options("Repair the old boat", "Sell it and rent a new one", "Wait for spring")
UNSURE = options("The red bus", "The blue tram", "I am not sure which is faster")
POLAR = options("Yes", "No")
PLANS = options("Open a shop.", "Train the staff.", "Buy machines.", labels="123")
LOTTERY = options("A sure $40", "A 50% chance to win $100", labels=["Option A", "Option B"])
BELIEF = options("valid", "invalid", labels=["valid", "invalid"])
NONE = None

CASES = {
    "options restated on lines of their own": (
        LOTTERY,
        {
            "Let me set them side by side:\n\nOption A: A sure $40\nOption B: A 50% chance to "
            "win $100": NONE,
            "Here are both gambles:\n- A sure $40 (Option A)\n- A 50% chance to win $100 "
            "(Option B)": NONE,
            "1. Option B - A 50% chance to win $100\n2. Option A - A sure $40": NONE,
            "Option A: A sure $40\nOption B: A 50% chance to win $100\n\nSo Option A is more "
            "attractive.": "Option A",
            "The two offers are:\nOption B: A 50% chance to win $100\nOption A: A sure $40\nI "
            "take Option B.": "Option B",
        },
    ),
    "restated in one line, with letters, or with an unequal description": (
        BOATS,
        {
            "A. Repair the old boat. B. Sell it and rent a new one. C. Wait for spring.": NONE,
            "A: cheap now, dear later.\nB: no work at all.\nC: no cost yet.": NONE,
            "(A), (B), and (C) all have their merits.": NONE,
            "A. Repair the old boat\nB. Sell it and rent a new one\nC. Wait for spring\n\nOn "
            "balance, B. Sell it and rent a new one.": "B",
        },
    ),
    "a line that leads to one option": (
        BOATS,
        {
            "After weighing it all, the most sensible course would be:\nOption C: Wait "
            "for spring": "C",
            "My pick among the three is:\n\nB": "B",
            "Options:\nA. Repair the old boat\nB. Sell it and rent a new one\n\nThe wisest "
            "decision is:\nA. Repair the old boat": "A",
        },
    ),
    "called the most likely, more common, more reasonable": (
        UNSURE,
        {
            "Option B is the most likely to arrive first.": "B",
            "Option A seems more plausible, given the traffic.": "A",
            "On such a route option B is more common.": "B",
            "The more reasonable reading could be option A.": "A",
            "The most likely reason why Mr. Smith did not arrive on time could be option B: The "
            "blue tram.": "B",
            "Option C is the least likely one.": NONE,
        },
    ),
    "the label in brackets behind its content": (
        UNSURE,
        {
            "At this hour the tram is likely the best way to travel (option B).": "B",
            "I would take the bus (A).": "A",
            "Some say the bus (A) is quick.": NONE,
        },
    ),
    "called by what it is": (
        BOATS,
        {
            "I would choose Plan B.": "B",
            "Between these, I recommend Scheme C.": "C",
            "The best plan is plan A.": "A",
            "Plan B.": NONE,  # nothing says that the options are plans
        },
    ),
    "a colon, a word of avoiding, and then the answer": (
        BOATS,
        {
            "To avoid regret, the answer is: B": "B",
            "Without more to go on, I would recommend: C.": "C",
            "I would avoid the following: B": NONE,
        },
    ),
    "an option that is itself a doubt": (
        UNSURE,
        {
            "C. I am not sure which is faster": "C",
            "The best answer may well be C. I am not sure which is faster.": "C",
            "It is preferable to choose option C.": "C",
            "I am not sure.": NONE,
        },
    ),
    "a heading that begins with a letter": (
        options("Take the first flat", "Take the second flat"),
        {
            "A. Status quo bias\nPeople stay where they are. I would choose B.": "B",
            "B. Loss aversion\nThis is well known.": NONE,
        },
    ),
    "small letters in formulas and lists": (
        options("12", "15", "18", "21", "24"),
        {
            "a) First compute f(b) = 2b + c, where b is the width and": NONE,
            "With a = 3 and b = 4 we get e = 5.": NONE,
            "The answer is (d).": "D",
        },
    ),
    "a ranking": (
        PLANS,
        {
            "I would rank them as follows:\n1. Train the staff\n2. Open a shop\n"
            "3. Buy machines": "2",
            "I would rank the proposals in this order:\n1. (3) Buy machines.\n2. (1) Open "
            "a shop.": "3",
            "Let me look at each:\n1. Open a shop: risky.\n2. Train the staff: slow.\n3": NONE,
            "1. Train the staff\n2. Buy machines\n3. Open a shop": NONE,
        },
    ),
    "yes and no by their letters": (
        POLAR,
        {
            "All in all I would not recommend going there (B).": "B",
            "I can't give a plain A or B here, since it hangs on much else. A": NONE,
            "Answer: A": "A",
        },
    ),
    "an option that is the object of something else": (
        BOATS,
        {
            "Adding a sail to Option A would be better. I would choose Option B.": "B",
            "Compared to Option A, Option B is better.": "B",
        },
    ),
    "undecided": (
        BOATS,
        {
            "Option A is the best choice. Option B is the best choice.": NONE,
            "Both A and C are equally good.": NONE,
            "A would be better if you like work, B is better if you have money.": NONE,
        },
    ),
    "cut off before the claim": (
        LOTTERY,
        {
            "To decide, we compare what each gamble pays on average. For the sure one that is "
            "plain. For the other, half of a hundred is fifty, which is more than forty, and so "
            "it "
            "looks as if A": NONE,
        },
    ),
    "restated arguments": (
        BELIEF,
        {
            "The options are:\n- valid\n- invalid": NONE,
            "Possible answers:\nvalid\ninvalid\nThe argument is invalid.": "invalid",
        },
    ),
}
NUMBERS = {
    "other units": {
        "It is 250 meters (820 feet) long.": 250,
        "About 20 degrees Celsius (68 F).": 20,
    },
    "a year": {
        "As of 2019, the town has 48,200 inhabitants.": 48200,
        "It had 5 million people (2021 census).": 5e6,
        "In 1999": 1999,
    },
    "a sum": {"(4 + 6 + 8) / 3 = 6": 6, "It is 12 + 30 = 42.": 42},
    "the other side of a comparison": {
        "It is 64%, as opposed to the 40% of the prompt.": 64,
        "Rather than 90, I would say 75.": 75,
    },
    "a list": {"1. The base is low.\n2. Costs rose.\nMy estimate is 35.": 35},
    "no clear number": {"Somewhere between 10 and 20.": NONE, "It was 30 or 40.": NONE},
}


@pytest.mark.parametrize(
    "menu,text,want",
    [
        pytest.param(menu, text, want, id=f"{kind}: {text[:40]}")
        for kind, (menu, texts) in CASES.items()
        for text, want in texts.items()
    ],
)
def test_kinds_of_statement(menu, text, want):
    reading = read_choice(text, menu)
    assert reading.choice == want, reading


@pytest.mark.parametrize(
    "text,want",
    [
        pytest.param(text, want, id=f"{kind}: {text[:40]}")
        for kind, texts in NUMBERS.items()
        for text, want in texts.items()
    ],
)
def test_parts_of_numbers(text, want):
    reading = read_choice(text, [], "number")
    assert reading.value == want, reading


@pytest.mark.parametrize("name", slow_but(KINDS, paradigms()))
def test_restated_options_of_every_shipped_paradigm_say_nothing(name):
    "Whatever the options of an item are, to list them is not to choose, cut off or not."
    items = paradigm(name).items(seed=0)
    for options_shown in items.drop_duplicates("prompt")["options"].iloc[::97]:
        if len(options_shown) < 2 or len(options_shown) > 9:
            continue
        lines = [f"{each['label']}: {each['text']}" for each in options_shown]
        if options_shown[0]["text"] in ("", options_shown[0]["label"]):
            lines = [each["label"] for each in options_shown]
        for lead in ("Let's compare the options:\n", "The choices are these.\n\n", ""):
            for finish in ("stop", "length"):
                for order in (lines, lines[::-1]):
                    text = lead + "\n".join(order)
                    reading = read_choice(text, options_shown, finish_reason=finish)
                    assert reading.choice is None, (name, text, reading)
