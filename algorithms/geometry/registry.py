"""Constraint sets by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from dpregret.algorithms.geometry.ball import Ball
from dpregret.algorithms.geometry.base import ConstraintSet
from dpregret.algorithms.geometry.box import Box
from dpregret.algorithms.geometry.flow import FlowPolytope
from dpregret.algorithms.geometry.hypersimplex import Hypersimplex
from dpregret.algorithms.geometry.l1_ball import L1Ball
from dpregret.algorithms.geometry.simplex import Simplex

SETS: dict[str, Callable[..., ConstraintSet]] = {
    each.name: each for each in (Ball, L1Ball, Simplex, Box, Hypersimplex, FlowPolytope)
}


def make_set(name: str, dimension: int, **options: Any) -> ConstraintSet:
    """Build the constraint set `name` in R^dimension; options are those of its class (radius, rank, edges...).

    Raises ValueError, saying what is allowed and what is nearest, for an unknown name or option, a dimension
    that is not a positive integer, or one that the set cannot have.
    """
    if name not in SETS:
        raise ValueError(f"unknown constraint set {name!r}; {_allowed(name, list(SETS))}")
    build = SETS[name]
    known = [option for option in inspect.signature(build).parameters if option != "dimension"]
    for option in options:
        if option not in known:
            raise ValueError(f"unknown option {option!r} of the set {name!r}; {_allowed(option, known)}")
    return build(dimension, **options)


def _allowed(wanted: str, known: list[str]) -> str:
    """Say what is allowed and, where one is close, what was probably meant."""
    nearest = difflib.get_close_matches(str(wanted), known, n=1, cutoff=0.4)
    return f"allowed: {', '.join(known) or 'none'}" + (f"; nearest: {nearest[0]}" if nearest else "")
