"""The exact tables of a chapter or paper: computed from formulas, without randomness; no run is needed."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pandas as pd

from dpregret.core.errors import ConfigError, not_allowed
from dpregret.paper_figs.text import formats
from dpregret.workflows.mechanisms import bound_map, expiry_curves, league

TIMED = ("cpu",)
"""Tables that depend on the machine."""


@cache
def _losses() -> pd.DataFrame:
    return expiry_curves.losses()


@cache
def _bounds() -> pd.DataFrame:
    return bound_map.bounds()


TABLES: Mapping[str, Callable[[], pd.DataFrame]] = {
    "sequences": league.sequences,
    "windows": league.windows,
    "ages": _losses,
    "curves": lambda: expiry_curves.curves(_losses()),
    "noise": bound_map.noise,
    "bounds": _bounds,
    "switches": lambda: bound_map.switches(_bounds()),
    "pure-windows": league.pure_windows,
    "pure-sequences": league.pure_sequences,
    "pure-gaussian": league.against_gaussian,
    "cpu": league.cpu,
    "crossing": bound_map.crossing,
    "crossover": bound_map.crossover,
}
LONG = ("ages", "bounds")
"""Tables that are drawn, not read: as CSV only."""


def write_exact(captions: Mapping[str, str], out: Path) -> None:
    """Write NAME.csv of every table that a claims file names, and NAME.md and NAME.html below its caption.

    Raises ConfigError for a name that is none of `TABLES`.
    """
    for name in captions:
        if name not in TABLES:
            raise ConfigError(f"exact: {not_allowed('table', name, TABLES)}")
    out.mkdir(parents=True, exist_ok=True)
    for name, caption in captions.items():
        frame = TABLES[name]()
        formats.write_csv(frame, out / f"{name}.csv")
        if name not in LONG:
            formats.write_captioned(shown(frame), caption, out, name)


def shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as text: whole ones in full, others with five significant digits; columns of one empty text left out."""
    text = frame.map(lambda value: value if isinstance(value, str) else _number(float(value)))
    return text[[name for name in text.columns if (text[name] != "").any()]]


def _number(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e7 else formats.significant(value, 5)
