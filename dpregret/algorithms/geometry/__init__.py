"""Constraint sets, their oracles (linear, local linear, projection), Gaussian widths and potentials."""

from dpregret.algorithms.geometry.ball import Ball
from dpregret.algorithms.geometry.box import Box
from dpregret.algorithms.geometry.counted import CountedSet, Tally
from dpregret.algorithms.geometry.dag import grid_edges, layered_edges
from dpregret.algorithms.geometry.flow import FlowPolytope
from dpregret.algorithms.geometry.grouped import GroupedL1Ball
from dpregret.algorithms.geometry.hypersimplex import Hypersimplex
from dpregret.algorithms.geometry.interpolation import InterpolationBall
from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.matrices import NuclearBall, Spectrahedron
from dpregret.algorithms.geometry.polytope import VertexPolytope
from dpregret.algorithms.geometry.potential import Potential
from dpregret.algorithms.geometry.registry import POTENTIALS, SETS, make_potential, make_set
from dpregret.algorithms.geometry.simplex import Simplex
from dpregret.algorithms.geometry.width import gaussian_width
from dpregret.core.sets import ConstraintSet, LocalOracle, UnsupportedSet

__all__ = [
    "POTENTIALS",
    "SETS",
    "Ball",
    "Box",
    "ConstraintSet",
    "CountedSet",
    "FlowPolytope",
    "GroupedL1Ball",
    "Hypersimplex",
    "InterpolationBall",
    "L1Ball",
    "LocalOracle",
    "NuclearBall",
    "Potential",
    "Simplex",
    "Spectrahedron",
    "Tally",
    "UnsupportedSet",
    "VertexPolytope",
    "gaussian_width",
    "grid_edges",
    "layered_edges",
    "make_potential",
    "make_set",
]
