"""Where learners and streams stand and which data streams read: what one command tells the next, and its jobs.

On a cluster every job starts Snakemake anew, twice. To import all learners and streams costs each start as much CPU
time as Snakemake itself does, and the rules need of them only what is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dpregret.core import files
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Traits
from dpregret.workflows.fingerprint import all_imports, code_fingerprint, file_hashes, tell, tell_unchanged

KEPT = Path(".snakemake") / "index.json"


@dataclass(frozen=True)
class Index:
    """learners, streams: family -> name -> module. data: family -> stream -> the prepared data that it reads.

    traits: family -> learner -> what its plays depend on (`Traits`). imports: file -> what it imports of ours.
    """

    learners: dict[str, dict[str, str]]
    streams: dict[str, dict[str, str]]
    data: dict[str, dict[str, str]]
    traits: dict[str, dict[str, Sequence[bool]]]
    imports: dict[str, Sequence[str]]

    def card(self, family: str, learner: str) -> Traits:
        """What `contained.hosts` wants to know of a learner."""
        return Traits(*self.traits[family][learner])

    def modules(self, family: str, learner: str, streams: Iterable[str]) -> tuple[str, str, list[str]]:
        """What `learner_fingerprint` wants to know of a job."""
        return family, self.learners[family][learner], [self.streams[family][name] for name in streams]

    def needed(self, family: str, streams: Iterable[str]) -> list[str]:
        """Prepared data that streams read."""
        return list(dict.fromkeys(self.data[family][name] for name in streams if name in self.data[family]))

    @property
    def prepared(self) -> list[str]:
        """All data that any stream reads."""
        return sorted({name for streams in self.data.values() for name in streams.values()})


def collect() -> Index:
    """Look into all families."""
    return Index(
        learners={each.name: {name: it.__module__ for name, it in each.learners.items()} for each in FAMILIES.values()},
        streams={each.name: {name: it.__module__ for name, it in each.streams.items()} for each in FAMILIES.values()},
        data={
            each.name: {name: it.data for name, it in each.streams.items() if it.data is not None}
            for each in FAMILIES.values()
        },
        traits={
            each.name: {
                name: [getattr(it.card, trait) for trait in Traits._fields] for name, it in each.learners.items()
            }
            for each in FAMILIES.values()
        },
        imports=all_imports(),
    )


def keep(index: Index, path: Path = KEPT) -> None:
    """Write the index for jobs that start in the same folder."""
    files.keep(path, {"code": code_fingerprint(), "files": file_hashes(), **asdict(index)})


def recall(path: Path = KEPT) -> Index:
    """Return what was kept, or collect it anew where nothing was, or of other code; edited files alone are parsed."""
    kept = files.kept(path)
    if not kept:
        return collect()
    code, hashes = kept.pop("code"), kept.pop("files", {})
    if code != code_fingerprint():
        tell_unchanged(kept.get("imports", {}), hashes)
        return collect()
    index = Index(**kept)
    tell(index.imports)
    return index
