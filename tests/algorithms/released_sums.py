"""What online-to-batch releases: the sums that its online learner is charged, where gradients are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from released import BUDGET, DIMENSION, ROUNDS, RUNS, Released

from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy.audit import materialise
from dpregret.workflows.seeds import generators


class Silence:
    """Records without a gradient."""

    samples, lipschitz, smoothness, left = ROUNDS, 2.0, 0.5, ROUNDS
    dimension = DIMENSION

    def stream(self) -> Silence:
        return self

    def take(self, count: int) -> Any:
        return np.zeros((1, 1, count, DIMENSION))

    def gradients(self, points: Any, records: Any) -> Any:
        return np.zeros_like(points)


def online_to_batch(kind: Any, variant: str) -> Released:
    """Charges of rounds 1..n-1 are noise alone, in units of the items."""
    domain = make_set("ball", DIMENSION)
    learner = kind(ErmProblem(domain, Silence()), [BUDGET], RUNS, variant)  # type: ignore[arg-type]
    online, charged = learner.learner(), []
    observe = online.observe

    def observed(loss: Any, gradient: Any, noise: Any) -> None:
        charged.append(loss.slope[0] * learner.units[0])
        observe(loss, gradient, noise)

    online.observe = observed
    learner.learner = lambda: online
    learner.fit(generators(7, "noise", RUNS))
    plan = learner.noise_plan
    law = plan.scales[0] * materialise(plan.mechanisms[0], ROUNDS - 1)
    return Released(np.array(charged), law, plan.releases()[0], np.tri(ROUNDS - 1))
