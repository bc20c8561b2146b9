"""The scripts of the page: the vendored library that draws its charts, ours, and the policy that lets no other run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

TEMPLATES: Final = Path(__file__).with_name("templates")
VENDOR: Final = TEMPLATES / "vendor"
OWN: Final = ("helpers.js", "explorer.js", "find.js", "winners.js", "report.js")
"""Our scripts in the order in which they run; what one offers the next is in `window.dpregret`."""


@dataclass(frozen=True)
class Vendored:
    """A script of others: name, version and licence, its text and the text of its licence, the sha256 it must have."""

    name: str
    version: str
    licence: str
    script: bytes
    terms: str
    sha256: str

    @property
    def intact(self) -> bool:
        """Whether the file is the one that the manifest names."""
        return hashlib.sha256(self.script).hexdigest() == self.sha256


def vendored() -> tuple[Vendored, ...]:
    """The files of vendor.yaml, in the order in which they must be loaded."""
    return tuple(
        Vendored(
            entry["name"], entry["version"], entry["licence"], (VENDOR / entry["file"]).read_bytes(),
            (VENDOR / entry["text"]).read_text(encoding="utf-8"), entry["sha256"],
        )
        for entry in yaml.safe_load((VENDOR / "vendor.yaml").read_text(encoding="utf-8"))
    )  # fmt: skip


def page_scripts() -> list[str]:
    """The texts of all scripts of the page, in order; each can stand inside a script element."""
    others = [each.script.decode("utf-8") for each in vendored()]
    own = [(TEMPLATES / name).read_text(encoding="utf-8") for name in OWN]
    texts = [text.replace("\r\n", "\n") for text in (*others, *own)]
    assert not any("</script" in text.lower() for text in texts)
    return texts


def policy(scripts: Iterable[str]) -> str:
    """A Content-Security-Policy: nothing from outside, and of scripts only these, by their hashes.

    Styles may be in the page: a chart brings its own. Pictures are data of the page, or what a chart is saved from.
    """
    rules = {
        "default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "img-src": "data: blob:",
        "style-src": "'unsafe-inline'", "script-src": " ".join(f"'sha256-{_digest(script)}'" for script in scripts),
    }  # fmt: skip
    return "; ".join(f"{name} {allowed}" for name, allowed in rules.items())


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
