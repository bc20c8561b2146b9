"""The words that a verdict may be, in the order of their explanation, and what each means."""

from __future__ import annotations

from typing import Final

REPRODUCED, UP_TO_LOGS = "reproduced", "reproduced up to logs"
BELOW, ABOVE, SEEN_HERE = "below bound", "above bound", "seen here"
STEEPER_HELD, STEEPER, VIOLATED = "steeper, bound holds", "steeper", "violated"
HOLDS, FAILS = "holds", "fails"
INCONCLUSIVE, NOT_RUN = "inconclusive", "not run"

CLAIMS: Final = {
    REPRODUCED: "grows like the bound on a stream on which the terms of the bound appear",
    UP_TO_LOGS: "has the stated power; these cells and runs do not resolve the stated logarithm",
    BELOW: "grows more slowly than the bound up to the end of the grid: the bound is loose, or the stream is easy",
    ABOVE: "stays well above a lower bound",
    SEEN_HERE: "grows like the bound on a typical stream, which proves nothing about all streams",
    STEEPER_HELD: "grows faster than the bound, but from far below it: the explicit bound holds in every cell",
    STEEPER: "grows faster than the rate, and there is no explicit bound to compare with",
    INCONCLUSIVE: "the interval is too wide, too few cells are usable, or no single power describes the range",
    VIOLATED: "refuted: an explicit bound is crossed, privacy is lost beyond the claim, or the rate is exceeded by a "
    "response of at least half of the bound",
    NOT_RUN: "not in this profile",
}
"""Verdicts on claims -> their meaning. A claim could have come out otherwise."""
CHECKS: Final = {
    HOLDS: "as derived",
    FAILS: "not as derived: the code or the derivation is wrong",
    INCONCLUSIVE: "an interval contains the bound, or too few cells are usable",
    NOT_RUN: "not in this profile",
}
"""Verdicts on consistency checks -> their meaning."""
COLOURS: Final = {
    REPRODUCED: "good", UP_TO_LOGS: "logs", BELOW: "below", ABOVE: "below", SEEN_HERE: "seen", STEEPER_HELD: "steep",
    STEEPER: "steep", INCONCLUSIVE: "open", VIOLATED: "bad", NOT_RUN: "none", HOLDS: "good", FAILS: "bad",
}  # fmt: skip
"""Verdict -> class of the style sheet."""
MARKS: Final = {
    REPRODUCED: ("✓", r"$\surd$"), UP_TO_LOGS: ("≈", r"$\approx$"), BELOW: ("↓", r"$\downarrow$"),
    ABOVE: ("↑", r"$\uparrow$"), SEEN_HERE: ("○", r"$\circ$"), STEEPER_HELD: ("↗", r"$\nearrow$"),
    STEEPER: ("⇑", r"$\Uparrow$"), INCONCLUSIVE: ("?", "?"), VIOLATED: ("✗", r"$\times$"), NOT_RUN: ("–", "--"),
    HOLDS: ("✓", r"$\surd$"), FAILS: ("✗", r"$\times$"),
}  # fmt: skip
"""Verdict -> its sign, and the same in LaTeX; the word is always beside it, or in a legend."""
ORDER: Final = tuple(dict.fromkeys((*CLAIMS, *CHECKS)))
"""All verdicts."""
