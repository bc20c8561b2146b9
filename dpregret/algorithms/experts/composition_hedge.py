"""Hedge whose draws are paid for by composition.

Algorithm   Hedge of hedge.py. composition: draw afresh in every round. batched: draw once for b rounds, on the losses
            before them.
Privacy     Unit: the losses of one round; neighbours: they are replaced by any others, so a score moves by at most 1.
            In this convention of the exponential mechanism a draw is 2 eta-DP and, having bounded range,
            eta^2/2-zCDP (Cesar & Rogers 2021). T/b draws see the loss; few of them compose better purely.
Guarantee   Expected regret <= ln(d)/eta + eta T b/8, first draw uniform.
Deviations  Private Hedge by composition stands for Jain & Thakurta 2014, whose algorithm is another one with one root
            of ln d less: sqrt(T ln(d) ln(1/delta))/eps, as Asi et al. (COLT 2023) quote it. Batch length:
            sqrt(4 ln(d) / (3 rho)) with zCDP, (16 T ln(d) / eps^2)^(1/3) pure, which minimise the bound.
"""

import math
from dataclasses import replace

from dpregret.algorithms.experts.hedge import ExactHedge
from dpregret.algorithms.learner import Card
from dpregret.algorithms.privacy.selection import Selection, largest_choice_epsilon, largest_rho


class CompositionHedge(ExactHedge):
    """A fresh draw in every round."""

    card = Card(
        name="hedge-composition",
        title="Hedge by composition",
        paper="folklore",
        reference="composition of T draws",
        variants={"zcdp": "eta = sqrt(2 rho/T), or more for few draws", "pure": "eta = eps/(2T)"},
    )

    def prepare(self) -> None:
        self.batch = self._batch()
        if self.batch > self.horizon:
            raise ValueError(
                f"{self.card.name}: epsilon = {self.budget.epsilon:g} leaves no switch in {self.horizon} rounds, "
                f"the best batch has {self.batch}"
            )
        best = math.sqrt(8 * math.log(self.experts) / (self.horizon * self.batch))  # no privacy needs more
        budget = replace(self.budget, delta=0.0) if self.variant == "pure" else self.budget
        self.eta = min(best, largest_choice_epsilon("gumbel", budget, self.draws) / 2)

    @property
    def pure(self) -> bool:
        """Whether draws compose purely."""
        return self.variant == "pure"

    def _batch(self) -> int:
        return 1

    def ledger(self) -> list[Selection]:
        """All draws."""
        return [Selection("gumbel", 1 / self.eta, 1.0, self.draws)]


class BatchedHedge(CompositionHedge):
    """One draw a batch."""

    card = Card(
        name="hedge-batched",
        title="Hedge on batches",
        paper="folklore",
        reference="composition of T/b draws",
        variants={"zcdp": "eta = sqrt(2 rho b/T), or more for few draws", "pure": "eta = eps b/(2T)"},
    )

    def _batch(self) -> int:
        log_experts = math.log(self.experts)
        if math.isinf(self.budget.epsilon):
            return 1
        if self.variant == "pure":
            return max(1, round(math.cbrt(16 * self.horizon * log_experts / self.budget.epsilon**2)))
        return max(1, round(math.sqrt(4 * log_experts / (3 * largest_rho(self.budget)))))
