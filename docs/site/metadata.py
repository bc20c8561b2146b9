"""CITATION.cff names the papers, codemeta.json says what CITATION.cff says: `make metadata` writes both.

A paper's `citation.yaml`, a reference in the Citation File Format, stands in its folder.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
CITATION, CODEMETA = ROOT / "CITATION.cff", ROOT / "codemeta.json"
BEGIN = "references:  # from the papers' folders by `make metadata`\n"


def citation() -> str:
    """CITATION.cff: the part that is written by hand, and the references of the papers."""
    by_hand = CITATION.read_text(encoding="utf-8").partition("references:")[0]
    papers = sorted((ROOT / "workflows" / "papers").glob("*/citation.yaml"))
    lines = [line for path in papers for line in path.read_text(encoding="utf-8").splitlines()]
    entries = ["  - " + line if line.startswith("type:") else "    " + line for line in lines]
    return by_hand + BEGIN + "\n".join(entries) + "\n"


def named(author: dict[str, str]) -> dict[str, str]:
    """A person or a group, in the words of schema.org."""
    if "name" in author:
        return {"@type": "Organization", "name": author["name"]}
    words = {"given-names": "givenName", "family-names": "familyName", "orcid": "@id", "affiliation": "affiliation"}
    return {"@type": "Person"} | {words[key]: value for key, value in author.items()}


def codemeta(cited: dict[str, Any]) -> dict[str, Any]:
    """CodeMeta of what a CITATION.cff holds."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = {"repository-code": "codeRepository", "doi": "identifier", "version": "version"}
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": project["name"],
        "description": cited["abstract"].strip(),
        "author": [named(each) for each in cited["authors"]],
        "license": f"https://spdx.org/licenses/{cited['license']}",
        "keywords": cited["keywords"],
        "programmingLanguage": "Python",
        "runtimePlatform": f"Python {project['requires-python']}",
        "operatingSystem": ["Linux", "macOS"],
        **{word: cited[key] for key, word in optional.items() if key in cited},
        "referencePublication": [
            {
                "@type": "ScholarlyArticle",
                "name": each["title"],
                "author": [named(who) for who in each["authors"]],
                "datePublished": str(each["year"]),
                **({"@id": f"https://doi.org/{each['doi']}"} if "doi" in each else {}),
            }
            for each in cited["references"]
        ],
    }


def files() -> dict[Path, str]:
    """What both files should hold."""
    text = citation()
    metadata = json.dumps(codemeta(yaml.safe_load(text)), indent=2, ensure_ascii=False)
    return {CITATION: text, CODEMETA: metadata + "\n"}


if __name__ == "__main__":
    for path, content in files().items():
        path.write_text(content, encoding="utf-8")
        print(path.relative_to(ROOT))
