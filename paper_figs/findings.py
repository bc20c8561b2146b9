"""What a gate says: one line a finding, the worst first, what to run next, and a summary as the last line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOVED, INCOMPARABLE = 1, 2
"""Exit codes: something left its reference; there is nothing to compare with."""
NEXT = 4
"""Findings whose files are named in the command that makes them again."""


class GateError(ValueError):
    """Tables that cannot be compared; the message is one line."""


@dataclass(frozen=True)
class Finding:
    """One line, job or learner that left its reference.

    where: which one. what: how it moved, in words. times: how far, in units of what is allowed; infinite where nothing
    is. since: what its computation differs in. files: results of the jobs to run again.
    """

    where: str
    what: str
    times: float = float("inf")
    since: str = ""
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f" ({self.since})" if self.since else "")


def report(findings: Sequence[Finding], counted: str, agree: str, profile: str) -> str:
    """The text of a gate: `counted` says what was compared, `agree` that all is well."""
    if not findings:
        return f"{counted}: {agree}\n"
    worst = sorted(findings, key=lambda finding: -finding.times)
    files = list(dict.fromkeys(file for finding in worst for file in finding.files))
    config = f" --config profile={profile}" if profile else ""
    lines = [str(finding) for finding in worst]
    if files:
        more = f"  # and {len(files) - NEXT} more" if len(files) > NEXT else ""
        lines.append(f"to play again: .venv/bin/snakemake --cores 1 --force {' '.join(files[:NEXT])}{config}{more}")
    lines.append(f"to see what differs: make compare{_make(profile)}")
    lines.append(f"if it is meant: make reference RUNS=results{'' if profile in ('', 'full') else f'/{profile}'}")
    lines.append(f"{counted}: {len(findings)} left the reference")
    return "\n".join(lines) + "\n"


def _make(profile: str) -> str:
    return f" PROFILE={profile}" if profile not in ("", "full") else ""
