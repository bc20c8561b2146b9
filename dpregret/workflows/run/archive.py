"""A finished run as one file: an archive of every file that it lists, or a Workflow Run RO-Crate of them.

    python -m dpregret.workflows.run.archive results build/dpregret-full.tar.gz
    python -m dpregret.workflows.run.archive results build/dpregret-full.crate.zip

An archive also has the lock of its packages. The same results give the same archive, whoever packs them, where and
when: names are sorted, dates and owners left out. A crate has checksums, the workflow, and where it was made.
"""

from __future__ import annotations

import datetime
import gzip
import json
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpregret.core import boundary
from dpregret.core.files import atomic_write, checksum
from dpregret.core.files import opened as plain_file
from dpregret.workflows.run import sums
from dpregret.workflows.run.fingerprint import ROOT
from dpregret.workflows.run.sums import INSIDE, LOCK, lock

METADATA: Final = "ro-crate-metadata.json"
WORKFLOW: Final = "Snakefile"
LANGUAGE: Final = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
CRATE: Final = "https://w3id.org/ro/crate/1.1"
PROFILES: Final = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
"""Profile of the crate -> name and version."""


def write(results: Path, output: Path) -> None:
    """Archive what a folder of results lists. Raises UnreadableError and OSError."""
    content = {f"{INSIDE}/{name}": results / name for name in (sums.SUMS, *sums.listed(results))}
    content |= {LOCK: ROOT / LOCK} if (ROOT / LOCK).is_file() else {}
    with atomic_write(output) as temporary, temporary.open("wb") as raw:
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
        with packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as opened:
            for name, path in sorted(content.items()):
                member = tarfile.TarInfo(name)  # date 0, owner 0, mode 644
                with plain_file(path) as file:
                    member.size = path.stat().st_size
                    opened.addfile(member, file)


def metadata(listed: Mapping[str, str], origin: Mapping[str, Any], finished: datetime.datetime) -> dict[str, Any]:
    """The JSON-LD of a crate. listed: file -> SHA-256; origin: what origin.json says; finished: end of the run, UTC."""

    def at(*names: str) -> list[dict[str, str]]:
        return [{"@id": name} for name in names]

    files = {f"{INSIDE}/{name}": digest for name, digest in listed.items()}
    (language,) = at(LANGUAGE)
    author = {"@id": "#contributors", "@type": "Organization", "name": "The dpregret contributors"}
    run = {
        "@id": "#run", "@type": "CreateAction", "name": f"dpregret, profile {origin.get('profile')}",
        "description": f"commit {origin.get('commit')}, Python {origin.get('python')}, {origin.get('system')}",
        "endTime": finished.isoformat(), "instrument": {"@id": WORKFLOW}, "object": at("#profile"),
        "result": at(*files),
    }  # fmt: skip
    profile = {"@id": "#profile", "@type": "PropertyValue", "name": "profile", "value": str(origin.get("profile"))}
    workflow = {
        "@id": WORKFLOW, "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"], "name": "dpregret",
        "programmingLanguage": language, "version": str(origin.get("dpregret")), "author": at("#contributors"),
    }  # fmt: skip
    root = {
        "@id": "./", "@type": "Dataset", "name": run["name"], "description": "A finished run of dpregret",
        "datePublished": finished.date().isoformat(), "license": {"@id": "https://spdx.org/licenses/MIT"},
        "conformsTo": at(*PROFILES), "hasPart": at(WORKFLOW, *files), "mainEntity": {"@id": WORKFLOW},
        "mentions": at("#run"),
    }  # fmt: skip
    about = {
        "@id": METADATA, "@type": "CreativeWork", "about": {"@id": "./"},
        "conformsTo": at(CRATE, "https://w3id.org/workflowhub/workflow-ro-crate/1.0"),
    }  # fmt: skip
    further = [
        {"@id": "https://spdx.org/licenses/MIT", "@type": "CreativeWork", "name": "MIT License"},
        {**language, "@type": "ComputerLanguage", "name": "Snakemake", "url": "https://snakemake.readthedocs.io"},
        *({"@id": each, "@type": "CreativeWork", "name": name, "version": version}
          for each, (name, version) in PROFILES.items()),
        *({"@id": name, "@type": "File", "sha256": digest} for name, digest in files.items()),
    ]  # fmt: skip
    context = [f"{CRATE}/context", "https://w3id.org/ro/terms/workflow-run/context"]
    return {"@context": context, "@graph": [about, root, workflow, author, run, profile, *further]}


def write_crate(results: Path, output: Path) -> None:
    """Pack what a folder of results lists, with its metadata. Raises UnreadableError and OSError."""
    listed = sums.listed(results)
    finished = datetime.datetime.fromtimestamp((results / sums.SUMS).stat().st_mtime, datetime.UTC)
    described = metadata(listed, sums.described(results), finished.replace(microsecond=0))
    with atomic_write(output) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(METADATA, json.dumps(described, indent=1) + "\n")
        packed.write(ROOT / WORKFLOW if (ROOT / WORKFLOW).is_file() else ROOT / "dpregret" / WORKFLOW, WORKFLOW)
        for name in sorted(listed):
            packed.write(results / name, f"{INSIDE}/{name}")


def main(words: Sequence[str] | None = None) -> int:
    """Pack a run that is as it lists; exit codes are those of `dpregret verify`."""
    parser = boundary.Parser(
        prog="python -m dpregret.workflows.run.archive", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("results", type=Path, help="a folder of results")
    parser.add_argument("output", type=Path, metavar="FILE", help="what is written: .tar.gz, or .zip for a crate")
    given = parser.parse_args(words)
    code = sums.main([str(given.results)])
    crate = given.output.suffix == ".zip"
    if not code and not crate and sums.described(given.results).get("lock") != lock():
        print(f"{ROOT / LOCK}: not the lock file that the run was made with", file=sys.stderr)
        code = 2
    if code:
        print(f"{given.results}: not archived", file=sys.stderr)
        return code
    (write_crate if crate else write)(given.results, given.output)
    print(f"{given.output}: {given.output.stat().st_size >> 10} KiB, sha256 {checksum(given.output)}")
    return 0


if __name__ == "__main__":
    boundary.end(main)
