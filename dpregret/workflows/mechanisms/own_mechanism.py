"""Bring your own mechanism: the exact loss of correlated noise, computed from code of the user.

The code may be one of three things, each made by a function of the user. Arguments are passed by name, those it has
of the fields of `Claim` and, where noise is drawn, `generator` and `dimension`.

  noise(generator, rounds, dimension)   the noise of the prefix sums of rounds 1.., shape (rounds, dimension), at full
                                        scale, drawn by generator.standard_normal(size) or
                                        generator.normal(0, sd, size), sizes (dimension,) or (k, dimension);
  (matrix, sd)                          a streaming matrix with init_multiply(x) and
                                        multiply_next(x, state) -> (row, state), and the standard deviation of what it
                                        is fed with. As in jax-privacy it makes the noise of single items, C^-1 z:
                                        running sums are taken (`per_item`);
  a PrefixSums of this project          calibrated here.

Each draw is replaced by a unit vector of a space with as many dimensions as there are draws: the output shows which
draws enter it and how much. Real draws follow, small and large ones of both signs, in one dimension and in many, to see
that the code is linear in them: row by row, so that a row of large noise hides nothing of the others.

Released is A v + B z: A the lower triangular ones, B the noise. The command is `dpregret audit`; exit code 0: the claim
is kept; 1: it is violated; 2: undecided, since the bound on the loss is above the claim and no record was found that
is, or bad input, which gets one line on standard error and no page.
"""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular

from dpregret.algorithms.privacy.audit import LINEAR, materialise, real_draws
from dpregret.algorithms.privacy.budget import SPACING, Budget, calibrate, gaussian_epsilon, gaussian_mu
from dpregret.algorithms.privacy.participation import Schedules, WorstRecord, worst_record
from dpregret.algorithms.privacy.prefix_sums import PrefixSums
from dpregret.algorithms.privacy.toeplitz import sequence_lower_bound, window_lower_bound
from dpregret.core import child
from dpregret.core.arguments import real, truth, whole
from dpregret.core.boundary import as_json
from dpregret.core.errors import ConfigError, one_line
from dpregret.core.machine import check_writable, machine_gb
from dpregret.numerics.arrays import Array

ROUNDING, SINGLE_ROUNDING = LINEAR, 1e-4
"""As a share of what a row adds up: of noise in double and in single precision."""
MOST_ROUNDS = 4096
CORNER = 6
MOST_LINES = 24
TOLERANCE = 1e-9
RANK, SINGLE_RANK = 1e-12, 1e-4
"""Share of a round's noise, in double and in single precision: what is new in it, where less is taken for rounding."""
SINGLE_SPACING = 2.0**-23
WORST_ROUNDING = 0.01
"""Relative error of a loss by rounding from which on nothing is judged."""
AUDIT = "audit"
OF_ITEMS = "noise of single items, which is summed here (--sums: it is noise of the prefix sums)"
OF_SUMS = "noise of the prefix sums"
CALIBRATED = "a PrefixSums, whose noise of the prefix sums is calibrated to the claim"


class OwnNoiseError(ConfigError):
    """A mistake in the user's file or claim, in one line."""


@dataclass(frozen=True)
class Claim:
    """The claimed privacy of the mechanism. window: of the protected items; rounds or more: the whole sequence.

    participations: most rounds that one record takes part in, `separation` rounds apart at least, or exactly where
    `exact_gaps`; more than one for whole sequences. Raises OwnNoiseError.
    """

    rounds: int
    window: int
    epsilon: float = 1.0
    delta: float = 1e-6
    sensitivity: float = 1.0
    participations: int = 1
    separation: int = 1
    exact_gaps: bool = False

    def __post_init__(self) -> None:
        for name in ("rounds", "window", "participations", "separation"):
            object.__setattr__(self, name, whole(f"{AUDIT}: {name}", getattr(self, name)))
        for name in ("epsilon", "delta", "sensitivity"):
            object.__setattr__(self, name, real(f"{AUDIT}: {name}", getattr(self, name)))
        object.__setattr__(self, "exact_gaps", truth(f"{AUDIT}: exact_gaps", self.exact_gaps))
        if self.rounds > MOST_ROUNDS:  # matrices are dense
            raise OwnNoiseError(f"{AUDIT}: rounds: must be at most {MOST_ROUNDS}, not {self.rounds}")
        for name, most in {"epsilon": np.inf, "sensitivity": np.inf, "delta": 1}.items():
            if not 0 < getattr(self, name) < most:
                message = f"must be greater than 0 and less than {most}, not {getattr(self, name)}"
                raise OwnNoiseError(f"{AUDIT}: {name}: {message}")
        if self.participations > 1 and self.window < self.rounds:
            message = "more than 1 is for the whole sequence: leave the window out"
            raise OwnNoiseError(f"{AUDIT}: participations: {message}")
        if self.participations == 1 and (self.separation != 1 or self.exact_gaps):
            unused = "separation" if self.separation != 1 else "exact_gaps"
            raise OwnNoiseError(f"{AUDIT}: {unused}: a record in one round has no gaps: give participations above 1")

    @property
    def schedules(self) -> Schedules:
        """The rounds that one record may take part in."""
        return Schedules(self.participations, self.separation, self.exact_gaps)


