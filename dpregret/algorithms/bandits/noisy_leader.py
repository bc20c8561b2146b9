"""NoisyOCO: follow the regularised leader on noisy sums of noisy gradient estimates, from bandit feedback.

Algorithm   Ene, Nguyen & Vladu 2021, NoisyOCO, in the lines of its instance PrivateBandit, Alg. 1. The point x begins
            at the set's center x_0, n is the dimension of the set's affine hull.
            line 1  batches, eta, zeta
            line 2  open a private prefix sum over the batches
            line 3  for every batch R
            line 4    line 14 at the same time as lines 5 to 13: so it knows the sums of the batches before R only
            line 5    g_R = 0
            line 6    for every round t of the batch
            line 8      u_t uniform on the unit sphere of the hull
            line 9      play x + zeta u_t
            line 10     F_t = (n/zeta) f_t(x + zeta u_t)
            line 11     g_R = g_R + F_t u_t: estimates the gradient of the smoothed loss (Flaxman, Kalai & McMahan 2005)
            line 13   s_R = g_1 + ... + g_R + noise, released by the prefix sum
            line 14   x = argmin over the set of |x - x_0|^2/2 + eta <s, x>
            What instances choose: the batch length, how many batches the sums lag behind (line 4), exact projection or
            conditional gradient, the prefix sum (or noise on what is seen in line 10), eta and zeta, and whether the
            set is shrunk so that all played points lie in it.
Privacy     Unit: one round; neighbours: its loss is replaced by any other admissible one. The played points are
            released. Directions do not depend on data, so the round's term changes along its own direction: by at most
            (n/zeta) times the range of a loss, whatever the batch. Values are clipped to [-L zeta, L (D + zeta)], the
            range of an L-Lipschitz loss that is at least 0 on the set and 0 somewhere, within zeta of the set; to
            [0, L D] where all that is played lies in the set.
Guarantee   See `NoisyLeader.bound`; the proof is in docs/private_bandit_bound.md.
Deviations  See the instances.
"""

import math
from collections.abc import Sequence
from time import process_time
from typing import ClassVar

import numpy as np

from dpregret.algorithms.bandits.base import BanditLearner, BanditProblem, Given, Record
from dpregret.algorithms.bandits.directions import Directions
from dpregret.algorithms.bandits.kernels import descend, in_coordinates
from dpregret.algorithms.bandits.round_kernels import play_rounds
from dpregret.algorithms.geometry import CountedSet
from dpregret.algorithms.privacy import Budget, NoiseDistribution, NoisePlan, calibrate
from dpregret.algorithms.privacy.choice import horizon_sums
from dpregret.algorithms.privacy.trees import BinaryTree, PaddedTree
from dpregret.core.losses import LossBatch, LossRule
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import product, vecdot

CHUNK = 2**18  # numbers of a chunk of directions
HELD = 256  # points that are looked at together


