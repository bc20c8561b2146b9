"""Print the comparison table, the claims or the consistency checks of a paper on the terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret.core.boundary import as_json
from dpregret.core.errors import ConfigError, not_allowed
from dpregret.core.files import reference
from dpregret.core.paper_names import paper_of
from dpregret.paper_figs.judge.result_tables import AUTOMATIC, FILES, FORMS, NUMBER, claim_value
from dpregret.paper_figs.judge.universal import counts_in_words
from dpregret.paper_figs.judge.verdicts import FACTOR
from dpregret.paper_figs.judge.vocabulary import CLAIMS, HOLDS, NOT_RUN
from dpregret.paper_figs.tables import printed
from dpregret.paper_figs.tables.printed import PRINTED
from dpregret.paper_figs.tables.write_tables import MORE
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formats import DamageError, Form, folded, read_table

LINES: Final = ("claim", "verdict", "origin", "learner", "variant", "rate", *NUMBER, "reason")
"""The columns of lines."""
COMMITTED: Final = "REFERENCE (committed), not your run: "
"""Heading of tables from the reference."""
_RATIO: Final = re.compile(r"eps = \S+, claimed [\d.e-]+|(?:up to )?[\d.e-]+(?: to [\d.e-]+)? times")
"""What was measured of a claim without an exponent, in its reason."""
_RESOLVED: Final = ("resolution", "resolution_log")
ALL: Final = "table_1_all.csv"
"""A row for each learner, with means."""
PLAIN: Final = Form(needed=("algorithm",))
"""A table of text."""
COLUMNS: Final = (
    "algorithm", "group", "window", "eps / delta", "accounted eps", "operation counted", "draws", "T exponent",
    "n exponent", "d exponent", "(log2 d) exponent", "p exponent", "W exponent", "G exponent", "eps exponent", "regret",
    "excess", "errata",
)  # fmt: skip
"""Columns that a page shows, of those that the table has."""


def _folder_of(paper: str, results: Path) -> Path:
    """The folder of a paper with results. Raises ConfigError in one line that names what there is."""
    papers = sorted(path.parent.name for path in results.glob(f"*/{FILES['claim']}"))
    if not papers:
        raise ConfigError(f"{results}: no results yet; `dpregret run` makes them")
    try:
        return results / paper_of(paper, papers)
    except ConfigError as error:
        raise ConfigError(f"{results}: {error}") from None


def judged_table(judged: pd.DataFrame, long: bool = False) -> pd.DataFrame:
    """Lines of claims.csv or checks.csv, as text, those that were not run last.

    `long` adds who states them, the learner, the resolution (in powers of the parameter, and of its logarithm), the
    second term, the agreement of fresh seeds, and the reason; a table of an older run has no resolution.
    """
    rows = []
    for row in judged.sort_values("verdict", key=lambda verdicts: verdicts == NOT_RUN, kind="stable").to_dict(
        "records"
    ):
        verdict = CLAIMS[NOT_RUN] if row["verdict"] == NOT_RUN else row["verdict"]
        measured = (
            formats.significant(float(row.get("share") or "nan")) if row["origin"] == AUTOMATIC else claim_value(row)
        ) or "".join(_RATIO.findall(row["reason"])[:1])
        cells = {"claim": row["claim"], "law": row["rate"], "measured": measured or formats.DASH, "verdict": verdict}
        if long:
            changes = [formats.significant(float(row.get(name) or "nan"), 2) for name in _RESOLVED]
            unit = " of eps" if row.get("resolution_of") == FACTOR else ""
            cells |= {
                "stated by": row["origin"],
                "learner": f"{row['learner']}.{row['variant']}",
                "resolution": changes[0] + unit,
                "in logs": changes[1],
                **_further(row),
                "reason": row["reason"],
            }
        rows.append(cells)
    return pd.DataFrame(rows)


def _further(row: Mapping[Any, Any]) -> dict[str, str]:
    """The largest second term, a quarter of a power higher or lower, that cells do not exclude; and fresh seeds."""
    shares = [float(row.get(f"share_{side}") or "nan") for side in ("higher", "lower")]
    known = [f"{share:.0%}" if np.isfinite(share) else formats.DASH for share in shares]
    return {"second term": " / ".join(known), "fresh seeds": str(row.get("seeds") or formats.DASH)}


def _table_text(folder: Path, number: int, kind: str | None, long: bool, in_json: bool) -> str:
    """The requested table, below the name of its file; as JSON with every column: paper, file and rows."""
    file, form = folder / f"table_{number}.csv", PRINTED if number == 1 else PLAIN
    if kind:
        file, form = folder / FILES[kind], replace(FORMS[kind], needed=LINES)
    elif number == 1 and long:
        file, form = folder / ALL, PLAIN
    if not kind and not file.is_file():
        found = [name for path in folder.glob("table_*.csv") if (name := path.stem.removeprefix("table_")).isdecimal()]
        raise ConfigError(f"{folder}: {not_allowed('table', str(number), sorted(found, key=int))}")
    table = read_table(file, form, text=not (in_json and kind))
    if form is PRINTED and (means := _means_instead(folder, table)) is not None:
        file, form, table = folder / ALL, PLAIN, means
    if in_json:
        return as_json({"paper": folder.resolve().name, "file": str(file), "rows": table}).rstrip("\n")
    committed = COMMITTED if folder.resolve().is_relative_to(reference().resolve()) else ""
    title = f"{committed}{file}"
    if kind:
        title += ": all columns: --json" if long else ": more columns: --long"
        always = (table["origin"] == AUTOMATIC) & (table["verdict"] == HOLDS) & (not long)
        text = formats.terminal(judged_table(table.loc[~always], long), title)
        counted = f"checked for every learner, not listed here: {counts_in_words(table.loc[always])}"
        return "\n".join([text, *folded(counted)]) if always.any() else text
    if form is PRINTED:
        return printed.terminal(table, title)
    return formats.terminal(table if long else _seen(table), title)


def _means_instead(folder: Path, table: pd.DataFrame) -> pd.DataFrame | None:
    """The means of a study without claims, whose printed table says nothing."""
    if (table["claim"].fillna("") != "").any() or not (folder / ALL).is_file():
        return None
    return read_table(folder / ALL, PLAIN, text=True)


def _seen(table: pd.DataFrame) -> pd.DataFrame:
    return table[[name for name in COLUMNS if name in table.columns]]


def printed_table(folder: Path) -> str:
    """The table as the paper prints it, with what was measured; of a study without claims its means."""
    table = read_table(folder / "table_1.csv", PRINTED, text=True)
    if (means := _means_instead(folder, table)) is not None:
        return formats.terminal(_seen(means), str(folder / ALL))
    return printed.terminal(table, str(folder / "table_1.csv"))


def protecting_more(folder: Path) -> list[str]:
    """The rows of learners that protect all rounds where an experiment asks for less."""
    if not (folder / ALL).is_file():
        return []
    table = read_table(folder / ALL, PLAIN, text=True)
    return list(table.loc[table["window"] == MORE, "algorithm"]) if "window" in table else []


def main(
    paper: str,
    results: Sequence[Path],
    number: int = 1,
    lines: str | None = None,
    long: bool = False,
    in_json: bool = False,
) -> int:
    """The commands `dpregret table` and `dpregret claims`: from the first of the folders that has it; exit code 2 where
    none has. number: table of the paper; lines: its claims (claim) or consistency checks (check) instead.
    """
    faults = []
    for folder in results:
        try:
            text = _table_text(_folder_of(paper, folder), number, lines, long, in_json)
        except (ConfigError, OSError, DamageError) as fault:
            faults.append(str(fault))
            continue
        print(text)
        return 0
    print(f"dpregret: {'; '.join(faults)}", file=sys.stderr)
    return 2