@contextmanager
def attributing_errors(what: str) -> Iterator[None]:
    """Turn whatever the user's code raises into an OwnNoiseError that says what went wrong."""
    try:
        yield
    except OwnNoiseError:
        raise
    except (Exception, SystemExit) as error:
        raise OwnNoiseError(f"{what}: {type(error).__name__}: {one_line(error)}") from error


def load(reference: str) -> Callable[..., Any]:
    """The function named by `my_noise.py:make`."""
    path, _, name = reference.rpartition(":")
    if not path or not name:
        missing = "" if Path(reference).exists() else "there is no such file or folder; "
        learners = "; `dpregret audit-learners NAME` audits a learner of this project"
        raise OwnNoiseError(
            f"{reference or repr('')}: {missing}expected FILE.py:FUNCTION, or the folder of a study{learners}"
        )
    if not Path(path).is_file():
        is_folder = Path(path).is_dir()
        raise OwnNoiseError(f"{path}: {'is a folder, not a Python file' if is_folder else 'there is no such file'}")
    with attributing_errors(f"{path}: cannot be imported"):
        defined = runpy.run_path(path, run_name="own_noise")
    if not callable(defined.get(name)):
        functions = sorted(key for key, value in defined.items() if inspect.isfunction(value))
        raise OwnNoiseError(f"{path}: has no function {name!r}, there are: {', '.join(functions) or 'none'}")
    return defined[name]


def noise_matrix(make: Callable[..., Any], claim: Claim, per_item: bool = True) -> tuple[Array, str]:
    """The matrix B, (rounds, draws), and what the code was taken for: `OF_ITEMS`, `OF_SUMS` or `CALIBRATED`.

    Prefix sums leave with B times independent N(0, 1) draws added. In single precision where the code is. per_item: a
    streaming matrix makes the noise of single items. Raises OwnNoiseError.
    """
    source = make if "generator" in _signature(make).parameters else _call(make, asdict(claim))
    if isinstance(source, PrefixSums):
        with attributing_errors(type(source).__name__):
            scale = calibrate("gaussian", Budget(claim.epsilon, claim.delta), claim.sensitivity, source.nodes_per_item)
            return _finite(scale * materialise(source, claim.rounds)), CALIBRATED
    if isinstance(source, tuple) and len(source) == 2 and hasattr(source[0], "multiply_next"):
        return _streamed(*source, claim.rounds, per_item), OF_ITEMS if per_item else OF_SUMS
    if not per_item:
        raise OwnNoiseError(f"{AUDIT}: sums: is for streaming matrices, a function makes noise of sums: leave it out")
    if hasattr(source, "multiply_next"):
        raise OwnNoiseError("a streaming matrix comes with its standard deviation: return (matrix, sd)")
    if not callable(source):
        expected = "a function of a generator, (streaming matrix, sd) or PrefixSums"
        raise OwnNoiseError(f"expected {expected}, got {type(source).__name__}")
    return _drawn(source, claim), OF_SUMS


def _streamed(matrix: Any, deviation: Any, rounds: int, per_item: bool) -> Array:
    with attributing_errors("the standard deviation is not a number"):
        sd = float(deviation)
    if not 0 < sd < np.inf:
        raise OwnNoiseError(f"the standard deviation of a streaming matrix must be positive, got {sd}")

    def multiplied(draws: Array) -> Array:
        with attributing_errors("the streaming matrix failed"):
            state, rows = matrix.init_multiply(draws[0].copy()), []
            for draw in draws:
                row, state = matrix.multiply_next(draw.copy(), state)
                rows.append(deepcopy(row))  # a matrix may write all its rows to one array, and to its argument
        return _checked(rows, rounds, draws.shape[1])

    items = _read_off(multiplied, rounds)
    with np.errstate(over="ignore"):
        noise = sd * (np.cumsum(items, axis=0, dtype=np.float64) if per_item else items)
        return _finite(noise.astype(items.dtype))


