"""Learners compared on one axis: who wins where, what privacy costs, the effect of drift on learners that restart and
on privacy that expires; the gain of a learner from another mechanism, from which horizon on a tree has the smaller
bound, and what oracle calls cost."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap

from dpregret.core import parquet
from dpregret.paper_figs.figures import curves, style
from dpregret.paper_figs.figures.grammar import Curve, Panel, PanelFigure, Source, Style, Theme, figure_type
from dpregret.paper_figs.figures.style import MOST, CurveStyle
from dpregret.paper_figs.figures.sweep import TRIVIAL
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import NotRun, mean_root
from dpregret.paper_figs.judge.result_tables import gains, ratio
from dpregret.paper_figs.text.formats import read_csv

BudgetStyles = dict[float, CurveStyle]
"""Privacy budget -> the style of its curves."""


@figure_type("winners", "experiment")
def winners(source: Source) -> PanelFigure:
    """Which private learner has the smallest mean regret, on a map of T and d, one panel per stream; raises NotRun.

    A cell names its winner by colour and shows its regret as a share of the baseline's: 1.00 means that no private
    learner does better than a fixed expert.
    """
    theme, rows = source.theme, source.ends
    rows = rows.loc[np.isfinite(rows["epsilon"])].assign(name=lambda frame: frame["learner"] + "." + frame["variant"])
    if rows.empty:
        raise NotRun(f"no private learner in {source.entry.experiment}")
    figure = PanelFigure(rows["stream"].nunique(), height=2.3)
    means = rows.groupby(["stream", "dimension", "horizon", "name"])[["regret", "trivial_regret"]].mean()
    keys = ["stream", "dimension", "horizon"]
    cells = means.loc[means.groupby(keys)["regret"].idxmin()].reset_index("name")
    cells["share"] = cells["regret"] / means["trivial_regret"].groupby(keys).mean()
    won = cells["name"].value_counts()
    ranked = sorted(won.index, key=lambda name: (-won[name], name))
    colours = [style.shaded(theme.styles.at(name).colour, 0.55) for name in ranked]
    for panel, (stream, group) in zip(figure.panels, cells.groupby("stream", sort=True), strict=True):
        _map(panel, theme, group.droplevel("stream"), ranked, colours)
        panel.axis.set_title(theme.name(f"stream:{stream}") if len(figure.panels) > 1 else "")
    for name, colour in zip(ranked, colours, strict=True):
        figure.key(theme.name(name), color=colour, marker="s", linestyle="none", markersize=6)
    best = theme.name(ranked[0])
    figure.finding = f"{best} has the least regret in {won[ranked[0]]} of {len(cells)} settings"
    how = f". A number: least regret over that of the {TRIVIAL}."
    figure.setting = theme.setting(rows, how, ("horizon", "dimension"))
    return figure


def _map(panel: Panel, theme: Theme, cells: pd.DataFrame, ranked: list[Any], colours: list[style.Colour]) -> None:
    """The cells (d, T) of one stream: the name of the winner as a colour, and its share."""
    number = cells["name"].map(ranked.index).unstack("horizon").astype(float)
    options: Style = {"vmin": -0.5, "vmax": len(ranked) - 0.5, "cmap": ListedColormap(colours)}
    panel.axis.pcolormesh(number, linewidth=0.6, edgecolor="white", **options)
    horizons, sizes = [*number.columns], [*number.index]
    for cell in cells.reset_index().to_dict("records"):
        size, horizon = cell["dimension"], cell["horizon"]
        middle = horizons.index(horizon) + 0.5, sizes.index(size) + 0.5
        text = f"{cell['share']:.2f}" if cell["share"] >= 0.005 else "< .01"
        panel.axis.text(*middle, text, ha="center", va="center", fontsize=style.SMALL, color=style.INK)
        where = [f"T = {horizon}, d = {size}"]
        panel.keep(theme.name(cell["name"]), where, [cell["share"]], what="share of the fixed point's")
    panel.axis.set_xticks(np.arange(len(horizons)) + 0.5, style.one_kind(horizons))
    panel.axis.set_yticks(np.arange(len(sizes)) + 0.5, style.one_kind(sizes))
    panel.axis.spines[:].set_visible(False)
    panel.axis.grid(visible=False)
    panel.axis.tick_params(length=0)
    panel.axis.set(xlabel=style.AXES["horizon"], ylabel=style.AXES["experts"])


@figure_type("privacy-cost", "experiment")
def privacy_cost(source: Source) -> PanelFigure:
    """The cost of privacy on each data set: every learner's response beside the fixed-point baseline; raises NotRun.

    One colour and marker per privacy budget; learners without privacy are grey. Ordered by the response at the
    largest budget.
    """
    theme, response, rows = source.theme, source.claims.response, curves.without_fixed_points(source.ends)
    titles = {f"{each.learner}.{each.variant}": each.name(theme) for each in curves.series_of(rows.assign(window=0))}
    every, free = sorted({float(value) for value in rows["epsilon"]}), CurveStyle(style.GUIDE, "d")
    styles = {value: style.stepped(n) if np.isfinite(value) else free for n, value in enumerate(every)}
    budgets = [value for value in every if np.isfinite(value)]
    rows = rows.assign(name=(rows["learner"] + "." + rows["variant"]).map(titles))
    rows["share"] = rows["regret"] / rows.groupby("stream")["trivial_regret"].transform("mean")
    best = rows.groupby(["name", "epsilon"])["share"].mean().unstack().reindex(columns=[*reversed(budgets), np.inf])
    names = sorted(map(str, best.index), key=lambda name: tuple(best.loc[name].fillna(np.inf)))
    figure = PanelFigure(rows["stream"].nunique(), height=0.75 + 0.17 * len(names))
    label = "excess / that of the fixed point" if response == "excess" else "regret / fixed-point baseline's"
    for index, (panel, (stream, data)) in enumerate(zip(figure.panels, rows.groupby("stream", sort=True), strict=True)):
        _shares(panel, data, names, styles)
        panel.axis.set_yticks(range(len(names)), [] if index % figure.across else names)
        panel.axis.set(ylim=(len(names) - 0.5, -0.5), xlabel=label, ylabel="")
        panel.axis.set_title(theme.name(f"stream:{stream}") if len(figure.panels) > 1 else "")
    for budget, curve_style in styles.items():
        figure.key(_budget(budget), **curve_style.line | {"linestyle": "none"})
    figure.key(TRIVIAL, color=style.INK, linestyle=":", linewidth=0.8)
    for largest in budgets[-1:]:
        best_of = _best(rows.loc[rows["epsilon"] == largest])
        figure.finding = f"At {_budget(largest)} {best_of} of the {style.RESPONSES[response]} of the {TRIVIAL}"
    figure.setting = theme.setting(rows, ", bars 95 %.", ("epsilon",))
    return figure


def _shares(panel: Panel, rows: pd.DataFrame, names: list[str], styles: BudgetStyles) -> None:
    """Each learner's share of the fixed point's response, budgets side by side, with intervals."""
    places = dict(zip(styles, np.linspace(-0.2, 0.2, len(styles)) * (len(styles) > 2), strict=True))
    for name, (budget, look) in itertools.product(sorted(names), styles.items()):
        shares = rows.loc[(rows["name"] == name) & (rows["epsilon"] == budget), "share"]
        if shares.empty:
            continue
        mean, low, high = fits.mean_interval(shares.to_numpy(dtype=float))
        place, half_widths = names.index(name) + places[budget], [[mean - low], [high - mean]]
        panel.axis.errorbar(mean, place, xerr=half_widths, fmt=look.marker, color=look.colour, elinewidth=0.8)
        panel.keep(name, [f"eps = {budget:g}"], [mean], [low], [high], "share of the fixed point's")
    panel.axis.axvline(1.0, linestyle=":", color=style.INK, linewidth=0.8)
    panel.axis.grid(visible=True, axis="y")


def _best(rows: pd.DataFrame) -> str:
    """Who has the least mean share on some stream, and that share."""
    means = rows.groupby(["stream", "name"])["share"].mean().sort_values().reset_index()
    least = style.latex_number(float(means["share"].min()))
    equal = means.loc[means["share"].map(style.latex_number) == least, "name"]
    return f"the best {'is' if len(equal) == 1 else 'are'} {' and '.join(equal)}: {least}"


def _budget(epsilon: float) -> str:
    return f"$\\varepsilon =$ {style.latex_number(epsilon)}" if np.isfinite(epsilon) else "not private"


FORGETS: Final = "restarted-ftal"
EXPIRES: Final = "wdp-cocop-gaussian"
NEITHER: Final = "ftal"
FREE: Final = CurveStyle((0.45, 0.45, 0.45), "d", style.DOTTED)


@figure_type("drift", "experiment")
def drift(source: Source) -> PanelFigure:
    """Loss over the year, regret against how often a learner forgets, and the cost of privacy; raises NotRun.

    First: loss per round between successive horizons, above the point that is best for all rounds, of the learner that
    never forgets; second: of the shorter block of least final regret at the largest budget. Third: final regret a round
    against the block length. Fourth: the cost of privacy, against the rounds after which privacy expires (filled)
    or the learner forgets (open), with the size of the window tree's noise (dotted).
    """
    theme, rows = source.theme, source.rows
    if "regret_last" not in rows or not {FORGETS, EXPIRES, NEITHER} <= set(rows["learner"].unique()):
        raise NotRun(f"{source.entry.experiment} does not follow a stream in the order of time")
    horizon = rows["horizon"].max()
    rows, final = (part.loc[part["horizon"] == horizon] for part in (rows, source.ends))
    budgets = sorted({float(value) for value in rows["epsilon"] if np.isfinite(value)}, reverse=True)
    styles: BudgetStyles = {budget: style.stepped(number) for number, budget in enumerate(budgets)} | {np.inf: FREE}
    figure = PanelFigure(4, 2, height=1.95)
    forgets = final.loc[final["learner"] == FORGETS]
    longest, name = int(forgets["window"].max()), theme.name(FORGETS)
    shorter = forgets.loc[(forgets["epsilon"] == budgets[0]) & (forgets["window"] < longest)]
    length = int(shorter.groupby("window")["regret"].mean().idxmin())
    first, second, third, fourth = figure.panels
    _over_time(first, rows, styles, longest, f"{name}: never restarted")
    _over_time(second, rows, styles, length, f"{name}: every {style.latex_number(length)} rounds")
    figure.same_heights([first, second])
    figure.finding = _against_memory(third, forgets, styles)
    _against_window(fourth, final, styles)
    for budget, curve_style in styles.items():
        figure.key(_budget(budget), **curve_style.line)
    figure.key("the learner forgets", color=style.INK, marker="o", linestyle=style.DASHED, markerfacecolor="white")
    figure.key("size of the tree's noise", color=style.INK, linestyle=":")
    figure.setting = theme.setting(rows, ", bands and bars 95 %.", ("window", "epsilon"))
    return figure


def _over_time(panel: Panel, rows: pd.DataFrame, styles: BudgetStyles, window: int, title: str) -> None:
    """Loss per round between successive horizons, of the learner that forgets after a window."""
    step = int(np.median(np.diff(sorted(set(rows["checkpoint"])))))
    steps = rows.loc[rows["checkpoint"] % step == 0]
    best = steps.loc[steps["learner"] == NEITHER].groupby("checkpoint")[["regret_last", "regret_pieces"]].mean()
    follows = np.diff(best["regret_last"] - best["regret_pieces"], prepend=0.0) / step
    label = f"best point of each {style.latex_number(step)} rounds"
    panel.line("best point of each piece", best.index / 1000, follows, "mean", key=label, linestyle="-.")
    forgets = steps.loc[(steps["learner"] == FORGETS) & (steps["window"] == window)]
    for budget, curve_style in styles.items():
        table = curves.by_run(forgets.loc[forgets["epsilon"] == budget], "checkpoint", "regret_last")
        curve = curves.means_of(table.columns / 1000, np.diff(table.to_numpy(dtype=float), axis=1, prepend=0.0) / step)
        panel.curve(f"eps = {budget:g}", curve, curve_style, "loss a round", key="")
    panel.axis.axhline(0.0, color=style.GUIDE, linewidth=0.7)
    panel.axis.set(xlabel="rounds so far, thousands", ylabel="loss a round above the best", title=title)


def _against_memory(panel: Panel, final: pd.DataFrame, styles: BudgetStyles) -> str:
    """Final regret against the block length; returns how often it is best to forget at every budget."""
    axis, horizon = panel.axis, int(final["horizon"].max())
    style.log_axis(axis, "x", final["window"], base=2)
    axis.set_yscale("symlog", linthresh=1e-3)
    axis.set(title="does forgetting help?", xlabel="rounds after which the learner forgets")
    axis.set_ylabel("regret a round at the end")
    best = []
    for budget, curve_style in styles.items():
        table = curves.by_run(final.loc[final["epsilon"] == budget], "window")
        curve = curves.means_of(table.columns, table.to_numpy(dtype=float) / horizon)
        panel.curve(f"eps = {budget:g}", curve, curve_style, "regret a round", band=False, key="")
        window = curve.values[int(np.argmin(curve.means))]
        label = f"every {style.latex_number(window)}" if window < final["window"].max() else "never"
        best.append(f"{label}: {_budget(budget)}")
    ends = [float(final["window"].min()), float(final["window"].max())]
    levels = {TRIVIAL: float(final["trivial_regret"].mean()) / horizon, "best fixed point": 0.0}
    for text, level in levels.items():
        panel.line(text, ends, [level, level], "level", text, linestyle=":" if level else "-")
    return f"When forgetting is best: {'; '.join(best)}"


def _against_window(panel: Panel, final: pd.DataFrame, styles: BudgetStyles) -> None:
    """The cost of privacy in the final regret, beside the law of the window tree's noise."""
    horizon = int(final["horizon"].max())
    style.log_axis(panel.axis, "x", final.loc[final["learner"] == EXPIRES, "window"], base=2)
    panel.axis.set(yscale="log", ylabel="cost of privacy, a round", title="does privacy that expires cost less?")
    panel.axis.set_xlabel("rounds after which it expires, or is forgotten")
    for budget, curve_style in ((budget, curve_style) for budget, curve_style in styles.items() if np.isfinite(budget)):
        name = f"eps = {budget:g}"
        for learner, label in ((EXPIRES, "privacy expires"), (FORGETS, "learner forgets")):
            group, forgets = final.loc[final["learner"] == learner], learner == FORGETS
            noisy, noiseless = (curves.by_run(group.loc[group["epsilon"] == eps], "window") for eps in (budget, np.inf))
            added = (noisy - noiseless)[noisy.columns]
            hollow = np.full(len(added.columns), forgets)
            curve = curves.means_of(added.columns, added.to_numpy(dtype=float) / horizon, hollow)
            drawn_style = replace(curve_style, dash=style.DASHED) if forgets else curve_style
            panel.curve(name, curve, drawn_style, f"cost of privacy, {label}", band=False, key="")
            if not forgets and len(curve.values) > 1:
                law = np.sqrt(np.log2(curve.values) + 1) * mean_root(curve.values)
                scaled = law * (curve.means[0] / law[0])
                dotted: Style = {"color": curve_style.colour, "linestyle": ":", "linewidth": 1.1}
                panel.line(name, curve.values, scaled, "size of the tree's noise, scaled", **dotted)


