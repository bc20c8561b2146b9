"""L2P over regularised multiplicative weights on the points of a set: on a net, or on a whole ball by hit-and-run.

Algorithm   Asi, Koren, Liu & Talwar 2024, Alg. 1 (dpregret.algorithms.experts.l2p) with the measure of Section 3.2,
            nu_s(x) = exp(-beta (F(x) + lambda |x - c|^2)), F the losses before batch s:
            line 1  input: beta, lambda, batches of B rounds, fake switching p, eta
            line 2  draw x and y from nu_1
            line 3  play x in batch 1
            line 4  for batches s = 2..T/B
            line 5    S = 1 with probability e^(-2 B eta) nu_s(x)/nu_{s-1}(x) nu_{s-1}(y)/nu_s(y), at most 1;
                      S' = 1 with probability 1 - p
            line 6    if S = 0 or S' = 0
            line 7      draw x from nu_s
            line 8    else
            line 9      keep x
            line 10   A = 1 with probability 1 - p
            line 11   if A = 0
            line 12     draw y from nu_s
            line 13   else
            line 14     keep y
            line 15   play x in the batch
            line 16   observe its losses
            l2p-net: x and y are points of a net that covers the set within r, for convex losses on sets of dimension 1
            to 3. l2p-sampled: they are drawn from a whole ball of any dimension, by hit-and-run, for losses whose sums
            are quadratic forms.
Privacy     Unit: one loss; neighbours: it is replaced by another; (eps, delta)-DP. A loss counts as its difference from
            its value at the center c, divided by L D, which is in [-1/2, 1/2] where it is L-Lipschitz on a set of
            radius D/2. The measure is that of weighted experts, and lambda is not secret: the ledger of `l2p` holds
            with beta L D instead of its eta. Net: differences of losses are clipped to [-1/2, 1/2], so it needs no
            trust in L. Sampled: only up to the total variation between the hit-and-run samples and nu: nothing here
            bounds it.
Guarantee   Line 5 is never above 1 while beta L D <= 2 eta, so x has the law nu_s. With h = beta L D the expected
            regret is at most
            net: L D (ln(1/w)/h + h T B/8) + r L T, w the smallest weight in nu_1;
            sampled, for exact samples and lambda = 0: L D (d ln(T + 1)/h + h T B/8 + 1): the points
            x* + (K - x*)/(T + 1) have a share (T + 1)^-d of the volume, and each loses at most L D/(T + 1) more than
            x* in a round. With lambda > 0 none is stated.
Deviations  `printed`: Theorem 3.12 claims O(L D (T^(1/2) + T^(1/3) (d ln T)^(1/2) ln(T/delta) / eps^(2/3))). Its B is
            below 1 for eps > 1/(2 ln(1/delta)): 1 is taken. Its eta has eps^(2/3), here at most 1. The regulariser is
            centered at c. `tuned` is ours: lambda = 0, and the B, p and beta that minimise the guarantee by our ledger.
            Theorem 3.12 is about the whole set; the net has radius D/(4 T^(1/2)), or `FINEST`. Sampled: losses in the
            sums are not clipped, the constant L is trusted.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpregret.algorithms.experts.l2p import DrawnCopy
from dpregret.algorithms.learner import Card, Loss, Problem, Setting
from dpregret.algorithms.online.kept_points import KeptPoints, clipped
from dpregret.algorithms.online.private_switching import NetSums, QuadraticSums, generators_by_setting
from dpregret.numerics.arrays import Array
from dpregret.numerics.elementary import exp

COINS = 1024
"""Decisions whose coins a run draws at once."""
VARIANTS = {
    "tuned": "ours: lambda = 0, (B, p, beta) that minimise the guarantee by our ledger",
    "printed": "B, p, beta and lambda of Theorem 3.12, p = eta/eps",
}


def printed(problem: Problem, setting: Setting) -> tuple[DrawnCopy, float]:
    """B, p and beta L D of Theorem 3.12, and its lambda."""
    epsilon, horizon = setting.budget.epsilon, problem.horizon
    delta = setting.budget.delta or 1 / max(2, horizon)  # without privacy none is needed
    lipschitz, diameter, dimension = problem.lipschitz, problem.domain.diameter, problem.domain.dimension
    logarithm = math.log(horizon / delta)
    eta = min(epsilon, 1.0) ** (2 / 3) / (horizon ** (1 / 3) * logarithm)
    regulariser = lipschitz / diameter * max(math.sqrt(horizon), math.sqrt(dimension * math.log(horizon)) / eta)
    beta_ld = eta**2 * regulariser / (20 * lipschitz**2) * lipschitz * diameter
    if beta_ld > 2 * eta:
        raise ValueError(f"L2P printed: line 5 would be cut at 1 in dimension {dimension}")
    batch = 1 if math.isinf(epsilon) else max(1, round(1 / (2 * epsilon * math.log(1 / delta))))
    kind = type("Stated", (DrawnCopy,), {"spare": 2 * eta / beta_ld})  # line 5 has the theorem's eta, not beta L D
    return kind(batch, min(1.0, eta / epsilon), beta_ld), regulariser


class LazyPoints(KeptPoints):
    """Draws few points, by a law that moves slowly."""

    def prepare(self) -> None:
        super().prepare()
        self.sums = self.open_sums()
        self.plans: list[DrawnCopy] = []
        self.regularisers: list[float] = []
        for setting in self.settings:  # line 1
            if self.variant == "printed":
                plan, regulariser = printed(self.problem, setting)
            else:
                plan, regulariser = self.tuned(setting, self.points, DrawnCopy), 0.0
            self.plans.append(plan)
            self.regularisers.append(regulariser)
        self.asked = np.concatenate([self.point, self.point[:1]])  # the copies y, and the center
        self.copy = self.asked[:-1]
        self.ahead = np.zeros((len(self.settings), self.runs))  # losses of x in the batch minus those of y
        self.draws = np.ones((len(self.settings), self.runs), dtype=np.int64)

    @property
    @abstractmethod
    def points(self) -> int:
        """How many experts the guarantee counts."""

    @abstractmethod
    def open_sums(self) -> NetSums | QuadraticSums:
        """F, before the first loss."""

    @abstractmethod
    def drawn(self, setting: int, run: int) -> Array:
        """A point from nu, (d,)."""

    def begin(self, generators: Sequence[np.random.Generator]) -> None:
        """Every setting has its own generators."""
        self.rngs = generators_by_setting(generators, self.settings)
        self.coins = np.empty((len(self.settings), self.runs, COINS, 3))
        self.tossed = np.full(len(self.settings), COINS)
        for setting, run in np.ndindex(self.draws.shape):
            self.go(setting, run, self.drawn(setting, run))  # lines 2, 3
            self.copy[setting, run] = self.drawn(setting, run)

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:  # line 4
        """Count the loss; after a batch, decide which points are drawn."""
        self.sums.add(loss)  # line 16
        *copied, base = loss.value(self.asked)
        self.ahead += clipped(self.paid(loss), base, self.unit) - clipped(np.array(copied), base, self.unit)
        for setting, plan in enumerate(self.plans):
            if self.round % plan.batch or self.round >= self.horizon:
                continue
            first, second, third = self._coins(setting)
            stay = first < exp(-plan.eta * (plan.spare * plan.batch + self.ahead[setting]))  # line 5
            for run in np.flatnonzero(~stay | (second < plan.keep_away)):  # line 6
                self.draws[setting, run] += 1
                self.go(setting, int(run), self.drawn(setting, int(run)))  # lines 7, 8, 9, 15
            for run in np.flatnonzero(third < plan.renew):  # lines 10, 11
                self.copy[setting, run] = self.drawn(setting, int(run))  # lines 12, 13, 14
            self.ahead[setting] = 0.0

    def _coins(self, setting: int) -> Array:
        """Three coins a run, (3, runs), drawn ahead by each run's own generator."""
        if self.tossed[setting] == COINS:
            for run, generator in enumerate(self.rngs[setting]):
                self.coins[setting, run] = generator.random((COINS, 3))
            self.tossed[setting] = 0
        self.tossed[setting] += 1
        return self.coins[setting, :, self.tossed[setting] - 1].T