class _Probe:
    """Replaces a generator: returns the rows of fixed draws, and counts them."""

    def __init__(self, draws: Array | None, dimension: int):
        self.draws, self.dimension, self.used = draws, dimension, 0

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> Array:
        shape = (size,) if isinstance(size, int | np.integer) else tuple(size or ())
        if not shape or shape[-1] != self.dimension or len(shape) > 2:
            raise OwnNoiseError(f"sizes of draws must be (dimension,) or (k, dimension), got {size}")
        count = int(np.prod(shape[:-1], dtype=int))
        first, self.used = self.used, self.used + count
        if self.draws is None:
            return np.zeros(shape, dtype)
        return self.draws[first : self.used].reshape(shape).astype(dtype)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Array:
        if np.any(np.asarray(loc) != 0):
            raise OwnNoiseError(f"normal draws must have mean 0, got loc={loc}: was the scale meant?")
        return np.asarray(scale * self.standard_normal(size))

    def __getattr__(self, name: str) -> Any:
        raise OwnNoiseError(f"noise must be drawn by standard_normal or normal, not by {name}")


def _drawn(noise: Callable[..., Any], claim: Claim) -> Array:
    def played(probe: _Probe) -> Array:
        noise_rows = _call(noise, {**asdict(claim), "generator": probe, "dimension": probe.dimension})
        return _checked(noise_rows, claim.rounds, probe.dimension)

    counter = _Probe(None, 1)
    played(counter)
    if not counter.used:
        example = "at the scale of a library, as in docs/examples/libraries.py"
        raise OwnNoiseError(f"the noise draws nothing from its generator: draw from it, {example}")
    return _read_off(lambda draws: played(_Probe(draws, draws.shape[1])), counter.used)


def _read_off(play: Callable[[Array], Array], draws: int) -> Array:
    """The matrix of what is played, given all draws, (draws, dimension): what it makes of unit vectors.

    In single precision where a play is. Raises OwnNoiseError unless it makes matrix @ draws of real draws, each number
    up to rounding of its own row.
    """
    output = play(np.eye(draws))
    matrix, single = output.astype(np.float64), output.dtype.itemsize == 4
    for tried in real_draws(draws):
        played = play(tried)
        single = single or played.dtype.itemsize == 4
        size = np.abs(matrix) @ np.abs(tried)
        off = np.abs(played - matrix @ tried)
        wrong = ~(off <= (SINGLE_ROUNDING if single else ROUNDING) * size)
        if wrong.any():
            first = int(np.flatnonzero(wrong.any(axis=1))[0]) + 1
            message = "the noise is not a fixed linear map of its draws, coordinate by coordinate"
            raise OwnNoiseError(f"{message}: not in round {first}")
    return matrix.astype(np.float32) if single else matrix


def _checked(answer: Any, rounds: int, dimension: int) -> Array:
    rows = answer if isinstance(answer, list | tuple) else [answer]
    if any(np.ma.is_masked(row) for row in rows):
        raise OwnNoiseError("the noise is masked: what is released there is not known")
    with attributing_errors("the noise is not an array of numbers"):
        array = np.asarray(answer)
    if array.dtype.kind not in "iuf" or array.dtype.itemsize < 4:
        raise OwnNoiseError(f"the noise must be numbers of at least single precision, got {array.dtype}")
    if array.shape != (rounds, dimension):
        raise OwnNoiseError(f"the noise must have shape (rounds, dimension) = {(rounds, dimension)}, got {array.shape}")
    return _finite(array)


def _finite(array: Array) -> Array:
    if not np.isfinite(array).all():
        raise OwnNoiseError("the noise is not finite")
    return array


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    with attributing_errors(f"{_named(function)} has no arguments that could be read"):
        return inspect.signature(function)