EQUAL: Final = 2e-3
"""A panel whose ratios are all this near to 1 is a sentence."""
MECHANISM_OF: Final = {
    "root": "Toeplitz square root",
    "buffers": "buffers (BLT)",
    "corrected-reduced": "tree, best decoder",
    "gaussian-reduced": "tree, best decoder",
}
"""Variant of a learner -> its mechanism of sums; if only such variants are compared, the reference is the tree."""
MEASURED: Final = 4
"""Dimension whose measured cells are drawn beside the bounds."""
VALUES: Final = "noisy-value-bandit"
TREES: Final = {"Laplace tree": "private-bandit-laplace", "Gaussian tree": "private-bandit-gaussian"}
WINS: Final = {"tree ahead": "^", "every value ahead": "v", "undecided": "x"}


@figure_type("gain", "experiment parameter")
def gain(source: Source) -> PanelFigure:
    """Ratios of regret with intervals and of noise (dashed); a panel per learner, stream and budget. Raises NotRun."""
    theme, parameter = source.theme, source.parameter
    compared = list(_compared(source))
    alike = [", ".join(title) for title, rows in compared if np.allclose(rows["ratio"], 1.0, rtol=0.0, atol=EQUAL)]
    groups = [(title, rows) for title, rows in compared if ", ".join(title) not in alike]
    if not groups:
        raise NotRun(f"no gain of {source.entry.experiment} has rows")
    common = [part for part in groups[0][0] if len(groups) > 1 and all(part in title for title, _ in groups)]
    figure = PanelFigure(len(groups), 3 if len(groups) % 2 else 2, height=1.85)
    for panel, (title, rows) in zip(figure.panels, groups, strict=True):
        _ratios(panel, theme, rows)
        panel.axis.set(xlabel=style.AXES[parameter], title=", ".join(part for part in title if part not in common))
    figure.same_heights(figure.panels)
    table = pd.concat([rows for _, rows in groups])
    responses = " and ".join(sorted({style.RESPONSES[value] for value in table["response"]}))
    figure.finding = _largest(theme, table, responses, style.symbol_of(parameter))
    figure.setting = (
        f"Ratio of {responses} (solid) and of the mean norm of noise (dashed), same losses, "
        f"{style.span(table['runs'])} runs, bars 95 %; hollow: saturated. Above 1 the other is better."
        + (f" Setting: {', '.join(common)}." if common else "")
        + (f" Every ratio is 1 within 0.2 % for {'; '.join(alike)}." if alike else "")
    )
    return figure


