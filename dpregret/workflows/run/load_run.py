"""A finished run, or the committed reference, as frames: what `dpregret.load` returns and `dpregret compare` reads."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import pandas as pd

from dpregret.core.arguments import truth, whole
from dpregret.core.errors import ConfigError, not_allowed, one_line, printable
from dpregret.core.files import reference
from dpregret.core.paper_names import paper_of
from dpregret.paper_figs.compare import figures, two_runs
from dpregret.paper_figs.judge.result_tables import FILES, read_judged
from dpregret.paper_figs.judge.runs import read_runs
from dpregret.paper_figs.judge.vocabulary import NOT_RUN
from dpregret.paper_figs.tables import printed
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formats import DamageError, read_csv
from dpregret.workflows.run import archive
from dpregret.workflows.run.archive import UnreadableError

REFERENCE: Final = "reference"
"""The name of the committed reference; `reference/ci` is that of the profile ci."""
T = TypeVar("T")
MOST_BYTES: Final = 512 << 20
"""Of an archive from an address."""


@dataclass(frozen=True, repr=False, eq=False)
class PaperTable:
    """A table of a paper. name: `lou_cheung_2020/table_1`. lines: the file as it is, of the first table a line a claim
    beneath a rate (side, claim, law, power, verdict, sign, resolution)."""

    name: str
    lines: pd.DataFrame
    source: str = ""

    @property
    def frame(self) -> pd.DataFrame:
        """The rows and columns of the paper, of the first table with `as printed` and `corrected`: the worst verdict
        of the claims beneath a row."""
        if not self._printed:
            return self.lines.map(lambda cell: "" if isinstance(cell, float) and cell != cell else cell)
        return printed.brief_frame(self.lines.fillna("").astype(str))

    @property
    def _printed(self) -> bool:
        return set(printed.COLUMNS) <= {*self.lines.columns}

    def to_latex(self) -> str:
        """The table in LaTeX.

        Returns:
            A file that compiles alone or by \\input, with every measured power; of further tables the rows alone
            (package booktabs).
        """
        return self.source or formats.latex(self.frame)

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        if self._printed:
            return printed.terminal(formats.records(self.lines.fillna("").astype(str)), self.name).rstrip("\n")
        return formats.terminal(self.frame.astype(str), self.name).rstrip("\n")

    def _repr_html_(self) -> str:
        return self.frame.to_html(index=False, escape=True, border=0)


@dataclass(frozen=True, repr=False)
class Run:
    """Tables of a finished run.

    place: where it was read. lines: one row a claim or consistency check, columns of claims.csv with `paper` and `kind`
    (claim, check). tables: `PAPER/NAME` -> frame, for every other CSV file of a paper, such as
    `lou_cheung_2020/table_1`. sources: the same names -> LaTeX, of those that the run wrote.
    """

    place: str
    lines: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def papers(self) -> tuple[str, ...]:
        """Names of the papers."""
        return tuple(dict.fromkeys(self.lines["paper"]))

    @property
    def claims(self) -> pd.DataFrame:
        """The claims of all papers."""
        return self.lines.loc[self.lines["kind"] == "claim"].reset_index(drop=True)

    @property
    def checks(self) -> pd.DataFrame:
        """The consistency checks."""
        return self.lines.loc[self.lines["kind"] == "check"].reset_index(drop=True)

    def table(self, paper: str, number: int = 1, all_columns: bool = False) -> PaperTable:
        """A table of a paper: the first as the paper prints it, beside the worst verdict of a row's claims.

        Args:
            paper: a name, or the beginning of one.
            number: of the table, from 1.
            all_columns: of the first, a row for each learner and setting instead.

        Returns:
            The table: printed, as text; `frame`, `lines`, `to_latex()`.

        Raises:
            ConfigError: the run has no such paper, or no table of that number.
        """
        paper = self._named(paper)
        number, all_columns = whole("table: number", number), truth("table: all_columns", all_columns)
        name = f"{paper}/table_{number}{'_all' if all_columns and number == 1 else ''}"
        if name not in self.tables:
            known = [table for table in self.tables if table.startswith(f"{paper}/table_")]
            raise ConfigError(f"{self.place}: {not_allowed('table', name, known)}")
        return PaperTable(name, self.tables[name], self.sources.get(name, ""))

    def rows(self, paper: str, experiment: str | None = None) -> pd.DataFrame:
        """Rows of a paper's runs.

        Args:
            paper: a name, or the beginning of one.
            experiment: one of the paper's (None: all).

        Returns:
            One row a run and checkpoint; columns: docs/architecture.md.

        Raises:
            ConfigError: there is no such paper or experiment.
            RunsError: there are no rows, as in the reference.
        """
        paper = self._named(paper)
        with opened(self.place) as folder:
            known = (folder / paper).is_dir()
            rows = read_runs(folder / paper / "runs") if known else None
        if rows is None:
            raise ConfigError(f"{self.place}: {not_allowed('paper', paper, self.papers)}")
        if experiment is None:
            return rows
        names = sorted(set(rows["experiment"]))
        if experiment not in names:
            raise ConfigError(f"{self.place}: {not_allowed('experiment', experiment, names)}")
        return rows.loc[rows["experiment"] == experiment].reset_index(drop=True)

    def _named(self, paper: object) -> str:
        """The name of a paper. Raises ConfigError."""
        try:
            return paper_of(paper, self.papers)
        except ConfigError as error:
            raise ConfigError(f"{self.place}: {error}") from None

    def __repr__(self) -> str:
        counts = self.claims.loc[self.claims["verdict"] != NOT_RUN, "verdict"].value_counts()
        summary = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        return f"{self.place}: {', '.join(self.papers)}\nclaims: {summary}"


@contextlib.contextmanager
def opened(place: str) -> Iterator[Path]:
    """The folder of results at a place: that of an archive, which may have an address, is a temporary one.

    Of an archive every checksum is compared. One from an address is bounded in size, and its digest is printed.
    Raises ConfigError in one line.
    """
    head, _, rest = place.partition("/")
    try:
        path = reference() / rest if head == REFERENCE and not Path(place).exists() else Path(place)
        is_folder = path.is_dir()
    except OSError as fault:  # too long a name
        raise ConfigError(f"{place}: {fault.strerror}") from None
    if is_folder:
        yield path
        return
    try:
        content = _fetched(place) if place.lower().startswith(("https://", "http://")) else None
        with archive.opened(path, content) as (folder, faults):
            if faults:
                more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
                raise ConfigError(f"{place}: {faults[0]}{more}")
            yield folder
        if content is not None:
            digest = hashlib.sha256(content).hexdigest()
            print(printable(f"{place}: {len(content)} bytes, sha256 {digest}"), file=sys.stderr)
    except (UnreadableError, OSError) as fault:
        raise ConfigError(f"{place}: {one_line(fault) or type(fault).__name__}") from None


def _fetched(address: str) -> bytes:
    from dpregret.datasets.fetch import FetchError, download  # late: they bring compiled code

    try:
        return download(address, MOST_BYTES)
    except FetchError as fault:
        raise ConfigError(one_line(fault)) from None


def read_run(place: str) -> pd.DataFrame:
    """All lines of a run that were measured, with the column `paper`. Raises CompareError."""
    return _read(place, _lines)


def _read(place: str, read: Callable[[Path], T]) -> T:
    """What is read of the folder of a run, which is opened once. Raises CompareError."""
    where = place
    try:
        with opened(place) as folder:
            where = str(folder)
            return read(folder)
    except (ConfigError, two_runs.CompareError, DamageError) as fault:
        raise two_runs.CompareError(str(fault).replace(where, place)) from None


def _lines(folder: Path) -> pd.DataFrame:
    alone = folder / archive.CLAIMS
    return two_runs.read_tables(folder, [alone] if alone.exists() else _claims(_tables(folder)))


def _tables(folder: Path) -> list[Path]:
    """The tables of the papers of a run. Raises ConfigError where they are not as listed."""
    try:
        return archive.tables(folder)
    except (UnreadableError, OSError) as fault:
        raise ConfigError(f"{folder}: {one_line(fault)}") from None


def _claims(files: Sequence[Path]) -> list[Path]:
    return [file for file in files if file.name == archive.CLAIMS]


def load(place: str | Path = REFERENCE) -> Run:
    """See `dpregret.load`."""
    if not isinstance(place, str | Path) or not str(place):
        raise ConfigError(f"load: place: must be a folder, an archive or {REFERENCE!r}, not {place!r}")
    with opened(str(place)) as folder:
        files = _tables(folder)
        if not files:
            raise ConfigError(f"{place}: no results of a paper: give a folder of results, an archive, or {REFERENCE!r}")
        try:
            lines = [read_judged(file.parent).assign(paper=file.resolve().parent.name) for file in _claims(files)]
            further = [file for file in files if file.name not in FILES.values()]
            tables = {f"{file.parent.name}/{file.stem}": read_csv(file) for file in further}
            latex = [file.with_suffix(".tex") for file in further if file.with_suffix(".tex").is_file()]
            sources = {f"{file.parent.name}/{file.stem}": file.read_text(encoding="utf-8") for file in latex}
        except (DamageError, OSError, ValueError) as fault:
            raise ConfigError(one_line(fault)) from None
    return Run(str(place), pd.concat(lines, ignore_index=True), tables, sources)


def main(a: str, b: str, long: bool = False, in_json: bool = False) -> int:
    """The command `dpregret compare A B`: print what differs; exit code 2 when the two cannot be compared."""

    def read(place: str) -> tuple[pd.DataFrame, figures.Drawn]:
        return _read(place, lambda folder: (_lines(folder), figures.read_figures(folder)))

    return two_runs.main(a, b, read, long, in_json)
