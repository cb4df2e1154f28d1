"""The sign-flip test of clusters, which benchmarks compare with the interval that reports show.

If the conditions do not differ in any systematic way, the difference of a cluster is as likely
positive as negative. The signs of all clusters are flipped in all ways; the p-value is the share of
flips whose sum is at least as far from 0 as the observed one (Fisher 1935; Canay, Romano & Shaikh
2017, doi:10.3982/ECTA13081). Random flips give p = (1 + b) / (1 + B), which is never 0 (Phipson &
Smyth 2010, doi:10.2202/1544-6115.1585).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np

from cogbias.stats.adjusted import clusters_are_contrasts
from cogbias.stats.clusters import Columns, cluster_blocks, numbered, weight_of_strata
from cogbias.stats.estimates import settled


def _all_flips(contribution: np.ndarray) -> np.ndarray:
    "Sums over all sign patterns in which the first sign stays; the other half mirrors them."
    sums = contribution[:1]
    for part in contribution[1:]:
        sums = np.concatenate([sums + part, sums - part])
    return sums


def _byte_sums(contribution: np.ndarray) -> np.ndarray:
    "Sums of all 256 sign patterns of every eight clusters, shape (bytes, 256), to be looked up."
    width = -(-len(contribution) // 8)
    padded = np.pad(contribution, (0, 8 * width - len(contribution))).reshape(width, 8)
    return padded @ (1 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)).T


def _random_patterns(rng: np.random.Generator, width: int, draws: int) -> Iterator[np.ndarray]:
    "Random bytes in blocks, to bound memory, each of shape (width, rows)."
    for start in range(0, draws, 8192):
        rows = min(8192, draws - start)
        drawn = np.frombuffer(rng.bytes(rows * width), np.uint8)
        yield drawn.reshape(width, rows).astype(np.intp)


@lru_cache(maxsize=8)
def _seeded_patterns(seed: int, width: int, draws: int) -> tuple[np.ndarray, ...]:
    "The same of a seed, drawn once: many participants are tested with one seed."
    return tuple(_random_patterns(np.random.default_rng(seed), width, draws))


def _count_random_flips(
    contribution: np.ndarray, far: float, draws: int, seed: int | np.random.Generator
) -> int:
    "How many random sign patterns give a sum at least as far from 0."
    tables = _byte_sums(contribution)
    kept = isinstance(seed, int) and draws * len(tables) <= 1_000_000
    patterns = _seeded_patterns if kept else _random_patterns
    count = 0
    for block in patterns(seed if kept else np.random.default_rng(seed), len(tables), draws):
        total = tables[0].take(block[0])
        for table, each in zip(tables[1:], block[1:]):
            total += table.take(each)
        count += int(np.count_nonzero(np.abs(total, out=total) >= far))
    return count


def sign_flip(
    difference: Sequence[float] | np.ndarray,  # one value per cluster, shape (G,)
    stratum: Sequence | np.ndarray,  # stratum of each cluster, shape (G,)
    weights: Mapping | None = None,  # stratum -> weight, any sign; None: 1 / number of strata
    draws: int = 99_999,  # random flips when there are too many to enumerate
    seed: int | np.random.Generator = 0,  # of the random flips
    exact_up_to: int = 20,  # enumerate all flips up to this number of clusters
) -> float:  # two-sided p-value; nan without clusters
    "Two-sided sign-flip test that every cluster difference is centred at 0."
    names = list(stratum)
    weight_of = weight_of_strata(names, weights)
    code = numbered(names, weight_of)
    value, code = np.asarray(difference, float)[code >= 0], code[code >= 0]
    weight = np.array(list(weight_of.values()), float)
    size = np.bincount(code, minlength=len(weight))
    if len(size) == 0 or size.min() == 0:
        return float("nan")
    contribution = (weight / size)[code] * settled(value)
    far = abs(contribution.sum()) - 1e-10 * np.abs(contribution).sum()
    if len(value) <= exact_up_to:
        return float(np.mean(np.abs(_all_flips(contribution)) >= far))
    return (1 + _count_random_flips(contribution, far, draws, seed)) / (1 + draws)


def block_flip(
    differences: Columns,  # stratum, cluster, difference, mean_treatment, mean_control
    weights: Mapping | None = None,  # stratum -> weight, any sign; None: 1 / number of strata
) -> float:  # nan where the flips would test something else
    "Two-sided sign-flip p-value of a weighted sum over strata that may share clusters."
    blocks = cluster_blocks(differences, weights)
    if not clusters_are_contrasts(differences, blocks):
        return float("nan")
    numbers = range(len(blocks.size))
    return sign_flip(blocks.part, blocks.block, dict.fromkeys(numbers, 1.0))
