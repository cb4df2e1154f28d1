"""The prefix tree against a dictionary that does the same one token at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogbias.tables import CogbiasError
from cogbias.elicitation.prefixes import (
    ancestors,
    attention_blocks,
    chunks,
    path_tokens,
    prefix_tree,
)

SEQUENCES = st.lists(st.lists(st.integers(0, 3), max_size=9), max_size=25)
LARGE = st.lists(
    st.lists(st.sampled_from([0, 1, 255, 256, 65535, 65536, 2**31, 2**32 - 2]), max_size=4),
    max_size=12,
)


def naive(sequences: list[list[int]]) -> list[tuple[int, ...]]:
    "All distinct prefixes, parents before children, siblings in ascending order."
    trie: dict = {}
    for sequence in sequences:
        here = trie
        for token in sequence:
            here = here.setdefault(token, {})
    found: list[tuple[int, ...]] = []

    def visit(here: dict, path: tuple[int, ...]) -> None:
        for token in sorted(here):
            found.append((*path, token))
            visit(here[token], found[-1])

    visit(trie, ())
    return found


@settings(max_examples=100, deadline=None)
@given(st.one_of(SEQUENCES, LARGE))
def test_tree_is_the_naive_one(sequences):
    tree, expected = prefix_tree(sequences), naive(sequences)
    assert tree.token.tolist() == [path[-1] for path in expected]
    assert tree.depth.tolist() == [len(path) - 1 for path in expected]
    assert [expected[node] if node >= 0 else () for node in tree.end] == [
        tuple(each) for each in sequences
    ]
    assert tree.tokens == sum(map(len, sequences))


@settings(max_examples=100, deadline=None)
@given(SEQUENCES)
def test_ancestors_and_paths(sequences):
    tree, expected = prefix_tree(sequences), naive(sequences)
    for node, path in enumerate(expected):
        assert [
            expected[each]
            for each in ancestors(tree, np.full(len(path), node), np.arange(len(path)))
        ] == [path[:end] for end in range(1, len(path) + 1)]
        assert tuple(path_tokens(tree, np.array([node]))[0]) == path


@settings(max_examples=66, deadline=None)
@given(SEQUENCES, st.integers(1, 12), st.integers(1, 4), st.integers(1, 7))
def test_chunks_and_blocks_show_each_token_its_ancestors_and_nothing_else(
    sequences, budget, rows, size
):
    tree, expected = prefix_tree(sequences), naive(sequences)
    looked_at = np.unique(tree.end[tree.end >= 0])
    covered = []
    for chunk in chunks(tree, budget, looked_at, rows):
        covered += range(chunk.first, chunk.last)
        assert (
            chunk.last - chunk.first <= budget
            and np.isin(looked_at, np.arange(chunk.first, chunk.last)).sum() <= rows
        )
        nodes = np.concatenate([chunk.above, np.arange(chunk.first, chunk.last)])
        keys, seen = attention_blocks(tree.depth[chunk.first : chunk.last], size)
        for place, node in enumerate(range(chunk.first, chunk.last)):
            block = place // size
            visible = nodes[keys[block][seen[block, place % size]]]
            assert sorted(expected[each] for each in visible) == [
                expected[node][:end] for end in range(1, len(expected[node]) + 1)
            ]
        assert seen.any(axis=2).all()
    assert covered == list(range(len(tree)))


@pytest.mark.parametrize("wrong", [[-1], [2**32], [2**32 - 1], [1.5], ["a"], [None]])
def test_wrong_tokens_are_refused(wrong):
    with pytest.raises(CogbiasError, match="token ids must be whole numbers"):
        prefix_tree([[1, 2], wrong])
