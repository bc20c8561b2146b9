"""The tables of docs/proofs/window_optimum.md, by their marks (`workflows.proof_pages` renews the page)."""

import contextlib
import io
import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dpregret.algorithms.bandits.base import BanditProblem
from dpregret.algorithms.bandits.private_bandit import PrivateBanditGaussian
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy.audit import materialise, protected_nodes, transcript_losses
from dpregret.algorithms.privacy.budget import Budget, gaussian_mu
from dpregret.algorithms.privacy.buffers import BufferedToeplitz, WindowBuffers
from dpregret.algorithms.privacy.convolution import Buffered, Direct, RootSums
from dpregret.algorithms.privacy.decoded_tree import DecodedWindowTree
from dpregret.algorithms.privacy.normalised_root import NormalisedRoot
from dpregret.algorithms.privacy.prefix_sums import BLOCK, PrefixSums, WindowTree
from dpregret.algorithms.privacy.series import landau, root_coefficients
from dpregret.algorithms.privacy.toeplitz import Root, WindowRoot
from dpregret.algorithms.privacy.trees import BinaryTree, VarianceReducedTree
from dpregret.algorithms.privacy.unbounded import UnboundedToeplitz
from dpregret.algorithms.privacy.window_bound import sequence_lower_bound, unbiased_lower_bound, window_lower_bound
from dpregret.numerics.arrays import Array
from dpregret.paper_figs.text.formats import read_csv
from dpregret.workflows.mechanisms.exactness import TABLE
from dpregret.workflows.mechanisms.own_report import main as audit_command

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "proofs" / "window_optimum.md"
WINDOWS = (1, 4, 16, 64, 256, 4096, 65536)
HORIZONS = (2**8, 2**10, 2**12, 2**14, 2**17, 2**20)
GAINS = ROOT / "results" / "reference" / "prefix_sums" / "gains.csv"
BANDIT_DIMENSION = 4
EXAMPLE = "docs/examples/my_noise.py:wrong --rounds 128 --participations 4 --separation 8"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def later(mechanism: PrefixSums, window: int) -> Array:
    """Errors of the rounds of the second window."""
    return np.asarray(mechanism.nodes_per_item * mechanism.noisy_nodes(2 * window)[window:])


def windows() -> str:
    """Optimum and trees."""
    rows = []
    for window in WINDOWS:
        optimum = landau(window) ** 2
        tree, decoded = later(WindowTree(window), window), later(DecodedWindowTree(window), window)
        rows.append([
            f"{window}", f"{landau(window):.9f}", f"{optimum:.6f}", f"{tree.max():.0f}", f"{tree.mean():.4f}",
            f"{tree.max() / optimum:.3f}, {tree.mean() / optimum:.3f}",
            f"{decoded.max() / optimum:.2f}, {decoded.mean() / optimum:.2f}",
        ])  # fmt: skip
    head = ["W", "G_W", "optimum G_W²", "tree, largest", "tree, mean", "tree / optimum (largest, mean)"]
    return table([*head, "tree with the best decoder / optimum"], rows)


def buffers() -> str:
    """What each number of buffers reaches."""
    rows = []
    for window in (16, 64, 256, 1024, 4096, 65536):
        made = [WindowBuffers(window, count) for count in (1, 2, 3, 4)]
        ratios = [each.nodes_per_item * each.symbol().square_sum() / landau(window) ** 2 for each in made]
        rows.append([f"{window}", *(f"{ratio:.3f}" for ratio in ratios), f"{2 * (window.bit_length())}"])
    return table(["W", "1 buffer", "2", "3", "4", "vectors that the tree keeps"], rows)


def costs() -> str:
    """Vectors kept beside a block, and multiply-adds."""
    rows = []
    for window in (16, 64, 256, 1024, 4096, 65536):
        cells = [f"{window}"]
        for mechanism in (WindowRoot(window), Root(window + 1), WindowBuffers(window)):
            made = mechanism.init(BLOCK, 1, 1)
            if isinstance(made, RootSums):
                decays = len(made.decays)
                cells += [f"{decays + made.back}", f"{len(made.first) + 2 * decays + len(made.shares)}"]
            elif isinstance(made, Buffered):
                cells += [f"{len(made.poles)}", f"{2 * len(made.poles)}"]
            else:
                assert isinstance(made, Direct)
                cells += [f"{len(made.lags) - 1}", f"{len(made.lags)}"]
        rows.append([*cells, f"{2 * window.bit_length()}"])
    head = ["W", "window root: vectors", "multiply-adds", "root over T = W + 1: vectors", "multiply-adds"]
    return table([*head, "3 window buffers: vectors", "multiply-adds", "window tree: vectors"], rows)


def exactness() -> str:
    """What the committed measurement of `exactness.py` says."""
    found = pd.read_csv(TABLE)
    last, low, high = found.iloc[-1], found.min(numeric_only=True) - 1, found.max(numeric_only=True) - 1
    return (
        f"T = {last.horizon}, {last.runs} runs. A release-grade mechanism would pay {low.deviation_ratio:.1%} to "
        f"{high.deviation_ratio:.1%} in standard deviation and {low.regret_ratio:.1%} to {high.regret_ratio:.1%} "
        f"in regret. A number of exact noise takes {last.number_ns:.0f} ns of CPU, one in floating point "
        f"{last.floating_number_ns:.1f} ns.\n"
    )


