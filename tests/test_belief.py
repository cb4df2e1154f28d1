"""The arguments of logic/belief and the published ones against a model checker."""

import json
import zipfile
from pathlib import Path

import pytest

from cogbias.paradigms.logic.belief import TRIPLES, Sentence, invented_nouns

PUBLISHED = Path(__file__).parents[2] / "shared" / "data" / "instructed_to_bias" / "Data.zip"
LETTERS = {"All": "A", "No": "E", "Some": "I"}


TRUTH = {
    "A": lambda x, y: not x & ~y,
    "E": lambda x, y: not x & y,
    "I": lambda x, y: bool(x & y),
    "O": lambda x, y: bool(x & ~y),
}


def worlds(sentences, existential_import):
    "What is true of sentences in every world; a term is a bit mask of eight individuals, one each."
    terms = sorted({term for each in sentences for term in each[1:]})
    for present in range(256):
        masks = (0b10101010, 0b11001100, 0b11110000)
        sets = {term: mask & present for term, mask in zip(terms, masks)}
        if all(sets.values()) or not existential_import:
            yield [TRUTH[each[0]](sets[each[1]], sets[each[2]]) for each in sentences]


def is_valid(premises, conclusion, existential_import=False):
    "Whether there is no counterexample."
    found = worlds([*premises, conclusion], existential_import)
    return not any(all(given) and not follows for *given, follows in found)


def consistent(premises):
    "Whether the premises are true of somebody."
    return any(all(given) for given in worlds(premises, existential_import=True))


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
