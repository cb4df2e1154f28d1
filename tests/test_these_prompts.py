"The estimate for exactly these prompts and the one for prompts like these have one point."

import numpy as np
import pandas as pd
import pytest

from cogbias.words import status_words
from cogbias.design import Contrast, Paradigm, paradigm, paradigms
from cogbias.effects import (
    answered,
    difference,
    estimate_effects,
    pooled,
    read_prompts,
    these_prompts,
)
from cogbias.stats.proportions import wilson
from cogbias.tables import TRIALS, item_table, option

KEYS = ["paradigm", "item_id", "condition", "pair_id", "cluster", "stratum"]
CONTRAST = Contrast("effect", "Effect", {"target": 1.0, "other": 0.0})
SIDES = ("control", "treatment")


def questions(strata, answer="choice"):
    "A pair of prompts, told in `wordings`, for every cluster: stratum -> cluster -> wordings."
    options = [option("A", "yes", "target"), option("B", "no", "other")]
    return item_table(
        "test/pairs",
        [
            {
                "condition": side,
                "pair_id": f"{cluster} {wording}",
                "cluster": cluster,
                "stratum": stratum,
                "prompt": f"{stratum} {cluster} {side} {wording}",
                "options": options if answer == "choice" else [],
                "answer": answer,
                "content": {"set": cluster},
            }
            for stratum, clusters in strata.items()
            for cluster, wordings in clusters.items()
            for wording in range(wordings)
            for side in SIDES
        ],
    )


def given(items, counts):
    "Trials in which each prompt was answered so: (target, readable, asked) for every item."
    rows = []
    for (_, item), (target, readable, asked) in zip(items.iterrows(), counts):
        for number in range(asked):
            read = number < readable
            rows.append(
                {name: item[name] for name in KEYS}
                | {
                    "participant": "made up",
                    "backend": "made",
                    "model": "up",
                    "repeat": number,
                    "status": "ok" if read else "refusal",
                    "choice": ("A" if number < target else "B") if read else None,
                    "attempt": 1,
                    "trial_id": f"{item['item_id']} {number}",
                    "method": "text",
                }
            )
    return pd.DataFrame(rows).reindex(columns=TRIALS.names)


PAIRS = {  # what a model that refused often said; target and readable, control then treatment
    "signs that turn round": ([(0, 100), (28, 74), (60, 100), (0, 100)], 2),
    "no change in any pair": ([(20, 20), (100, 100), (0, 100), (0, 20)], 2),
    "a pair without a condition": ([(5, 50), (20, 80), (0, 0), (90, 100), (50, 100), (40, 100)], 2),
}


