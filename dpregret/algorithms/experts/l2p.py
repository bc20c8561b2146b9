"""L2P over multiplicative weights: a lazy learner made private by a second copy of itself.

Algorithm   Asi, Koren, Liu & Talwar 2024, Alg. 1, with nu_s(x) = exp(-eta C(x)), C the losses before batch s:
            line 1  input: eta, batches of B rounds, fake switching p
            line 2  draw x and y from nu_1, that is uniformly
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
            `play_by_the_box` is this. The learner is charged with its expected loss instead, which is exact.
Privacy     Unit: the losses of one round; neighbours: they are replaced by any others; (eps, delta)-DP. Released, and
            more than what is played: x, y, and whether each was drawn. With L(x) the losses of x in a batch, x is kept
            with probability k = (1 - p) exp(-eta (2 B + L(x) - L(y))): line 5 never has to cut at 1. The decision after
            the batch of the changed round sees k move by at most e^(2 eta): purely, it costs the larger of 2 eta and
            ln(1 + K (1 - e^(-2 eta))/(1 - K)), K = (1 - p) e^(-B eta) the largest k. All others are alike, given what
            was released before. Draws after it, of x and of y, are of range 2 eta, hence eta^2/2-zCDP each. Whether
            one happens is not secret by then, and has at most the probability q = 1 - (1 - p) e^(-3 B eta) for x, p for
            y: at order a a step costs ln(1 - q + q exp((a - 1) a eta^2/2))/(a - 1), and T/B - 1 of them add up.
            Converted at delta (Canonne, Kamath & Steinke 2020), and the price of the decision added. At delta = 0 every
            draw costs its range, 2 eta.
Guarantee   Given the path of y, which does not look at x, x has exactly the law nu_s normalised: its constant cancels
            in line 5, and P(keep z) nu_{s-1}(z) + (1 - sum of these) nu_s(z) = nu_s(z). So the expected regret is that
            of Hedge on batches, at most ln(d)/eta + eta T B/8, and of that order on blocks of equal losses.
Deviations  The paper has T B^2 eta^2 for eta T B/8 (Proposition 3.3), which is refuted (the errata). Its
            Theorem 3.10 names no p: `printed` takes eta/eps, that of the theorem on convex losses, and B is 1/eps
            rounded, at least 1. `theorem` pays the price of Theorem 3.2, delta_0 = 0, delta_1 = delta/(2 T), where its
            conditions hold. `still` is ours: y is never drawn again, which costs nothing, and e^(-B eta) suffices.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from dpregret.algorithms.experts.batched_dartboard import tuned
from dpregret.algorithms.experts.expert_learner import Block, Play
from dpregret.algorithms.experts.hedge import exponentiate, widened
from dpregret.algorithms.experts.shrinking_dartboard import LazyHedge, Tuning, affordable
from dpregret.algorithms.learner import Card
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled, inlined
from dpregret.numerics.elementary import exp, exp_of, log

ORDERS = np.linspace(-3.0, 3.0, 61)
"""Logarithms of the orders minus 1 that are tried, over the best one of a simpler conversion."""


class DrawnCopy(Tuning):
    """B, p and eta of Algorithm 1."""

    spare: ClassVar[int] = 2  # of the factor e^(-spare B eta) in line 5

    @property
    def keep(self) -> float:
        """x is kept with probability keep * exp(-eta (lost by x - lost by y))."""
        return (1 - self.keep_away) * math.exp(-self.spare * self.batch * self.eta)

    @property
    def renew(self) -> float:
        """Probability that y is drawn again."""
        return self.keep_away

    @property
    def decision(self) -> float:
        """Pure epsilon of the one decision that a loss takes part in; see Privacy."""
        most = self.keep * math.exp(min(self.eta * self.batch, 700.0))
        return max(2 * self.eta, math.log1p(-most * math.expm1(-2 * self.eta) / (1 - most))) if most < 1 else math.inf

    def draws(self, horizon: int, delta: float) -> float:
        """Epsilon at delta of all draws after the changed round; purely where delta = 0."""
        steps, chances = math.ceil(horizon / self.batch) - 1, (self.most_drawn, self.renew)
        if delta == 0:
            return 2 * self.eta * steps * np.count_nonzero(chances)
        rho = steps * sum(chances) * self.eta**2 / 2
        if rho == 0:
            return 0.0
        excess = exp(ORDERS) * math.sqrt(math.log(1 / delta) / rho)
        orders, exponents = 1 + excess, np.minimum(excess * (1 + excess) * self.eta**2 / 2, 700.0)
        grown = [math.expm1(exponent) for exponent in exponents]  # NumPy's last bit depends on the processor
        logs = sum(np.array([math.log1p(chance * growth) for growth in grown]) for chance in chances)
        epsilons = steps * logs / excess + (math.log(1 / delta) - log(orders)) / excess + log(excess / orders)
        return max(0.0, float(np.min(np.where(exponents < 700.0, epsilons, math.inf))))

    @property
    def most_drawn(self) -> float:
        """The largest probability that x is drawn in a batch."""
        return 1 - self.keep * math.exp(-self.eta * self.batch)


class FrozenCopy(DrawnCopy):
    """y is never drawn again."""

    spare = 1
    renew = 0.0


class StatedPrice(DrawnCopy):
    """Priced by Theorem 3.2, with delta_0 = 0 and delta_1 = delta/(2 T)."""

    def price(self, horizon: int, delta: float) -> float:
        """The epsilon of the theorem; out of reach where a condition fails."""
        batch, p, eta = self
        logarithm = math.log(2 * horizon / delta)
        if eta > 0.1 or horizon * p < batch or eta * batch * logarithm > p:
            return 1e9
        fakes = horizon * p / batch * eta**2 * logarithm
        return 2 * eta / p + eta + 1.5 * fakes + math.sqrt(6 * fakes * logarithm)

    def too_dear(self, horizon: int, epsilon: float, delta: float) -> bool:
        """Whether the price is above epsilon."""
        return self.price(horizon, delta) > epsilon


def printed(horizon: int, experts: int, epsilon: float) -> DrawnCopy:
    """B, p and eta of Theorem 3.10; p of the theorem on convex losses."""
    free = horizon**-0.25 * math.log(experts) ** 0.75
    eta = min(free, epsilon) ** (2 / 3) / horizon ** (1 / 3)
    return DrawnCopy(batch_of(epsilon), min(1.0, eta / epsilon), eta)


def batch_of(epsilon: float) -> int:
    """1/eps, rounded, at least 1."""
    return max(1, round(1 / epsilon))


def play_by_the_box(losses: Array, tuning: DrawnCopy, generator: np.random.Generator) -> tuple[list[int], int]:
    """The experts that one run plays, round by round, and how often x was drawn; losses (rounds, experts)."""
    batch, keep_away, eta = tuning  # line 1
    everyone = np.arange(losses.shape[1])
    x, y = generator.choice(everyone), generator.choice(everyone)  # line 2
    played = [int(x)] * min(batch, len(losses))  # line 3
    seen, draws = np.zeros(len(everyone)), 1
    for first in range(batch, len(losses), batch):  # line 4
        lost = losses[first - batch : first].sum(axis=0)  # line 16
        seen = seen + lost
        weights = exp(-eta * (seen - seen.min()))
        law = weights / weights.sum()
        ratio = math.exp(-eta * (tuning.spare * batch + float(lost[x]) - float(lost[y])))
        stay, fake = generator.random() < min(1.0, ratio), generator.random() < keep_away  # line 5
        if not stay or fake:  # line 6
            x, draws = generator.choice(everyone, p=law), draws + 1  # lines 7, 8, 9
        renewed = generator.random() < tuning.renew  # line 10
        if renewed:  # line 11
            y = generator.choice(everyone, p=law)  # lines 12, 13, 14
        played += [int(x)] * min(batch, len(losses) - first)  # line 15
    return played, draws


@inlined
def _normalise(logs: Array, eta: float, seen: Array, law: Array) -> None:
    """Write P(group) ~ size exp(-eta * loss so far)."""
    for group in range(len(seen)):
        law[group] = logs[group] - eta * seen[group]
    exponentiate(law)
    total = 0.0
    for group in range(len(seen)):
        total += law[group]
    for group in range(len(seen)):
        law[group] /= total


@compiled
def lazy_block(
    losses: Array,
    rounds: int,
    logs: Array,
    eta: float,
    batch: int,
    keep: float,
    renew: float,
    played: int,
    horizon: int,
    seen: Array,
    lost: Array,
    law: Array,
    copy: Array,
    total: Array,
    draws: Array,
) -> None:
    """Play a block, `played` rounds after the first one; decisions are due every `batch` rounds, the last one is not.

    losses (rounds | 1, runs | 1, groups). keep: the chance to keep x is keep exp(-eta (lost by x - lost by y)), renew:
    that to draw y again. Changed in place: seen, lost (runs, groups), losses up to the batch and in it; law, copy
    (runs, groups), the laws of x and of y; total, draws (runs,), expected loss and number of draws of x.
    """
    alike = len(losses) == 1
    for run in range(len(seen)):
        column, now = min(run, losses.shape[1] - 1), 0
        while now < rounds:
            since = (played + now) % batch
            stop = min(rounds, now + batch - since)
            for index in range(now, now + 1 if alike else stop):
                times = float(stop - now) if alike else 1.0
                row, charged = losses[0 if alike else index, column], 0.0
                for group in range(len(row)):
                    charged += law[run, group] * row[group]
                    lost[run, group] += times * row[group]
                total[run] += times * charged
            now = stop
            if (played + now) % batch == 0 and played + now < horizon:
                stays, copied = 0.0, 0.0
                for group in range(len(logs)):
                    stays += law[run, group] * exp_of(-eta * lost[run, group])
                    copied += copy[run, group] * exp_of(eta * lost[run, group])
                    seen[run, group] += lost[run, group]
                    lost[run, group] = 0.0
                draws[run] += 1.0 - keep * stays * copied
                _normalise(logs, eta, seen[run], law[run])
                for group in range(len(logs)):
                    copy[run, group] = (1.0 - renew) * copy[run, group] + renew * law[run, group]


class LazyToPrivate(LazyHedge):
    """The law of Hedge on batches, drawn with few switches."""

    tuning: DrawnCopy
    card = Card(
        name="l2p",
        title="L2P",
        paper="Asi et al. 2024",
        reference="Alg. 1",
        variants={
            "printed": "B = 1/eps, eta = min(eps_0, eps)^(2/3)/T^(1/3) of Theorem 3.10, p = eta/eps",
            "theorem": "(B, p, eta) that minimise ln(d)/eta + eta T B/8, priced by Theorem 3.2",
            "corrected": "B = 1/eps, (p, eta) by our ledger",
            "tuned": "(B, p, eta) that minimise ln(d)/eta + eta T B/8 by our ledger",
            "still": "ours: the copy y is drawn once; (B, p, eta) by our ledger",
        },
        default="tuned",
    )

    def _priced(self) -> tuple[Any, int | None]:
        """The class whose price is paid, and a fixed B or None."""
        kind = {"theorem": StatedPrice, "still": FrozenCopy}.get(self.variant, DrawnCopy)
        batch = batch_of(self.budget.epsilon) if self.variant == "corrected" else None
        return kind, batch

    def affordable(self) -> bool:
        return self.variant == "printed" or affordable(*self.tuning_inputs, *self._priced())

    def tuned(self) -> Tuning | None:
        if self.variant == "printed":
            return printed(self.horizon, self.experts, self.budget.epsilon)
        return tuned(*self.tuning_inputs, *self._priced())

    def play(self, blocks: Iterable[Block], generators: Sequence[np.random.Generator]) -> Play:
        """Expected losses, and the expected number of draws of x; the generators are not used."""
        tuning, played, groups = self.tuning, 0, len(self.sizes)
        logs, uniform = log(self.sizes), self.sizes[None] / float(self.experts)
        fixed = logs, float(tuning.eta), tuning.batch, float(tuning.keep), float(tuning.renew)
        state = [np.zeros((1, groups)), np.zeros((1, groups)), uniform, uniform.copy(), np.zeros(1), np.ones(1)]
        for block in blocks:
            losses, state = widened(block, state)
            lazy_block(losses, block.rounds, *fixed, played, self.horizon, *state)
            played += block.rounds
        return Play(*(np.broadcast_to(numbers, (self.runs,)) for numbers in state[-2:]))

    def chain(self, losses: Array) -> tuple[Array, Array, Array]:
        """Law of (x, y), transitions between rounds, and the x of each state; losses (rounds, experts)."""
        tuning, rounds, d = self.tuning, *losses.shape
        played, hidden = (index.ravel() for index in np.divmod(np.arange(d * d).reshape(d, d), d))
        moves, seen = np.repeat(np.eye(d * d)[None], rounds - 1, axis=0), np.zeros(d)
        for now in range(tuning.batch, rounds, tuning.batch):
            lost = losses[now - tuning.batch : now].sum(axis=0)
            seen = seen + lost
            weights = exp(-tuning.eta * (seen - seen.min()))
            law = weights / weights.sum()
            keep = tuning.keep * exp(-tuning.eta * (lost[played] - lost[hidden]))
            to_x = keep[:, None] * (played[:, None] == played) + (1 - keep)[:, None] * law[played]
            to_y = (1 - tuning.renew) * (hidden[:, None] == hidden) + tuning.renew * law[hidden]
            moves[now - 1] = to_x * to_y
        return np.full(d * d, 1.0 / d**2), moves, played

    def delivered_epsilon(self) -> list[float]:
        """Of our ledger, whichever way B, p and eta were chosen."""
        return self.epsilon_at(self.budget.delta)

    def epsilon_at(self, delta: float) -> list[float]:
        """The same at any delta > 0."""
        if math.isinf(self.budget.epsilon):
            return [math.inf]
        return [DrawnCopy.price(self.tuning, self.horizon, delta)]
