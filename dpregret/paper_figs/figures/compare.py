"""Learners compared on one axis: who wins where, what privacy costs, the effect of drift on learners that restart and
on privacy that expires; the gain of a learner from another mechanism, from which horizon on a tree has the smaller
bound, and what oracle calls cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
import seaborn
from matplotlib.colors import ListedColormap

from dpregret.paper_figs.figures import style, sweep
from dpregret.paper_figs.figures.style import MOST, Curve, Look, Page, Panel, Plate, Style
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import NotRun, mean_root
from dpregret.paper_figs.judge.claims import ClaimsFile, FigureEntry
from dpregret.paper_figs.judge.result_tables import gains, ratio


def winners(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Which private learner has the smallest mean regret, on a map of T and d, one panel a stream; raises NotRun.

    A cell names its winner by colour and shows its regret as a share of the trivial regret: 1.00 means that no private
    learner does better than a fixed expert.
    """
    rows = sweep.rows_of(runs, entry.experiment)
    rows = rows.loc[np.isfinite(rows["epsilon"])].assign(name=lambda frame: frame["learner"] + "." + frame["variant"])
    if rows.empty:
        raise NotRun(f"no private learner in {entry.experiment}")
    plate = Plate(rows["stream"].nunique(), height=2.3)
    means = rows.groupby(["stream", "dimension", "horizon", "name"])[["regret", "trivial_regret"]].mean()
    keys = ["stream", "dimension", "horizon"]
    cells = means.loc[means.groupby(keys)["regret"].idxmin()].reset_index("name")
    cells["share"] = cells["regret"] / means["trivial_regret"].groupby(keys).mean()
    won = cells["name"].value_counts()
    ranked = sorted(won.index, key=lambda name: (-won[name], name))
    looks = [page.looks.at(name) for name in ranked]
    colours = ListedColormap([style.shaded(look.colour, 0.55) for look in looks])
    for panel, (stream, own) in zip(plate.panels, cells.groupby("stream", sort=True), strict=True):
        grid = own.droplevel("stream").unstack("horizon").sort_index(ascending=False)
        number = grid["name"].map(ranked.index, na_action="ignore").astype(float)
        shown: Style = {"vmin": -0.5, "vmax": len(ranked) - 0.5, "cmap": colours, "cbar": False, "fmt": ""}
        shown |= {"linewidths": 0.6, "linecolor": "white", "annot_kws": {"fontsize": style.SMALL, "color": style.INK}}
        shown |= {"xticklabels": number.columns.map(style.number), "yticklabels": number.index.map(style.number)}
        text = grid["share"].map(lambda share: f"{share:.2f}" if share >= 0.005 else "< .01")
        seaborn.heatmap(number, ax=panel.axis, annot=text, **shown)
        for (_, size, horizon), cell in own.iterrows():
            where = [f"T = {horizon}, d = {size}"]
            panel.keep(page.name(cell["name"]), where, [cell["share"]], what="share of the trivial")
        panel.axis.set(xlabel=style.AXES["horizon"], ylabel=style.AXES["experts"])
        panel.axis.set_title(page.name(f"stream:{stream}") if len(plate.panels) > 1 else "")
        panel.axis.tick_params(length=0, labelrotation=0)
    for name, look in zip(ranked, looks, strict=True):
        plate.key(page.name(name), color=style.shaded(look.colour, 0.55), marker="s", linestyle="none", markersize=6)
    best = page.name(ranked[0])
    plate.finding = f"{best} has the least regret in {won[ranked[0]]} of {len(cells)} settings"
    how = f". A number: least regret over that of the {sweep.TRIVIAL['regret']}."
    plate.setting = page.setting(rows, how, ("horizon", "dimension"))
    return plate


