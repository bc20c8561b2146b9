"""The league of prefix-sum mechanisms: what each costs and how far it is from the least that is possible, exactly.

Errors are variances per coordinate in units of (sensitivity / mu)^2: squared sensitivity times squared row norm.
Nothing is drawn. Whole sequences: prefixes 1..T-1 of a horizon T, largest and mean over them. Windows: rounds W+1..2W,
when the noise repeats (or has settled: buffers are charged with their limit).

Under pure noise errors are squared nodes of an item times the squared weights of an output, in units of (sensitivity /
epsilon)^2: a coordinate of norm-Gamma noise has d + 1 times that for its variance, a Laplace one twice it. Below the
bound, G_W^2 or (trace norm / n)^2, no linear mechanism stays in the mean (`toeplitz.pure_norm_floor`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log2
from time import process_time

import numpy as np
import pandas as pd

from dpregret.algorithms.privacy import horizon_sums, window_sums
from dpregret.algorithms.privacy.budget import Budget, gaussian_mu
from dpregret.algorithms.privacy.convolution import DIRECT
from dpregret.algorithms.privacy.prefix_sums import BLOCK, NoisePerItem, NoisePerPrefix, PrefixSums
from dpregret.algorithms.privacy.series import FIRST, longest, root_decays
from dpregret.algorithms.privacy.toeplitz import (
    BandedInverseRoot,
    BandedRoot,
    BufferedToeplitz,
    NormalisedRoot,
    Root,
    UnboundedToeplitz,
    WindowBuffers,
    WindowRoot,
    sequence_lower_bound,
    window_optimum,
)
from dpregret.algorithms.privacy.trees import BinaryTree, DecodedWindowTree, VarianceReducedTree, WindowTree
from dpregret.algorithms.privacy.window_blocks import WindowBlocks, WindowItems
from dpregret.numerics.arrays import Array

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


def _buffered(made: Callable[..., PrefixSums], buffers: int, vectors: Size) -> Contender:
    plural = "" if buffers == 1 else "s"
    make = partial(made, buffers=buffers)
    return Contender(f"{buffers} buffer{plural}", make, vectors, lambda size: 2 * vectors(size))


def _window_buffers(buffers: int) -> Contender:
    return _buffered(WindowBuffers, buffers, lambda window: len(WindowBuffers(window, buffers).symbol().poles))


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
    *(_buffered(BufferedToeplitz, buffers, _always(buffers + 1)) for buffers in (1, 2, 3, 4, 5)),
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
    *(_window_buffers(buffers) for buffers in (1, 2, 3, 4)),
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


def _table(size: str, described: Sequence[str], rows: Iterable[tuple[object, ...]]) -> pd.DataFrame:
    """Rows of (size, mechanism, what describes it, largest and mean error, least that is possible), with a ratio."""
    errors = ("largest error", "mean error", "lower bound")
    frame = pd.DataFrame(rows, columns=[size, "mechanism", *described, *errors])
    frame["mean / bound"] = frame["mean error"] / frame["lower bound"]
    return frame


def _gaussian(
    size: str,
    contenders: Sequence[Contender],
    sizes: Iterable[int],
    errors: Callable[[PrefixSums, int], tuple[float, float]],
    bound: Callable[[int], float],
) -> pd.DataFrame:
    pairs, rows = [], []
    for number in sizes:
        least = bound(number)
        for each in contenders:
            if each.offered(number):
                mechanism = each.make(number)
                charged = float(mechanism.nodes_per_item)
                pairs.append((number, each))
                rows.append((number, each.name, charged, *errors(mechanism, number), least))
    frame = _table(size, ["squared sensitivity"], rows)
    frame.insert(6, "largest / bound", frame["largest error"] / frame["lower bound"])
    frame["vectors kept"] = [float(each.vectors(number)) for number, each in pairs]
    frame["multiply-adds"] = [float(each.operations(number)) for number, each in pairs]
    frame["remark"] = [each.remark for _, each in pairs]
    return frame


def sequences(horizons: Iterable[int] = HORIZONS) -> pd.DataFrame:
    """One row per horizon and mechanism, whole sequences."""
    return _gaussian("T", SEQUENCES, horizons, sequence_errors, lambda horizon: sequence_lower_bound(horizon - 1))


def windows(sizes: Iterable[int] = SIZES) -> pd.DataFrame:
    """One row per window and mechanism."""
    return _gaussian("W", WINDOWS, sizes, window_errors, window_optimum)


def seconds(mechanism: PrefixSums) -> float:
    """CPU seconds a round and coordinate for correlating the noise, its further draws included; the least of three."""
    generator = np.random.default_rng(0)
    units = generator.standard_normal((BLOCK, SHARED, 1))

    def fresh(count: int) -> Array:
        return generator.standard_normal((count, SHARED, 1))

    taken = []
    for _ in range(3):
        state, started = mechanism.init(*units.shape), process_time()
        for _ in range(TIMED // BLOCK):
            mechanism.next(state, units.copy(), fresh)
        taken.append(process_time() - started)
    return min(taken) / (TIMED * SHARED)


def cpu() -> pd.DataFrame:
    """Nanoseconds a round and coordinate, by mechanism: the one table of this module that depends on the machine."""
    plans = [("windows", "W", window, each) for window in (16, 256, 1024, 4096) for each in WINDOWS]
    plans += [("whole sequences", "T", TIMED, each) for each in SEQUENCES]
    rows = [
        (sums, f"{letter} = {size}", each.name, 1e9 * seconds(each.make(size))) for sums, letter, size, each in plans
    ]
    return pd.DataFrame(rows, columns=["sums", "size", "mechanism", "ns"])


def _settled(mechanism: PrefixSums, window: int) -> Array:
    """Errors under pure noise over a window, or a whole block, once a window has passed."""
    period = mechanism.block if isinstance(mechanism, WindowBlocks) else window
    start = -(-window // period) * period
    return np.asarray(mechanism.nodes_per_item**2 * mechanism.noisy_nodes(start + period)[start:])


def _pure_row(size: int, name: str, mechanism: PrefixSums, errors: Array, least: float) -> tuple[object, ...]:
    radices = ", ".join(map(str, mechanism.radices)) if isinstance(mechanism, WindowBlocks) else ""
    return size, name, radices, float(mechanism.nodes_per_item), float(errors.max()), float(errors.mean()), least


def pure_windows(sizes: Iterable[int] = SIZES[1:15]) -> pd.DataFrame:
    """One row per window and mechanism under pure noise."""
    rows = []
    for window in sizes:
        blocks = window_sums("blocks", window)
        tapered = replace(blocks, tapered=True) if isinstance(blocks, WindowBlocks) else blocks
        mechanisms = {
            "window tree": WindowTree(window),
            "window tree, best decoder": DecodedWindowTree(window),
            "items": WindowItems(window),
            "blocks": blocks,
            "blocks, tapered": tapered,
        }
        for name, mechanism in mechanisms.items():
            rows.append(_pure_row(window, name, mechanism, _settled(mechanism, window), window_optimum(window)))
    return _table("W", ["radices", "nodes of an item"], rows)


def pure_sequences() -> pd.DataFrame:
    """One row per horizon T and mechanism under pure noise, prefixes 1..T-1."""
    rows = []
    for horizon in HORIZONS[::2]:
        mechanisms = {
            "tree": BinaryTree(horizon),
            "tree, best decoder": VarianceReducedTree(horizon),
            "blocks": horizon_sums("blocks", horizon),
        }
        for name, mechanism in mechanisms.items():
            errors = mechanism.nodes_per_item**2 * mechanism.noisy_nodes(horizon - 1)
            rows.append(_pure_row(horizon, name, mechanism, errors, sequence_lower_bound(horizon - 1)))
    return _table("T", ["radices", "nodes of an item"], rows)


def against_gaussian() -> pd.DataFrame:
    """The largest window, a power of two, up to which pure noise has less variance than the best Gaussian noise.

    One row per dimension and epsilon. Blocks or items, whichever has less, against (sensitivity / mu)^2 G_W^2 at delta.
    """
    sizes = [2**power for power in range(19)]
    least = [float(_settled(window_sums("blocks", window), window).mean()) for window in sizes]
    ratios = np.array([error / window_optimum(window) for error, window in zip(least, sizes, strict=True)])
    rows = []
    for dimension in (1, 2, 4, 8):
        for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
            better = (dimension + 1) * ratios < (epsilon / gaussian_mu(Budget(epsilon, 1e-6))) ** 2
            best = sizes[int(np.flatnonzero(better)[-1])] if better.any() else 0
            rows.append((dimension, epsilon, best))
    return pd.DataFrame(rows, columns=["d", "eps", "pure noise is less up to W ="])
