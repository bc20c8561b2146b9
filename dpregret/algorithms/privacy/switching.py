"""Private switching: the sparse vector says when to leave a candidate, the exponential mechanism where to go.

Mechanism   Asi et al. 2023, Alg. 1. In every round a threshold test asks whether the loss that the current candidate
            gathered since it was drawn is large; if so, a new one is drawn with P ~ exp(-eta max(C, L*) / 2), C the
            losses since the start. At most K switches.
Privacy     Replace the losses of one round. Threshold tests of different intervals see different rounds, so together
            they cost the budget of one; a loss enters all later draws, so these compose K times. The loss L* of the
            best candidate is public: taken from the data it would leak.
Constants   B = ln(2 T^2 / beta), K = 6 ceil(log2 d) + ceil(24 ln(1/beta)); the logarithm has base 2, for the potential
            starts at d and halves in every epoch. A switch must prove a loss of 4/eta, so the threshold is
            L* + 4/eta + accuracy, with the accuracy 8 B / e of the sparse vector at its own budget e.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from dpregret.algorithms.privacy.above_threshold import AboveThreshold, accuracy
from dpregret.algorithms.privacy.budget import Budget
from dpregret.algorithms.privacy.selection import Selection, largest_choice_epsilon


@dataclass(frozen=True)
class Calibration:
    """How a budget is spent. draws: share of epsilon for the exponential mechanism; accounting: of its draws."""

    text: str
    accounting: Literal["pure", "advanced", "zcdp"]
    draws: float = 0.5
    printed_threshold: bool = False
    starved: bool = False
    practical: bool = False


CALIBRATIONS: Mapping[str, Calibration] = MappingProxyType(
    {
        "printed-pure": Calibration(
            "eta = eps/(2K), threshold with 8 B/eps as printed; pure up to 1e-14", "pure", printed_threshold=True
        ),
        "printed-approximate": Calibration(
            "eta = eps/(4 sqrt(2 K ln(1/delta))), threshold with 8 B/eps as printed", "advanced", printed_threshold=True
        ),
        "pure": Calibration("eta = eps/(2K), threshold with 16 B/eps; pure up to 1e-14", "pure"),
        "approximate": Calibration("eta = eps/(4 sqrt(2 K ln(1/delta))), threshold with 16 B/eps", "advanced"),
        "zcdp": Calibration("eta = sqrt(8 rho/K) by zCDP (more for few K), threshold with 16 B/eps", "zcdp"),
        "starved-pure": Calibration(
            "a tenth of eps for the draws, beta = 1/2, pure up to 1e-14", "pure", 0.1, starved=True
        ),
        "starved-zcdp": Calibration("a tenth of eps for the draws, beta = 1/2, zCDP", "zcdp", 0.1, starved=True),
        "practical-zcdp": Calibration("tuned: K = 2 log2 d + 4 and 2/eta, zCDP", "zcdp", practical=True),
    }
)
"""Variant -> calibration. The starved ones change constants only, so that the power of ln d shows on small d."""


@dataclass(frozen=True)
class Switching:
    """Constants of Algorithm 1 for d candidates, T rounds and a public L*.

    variant: a key of `CALIBRATIONS`. Raises ValueError where delta = 0 cannot pay for the variant.
    """

    candidates: int
    horizon: int
    best_loss: float
    budget: Budget
    variant: str
    failure: float = 0.05

    def __post_init__(self) -> None:
        private = math.isfinite(self.budget.epsilon)
        if private and self.budget.delta == 0 and self.calibration.accounting != "pure":
            raise ValueError(f"variant {self.variant} needs delta > 0")

    @property
    def calibration(self) -> Calibration:
        """How this variant spends the budget."""
        return CALIBRATIONS[self.variant]

    @property
    def beta(self) -> float:
        """Probability with which the guarantee may fail (twice)."""
        return 0.5 if self.calibration.starved else self.failure

    @cached_property
    def switches(self) -> int:
        """K."""
        halvings = math.ceil(math.log2(self.candidates))
        if self.calibration.practical:
            return 2 * halvings + 4
        return 6 * halvings + (0 if self.calibration.starved else math.ceil(24 * math.log(1 / self.beta)))

    @property
    def threshold_epsilon(self) -> float:
        """Budget of the threshold tests."""
        return (1 - self.calibration.draws) * self.budget.epsilon

    @cached_property
    def eta(self) -> float:
        """Parameter of the exponential mechanism; inf without privacy."""
        epsilon = self.calibration.draws * self.budget.epsilon
        if math.isinf(epsilon):
            return math.inf
        if self.calibration.accounting == "pure":
            return epsilon / self.switches
        if self.calibration.accounting == "advanced":
            return epsilon / (2 * math.sqrt(2 * self.switches * math.log(1 / self.budget.delta)))
        return largest_choice_epsilon("gumbel", Budget(epsilon, self.budget.delta), self.switches)

    @property
    def draw_scale(self) -> float:
        """2 / eta, the scale of the Gumbel noise."""
        return 2 / self.eta

    @cached_property
    def accuracy(self) -> float:
        """8 B / e at the budget e of the threshold tests, for T queries and failure beta / T."""
        return accuracy(self.threshold_epsilon, self.horizon, self.beta / self.horizon)

    @cached_property
    def threshold(self) -> float:
        """L* + 4/eta + accuracy; printed: with 8 B / eps; practical: 2/eta."""
        slack = accuracy(self.budget.epsilon, self.horizon, self.beta / self.horizon)
        margin = (2 if self.calibration.practical else 4) / self.eta
        return self.best_loss + margin + (slack if self.calibration.printed_threshold else self.accuracy)

    def test(self) -> AboveThreshold:
        """The threshold test of one interval."""
        return AboveThreshold(self.threshold_epsilon, self.threshold)

    def delivered_epsilon(self) -> float:
        """Threshold tests plus K draws, priced by the ledger of selections at the budget's delta."""
        delta = 0.0 if self.calibration.accounting == "pure" else self.budget.delta
        return self.threshold_epsilon + Selection("gumbel", self.draw_scale, 1.0, self.switches).epsilon(delta)

    def bound(self) -> float:
        """(K + 1) ( L* + 4/eta + 2 accuracy + 1 ) on the total loss, with probability 1 - 2 beta.

        K switches leave K + 1 intervals; in each the query may pass the threshold by the accuracy, and lags one loss
        behind. NaN for printed and practical thresholds, which do not prove that a switch cost 4/eta, and for starved
        ones: with beta = 1/2 and K without its second term the probability may be nothing at all.
        """
        if self.calibration.printed_threshold or self.calibration.practical or self.calibration.starved:
            return math.nan
        return (self.switches + 1) * (self.threshold + self.accuracy + 1)
