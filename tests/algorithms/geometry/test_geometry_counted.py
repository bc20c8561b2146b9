import numpy as np

from dpregret.algorithms.geometry import ConstraintSet, CountedSet, make_potential, make_set


def test_rows_calls_and_seconds_are_counted(generator):
    counted = CountedSet(make_set("l1-ball", 4))
    oracle = counted.local_oracle()
    counted.project(generator.normal(size=(2, 3, 4)))
    counted.project(generator.normal(size=4))
    counted.linear_oracle(generator.normal(size=(5, 4)))
    weights = oracle.lift(np.zeros((7, 4)))
    for _ in range(3):
        oracle.answer(weights, 0.1, generator.normal(size=(7, 4)))
    assert (counted.projections.calls, counted.projections.rows) == (2, 7)
    assert (counted.linear_oracles.calls, counted.linear_oracles.rows) == (1, 5)
    assert (counted.local_oracles.calls, counted.local_oracles.rows) == (3, 21)
    for tally in (counted.projections, counted.linear_oracles, counted.local_oracles):
        assert tally.seconds > 0.0


def test_answers_are_those_of_the_set_inside(case, generator):
    inner, counted = case.constraint_set, CountedSet(case.constraint_set)
    points = generator.normal(size=(3, inner.dimension))
    np.testing.assert_array_equal(counted.linear_oracle(points), inner.linear_oracle(points))
    np.testing.assert_allclose(counted.project(points), inner.project(points), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(counted.violation(points), inner.violation(points))
    np.testing.assert_array_equal(counted.center(), inner.center())
    np.testing.assert_array_equal(counted.target(), inner.target())
    assert counted.reach(points[0]) == inner.reach(points[0])
    for attribute in ("name", "dimension", "diameter", "vertex_count"):
        assert getattr(counted, attribute) == getattr(inner, attribute)
    oracle, counted_oracle = inner.local_oracle(), counted.local_oracle()
    weights = counted_oracle.lift(np.tile(inner.center(), (3, 1)))
    np.testing.assert_array_equal(counted_oracle.answer(weights, 0.2, points), oracle.answer(weights, 0.2, points))
    np.testing.assert_array_equal(counted_oracle.point(weights), oracle.point(weights))
    assert counted_oracle.ratio == oracle.ratio


def test_reach_and_linear_oracle_within_an_oracle_are_not_counted():
    counted = CountedSet(make_set("flow", 12))
    counted.reach(counted.center())
    assert counted.linear_oracles.calls == 0


def test_a_euclidean_step_counts_as_a_projection_and_others_as_nothing(generator):
    for name, projections in [("euclidean", 3), ("entropy", 0), ("q-norm", 0)]:
        counted = CountedSet(make_set("l1-ball", 4))
        potential = make_potential(counted, name)
        potential.step(np.tile(potential.start(), (3, 1)), generator.normal(size=(3, 4)))
        assert counted.projections.rows == projections


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
