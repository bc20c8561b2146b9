"""Renew the tables and figures of the pages with proofs: `python -m dpregret.workflows.proof_pages [--check]`.

Between <!-- NAME:begin --> and <!-- NAME:end --> of a page stands what the function of that name makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dpregret.algorithms.privacy import Budget, WindowTree, gaussian_epsilon
from dpregret.algorithms.privacy.selection import RANGES
from dpregret.algorithms.privacy.series import landau
from dpregret.algorithms.privacy.trees import DecodedWindowTree
from dpregret.core import boundary
from dpregret.numerics.arrays import Array
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formats import filled, renew
from dpregret.workflows.audit import exact_losses as exact
from dpregret.workflows.mechanisms.exact import window_errors

PROOFS = Path(__file__).resolve().parents[2] / "docs" / "proofs"
DELTA = 1e-6
MANY = 10**6
ROUNDS = (100, 10**4, MANY)
DELTAS = (1e-3, 1e-6, 1e-8, 1e-10, 1e-12, 1e-15)


@contextmanager
def drawing(path: Path, title: str, columns: int = 2, **options: Any) -> Iterator[Any]:
    """The axes of a figure, which is written as a PNG."""
    width = style.TWO_COLUMNS if columns == 2 else style.TWO_COLUMNS / 2 + 0.6
    with style.look():
        drawn, axes = plt.subplots(1, columns, figsize=(width, 2.3), layout="constrained", **options)
        yield axes
        style.save(drawn, path, ("png",), title)
        plt.close(drawn)


def losses() -> str:
    """The loss of the printed scale on the pair of the proof, for T = 100, 10^4, 10^6 and as T grows."""
    rows = []
    for delta, epsilons in ((DELTA, (1, 2, 3, 4, 8, 16)), (1e-10, (1, 2, 4)), (1e-15, (0.25, 1))):
        for epsilon in epsilons:
            budget = Budget(epsilon, delta)
            lost = [exact.wolfe_epsilon(exact.printed_scale(budget, rounds), rounds, delta) for rounds in ROUNDS]
            lost.append(gaussian_epsilon(exact.distance(budget), delta))
            rows.append([f"{delta:g}", f"{epsilon:g}", *(_ratio_text(each, epsilon) for each in lost)])
    heads = ["delta", "eps claimed", *(f"lost, T = {_power(rounds)}" for rounds in ROUNDS), "T to infinity"]
    return formats.markdown(pd.DataFrame(rows, columns=heads), raw=heads[2:])


def _ratio_text(lost: float, claimed: float) -> str:
    return f"**{lost:.4g}**" if lost > claimed else f"{lost:.4g}"


def _power(rounds: int) -> str:
    return str(rounds) if rounds <= 100 else f"10^{len(str(rounds)) - 1}"


def edges() -> str:
    """Up to which epsilon the printed scale is proved private, and from which on it fails for large T."""
    rows = [
        ["proved private, for every T, up to eps =", *(f"{exact.proved_epsilon(delta):.3g}" for delta in DELTAS)],
        ["fails for large T from eps =", *(f"{exact.failing_epsilon(delta):.3g}" for delta in DELTAS)],
    ]
    return formats.markdown(pd.DataFrame(rows, columns=["delta", *(f"{delta:g}" for delta in DELTAS)]))


def frank_wolfe_figure() -> None:
    """Left: what the printed scale loses, over what it claims. Right: scales refuted and proved, for many rounds."""
    levels = np.geomspace(0.1, 64, 40)
    budgets = [Budget(float(each), DELTA) for each in levels]
    conjecture = exact.equal_pair_range(exact.WIDEST)
    scales = {
        "proved by pure composition": exact.purely_proved_scale,
        "proved by the range": exact.proved_scale,
        "if the conjecture holds": lambda budget, rounds: exact.ranged_scale(budget, rounds, conjecture),
        "refuted below": exact.refuted_scale,
    }
    colours = list(style.PALETTE.values())
    title = "What private Frank-Wolfe loses, and the noise that it needs"
    with drawing(PROOFS / "frank_wolfe_privacy", title) as (left, right):
        for colour, rounds in zip(colours, ROUNDS[:2], strict=False):
            lost = [exact.wolfe_epsilon(exact.printed_scale(each, rounds), rounds, DELTA) for each in budgets]
            left.plot(levels, lost / levels, color=colour, label=f"lost, T = {_power(rounds)}")
        for colour, (name, scale) in zip(colours, scales.items(), strict=False):
            ratios = [scale(each, MANY) / exact.printed_scale(each, MANY) for each in budgets]
            right.plot(levels, ratios, color=colour, label=name, linestyle=":" if name.startswith("if") else "-")
        for axis, what in ((left, "lost / claimed eps"), (right, "scale / printed scale")):
            axis.axhline(1, color=style.GUIDE, linestyle="--", linewidth=0.8)
            style.log_axis(axis, "x", (0.1, 0.25, 1, 4, 16, 64))
            axis.set(xlabel="eps claimed, delta = 1e-6", ylabel=what)
            axis.legend(loc="upper left")
        left.set_title("the printed scale, on the pair of the proof")
        right.set_title("the smallest valid scale, many rounds")


def prices() -> str:
    """The cost of a range in zCDP, and the scale that private Frank-Wolfe then needs, in units of the printed one."""
    kinds = {
        "trivial": 4.0,
        "Theorem A, by hand": 3.0,
        "Theorem B, by boxes": RANGES["laplace"],
        "conjecture": exact.equal_pair_range(exact.WIDEST),
        "Gumbel noise": RANGES["gumbel"],
    }
    rows = []
    for name, spread in kinds.items():
        scales = []
        for epsilon in (0.1, 1.0, 4.0, 16.0):
            budget = Budget(epsilon, DELTA)
            scales.append(f"{exact.ranged_scale(budget, MANY, spread) / exact.printed_scale(budget, MANY):.3f}")
        rows.append([name, f"{spread:.7g} s/b", f"{spread**2 / 8:.5f} (s/b)²", *scales])
    heads = ["", "range", "zCDP", *(f"eps = {each}" for each in ("0.1", "1", "4", "16"))]
    return formats.markdown(pd.DataFrame(rows, columns=heads), raw=heads[2:3])


def of_equal_pair(others: int, offset: float) -> float:
    """Range of two candidates of score 0, the others all at `offset`."""
    return float(exact.pair_ranges(np.repeat([0.0, offset], [2, others]))[0, 1])


def of_finite_move(scores: Array, sensitivity: float) -> float:
    """Range of the loss when the scores make the move that is worst for 0 and 1 in the limit, in units of s / b."""
    slopes = exact.choice_slopes(scores)
    move = sensitivity / 2 * np.sign(slopes[0] - slopes[1])
    first, second = (exact.choice_scores(scores + sign * move, move)[0] for sign in (1, -1))
    return float(np.ptp(np.log(first / second))) / sensitivity


def range_figure() -> None:
    """Left: the range at two equal scores by the offset of the others. Right: of moves that are not small."""
    colours = list(style.PALETTE.values())
    title = "The range of report-noisy-min with Laplace noise"
    with drawing(PROOFS / "noisy_min_range", title, sharey=True) as (left, right):
        places = np.linspace(-1, 2, 121)
        for colour, others in zip(colours, (1, 2, 3, 5, 8), strict=False):
            heights = [of_equal_pair(others, float(each)) for each in places]
            left.plot(places, heights, color=colour, label="1 other" if others == 1 else f"{others} others")
        left.plot([exact.WIDEST], [exact.equal_pair_range(exact.WIDEST)], "o", color=style.INK)
        left.set(ylim=(1.5, 3.2), xlabel="offset of the others, in b", ylabel="range of the loss, in s / b")
        left.set_title("two scores at 0, small moves")
        moves = np.geomspace(0.01, 10, 60)
        worst = np.repeat([0.0, exact.WIDEST], [2, 3])
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


def window_figure() -> None:
    """Of docs/own_results.md: mean variance of a window sum by W, in units of (Delta / mu)^2."""
    windows = [2**power for power in range(13)]
    curves = {
        "binary tree": [window_errors(WindowTree(each), each)[1] for each in windows],
        "binary tree, decoded from finished nodes": [
            window_errors(DecodedWindowTree(each), each)[1] for each in windows
        ],
        "window root, least of all Gaussian noise": [landau(each) ** 2 for each in windows],
    }
    title = "Variance of a window sum by W: binary tree, best decoder, window root"
    with drawing(PROOFS.parent / "own_results_window", title, columns=1) as axis:
        for colour, (name, heights) in zip(style.PALETTE.values(), curves.items(), strict=False):
            axis.plot(windows, heights, color=colour, marker="o", label=name)
        style.log_axis(axis, "x", windows, base=2)
        axis.set_yscale("log")
        style.readable_log(axis)
        axis.set(xlabel="W", ylabel=r"mean variance, in $(\Delta/\mu)^2$", title="sums that expire, the same privacy")
        axis.legend(loc="upper left")


PAGES: Final[Mapping[str, Mapping[str, Callable[[], str]]]] = {
    "frank_wolfe_privacy": {"losses": losses, "edges": edges},
    "noisy_min_range": {"prices": prices},
}
"""Page -> what is between its marks."""


def renewed(page: Path, parts: Mapping[str, Callable[[], str]], check: bool = False) -> bool:
    """Renew the parts of a page; return whether none changed. `check` writes nothing."""
    return renew(page, lambda text: filled(text, parts), check)


def main(arguments: Sequence[str] | None = None) -> int:
    """Renew all pages; with --check only say whether they are current."""
    parser = boundary.Parser(prog="python -m dpregret.workflows.proof_pages", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a page differs")
    check = parser.parse_args(arguments).check
    current = [renewed(PROOFS / f"{name}.md", parts, check) for name, parts in PAGES.items()]
    if not check:
        for draw in (frank_wolfe_figure, range_figure, window_figure):
            draw()
    return int(check and not all(current))


if __name__ == "__main__":
    boundary.end(main)
