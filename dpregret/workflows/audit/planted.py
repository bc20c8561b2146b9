"""Injected bugs: does the audit detect them, and accept the correct code?

Every case is a mechanism of this project made twice, as it should be and with one mistake that has been made
somewhere. One generator draws all runs at once, as independent coordinates of one vector of noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from dpregret.algorithms.experts.epoch_leader import EpochLeader
from dpregret.algorithms.experts.expert_learner import ExpertProblem
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.online.gauge_descent import corrected
from dpregret.algorithms.privacy import (
    Budget,
    NoisePerItem,
    PrefixSums,
    WindowTree,
    calibrate,
    gaussian_mu,
    unit_noise,
)
from dpregret.algorithms.privacy.audit import audit, least_probability
from dpregret.algorithms.privacy.switching import AboveThreshold
from dpregret.algorithms.privacy.toeplitz import Root, WindowBuffers, WindowRoot
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit.neighbours import tree_differences

PURE, APPROXIMATE = Budget(1.0), Budget(4.0, 1e-6)
MU = gaussian_mu(APPROXIMATE)
WATCHED, QUERIES = 2.0, 64
"""Pure epsilon of the threshold test, and how often it is applied."""
RUNS = 16_000
"""As many as the audit of a learner takes."""
Generator = np.random.Generator
Release = Callable[[Generator, int, float, bool], Array]
"""(generator, runs, value of the changed item: -1 or 1, planted) -> transcripts (runs, features)."""


@dataclass(frozen=True)
class Case:
    """A bug by its name. limit: what the right mechanism keeps, of mu where `gaussian`, else of a pure epsilon.

    size: how many times the usual number of runs it takes to prove it whatever the seed: in a thousand tries the least
    proof lies above the limit by a spread of proofs or more.
    """

    release: Release
    limit: float
    gaussian: bool = True
    size: int = 1

    def flagged(self, generator: Generator, runs: int, planted: bool) -> bool:
        """Whether the audit proves that the limit is exceeded."""
        inputs = [self.release(generator, self.size * runs, side, planted) for side in (-1.0, 1.0)]
        evidence = audit(inputs[0], inputs[1])
        return (evidence.mu if self.gaussian else evidence.epsilon) > self.limit


def noise(mechanism: PrefixSums, scale: float, rounds: int, runs: int, generator: Generator) -> Array:
    """Noise of the first outputs, (runs, rounds), by the code of learners; no later than the first window ends."""
    units, state = unit_noise("gaussian", [_seeded(generator)], rounds, runs), mechanism.init(rounds, 1, runs)
    drawn = mechanism.next(state, units, lambda count: np.full((count, 1, runs), np.nan))  # no window before the first
    return np.asarray(scale * drawn[:, 0].T)


def _seeded(generator: Generator) -> Generator:
    return np.random.default_rng(np.random.SeedSequence(int(generator.integers(2**63))))


def _tree(rounds: int, item: float, scale: float, runs: int, generator: Generator) -> Array:
    """A plain tree whose first item is the changed one: its differences, each of one node, tell everything."""
    return tree_differences(item + noise(WindowTree(rounds), scale, rounds, runs, generator))


def _scale(nodes: float) -> float:
    return calibrate("gaussian", APPROXIMATE, 2.0, nodes)


def halved(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Half the scale: also that of a norm bound of 1 where items move by 2, and of one node in place of four."""
    return _tree(8, item, _scale(4) * (0.5 if planted else 1.0), runs, generator)