def _largest(theme: Theme, table: pd.DataFrame, responses: str, symbol: str) -> str:
    """The largest ratio whose interval is above one, in words; empty where there is none."""
    for best in table.loc[table["ratio_low"] > 1].nlargest(1, ["ratio", "value"]).to_dict("records"):
        less = f"up to {style.latex_number(best['ratio'])} times less {responses}"
        where = f"(${symbol} =$ {style.latex_number(best['value'])})"
        return f"{theme.name(best['learner'])}, {_mechanism(theme, best['with'])}: {less} {where}"
    return ""


def _compared(source: Source) -> Iterator[tuple[list[str], pd.DataFrame]]:
    """The gains of the entry's experiment over its parameter: learner, stream and settings in words, and their rows."""
    theme, claims, swept = source.theme, source.claims, (source.entry.experiment, source.entry.parameter)
    for claimed in (gain for gain in claims.gains if (gain.experiment, gain.parameter) == swept):
        where = [style.fixed(key, value) for key, value in claimed.where.items() if not isinstance(value, str)]
        table = gains(source.runs, claims.model_copy(update={"gains": (claimed,)}))
        for stream, rows in table.groupby("stream", sort=True):
            yield [theme.name(claimed.learner), theme.name(f"stream:{stream}"), *where], rows


