import subprocess
import sys

import numpy as np
import pytest

from dpregret.algorithms.geometry import SETS, ConstraintSet, UnsupportedSet, grid_edges, make_potential, make_set

SMALLEST = {"ball": 1, "l1-ball": 1, "simplex": 2, "box": 1, "hypersimplex": 2, "flow": 4, "grouped-l1": 1}
SMALLEST |= {"interpolation": 1, "nuclear": 1, "spectrahedron": 4, "polytope": 1, "sign-polytope": 1}
SMALLEST |= {"permutahedron": 2, "partition-matroid": 4, "spanning-trees": 3, "coverage": 4}
LARGER = dict.fromkeys(SMALLEST, 12) | {"nuclear": 16, "spectrahedron": 16, "spanning-trees": 15}


@pytest.mark.parametrize("name", list(SETS))
def test_make_set_builds_every_name(name):
    for dimension in (SMALLEST[name], np.int64(LARGER[name])):
        constraint_set = make_set(name, dimension)
        assert isinstance(constraint_set, ConstraintSet)
        assert constraint_set.name == name
        assert constraint_set.dimension == dimension
        assert type(constraint_set.dimension) is int
        assert constraint_set.center().shape == constraint_set.target().shape == (dimension,)


@pytest.mark.parametrize("name", list(SETS))
@pytest.mark.parametrize("dimension", [0, -3, 2.5, "8", True])
def test_impossible_dimensions_name_the_set_and_the_smallest(name, dimension):
    with pytest.raises(ValueError, match=f"'{name}'.*{SMALLEST[name]}"):
        make_set(name, dimension)


@pytest.mark.parametrize(
    ("name", "dimension", "options", "named"),
    [
        ("l1ball", 3, {}, "'l1-ball'"),
        ("ball", 3, {"radus": 2.0}, "'radius'"),
        ("simplex", 3, {"radius": 2.0}, "'radius'"),
        ("flow", 5, {}, "4 and 12"),
        ("flow", 39, {}, "24 and 40"),
        ("flow", 24, {"edges": grid_edges(3)}, "12"),
        ("flow", 4, {"edges": [(0, 1), (1, 2), (2, 1), (2, 3)]}, "cycle"),
        ("flow", 2, {"edges": [(0, 2), (1, 2)]}, r"\[0, 1\]"),
        ("flow", 2, {"edges": [(0, 1), (0, 2)]}, r"\[1, 2\]"),
        ("flow", 2, {"edges": [(0, 1), (1, 2)]}, "single path"),
        ("spanning-trees", 7, {}, "6 and 10"),
        ("nuclear", 5, {}, "4 and 9"),
        ("spectrahedron", 99, {}, "81 and 100"),
        ("hypersimplex", 4, {"rank": 4}, "rank"),
        ("hypersimplex", 4, {"rank": 0}, "rank"),
        ("ball", 4, {"radius": 0.0}, "radius"),
        ("l1-ball", 4, {"radius": float("nan")}, "radius"),
        ("grouped-l1", 4, {"block_size": 3}, "block_size"),
        ("interpolation", 4, {"mixing": 1.5}, "mixing"),
        ("polytope", 4, {"vertices": [[0.0, 1.0], [1.0, 0.0]]}, "vertices"),
        ("polytope", 4, {"vertices": [1.0, 2.0]}, "shape"),
        ("polytope", 4, {"vertices": np.ones((3, 4))}, "different points"),
        ("polytope", 4, {"vertices": np.full((2, 4), np.inf)}, "finite"),
        ("sign-polytope", 4, {"corners": 7}, "even number"),
        ("sign-polytope", 4, {"corners": 18}, "16"),
        ("box", 4, {"lower": 1.0, "upper": 1.0}, "lower < upper"),
        ("box", 4, {"upper": float("inf")}, "finite"),
        ("partition-matroid", 4, {"block_size": 1}, "block_size"),
        ("partition-matroid", 4, {"block_size": 3}, "multiple"),
        ("coverage", 4, {"width": 1}, "width"),
        ("coverage", 4, {"width": 4}, "at least 5"),
        ("coverage", 13, {}, "4 to 12"),
    ],
)
def test_what_is_impossible_is_named_with_what_is_allowed(name, dimension, options, named):
    with pytest.raises(ValueError, match=named):
        make_set(name, dimension, **options)


def test_default_block_size_divides_the_dimension():
    sizes = [make_set("grouped-l1", dimension).block_size for dimension in (1, 2, 5, 9, 12, 64)]
    assert sizes == [1, 2, 1, 3, 4, 4]


@pytest.mark.parametrize("name", ["grouped-l1", "interpolation", "nuclear", "spectrahedron", "polytope"])
def test_sets_without_local_oracle_refuse(name):
    with pytest.raises(UnsupportedSet, match=f"'{name}' has no local linear oracle"):
        make_set(name, 16).local_oracle()


def test_potentials_by_name():
    assert make_potential(make_set("l1-ball", 4)).name == "entropy"
    assert make_potential(make_set("l1-ball", 4), "euclidean").name == "euclidean"
    for set_name, expected in [("ball", "euclidean"), ("interpolation", "euclidean"), ("hypersimplex", "euclidean")]:
        assert make_potential(make_set(set_name, 4)).name == expected
    for set_name, expected in [("grouped-l1", "grouped"), ("nuclear", "spectral"), ("simplex", "entropy")]:
        assert make_potential(make_set(set_name, 4)).name == expected
    with pytest.raises(ValueError, match=r"unknown potential 'entropie', allowed: .*; did you mean 'entropy'"):
        make_potential(make_set("simplex", 4), "entropie")
    with pytest.raises(UnsupportedSet, match="'ball' has no potential 'entropy'; allowed: euclidean"):
        make_potential(make_set("ball", 4), "entropy")


def test_importing_and_using_the_sets_loads_no_solver():
    program = f"""
import sys
from dpregret.algorithms.geometry import SETS, UnsupportedSet, make_potential, make_set

for name in SETS:
    constraint_set = make_set(name, {LARGER}[name])
    constraint_set.linear_oracle(constraint_set.target())
    make_potential(constraint_set)
    try:
        constraint_set.local_oracle()
    except UnsupportedSet:
        pass
print(sorted({{"cvxpy", "sklearn", "pandas", "matplotlib"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
