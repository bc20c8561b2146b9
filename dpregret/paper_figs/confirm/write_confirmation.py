"""A confirmation in files: the table, a page in words, and one figure: do numbers scatter between seeds as their
intervals say, and where do they lie when pooled?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.paper_figs.confirm.fresh_seeds import CHANCE, NUMBERS, POWER, counted, deviations, scattered, sentences
from dpregret.paper_figs.figures import style
from dpregret.paper_figs.figures.grammar import PanelFigure
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.confirmed import AGAINST, TABLE
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.escaping import paragraph

WIDEST: Final = 4.0
BIN: Final = 0.5
EDGES: Final = np.arange(-WIDEST, WIDEST + BIN / 2, BIN)
COLOUR, LINE = "0.75", "0.1"


def write(table: pd.DataFrame, seeds: Sequence[int], profile: str, out: Path) -> list[str]:
    """Write the table, the page and the figure into `out`; return what they come to, in sentences."""
    out.mkdir(parents=True, exist_ok=True)
    moved = deviations(table)
    said = sentences(table, moved, len(seeds))
    formats.write_csv(table, out / TABLE)
    (out / "confirmation.md").write_text(page(table, said, seeds, profile), encoding="utf-8")
    draw(table, moved, out / "scatter")
    return said


def page(table: pd.DataFrame, said: Sequence[str], seeds: Sequence[int], profile: str) -> str:
    """The confirmation as Markdown: counts, then every claim and check on which a seed differs, with its cause."""
    parts = [
        f"# Claims on {len(seeds)} fresh seeds, profile {profile}\n",
        "Each claim and check was judged again, by the same procedure, on seeds that nobody has chosen "
        f"([protocol](../../../docs/method.md#confirmation)): {', '.join(map(str, seeds))}. A verdict is contradicted "
        f"where {AGAINST} or more seeds decide the opposite; an inconclusive seed is counted apart. At a power of "
        "0.95 one or more of five seeds fail for 23 % of true laws at the border of what is resolved.\n",
        "\n".join(f"- {paragraph(sentence)}" for sentence in said) + "\n",
    ]
    claims = table.loc[table["kind"] == "claim"]
    parts += [
        f"## Claims by {by}\n\n{formats.markdown(counted(claims, by).astype('str'))}" for by in ("paper", "verdict")
    ]
    differing = table.loc[(table["opposite"] > 0) | (table["inconclusive"] > 0)]
    differing = differing.sort_values(["opposite", "inconclusive"], ascending=False, kind="stable")
    seeds_shown = [
        {
            "claim": f"{row['paper']} {row['claim']}",
            "verdict": row["verdict"],
            "number": _number(row, ""),
            "fresh seeds": row["agreement"],
            "pooled": _number(row, "pooled"),
            "cause": row["cause"],
        }
        for row in differing.to_dict("records")
    ]
    listed = formats.markdown(pd.DataFrame(seeds_shown)) if seeds_shown else "None.\n"
    wide = scattered(table)
    named = wide.assign(times=wide["times"].map("{:.1f}".format), chance=wide["chance"].map("{:.1g}".format))
    named = named.rename(columns={"claim": "claim or check"})
    return "\n".join(
        [
            *parts,
            f"## Claims and checks on which a fresh seed differs\n\n{listed}",
            "## Numbers that scatter more than their intervals say\n",
            "An interval is over the runs of one seed, on the cells that this seed fits. Claims and checks that an F "
            f"test at {CHANCE:.0%} refuses: the standard deviation between seeds in units of that stated, and the "
            "probability of as much by chance. All plays of a seed share random numbers, so that the fits are not "
            "independent ([does the formula cover?](../../../docs/method.md#confirmation)).\n",
            formats.markdown(named) if len(named) else "None.\n",
        ]
    )


def _number(row: Mapping[Any, Any], name: str) -> str:
    ends = NUMBERS if not name else (name, f"{name}_low", f"{name}_high")
    value = fits.Estimate(*(float(row[end]) for end in ends))
    return formats.with_interval(value) if np.isfinite(value.value) else formats.DASH


def draw(table: pd.DataFrame, moved: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw standardised differences between seeds beside the normal density, and pooled numbers against those of the
    profile's own seed."""
    with style.style_context():
        figure = PanelFigure(2, 2, height=2.2)
        first, second = figure.panels
        z = np.clip(moved["z"].to_numpy(dtype=float), EDGES[0], EDGES[-1])
        heights, _ = np.histogram(z, EDGES)
        middles = (EDGES[1:] + EDGES[:-1]) / 2
        normal = np.exp(-(middles**2) / 2) / np.sqrt(2 * np.pi) * BIN * len(z)
        first.axis.bar(middles, heights, width=0.9 * BIN, color=COLOUR)
        first.axis.plot(middles, normal, color=LINE, linestyle="--")
        first.axis.set(xlabel="difference from the other seeds, in standard errors", ylabel="numbers", title="scatter")
        first.keep("measured", middles, heights, what="numbers with this difference from the other seeds")
        first.keep("expected", middles, normal, what="normal density")
        fitted = table.loc[(table["quantity"] == POWER) & table["number"].notna() & table["pooled"].notna()]
        own, fresh = (fitted[name].to_numpy(dtype=float) for name in ("number", "pooled"))
        second.axis.plot(own, fresh, "o", color=LINE, markersize=2, alpha=0.5)
        if len(own):
            second.axis.axline((0.0, 0.0), slope=1.0, color=LINE, linewidth=0.5)
        second.axis.set(xlabel="number on the profile's own seed", ylabel="pooled number", title="numbers")
        second.keep("claims and checks", own, fresh, what="pooled number of all fresh seeds")
        if len(moved):
            figure.finding = f"Intervals of 95 % cover between seeds in {moved['covered'].mean():.1%} of comparisons"
        else:
            figure.finding = "Two fresh seeds or more are needed to compare intervals"
        figure.setting = (
            "Left: each fitted number on a fresh seed minus the mean on the other fresh seeds, over the standard error "
            "that its interval states; dashed: normal. Right: mean over the fresh seeds against the profile's own seed."
        )
        return figure.save(stem)
