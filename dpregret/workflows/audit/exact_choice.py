"""One choice by report-noisy-min with Laplace noise, exactly: its law, its Fisher information, the range of its loss.

Scores are in units of the scale b of the noise, moves in units of the sensitivity s. The theorems are
in docs/proofs/noisy_min_range.md.
"""

from __future__ import annotations

import math

import numpy as np

from dpregret.numerics.arrays import Array

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def choice_scores(scores: Array, moves: Array) -> tuple[Array, Array]:
    """P(i) of the smallest of scores (k,) with Laplace(1) noise, and d ln P(i) for scores that move along `moves` (k,).

    Quadrature between the kinks of the densities, exact to rounding. The variance of the second under the first is the
    Fisher information of a choice, its largest difference is the range of the loss of a small move.
    """
    low = scores.min()
    ends = np.unique(np.concatenate([scores, np.linspace(low - 40, low + 40, 41)]))
    half = np.diff(ends)[:, None] / 2
    place, weight = (ends[:-1, None] + half * (1 + NODES)).ravel(), (half * WEIGHTS).ravel()
    apart = place[:, None] - scores
    density = 0.5 * np.exp(-np.abs(apart))
    tail = np.where(apart > 0, density, 1 - density)
    chosen = density / tail * tail.prod(axis=1, keepdims=True)  # i is here and all others higher
    beyond = moves * density / tail  # E sgn of the noise of a score that stands higher
    slope = moves * np.sign(apart) + beyond.sum(axis=1, keepdims=True) - beyond
    probability = weight @ chosen
    return probability, weight @ (chosen * slope) / probability


def information(scores: Array, moves: Array) -> float:
    """Fisher information of one choice, in units of (s / b)^2; scores in units of b, moves in [-1, 1]."""
    probability, slope = choice_scores(scores, moves)
    return float(probability @ np.square(slope))


def pair_ranges(scores: Array) -> Array:
    """|grad ln P(i) - grad ln P(j)|_1 for every two candidates, (k,) -> (k, k), in units of s / b.

    The difference of the losses of i and j under a small move in [-1, 1]: it is linear in the move, so that the worst
    moves are signs.
    """
    slopes = np.stack([choice_scores(scores, unit)[1] for unit in np.eye(len(scores))], axis=1)
    return np.asarray(np.abs(slopes[:, None] - slopes).sum(axis=-1))


def largest_range(scores: Array) -> float:
    """Largest range of the loss of a small move of these scores, over all moves in [-1, 1], in units of s / b."""
    return float(pair_ranges(scores).max())


def equal_pair_range(offset: float) -> float:
    """`pair_ranges` of the first two of the scores (0, 0, y, y, y), y = offset >= 0, in closed form: 2 I / D.

    With e = exp(-y), I = (1 - (1 - e/2)^4) / (4 e); D, the probability of the choice, is the sum of the other lines.
    """
    gone, share = math.exp(-offset), 1 - math.exp(-offset) / 2
    near = ((1 - share**5) / 5 - (1 - gone) * (1 - share**4) / 4) / gone**2
    middle = (1 - gone**2) / 8 - 3 * gone * (1 - gone) / 8 + 3 * gone**2 * offset / 16 - gone**2 * (1 - gone) / 32
    return (1 - share**4) / (2 * gone) / (near + middle + gone**2 / 160)


WIDEST = 0.1183447643
"""The y at which `equal_pair_range` is largest, 2.3477957."""
