"The classic suite: invariants, wording, persona."

import re
from collections import Counter
from itertools import combinations

import pytest

from cogbias.design import paradigm, paradigms, selected
from cogbias.kits.variants import PERSONA, variants_of

SUITE = paradigms("classic/*")
QUESTION = {
    name: __import__(f"cogbias.paradigms.{name.replace('/', '.')}", fromlist=["QUESTION"])
    for name in SUITE
}
CHOICES = [name for name in SUITE if QUESTION[name].QUESTION.options]


@pytest.fixture(scope="module")
def tables():
    "The prompts of the suite by default."
    return {name: paradigm(name).items() for name in SUITE}


@pytest.fixture(scope="module")
def grids():
    "Every variant of every content set."
    return {
        name: paradigm(name).items(variants=[*variants_of(QUESTION[name].QUESTION)])
        for name in SUITE
    }


@pytest.mark.parametrize("name", SUITE)
def test_the_headline_is_of_all_wordings_and_other_variants_of_many(name, tables, grids):
    "The default asks at most 600 prompts; those of the published wording are all among them."
    table, grid = tables[name], grids[name]
    sets = table["content_set"].nunique()
    assert len(table) <= 600
    assert selected(table, paradigm(name).headline)["content_set"].nunique() == sets
    asked = table.groupby("variant")["content_set"].unique().map(set)
    assert len(asked["base"]) == sets and asked.map(len).min() >= 24
    assert asked.drop("base").map(sorted).map(tuple).nunique() == 1  # variants can be compared
    orders = 2 if name in CHOICES else 1
    assert len(grid) == sets * grid["variant"].nunique() * 2 * orders
    assert set(table["item_id"]) <= set(grid["item_id"])
    published = paradigm(name).items(contents="published")
    assert set(published["item_id"]) <= set(table["item_id"])


LEAD = re.compile("^the percentage of (them|it|its volume) that (are |is )?")  # not a story


def runs(content, length=5):
    "The runs of so many words in the phrases of a content set."
    for phrase in content.words.values():
        words = re.findall(r"[a-z']+", LEAD.sub("", phrase.lower()))
        for start in range(len(words) - length + 1):
            yield tuple(words[start : start + length])


def content_words(contents):
    "Words of four letters or more of each content set, without those that an eighth of them need."
    told = {
        each.name: set(re.findall(r"[a-z']{4,}", " ".join(each.words.values()).lower()))
        for each in contents
    }
    used = Counter(word for words in told.values() for word in words)
    of_the_frame = {word for word, sets in used.items() if sets > len(contents) / 8}
    return {name: words - of_the_frame for name, words in told.items()}


@pytest.mark.parametrize("name", SUITE)
def test_no_two_wordings_tell_the_same_story(name):
    "Clusters share no sentence or other run of five words, hardly a word, and not all numbers."
    contents = QUESTION[name].CONTENTS
    phrases = [text.lower() for each in contents for text in {*each.words.values()}]
    assert all(len(each.split()) < 3 for each in phrases if phrases.count(each) > 1)
    told, words = {each.name: set(runs(each)) for each in contents}, content_words(contents)
    for one, other in combinations(contents, 2):
        assert not told[one.name] & told[other.name], (one.name, other.name)
        assert len(shared := words[one.name] & words[other.name]) <= 3, (one, other, shared)
        assert one.variables != other.variables or len(one.variables) == 1, (one.name, other.name)


@pytest.mark.parametrize("name", SUITE)
def test_no_gap_is_left_and_no_text_repeats(name, grids):
    text = grids[name]["prompt"]
    assert not text.str.contains(r"[{}]|\[\[").any() and not text.str.contains("  ").any()
    assert grids[name]["item_id"].is_unique


@pytest.mark.parametrize("name", CHOICES)
def test_both_orders_are_asked_alike(name, grids):
    asked = grids[name].groupby(["variant", "condition", "content_set"])
    for _, rows in asked:
        first, second = rows["target_position"]
        assert first + second == rows["n_options"].max() + 1
        assert first != second or rows["n_options"].max() % 2  # the middle stays in the middle


@pytest.mark.parametrize("name", SUITE)
def test_persona_only_where_the_variant_has_one(name, grids):
    table = grids[name]
    count = (table["system"].fillna("") + table["prompt"]).map(lambda text: text.count(PERSONA))
    assert (count == (table["variant"] != "no_persona").astype(int)).all()
