"""The table of winners, written to results/winners.csv and .md and the folder results/winners, and performance
profiles (Dolan & More 2002): the share of problems that a learner solves within a factor of the best.

    rho_s(tau) = share of the problems on which s competed with regret_s <= tau min over learners of the regret.

A problem here is a setting of the table of winners with at least two algorithms (variants of one are not rivals) that
keep the same guarantee, at its largest T: shorter horizons are mostly the same plays. A learner that was not measured
on a problem has not failed on it, so shares are of its own problems, whose number is beside them. The problems were
chosen by us and share losses, so shares do not speak of problems in general.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.grammar import Label, PanelFigure, Theme
from dpregret.paper_figs.figures.style import MOST
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.winners import table as measuring
from dpregret.paper_figs.winners.laws import by_digest, coverage, numbered, stored_cells, with_fits
from dpregret.paper_figs.winners.table import CALLS, CLASSES, GUARANTEE, PROBLEM, SETTING, Facts

CELL_COLUMNS: Final = (
    *PROBLEM, *GUARANTEE, "learner", "private", "runs", "regret", "error", "trivial", "bound", *CALLS, "barred",
)  # fmt: skip
"""Columns of the table of cells, from which `dpregret advise` predicts."""
COUNTED: Final = (
    "Settings (problem and guarantee) by the private learner of least mean regret among those that keep the same "
    "guarantee: {verdicts}. 'own variants only': no competitor but variants of the same algorithm. {settings} "
    "settings, {contested} with at least two algorithms."
)
PROFILED: Final = (
    "Share of a learner's problems that it solves within a factor of the least regret (performance profile), and the "
    "median factor. A problem is the largest T of a setting with at least two algorithms under one guarantee; a "
    "learner that was not measured on a problem has not failed on it. The problems are no random sample."
)
COVERED: Final = (
    "How often the 95 % intervals of predicted regret hold what was measured: every cell left out in turn, and all "
    "cells of a law's largest number of rounds predicted from the rest. Error and width are medians of |ln(predicted / "
    "measured)| and of half an interval, in logarithms."
)
FACTORS: Final = (1.0, 1.1, 1.5, 2.0, 5.0, 10.0)
FEWEST: Final = 6
"""Least number of problems of a learner in the figure, if some learner of its class has as many."""
WIDEST: Final = 100.0
TICKS, COARSE, NARROW = (1, 1.1, 1.2, 1.4, 1.6, 1.8, 2, 3, 4, 5, 10, 20, 50, 100), (1, 2, 5, 10, 20, 50, 100), 4.0


def write_winners(files: Sequence[Path], facts: Facts, results: Path, names: Mapping[str, str] | None = None) -> None:
    """Write the tables and the figure of a run from its files of rows.

    `results` is the folder of results; `names`: identifier -> displayed name.
    """
    cells = measuring.measure(measuring.read_rows(files, facts), facts)
    table, ratio_table = measuring.winners(cells), ratios(cells)
    formats.write_csv(table, results / measuring.TABLE)
    tally, contested = measuring.counts(table), table["algorithms"] > 1
    out = results / measuring.FOLDER
    verdicts = ", ".join(f"{word} ({text})" for word, text in measuring.VERDICTS.items() if word != measuring.ALONE)
    caption = COUNTED.format(verdicts=verdicts, settings=len(table), contested=int(contested.sum()))
    out.mkdir(parents=True, exist_ok=True)
    formats.write_captioned(tally.replace({"feedback": CLASSES}), caption, results, "winners")
    cell_table, laws = numbered(cells[[name for name in CELL_COLUMNS if name in cells]])
    formats.write_csv(cell_table.assign(dimension=cell_table["dimension"].map(formats.size)), out / measuring.CELLS)
    formats.write_csv(laws, out / measuring.LAWS)
    kept = stored_cells(out)  # fits are of the digits from which advice predicts
    laws = with_fits(laws, kept)
    formats.write_csv(laws, out / measuring.LAWS)
    for name, frame, description in (
        ("profiles", profiles(ratio_table), PROFILED),
        ("coverage", coverage(kept, by_digest(laws)), COVERED),
    ):
        formats.write_csv(frame, out / f"{name}.csv")
        formats.write_captioned(frame.replace({"feedback": CLASSES}), description, out, name)
    with style.style_context():
        profile_figure(ratio_table, Theme(names)).save(out / measuring.PROFILES, data=f"{measuring.PROFILES}_figure")


def ratios(cells: pd.DataFrame) -> pd.DataFrame:
    """Regret over the least of its problem: feedback, problem (a number), learner, ratio.

    Problems whose least regret is not positive have no ratios and are left out.
    """
    competing = cells.loc[cells["private"] & (cells["barred"] == "")]
    keys = [*SETTING, "rounds"]
    competing = competing.assign(algorithm=competing["learner"].str.split(".").str[0])
    competing = competing.loc[competing.groupby(keys)["algorithm"].transform("nunique") > 1]
    longest = competing.groupby(SETTING)["rounds"].transform("max")
    competing = competing.loc[competing["rounds"] == longest]
    least = competing.groupby(SETTING)["regret"].transform("min")
    table = competing.assign(ratio=competing["regret"] / least, problem=competing.groupby(SETTING).ngroup())
    return table.loc[least > 0, ["feedback", "problem", "learner", "ratio"]].reset_index(drop=True)


def profiles(ratio_table: pd.DataFrame) -> pd.DataFrame:
    """One row per learner: number of its problems, share within each of FACTORS, median ratio; the best first."""
    within = {f"within {tau:g}": ratio_table["ratio"] <= tau * (1 + 1e-9) for tau in FACTORS}
    grouped = ratio_table.assign(**within).groupby(["feedback", "learner"], sort=True)
    shares = grouped[list(within)].mean().assign(**{"median ratio": grouped["ratio"].median()})
    shares.insert(0, "problems", grouped.size())
    order = ["feedback", "problems", "learner"]
    return shares.reset_index().sort_values(order, ascending=[True, False, True], ignore_index=True)


def profile_figure(table: pd.DataFrame, theme: Theme) -> PanelFigure:
    """One panel per feedback class: rho against tau of the learners with most problems, best median first."""
    measured = sorted(set(table["feedback"]))
    classes = [*(name for name in CLASSES if name in measured), *(name for name in measured if name not in CLASSES)]
    figure = PanelFigure(max(1, len(classes)), 2, height=2.0)
    figure.finding = "No two algorithms were measured under the same guarantee"
    first: list[tuple[int, float, str, str]] = []
    for panel, name in zip(figure.panels, classes, strict=False):
        axis, group, title = panel.axis, table.loc[table["feedback"] == name], CLASSES.get(name, name)
        learners = _shown_learners(group)
        widest = max(1.5, min(WIDEST, 1.1 * float(group.loc[group["learner"].isin(learners), "ratio"].max())))
        style.log_axis(axis, "x", [tick for tick in (TICKS if widest < NARROW else COARSE) if tick <= widest])
        axis.set(xlim=(1.0, widest), ylim=(0.0, 1.03), ylabel="share of its problems")
        axis.set(
            xlabel=r"factor $\tau$ of the least regret",
            title=f"{title}, {formats.several(group['problem'].nunique(), 'problem')}",
        )
        for learner in learners:
            values = np.clip(group.loc[group["learner"] == learner, "ratio"].to_numpy() / (1 + 1e-9), 1.0, None)
            curve_style, text, count = theme.styles.at(learner), theme.name(learner), len(values)
            taus = np.unique([1.0, *values[values <= WIDEST], WIDEST])
            shares = (values[:, None] <= taus).mean(axis=0)
            axis.step(taus, shares, where="post", markevery=max(1, len(taus) // 5), **curve_style.line)
            figure.key(text, own=True, **curve_style.line)
            end = float((values <= widest).mean())
            panel.labels.append(Label(widest, end, text, "", curve_style.colour, curve_style.marker))
            panel.keep(f"{text} ({count})", taus, shares, what="share of its problems within the factor")
            first.append((count, float(shares[0]), text, title))
    if first:
        count, share, text, where = max(first)
        sure = " and ".join(sorted({title for _, value, _, title in first if value == 1.0}))
        figure.title = "No private learner has the least regret on all its problems, in any class"
        if sure:
            figure.title = f"A private learner has the least regret on all its problems in {sure}"
        figure.finding = (
            f"{text} has the least regret in {100 * share:.0f} % of its {formats.several(count, 'problem')} ({where})"
        )
    figure.setting = (
        "Performance profiles: share of a learner's own problems that it solves within a factor of the least regret of "
        f"any learner with the same guarantee; at most {MOST} learners a panel, those with most problems. The problems "
        "were chosen by us and are no random sample."
    )
    return figure


def _shown_learners(group: pd.DataFrame) -> list[str]:
    """The learners with most problems, those of the least median ratio first."""
    by = group.groupby("learner")["ratio"].agg(["size", "median"]).sort_values("size", ascending=False, kind="stable")
    by = by.loc[by["size"] >= min(FEWEST, by["size"].max())]
    return [str(name) for name in by.head(MOST).sort_values("median", kind="stable").index]
