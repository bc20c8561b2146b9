"""The search for worse streams: what it may choose keeps the theorems' hypotheses, its rule, and that it climbs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpregret.algorithms.geometry import make_set
from dpregret.datasets.base import place
from dpregret.datasets.streams import make_stream
from dpregret.workflows import worst
from dpregret.workflows.plan.read import papers


@pytest.mark.parametrize("name", ["ball", "l1-ball", "hypersimplex", "permutahedron"])
@pytest.mark.parametrize("share", [0.0, 0.37, 1.0])
def test_placed_losses_are_convex_lipschitz_and_least_on_the_set(name: str, share: float) -> None:
    domain, generator = make_set(name, 5), np.random.default_rng(3)
    anchor = place(domain, share, 11)
    assert domain.violation(anchor[None]).max() < 1e-9
    stream = make_stream("placed-kink", domain, strong_convexity=0.25, share=share, towards=11, radius=0.3, lipschitz=9)
    for _ in range(20):
        first, second = (domain.project(generator.standard_normal((1, 5)))[0] for _ in range(2))
        values = [float(stream.loss.value(each)) for each in (first, second, (first + second) / 2)]
        apart = float(np.linalg.norm(first - second))
        assert abs(values[0] - values[1]) <= stream.lipschitz * apart + 1e-12
        assert values[2] <= (values[0] + values[1]) / 2 - 0.25 / 8 * apart**2 + 1e-12
        assert min(values) >= float(stream.loss.value(anchor)) == 0


def test_statements_are_chosen_by_their_gap_then_by_name(tmp_path: Path) -> None:
    columns = ["claim", "origin", "type", "parameter", "verdict", "normalised", "experiment", "learner", "variant"]
    rows = [
        (f"claim-{number:02d}", "paper", "exponent", "horizon", "below bound", -number / 10) for number in range(15)
    ]
    rows += [("claim-zz", "paper", "exponent", "horizon", "seen here", 1.4),
             ("ours", "derived", "exponent", "horizon", "below bound", -9.0),
             ("met", "paper", "exponent", "horizon", "reproduced", -9.0),
             ("other", "paper", "exponent", "dimension", "below bound", -9.0)]  # fmt: skip
    table = pd.DataFrame([(*row, "e", "l", "v") for row in rows], columns=columns)
    for paper in papers():
        (tmp_path / paper).mkdir()
        table.iloc[: len(table) if paper == min(papers()) else 0].to_csv(tmp_path / paper / "claims.csv", index=False)
    found = [row["claim"] for row in worst.chosen(tmp_path)]
    assert found == ["claim-14", "claim-zz", *(f"claim-{number:02d}" for number in range(13, 3, -1))]


def test_the_search_climbs_to_a_planted_stream() -> None:
    tried = []

    def growth(options: dict[str, float]) -> float:
        tried.append(options)
        return -abs(options["share"] - 0.8) - 0.1 * abs(math.log10(options["radius"]) + 3)

    best, options, first = worst.climb(growth, 3, seed=4)
    assert len(tried) == worst.TRIALS
    assert best > first
    assert options["share"] == pytest.approx(0.8, abs=0.05)
    assert math.log10(options["radius"]) == pytest.approx(-3, abs=0.5)
