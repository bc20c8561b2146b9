"""Private Frank-Wolfe over the corners of a polytope.

Problem     As in frank_wolfe.py, on the convex hull of corners S; |C|_1 = max |s|_1.
Algorithm   Talwar, Thakurta & Zhang 2015, Alg. 4:
            line 1  theta_1 in the set: its center
            line 2  for t = 1..T-1
            line 3    alpha_s = <s, grad L(theta_t)> + noise for every corner s
            line 4    s_t = argmin over the corners of alpha_s
            line 5    theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t
            line 6  release theta_T
Privacy     Unit: one record; neighbours: it is replaced by another. Scores move by at most 2 L1 |C|_1 / n; T - 1
            choices, composed by the better of zCDP and optimal composition. The range of a choice with Laplace
            noise is at most 2.46 times score move over scale (docs/proofs/noisy_min_range.md).
Guarantee   That of frank_wolfe.py with e = b ln|S| for Gumbel noise of scale b, b (1 + 1/2 + .. + 1/|S|) for Laplace.
Deviations  printed: T = (Gamma n eps / (L1 |C|_1))^(2/3), Laplace scale L1 |C|_1 sqrt(8 T ln(1/delta)) / (n eps), step
            1/(T+2). That is not (epsilon, delta)-DP (docs/proofs/frank_wolfe_privacy.md). The others
            take the step 2/(t+2). corrected: the smallest Laplace scale that is proved valid. gumbel: Gumbel noise of
            the printed scale, or of the valid one where that is larger (epsilon above 5.5 at delta = 1e-6).
            balanced: T = (2 Gamma / (b ln|S|))^(2/3), b the Gumbel scale of one choice by zCDP, where
            2 Gamma / T = b sqrt(T) ln|S|; the smallest valid scale for that T.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from dpregret.algorithms.erm.frank_wolfe import BLOCK_DRAWS, FrankWolfe
from dpregret.algorithms.geometry import ConstraintSet, CountedSet, L1Ball, Simplex, UnsupportedSet, VertexPolytope
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import (
    Selection,
    SelectionNoise,
    calibrate_selection,
    largest_rho,
    selection_noise,
)
from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.sums import product

Integers = NDArray[np.int64]


@inlined
def _score(gradient: Array, radius: float, corner: int) -> float:
    """<s, gradient> of a corner on an axis: radius times (gradient, -gradient), gradient (p,)."""
    size = len(gradient)
    return radius * gradient[corner] if corner < size else -(radius * gradient[corner - size])


@compiled
def _least(gradients: Array, radius: float, count: int, scale: float, noise: Array, chosen: Integers) -> None:
    """The first of `count` corners of least score plus scale times noise (runs, count), of every run."""
    for run in range(len(chosen)):
        least, chosen[run] = np.inf, 0
        for corner in range(count):
            score = _score(gradients[run], radius, corner)
            if scale > 0.0:
                score += scale * noise[run, corner]  # line 3
            if score < least:
                least, chosen[run] = score, corner  # line 4


@compiled
def _towards(points: Array, radius: float, chosen: Integers, step: float) -> None:
    """points (runs, p) <- (1 - step) points + step * chosen corner (runs,), in place."""
    for run in range(len(points)):
        for k in range(points.shape[1]):
            points[run, k] *= 1.0 - step
        axis = chosen[run] % points.shape[1]
        points[run, axis] += step * (radius if chosen[run] == axis else -radius)


@compiled
def _follow(gradient: Array, columns: Array, lengths: Array, constant: Array, step: float) -> None:
    """Gradients G theta + grad L(0), (runs, p), after a step towards corners: columns (runs, p) of G times lengths."""
    for run in range(len(gradient)):
        for k in range(gradient.shape[1]):
            moved = gradient[run, k] * (1.0 - step) + columns[run, k] * lengths[run]
            gradient[run, k] = moved + step * constant[run, k]


class AxisCorners:
    """Corners on the axes: +-radius e_j (signed), or radius e_j; count: of them; l1_norm: max |s|_1."""

    def __init__(self, dimension: int, radius: float, signed: bool):
        self.dimension, self.l1_norm, self.signed = dimension, float(radius), signed
        self.count = 2 * dimension if signed else dimension

    def least(self, gradient: Array, scale: float, noise: Iterator[Array]) -> Integers:
        """The corner (runs,) of least score plus scale times the next noise (runs, k), the first of several.

        With scale 0 no noise is taken.
        """
        chosen = np.empty(len(gradient), dtype=np.int64)
        fresh = next(noise) if scale > 0 else np.empty((len(gradient), 0))
        _least(without_gaps(gradient), self.l1_norm, self.count, scale, fresh, chosen)
        return chosen

    def axis(self, chosen: np.ndarray) -> tuple[np.ndarray, Array]:
        """Coordinate j and signed length of the chosen corners, both of the shape of chosen."""
        flipped = chosen >= self.dimension
        return chosen - self.dimension * flipped, np.where(flipped, -self.l1_norm, self.l1_norm)

    def step(self, points: Array, chosen: np.ndarray, step: float) -> None:
        """points (runs, p) <- (1 - step) points + step * chosen corner (runs,), in place: one coordinate a run."""
        _towards(points, self.l1_norm, chosen, step)


class ListedCorners:
    """The same as a list, (k, p)."""

    def __init__(self, vertices: Array):
        self.vertices = vertices
        self.count, self.l1_norm = len(vertices), float(np.abs(vertices).sum(axis=1).max())

    def least(self, gradient: Array, scale: float, noise: Iterator[Array]) -> Integers:
        """The corner of least noisy score; one product a corner."""
        scores = product(gradient, self.vertices.T)
        if scale > 0:
            scores += scale * next(noise)
        return np.argmin(scores, axis=-1)

    def step(self, points: Array, chosen: np.ndarray, step: float) -> None:
        """A convex combination."""
        points *= 1.0 - step
        points += step * self.vertices[chosen]


def corners_of(domain: ConstraintSet) -> AxisCorners | ListedCorners:
    """Corners of an l1 ball, a simplex or a polytope with listed vertices.

    Raises UnsupportedSet for every other set: its corners are too many or infinitely many.
    """
    inner = domain.inner if isinstance(domain, CountedSet) else domain
    match inner:
        case L1Ball():
            return AxisCorners(inner.dimension, inner.radius, signed=True)
        case Simplex():
            return AxisCorners(inner.dimension, 1.0, signed=False)
        case VertexPolytope():
            return ListedCorners(inner.vertices)
        case _:
            raise UnsupportedSet(
                f"the set {inner.name!r} has no list of corners; private-fw allows l1-ball, simplex and polytope"
            )


def score_noise(
    distribution: SelectionNoise, generators: Sequence[np.random.Generator], choices: int, candidates: int
) -> Iterator[Array]:
    """Unit noise (runs, candidates) of choice 1, 2, ..., drawn in blocks."""
    block = max(1, min(choices, BLOCK_DRAWS // candidates))
    while True:
        yield from selection_noise(distribution, generators, block, candidates)


class CornerFrankWolfe(FrankWolfe):
    """Private choice among the corners of a polytope.

    On l1 balls and simplices the gradient of a squared loss follows a step by a column of its Gram matrix, where the
    risk gives `gram_columns`, (runs,) -> (runs, p): O(p) a step, whatever n; hence a higher cap on T than elsewhere.
    Raises ValueError for a set whose corners are not listed, and where delta = 0.
    """

    MAX_ITERATIONS = 16384
    natural_set = "l1-ball"

    card = Card(
        name="private-fw",
        title="private FW",
        paper="Talwar, Thakurta & Zhang 2015",
        reference="Alg. 4",
        variants={
            "corrected": "step 2/(t+2), valid Laplace scale",
            "printed": "Alg. 4 to the letter: step 1/(T+2), printed Laplace scale",
            "gumbel": "step 2/(t+2), Gumbel noise of the printed scale or, where larger, the valid one",
            "balanced": "step 2/(t+2), Gumbel noise of valid scale, balanced T",
        },
        needs=frozenset({"vertices", "smooth"}),
    )

    def prepare(self) -> None:
        super().prepare()
        self.corners = corners_of(self.domain)
        self.distribution: SelectionNoise = "gumbel" if self.variant in {"gumbel", "balanced"} else "laplace"
        self.score_bound = self.risk.lipschitz_l1 * self.corners.l1_norm / self.risk.samples
        self.sensitivity = 2 * self.score_bound
        self.scales = self.noise_scales()

    def uncapped_iterations(self) -> list[float]:
        """T by the printed or the balanced formula."""
        return [self._formula(budget) for budget in self.budgets]

    def _formula(self, budget: Budget) -> float:
        if math.isinf(budget.epsilon):
            return math.inf
        if self.variant == "balanced":
            single = self.sensitivity / math.sqrt(2 * largest_rho(budget))
            ratio = 2 * self.risk.curvature / (single * math.log(self.corners.count))
        else:
            ratio = self.risk.curvature * budget.epsilon / self.score_bound
        return float(ratio ** (2 / 3))

    def _scale(self, budget: Budget, rounds: int) -> float:
        printed = self.score_bound * math.sqrt(8 * rounds * budget.log_over_delta()) / budget.epsilon
        if self.variant == "printed":
            return printed
        valid = calibrate_selection(self.distribution, budget, self.sensitivity, rounds - 1)
        return max(printed, valid) if self.variant == "gumbel" else valid

    def ledger(self) -> list[Selection]:
        """T - 1 choices each."""
        return [
            Selection(self.distribution, scale, self.sensitivity, rounds - 1)
            for scale, rounds in zip(self.scales, self.iterations(), strict=True)
        ]

    def _start_gap(self) -> float:
        return min(super()._start_gap(), 2 * self.risk.lipschitz_l1 * self.corners.l1_norm)

    def _choice_errors(self) -> list[float]:
        count = self.corners.count
        unit = math.log(count) if self.distribution == "gumbel" else float(digamma(count + 1) - digamma(1))
        return [scale * unit for scale in self.scales]

    def _descend(self, setting: int, rounds: int, generators: Sequence[np.random.Generator]) -> Array:
        points = np.tile(self.domain.center(), (self.runs, 1))  # line 1
        gradient, constant = (np.array(self.risk.gradient(x), order="C") for x in (points, np.zeros_like(points)))
        columns = getattr(self.risk, "gram_columns", None)
        noise, scale = score_noise(self.distribution, generators, rounds - 1, self.corners.count), self.scales[setting]
        for now in range(1, rounds):  # line 2
            chosen = self.corners.least(gradient, scale, noise)  # lines 3, 4
            step = self._step(now, rounds)
            self.corners.step(points, chosen, step)  # line 5
            if isinstance(self.corners, AxisCorners) and columns is not None:
                coordinates, lengths = self.corners.axis(chosen)
                _follow(gradient, without_gaps(columns(coordinates)), step * lengths, constant, step)
            else:
                gradient = self.risk.gradient(points)
        return points  # line 6
