"""The league of prefix-sum mechanisms: what each costs and how far it is from the least that is possible, exactly.

Errors are variances per coordinate in units of (sensitivity / mu)^2: squared sensitivity times squared row norm.
Nothing is drawn. Whole sequences: prefixes 1..T-1 of a horizon T, largest and mean over them. Windows: rounds W+1..2W,
when the noise repeats (or has settled: buffers are charged with their limit).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import log2
from time import process_time

import numpy as np
import pandas as pd

from dpregret.algorithms.privacy.buffers import BufferedToeplitz, WindowBuffers
from dpregret.algorithms.privacy.convolution import DIRECT
from dpregret.algorithms.privacy.prefix_sums import BLOCK, NoisePerItem, NoisePerPrefix, PrefixSums
from dpregret.algorithms.privacy.series import FIRST, longest, root_decays
from dpregret.algorithms.privacy.toeplitz import (
    BandedInverseRoot,
    BandedRoot,
    NormalisedRoot,
    Root,
    UnboundedToeplitz,
    WindowRoot,
)
from dpregret.algorithms.privacy.trees import BinaryTree, DecodedWindowTree, VarianceReducedTree, WindowTree
from dpregret.algorithms.privacy.window_blocks import WindowBlocks, WindowItems
from dpregret.algorithms.privacy.window_bound import sequence_lower_bound, window_optimum

BANDS = 64
MANY = "made for many participations"
LONGEST = {"normalised root": 2**13, "no horizon": 2**16}
"""Where the exact error takes n^2 steps, or a Fourier transform of 16 n points, the league ends."""
HORIZONS = tuple(2**power for power in range(8, 21))
SIZES = tuple(2**power for power in range(17))
SHARED = 64  # coordinates that move together when time is taken
TIMED = 2**13  # rounds
Size = Callable[[int], float]


@dataclass(frozen=True)
class Contender:
    """A mechanism by horizon or window. vectors: kept between rounds; operations: multiply-adds a round and coordinate.

    Operations are those of the streaming form that runs here (`convolution.py`); of a mechanism without one, half a
    product with all rounds.
    """

    name: str
    make: Callable[[int], PrefixSums]
    vectors: Size
    operations: Size
    remark: str = ""

    def offered(self, size: int) -> bool:
        """Whether its exact error is computed at this size."""
        return size <= LONGEST.get(self.name, size)


def _always(number: float) -> Size:
    return lambda size: number


def _buffered_horizon(buffers: int) -> Contender:
    make = partial(BufferedToeplitz, buffers=buffers)
    plural = "" if buffers == 1 else "s"
    return Contender(f"{buffers} buffer{plural}", make, _always(buffers + 1), _always(2 * (buffers + 1)))


def _buffered_window(buffers: int) -> Contender:
    make = partial(WindowBuffers, buffers=buffers)
    plural = "" if buffers == 1 else "s"

    def kept(window: int) -> float:
        return len(make(window).symbol().poles)

    return Contender(f"{buffers} buffer{plural}", make, kept, lambda window: 2 * kept(window))


def _decays(length: int) -> int:
    """Vectors of the root's sum of decays; none where the root is short enough for plain products."""
    return len(root_decays(length)[0]) if DIRECT < length <= longest() else 0


def _root_vectors(length: int, expires: bool) -> float:
    decays = _decays(length)
    return (length - 1 if expires or not decays else FIRST - 1) + decays


def _root_operations(length: int, expires: bool) -> float:
    decays = _decays(length)
    return FIRST + (2 + expires) * decays if decays else length


def _ahead(window: int) -> PrefixSums:
    """Of the nodes of the tree, those that lie ahead are used, too; its root is kept until the window has passed."""
    return WindowBlocks(window, (2,) * round(log2(window)), tapered=True) if window > 1 else WindowItems(1)


