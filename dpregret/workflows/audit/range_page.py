"""Tables and figure of docs/proofs/noisy_min_range.md (`workflows.proof_pages` renews the page)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.selection import RANGES
from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.text import formats
from dpregret.workflows.audit import exact_frank_wolfe as wolfe
from dpregret.workflows.audit.exact_choice import WIDEST, choice_scores, equal_pair_range, pair_ranges

PAGE = Path(__file__).resolve().parents[3] / "docs" / "proofs" / "noisy_min_range.md"
DELTA, MANY = 1e-6, 10**6


def of_equal_pair(others: int, offset: float) -> float:
    """Range of two candidates of score 0, the others all at `offset`."""
    return float(pair_ranges(np.repeat([0.0, offset], [2, others]))[0, 1])


def prices() -> str:
    """The cost of a range in zCDP, and the scale that private Frank-Wolfe then needs, in units of the printed one."""
    top = equal_pair_range(WIDEST)
    kinds = {
        "trivial": 4.0, "Theorem A, by hand": 3.0, "Theorem B, by boxes": RANGES["laplace"], "conjecture": top,
        "Gumbel noise": RANGES["gumbel"],
    }  # fmt: skip
    rows = []
    for name, spread in kinds.items():
        scales = []
        for epsilon in (0.1, 1.0, 4.0, 16.0):
            budget = Budget(epsilon, DELTA)
            scales.append(f"{wolfe.ranged_scale(budget, MANY, spread) / wolfe.printed_scale(budget, MANY):.3f}")
        rows.append([name, f"{spread:.7g} s/b", f"{spread**2 / 8:.5f} (s/b)²", *scales])
    heads = ["", "range", "zCDP", *(f"eps = {each}" for each in ("0.1", "1", "4", "16"))]
    return formats.markdown(pd.DataFrame(rows, columns=heads), raw=heads[2:3])


PARTS: dict[str, Callable[[], str]] = {"prices": prices}


def of_finite_move(scores: Array, sensitivity: float) -> float:
    """Range of the loss when the scores make the move that is worst for 0 and 1 in the limit, in units of s / b."""
    slopes = np.stack([choice_scores(scores, unit)[1] for unit in np.eye(len(scores))], axis=1)
    move = sensitivity / 2 * np.sign(slopes[0] - slopes[1])
    first, second = (choice_scores(scores + sign * move, move)[0] for sign in (1, -1))
    return float(np.ptp(np.log(first / second))) / sensitivity


def figure() -> None:
    """Left: the range at two equal scores by the offset of the others. Right: of moves that are not small."""
    with style.look():
        drawn, (left, right) = plt.subplots(1, 2, figsize=(style.TWO_COLUMNS, 2.3), layout="constrained", sharey=True)
        colours = list(style.PALETTE.values())
        places = np.linspace(-1, 2, 121)
        for colour, others in zip(colours, (1, 2, 3, 5, 8), strict=False):
            heights = [of_equal_pair(others, float(each)) for each in places]
            left.plot(places, heights, color=colour, label="1 other" if others == 1 else f"{others} others")
        left.plot([WIDEST], [equal_pair_range(WIDEST)], "o", color=style.INK)
        left.set(ylim=(1.5, 3.2), xlabel="offset of the others, in b", ylabel="range of the loss, in s / b",
                 title="two scores at 0, small moves")  # fmt: skip
        moves = np.geomspace(0.01, 10, 60)
        worst = np.repeat([0.0, WIDEST], [2, 3])
        for colour, scores, name in ((colours[2], worst, "these five"), (colours[1], np.zeros(2), "two even")):
            heights = [of_finite_move(scores, float(each)) for each in moves]
            right.plot(moves, heights, color=colour, label=name)
        style.log_axis(right, "x", (0.01, 0.1, 1, 10))
        right.set(xlabel="s / b", title="moves of any size")
        known = {"Theorem A": 3.0, "Theorem B": RANGES["laplace"], "Gumbel noise": RANGES["gumbel"]}
        for axis, start in ((left, -1.0), (right, 0.01)):
            for name, height in known.items():
                axis.axhline(height, color=style.GUIDE, linestyle="--", linewidth=0.8)
                axis.annotate(name, (start, height), ha="left", va="bottom", fontsize=style.SMALL)
        left.legend(ncols=2, loc="lower right")
        right.legend(loc="lower right")
        style.save(drawn, PAGE.with_suffix(""), ("png",), "The range of report-noisy-min with Laplace noise")
        plt.close(drawn)
