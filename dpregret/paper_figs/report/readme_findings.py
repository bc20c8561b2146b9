"""The findings that the README begins with: sentences whose every number is read from the committed reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pandas as pd

from dpregret.paper_figs.judge.fits import Estimate
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.escaping import plain

Record = Mapping[Any, Any]
LINEAR: Final = {
    "Algorithm 1": ("alg1-printed-gaussian", "thm4-T-printed"),
    "Algorithm 2": ("alg2-printed-gamma", "thm6-T-paper"),
}
"""Of Lou & Cheung: the claim that the printed box has linear regret, and that with one line corrected it has ln T."""
WINDOWS: Final = (16, 256, 1024)
GAIN: Final = {
    "learner": "wdp-cocop-gaussian", "with": "root", "over": "corrected", "experiment": "window",
    "stream": "random-kink",
}  # fmt: skip


def findings(reference: Path, lines: pd.DataFrame, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """A numbered list; what the reference has no lines for is left out.

    `lines` are those of all papers, `names` what people call the learners (the identifier where there is no name).
    """
    made = [text for text in (_linear(lines), _not_private(reference, lines, names), _gain(reference)) if text]
    return "".join(f"{number}. {text}\n" for number, text in enumerate(made, 1))


def _linear(lines: pd.DataFrame) -> str:
    records = lines.loc[lines["paper"] == "lou_cheung_2020"].to_dict("records")
    claims: dict[str, Record] = {record["claim"]: record for record in records}
    if not {claim for pair in LINEAR.values() for claim in pair} <= claims.keys():
        return ""
    printed = [f"T^{_interval(claims[wrong])} ({box})" for box, (wrong, _) in LINEAR.items()]
    corrected = [_interval(claims[right]) for _, right in LINEAR.values()]
    return (
        "**Two misprints turn logarithmic regret into linear regret** (Lou & Cheung 2020). As printed, regret grows "
        f"like {' and '.join(printed)}. With one line of each corrected it grows like ln T, as the theorems state: the "
        f"slope of regret in ln T depends on T with the power {' and '.join(corrected)}."
    )


def _not_private(reference: Path, lines: pd.DataFrame, names: Mapping[str, str]) -> str:
    stated = lines.loc[(lines["kind"] == "claim") & (lines["origin"] == "paper") & (lines["type"] == "private")]
    refuted = stated.loc[stated["verdict"] == "violated"]
    path = reference / "audit" / "exact_losses.csv"
    if refuted.empty or not path.exists():
        return ""
    exact = formats.read_csv(path).set_index("name").to_dict("index")
    return (
        f"**{len(refuted)} of {len(stated)} privacy guarantees do not hold with the noise that is printed.** What the "
        "replacement of one loss or record can cost, computed exactly:\n"
        + "\n".join(_losses(refuted.to_dict("records"), exact, names))
    )


def _losses(refuted: list[dict[Any, Any]], exact: Mapping[Any, Record], names: Mapping[str, str]) -> Iterator[str]:
    for line in refuted:
        loss = exact.get(f"{line['learner']}.{line['variant']}")
        if loss is not None:
            claimed, lost = (formats.significant(float(loss[name])) for name in ("claimed", "attained"))
            where = f"{plain(line['cite'])}, {plain(line['source'])}"
            name = plain(names.get(line["learner"], line["learner"]))
            yield f"   - {name} ({where}): ε = {lost}, claimed {claimed}"


def _gain(reference: Path) -> str:
    path = reference / "prefix_sums" / "gains.csv"
    if not path.exists():
        return ""
    gains = formats.read_csv(path)
    for name, wanted in GAIN.items():
        gains = gains.loc[gains[name] == wanted]
    ratios = dict(zip(gains["value"], gains["ratio"], strict=True))
    if not set(WINDOWS) <= ratios.keys():
        return ""
    times = ", ".join(f"{ratios[window]:.1f}" for window in WINDOWS)
    return (
        "**For a window of W rounds the binary tree is not the best noise** (a result of ours). With [the best "
        "Gaussian noise](docs/window_optimum.md) and nothing else changed, what privacy adds to regret per unit of "
        f"ln T is {times} times smaller for W = {', '.join(map(str, WINDOWS))}."
    )


def _interval(line: Record) -> str:
    return formats.with_interval(Estimate(*(float(line[name]) for name in ("fitted", "fitted_low", "fitted_high"))))
