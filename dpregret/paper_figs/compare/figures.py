"""Compare the data of the figures of two runs: which drawn numbers moved, and which moved beyond their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.text import formats

POINT: Final = ("panel", "series", "what", "x")
"""The columns that say which number a row of a figure's data holds."""
TIMED: Final = "microseconds per call"
"""What no two machines draw alike: such points are not compared."""
SLACK: Final = 2e-5
"""Relative difference of numbers written with six digits that says nothing."""
Drawn = Mapping[str, pd.DataFrame]
"""PAPER/NAME -> the data of a figure: columns panel, series, x, y, low, high, what."""


def read_figures(folder: Path) -> Drawn:
    """The data of all figures below a folder of results, or of one paper. Raises DamageError and OSError."""
    files = [*folder.glob("figures/*.csv")] or sorted(folder.glob("*/figures/*.csv"))
    return {f"{file.resolve().parents[1].name}/{file.stem}": formats.read_csv(file) for file in files}


def compare_figures(first: Drawn, second: Drawn) -> pd.DataFrame:
    """A row for each figure of both sides whose numbers differ: figure, points in common, those that moved beyond their
    intervals, those without an interval that moved, and those that only one side has.

    A number with an interval moved beyond it where the change exceeds sqrt(h_A^2 + h_B^2), the half widths of both 95 %
    intervals: what independent runs rarely do. One without (a law, a fit) moved where six digits show it.
    """
    rows = []
    for name in sorted(set(first) & set(second)):
        options: Any = {"left_index": True, "right_index": True, "suffixes": ("_a", "_b")}
        both = _points(first[name]).merge(_points(second[name]), how="outer", **options)
        common = both.dropna(subset=["y_a", "y_b"])
        change = (common["y_b"] - common["y_a"]).abs()
        halves = [(common[f"high_{side}"] - common[f"low_{side}"]) / 2 for side in "ab"]
        rounding = SLACK * np.maximum(common["y_a"].abs(), common["y_b"].abs())
        measured = halves[0].notna() & halves[1].notna()
        beyond = measured & (change > np.sqrt(halves[0] ** 2 + halves[1] ** 2) + rounding)
        moved = ~measured & (change > rounding)
        alone = [int((both[f"y_{side}"].notna() & both[f"y_{other}"].isna()).sum()) for side, other in ("ab", "ba")]
        if any((change > rounding) | beyond) or any(alone):
            rows.append((name, len(common), int(beyond.sum()), int(moved.sum()), *alone))
    columns = ["figure", "points", "beyond their intervals", "without an interval", "only in A", "only in B"]
    return pd.DataFrame(rows, columns=columns)


def summary(first: Drawn, second: Drawn, moved: pd.DataFrame) -> str:
    """The result in a sentence; empty where the two have no figure in common."""
    common = set(first) & set(second)
    if not common:
        return ""
    beyond = int((moved["beyond their intervals"] > 0).sum())
    text = f"{len(common)} figures in common: the data of {len(moved)} differ, of {beyond} beyond intervals"
    alone = [f"{len(set(one) - common)} only in {side}" for side, one in (("A", first), ("B", second))]
    return "; ".join([text, *(part for part in alone if not part.startswith("0 "))])


def _points(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers by what they are; several of one name by their order."""
    table = table.loc[(table["what"] != TIMED) & table["y"].notna()]
    keys = table[[*POINT]].astype(object).fillna("").astype(str)
    keys = keys.assign(turn=keys.groupby([*POINT]).cumcount())
    return table[["y", "low", "high"]].astype(float).set_axis(pd.MultiIndex.from_frame(keys))
