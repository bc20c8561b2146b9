"""Doubling epochs of phased SGD, for independent losses: play what a private optimiser made of the epoch before.

Problem     Convex, beta-smooth, L-Lipschitz losses, independent draws of one law, on a set within R of its center.
Algorithm   Asi, Feldman, Koren & Talwar, COLT 2023, Alg. 2, with the phased SGD of Feldman, Koren & Talwar 2020 for A,
            as in Corollary 13:
            line 1  x_0 the center
            line 2  for t = 1..T
            line 3    if t = 2^k, k >= 1
            line 4      run A on the losses t/2..t-1
            line 5      x_t = its output
            line 6    else
            line 7      x_t = x_{t-1}
            line 8    receive the loss
            line 9    pay its value at x_t
            A meets the losses as they come, at points of its own: of n losses the first n/2 are its first phase, the
            next n/4 the second, and so on; a phase of n_i losses makes a step of eta/4^i on each, averages its points,
            and releases the average with N(0, s_i^2 I), where the next phase begins. Memory is two points.
Privacy     Unit: one loss; neighbours: it is replaced by another. It is in one phase of one epoch. Steps of at most
            2/beta and projections move no two points apart, so the average of the phase moves by at most
            2 L eta/4^i: s_i = 2 L eta / (4^i mu) makes it mu-GDP, and all else is post-processing. (eps, delta)-DP,
            exact, for all losses.
Guarantee   Stochastic only. With Delta_n the guarantee of phased SGD (dpregret.algorithms.erm.phased_sgd), expected
            regret is at most L D for round 1, Delta_(2^(k-1)) for each round of epoch k >= 1, and sqrt(8) R L sqrt(T),
            by how much the best point in hindsight is ahead of the best of the law: with F' the mean of T losses and a
            regulariser lambda |x - center|^2/2 its minimiser is 4 L^2/(lambda T)-stable in expectation, hence
            min F <= E min F' + lambda R^2/2 + 4 L^2/(lambda T). So O(L D (sqrt(T) + sqrt(d) ln(T)/mu)).
Deviations  The last loss of an epoch is in no phase. eta minimises Delta_n, at most 8/beta. Theorem 7 lacks the last
            term of the guarantee, which Corollary 13 has room for.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpregret.algorithms.learner import Card, Learner, Loss
from dpregret.algorithms.privacy import Release, gaussian_mu, unit_noise
from dpregret.numerics.arrays import Array


class EpochDescent(Learner):
    """Algorithm 2 with phased SGD."""

    stochastic_only = True
    card = Card(
        name="epoch-phased-sgd",
        title="phased SGD by epochs",
        paper="Asi et al., COLT 2023",
        reference="Alg. 2",
        variants={"gaussian": "exact Gaussian-DP noise, the step that minimises the guarantee of an epoch"},
        needs=frozenset({"smooth"}),
        convex=True,
    )

    def prepare(self) -> None:
        self.center = self.domain.center()
        self.outer_radius = self.domain.max_distance_from(self.center)
        self.inverse_mu = np.array([1 / gaussian_mu(budget) for budget in self.budgets])
        self.walker = self.point.copy()  # A's own point
        self.total = np.zeros_like(self.point)
        self.open_epoch(1)

    def begin(self, generators: Sequence[np.random.Generator]) -> None:
        """Noise is drawn at the ends of phases; settings share it."""
        self.sources = generators

    def open_epoch(self, losses: int) -> None:
        """A starts over, from the center, on so many losses."""
        self.walker[...], self.total[...] = self.center, 0.0  # line 1
        self.ends = list(np.cumsum([losses >> phase for phase in range(1, losses.bit_length())]))
        self.steps, self.phase, self.met, self.losses = self.best_steps(losses), 0, 0, losses

    @property
    def fixed_rounds(self) -> int:
        """To the end of the epoch."""
        return 2 * self.losses - 1 - self.round

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:  # lines 2, 8, 9
        """A's step on the loss; at the end of an epoch its output is played."""
        if self.phase < len(self.ends):
            self._meet(loss)
        if self.round + 1 == 2 * self.losses:  # lines 3, 6
            self.point = self.walker.copy()  # lines 4, 5, 7
            self.open_epoch(2 * self.losses)

    def _meet(self, loss: Loss) -> None:
        """One step of a phase, and its noisy average at its end."""
        fall = 0.25 ** (self.phase + 1)
        self.total += self.walker
        self.met += 1
        slope = loss.value_and_gradient(self.walker)[1]
        if self.met < self.ends[self.phase]:
            self.walker = self.domain.project(self.walker - (fall * self.steps)[:, None, None] * slope)
            return
        length = self.losses >> (self.phase + 1)
        scales = 2 * self.lipschitz * fall * self.steps * self.inverse_mu
        fresh = unit_noise("gaussian", self.sources, 1, self.domain.dimension)[0]
        self.walker = self.domain.project(self.total / length + scales[:, None, None] * fresh)
        self.total[...] = 0.0
        self.phase += 1

    def best_steps(self, losses: int) -> Array:
        """eta of each setting, for an epoch of so many losses: sqrt(A/B) of its guarantee A/eta + B eta."""
        start, drift = self.parts(losses)
        return np.minimum(np.sqrt(start / drift), 8 / self.problem.smoothness if self.problem.smoothness else math.inf)

    def parts(self, losses: int) -> tuple[float, Array]:
        """A, and B of each setting, (settings,), in Delta_n = A/eta + B eta; see phased SGD."""
        count = max(1, losses.bit_length() - 1)
        falls, lengths = 0.25 ** np.arange(1, count + 1), np.maximum(1, losses >> np.arange(1, count + 1))
        noises = 2 * self.lipschitz * self.inverse_mu[:, None] * falls
        phases = (self.domain.dimension * noises[:, :-1] ** 2 / (2 * falls[1:] * lengths[1:])).sum(axis=1)
        last = self.lipschitz * math.sqrt(self.domain.dimension) * noises[:, -1]
        return float(
            self.outer_radius**2 / (2 * falls[0] * lengths[0])
        ), phases + self.lipschitz**2 * falls.sum() / 2 + last

    def excess(self, losses: int) -> Array:
        """Delta_n, (settings,): that of the center for a single loss; at most L D."""
        most = np.full(len(self.settings), self.lipschitz * self.domain.diameter)
        if losses < 2:
            return most
        start, drift = self.parts(losses)
        steps = self.best_steps(losses)
        return np.minimum(most, start / steps + drift * steps)

    @property
    def pure(self) -> bool:
        """Never: the noise is Gaussian."""
        return False

    def ledger(self) -> list[Release]:
        """A phase, of whichever epoch: its average, in units of its sensitivity."""
        return [Release("gaussian", inverse, 1.0, 1) for inverse in self.inverse_mu.tolist()]

    def bound(self, rounds: int) -> Array:
        """The guarantee after 1, 2, ... rounds, (settings, rounds)."""
        epochs = [self.excess(max(1, 2**k // 2)) for k in range(rounds.bit_length())]
        spent = np.concatenate([np.repeat(epoch[:, None], 2**k, axis=1) for k, epoch in enumerate(epochs)], axis=1)
        clock = np.arange(1.0, rounds + 1)
        ahead = math.sqrt(8) * self.outer_radius * self.lipschitz * np.sqrt(clock)
        return np.minimum(np.cumsum(spent[:, :rounds], axis=1) + ahead, self.lipschitz * self.domain.diameter * clock)
