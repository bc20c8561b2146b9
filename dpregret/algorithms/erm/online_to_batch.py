"""Private online-to-batch: an online learner of the suite, fed noisy sums, becomes a private stochastic method.

Problem     F(x) = E f(x; z) on a convex set of diameter D, met through n fresh records; f(.; z) convex, L-Lipschitz
            and beta-smooth.
Algorithm   Zhang, Tran & Cutkosky 2022, with weights t. Learner: any of algorithms/online, without its noise.
            line 1  x_1 = w_1, the learner's first point
            line 2  for t = 1..n-1
            line 3    delta_t = t grad f(x_t; z_t) - (t-1) grad f(x_{t-1}; z_t)
            line 4    g_t = delta_1 + ... + delta_t + noise_t, by a mechanism for prefix sums
            line 5    the learner is charged <g_t, w> and answers w_{t+1}
            line 6    x_{t+1} = x_t + (2/(t+2)) (w_{t+1} - x_t), the mean of w_1..w_{t+1} with weights 1..t+1
            line 7  release x_n
Privacy     Unit: one record; neighbours: it is replaced by another. x_t and x_{t-1} are functions of g_1..g_{t-1}, and
            |x_t - x_{t-1}| <= 2 D/(t+1); so |delta_t| <= L + (t-1) 2 beta D/(t+1) <= M = L + 2 beta D, and it moves by
            at most 2 M, whatever t. Sums of adaptively chosen items under Gaussian noise, priced exactly; g_1..g_{n-1}
            are paid for, hence all w_t and x_t: each of them may be shown, not the last one alone.
Guarantee   E F(x_n) - F* <= (2/(n (n+1))) (E regret on the g_t + R sum_{t<=n} (M sqrt(t-1) + E|noise_t|)), R the
            largest distance to the center c: for weights t, (n (n+1)/2) (F(x_n) - F*) <= sum_t t <grad F(x_t),
            w_t - x*>; S_t = delta_1 + .. + delta_t - t grad F(x_t) is a martingale of steps |.| <= M, w_t knows S_{t-1}
            only, and x* - c is fixed, so E<S_t, x* - w_t> = E<S_{t-1}, c - w_t> <= R M sqrt(t-1).
            Regret: the learner receives the root mean square over t of G_t >= sqrt(E|g_t|^2), G_t = min(t L + M
            sqrt(t), t M) + sqrt(E|noise_t|^2), as its Lipschitz constant. That is enough where its bound adds up a_t
            |g_t|^2 and a_t |g_t| with a_t that do not grow (Chebyshev's sum inequality, G_t grows): `proved`. Others:
            NaN.
Deviations  Losses are divided by that constant, so that one learner serves all budgets. One that requires
            curvature is charged <g_t, w> + (lambda/2) |w - c|^2 in these units, lambda = sqrt((1 + ln n)/n)/R, at the
            price of n lambda R^2/2. The mechanism is for n rounds, and record n is never used.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from dpregret.algorithms.erm.erm_learner import OnePassLearner
from dpregret.algorithms.learner import Card, Learner, Problem, Setting
from dpregret.algorithms.online import (
    adaptive_descent,
    blocked_descent,
    dp_ftrl_lipschitz,
    gauge_descent,
    gradient_descent,
    pocp,
    scofw,
    wdp_cocol,
)
from dpregret.algorithms.privacy import Budget, NoisePlan
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot


@dataclass(frozen=True)
class Choice:
    """An online learner and its variant, and the mechanism of `horizon_sums`. proved: its bound may be used."""

    kind: type[Learner]
    says: str
    variant: str = "plain"
    sums: str = "root"
    proved: bool = False


CHOICES: Mapping[str, Choice] = {
    "descent": Choice(adaptive_descent.AdaptiveDescent, "gradient descent with adaptive steps", proved=True),
    "descent-tree": Choice(adaptive_descent.AdaptiveDescent, "the same, sums by the tree", sums="tree", proved=True),
    "descent-buffers": Choice(
        adaptive_descent.AdaptiveDescent, "the same, sums by buffers", sums="buffers", proved=True
    ),
    "leader": Choice(
        dp_ftrl_lipschitz.LipschitzLeader, "follow the regularised leader", variant="corrected", proved=True
    ),
    "shrinking": Choice(gradient_descent.OnlineGradientDescent, "gradient descent, steps 1/(lambda t)", proved=True),
    "gauge": Choice(gauge_descent.GaugeDescent, "gauge descent, one gauge a record", proved=True),
    "blocked": Choice(blocked_descent.BlockedDescent, "blocked descent, a linear oracle", proved=True),
    "implicit": Choice(pocp.PocpIgd, "implicit gradient descent", variant="corrected"),
    "oracle": Choice(scofw.StronglyConvexFrankWolfe, "online Frank-Wolfe, one call of the linear oracle"),
    "local-oracle": Choice(
        wdp_cocol.LocalOracleFtal, "approximate leader, one call of the local oracle", variant="practical"
    ),
}


@dataclass(frozen=True)
class Charge:
    """<slope, w> + (ridge/2) |w - center|^2; slope (settings, runs, d)."""

    slope: Array
    ridge: float
    center: Array

    def value(self, points: Array) -> Array:
        """(settings, runs)."""
        apart = points - self.center
        return vecdot(self.slope, points) + 0.5 * self.ridge * vecdot(apart, apart)

    def gradient(self, points: Array) -> Array:
        """(settings, runs, d)."""
        return self.slope + self.ridge * (points - self.center)

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """Both."""
        return self.value(points), self.gradient(points)

    def prox(self, points: Array, step: float) -> Array:
        """argmin of step times the charge + |w - point|^2/2."""
        return (points - step * (self.slope - self.ridge * self.center)) / (1 + step * self.ridge)


class OnlineToBatch(OnePassLearner):
    """Raises ValueError for losses with kinks, and where the online learner does: no local oracle, for example."""

    card = Card(
        name="online-to-batch",
        title="online-to-batch",
        paper="Zhang, Tran & Cutkosky 2022",
        reference="weights t, constant sensitivity",
        variants={name: choice.says for name, choice in CHOICES.items()},
        needs=frozenset({"smooth"}),
    )

    gaussian = True
    noise_plan: NoisePlan

    def prepare(self) -> None:
        super().prepare()
        self.choice, self.rounds = self.choices()[self.variant], self.fresh.samples
        self.radius = self.domain.max_distance_from(self.domain.center())
        self.moved = self.risk.lipschitz + 2 * self.risk.smoothness * self.domain.diameter  # M
        self.noise_plan = self.private_sums(self.choice.sums, 2 * self.moved)
        self.units = np.sqrt(np.square(self._sizes()).mean(axis=1))
        self.ridge = 0.0
        card = self.choice.kind.card
        if not card.convex or "smooth" in card.needs:
            self.ridge = math.sqrt((1 + math.log(self.rounds)) / self.rounds) / self.radius
        self.learner()  # raises before any work for what it cannot serve

    @classmethod
    def choices(cls) -> Mapping[str, Choice]:
        """The online learner of each variant."""
        return CHOICES

    def learner(self) -> Learner:
        """The online learner in round 0, without its own privacy."""
        visible = Problem(self.domain, self.rounds, 1 + self.ridge * self.radius, self.ridge, self.ridge)
        settings = [Setting(self.rounds, Budget(math.inf, budget.delta)) for budget in self.budgets]
        return self.choice.kind(visible, settings, self.runs, self.choice.variant)

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, d)."""
        learner, center = self.learner(), self.domain.center()
        learner.begin(generators)
        records, noises = self.one_by_one(), chain.from_iterable(self.noise_plan.blocks(generators))
        silent = None if learner.noise_plan is None else np.zeros_like(learner.point)
        point = before = learner.point.copy()  # line 1
        total, units = np.zeros_like(point), self.units[:, None, None]
        for t in range(1, self.rounds):  # line 2
            record = next(records)
            now, then = (self.fresh.gradients(x, record) for x in (point, before))
            total += t * now - (t - 1) * then  # line 3
            released = (total + next(noises)) / units  # line 4
            charge = Charge(released, self.ridge, center)
            learner.round = t
            learner.observe(charge, charge.gradient(learner.point), silent)  # line 5
            before, point = point, point + 2 / (t + 2) * (learner.point - point)  # line 6
        if learner.is_compiled():
            self.apart += learner.compiled.apart
        return point  # line 7

    def _noise_sizes(self) -> Array:
        """sqrt(E|noise_t|^2) for t = 1..n, (settings, n); g_n is only in the proof, its noise as that before."""
        sizes = self.noise_plan.expected_norm(max(1, self.rounds - 1))
        return np.concatenate([sizes, sizes[:, -1:]], axis=1)[:, : self.rounds]

    def _sizes(self) -> Array:
        """G_t, (settings, n)."""
        times = np.arange(1.0, self.rounds + 1)
        sums = np.minimum(times * self.risk.lipschitz + self.moved * np.sqrt(times), times * self.moved)
        return sums + self._noise_sizes()

    def bound(self) -> list[float]:
        """The guarantee of the module; NaN for a learner without a bound that serves."""
        if not self.choice.proved:
            return super().bound()
        n = self.rounds
        regret = self.learner().bound(n)[:, -1] + 0.5 * n * self.ridge * self.radius**2
        drift = self.moved * np.sqrt(np.arange(float(n))).sum()
        errors = self.radius * (drift + self._noise_sizes().sum(axis=1))
        bounds = 2 / (n * (n + 1)) * (self.units * regret + errors)
        return [float(value) for value in bounds]