def _mechanism(theme: Theme, variant: str) -> str:
    """The name of what a gain is from: a mechanism, a variant of the learner, or another learner's."""
    return MECHANISM_OF.get(variant) or theme.name(variant if "." in variant else f".{variant}")


def _ratios(panel: Panel, theme: Theme, group: pd.DataFrame) -> None:
    """A curve for each variant that a learner is compared with, and its ratio of noise."""
    style.log_axis(panel.axis, "x", base=2)
    for variant, rows in group.groupby("with", sort=True):
        owner, _, suffix = str(variant).rpartition(".")
        name, curve_style = _mechanism(theme, str(variant)), theme.styles.of(owner or rows["learner"].iloc[0], suffix)
        if variant in MECHANISM_OF:  # two factors differ little: the first one shows beside the other
            width = 1.0 if panel.labels else 3.0
            curve_style = replace(style.stepped(list(MECHANISM_OF).index(suffix)), width=width)
        values, ratios, high = rows[["value", "ratio", "ratio_high"]].to_numpy(dtype=float).T
        curve = Curve(values, ratios, high - ratios, (rows["cell"] != "used").to_numpy())
        panel.curve(name, curve, curve_style, "ratio of regrets", band=False)
        if rows["noise"].notna().any():
            panel.line(name, values, rows["noise"], "ratio of noise", color=curve_style.colour)
    panel.axis.axhline(1.0, color=style.GUIDE, linewidth=0.7)
    sums = group["with"].isin(list(MECHANISM_OF)).all()
    over = "tree" if sums else theme.name(f".{group['over'].iloc[0]}")
    panel.axis.set_ylabel(f"ratio: {over} / other")
    bottom, top = panel.axis.get_ylim()
    panel.axis.set_ylim(min(0.9, bottom), max(1.1, top))


