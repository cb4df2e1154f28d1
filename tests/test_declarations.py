"""A typo in a declaration is refused where it is made, and never becomes a finding."""

from dataclasses import replace
from functools import cache

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calls import refused
from cogbias.design import contrast_kinds, paradigm
from cogbias.tables import option


@cache
def shipped(name):
    "A paradigm and its items, made once."
    return paradigm(name), paradigm(name).items()


def changed(name, **change):
    "A shipped paradigm with another headline; its items are not made again."
    made, items = shipped(name)
    headline = replace(made.headline, **change)
    return replace(made, contrasts=(headline, *made.contrasts[1:]), items=lambda seed=0: items)


WORDS = {  # what a contrast names, and how it looks with another word in its place
    "kind": lambda contrast, word: {"kind": word},
    "treatment": lambda contrast, word: {"treatment": word},
    "control": lambda contrast, word: {"control": word},
    "outcome": lambda contrast, word: {"outcome": word},
    "invalid": lambda contrast, word: {"invalid": word},
    "include": lambda contrast, word: {"include": word},
    "by": lambda contrast, word: {"by": (word,)},
    "factor": lambda contrast, word: {"where": {word: ("base",)}},
    "level": lambda contrast, word: {"where": {"variant": (word,)}},
    "role": lambda contrast, word: {"score": {**dict.fromkeys(contrast.score, 0.0), word: 1.0}},
    "stratum": lambda contrast, word: {"weights": {word: 1.0}},
    "cell": lambda contrast, word: {"cells": {(word, "*"): 1.0}},
}


@settings(deadline=None, max_examples=66)
@given(
    st.sampled_from(sorted(WORDS)), st.text(max_size=12), st.sampled_from(["framing", "sunk_cost"])
)
def test_any_unknown_word_is_refused(place, word, name):
    made, items = shipped(f"classic/{name}")
    levels = {str(each) for column in items.columns if column != "prompt" for each in items[column]}
    roles = {each["role"] for options in items["options"] for each in options}
    known = {*levels, *roles, *items.columns, *contrast_kinds(), "drop", "itt", "role", "value"}
    assume(word not in known)
    refused(lambda: changed(made.name, **WORDS[place](made.headline, word)).items())


def test_an_option_nobody_scores_does_not_leave_the_denominator_unseen():
    made, items = shipped("classic/framing")
    third = [[*options, option("C", "neither", "niether")] for options in items["options"]]
    strange = replace(made, items=lambda seed=0: items.assign(options=third))
    assert "the role 'niether', which is not declared" in refused(strange.items)
    meant = replace(strange, roles={"niether": "an option of its own"})
    assert len(meant.items()) == len(items)
