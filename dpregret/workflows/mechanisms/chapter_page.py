"""The parts of docs/window_optimum.md that the chapter on prefix sums adds: league, curves of expiry, gains, map.

Exact numbers are computed here; measured ones are read from the committed reference of the chapter.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpregret.algorithms.bandits.base import BanditProblem
from dpregret.algorithms.bandits.private_bandit import PrivateBanditGaussian
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Budget
from dpregret.paper_figs.judge.claims_csv import read_lines
from dpregret.paper_figs.judge.vocabulary import ORDER
from dpregret.paper_figs.text.formats import read_csv
from dpregret.workflows.mechanisms import bound_map, expiry_curves, league, pure_league

REFERENCE = Path(__file__).resolve().parents[3] / "results" / "reference" / "prefix_sums"
LEAGUE_HORIZON, LEAGUE_WINDOW = 2**13, 256
CURVES_WINDOW = 64
MAP = 2**16, (16, 256, 4096)
PURE = ("window tree", "window tree, best decoder", "items", "blocks", "blocks, tapered")
PURE_WINDOWS, PURE_HORIZONS = (4, 16, 64, 256, 1024, 4096), (2**8, 2**12, 2**16, 2**20)
LARGEST = 1e5
BANDIT_DIMENSION = 4


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _size(value: float) -> str:
    return "grows" if value == float("inf") else f"{value:.3f}" if value < LARGEST else f"{value:.2e}"


def standing() -> str:
    """The league at one window and one horizon."""
    parts = []
    for frame, kind, size in (
        (league.windows([LEAGUE_WINDOW]), "W", LEAGUE_WINDOW),
        (league.sequences([LEAGUE_HORIZON]), "T", LEAGUE_HORIZON),
    ):
        rows = [
            [str(row["mechanism"]), f"{row['squared sensitivity']:.4f}", _size(row["largest error"]),
             _size(row["mean error"]), _size(row["mean / bound"]), f"{row['vectors kept']:.0f}",
             f"{row['multiply-adds']:.0f}"]
            for row in frame.to_dict("records")
        ]  # fmt: skip
        head = [
            f"{kind} = {size}",
            "squared sensitivity",
            "largest error",
            "mean error",
            "mean / bound",
            "vectors kept",
        ]
        parts.append(table([*head, "multiply-adds"], rows))
    return "\n\n".join(parts)


def curves() -> str:
    """Which mechanism keeps which curve of expiry."""
    found = expiry_curves.curves(expiry_curves.losses([CURVES_WINDOW]))
    names = list(expiry_curves.CURVES)
    rows = []
    for name, group in found.groupby("mechanism", sort=False):
        by_curve = {str(row["curve"]): row for row in group.to_dict("records")}
        rows.append([str(name), *(_curve(by_curve[curve]) for curve in names)])
    return table([f"W = {CURVES_WINDOW}", *names], rows)


def _curve(row: Mapping[Any, Any]) -> str:
    return f"{row['kept']}, {row['noise factor']:.3f} ({row['worst age']})"


def switches() -> str:
    """Up to which dimension no tree at all has the least explicit bound."""
    horizon, windows = MAP
    found = bound_map.switches(bound_map.bounds([horizon], windows))
    columns = [name for name in found.columns if name.startswith("no tree beats")]
    rows = [[f"{row['W']:.0f}", f"{row['eps']:g}", *(f"{row[name]:.0f}" for name in columns)]
            for row in found.to_dict("records")]  # fmt: skip
    return table(
        ["W", "ε", *(name.removeprefix("no tree beats ").removesuffix(" up to d =") for name in columns)], rows
    )


def gains() -> str:
    """Measured gains of the root and the buffers, learner by learner; of a sweep of T or d, and of eps, the ends."""
    found = read_csv(REFERENCE / "gains.csv", keep_default_na=False, na_values=[""]).fillna({"where": ""})
    found = found.loc[found["with"].isin(["root", "buffers"]) & (found["cell"] == "used")]
    sweep = found.groupby(["learner", "experiment", "where", "stream"])["value"]
    ends = (found["value"] == sweep.transform("max")) | (found["value"] == sweep.transform("min"))
    ends &= ~((found["parameter"] == "horizon") & (found["value"] < sweep.transform("max")))
    found = found.loc[
        ((found["parameter"] == "window") & (found["value"] > 1)) | ends & (found["parameter"] != "window")
    ]
    rows = []
    for _, group in found.groupby(["learner", "experiment", "where", "stream", "value"], sort=False):
        by = {str(row["with"]): row for row in group.to_dict("records")}
        first = group.iloc[0]
        name = {"window": "W", "horizon": "T", "dimension": "d", "epsilon": "ε"}[first["parameter"]]
        at = f"{name} = {first['value']:g}" if name != "T" else f"T = {first['value']:.0f}"
        if first["where"]:
            at += ", " + first["where"].replace("window=", "W = ").replace("epsilon=", "ε = ").removesuffix(".0")
        noise = f"{first['noise']:.2f}" if pd.notna(first["noise"]) else "–"
        rows.append([str(first["learner"]), str(first["stream"]), at, str(first["response"]).replace("_", " "), noise,
                     *(_interval(by.get(name)) for name in ("root", "buffers"))])  # fmt: skip
    head = ["learner", "stream", "at", "response", "noise, tree / root", "response, tree / root"]
    return table([*head, "response, tree / buffers"], rows)


def bandits() -> str:
    """The bandit's gain beside the square of its noise, and how far that noise moves its point."""
    found = read_csv(REFERENCE / "gains.csv", keep_default_na=False, na_values=[""])
    found = found.loc[(found["learner"] == "private-bandit-gaussian") & (found["with"] == "root")]
    rows = []
    for row in found.to_dict("records"):
        problem = BanditProblem(make_set("ball", BANDIT_DIMENSION), int(row["value"]), 1.0)
        noise, moved = {}, {}
        for variant in ("corrected", "root"):
            learner = PrivateBanditGaussian(problem, [Budget(1.0, 1e-6)], 1, variant)
            noise[variant] = math.sqrt(float(np.square(learner.plan.expected_norm(learner.batches)).mean()))
            moved[variant] = learner.eta * noise[variant] / (problem.domain.diameter / 2)
        ratio = noise["corrected"] / noise["root"]
        rows.append([f"{row['value']:.0f}", f"{ratio:.2f}", f"{ratio**2:.2f}", f"{row['ratio']:.2f} "
                     f"[{row['ratio_low']:.2f}, {row['ratio_high']:.2f}]",
                     *(f"{moved[variant]:.2f}" for variant in moved)])  # fmt: skip
    head = ["T", "noise, tree / root", "its square", "overhead, tree / root"]
    return table([*head, "eta × noise over the radius, tree", "the same, root"], rows)


