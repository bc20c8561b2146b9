"""Noisy stochastic gradient descent: decreasing steps, the last iterate.

Algorithm   Bassily, Smith & Thakurta 2014, Alg. 1: theta_{t+1} = Proj(theta_t - eta_t (g_t + b_t)), g_t the gradient of
            one record drawn uniformly at random, b_t ~ N(0, sigma^2 I), eta_t = D / sqrt(t (L^2 + p sigma^2)), D the
            diameter, T = n^2; released is theta_T. Here in units of the average loss: their g_t and b_t over n.
Privacy     Unit: one record; neighbours: it is replaced by another. sampled: a step moves a record's gradient by at
            most 2 L, and amplification by sampling one of n records is priced by the Renyi accountant of dp-accounting
            for sampling without replacement under replacement (Wang, Balle & Kasiviswanathan 2019, Thm. 27): valid for
            this very sampling, but an upper bound; where every record is met often, its noise is about 2.2 times that
            of full gradients.
Guarantee   2 D (2 + ln T) sqrt((L^2 + p sigma^2) / T) (Shamir & Zhang 2013, Thm. 2).
Deviations  corrected: full gradients, so no sampling; noise and T of mirror_descent.py.
            sampled: their closed form for the noise, sigma^2 = 32 L^2 ln(n/delta) ln(1/delta) / epsilon^2 for T = n^2,
            is replaced by the smallest that the accountant accepts for the T in use, at most MAX_SAMPLES. Fewer
            steps than n^2 meet few records, and amplification fades.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from time import process_time
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.erm.mirror_descent import Descent, MirrorDescent, Plan
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget, gaussian_mu
from dpregret.numerics.arrays import Array

ORDERS = (*range(2, 17), *range(18, 33, 2), 40, 48, 64, 96, 128)
CHUNK = 256


class NoisySgd(MirrorDescent):
    """Projected steps that shrink like 1 / sqrt(t); one sampled record a step, or full gradients."""

    MAX_SAMPLES: ClassVar[int] = 1 << 16
    potential_name = "euclidean"
    averaged = False
    card = Card(
        name="noisy-sgd",
        title="noisy SGD",
        paper="Bassily, Smith & Thakurta 2014",
        reference="Alg. 1",
        variants={
            "corrected": "full gradients, exact Gaussian-DP noise",
            "sampled": "one record a step, Renyi accounting of the sampling",
        },
    )

    def prepare(self) -> None:
        super().prepare()
        if self.variant == "sampled":
            self.sensitivity = 2.0 * self.risk.lipschitz
            self.gaussian = False  # steps do not use every record

    def check_budgets(self) -> None:
        """Sampled: what the accountant proves for much noise; to calibrate takes twenty times as long."""
        if self.variant != "sampled":
            return super().check_budgets()
        for budget in self.budgets:
            enough_noise(self.risk.samples, self.capped(budget) - 1, budget)

    def uncapped(self, budget: Budget) -> float:
        """As in mirror descent; sampled: T = n^2."""
        return float(self.risk.samples) ** 2 if self.variant == "sampled" else super().uncapped(budget)

    def capped(self, budget: Budget) -> int:
        """As in mirror descent; sampled: at most MAX_SAMPLES."""
        if self.variant != "sampled":
            return super().capped(budget)
        return int(min(self.uncapped(budget), self.MAX_SAMPLES))

    def noise(self, budget: Budget, iterations: int) -> float:
        """As in mirror descent; sampled: on the gradient of a record."""
        if self.variant != "sampled":
            return super().noise(budget, iterations)
        return 2.0 * self.risk.lipschitz * sampled_multiplier(self.risk.samples, iterations - 1, budget)

    def steps(self, noise: float, iterations: int) -> Array:
        """D / sqrt(t (L^2 + p sigma^2))."""
        return self.domain.diameter / np.sqrt(np.arange(1.0, iterations + 1) * self._square(noise))

    def _square(self, noise: float) -> float:
        return self.risk.lipschitz**2 + self.domain.dimension * noise**2

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        if self.variant != "sampled":
            return super().fit(generators)
        started = process_time()
        len(self.plans)  # calibrated now
        self.apart += process_time() - started
        return self._sampled(generators)

    def _sampled(self, generators: Sequence[np.random.Generator]) -> Array:
        """All settings take as many steps, draw the same records and share their unit noises."""
        points = np.tile(self.domain.center(), (len(self.plans), self.runs, 1))
        noise = np.array([plan.noise for plan in self.plans])
        steps = np.stack([plan.steps for plan in self.plans], axis=1)[:-1]  # theta_T needs T - 1
        for begun in range(0, len(steps), CHUNK):
            chunk = steps[begun : begun + CHUNK]
            draws = [_draws(generator, self.risk.samples, self.domain.dimension) for generator in generators]
            records = np.stack([draw[0][: len(chunk)] for draw in draws], axis=1)
            units = np.stack([draw[1][: len(chunk)] for draw in draws], axis=1)
            descent = Descent(self._risk_of(records), self.domain, self.potential, points, points, averaged=False)
            self.apart += descent.follow(chunk, noise, units)
            points = descent.states()
        return points

    def _risk_of(self, records: NDArray[np.int64]) -> Any:
        """Losses of these records (rounds, runs), one a step, or a function that gives their gradients in turn."""
        offered = getattr(self.risk, "record_losses", None)
        losses = None if offered is None else offered(records)
        numbers = iter(records)

        def gradient(points: Array) -> Array:
            now = next(numbers)
            return np.stack([self.risk.record_gradient(x, now) for x in points])

        return gradient if losses is None else losses

    def delivered_epsilon(self) -> list[float]:
        """Exact Gaussian DP; sampled: what the Renyi accountant certifies."""
        return [self.epsilon_at(budget.delta)[setting] for setting, budget in enumerate(self.budgets)]

    def epsilon_at(self, delta: float) -> list[float]:
        """The same at any delta > 0."""
        if self.variant != "sampled":
            return [line.epsilon(delta) for line in self.ledger()]
        return [
            sampled_epsilon(self.risk.samples, plan.iterations - 1, plan.noise / self.sensitivity, delta)
            for plan in self.plans
        ]

    def _bound(self, plan: Plan) -> float:
        scale = 2.0 * self.domain.diameter * math.sqrt(self._square(plan.noise) / plan.iterations)
        return (2.0 + math.log(plan.iterations)) * scale


def _draws(generator: np.random.Generator, samples: int, dimension: int) -> tuple[np.ndarray, Array]:
    """A chunk's records (CHUNK,) and unit noises (CHUNK, p), always as many: draws do not depend on T."""
    return generator.integers(samples, size=CHUNK), generator.standard_normal((CHUNK, dimension))