class LazyNet(LazyPoints):
    """Algorithm 1 over a net, for sets of dimension 1 to 3."""

    card = Card(
        name="l2p-net",
        title="L2P on a net",
        paper="Asi et al. 2024",
        reference="Thm 3.12",
        variants=VARIANTS,
        anytime=False,
        convex=True,
    )

    sums: NetSums

    def prepare(self) -> None:
        super().prepare()
        away = np.square(self.sums.net - self.center).sum(axis=1)
        self.sizes = [
            exp(-plan.eta / self.unit * regulariser * away)
            for plan, regulariser in zip(self.plans, self.regularisers, strict=True)
        ]

    def open_sums(self) -> NetSums:
        """Over a net."""
        share = 0.25 / math.sqrt(self.horizon)
        return NetSums(self, self.unit, share, "l2p-sampled", -0.5, self.center)

    @property
    def points(self) -> int:
        """Points of the net."""
        return len(self.sums.net)

    def drawn(self, setting: int, run: int) -> Array:
        """The exponential mechanism over the net."""
        generator, scale = self.rngs[setting][run], 1 / self.plans[setting].eta
        return self.sums.draw(generator, run, scale, sizes=self.sizes[setting])

    def bound(self, rounds: int) -> Array:
        """L D (ln(1/w)/h + h T B/8) + r L T, at the horizon."""
        most = []
        for plan, sizes in zip(self.plans, self.sizes, strict=True):
            prior = math.log(float(sizes.sum() / sizes.min()))
            most.append(self.unit * (prior / plan.eta + plan.eta * self.horizon * plan.batch / 8))
        return np.array([[excess + self.sums.radius * self.lipschitz * self.horizon] * rounds for excess in most])


class LazySampled(LazyPoints):
    """Algorithm 1 over a ball of any dimension, for losses whose sums are quadratic forms."""

    card = replace(
        LazyNet.card,
        name="l2p-sampled",
        title="L2P, hit-and-run",
        needs=frozenset({"smooth", "quadratic-sums"}),
    )

    sums: QuadraticSums

    def open_sums(self) -> QuadraticSums:
        """Of quadratic forms."""
        return QuadraticSums(self, self.unit)

    @property
    def points(self) -> int:
        """(T + 1)^d: one over the share of the volume that the guarantee needs."""
        return int((self.problem.horizon + 1) ** self.problem.domain.dimension)

    def drawn(self, setting: int, run: int) -> Array:
        """Hit-and-run from the center."""
        generator, scale = self.rngs[setting][run], 1 / self.plans[setting].eta
        return self.sums.draw(generator, run, scale, weight=2 * self.regularisers[setting] / self.unit)

    def bound(self, rounds: int) -> Array:
        """L D (d ln(T + 1)/h + h T B/8 + 1), at the horizon; NaN with a regulariser."""
        most = [
            math.nan if regulariser else self.unit * (plan.guarantee(self.horizon, self.points) + 1)
            for plan, regulariser in zip(self.plans, self.regularisers, strict=True)
        ]
        return np.array([[value] * rounds for value in most])
