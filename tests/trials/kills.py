"""Kill trials: a run is killed at random moments and resumed until it is complete; its tables are those of a calm one.

    .venv/bin/python tests/trials/kills.py --profile ci --repeats 20

Every repetition begins without results. Each kill picks a moment, a victim (the main process, a job, or the child in
which a learner plays) and a signal (KILL, TERM, INT). After a kill of the main process, whose jobs go on without it,
the folder is unlocked; then the same command resumes. What it ends with is what the undisturbed run has, byte for byte,
timings apart.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflows"))
from checkout import Checkout, make_checkout, shared

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
VICTIMS = ("main", "job", "child")
RESUMES = 3  # after the last kill: a job that was killed fails the run that it was part of, the next one is complete


class Run:
    """One command in a checkout, from its start to its end."""

    def __init__(self, checkout: Checkout, words: list[str]) -> None:
        self.began = time.monotonic()
        self.process = checkout.start(checkout.root.parent / "told", *words)

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit code; None where it still runs after so many seconds."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self, chance: random.Random) -> str:
        """Kill one process; what was done, in words."""
        try:
            main = psutil.Process(self.process.pid)
            scripts = [
                each for each in main.children(recursive=True) if ".snakemake/scripts" in " ".join(each.cmdline())
            ]
            children = [each for each in scripts if each.parent() in scripts]
            family = {"main": [main], "child": children, "job": [each for each in scripts if each not in children]}
            victim = chance.choice([each for each in VICTIMS if family[each]])
            number = chance.choice(SIGNALS)
            chance.choice(family[victim]).send_signal(number)
        except psutil.NoSuchProcess:
            return "nobody was there"
        if victim == "main":
            self.wait()
        return f"{victim} {number.name[3:]} at {time.monotonic() - self.began:.0f} s"


def again(checkout: Checkout, words: list[str]) -> Run:
    """Unlock, and give the same command."""
    unlocked = checkout.snakemake(*words, "--unlock")
    assert unlocked.returncode == 0, unlocked.stderr
    return Run(checkout, words)


def repetition(checkout: Checkout, words: list[str], kills: int, seconds: float, chance: random.Random) -> list[str]:
    """Run, kill, resume until it is complete; what was done. seconds: of an undisturbed run."""
    told: list[str] = []
    run = Run(checkout, words)
    while len(told) < kills:
        code = run.wait(chance.uniform(1.0, 1.5 * seconds / kills))
        if code == 0:
            return told  # before all kills were done
        if code is None:
            told.append(run.kill(chance))
        if run.process.poll() is not None:
            run = again(checkout, words)
    for _ in range(RESUMES):
        if run.wait() == 0:
            return told
        run = again(checkout, words)
    run.wait()
    return [*told, "is never complete: " + (checkout.root.parent / "told").read_text(errors="replace")[-300:]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--profile", default="smoke")
    for option, value in (("repeats", 3), ("kills", 3), ("cores", os.cpu_count() or 1), ("seed", 1)):
        parser.add_argument(f"--{option}", type=int, default=value)
    asked = parser.parse_args()
    for ignored in (signal.SIGINT, signal.SIGHUP):  # in a script's background, under nohup; inherited
        signal.signal(ignored, signal.default_int_handler)
    profile, name = Path(asked.profile), Path(asked.profile).stem  # a file of one's own, or the name of a profile
    chosen = profile.resolve() if profile.suffix else name
    words = ["--cores", str(asked.cores), "--config", f"profile={chosen}"]
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        checkout = make_checkout(Path(folder) / "checkout")
        results = checkout.root / "results"
        began = time.monotonic()
        if Run(checkout, words).wait():
            print((checkout.root.parent / "told").read_text(errors="replace"), file=sys.stderr)
            return 1
        seconds, wanted = time.monotonic() - began, shared(results / name)
        print(f"undisturbed: {seconds:.0f} s, {len(wanted)} files to compare", flush=True)
        for number in range(1, asked.repeats + 1):
            chance, began = random.Random(f"{asked.seed} {number}"), time.monotonic()
            for each in (results / "store", results / "made", results / name, checkout.root / ".snakemake"):
                shutil.rmtree(each, ignore_errors=True)
            told = repetition(checkout, words, asked.kills, seconds, chance)
            found = shared(results / name) if (results / name / "SHA256SUMS").exists() else {}
            differ = sorted(each for each in {*found, *wanted} if found.get(each) != wanted.get(each))
            broken += bool(differ)
            outcome = f"DIFFER: {', '.join(differ[:5])}" if differ else f"{len(found)} files equal"
            print(f"{number:3}  {time.monotonic() - began:4.0f} s  {'; '.join(told):60}  {outcome}", flush=True)
    print(f"{asked.repeats - broken} of {asked.repeats} repetitions end with the tables of the undisturbed run")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main())
