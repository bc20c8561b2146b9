"""Frank-Wolfe: plain, private over the corners of a polytope, private over any convex set.

Problem     Empirical risk L of curvature Gamma on a convex set; Gamma bounds the curvature for every admissible data
            set, since T must not depend on the data.
Algorithm   Talwar, Thakurta & Zhang 2015, Alg. 4 (corners) and Alg. 5 (Gaussian noise on the gradient): for
            t = 1..T-1 choose s_t close to argmin <s, grad L(theta_t)> and move theta by a step towards it.
Privacy     Replace one record. Scores <s, grad L> move by at most 2 L1 |C|_1 / n, gradients by 2 L2 / n. T - 1 choices.
Guarantee   With steps 2/(t+2): h_T <= 2 Gamma/(T+1) + 2 h_1/(T(T+1)) + e, e the expected excess of a chosen score:
            b ln|S| for Gumbel noise, b (1 + 1/2 + .. + 1/|S|) for Laplace noise, sigma G_C for Alg. 5.
            Printed steps 1/(T+2) keep (1-1/(T+2))^(T-1) -> 1/e of h_1 for ever.
Deviations  The step 2/(t+2), as in the authors' conference version; the Laplace scale, since the printed one is half of
            what composing calls of 2 s / b - DP proves (no attack that exceeds the budget is known); the power of L2
            in the variance of Alg. 5.
"""

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from scipy.special import digamma

from dpregret.algorithms.erm.base import ErmLearner, ErmProblem
from dpregret.algorithms.erm.selection import AxisCorners, corners_of
from dpregret.algorithms.geometry import gaussian_width
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget, Release, calibrate, unit_noise
from dpregret.algorithms.privacy.selection import (
    Selection,
    SelectionNoise,
    calibrate_selection,
    largest_rho,
    selection_noise,
)
from dpregret.core.arrays import Array

BLOCK_DRAWS = 1 << 14  # noises of a run held at a time; part of the definition of a run's random numbers


@runtime_checkable
class QuadraticRisk(Protocol):
    """A risk theta' G theta / 2 - <c, theta> + constant whose Gram matrix gives out columns in O(p)."""

    def gram_columns(self, coordinates: np.ndarray) -> Array:
        """G[:, j] of the run's coordinate j, (runs,) -> (runs, p)."""


