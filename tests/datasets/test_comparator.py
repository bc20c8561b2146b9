"""The best fixed point of a pool: found to its gap where columns differ in size, or the reason is named."""

import math
import pickle
import time

import numpy as np
import pytest

from dpregret.algorithms.geometry import make_set
from dpregret.core import progress
from dpregret.core.newton import newton
from dpregret.core.progress import Progress
from dpregret.datasets import pool_streams
from dpregret.datasets.examples import Examples
from dpregret.datasets.losses import RidgeLogistic, RidgeSquared
from dpregret.datasets.pool_streams import GAP, PoolStream


class Pool(PoolStream):
    name = "columns-apart"


def pool(set_name: str, scales: list[float], family: object, apart: bool = False, size: int = 300) -> Pool:
    generator = np.random.default_rng(7)
    features = generator.normal(size=(size, len(scales))) * np.array(scales)
    labels = np.where(features[:, -1] + (0 if apart else generator.normal(size=size) * scales[-1]) > 0, 1.0, -1.0)
    return Pool(make_set(set_name, len(scales)), 0.0, Examples(features, labels), family)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    ("set_name", "scales"),
    [
        *(("ball", [large, 1.0, small]) for large in (1.0, 100.0, 1e4) for small in (0.01, 1.0, 30.0)),
        ("ball", [300.0] * 3), ("simplex", [30.0, 1.0, 0.1]), ("l1-ball", [1.0, 30.0, 0.1]), ("box", [30.0, 1.0, 3.0]),
    ],
)  # fmt: skip
def test_the_gap_is_reached_in_seconds_whatever_the_columns(set_name: str, apart: bool, scales: list[float]) -> None:
    stream = pool(set_name, scales, RidgeLogistic, apart)
    begun = time.process_time()
    weights = np.random.default_rng(1).dirichlet(np.ones(300), 2)
    points, values, gaps = stream.minimum(weights, np.zeros((2, 3)) + stream.domain.center())
    assert time.process_time() - begun < 20
    assert (gaps <= GAP).all()
    assert stream.domain.violation(points).max() <= 1e-9
    others = stream.domain.project(points[0] + np.random.default_rng(2).normal(size=(200, 3)) * 0.3)
    assert (stream._values(np.tile(weights[0], (200, 1)), others) >= values[0] * (1 - 2 * GAP) - 1e-12).all()


def test_the_reason_is_the_scale_of_columns_or_classes_that_are_apart() -> None:
    at = np.array([0.0, 1.0])
    both = pool("ball", [100.0, 1.0], RidgeLogistic, apart=True)._slow(at)
    assert "times as large as its smallest; bring columns" in both
    assert "separates its classes" in both
    assert "similar sizes; a point of the set separates" in pool("ball", [1.0, 1.0], RidgeLogistic, apart=True)._slow(
        at
    )
    assert "separates" not in pool("ball", [1.0, 1.0], RidgeLogistic)._slow(at)


def test_a_search_is_bounded_in_seconds_and_its_cut_answer_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    easy = pool("ball", [1.0, 1.0], RidgeLogistic)
    generators = [np.random.default_rng(0)]
    assert easy.comparator(generators, [300]).gaps.max() <= GAP
    monkeypatch.setattr(pool_streams, "SECONDS", -1.0)
    with pytest.raises(FloatingPointError, match=r"gap .* after -1 s of CPU time; .* 300 records in 1 runs"):
        easy.comparator([np.random.default_rng(0)], [300])


def test_a_search_that_fails_says_what_is_wrong_with_the_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_streams, "FIRST_ORDER_STEPS", 8)
    monkeypatch.setattr(pool_streams, "newton", lambda domain, *functions: (functions[3], 1.0))
    with pytest.raises(FloatingPointError, match=r"largest column is .* times as large as its smallest; bring columns"):
        pool("ball", [100.0, 1.0], RidgeLogistic).minimum(np.full((1, 300), 1 / 300), np.zeros((1, 2)))


@pytest.mark.parametrize("set_name", ["ball", "simplex"])
def test_newton_finds_the_minimum_of_a_quadratic_in_a_step_or_on_the_border(set_name: str) -> None:
    domain = make_set(set_name, 3)
    matrix = np.diag([1e6, 1.0, 1e-2])
    for target in (domain.center() + np.array([0.01, -0.01, 0.0]), np.array([2.0, -1.0, 0.5])):

        def value(x: np.ndarray, target: np.ndarray = target) -> float:
            return float(0.5 * (x - target) @ matrix @ (x - target))

        def slope(x: np.ndarray, target: np.ndarray = target) -> np.ndarray:
            return matrix @ (x - target)

        point, gap = newton(domain, value, slope, lambda x: matrix, domain.center(), 1e-9)
        assert gap <= 1e-9
        assert domain.violation(point) <= 1e-9
        assert slope(point) @ (point - domain.linear_oracle(slope(point))) == pytest.approx(gap, abs=1e-12)


def test_a_newton_step_that_ends_as_high_as_it_began_is_halved() -> None:
    """The whole step on sqrt(1 + (4x)^2) goes from x to -16 x^3: from 1/4 to -1/4 and back, for ever."""

    def value(x: np.ndarray) -> float:
        return math.sqrt(1 + 16 * float(x @ x))

    def hessian(x: np.ndarray) -> np.ndarray:
        return np.array([[16 / value(x) ** 3]])

    _, gap = newton(make_set("ball", 1), value, lambda x: 16 * x / value(x), hessian, np.array([0.25]), 1e-9)
    assert gap <= 1e-9


def test_squared_losses_of_columns_apart_reach_their_gap() -> None:
    stream = pool("ball", [1e3, 1.0, 1e-1], RidgeSquared)
    _, _, gaps = stream.minimum(np.full((1, 300), 1 / 300), np.zeros((1, 3)))
    assert gaps.max() <= GAP


def test_somebody_who_waits_is_told_for_what(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "_last", [0.0])
    work = Progress("searches")
    for seconds in (101.9, 102.1, 103.0, 104.2):
        now[0] = seconds
        work.tick()
    assert capsys.readouterr().err == "dpregret: searches: 2 s\ndpregret: searches: 4 s\n"
    assert pickle.dumps(work) == pickle.dumps(Progress("other"))
