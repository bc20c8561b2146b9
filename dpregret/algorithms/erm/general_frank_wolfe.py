"""Private Frank-Wolfe over any convex set: noise on the gradient.

Problem     As in frank_wolfe.py; G_C is the Gaussian width of the set.
Algorithm   Talwar, Thakurta & Zhang 2015, Alg. 5: the loop of frank_wolfe.py with a noisy gradient.
            line 1  theta_1 in the set: its center
            line 2  for t = 1..T-1
            line 3    s_t = argmin over the set of <grad L(theta_t) + b_t, s>, b_t ~ N(0, sigma^2 I)
            line 4    theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t
            line 5  release theta_T
Privacy     Unit: one record; neighbours: it is replaced by another. A gradient moves by at most 2 L2 / n; T - 1
            Gaussian releases, priced by exact Gaussian DP.
Guarantee   That of frank_wolfe.py with e = sigma G_C.
Deviations  T = (Gamma n eps / (L2 G_C))^(2/3) as printed. corrected: sigma = (2 L2 / n) sqrt(T - 1) / mu(eps, delta),
            steps 2/(t+2). printed: sigma^2 = 32 L2 T ln^2(n/delta) / (n eps)^2 with the first power of L2, steps
            1/(T+2).
"""

import math
from collections.abc import Iterator, Sequence
from itertools import chain, repeat

import numpy as np

from dpregret.algorithms.erm.frank_wolfe import BLOCK_DRAWS, FrankWolfe
from dpregret.algorithms.geometry import gaussian_width
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget, Release, calibrate, unit_noise
from dpregret.numerics.arrays import Array


class GeneralFrankWolfe(FrankWolfe):
    """Gaussian noise on the gradient, any convex set."""

    gaussian = True
    card = Card(
        name="private-fw-general",
        title="private FW (any set)",
        paper="Talwar, Thakurta & Zhang 2015",
        reference="Alg. 5",
        variants={
            "corrected": "step 2/(t+2), exact Gaussian calibration",
            "printed": "Alg. 5 to the letter: step 1/(T+2), variance with the first power of L2",
        },
        needs=frozenset({"smooth"}),
    )

    def prepare(self) -> None:
        super().prepare()
        self.width, _ = gaussian_width(self.domain)
        self.sensitivity = 2 * self.risk.lipschitz / self.risk.samples
        self.scales = self.noise_scales()

    def uncapped_iterations(self) -> list[float]:
        """T by the printed formula."""
        unit = self.risk.curvature * self.risk.samples / (self.risk.lipschitz * self.width)
        return [float((unit * budget.epsilon) ** (2 / 3)) if unit > 0 else 0.0 for budget in self.budgets]

    def _scale(self, budget: Budget, rounds: int) -> float:
        if self.variant == "corrected":
            return calibrate("gaussian", budget, self.sensitivity, rounds - 1)
        samples = self.risk.samples
        log_term = budget.log_over_delta(samples)
        return math.sqrt(32 * self.risk.lipschitz * rounds) * log_term / (samples * budget.epsilon)

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
    ) -> Iterator[Array] | None:
        size = max(1, min(rounds - 1, BLOCK_DRAWS // self.domain.dimension))
        scale = self.scales[setting]
        blocks = (scale * unit_noise("gaussian", generators, size, self.domain.dimension) for _ in repeat(None))
        return chain.from_iterable(blocks) if scale else None  # line 3
