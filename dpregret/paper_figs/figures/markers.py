"""Colour, marker and dashes of every algorithm: the same in all figures, and no two alike.

An algorithm has a hue (`HUES`; others take one by the letters of their name), a learner without privacy is grey. Within
a hue every variant has a marker of its own; what a paper prints is dashed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Final
from zlib import crc32

from dpregret.paper_figs.figures.style import PALETTE, Colour, shaded

MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d", "8")
Dash = str | tuple[int, tuple[float, ...]]
PLAIN_DASHES: Final[tuple[Dash, ...]] = ("-", (0, (7, 1.2, 1.2, 1.2)), (0, (7, 1, 1, 1, 1, 1)), (0, (9, 1.5)))
PRINTED_DASHES: Final[tuple[Dash, ...]] = ((0, (4, 1.8)), (0, (2, 1.2)))
SHADES: Final = (0.0, -0.35, 0.25, -0.2, -0.5)
NEAR: Final = {"sky": "blue", "blue": "sky", "vermilion": "orange", "orange": "vermilion"}
"""Hues that shades may bring close to each other: their markers differ as far as there are enough."""
GREYS: Final = (0.25, 0.5, 0.65)
GREY_DASHES: Final[tuple[Dash, ...]] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)))
GREY: Final = "grey"
_BY_HUE: Final = {
    "blue": "wdp-cocop-gaussian dp-ftrl sparse-vector private-bandit-gaussian noisy-gd private-ftrl "
            "online-to-batch.descent one-pass-ftrl private-blocked-descent wdp-cocop-solver",
    "vermilion": "wdp-cocop-gamma dp-ftrl-lipschitz private-bandit-laplace noisy-sgd noisy-eg private-ftpl phased-sgd "
                 "restarted-ftal private-projected-descent adaptive-sparse-vector.cold epoch-leader",
    "green": "wdp-cocol-gaussian pftal shrinking-dartboard private-linear-bandit objective-perturbation noisy-qnorm "
             "private-fw.balanced online-to-batch.leader private-gauge-descent batched-arms noisy-oracle "
             "net-sparse-vector l2p-net",
    "purple": "wdp-cocol-gamma hedge-batched chaudhuri private-vr-fw online-to-batch.shrinking "
              "private-separation-descent adaptive-sparse-vector.restart thakurta-smith-gaussian pqftl noisy-nuclear",
    "orange": "wdp-scofw-gamma hedge-composition output-perturbation private-fw.gumbel online-to-batch.gauge "
              "pocp-giga adaptive-sparse-vector.warm thakurta-smith-laplace sampled-sparse-vector",
    "sky": "wdp-scofw-gaussian private-bandit-doubling noisy-gd-strong online-to-batch.descent-tree ftal-endless "
           "noisy-grouped online-to-batch.descent-buffers",
    "wine": "noise-per-gradient batched-dartboard noisy-value-bandit private-fw private-fw-general "
            "online-to-batch.oracle online-to-batch.blocked",
    "olive": "pocp-igd noise-per-prefix tree-counters noisy-md online-to-batch.local-oracle online-to-batch.implicit",
    GREY: "ftal ogd ofw scofw stay lloo-ftal projected-descent blocked-descent separation-descent gauge-descent "
          "adaptive-descent ogd-small-loss hedge fkm garber-kretzu fw projected-gradient stay-at-zero "
          "ofw-explicit consensus noisy-oco norm-tail random-sum tree-error tree-privacy",
}  # fmt: skip
HUES: Final = {key: hue for hue, keys in _BY_HUE.items() for key in keys.split()}
"""learner, or learner.variant -> its hue."""


@dataclass(frozen=True)
class Look:
    """How a curve is drawn."""

    colour: Colour
    marker: str
    dash: Dash = "-"

    def without_noise(self) -> Look:
        """The same algorithm without privacy: grey, dotted, its own marker."""
        return replace(self, colour=(0.4, 0.4, 0.4), dash=(0, (1.2, 1.2)))


class Looks:
    """The looks of all algorithms in `names`, and of others as they come."""

    def __init__(self, names: Mapping[str, str]):
        variants: dict[str, list[str]] = {}
        for key in names:
            learner, dot, variant = key.partition(".")
            if learner and dot and ":" not in key:
                variants.setdefault(learner, []).append(variant)
        self._taken: set[Look] = set()
        self._known: dict[str, Look] = {}
        rank = {key: index for index, key in enumerate(HUES)}
        ordered = {learner: _ordered(own) for learner, own in variants.items()}
        for learner in sorted(ordered, key=lambda name: (rank.get(name, len(rank)), name)):
            self._assign(f"{learner}.{ordered[learner][0]}", 0)
        for learner in sorted(ordered):
            for index, variant in enumerate(ordered[learner]):
                self._assign(f"{learner}.{variant}", index)

    def of(self, learner: str, variant: str, private: bool = True) -> Look:
        """The look of a learner's variant; one without privacy is never coloured."""
        key = f"{learner}.{variant}"
        if key not in self._known:
            self._assign(key, 0, hue=None if private else GREY)
        found = self._known[key]
        return found if private or hue_of(key) == GREY else found.without_noise()

    def at(self, key: str) -> Look:
        """The look of a private learner.variant."""
        return self.of(*key.partition(".")[::2])

    def _assign(self, key: str, place: int, hue: str | None = None) -> None:
        if key in self._known:
            return
        hue, printed = hue or hue_of(key), key.partition(".")[2].startswith("printed")
        place = 0 if key in HUES else place
        if hue == GREY:
            options = (Look((grey,) * 3, marker, dash) for grey, (marker, dash) in _greys())
        else:
            dashes = PRINTED_DASHES if printed else PLAIN_DASHES
            dash = dashes[place % len(dashes)]
            turn, start = place % len(SHADES), list(PALETTE).index(hue)
            shades, markers = SHADES[turn:] + SHADES[:turn], MARKERS[start:] + MARKERS[:start]
            options = (Look(shaded(PALETTE[hue], shade), marker, dash) for shade, marker in product(shades, markers))
        shapes = {(each.colour, each.marker) for each in self._taken}
        free = [each for each in options if (each.colour, each.marker) not in shapes]
        worn = Counter(each.marker for each in self._taken if _hue(each) in (hue, NEAR.get(hue)))
        learner = key.partition(".")[0]
        own = Counter(look.marker for name, look in self._known.items() if name.partition(".")[0] == learner)
        rarest = min(free, key=lambda each: (own[each.marker], worn[each.marker]), default=Look(PALETTE["blue"], "o"))
        found = free[0] if hue == GREY else rarest
        self._taken.add(found)
        self._known[key] = found


def _ordered(variants: list[str]) -> list[str]:
    """Solid curves come first, printed variants last."""
    return sorted(variants, key=lambda name: name.startswith("printed"))


@cache
def _greys() -> list[tuple[float, tuple[str, Dash]]]:
    """Shades, markers and dashes of learners without privacy, neighbours as different as can be."""
    count = len(GREYS) * len(MARKERS)
    return [
        (GREYS[index % len(GREYS)], (MARKERS[(index + index // len(MARKERS)) % len(MARKERS)],
                                     GREY_DASHES[index % len(GREY_DASHES)])) for index in range(count)
    ]  # fmt: skip


@cache
def _hue(look: Look) -> str:
    for hue, colour in PALETTE.items():
        if look.colour in {shaded(colour, each) for each in SHADES}:
            return hue
    return GREY


def hue_of(key: str) -> str:
    """The hue of learner.variant."""
    learner = key.partition(".")[0]
    return HUES.get(key) or HUES.get(learner) or list(PALETTE)[crc32(learner.encode()) % len(PALETTE)]
