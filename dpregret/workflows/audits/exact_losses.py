"""The exact losses that claims may name by the key `exact`: one entry a finding, learner.variant its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dpregret.algorithms.learner import Learner
from dpregret.algorithms.online.dp_ftrl import SmoothLeader
from dpregret.algorithms.online.pftal import Pftal
from dpregret.algorithms.online.wdp_cocol import WdpCocolGamma
from dpregret.algorithms.online.wdp_cocop import WdpCocopGamma
from dpregret.algorithms.privacy import Budget
from dpregret.paper_figs.exact_losses import ExactLoss
from dpregret.workflows.audits import exact_frank_wolfe, exact_objective
from dpregret.workflows.audits.online import FLAT, MU, WINDOW, AuditedOnline

DELTA = 1e-6
ROUNDS = 100
"""T of Frank-Wolfe."""
KINK = f"|x - 1| + (x - 1)^2 / {2 / MU:g} for |x + 1| + (x + 1)^2 / {2 / MU:g} on [-1, 1]"
FLAT_LINES = f"a parabola of smoothness {FLAT:g} turned on [-1, 1], T = 8, delta = {DELTA:g}"


def exact_losses() -> dict[str, ExactLoss]:
    """All of them; a second or so."""
    return {name: compute() for name, compute in LOSSES.items()}


def frank_wolfe(budget: Budget, rounds: int) -> ExactLoss:
    """Alg. 4 of Talwar, Thakurta & Zhang 2015 as printed."""
    scale = exact_frank_wolfe.printed_scale(budget, rounds)
    attained = exact_frank_wolfe.attained_epsilon(scale, rounds, budget.delta)
    return ExactLoss(
        budget.epsilon, attained, f"linear losses on the l1 ball in the plane, T = {rounds}, delta = {budget.delta:g}"
    )


def objective(budget: Budget, kst: bool) -> ExactLoss:
    """Algorithm 2 of the same paper, with its noise or that of Kifer, Smith & Thakurta 2012, a record replaced."""
    deviation = (exact_objective.original_deviation if kst else exact_objective.printed_deviation)(budget)
    attained = exact_objective.attained_epsilon(budget, deviation)
    return ExactLoss(
        budget.epsilon, attained, f"a straight loss for one that bends, in one dimension, delta = {budget.delta:g}"
    )


def of_audit(learner: type[Learner], variant: str, budget: Budget, losses: str, horizon: int, on: str) -> ExactLoss:
    """A tree on the losses of the audit: the points are on an interval, one loss turns."""
    audited = AuditedOnline(learner, variant, budget.epsilon, budget.delta, losses, horizon, WINDOW, (0,))
    return ExactLoss(audited.claimed, audited.exact, on)


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
}
"""Name -> what computes it."""
