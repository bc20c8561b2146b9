"""The exact audit of a user's mechanism, as a page of text; the command is `dpregret audit`.

Released is A v + B z: A the lower triangular ones, B the noise. Exit code 0: the claim is kept; 1: it is not; 2: bad
input.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from dpregret.algorithms.privacy.audit import transcript_losses, whitened_sums
from dpregret.algorithms.privacy.budget import Budget, gaussian_epsilon, gaussian_mu
from dpregret.algorithms.privacy.window_bound import sequence_lower_bound, window_lower_bound
from dpregret.core import boundary
from dpregret.core.boundary import as_json
from dpregret.numerics.arrays import Array
from dpregret.workflows.mechanisms.own_mechanism import Claim, OwnNoiseError, load, noise_matrix
from dpregret.workflows.run import child

MOST_ROUNDS = 4096
CORNER = 6
MOST_LINES = 24
TOLERANCE = 1e-9


@dataclass(frozen=True, repr=False)
class Verdict:
    """The exact loss of a mechanism; printed as a page.

    claim: what it is said to deliver. noise: the matrix B, (rounds, draws). item_mu: Gaussian-DP parameter of every
    item while it is protected, (rounds,); age_mu: of the worst item by age, (rounds,). singular: the first round whose
    noise is a combination of that of earlier ones, so that its item leaves exactly; None: there is none.
    """

    claim: Claim
    noise: Array
    item_mu: Array
    age_mu: Array
    singular: int | None = None

    @property
    def mu(self) -> float:
        """Of the worst item."""
        return float(self.item_mu.max())

    @property
    def kept(self) -> bool:
        """Whether the claim holds."""
        return self.mu <= gaussian_mu(Budget(self.claim.epsilon, self.claim.delta)) * (1 + TOLERANCE)

    @property
    def epsilon(self) -> float:
        """The delivered epsilon at the claimed delta: the exact loss of the worst item."""
        return float(gaussian_epsilon(self.mu, self.claim.delta))

    @property
    def by_age(self) -> pd.DataFrame:
        """One row an age in rounds: mu and epsilon of the worst item, and whether it is protected still."""
        ages = np.arange(len(self.age_mu))
        epsilons = [gaussian_epsilon(float(mu), self.claim.delta) for mu in self.age_mu]
        protected = ages < self.claim.window
        return pd.DataFrame({"age": ages, "mu": self.age_mu, "epsilon": epsilons, "protected": protected})

    def __repr__(self) -> str:
        return "\n".join(lines(self))


def audit(noise: Array, claim: Claim) -> Verdict:
    """Exact losses of a noise matrix B, (rounds, draws)."""
    rounds = claim.rounds
    try:
        losses = transcript_losses(noise) * claim.sensitivity**2
    except np.linalg.LinAlgError:
        return Verdict(claim, noise, np.full(rounds, np.inf), np.full(rounds, np.inf), _first_singular(noise))
    last = (
        np.minimum(np.arange(rounds) + claim.window, rounds) - 1
    )  # row of the last output that an item is charged for
    items = losses[last, np.arange(rounds)]
    if claim.participations > 1:
        items = _joint(noise, claim)
    ages = np.array([np.diagonal(losses, -age).max() for age in range(rounds)])
    return Verdict(claim, noise, np.sqrt(items), np.sqrt(ages))


def _joint(noise: Array, claim: Claim) -> Array:
    """Squared losses of records by their first round; exact where no two of a record's rounds have C^T C below 0.

    With G = A^T (B B^T)^-1 A a record whose rounds are R moves by at most sum_{i, j in R} |G_ij|.
    """
    whitened = whitened_sums(noise)
    gram = np.abs(whitened.T @ whitened) * claim.sensitivity**2
    starts = claim.rounds - (claim.participations - 1) * claim.separation
    found = [
        gram[np.ix_(taken, taken)].sum()
        for taken in (start + claim.separation * np.arange(claim.participations) for start in range(starts))
    ]
    return np.array(found)


def _first_singular(noise: Array) -> int:
    for last in range(1, len(noise) + 1):
        try:
            np.linalg.cholesky(noise[:last] @ noise[:last].T)
        except np.linalg.LinAlgError:
            return last
    return len(noise)


def lines(verdict: Verdict) -> Iterator[str]:
    """The page."""
    claim, noise = verdict.claim, verdict.noise
    rounds = claim.rounds
    whole = claim.window >= rounds
    epsilon_of = partial(gaussian_epsilon, delta=claim.delta)
    scope = "the whole sequence" if whole else f"a window of {claim.window} rounds"
    yield f"{rounds} rounds, privacy of {scope}, sensitivity {claim.sensitivity:g}" + (
        f", {claim.participations} participations {claim.separation} rounds apart" if claim.participations > 1 else ""
    )
    yield f"A: lower triangular ones, {rounds} x {rounds}"
    yield f"B: {rounds} x {noise.shape[1]} (noise of each prefix sum by draw); its corner:"
    for row in noise[:CORNER, :CORNER]:
        yield "   " + " ".join(f"{value:10.5g}" for value in row)
    if verdict.singular is not None:
        yield f"round {verdict.singular}: its noise is a combination of that of earlier rounds, its item leaves exactly"
    yield "exact loss of every item while it is protected (Gaussian-DP parameter, epsilon):"
    first = "records that begin in rounds" if claim.participations > 1 else "items"
    for start, end, mu in _equal(verdict.item_mu):
        yield f"   {first} {start}..{end}: mu at most {mu:.6g}, epsilon {epsilon_of(mu):.6g}"
    if verdict.singular is None:
        yield "loss of the worst item by age (rounds seen since its own):"
        for age in _ages(claim.window, rounds):
            mark = "" if age < claim.window else " (expired)"
            yield f"   age {age}: mu {verdict.age_mu[age]:.6g}, epsilon {epsilon_of(verdict.age_mu[age]):.6g}{mark}"
    yield from _distance(verdict, whole)
    delivered = epsilon_of(verdict.mu)
    yield f"claimed: epsilon {claim.epsilon:g} at delta {claim.delta:g}; delivered: epsilon {delivered:.6g}"
    judged = "keeps its claim" if verdict.kept else "VIOLATES ITS CLAIM"
    yield f"verdict: {judged}, spends {delivered / claim.epsilon:.4g} of it"


def _distance(verdict: Verdict, whole: bool) -> Iterator[str]:
    claim = verdict.claim
    if verdict.singular is not None or claim.participations > 1:
        return
    variances = np.square(verdict.noise).sum(axis=1)
    bound = sequence_lower_bound(claim.rounds) if whole else window_lower_bound(claim.window, claim.rounds)
    unit = (verdict.mu / claim.sensitivity) ** 2
    mean, most = unit * variances.mean(), unit * variances.max()
    yield f"error, variance in units of (sensitivity / mu)^2: mean {mean:.6g}, largest {most:.6g}"
    yield f"   no Gaussian noise has a mean below {bound:.6g}: this is {mean / bound:.4g} times as much"


def _equal(values: Array) -> list[tuple[int, int, float]]:
    """Runs of items with the same loss to five digits, or to fewer where these are many: (first, last, largest)."""
    for digits in (5, 3, 2, 1):
        rounded = [f"{value:.{digits}g}" for value in values]
        starts = [at for at in range(len(values)) if at == 0 or rounded[at] != rounded[at - 1]]
        if len(starts) <= MOST_LINES:
            break
    ends = [*starts[1:], len(values)]
    return [(start + 1, end, float(values[start:end].max())) for start, end in zip(starts, ends, strict=True)]


def _ages(window: int, rounds: int) -> list[int]:
    doubling = {2**power - 1 for power in range(rounds.bit_length())}
    whole = {windows * window - 1 for windows in range(1, 9)} | {window}
    return sorted(age for age in doubling | whole if age < rounds)


def claim_of(given: argparse.Namespace) -> Claim:
    """Raises OwnNoiseError, one line."""
    rounds = given.rounds
    window = rounds if given.window is None else given.window
    whole = {"rounds": rounds, "window": window}
    for name, value in (whole | {"participations": given.participations, "separation": given.separation}).items():
        if value < 1:
            raise OwnNoiseError(f"--{name} must be at least 1, got {value}")
    if rounds > MOST_ROUNDS:
        raise OwnNoiseError(f"--rounds must be at most {MOST_ROUNDS}, as matrices are dense; got {rounds}")
    for name, value in (("epsilon", given.epsilon), ("sensitivity", given.sensitivity)):
        if not 0 < value < np.inf:
            raise OwnNoiseError(f"--{name} must be positive, got {value}")
    if not 0 < given.delta < 1:
        raise OwnNoiseError(f"--delta must lie between 0 and 1, got {given.delta}")
    if given.participations > 1 and window < rounds:
        raise OwnNoiseError("--participations above 1 are for the whole sequence: leave --window out")
    if (given.participations - 1) * given.separation >= rounds:
        raise OwnNoiseError(
            f"{given.participations} participations {given.separation} rounds apart need more than {rounds} rounds"
        )
    return Claim(rounds, window, given.epsilon, given.delta, given.sensitivity, given.participations, given.separation)


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text!r}: must be positive")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, audit, print."""
    parser = boundary.Parser(
        prog="dpregret audit", description="Exact audit of your own correlated noise for prefix sums."
    )
    parser.add_argument("mechanism", help="FILE.py:FUNCTION (example: docs/examples/my_noise.py)")
    parser.add_argument("--rounds", type=int, default=512, help="outputs (default 512)")
    parser.add_argument("--window", type=int, help="rounds that an item stays protected (default: all)")
    parser.add_argument("--epsilon", type=float, default=1.0, help="claimed (default 1)")
    parser.add_argument("--delta", type=float, default=1e-6, help="claimed (default 1e-6)")
    parser.add_argument("--sensitivity", type=float, default=1.0, help="how far an item moves, l2 (default 1)")
    parser.add_argument(
        "--participations", type=int, default=1, help="rounds that one record takes part in (default 1)"
    )
    parser.add_argument("--separation", type=int, default=1, help="rounds between two of them (default 1)")
    parser.add_argument(
        "--sums", action="store_true", help="a streaming matrix makes noise of sums, not of single items"
    )
    parser.add_argument("--save", type=Path, help="write A, B and the losses to this .npz file")
    parser.add_argument("--json", action="store_true", help="the answer as JSON, without the matrix")
    parser.add_argument("--minutes", type=_positive, default=60.0, help="most that it may take (default 60)")
    parser.add_argument(
        "--gigabytes", type=_positive, default=np.inf, help="most memory that it may take (default: any)"
    )
    given = parser.parse_args(arguments)
    bounds = child.Bounds(given.minutes, given.gigabytes, ("--minutes", "--gigabytes"))
    return child.judged(lambda: _judged(given), given.mechanism, bounds)


def _judged(given: argparse.Namespace) -> tuple[int, list[str]]:
    """Exit code and page."""
    try:
        claim = claim_of(given)
        verdict = audit(noise_matrix(load(given.mechanism), claim, not given.sums), claim)
    except OwnNoiseError as error:
        return 2, [str(error)]
    if given.save is not None:
        ones = np.tril(np.ones((claim.rounds, claim.rounds)))
        np.savez(given.save, A=ones, B=verdict.noise, item_mu=verdict.item_mu, age_mu=verdict.age_mu)
    code = 0 if verdict.kept else 1
    if given.json:
        names = ("claim", "kept", "mu", "epsilon", "singular", "item_mu", "by_age")
        content = {"mechanism": given.mechanism, **{name: getattr(verdict, name) for name in names}}
        return code, as_json(content).splitlines()
    return code, list(lines(verdict))