@figure_type("crossover", "")
def crossover(source: Source) -> PanelFigure:
    """The horizon from which a tree's explicit bound is below that of noise on every value, against eps.

    Beside it, cells of the runs on the unit ball in dimension `MEASURED`: who had the smaller regret.
    """
    table = read_csv(source.table)
    trees = [name.removeprefix("log2 T*, ") for name in table.columns if name.startswith("log2 T*, ")]
    figure = PanelFigure(len(trees), 2, height=2.2)
    tally = Counter[str]()
    for panel, tree in zip(figure.panels, trees, strict=True):
        style.log_axis(panel.axis, "x", table["eps"])
        style.log_axis(panel.axis, "y")
        for number, size in enumerate(sorted(set(table["n"]))[:MOST]):
            group = table.loc[table["n"] == size]
            curve = Curve(group["eps"].to_numpy(dtype=float), 2.0 ** group[f"log2 T*, {tree}"].to_numpy(dtype=float))
            what = "horizon from which the tree's bound is less"
            panel.curve(f"$d =$ {style.latex_number(size)}", curve, style.stepped(number), what)
        tally.update(_mark_measured(panel, measured_crossing(source.runs, TREES[tree])))
        panel.axis.set(xlabel=style.AXES["epsilon"], ylabel="horizon $T^*$ (rounds)", title=tree)
    if cells := tally.total():
        values = f"noise on every value in {tally['every value ahead']} of {cells} cells"
        figure.finding = f"Measured at $d =$ {MEASURED}: the tree is ahead in {tally['tree ahead']}, {values}"
    figure.setting = (
        "Curves: horizon from which the explicit bound of the tree is less than that of noise on every "
        "value. Triangles: 95 % interval of the ratio of measured regrets, unit ball."
    )
    return figure


