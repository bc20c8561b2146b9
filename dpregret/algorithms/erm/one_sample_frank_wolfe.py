"""One-sample private Frank-Wolfe on polytopes: a gradient that one record after the other keeps up to date.

Problem     F(theta) = E f(theta; z) on the l1 ball or the simplex, met through n fresh records; f convex, its gradient
            at most L0 in the largest coordinate, where it moves by at most L1 times the distance in l1. M = 2 r is the
            diameter in l1, r = |s|_1 of the K corners s.
Algorithm   Bassily, Guzman & Nandi 2021, Alg. 1 (ApolySFW), with x for theta:
            line 1   eta = ln(n / ln K) / n
            line 2   x_0 in the set: its center
            line 3   B = n/2 of the records
            line 4   d_0 = mean of grad f(x_0; z) over B
            line 5   v_0 = argmin over the corners of <v, d_0> + Lap(4 L0 M sqrt(ln(1/delta)) / (eps sqrt(n)))
            line 6   x_1 = (1 - eta) x_0 + eta v_0
            line 8   for t = 1..n/2, z_t the next of the others
            line 9     s_t = max( (1 - eta)^t 2 L0 M/n, 2 eta (L1 M^2 + L0 M) )
            line 10    Delta_t = grad f(x_t; z_t) - grad f(x_{t-1}; z_t)
            line 11    d_t = (1 - eta) (d_{t-1} + Delta_t) + eta grad f(x_t; z_t)
            line 12    noise Lap(2 s_t sqrt(n ln(1/delta)) / eps) for every corner
            line 13    v_t = argmin over the corners of <v, d_t> + noise
            line 14    x_{t+1} = (1 - eta) x_t + eta v_t
            line 15  release x_{n/2+1}
Privacy     Unit: one record; neighbours: it is replaced by another. A score moves by at most r times what d_t moves in
            a coordinate. A record of B moves d_t by (1 - eta)^t 2 L0/|B|; the record z_i by (1 - eta)^(t-i) c for
            t >= i, with c = 2 (1 - eta) min(L1 M eta, 2 L0) + 2 eta L0, since |x_i - x_{i-1}|_1 <= M eta. Moves over
            scales of a record compose by zCDP with the range of a choice (docs/proofs/noisy_min_range.md); the worst
            record decides. (epsilon, delta)-DP.
Guarantee   Theorem 3: (eps, delta)-DP. Theorem 4: excess O(M (L1 M + L0) ln K ln(n/ln K) sqrt(ln(1/delta)) / (eps
            sqrt(n))). Ours, in expectation, with E the mean largest unit noise of K (ln K for Gumbel):
            g_{t+1} = (1 - eta) g_t + eta (M sqrt(2 V_t ln(2 d)) + b_t E + eta L1 M^2/2), g_0 = M L0,
            V_t = (1 - eta)^(2t) L0^2/|B| + c^2/4 (1 + (1 - eta)^2 + ... t terms): d_t - grad F(x_t) is a martingale
            whose largest coordinate is sub-Gaussian (Hoeffding).
Deviations  printed: the box, logarithms natural, eta at least 1/n; where n is odd one record is not read. corrected:
            Gumbel noise of one scale b, the least that keeps every record within the budget. tuned is ours: corrected,
            with the |B| and eta of our least guarantee, |B| among n (1 - 2^-k) and n 2^-k.
"""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import digamma

from dpregret.algorithms.erm.erm_learner import OnePassLearner
from dpregret.algorithms.erm.polytope_frank_wolfe import AxisCorners, corners_of, score_noise
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import RANGES, Selection, SelectionNoise, largest_rho, zcdp_epsilon
from dpregret.numerics.arrays import Array


@dataclass(frozen=True)
class Plan:
    """n0 = |B|, eta, and the scale of the noise of choices 0..n - n0, (steps + 1,)."""

    first: int
    eta: float
    scales: Array

    @property
    def steps(self) -> int:
        """Choices after the first one."""
        return len(self.scales) - 1

    @cached_property
    def kept(self) -> Array:
        """(1 - eta)^t, t = 0..steps."""
        return (1 - self.eta) ** np.arange(self.steps + 1.0)


