"""Constraint sets, their oracles (linear, local linear, projection), Gaussian widths and potentials, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dpregret.algorithms.geometry.ball import Ball
from dpregret.algorithms.geometry.box import Box
from dpregret.algorithms.geometry.flow import FlowPolytope, grid_edges, layered_edges
from dpregret.algorithms.geometry.grouped import GroupedL1Ball
from dpregret.algorithms.geometry.hypersimplex import Hypersimplex
from dpregret.algorithms.geometry.interpolation import InterpolationBall
from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.matrices import NuclearBall, Spectrahedron
from dpregret.algorithms.geometry.polytope import SignPolytope, VertexPolytope
from dpregret.algorithms.geometry.potential import POTENTIALS, Potential, make_potential
from dpregret.algorithms.geometry.set_kinds import CountedSet, Tally
from dpregret.algorithms.geometry.simplex import Simplex
from dpregret.algorithms.geometry.submodular import CoveragePolytope, PartitionMatroid, Permutahedron, SpanningTrees
from dpregret.algorithms.geometry.width import gaussian_width
from dpregret.core.errors import not_allowed
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

SETS: dict[str, Callable[..., ConstraintSet]] = {
    kind.name: kind
    for kind in (
        Ball,
        L1Ball,
        Simplex,
        Box,
        Hypersimplex,
        FlowPolytope,
        GroupedL1Ball,
        InterpolationBall,
        NuclearBall,
        Spectrahedron,
        VertexPolytope,
        SignPolytope,
        Permutahedron,
        PartitionMatroid,
        SpanningTrees,
        CoveragePolytope,
    )
}


def make_set(name: str, dimension: int, **options: Any) -> ConstraintSet:
    """Build the constraint set `name` in R^dimension; options are those of its class (radius, rank, edges...).

    Raises ValueError, saying what is allowed and what is nearest, for an unknown name or option, a dimension
    that is not a positive integer, or one that the set cannot have.
    """
    if name not in SETS:
        raise ValueError(not_allowed("constraint set", name, SETS))
    build = SETS[name]
    if options:
        known = [option for option in inspect.signature(build).parameters if option != "dimension"]
        for option in options:
            if option not in known:
                raise ValueError(not_allowed(f"option of the set {name!r}:", option, known))
    return build(dimension, **options)
