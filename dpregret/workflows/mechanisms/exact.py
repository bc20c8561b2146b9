"""The exact tables of a chapter or paper: computed from formulas, without randomness; no run is needed.

League: what each mechanism of prefix sums costs and how far it is from the least that is possible. Errors are variances
per coordinate in units of (sensitivity / mu)^2: squared sensitivity times squared row norm. Nothing is drawn. Whole
sequences: prefixes 1..T-1 of a horizon T, largest and mean over them. Windows: rounds W+1..2W, when the noise repeats
(or has settled: buffers are charged with their limit).

Under pure noise errors are squared nodes of an item times the squared weights of an output, in units of (sensitivity /
epsilon)^2: a coordinate of norm-Gamma noise has d + 1 times that for its variance, a Laplace one twice it. Below the
bound, G_W^2 or (trace norm / n)^2, no linear mechanism stays in the mean (`toeplitz.pure_norm_floor`).

Expiry: does a mechanism keep a curve of expiry? A curve g says how much of the squared Gaussian-DP parameter mu^2 an
item may cost when it is seen at age a: kept if mu(a)^2 <= mu^2 g(a) for every age. Losses are those of formula (1),
sums of squared strategy coefficients; of trees, which are not Toeplitz, they are read off the running code, the worst
item of every age.

Crossover, of bandits: where a tree over batches begins to beat noise on every observed value. All is for T = 4^m rounds
with D = L = 1 (both bounds are multiples of L D); `NoisyLeader.bound` is the definition, and a test holds both
together. Shorter horizons than n^2 are refused by the learners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, inf, log2, sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.algorithms.privacy import Budget, gaussian_mu, horizon_sums, toeplitz, trees, window_sums
from dpregret.algorithms.privacy.audit import materialise, transcript_losses
from dpregret.algorithms.privacy.prefix_sums import NoisePerItem, NoisePerPrefix, PrefixSums
from dpregret.algorithms.privacy.window_blocks import WindowBlocks, WindowItems
from dpregret.numerics.arrays import Array
from dpregret.paper_figs.text import formats
from dpregret.workflows.mechanisms import corner_choices, dartboards

BANDS = 64
BUFFERS = {1: "1 buffer", **{count: f"{count} buffers" for count in range(2, 6)}}
REMARKS = {f"banded {kind}, {BANDS}": "made for many participations" for kind in ("root", "inverse root")}
REMARKS |= {"no horizon": "knows no T", "noise on every item": "knows no T"}
LONGEST = {"normalised root": 2**13, "no horizon": 2**16}
"""Where the exact error takes n^2 steps, or a Fourier transform of 16 n points, the league ends."""
HORIZONS = tuple(2**power for power in range(8, 21))
SIZES = tuple(2**power for power in range(17))
Mechanism = PrefixSums | trees.DecodedWindowTree | toeplitz.NormalisedRoot
Contenders = Mapping[str, Callable[[int], Any]]
"""Name -> the mechanism of a horizon or window."""

TREES: Contenders = {"tree": trees.BinaryTree, "tree, best decoder": trees.VarianceReducedTree}
WINDOW_TREES: Contenders = {"window tree": trees.WindowTree, "window tree, best decoder": trees.DecodedWindowTree}
BLOCKS: Contenders = {"blocks": partial(window_sums, "blocks")}
SEQUENCES: Contenders = {
    **TREES,
    "root": toeplitz.Root,
    **{BUFFERS[count]: partial(toeplitz.BufferedToeplitz, buffers=count) for count in BUFFERS},
    "normalised root": toeplitz.NormalisedRoot,
    f"banded root, {BANDS}": partial(toeplitz.BandedRoot, bands=BANDS),
    f"banded inverse root, {BANDS}": partial(toeplitz.BandedInverseRoot, bands=BANDS),
    "no horizon": lambda size: toeplitz.UnboundedToeplitz(),
    "noise on every item": lambda size: NoisePerItem(),
    "noise on every prefix": lambda size: NoisePerPrefix(size - 1),
}
WINDOWS: Contenders = {
    **WINDOW_TREES,
    "window root": toeplitz.WindowRoot,
    **{BUFFERS[count]: partial(toeplitz.WindowBuffers, buffers=count) for count in range(1, 5)},
    "noise on every prefix": NoisePerPrefix,
    "noise on every item": lambda size: NoisePerItem(),
}
PURE_SEQUENCES: Contenders = {**TREES, "blocks": partial(horizon_sums, "blocks")}
PURE_WINDOWS: Contenders = {**WINDOW_TREES, "items": WindowItems, **BLOCKS}


def _largest_and_mean(errors: Array) -> tuple[float, float]:
    return float(errors.max()), float(errors.mean())


def sequence_errors(mechanism: Mechanism, horizon: int, power: int = 1) -> tuple[float, float]:
    """Largest and mean error over prefixes 1..T-1. power: `PURE` under pure noise."""
    return _largest_and_mean(mechanism.nodes_per_item**power * mechanism.noisy_nodes(horizon - 1))


def window_errors(mechanism: Mechanism, window: int, power: int = 1) -> tuple[float, float]:
    """Largest and mean error over a window, or a whole block, once a window has passed; infinite for noise on every
    item, which never expires."""
    if isinstance(mechanism, NoisePerItem):
        return np.inf, np.inf
    if isinstance(mechanism, toeplitz.WindowBuffers):
        limit = mechanism.nodes_per_item * mechanism.symbol().square_sum()
        return limit, limit
    period = mechanism.block if isinstance(mechanism, WindowBlocks) else window
    start = -(-window // period) * period
    return _largest_and_mean(mechanism.nodes_per_item**power * mechanism.noisy_nodes(start + period)[start:])


PURE: Final = 2
"""Power of the nodes of an item under pure noise."""


def _league(
    size: str,
    contenders: Contenders,
    sizes: Iterable[int],
    errors: Callable[[Any, int], tuple[float, float]],
    bound: Callable[[int], float],
) -> pd.DataFrame:
    """One row per horizon or window and mechanism; nodes: what an item is charged."""
    rows = []
    for number in sizes:
        lowest = bound(number)
        for name, make in contenders.items():
            if number > LONGEST.get(name, number):
                continue
            mechanism = make(number)
            largest, mean = errors(mechanism, number)
            row = {size: number, "mechanism": name, "radices": ", ".join(map(str, getattr(mechanism, "radices", ())))}
            row |= {"nodes": float(mechanism.nodes_per_item), "largest error": largest, "mean error": mean}
            row |= {"lower bound": lowest, "largest / bound": largest / lowest, "mean / bound": mean / lowest}
            rows.append(row)
    return pd.DataFrame(rows)


def _gaussian(league: pd.DataFrame, remarks: Mapping[str, str]) -> pd.DataFrame:
    remark = [remarks.get(name, "") for name in league["mechanism"]]
    return league.drop(columns="radices").rename(columns={"nodes": "squared sensitivity"}).assign(remark=remark)


def _pure(league: pd.DataFrame) -> pd.DataFrame:
    return league.drop(columns="largest / bound").rename(columns={"nodes": "nodes of an item"})


def _sequence_bound(horizon: int) -> float:
    return toeplitz.sequence_lower_bound(horizon - 1)


def sequences(horizons: Iterable[int] = HORIZONS) -> pd.DataFrame:
    """One row per horizon and mechanism, whole sequences."""
    return _gaussian(_league("T", SEQUENCES, horizons, sequence_errors, _sequence_bound), REMARKS)


def windows(sizes: Iterable[int] = SIZES) -> pd.DataFrame:
    """One row per window and mechanism."""
    league = _league("W", WINDOWS, sizes, window_errors, toeplitz.window_optimum)
    return _gaussian(league, {"noise on every item": "error grows with t"})


def pure_windows(sizes: Iterable[int] = SIZES[1:15]) -> pd.DataFrame:
    """One row per window and mechanism under pure noise."""
    return _pure(_league("W", PURE_WINDOWS, sizes, partial(window_errors, power=PURE), toeplitz.window_optimum))


def pure_sequences() -> pd.DataFrame:
    """One row per horizon T and mechanism under pure noise, prefixes 1..T-1."""
    return _pure(_league("T", PURE_SEQUENCES, HORIZONS[::2], partial(sequence_errors, power=PURE), _sequence_bound))


def against_gaussian() -> pd.DataFrame:
    """The largest window, a power of two, up to which pure noise has less variance than the best Gaussian noise.

    One row per dimension and epsilon. Blocks or items, whichever has less, against (sensitivity / mu)^2 G_W^2 at delta.
    """
    sizes = [2**power for power in range(19)]
    league = _league("W", BLOCKS, sizes, partial(window_errors, power=PURE), toeplitz.window_optimum)
    ratios = league["mean / bound"].to_numpy()
    rows = []
    for dimension in (1, 2, 4, 8):
        for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
            better = (dimension + 1) * ratios < (epsilon / gaussian_mu(Budget(epsilon, 1e-6))) ** 2
            best = sizes[int(np.flatnonzero(better)[-1])] if better.any() else 0
            rows.append((dimension, epsilon, best))
    return pd.DataFrame(rows, columns=["d", "eps", "pure noise is less up to W ="])


# Curves of expiry

WINDOWS_SEEN = 16
DENSE = 64  # largest window whose trees are read off the code
ROUNDING = 1e-9

# age in rounds, window -> allowed share of mu^2
CURVES: dict[str, Callable[[Array, int], Array]] = {
    "step": lambda age, window: np.where(age < window, 1.0, np.inf),
    "linear after W": lambda age, window: np.maximum(1.0, (age + 1) / window),
    "power 1/2 after W": lambda age, window: np.sqrt(np.maximum(1.0, (age + 1) / window)),
    "logarithmic after W": lambda age, window: 1 + np.log2(np.maximum(1.0, (age + 1) / window)),
    "linear": lambda age, window: (age + 1) / window,
    "power 1/2": lambda age, window: np.sqrt((age + 1) / window),
    "logarithmic": lambda age, window: (1 + np.log2(age + 1)) / (1 + np.log2(window)),
}
"""The first four allow a young item what a window does; the others let the loss begin small. All are 1 at age W - 1."""
CURVED = ("window tree", "window root", "1 buffer", "3 buffers", "noise on every prefix", "noise on every item")
MECHANISMS: Contenders = {name: WINDOWS[name] for name in CURVED}


def squared_losses(mechanism: PrefixSums, window: int, ages: int) -> Array:
    """Largest squared loss of an item at age 0..ages-1, in units of what a protected one is charged."""
    if isinstance(mechanism, toeplitz.Toeplitz):
        return np.square(mechanism.loss_by_age(ages))
    if isinstance(mechanism, NoisePerItem):  # h = 1, 1, 1, ...: c = 1, 0, 0, ...
        return np.ones(ages)
    if isinstance(mechanism, NoisePerPrefix):  # h = 1, 0, 0, ...: c = 1, 1, 1, ...
        return np.arange(1.0, ages + 1) / mechanism.nodes_per_item
    losses = transcript_losses(materialise(mechanism, ages + window)) / mechanism.nodes_per_item
    return np.array([np.diagonal(losses, -age).max() for age in range(ages)])


def curves(windows: Sequence[int] = (16, 64, 256)) -> pd.DataFrame:
    """One row per window, mechanism and curve: kept or not, the worst age, and the factor on the noise's standard
    deviation from which on the curve is kept at all ages up to `WINDOWS_SEEN` windows.
    """
    rows = []
    for window in windows:
        ages = np.arange(float(WINDOWS_SEEN * window))
        for name, make in MECHANISMS.items():
            mechanism = make(window)
            if window > DENSE and isinstance(mechanism, trees.WindowTree):
                continue
            losses = squared_losses(mechanism, window, len(ages))
            for curve, allowed in CURVES.items():
                excess = losses / allowed(ages, window)
                worst = int(np.argmax(excess > excess.max() * (1 - ROUNDING)))
                holds = "yes" if excess[worst] <= 1 + ROUNDING else "no"
                rows.append((window, name, curve, holds, worst, worst / window, float(np.sqrt(excess[worst]))))
    columns = ["W", "mechanism", "curve", "kept", "worst age", "worst age / W", "noise factor"]
    return pd.DataFrame(rows, columns=columns)


# Where a tree over batches of a bandit begins to win

DELTA: Final = 1e-6
BANDIT_DIMENSIONS: Final = (2, 4, 8, 16, 32)
BANDIT_EPSILONS: Final = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST: Final = 200  # up to T = 4^200
SHOWN: Final = 10  # T = 2^20, where bounds are shown side by side
NOISES: Final = ("every value", "Laplace tree", "Gaussian tree")


@dataclass(frozen=True)
class Case:
    """T = 4^levels rounds in dimension n with budget (epsilon, DELTA)."""

    levels: int
    dimension: int
    epsilon: float

    @property
    def batch(self) -> float:
        """Rounds of a batch, and number of batches."""
        return float(2**self.levels)

    @property
    def zeta(self) -> float:
        """That of PrivateBandit."""
        return sqrt(self.dimension / self.batch)

    def bound(self, noise: str) -> float:
        """The explicit bound for one of `NOISES`; docs/proofs/private_bandit_bound.md."""
        zeta, eta = self.zeta, 1 / (self.batch**1.5 * sqrt(self.dimension))
        variance = drift = 0.0
        if noise == "every value":
            growth = 1 + 2 / self.epsilon**2
            stretch = min(max(1.0, growth**0.25 / sqrt(2)), 1 / zeta)
            zeta, eta = zeta * stretch, eta * stretch / sqrt(growth)
            variance = 2 * ((1 + 2 * zeta) / self.epsilon) ** 2
        else:
            drift = self._tree_noise(noise)
        kappa = sqrt(self.batch * (self.dimension / zeta) ** 2 * ((1 + zeta) ** 2 + variance) + self.batch**2)
        horizon, error = self.batch**2, max(2 / sqrt(self.batch + 2), sqrt(2) / self.batch)
        leader = 1 / (2 * eta) + eta * self.batch * kappa**2 / 2
        return float(2 * zeta * horizon + leader + horizon * (eta * (kappa + drift) + error))

    def _tree_noise(self, noise: str) -> float:
        """Mean over the batches of the root mean square norm of a sum's noise."""
        from scipy.stats import binom  # late: a plan names exact tables, and needs no law

        nodes, leaf = max(1, self.levels), self.dimension / self.zeta * (1 + 2 * self.zeta)
        if noise == "Laplace tree":
            norm = nodes * sqrt(self.dimension) * leaf / self.epsilon * sqrt(2 * self.dimension)
        else:
            norm = sqrt(nodes * self.dimension) * leaf / gaussian_mu(Budget(self.epsilon, DELTA))
        counts = np.arange(self.levels + 1)  # nodes of a prefix: popcount of a number of that many bits
        mean = float(binom.pmf(counts, self.levels, 0.5) @ np.sqrt(counts)) + 1 / self.batch
        return norm * mean


