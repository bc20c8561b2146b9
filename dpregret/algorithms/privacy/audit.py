"""Audits of mechanisms: exact, of what a whole transcript reveals about one item, and empirical, from runs.

Exact, for Gaussian prefix sums. The outputs of rounds 1..T are A v + sigma B z: A the lower triangular matrix of ones,
B which node noises enter which output. Replacing item i (moving it by `sensitivity`) is told apart from the transcript
as one Gaussian from another whose means differ by `sensitivity` A e_i under covariance sigma^2 B B^T, so the transcript
is exactly mu_i-GDP with mu_i = (sensitivity / sigma) sqrt( [A^T (B B^T)^-1 A]_ii ). It holds for adaptive streams too.

Empirical (`audit`): distinguish two neighbouring inputs by the released points, and state what that proves.
Transcripts of both are the input, a row a run. On one half a statistic, an event {statistic on one side of a threshold}
and its direction are chosen, for each of the two bounds below; on the other half the event is counted. With p and q the
Clopper-Pearson bounds of its two probabilities,

    epsilon >= ln( (p - delta) / q )        for every (epsilon, delta)-DP mechanism,
    mu >= z(p) - z(q)                       for every mu-GDP mechanism (Dong, Roth & Su 2022), z the normal quantile,

hold together with probability 1 - `significance`, whatever was chosen: a mechanism that keeps its claim is hardly ever
accused; one that does not need not be.
Floating-point noise leaks in its lowest bits (Mironov 2012), which is not what is audited: features are rounded.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import betainccinv, betaincinv, ndtri

from dpregret.algorithms.privacy.prefix_sums import BLOCK, PrefixSums
from dpregret.numerics.arrays import Array

SIZES = np.repeat([1.0, 1e-3, 1e3], [2, 2, 12])
"""Of real draws, one coordinate each. Most are larger than any draw is: noise that depends on the sign of a draw, or on
how large it is, is another map for some of them."""
LINEAR = 1e-9
"""Rounding, as a share of what a row adds up."""


APART = 1e-6
"""An output that is so far from all B v is none of them."""


def real_draws(count: int) -> Iterator[Array]:
    """Draws of both signs and of all sizes, (count, coordinates): in many coordinates and in one."""
    generator = np.random.default_rng(0)
    real = generator.uniform(0.5, 2.0, (count, len(SIZES))) * generator.choice([-1.0, 1.0], (count, len(SIZES))) * SIZES
    yield from (real, -real, real[:, -1:], -real[:, -1:])


def materialise(mechanism: PrefixSums, rounds: int) -> Array:
    """The matrix B, (rounds, node noises drawn), computed by the code that plays use.

    Unit vectors replace the random draws: the output shows which draws enter it and with which factor. Raises
    ValueError unless real draws give B times these draws.
    """
    drawn = _outputs(mechanism, rounds, 1, lambda first, count: np.zeros((count, 1)))[1]
    matrix, _ = _outputs(mechanism, rounds, drawn, lambda first, count: np.eye(count, drawn, first))
    for real in real_draws(drawn):
        output, used = _outputs(mechanism, rounds, real.shape[1], lambda first, count: real[first : first + count])  # noqa: B023
        size = np.abs(matrix) @ np.abs(real)
        if used != drawn or not (np.abs(output - matrix @ real) <= LINEAR * size).all():
            raise ValueError(f"the noise of {type(mechanism).__name__} is not a fixed linear map of its draws")
    return matrix


def _outputs(mechanism: PrefixSums, rounds: int, width: int, draws: Callable[[int, int], Array]) -> tuple[Array, int]:
    """The noise of rounds 1..rounds, (rounds, width), made of `draws(first, count)`; and how many it took."""
    used = 0

    def taken(count: int) -> Array:
        nonlocal used
        rows = draws(used, count)
        used += count
        return np.pad(rows, ((0, count - len(rows)), (0, 0)))[:, None, :]

    state, units, parts = mechanism.init(BLOCK, 1, width), np.empty((BLOCK, 1, width)), []
    for _ in range(-(-rounds // BLOCK)):  # blocks of draws reuse one array, as in a play
        units[...] = taken(BLOCK)
        parts.append(mechanism.next(state, units, taken).copy())
    return np.concatenate(parts)[:rounds, 0], used


_matrix = lru_cache(maxsize=1)(materialise)
"""What follows asks for one matrix several times."""


def told_for_certain(mechanism: PrefixSums, rounds: int) -> NDArray[np.bool_]:
    """The items 1..rounds that outputs without noise of their own tell, (rounds,): A e_i is no B v."""
    noise, sums = _matrix(mechanism, rounds), np.tril(np.ones((rounds, rounds)))
    nearest = noise @ np.linalg.lstsq(noise, sums, rcond=None)[0]
    return np.asarray((np.abs(nearest - sums) > APART).any(axis=0))


@lru_cache
def item_mu(mechanism: PrefixSums, rounds: int) -> Array:
    """Exact Gaussian-DP parameter of every item 1..rounds, for sensitivity / sigma = 1, after `rounds` outputs.

    In-window items of a window tree have at most sqrt(log2 W + 1); expired items keep a finite loss whose
    square grows linearly with their age, by one to two nodes' worth a window.
    """
    return np.asarray(np.sqrt(transcript_losses(_matrix(mechanism, rounds))[-1]))


def whitened_sums(noise: Array) -> Array:
    """L^-1 A, where L L^T = B B^T: the sums' matrix in units of the noise."""
    rounds = len(noise)
    return solve_triangular(np.linalg.cholesky(noise @ noise.T), np.tril(np.ones((rounds, rounds))), lower=True)


