"""The banded root over a known horizon: like the banded inverse root made for many participations."""

from dataclasses import dataclass

import numpy as np

from dpregret.algorithms.privacy.series import reciprocal, root_coefficients
from dpregret.algorithms.privacy.toeplitz import OverHorizon
from dpregret.numerics.arrays import Array


@dataclass(frozen=True)
class BandedRoot(OverHorizon):
    """c_j = f_j for j < p, 0 after that (Kalinin & Lampert 2024), h = 1 / ((1 - x) c): `nodes_per_item` = G_p.

    An item is in p measurements only, so that items p rounds apart share none. For one participation it is poor
    unless the band is about the horizon. Raises ValueError for fewer than one band.
    """

    bands: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bands < 1:
            raise ValueError(f"bands must be at least 1, got {self.bands}")

    def strategy_coefficients(self, count: int) -> Array:
        """f_j for j < p, 0 after that."""
        known = root_coefficients(min(count, self.bands))
        return np.concatenate([known, np.zeros(count - len(known))])

    def noise_coefficients(self, count: int) -> Array:
        """Running sums of the coefficients of 1 / c."""
        found: Array = np.cumsum(reciprocal(self.strategy_coefficients(count), count))
        return found
