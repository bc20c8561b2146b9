"""A paper's own table as data: `printed.yaml` beside its claims file, every mistake one line with file, line and key.

A cell is a sentence with formulas between dollars, a mapping of `rate` and `measured` (what a side is called -> its
claims), or a list of those where the paper prints several in one cell.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, model_validator

from dpregret.core.errors import ConfigError, not_allowed
from dpregret.core.validation import in_order, validate
from dpregret.core.yaml_source import read_source, shown
from dpregret.paper_figs.judge.claims import ClaimsError, ClaimsFile, Strict
from dpregret.paper_figs.text.formula import checked

FILE: Final = "printed.yaml"
Sentence = Annotated[str, AfterValidator(checked)]
"""Words with formulas between dollars."""


class Part(Strict):
    """The print of a paper in a cell or in a part of it, and the claims that measure it, by side."""

    rate: Sentence
    measured: dict[Sentence, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(default_factory=dict)


class Cell(Strict):
    """A cell of a printed table."""

    parts: tuple[Part, ...]

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, data: Any) -> Any:
        parts = data if isinstance(data, list) else [data]
        return {"parts": [{"rate": part} if isinstance(part, str | int | float) else part for part in parts]}


class Column(Strict):
    """A column: its head, what is above it where columns are grouped, and its share of the width."""

    head: Sentence
    above: Sentence = ""
    width: float = Field(default=1.0, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, data: Any) -> Any:
        return {"head": data} if isinstance(data, str) else data


class PrintedTable(Strict):
    """A table: what the paper calls it, what it is about, in our words, and what has to be known to read it."""

    name: str
    caption: Sentence
    notes: Sentence = ""
    columns: tuple[Column, ...] = Field(min_length=1)
    rows: tuple[tuple[Cell, ...], ...] = Field(min_length=1)

    def claim_ids(self) -> list[str]:
        """All claims that are named, in the order of the table, each once."""
        sides = [ids for row in self.rows for cell in row for part in cell.parts for ids in part.measured.values()]
        return list(dict.fromkeys(name for ids in sides for name in ids))


def load_printed(folder: Path | str, claims: ClaimsFile) -> PrintedTable | None:
    """The printed table of a paper's folder, None where it has none. Raises ClaimsError.

    Every claim that is named must exist, and every row have a cell for each column.
    """
    path = Path(folder) / FILE
    if not path.exists():
        return None
    try:
        source = read_source(path, shown(path))
    except ConfigError as error:
        raise ClaimsError(error.problems) from None
    table = validate(PrintedTable, source, error=ClaimsError)
    known = {claim.id for claim in claims.claims}
    problems = [
        f"{source.at(('rows', number))}: {len(row)} cells, the table has {len(table.columns)} columns"
        for number, row in enumerate(table.rows) if len(row) != len(table.columns)
    ]  # fmt: skip
    problems += [
        f"{source.at(('rows', number, index, *where))}: {not_allowed('claim', name, known)}"
        for number, row in enumerate(table.rows) for index, cell in enumerate(row)
        for position, part in enumerate(cell.parts) for side, ids in part.measured.items() for name in ids
        if name not in known
        for where in [((position,) if len(cell.parts) > 1 else ()) + ("measured", side)]
    ]  # fmt: skip
    if problems:
        raise ClaimsError(in_order(problems))
    return table
