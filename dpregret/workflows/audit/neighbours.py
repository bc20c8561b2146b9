"""The inputs of the audit of each family: pairs of neighbouring inputs, and the transcripts of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from dpregret.algorithms.privacy import Budget, Joint, NoisePlan, gaussian_epsilon
from dpregret.algorithms.privacy.audit import SIGNIFICANCE, audit, item_mu, item_pure_loss
from dpregret.numerics.arrays import Array


@dataclass(frozen=True)
class Pair:
    """Two neighbouring inputs and what a learner released on each, (runs, features), one row a run."""

    name: str
    first: Array
    second: Array


class Audited(Protocol):
    """One learner and variant on its adversarial inputs.

    claimed: the requested epsilon. delta: 0 where the guarantee is pure. accounted: what its ledger
    delivers. exact: the loss of the whole transcript of its mechanism on neighbours like those of the audit, for the
    worst protected item; NaN where no closed form is known. gaussian: everything released is post-processing of
    Gaussian noise, so that the audited mu may be turned into an epsilon.
    """

    claimed: float
    delta: float
    accounted: float
    exact: float
    gaussian: bool

    def pairs(self, runs: int) -> Iterator[Pair]:
        """At least three pairs."""

    def reached(self) -> float:
        """The share of the plan's noise that reaches what is played; NaN where no plan is known."""


def rows(audited: Audited, runs: int) -> pd.DataFrame:
    """One row a pair: claimed, accounted, exact and audited epsilon, audited mu, and the operating point."""
    found, reached = [], audited.reached()
    for pair in audited.pairs(runs):
        evidence = audit(pair.first, pair.second, audited.delta)
        proved, event = evidence.epsilon, evidence.event
        if audited.gaussian and (converted := gaussian_epsilon(evidence.mu, audited.delta)) > proved:
            proved, event = converted, evidence.mu_event
        found.append(
            {
                "pair": pair.name, "claimed": audited.claimed, "delta": audited.delta, "accounted": audited.accounted,
                "exact": audited.exact, "audited": proved, "audited_mu": evidence.mu,
                "power": event[0], "false_positive_rate": event[1], "runs": evidence.samples,
                "significance": SIGNIFICANCE, "reached": reached,
            }
        )  # fmt: skip
    return pd.DataFrame(found)


def exact_epsilon(
    plan: NoisePlan, rounds: int, protected: Sequence[int], budget: Budget, attained: float = 1.0
) -> float:
    """Loss of all outputs of the plan's first setting for the worst of the protected items (counted from 1).

    attained: how far the changed item moves, as a share of the sensitivity.
    Gaussian: exact at the budget's delta. Gamma and Laplace: pure.
    """
    mechanism, scale = plan.mechanisms[0], plan.scales[0]
    if scale == 0:
        return float("inf")
    items = np.asarray(protected) - 1
    if plan.distribution == "gaussian":
        loss = float(item_mu(mechanism, rounds)[items].max()) * attained * plan.sensitivity / scale
        return gaussian_epsilon(loss, budget.delta)
    return float(item_pure_loss(mechanism, rounds)[items].max()) * attained * plan.sensitivity / scale


def generators(label: Sequence[int], runs: int) -> Joint:
    """One generator for all runs; labels of numbers keep inputs, pairs and learners apart."""
    return Joint(np.random.default_rng(np.random.SeedSequence(list(label))), runs)


def along_tree(values: Array) -> Array:
    """Values (runs, rounds) beside their differences to the prefix whose nodes they share, t & (t - 1)."""
    return np.concatenate([values, tree_differences(values)], axis=1)


def tree_differences(values: Array) -> Array:
    """The second half of `along_tree`."""
    found = np.array(values, dtype=np.float64, order="F")
    for now in range(2, values.shape[1] + 1):
        if older := now & (now - 1):
            found[:, now - 1] -= values[:, older - 1]
    return found
