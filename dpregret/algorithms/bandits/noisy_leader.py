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
Guarantee   See `NoisyLeader.bound`; the proof is in docs/proofs/private_bandit_bound.md.
Deviations  See the instances.

Rounds are compiled for each combination of step, loss and set (core/oracles.py). Columns are all runs of the first
setting, then of the next: points (d, columns), what lies in the hull (n, columns).
"""

import math
from collections.abc import Sequence
from time import process_time
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.bandits.bandit_learner import TINY, BanditLearner, Directions, Given, Record, are_compiled
from dpregret.algorithms.learner import ORACLES, compiled_data_of, price_of
from dpregret.algorithms.privacy import Budget, NoiseDistribution, NoisePlan, calibrate, horizon_sums
from dpregret.algorithms.privacy.trees import BinaryTree, PaddedTree
from dpregret.core.losses import lay_out_rounds
from dpregret.core.oracles import SCRATCH, by_methods, project, step, value_at, vertex
from dpregret.numerics.arrays import Array, without_gaps
from dpregret.numerics.compiled import compiled, generic, inlined, specialised

CHUNK = 2**18  # numbers of a chunk of directions
TOGETHER = 64  # columns that are played together

nearest = generic("nearest")
"""nearest(solver, domain, goal, x, s): move x (d, columns) to the points of the set nearest to goals.