class FrankWolfe(ErmLearner):
    """Non-private Frank-Wolfe, and what the private ones share.

    Runs T = MAX_ITERATIONS rounds; private learners stop earlier where their T says so. `iterations` is the capped T,
    `uncapped_iterations` what the formula says.
    """

    MAX_ITERATIONS: ClassVar[int] = 4096

    card = Card(
        name="fw",
        title="Frank-Wolfe",
        paper="Jaggi 2013",
        reference="Alg. 1",
        variants={"plain": "step 2/(t+2)"},
        private=False,
        needs=frozenset({"smooth"}),
    )

    def __init__(self, problem: ErmProblem, budgets: Sequence[Budget], runs: int, variant: str):
        super().__init__(problem, budgets, runs, variant)
        if not math.isfinite(self.risk.curvature):
            raise ValueError(f"{self.card.name} needs a smooth risk")
        self.constant_step = variant == "printed"

    def uncapped_iterations(self) -> list[float]:
        """T of each setting by its formula; inf where it has no end."""
        return [math.inf] * len(self.budgets)

    def iterations(self) -> list[int]:
        """T of each setting, rounded up, at least 2 (one step) and at most MAX_ITERATIONS."""
        return [int(min(self.MAX_ITERATIONS, max(2, math.ceil(min(t, 2**62))))) for t in self.uncapped_iterations()]

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Last iterates theta_T (settings, runs, p). All settings meet the same unit noise."""
        released = np.empty((len(self.budgets), self.runs, self.domain.dimension))
        for setting, rounds in enumerate(self.iterations()):
            released[setting] = self._descend(setting, rounds, copy.deepcopy(list(generators)))
        return released

    def bound(self) -> list[float]:
        """Explicit bound on the expected excess risk of theta_T: start, curvature and choice."""
        return [
            self._bound(rounds, error) for rounds, error in zip(self.iterations(), self._choice_errors(), strict=True)
        ]

    def _bound(self, rounds: int, error: float) -> float:
        start = self._start_gap()
        if self.constant_step:
            left = (1 - 1 / (rounds + 2)) ** (rounds - 1)
            return left * start + (1 - left) * (self.risk.curvature / (2 * (rounds + 2)) + error)
        curved = 2 * self.risk.curvature * (rounds - 1)
        return (2 * start + curved) / (rounds * (rounds + 1)) + error

    def _start_gap(self) -> float:
        """Bound on h_1 = L(theta_1) - min L."""
        return self.risk.lipschitz * self.domain.reach(self.domain.center())

    def _choice_errors(self) -> list[float]:
        """Bound on the expected excess <s_t - s, grad L>, one a setting."""
        return [0.0] * len(self.budgets)

    def _step(self, now: int, rounds: int) -> float:
        return 1 / (rounds + 2) if self.constant_step else 2 / (now + 2)

    def _descend(self, setting: int, rounds: int, generators: Sequence[np.random.Generator]) -> Array:
        points = np.tile(self.domain.center(), (self.runs, 1))
        noise = self._gradient_noise(setting, rounds, generators)
        for now in range(1, rounds):
            gradient = self.risk.gradient(points)
            corner = self.domain.linear_oracle(gradient if noise is None else gradient + noise(now))
            step = self._step(now, rounds)
            points = (1 - step) * points + step * corner
        return points

    def _gradient_noise(
        self, setting: int, rounds: int, generators: Sequence[np.random.Generator]
    ) -> Callable[[int], Array] | None:
        """Noise (runs, p) of round 1, 2, ... on demand, None without any."""
        return None


class PrivateFrankWolfe(FrankWolfe):
    """Released points are theta_T; Gaussian or selection noise of scale `scales[setting]` enters every choice."""

    scales: list[float]

    def __init__(self, problem: ErmProblem, budgets: Sequence[Budget], runs: int, variant: str):
        super().__init__(problem, budgets, runs, variant)
        if any(budget.delta == 0 and math.isfinite(budget.epsilon) for budget in budgets):
            raise ValueError(f"{self.card.name} needs delta > 0")
        self._prepare()
        self.scales = [
            0.0 if math.isinf(budget.epsilon) else self._scale(budget, rounds)
            for budget, rounds in zip(budgets, self.iterations(), strict=True)
        ]

    @abstractmethod
    def _prepare(self) -> None:
        """Set what `uncapped_iterations` and `_scale` need."""

    @abstractmethod
    def _scale(self, budget: Budget, rounds: int) -> float:
        """Scale of the noise for T = rounds and a finite epsilon."""

    @abstractmethod
    def ledger(self) -> Sequence[Selection | Release]:
        """The privacy ledger, one line a setting."""

    def delivered_epsilon(self) -> list[float]:
        """What the ledger proves at the setting's delta, for replacement of a record and sensitivity 2 L."""
        return [
            line.epsilon(budget.delta) if budget.delta > 0 else math.inf
            for line, budget in zip(self.ledger(), self.budgets, strict=True)
        ]