def audited() -> str:
    """Dense audits."""
    found = []
    for window in (4, 16, 64):
        loss = protected_nodes(materialise(WindowRoot(window), 6 * window), window)
        found.append(f"{loss:.9f} (W = {window})")
    return f"Largest squared loss of a protected item for σ = Δ, T = 6 W: {', '.join(found)}.\n"


def ages() -> str:
    """Squared losses after expiry, in units of that of a protected item."""
    window, rows = 16, []
    for mechanism in (WindowTree(window), WindowRoot(window), WindowBuffers(window, 1)):
        losses = transcript_losses(materialise(mechanism, 10 * window)) / mechanism.nodes_per_item
        worst = [np.diagonal(losses, -age).max() for age in (0, *(count * window - 1 for count in (1, 2, 3, 4, 8)))]
        rows.append([type(mechanism).__name__, *(f"{loss:.3f}" for loss in worst)])
    slopes = [window / root_coefficients(window).sum() ** 2 for window in (16, 256, 4096)]
    return (
        table(["W = 16, age", "0", "W - 1", "2 W - 1", "3 W - 1", "4 W - 1", "8 W - 1"], rows)
        + f"\n\nA further window costs an expired item {slopes[0]:.4f}, {slopes[1]:.4f}, {slopes[2]:.4f} Δ²/σ² for "
        f"W = 16, 256, 4096 under the window root; π/4 = {np.pi / 4:.4f}.\n"
    )


def unbiased() -> str:
    """Share of the optimum that the bound for all unbiased mechanisms reaches."""
    shares = []
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        mu = gaussian_mu(Budget(epsilon, 1e-6))
        shares.append(f"{unbiased_lower_bound(16, 10**9, mu) / window_lower_bound(16, 10**9):.1%} (ε = {epsilon:g})")
    return f"At δ = 1e-6 it is {', '.join(shares)} of the Gaussian bound.\n"


def sequences() -> str:
    """Whole sequences: largest and mean error."""
    rows = []
    for horizon in HORIZONS:
        cells = [f"2^{horizon.bit_length() - 1}"]
        made: list[PrefixSums | None] = [BinaryTree(horizon), VarianceReducedTree(horizon), Root(horizon)]
        made += [BufferedToeplitz(horizon, 4), NormalisedRoot(horizon) if horizon <= 2**12 else None]
        for mechanism in made:
            if mechanism is None:
                cells.append("–")
                continue
            errors = mechanism.nodes_per_item * mechanism.noisy_nodes(horizon - 1)
            cells.append(f"{errors.max():.3f}, {errors.mean():.3f}")
        rows.append([*cells, f"{sequence_lower_bound(horizon - 1):.3f}"])
    head = ["T", "tree", "tree, best online decoder", "root", "4 buffers", "normalised root", "lower bound"]
    endless = UnboundedToeplitz()
    last = [endless.nodes_per_item * endless.noisy_nodes(horizon)[-1] for horizon in (2**10, 2**17)]
    return (
        table(head, rows) + f"\n\nWithout a horizon (β = {endless.beta}) the error is {last[0]:.2f} in round 2^10 and "
        f"{last[1]:.2f} in round 2^17.\n"
    )


def example() -> str:
    """The command of the documents and the end of what it prints."""
    page, here = io.StringIO(), Path.cwd()
    os.chdir(ROOT)
    try:
        with contextlib.redirect_stdout(page):
            code = audit_command(EXAMPLE.split())
    finally:
        os.chdir(here)
    shown = page.getvalue().splitlines()
    return "\n".join(["```", f"$ dpregret audit {EXAMPLE}", shown[0], "...", *shown[-2:], "```"]) + (
        f"\n\nThe exit code is {code}.\n"
    )


def bandits() -> str:
    """The bandit's gain beside the square of its noise, and how far that noise moves its point."""
    found = read_csv(GAINS, keep_default_na=False, na_values=[""])
    found = found.loc[(found["learner"] == "private-bandit-gaussian") & (found["with"] == "root")]
    rows = []
    for row in found.to_dict("records"):
        problem = BanditProblem(make_set("ball", BANDIT_DIMENSION), int(row["value"]), 1.0)
        noise, moved = {}, {}
        for variant in ("corrected", "root"):
            learner = PrivateBanditGaussian(problem, [Budget(1.0, 1e-6)], 1, variant)
            noise[variant] = math.sqrt(float(np.square(learner.plan.expected_norm(learner.batches)).mean()))
            moved[variant] = learner.eta * noise[variant] / (problem.domain.diameter / 2)
        ratio = noise["corrected"] / noise["root"]
        rows.append([f"{row['value']:.0f}", f"{ratio:.2f}", f"{ratio**2:.2f}", f"{row['ratio']:.2f} "
                     f"[{row['ratio_low']:.2f}, {row['ratio_high']:.2f}]",
                     *(f"{moved[variant]:.2f}" for variant in moved)])  # fmt: skip
    head = ["T", "noise, tree / root", "its square", "overhead, tree / root"]
    return table([*head, "eta × noise over the radius, tree", "the same, root"], rows)


PARTS: dict[str, Callable[[], str]] = {
    "windows": windows, "buffers": buffers, "audited": audited, "ages": ages, "unbiased": unbiased,
    "sequences": sequences, "costs": costs, "exactness": exactness, "bandits": bandits, "example": example,
}  # fmt: skip
