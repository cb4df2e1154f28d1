"""The prefix tree against a dictionary that does the same one token at a time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cogbias.elicitation.prefixes import (
    chunks,
    prefix_tree,
    visible,
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


@settings(max_examples=66, deadline=None)
@given(SEQUENCES, st.integers(1, 12), st.integers(1, 4))
def test_chunks_show_each_token_its_ancestors_and_nothing_else(sequences, budget, rows):
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
        for node, seen in zip(
            range(chunk.first, chunk.last), visible(tree.depth[chunk.first : chunk.last])
        ):
            assert [expected[each] for each in nodes[seen]] == [
                expected[node][:end] for end in range(1, len(expected[node]) + 1)
            ]
    assert covered == list(range(len(tree)))
