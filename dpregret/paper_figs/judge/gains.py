"""The gain of a learner from another mechanism: ratios of noise and of regret on the same losses, with intervals."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import FAILED, Cells, NotRun, collect_cells, setting
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile, Gain
from dpregret.paper_figs.judge.vocabulary import Rate, labels_of
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
    return pd.DataFrame(rows, columns=[*columns, *fits.UNKNOWN.columns("noise"), *fits.UNKNOWN.columns("ratio")])


def _rows(runs: pd.DataFrame, gain: Gain) -> Iterator[dict[str, object]]:
    runs = runs.loc[runs["experiment"] == gain.experiment]
    own = runs.loc[(runs["learner"] == gain.learner) & (runs["variant"] == gain.over)]
    for name, value in gain.where.items():
        own = own.loc[own[name] == value]
    settings = {str(stream): setting(rows, besides=(gain.parameter,)) for stream, rows in own.groupby("stream")}
    for stream in sorted(set(runs.loc[runs["learner"] == gain.learner, "stream"]) - {""}):
        for variant in gain.variants:
            try:
                (first, first_noise), (second, second_noise) = (
                    _response_and_noise(runs, gain, each, stream) for each in (gain.over, variant)
                )
            except NotRun:
                continue
            noisy = bool((first_noise.responses > 0).all() and (second_noise.responses > 0).all())
            for cell, value in enumerate(first.values):
                if FAILED in (first.status[cell], second.status[cell]) or value != second.values[cell]:
                    continue
                noises = first_noise.responses[:, cell], second_noise.responses[:, cell]
                yield {
                    "learner": gain.learner,
                    "with": variant,
                    "over": gain.over,
                    "experiment": gain.experiment,
                    "where": " ".join(f"{key}={each}" for key, each in gain.where.items()),
                    "stream": stream,
                    "parameter": gain.parameter,
                    "value": value,
                    "response": gain.response,
                    "setting": settings.get(stream, ""),
                    "cell": first.status[cell],
                    "runs": min(len(first.responses), len(second.responses)),
                    **(ratio(*noises) if noisy else fits.UNKNOWN).columns("noise"),
                    **ratio(first.responses[:, cell], second.responses[:, cell]).columns("ratio"),
                }


def _response_and_noise(runs: pd.DataFrame, gain: Gain, variant: str, stream: str) -> list[Cells]:
    """Cells of a variant, the gain's learner's own or name.variant; raises NotRun."""
    learner, _, own = variant.rpartition(".")
    symbol = labels_of(gain.response).symbols[gain.parameter]
    claim = Claim.model_validate({
        "id": NAME, "source": "", "says": "", "learner": learner or gain.learner, "variant": own, "stream": stream,
        "experiment": gain.experiment, "where": gain.where, "varies": gain.varies, "parameter": gain.parameter,
        "rate": Rate(symbol, 1.0), "response": gain.response, "counterpart": gain.counterpart,
    })  # fmt: skip
    noise = claim.model_copy(update={"response": "noise", "counterpart": None})
    return [collect_cells(runs, each) for each in (claim, noise)]


def write_gains(runs: pd.DataFrame, claims: ClaimsFile, out: Path) -> None:
    """Write gains.csv with numbers, .md and .html with intervals in words."""
    found = gains(runs, claims)
    formats.write_csv(found, out / f"{NAME}.csv")
    text = found.assign(value=found["value"].map("{:g}".format)).fillna("").astype("str")
    for kind, name in (("noise", "noise ratio"), ("ratio", "ratio")):
        text[name] = [_interval(row, kind) for row in found.to_dict("records")]
    formats.write_captioned(text[list(SHOWN)], CAPTION, out, NAME)


def _interval(row: Mapping[Hashable, float], kind: str) -> str:
    estimate = fits.Estimate(row[kind], row[f"{kind}_low"], row[f"{kind}_high"])
    return formats.DASH if np.isnan(estimate.value) else formats.with_interval(estimate)
