"""The binary tree of prefix sums, written once: N_t = N_{t & (t - 1)} + Z_t.

t & (t - 1) is t without its lowest set bit 2^l. Z_t belongs to the node that ends with item t and holds the last 2^l of
them: its noise where prefixes are noised, its value where they are summed. So prefix t has popcount(t) nodes. What the
next rounds need of the past is N at the last multiple of 1, 2, 4, ...: the state, one vector a level.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dpregret.numerics.arrays import Array
from dpregret.numerics.compiled import compiled

Number = TypeVar("Number", np.float64, np.int64)
ENDLESS = 2**62  # rounds of a tree that never ends


@compiled
def tree_prefixes(nodes: npt.NDArray[Number], window: int, done: int, reached: npt.NDArray[Number]) -> None:
    """Z of the rounds done + 1, done + 2, ... -> N of these rounds, in place.

    nodes: (runs, rounds, d). window: rounds of a tree, a power of two; the next one follows at once. reached: (runs,
    levels, d), at l the N of the last multiple of 2^l so far, kept up; the last level is N_0 of every tree, and serves
    alone where the rounds are whole trees.
    """
    runs, rounds, dimension = nodes.shape
    top = reached.shape[1] - 1
    for run in range(runs):
        now = done % window
        for place in range(rounds):
            now = now + 1 if now < window else 1
            older = now & (now - 1)
            held = place - (now - older)  # where N of that prefix lies
            if older and held >= 0:
                for k in range(dimension):
                    nodes[run, place, k] += nodes[run, held, k]
            else:
                level = top
                if older:
                    level = 1
                    while not (now >> (level - 1)) & 1:
                        level += 1
                for k in range(dimension):
                    nodes[run, place, k] += reached[run, level, k]
        for level in range(top):
            place = rounds - 1 - (now - (now >> level << level))
            if place >= 0:
                for k in range(dimension):
                    reached[run, level, k] = nodes[run, place, k]


@dataclass
class Tree:
    """A tree of some rounds, a power of two, between blocks: `reached` of `tree_prefixes`, and how many are done."""

    window: int
    reached: Array
    done: int = 0

    @classmethod
    def begun(cls, window: int, runs: int, dimension: int) -> "Tree":
        """Before round 1, N_0 = 0."""
        return cls(window, np.zeros((runs, window.bit_length() + 1, dimension)))

    def next(self, nodes: Array) -> None:
        """Z of the next rounds (runs, rounds, d) -> N, in place."""
        tree_prefixes(nodes, self.window, self.done, self.reached)
        self.done += nodes.shape[1]


@compiled
def add_rest(noise: Array, window: int, rest: Array, first: int) -> None:
    """noise of position j of a tree += rest of what is left after it, rest[window - j], from round `first` on.

    noise, rest: (runs, rounds, d), trees of `window` rounds one after the other.
    """
    runs, rounds, dimension = noise.shape
    for run in range(runs):
        for begun in range(first, rounds, window):
            for now in range(window):
                for k in range(dimension):
                    noise[run, begun + window - 1 - now, k] += rest[run, begun + now, k]
