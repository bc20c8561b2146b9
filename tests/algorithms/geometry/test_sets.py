"""Sets and potentials by name, what is impossible, and the proxy that counts."""

import numpy as np
import pytest

from dpregret.algorithms.geometry import (
    SETS,
    Ball,
    ConstraintSet,
    CountedSet,
    Simplex,
    UnsupportedSet,
    grid_edges,
    make_set,
)
from dpregret.algorithms.geometry.base import data_of

SMALLEST = {"ball": 1, "l1-ball": 1, "simplex": 2, "box": 1, "hypersimplex": 2, "flow": 4, "grouped-l1": 1}
SMALLEST |= {"interpolation": 1, "nuclear": 1, "spectrahedron": 4, "polytope": 1, "sign-polytope": 1}
SMALLEST |= {"permutahedron": 2, "partition-matroid": 4, "spanning-trees": 3, "coverage": 4}
LARGER = dict.fromkeys(SMALLEST, 12) | {"nuclear": 16, "spectrahedron": 16, "spanning-trees": 15}


@pytest.mark.parametrize("name", list(SETS))
def test_every_name_is_built_or_says_what_is_the_smallest(name):
    for dimension in (SMALLEST[name], np.int64(LARGER[name])):
        constraint_set = make_set(name, dimension)
        assert constraint_set.name == name
        assert constraint_set.dimension == dimension
        assert type(constraint_set.dimension) is int
        assert constraint_set.center().shape == constraint_set.target().shape == (dimension,)
    for dimension in (0, -3, 2.5, "8", True):
        with pytest.raises(ValueError, match=f"'{name}'.*{SMALLEST[name]}"):
            make_set(name, dimension)


@pytest.mark.parametrize(
    ("name", "dimension", "options", "named"),
    [
        ("l1ball", 3, {}, "'l1-ball'"),
        ("ball", 3, {"radus": 2.0}, "'radius'"),
        ("flow", 5, {}, "4 and 12"),
        ("flow", 24, {"edges": grid_edges(3)}, "12"),
        ("flow", 4, {"edges": [(0, 1), (1, 2), (2, 1), (2, 3)]}, "cycle"),
        ("flow", 2, {"edges": [(0, 2), (1, 2)]}, r"\[0, 1\]"),
        ("flow", 2, {"edges": [(0, 1), (0, 2)]}, r"\[1, 2\]"),
        ("flow", 2, {"edges": [(0, 1), (1, 2)]}, "single path"),
        ("spanning-trees", 7, {}, "6 and 10"),
        ("nuclear", 5, {}, "4 and 9"),
        ("hypersimplex", 4, {"rank": 4}, "rank"),
        ("ball", 4, {"radius": 0.0}, "radius"),
        ("l1-ball", 4, {"radius": float("nan")}, "radius"),
        ("grouped-l1", 4, {"block_size": 3}, "block_size"),
        ("interpolation", 4, {"mixing": 1.5}, "mixing"),
        ("polytope", 4, {"vertices": [[0.0, 1.0], [1.0, 0.0]]}, "vertices"),
        ("polytope", 4, {"vertices": [1.0, 2.0]}, "shape"),
        ("polytope", 4, {"vertices": np.full((2, 4), np.inf)}, "finite"),
        ("sign-polytope", 4, {"corners": 7}, "even number"),
        ("box", 4, {"lower": 1.0, "upper": 1.0}, "lower < upper"),
        ("partition-matroid", 4, {"block_size": 1}, "block_size"),
        ("coverage", 4, {"width": 4}, "at least 5"),
    ],
)
def test_what_is_impossible_is_named_with_what_is_allowed(name, dimension, options, named):
    with pytest.raises(ValueError, match=named):
        make_set(name, dimension, **options)


@pytest.mark.parametrize(
    ("made", "oracles"),
    [
        *(
            (make_set(name, 16), ["local_oracle"])
            for name in ("grouped-l1", "interpolation", "nuclear", "spectrahedron", "polytope")
        ),
        (make_set("flow", 144), ["local_oracle"]),  # 12870 paths
        (make_set("sign-polytope", 3), ["gauge", "separation", "inner_radius", "local_oracle"]),
        (make_set("polytope", 2, vertices=[[0, 0], [1, 0], [0, 1]]), ["gauge", "separation", "inner_radius"]),
    ],
)
def test_sets_without_an_oracle_refuse_in_one_line(made, oracles):
    for oracle in oracles:
        with pytest.raises(UnsupportedSet, match=f"the set '{made.name}'") as caught:
            getattr(made, oracle)()
        assert isinstance(caught.value, ValueError)
        assert "\n" not in str(caught.value)


def test_calls_are_counted_and_answers_are_those_of_the_set_inside(generator):
    inner = make_set("l1-ball", 4)
    counted = CountedSet(inner)
    one, many = generator.normal(size=4), generator.normal(size=(2, 3, 4))
    for oracle, tally in (("project", counted.projections), ("linear_oracle", counted.linear_oracles)):
        for points in (one, many):
            np.testing.assert_array_equal(getattr(counted, oracle)(points), getattr(inner, oracle)(points))
        assert (tally.calls, tally.rows) == (2, 7)
        assert tally.seconds > 0.0
    for oracle, tally in (("gauge", counted.gauges), ("separation", counted.separations)):
        np.testing.assert_array_equal(getattr(counted, oracle)()(many), getattr(inner, oracle)()(many))
        assert (tally.calls, tally.rows) == (1, 6)
    local, counted_local = inner.local_oracle(), counted.local_oracle()
    weights = counted_local.lift(many)
    answers = counted_local.answer(weights, 0.1, many)
    np.testing.assert_array_equal(answers, local.answer(local.lift(many), 0.1, many))
    np.testing.assert_array_equal(counted_local.point(answers), local.point(answers))
    assert counted_local.ratio == local.ratio
    assert (counted.local_oracles.calls, counted.local_oracles.rows) == (1, 6)
    counted.linear_oracles.add(7, 0.5)  # a loop that serves its own oracles says how many
    assert (counted.linear_oracles.calls, counted.linear_oracles.rows) == (3, 14)
    flow = CountedSet(make_set("flow", 12))  # which calls its linear oracle within
    flow.reach(flow.center())
    assert flow.linear_oracles.calls == 0


def test_what_is_not_counted_is_of_the_set_inside():
    """Nothing public of a set is answered by the proxy's own defaults, but for its data, which serve uncounted."""
    counted = {"project", "linear_oracle", "local_oracle", "gauge", "separation", "data"}
    inner = make_set("simplex", 5)
    proxy = CountedSet(inner)
    for name in {each for each in vars(ConstraintSet) if not each.startswith("_")} - counted:
        mine, its = getattr(proxy, name), getattr(inner, name)
        assert mine == its, name
    assert counted <= vars(CountedSet).keys() | {"data"}
    assert proxy.data is None


def test_an_oracle_of_ones_own_is_asked() -> None:
    """Or else a compiled loop would go on with the parent's oracle."""

    class Opposite(Ball):
        def linear_oracle(self, cost: np.ndarray) -> np.ndarray:
            return super().linear_oracle(-cost)

    class Without(Simplex):
        local_oracle = ConstraintSet.local_oracle

    assert data_of(CountedSet(Ball(3))) == data_of(Ball(3)) == Ball(3).data
    assert data_of(Opposite(3)) is None
    assert data_of(Without(3)) is None
    assert data_of(make_set("hypersimplex", 5)) is not None
