"""Does the wheel alone do everything? Built from this tree, installed in an environment and a folder that are empty.

python tests/trials/wheel.py                     makes the environment (a minute or two; needs a network)
python tests/trials/wheel.py --python PYTHON     takes one that has the packages of requirements/run.txt
python tests/trials/wheel.py --wheel WHEEL       tries this wheel
"""

import argparse
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PIP = ("-m", "pip", "install", "-qq", "--no-compile", "--disable-pip-version-check", "--no-input")
FOUR_LINES = """import dpregret as dp
result = dp.play("wdp-cocop-gaussian", stream="norm-kink", rounds=4096, dimension=4, window=64, epsilon=1.0)
print(result, dp.claim("lou_cheung", "thm3-T").measure().verdict, sep="\\n")
print(dp.audit("my_noise.py:right", rounds=64).kept, dp.compare("reference", dp.load()).empty)
"""
WITHIN_RIGHTS = ("setpriv", "--bounding-set=-dac_override", "--")
"""Root may write what nobody may, but for this."""
Words = tuple[str, ...]
CALLS: Mapping[Words, tuple[int, str]] = {
    ("-c", "import dpregret; print(dpregret.__file__)"): (0, "site-packages"),
    ("-c", FOUR_LINES): (0, "regret 1147 .*\nreproduced\nTrue True\n"),
    ("-m", "dpregret", "check", "lou_cheung", "thm3-T"): (
        0,
        r"reproduced: .*results/check/lou_cheung_2020/thm3-T\.png",
    ),
    ("-m", "dpregret", "audit", "my_noise.py:right", "--rounds", "64"): (0, "verdict: keeps its claim"),
    ("-m", "dpregret", "advise", "--rounds", "1e5", "--dimension", "32", "--epsilon", "1"): (0, "regret"),
    ("-m", "dpregret", "table", "lou_cheung"): (0, "Ours with projection"),
    ("-m", "dpregret", "verify", "."): (2, "no SHA256SUMS"),
    ("-m", "dpregret", "--help"): (0, "advise"),
}
"""What is called -> exit code, and a pattern of what it says."""
RUN: Words = ("-m", "dpregret", "run", "lou_cheung", "--profile", "quick")
MADE = ("table_1.md", "table_1.csv", "report.html", "claims.csv")


def environment(folder: Path) -> Path:
    """The interpreter of a fresh environment with the packages of the lock."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    for name, more in (("bootstrap", []), ("run", ["--no-build-isolation"])):
        lock = ROOT / "requirements" / f"{name}.txt"
        subprocess.run([python, *PIP, *more, "--require-hashes", "-r", lock], check=True)
    return python


def build(folder: Path, python: Path) -> Path:
    """The wheel of this tree, made from a copy."""
    copy = folder / "source"
    shutil.copytree(
        ROOT,
        copy,
        symlinks=True,
        ignore=shutil.ignore_patterns(".*", "build", "cache", "made", "store", "__pycache__", "*.egg-info"),
    )
    command = [python, "-m", "pip", "wheel", "-qq", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", folder, copy], check=True)
    return next(folder.glob("dpregret-*.whl"))


def call(python: Path, words: Sequence[str], folder: Path, through: Sequence[str] = ()) -> tuple[int, str, float]:
    """Exit code, what was said, seconds; in a folder that is home too."""
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1"}
    began = time.monotonic()
    done = subprocess.run([*through, python, *words], cwd=folder, env=own, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr, time.monotonic() - began


def trial(python: Path, folder: Path, through: Sequence[str] = ()) -> int:
    """Every call in an empty folder; how many did otherwise than they should."""
    folder.mkdir()
    shutil.copy(ROOT / "docs" / "examples" / "my_noise.py", folder)
    failed = 0
    for words, (code, said) in {**CALLS, RUN: (0, "report: results/quick/lou_cheung_2020/report.html")}.items():
        found, told, seconds = call(python, words, folder, through)
        fine = found == code and re.search(said, told, re.DOTALL) and "Traceback" not in told
        if fine and words == RUN:
            fine = all((folder / "results" / "quick" / "lou_cheung_2020" / name).stat().st_size for name in MADE)
        failed += not fine
        shown = " ".join(words)[:70].replace("\n", "; ")
        print(
            f"{'as it should' if fine else 'OTHERWISE'}, {seconds:.0f} s: python {shown}"
            + ("" if fine else f"\n{told}")
        )
    return failed


def main() -> int:
    """One line a call; exit code 1 when one did otherwise than it should."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--python", type=Path, help="the interpreter of an environment")
    parser.add_argument("--wheel", type=Path, help="a wheel; without one it is built from this tree")
    options = parser.parse_args()
    given = options.python
    with tempfile.TemporaryDirectory(prefix="dpregret-wheel-") as name:
        top = Path(name)
        top.chmod(0o755)
        python = given.absolute() if given else environment(top / "environment")
        wheel = options.wheel.absolute() if options.wheel else build(top, python)
        subprocess.run([python, *PIP, "--no-deps", "--force-reinstall", wheel], check=True)
        print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB")
        failed = trial(python, top / "empty")
        said = call(python, ("-c", "import dpregret; print(dpregret.__path__[0])"), top)[1]
        for path in [Path(said.strip()), *Path(said.strip()).rglob("*")]:
            path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
        print("from a package that cannot be written:")
        failed += trial(python, top / "read-only", WITHIN_RIGHTS if os.geteuid() == 0 else ())
        for path in Path(said.strip()).rglob("*"):
            path.chmod(path.stat().st_mode | stat.S_IWUSR)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
