"""Trials of inputs: odd files at every front door; prints and keeps what was said.

    .venv/bin/python tests/trials/inputs.py [WORD ...]

A word picks the trials whose class or name holds it. A trial is fine where what is wrong is refused in the expected
words, or what is right works; weak where it is refused in other words or at length; broken where it passes, leaves a
traceback or takes more than ten seconds or a gigabyte. The table is build/trials.csv and build/trials.md; exit code 1
where one is broken.
"""

from __future__ import annotations

import logging
import re
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).parent))
import cases
import doors
from cases import Trial
from doors import WORKS
from fuzzing import TooLongError, bounded

from dpregret.core.text import printable
from dpregret.paper_figs.text import formats

BUILD = Path(__file__).resolve().parents[2] / "build"
LINES = 8  # of a refusal: one a mistake; the gate and a learner's log may say more


def outcome(trial: Trial) -> tuple[str, str]:
    """fine, weak or broken, and what was said."""
    try:
        with doors.empty() as folder, bounded():
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
    rows = []
    for trial in cases.TRIALS:
        if words and not any(word in f"{trial.kind} {trial.name}" for word in words):
            continue
        verdict, said = outcome(trial)
        rows.append({
            "class": trial.kind, "trial": trial.name, "expected": trial.expected, "outcome": verdict,
            "said": words_of(said, trial.expected),
        })  # fmt: skip
        if verdict != "fine":
            print(
                f"{verdict}: {trial.kind}: {trial.name}: expected {trial.expected!r}, said {said[:300]!r}", flush=True
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
    counts = Counter(frame["outcome"])
    print(f"{len(frame)} trials: {counts['fine']} fine, {counts['weak']} weak, {counts['broken']} broken")
    return int(counts["broken"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
