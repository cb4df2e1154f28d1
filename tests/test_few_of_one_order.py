"Both orders of a scale count alike; the interval knows when a few pairs carry half of the weight."

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from tiers import slow_but

import cogbias as cb
from cogbias.words import CLAIMABLE
from cogbias.stats.ratings import RatingRule, rating_difference, rating_effect

OPTIONS = 7
STUDIES = 600
OF_ORDER_1 = 45


def weights(of_order_2: int) -> np.ndarray:
    "A weight for every pair, those of order 2 last, that makes both orders count alike."
    first = np.full(OF_ORDER_1, 1 / OF_ORDER_1)
    return np.r_[first, np.full(of_order_2, 1 / of_order_2)]


def random_answers(rng: np.random.Generator, pairs: int) -> np.ndarray:
    "A rating at random of every pair, as distributions over the options."
    return np.eye(OPTIONS)[rng.integers(0, OPTIONS, pairs)]


def share_of_claims(of_order_2: int, compared: bool) -> float:
    "Share of studies of random responders whose interval supports a claim and leaves out 0."
    rng, claims = np.random.default_rng(of_order_2), 0
    weight = weights(of_order_2)
    pairs = len(weight)
    for _ in range(STUDIES):
        one, other = (
            tuple(random_answers(rng, pairs) for _ in ("control", "treatment")) for _ in range(2)
        )
        # 24 texts, each told in two or three pairs
        texts = rng.permutation(np.arange(pairs) % 24)
        known = dict(measure="scaled", weight=weight)
        if compared:
            found = rating_difference(one, other, texts, RatingRule(OPTIONS), **known)
        else:
            found = rating_effect(*one, texts, RatingRule(OPTIONS), **known)
        apart = found.ci_low > 0 or found.ci_high < 0
        claims += apart and found.status in CLAIMABLE
    return claims / STUDIES


@pytest.mark.parametrize("compared", [False, True], ids=["effect", "difference"])
@pytest.mark.parametrize("of_order_2", slow_but((1, 5), (1, 2, 5, 10, 45)))
def test_random_responders_seldom_support_a_claim(of_order_2: int, compared: bool) -> None:
    # 0.05, and three standard errors of the simulation
    assert share_of_claims(of_order_2, compared) < 0.05 + 3 * (0.05 * 0.95 / STUDIES) ** 0.5


ITEMS = cb.items("managerial/escalation")
STORIES = {row.prompt: row for row in ITEMS.itertuples()}


def at_random(seed: str):
    "A participant who answers at random."

    def answer(prompt: str) -> str:
        story = next(row for text, row in STORIES.items() if prompt.endswith(text))
        digest = hashlib.sha256(f"{seed}{story.item_id}".encode()).hexdigest()
        return story.options[int(digest, 16) % len(story.options)]["label"]

    answer.__name__ = seed
    return answer
