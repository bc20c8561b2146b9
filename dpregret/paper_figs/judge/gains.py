"""The gain of a learner from another mechanism: ratios of noise and of regret on the same losses, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import FAILED, Cells, NotRun, collect_cells, setting
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile, Gain, load_claims
from dpregret.paper_figs.judge.rates import Rate
from dpregret.paper_figs.judge.runs import read_runs
from dpregret.paper_figs.judge.vocabulary import labels_of
from dpregret.paper_figs.text import formats

NAME: Final = "gains"
CAPTION: Final = (
    "What a learner gains when only its mechanism is exchanged: the response (and the mean norm of the noise) with the "
    "first mechanism over that with the second, same losses, 95 % intervals over runs. Above 1 the second one is "
    "better. A cell is saturated or early by the same rules as in fits."
)
SHOWN: Final = (
    "learner", "with", "over", "experiment", "where", "stream", "parameter", "value", "noise ratio", "response",
    "ratio", "setting", "cell", "runs",
)  # fmt: skip


def ratio(first: Array, second: Array) -> fits.Estimate:
    """Mean of `first` over mean of `second`, (runs,) each, with the t interval of jackknife pseudo-values.

    Of different numbers of runs the first ones are taken, which are the same.
    """
    runs = min(len(first), len(second))
    first, second = first[:runs], second[:runs]
    whole = first.mean() / second.mean()
    others = (first.sum() - first) / (second.sum() - second)
    return fits.mean_interval(np.asarray(runs * whole - (runs - 1) * others, dtype=np.float64))


def gains(runs: pd.DataFrame, claims: ClaimsFile) -> pd.DataFrame:
    """One row per learner, mechanism, stream and value; none where a learner has not been run."""
    rows = [row for gain in claims.gains for row in _rows(runs, gain)]
    columns = [name for name in SHOWN if name not in ("noise ratio", "ratio")]
    return pd.DataFrame(rows, columns=[*columns, *(f"{kind}{end}" for kind in ("noise", "ratio")
                                                   for end in ("", "_low", "_high"))])  # fmt: skip


def _rows(runs: pd.DataFrame, gain: Gain) -> Iterator[dict[str, object]]:
    runs = runs.loc[runs["experiment"] == gain.experiment]
    own = runs.loc[(runs["learner"] == gain.learner) & (runs["variant"] == gain.over)]
    for name, value in gain.where.items():
        own = own.loc[own[name] == value]
    settings = {str(stream): setting(rows, besides=(gain.parameter,)) for stream, rows in own.groupby("stream")}
    for stream in sorted(set(runs.loc[runs["learner"] == gain.learner, "stream"]) - {""}):
        try:
            first, first_noise = _pair(runs, gain, gain.over, stream)
        except NotRun:
            continue
        for variant in gain.variants:
            try:
                second, second_noise = _pair(runs, gain, variant, stream)
            except NotRun:
                continue
            noisy = [first_noise, second_noise]
            for cell, value in enumerate(first.values):
                if FAILED in (first.status[cell], second.status[cell]) or value != second.values[cell]:
                    continue
                gained = ratio(first.responses[:, cell], second.responses[:, cell])
                quieter = (
                    ratio(noisy[0].responses[:, cell], noisy[1].responses[:, cell]) if _noisy(noisy) else fits.UNKNOWN
                )
                yield {
                    "learner": gain.learner, "with": variant, "over": gain.over, "experiment": gain.experiment,
                    "where": " ".join(f"{key}={each}" for key, each in gain.where.items()),
                    "stream": stream, "parameter": gain.parameter, "value": value, "response": gain.response,
                    "setting": settings.get(stream, ""), "cell": first.status[cell],
                    "runs": min(len(first.responses), len(second.responses)),
                    **quieter.columns("noise"), **gained.columns("ratio"),
                }  # fmt: skip


def _pair(runs: pd.DataFrame, gain: Gain, variant: str, stream: str) -> tuple[Cells, Cells]:
    """The response and the noise of a variant; raises NotRun."""
    response, noise = (collect_cells(runs, _claim_of(gain, variant, stream, each)) for each in (False, True))
    return response, noise


def _noisy(cells: Sequence[Cells]) -> bool:
    return all(bool((each.responses > 0).all()) for each in cells)


def _claim_of(gain: Gain, variant: str, stream: str, noise: bool = False) -> Claim:
    """The claim whose cells are compared; it is not judged. variant: the gain's learner's own, or name.variant."""
    learner, _, own = variant.rpartition(".")
    words: dict[str, object] = {"response": gain.response, "counterpart": gain.counterpart}
    if noise:
        words = {"response": "noise", "counterpart": None}
    symbol = labels_of(gain.response).symbols[gain.parameter]
    return Claim.model_validate({
        "id": NAME, "source": "", "says": "", "learner": learner or gain.learner, "variant": own, "stream": stream,
        "experiment": gain.experiment, "where": gain.where, "varies": gain.varies, "parameter": gain.parameter,
        "rate": Rate(symbol, 1.0), **words,
    })  # fmt: skip


def write_gains(runs_dir: Path | str, paper: Path | str, out_dir: Path | str) -> None:
    """Write gains.csv with numbers, .md and .html with intervals in words; arguments as of `tables.write_tables`."""
    claims, out = load_claims(Path(paper) / "claims.yaml"), Path(out_dir)
    runs = read_runs(runs_dir, {gain.experiment for gain in claims.gains})
    found = gains(runs, claims)
    formats.write_csv(found, out / f"{NAME}.csv")
    text = pd.DataFrame({
        name: found[name].map(lambda value: f"{value:g}") if name == "value" else found[name].fillna("").astype("str")
        for name in SHOWN if name in found.columns and name != "ratio"
    })  # fmt: skip
    for kind, name in (("noise", "noise ratio"), ("ratio", "ratio")):
        text[name] = [_interval(row, kind) for row in found.to_dict("records")]
    formats.write_captioned(text[list(SHOWN)], CAPTION, out, NAME)


def _interval(row: dict[object, float], kind: str) -> str:
    if np.isnan(row[kind]):
        return formats.DASH
    return formats.with_interval(fits.Estimate(row[kind], row[f"{kind}_low"], row[f"{kind}_high"]))
