"""Losses of one round, one file a loss: its data and its text."""

from dpregret.datasets.losses.affine import Affine
from dpregret.datasets.losses.direction_kink import DirectionKink
from dpregret.datasets.losses.direction_square import DirectionSquare
from dpregret.datasets.losses.entry import Entry
from dpregret.datasets.losses.form import Form
from dpregret.datasets.losses.half_space import HalfSpace
from dpregret.datasets.losses.linear import Linear
from dpregret.datasets.losses.norm_kink import NormKink
from dpregret.datasets.losses.quadratic import Quadratic
from dpregret.datasets.losses.ridge_logistic import RidgeLogistic
from dpregret.datasets.losses.ridge_squared import RidgeSquared
from dpregret.datasets.losses.sum import Sum

__all__ = [
    "Affine",
    "DirectionKink",
    "DirectionSquare",
    "Entry",
    "Form",
    "HalfSpace",
    "Linear",
    "NormKink",
    "Quadratic",
    "RidgeLogistic",
    "RidgeSquared",
    "Sum",
]
