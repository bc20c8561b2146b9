"""A finished run as a Workflow Run RO-Crate: its files, their checksums, the workflow, and where it was made.

python -m dpregret.workflows.run.crate results build/dpregret-full.crate.zip
"""

from __future__ import annotations

import datetime
import json
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dpregret.core import boundary
from dpregret.core.files import atomic_write
from dpregret.workflows.run import sums
from dpregret.workflows.run.fingerprint import ROOT
from dpregret.workflows.run.unpack import INSIDE, UnreadableError

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


def write(results: Path, output: Path) -> None:
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
    parser = boundary.Parser(prog="python -m dpregret.workflows.run.crate", description=__doc__)
    parser.add_argument("results", type=Path, help="a folder of results")
    parser.add_argument("output", type=Path, metavar="FILE.zip", help="what is written")
    given = parser.parse_args(words)
    code = sums.main([str(given.results)])
    if code:
        return code
    try:
        write(given.results, given.output)
    except (UnreadableError, OSError) as fault:
        print(f"{given.results}: {fault}", file=sys.stderr)
        return 2
    print(given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
