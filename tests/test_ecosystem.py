"""What others read about this project says the same everywhere: citation, metadata, packages, container, action."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import yaml

import dpregret

ROOT = Path(__file__).resolve().parents[1]


def read(name: str) -> Any:
    text = (ROOT / name).read_text(encoding="utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else yaml.safe_load(text)  # JSON is YAML


def test_citation_and_metadata_agree_with_the_package() -> None:
    project, citation = read("pyproject.toml")["project"], read("CITATION.cff")
    metadata = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    assert {project["version"], citation["version"], metadata["version"]} == {dpregret.__version__}
    assert citation["title"].partition(":")[0] == metadata["name"] == project["name"]
    assert citation["title"] == metadata["alternateName"]
    assert metadata["description"] == project["description"]
    assert metadata["license"].rpartition("/")[2] == citation["license"] == project["license"]
    assert metadata["runtimePlatform"] == f"Python {project['requires-python']}"
    assert [each["name"] for each in metadata["author"]] == [each["name"] for each in citation["authors"]]
    assert metadata["keywords"] == citation["keywords"]


def test_every_paper_is_cited() -> None:
    papers = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "workflows/papers").glob("*/claims.yaml"))]
    titles = [each["title"] for each in papers if not each.get("chapter")]
    cited = read("CITATION.cff")["references"]
    listed = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))["referencePublication"]
    assert [each["title"] for each in cited] == titles
    assert [(each["name"], each["datePublished"]) for each in listed] == [
        (each["title"], str(each["year"])) for each in cited
    ]