def crossover() -> pd.DataFrame:
    """A row per n and eps: log2 of the horizon from which each tree has the smaller bound, and bounds at T = 2^20.

    The horizon is a power of four; `limit` is what the quotient of the bounds, every value over tree, tends to.
    """
    rows = []
    for dimension in BANDIT_DIMENSIONS:
        for epsilon in BANDIT_EPSILONS:
            per_value, *trees = (Case(SHOWN, dimension, epsilon).bound(noise) for noise in NOISES)
            row: dict[str, float] = {"n": dimension, "eps": epsilon}
            row |= {f"log2 T*, {noise}": first_better(noise, dimension, epsilon) for noise in NOISES[1:]}
            for noise, tree in zip(NOISES[1:], trees, strict=True):
                row[f"every value / {noise}, T = 2^20"] = per_value / tree
            row["limit"] = leading(dimension, epsilon) / leading(dimension, inf)
            rows.append(row)
    return pd.DataFrame(rows)


def leading(dimension: int, epsilon: float) -> float:
    """The limit of the bound of noise on every value, in units of L D T^(3/4); trees tend to that of eps = inf."""
    growth, root = 1 + 2 / epsilon**2, sqrt(dimension)
    far = max(1.0, growth**0.25 / sqrt(2))
    step, kappa = far / sqrt(growth), sqrt(dimension * growth / far**2 + 1)
    return float(2 * far * root + root / (2 * step) + step * kappa**2 / (2 * root) + step * kappa / root + 2)