SEQUENCES: tuple[Contender, ...] = (
    Contender("tree", BinaryTree, lambda size: log2(size), _always(1)),
    Contender("tree, best decoder", VarianceReducedTree, lambda size: log2(size), _always(4)),
    Contender(
        "root", Root, lambda size: _root_vectors(size - 1, False), lambda size: _root_operations(size - 1, False)
    ),
    *(_buffered_horizon(buffers) for buffers in (1, 2, 3, 4, 5)),
    Contender("normalised root", NormalisedRoot, lambda size: size - 1, lambda size: size / 2 + 2),
    Contender(f"banded root, {BANDS}", partial(BandedRoot, bands=BANDS), _always(BANDS), _always(BANDS), MANY),
    Contender(
        f"banded inverse root, {BANDS}", partial(BandedInverseRoot, bands=BANDS), _always(BANDS), _always(BANDS), MANY
    ),
    Contender(
        "no horizon", lambda size: UnboundedToeplitz(), lambda size: size - 2, lambda size: size / 2, "knows no T"
    ),
    Contender("noise on every item", lambda size: NoisePerItem(), _always(1), _always(1), "knows no T"),
    Contender("noise on every prefix", lambda size: NoisePerPrefix(size - 1), _always(0), _always(0)),
)
WINDOWS: tuple[Contender, ...] = (
    Contender("window tree", WindowTree, lambda size: 2 * (log2(size) + 1), _always(3)),
    Contender("window tree, best decoder", DecodedWindowTree, lambda size: 4 * size, lambda size: 2.5 * log2(size) + 5),
    Contender("window tree, all nodes ahead", _ahead, lambda size: 5 * size, lambda size: log2(size) ** 2 / 4 + 6),
    Contender(
        "window root", WindowRoot, lambda size: _root_vectors(size, True), lambda size: _root_operations(size, True)
    ),
    *(_buffered_window(buffers) for buffers in (1, 2, 3, 4)),
    Contender("noise on every prefix", NoisePerPrefix, _always(0), _always(0)),
    Contender("noise on every item", lambda size: NoisePerItem(), _always(1), _always(1), "error grows with t"),
)


def sequence_errors(mechanism: PrefixSums, horizon: int) -> tuple[float, float]:
    """Largest and mean error over prefixes 1..T-1."""
    errors = mechanism.nodes_per_item * mechanism.noisy_nodes(horizon - 1)
    return float(errors.max()), float(errors.mean())


def window_errors(mechanism: PrefixSums, window: int) -> tuple[float, float]:
    """Largest and mean error once a window has passed; infinite for noise on every item, which never expires."""
    if isinstance(mechanism, NoisePerItem):
        return np.inf, np.inf
    if isinstance(mechanism, WindowBuffers):
        limit = mechanism.nodes_per_item * mechanism.symbol().square_sum()
        return limit, limit
    errors = mechanism.nodes_per_item * mechanism.noisy_nodes(2 * window)[window:]
    return float(errors.max()), float(errors.mean())


def sequences(horizons: Iterable[int] = HORIZONS) -> pd.DataFrame:
    """One row per horizon and mechanism, whole sequences."""
    rows = []
    for horizon in horizons:
        least = sequence_lower_bound(horizon - 1)
        for each in SEQUENCES:
            if each.offered(horizon):
                mechanism = each.make(horizon)
                rows.append(_row(each, horizon, mechanism, sequence_errors(mechanism, horizon), least))
    return pd.DataFrame(rows).rename(columns={"size": "T"})


def windows(sizes: Iterable[int] = SIZES) -> pd.DataFrame:
    """One row per window and mechanism."""
    rows = []
    for window in sizes:
        for each in WINDOWS:
            mechanism = each.make(window)
            found = _row(each, window, mechanism, window_errors(mechanism, window), window_optimum(window))
            rows.append(found)
    return pd.DataFrame(rows).rename(columns={"size": "W"})


def _row(
    each: Contender, size: int, mechanism: PrefixSums, errors: tuple[float, float], least: float
) -> dict[str, object]:
    largest, mean = errors
    return {
        "size": size, "mechanism": each.name, "squared sensitivity": float(mechanism.nodes_per_item),
        "largest error": largest, "mean error": mean, "lower bound": least, "largest / bound": largest / least,
        "mean / bound": mean / least, "vectors kept": float(each.vectors(size)),
        "multiply-adds": float(each.operations(size)), "remark": each.remark,
    }  # fmt: skip


def seconds(mechanism: PrefixSums, rounds: int = TIMED, repeats: int = 3) -> float:
    """CPU seconds a round and coordinate for correlating the noise, its further draws included; the least of a few."""
    generator = np.random.default_rng(0)
    units = generator.standard_normal((BLOCK, SHARED, 1))

    def fresh(count: int) -> np.ndarray:
        return generator.standard_normal((count, SHARED, 1))

    taken = []
    for _ in range(repeats):
        state, started = mechanism.init(*units.shape), process_time()
        for _ in range(rounds // BLOCK):
            mechanism.next(state, units.copy(), fresh)
        taken.append(process_time() - started)
    return min(taken) / (rounds * SHARED)


def cpu(sizes: Sequence[int] = (16, 256, 1024, 4096), horizon: int = TIMED) -> pd.DataFrame:
    """Nanoseconds a round and coordinate, by mechanism: the one table of this module that depends on the machine."""
    plans = [("W", window, each) for window in sizes for each in WINDOWS]
    plans += [("T", horizon, each) for each in SEQUENCES]
    rows = [
        {"sums": "windows" if kind == "W" else "whole sequences", "size": f"{kind} = {size}", "mechanism": each.name,
         "ns": 1e9 * seconds(each.make(size))}
        for kind, size, each in plans
    ]  # fmt: skip
    return pd.DataFrame(rows)
