"""Constraint sets, their oracles (linear, local linear, projection), Gaussian widths and potentials, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dpregret.algorithms.geometry.ball import Ball
from dpregret.algorithms.geometry.box import Box
from dpregret.algorithms.geometry.counted import CountedSet, Tally
from dpregret.algorithms.geometry.flow import FlowPolytope, grid_edges, layered_edges
from dpregret.algorithms.geometry.grouped import GroupedL1Ball
from dpregret.algorithms.geometry.hypersimplex import Hypersimplex
from dpregret.algorithms.geometry.interpolation import InterpolationBall
from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.matrices import NuclearBall, Spectrahedron
from dpregret.algorithms.geometry.polytope import SignPolytope, VertexPolytope
from dpregret.algorithms.geometry.potential import (
    EuclideanPotential,
    GroupedPotential,
    Potential,
    QNormPotential,
    SignedEntropy,
    SimplexEntropy,
    SpectralPotential,
    VertexEntropy,
)
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
    each.name: each
    for each in (
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

POTENTIALS: dict[str, dict[type[object], Callable[[Any], Potential]]] = {
    "entropy": {Simplex: SimplexEntropy, L1Ball: SignedEntropy, VertexPolytope: VertexEntropy},
    "grouped": {GroupedL1Ball: GroupedPotential},
    "spectral": {NuclearBall: SpectralPotential},
    "q-norm": {L1Ball: QNormPotential},
    "euclidean": {ConstraintSet: EuclideanPotential},
}
"""Potentials by name and kind of set; the first that fits a set is the one made for its geometry."""


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


def make_potential(constraint_set: ConstraintSet, name: str | None = None) -> Potential:
    """Build a potential on the set; without a name the one made for its geometry, Euclidean where there is none.

    A Euclidean step on a CountedSet counts as a projection; other steps are not calls of the set. Raises
    ValueError for an unknown name and UnsupportedSet where the set has no such potential.
    """
    inner = constraint_set.inner if isinstance(constraint_set, CountedSet) else constraint_set
    fitting = {
        potential: build
        for potential, builds in POTENTIALS.items()
        for kind, build in builds.items()
        if isinstance(inner, kind)
    }
    if name is None:
        name = next(iter(fitting))
    if name not in POTENTIALS:
        raise ValueError(not_allowed("potential", name, POTENTIALS))
    if name not in fitting:
        raise UnsupportedSet(f"the set {inner.name!r} has no potential {name!r}; allowed: {', '.join(fitting)}")
    return fitting[name](constraint_set if name == EuclideanPotential.name else inner)