def _composed(samples: int, iterations: int, multiplier: float) -> Any:
    """`iterations` Gaussian releases of one of `samples` records; multiplier: standard deviation over sensitivity."""
    import dp_accounting

    step = dp_accounting.SampledWithoutReplacementDpEvent(samples, 1, dp_accounting.GaussianDpEvent(multiplier))
    return dp_accounting.SelfComposedDpEvent(step, iterations)


def _accountant() -> Any:
    import dp_accounting
    from dp_accounting import rdp

    return rdp.RdpAccountant(ORDERS, neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)


@lru_cache
def sampled_epsilon(samples: int, iterations: int, multiplier: float, delta: float) -> float:
    """Certified epsilon under replacement of one record; 0 without a step, inf without noise."""
    if iterations == 0:
        return 0.0
    if multiplier == 0.0:
        return math.inf
    return float(_accountant().compose(_composed(samples, iterations, multiplier)).get_epsilon(delta))


def enough_noise(samples: int, iterations: int, budget: Budget) -> float:
    """A standard deviation over sensitivity that the accountant accepts: three times what full releases need.

    0 for epsilon = inf. Raises ValueError for an epsilon so small that the accountant's orders do not reach it.
    """
    if math.isinf(budget.epsilon) or iterations == 0:
        return 0.0
    enough = 3.0 * (math.sqrt(iterations) / gaussian_mu(budget))
    least = sampled_epsilon(samples, iterations, enough, budget.delta)
    if least > budget.epsilon:
        raise ValueError(
            f"the accountant of sampled releases proves no epsilon below {least:.3g} at delta = {budget.delta:g}, "
            f"not {budget.epsilon:g}: give a larger epsilon, or run the variant without sampling"
        )
    return enough


@lru_cache
def sampled_multiplier(samples: int, iterations: int, budget: Budget) -> float:
    """The smallest standard deviation over sensitivity (to 1e-4) that the accountant accepts; 0 for epsilon = inf.

    Raises ValueError as `enough_noise`.
    """
    enough = enough_noise(samples, iterations, budget)
    if enough == 0.0:
        return 0.0
    import dp_accounting

    tolerance = 1e-4
    calibrated = dp_accounting.calibrate_dp_mechanism(
        _accountant,
        lambda multiplier: _composed(samples, iterations, multiplier),
        budget.epsilon,
        budget.delta,
        dp_accounting.ExplicitBracketInterval(1e-3 * min(1.0, enough / 3.0), enough),
        tol=tolerance,
    )
    return float(calibrated) + tolerance
