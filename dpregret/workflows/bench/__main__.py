"""Play a commit and this tree in turn: `python -m dpregret.workflows.bench BASE`; exit code 1 where this is slower."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from dpregret.paper_figs.text.formats import markdown
from dpregret.workflows.bench.verdicts import Verdict, judge

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent
REPORT = ROOT / "build" / "bench-compare.md"


def git(*words: str) -> subprocess.CompletedProcess[str]:
    """Run git on this checkout."""
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)


def commit(name: str) -> str:
    """The full name of a commit. Leaves with one line where there is none."""
    found = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if found.returncode:
        sys.exit(f"bench-compare: BASE={name!r} is no commit of this repository")
    return found.stdout.strip()


@contextmanager
def checked_out(base: str) -> Iterator[Path]:
    """A work tree of the commit under build/, removed at the end."""
    tree = ROOT / "build" / f"bench-base-{os.getpid()}"
    tree.parent.mkdir(exist_ok=True)
    made = git("worktree", "add", "--detach", "--force", str(tree), base)
    if made.returncode:
        sys.exit(f"bench-compare: {made.stderr.strip().splitlines()[-1]}")
    try:
        yield tree
    finally:
        git("worktree", "remove", "--force", str(tree))


class Player:
    """A process that plays jobs of one tree; see player.py."""

    def __init__(self, tree: Path):
        self.tree = tree
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "player.py"), str(tree), str(HERE / "plays.yaml")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tree,
            env={**os.environ, **threads, "PYTHONPATH": str(tree)},
        )  # fmt: skip
        self.jobs: list[list[str]] = json.loads(self._line())

    def seconds(self, job: list[str]) -> float:
        """CPU seconds of one more play of a job."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{self.jobs.index(job)}\n")
        self.process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"bench-compare: the plays of {self.tree} ended early (exit code {self.process.wait()})")
        return line

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def measure(trees: list[Path], blocks: int) -> dict[str, list[list[float]]]:
    """Job -> times of every tree, one a block; in a block the trees take turns, and begin at another each time."""
    players = [Player(tree) for tree in trees]
    common = [job for job in players[0].jobs if all(job in each.jobs for each in players)]
    found: dict[str, list[list[float]]] = {}
    for job in common:
        for player in players:
            player.seconds(job)  # the first play imports and compiles
        times: list[list[float]] = [[] for _ in players]
        for block in range(blocks):
            for turn in range(len(players)):
                place = (turn + block) % len(players)
                times[place].append(players[place].seconds(job))
        paper, experiment, learner, variant = job
        found[f"{paper}/{experiment}/{learner}.{variant}"] = times
    for player in players:
        player.close()
    return found


def table(times: dict[str, list[list[float]]], verdicts: dict[str, Verdict]) -> pd.DataFrame:
    """One row a play."""
    return pd.DataFrame(
        {
            "play": name,
            "base, CPU s": f"{np.median(times[name][0]):.3f}",
            "here, CPU s": f"{np.median(times[name][2]):.3f}",
            "ratio": f"{each.ratio:.3f}",
            "noise band": f"{1 / each.band:.3f} to {each.band:.3f}",
            "verdict": each.word,
        }
        for name, each in verdicts.items()
    )


def main() -> int:
    """Play a commit and this tree in turn; 1 where a play of this tree is slower than chance explains."""
    parser = argparse.ArgumentParser(prog="python -m dpregret.workflows.bench", description=main.__doc__)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--blocks", type=int, default=9, help="turns of each play (9)")
    options = parser.parse_args()
    if options.blocks < 3:
        parser.error("--blocks: at least 3")
    base = commit(options.base)
    with checked_out(base) as tree:
        times = measure([tree, tree, ROOT], options.blocks)
    verdicts = {name: judge(*each) for name, each in times.items()}
    overall = float(np.exp(np.mean([np.log(each.ratio) for each in verdicts.values()])))
    text = (
        f"{markdown(table(times, verdicts))}\n\nAll plays, geometric mean: {overall:.3f} times the time of {base[:10]}."
    )
    print(text)
    REPORT.write_text(text + "\n", encoding="utf-8")
    slower = [name for name, each in verdicts.items() if each.word == "slower"]
    if slower:
        print(f"bench-compare: slower than {base[:10]}: {', '.join(slower)}", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
