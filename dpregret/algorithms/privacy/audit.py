"""Exact audit of Gaussian prefix-sum mechanisms: what the whole transcript reveals about one item.

The outputs of rounds 1..T are A v + sigma B z: A the lower triangular matrix of ones, B which node noises enter which
output. Replacing item i (moving it by `sensitivity`) is told apart from the transcript as one Gaussian from another
whose means differ by `sensitivity` A e_i under covariance sigma^2 B B^T, so the transcript is exactly mu_i-GDP with
mu_i = (sensitivity / sigma) sqrt( [A^T (B B^T)^-1 A]_ii ). It holds for adaptive streams too.
"""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import linprog

from dpregret.algorithms.privacy.prefix_sums import BLOCK, PrefixSums
from dpregret.numerics.arrays import Array


def materialise(mechanism: PrefixSums, rounds: int) -> Array:
    """The matrix B, (rounds, node noises drawn), read off the very code of plays.

    Unit vectors take the place of random draws: the output shows which draws enter it and with which factor.
    """
    blocks = -(-rounds // BLOCK)

    def outputs(draws: int) -> tuple[Array, int]:
        """For unit vectors of the given length, one a draw; and how many were drawn."""
        used = 0

        def identity(count: int) -> Array:
            nonlocal used
            units = np.eye(count, draws, used)[:, None, :]
            used += count
            return units

        state, units, found = mechanism.init(BLOCK, 1, draws), np.empty((BLOCK, 1, draws)), []
        for _ in range(blocks):  # the next block's draws lie where this one's did, as in a play
            units[...] = identity(BLOCK)
            found.append(mechanism.next(state, units, identity).copy())
        return np.concatenate(found), used

    _, drawn = outputs(1)
    return outputs(drawn)[0][:rounds, 0]


def item_mu(mechanism: PrefixSums, rounds: int) -> Array:
    """Exact Gaussian-DP parameter of every item 1..rounds, for sensitivity / sigma = 1, after `rounds` outputs.

    In-window items of a window tree have at most sqrt(log2 W + 1); expired items keep a finite loss whose
    square grows linearly with their age, by one to two nodes' worth a window.
    """
    noise = materialise(mechanism, rounds)
    sums = np.tril(np.ones((rounds, rounds)))
    whitened = np.linalg.solve(np.linalg.cholesky(noise @ noise.T), sums)
    losses: Array = np.sqrt(np.square(whitened).sum(axis=0))
    return losses


def transcript_losses(noise: Array) -> Array:
    """Squared Gaussian-DP parameter of item i given outputs 1..t, at [t-1, i-1], for sensitivity / sigma = 1.

    noise: the matrix B, (rounds, draws), of full row rank. 0 for items of later rounds. The Cholesky factor of the
    covariance of fewer outputs is a corner of that of more, so one factor answers for all horizons.
    Raises numpy.linalg.LinAlgError where an output is a combination of earlier ones.
    """
    rounds = len(noise)
    whitened = solve_triangular(np.linalg.cholesky(noise @ noise.T), np.tril(np.ones((rounds, rounds))), lower=True)
    losses: Array = np.cumsum(np.square(whitened), axis=0)
    return losses


def protected_nodes(noise: Array, window: int) -> float:
    """The least valid `nodes_per_item`: the largest squared loss of an item that is at most window - 1 old."""
    rounds = np.arange(len(noise))
    age = rounds[:, None] - rounds
    return float(transcript_losses(noise)[(age >= 0) & (age < window)].max())


def item_pure_loss(mechanism: PrefixSums, rounds: int) -> Array:
    """Exact pure loss of every item 1..rounds, for a change of one in one coordinate under Laplace(1) noise.

    The transcript y = B v has a density of order exp(-|y|) far out, |y| the least |v|_1 with B v = y. So its largest
    log ratio is the least |v|_1 with B v = A e_i: never passed, since v may be added to the draws, and the limit along
    the ray of A e_i. Where B is square (one new noise a round, as in plain trees) there is one v. NaN where the outputs
    do not have full rank.
    """
    noise = materialise(mechanism, rounds)
    noise = noise[:, noise.any(axis=0)]  # draws that enter no output
    if np.linalg.matrix_rank(noise) < rounds:
        return np.full(rounds, np.nan)
    sums, draws = np.tril(np.ones((rounds, rounds))), noise.shape[1]
    if rounds == draws:
        losses: Array = np.abs(np.linalg.solve(noise, sums)).sum(axis=0)
        return losses
    both, costs = np.hstack([noise, -noise]), np.ones(2 * draws)  # v as the difference of two that are not negative
    return np.array([linprog(costs, A_eq=both, b_eq=item, method="highs").fun for item in sums.T])
