"""Plays that failed: their rows say so in every table, and the next command plays them again."""

from __future__ import annotations

from pathlib import Path

from dpregret.workflows.plan.read import Plan
from dpregret.workflows.run.publish import remove

FAILED = ".failed"
"""The suffix of a file of runs in which a play failed."""


def failures(plan: Plan) -> list[str]:
    """A line for each play that failed: paper, experiment, learner and reason."""
    marks = {
        f"{paper}, {part.experiment}": Path(part.file + FAILED)
        for paper, parts in plan.parts.items() for part in parts.values()
    }  # fmt: skip
    found = {place: mark.read_text(encoding="utf-8").splitlines() for place, mark in marks.items() if mark.exists()}
    return [f"failed: {place}: {line}" for place, lines in found.items() for line in lines]


def forget_failed(plan: Plan) -> None:
    """Remove the files of runs in which a play failed, and all that was made of them."""
    files = [part.file for parts in plan.parts.values() for part in parts.values()]
    failed = {file for file in files if Path(file + FAILED).exists()}
    for file in [*plan.made_of(failed), *failed] if failed else []:
        remove(Path(file))
    for file in failed:
        Path(file + FAILED).unlink()