def transcript_losses(noise: Array) -> Array:
    """Squared Gaussian-DP parameter of item i given outputs 1..t, at [t-1, i-1], for sensitivity / sigma = 1.

    noise: the matrix B, (rounds, draws), of full row rank. 0 for items of later rounds. The Cholesky factor of the
    covariance of fewer outputs is a corner of that of more, so one factor answers for all horizons.
    Raises numpy.linalg.LinAlgError where an output is a combination of earlier ones.
    """
    return np.cumsum(np.square(whitened_sums(noise)), axis=0)


@lru_cache
def item_pure_loss(mechanism: PrefixSums, rounds: int) -> Array:
    """Exact pure loss of every item 1..rounds, for a change of one in one coordinate under Laplace(1) noise.

    The transcript y = B v has a density of order exp(-|y|) far out, |y| the least |v|_1 with B v = y. So its largest
    log ratio is the least |v|_1 with B v = A e_i: never passed, since v may be added to the draws, and the limit along
    the ray of A e_i. Where B is square (one new noise a round, as in plain trees) there is one v. NaN where the outputs
    do not have full rank.
    """
    noise = _matrix(mechanism, rounds)
    noise = noise[:, noise.any(axis=0)]  # draws that enter no output
    if np.linalg.matrix_rank(noise) < rounds:
        return np.full(rounds, np.nan)
    sums, draws = np.tril(np.ones((rounds, rounds))), noise.shape[1]
    if rounds == draws:
        return np.abs(np.linalg.solve(noise, sums)).sum(axis=0)
    from scipy.optimize import linprog  # late: most of what imports this file searches nothing

    both, costs = np.hstack([noise, -noise]), np.ones(2 * draws)  # v as the difference of two that are not negative
    return np.array([linprog(costs, A_eq=both, b_eq=item, method="highs").fun for item in sums.T])


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
    counted_scores = [statistic(transcripts) for transcripts in counted]
    samples, bounds = len(counted_scores[0]), []
    for kind, (threshold, above, likely) in _best_events(scores, delta, significance).items():
        hits = [
            int((transcripts >= threshold).sum()) if above else int((transcripts < threshold).sum())
            for transcripts in counted_scores
        ]
        low = least_probability(np.array(hits[likely]), samples, significance / 4)
        high = largest_probability(np.array(hits[1 - likely]), samples, significance / 4)
        value = _log_ratio(low, high, delta) if kind == "epsilon" else ndtri(low) - ndtri(high)
        bounds.append((max(0.0, float(value)), (hits[likely] / samples, hits[1 - likely] / samples)))
    (epsilon, event), (mu, mu_event) = bounds
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
    events = dict.fromkeys(best, (float(thresholds[0]), True, 1))
    for above in (True, False):
        hits = [count - smaller if above else smaller for smaller in below]
        for likely in (0, 1):
            low = least_probability(hits[likely], count, significance / 4)
            high = largest_probability(hits[1 - likely], count, significance / 4)
            for kind in best:
                value = ndtri(low) - ndtri(high) if kind == "mu" else _log_ratio(low, high, delta)
                value = np.where(np.isfinite(value), value, -math.inf)
                index = int(np.argmax(value))
                if value[index] > best[kind]:
                    best[kind], events[kind] = float(value[index]), (float(thresholds[index]), above, likely)
    return events


def _log_ratio(low: Array, high: Array, delta: float) -> Array:
    return np.asarray(np.log(np.maximum(low - delta, 1e-300)) - np.log(high))


def least_probability(hits: Array, samples: int, error: float) -> Array:
    """Clopper-Pearson lower bound of a probability, wrong with probability `error` at most."""
    return np.asarray(_bounds(samples, error)[0][hits])


def largest_probability(hits: Array, samples: int, error: float) -> Array:
    """Clopper-Pearson upper bound of a probability, wrong with probability `error` at most."""
    return np.asarray(_bounds(samples, error)[1][hits])


@lru_cache(maxsize=32)
def _bounds(samples: int, error: float) -> tuple[Array, Array]:
    """Both at 0..samples hits, since audits of one size request the same again."""
    hits = np.arange(samples + 1)
    least = np.where(hits > 0, betaincinv(np.maximum(hits, 1), samples - hits + 1, error), 0.0)
    return least, np.where(hits < samples, betainccinv(hits + 1, np.maximum(samples - hits, 1), error), 1.0)
