"""Hedge, written round by round.

Algorithm   Play expert i with probability proportional to exp(-eta * its losses so far), eta = sqrt(8 ln d / T).
Privacy     None.
Guarantee   E[regret] <= sqrt(T ln(d) / 2): Freund & Schapire 1997.
"""

import numpy as np

from dpregret.algorithms.experts.expert_learner import ExpertLearner, Play, rechunk
from dpregret.algorithms.learner import Card


class MyHedge(ExpertLearner):
    """Losses arrive in blocks (rounds, runs, groups of equal experts); all runs advance together."""

    card = Card(
        name="my-hedge",
        title="my Hedge",
        paper="mine",
        reference="-",
        variants={"plain": "eta = sqrt(8 ln(d) / T)"},
        private=False,
        anytime=False,
    )
    exact = True

    def play(self, blocks, generators):
        eta = np.sqrt(8 * np.log(self.experts) / self.horizon)
        seen, lost = np.zeros((self.runs, len(self.sizes))), np.zeros(self.runs)
        for losses in (piece[0] for piece in rechunk(blocks, 1)):
            shares = self.sizes * np.exp(-eta * (seen - seen.min(axis=1, keepdims=True)))
            lost += (shares * losses).sum(axis=1) / shares.sum(axis=1)
            seen += losses
        return Play(lost, np.full(self.runs, float(self.horizon)))

    def bound(self):
        return [np.sqrt(self.horizon * np.log(self.experts) / 2)]
