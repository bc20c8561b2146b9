"""Validation of the fits: simulations with known rates and known failures, and tables of their results.

`Sweep` has synthetic results with a known law, in the columns of real ones. `intervals` says how often a 95 %
interval holds the true exponent, `verdicts` how often curves get the verdict that they deserve, `resolutions`
how often a law that is off by the stated resolution is detected.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge import vocabulary as word
from dpregret.paper_figs.judge.cells import USED, Cells, pivot, swept_rows
from dpregret.paper_figs.judge.claims import Claim
from dpregret.paper_figs.judge.runs import COLUMNS, COST_COLUMNS, check_columns
from dpregret.paper_figs.judge.verdicts import NOTICED, judge_cells, log_leverage, noticed, rate_of
from dpregret.paper_figs.text import formats

HORIZONS = tuple(2**k for k in range(8, 16))
Law = Callable[[Array, float], Array]
"""(checkpoints, swept value) -> mean regret."""


def own_and_common(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Normal numbers (..., runs, cells) of variance 2, half of it common to the cells of a run."""
    return generator.normal(size=shape) + generator.normal(size=(*shape[:-1], 1))


@dataclass
class Sweep:
    """One learner in one experiment; `law` gives the mean regret.

    The explicit bound is `bound`, without one `bound_factor` times the mean. A run deviates by `spread` times one
    normal number in all cells, and by an independent log-normal factor of deviation `scatter` in each cell.
    """

    law: Law
    learner: str = "wdp-cocop-gamma"
    variant: str = "corrected"
    experiment: str = "horizon"
    stream: str = "norm-kink"
    tight: bool = True
    parameter: str = "horizon"
    values: tuple[float, ...] = (0,)
    horizon: int = HORIZONS[-1]
    anytime: bool = True
    runs: int = 16
    spread: float = 0.1
    displacement: Law = field(default=lambda checkpoints, value: 1.0 / checkpoints)
    stay: float = 0.5
    bound_factor: float = 2.0
    bound: Law | None = None
    delivered: float = 1.0
    settings: dict[str, object] = field(default_factory=dict)
    scatter: float = 0.0
    seed: int | list[int] = 1

    def frame(self) -> pd.DataFrame:
        """Rows as `read_runs` gives them."""
        frames = [self._cell(value) for value in self.values]
        rows = pd.concat(frames, ignore_index=True).assign(regret=self.regrets())
        return check_columns(rows, "planted")

    def regrets(self) -> Array:
        """Regrets of all rows in their order: all that depends on the seed."""
        run, checkpoint = self._index()
        generator = np.random.default_rng(self.seed)
        shift = generator.normal(size=self.runs)  # common to all cells of a run
        shift -= shift.mean()
        parts = []
        for value in self.values:
            factors = np.exp(self.scatter * generator.normal(size=checkpoint.shape) - self.scatter**2 / 2)
            parts.append(self.law(checkpoint, value) * (1 + self.spread * shift[run]) * factors)
        return np.concatenate(parts)

    def _index(self) -> tuple[Any, Any]:
        """Run and checkpoint of every row of a cell."""
        checkpoints = np.array([2**k for k in range(4, int(np.log2(self.horizon)) + 1)])
        run, position = (index.ravel() for index in np.indices((self.runs, len(checkpoints))))
        return np.asarray(run), checkpoints[position]

    def _cell(self, value: float) -> pd.DataFrame:
        run, checkpoint = self._index()
        copied = ("experiment", "learner", "variant", "stream", "tight", "horizon", "anytime")
        rows = {
            "paper": "lou_cheung_2020",
            **{name: getattr(self, name) for name in copied},
            "set": "ball",
            "dimension": 4,
            "window": 16,
            "epsilon": 8.0,
            "delta": 1e-6,
            "mu_gdp": 1.5,
            "run": run,
            "checkpoint": checkpoint,
            "regret": 0.0,
            "trivial_regret": self.stay * checkpoint,
            "bound": (self.bound(checkpoint, value) if self.bound else self.bound_factor * self.law(checkpoint, value)),
            "displacement": self.displacement(checkpoint, value),
            "noise_distribution": "gamma",
            "delivered_epsilon": 8.0 * self.delivered,
            **dict.fromkeys(("comparator_gap", "violation", *COST_COLUMNS), 0.0),
            **dict.fromkeys(("noise_norm", "noise_scale", "projections"), 1.0),
            "seconds": 1e-5,
            "seconds_projection": 2e-6,
            "status": "ok",
            "config_hash": "c",
            "code_hash": "k",
        }
        swept: dict[str, float] = {} if self.parameter == "horizon" else {self.parameter: value}
        if self.parameter == "mu":
            swept = {"mu_gdp": value, "epsilon": 8 * value}
        frame = pd.DataFrame({**rows, **self.settings, **swept})[[*COLUMNS, *COST_COLUMNS]]
        integers = ["horizon", "dimension", "window", "run", "checkpoint"]
        return frame.astype(dict.fromkeys(integers, "int64"))