def _named(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _call(function: Callable[..., Any], offered: Mapping[str, Any]) -> Any:
    signature, name = _signature(function), _named(function)
    with attributing_errors(f"{name} may have the arguments {', '.join(offered)}"):
        arguments = signature.bind(**{key: value for key, value in offered.items() if key in signature.parameters})
    with attributing_errors(f"{name} failed"):
        return function(*arguments.args, **arguments.kwargs)


@dataclass(frozen=True, repr=False)
class Verdict:
    """The loss of a mechanism under Gaussian noise; printed as a page.

    claim: what it is said to deliver. noise: the matrix B, (rounds, draws). item_mu: exact Gaussian-DP parameter of
    every item while it is protected, (rounds,); age_mu: of the worst item by age, (rounds,). worst: the record that
    loses most, in all its rounds. singular: the first round whose noise is a combination of that of earlier ones, so
    that its item leaves exactly; None: there is none. taken: what the code was taken for; empty of a bare matrix.
    """

    claim: Claim
    noise: Array
    item_mu: Array
    age_mu: Array
    worst: WorstRecord
    singular: int | None = None
    taken: str = ""

    @property
    def mu(self) -> float:
        """No record loses more: the exact loss of the worst one, or a bound of it (`worst.exact`)."""
        return self.worst.bound

    @property
    def verdict(self) -> Literal["keeps", "violates", "undecided"]:
        """undecided: the bound is above the claim, and no record was found that is."""
        claimed = gaussian_mu(Budget(self.claim.epsilon, self.claim.delta)) * (1 + TOLERANCE)
        return "keeps" if self.worst.bound <= claimed else "violates" if self.worst.mu > claimed else "undecided"

    @property
    def kept(self) -> bool:
        """Whether the claim is proved: no record loses more."""
        return self.verdict == "keeps"

    @property
    def epsilon(self) -> float:
        """The accounted epsilon at the claimed delta: no record loses more."""
        return float(gaussian_epsilon(self.worst.bound, self.claim.delta))

    @property
    def least_epsilon(self) -> float:
        """What the worst record found loses at the claimed delta: equal to `epsilon` where that is exact."""
        return float(gaussian_epsilon(self.worst.mu, self.claim.delta))

    @property
    def by_age(self) -> pd.DataFrame:
        """One row an age in rounds: mu and epsilon of the worst item, and whether it is protected still."""
        ages = np.arange(len(self.age_mu))
        epsilons = [gaussian_epsilon(float(mu), self.claim.delta) for mu in self.age_mu]
        protected = ages < self.claim.window
        return pd.DataFrame({"age": ages, "mu": self.age_mu, "epsilon": epsilons, "protected": protected})

    @property
    def answer(self) -> dict[str, Any]:
        """All but the matrix, as `--json` prints it."""
        names = ("claim", "taken", "verdict", "kept", "mu", "epsilon", "least_epsilon", "singular", "item_mu", "by_age")
        worst = {**asdict(self.worst), "exact": self.worst.exact}
        return {**{name: getattr(self, name) for name in names}, "worst": worst}

    def __repr__(self) -> str:
        return "\n".join(_page(self))


def audited(mechanism: str | Callable[..., Any] | object, claim: Claim, sums: bool = False) -> Verdict:
    """The answer of `dpregret audit` and of `dpregret.audit`. mechanism: `FILE.py:FUNCTION`, or as of a function."""
    make = load(mechanism) if isinstance(mechanism, str) else mechanism
    sums = truth(f"{AUDIT}: sums", sums)
    noise, taken = noise_matrix(make if callable(make) else lambda: make, claim, not sums)
    return replace(audit(noise, claim), taken=taken)


def audit(noise: Array, claim: Claim) -> Verdict:
    """Losses of a noise matrix B, (rounds, draws), whose numbers are as precise as its type.

    Raises OwnNoiseError where rounding hides them.
    """
    rounds, single = claim.rounds, noise.dtype.itemsize == 4
    noise = noise.astype(np.float64)
    largest = float(np.abs(noise).max()) or 1.0
    scaled = noise / largest
    lower = np.asarray(np.linalg.qr(scaled.T, mode="r")).T  # L L^T = B B^T, without squaring what is small
    pivots, norms = np.zeros(rounds), np.linalg.norm(scaled, axis=1)
    pivots[: lower.shape[1]] = np.abs(np.diagonal(lower))
    singular = np.flatnonzero(pivots <= (SINGLE_RANK if single else RANK) * norms)
    if singular.size:
        first, everything = int(singular[0]) + 1, np.full(rounds, np.inf)
        return Verdict(claim, noise, everything, everything, WorstRecord((first,), np.inf, np.inf), first)
    with np.errstate(over="ignore", invalid="ignore"):
        unit = claim.sensitivity / largest
        whitened = solve_triangular(lower, np.tril(np.ones((rounds, rounds))), lower=True, check_finite=False)
        error = _rounding_of(whitened, norms, single)
        losses = np.cumsum(np.square(whitened), axis=0)  # of every item given the outputs so far
    if not (error <= WORST_ROUNDING and np.isfinite(losses).all()):
        raise OwnNoiseError("the noise of some rounds is so much smaller than that of others that rounding hides it")
    last = (
        np.minimum(np.arange(rounds) + min(claim.window, rounds), rounds) - 1
    )  # the last output that an item is charged for
    items = unit * np.sqrt(losses[last, np.arange(rounds)])
    ages = unit * np.sqrt(np.array([np.diagonal(losses, -age).max() for age in range(rounds)]))
    if claim.participations > 1:
        found = worst_record(whitened.T @ whitened, claim.schedules)
        worst = replace(found, mu=unit * found.mu, bound=unit * found.bound)
    else:
        item = int(np.argmax(items))
        worst = WorstRecord((item + 1,), float(items[item]), float(items[item]))
    if error > TOLERANCE:
        worst = replace(worst, mu=worst.mu * (1 - error), bound=worst.bound * (1 + error))
    return Verdict(claim, noise, items, ages, worst)


def _rounding_of(whitened: Array, norms: Array, single: bool) -> float:
    """A bound on the relative error by rounding of a loss, of L^-1 A, (rounds, rounds).

    Each row of B is known up to rounding of its own size, norms: by E_i, in single precision before it is factored
    here. Then B + E = (1 + E B^+) B, and a loss changes by |E B^+| at most, which is below | |L^-1| |E| |. The columns
    of L^-1 are differences of those of L^-1 A.
    """
    inverse = -np.diff(whitened, axis=1, append=0.0)
    spacing = 4 * SPACING * np.sqrt(len(norms)) + (SINGLE_SPACING / 2 if single else 0.0)
    return float(spacing * np.linalg.norm(np.abs(inverse) @ norms))


def _page(verdict: Verdict) -> Iterator[str]:
    """The page."""
    claim, noise, rounds = verdict.claim, verdict.noise, verdict.claim.rounds
    whole, several = claim.window >= rounds, claim.participations > 1
    epsilon_of = partial(gaussian_epsilon, delta=claim.delta)
    scope = "the whole sequence" if whole else f"a window of {claim.window} rounds"
    yield f"{rounds} rounds, privacy of {scope}, sensitivity {claim.sensitivity:g}"
    if several:
        apart = f"{'exactly' if claim.exact_gaps else 'at least'} {claim.separation} apart"
        most = claim.schedules.most(rounds)
        fitting = f" ({most} fit into {rounds})" if most < claim.participations else ""
        yield f"privacy of a record in at most {claim.participations} rounds{fitting}, {apart}"
    if verdict.taken:
        yield f"taken as {verdict.taken}"
    yield f"A: lower triangular ones, {rounds} x {rounds}"
    yield f"B: {rounds} x {noise.shape[1]} (noise of each prefix sum by draw); its corner:"
    for row in noise[:CORNER, :CORNER]:
        yield "   " + " ".join(f"{value:10.5g}" for value in row)
    if verdict.singular is not None:
        yield f"round {verdict.singular}: its noise is a combination of that of earlier rounds, its item leaves exactly"
    alone = "by itself" if several else "while it is protected"
    yield f"exact loss of every item {alone} (Gaussian-DP parameter, epsilon):"
    for start, end, mu in _equal(verdict.item_mu):
        yield f"   items {start}..{end}: mu at most {mu:.6g}, epsilon {epsilon_of(mu):.6g}"
    if verdict.singular is None:
        yield "loss of the worst item by age (rounds seen since its own):"
        doubling = {2**power - 1 for power in range(rounds.bit_length())}
        windows = {count * claim.window - 1 for count in range(1, 9)} | {claim.window}
        for age in sorted(age for age in doubling | windows if age < rounds):
            mark = "" if age < claim.window else " (expired)"
            yield f"   age {age}: mu {verdict.age_mu[age]:.6g}, epsilon {epsilon_of(verdict.age_mu[age]):.6g}{mark}"
    if verdict.singular is None and not several and np.isfinite(verdict.mu):
        largest = np.abs(noise).max()
        variances = np.square(noise / largest).sum(axis=1)
        bound = sequence_lower_bound(rounds) if whole else window_lower_bound(claim.window, rounds)
        unit = (verdict.mu / (claim.sensitivity / largest)) ** 2
        mean, most = unit * variances.mean(), unit * variances.max()
        yield f"error, variance in units of (sensitivity / mu)^2: mean {mean:.6g}, largest {most:.6g}"
        yield f"   no Gaussian noise has a mean below {bound:.6g}: this is {mean / bound:.4g} times as much"
    accounted, worst = verdict.epsilon, verdict.worst
    named = ", ".join(map(str, worst.rounds[:MOST_LINES])) + (", ..." if len(worst.rounds) > MOST_LINES else "")
    if several and worst.exact:
        yield f"worst record, exactly: rounds {named}: mu {worst.mu:.6g}, epsilon {accounted:.6g}"
    elif several:
        yield f"worst record found: rounds {named}: mu {worst.mu:.6g}, epsilon {verdict.least_epsilon:.6g}"
        yield f"bound, which no record may reach: mu {worst.bound:.6g}, epsilon {accounted:.6g}"
    least = "" if worst.exact else f" at most, {verdict.least_epsilon:.6g} at least"
    yield f"claimed: epsilon {claim.epsilon:g} at delta {claim.delta:g}; accounted: epsilon {accounted:.6g}{least}"
    if verdict.verdict == "undecided":
        yield "verdict: UNDECIDED, the bound is above the claim, and no record was found that is"
    else:
        judgement = "keeps its claim" if verdict.kept else "VIOLATES ITS CLAIM"
        lost = (accounted if verdict.kept else verdict.least_epsilon) / claim.epsilon
        close = not verdict.kept and f"{lost:.4g}" == "1"  # a violation is above 1 in print, too
        yield f"verdict: {judgement}: epsilon is {lost:.{10 if close else 4}g} times the claim"


def _equal(values: Array) -> list[tuple[int, int, float]]:
    """Runs of items with the same loss to five digits, or to fewer where these are many: (first, last, largest)."""
    for digits in (5, 3, 2, 1):
        rounded = [f"{value:.{digits}g}" for value in values]
        starts = [at for at in range(len(values)) if at == 0 or rounded[at] != rounded[at - 1]]
        if len(starts) <= MOST_LINES:
            break
    ends = [*starts[1:], len(values)]
    return [(start + 1, end, float(values[start:end].max())) for start, end in zip(starts, ends, strict=True)]


def main(
    mechanism: str,
    rounds: int,
    window: int | None = None,
    sums: bool = False,
    save: Path | None = None,
    in_json: bool = False,
    minutes: float = np.inf,
    gigabytes: float | None = None,
    **claimed: Any,
) -> int:
    """The command `dpregret audit`: read, audit, print. claimed: further fields of `Claim`."""
    gigabytes = machine_gb() if gigabytes is None else gigabytes
    for name, value in (("minutes", minutes), ("gigabytes", gigabytes)):
        if not value > 0:
            raise ConfigError(f"{AUDIT}: --{name}: must be positive, not {value:g}")
    if save is not None:
        check_writable([save.parent])
        if save.is_dir():
            raise ConfigError(f"{AUDIT}: --save: {save} is a folder: name a file")

    def work() -> tuple[int, list[str]]:
        try:
            claim = Claim(rounds, rounds if window is None else window, **claimed)
            return _judged(mechanism, claim, sums, save, in_json)
        except ConfigError as error:
            return child.REFUSED, list(error.problems)

    return child.judged(work, mechanism, child.Bounds(minutes, gigabytes, ("--minutes", "--gigabytes")))


def _judged(mechanism: str, claim: Claim, sums: bool, save: Path | None, in_json: bool) -> tuple[int, list[str]]:
    """Exit code and page."""
    verdict = audited(mechanism, claim, sums)
    if save is not None:
        ones = np.tril(np.ones((claim.rounds, claim.rounds)))
        np.savez(save, A=ones, B=verdict.noise, item_mu=verdict.item_mu, age_mu=verdict.age_mu)
    code = {"keeps": 0, "violates": 1, "undecided": 2}[verdict.verdict]
    if in_json:
        return code, [as_json({"mechanism": mechanism, **verdict.answer}).rstrip("\n")]
    return code, [str(verdict)]