@pytest.mark.parametrize("counts, kept", PAIRS.values(), ids=list(PAIRS))
def test_the_mean_of_pair_differences_is_the_estimate_for_these_prompts(counts, kept):
    items = questions({"choice": {f"v{n}": 1 for n in range(len(counts) // 2)}})
    trials = given(items, [(*each, 100) for each in counts])
    effects = estimate_effects(trials, items, made(items, CONTRAST))
    rows = effects[(effects["measure"] == "effect") & (effects["group"] == "all")]
    these = rows[rows["target"] == "F"].iloc[0]
    both = [pair for pair in zip(counts[::2], counts[1::2]) if pair[0][1] and pair[1][1]]
    by_hand = np.mean([t / n - c / m for (c, m), (t, n) in both])
    assert these["estimate"] == pytest.approx(by_hand, abs=1e-12)
    assert rows[rows["target"] == "S"]["estimate"].iloc[0] == pytest.approx(by_hand, abs=1e-12)
    assert these["n_clusters"] == len(both) == kept
    if len(both) < len(counts) // 2:
        assert "1 clusters lack a condition" in these["detail"]


def test_the_interval_is_that_of_the_answers_within_each_prompt():
    counts = [(10, 50), (30, 80), (60, 100), (20, 40)]
    items = questions({"choice": {"v1": 1, "v2": 1}})
    found = these_prompts(CONTRAST, _rows(items, counts))
    down, up = 0.0, 0.0
    for (k, n), side in zip(counts, (-1, 1, -1, 1)):
        low, high = wilson(k, n)
        below, above = (k / n - low, high - k / n)[::side]
        down, up = down + (below / 2) ** 2, up + (above / 2) ** 2
    assert found.ci_low == pytest.approx(found.estimate - down**0.5, abs=1e-12)
    assert found.ci_high == pytest.approx(found.estimate + up**0.5, abs=1e-12)


def _rows(items, counts, asked=100):
    "What an estimator reads."
    told = given(items, [(*each, asked) for each in counts])
    return read_prompts(answered(told, items), CONTRAST)


@pytest.mark.parametrize("seed", range(12))
def test_one_point_for_both_whatever_is_missing(seed):
    generator = np.random.default_rng(seed)
    strata = {
        f"s{n}": {f"s{n} c{m}": int(generator.integers(1, 4)) for m in range(4)} for n in range(2)
    }
    items = questions(strata)
    asked = int(generator.choice([1, 3, 30]))
    readable = generator.binomial(asked, generator.uniform(0, 1, len(items)))
    counts = [(generator.binomial(n, generator.random()), n) for n in readable.tolist()]
    rows = _rows(items, counts, asked)
    weights = None if seed % 2 else {"s0": 1.0, "s1": -0.5}
    contrast = Contrast("effect", "Effect", CONTRAST.score, weights=weights)
    wide, these = difference(contrast, rows), these_prompts(contrast, rows)
    if these.status == "no_valid_answers":
        assert np.isnan(these.estimate)
        return
    assert these.estimate == pytest.approx(wide.estimate, abs=1e-12)
    assert these.n_clusters == wide.n_clusters
    assert these.ci_low <= these.estimate <= these.ci_high


def test_where_everything_was_read_nothing_changes():
    items = questions({"all": {f"c{n}": 2 for n in range(6)}})
    generator = np.random.default_rng(1)
    rows = _rows(items, [(int(generator.random() < 0.4), 1) for _ in range(len(items))], 1)
    now, before = these_prompts(CONTRAST, rows), pooled(CONTRAST, rows)
    for name in ("estimate", "ci_low", "ci_high"):
        assert getattr(now, name) == pytest.approx(getattr(before, name), abs=1e-12)
    assert now.method == before.method == "newcombe"


def test_the_interval_covers_the_mean_of_these_prompts():
    "Answers drawn again and again to the same prompts, unequal numbers of them readable."
    items = questions({"all": {f"c{n}": 1 for n in range(4)}})
    generator = np.random.default_rng(7)
    truth = np.array([0.1, 0.5, 0.3, 0.3, 0.9, 0.2, 0.05, 0.0])
    readable = np.array([100, 20, 60, 100, 12, 90, 40, 30])
    true = float((truth[1::2] - truth[::2]).mean())
    hits = 0
    for _ in range(60):
        drawn = generator.binomial(readable, truth)
        counts = list(zip(drawn.tolist(), readable.tolist()))
        found = these_prompts(CONTRAST, _rows(items, counts))
        hits += found.ci_low <= true <= found.ci_high
    assert hits >= 53


def made(items, *contrasts):
    "A paradigm around some items."
    text = dict.fromkeys(("title", "bias", "summary", "norm", "positive", "source"), "")
    return Paradigm(name="test/pairs", factors={}, items=lambda: items, contrasts=contrasts, **text)


def all_rows(counts, *contrasts, value=None):
    "Effects over all prompts of pairs that were answered so; their numbers are told by `value`."
    answer = "choice" if value is None else "number"
    items = questions({"all": {f"v{n}": 1 for n in range(len(counts) // 2)}}, answer)
    trials = given(items, [(*each, 100) for each in counts])
    if value is not None:
        read = trials["status"] == "ok"
        trials["choice"] = None
        trials["value"] = trials["repeat"].map(value).where(read).astype(float)
    effects = estimate_effects(trials, items, made(items, *contrasts))
    return effects[effects["group"] == "all"].set_index(["measure", "target"])


FEW = [(10, 50), (30, 80), (60, 100), (0, 1), (50, 90), (40, 100)]


def test_a_condition_with_one_answer_is_no_half_of_a_number():
    contrast = Contrast("effect", "Effect", CONTRAST.score, fewest=10)
    rows = all_rows(FEW, contrast)
    by_hand = (30 / 80 - 10 / 50 + 40 / 100 - 50 / 90) / 2
    for target in "SF":
        assert rows.loc[("effect", target), "estimate"] == pytest.approx(by_hand, abs=1e-12)
        assert rows.loc[("effect", target), "n_clusters"] == 2
        said = "1 of the clusters left out: fewer than 10 readable answers"
        assert said in rows.loc[("effect", target), "detail"]


def test_the_same_holds_for_numbers():
    contrast = Contrast(
        "rating", "Rating", {}, kind="mean_difference", outcome="value", fewest=10, unit="points"
    )
    row = all_rows(FEW, contrast, value=float).loc[("rating", "S")]
    by_hand = ((79 - 49) / 2 + (99 - 89) / 2) / 2
    assert row["estimate"] == pytest.approx(by_hand, abs=1e-9) and row["n_clusters"] == 2
    assert "1 of the clusters left out" in row["detail"]
    none = all_rows([(0, 5), (0, 5)], contrast, value=float).loc[("rating", "S")]
    assert np.isnan(none["estimate"]) and none["status"] != "ok"


def test_every_published_contrast_of_ours_needs_as_many_answers_as_the_published_one():
    for name in paradigms("published/*"):
        for contrast in paradigm(name).contrasts:
            assert contrast.fewest == (1 if contrast.replication else 10), (name, contrast.measure)


def test_answers_of_which_none_could_be_read_are_no_number():
    rows = all_rows([(0, 0)] * 8, CONTRAST)
    effects = rows[rows.index.get_level_values("measure").str.startswith("effect")]
    assert len(effects) == 5 and effects["estimate"].isna().all() and effects["ci_low"].isna().all()
    assert set(effects["status"]) == {"no_valid_answers"}


@pytest.mark.parametrize(
    ("counts", "status", "said"),
    [
        ([(3, 6), (2, 6)], "insufficient", "no cluster has 10 readable answers"),
        ([(0, 0), (2, 90)], "no_valid_answers", ""),
        ([(0, 0), (0, 0)], "no_valid_answers", ""),
    ],
)
@pytest.mark.parametrize("value", [None, float])
def test_answers_that_are_too_few_are_not_called_unread(counts, status, said, value):
    "Twelve answers can be read: they are too few to compare, and nobody says that there are none."
    known = {"fewest": 10, "these_prompts": True}
    numbers = {"kind": "mean_difference", "outcome": "value", "unit": "points"}
    contrast = Contrast("effect", "Effect", CONTRAST.score, **known)
    if value is not None:
        contrast = Contrast("effect", "Effect", {}, **known, **numbers)
    rows = all_rows(counts, contrast, value=value)
    assert len(rows.loc[["effect"]]) == 2
    for row in rows.loc[["effect"]].to_dict("records"):
        assert (row["status"], row["n_valid"]) == (status, counts[0][1] + counts[1][1])
        assert np.isnan(row["estimate"]) and said in (row["detail"] or "")
    words = {"insufficient": "too few answers", "no_valid_answers": "in a condition"}[status]
    assert words in status_words(status)