def make_claim(**changes: object) -> Claim:
    """A claim of regret T^0.5 from T = 256 on, with changes."""
    base: dict[str, object] = {
        "id": "test", "source": "nowhere", "says": "a known law", "learner": "wdp-cocop-gamma",
        "variant": "corrected", "experiment": "horizon", "stream": "norm-kink", "parameter": "horizon",
        "rate": "T^0.5", "from": 256,
    }  # fmt: skip
    changes = {{"asymptotic_from": "from", "statement": "says"}.get(key, key): value for key, value in changes.items()}
    return Claim.model_validate({**base, **changes})


POWER: Final = 0.5
REPLICATES: Final = 400
"""Bootstrap replicates per simulated data set; tables use `fits.REPLICATES`."""
BATCH: Final = 500
"""Data sets simulated together."""
OFFSETS: Final = (0.0, 0.05)
"""Slopes of response / bound under the claimed law, inside the tolerance."""
CAPTIONS: Final = {
    "intervals": "Simulated laws T^0.5 ln T with log-normal noise, half of its variance common to a run's cells: mean "
    "error of the log-aware exponent, and how often its 95 % interval holds the truth.",
    "verdicts": "Simulated curves under the claim T^0.5, 16 runs a cell: how often they get the right verdict.",
    "resolution": "Simulated laws T^0.5 ln T that are off by exactly the resolution which an earlier play of the "
    "experiment stated, in the power or in the power of the logarithm, under runs that are log-normal (spread: "
    "standard deviation of the logarithm) and that have a slope of their own inside the tolerance (offset): mean "
    "resolution, and how often the change is noticed in the direction in which it is noticed less often (stated: at "
    f"least {NOTICED:.0%}), with the 95 % interval of that share.",
}


@dataclass(frozen=True)
class Case:
    """A curve, the verdict that it deserves, and a phrase that the reason contains.

    `sweep` and `claim` hold what differs from an ordinary sweep and from the claim T^0.5.
    """

    law: Law
    verdict: str
    phrase: str = ""
    sweep: Mapping[str, object] = field(default_factory=dict)
    claim: Mapping[str, object] = field(default_factory=dict)


def _power(power: float, factor: float = 3.0) -> Law:
    return lambda checkpoints, value: factor * checkpoints**power


def _bent(checkpoints: Array, value: float) -> Array:
    return 0.1 * checkpoints**0.5 * np.exp(0.25 * np.log(checkpoints / 2**11.5) ** 2)


def _flat(checkpoints: Array, value: float) -> Array:
    return 0.1 * checkpoints**0.5 * np.log(checkpoints / 1e-6)


def _settled(checkpoints: Array, value: float) -> Array:
    return np.asarray(checkpoints**0.5 * np.clip(0.3 * 3 ** (np.log2(checkpoints / HORIZONS[0]) / 3), 0.3, 0.9))


