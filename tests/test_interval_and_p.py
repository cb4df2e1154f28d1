"""A p-value and the interval beside it are of one procedure: p < .05 where 95% leaves out zero."""

import numpy as np
import pandas as pd
import pytest

from cogbias.backends.sim import exact_trials
from cogbias.design import paradigm
from cogbias.effects import estimate_effects
from cogbias.stats.adjusted import adjusted_cluster_interval
from cogbias.stats.clusters import stratified_cluster_t
from cogbias.stats.estimates import LEVEL
from cogbias.stats.ratings import RatingRule, rating_effect, score_tables


def disagreements(rows):
    "Rows whose p-value says something else of zero than their interval."
    tested = rows[rows["p_value"].notna() & rows["ci_low"].notna()]
    level = tested["ci_level"] if "ci_level" in tested else 0.95
    outside = (tested["ci_low"] > 0) | (tested["ci_high"] < 0)
    return tested[outside != (tested["p_value"].astype(float) < 1 - level)]


def agrees(found, null=0.0):
    "The same of one estimate; where the signs are clear, the interval may end at zero itself."
    above, below = found.estimate > null + 1e-9, found.estimate < null - 1e-9
    outside = (above and found.ci_low >= null) or (below and found.ci_high <= null)
    return np.isnan(found.p_value) or outside == (found.p_value < 1 - LEVEL)


def random_trials(items, seed, who="random"):
    "Answers of nobody in particular: near the middle, near one end, or the same every time."
    rng = np.random.default_rng(seed)
    trials = exact_trials("human", items).assign(participant=who)
    push, sharp = rng.normal(0, 1, len(trials)) + rng.normal(0, 2), rng.choice([0.3, 2.0, 40.0])
    first = 1 / (1 + np.exp(-np.clip(sharp * push, -700, 700)))
    parts = []
    for each, share in zip(trials["p"], first):
        names = list(each)
        rest = (1 - share) / (len(names) - 1)
        parts.append({names[0]: share} | dict.fromkeys(names[1:], rest))
    return trials.assign(p=parts)


@pytest.mark.parametrize("name", ("choice/certainty", "classic/framing", "logic/belief"))
def test_random_answers_agree(name):
    items, tested = paradigm(name).items(), 0
    for seed in range(12):
        rows = estimate_effects(random_trials(items, seed), items, paradigm(name))
        assert disagreements(rows).empty, seed
        tested += int(rows["p_value"].notna().sum())
    assert tested > 20


@pytest.mark.parametrize("seed", (80, 95, 99))
def test_random_clusters_agree(seed):
    "Strata, shared clusters, weights of both signs, answers of every firmness."
    rng, outside = np.random.default_rng(seed), 0
    for _ in range(150):
        sizes = rng.integers(3, 20, rng.integers(1, 4))
        stratum = np.repeat(np.arange(len(sizes)), sizes)
        logit = rng.choice([0.5, 2, 50]) * (rng.normal(0, 1, (2, len(stratum))) + rng.normal(0, 1))
        logit[0] += rng.choice([0, 1])
        treatment, control = 1 / (1 + np.exp(-np.clip(logit, -700, 700)))
        table = {
            "stratum": stratum,
            "cluster": np.arange(len(stratum)) % rng.integers(6, 60),
            "mean_treatment": treatment,
            "mean_control": control,
            "difference": treatment - control,
        }
        kept = pd.DataFrame(table).drop_duplicates(["stratum", "cluster"])
        weights = rng.choice([-1.0, 1.0], len(sizes)) if rng.random() < 0.5 else None
        weights = None if weights is None else dict(enumerate(weights))
        columns = {column: kept[column].to_numpy() for column in kept}
        found = adjusted_cluster_interval(columns, weights)
        assert agrees(found)
        assert agrees(stratified_cluster_t(kept["difference"], kept["stratum"]))
        outside += found.ci_low > 0 or found.ci_high < 0
    assert 10 < outside < 140


def test_random_ratings_agree():
    rng, tables = np.random.default_rng(3), score_tables(RatingRule(11), "m")
    null = float(tables.mean())
    for _ in range(100):
        clusters = rng.integers(6, 30)
        ratings = np.eye(11)[rng.integers(0, 11, (2, clusters))]
        assert agrees(rating_effect(*ratings, np.arange(clusters), tables), null)