class OneSampleFrankWolfe(OnePassLearner):
    """Raises ValueError for other sets than l1 balls and simplices, for losses with kinks, and for delta = 0."""

    natural_set = "l1-ball"
    card = Card(
        name="apoly-sfw",
        title="one-sample private FW",
        paper="Bassily, Guzman & Nandi 2021",
        reference="Alg. 1",
        variants={
            "printed": "Alg. 1 to the letter",
            "corrected": "Gumbel noise, the least for which the accounted epsilon is that of the budget",
            "tuned": "ours: corrected, with the batch and the step of the least guarantee",
        },
        needs=frozenset({"vertices", "smooth"}),
        default="corrected",
    )

    def prepare(self) -> None:
        super().prepare()
        corners = corners_of(self.domain)
        if not isinstance(corners, AxisCorners):
            raise ValueError(f"{self.card.name} needs the l1 ball or the simplex, not {self.domain.name}")
        self.corners, self.radius, self.samples = corners, corners.l1_norm, self.risk.samples
        self.steep = self.risk.lipschitz_l1
        self.smooth = float(getattr(self.risk, "smoothness_l1", self.risk.smoothness))
        if self.samples < 2 or corners.count < 2:
            raise ValueError(
                f"{self.card.name} needs at least 2 records and 2 corners, not {self.samples} and {corners.count}"
            )
        self.distribution: SelectionNoise = "laplace" if self.variant == "printed" else "gumbel"
        plan = {"printed": self._printed, "corrected": self._corrected, "tuned": self._tuned}[self.variant]
        self.plans = [plan(budget) for budget in self.budgets]

    def _step(self) -> float:
        return max(1.0, math.log(self.samples / math.log(self.corners.count))) / self.samples  # line 1

    def _printed(self, budget: Budget) -> Plan:
        n, eta, steep, wide = self.samples, self._step(), self.steep, 2 * self.radius
        half = n // 2
        late = 2 * eta * (self.smooth * wide**2 + steep * wide)
        moved = np.maximum((1 - eta) ** np.arange(half + 1.0) * 2 * steep * wide / n, late)  # line 9
        moved[0] = 2 * steep * wide / n  # line 5
        if math.isinf(budget.epsilon):
            return Plan(half, eta, 0 * moved)
        if budget.delta == 0:
            raise ValueError(f"{self.card.name} needs delta > 0")
        return Plan(half, eta, 2 * moved * math.sqrt(n * math.log(1 / budget.delta)) / budget.epsilon)  # line 12

    def _corrected(self, budget: Budget) -> Plan:
        return self._calibrated(budget, self.samples // 2, self._step())

    def _tuned(self, budget: Budget) -> Plan:
        """The |B| and eta of the least guarantee."""
        plans = []
        for power in range(1, self.samples.bit_length()):
            for first in {self.samples >> power, self.samples - (self.samples >> power)}:
                if first < self.samples:
                    plans.append(self._best_step(budget, first))
        return min(plans, key=self._bound)

    def _best_step(self, budget: Budget, first: int) -> Plan:
        from scipy.optimize import minimize_scalar  # late: a plan builds few learners

        found = minimize_scalar(
            lambda log_eta: self._bound(self._calibrated(budget, first, math.exp(log_eta))),
            bounds=(-math.log(8 * self.samples), -math.log(2)),
            method="bounded",
            options={"xatol": 1e-3},
        )
        return self._calibrated(budget, first, math.exp(found.x))

    def _calibrated(self, budget: Budget, first: int, eta: float) -> Plan:
        """The least scale that is the same for all choices."""
        plan = Plan(first, eta, np.ones(self.samples - first + 1))
        unit = RANGES[self.distribution] ** 2 / 8 * self._squares(plan)
        rho = largest_rho(budget)
        return replace(plan, scales=plan.scales * (0.0 if math.isinf(rho) else math.sqrt(unit / rho)))

    def _late(self, eta: float) -> float:
        """c: how far the record of a step moves its gradient in a coordinate."""
        return 2 * (1 - eta) * min(self.smooth * 2 * self.radius * eta, 2 * self.steep) + 2 * eta * self.steep

    def _squares(self, plan: Plan) -> float:
        """The largest sum over choices of the squares of a record's move over scale."""
        early = float(np.square(plan.kept * 2 * self.radius * self.steep / plan.first / plan.scales).sum())
        shares = np.square(self.radius * self._late(plan.eta) / plan.scales[1:])
        worst = late = 0.0
        if np.ptp(shares) == 0:  # the record of step 1 meets all
            worst = float(shares[0] * np.square(plan.kept[: plan.steps]).sum())
        else:
            for share in shares[::-1]:
                late = float(share) + (1 - plan.eta) ** 2 * late
                worst = max(worst, late)
        return max(early, worst)

    def iterations(self) -> list[int]:
        """Choices of each setting."""
        return [plan.steps + 1 for plan in self.plans]

    def fit(self, generators: Sequence[np.random.Generator]) -> Array:
        """Released points (settings, runs, d), all from the same records and the same unit noise."""
        return np.stack([self._pass(plan, copy.deepcopy(generators), index) for index, plan in enumerate(self.plans)])

    def _pass(self, plan: Plan, generators: Sequence[np.random.Generator], setting: int) -> Array:
        records, before = self._stream(setting), np.tile(self.domain.center(), (self.runs, 1))  # line 2
        noise = score_noise(self.distribution, generators, plan.steps + 1, self.corners.count)
        gradient = self._mean(records, plan.first, before)  # lines 3, 4
        point = before.copy()
        self._move(point, gradient, plan, 0, noise)  # lines 5, 6
        for t in range(1, plan.steps + 1):  # line 8
            record = next(records)
            new, old = self.fresh.gradients(np.stack([point, before]), record)
            gradient = (1 - plan.eta) * (gradient + new - old) + plan.eta * new  # lines 10, 11
            before = point.copy()
            self._move(point, gradient, plan, t, noise)  # lines 12, 13, 14
        return point  # line 15

    def _stream(self, setting: int) -> Iterator[Array]:
        """Records of a setting, (1, runs or 1, p) each."""
        return (record[setting if len(record) > 1 else 0][None] for record in self.one_by_one())

    def _mean(self, records: Iterator[Array], count: int, points: Array) -> Array:
        """Mean gradient of the next records at the points (runs, d)."""
        total = np.zeros_like(points)
        for _ in range(count):
            total += self.fresh.gradients(points[None], next(records))[0]
        return total / count

    def _move(self, point: Array, gradient: Array, plan: Plan, t: int, noise: Iterator[Array]) -> None:
        self.corners.step(point, self.corners.least(gradient, plan.scales[t], noise), plan.eta)

    def ledger(self) -> list[Selection]:
        """Of the record that loses most, one line a setting; its moves as their root mean square over the choices."""
        return [self._line(plan) for plan in self.plans]

    def _line(self, plan: Plan) -> Selection:
        calls, scale = plan.steps + 1, float(plan.scales.min())
        move = scale * math.sqrt(self._squares(plan) / calls) if scale else 1.0
        return Selection(self.distribution, scale, move, calls)

    def delivered_epsilon(self) -> list[float]:
        """By zCDP, which adds up moves of different size."""
        return [self.epsilon_at(budget.delta)[setting] for setting, budget in enumerate(self.budgets)]

    def epsilon_at(self, delta: float) -> list[float]:
        """The same at any delta > 0."""
        return [zcdp_epsilon(line.rho(), delta) for line in self.ledger()]

    def bound(self) -> list[float]:
        """Our guarantee."""
        return [self._bound(plan) for plan in self.plans]

    def _bound(self, plan: Plan) -> float:
        eta, wide, count = plan.eta, 2 * self.radius, self.corners.count
        largest = math.log(count) if self.distribution == "gumbel" else float(digamma(count + 1) - digamma(1))
        squares = plan.kept**2
        late = np.concatenate([[0.0], np.cumsum(squares[:-1])])
        variances = squares * self.steep**2 / plan.first + self._late(eta) ** 2 / 4 * late
        errors = wide * np.sqrt(2 * variances * math.log(2 * self.domain.dimension)) + plan.scales * largest
        added = eta * (errors + eta * self.smooth * wide**2 / 2)
        return float((1 - eta) * plan.kept[-1] * wide * self.steep + (plan.kept[::-1] * added).sum())