def located(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """normal(scale) draws N(scale, 1)."""
    scale = _scale(1)
    drawn = scale + generator.standard_normal((runs, 1)) if planted else scale * generator.standard_normal((runs, 1))
    return np.asarray(item + drawn)


def redrawn(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Nodes get new noise each time they are used."""
    scale = _scale(5)
    if not planted:
        return _tree(16, item, scale, runs, generator)
    nodes = np.bitwise_count(np.arange(1, 17))
    return tree_differences(item + scale * np.sqrt(nodes) * generator.standard_normal((16, runs)).T)


def reused(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Blocks of 4 rounds, each with its own tree; here the noise of the first is used again."""
    block_noise = [noise(WindowTree(4), _scale(3), 4, runs, generator) for _ in range(2)]
    sums = np.concatenate([block_noise[0], item + block_noise[0 if planted else 1]], axis=1)
    return np.concatenate([sums, sums[:, 4:] - sums[:, :4]], axis=1)


def expired(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """The window before enters clean one block too early: its suffixes carry no noise."""
    scale, window = _scale(4), WindowTree(8)
    units, later = unit_noise("gaussian", [generator], 16, runs), _seeded(generator)

    def fresh(count: int) -> Array:
        return np.zeros((count, 1, runs)) if planted else unit_noise("gaussian", [later], count, runs)

    telling = np.array([4, 5, 6, 8, 9, 10, 12])  # where a node ends that holds the item, and round 4
    drawn = scale * window.next(window.init(16, 1, runs), units, fresh)[telling - 1, 0].T
    return np.asarray(drawn + np.where(telling >= 5, item, 0.0))  # item 5 is protected until round 12


def shared(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Data are public except for one item; their generator and that of the noise start from one seed."""
    seed = int(generator.integers(2**63))
    public = np.random.default_rng(seed).standard_normal((4, runs))
    drawn = np.random.default_rng(seed if planted else seed + 1).standard_normal((4, runs))
    sums = item + np.cumsum(_scale(1) * drawn, axis=0)
    return np.concatenate([sums, np.cumsum(public, axis=0)]).T


def unwatched(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """AboveThreshold without noise on the threshold: all queries but the last go down where the last goes up."""
    test = AboveThreshold(WATCHED, 0.0)
    gap = 4 / WATCHED * np.log(0.5 * QUERIES / 5)  # about five halts are expected among all queries
    level = np.zeros(1) if planted else generator.laplace(scale=2 / WATCHED, size=runs)
    rates = np.maximum(test.rates(gap + level + 0.5 * item), 1e-300)
    spent = generator.standard_exponential(runs)
    rounds = np.minimum(np.floor(spent / rates), QUERIES)
    (late,) = np.nonzero(rounds == QUERIES)  # no early query halted
    last = (spent - QUERIES * rates)[late] < test.rates(np.broadcast_to(level, runs)[late] - 0.5 * item)
    rounds[late] += ~last
    return rounds[:, None]


def overdrawn(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Two draws of the exponential mechanism for the price of one; the first candidate trails."""
    scores = np.array([2.5 + 0.5 * item, -0.5 * item])  # each moves by 1
    chance = 1 / (1 + np.exp(PURE.epsilon / 2 * (scores[0] - scores[1])))
    return np.asarray((generator.random((runs, 2 if planted else 1)) < chance).sum(axis=1, keepdims=True) * 1.0)


def remembered(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Epoch leader that does not forget: round 1 enters the choices of five epochs, for the price of one."""
    learner = EpochLeader(ExpertProblem(np.ones(2), 63), PURE, 1, "pure")
    sums = np.array([[0.5 + 0.5 * item, 0.5 - 0.5 * item]] + [[0.0, 0.0]] * 4)  # of the epochs before
    laws = learner.law(np.cumsum(sums, axis=0) if planted else sums)
    return np.asarray(generator.random((runs, 5)) < laws[:, 0], dtype=np.float64)


def batched(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """The mean of a batch of 4 gets the noise of a mean over all 16 records."""
    mean = item / 4
    return np.asarray(mean + _scale(1) / (16 if planted else 4) * generator.standard_normal((runs, 1)))


def unclipped(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """An item three times as long as it may be."""
    value = 3 * item if planted else float(np.clip(3 * item, -1, 1))
    return _tree(8, value, _scale(4), runs, generator)


def doubled(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Two mechanisms share a budget, and each gets twice its half."""
    share = Budget(PURE.epsilon * (1.0 if planted else 0.5))
    scale = calibrate("laplace", share, 2.0, 1)
    return np.asarray(item + generator.laplace(scale=scale, size=(runs, 2)))


def measured(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Laplace noise for the l2 length of a change in 4 coordinates, in place of its l1 length."""
    scale = calibrate("laplace", PURE, 4.0 if planted else 8.0, 1)
    return np.asarray(item + generator.laplace(scale=scale, size=(runs, 4)))


def cumulated(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Fresh noise on every one of 16 prefixes, at the price of noise on every item."""
    if not planted:
        return tree_differences(item + noise(NoisePerItem(), _scale(1), 16, runs, generator))
    return tree_differences(item + _scale(1) * generator.standard_normal((16, runs)).T)


def restarted(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Buffers restart with every block of 4 rounds; the changed item is the last one of the first block."""
    window, units = WindowBuffers(8, 1), unit_noise("gaussian", [generator], 11, runs)
    state = window.init(7, 1, runs)
    drawn = window.next(state, units[:4], _nothing)
    later = window.next(window.init(7, 1, runs) if planted else state, units[4:], _nothing)
    added = np.concatenate([drawn, later])[:, 0].T  # to the last round that protects the item
    return np.asarray(_scale(window.nodes_per_item) * added + np.where(np.arange(11) >= 3, item, 0.0))


def dropped(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Noise that goes one round before its item may; item 5 is protected until round 6."""
    window = WindowRoot(2)
    used = WindowRoot(1) if planted else window
    added = used.next(used.init(6, 1, runs), unit_noise("gaussian", [generator], 6, runs), _nothing)[:, 0].T
    return np.asarray(_scale(window.nodes_per_item) * added + np.where(np.arange(6) >= 4, item, 0.0))


def overlapped(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Means of batches of 4 rounds that begin every second round, at the price of batches that do not overlap."""
    scale, means = calibrate("laplace", PURE, 2.0 / 4, 1), item / 4 * np.array([1.0, 1.0 if planted else 0.0])
    return np.asarray(means + generator.laplace(scale=scale, size=(runs, 2)))


def _phased(generator: Generator, runs: int, item: float, noise_of: int, phases_met: int) -> Array:
    """Averages of 3 phases with steps 1, 1/4, 1/16: what a record moves, in each phase that meets it, and noise.

    noise_of: by how many phases the noise is ahead. A phase starts from the average before, which is subtracted.
    """
    steps = 0.25 ** np.arange(3.0)
    moved = np.where(np.arange(3) < phases_met, item * steps, 0.0)
    scales = _scale(1) * steps * 0.25**noise_of
    return np.asarray(moved + scales * generator.standard_normal((runs, 3)))


def remet(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Every phase starts again at the first record; the price is that of one phase. In units of the steps."""
    steps = 0.25 ** np.arange(3.0)
    return _phased(generator, runs, item, 0, 3 if planted else 1) / steps


def ahead(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """The average of a phase gets the noise of the next one."""
    return _phased(generator, runs, item, 1 if planted else 0, 1)


def unsubtracted(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Online-to-batch sums t g(x_t) and takes nothing back: the record of round 4 of 7 moves four times as far."""
    sums = Root(8)
    drawn = noise(sums, _scale(sums.nodes_per_item), 7, runs, generator)
    return np.asarray(drawn + np.where(np.arange(7) >= 3, item * (4 if planted else 1), 0.0))


def once(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Four leaves of a tree choose between scores of their root's records, at the price of one choice."""
    scale = 4.0 / (PURE.epsilon / (1 if planted else 4))  # scores move by 2, a choice loses 2 times that over the scale
    chance = 1 / (1 + np.exp(2 * item / scale))
    return np.asarray((generator.random((runs, 4)) < chance).sum(axis=1, keepdims=True) * 1.0)


def leaked(generator: Generator, runs: int, item: float, planted: bool) -> Array:
    """Gauge descent outside its set corrects by the gradient itself, and not by what was released of it.

    The cause of each move of w is known, in 16 dimensions, where the correction may be R/r = 4 times as long as the
    gradient.
    """
    box, outer = make_set("box", 16), np.linspace(0.30, 0.29, 16)
    gradient, normal = np.full(16, item / 4), box.gauge()(outer)
    drawn = _scale(1) * generator.standard_normal((runs, 16))
    if planted:
        return corrected(gradient, outer, normal) + drawn
    return corrected(gradient + drawn, outer, normal)


def _nothing(count: int) -> Array:
    """Toeplitz mechanisms draw once a round."""
    raise ValueError(f"{count} further draws")


CASES: Final[Mapping[str, Case]] = {
    "noise halved": Case(halved, MU),
    "scale passed as location": Case(located, MU),
    "sensitivity without the factor of replacement": Case(halved, MU),
    "noise of a single node in a whole tree": Case(halved, MU),
    "node noise redrawn at each use": Case(redrawn, MU, size=2),
    "node noise reused across blocks": Case(reused, MU),
    "fresh noise a prefix priced as noise an item": Case(cumulated, MU),
    "expiry one block early": Case(expired, MU, size=4),
    "seed shared between noise and data": Case(shared, MU),
    "threshold noise forgotten": Case(unwatched, WATCHED, gaussian=False, size=20),
    "one draw too many": Case(overdrawn, PURE.epsilon, gaussian=False, size=4),
    "noise scaled for the wrong batch": Case(batched, MU),
    "clipping forgotten": Case(unclipped, MU),
    "budget shared the wrong way": Case(doubled, PURE.epsilon, gaussian=False),
    "l2 sensitivity under Laplace noise": Case(measured, PURE.epsilon, gaussian=False, size=2),
    "buffers restarted with every block": Case(restarted, MU, size=4),
    "noise dropped before its item": Case(dropped, MU, size=4),
    "an epoch in later choices": Case(remembered, PURE.epsilon, gaussian=False),
    "a loss in two batches": Case(overlapped, PURE.epsilon, gaussian=False),
    "records met again by later phases": Case(remet, MU),
    "noise of the next phase": Case(ahead, MU),
    "weights without the subtraction": Case(unsubtracted, MU),
    "choices below a vertex priced as one": Case(once, PURE.epsilon, gaussian=False),
    "gradient used beside its release": Case(leaked, MU),
}


def planted_rows(seed: int, repeats: int, runs: int = RUNS) -> pd.DataFrame:
    """How often the audit flags every case, right and wrong, with 95 % Clopper-Pearson bounds; one row a case."""
    rows = []
    for number, (name, case) in enumerate(CASES.items()):
        row: dict[str, object] = {"bug": name, "repeats": repeats, "runs": case.size * runs}
        for planted, column in ((True, "caught"), (False, "false_alarms")):
            seeds = np.random.SeedSequence([seed, number, int(planted)]).spawn(repeats)
            hits = sum(case.flagged(np.random.default_rng(sequence), runs, planted) for sequence in seeds)
            row[column] = hits / repeats
            if planted:
                row["caught_at_least"] = float(least_probability(np.array(hits), repeats, 0.05))
        rows.append(row)
    return pd.DataFrame(rows)
