"""Hedge, and the closed form of its expected loss.

Algorithm   Littlestone & Warmuth 1994; Freund & Schapire 1997:
            line 1  C = 0
            line 2  for t = 1..T
            line 3    play x with P(x) ~ exp(-eta C(x))
            line 4    C = C + l_t
            Losses are expectations over the draws, exact: the marginal of every round is known in closed form.
Privacy     None; composition_hedge.py pays for the draws.
Guarantee   Expected regret <= ln(d)/eta + eta T/8; for eta = 1 also (L* + ln d)/(1 - 1/e) - L*.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from dpregret.algorithms.experts.expert_learner import Block, ExpertLearner, Play
from dpregret.algorithms.learner import Card
from dpregret.core.oracles import SCRATCH, inner
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.elementary import exp_of, log, softmax
from dpregret.numerics.sums import dot

CHUNK = 256  # rounds side by side
FAR = -700.0  # a weight of e^FAR is lost in every sum; smaller ones, which are denormal, cost the processor far more


@inlined
def largest_of(numbers: Array) -> float:
    """The largest number, four by four."""
    a = b = c = d = numbers[0]
    whole = len(numbers) // 4 * 4
    for k in range(0, whole, 4):
        a = numbers[k] if numbers[k] > a else a
        b = numbers[k + 1] if numbers[k + 1] > b else b
        c = numbers[k + 2] if numbers[k + 2] > c else c
        d = numbers[k + 3] if numbers[k + 3] > d else d
    for k in range(whole, len(numbers)):
        a = numbers[k] if numbers[k] > a else a
    return max(max(a, b), max(c, d))


@inlined
def exponentiate(logs: Array) -> None:
    """Replace logarithms of weights by the weights, over the largest of them."""
    largest = largest_of(logs)
    for group in range(len(logs)):
        logs[group] = exp_of(max(logs[group] - largest, FAR))


@inlined
def _weigh(sizes: Array, logs: Array, eta: float, seen: Array, weights: Array, ones: Array) -> float:
    """Write size * exp(-eta * loss so far) of all groups, over the largest of them; return their sum."""
    if np.isinf(eta):
        for group in range(len(seen)):
            weights[group] = -seen[group]
        largest = largest_of(weights)
        for group in range(len(seen)):
            weights[group] = sizes[group] if weights[group] == largest else 0.0
    else:
        for group in range(len(seen)):
            weights[group] = logs[group] - eta * seen[group]
        exponentiate(weights)
    return dot(weights, ones)


@inlined
def _alike(row: Array, rounds: int, sizes: Array, logs: Array, eta: float, seen: Array) -> float:
    """Expected loss of rounds of equal losses with a draw in each; chunks of them side by side."""
    clock, most, mass, charged = np.arange(CHUNK) * 1.0, np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    endless, total, starts = np.isinf(eta), 0.0, np.empty(len(row))
    rate = -1.0 if endless else -eta
    for first in range(0, rounds, CHUNK):
        most[:], mass[:], charged[:] = -np.inf, 0.0, 0.0
        for group in range(len(row)):
            slope = rate * row[group]
            start = (0.0 if endless else logs[group]) + rate * seen[group] + slope * first
            starts[group] = start
            for now in range(CHUNK):
                logit = start + slope * clock[now]
                most[now] = logit if logit > most[now] else most[now]
        for group in range(len(row)):
            start, slope, loss, size = starts[group], rate * row[group], row[group], sizes[group]
            if endless:
                for now in range(CHUNK):
                    weight = size if start + slope * clock[now] == most[now] else 0.0
                    mass[now] += weight
                    charged[now] += weight * loss
            else:
                for now in range(CHUNK):
                    weight = exp_of(max((start + slope * clock[now]) - most[now], FAR))
                    mass[now] += weight
                    charged[now] += weight * loss
        for now in range(min(CHUNK, rounds - first)):
            total += charged[now] / mass[now]
    return total


@inlined
def _decide(row: Array, times: float, logs: Array, eta: float, seen: Array, law: Array, sums: Array) -> None:
    """A chunk of decisions side by side, each followed by a batch of `times` rounds of equal losses.

    law (groups, CHUNK) is scratch; of sums (3 + SCRATCH, CHUNK) the first two become the sums of weights, as `_weigh`
    has them, and of weights times losses. seen (groups,) is changed.
    """
    masses, charged, most, scratch = sums[0], sums[1], sums[2], sums[3:]
    for now in range(CHUNK):
        most[now] = -np.inf
    for group in range(len(row)):
        so_far, lost = seen[group], times * row[group]
        for now in range(CHUNK):
            law[group, now] = logs[group] - eta * so_far
            so_far += lost
        seen[group] = so_far
        for now in range(CHUNK):
            most[now] = law[group, now] if law[group, now] > most[now] else most[now]
    for group in range(len(row)):
        for now in range(CHUNK):
            law[group, now] = exp_of(max(law[group, now] - most[now], FAR))
    inner(law, None, masses, scratch)
    for group in range(len(row)):
        for now in range(CHUNK):
            law[group, now] *= row[group]
    inner(law, None, charged, scratch)


@compiled
def hedge_block(
    losses: Array,
    rounds: int,
    sizes: Array,
    logs: Array,
    eta: float,
    batch: int,
    played: int,
    seen: Array,
    weights: Array,
    masses: Array,
    total: Array,
) -> None:
    """Play a block, `played` rounds after the first one: draws are due every `batch` rounds.

    losses (rounds | 1, runs | 1, groups). Changed in place: seen (runs, groups), the losses so far; weights (runs,
    groups) and their sums masses (runs,), of the law in play; total (runs,), the expected loss.
    """
    alike, ones = len(losses) == 1, np.ones(len(sizes))
    beside, chunk = np.empty((len(sizes), CHUNK)), np.empty((3 + SCRATCH, CHUNK))
    for run in range(len(seen)):
        column = min(run, losses.shape[1] - 1)
        sums, law = seen[run], weights[run]
        now = 0
        if alike and batch == 1:
            row, now = losses[0, column], rounds
            total[run] += _alike(row, rounds, sizes, logs, eta, sums)
            for group in range(len(sums)):
                sums[group] += float(rounds) * row[group]
        while now < rounds:
            since = (played + now) % batch
            if alike and since == 0 and rounds - now >= CHUNK * batch and not np.isinf(eta):
                _decide(losses[0, column], float(batch), logs, eta, sums, beside, chunk)
                for decision in range(CHUNK):
                    total[run] += float(batch) * chunk[1, decision] / chunk[0, decision]
                now += CHUNK * batch
                continue
            if since == 0:
                masses[run] = _weigh(sizes, logs, eta, sums, law, ones)
            stop = min(rounds, now + batch - since)
            charged = 0.0
            if alike:
                row, times = losses[0, column], float(stop - now)
                charged = times * dot(law, row)
                for group in range(len(sums)):
                    sums[group] += times * row[group]
            else:
                for index in range(now, stop):
                    row = losses[index, column]
                    charged += dot(law, row)
                    for group in range(len(sums)):
                        sums[group] += row[group]
            total[run] += charged / masses[run]
            now = stop


def hedge_losses(blocks: Iterable[Block], sizes: Array, eta: float, batch: int = 1) -> Array:
    """Expected total loss (runs | 1,) of P ~ exp(-eta C), drawn again every `batch` rounds from the first one on.

    eta = inf plays the experts of smallest loss so far. sizes: (groups,).
    """
    logs, played = log(sizes), 0
    groups = len(sizes)
    state = [np.zeros((1, groups)), np.ones((1, groups)), np.ones(1), np.zeros(1)]  # line 1
    for block in blocks:  # line 2
        losses, state = widened(block, state)
        hedge_block(losses, block.rounds, sizes, logs, float(eta), batch, played, *state)  # lines 3, 4
        played += block.rounds
    return state[-1]


def widened(block: Block, state: list[Array]) -> tuple[Array, list[Array]]:
    """Losses as compiled rounds take them, and a state of as many runs; runs that are alike share a row."""
    losses = np.require(block.losses, np.float64, ["C", "W"])  # one kind of array: one compilation
    if losses.shape[1] > len(state[0]):
        state = [np.repeat(rows, losses.shape[1], axis=0) for rows in state]
    return losses, state


def marginals_of(seen: Array, sizes: Array, eta: float) -> Array:
    """P(group) proportional to size * exp(-eta * loss so far), over the last axis."""
    if math.isinf(eta):
        best = (seen == seen.min(axis=-1, keepdims=True)) * sizes
        return np.asarray(best / best.sum(axis=-1, keepdims=True))
    return softmax(log(sizes) - eta * seen)


class ExactHedge(ExpertLearner):
    """Base of learners with the marginals of Hedge: eta, the batch length, and the closed form."""

    exact = True
    eta: float
    batch: int = 1

    @property
    def draws(self) -> int:
        """Number of draws, the uniform first one included."""
        return math.ceil(self.horizon / self.batch)

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Expected losses; the generators are not used."""
        losses = np.broadcast_to(hedge_losses(blocks, self.sizes, self.eta, self.batch), (self.runs,))
        return Play(losses, np.full(self.runs, float(self.draws)))

    def bound(self) -> list[float]:
        """ln(d)/eta + eta T b/8."""
        return [math.log(self.experts) / self.eta + self.eta * self.horizon * self.batch / 8]


