"""Write what is known of who wins: results/winners.csv and .md, and the folder results/winners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.layout import Page
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.escaping import plain
from dpregret.paper_figs.winners.cells import CALLS, GUARANTEE, PROBLEM, Facts, Measured, measure, read_rows
from dpregret.paper_figs.winners.laws import coverage
from dpregret.paper_figs.winners.profiles import FEWEST, pairs, profile_figure, profiles, ratios
from dpregret.paper_figs.winners.table import ALONE, VERDICTS, counts, winners

TABLE, FOLDER, CELLS, TIMES, PROFILES = "winners.csv", "winners", "cells.csv", "times.csv", "profiles"
"""Names below the folder of results, and in the folder of winners."""
KEPT: Final = (
    *PROBLEM, *GUARANTEE, "learner", "private", "runs", "regret", "error", "trivial", "bound", *CALLS, "barred",
)  # fmt: skip
"""Columns of the table of cells, from which `dpregret advise` predicts."""
COUNTED: Final = (
    "Settings (problem and guarantee) by the private learner of least mean regret among those that keep the same "
    "guarantee: {verdicts}. 'own variants only': nobody but variants of the same algorithm competed. {settings} "
    "settings, {contested} with at least two algorithms."
)
PROFILED: Final = (
    "Share of a learner's problems that it solves within a factor of the least regret (performance profile), and the "
    "median factor. A problem is the largest T of a setting with at least two algorithms under one guarantee; a "
    "learner that was not measured on a problem has not failed on it. The problems are no random sample."
)
PAIRED: Final = (
    "Pairs of learners on the problems that both were measured on, at least {fewest}: the median of the ratio of "
    "regrets, Wilcoxon's signed-rank test, and Holm's correction over the pairs of a feedback class. Only pairs that "
    "differ at 5 % after it are listed ({listed} of {tested})."
)
COVERED: Final = (
    "How often the 95 % intervals of predicted regret hold what was measured: every cell left out in turn, and all "
    "cells of a law's largest number of rounds predicted from the rest. Error and width are medians of |ln(predicted / "
    "measured)| and of half an interval, in logarithms."
)


def write_winners(files: Sequence[Path], facts: Facts, results: Path, names: Mapping[str, str] | None = None) -> None:
    """Tables and figure of a run whose files of rows are given.

    `results` is the folder of results; `names`: identifier -> what people write.
    """
    measured = measure(read_rows(files, facts), facts)
    table, found = winners(measured), ratios(measured.cells)
    formats.write_csv(table, results / TABLE)
    tally, contested = counts(table), table["algorithms"] > 1
    out = results / FOLDER
    verdicts = ", ".join(f"{word} ({text})" for word, text in VERDICTS.items() if word != ALONE)
    caption = COUNTED.format(verdicts=verdicts, settings=len(table), contested=int(contested.sum()))
    out.mkdir(parents=True, exist_ok=True)
    (results / "winners.md").write_text(f"{plain(caption)}\n\n{formats.markdown(tally)}", encoding="utf-8")
    formats.write_csv(cells_table(measured.cells), out / CELLS)
    formats.write_csv(times(measured), out / TIMES)
    tested = pairs(found)
    listed = tested.loc[tested["significant"]]
    told = PAIRED.format(fewest=FEWEST, listed=len(listed), tested=len(tested))
    for name, frame, said in (
        ("profiles", profiles(found), PROFILED), ("pairs", listed.drop(columns="significant"), told),
        ("coverage", coverage(measured.cells), COVERED),
    ):  # fmt: skip
        formats.write_csv(tested if name == "pairs" else frame, out / f"{name}.csv")
        formats.write_captioned(worded(frame), said, out, name)
    with style.look():
        plate = profile_figure(found, Page(names or {}))
    plate.save(out / PROFILES, data=f"{PROFILES}_figure")


def cells_table(cells: pd.DataFrame) -> pd.DataFrame:
    """The table of cells, with five significant digits where six say nothing."""
    kept = cells[[name for name in KEPT if name in cells]]
    return kept.assign(dimension=[formats.size(value) for value in kept["dimension"]])


def worded(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as text with three significant digits."""
    columns = {}
    for name in frame:
        values = frame[name]
        whole = pd.api.types.is_integer_dtype(values) or not pd.api.types.is_numeric_dtype(values)
        columns[str(name).replace("_", " ")] = values.astype("str") if whole else values.map(formats.significant)
    return pd.DataFrame(columns)


def times(measured: Measured) -> pd.DataFrame:
    """CPU microseconds of a round (of a fit, where records are read at once): median over rows, of this machine."""
    keys = ["feedback", "learner", "set", "dimension"]
    rows = measured.rows[["cell", "seconds"]].join(measured.cells[keys], on="cell")
    medians = rows.groupby(keys, sort=True)["seconds"].median()
    return (1e6 * medians).rename("microseconds").reset_index()