def first_better(noise: str, dimension: int, epsilon: float) -> float:
    """log2 of the smallest T = 4^m from which a tree's bound stays below that of noise on every value; inf: none."""
    first = max(1, ceil(log2(dimension)))
    cases = [Case(levels, dimension, epsilon) for levels in range(first, MOST + 1)]
    worse = np.flatnonzero([case.bound(noise) >= case.bound(NOISES[0]) for case in cases])
    after = int(worse[-1]) + 1 if len(worse) else 0
    return 2.0 * (first + after) if after < len(cases) else inf


# The tables

TABLES: Mapping[str, Callable[[], pd.DataFrame]] = {
    "sequences": sequences,
    "windows": windows,
    "curves": curves,
    "pure-windows": pure_windows,
    "pure-sequences": pure_sequences,
    "pure-gaussian": against_gaussian,
    "crossover": crossover,
    "reach": dartboards.first_horizons,
    "stated-privacy": dartboards.stated_privacy,
    "counterexamples": dartboards.counterexamples,
    "choices": corner_choices.choices,
}


def write_exact(captions: Mapping[str, str], out: Path) -> None:
    """Write NAME.csv of every table that a claims file names, and NAME.md below its caption."""
    out.mkdir(parents=True, exist_ok=True)
    for name, caption in captions.items():
        frame = TABLES[name]()
        formats.write_csv(frame, out / f"{name}.csv")
        formats.write_captioned(readable(frame), caption, out, name)


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as text: whole ones in full, others with five significant digits; columns of one empty text left out."""
    text = frame.map(lambda value: value if isinstance(value, str) else _number(float(value)))
    return text[[name for name in text.columns if (text[name] != "").any()]]


def _number(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e10 else formats.significant(value, 5)
