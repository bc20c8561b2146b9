"""What a gate says: one line a finding, the worst first, what to run next, and a summary as the last line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOVED, INCOMPARABLE = 1, 2
"""Exit codes: something left its reference; there is nothing to compare with."""


class GateError(ValueError):
    """Tables that cannot be compared; the message is one line."""


@dataclass(frozen=True)
class Finding:
    """One line, job or learner that left its reference.

    where: which one. what: how it moved, in words. times: how far, in units of what is allowed; infinite where nothing
    is. since: what its computation differs in.
    """

    where: str
    what: str
    times: float = float("inf")
    since: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f" ({self.since})" if self.since else "")


def report(findings: Sequence[Finding], counted: str, agree: str, profile: str) -> str:
    """The text of a gate: `counted` says what was compared, `agree` that all is well."""
    if not findings:
        return f"{counted}: {agree}\n"
    worst = sorted(findings, key=lambda finding: -finding.times)
    lines = [str(finding) for finding in worst]
    below = "" if profile in ("", "full") else f"/{profile}"
    lines.append(f"to see what differs: .venv/bin/dpregret compare results/reference{below} results{below}")
    lines.append(f"if it is meant: make reference RUNS=results{below}")
    lines.append(f"{counted}: {len(findings)} left the reference")
    return "\n".join(lines) + "\n"
