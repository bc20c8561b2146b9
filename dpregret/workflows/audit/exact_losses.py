"""The exact losses that claims may name by the key `exact`: one entry a finding, learner.variant its name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

import dpregret.workflows.audit
from dpregret.algorithms.learner import Learner
from dpregret.algorithms.online.dp_ftrl import SmoothLeader
from dpregret.algorithms.online.pftal import Pftal
from dpregret.algorithms.online.wdp_cocol import WdpCocolGamma
from dpregret.algorithms.online.wdp_cocop import WdpCocopGamma
from dpregret.algorithms.privacy import Budget
from dpregret.paper_figs.judge.result_tables import LEAST, PRIVACY_ROUNDING, ExactLoss
from dpregret.workflows.audit import exact_frank_wolfe, exact_objective
from dpregret.workflows.audit.online import FLAT, MU, WINDOW, AuditedOnline

Statement = tuple[Budget, Callable[[Budget], float], str]
"""A budget, the epsilon that is lost at one, and on what."""

DELTA = 1e-6
ROUNDS = 100
"""T of Frank-Wolfe."""
RESOLVED = 1e-3
"""Relative accuracy of where a statement begins to fail."""
KINK = f"|x - 1| + (x - 1)^2 / {2 / MU:g} for |x + 1| + (x + 1)^2 / {2 / MU:g} on [-1, 1]"
FLAT_LINES = f"a parabola of smoothness {FLAT:g} turned on [-1, 1], T = 8, delta = {DELTA:g}"


def exact_losses() -> dict[str, ExactLoss]:
    """All of them; a second or so."""
    return {name: compute() for name, compute in LOSSES.items()}


def refuted(budget: Budget, attained: Callable[[Budget], float], on: str) -> ExactLoss:
    """The loss at a budget, and the least refuted epsilon at the same delta: by bisection between LEAST and there."""

    def fails(epsilon: float) -> bool:
        return attained(Budget(epsilon, budget.delta)) > epsilon * (1 + PRIVACY_ROUNDING)

    low, high, start = LEAST, budget.epsilon, math.nan
    if fails(high):
        start = 0.0 if fails(low) else high
        while start and high / low > 1 + RESOLVED:
            start = math.sqrt(low * high)
            low, high = (low, start) if fails(start) else (start, high)
    return ExactLoss(budget.epsilon, attained(budget), on, high if start else start)


def frank_wolfe(budget: Budget, rounds: int) -> ExactLoss:
    """Alg. 4 of Talwar, Thakurta & Zhang 2015 as printed."""

    def attained(own: Budget) -> float:
        return exact_frank_wolfe.attained_epsilon(exact_frank_wolfe.printed_scale(own, rounds), rounds, own.delta)

    on = f"linear losses on the l1 ball in the plane, T = {rounds}, delta = {budget.delta:g}"
    return refuted(budget, attained, on)


def objective(budget: Budget, kst: bool) -> ExactLoss:
    """Algorithm 2 of the same paper, with its noise or that of Kifer, Smith & Thakurta 2012, a record replaced."""
    deviation = exact_objective.original_deviation if kst else exact_objective.printed_deviation
    on = f"a straight loss for one that bends, in one dimension, delta = {budget.delta:g}"
    return refuted(budget, lambda own: exact_objective.attained_epsilon(own, deviation(own)), on)


def of_audit(learner: type[Learner], variant: str, budget: Budget, losses: str, horizon: int, on: str) -> ExactLoss:
    """A tree on the losses of the audit: the points are on an interval, one loss turns."""

    def attained(own: Budget) -> float:
        return AuditedOnline(learner, variant, own.epsilon, own.delta, losses, horizon, WINDOW, (0,)).exact

    return refuted(budget, attained, on)


def statements() -> dict[str, Statement]:
    """The STATEMENTS of the modules beside this one."""
    found: dict[str, Statement] = {}
    for each in iter_modules(dpregret.workflows.audit.__path__):
        if each.name.startswith("exact_") and each.name != __name__.rpartition(".")[2]:
            found |= getattr(import_module(f"dpregret.workflows.audit.{each.name}"), "STATEMENTS", {})
    return found


def _of_module(budget: Budget, attained: Callable[[Budget], float], on: str) -> ExactLoss:
    return refuted(budget, attained, f"{on}, delta = {budget.delta:g}")


LOSSES: Final[Mapping[str, Callable[[], ExactLoss]]] = {
    "private-fw.printed": lambda: frank_wolfe(Budget(4.0, DELTA), ROUNDS),
    "objective-perturbation.printed": lambda: objective(Budget(1.0, DELTA), kst=False),
    "objective-perturbation.kst": lambda: objective(Budget(1.0, DELTA), kst=True),
    "pftal.printed": lambda: of_audit(Pftal, "printed", Budget(2.0), "kink", 8, KINK),
    "wdp-cocop-gamma.printed-noise": lambda: of_audit(
        WdpCocopGamma, "printed-noise", Budget(2.0), "kink", WINDOW + 1, KINK
    ),
    "wdp-cocol-gamma.paper": lambda: of_audit(WdpCocolGamma, "paper", Budget(2.0), "kink", WINDOW + 1, KINK),
    "dp-ftrl.printed": lambda: of_audit(SmoothLeader, "printed", Budget(4.0, DELTA), "flat", 8, FLAT_LINES),
    **{name: partial(_of_module, *each) for name, each in statements().items()},
}
"""Name -> what computes it."""
