import subprocess
import sys

import numpy as np
import pytest

from dpregret.algorithms.geometry import SETS, ConstraintSet, UnsupportedSet, grid_edges, make_potential, make_set

SMALLEST = {"ball": 1, "l1-ball": 1, "simplex": 2, "box": 1, "hypersimplex": 2, "flow": 4, "grouped-l1": 1}
SMALLEST |= {"interpolation": 1, "nuclear": 1, "spectrahedron": 4, "polytope": 1, "sign-polytope": 1}
SMALLEST |= {"permutahedron": 2, "partition-matroid": 4, "spanning-trees": 3, "coverage": 4}
LARGER = dict.fromkeys(SMALLEST, 12) | {"nuclear": 16, "spectrahedron": 16, "spanning-trees": 15}
MATRIX_SETS = ["nuclear", "spectrahedron"]


@pytest.mark.parametrize("name", list(SETS))
def test_make_set_builds_every_name(name):
    for dimension in (SMALLEST[name], np.int64(LARGER[name])):
        constraint_set = make_set(name, dimension)
        assert isinstance(constraint_set, ConstraintSet)
        assert constraint_set.name == name
        assert constraint_set.dimension == dimension
        assert type(constraint_set.dimension) is int
        assert constraint_set.center().shape == constraint_set.target().shape == (dimension,)


def test_unknown_name_names_the_allowed_and_the_nearest():
    with pytest.raises(ValueError, match=r"unknown constraint set 'l1ball', allowed: ball, .*; did you mean 'l1-ball'"):
        make_set("l1ball", 3)
    with pytest.raises(ValueError, match=r"'xyz', allowed: ball, .*spectrahedron$"):
        make_set("xyz", 3)


def test_unknown_option_names_the_allowed_and_the_nearest():
    with pytest.raises(ValueError, match="the set 'ball': 'radus', allowed: radius; did you mean 'radius'"):
        make_set("ball", 3, radus=2.0)
    with pytest.raises(ValueError, match="of the set 'simplex': 'radius', allowed: none"):
        make_set("simplex", 3, radius=2.0)


@pytest.mark.parametrize("name", list(SETS))
@pytest.mark.parametrize("dimension", [0, -3, 2.5, "8", True])
def test_impossible_dimensions_say_what_is_allowed(name, dimension):
    with pytest.raises(ValueError, match=f"is impossible for the set '{name}'; allowed: .*{SMALLEST[name]}"):
        make_set(name, dimension)


@pytest.mark.parametrize(
    ("dimension", "nearest"),
    [(5, "4 and 12"), (11, "4 and 12"), (20, "12 and 24"), (25, "24 and 40"), (39, "24 and 40")],
)
def test_flow_dimensions_off_the_grid_name_the_nearest(dimension, nearest):
    with pytest.raises(ValueError, match=f"the nearest are {nearest} "):
        make_set("flow", dimension)


def test_flow_dimension_must_be_the_number_of_edges():
    with pytest.raises(ValueError, match="allowed: the number of edges given, 12"):
        make_set("flow", 24, edges=grid_edges(3))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 1), (1, 2), (2, 1), (2, 3)], "directed cycle"),
        ([(0, 2), (1, 2)], r"not \[0, 1\] and \[2\]"),
        ([(0, 1), (0, 2)], r"not \[0\] and \[1, 2\]"),
        ([(0, 1), (1, 2)], "single path"),
    ],
)
def test_flow_rejects_graphs_that_are_no_flow(edges, message):
    with pytest.raises(ValueError, match=message):
        make_set("flow", len(edges), edges=edges)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("hypersimplex", {"rank": 4}, "dimension 4 is impossible.*at least 5 at rank 4; or a rank of at most 3"),
        ("hypersimplex", {"rank": 0}, "rank 0 is impossible.*1 to dimension - 1"),
        ("ball", {"radius": 0.0}, "radius of the set 'ball' must be positive and finite"),
        ("l1-ball", {"radius": float("nan")}, "radius of the set 'l1-ball' must be positive and finite"),
        ("grouped-l1", {"block_size": 3}, "block_size 3 is impossible.*dimension 4; allowed: its divisors 1, 2, 4"),
        ("interpolation", {"mixing": 1.5}, r"mixing 1.5 is impossible.*allowed: 0 \(l1\) to 1 \(l2\)"),
        ("nuclear", {"radius": -1.0}, "radius of the set 'nuclear' must be positive and finite"),
        ("polytope", {"vertices": [[0.0, 1.0], [1.0, 0.0]]}, "dimension 4 .* the length of the vertices given, 2"),
        ("polytope", {"vertices": [1.0, 2.0]}, r"must have shape \(k, dimension\), not \(2,\)"),
        ("sign-polytope", {"corners": 7}, r"must be an even number of 2\.\.16, not 7"),
        ("sign-polytope", {"corners": 18}, r"must be an even number of 2\.\.16, not 18"),
        ("polytope", {"vertices": np.ones((3, 4))}, "two or more different points"),
        ("polytope", {"vertices": np.full((2, 4), np.inf)}, "must be finite"),
        ("box", {"lower": 1.0, "upper": 1.0}, "lower < upper"),
        ("partition-matroid", {"block_size": 1}, "block_size 1 .* allowed: at least 2"),
        ("partition-matroid", {"block_size": 3}, "dimension 4 .* allowed: a multiple of the block size 3"),
        ("coverage", {"width": 1}, "width 1 .* allowed: 2 to 11"),
        ("coverage", {"width": 4}, "dimension 4 .* allowed: .*at least 5"),
        ("box", {"upper": float("inf")}, "finite lower < upper"),
    ],
)
def test_impossible_options_say_what_is_allowed(name, options, message):
    with pytest.raises(ValueError, match=message):
        make_set(name, 4, **options)


@pytest.mark.parametrize("name", MATRIX_SETS)
@pytest.mark.parametrize(("dimension", "nearest"), [(5, "4 and 9"), (99, "81 and 100")])
def test_matrix_dimensions_that_are_no_square_name_the_nearest(name, dimension, nearest):
    with pytest.raises(ValueError, match=f"m \\* m entries of an m x m matrix.*the nearest are {nearest}$"):
        make_set(name, dimension)


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
