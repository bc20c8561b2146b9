"""The lower bound for windows: its certificate, and what solvers find that know nothing of it."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from dpregret.algorithms.privacy import WindowTree
from dpregret.algorithms.privacy.audit import materialise, protected_nodes
from dpregret.algorithms.privacy.series import landau, reciprocal, root_coefficients
from dpregret.algorithms.privacy.toeplitz import (
    Root,
    WindowRoot,
    sequence_lower_bound,
    window_lower_bound,
    window_optimum,
)
from dpregret.numerics.arrays import Array

BOUNDS = {2**10: 8.46388, 2**12: 11.22138, 2**14: 14.37082, 2**16: 17.91061, 2**18: 21.84016, 2**20: 26.15925}


def landau_extremal(window: int, count: int) -> Array:
    """u_0..u_{count-1} of x^(W-1) P(1/x) / P(x), P the root up to x^(W-1).

    The modulus is 1 on the circle, and u_0 + ... + u_{W-1} = G_W (Landau 1913).
    """
    polynomial = root_coefficients(window)
    inverse = reciprocal(np.concatenate([polynomial, np.zeros(max(0, count - window))]), count)
    return np.asarray(np.convolve(inverse, polynomial[::-1])[:count])


@pytest.mark.parametrize("window", [1, 2, 5, 16, 64])
def test_certificate(window: int) -> None:
    """A contraction whose rows weigh the protected items of a round by G_W."""
    rounds = 4 * window + 3
    u = landau_extremal(window, rounds)
    assert u[:window].sum() == pytest.approx(landau(window), rel=1e-12)
    lag = np.arange(rounds)[:, None] - np.arange(rounds)
    rows = np.where(lag >= 0, u[np.abs(lag)], 0.0)
    assert np.linalg.norm(rows, 2) <= 1 + 1e-12
    circle = np.exp(2j * np.pi * np.arange(4096) / 4096)
    assert np.abs(np.polyval(landau_extremal(window, 3000)[::-1], circle[::512])) == pytest.approx(np.ones(8), abs=1e-6)


def protection(covariance: cp.Expression, rounds: int, window: int) -> list[cp.Constraint]:
    """Items in the window of every round: corner of the covariance >= a a^T, by Schur equivalent to a^T C^-1 a <= 1."""
    found = []
    for now in range(1, rounds + 1):
        for oldest in range(max(0, now - window), now if now == rounds else max(0, now - window) + 1):
            shift = (np.arange(now) >= oldest).astype(float)[:, None]
            found.append(covariance[:now, :now] - shift @ shift.T >> 0)
    return found


@pytest.mark.parametrize(("window", "rounds"), [(2, 10), (4, 16)])
def test_no_covariance_is_better(window: int, rounds: int) -> None:
    """A semidefinite program over all covariances, no structure given."""
    covariance = cp.Variable((rounds, rounds), symmetric=True)
    problem = cp.Problem(cp.Minimize(cp.trace(covariance) / rounds), protection(covariance, rounds, window))
    problem.solve(solver="CLARABEL")
    assert window_lower_bound(window, rounds) <= problem.value <= window_optimum(window)
    inner = np.diag(covariance.value)[2 * window : -window]
    assert inner == pytest.approx(np.full(len(inner), window_optimum(window)), rel=0.005)


@pytest.mark.parametrize("window", [4, 16, 64])
def test_mechanisms_stay_above_the_bound(window: int) -> None:
    rounds = 6 * window
    for mechanism in (WindowRoot(window), WindowTree(window)):
        noise = materialise(mechanism, rounds)
        error = protected_nodes(noise, window) * np.square(noise).sum(axis=1).mean()
        assert error >= window_lower_bound(window, rounds) > 0
    assert WindowRoot(window).nodes_per_item * WindowRoot(window).noisy_nodes(2 * window)[-1] == window_optimum(window)
    assert window_lower_bound(window, window // 2) == 0


@pytest.mark.parametrize(("horizon", "bound"), BOUNDS.items())
def test_bound_for_whole_sequences(horizon: int, bound: float) -> None:
    assert sequence_lower_bound(horizon - 1) == pytest.approx(bound, abs=6e-6)
    root = Root(horizon)
    assert bound < root.nodes_per_item * root.noisy_nodes(horizon - 1).mean()
    if horizon == 2**10:
        values = np.linalg.svd(np.tril(np.ones((horizon - 1, horizon - 1))), compute_uv=False)
        assert values.mean() ** 2 == pytest.approx(bound, abs=6e-6)
