"The estimate for exactly these prompts and the one for prompts like these have one point."

import numpy as np
import pandas as pd
import pytest
from made_up_trials import around, told

from cogbias.design import Contrast
from cogbias.arrays import answered, read_prompts
from cogbias.effects import difference, estimate_effects, these_prompts
from cogbias.stats.proportions import wilson
from cogbias.tables import item_table, option

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
    parts = []
    for place, (target, readable, asked) in enumerate(counts):
        if asked:
            choice = ["A"] * target + ["B"] * (readable - target) + [None] * (asked - readable)
            status = ["ok" if each else "refusal" for each in choice]
            one = items.iloc[[place]]
            parts.append(told(one, asked, choice=choice, status=status))
    trials = pd.concat(parts, ignore_index=True)
    return trials.assign(trial_id=trials.index.astype(str))


PAIRS = {  # what a model that refused often said; target and readable, control then treatment
    "signs that turn round": ([(0, 100), (28, 74), (60, 100), (0, 100)], 2),
    "no change in any pair": ([(20, 20), (100, 100), (0, 100), (0, 20)], 2),
    "a pair without a condition": ([(5, 50), (20, 80), (0, 0), (90, 100), (50, 100), (40, 100)], 2),
}


@pytest.mark.parametrize("counts, kept", PAIRS.values(), ids=list(PAIRS))
def test_the_mean_of_pair_differences_is_the_estimate_for_these_prompts(counts, kept):
    items = questions({"choice": {f"v{n}": 1 for n in range(len(counts) // 2)}})
    trials = given(items, [(*each, 100) for each in counts])
    effects = estimate_effects(trials, items, around(items, CONTRAST))
    rows = effects[(effects["measure"] == "effect") & (effects["group"] == "all")]
    these = rows[rows["target"] == "F"].iloc[0]
    both = [pair for pair in zip(counts[::2], counts[1::2]) if pair[0][1] and pair[1][1]]
    by_hand = np.mean([t / n - c / m for (c, m), (t, n) in both])
    assert these["estimate"] == pytest.approx(by_hand, abs=1e-12)
    assert rows[rows["target"] == "S"]["estimate"].iloc[0] == pytest.approx(by_hand, abs=1e-12)
    assert these["n_clusters"] == len(both) == kept
    if len(both) < len(counts) // 2:
        assert "1 cluster without this measure" in these["detail"]


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
    trials = given(items, [(*each, asked) for each in counts])
    return read_prompts(answered(trials, items), CONTRAST)


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


def all_rows(counts, *contrasts, value=None):
    "Effects over all prompts of pairs that were answered so; their numbers are told by `value`."
    answer = "choice" if value is None else "number"
    items = questions({"all": {f"v{n}": 1 for n in range(len(counts) // 2)}}, answer)
    trials = given(items, [(*each, 100) for each in counts])
    if value is not None:
        read = trials["status"] == "ok"
        trials["choice"] = None
        trials["value"] = trials["repeat"].map(value).where(read).astype(float)
    effects = estimate_effects(trials, items, around(items, *contrasts))
    return effects[effects["group"] == "all"].set_index(["measure", "target"])


FEW = [(10, 50), (30, 80), (60, 100), (0, 1), (50, 90), (40, 100)]


def test_a_condition_with_one_answer_is_no_half_of_a_number():
    contrast = Contrast("effect", "Effect", CONTRAST.score, fewest=10)
    rows = all_rows(FEW, contrast)
    by_hand = (30 / 80 - 10 / 50 + 40 / 100 - 50 / 90) / 2
    for target in "SF":
        assert rows.loc[("effect", target), "estimate"] == pytest.approx(by_hand, abs=1e-12)
        assert rows.loc[("effect", target), "n_clusters"] == 2
        said = "1 cluster without this measure: fewer than 10 readable answers"
        assert said in rows.loc[("effect", target), "detail"]