class NoisyLeader(BanditLearner):
    """The meta-algorithm. Subclasses set what is below, and override `constants` and what else they change."""

    distribution: ClassVar[NoiseDistribution] = "gaussian"
    lag: ClassVar[int] = 0
    """Batches by which the released sum is older than it could be."""
    feasible: bool = False
    """Play within the set: learn on a shrunk copy."""
    plan: NoisePlan
    by_projection: bool = True
    tolerance: float = 0.0
    """Frank-Wolfe gap at which conditional gradient stops, in units of D^2."""

    def __init__(self, problem: BanditProblem, budgets: Sequence[Budget], runs: int, variant: str):
        super().__init__(problem, budgets, runs, variant)
        self.basis = self.domain.hull_basis()
        self.hull = self.basis.shape[1]
        self.diameter = self.domain.diameter
        self.center = self.domain.center()
        self.batch = self.batch_length()
        self.batches = self.horizon // self.batch
        self.zeta, self.eta = self.constants()  # line 1
        self.zetas, self.etas = self.constants_of_settings()
        self.shrink = self._shrink()
        self.exploration = 0.0 if self.feasible else float(self.zetas.max())
        beyond = 0.0 if self.feasible else self.lipschitz * self.zetas
        self.low = np.zeros(len(budgets)) - beyond
        self.high = self.lipschitz * self.diameter + np.zeros(len(budgets)) + beyond
        tree = PaddedTree if self.padded else BinaryTree
        released = max(1, self.batches - self.lag)  # sums, and the last one that is not needed
        self.sums = horizon_sums(variant, released, tree(self.batches))  # line 2
        scales = [self.node_scale(budget) for budget in budgets]
        self.plan = NoisePlan(self.distribution, [self.sums] * len(budgets), scales, self.node_sensitivity(), self.hull)

    @property
    def padded(self) -> bool:
        """Whether every prefix carries the same number of node noises."""
        return False

    def batch_length(self) -> int:
        """Rounds of a batch."""
        return 1

    def constants(self) -> tuple[float, float]:
        """(zeta, eta)."""
        raise NotImplementedError

    def constants_of_settings(self) -> tuple[Array, Array]:
        """The same of every setting, (settings,) each, where they depend on the budget."""
        return np.full(len(self.budgets), self.zeta), np.full(len(self.budgets), self.eta)

    def _shrink(self) -> float:
        """1 - alpha: played points lie in the set where zeta <= alpha times the inner radius."""
        if not self.feasible:
            return 1.0
        inner = self.domain.inner_radius()
        if self.zeta >= inner:
            raise ValueError(
                f"{self.card.name}: zeta = {self.zeta:.3g} is not below the inner radius {inner:.3g} of the set "
                f"{self.domain.name!r}: feasible play needs a longer horizon than {self.horizon}"
            )
        return 1 - self.zeta / inner

    def leaf_sensitivity(self) -> float:
        """l2 distance by which replacing one loss moves a batch's estimate: n/zeta times the range of a loss.

        The range is L (D + 2 zeta), or L D for feasible play.
        """
        return float(self.hull / self.zeta * (self.high[0] - self.low[0]))

    def node_sensitivity(self) -> float:
        """That of a leaf; for Laplace noise in l1, sqrt(n) times that in l2."""
        return self.leaf_sensitivity() * (math.sqrt(self.hull) if self.distribution == "laplace" else 1.0)

    def node_scale(self, budget: Budget) -> float:
        """Noise of a node: exact calibration."""
        return calibrate(self.distribution, budget, self.node_sensitivity(), self.sums.nodes_per_item)

    @property
    def pure(self) -> bool:
        """Laplace noise."""
        return self.distribution == "laplace"

    def play(self, given: Given) -> Record:
        """Batch by batch; see the module's docstring."""
        return self.play_some(self.horizon, given)

    def begin(self, noise: Sequence[np.random.Generator]) -> None:
        """Forget what an earlier play has left; noise: the generators of the one that begins."""

    def play_some(self, horizon: int, given: Given) -> Record:
        """The first `horizon` rounds; the last batch may end early."""
        self.begin(given.noise)
        shape = (len(self.budgets), self.runs)
        point = np.tile(self.domain.center(), (*shape, 1))
        total, clipped = np.zeros(shape), np.zeros(shape)
        gradient_sum = np.zeros((*shape, self.hull))
        released = [np.zeros_like(gradient_sum)] * (self.lag + 1)  # the newest last
        moved, violation = np.zeros(len(self.budgets)), 0.0
        held: list[Array] = []  # points whose violation is still to be looked at, many at a time
        fresh = (pair for block in self.plan.blocks(given.noise) for pair in zip(block, mean_norms(block), strict=True))
        sphere = Directions(given.directions, self.hull, horizon, self.batch)  # line 8
        begun = range(0, horizon, self.batch)
        for first in begun:  # line 3
            estimate = np.zeros_like(gradient_sum)  # line 5
            length = min(self.batch, horizon - first)
            for rounds in self._pieces(length):  # line 6
                played, seen, cut = self.query(given.losses(rounds), point, sphere.take(rounds))
                total += played
                clipped += cut
                estimate += seen
            gradient_sum += estimate
            drawn, size = next(fresh)
            moved += size
            released = [*released[1:], gradient_sum + drawn]  # line 13
            point = self.step(point, released[0])  # lines 4, 14
            held.append(point)
            if len(held) == HELD:
                violation, held = max(violation, self._worst(held)), []
            given.advance(length)
        violation = max(violation, self._worst([*held, point]))
        displacement = self.etas * moved / len(begun) / (self.diameter / 2)
        return Record(total, clipped / horizon, displacement, violation)

    def _worst(self, points: list[Array]) -> float:
        return float(self.domain.violation(np.concatenate(points)).max())

    def _pieces(self, length: int) -> list[int]:
        """A batch cut into pieces whose directions fit into memory."""
        most = max(1, CHUNK // (self.runs * len(self.basis) * len(self.budgets)))
        return [min(most, length - first) for first in range(0, length, most)]

    def query(self, losses: LossBatch, point: Array, sphere: Array) -> tuple[Array, Array, Array]:
        """`query_plainly`, by a compiled loop where the losses have a rule."""
        rule: LossRule | None = getattr(losses, "rule", None)
        if rule is None:
            return self.query_plainly(losses, point, sphere)
        basis = self.basis.T.copy()
        played, seen, clipped = play_rounds(*rule, point, sphere, basis, self.zetas, self.low, self.high)
        return played, (self.hull / self.zetas)[:, None, None] * seen, clipped

    def query_plainly(self, losses: LossBatch, point: Array, sphere: Array) -> tuple[Array, Array, Array]:
        """Play some rounds around a point: losses (settings, runs), gradient estimates (..., n), clipped values.

        sphere: directions (runs, rounds, n), one a round.
        """
        reach = self.zetas[:, None, None, None] * product(sphere, self.basis.T)
        values = losses.value(point[:, :, None] + reach)  # lines 9, 10
        kept = np.clip(values, self.low[:, None, None], self.high[:, None, None])
        estimate = (self.hull / self.zetas)[:, None, None] * np.einsum("srt,rtn->srn", kept, sphere)  # line 11
        return values.sum(axis=-1), estimate, (kept != values).sum(axis=-1)

    def step(self, point: Array, released: Array) -> Array:
        """argmin over the (shrunk) set of |x - x_0|^2/2 + eta <s, x>."""
        goal = self.center - self.etas[:, None, None] * in_coordinates(released, self.basis)
        if self.by_projection:
            return self._within(self.domain.project(self._without(goal)))
        return self._within(self.descend(self._without(point), self._without(goal)))

    def _without(self, points: Array) -> Array:
        """Blow a shrunk copy of the set up to the set, about the center."""
        return points if self.shrink == 1 else self.center + (points - self.center) / self.shrink

    def _within(self, points: Array) -> Array:
        """Shrink about the center."""
        return points if self.shrink == 1 else self.center + self.shrink * (points - self.center)

    def descend(self, start: Array, goal: Array) -> Array:
        """`conditional_gradient`, by a compiled loop where the set has a rule."""
        rule = self.domain.vertex_rule
        if rule is None:
            return self.conditional_gradient(start, goal)
        started = process_time()
        points, goals = start.reshape(-1, start.shape[-1]).copy(), goal.reshape(-1, start.shape[-1])
        served = descend(*rule, points, goals, self.tolerance * self.diameter**2, self.batch)
        if isinstance(self.domain, CountedSet):
            self.domain.linear_oracles.add(served, process_time() - started)
        return points.reshape(start.shape)

    def conditional_gradient(self, start: Array, goal: Array) -> Array:
        """min over the set of |x - goal|^2/2 with linear oracles only, exact line search, at most one call a round.

        Stops where the Frank-Wolfe gap is at most `tolerance` D^2; finished rows ask no more.
        """
        shape, allowed = start.shape, self.tolerance * self.diameter**2
        points, goals = start.reshape(-1, shape[-1]).copy(), goal.reshape(-1, shape[-1])
        active = np.arange(len(points))
        for _ in range(self.batch):
            slope = points[active] - goals[active]
            away = self.domain.linear_oracle(slope) - points[active]
            gap = -vecdot(slope, away)
            going = gap > allowed
            if not going.any():
                break
            active, away, gap = active[going], away[going], gap[going]
            length = np.minimum(gap / np.maximum(vecdot(away, away), 1e-300), 1.0)
            points[active] += length[:, None] * away
        return points.reshape(shape)

    def bound(self, rounds: int | None = None) -> list[float]:
        """2 zeta L T + D^2/(2 eta) + eta K kappa^2/2 + T L ( eta (lag kappa + mean |noise|) + error ), K batches.

        kappa^2 = B (n/zeta)^2 (max|F|^2 + variance of its noise) + B^2 L^2 bounds E|g_R|^2 for batches of B rounds;
        `error` is the distance of a point from the exact minimiser. Feasible play adds L D zeta/r a round. In
        expectation, after the first `rounds` (default: all), a batch that is begun counted as whole;
        docs/private_bandit_bound.md has the proof.
        """
        batches, steep = math.ceil((rounds or self.horizon) / self.batch), self.lipschitz
        rounds = batches * self.batch
        square = np.maximum(-self.low, self.high) ** 2 + self.value_variance()
        kappa = np.sqrt(self.batch * (self.hull / self.zetas) ** 2 * square + (self.batch * steep) ** 2)
        noise = self.plan.expected_norm(batches).mean(axis=1)
        error = 0.0 if self.by_projection else self.solver_error()
        total = 2 * self.zetas * steep * rounds + self.diameter**2 / (2 * self.etas)
        total += self.etas * batches * kappa**2 / 2 + (1 - self.shrink) * self.diameter * steep * rounds
        total += rounds * steep * (self.etas * (self.lag * kappa + noise) + error)
        return [float(each) for each in total]

    def value_variance(self) -> Array:
        """Of the noise that is added to a single observed value, (settings,)."""
        return np.zeros(len(self.budgets))

    def solver_error(self) -> float:
        """Largest distance of conditional gradient's answer from the minimiser.

        After k steps with line search the objective is within 2 D^2/(k + 2), so the distance is at most
        2 D/sqrt(k + 2); at a gap of c D^2 it is at most sqrt(2 c) D.
        """
        return self.diameter * max(2 / math.sqrt(self.batch + 2), math.sqrt(2 * self.tolerance))


def mean_norms(noise: Array) -> Array:
    """|noise| of (rounds, settings, runs, n), averaged over the runs."""
    means: Array = np.linalg.norm(noise, axis=-1).mean(axis=-1)
    return means
