"""Real data: conversion, cache, checks, and the streams made of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from dpregret.algorithms.geometry import make_set
from dpregret.datasets import bundled
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


def test_conversion_gives_equal_bytes_and_leaves_no_other_file(data_dir: Path, tmp_path: Path) -> None:
    bundled.load("diabetes", data_dir)
    bundled.prepare("diabetes", tmp_path / "diabetes.npz")
    assert (tmp_path / "diabetes.npz").read_bytes() == (data_dir / "diabetes.npz").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["diabetes.npz"]


def test_a_failed_conversion_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = np.ones((4, 3))
    features[2, 1] = np.nan
    monkeypatch.setattr(bundled, "BUNDLED", {"broken": lambda: (features, np.ones(4))})
    with pytest.raises(ValueError, match="bundled data 'broken': feature in row 2, column 1 is nan"):
        bundled.load("broken", tmp_path)
    assert list(tmp_path.iterdir()) == []


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
    ],
)
def test_damaged_copies_are_named(arrays: dict[str, list[float]], message: str, tmp_path: Path) -> None:
    path = tmp_path / "digits.npz"
    np.savez(path, **{name: np.array(values) for name, values in arrays.items()})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=rf"digits\.npz: .*{message}") as caught:
        bundled.load("digits", tmp_path)
    assert "\n" not in str(caught.value)


def test_a_truncated_copy_is_named(tmp_path: Path) -> None:
    for content in (b"", b"PK", b"no archive at all"):
        (tmp_path / "digits.npz").write_bytes(content)
        with pytest.raises(ValueError, match=r"digits\.npz: not a readable \.npz"):
            bundled.load("digits", tmp_path)


def test_the_set_must_have_the_dimension_of_the_data(data_dir: Path) -> None:
    with pytest.raises(ValueError, match="'digits' has 64 features, the set has dimension 10"):
        make_stream("digits", make_set("ball", 10), data_dir=data_dir)
