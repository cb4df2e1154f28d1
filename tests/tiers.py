"""Which cases a test tries every day; `make slow` tries all.

Paradigms of one suite come from one kit, so a promise of the kit shows in a few of them.
"""

import pytest


def slow_but(every_day, names):
    "Parameters of a test: all names, slow but for some; a name that is not there is an error."
    chosen, names = set(every_day), list(names)
    assert chosen <= set(names), f"not there: {', '.join(map(str, chosen - set(names)))}"
    return [
        name if name in chosen else pytest.param(name, marks=pytest.mark.slow) for name in names
    ]


def every_few(few, cases):
    "Parameters of a test of many cases of one kind: each third, say, and all of them in make slow."
    return [
        case if number % few == 0 else pytest.param(case, marks=pytest.mark.slow)
        for number, case in enumerate(cases)
    ]


# One of each kit, where what is promised is the same in all of a kit.
FEW = ("choice/certainty", "bets/coin", "classic/anchoring", "managerial/attribution")

# Each estimator and each way to answer, with two shapes of the managerial kit.
KINDS = (
    *("choice/certainty", "logic/belief", "bets/coin", "bets/value", "bets/open"),
    *("classic/framing", "classic/anchoring", "classic/sunk_cost"),
    *("managerial/attribution", "managerial/anchoring"),
)
