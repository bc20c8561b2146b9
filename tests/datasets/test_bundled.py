"""Real data: conversion, cache, checks, and the streams made of them."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.datasets
from drawn import generators
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from dpregret.algorithms.geometry import make_set
from dpregret.datasets import bundled, expert_data, flights
from dpregret.datasets.examples import Examples
from dpregret.datasets.losses import RidgeLogistic
from dpregret.datasets.pool_streams import PoolStream
from dpregret.datasets.streams import make_stream

SHAPES = {"breast-cancer": (569, 30), "digits": (1797, 64), "diabetes": (442, 10)}


@pytest.mark.parametrize("name", SHAPES)
def test_a_record_is_prepared_without_a_look_at_the_others(
    name: str, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples, whole = bundled.load(name, data_dir), bundled.BUNDLED[name]
    assert examples.features.shape == SHAPES[name]
    assert np.linalg.norm(examples.features, axis=1).max() <= 1.0
    assert np.abs(examples.labels).max() <= 1.0
    varying = examples.features.std(axis=0) > 0
    assert varying.sum() == SHAPES[name][1] - (3 if name == "digits" else 0)
    loader = f"load_{name.replace('-', '_')}"
    real = getattr(sklearn.datasets, loader)

    def one(**arguments: bool) -> tuple[np.ndarray, np.ndarray]:
        features, labels = real(**arguments)
        return features[7:8], labels[7:8]

    monkeypatch.setattr(sklearn.datasets, loader, one)
    monkeypatch.setattr(bundled, "BUNDLED", {name: whole})
    alone = bundled.load(name, tmp_path)
    np.testing.assert_array_equal(alone.features[0], examples.features[7])
    np.testing.assert_array_equal(alone.labels[0], examples.labels[7])


def test_what_lies_outside_its_range_is_clipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(**arguments: bool) -> tuple[np.ndarray, np.ndarray]:
        return np.array([[50.0, 2.0, 1e9, *[0.0] * 7]]), np.array([1e9])

    monkeypatch.setattr(sklearn.datasets, "load_diabetes", load)
    found = bundled.load("diabetes", tmp_path)
    np.testing.assert_allclose(found.features[0, :4] * np.sqrt(10), [0.0, 1.0, 1.0, -1.0], atol=1e-15)
    np.testing.assert_array_equal(found.labels, [1.0])


def test_labels_mean_what_they_say(data_dir: Path) -> None:
    digit = load_digits().target
    np.testing.assert_array_equal(bundled.load("digits", data_dir).labels == 1.0, digit % 2 == 1)
    cancer = load_breast_cancer()
    malignant = cancer.target == list(cancer.target_names).index("malignant")
    np.testing.assert_array_equal(bundled.load("breast-cancer", data_dir).labels == 1.0, malignant)
    progression = load_diabetes().target
    labels = bundled.load("diabetes", data_dir).labels
    assert np.corrcoef(progression, labels)[0, 1] == pytest.approx(1.0)
    np.testing.assert_allclose(labels, progression / 200 - 1)


@pytest.mark.parametrize(
    ("module", "name"), [(bundled, "diabetes"), (expert_data, "breast-cancer-experts"), (flights, "weather")]
)
def test_conversion_gives_equal_bytes_and_leaves_no_other_file(
    module: Any, name: str, data_dir: Path, tmp_path: Path
) -> None:
    module.prepare(name, tmp_path / "again.npz")
    module.load_weather(data_dir) if module is flights else module.load(name, data_dir)
    assert (tmp_path / "again.npz").read_bytes() == (data_dir / f"{name}.npz").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["again.npz"]


def test_a_failed_conversion_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = np.ones((4, 3))
    features[2, 1] = np.nan
    monkeypatch.setattr(bundled, "BUNDLED", {"broken": lambda: (features, np.ones(4))})
    with pytest.raises(ValueError, match="bundled data 'broken': feature in row 2, column 1 is nan"):
        bundled.load("broken", tmp_path)
    assert list(tmp_path.iterdir()) == []


WRONG, UNKNOWN = (np.where(np.arange(768).reshape(3, 256) == 519, value, 0.0) for value in (2.0, np.nan))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"features": [[0.0, np.inf]], "labels": [1.0]}, "feature in row 0, column 1 is inf"),
        ({"features": [[0.0], [1.0]], "labels": [1.0, np.nan]}, "label in row 1 is nan"),
        ({"features": [[0.0, 0.5]], "labels": [1.0, 1.0]}, "do not fit together"),
        ({"features": [[0.9, 0.9]], "labels": [1.0]}, r"norm 1\.27279 or label 1 exceeds 1"),
        ({"features": [[0.1, 0.9]], "labels": [3.0]}, "or label 3 exceeds 1"),
        ({"features": [[0.1, 0.9]]}, "not a readable"),
        ({"features": [["a"]], "labels": [1.0]}, "are numbers"),
        ({"errors": WRONG}, "loss in row 2, column 7 is 2.0, neither 0 nor 1"),
        ({"errors": UNKNOWN}, "loss in row 2, column 7 is nan, neither"),
        ({"errors": np.zeros((3, 5))}, r"errors of shape \(3, 5\), expected \(samples, 256\)"),
    ],
)
def test_damaged_copies_are_named(arrays: dict[str, Any], message: str, tmp_path: Path) -> None:
    name, load = ("digits-experts", expert_data.load) if "errors" in arrays else ("digits", bundled.load)
    np.savez(tmp_path / f"{name}.npz", **{key: np.array(values) for key, values in arrays.items()})
    with pytest.raises(ValueError, match=rf"{name}\.npz: .*{message}") as caught:
        load(name, tmp_path)
    assert "\n" not in str(caught.value)


SAMPLES = {"digits-experts": 899, "breast-cancer-experts": 285}  # the larger halves of 1797 and 569
FEWEST = {"digits-experts": 1, "breast-cancer-experts": 6}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_table_holds_ranked_and_different_experts(name: str, data_dir: Path) -> None:
    table = expert_data.load(name, data_dir)
    assert table.shape == (SAMPLES[name], expert_data.EXPERTS)
    assert table.dtype == np.uint8
    assert set(np.unique(table)) == {0, 1}
    errors = table.sum(axis=0, dtype=int)
    assert (np.diff(errors) >= 0).all()
    assert errors[0] == FEWEST[name]
    # the comparator must be worth finding: a random expert errs ten and three times as often
    assert errors.mean() > {"digits-experts": 10, "breast-cancer-experts": 3}[name] * errors[0]
    assert len(np.unique(table, axis=1).T) > expert_data.EXPERTS // 2


def test_only_the_other_half_is_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels of the rounds are turned around after their split: whoever had seen them would be right now."""
    order = np.random.default_rng(20230228).permutation(101)
    shown = np.arange(101) % 2
    labels = shown.copy()
    labels[order[50:]] = 1 - shown[order[50:]]
    monkeypatch.setattr(expert_data, "TASKS", {"turned": lambda: (shown[:, None] * 1.0, labels)})
    table = expert_data.load("turned", tmp_path)
    assert table.shape == (51, expert_data.EXPERTS)
    assert table.all()


@pytest.mark.parametrize("experts", [2, 3, 16, 64, 100, 256])
def test_a_subset_is_spread_and_keeps_the_best(experts: int) -> None:
    table = np.tile(np.arange(256, dtype=np.uint8), (2, 1))
    chosen = expert_data.subset(table, experts)
    assert chosen.shape == (2, experts)
    places = chosen[0].astype(int)
    assert places[0] == 0
    steps = np.diff(places)
    assert set(steps) <= {256 // experts, -(-256 // experts)}
    assert 256 - places[-1] <= -(-256 // experts)


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


def test_weather_is_scaled_and_has_two_classes(data_dir: Path) -> None:
    features, labels = flights.load_weather(data_dir)
    assert (features.shape, np.abs(features).max(), set(labels)) == ((26_115, 13), 1.0, {-1.0, 1.0})


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