FASTER: Final = _power(0.7, 0.3)
CASES: Final[Mapping[str, Case]] = MappingProxyType(
    {
        "as claimed": Case(_power(0.5), word.REPRODUCED),
        "as claimed, on an easy stream": Case(_power(0.5), word.SEEN_HERE, "not tight", {"tight": False}),
        "as claimed, with a logarithm too flat to see": Case(
            _flat, word.UP_TO_LOGS, "log power not resolved", claim={"rate": "T^0.5 ln(T/delta)"}
        ),
        "as claimed on the whole, but bent": Case(_bent, word.INCONCLUSIVE, "not one power", {"scatter": 0.02}),
        "slower by 0.2": Case(_power(0.3), word.BELOW),
        "faster by 0.2, through its bound": Case(FASTER, word.VIOLATED, "crossed", {"bound": _power(0.5, 1.2)}),
        "faster by 0.2, not far from its bound": Case(
            FASTER, word.STEEPER_HELD, "of the explicit bound", {"bound": _power(0.5, 3)}
        ),
        "rises from 0.3 to 0.9 of its bound, and stays there": Case(
            _settled, word.INCONCLUSIVE, "falls into the tolerance", {"bound": _power(0.5, 1.0)}
        ),
        "faster by 0.2, from far below its bound": Case(
            FASTER, word.STEEPER_HELD, "of the explicit bound", {"bound": _power(0.5, 60)}
        ),
        "faster by 0.2, no bound of this rate": Case(FASTER, word.STEEPER, "no explicit bound"),
        "at the edge of the tolerance": Case(_power(0.6), word.INCONCLUSIVE, "straddles"),
        "saturated": Case(_power(1.0, 0.45), word.INCONCLUSIVE, "12 saturated"),
        "noise larger than the set until T = 2^13": Case(
            _power(0.5), word.INCONCLUSIVE, "it would need", {"displacement": _power(-1.0, 8192)}
        ),
        "faster by 0.2, beside a constant of 0.2 of the last cell": Case(
            lambda checkpoints, value: 1 + 4 * (checkpoints / HORIZONS[-1]) ** 0.7,
            word.INCONCLUSIVE,
            "rises into the tolerance",
        ),
        "a start that bends": Case(lambda checkpoints, value: 300 + 3 * checkpoints**0.5, word.BELOW),
        "too few runs for the noise": Case(_power(0.5), word.INCONCLUSIVE, "would decide", {"scatter": 1.2, "runs": 6}),
    }
)
"""Curves that must not mislead a verdict."""


def _batches(simulations: int) -> Iterator[int]:
    """Sizes of the batches."""
    return (min(BATCH, simulations - first) for first in range(0, simulations, BATCH))


def _grid(cells: int) -> tuple[Array, Array, Array]:
    """Horizons from 2^8 on, ln T and ln ln T of them."""
    horizons = np.asarray(2.0 ** np.arange(8, 8 + cells), dtype=np.float64)
    return horizons, np.log(horizons), np.log(np.log(horizons))


def _slopes(
    generator: np.random.Generator, laws: Array, runs: int, spread: float, axis: Array, claimed: Array
) -> tuple[Array, Array, Array]:
    """Slopes of response / claimed law with their ends, for data sets of mean exp(`laws`) (data sets, cells)."""
    noise = own_and_common(generator, (len(laws), runs, len(axis)))
    responses = np.exp(laws[:, None, :] + spread * np.sqrt(0.5) * noise)
    return fits.slope_intervals(responses, axis, claimed, replicates=REPLICATES)


def intervals(simulations: int, seed: int = 1) -> pd.DataFrame:
    """Mean error of the log-aware exponent, coverage and mean half-width; one row for runs, spread and cells."""
    rows = []
    for runs, spread, cells in itertools.product((8, 16, 32), (0.2, 0.5), (4, 8)):
        _, axis, factor = _grid(cells)
        generator = np.random.default_rng([seed, runs, cells, round(100 * spread)])
        laws = POWER * axis + factor
        planted = (np.tile(laws, (count, 1)) for count in _batches(simulations))
        fitted = [_slopes(generator, planted_laws, runs, spread, axis, factor) for planted_laws in planted]
        value, low, high = (np.concatenate(parts) for parts in zip(*fitted, strict=True))
        rows.append(
            {
                "runs": runs,
                "spread": spread,
                "cells": cells,
                "simulations": simulations,
                "error": float(value.mean() - POWER),
                "coverage": float(((low <= POWER) & (high >= POWER)).mean()),
                "half_width": float((high - low).mean() / 2),
            }
        )
    return pd.DataFrame(rows)