class CornerFrankWolfe(PrivateFrankWolfe):
    """Private choice among the corners of a polytope: Talwar, Thakurta & Zhang 2015, Alg. 4.

    Printed: T = (Gamma n eps / (L1 |C|_1))^(2/3), Laplace scale L1 |C|_1 sqrt(8 T ln(1/delta)) / (n eps).
    Balanced: T = (2 Gamma / (b ln|S|))^(2/3), b the Gumbel scale of one choice, where 2 Gamma / T = b sqrt(T) ln|S|.
    On l1 balls and simplices a squared loss keeps its gradient by Gram columns: O(p) a step, whatever n; hence a
    higher cap on T than elsewhere.
    Raises ValueError for a set whose corners are not listed, and where delta = 0.
    """

    MAX_ITERATIONS = 16384
    natural_set = "l1-ball"

    card = Card(
        name="private-fw",
        title="private Frank-Wolfe, corners",
        paper="Talwar, Thakurta & Zhang 2015",
        reference="Alg. 4",
        variants={
            "corrected": "step 2/(t+2), valid Laplace scale",
            "printed": "Alg. 4 to the letter: step 1/(T+2), printed Laplace scale",
            "gumbel": "step 2/(t+2), Gumbel noise of the printed scale",
            "balanced": "step 2/(t+2), Gumbel noise of exact scale, balanced T",
        },
        needs=frozenset({"vertices", "smooth"}),
    )

    def _prepare(self) -> None:
        self.corners = corners_of(self.domain)
        self.distribution: SelectionNoise = "gumbel" if self.variant in {"gumbel", "balanced"} else "laplace"
        self.score_bound = self.risk.lipschitz_l1 * self.corners.l1_norm / self.risk.samples
        self.sensitivity = 2 * self.score_bound

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
        if self.variant in {"printed", "gumbel"}:
            return self.score_bound * math.sqrt(8 * rounds * math.log(1 / budget.delta)) / budget.epsilon
        return calibrate_selection(self.distribution, budget, self.sensitivity, rounds - 1)

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
        points = np.tile(self.domain.center(), (self.runs, 1))
        gradient_after = self._gradient_keeper(points)
        gradient = self.risk.gradient(points)
        scale, noise = self.scales[setting], np.empty(0)
        block = max(1, min(rounds - 1, BLOCK_DRAWS // self.corners.count))
        for now in range(1, rounds):
            scores = self.corners.scores(gradient)
            if scale > 0:
                if (now - 1) % block == 0:
                    noise = selection_noise(self.distribution, generators, block, self.corners.count)
                    noise *= scale
                scores += noise[(now - 1) % block]
            chosen = np.argmin(scores, axis=-1)
            step = self._step(now, rounds)
            self.corners.step(points, chosen, step)
            gradient = gradient_after(gradient, chosen, step)
        return points

    def _gradient_keeper(self, points: Array) -> Callable[[Array, np.ndarray, float], Array]:
        """Gradient after a step, from the one before: for a quadratic risk by one column of its Gram matrix."""
        corners, risk = self.corners, self.risk
        if not (isinstance(corners, AxisCorners) and isinstance(risk, QuadraticRisk)):
            return lambda gradient, chosen, step: self.risk.gradient(points)
        columns, constant = risk.gram_columns, risk.gradient(np.zeros_like(points))

        def keep(gradient: Array, chosen: np.ndarray, step: float) -> Array:
            # grad = G theta - c with -c = grad L(0): the convex combination of G theta and G s, plus -c
            coordinate, length = corners.axis(chosen)
            gradient *= 1 - step
            column = columns(coordinate)
            column *= (step * length)[:, None]
            gradient += column
            gradient += step * constant
            return gradient

        return keep


class GeneralFrankWolfe(PrivateFrankWolfe):
    """Gaussian noise on the gradient, any convex set: Talwar, Thakurta & Zhang 2015, Alg. 5.

    T = (Gamma n eps / (L2 G_C))^(2/3) with the Gaussian width G_C. Corrected: sigma = (2 L2 / n) sqrt(T - 1) / mu(eps,
    delta), exact Gaussian DP, steps 2/(t+2). Printed: sigma^2 = 32 L2 T ln^2(n/delta) / (n eps)^2 with the first
    power of L2, steps 1/(T+2).
    """

    card = Card(
        name="private-fw-general",
        title="private Frank-Wolfe, any set",
        paper="Talwar, Thakurta & Zhang 2015",
        reference="Alg. 5",
        variants={
            "corrected": "step 2/(t+2), exact Gaussian calibration",
            "printed": "Alg. 5 to the letter: step 1/(T+2), variance with the first power of L2",
        },
        needs=frozenset({"smooth"}),
    )

    def _prepare(self) -> None:
        self.width, _ = gaussian_width(self.domain)
        self.sensitivity = 2 * self.risk.lipschitz / self.risk.samples

    def uncapped_iterations(self) -> list[float]:
        """T by the printed formula."""
        unit = self.risk.curvature * self.risk.samples / (self.risk.lipschitz * self.width)
        return [float((unit * budget.epsilon) ** (2 / 3)) if unit > 0 else 0.0 for budget in self.budgets]

    def _scale(self, budget: Budget, rounds: int) -> float:
        if self.variant == "corrected":
            return calibrate("gaussian", budget, self.sensitivity, rounds - 1)
        samples = self.risk.samples
        log_term = math.log(samples / budget.delta)
        return math.sqrt(32 * self.risk.lipschitz * rounds) * log_term / (samples * budget.epsilon)

    @property
    def gaussian(self) -> bool:
        """Every gradient is one."""
        return True

    def ledger(self) -> list[Release]:
        """T - 1 Gaussian releases each."""
        return [
            Release("gaussian", scale, self.sensitivity, rounds - 1)
            for scale, rounds in zip(self.scales, self.iterations(), strict=True)
        ]

    def _choice_errors(self) -> list[float]:
        return [scale * self.width for scale in self.scales]

    def _gradient_noise(
        self, setting: int, rounds: int, generators: Sequence[np.random.Generator]
    ) -> Callable[[int], Array] | None:
        if self.scales[setting] == 0:
            return None
        scale, size = self.scales[setting], max(1, min(rounds - 1, BLOCK_DRAWS // self.domain.dimension))
        block = np.empty(0)

        def noise(now: int) -> Array:
            nonlocal block
            if (now - 1) % size == 0:
                block = unit_noise("gaussian", generators, size, self.domain.dimension)
            drawn: Array = scale * block[(now - 1) % size]
            return drawn

        return noise
