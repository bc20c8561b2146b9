"""Accurate answers on a fingerprinting code are traced; private ones are not, and are not accurate."""

import math

import numpy as np
import pytest

from dpregret.algorithms.geometry import make_set
from dpregret.workflows.audit.tracing import LEVEL, Code, risk_of, tracing_table


def test_the_exact_minimum_is_traced_and_private_answers_are_not() -> None:
    table = tracing_table(3, runs=6, words=5, columns=700, epsilons=(0.1,))
    private, exact = (table.iloc[row] for row in (0, 1))
    assert exact["traced"] > 0.7
    assert exact["excess"] == pytest.approx(0.0, abs=1e-6)
    assert private["limit"] == pytest.approx(math.exp(0.1) * LEVEL, rel=1e-6)
    assert private["traced"] <= private["limit"] + 4 * math.sqrt(LEVEL / (6 * 5))
    assert private["excess"] > 1.0


def test_a_stranger_scores_like_a_standard_variable_whatever_is_released() -> None:
    generator = np.random.default_rng(4)
    code = Code.drawn(6, 900, generator)
    strangers = np.where(generator.random((3000, 900)) < code.biases, 1.0, -1.0)
    for point in (np.ones(900), code.words.sum(axis=0), generator.normal(size=900)):
        scores = code.scores(strangers, point[None])[0]
        assert abs(scores.mean()) < 4 / math.sqrt(3000)
        assert scores.std() == pytest.approx(1.0, rel=0.15)


def test_the_risk_is_that_of_its_records() -> None:
    words = np.where(np.random.default_rng(5).random((2, 8)) < 0.5, 1.0, -1.0)
    risk = risk_of(words, make_set("l1-ball", 8), 0.5, 1)
    signs = np.array([[1.0, 1.0], [1.0, -1.0]])
    rows = np.kron(np.kron(signs, signs), signs)  # k = tau w p = 8 orthogonal rows
    point = np.linspace(-0.2, 0.1, 8)
    expected = (np.square(words @ point - 1).sum() + np.square(rows @ point).sum()) / (2 * 10)
    assert risk.value(point[None])[0] == pytest.approx(expected)
