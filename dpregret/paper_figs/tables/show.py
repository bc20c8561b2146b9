"""Print the comparison table, the claims or the consistency checks of a paper on the terminal."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dpregret import study
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
from dpregret.paper_figs.text.formats import Cells, DamageError, Form, folded, read_rows, read_table

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


def _folder_of(paper: str, results: Path, known: Collection[str]) -> Path:
    """The folder of a paper with results. Raises ConfigError in one line that names what there is."""
    papers = sorted(path.parent.name for path in results.glob(f"*/{FILES['claim']}"))
    if not papers:
        raise ConfigError(f"{results}: no results yet; `{study.command('run')}` makes them")
    try:
        return results / paper_of(paper, papers, known)
    except ConfigError as error:
        raise ConfigError(f"{results}: {error}") from None


def judged_table(judged: Iterable[Mapping[Any, Any]], long: bool = False) -> list[Cells]:
    """Rows of claims.csv or checks.csv for readers, those that were not run last.

    `long` adds who states them, the learner, the resolution (in powers of the parameter, and of its logarithm), the
    second term, the agreement of fresh seeds, and the reason; a table of an older run has no resolution.
    """
    rows: list[Cells] = []
    for row in sorted(judged, key=lambda row: row["verdict"] == NOT_RUN):
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
    return rows


def _further(row: Mapping[Any, Any]) -> dict[str, str]:
    """The largest second term, a quarter of a power higher or lower, that cells do not exclude; and fresh seeds."""
    shares = [float(row.get(f"share_{side}") or "nan") for side in ("higher", "lower")]
    known = [f"{share:.0%}" if math.isfinite(share) else formats.DASH for share in shares]
    return {"second term": " / ".join(known), "fresh seeds": str(row.get("seeds") or formats.DASH)}


def table_numbers(folder: Path, ending: str) -> list[str]:
    """The numbers of a paper's tables for which the folder has a file of this ending, in order."""
    found = (path.stem.removeprefix("table_") for path in folder.glob(f"table_*{ending}"))
    return sorted((number for number in found if number.isdecimal()), key=int)


def _table_text(folder: Path, number: int, kind: str | None, long: bool, in_json: bool) -> str:
    """The requested table, below the name of its file; as JSON with every column: paper, file and rows."""
    file, form = folder / f"table_{number}.csv", PRINTED if number == 1 else PLAIN
    if kind:
        file, form = folder / FILES[kind], replace(FORMS[kind], needed=LINES)
    elif number == 1 and long:
        file, form = folder / ALL, PLAIN
    if not kind and not file.is_file():
        raise ConfigError(f"{folder}: {not_allowed('table', str(number), table_numbers(folder, '.csv'))}")
    heads, rows = read_rows(file, form)
    if form is PRINTED and (means := _means_instead(folder, rows)) is not None:
        file, form, (heads, rows) = folder / ALL, PLAIN, means
    if in_json:
        content = read_table(file, form) if kind else rows
        return as_json({"paper": folder.resolve().name, "file": str(file), "rows": content}).rstrip("\n")
    committed = COMMITTED if folder.resolve().is_relative_to(reference().resolve()) else ""
    title = f"{committed}{file}"
    if kind:
        title += ": all columns: --json" if long else ": more columns: --long"
        always, others = list[Cells](), list[Cells]()
        for row in rows:
            hidden = row["origin"] == AUTOMATIC and row["verdict"] == HOLDS and not long
            (always if hidden else others).append(row)
        listed = judged_table(others, long)
        text = _in_lines([*listed[0]] if listed else [], listed, title)
        counted = f"checked for every learner, not listed here: {counts_in_words(always)}"
        return "\n".join([text, *folded(counted)]) if always else text
    if form is PRINTED:
        return printed.terminal(rows, title)
    return _in_lines(heads if long else _seen(heads), rows, title)


def _in_lines(heads: Sequence[str], rows: Iterable[Cells], title: str) -> str:
    return formats.in_lines(heads, [[row[name] for name in heads] for row in rows], title)


def _means_instead(folder: Path, rows: Iterable[Cells]) -> tuple[list[str], list[Cells]] | None:
    """The means of a study without claims, whose printed table says nothing."""
    if any(row["claim"] for row in rows) or not (folder / ALL).is_file():
        return None
    return read_rows(folder / ALL, PLAIN)


def _seen(heads: Sequence[str]) -> list[str]:
    return [name for name in COLUMNS if name in heads]


def printed_table(folder: Path) -> str:
    """The table as the paper prints it, with what was measured; of a study without claims its means."""
    _, rows = read_rows(folder / "table_1.csv", PRINTED)
    if (means := _means_instead(folder, rows)) is not None:
        return _in_lines(_seen(means[0]), means[1], str(folder / ALL))
    return printed.terminal(rows, str(folder / "table_1.csv"))


def protecting_more(folder: Path) -> list[str]:
    """The rows of learners that protect all rounds where an experiment asks for less."""
    if not (folder / ALL).is_file():
        return []
    _, rows = read_rows(folder / ALL, PLAIN)
    return [row["algorithm"] for row in rows if row.get("window") == MORE]


def main(
    paper: str,
    results: Sequence[Path],
    number: int = 1,
    lines: str | None = None,
    long: bool = False,
    in_json: bool = False,
    known: Collection[str] = (),
) -> int:
    """The commands `dpregret table` and `dpregret claims`: from the first of the folders that has it; exit code 2 where
    none has. number: table of the paper; lines: its claims (claim) or consistency checks (check) instead. known: see
    `paper_of`.
    """
    faults = []
    for folder in results:
        try:
            text = _table_text(_folder_of(paper, folder, known), number, lines, long, in_json)
        except (ConfigError, OSError, DamageError) as fault:
            faults.append(str(fault))
            continue
        print(text)
        return 0
    print(f"dpregret: {'; '.join(faults)}", file=sys.stderr)
    return 2
