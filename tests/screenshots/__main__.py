"""Pictures of a report in light and dark, 1280 and 500 pixels wide, each page and each figure, and what axe says of it.

    python tests/screenshots results/report.html

writes build/screenshots: PAGE-SCHEME-WIDTH.png, PAGE.pdf as printed, figure-*.png, and axe.json with one line a page on
the terminal. Exit code 1 for a serious or critical finding, a page wider than its window, or words on the console; 2
without a browser. axe-core comes from the npm registry and is kept in build/axe; without npm its part is left out.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from pathlib import Path
from typing import Any

from axe import GRAVE, VERSION, axe_source, findings
from chromium import MISSING, chromium, resize, show

ROOT = Path(__file__).resolve().parents[2]
WIDTHS, TALLEST = (1280, 500), 4000
PAGES = "return [...document.querySelectorAll('.page')].map((each) => each.id)"
FIGURES = "return [...document.querySelectorAll('details.figure')].map((each) => each.id)"


def picture(session: Any, path: Path, whole: bool) -> None:
    """The window, or the whole page as far as TALLEST."""
    size = session.execute_script("return [innerWidth, innerHeight, document.documentElement.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[2], TALLEST), "scale": 1}
    options = {"captureBeyondViewport": True, "clip": clip} if whole else {}
    path.write_bytes(base64.b64decode(session.execute_cdp_cmd("Page.captureScreenshot", options)["data"]))


def look(session: Any, scheme: str, width: int, out: Path, axe: str, figures: bool) -> tuple[dict[str, Any], list[str]]:
    """All pages in one scheme and width: axe's findings by page, and what else is wrong."""
    found, wrong = {}, []
    resize(session, width, 900)
    for name in session.execute_script(PAGES):
        show(session, name)
        if session.execute_script("return document.documentElement.scrollWidth > innerWidth"):
            wrong.append(f"{name}, {scheme}, {width}: wider than the window")
        picture(session, out / f"{name}-{scheme}-{width}.png", whole=True)
        if axe:
            found[f"{name}-{scheme}-{width}"] = findings(session, axe)
    for name in session.execute_script(FIGURES) if figures else ():
        show(session, name)
        picture(session, out / f"{name}-{scheme}-{width}.png", whole=False)
    wrong += [f"{scheme}, {width}: {entry['message']}" for entry in session.get_log("browser")]
    return found, wrong


def main() -> int:
    """Look at a report; the exit code says whether all is well."""
    parser = argparse.ArgumentParser(prog="tests/screenshots", description=__doc__)
    parser.add_argument("report", type=Path, nargs="?", default=ROOT / "results" / "report.html")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "screenshots")
    parser.add_argument("--no-figures", action="store_true", help="pages only")
    options = parser.parse_args()
    if not options.report.exists():
        print(f"{options.report}: not there; make it with `make report`", file=sys.stderr)
        return 2
    axe = axe_source()
    if not axe:
        print(f"axe is left out: {VERSION} could not be fetched by npm", file=sys.stderr)
    options.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    wrong: list[str] = []
    for scheme in ("light", "dark"):
        session = chromium(dark=scheme == "dark")
        if session is None:
            print(f"screenshots: {MISSING}", file=sys.stderr)
            return 2
        try:
            session.get(options.report.resolve().as_uri())
            for width in WIDTHS:
                axed, odd = look(session, scheme, width, options.out, axe, not options.no_figures)
                found |= axed
                wrong += odd
            if scheme == "light":
                for name in ("overview", *session.execute_script(PAGES)[2:3]):
                    show(session, name)
                    printed = session.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
                    (options.out / f"{name}.pdf").write_bytes(base64.b64decode(printed["data"]))
        finally:
            session.quit()
    if axe:
        (options.out / "axe.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    grave = [f"{name}: {each['impact']}: {each['help']} ({each['places']} places, {each['first'][0]})"
             for name, each_page in found.items() for each in each_page if each["impact"] in GRAVE]  # fmt: skip
    print("\n".join([*grave, *wrong]) or f"{options.out}: {len(found)} pages looked at, nothing serious")
    return int(bool(grave or wrong))


if __name__ == "__main__":
    sys.exit(main())
