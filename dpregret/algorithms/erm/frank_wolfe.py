"""Frank-Wolfe without privacy, and the parts that the private ones share.

Problem     Empirical risk L of curvature Gamma on a convex set; Gamma bounds the curvature for every admissible data
            set, since T must not depend on the data.
Algorithm   Jaggi 2013, written as Talwar, Thakurta & Zhang 2015, Alg. 3:
            line 1  theta_1 in the set: its center
            line 2  for t = 1..T-1
            line 3    s_t = argmin over the set of <grad L(theta_t), s>
            line 4    theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t
            line 5  return theta_T
Privacy     None here. Line 3 is made private in polytope_frank_wolfe.py (Alg. 4) and general_frank_wolfe.py (Alg. 5).
Guarantee   With steps mu_t = 2/(t+2): h_T <= 2 Gamma/(T+1) + 2 h_1/(T(T+1)) + e, e the expected excess of a choice.
            Printed steps of private learners, 1/(T+2), keep (1-1/(T+2))^(T-1) -> 1/e of h_1 permanently.
Deviations  The step 2/(t+2), as in the authors' conference version; Theorem 5.2 prints 1/T.
"""

import copy
import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from dpregret.algorithms.erm.erm_learner import ErmLearner
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.numerics.arrays import Array

BLOCK_DRAWS = 1 << 14  # noises of a run held at a time; part of the definition of a run's random numbers


class FrankWolfe(ErmLearner):
    """Alg. 3, and what the private ones share.

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

    def prepare(self) -> None:
        """Private ones need delta > 0."""
        if self.card.private and any(budget.delta == 0 and math.isfinite(budget.epsilon) for budget in self.budgets):
            raise ValueError(f"{self.card.name} needs delta > 0")
        self.constant_step = self.variant == "printed"

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
            released[setting] = self._descend(setting, rounds, copy.deepcopy(generators))
        return released

    def noise_scales(self) -> list[float]:
        """Scale of the noise in every choice, one a setting."""
        return [
            0.0 if math.isinf(budget.epsilon) else self._scale(budget, rounds)
            for budget, rounds in zip(self.budgets, self.iterations(), strict=True)
        ]

    def _scale(self, budget: Budget, rounds: int) -> float:
        """Scale of the noise for T = rounds and a finite epsilon."""
        return 0.0

    def bound(self) -> list[float]:
        """Explicit bound on the expected excess risk of theta_T: start, curvature and choice."""
        return [
            self._bound(rounds, error) for rounds, error in zip(self.iterations(), self._choice_errors(), strict=True)
        ]

    def _bound(self, rounds: int, error: float) -> float:
        start = self._start_gap()
        if self.constant_step:
            decay = (1 - 1 / (rounds + 2)) ** (rounds - 1)
            return decay * start + (1 - decay) * (self.risk.curvature / (2 * (rounds + 2)) + error)
        curved = 2 * self.risk.curvature * (rounds - 1)
        return (2 * start + curved) / (rounds * (rounds + 1)) + error

    def _start_gap(self) -> float:
        """Bound on h_1 = L(theta_1) - min L."""
        return self.risk.lipschitz * self.domain.max_distance_from(self.domain.center())

    def _choice_errors(self) -> list[float]:
        """Bound on the expected excess <s_t - s, grad L>, one a setting."""
        return [0.0] * len(self.budgets)

    def _step(self, now: int, rounds: int) -> float:
        return 1 / (rounds + 2) if self.constant_step else 2 / (now + 2)

    def _descend(self, setting: int, rounds: int, generators: Sequence[np.random.Generator]) -> Array:
        points = np.tile(self.domain.center(), (self.runs, 1))  # line 1
        noise = self._gradient_noise(setting, rounds, generators)
        for now in range(1, rounds):  # line 2
            gradient = self.risk.gradient(points)
            corner = self.domain.linear_oracle(gradient if noise is None else gradient + next(noise))  # line 3
            step = self._step(now, rounds)
            points *= 1 - step
            points += step * corner  # line 4
        return points  # line 5

    def _gradient_noise(
        self, setting: int, rounds: int, generators: Sequence[np.random.Generator]
    ) -> Iterator[Array] | None:
        """Noise (runs, p) of round 1, 2, ... on demand, None without any."""
        return None
