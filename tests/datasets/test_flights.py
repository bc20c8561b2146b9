"""Flights and weather in the order of time: what is read, and that streams and risks are what they say."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms.geometry import make_set
from dpregret.datasets import flights
from dpregret.datasets.examples import Examples
from dpregret.datasets.losses import RidgeLogistic
from dpregret.datasets.pool_streams import PoolStream
from dpregret.datasets.risks import make_risk
from dpregret.datasets.streams import make_stream

MU = 0.1


@pytest.fixture(scope="module")
def held(data_dir: Path) -> flights.Flights:
    return flights.load_flights(data_dir)


def test_the_package_is_what_the_digests_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, read in (("FLIGHTS_ZIP", flights.read_flights), ("WEATHER_CSV", flights.read_weather)):
        monkeypatch.setattr(flights, name, "0" * 64)
        with pytest.raises(ValueError, match=r"SHA-256 is [0-9a-f]{64}, must be 0{64}"):
            read()


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(flights, "PACKAGE", "no-such-package")
    with pytest.raises(ValueError, match="no-such-package is not installed") as caught:
        flights.prepare("weather", tmp_path / "weather.npz")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_flights_are_in_the_order_of_the_timetable(held: flights.Flights) -> None:
    assert (len(held.late), held.late.sum()) == (flights.ARRIVED, 77_630)
    assert (np.diff(held.day * 24 + held.hour) >= 0).all()
    assert set(held.day) == set(range(365))
    assert (held.hour.min(), held.hour.max()) == (5, 23)
    assert held.distance.max() < flights.FARTHEST


def test_features_are_what_they_say(held: flights.Flights) -> None:
    rows = flights.dense_features(held)
    assert rows.shape == (flights.ARRIVED, flights.DENSE)
    np.testing.assert_allclose(np.square(rows).sum(axis=1), 1.0, atol=1e-14)
    one = flights.Flights(*(np.array([each]) for each in (0, 23, 2, 0, 1, 2500, True)))
    plain = np.zeros(flights.DENSE)
    plain[[0, 1, 2, 3, 4 + 1, 4 + 16 + 2]] = 1.0, 1.0, 1.0, 0.5, 1.0, 1.0
    np.testing.assert_allclose(flights.dense_features(one)[0], plain / np.linalg.norm(plain), rtol=1e-15)
    ones = flights.sparse_columns(held)
    starts = [0, 3, 108, 124, 143, flights.SPARSE]  # 1 January 2013 was a Tuesday
    assert ones.shape == (flights.ARRIVED, 5)
    assert all(
        ((low <= each) & (each < high)).all() for each, (low, high) in zip(ones.T, pairwise(starts), strict=True)
    )
    assert ones[0, 4] == 143 + 1


def test_equal_packages_give_equal_bytes(data_dir: Path, tmp_path: Path) -> None:
    features, labels = flights.load_weather(data_dir)
    assert (features.shape, np.abs(features).max(), set(labels)) == ((26_115, 13), 1.0, {-1.0, 1.0})
    flights.prepare("weather", tmp_path / "weather.npz")
    assert (tmp_path / "weather.npz").read_bytes() == (data_dir / "weather.npz").read_bytes()


@pytest.mark.parametrize("start", ["january", "anywhere"])
def test_rounds_are_those_of_the_plain_definition(start: str, held: flights.Flights, data_dir: Path) -> None:
    stream = make_stream("flights", make_set("ball", 23), strong_convexity=MU, data_dir=data_dir, start=start)
    rounds, runs = 300, 3  # more than a block
    begins = [0] * runs if start == "january" else [int(each.integers(flights.ARRIVED)) for each in generators(runs, 3)]
    features, points = flights.dense_features(held), np.full((runs, 23), 0.1)
    for now, loss in enumerate(stream.rounds(generators(runs, 3), rounds)):
        at = [(begin + now) % flights.ARRIVED for begin in begins]
        plain = RidgeLogistic(features[at], held.labels[at], MU)
        np.testing.assert_array_equal(np.broadcast_to(loss.value(points), runs), plain.value(points))


def test_comparators_of_a_year(held: flights.Flights, data_dir: Path) -> None:
    domain, features = make_set("ball", 23), flights.dense_features(held)[:640]
    stream = make_stream("flights", domain, strong_convexity=MU, data_dir=data_dir, piece=256)
    found = stream.comparator(generators(2, 3), [200, 640])

    def best(first: int, last: int) -> tuple[np.ndarray, float]:
        weights = np.zeros((1, 640))
        weights[0, first:last] = 1 / (last - first)
        pool = PoolStream(domain, MU, Examples(features, held.labels[:640]), RidgeLogistic)
        point, value, _ = pool.minimum(weights, np.zeros((1, 23)))
        return point[0], float(value[0]) * (last - first)

    everything, least = best(0, 640)
    early = RidgeLogistic(features[:200], held.labels[:200], MU).value(everything).sum()
    np.testing.assert_allclose(found.losses[:, 1], [best(0, 200)[1], least], rtol=1e-7)
    np.testing.assert_allclose(found.pieces[0], best(0, 200)[1], rtol=1e-7)
    np.testing.assert_allclose(found.pieces[1], best(0, 256)[1] + best(256, 512)[1] + best(512, 640)[1], rtol=1e-7)
    np.testing.assert_allclose(found.last[:, 0], [early, least], rtol=1e-5)


@pytest.mark.parametrize("option", [{"start": "june"}, {"piece": 0}])
def test_wrong_options_are_one_line(option: dict[str, object], data_dir: Path) -> None:
    with pytest.raises(ValueError, match=f"option {next(iter(option))} must be"):
        make_stream("weather", make_set("ball", 14), strong_convexity=MU, data_dir=data_dir, **option)


@pytest.mark.parametrize(
    ("name", "shape", "dimension"),
    [("flights-risk", "l1-ball", 150), ("weather-risk", "l1-ball", 14), ("flights-logistic-risk", "ball", 23)],
)
def test_risks_are_the_means_of_their_records(name: str, shape: str, dimension: int, data_dir: Path) -> None:
    samples, runs = 97, 2
    domain = make_set(shape, dimension)
    risk = make_risk(name, domain, samples, generators(runs, 3), data_dir=data_dir)
    points = domain.project(np.random.default_rng(0).standard_normal((runs, dimension)))
    mean = sum(risk.record_gradient(points, np.full(runs, each)) for each in range(samples)) / samples
    np.testing.assert_allclose(risk.gradient(points), mean, atol=1e-13)
    step = 1e-6 * np.eye(dimension)[0]
    slope = (risk.value(points + step) - risk.value(points - step)) / 2e-6
    np.testing.assert_allclose(slope, mean[:, 0], atol=1e-8)
    values, _, gaps = risk.optimum()
    assert (values <= risk.value(points)).all()
    assert gaps.max() <= 1e-8
    with pytest.raises(ValueError, match="samples must lie in"):
        make_risk(name, domain, 10**6, generators(1, 3), data_dir=data_dir)
