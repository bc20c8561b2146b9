"""What axe says of a page: axe-core comes from the npm registry, is held against its checksum and kept in build/axe."""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

VERSION = "axe-core@4.14.1"
INTEGRITY = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="  # SHA-512
KEPT = Path(__file__).resolve().parents[2] / "build" / "axe" / "axe.min.js"
LEFT_OUT = ".page:not(.shown), tbody tr:nth-child(n + 8), .claim:nth-of-type(n + 8):not(:has([open]))"
"""What axe need not see and is slow for: other pages, and rows and closed claims beyond the first, which are alike."""
RUN = """const [left, done] = arguments;
const away = [...document.querySelectorAll(left)].map((each) => {
  const mark = document.createComment("");
  each.replaceWith(mark);
  return () => mark.replaceWith(each);
});
axe.run(document, { resultTypes: ["violations"], preload: false })
  .then((found) => found.violations, (fault) => [{ id: "axe", impact: "critical", help: String(fault), nodes: [] }])
  .then((found) => { away.reverse().forEach((back) => back()); done(found); });"""
GRAVE = ("serious", "critical")


def axe_source() -> str:
    """The script of axe-core, fetched once and held against its checksum; empty where there is no npm."""
    if not KEPT.exists():
        if shutil.which("npm") is None:
            return ""
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["npm", "pack", "--silent", VERSION], cwd=KEPT.parent, capture_output=True, check=False)
        packed = next(iter(KEPT.parent.glob("axe-core-*.tgz")), None)
        if done.returncode or packed is None:
            return ""
        content = packed.read_bytes()
        if base64.b64encode(hashlib.sha512(content).digest()).decode() != INTEGRITY:
            sys.exit(f"{packed}: not the package that was meant")
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            member = archive.extractfile("package/axe.min.js")
            assert member is not None
            KEPT.write_bytes(member.read())
        packed.unlink()
    return KEPT.read_text(encoding="utf-8")


def findings(session: Any, source: str) -> list[dict[str, Any]]:
    """Violations that axe sees in what is shown: rule, impact, and the first places."""
    if not session.execute_script("return 'axe' in window"):
        session.execute_script(source)
    return [
        {"rule": each["id"], "impact": each["impact"], "help": each["help"], "places": len(each["nodes"]),
         "first": [node["target"] for node in each["nodes"][:3]]}
        for each in session.execute_async_script(RUN, LEFT_OUT)
    ]  # fmt: skip