def _mark_measured(panel: Panel, measured: pd.DataFrame) -> Iterable[str]:
    """A triangle or a cross for every measured cell; returns which one is ahead in each."""
    for word, marker in WINS.items():
        group = measured.loc[measured["ahead"] == word]
        face = style.INK if word == "tree ahead" else "none"
        options: Style = {"color": style.INK, "marker": marker, "markerfacecolor": face, "linestyle": "none"}
        panel.axis.plot(group["epsilon"], group["horizon"], markersize=4.0, **options)
        panel.figure.key(f"measured, $d =$ {MEASURED}: {word}", **options)
        panel.keep(
            f"measured, {word}", group["epsilon"], group["horizon"].astype(float), what="who had the smaller regret"
        )
    return measured["ahead"]


def measured_crossing(runs: pd.DataFrame, tree: str) -> pd.DataFrame:
    """A row per horizon and finite eps in dimension `MEASURED` on the tight stream of the ball, and which one is ahead.

    By the 95 % interval of the ratio of mean regrets; of experiments with the same cell that with most runs.
    """
    table: list[tuple[Any, ...]] = []
    if not runs.empty:
        selected = runs["learner"].isin([tree, VALUES]) & (runs["variant"] == "corrected") & (runs["status"] == "ok")
        selected &= (runs["set"] == "ball") & (runs["stream"] == "cone") & (runs["dimension"] == MEASURED)
        cells = runs.loc[selected & np.isfinite(runs["epsilon"])]
        for (_, horizon, epsilon), cell in cells.groupby(["experiment", "horizon", "epsilon"]):
            played = {name: rows.sort_values("run")["regret"].to_numpy() for name, rows in cell.groupby("learner")}
            if len(played) < 2:
                continue
            runs_of, quotient = min(map(len, played.values())), ratio(played[tree], played[VALUES])
            word = "tree ahead" if quotient.high < 1 else "every value ahead" if quotient.low > 1 else "undecided"
            table.append((horizon, epsilon, runs_of, word))
    columns = ["horizon", "epsilon", "runs", "ahead"]
    return pd.DataFrame(sorted(table), columns=columns).drop_duplicates(columns[:2], keep="last")


