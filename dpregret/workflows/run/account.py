"""The privacy of one play: by which theorem it is accounted, with which parameters, and what is known against it."""

from __future__ import annotations

import inspect
import math
from functools import cache
from typing import Any, Final, NamedTuple

from dpregret.core.files import reference
from dpregret.paper_figs.judge.result_tables import PRIVACY_ROUNDING
from dpregret.paper_figs.winners.table import Refutation, read_refutations

GAUSSIAN: Final = "Gaussian differential privacy, exact conversion (Dong, Roth & Su 2022)"
PURE: Final = "basic composition (Dwork & Roth 2014, Section 3.5)"
CHOICES: Final = (
    "the smaller of optimal composition (Kairouz, Oh & Viswanath 2017) and zero-concentrated privacy of bounded range "
    "(Cesar & Rogers 2021; Canonne, Kamath & Steinke 2020)"
)
NEIGHBOURS: Final = {
    "online": "two loss sequences that differ in the loss of one round",
    "experts": "two loss sequences that differ in the losses of one round",
    "bandits": "two loss sequences that differ in the loss of one round",
    "erm": "two data sets that differ in one record, replaced",
}
"""Family -> the neighbouring relation."""
RELEASED: Final = {"erm": "the returned point", "experts": "all experts played"}
"""Family -> what is released; elsewhere all points played."""


class Account(NamedTuple):
    """How epsilon is accounted in one setting of a learner.

    theorem: in words, with its source; empty without privacy. law, scale: of the noise, as `Release` and `Selection`
    define them; empty and NaN where there is no ledger. mu: of Gaussian differential privacy, rho: of zero-concentrated
    privacy, NaN where the accountant has none. adaptive: whether it holds where a loss may depend on what was released
    before. permanent: it does not expire, whatever the window.
    """

    theorem: str
    law: str = ""
    scale: float = math.nan
    mu: float = math.nan
    rho: float = math.nan
    adaptive: bool = False
    permanent: bool = False


UNKNOWN: Final = Account("")


def account_of(learner: Any, setting: int) -> Account:
    """The account of one setting of a learner that was made.

    Lines of a ledger compose adaptively. An accountant of the learner's own is named by the first sentence of its
    docstring, and is taken to hold for losses that are fixed in advance.
    """
    return _accountant(learner, setting)._replace(permanent=learner.card.permanent)


def _accountant(learner: Any, setting: int) -> Account:
    from dpregret.algorithms.learner import BaseLearner

    if not learner.card.private:
        return Account("")
    kind, lines = type(learner), list(learner.ledger())
    line = lines[setting] if lines else None
    law, scale = (line.distribution, float(line.scale)) if line is not None else ("", math.nan)
    if kind.delivered_epsilon is not BaseLearner.delivered_epsilon:
        sentence = (inspect.getdoc(kind.delivered_epsilon) or "").partition("\n\n")[0].partition(". ")[0].strip(". ")
        own = f"the accountant of {learner.card.name}"
        return Account(f"{own} ({_lower(sentence)})" if sentence else own, law, scale)
    if line is None:
        return Account("no accountant")
    if not hasattr(line, "mu"):
        return Account(CHOICES, law, scale, rho=line.rho(), adaptive=True)
    mu = line.mu()
    return Account(PURE if math.isnan(mu) else GAUSSIAN, law, scale, mu, mu**2 / 2, adaptive=True)


def deviation(law: str, scale: float, dimension: int) -> float:
    """The standard deviation of a coordinate of noise where it is added; NaN for a law that is not known."""
    from dpregret.algorithms.privacy.noise import root_mean_square_norm

    if law == "gumbel":
        return math.pi / math.sqrt(6) * scale
    if law not in ("gaussian", "gamma", "laplace"):
        return math.nan
    return scale * root_mean_square_norm(law, dimension) / math.sqrt(dimension)  # type: ignore[arg-type]


def sentence(
    family: str,
    account: Account,
    accounted: float,
    delta: float,
    window: int,
    asked: float,
    records: tuple[int, float] = (1, math.nan),
) -> str:
    """One sentence of guarantee: accounted epsilon, neighbours, what is released, window (0: all rounds) where privacy
    expires, adaptivity, theorem. records: the most rounds of one record, and its epsilon."""
    pair = f"({accounted:.4g}, {delta:g})-differential" if delta else f"{accounted:.4g}-differential"
    more = f" (more than the {asked:g} that was asked for)" if accounted > asked * (1 + PRIVACY_ROUNDING) else ""
    released = RELEASED.get(family, "all points played")
    while_ = f" while that round is among the last {window}" if window and not account.permanent else ""
    losses = ", where losses are fixed in advance" if family != "erm" else ""
    if account.adaptive and losses:
        losses = ", where a loss may depend on what was released before"
    theorem = account.theorem
    if not math.isnan(account.mu):
        theorem = theorem.replace(", exact", f" with mu = {account.mu:.4g}, exact")
    rounds, epsilon = records
    of_record = f"; a record is in {rounds} rounds, together at most epsilon = {epsilon:.4g}" if rounds > 1 else ""
    neighbours = f"for {NEIGHBOURS[family]}, of {released}{while_}{losses}"
    return f"{pair} privacy{more} {neighbours}{of_record}; accounted by {theorem}."


def _lower(sentence: str) -> str:
    return f"{sentence[:1].lower()}{sentence[1:]}" if sentence[1:2].islower() else sentence


@cache
def refutations() -> dict[str, Refutation]:
    """learner.variant -> what refutes its privacy claim, by the committed reference."""
    folder = reference() / "audit"
    files = folder / "audit.csv", folder / "exact_losses.csv"
    return read_refutations(*files) if all(file.is_file() for file in files) else {}