def resolutions(simulations: int, seed: int = 1) -> pd.DataFrame:
    """How often a law that is off by exactly the stated resolution is judged definitely otherwise.

    Each simulation plays an experiment whose slope is `offset` above the claimed one, states its resolution, and plays
    it again with other random numbers under a law whose power, or whose power of the logarithm, is off by just that, up
    or down in turn. Counted is the worse direction.
    """
    claim, rows = make_claim(rate="T^0.5 ln T"), []
    for runs, spread, cells, offset in itertools.product((6, 16, 32), (0.1, 0.5), (4, 8), OFFSETS):
        horizons, axis, factor = _grid(cells)
        leverage = log_leverage(claim, rate_of(claim), _swept(horizons))
        generator = np.random.default_rng([seed, runs, cells, round(100 * spread), round(100 * offset)])
        laws, claimed = (POWER + offset) * axis + factor, factor + POWER * axis
        stated, hits = [], np.zeros((2, 2))
        for count in _batches(simulations):
            value, low, high = _slopes(generator, np.tile(laws, (count, 1)), runs, spread, axis, claimed)
            change = noticed(value, (high - low) / 2, claim.tol, runs)
            stated.append(change)
            up = np.arange(count) % 2 == 1
            for index, shape in enumerate((axis, factor / leverage)):
                off = laws + np.where(up, change, -change)[:, None] * shape
                _, low, high = _slopes(generator, off, runs, spread, axis, claimed)
                detected = (low > claim.tol) | (high < -claim.tol)
                hits[index] += detected[up].sum(), detected[~up].sum()
        mean, played = float(np.concatenate(stated).mean()), simulations // 2
        row: dict[str, float] = {
            "runs": runs, "spread": spread, "cells": cells, "offset": offset, "simulations": simulations,
            "resolution": mean, "resolution_log": mean / leverage,
        }  # fmt: skip
        for name, times in zip(("power", "log"), hits.min(axis=1).astype(int).tolist(), strict=True):
            share = stats.binomtest(times, played).proportion_ci(fits.LEVEL)
            column = f"noticed_{name}"
            row |= {column: times / played, f"{column}_low": share.low, f"{column}_high": share.high}
        rows.append(row)
    return pd.DataFrame(rows)


def _swept(horizons: Array) -> Cells:
    """Cells of a sweep over T, without responses."""
    empty = np.full(len(horizons), np.nan)
    return Cells(horizons, empty[None], empty, empty, horizons, empty, empty, (USED,) * len(horizons), empty, True)


def verdicts(simulations: int, seed: int = 1) -> pd.DataFrame:
    """Share of simulations in which each of `CASES` is judged as it deserves, and the most frequent other verdict."""
    results = []
    for number, (name, case) in enumerate(CASES.items()):
        judged = []
        sweep = Sweep(case.law, **{"spread": 0.1, "scatter": 0.1, **case.sweep})  # type: ignore[arg-type]
        runs, claim = sweep.frame(), make_claim(**case.claim)
        rows = swept_rows(runs, claim)
        for simulation in range(simulations):
            regrets = replace(sweep, seed=[seed, number, simulation]).regrets()[rows.index]
            judged.append(judge_cells(runs, claim, pivot(rows.assign(regret=regrets, response=regrets), claim)))
        wrong = [item.verdict for item in judged if item.verdict != case.verdict or case.phrase not in item.reason]
        results.append(
            {
                "curve": name,
                "deserves": case.verdict,
                "phrase": case.phrase or formats.DASH,
                "simulations": simulations,
                "right": 1 - len(wrong) / simulations,
                "else": max(sorted(wrong), key=wrong.count) if wrong else formats.DASH,
            }
        )
    return pd.DataFrame(results)


def write_validation(out: Path, simulations: int) -> None:
    """Write intervals, verdicts and resolution as CSV and Markdown into `out`.

    `simulations` is the number for intervals; verdicts take a twentieth of it, resolutions half.
    """
    tables = {
        "intervals": intervals(simulations),
        "verdicts": verdicts(max(1, simulations // 20)),
        "resolution": resolutions(max(1, simulations // 2)),
    }
    for name, table in tables.items():
        formats.write_csv(table, out / f"{name}.csv")
        formats.write_captioned(table, CAPTIONS[name], out, name)
