"""The bill of materials: every package of the lock, in CycloneDX 1.6, with versions, hashes and who asks for it.

    python -m dpregret.workflows.sbom [FILE]

writes build/sbom.json. It follows from requirements/base.txt alone, so equal locks give equal bytes: no time, no
machine, and a serial number that is a hash of the lock.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from dpregret.core.files import atomic_write

ROOT: Final = Path(__file__).resolve().parents[1]
LOCK: Final = ROOT / "requirements" / "base.txt"
SBOM: Final = ROOT / "build" / "sbom.json"
PROJECT: Final = "pkg:generic/dpregret"
_PIN: Final = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)(?: ; (?P<marker>[^\\]+?))? \\")
_HASH: Final = re.compile(r"    --hash=sha256:(?P<hash>[0-9a-f]{64})(?: \\)?")
_VIA: Final = re.compile(r"    # (?:via)? *(?P<via>\S.*)?")


def bill(lock: str) -> dict[str, Any]:
    """The lock, as `uv pip compile --generate-hashes` writes it, as a bill. ValueError for a line of another form."""
    packages: list[dict[str, Any]] = []
    asked_by: dict[str, list[str]] = {}
    for number, line in enumerate(lock.splitlines(), 1):
        if pin := _PIN.fullmatch(line):
            reference = f"pkg:pypi/{pin['name']}@{pin['version']}"
            packages.append({
                "type": "library", "bom-ref": reference, "name": pin["name"], "version": pin["version"],
                "purl": reference,
                **({"properties": [{"name": "marker", "value": pin["marker"]}]} if pin["marker"] else {}),
                "externalReferences": [
                    {"type": "distribution", "url": reference,
                     "comment": "one hash for each file of the release", "hashes": []}
                ],
            })  # fmt: skip
        elif packages and (found := _HASH.fullmatch(line)):
            packages[-1]["externalReferences"][0]["hashes"].append({"alg": "SHA-256", "content": found["hash"]})
        elif packages and (found := _VIA.fullmatch(line)):
            if found["via"]:
                asked_by.setdefault(packages[-1]["bom-ref"], []).append(found["via"])
        else:
            raise ValueError(f"{LOCK.name}:{number}: neither a pinned package nor its hash: {line!r}")
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, lock)}",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": PROJECT, "name": "dpregret"}},
        "components": packages,
        "dependencies": _dependencies(packages, asked_by),
    }


def _dependencies(packages: Sequence[dict[str, Any]], asked_by: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Who asks for whom: each package, the project first. A package with two versions is asked for in both."""
    references: dict[str, list[str]] = {"-r requirements/base.in": [PROJECT]}
    for package in packages:
        references.setdefault(package["name"], []).append(package["bom-ref"])
    asks: dict[str, list[str]] = {PROJECT: [], **{package["bom-ref"]: [] for package in packages}}
    for reference, names in asked_by.items():
        for asking in (each for name in names for each in references[name]):
            asks[asking].append(reference)
    return [{"ref": reference, "dependsOn": sorted(found)} for reference, found in asks.items()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the bill of the lock."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    path = Path(words[0]) if words else SBOM
    made = bill(LOCK.read_text(encoding="utf-8"))
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {len(made['components'])} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
