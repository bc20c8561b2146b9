"""The noise that a play really releases against the ledger: its covariance over rounds, coordinates and runs, its law,
and what an item loses by it. Every private learner that adds noise, in every variant; found, not listed.

Bounds are those of sampling at a false alarm of 1e-9 each: of chi-square and of normal laws, exact for Gaussian noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import released
from released import ONE_PASS, Released
from scipy import stats
from scipy.linalg import solve_triangular

from dpregret.algorithms.erm.polytope_frank_wolfe import CornerFrankWolfe
from dpregret.algorithms.erm.variance_reduced_frank_wolfe import VarianceReducedFrankWolfe
from dpregret.algorithms.experts.adaptive import AdaptiveExperts
from dpregret.algorithms.experts.counters import TreeCounterExperts
from dpregret.algorithms.experts.epoch_leader import EpochLeader
from dpregret.algorithms.experts.hedge import ExactHedge
from dpregret.algorithms.experts.sparse_vector import SparseVectorExperts
from dpregret.algorithms.online.lazy_points import LazyPoints
from dpregret.algorithms.online.private_switching import SwitchingLearner
from dpregret.workflows.families import FAMILIES

Array = np.ndarray[Any, np.dtype[np.float64]]
RARE = 1e-9
SIGMAS = float(stats.norm.isf(RARE / 2))
CHOOSERS = (AdaptiveExperts, CornerFrankWolfe, EpochLeader, ExactHedge, LazyPoints, SparseVectorExperts,
            SwitchingLearner, TreeCounterExperts, VarianceReducedFrankWolfe)  # fmt: skip
"""They release choices, no sums: test_released_choices.py has their laws, or their own test."""
CAPTURES: dict[str, Callable[[Any, str], Released]] = {
    "online": released.online, "experts": released.experts, "bandits": released.bandits, "erm": released.erm,
}  # fmt: skip
ADDERS = [
    (family, name, variant)
    for family, held in FAMILIES.items()
    for name, kind in held.learners.items()
    if kind.card.private and not issubclass(kind, CHOOSERS)
    for variant in kind.card.variants
]


@pytest.mark.parametrize(("family", "name", "variant"), ADDERS)
def test_released_noise_is_that_of_the_ledger(family: str, name: str, variant: str) -> None:
    kind = FAMILIES[family].learners[name]
    fits(ONE_PASS.get(kind, CAPTURES[family])(kind, variant))


def fits(found: Released) -> None:
    assert found.noise.any()
    covariance_is_declared(found)
    if found.ledger.distribution == "gaussian":
        loss_is_paid_for(found)
    elif found.ledger.distribution != "mixed":
        one_noise_has_its_law(found)


WINDOWED = [("wdp-cocop-gaussian", "corrected"), ("wdp-cocop-gaussian", "root"), ("wdp-cocop-gaussian", "buffers")]
SEQUENCES = [("dp-ftrl", "corrected"), ("dp-ftrl", "corrected-reduced"), ("dp-ftrl", "root"), ("dp-ftrl", "buffers"),
             ("pftal", "printed"), ("pqftl", "corrected"), ("ftal-endless", "corrected")]  # fmt: skip


@pytest.mark.parametrize(("name", "variant"), WINDOWED)
@pytest.mark.parametrize(("window", "rounds"), [(1, 7), (2, 9), (3, 11), (5, 13), (16, 5), (16, 43), (64, 133)])
def test_windows_of_any_length(name: str, variant: str, window: int, rounds: int) -> None:
    """One round, windows longer than the play, some windows, and those that fill whole blocks of draws."""
    if variant == "corrected" and window & (window - 1):
        window -= 1  # trees take powers of two
    fits(released.online(FAMILIES["online"].learners[name], variant, window, rounds))


@pytest.mark.parametrize(("name", "variant"), SEQUENCES)
@pytest.mark.parametrize("rounds", [3, 9, 70])
def test_sequences_of_any_length(name: str, variant: str, rounds: int) -> None:
    """Just beyond a power of two, where a level more is needed, and beyond a block of draws."""
    fits(released.online(FAMILIES["online"].learners[name], variant, rounds=rounds))


def covariance_is_declared(found: Released) -> None:
    """Made white by the declared law, no two of (round, coordinate) are correlated, no two runs are, and all have the
    variance of a unit draw.
    """
    rounds, runs, dimension = found.noise.shape
    square = {"gaussian": 1.0, "gamma": dimension + 1.0}.get(found.ledger.distribution, 2.0)
    factor = np.linalg.cholesky(found.law @ found.law.T) * np.sqrt(square)
    white = solve_triangular(factor, found.noise.reshape(rounds, -1), lower=True)
    pooled(white, np.eye(rounds))
    cells = white.reshape(rounds, runs, dimension).swapaxes(1, 2).reshape(-1, runs)
    if len(cells) < runs:
        pooled(cells, np.eye(len(cells)))
    unit = white.reshape(rounds, runs, dimension).swapaxes(0, 1).reshape(runs, -1)
    length = np.linalg.norm(unit, axis=1)
    alike = np.abs(unit @ unit.T / np.outer(length, length) - np.eye(runs))
    assert alike.max() < 1 - 1e-6, "two runs have the same noise"
    means = (unit @ np.roll(unit, 1, axis=0).T).diagonal()
    assert abs(means.mean()) < SIGMAS * means.std() / np.sqrt(runs), "runs are correlated"


def pooled(samples: Array, covariance: Array) -> None:
    """Samples (features, count) of mean 0 have this covariance: every entry within its standard errors."""
    count = samples.shape[1]
    mean = samples @ samples.T / count
    spread = np.sqrt(np.maximum(np.square(samples) @ np.square(samples).T / count - np.square(mean), 1e-12) / count)
    off = np.abs(mean - covariance) / spread
    worst = np.unravel_index(np.argmax(off), off.shape)
    assert off.max() < SIGMAS * (1 + 10 / np.sqrt(count)), (worst, mean[worst], covariance[worst])


def loss_is_paid_for(found: Released) -> None:
    """mu^2 of each item, a' S^-1 a with S the measured covariance, within N / chi-square of what is declared, and for
    protected ones not above the ledger. Of all lengths of the transcript.

    Of N samples a' S^-1 a is N a' C^-1 a over a chi-square variable of N - (length) + 1 degrees, C the covariance.
    """
    rounds = len(found.noise)
    samples = found.noise.reshape(rounds, -1)
    count = samples.shape[1]

    def losses(covariance: Array) -> Array:
        """(lengths, items): squared, for sensitivity 1."""
        whitened = solve_triangular(np.linalg.cholesky(covariance), found.sums, lower=True)
        return np.asarray(np.cumsum(np.square(whitened), axis=0))

    measured, declared = losses(samples @ samples.T / count), losses(found.law @ found.law.T)
    freedom = count - np.arange(1, rounds + 1)[:, None] + 1
    low, high = (measured * stats.chi2.ppf(level, freedom) / count for level in (RARE, 1 - RARE))
    assert (low <= declared * (1 + 1e-9)).all()
    assert (declared <= high * (1 + 1e-9)).all()
    paid = found.ledger.nodes / found.ledger.scale**2
    first = found.sums.argmax(axis=0)  # where an item is first released
    age = np.arange(rounds)[:, None] - first
    protected = (age >= 0) & (age < (found.window or rounds))
    assert (declared[protected] <= paid * (1 + 1e-9)).all()
    assert (low[protected] <= paid).all()


def one_noise_has_its_law(found: Released) -> None:
    """Where the first release carries one noise, its norm is Gamma(d), or its coordinates are Laplace."""
    scales = found.law[0][found.law[0] != 0]
    if len(scales) > 1:  # padded
        return
    first = found.noise[0] / scales[0]
    if found.ledger.distribution == "gamma":
        assert stats.kstest(np.linalg.norm(first, axis=-1), stats.gamma(first.shape[-1]).cdf).pvalue > RARE
    else:
        assert stats.kstest(first.ravel(), stats.laplace.cdf).pvalue > RARE


def test_every_private_learner_is_measured() -> None:
    """Whoever is no chooser has a captured sum; a new learner fails above until it has one."""
    private = {
        (family, name) for family, held in FAMILIES.items() for name, kind in held.learners.items() if kind.card.private
    }
    assert {(family, name) for family, name, _ in ADDERS} <= private
    assert len(private) > 30
