"""Files as their publishers made them, turned into features and labels by public constants only.

Nothing is read off the data: ranges come from the meaning of a column, levels from the published dictionary of a set,
the hash of columns from their numbers. Each record is treated by itself, so neighbouring data stay neighbouring and a
learner's guarantee is one for the records as published. What lies outside a range is clipped to it.
"""

from __future__ import annotations

import csv
import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from dpregret.core.files import opened
from dpregret.numerics.arrays import Array

Read = Callable[[Path, int, int | None], tuple[Array, Array]]
"""File, number of its columns, how many they are hashed into -> features (n, d) in any scale, labels (n,) in [-1, 1].

Raises ValueError, OSError or EOFError for another format."""


class Format(NamedTuple):
    """How a kind of file is read. columns: of its features, None as declared. spare: lines of it that are no rows."""

    read: Read
    columns: int | None = None
    spare: int = 0


def hashed_columns(columns: int, buckets: int) -> tuple[np.ndarray, Array]:
    """Bucket (columns,) and sign (columns,) of each column, by the SplitMix64 mix of its number (Steele et al. 2014).

    Signed hashing of features (Weinberger et al. 2009) keeps inner products in expectation, with variance about
    1 / buckets for unit rows.
    """
    mixed = (np.arange(1, columns + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    bucket = (mixed % np.uint64(buckets)).astype(np.int64)
    return bucket, np.where(mixed >> np.uint64(63), 1.0, -1.0)


def _libsvm(path: Path, columns: int, hashed: int | None) -> tuple[Array, Array]:
    """Features as in the file; the larger of two classes is +1."""
    from scipy.sparse import csr_matrix
    from sklearn.datasets import load_svmlight_file  # slow to import, and checks read this module

    matrix, classes = load_svmlight_file(str(path), n_features=columns)
    distinct = np.unique(classes)
    if len(distinct) != 2 and np.isfinite(classes).all():
        raise ValueError(f"{len(distinct)} classes, expected 2")
    if hashed is not None:
        bucket, sign = hashed_columns(columns, hashed)
        matrix = matrix @ csr_matrix((sign, (np.arange(columns), bucket)), shape=(columns, hashed))
    return matrix.toarray(), np.where(classes == distinct[-1], 1.0, -1.0)


_ADULT_NUMBERS: Mapping[int, float] = MappingProxyType(
    {
        0: 100.0,  # age
        4: 16.0,  # education-num: 16 levels
        10: 100_000.0,  # capital-gain; the census writes 99,999 for more
        11: 5_000.0,  # capital-loss
        12: 100.0,  # hours-per-week: two digits
    }
)
_ADULT_LEVELS: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        1: ("workclass",
            "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked"),
        5: ("marital-status",
            "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
            "Married-AF-spouse"),
        6: ("occupation",
            "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
            "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv "
            "Armed-Forces"),
        7: ("relationship", "Wife Own-child Husband Not-in-family Other-relative Unmarried"),
        8: ("race", "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"),
        9: ("sex", "Female Male"),
        13: ("native-country",
            "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan "
            "Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal "
            "Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua "
            "Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands"),
    }
)  # fmt: skip
_ADULT_CLASSES: Mapping[str, float] = MappingProxyType({"<=50K": -1.0, ">50K": 1.0})
_ADULT_FIELDS = 15
_ADULT_COLUMNS = 1 + len(_ADULT_NUMBERS) + sum(len(levels.split()) for _, levels in _ADULT_LEVELS.values())


def _adult(path: Path, columns: int, hashed: int | None) -> tuple[Array, Array]:
    """A constant 1, five numbers, seven categories; no sampling weight, and education as its number only.

    Label +1: above 50,000 dollars.
    """
    with io.TextIOWrapper(opened(path), encoding="ascii", newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if row]
    for number, row in enumerate(rows):
        if len(row) != _ADULT_FIELDS:
            raise ValueError(f"row {number} has {len(row)} fields, not {_ADULT_FIELDS}")
    fields = list(zip(*rows, strict=True))
    parts = [np.ones((len(rows), 1))]
    for place, largest in _ADULT_NUMBERS.items():
        parts.append(np.array(fields[place], dtype=np.float64)[:, None] / largest)
    for place, (name, known) in _ADULT_LEVELS.items():
        codes = _coded(name, fields[place], {level: code for code, level in enumerate(known.split())} | {"?": -1})
        parts.append((codes[:, None] == np.arange(len(known.split()))).astype(np.float64))
    return np.clip(np.concatenate(parts, axis=1), -1.0, 1.0), _coded("income", fields[-1], _ADULT_CLASSES)


def _coded(name: str, values: tuple[str, ...], codes: Mapping[str, float]) -> Array:
    for number, value in enumerate(values):
        if value not in codes:
            raise ValueError(f"row {number}: {name} is {value[:40]!r}, which the set's dictionary does not know")
    return np.array([codes[value] for value in values], dtype=np.float64)


_COVTYPE_NUMBERS = np.array([5_000.0, 360.0, 90.0, 10_000.0, 1_000.0, 10_000.0, 255.0, 255.0, 255.0, 10_000.0])
"""Metres above the sea, degrees, degrees, four distances in metres (one of them up or down), shades 0 to 255."""
_LODGEPOLE_PINE = 2.0


def _covtype(path: Path, columns: int, hashed: int | None) -> tuple[Array, Array]:
    """Ten numbers, four wilderness areas, forty kinds of soil; +1 = lodgepole pine."""
    table = _table(path, columns + 1)
    table[:, : len(_COVTYPE_NUMBERS)] /= _COVTYPE_NUMBERS
    return np.clip(table[:, :-1], -1.0, 1.0), np.where(table[:, -1] == _LODGEPOLE_PINE, 1.0, -1.0)


def _california_housing(path: Path, columns: int, hashed: int | None) -> tuple[Array, Array]:
    """A constant 1, income, age of houses, rooms, bedrooms and people per household, people, place; label: value.

    The census writes 15.0001 (in 10,000 dollars), 52 (years) and 500,001 (dollars) for more.
    """
    try:
        with opened(path) as plain, tarfile.open(fileobj=plain, mode="r:gz") as archive:
            table = _table(archive.extractfile("CaliforniaHousing/cal_housing.data"), columns)
    except (tarfile.TarError, KeyError, TypeError) as error:
        raise ValueError(str(error)) from None
    longitude, latitude, age, rooms, bedrooms, people, households, income, value = table.T
    with np.errstate(divide="ignore", invalid="ignore"):  # said of the row, if it happens
        parts = [
            np.ones(len(table)),
            income / 15,
            age / 52,
            rooms / households / 20,
            bedrooms / households / 10,
            people / households / 10,
            people / 5_000,
            (latitude - 37.25) / 4.75,
            (longitude + 119.25) / 5.25,
        ]
    return np.clip(np.stack(parts, axis=1), -1.0, 1.0), np.minimum(value, 500_000.0) / 250_000.0 - 1.0


def _table(file: Any, columns: int) -> Array:
    table = np.loadtxt(file, delimiter=",", ndmin=2)
    if table.shape[1] != columns:
        raise ValueError(f"{table.shape[1]} numbers a row, not {columns}")
    return table


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "libsvm": Format(_libsvm),
        "adult": Format(_adult, _ADULT_COLUMNS, spare=1),
        "covtype": Format(_covtype, 54),
        "california-housing": Format(_california_housing, 9, spare=16),
    }
)
"""Known kinds of files."""
