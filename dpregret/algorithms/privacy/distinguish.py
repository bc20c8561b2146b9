"""Empirical audit: distinguish two neighbouring inputs by the released points, and state what that proves.

Transcripts of two neighbouring inputs are given, one row a run. On one half a statistic, an event {statistic on one
side of a threshold} and its direction are chosen, for each of the two bounds below; on the other half the event is
counted. With
p and q the Clopper-Pearson bounds of its two probabilities,

    epsilon >= ln( (p - delta) / q )        for every (epsilon, delta)-DP mechanism,
    mu >= z(p) - z(q)                       for every mu-GDP mechanism (Dong, Roth & Su 2022), z the normal quantile,

hold together with probability 1 - `significance`, whatever was chosen: a mechanism that keeps its claim is hardly ever
accused; one that does not need not be.
Floating-point noise leaks in its lowest bits (Mironov 2012), which is not what is audited: features are rounded.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtri

from dpregret.numerics.arrays import Array

SIGNIFICANCE = 1e-6
DIGITS = 9


@dataclass(frozen=True)
class Evidence:
    """Lower bounds proved by one pair of neighbouring inputs, and the operating points that prove them.

    epsilon: at the delta that was requested. mu: for mechanisms that are Gaussian. event, mu_event: frequencies of the
    event of each in the input where it is likelier, and in the other:
    power and false-positive rate. samples: held-out runs an input.
    """

    epsilon: float
    mu: float
    event: tuple[float, float]
    mu_event: tuple[float, float]
    samples: int


def audit(first: Array, second: Array, delta: float = 0.0, significance: float = SIGNIFICANCE) -> Evidence:
    """The lower bounds that transcripts (runs, features) of two neighbouring inputs prove.

    Even rows choose the event, odd rows count it.

    Raises ValueError for inputs of different shape, or of fewer than 100 runs.
    """
    if first.shape != second.shape or len(first) < 100:
        raise ValueError(
            f"transcripts of one shape and at least 100 runs are needed, got {first.shape}, {second.shape}"
        )
    chosen, counted = ([_rounded(transcripts[half::2]) for transcripts in (first, second)] for half in (0, 1))
    statistic = Discriminant(chosen[0], chosen[1])
    scores = [np.sort(statistic(transcripts)) for transcripts in chosen]
    held = [statistic(transcripts) for transcripts in counted]
    samples, found = len(held[0]), []
    for kind, (threshold, above, likely) in _best_events(scores, delta, significance).items():
        hits = [
            int((transcripts >= threshold).sum()) if above else int((transcripts < threshold).sum())
            for transcripts in held
        ]
        low = least_probability(np.array(hits[likely]), samples, significance / 4)
        high = largest_probability(np.array(hits[1 - likely]), samples, significance / 4)
        value = _log_ratio(low, high, delta) if kind == "epsilon" else ndtri(low) - ndtri(high)
        found.append((max(0.0, float(value)), (hits[likely] / samples, hits[1 - likely] / samples)))
    (epsilon, event), (mu, mu_event) = found
    return Evidence(epsilon, mu, event, mu_event, samples)


def _rounded(transcripts: Array) -> Array:
    """A rounded copy in which the numbers of a feature lie together."""
    copied = np.array(transcripts, dtype=np.float64, order="F")
    return np.round(copied, DIGITS, out=copied)


class Discriminant:
    """Linear discriminant on features and on features clipped to the interval between the two inputs' means.

    The first part is the likelihood ratio of Gaussian noise, the second that of independent Laplace noises.
    """

    def __init__(self, first: Array, second: Array):
        self.ends = np.sort(np.stack([first.mean(axis=0), second.mean(axis=0)]), axis=0)
        both, width = np.empty((2 * first.shape[1], len(first))), 2 * first.shape[1]
        means, spread = [], np.zeros((width, width))
        for transcripts in (first, second):
            both[: width // 2] = transcripts.T
            both[width // 2 :] = self._clipped(transcripts).T
            means.append(both.mean(axis=1))
            both -= means[-1][:, None]
            spread += both @ both.T / len(first)  # a product with itself costs half
        self.center, apart = np.mean(means, axis=0), means[1] - means[0]
        # directions without any noise tell the inputs apart for certain: a small ridge keeps them in
        ridge = 1e-9 * max(float(np.trace(spread)) / len(spread), float(apart @ apart), 1e-30)
        self.weights = np.linalg.lstsq(spread + ridge * np.eye(len(spread)), apart, rcond=None)[0]

    def __call__(self, transcripts: Array) -> Array:
        """Scores (runs,), larger for the second input."""
        plain, clipped = np.split(self.weights, 2)
        scores: Array = transcripts @ plain
        scores += self._clipped(transcripts) @ clipped
        scores -= self.center @ self.weights
        return scores

    def _clipped(self, transcripts: Array) -> Array:
        return np.clip(transcripts, self.ends[0], self.ends[1])


def _best_events(scores: list[Array], delta: float, significance: float) -> dict[str, tuple[float, bool, int]]:
    """Threshold, side and the input under which the event is likelier, for each kind of bound; scores sorted."""
    count = len(scores[0])
    every = np.sort(np.concatenate(scores), kind="stable")  # two sorted parts are merged
    every = every[np.concatenate([[True], every[1:] != every[:-1]])]
    thresholds = every[np.unique(np.linspace(0, len(every) - 1, 400).astype(int))]
    below = [np.searchsorted(transcripts, thresholds) for transcripts in scores]
    best = dict.fromkeys(("epsilon", "mu"), -math.inf)
    found = dict.fromkeys(best, (float(thresholds[0]), True, 1))
    for above in (True, False):
        hits = [count - each if above else each for each in below]
        for likely in (0, 1):
            low = least_probability(hits[likely], count, significance / 4)
            high = largest_probability(hits[1 - likely], count, significance / 4)
            for kind in best:
                value = ndtri(low) - ndtri(high) if kind == "mu" else _log_ratio(low, high, delta)
                value = np.where(np.isfinite(value), value, -math.inf)
                place = int(np.argmax(value))
                if value[place] > best[kind]:
                    best[kind], found[kind] = float(value[place]), (float(thresholds[place]), above, likely)
    return found


def _log_ratio(low: Array, high: Array, delta: float) -> Array:
    return np.asarray(np.log(np.maximum(low - delta, 1e-300)) - np.log(high))


def least_probability(hits: Array, samples: int, error: float) -> Array:
    """Clopper-Pearson lower bound of a probability, wrong with probability `error` at most."""
    return _looked_up(_least, hits, samples, error)


def largest_probability(hits: Array, samples: int, error: float) -> Array:
    """Clopper-Pearson upper bound of a probability, wrong with probability `error` at most."""
    return _looked_up(_largest, hits, samples, error)


def _least(hits: Array, samples: int, error: float) -> Array:
    return np.asarray(np.where(hits > 0, betaincinv(np.maximum(hits, 1), samples - hits + 1, error), 0.0))


def _largest(hits: Array, samples: int, error: float) -> Array:
    return np.asarray(np.where(hits < samples, betainccinv(hits + 1, np.maximum(samples - hits, 1), error), 1.0))


Bound = Callable[[Array, int, float], Array]


@lru_cache(maxsize=32)
def _table(bound: Bound, samples: int, error: float) -> Array:
    return np.full(samples + 1, np.nan)


def _looked_up(bound: Bound, hits: Array, samples: int, error: float) -> Array:
    """Bounds at whole numbers of hits; each is computed once, since audits of one size request the same again."""
    table, hits = _table(bound, samples, error), np.asarray(hits)
    found = np.asarray(table[hits])
    if np.isnan(found).any():
        missing = np.unique(hits[np.isnan(found)])
        table[missing] = bound(missing, samples, error)
        found = np.asarray(table[hits])
    return found