Goals are overwritten. The set is a copy shrunk about its center. served (1,): how many columns the oracle has served.
"""


class ByProjection(NamedTuple):
    """One projection."""

    center: Array
    shrink: float
    served: NDArray[np.int64]


class ByVertices(NamedTuple):
    """Conditional gradient on |x - goal|^2/2 with exact line search.

    Stops at a gap of `allowed`, after `most` vertices at the latest.
    """

    center: Array
    shrink: float
    served: NDArray[np.int64]
    allowed: float
    most: int


@nearest.add
def _nearest_by_projection(solver: ByProjection, domain, goal, x, scratch):
    """Points of a shrunk copy are those of the set, shrunk."""
    about(solver.center, 1.0, solver.shrink, goal, x)
    project(domain, x, scratch)
    solver.served[0] += x.shape[1]
    about(solver.center, solver.shrink, 1.0, x, x)


@nearest.add
def _nearest_by_vertices(solver: ByVertices, domain, goal, x, scratch):
    """From x on; columns whose gap is small enough drop out."""
    d, count = x.shape
    about(solver.center, 1.0, solver.shrink, x, x)
    about(solver.center, 1.0, solver.shrink, goal, goal)
    slopes, moves, gap, square = np.empty(d * count), np.empty(d * count), np.empty(count), np.empty(count)
    active = np.arange(count)
    for _ in range(solver.most):
        slope, away = slopes[: d * count].reshape(d, count), moves[: d * count].reshape(d, count)
        for k in range(d):
            for a in range(count):
                slope[k, a] = x[k, active[a]] - goal[k, active[a]]
        vertex(domain, slope, away, scratch)
        solver.served[0] += count
        for a in range(count):
            gap[a] = square[a] = 0.0
        for k in range(d):
            for a in range(count):
                away[k, a] -= x[k, active[a]]
                gap[a] -= slope[k, a] * away[k, a]
                square[a] += away[k, a] * away[k, a]
        remaining = 0
        for a in range(count):
            if gap[a] > solver.allowed:
                length = min(gap[a] / max(square[a], TINY), 1.0)
                for k in range(d):
                    x[k, active[a]] += length * away[k, a]
                active[remaining] = active[a]
                remaining += 1
        count = remaining
        if count == 0:
            break
    about(solver.center, solver.shrink, 1.0, x, x)


@inlined
def about(center, times, over, points, moved):
    """Moved = center + times (points - center) / over; what is neither stretched nor shrunk stays as it is."""
    for k in range(points.shape[0]):
        for c in range(points.shape[1]):
            if times == over:
                moved[k, c] = points[k, c]
            elif times == 1.0:
                moved[k, c] = center[k] + (points[k, c] - center[k]) / over
            else:
                moved[k, c] = center[k] + times * (points[k, c] - center[k])


class Trials(NamedTuple):
    """How losses are requested, (settings,) each. basis: see `into_set`.

    zetas: the distance from x. lows, highs: what is seen is clipped to. scales: of the noise on what is seen.
    """

    basis: Array
    zetas: Array
    lows: Array
    highs: Array
    scales: Array


def rounds_together(runs: int, batch: int) -> int:
    """Rounds of a batch whose losses are laid out together."""
    return max(1, min(batch, TOGETHER // runs))


def play_rounds(
    learner, loss, domain, buffers, rows, trials, sphere, noise, units, batch, horizon, done, x, estimate, points, sums
):
    """Play some rounds after the first `done`; a batch ends after every `batch` rounds, and after the horizon.

    buffers, rows: see `losses.as_columns`; the loss holds all runs of a round, then of the next. sphere (runs, rounds,
    n); noise (batches that end, settings, runs, n); units (runs, rounds): noise of what is seen, no rounds where there
    is none. estimate (n, columns): of the batch that has begun. points (batches that end, settings, runs, d): x after
    them. sums (2, columns): of losses, and of those that were clipped. The learner, and what follows x, are changed.
    """
    (d, columns), (runs, rounds, n), begun = x.shape, sphere.shape, done // batch
    scratch, fresh = np.empty((SCRATCH, max(buffers[0].shape[1], columns))), np.empty((n, columns))
    for ended in range((done + rounds - 1) // batch - begun + 1):
        first, end = max((begun + ended) * batch - done, 0), min((begun + ended + 1) * batch - done, rounds)
        request(loss, buffers, rows, trials, sphere, units, first, end, x, estimate, sums, scratch)  # lines 6 to 11
        if (done + end) % batch == 0 or done + end == horizon:
            for c in range(columns):
                for k in range(n):
                    estimate[k, c] *= n / trials.zetas[c // runs]
                    fresh[k, c] = noise[ended, c // runs, c % runs, k]
            step(learner, loss, domain, begun + ended + 1.0, x, estimate, fresh, scratch)  # lines 4, 13, 14
            for c in range(columns):
                for k in range(n):
                    estimate[k, c] = 0.0  # line 5
                for k in range(d):
                    points[ended, c // runs, c % runs, k] = x[k, c]


@compiled
def request(
    loss: Any, buffers: Any, rows: Any, trials: Trials, sphere: Array, units: Array, now: int, end: int, x: Array,
    estimate: Array, sums: Array, scratch: Array,
) -> None:  # fmt: skip
    """Rounds `now` to `end` of one batch: the part of `play_rounds` that is the same for all sets and steps."""
    d, (runs, _, n), wide = len(x), sphere.shape, buffers[0].shape[1]
    most, noisy = wide // runs, units.shape[1] > 0
    directions, along, played, value = np.empty(n * wide), np.empty(d * wide), np.empty(d * wide), np.empty(wide)
    while now < end:  # line 6, some rounds together
        count = min(most, end - now)
        if now == 0 or rows[0].shape[0] > 1:
            lay_out_rounds(rows, buffers, now, most if rows[0].shape[0] == 1 else count, runs)
        u, v = directions[: n * count * runs].reshape(n, -1), along[: d * count * runs].reshape(d, -1)
        y, seen = played[: d * count * runs].reshape(d, -1), value[: count * runs]
        for t in range(count):
            for run in range(runs):
                for k in range(n):
                    u[k, t * runs + run] = sphere[run, now + t, k]  # line 8
        into_set(trials.basis, u, v)
        for setting in range(len(trials.zetas)):
            first, zeta = setting * runs, trials.zetas[setting]
            for k in range(d):
                for t in range(count):
                    for run in range(runs):
                        at = t * runs + run
                        y[k, at] = x[k, first + run] + zeta * v[k, at]  # line 9
            value_at(loss, y, seen, scratch)
            for t in range(count):
                for run in range(runs):
                    at, c = t * runs + run, first + run
                    clip = min(max(seen[at], trials.lows[setting]), trials.highs[setting])
                    sums[0, c] += seen[at]
                    sums[1, c] += clip != seen[at]
                    seen[at] = clip + trials.scales[setting] * units[run, now + t] if noisy else clip  # line 10
            for k in range(n):
                for t in range(count):
                    for run in range(runs):
                        at = t * runs + run
                        estimate[k, first + run] += seen[at] * u[k, at]  # line 11, except for n/zeta
        now += count


@inlined
def into_set(basis, u, y):
    """Vectors of the hull (n, columns) in coordinates of the set, by a basis (d, n); without one they are the same."""
    for j in range(y.shape[0]):
        for c in range(y.shape[1]):
            y[j, c] = 0.0 if len(basis) else u[j, c]
        for k in range(u.shape[0] if len(basis) else 0):
            if basis[j, k] != 0.0:
                for c in range(y.shape[1]):
                    y[j, c] += basis[j, k] * u[k, c]


class Leader(NamedTuple):
    """Sums of estimates and the released sum held back, (n, columns); basis: see `into_set`; etas (columns,)."""

    sums: Array
    held_back: Array
    basis: Array
    etas: Array
    lag: int
    solver: Any


@step.add
def _step_leader(learner: Leader, loss, domain, batch, x, estimate, noise, scratch):
    """The end of a batch; the noise becomes the sum that is used."""
    goal, center = np.empty(x.shape), learner.solver.center
    for k in range(noise.shape[0]):
        for c in range(noise.shape[1]):
            learner.sums[k, c] += estimate[k, c]
            newest = learner.sums[k, c] + noise[k, c]  # line 13
            noise[k, c] = learner.held_back[k, c] if learner.lag else newest  # line 4
            learner.held_back[k, c] = newest
    into_set(learner.basis, noise, goal)
    for k in range(goal.shape[0]):
        for c in range(goal.shape[1]):
            goal[k, c] = center[k] - learner.etas[c] * goal[k, c]
    nearest(learner.solver, domain, goal, x, scratch)  # line 14


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
    sign: float = 1.0
    """Of the linear term of line 14."""

    def prepare(self) -> None:
        self.basis = self.domain.hull_basis()
        self.hull = self.basis.shape[1]
        self.embedding = without_gaps(self.basis) if self.hull < self.domain.dimension else np.empty((0, 0))
        self.diameter = self.domain.diameter
        self.center = self.domain.center()
        self.batch = self.batch_length()
        self.batches = self.horizon // self.batch
        self.zeta, self.eta = self.constants()  # line 1
        self.zetas, self.etas = self.constants_of_settings()
        inner = self.domain.inner_radius() if self.feasible else math.inf
        if self.zeta >= inner:
            raise ValueError(
                f"{self.card.name}: zeta = {self.zeta:.3g} is not below the inner radius {inner:.3g} of the set "
                f"{self.domain.name!r}: feasible play needs a longer horizon than {self.horizon}"
            )
        self.shrink = 1 - self.zeta / inner  # by 1 - alpha: played points lie in the set where zeta <= alpha inner
        self.exploration = 0.0 if self.feasible else float(self.zetas.max())
        beyond = 0.0 if self.feasible else self.lipschitz * self.zetas
        self.low = np.zeros(len(self.budgets)) - beyond
        self.high = self.lipschitz * self.diameter + np.zeros(len(self.budgets)) + beyond
        tree = PaddedTree if self.padded else BinaryTree
        released = max(1, self.batches - self.lag)  # sums, and the last one that is not needed
        self.sums = horizon_sums(self.variant, released, tree(self.batches))  # line 2
        scales = [self.node_scale(budget) for budget in self.budgets]
        sums = [self.sums] * len(scales)
        self.plan = NoisePlan(self.distribution, sums, scales, self.node_sensitivity(), self.hull)

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

    def play(self, inputs: Given) -> Record:
        """Batch by batch; see the module's docstring."""
        return self.play_some(self.horizon, inputs)

    def begin(self, noise: Sequence[np.random.Generator]) -> None:
        """Reset what an earlier play has changed; noise: the generators of the play that begins."""

    def directions(self, generators: Sequence[np.random.Generator], dimension: int) -> Directions:
        """The directions of all rounds, in the hull."""
        return Directions(generators, dimension, self.horizon, self.batch)

    def play_some(self, horizon: int, inputs: Given) -> Record:
        """The first `horizon` rounds; the last batch may end early."""
        self.begin(inputs.noise)
        (settings, runs), d, n = (len(self.budgets), self.runs), self.domain.dimension, self.hull
        inner = compiled_data_of(self.domain, self.oracle)
        domain, learner, trials = by_methods(self.domain) if inner is None else inner, self.state(), self.trials()
        x, estimate = np.tile(self.domain.center()[:, None], settings * runs), np.zeros((n, settings * runs))
        sums, moved, worst = np.zeros((2, settings * runs)), np.zeros(settings), 0.0
        sphere = self.directions(inputs.directions, n)  # line 8
        done, most = 0, 1
        for block in self.plan.blocks(inputs.noise):
            sizes, at = np.linalg.norm(block, axis=-1).mean(axis=-1), 0
            while at < len(block) and done < horizon:  # line 3
                rounds = min(most, horizon - done, (len(block) - at) * self.batch - done % self.batch)
                losses = inputs.losses(rounds)
                most = max(1, CHUNK // (runs * n)) if are_compiled(losses) else 1
                data = self.as_columns(losses, runs * rounds_together(runs, self.batch))
                loops = specialised(play_rounds, type(learner), type(learner.solver), type(data[0]), type(domain))
                ends = -(-(done + rounds) // self.batch) if done + rounds == horizon else (done + rounds) // self.batch
                points = np.empty((ends - done // self.batch, settings, runs, d))
                drawn, (loss, buffers, rows) = sphere.take(rounds), data
                before = learner, loss, domain, buffers, rows, trials
                noise, units = block[at : at + len(points)], self.units(rounds)
                after = noise, units, self.batch, horizon, done, x, estimate, points, sums
                self.compiled_apart(loops, *before, without_gaps(drawn[:, :0]), *after)(*before, drawn, *after)
                for size in sizes[at : at + len(points)]:
                    moved += size
                if len(points):
                    worst = max(worst, float(self.domain.violation(points).max()))
                at, done = at + len(points), done + rounds
                inputs.advance(rounds)
            if done == horizon:
                break
        if inner is not None:
            self._count(inner, x, int(learner.solver.served[0]))
        total, clipped = sums.reshape(2, settings, runs)
        displacement = self.etas * moved / math.ceil(horizon / self.batch) / (self.diameter / 2)
        return Record(total, clipped / horizon, displacement, worst)

    def _count(self, domain: Any, x: Array, served: int) -> None:
        """Add to the set's tally how many columns its oracle served, at a separately measured price."""
        tally, started = getattr(self.domain, ORACLES[self.oracle].tally, None), process_time()
        if tally is not None and served:
            tally.add(served, served * price_of(self.oracle, domain, x, x))
            self.apart += process_time() - started

    @property
    def oracle(self) -> str:
        """The oracle of the set that it calls."""
        return "project" if self.by_projection else "vertex"

    def solver(self) -> Any:
        """The map from a goal to the (shrunk) set."""
        served = np.zeros(1, dtype=np.int64)
        if self.by_projection:
            return ByProjection(self.center, self.shrink, served)
        return ByVertices(self.center, self.shrink, served, self.tolerance * self.diameter**2, self.batch)

    def state(self) -> Any:
        """The step of a batch, of all columns."""
        etas = np.repeat(self.sign * self.etas, self.runs)
        sums = np.zeros((self.hull, len(etas)))
        return Leader(sums, sums.copy(), self.embedding, etas, self.lag, self.solver())

    def trials(self) -> Trials:
        """How it requests losses."""
        return Trials(self.embedding, self.zetas, self.low, self.high, self.value_scales())

    def value_scales(self) -> Array:
        """Scale of the noise on a single observed value, (settings,)."""
        return np.zeros(len(self.budgets))

    def units(self, rounds: int) -> Array:
        """That noise of the next rounds before scaling, (runs, rounds); no rounds where there is none."""
        return np.empty((self.runs, 0))

    def bound(self, rounds: int | None = None) -> list[float]:
        """2 zeta L T + D^2/(2 eta) + eta K kappa^2/2 + T L ( eta (lag kappa + mean |noise|) + error ), K batches.

        kappa^2 = B (n/zeta)^2 (max|F|^2 + variance of its noise) + B^2 L^2 bounds E|g_R|^2 for batches of B rounds;
        `error` is the distance of a point from the exact minimiser. Feasible play adds L D zeta/r a round. In
        expectation, after the first `rounds` (default: all), a batch that is begun counted as whole;
        docs/proofs/private_bandit_bound.md has the proof.
        """
        batches, steep = math.ceil((rounds or self.horizon) / self.batch), self.lipschitz
        rounds = batches * self.batch
        square = np.maximum(-self.low, self.high) ** 2 + 2 * np.square(self.value_scales())  # Laplace noise
        kappa = np.sqrt(self.batch * (self.hull / self.zetas) ** 2 * square + (self.batch * steep) ** 2)
        noise = self.plan.expected_norm(batches).mean(axis=1)
        error = 0.0 if self.by_projection else self.solver_error()
        total = 2 * self.zetas * steep * rounds + self.diameter**2 / (2 * self.etas)
        total += self.etas * batches * kappa**2 / 2 + (1 - self.shrink) * self.diameter * steep * rounds
        total += rounds * steep * (self.etas * (self.lag * kappa + noise) + error)
        return [float(value) for value in total]

    def solver_error(self) -> float:
        """Largest distance of conditional gradient's answer from the minimiser.

        After k steps with line search the objective is within 2 D^2/(k + 2), so the distance is at most
        2 D/sqrt(k + 2); at a gap of c D^2 it is at most sqrt(2 c) D.
        """
        return self.diameter * max(2 / math.sqrt(self.batch + 2), math.sqrt(2 * self.tolerance))
