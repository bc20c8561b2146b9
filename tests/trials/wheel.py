"""Does the package work outside of a clone? Builds the wheel, puts it beside the locked packages, and calls it.

python tests/trials/wheel.py                     makes an environment of its own (a minute; needs a network)
python tests/trials/wheel.py --packages FOLDER   takes the packages of .venv/lib/*/site-packages or the like
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEARNERS = (
    "from dpregret.workflows.families import FAMILIES; print(sum(len(each.learners) for each in FAMILIES.values()))"
)
PAPERS = "from dpregret.workflows import profiles; print(*profiles.papers())"
# command -> exit code, and what it says
CALLS = {
    ("-c", "import dpregret; print(dpregret.__file__)"): (0, "elsewhere"),
    ("-c", LEARNERS): (0, ""),
    ("-c", PAPERS): (0, "lou_cheung_2020"),
    ("-m", "dpregret", "audit", "my_noise.py:right", "--rounds", "64"): (0, "verdict: keeps its claim"),
    ("-m", "dpregret", "advise", "--rounds", "1e5", "--dimension", "32", "--epsilon", "1", "--window", "1024"): (
        0,
        "regret",
    ),
    ("-m", "dpregret", "compare", "kept", "kept"): (0, "claims in common: 0 exponents moved beyond their intervals"),
    ("-m", "dpregret", "verify", "kept"): (2, "kept: no SHA256SUMS"),
    ("-m", "dpregret", "--help"): (0, "advise"),
    ("-m", "dpregret", "run", "lou_cheung"): (2, "dpregret: no clone of dpregret: "),
    ("-m", "dpregret", "table", "lou_cheung"): (2, "dpregret: no clone of dpregret: "),
}


def packages(folder: Path) -> Path:
    """A fresh environment with the locked packages."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input"]
    for name, more in (("bootstrap", []), ("base", ["--no-build-isolation"])):
        subprocess.run([*pip, *more, "--require-hashes", "-r", ROOT / "requirements" / f"{name}.txt"], check=True)
    return next(folder.glob("lib/*/site-packages"))


def build(folder: Path, environment: dict[str, str]) -> Path:
    """The wheel of this tree, made from a copy."""
    copy = folder / "source"
    shutil.copytree(
        ROOT, copy, symlinks=True,
        ignore=shutil.ignore_patterns(".*", "build", "cache", "__pycache__", "*.egg-info"),
    )  # fmt: skip
    command = [sys.executable, "-m", "pip", "wheel", "-qq", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "--no-build-isolation", "-w", folder, copy], check=True, env=environment)
    return next(folder.glob("dpregret-*.whl"))


def main() -> int:
    """One line a call; exit code 1 when one did otherwise than it should."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--packages", type=Path, help="the site-packages of an environment")
    given = parser.parse_args().packages
    failed = 0
    with tempfile.TemporaryDirectory(prefix="dpregret-wheel-") as name:
        folder = Path(name)
        found = (given or packages(folder / "environment")).resolve()
        environment = {"PATH": os.environ["PATH"], "HOME": name, "PYTHONPATH": str(found), "LC_ALL": "C.UTF-8"}
        wheel = build(folder, environment)
        elsewhere = folder / "elsewhere"
        subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, elsewhere], check=True)
        shutil.copytree(ROOT / "results" / "reference" / "ci", folder / "kept")
        shutil.copy(ROOT / "docs" / "examples" / "my_noise.py", folder)
        environment["PYTHONPATH"] = f"{elsewhere}{os.pathsep}{found}"
        for words, (code, said) in CALLS.items():
            done = subprocess.run(
                [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            told = done.stdout + done.stderr
            fine = done.returncode == code and said in told and "Traceback" not in told
            failed += not fine
            print(
                f"{'as it should' if fine else 'OTHERWISE'}: python {' '.join(words)[:90]}"
                + ("" if fine else f"\n{told}")
            )
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
