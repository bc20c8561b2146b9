"""Kill trials: a run is killed at random moments and resumed until it is complete; its tables are those of a calm one.

    .venv/bin/python tests/trials/kills.py --profile ci --repeats 20

Every repetition begins without results. Each kill picks a moment, a victim (the main process, a job, or the child in
which a learner plays) and a signal (KILL, TERM, INT). After a kill of the main process, whose jobs go on without it,
the folder is unlocked; then the same command resumes. What it ends with is what the undisturbed run has, byte for byte,
timings apart. A repetition that ends before its first kill does not count: it says how long an undisturbed run takes.
"""

import argparse
import contextlib
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflows"))
from checkout import Checkout, make_checkout, shared

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
RESUMES = 3  # after the last kill: a job that was killed fails the run that it was part of, the next one is complete


def ended(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """The exit code; None where it still runs after so many seconds."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(seconds)
    return None


def kill(process: subprocess.Popen[bytes], chance: random.Random) -> str | None:
    """Kill one process of a run; what was done, in words: victim, signal, and the rules that were at work."""
    number = chance.choice(SIGNALS)
    try:
        main = psutil.Process(process.pid)
        scripts = [each for each in main.children(recursive=True) if ".snakemake/scripts" in " ".join(each.cmdline())]
        children = [each for each in scripts if each.parent() in scripts]
        family = {"main": [main], "child": children, "job": [each for each in scripts if each not in children]}
        victim = chance.choice([name for name, processes in family.items() if processes])
        rules = {name for each in scripts for name in re.findall(r"\.([a-z_]+)\.py", " ".join(each.cmdline()))}
        chance.choice(family[victim]).send_signal(number)
    except psutil.NoSuchProcess:
        return None
    if victim == "main":
        process.wait()
    return f"{victim} {number.name[3:]} ({', '.join(sorted(rules)) or 'no job'})"


def repetition(checkout: Checkout, words: list[str], kills: int, seconds: float, chance: random.Random) -> list[str]:
    """Run, kill, unlock and give the same command until it is complete; what was done. seconds: of a calm run."""
    told, log = list[str](), checkout.root.parent / "told"
    for _ in range(kills + RESUMES):
        process = checkout.start(log, *words)
        while len(told) < kills and ended(process, chance.uniform(1.0, 1.5 * seconds / kills)) is None:
            told += filter(None, [kill(process, chance)])
        if process.wait() == 0:
            return told
        unlocked = checkout.snakemake(*words, "--unlock")
        assert unlocked.returncode == 0, unlocked.stderr
    return [*told, "is never complete: " + log.read_text(errors="replace")[-300:]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--profile", default="smoke")
    parser.add_argument("--target", default="all", help="what is made, such as results/smoke/talwar_2015/complete.txt")
    for option, value in (("repeats", 3), ("kills", 3), ("cores", os.cpu_count() or 1), ("seed", 1)):
        parser.add_argument(f"--{option}", type=int, default=value)
    asked = parser.parse_args()
    for ignored in (signal.SIGINT, signal.SIGHUP):  # in a script's background, under nohup; inherited
        signal.signal(ignored, signal.default_int_handler)
    profile, name = Path(asked.profile), Path(asked.profile).stem  # a file of one's own, or the name of a profile
    chosen = profile.resolve() if profile.suffix else name
    words = [asked.target, "--cores", str(asked.cores), "--config", f"profile={chosen}"]
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        checkout = make_checkout(Path(folder) / "checkout")
        results = checkout.root / "results"
        began = time.monotonic()
        if checkout.start(checkout.root.parent / "told", *words).wait():
            print((checkout.root.parent / "told").read_text(errors="replace"), file=sys.stderr)
            return 1
        seconds, wanted = time.monotonic() - began, shared(results / name)
        print(f"undisturbed: {seconds:.0f} s, {len(wanted)} files to compare", flush=True)
        number, attempts, kills = 0, itertools.count(1), 0
        while number < asked.repeats:
            chance, began = random.Random(f"{asked.seed} {next(attempts)}"), time.monotonic()
            for each in (results / "store", results / name, checkout.root / ".snakemake"):
                shutil.rmtree(each, ignore_errors=True)
            told = repetition(checkout, words, asked.kills, seconds, chance)
            found = shared(results / name) if (results / name / "SHA256SUMS").exists() else {}
            differ = sorted(each for each in {*found, *wanted} if found.get(each) != wanted.get(each))
            broken += bool(differ)
            if not told and not differ:  # the first run compiles, and takes longer
                seconds = min(seconds, 0.9 * (time.monotonic() - began))
                continue
            number, kills = number + 1, kills + len(told)
            outcome = f"DIFFER: {', '.join(differ[:5])}" if differ else f"{len(found)} files equal"
            print(f"{number:3}  {time.monotonic() - began:4.0f} s  {'; '.join(told):60}  {outcome}", flush=True)
    print(f"{number - broken} of {number} repetitions, {kills} kills, end with the tables of the undisturbed run")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main())
