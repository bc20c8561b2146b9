"""Trials of inputs: odd files and commands at every front door; prints and keeps what was said.

    .venv/bin/python tests/trials/inputs.py [WORD ...]

A word picks the trials whose class or name holds it, and `commands` those that start Snakemake, all of them. A trial
is fine where what is wrong is refused in the expected words, or what is right works; weak where it is refused in other
words or at length; broken where it passes, leaves a traceback or takes more than ten seconds or a gigabyte. The table
is build/trials.csv and build/trials.md; exit code 1 where one is broken.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).parent))
import cases
import doors
from cases import Trial
from doors import WORKS
from fuzzing import TooLongError, bounded

from dpregret.core.text import printable
from dpregret.paper_figs import formats

BUILD = Path(__file__).resolve().parents[2] / "build"
LINES = 8  # of a refusal: one a mistake; the gate and a learner's log may say more
RUNS = "results/mine/lou_cheung_2020/runs/horizon"
TABLE = "results/mine/lou_cheung_2020/claims.csv"


def commands(place: doors.Place) -> Iterator[Trial]:
    """Real commands, one after the other, in one checkout whose path has a space and is not ASCII."""

    def door(*words: str, before: Callable[[Path], object] = lambda _: None, profile: str = "mine.yaml") -> doors.Door:
        def run(_: Path) -> tuple[int, str]:
            before(place.root)
            return place.run(*words, profile=profile)

        return run

    def profile(old: str, new: str, name: str = "mine.yaml") -> Callable[[Path], object]:
        def change(root: Path) -> None:
            content = (root / "mine.yaml").read_text(encoding="utf-8")
            (root / name).write_text(content.replace(old, new), encoding="utf-8")

        return change

    def spoilt(*changes: Callable[[Path], object]) -> Callable[[Path], object]:
        return lambda root: [change(root) for change in changes]

    def copied(root: Path) -> None:
        shutil.copytree(root / "results" / "mine", root / "results" / "other")
        profile("profile: mine\nseed: 7", "profile: other\nseed: 8", "other.yaml")(root)

    def forgotten(root: Path) -> None:
        shutil.rmtree(root / ".snakemake")
        profile("seed: 7", "seed: 8")(root)

    stale = r"stale and made again"
    yield Trial("surroundings", "a run, in a path with a space", door(TABLE), f"{WORKS}dpregret: done")
    yield Trial("stale", "the same again", door(TABLE), f"{WORKS}Nothing to be done")
    yield Trial(
        "stale", "a byte behind a row file", door(TABLE, before=lambda root: flip_end(root / RUNS)), f"{WORKS}{stale}"
    )
    yield Trial(
        "stale", "a verdict edited by hand", door(TABLE, before=lambda root: edited(root / TABLE)), f"{WORKS}{stale}"
    )
    yield Trial(
        "stale",
        "a dry run tells and changes nothing",
        door(TABLE, "-n", before=lambda root: edited(root / TABLE)),
        f"{WORKS}{stale}",
    )
    yield Trial(
        "stale",
        "caches overwritten",
        door(
            TABLE,
            before=lambda root: [
                (root / ".snakemake" / name).write_text("[" * 10**5)
                for name in ("checked.json", "index.json", "checksums.json")
            ],
        ),
        f"{WORKS}{stale}",
    )
    yield Trial(
        "stale",
        "results copied, another seed",
        door(TABLE.replace("mine", "other"), before=copied, profile="other.yaml"),
        f"{WORKS}{stale}.*of other settings",
    )
    yield Trial(
        "stale", "no .snakemake, another seed", door(TABLE, before=forgotten), f"{WORKS}{stale}.*of other settings"
    )
    yield Trial(
        "typos",
        "a learner misspelt",
        door("-n", before=profile("ftal:", "ftla:")),
        "mine.yaml:\\d+.*did you mean 'ftal'",
    )
    yield Trial(
        "size",
        "runs 1e12",
        door("-n", before=spoilt(profile("ftla:", "ftal:"), profile("runs: 2", f"runs: {10**12}"))),
        "mine.yaml:\\d+.*limit runs",
    )
    yield Trial(
        "tracebacks",
        "an unhashable key",
        door("-n", before=lambda root: (root / "mine.yaml").write_text("? [1]\n: 2")),
        "mine.yaml:1: a key must be a short word",
    )
    yield Trial("typos", "no such profile", door("-n", profile="smok"), "unknown profile 'smok'.*did you mean 'smoke'")
    yield Trial("typos", "no such file", door("-n", profile="nowhere.yaml"), "nowhere.yaml")
    yield Trial(
        "surroundings",
        "results is a file",
        door(
            TABLE.replace("mine", "other"),
            before=lambda root: (
                shutil.rmtree(root / "results" / "other"),
                (root / "results" / "other").write_text(""),
            )[0],
            profile="other.yaml",
        ),
        "results/other|results",
    )
    yield Trial(
        "typos",
        "a claim's stream misspelt",
        door(
            "-n",
            profile="smoke",
            before=lambda root: replaced(
                root / "workflows/papers/lou_cheung_2020/claims.yaml", "stream: norm-kink", "stream: norm-kinck"
            ),
        ),
        "claims.yaml:\\d+: .*did you mean 'norm-kink'",
    )


def flip_end(folder: Path) -> None:
    for path in folder.glob("*.parquet"):
        path.write_bytes(path.read_bytes() + b"x")


def edited(path: Path) -> None:
    replaced(path, ",", ";", 1)


def replaced(path: Path, old: str, new: str, count: int = 1) -> None:
    content = path.read_text(encoding="utf-8")
    assert old in content
    path.write_text(content.replace(old, new, count), encoding="utf-8")


def outcome(trial: Trial) -> tuple[str, str]:
    """fine, weak or broken, and what was said."""
    try:
        with doors.empty() as folder:
            if "commands" in trial.door.__qualname__:
                code, said = trial.door(folder)
            else:
                with bounded():
                    code, said = trial.door(folder)
    except (Exception, SystemExit, KeyboardInterrupt, TooLongError) as fault:
        last = traceback.extract_tb(fault.__traceback__)[-1]
        return "broken", f"{type(fault).__name__}: {fault} ({Path(last.filename).name}:{last.lineno})"
    works = trial.expected.startswith(WORKS)
    found = re.search(trial.expected.removeprefix(WORKS), said)
    if "Traceback" in said or "LEFT BEHIND" in said or (code == 0) != works:
        return "broken", f"exit {code}: {said}"
    if not found:
        return ("broken" if works else "weak"), said
    long = max(map(len, said.splitlines()), default=0) > 2000 or (
        len(said.splitlines()) > LINES and trial.kind in ("size", "typos", "tracebacks", "fetch")
    )
    return ("weak" if long and not works else "fine"), said


def words_of(said: str, expected: str) -> str:
    """The line that matters, as far as a cell of a table goes."""
    lines = [line for line in said.splitlines() if line.strip()]
    chosen = [line for line in lines if re.search(expected.removeprefix(WORKS) or "^$", line)] or lines[:1] or [""]
    return printable(" ".join(chosen[0].split()))[:240]


def main(words: list[str]) -> int:
    warnings.simplefilter("ignore")
    logging.disable()
    began, rows = time.process_time(), []
    with tempfile.TemporaryDirectory() as folder:
        trials = [
            each for each in cases.TRIALS if not words or any(word in f"{each.kind} {each.name}" for word in words)
        ]
        if not words or "commands" in words:
            trials += commands(doors.Place(Path(folder)))
        for trial in trials:
            verdict, said = outcome(trial)
            rows.append(
                {
                    "class": trial.kind,
                    "trial": trial.name,
                    "expected": trial.expected,
                    "outcome": verdict,
                    "said": words_of(said, trial.expected),
                }
            )
            if verdict != "fine":
                print(
                    f"{verdict}: {trial.kind}: {trial.name}: expected {trial.expected!r}, said {said[:300]!r}",
                    flush=True,
                )
    if not rows:
        print(f"no trial is called so: {' '.join(words)}", file=sys.stderr)
        return 2
    frame = pd.DataFrame(rows)
    BUILD.mkdir(exist_ok=True)
    formats.write_csv(frame, BUILD / "trials.csv")
    (BUILD / "trials.md").write_text(formats.markdown(frame), encoding="utf-8")
    for kind, group in frame.groupby("class", sort=False):
        counts = Counter(group["outcome"])
        print(f"{kind:14}" + "".join(f"{counts[name]:5} {name}" for name in ("fine", "weak", "broken")))
    counts, used = Counter(frame["outcome"]), time.process_time() - began + sum(os.times()[2:4])
    print(f"{len(frame)} trials: {counts['fine']} fine, {counts['weak']} weak, {counts['broken']} broken, {used:.0f} s")
    return int(counts["broken"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