class Hedge(ExactHedge):
    """Without privacy."""

    card = Card(
        name="hedge",
        title="Hedge",
        paper="Freund & Schapire 1997",
        reference="Section 2",
        variants={
            "unit": "eta = 1, for realizable losses",
            "small-loss": "eta = ln(1 + sqrt(2 ln(d) / L*)), L* known",
            "horizon": "eta = sqrt(8 ln(d) / T)",
        },
        private=False,
    )

    def prepare(self) -> None:
        if self.variant == "small-loss" and self.problem.best_loss is None:
            raise ValueError("hedge small-loss needs a bound on the loss of the best expert: give best_loss")
        log_experts = math.log(self.experts)
        if self.variant == "unit":
            self.eta = 1.0
        elif self.variant == "horizon":
            self.eta = math.sqrt(8 * log_experts / self.horizon)
        else:
            best = self.problem.best_loss or 0.0
            self.eta = math.log1p(math.sqrt(2 * log_experts / best)) if best else math.inf

    def bound(self) -> list[float]:
        """(eta L* + ln d) / (1 - e^-eta) - L*, or ln(d)/eta + eta T/8 for the one tuned to T."""
        if self.variant == "horizon":
            return super().bound()
        best = self.problem.best_loss
        if best is None:
            return [math.nan]
        if math.isinf(self.eta):  # L* = 0: the harmonic sum of ever fewer experts without loss
            return [math.log(self.experts) + 1]
        return [(self.eta * best + math.log(self.experts)) / -math.expm1(-self.eta) - best]
