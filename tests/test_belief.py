"""The model checker of logic/belief against a second one, and against the published arguments."""

import json
import zipfile
from itertools import product
from pathlib import Path

import pytest

from cogbias.design import paradigm
from cogbias.paradigms.logic.belief import (
    FIGURES,
    TRIPLES,
    Sentence,
    consistent,
    invented_nouns,
    is_valid,
    syllogism,
)

PUBLISHED = Path(__file__).parents[2] / "shared" / "data" / "instructed_to_bias" / "Data.zip"
LETTERS = {"All": "A", "No": "E", "Some": "I"}


def counterexample(mood, figure, existential_import):
    "Search a counterexample: a term is a bit mask of at most eight individuals, one per region."
    truth = {
        "A": lambda x, y: not x & ~y,
        "E": lambda x, y: not x & y,
        "I": lambda x, y: bool(x & y),
        "O": lambda x, y: bool(x & ~y),
    }
    for present in range(256):
        sets = {"S": 0b10101010 & present, "M": 0b11001100 & present, "P": 0b11110000 & present}
        if existential_import and not all(sets.values()):
            continue
        major, minor, conclusion = (
            truth[letter](sets[places[0]], sets[places[1]])
            for letter, places in zip(mood, (*FIGURES[figure], "SP"))
        )
        if major and minor and not conclusion:
            return True
    return False


@pytest.mark.parametrize("existential_import", [False, True])
def test_two_checkers_agree_on_all_forms(existential_import):
    for mood, figure in product(product("AEIO", repeat=3), FIGURES):
        *premises, conclusion = syllogism("".join(mood), figure)
        assert is_valid(premises, conclusion, existential_import) is not counterexample(
            mood, figure, existential_import
        ), (mood, figure)


def sentence(text):
    "A published sentence as a structured one."
    quantifier, rest = text.rstrip(".").split(" ", 1)
    return Sentence(LETTERS[quantifier], *rest.split(" are ", 1))


@pytest.fixture(scope="module")
def published():
    "File name -> the distinct published arguments with their label."
    if not PUBLISHED.exists():
        pytest.skip("the published data are not here")
    found = {}
    with zipfile.ZipFile(PUBLISHED) as archive:
        for name in archive.namelist():
            if "false_belief" in name and name.endswith(".json"):
                records = json.loads(archive.read(name)).values()
                found[Path(name).stem] = {
                    (
                        frozenset(map(sentence, (each["premise_1"], each["premise_2"]))),
                        sentence(each["conclusion"]),
                        each["is_valid"],
                    )
                    for each in records
                }
    return found


@pytest.mark.parametrize("existential_import", [False, True])
def test_published_labels_of_the_full_set(published, existential_import):
    full = {name: arguments for name, arguments in published.items() if "dm_full" in name}
    assert sorted(map(len, full.values())) == [48, 48]
    assert all(
        is_valid(list(premises), conclusion, existential_import) == label
        for arguments in full.values()
        for premises, conclusion, label in arguments
    )


def test_contradictory_premises_of_the_small_set(published):
    small = {
        name.rsplit("_", 1)[1]: arguments for name, arguments in published.items() if "dm_1" in name
    }
    bad = {
        condition: [
            (list(premises), conclusion, label)
            for premises, conclusion, label in arguments
            if not consistent(list(premises))
        ]
        for condition, arguments in small.items()
    }
    assert {condition: len(found) for condition, found in bad.items()} == {
        "Control": 3,
        "Treatment": 4,
    }
    for premises, conclusion, label in bad["Control"] + bad["Treatment"]:
        assert (
            label is False
            and is_valid(premises, conclusion, existential_import=True)
            and not is_valid(premises, conclusion)
        )


def test_no_published_noun_is_used(published):
    theirs = {
        term.rstrip("s")
        for arguments in published.values()
        for premises, conclusion, _ in arguments
        for each in (*premises, conclusion)
        for term in (each.subject, each.predicate)
    }
    ours = {noun for triple in TRIPLES for noun in triple.nouns} | {
        noun for triple in invented_nouns() for noun in triple
    }
    assert len(ours) == 216 + 432 and not {noun.rstrip("s") for noun in ours} & theirs


@pytest.mark.parametrize("seed", (0, 1))
def test_no_two_clusters_share_a_sentence(seed):
    "What shares a premise or a conclusion is one cluster, real and invented, and there are 72."
    items, stands = paradigm("logic/belief").items(seed=seed), {}
    for row in items.itertuples():
        for sentence in (*row.content["premises"], row.content["conclusion"]):
            stands.setdefault(tuple(sentence), set()).add(row.cluster)
    assert all(len(clusters) == 1 for clusters in stands.values())
    assert items.cluster.nunique() == 72
