"""Constraint sets and their oracles: linear, local linear, and Euclidean projection."""

from dpregret.algorithms.geometry.ball import Ball
from dpregret.algorithms.geometry.base import Array, ConstraintSet, LocalOracle, UnsupportedSet
from dpregret.algorithms.geometry.box import Box
from dpregret.algorithms.geometry.counted import CountedSet, Tally
from dpregret.algorithms.geometry.dag import grid_edges, layered_edges
from dpregret.algorithms.geometry.flow import FlowPolytope
from dpregret.algorithms.geometry.hypersimplex import Hypersimplex
from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.registry import SETS, make_set
from dpregret.algorithms.geometry.simplex import Simplex

__all__ = [
    "SETS",
    "Array",
    "Ball",
    "Box",
    "ConstraintSet",
    "CountedSet",
    "FlowPolytope",
    "Hypersimplex",
    "L1Ball",
    "LocalOracle",
    "Simplex",
    "Tally",
    "UnsupportedSet",
    "grid_edges",
    "layered_edges",
    "make_set",
]
