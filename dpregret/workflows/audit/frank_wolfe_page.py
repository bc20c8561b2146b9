"""Tables and figure of docs/proofs/frank_wolfe_privacy.md (`workflows.proof_pages` renews the page)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dpregret.algorithms.privacy import Budget, gaussian_epsilon
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.text import formats
from dpregret.workflows.audit import exact_frank_wolfe as exact
from dpregret.workflows.audit.exact_choice import WIDEST, equal_pair_range

PAGE = Path(__file__).resolve().parents[3] / "docs" / "proofs" / "frank_wolfe_privacy.md"
DELTA, ROUNDS = 1e-6, (10, 100, 10**4, 10**6)
DELTAS = (1e-3, 1e-6, 1e-8, 1e-10, 1e-12, 1e-15)


def losses() -> str:
    """The loss of the printed scale on the pair of the proof, for T = 100, 10^4, 10^6 and as T grows."""
    rows = []
    for delta, epsilons in ((DELTA, (1, 2, 3, 4, 8, 16)), (1e-10, (1, 2, 4)), (1e-15, (0.25, 1))):
        for epsilon in epsilons:
            budget = Budget(epsilon, delta)
            found = [
                exact.attained_epsilon(exact.printed_scale(budget, rounds), rounds, delta) for rounds in ROUNDS[1:]
            ]
            found.append(gaussian_epsilon(exact.distance(budget), delta))
            rows.append([f"{delta:g}", f"{epsilon:g}", *(_ratio_text(each, epsilon) for each in found)])
    heads = ["delta", "eps claimed", *(f"lost, T = {_power(rounds)}" for rounds in ROUNDS[1:]), "T to infinity"]
    return formats.markdown(pd.DataFrame(rows, columns=heads), raw=heads[2:])


def edges() -> str:
    """Up to which epsilon the printed scale is proved private, and from which on it fails for large T."""
    rows = [
        ["proved private, for every T, up to eps =", *(f"{exact.proved_epsilon(delta):.3g}" for delta in DELTAS)],
        ["fails for large T from eps =", *(f"{exact.failing_epsilon(delta):.3g}" for delta in DELTAS)],
    ]
    return formats.markdown(pd.DataFrame(rows, columns=["delta", *(f"{delta:g}" for delta in DELTAS)]))


def figure() -> None:
    """Left: what the printed scale loses, over what it claims. Right: scales refuted and proved, for many rounds."""
    levels, many = np.geomspace(0.1, 64, 40), ROUNDS[-1]
    budgets = [Budget(float(each), DELTA) for each in levels]
    scales = {
        "proved by pure composition": exact.purely_proved_scale,
        "proved by the range": exact.proved_scale,
        "if the conjecture holds": lambda budget, rounds: exact.ranged_scale(budget, rounds, equal_pair_range(WIDEST)),
        "refuted below": exact.refuted_scale,
    }
    with style.look():
        drawn, (left, right) = plt.subplots(1, 2, figsize=(style.TWO_COLUMNS, 2.3), layout="constrained")
        colours = list(style.PALETTE.values())
        for colour, rounds in zip(colours, ROUNDS[1:3], strict=False):
            lost = [exact.attained_epsilon(exact.printed_scale(each, rounds), rounds, DELTA) for each in budgets]
            left.plot(levels, lost / levels, color=colour, label=f"lost, T = {_power(rounds)}")
        for colour, (name, scale) in zip(colours, scales.items(), strict=False):
            ratios = [scale(each, many) / exact.printed_scale(each, many) for each in budgets]
            right.plot(levels, ratios, color=colour, label=name, linestyle=":" if name.startswith("if") else "-")
        for axis, what in ((left, "lost / claimed eps"), (right, "scale / printed scale")):
            axis.axhline(1, color=style.GUIDE, linestyle="--", linewidth=0.8)
            style.log_axis(axis, "x", (0.1, 0.25, 1, 4, 16, 64))
            axis.set(xlabel="eps claimed, delta = 1e-6", ylabel=what)
            axis.legend(loc="upper left")
        left.set_title("the printed scale, on the pair of the proof")
        right.set_title("the smallest valid scale, many rounds")
        style.save(drawn, PAGE.with_suffix(""), ("png",), "What private Frank-Wolfe loses, and the noise that it needs")
        plt.close(drawn)


def _ratio_text(lost: float, claimed: float) -> str:
    return f"**{lost:.4g}**" if lost > claimed else f"{lost:.4g}"


def _power(rounds: int) -> str:
    return str(rounds) if rounds <= 100 else f"10^{len(str(rounds)) - 1}"


PARTS: dict[str, Callable[[], str]] = {"losses": losses, "edges": edges}
