"""Exact tables of Asi, Feldman, Koren & Talwar, COLT 2023: formulas and laws of a few rounds, without randomness.

Reach: where an explicit bound is below T/2, what a player of a random expert may lose. Stated privacy: the epsilon of
the theorems beside our ledger and the exact loss of the plays of two experts. Counterexamples: Theorem 2 where eta > p,
and Theorem 7 on fair coins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import numpy as np
import pandas as pd

from dpregret.algorithms.experts.batched_dartboard import BatchedDartboard, balanced, corollary_6
from dpregret.algorithms.experts.epoch_leader import EpochLeader
from dpregret.algorithms.experts.expert_learner import ExpertProblem
from dpregret.algorithms.experts.shrinking_dartboard import (
    AsPrinted,
    ShrinkingDartboard,
    Tuning,
    corollary_3,
    corollary_4,
)
from dpregret.algorithms.privacy import Budget
from dpregret.numerics.arrays import Array
from dpregret.workflows.audit.experts import loss_tables, plays_law
from dpregret.workflows.audit.neighbours import table_epsilon

DELTA: Final = 1e-6
EPSILONS: Final = (1.0, 0.1, 0.01)
EXPERTS: Final = (2**4, 2**10, 2**20)
DIMENSIONS: Final = (1, 4, 16)
FEW: Final = 14
"""Rounds for which the law of all plays is known."""
MOST: Final = 64
"""log2 of the longest horizon that is tried; parameters that are searched for end at 2^40."""
Bound = Callable[[int], float]


def printed_bound(rule: Callable[[int, int, float, float], AsPrinted], experts: int, epsilon: float) -> Bound:
    """Theorem 2 or 5 with the parameters of a corollary, of T; inf where the theorem does not apply."""

    def bound(horizon: int) -> float:
        try:
            value = rule(horizon, experts, epsilon, DELTA).guarantee(horizon, experts)
        except ValueError:
            return math.inf
        return math.inf if math.isnan(value) else value

    return bound


def net_bound(dimension: int, epsilon: float) -> Bound:
    """Theorem 12 over L D: Corollary 3 on (4 T)^d points that cover the set within D/T, which costs 1 more."""
    return lambda horizon: printed_bound(corollary_3, (4 * horizon) ** dimension, epsilon)(horizon) + 1


def tuned_bound(
    learner: type[ShrinkingDartboard | BatchedDartboard | EpochLeader], variant: str, experts: int, epsilon: float
) -> Bound:
    """The guarantee of a learner of ours, of T; inf where the budget pays for no draw."""

    def bound(horizon: int) -> float:
        problem = ExpertProblem(np.array([float(experts)]), horizon, gap=0.0)
        try:
            return learner(problem, Budget(epsilon, DELTA), 1, variant).bound()[0]
        except ValueError:
            return math.inf

    return bound


def first_below(bound: Bound, most: int = MOST) -> float:
    """log2 of the least T = 2^m with bound(T) < T/2; all bounds here grow more slowly than T. inf: none."""
    return next((float(power) for power in range(1, most + 1) if bound(2**power) < 2**power / 2), math.inf)


def first_horizons() -> pd.DataFrame:
    """A row per statement and epsilon."""
    rows = []
    for epsilon in EPSILONS:
        for name, make, most in statements(epsilon):
            sizes = DIMENSIONS if name.startswith("Theorem 12") else EXPERTS
            found = [first_below(make(size), most) for size in sizes]
            rows.append(
                {"statement": name, "eps": epsilon} | dict(zip(("small", "middle", "large"), found, strict=True))
            )
    return pd.DataFrame(rows).rename(
        columns={"small": "d = 2^4 (1)", "middle": "d = 2^10 (4)", "large": "d = 2^20 (16)"}
    )


def statements(epsilon: float) -> Iterator[tuple[str, Callable[[int], Bound], int]]:
    """Name, the bound of d or of the dimension, and log2 of the longest horizon."""
    rules = {"Corollary 3": corollary_3, "Corollary 4, pure": corollary_4, "Corollary 6": corollary_6}
    for name, rule in {**rules, "Theorem 5, our balance": balanced}.items():
        yield name, partial(printed_bound, rule, epsilon=epsilon), MOST
    yield "Theorem 12, in dimension 1, 4, 16", partial(net_bound, epsilon=epsilon), MOST
    for learner, kind in ((ShrinkingDartboard, "dartboard"), (BatchedDartboard, "batched dartboard")):
        for variant in ("zcdp", "pure"):
            bound = partial(tuned_bound, learner, variant, epsilon=epsilon)
            yield f"{kind}, tuned by our ledger{', pure' * (variant == 'pure')}", bound, 40
    yield "Corollary 8, exponential mechanism", partial(tuned_bound, EpochLeader, "pure", epsilon=epsilon), MOST


def counted_chain(tuning: Tuning, most: int, losses: Array) -> tuple[Array, Array, Array]:
    """Algorithm 1 with K = most + 1 on batches: law of (expert, draws), transitions between rounds, and the experts.

    losses (rounds, 2); for `plays_law`.
    """
    states, rounds = 2 * (most + 1), len(losses)
    played, drawn = (index.ravel() for index in np.divmod(np.arange(states).reshape(2, -1), most + 1))
    moves, seen = np.repeat(np.eye(states)[None], rounds - 1, axis=0), np.zeros(2)
    for now in range(tuning.batch, rounds, tuning.batch):
        lost = losses[now - tuning.batch : now].sum(axis=0)
        seen = seen + lost
        weights = np.exp(-tuning.eta * (seen - seen.min()))
        keep = np.where(drawn < most, (1 - tuning.keep_away) * np.exp(-tuning.eta * lost[played]), 1.0)
        draw = (1 - keep)[:, None] * (weights / weights.sum())[played] * (drawn[:, None] + 1 == drawn)
        moves[now - 1] = np.diag(keep) + draw
    return np.where(drawn == 0, 0.5, 0.0), moves, played


def exact_loss(tuning: Tuning, most: int, delta: float) -> float:
    """The largest exact epsilon of the plays of FEW rounds over the pairs of the audit."""
    found = 0.0
    for _, first, second in loss_tables(FEW).values():
        laws = [plays_law(*counted_chain(tuning, most, losses)) for losses in (first, second)]
        found = max(found, table_epsilon(laws[0], laws[1], delta))
    return found


def stated_privacy() -> pd.DataFrame:
    """A row per corollary, epsilon and horizon: stated, by our ledger, exact on two experts (few rounds only)."""
    rows = []
    rules = {
        "Corollary 3": (corollary_3, DELTA),
        "Corollary 4": (corollary_4, 0.0),
        "Corollary 6": (corollary_6, DELTA),
    }
    for name, (rule, delta) in rules.items():
        for epsilon in (1.0, 1 / 4, 1 / 16):
            for horizon, experts in ((FEW, 2), (2**16, 2**10), (2**24, 2**10)):
                tuning = rule(horizon, experts, epsilon, delta)
                exact = exact_loss(tuning, tuning.most_draws(horizon), delta) if horizon == FEW else math.nan
                rows.append(
                    {"statement": name, "eps": epsilon, "delta": delta, "T": horizon, "d": experts, "B": tuning.batch}
                    | {"stated": tuning.stated_epsilon(horizon, delta), "our ledger": tuning.price(horizon, delta)}
                    | {"exact loss": exact}
                )
    return pd.DataFrame(rows)


def stuck_regret(horizon: int, p: float, step: float) -> float:
    """A lower bound on the regret of Algorithm 1, K = 4 T p, on two experts that lose in rounds 1..T/2 and one later.

    The probability that all K - 1 draws are spent in the first half, whose every decision draws with the probability
    p + (1 - p) eta, times a quarter of T: the last draw there is uniform.
    """
    draws = math.ceil(4 * horizon * p) - 1
    from scipy.stats import binom  # late, as below: a plan names exact tables, and needs no law

    return float(binom.sf(draws - 1, horizon // 2 - 1, p + (1 - p) * step)) * (horizon - horizon // 2) / 2


def coins_regret(experts: int, horizon: int) -> float:
    """T/2 - E min of d independent binomials (T, 1/2): the regret of every learner on fair coins."""
    from scipy.stats import binom

    return horizon / 2 - float((binom.sf(np.arange(horizon), horizon, 0.5) ** experts).sum())


def counterexamples() -> pd.DataFrame:
    """A row per statement and horizon: what is stated, and the regret."""
    rows: list[dict[str, str | float]] = []
    for power in (18, 20, 24):
        horizon, step, p = 2**power, math.sqrt(math.log(2) / 2**power), 32 / 2**power
        stated = step * horizon + math.log(2) / step + 2 * horizon * math.exp(-horizon * p / 3)
        numbers = {"p": p, "eta": step, "stated": stated, "regret, at least": stuck_regret(horizon, p, step)}
        rows.append({"statement": "Theorem 2, eta > p", "T": horizon, "d": 2, **numbers})
    for power in (8, 12, 16):
        numbers = {"stated": 0.0, "regret, at least": coins_regret(2**10, 2**power)}
        rows.append({"statement": "Theorem 7, fair coins", "T": 2**power, "d": 2**10, **numbers})
    return pd.DataFrame(rows)
