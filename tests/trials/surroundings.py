"""Trials of surroundings: a tiny run in each, from a clean start; prints what was done, expected and seen.

    .venv/bin/python tests/trials/surroundings.py [WORD ...]

A word picks the trials whose name holds it. Those that need root are left out for others. A trial is fine when the run
ends with the numbers of an undisturbed one, or, where that is expected, with one line and no traceback.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflows"))
from checkout import Checkout, make_checkout

PROFILE = """
profile: mine
seed: 7
papers:
  lou_cheung_2020:
    experiments:
      horizon: {title: Regret, sweep: horizon, set: ball, streams: [norm-kink], dimension: [2],
        horizon: [16, 32, 64, 128], window: [4], epsilon: [8.0], delta: 1.0e-6, runs: 2,
        learners: {wdp-cocop-gamma: [corrected], ftal: [plain]}}
"""
RUNS = Path("results/mine/lou_cheung_2020/runs")
WORKS, FAILS = "works", "exit code not 0"


@dataclass(frozen=True)
class Trial:
    """One run: `before` is typed in a shell (its folder is the checkout), then `through` starts Snakemake."""

    name: str
    before: str = ""
    through: str = ""
    expected: str = WORKS
    unset: tuple[str, ...] = ()
    set: dict[str, str] = field(default_factory=dict)
    root: bool = False


def env(name: str, expected: str = WORKS, **values: str) -> Trial:
    return Trial(name, set=values, expected=expected)


NOBODY = "setpriv --reuid 65534 --regid 65534 --clear-groups env"  # env: a second start, without rights of root
TRIALS = (
    Trial("no HOME", unset=("HOME",)),
    env("TMPDIR is not there", TMPDIR="/nonexistent"),
    Trial("umask 077", before="umask 077"),
    Trial("umask 000", before="umask 000"),
    env("LANG=C", LANG="C", LC_ALL="C"),
    env("LC_ALL=POSIX, PYTHONUTF8=0", LC_ALL="POSIX", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"),
    env("Turkish locale", LANG="tr_TR.UTF-8", LC_ALL="tr_TR.UTF-8"),
    env("odd time zone", TZ="Pacific/Kiritimati"),
    env("no such time zone", TZ="Not/A/Zone"),
    env("PYTHONWARNINGS=error", PYTHONWARNINGS="error"),
    env("PYTHONOPTIMIZE=2", PYTHONOPTIMIZE="2"),
    env("PYTHONHASHSEED=1", PYTHONHASHSEED="1"),
    Trial("PYTHONSTARTUP", before="echo 'raise SystemExit(3)' > start.py", set={"PYTHONSTARTUP": "start.py"}),
    env("SOURCE_DATE_EPOCH", SOURCE_DATE_EPOCH="1"),
    env("SNAKEMAKE_PROFILE names none", SNAKEMAKE_PROFILE="nowhere", expected="nowhere"),
    Trial("numpy.py in the folder", before="mkdir lib; ln -s ../dpregret lib; echo 'raise SystemExit(3)' > numpy.py",
          set={"PYTHONPATH": "lib"}, expected=FAILS),
    Trial("standard input closed", before="exec 0<&-"),
    Trial("a pipe that nobody reads", before="exec > >(:) 2>&1; sleep 0.2", expected=FAILS),
    Trial("one processor", through="taskset -c 0"),
    Trial("64 open files", before="ulimit -n 64"),
    Trial("address space of 3 GB", before="ulimit -v 3000000"),
    Trial("address space of 0.5 GB", before="ulimit -v 500000", expected=FAILS),
    Trial("no /dev/shm", through="unshare -m bash -c 'mount -t tmpfs -o ro none /dev/shm; exec \"$@\"' -", root=True),
    Trial("sources dated 2100", before="find workflows algorithms -name '*.py' -exec touch -d 2100-01-01 {} +"),
    Trial("sources dated 1970", before="find workflows algorithms -name '*.py' -exec touch -d @0 {} +"),
    Trial("results is a file", before="rm -rf results; echo > results", expected="results"),
    Trial("results cannot be written", before="chmod 555 results; chmod 777 .", through=NOBODY, root=True,
          expected="results.*cannot be written"),
    Trial("folder of another user", through=NOBODY, set={"XDG_CACHE_HOME": "/tmp/dpregret"}, root=True,
          expected="cannot be written"),
    Trial("user without a name", before="chmod -R a+rwX .", through=NOBODY.replace("65534", "54321"),
          set={"HOME": "/tmp", "LOGNAME": "54321"}, root=True),
    Trial("temporary folder cannot be written", before="chmod -R a+rwX .; install -d -m 700 kept", through=NOBODY,
          set={"TMPDIR": "kept"}, root=True),
)  # fmt: skip


def numbers(root: Path) -> pd.DataFrame:
    frame = pd.concat([pd.read_parquet(path) for path in sorted((root / RUNS).glob("*.parquet"))])
    return frame.drop(columns=[name for name in frame.columns if name.startswith("seconds")]).reset_index(drop=True)


def attempt(trial: Trial, checkout: Checkout) -> tuple[int, str]:
    """Exit code and everything said."""
    words = ["--cores", "2", "--until", "play", "--config", "profile=mine.yaml"]
    command = [sys.executable, "-P", *checkout.command(*words)[1:]]
    environment = {**checkout.environment, **trial.set}
    for name in trial.unset:
        environment.pop(name, None)
    told = checkout.root.parent / "told"
    with told.open("wb") as log:
        line = f"{trial.before}\nexec {trial.through} {shlex.join(command)}"
        done = subprocess.run(
            ["bash", "-c", line], cwd=checkout.root, env=environment, stdout=log, stderr=log, timeout=120, check=False
        )
    return done.returncode, told.read_text(errors="replace")


def judge(trial: Trial, code: int, said: str, root: Path, wanted: pd.DataFrame | None) -> str:
    if trial.expected == WORKS:
        if code:
            return f"broken: exit {code}: {said.strip().splitlines()[-1] if said.strip() else ''}"
        if wanted is not None:
            pd.testing.assert_frame_equal(numbers(root), wanted)
        return "fine: the same numbers"
    if trial.expected == FAILS:
        return f"fine: exit {code}" if code else "broken: exit 0"
    lines = [line for line in said.splitlines() if re.search(trial.expected, line)]
    verdict = "broken: exit 0" if code == 0 else "broken: nothing said" if not lines else "fine"
    if verdict == "fine" and "Traceback" in said:
        verdict = "weak: a traceback"
    return f"{verdict}: {lines[-1].strip() if lines else ''}"


def main(words: list[str]) -> int:
    chosen = [each for each in TRIALS if not words or any(word in each.name for word in words)]
    broken, wanted = 0, None
    for trial in (Trial("undisturbed"), *chosen):
        if trial.root and (os.name != "posix" or os.geteuid()):
            print(f"{trial.name:36}left out: needs root", flush=True)
            continue
        if (
            NOBODY.split()[0] in trial.through
            and subprocess.run([*NOBODY.split(), sys.executable, "-c", ""]).returncode
        ):
            print(f"{trial.name:36}left out: other users cannot start {sys.executable}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            checkout = make_checkout(Path(folder) / "checkout")
            (checkout.root / "mine.yaml").write_text(PROFILE)
            outcome = judge(trial, *attempt(trial, checkout), checkout.root, wanted)
            if wanted is None:
                wanted = numbers(checkout.root)
        broken += not outcome.startswith("fine")
        print(f"{trial.name:36}expected: {trial.expected:28}{outcome[:160]}", flush=True)
    return min(broken, 1)


if __name__ == "__main__":
    shutil.which("bash") or sys.exit("these trials need bash")
    sys.exit(main(sys.argv[1:]))