def privacy_cost(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """The cost of privacy on each data set: every learner's response beside the trivial point; raises NotRun.

    A colour and marker a privacy budget; learners without privacy are grey.
    """
    response, rows = claims.response, sweep.rows_of(runs, entry.experiment)
    every = sweep.series_of(rows)
    called = {f"{each.learner}.{each.variant}": replace(each, window=None).name(page) for each in every}
    names = list(dict.fromkeys(called.values()))
    budgets = sorted(float(value) for value in set(rows["epsilon"]) if np.isfinite(value))
    looks = {budget: style.stepped(number) for number, budget in enumerate(budgets)}
    if np.isinf(rows["epsilon"]).any():
        looks[np.inf] = Look(style.GUIDE, "|")
    rows = rows.assign(
        name=(rows["learner"] + "." + rows["variant"]).map(called), epsilon=rows["epsilon"].astype(float)
    )
    rows["budget"] = rows["epsilon"].map(_budget)
    rows["share"] = rows["regret"] / rows.groupby("stream")["trivial_regret"].transform("mean")
    plate = Plate(rows["stream"].nunique(), height=0.75 + 0.17 * len(names), wide=True)
    shares: list[tuple[float, str]] = []
    for index, (panel, (stream, own)) in enumerate(zip(plate.panels, rows.groupby("stream", sort=True), strict=True)):
        shown: Style = {"x": "share", "y": "name", "order": names, "hue": "budget", "hue_order": [*map(_budget, looks)]}
        shown |= {"palette": [look.colour for look in looks.values()], "dodge": 0.4 if len(looks) > 2 else False}
        shown |= {"markers": [look.marker for look in looks.values()], "markersize": 3.4, "markeredgewidth": 0.7}
        shown |= {"linestyle": "none", "legend": False, "errorbar": _ends, "err_kws": {"linewidth": 0.8}}
        seaborn.pointplot(own, ax=panel.axis, **shown)
        for (name, budget), cell in own.groupby(["name", "epsilon"], sort=True):
            mean, (low, high) = float(cell["share"].mean()), _ends(cell["share"])
            panel.keep(str(name), [f"eps = {budget:g}"], [mean], [low], [high], "share of trivial")
            if budget in budgets[-1:]:
                shares.append((mean, str(name)))
        panel.axis.axvline(1.0, linestyle=":", color=style.INK, linewidth=0.8)
        panel.axis.set_yticks(range(len(names)), [] if index % plate.across else names)
        label = "excess / trivial excess" if response == "excess" else "regret / constant point's"
        panel.axis.set(ylim=(len(names) - 0.5, -0.5), xlabel=label, ylabel="")
        panel.axis.grid(visible=True, axis="y")
        panel.axis.set_title(page.name(f"stream:{stream}") if len(plate.panels) > 1 else "")
    for budget, look in looks.items():
        plate.key(_budget(budget), color=look.colour, marker=look.marker, linestyle="none")
    plate.key(sweep.TRIVIAL[response], color=style.INK, linestyle=":", linewidth=0.8)
    if shares:
        least, name = min(shares, key=lambda pair: pair[0])
        where = f"At {_budget(budgets[-1])} the best is {name}"
        plate.finding = f"{where}: {style.number(least)} of the {style.RESPONSES[response]} of the trivial point"
    plate.setting = page.setting(rows, ", bars 95 %.", ("epsilon",))
    return plate


def _budget(epsilon: float) -> str:
    return f"$\\varepsilon =$ {style.number(epsilon)}" if np.isfinite(epsilon) else "not private"


def _ends(sample: pd.Series) -> tuple[float, float]:
    """Ends of the 95 % interval of a mean over runs, as seaborn requests them."""
    return fits.mean_interval(np.asarray(sample, dtype=float))[1:]


FORGETS: Final = "restarted-ftal"
EXPIRES: Final = "wdp-cocop-gaussian"
NEITHER: Final = "ftal"
FREE: Final = Look((0.45, 0.45, 0.45), "d", style.DOTTED)
Lines = dict[float, Look]


def drift(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Loss over the year, regret against how often a learner forgets, and what privacy adds; raises NotRun.

    First: loss a round in each step between horizons, above the point that is best for all rounds, of the learner that
    never forgets; second: of the shorter block of least final regret at the largest budget. Third: final regret a round
    against the block length. Fourth: what privacy adds to it, against the rounds after which privacy expires (filled)
    or the learner forgets (open), with the size of the window tree's noise (dotted).
    """
    rows = sweep.rows_of(runs, entry.experiment)
    if "regret_last" not in rows or not {FORGETS, EXPIRES, NEITHER} <= set(rows["learner"]):
        raise NotRun(f"{entry.experiment} does not follow a stream in the order of time")
    rows = rows.loc[rows["horizon"] == rows["horizon"].max()]
    budgets = sorted({float(value) for value in rows["epsilon"] if np.isfinite(value)}, reverse=True)
    lines: Lines = {budget: style.stepped(number) for number, budget in enumerate(budgets)} | {np.inf: FREE}
    plate = Plate(4, 2, height=1.95)
    final = rows.loc[rows["checkpoint"] == rows["horizon"]]
    forgets = final.loc[final["learner"] == FORGETS]
    longest = int(forgets["window"].max())
    shorter = forgets.loc[(forgets["epsilon"] == budgets[0]) & (forgets["window"] < longest)]
    length = int(shorter.groupby("window")["regret"].mean().idxmin())
    words = {longest: "never restarted", length: f"every {style.number(length)} rounds"}
    for panel, (window, often) in zip(plate.panels, words.items(), strict=False):
        _over_time(panel, rows, lines, window)
        panel.axis.set_title(f"{page.name(FORGETS)}: {often}")
    plate.same_heights(plate.panels[:2])
    third, fourth = plate.panels[2:]
    third.axis.set(title="does forgetting help?", xlabel="rounds after which the learner forgets")
    plate.finding = _against_memory(third, forgets, lines)
    fourth.axis.set(
        title="does privacy that expires cost less?", xlabel="rounds after which it expires, or is forgotten"
    )
    _against_window(fourth, final, lines)
    for panel, learner in ((third, FORGETS), (fourth, EXPIRES)):
        ticks = sorted(set(final.loc[final["learner"] == learner, "window"].astype(float)))
        style.log_axis(panel.axis, "x", ticks, base=2)
        panel.axis.set_xticks(ticks, [*map(style.number, ticks[:-1]), "never"])
    for budget, look in lines.items():
        plate.key(_budget(budget), color=look.colour, marker=look.marker, linestyle=look.dash)
    plate.key("the learner forgets", color=style.INK, marker="o", linestyle=style.DASHED, markerfacecolor="white")
    plate.key("size of the tree's noise", color=style.INK, linestyle=":")
    plate.setting = page.setting(rows, ", bands and bars 95 %.", ("window", "epsilon"))
    return plate


def _over_time(panel: Panel, rows: pd.DataFrame, lines: Lines, window: int) -> None:
    """Loss a round in each step between horizons, of the learner that forgets after a window."""
    step = int(np.median(np.diff(sorted(set(rows["checkpoint"])))))
    own = rows.loc[rows["checkpoint"] % step == 0]
    best = own.loc[own["learner"] == NEITHER].groupby("checkpoint")[["regret_last", "regret_pieces"]].mean()
    follows = np.diff(best["regret_last"] - best["regret_pieces"], prepend=0.0) / step
    label = f"best point of each {style.number(step)} rounds"
    panel.line("best point of each piece", best.index / 1000, follows, "mean", key=label, linestyle="-.")
    forgets = own.loc[(own["learner"] == FORGETS) & (own["window"] == window)]
    for budget, look in lines.items():
        table = sweep.by_run(forgets.loc[forgets["epsilon"] == budget], "checkpoint", "regret_last")
        drawn = sweep.means_of(table.columns / 1000, np.diff(table.to_numpy(dtype=float), axis=1, prepend=0.0) / step)
        panel.curve(f"eps = {budget:g}", drawn, look, "loss a round", legend="")
    panel.axis.axhline(0.0, color=style.GUIDE, linewidth=0.7)
    panel.axis.set(xlabel="rounds so far, thousands", ylabel="loss a round above the best")


def _against_memory(panel: Panel, final: pd.DataFrame, lines: Lines) -> str:
    """Final regret against the block length; says how often it is best to forget at every budget."""
    axis, horizon = panel.axis, int(final["horizon"].max())
    axis.set_yscale("symlog", linthresh=1e-3)
    axis.set_ylabel("regret a round at the end")
    best = []
    for budget, look in lines.items():
        table = sweep.by_run(final.loc[final["epsilon"] == budget], "window")
        drawn = sweep.means_of(table.columns, table.to_numpy(dtype=float) / horizon)
        panel.curve(f"eps = {budget:g}", drawn, look, "regret a round", band=False, legend="")
        window = drawn.values[int(np.argmin(drawn.means))]
        often = f"every {style.number(window)}" if window < final["window"].max() else "never"
        best.append(f"{often}: {_budget(budget)}")
    small: Style = {"xycoords": ("axes fraction", "data")}
    for level, text in ((float(final["trivial_regret"].mean()) / horizon, "constant point"), (0.0, "best fixed point")):
        axis.axhline(level, color=style.INK, linestyle=":" if level else "-", linewidth=0.8)
        panel.text((0.98, level), text, "right", "bottom", **small)
    return f"When forgetting is best: {'; '.join(best)}"


def _against_window(panel: Panel, final: pd.DataFrame, lines: Lines) -> None:
    """What privacy adds to the final regret, beside the law of the window tree's noise."""
    horizon = int(final["horizon"].max())
    panel.axis.set(yscale="log", ylabel="what privacy adds, a round")
    for budget, look in ((budget, look) for budget, look in lines.items() if np.isfinite(budget)):
        name = f"eps = {budget:g}"
        for learner, words in ((EXPIRES, "privacy expires"), (FORGETS, "learner forgets")):
            own, forgets = final.loc[final["learner"] == learner], learner == FORGETS
            noisy, free = (sweep.by_run(own.loc[own["epsilon"] == each], "window") for each in (budget, np.inf))
            added = (noisy - free)[noisy.columns]
            hollow = np.full(len(added.columns), forgets)
            drawn = sweep.means_of(added.columns, added.to_numpy(dtype=float) / horizon, hollow)
            shown = replace(look, dash=style.DASHED) if forgets else look
            panel.curve(name, drawn, shown, f"added by privacy, {words}", band=False, legend="")
            if not forgets and len(drawn.values) > 1:
                law = np.sqrt(np.log2(drawn.values) + 1) * mean_root(drawn.values)
                scaled = law * (drawn.means[0] / law[0])
                dotted: Style = {"color": look.colour, "linestyle": ":", "linewidth": 1.1}
                panel.line(name, drawn.values, scaled, "size of the tree's noise, scaled", **dotted)


MECHANISM_OF: Final = {
    "root": "root",
    "buffers": "buffers",
    "corrected-reduced": "tree, best decoder",
    "gaussian-reduced": "tree, best decoder",
}
"""Variant of a learner -> its mechanism of sums; where all that is compared are such, the other one is the tree."""
MEASURED: Final = 4
"""Dimension whose measured cells are drawn beside the bounds."""
VALUES: Final = "noisy-value-bandit"
TREES: Final = {"Laplace tree": "private-bandit-laplace", "Gaussian tree": "private-bandit-gaussian"}
WINS: Final = {"tree ahead": "^", "every value ahead": "v", "undecided": "x"}


def gain(page: Page, runs: pd.DataFrame, claims: ClaimsFile, entry: FigureEntry) -> Plate:
    """Ratios of regret with intervals and of noise (dashed), a panel a learner, stream and budget; raises NotRun."""
    parameter = entry.parameter or "horizon"
    groups = []
    wanted = entry.experiment, entry.parameter
    for each in (gain for gain in claims.gains if (gain.experiment, gain.parameter) == wanted):
        where = [style.fixed(key, value) for key, value in each.where.items() if not isinstance(value, str)]
        found = gains(runs, claims.model_copy(update={"gains": (each,)}))
        for (learner, stream), own in found.groupby(["learner", "stream"], sort=True):
            groups.append(([page.name(str(learner)), page.name(f"stream:{stream}"), *where], str(learner), own))
    if not groups:
        raise NotRun(f"no gain of {entry.experiment} has rows")
    common = [part for part in groups[0][0] if len(groups) > 1 and all(part in title for title, _, _ in groups)]
    plate = Plate(len(groups), 2 if len(groups) in (2, 4) else 3, height=1.85)
    gained: list[tuple[float, float, str, str]] = []
    for panel, (title, learner, own) in zip(plate.panels, groups, strict=True):
        style.log_axis(panel.axis, "x", base=2)
        for variant, part in own.groupby("with", sort=True):
            other, _, plain = str(variant).rpartition(".")
            name = page.name(str(variant)) if other else MECHANISM_OF.get(plain, page.name(f".{plain}"))
            look = page.looks.of(other or learner, plain)
            if not other and plain in MECHANISM_OF:
                look = style.stepped(list(MECHANISM_OF).index(plain))
            values, ratios = part["value"].to_numpy(dtype=float), part["ratio"].to_numpy()
            reach, hollow = (part["ratio_high"] - part["ratio"]).to_numpy(), (part["cell"] != "used").to_numpy()
            panel.curve(name, Curve(values, ratios, reach, hollow), look, "ratio of regrets", band=False)
            if part["noise"].notna().any():
                shown: Style = {"color": look.colour, "key": f"{name}: noise"}
                panel.line(name, values, part["noise"], "ratio of noise", **shown)
            lower = part["ratio_low"].to_numpy() > 1
            gained += [(*pair, name, title[0]) for pair in zip(ratios[lower], values[lower], strict=True)]
        panel.axis.axhline(1.0, color=style.GUIDE, linewidth=0.7)
        sums = all(each in MECHANISM_OF for each in own["with"])
        over = "tree" if sums else page.name(f".{own['over'].iloc[0]}")
        panel.axis.set(xlabel=style.AXES[parameter], ylabel=f"{over} / other")
        panel.axis.set_title(", ".join(part for part in title if part not in common), fontsize=style.SMALL)
        low, high = panel.axis.get_ylim()
        panel.axis.set_ylim(min(0.9, low), max(1.1, high))
    every = pd.concat([own for _, _, own in groups])
    spoken = " and ".join(sorted({style.RESPONSES[value] for value in every["response"]}))
    if gained:
        most, value, name, learner = max(gained)
        size = f"(${style.symbol_of(parameter)} =$ {style.number(value)})"
        plate.finding = f"{learner}, {name}: up to {style.number(most)} times less {spoken} {size}"
    plate.setting = (
        f"Ratio of {spoken} (solid) and of the mean norm of noise (dashed), same losses, "
        f"{style.span(every['runs'])} runs, bars 95 %; hollow: saturated. Above 1 the other is better."
        + (f" Setting: {', '.join(common)}." if common else "")
    )
    return plate


def crossover(page: Page, table: pd.DataFrame, runs: pd.DataFrame) -> Plate:
    """The horizon from which a tree's explicit bound is below that of noise on every value, against eps.

    Beside it, cells of the runs on the unit ball in dimension `MEASURED`: who had the smaller regret.
    """
    trees = [name.removeprefix("log2 T*, ") for name in table.columns if name.startswith("log2 T*, ")]
    plate = Plate(len(trees), 2, height=2.2)
    tally = dict.fromkeys(WINS, 0)
    for panel, tree in zip(plate.panels, trees, strict=True):
        style.log_axis(panel.axis, "x", table["eps"])
        style.log_axis(panel.axis, "y")
        for number, size in enumerate(sorted(set(table["n"]))[:MOST]):
            own = table.loc[table["n"] == size]
            drawn = Curve(own["eps"].to_numpy(dtype=float), 2.0 ** own[f"log2 T*, {tree}"].to_numpy(dtype=float))
            what = "horizon from which the tree's bound is less"
            panel.curve(f"$d =$ {style.number(size)}", drawn, style.stepped(number), what)
        measured = measured_crossing(runs, TREES[tree])
        for word, marker in WINS.items():
            own = measured.loc[measured["ahead"] == word]
            tally[word] += len(own)
            face = style.INK if word == "tree ahead" else "none"
            look: Style = {"color": style.INK, "marker": marker, "markerfacecolor": face}
            panel.axis.plot(own["epsilon"], own["horizon"], linestyle="", markersize=4.0, **look)
            plate.key(f"measured, $d =$ {MEASURED}: {word}", linestyle="none", **look)
            horizons = own["horizon"].astype(float)
            panel.keep(f"measured, {word}", own["epsilon"], horizons, what="who had the smaller regret")
        panel.axis.set(xlabel=style.AXES["epsilon"], ylabel="horizon $T^*$ (rounds)", title=tree)
    if sum(tally.values()):
        values = f"noise on every value in {tally['every value ahead']} of {sum(tally.values())} cells"
        plate.finding = f"Measured at $d =$ {MEASURED}: the tree is ahead in {tally['tree ahead']}, {values}"
    plate.setting = (
        "Curves: horizon from which the explicit bound of the tree is less than that of noise on every "
        "value. Triangles: 95 % interval of the ratio of measured regrets, unit ball."
    )
    return plate


def measured_crossing(runs: pd.DataFrame, tree: str) -> pd.DataFrame:
    """A row per horizon and finite eps in dimension `MEASURED` on the tight stream of the ball, with who is ahead.

    By the 95 % interval of the ratio of mean regrets; of experiments with the same cell that with most runs.
    """
    found: list[tuple[Any, ...]] = []
    if not runs.empty:
        kept = runs["learner"].isin([tree, VALUES]) & (runs["variant"] == "corrected") & (runs["status"] == "ok")
        kept &= (runs["set"] == "ball") & (runs["stream"] == "cone") & (runs["dimension"] == MEASURED)
        cells = runs.loc[kept & np.isfinite(runs["epsilon"])]
        for (_, horizon, epsilon), cell in cells.groupby(["experiment", "horizon", "epsilon"]):
            played = {name: own.sort_values("run")["regret"].to_numpy() for name, own in cell.groupby("learner")}
            if len(played) < 2:
                continue
            runs_of, quotient = min(map(len, played.values())), ratio(played[tree], played[VALUES])
            word = "tree ahead" if quotient.high < 1 else "every value ahead" if quotient.low > 1 else "undecided"
            found.append((horizon, epsilon, runs_of, word))
    columns = ["horizon", "epsilon", "runs", "ahead"]
    return pd.DataFrame(sorted(found), columns=columns).drop_duplicates(columns[:2], keep="last")


def costs(page: Page, table: pd.DataFrame) -> Plate:
    """Microseconds per call of projection and oracles against the dimension, one panel a set."""
    operations, sets = sorted(set(table["operation"])), table.sort_values("dimension").groupby("set", sort=True)
    plate = Plate(len(sets))
    for panel, (shape, own) in zip(plate.panels, sets, strict=True):
        style.log_axis(panel.axis, "x", own["dimension"], base=2)
        style.log_axis(panel.axis, "y")
        for operation, rows in own.groupby("operation", sort=True):
            sizes, microseconds = rows["dimension"].to_numpy(dtype=float), 1e6 * rows["seconds"].to_numpy(dtype=float)
            power = ""
            if len(rows) > 1:
                power = f": $d^{{{np.log(microseconds) @ fits.slope_weights(np.log(sizes)):.2f}}}$"
            drawn, what = Curve(sizes, microseconds), "microseconds per call"
            look = style.stepped(operations.index(operation))
            panel.curve(str(operation), drawn, look, what, legend=f"{operation}{power}")
        panel.axis.set(xlabel=style.AXES["dimension"], ylabel=r"$\mu$s per call", title=page.name(f"set:{shape}"))
    seconds = table.pivot_table(index=["set", "dimension"], columns="operation", values="seconds")
    seconds = seconds.reindex(columns=["projection", "linear oracle"])
    ratios = (seconds["projection"] / seconds["linear oracle"]).dropna()
    for shape, size, most in ratios.nlargest(1).reset_index().to_numpy():
        factor = f"A projection costs up to {style.number(most)} times a call of the linear oracle"
        plate.finding = f"{factor} ({page.name(f'set:{shape}')}, $d =$ {style.number(size)})"
    plate.setting = "CPU time of one call on one core; in the legends the fitted powers of $d$."
    return plate
