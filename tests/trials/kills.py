"""Kill trials: a run is killed at random moments and resumed until it is complete; its tables are those of a calm one.

    .venv/bin/python tests/trials/kills.py --profile ci --repeats 20

Every repetition begins without results. Each kill picks a moment, a victim (the main process, the server of jobs, or
a job) and a signal (KILL, TERM, INT). What is asserted: a killed main process ends within seconds and leaves
no process; the same command resumes; tables, pages, figures and rows are byte for byte those of the undisturbed run,
timings apart. A repetition takes the time of a run and about ten seconds for each kill.
"""

from __future__ import annotations

import argparse
import json
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
from checkout import ROOT, Checkout, make_checkout

from dpregret.workflows import manifest

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
VICTIMS = ("main", "server", "job")
SECONDS_TO_END = 30.0  # of a main process that was killed, and of what it has started
RESUMES = 3  # after the last kill: a job that was killed fails the run that it was part of, the next one is complete


class Broken(Exception):  # noqa: N818 - the word of the table
    """What must not happen, in one line."""


def contents(folder: Path) -> dict[str, str]:
    """Digest of every file that equal runs share, as the manifest says; of rows with times, of their other columns."""
    files = json.loads((folder / manifest.NAME).read_text())["files"]
    found = {name: file["sha256"] for name, file in files.items() if file["kind"] == manifest.SAME}
    return found | {name: file["numbers"] for name, file in files.items() if "numbers" in file}


class Run:
    """One command in a checkout, from its start to its end."""

    def __init__(self, checkout: Checkout, words: list[str]) -> None:
        self.began = time.monotonic()
        self.log = (checkout.root.parent / "told").open("wb")
        command = [sys.executable, "-P", *checkout.command(*words)[1:]]
        self.process = subprocess.Popen(
            command, cwd=checkout.root, env=checkout.environment, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
        )  # fmt: skip

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit code; None where it still runs after so many seconds."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def family(self) -> dict[str, list[psutil.Process]]:
        """The main process, its server, and all jobs."""
        main = psutil.Process(self.process.pid)
        below = main.children(recursive=True)
        servers = [each for each in main.children() if "dpregret.workflows.forkserver.server" in each.cmdline()]
        jobs = [each for server in servers for each in server.children()]
        jobs += [each for each in below if "dpregret.workflows.task" in each.cmdline()]
        return {"main": [main], "server": servers, "job": jobs, "all": below}

    def kill(self, chance: random.Random) -> str:
        """Kill one process; what was done, in words. Raises `Broken`."""
        try:
            family = self.family()
            victim = chance.choice([each for each in VICTIMS if family[each]])
            number = chance.choice(SIGNALS)
            chance.choice(family[victim]).send_signal(number)
        except psutil.NoSuchProcess:
            return "nobody was there"
        told = f"{victim} {number.name[3:]} at {time.monotonic() - self.began:.0f} s"
        if victim == "main":
            if self.wait(SECONDS_TO_END) is None:
                raise Broken(f"{told}: still alive after {SECONDS_TO_END:.0f} s")
            _, left = psutil.wait_procs(family["all"], timeout=SECONDS_TO_END)
            if left:
                raise Broken(f"{told}: left {[' '.join(each.cmdline())[:80] for each in left]}")
        return told


def complete(checkout: Checkout, words: list[str]) -> None:
    """Run the command until it succeeds. Raises `Broken`."""
    for _ in range(RESUMES):
        if Run(checkout, words).wait() == 0:
            return
    raise Broken("is never complete: " + (checkout.root.parent / "told").read_text(errors="replace")[-300:])


def forget(checkout: Checkout, profile: str) -> None:
    """Remove results, and what Snakemake knows of them."""
    for folder in (checkout.root / "results" / profile, checkout.root / ".snakemake"):
        shutil.rmtree(folder, ignore_errors=True)


def repetition(checkout: Checkout, words: list[str], kills: int, seconds: float, chance: random.Random) -> list[str]:
    """Run, kill, resume; what was done. seconds: of an undisturbed run."""
    told: list[str] = []
    run = Run(checkout, words)
    while len(told) < kills:
        code = run.wait(chance.uniform(1.0, 1.5 * seconds / kills))
        if code == 0:
            return told  # before all kills were done
        if code is None:
            told.append(run.kill(chance))
        if run.process.poll() not in (None, 0):
            run = Run(checkout, words)
    if run.wait() != 0:
        complete(checkout, words)
    return told


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
        shutil.copytree(ROOT / "results" / "reference", checkout.root / "results" / "reference", dirs_exist_ok=True)
        began = time.monotonic()
        complete(checkout, words)
        seconds = time.monotonic() - began
        wanted = contents(checkout.root / "results" / name)
        print(f"undisturbed: {seconds:.0f} s, {len(wanted)} files to compare", flush=True)
        for number in range(1, asked.repeats + 1):
            chance, began, told = random.Random(f"{asked.seed} {number}"), time.monotonic(), []
            forget(checkout, name)
            try:
                told = repetition(checkout, words, asked.kills, seconds, chance)
                found = contents(checkout.root / "results" / name)
                differ = sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))
                outcome = f"DIFFER: {', '.join(differ[:5])}" if differ else f"{len(found)} files equal"
            except Broken as fault:
                outcome = f"BROKEN: {fault}"
            broken += "equal" not in outcome
            took = time.monotonic() - began
            print(f"{number:3}  {took:4.0f} s  {'; '.join(told):70}  {outcome}", flush=True)
    print(f"{asked.repeats - broken} of {asked.repeats} repetitions end with the tables of the undisturbed run")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main())
