"""The default designs of certainty, decoy and belief: few prompts, many clusters, all balanced."""

from functools import cache

import pandas as pd
import pytest

from cogbias.backends.sim import exact_trials
from cogbias.design import paradigm, selected
from cogbias.effects import estimate_effects

NAMES = ("choice/certainty", "choice/decoy", "logic/belief")
PUBLISHED_PROMPTS = {"choice/certainty": 1176, "choice/decoy": 11232, "logic/belief": 1536}


@cache
def items_of(name):
    "What the headline reads of the default design."
    return selected(paradigm(name).items(), paradigm(name).headline)


def effect_of_each_cluster(name, who):
    "The headline of a simulated participant, cluster by cluster."
    items, headline = items_of(name), paradigm(name).headline
    sign = items.condition.map({"treatment": 1.0, "control": -1.0})
    if headline.weights:  # one conclusion against the other; weights are those of two clusters
        sign *= 2 * items.stratum.map(dict(headline.weights))
    rows = []
    for options, p in zip(items.options, exact_trials(who, items).p):
        chance = {each["role"]: p[each["label"]] for each in options}
        counted = {role: chance[role] for role in chance if role in headline.score}
        high = sum(headline.score[role] * each for role, each in counted.items())
        rows.append({"high": high, "all": sum(counted.values())})
    cells = pd.DataFrame(rows).groupby([items.cluster, items.stratum, items.condition, sign]).sum()
    share = cells["high"] / cells["all"]
    return (share * cells.index.get_level_values(-1)).groupby("cluster").sum()


@pytest.mark.parametrize("name", NAMES)
def test_few_prompts_and_many_clusters(name):
    every, items = paradigm(name).items(), items_of(name)
    assert len(every) <= 600 and every.prompt.is_unique and items.cluster.nunique() >= 44
    per_cluster = items.groupby(["cluster", "condition"]).size()
    assert per_cluster.nunique() == 1
    strata = items.groupby("stratum").cluster.nunique()
    assert strata.nunique() == 1  # each weighs alike, and is as well known


@pytest.mark.parametrize("name", NAMES)
def test_the_published_grid_is_there(name):
    items = paradigm(name).items(grid="published")
    assert len(items) == PUBLISHED_PROMPTS[name]


@pytest.mark.parametrize("name", NAMES)
def test_every_question_is_asked_in_two_orders(name):
    items = items_of(name)
    first = items.options.map(lambda options: [each["role"] for each in options])
    asked = items.assign(
        first=first.map(lambda roles: [role for role in roles if role != "decoy"][0])
    )
    orders = asked.groupby("order_group")
    assert set(orders.size()) == {2} and set(orders["first"].nunique()) == {2}
    places = asked.groupby(["cluster", "condition", "first"]).size().unstack()
    assert places.nunique(axis=1).eq(1).all()


@pytest.mark.parametrize("name", NAMES)
def test_no_text_in_two_clusters(name):
    "An option's text, or a sentence of a syllogism with its nouns, belongs to one cluster."
    items, stands = items_of(name), {}
    for row in items.itertuples():
        if name == "logic/belief":
            texts = [tuple(each) for each in (*row.content["premises"], row.content["conclusion"])]
        elif name == "choice/decoy":
            texts = [str(sorted((each["text"] for each in row.options)))]
        else:
            texts = [str(row.content)]
        for text in texts:
            stands.setdefault(text, set()).add(row.cluster)
    assert all(len(clusters) == 1 for clusters in stands.values())


@pytest.mark.parametrize("who", ("rational", "random", "position"))
@pytest.mark.parametrize("name", NAMES)
def test_no_effect_in_any_cluster(name, who):
    assert (effect_of_each_cluster(name, who).abs() < 1e-12).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_human_effect_shows_in_every_cluster(name):
    effects = effect_of_each_cluster(name, "human")
    assert len(effects) == items_of(name).cluster.nunique() and (effects > 0.05).all()
    row = estimate_effects(exact_trials("human", items_of(name)), items_of(name), paradigm(name))
    assert row.estimate.iloc[0] == pytest.approx(effects.mean())
    assert row.ci_low.iloc[0] > 0


@pytest.mark.parametrize("weights", [(5, 3, 1), (1, 2, 6), (1, 6, 1), (0, 1, 4)])
def test_places_of_three_options_make_no_decoy_effect(weights):
    "Any pull of the places takes target and competitor alike, with a decoy and without."
    items = items_of("choice/decoy")
    pulls = pd.DataFrame(
        [
            {each["role"]: weight for each, weight in zip(options, weights)}
            for options in items.options
        ]
    )
    sums = pulls.groupby([items.cluster, items.condition])[["target", "competitor"]].sum()
    assert (sums.target == sums.competitor).all()