@figure_type("costs", "")
def costs(source: Source) -> PanelFigure:
    """Microseconds per call of projection and oracles against the dimension, one panel per set."""
    theme, table = source.theme, parquet.read(source.table)
    operations, sets = sorted(set(table["operation"])), table.sort_values("dimension").groupby("set", sort=True)
    figure = PanelFigure(len(sets))
    for panel, (shape, group) in zip(figure.panels, sets, strict=True):
        style.log_axis(panel.axis, "x", group["dimension"], base=2)
        style.log_axis(panel.axis, "y")
        for operation, rows in group.groupby("operation", sort=True):
            sizes, microseconds = rows["dimension"].to_numpy(dtype=float), 1e6 * rows["seconds"].to_numpy(dtype=float)
            power = ""
            if len(rows) > 1:
                power = f"$d^{{{np.log(microseconds) @ fits.slope_weights(np.log(sizes)):.2f}}}$"
            curve, what = Curve(sizes, microseconds), "microseconds per call"
            curve_style = style.stepped(operations.index(operation))
            panel.curve(str(operation), curve, curve_style, what, note=power)
        panel.axis.set(xlabel=style.AXES["dimension"], ylabel=r"$\mu$s per call", title=theme.name(f"set:{shape}"))
    seconds = table.pivot_table(index=["set", "dimension"], columns="operation", values="seconds")
    figure.finding = "; ".join(
        f"{operation} costs up to about {style.latex_number(float(f'{factor:.1g}'))} times a linear oracle"
        f" ({theme.name(f'set:{shape}')}, $d =$ {style.latex_number(size)})"
        for name, operation in {"projection": "an exact projection", "projection (solver)": "one by a solver"}.items()
        if {name, "linear oracle"} <= {*seconds}
        for shape, size, factor in (seconds[name] / seconds["linear oracle"])
        .dropna()
        .nlargest(1)
        .reset_index()
        .to_numpy()
    )
    figure.setting = (
        "CPU time of one call on one core; beside the curves the fitted powers of $d$. Timed once for each paper: two "
        "timings of a call of less than a microsecond differ by up to a factor of 2."
    )
    return figure
