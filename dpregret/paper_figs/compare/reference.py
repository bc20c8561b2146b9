"""The committed reference: its files, and their checksums in a file of their own, in the form of `sha256sum`.

Whatever is cut, edited or damaged in a reference is noticed before anything is compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dpregret.core.files import atomic_write, checksum
from dpregret.paper_figs.compare.gate_report import GateError
from dpregret.paper_figs.judge.claims_csv import FILES, read_lines
from dpregret.paper_figs.judge.jobs import FILE, read_jobs

SUMS: Final = "SHA256SUMS"
PAPER: Final = (*FILES.values(), FILE)
"""What the gate reads of a paper."""
AUDIT: Final = ("audit.csv", "planted.csv", "exact_losses.csv")
"""What it reads of the audit."""
RENEW: Final = "make reference keeps the tables of a finished run"


def papers(folder: Path) -> dict[str, Path]:
    """Folders of papers below a folder of results, by name; the folder itself where it is that of a paper."""
    if _is_paper(folder):
        return {folder.resolve().name: folder}
    return {each.name: each for each in sorted(folder.glob("*")) if _is_paper(each)}


def _is_paper(folder: Path) -> bool:
    return any((folder / name).exists() for name in PAPER)


def keep(folder: Path, names: Sequence[str]) -> None:
    """Write the checksums of the files `names` of a folder. Raises OSError for one that is missing."""
    text = "".join(f"{checksum(folder / name)}  {name}\n" for name in names)
    with atomic_write(folder / SUMS) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check(folder: Path, names: Sequence[str]) -> None:
    """Raise GateError unless every file of `names` is there, and as it was kept."""
    sums = folder / SUMS
    try:
        lines = sums.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        raise GateError(f"{sums}: not there, or damaged; {RENEW}") from None
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    for name in names:
        if name not in listed:
            raise GateError(f"{sums}: does not list {name}; {RENEW}")
        if not (folder / name).is_file():
            raise GateError(f"{folder / name}: not there; {RENEW}")
        if checksum(folder / name) != listed[name]:
            raise GateError(f"{folder / name}: not the file that was kept ({SUMS}); git restores it, {RENEW}")


def keep_all(folder: Path) -> list[Path]:
    """Keep all papers below a folder of references, and its audit; DamageError for tables that cannot be trusted."""
    kept = list(papers(folder).values())
    if not kept:
        raise GateError(f"{folder}: no tables of a paper here")
    for each in kept:
        read_lines(each)
        read_jobs(each)
        keep(each, PAPER)
    if (folder / "audit").is_dir():
        keep(folder / "audit", AUDIT)
        kept.append(folder / "audit")
    return kept
