"""The page `winners`: the table of winners as data for its filters, its contested part as rows, and what goes along."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pandas as pd

from dpregret.paper_figs.report.texts import Names, learner_name, read_all, read_captioned
from dpregret.paper_figs.report.views import embedded
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.winners.cells import FOLDER, GUARANTEE, PROBLEM, TABLE
from dpregret.paper_figs.winners.table import VERDICTS

FILTERS: Final = {
    "feedback": "feedback", "kind": "losses are", "losses": "loss class", "stream": "stream", "set": "set",
    "dimension": "dimension", "rounds": "T (or n)", "window": "window W", "epsilon": "eps", "delta": "delta",
    "verdict": "verdict",
}  # fmt: skip
"""Column -> what its filter is called."""
SHOWN: Final = {
    "stream": "stream", "set": "set", "dimension": "d", "rounds": "T or n", "window": "W", "epsilon": "eps",
    "delta": "delta", "winner": "least regret", "regret": "regret", "of_constant": "of the constant point's",
    "second": "second", "ratio": "second / least", "verdict": "verdict", "p_holm": "p (Holm)",
    "bound_of": "least bound", "bound_over_regret": "bound / least regret", "bound_gap": "its regret / least",
    "reference": "not private", "price": "price of privacy", "barred": "barred, less regret",
}  # fmt: skip
"""Column -> head of the page's table."""
LEARNERS: Final = ("winner", "second", "bound_of", "reference")
"""Columns that hold a learner and its variant."""
PARTS: Final = {
    "profiles": "Performance profiles",
    "pairs": "Pairs of learners that differ",
    "coverage": "Predicted regret",
}
_INTERVALS: Final = {
    "regret": ("low", "high"), "ratio": ("ratio_low", "ratio_high"), "bound_gap": ("bound_gap_low", "bound_gap_high"),
}  # fmt: skip


def winners_view(results: Path, names: Names) -> dict[str, Any]:
    """The winners of a folder of results; empty where there is no table of winners.

    columns: heads; rows: settings with several algorithms at their largest T; data: JSON of all for the filters.
    answer: who wins, in one sentence. `names`: identifier -> what people write, which stands before the identifiers.
    """
    if not (results / TABLE).exists():
        return {}
    table = formats.read_csv(results / TABLE, keep_default_na=False, na_values=[""])
    table = table.fillna({name: "" for name in table if not pd.api.types.is_numeric_dtype(table[name])})
    shown = pd.DataFrame({name: _worded(table, name) for name in {**FILTERS, **SHOWN}})
    keys = [name for name in (*PROBLEM, *GUARANTEE) if name != "rounds"]
    longest = table["rounds"] == table.groupby(keys, dropna=False)["rounds"].transform("max")
    contested = table["algorithms"] > 1
    learners = sorted({name for column in LEARNERS for name in shown[column] if "." in name})
    data = _packed(shown.assign(contested=contested.map({True: "yes", False: ""})))
    folder = results / FOLDER
    return {
        "answer": _answer(table.loc[contested], names),
        "columns": [*SHOWN.values()],
        "rows": shown.loc[longest & contested, list(SHOWN)].to_numpy().tolist(),
        "settings": len(table),
        "data": {**data, "names": {name: learner_name(names, *name.split(".", 1)) for name in learners}},
        "counts": read_captioned(results / "winners.md", "How often each learner is the one of least regret"),
        "parts": read_all({folder / f"{name}.md": title for name, title in PARTS.items()}),
        "figure": embedded(folder / "profiles.png"),
        "verdicts": VERDICTS,
    }


def _answer(contested: pd.DataFrame, names: Names) -> str:
    """The learner that most often has the least regret, and how often."""
    useful = contested.loc[contested["of_constant"] < 1, "winner"]
    if useful.empty:
        return "No setting of this run has several algorithms of which one beats a constant point."
    counts = useful.value_counts()
    most, count = str(counts.index[0]), int(counts.iloc[0])
    return (
        f"No learner wins everywhere. {learner_name(names, *most.split('.', 1))} most often has the least regret: in "
        f"{count} of the {len(useful)} settings with several algorithms in which the winner beats a constant point."
    )


def _worded(table: pd.DataFrame, name: str) -> pd.Series:
    """A column as text, with its interval where it has one."""
    values = table[name]
    if name == "stream":
        return values + table["options"].map(lambda text: f" ({text})" if text else "")
    if name == "window":
        return values.map(lambda window: "all" if window == 0 else f"{window:.10g}")
    if name == "delta":
        return values.map(lambda delta: "0" if delta == 0 else f"{delta:g}")
    if name in ("dimension", "rounds", "epsilon"):
        return values.map(lambda value: value if isinstance(value, str) else f"{value:.10g}")
    if not pd.api.types.is_numeric_dtype(values):
        return values.astype("str")
    texts = values.map(formats.significant)
    if name in _INTERVALS:
        low, high = (table[end].map(formats.significant) for end in _INTERVALS[name])
        ends = " [" + low + ", " + high + "]"
        texts = texts + ends.where(table[_INTERVALS[name][0]].notna(), "")
    return texts


def _packed(shown: pd.DataFrame) -> dict[str, Any]:
    """Columns as lists of distinct words and numbers of these: texts repeat a lot."""
    columns = {}
    for name in shown:
        codes, words = pd.factorize(shown[name])
        columns[str(name)] = {"words": [str(word) for word in words], "codes": codes.tolist()}
    return {"shown": list(SHOWN), "filters": FILTERS, "columns": columns}
