"""The search for worse streams: its rule, and that it climbs."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from dpregret.workflows import worst
from dpregret.workflows.plan.read import papers


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
