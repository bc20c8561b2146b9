"""Sums that expire with one noise an item: it comes with the item and goes with it.

Released is S_t + sum of the noises of the last W items, so the noise has the variance of W draws, an item lies in one
node, and no window has to be a power of anything. For pure privacy and small windows that is less than any tree has:
a tree pays the square of its levels.

Privacy     Window epsilon-DP (or mu-GDP): with x = v - v' moved into the noise of its own item, the outputs of both
            streams agree until the item has expired, after which its sum is exact.
"""

from dataclasses import dataclass

import numpy as np

from dpregret.algorithms.privacy.prefix_sums import Fresh, PrefixSums, by_run
from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled


@dataclass(frozen=True)
class WindowItems(PrefixSums):
    """z_t = sum_{j<W} Z_{t-j}. Raises ValueError for a window below 1."""

    window: int

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ValueError(f"window must be at least 1, got {self.window}")

    @property
    def nodes_per_item(self) -> int:
        """One."""
        return 1

    def noisy_nodes(self, rounds: int) -> Array:
        """min(t, W) at round t."""
        return np.asarray(np.minimum(np.arange(1.0, rounds + 1), float(self.window)))

    @property
    def most_noisy_nodes(self) -> float:
        """W, from round W on."""
        return self.window

    def init(self, rounds: int, runs: int, dimension: int) -> "ItemsState":
        """2 W vectors, added in the order of rounds: nothing is ever taken off a sum, so nothing drifts."""
        begun, rest = np.zeros((2, runs, self.window, dimension))
        return ItemsState(begun, rest, np.zeros((runs, dimension)))

    def next(self, state: "ItemsState", units: Array, fresh: Fresh) -> Array:
        """Sums of the last W unit noises."""
        noise = by_run(units)
        moving_sums(noise, state.done, state.begun, state.rest, state.total)
        state.done = (state.done + len(units)) % self.window
        return noise.swapaxes(0, 1)


@dataclass
class ItemsState:
    """Of stretches of W rounds: the noises of the one that goes on, (runs, W, d), and their total, (runs, d).

    rest: what is left of the one before after 1..W of its items have expired, (runs, W, d). done: rounds of this one.
    """

    begun: Array
    rest: Array
    total: Array
    done: int = 0


@compiled
def moving_sums(units: Array, done: int, begun: Array, rest: Array, total: Array) -> None:
    """Every vector becomes the sum of the last W, in place; units (runs, rounds, d), the state as in `ItemsState`."""
    runs, rounds, dimension = units.shape
    window = begun.shape[1]
    for run in range(runs):
        at = done
        for now in range(rounds):
            for k in range(dimension):
                begun[run, at, k] = units[run, now, k]
                total[run, k] += units[run, now, k]
                units[run, now, k] = total[run, k] + rest[run, at, k]
            at += 1
            if at == window:
                at = 0
                for k in range(dimension):
                    total[run, k] = 0.0
                    rest[run, window - 1, k] = 0.0
                    for item in range(window - 1, 0, -1):
                        rest[run, item - 1, k] = rest[run, item, k] + begun[run, item, k]
