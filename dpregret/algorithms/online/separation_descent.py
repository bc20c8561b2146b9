"""Descent that is pulled back along violated hyperplanes: a separation oracle instead of projections.

Algorithm   After Garber & Kretzu 2022, simplified, with our own constants. The set holds a ball of radius r around
            its center and lies within R of it, both within its affine hull.
            line 1  y_1 the center, eta = R / (B sqrt(T)), delta = min(1, R / (r sqrt(T)))
            line 2  for t = 1..T: play y_t, release hat g_t = grad f_t(y_t) + xi_t (plain: xi_t = 0)
            line 3    y = y_t - eta hat g_t, of which the part within the hull counts
            line 4    while the oracle says that y lies outside, and separates it by a hyperplane of normal nu:
            line 5      y <- y - delta r nu / |nu|
            line 6    y_{t+1} = y
Privacy     Unit: one loss, whole sequence; neighbours: it is replaced by another, which moves a gradient by at most
            2 L. hat g_t is the one Gaussian release of an item (projected_descent.py), the rest is post-processing.
Guarantee   The set shrunk by 1 - delta lies at least delta r behind the hyperplane, so that a pull takes at least
            (delta r)^2 from the squared distance to each of its points; they cost delta R L a round more than those
            of the set. Hence E[regret] <= R^2/(2 eta) + eta t B^2/2 + delta R L t: (B + (R/r) L) R sqrt(T) after T
            rounds, where B^2 = L^2 + d' sigma^2, d' the dimension of the hull, for losses chosen in advance.
            Calls: a step raises the squared distance to the shrunk set, at most (delta R)^2 before, by
            2 delta R eta |hat g| + (eta |hat g|)^2: where delta < 1 at most 2 R/r + 1 pulls a round in the mean.
Deviations  Our delta and eta; one gradient a step where the paper has blocks. The private version is ours.
"""

import numpy as np
from numpy.typing import NDArray

from dpregret.algorithms.learner import Card
from dpregret.algorithms.online.projected_descent import GradientDescent, columns, noised
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled
from dpregret.numerics.sums import dot


class SeparationDescent(GradientDescent):
    """A separation oracle, a few times a round."""

    card = Card(
        name="separation-descent",
        title="separation descent",
        paper="Garber & Kretzu 2022",
        reference="New projection-free algorithms for online convex optimization, separation oracle, simplified",
        variants={"plain": "eta = R / (L sqrt(T)), delta = R / (r sqrt(T))"},
        private=False,
        anytime=False,
        convex=True,
    )

    def prepare(self) -> None:
        super().prepare()
        self.separation = self.domain.separation()
        self.inner = self.domain.inner_radius()
        self.shrinking = min(1.0, self.outer_radius / (self.inner * np.sqrt(self.horizon)))  # line 1

    @property
    def most_calls(self) -> float:
        """2 R/r + 2; NaN where the horizon is too short."""
        return 2 * self.outer_radius / self.inner + 2 if self.shrinking < 1.0 else np.nan

    def descend(self, released: Array) -> None:  # line 2
        """One step, then pulls until the point is in the set again."""
        moved = self.point - self.center - columns(self.step) * self.domain.along_hull(released)  # line 3
        rows = moved.reshape(-1, moved.shape[-1])
        active = np.arange(len(rows))
        while len(active):  # line 4
            active = pull(rows, active, self.separation(rows[active]), self.shrinking * self.inner)  # line 5
        self.point = self.center + rows.reshape(moved.shape)  # line 6

    def bound(self, rounds: int) -> Array:
        """R^2/(2 eta) + eta t B^2/2 + delta R L t."""
        shrunk = self.shrinking * self.outer_radius * self.lipschitz * np.arange(1.0, rounds + 1)
        return super().bound(rounds) + shrunk


@compiled
def pull(rows: Array, active: NDArray[np.int64], normals: Array, length: float) -> NDArray[np.int64]:
    """Line 5 for the rows (n, d) named by `active`, in place: those with a normal, of (active, d), that is not zero."""
    moved = 0
    outside = np.empty_like(active)
    for index in range(len(active)):
        row, normal = active[index], normals[index]
        square = dot(normal, normal)
        if square > 0.0:
            for k in range(len(normal)):
                rows[row, k] -= length * (normal[k] / np.sqrt(square))
            outside[moved] = row
            moved += 1
    return outside[:moved]


class PrivateSeparationDescent(SeparationDescent):
    """Every gradient noised once."""

    card = noised(SeparationDescent.card, "separation descent on noisy gradients")