def _interval(row: Mapping[Any, Any] | None) -> str:
    return f"{row['ratio']:.2f} [{row['ratio_low']:.2f}, {row['ratio_high']:.2f}]" if row else "–"


def verdicts() -> str:
    """Every claim of the chapter with its measured exponent."""
    found = read_lines(REFERENCE, text=True)
    rows = []
    for row in found.to_dict("records"):
        what = str(row["reason"])
        if row["fitted"] != "":
            value, low, high = (float(row[f"fitted{end}"]) for end in ("", "_low", "_high"))
            what = f"{value:.3f} [{low:.3f}, {high:.3f}]"
        rows.append([f"{row['learner']}.{row['variant']}", str(row["response"]), str(row["rate"]),
                     str(row["stream"]), what, str(row["verdict"])])  # fmt: skip
    counts = found["verdict"].value_counts()
    tallies = "; ".join(f"{counts[verdict]} {verdict}" for verdict in ORDER if verdict in counts)
    return table(["learner", "response", "claim", "stream", "measured", "verdict"], rows) + f"\n\n{tallies}.\n"


def pure() -> str:
    """Pure noise: mean and largest error by window, and whole sequences."""
    found = pure_league.windows(PURE_WINDOWS)
    rows = []
    for window, group in found.groupby("W", sort=True):
        by = {str(row["mechanism"]): row for row in group.to_dict("records")}
        rows.append([f"{window}", f"{by['items']['lower bound']:.2f}", *(_errors(by[name]) for name in PURE),
                     by["blocks"]["radices"] or "–"])  # fmt: skip
    head = ["W", "lower bound", "window tree", "the same, best decoder", "one noise an item", "blocks"]
    parts = [table([*head, "blocks, tapered", "radices"], rows)]
    found = pure_league.sequences(PURE_HORIZONS)
    rows = []
    for _, group in found.groupby("T", sort=True):
        by = {str(row["mechanism"]): row for row in group.to_dict("records")}
        rows.append([f"2^{int(group['T'].iloc[0]).bit_length() - 1}", f"{by['tree']['lower bound']:.2f}",
                     *(_errors(row) for row in by.values()), by["blocks"]["radices"]])  # fmt: skip
    parts.append(table(["T", "lower bound", "tree", "the same, best decoder", "blocks", "radices"], rows))
    return "\n\n".join(parts)


def _errors(row: Mapping[Any, Any]) -> str:
    return f"{row['mean error']:.1f} ({row['largest error']:.1f})"


def pure_gaussian() -> str:
    """Up to which window pure noise has less variance than the best Gaussian noise."""
    found = pure_league.against_gaussian()
    wide = found.pivot(index="d", columns="eps", values="pure noise is less up to W =")
    rows = [
        [f"{size}", *(f"{window}" for window in row)] for size, row in zip(wide.index, wide.to_numpy(), strict=True)
    ]
    return table(["d", *(f"ε = {epsilon:g}" for epsilon in wide.columns)], rows)


PARTS = {
    "standing": standing,
    "pure": pure,
    "pure-gaussian": pure_gaussian,
    "curves": curves,
    "switches": switches,
    "gains": gains,
    "bandits": bandits,
    "verdicts": verdicts,
}
