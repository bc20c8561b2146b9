"""The gate: is everything in the tables of a run still as in the committed reference? What cannot be compared fails.

Compared are all lines of claims and checks (verdict, exponent, level) and all jobs (status, violation, ledger, scale of
the noise, mean regret), each in both directions: what only one side has fails too. Exponents and levels may move by
q * sqrt(2) * s, where s is the standard error of the reference and q the t quantile that spreads the stated
false-alarm rate evenly over all numbers of one comparison. sqrt(2) allows for a change that draws other random numbers;
with unchanged ones the two sides agree to rounding. Where rare runs rule, s is the larger one of both sides. The
lengths of intervals of exponents, and the resolutions that follow from them, may differ by the ratio of two standard
errors at that rate (an F quantile), except where rare runs rule.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from dpregret.paper_figs.compare.gate_report import INCOMPARABLE, MOVED, Finding, GateError, report
from dpregret.paper_figs.compare.reference import PAPER, RENEW, check, keep_all, papers
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.claims_csv import FITTED, SAME, read_lines
from dpregret.paper_figs.judge.jobs import HASHES, KEY, read_jobs
from dpregret.paper_figs.text.read_table import DamageError

FALSE_ALARM: Final = 0.01
SLACK: Final = 2e-5
"""Slack for numbers without noise, written with six significant digits: of 1, or of a larger number itself."""
TOLERANCE: Final = 1e-5
"""Relative slack of ledgers and scales, which no random number enters."""
VIOLATION: Final = 1e-8
"""A point outside its set by less is rounding."""
MEASURED: Final = ("kind", "type", "origin", *SAME, "rate", "tolerance")
"""Columns that say what a line is about."""
INTERVALS: Final = tuple(f"{name}{end}" for name in ("normalised", "log_level") for end in ("", "_low", "_high"))
NEEDED: Final = (*MEASURED[1:], *FITTED, *INTERVALS, "runs", "largest_run", "resolution")
LINE_NUMBERS: Final = {"fitted": "exponent", "log_level": "level"}
JOB_NUMBERS: Final = {"level": "regret over the trivial one"}
LEDGER: Final = {"delivered": "delivered over claimed eps", "noise_scale": "scale of the noise"}
Row = Mapping[Hashable, Any]


@dataclass(frozen=True)
class Tables:
    """Lines and jobs of some papers, each with the column `paper`."""

    lines: pd.DataFrame
    jobs: pd.DataFrame

    @classmethod
    def read(cls, folder: Path, reference: bool = False, names: Sequence[str] | None = None) -> Tables:
        """All papers of a folder, or those of `names`; those of a reference are checked against their checksums.

        Raises GateError, DamageError, OSError.
        """
        found = {name: folder / name for name in names} if names else papers(folder)
        if not found:
            raise GateError(f"{folder}: no tables of a paper here; {RENEW if reference else 'run it first'}")
        lines, jobs = [], []
        for name, paper in found.items():
            if reference:
                check(paper, PAPER)
            lines.append(read_lines(paper, needed=NEEDED).assign(paper=name))
            jobs.append(read_jobs(paper).assign(paper=name))
        return cls(pd.concat(lines, ignore_index=True), pd.concat(jobs, ignore_index=True))

    @property
    def numbers(self) -> int:
        """How many numbers with an interval there are."""
        parts = self.lines[[*LINE_NUMBERS, "resolution"]], self.jobs[list(JOB_NUMBERS)]
        return sum(int(part.notna().sum().sum()) for part in parts)

    @property
    def profile(self) -> str:
        """The one profile that all jobs are of; raises GateError."""
        found = sorted(set(self.jobs["profile"]))
        if len(found) != 1:
            raise GateError(f"jobs of several profiles: {', '.join(map(repr, found)) or 'none'}")
        return str(found[0])


class Gate:
    """One comparison."""

    def __init__(self, now: Tables, before: Tables, false_alarm: float = FALSE_ALARM) -> None:
        if now.profile != before.profile:
            raise GateError(f"results are of profile {now.profile!r}, the reference of {before.profile!r}")
        if not before.numbers:
            raise GateError("the reference holds no number to compare with")
        if now.lines["paper"].nunique() == before.lines["paper"].nunique() == 1:  # folders of any name
            name = now.lines["paper"].iloc[0]
            before = Tables(*(frame.assign(paper=name) for frame in (before.lines, before.jobs)))
        self.now, self.before = now, before
        self.level = false_alarm / (2 * before.numbers)

    def findings(self) -> list[Finding]:
        """Everything that left the reference."""
        sides = [set(tables.lines["paper"]) for tables in (self.now, self.before)]
        found = [Finding(name, _only(name in sides[1])) for name in sorted(sides[0] ^ sides[1])]
        both = sides[0] & sides[1]
        for judge, kind, key in ((self._line, "lines", ("paper", "claim")), (self._job, "jobs", ("paper", *KEY))):
            now, before = (getattr(tables, kind) for tables in (self.now, self.before))
            found += [judge(*pair) for pair in _pairs(now, before, key) if (pair[0] or pair[1] or {})["paper"] in both]
        return [finding for finding in found if finding.what]

    @property
    def counted(self) -> str:
        """What was compared, in words."""
        lines, jobs = self.before.lines, self.before.jobs
        rare = sum(int((frame["largest_run"] > fits.RARE).sum()) for frame in (self.now.lines, self.now.jobs))
        text = f"gate: {len(lines)} lines and {len(jobs)} jobs of {lines['paper'].nunique()} papers"
        return f"{text}, {self.before.numbers} numbers" + (f", {rare} of rare runs" if rare else "")

    def _line(self, now: Row | None, before: Row | None) -> Finding:
        one = now or before or {}
        where = f"{one['paper']} {one['claim']}, {one['learner']}.{one['variant']} in {one['experiment']}"
        if now is None or before is None:
            return Finding(where, _only(before is not None))
        parts = [
            (f"{name} was {before[name]!r}, is {now[name]!r}", np.inf) for name in MEASURED if before[name] != now[name]
        ]
        if before["verdict"] != now["verdict"]:
            parts.append((f"verdict was {before['verdict']}, is {now['verdict']}{_distance(now)}", np.inf))
        for name, word in LINE_NUMBERS.items():
            parts += self._moved(now, before, name, word)
        parts += self._resolved(now, before)
        if before["cells_used"] != now["cells_used"]:
            parts.append((f"fitted cells were {before['cells_used']}, are {now['cells_used']}", np.inf))
        return self._joined(where, parts, one)

    def _job(self, now: Row | None, before: Row | None) -> Finding:
        one = now or before or {}
        where = f"{one['paper']} {one['experiment']}, {one['learner']}.{one['variant']}"
        if now is None or before is None:
            return Finding(where, _only(before is not None))
        parts = []
        if before["status"] != now["status"]:
            parts.append((f"status was {before['status']}, is {now['status']}", np.inf))
        if not (now["violation"] <= 10 * max(before["violation"], VIOLATION) or np.isnan(before["violation"])):
            parts.append((f"violation of the set was {before['violation']:.2g}, is {now['violation']:.2g}", np.inf))
        for name, word in LEDGER.items():
            if not np.isclose(now[name], before[name], rtol=TOLERANCE, atol=0, equal_nan=True):
                parts.append((f"{word} was {before[name]:.6g}, is {now[name]:.6g}", np.inf))
        for name, word in JOB_NUMBERS.items():
            parts += self._moved(now, before, name, word)
        return self._joined(where, parts, one)

    def _moved(self, now: Row, before: Row, name: str, word: str) -> list[tuple[str, float]]:
        """What is to be said of one number: how far it went, in units of what is allowed."""
        old, new = before[name], now[name]
        if np.isnan(old) and np.isnan(new):
            return []
        shown = [_shown(value, name) for value in (old, new)]
        text = f"{word} was {shown[0]}, is {shown[1]}"
        allowed = allowance(before, now, name, self.level)
        if np.isnan(old) or np.isnan(new) or not np.isfinite(allowed):
            return [(text, np.inf)]
        times = abs(new - old) / allowed
        rare = ", ruled by rare runs" if _rare(before, now) else ""
        if times <= 1:
            return []
        return [
            (
                f"{text}, {times:.3g} times what is allowed ({allowed:.2g}{' in ln' * (name == 'log_level')}){rare}",
                times,
            )
        ]

    def _resolved(self, now: Row, before: Row) -> list[tuple[str, float]]:
        """What is to be said of the interval of an exponent, and of its resolution."""
        if _rare(before, now) or np.isnan(before["fitted"]) or np.isnan(now["fitted"]):
            return []
        old, new = (_error(side, "fitted") for side in (before, now))
        least = SLACK * max(1.0, abs(before["fitted"]))
        factor = np.sqrt(stats.f.ppf(1 - self.level, now["runs"] - 1, before["runs"] - 1))
        found = []
        if max(old, new) > least and not 1 <= factor * (new + least) / (old + least) <= factor**2:
            found.append((f"standard error of the exponent was {old:.2g}, is {new:.2g}", np.inf))
        allowed = allowance(before, now, "normalised", self.level) + (factor - 1) * before["resolution"]
        if not abs(now["resolution"] - before["resolution"]) <= allowed + SLACK:
            found.append((f"resolution was {before['resolution']:.3g}, is {now['resolution']:.3g}", np.inf))
        return found

    def _joined(self, where: str, parts: Sequence[tuple[str, float]], row: Row) -> Finding:
        if not parts:
            return Finding(where, "")
        return Finding(
            where, "; ".join(text for text, _ in parts), max(times for _, times in parts), self._computed(row)
        )

    def _computed(self, row: Row) -> str:
        """What the jobs behind a row differ in."""
        sides = [_jobs_of(tables.jobs, row) for tables in (self.before, self.now)]
        said = []
        for word, column in HASHES.items():
            old, new = (" ".join(dict.fromkeys(side[column])) or "none" for side in sides)
            said.append(f"same {word} {new}" if old == new else f"{word} was {old}, is {new}")
        runs = [f"{side['runs'].max():.0f}" if len(side) else "0" for side in sides]
        if runs[0] != runs[1]:
            said.append(f"{runs[0]} runs, now {runs[1]}")
        return ", ".join(said) if len(sides[0]) or len(sides[1]) else ""


def allowance(before: Row, now: Row, name: str, level: float) -> Any:
    """How far a number may move from the reference, float or array; NaN where its interval tells nothing.

    level: probability of a false alarm at either end, of this number.
    """
    error = _error(before, name)
    if _rare(before, now):
        error = np.maximum(error, _error(now, name))
    quantile = stats.t.ppf(1 - level, before["runs"] - 1)
    return np.sqrt(2.0) * error * quantile + SLACK * np.maximum(1.0, np.abs(before[name]))


def _error(side: Row, name: str) -> Any:
    """Standard error of a number with a 95 % t interval."""
    half = (side[f"{name}_high"] - side[f"{name}_low"]) / 2
    return half / stats.t.ppf(0.5 + fits.LEVEL / 2, side["runs"] - 1)


def _rare(*sides: Row) -> bool:
    return any(side["largest_run"] > fits.RARE for side in sides)


def _pairs(now: pd.DataFrame, before: pd.DataFrame, key: Sequence[str]) -> list[tuple[Row | None, Row | None]]:
    """Rows of equal key, in the order of the reference, None where a side has none; what is new comes last."""
    sides = [{tuple(row[name] for name in key): row for row in frame.to_dict("records")} for frame in (now, before)]
    return [(sides[0].get(name), sides[1].get(name)) for name in {**sides[1], **sides[0]}]


def _only(kept: bool) -> str:
    return "in the reference only" if kept else "new, without a reference"


def _distance(now: Row) -> str:
    """How near the decision was: from the ends of the interval to the tolerance."""
    ends = [abs(abs(now[f"normalised_{end}"]) - now["tolerance"]) for end in ("low", "high")]
    return f" (an end of its interval {min(ends):.2g} from the tolerance)" if np.isfinite(ends).all() else ""


def _shown(value: float, name: str) -> str:
    if np.isnan(value):
        return "none"
    return f"{np.exp(value):.4g}" if name == "log_level" else f"{value:.4g}"


def _jobs_of(jobs: pd.DataFrame, row: Row) -> pd.DataFrame:
    """The jobs that a line or a job is about; the variant of a line may be a pattern."""
    own = jobs
    for name in ("paper", "experiment", "learner"):
        own = own.loc[own[name] == row[name]]
    return own.loc[[fnmatchcase(variant, row["variant"]) for variant in own["variant"]]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two folders; exit code 1 when something left its reference, 2 when they cannot be compared."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.paper_figs.compare.gate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    compare = commands.add_parser("compare", help="fail when something left its reference")
    compare.add_argument("current", type=Path, help="results of a run, or of one paper of it")
    compare.add_argument("reference", type=Path, help="those that were kept")
    compare.add_argument("--papers", nargs="+", help="papers of the run; all that lie there by default")
    compare.add_argument("--false-alarm", type=float, default=FALSE_ALARM)
    keep = commands.add_parser("keep", help="write the checksums of a reference")
    keep.add_argument("folders", type=Path, nargs="+", help="such as results/reference")
    options = parser.parse_args(arguments)
    try:
        if options.command == "keep":
            for folder in options.folders:
                print("\n".join(str(kept) for kept in keep_all(folder)))
            return 0
        before = Tables.read(options.reference, reference=True)
        now = Tables.read(options.current, names=options.papers)
        gate = Gate(now, before, options.false_alarm)
        found = gate.findings()
    except (GateError, DamageError, OSError) as fault:
        print(f"gate: cannot compare: {fault}", file=sys.stderr)
        return INCOMPARABLE
    print(report(found, gate.counted, "all as in the reference", now.profile), end="")
    return MOVED if found else 0


if __name__ == "__main__":
    sys.exit(main())
