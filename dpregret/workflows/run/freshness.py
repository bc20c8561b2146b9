"""Which outputs are fresh: whoever makes one records its key and the SHA-256 of each of its files; dates mean nothing.

An item is fresh where its record holds the key of the plan, and its files are those of the record. What a failed or
killed job leaves is not recorded, nor is what was made of something that was not fresh itself.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from dpregret.core.files import atomic_write, checksum
from dpregret.workflows.plan.keys import holds
from dpregret.workflows.plan.read import Plan

STAMP: Final = ".snakemake_timestamp"
"""Snakemake puts it into folders."""
NEW, MISSING, OUTDATED, EDITED, FAILED = "new", "missing", "outdated", "edited", "failed before"
"""Why an item is not fresh."""


class Record(NamedTuple):
    """How an item was made. key: empty where a play failed, or an input was not fresh. outputs: files and folders, as
    its rule names them. files: name -> SHA-256. cpu: CPU seconds of the job and its children, None where unknown.
    """

    key: str = ""
    outputs: tuple[str, ...] = ()
    files: Mapping[str, str] = {}
    cpu: float | None = None

    @classmethod
    def read(cls, file: Path) -> Record:
        """An empty record where there is none that can be read."""
        try:
            content = json.loads(file.read_bytes())
            key, outputs, files = str(content["key"]), tuple(content["outputs"]), dict(content["files"])
            spent = content.get("cpu")  # not in a record of an older version
            return cls(key, outputs, files, None if spent is None else float(spent))
        except (OSError, ValueError, TypeError, KeyError):
            return cls()

    def write(self, file: Path) -> None:
        """Write it, whole or not at all."""
        with atomic_write(file) as part:
            part.write_text(json.dumps(self._asdict(), indent=0), encoding="utf-8")

    @property
    def changed(self) -> list[str]:
        """The files that are no longer there, or not as recorded, and those that were added to a folder."""
        found = contents(self.outputs) | contents(name for name in self.files if Path(name).is_file())
        lost = {name for name in self.outputs if not Path(name).exists()}
        return sorted({name for name in {*found, *self.files} if found.get(name) != self.files.get(name)} | lost)


def contents(paths: Iterable[str | Path]) -> dict[str, str]:
    """Name -> SHA-256 of files and of all files below folders; empty for a file that cannot be read."""
    tops = [Path(path) for path in paths]
    files = {file for top in tops for file in ([top] if not top.is_dir() else top.rglob("*"))}
    return {file.as_posix(): _sum(file) for file in files if file.is_file() and file.name != STAMP}


def _sum(file: Path) -> str:
    try:
        return checksum(file)
    except OSError:
        return ""


def why_stale(plan: Plan, name: str) -> tuple[str, list[str]]:
    """Why an item has to be made, empty where it is fresh; and the files that are not as recorded."""
    record = Record.read(plan.record(name))
    if not record.outputs:
        return NEW, []
    if record.key != plan.items[name].key:
        return OUTDATED if record.key else FAILED, []
    changed = record.changed
    return (EDITED if any(Path(file).exists() for file in changed) else MISSING) if changed else "", changed


def stale_items(plan: Plan) -> dict[str, str]:
    """Item -> why it has to be made, in words; nothing is written."""
    why: dict[str, str] = {}
    for name in plan.items:
        reason, changed = why_stale(plan, name)
        if reason:
            why[name] = f"{reason}: {_few(changed)}" if changed else reason
    for paper, batches in plan.content["batches"].items():
        for batch in batches if f"{paper}/runs" in why else ():
            if not all(holds(play.key) for part in plan.batch(paper, batch) for play in part.plays):
                why.setdefault(f"{paper}/play/{batch}", f"{MISSING} in the store")
    return why


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def summary_of(why: Mapping[str, str]) -> str:
    """How many items have to be made, and why, in one line."""
    counts = Counter(re.split("[: ]", reason)[0] for reason in why.values())
    return ", ".join(f"{count} {reason}" for reason, count in counts.most_common())


def is_fresh(plan: Plan, name: str) -> bool:
    """Whether an item is as the plan wants it."""
    return not why_stale(plan, name)[0]
