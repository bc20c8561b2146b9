"""How cost grows with the horizon; the fixed price of a round; memory."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bench_problems import Case, Size, every, home, one_pass
from bench_race import Race
from scipy import stats

from dpregret.algorithms.catalogue import learners

SWEEPS = {
    "online": (512, 1024, 2048, 4096, 8192), "experts": (1024, 2048, 4096, 8192, 16384),
    "bandits": (1024, 4096, 9216, 16384), "erm": (512, 1024, 2048, 4096, 8192),
}  # fmt: skip
"""Horizons a doubling apart (squares, for bandits); the largest takes a fraction of a second."""
BASES = {"online": Size(4, 16, 64), "experts": Size(4, 16, 1024), "bandits": Size(4, 2, 1024), "erm": Size(4, 16, 128)}
TINY = {"online": (64, 128), "experts": (64, 128), "bandits": (256, 1024), "erm": (4, 8)}
"""Horizons where nobody looks at the times."""
DEAR = {"noisy-nuclear", "noisy-grouped", "noisy-qnorm", "wdp-cocop-solver", "net-sparse-vector",
        "sampled-sparse-vector", "pqftl", "tree-counters", "chaudhuri", "objective-perturbation"}  # fmt: skip
"""Learners whose cost grows too fast for these sweeps, or that have only few sizes: overhead alone."""
LAPS = 5
LEAST, LONGER = 0.1, 16
"""Seconds that the longest play of a sweep of horizons should take, so that its start weighs little; at most so many
times the horizons above."""


def slope(sizes: list[float], seconds: list[float]) -> tuple[float, float, float]:
    """Least-squares exponent with its 95 % interval, from the scatter of the cells about the line."""
    if len(set(sizes)) < 3:
        return math.nan, math.nan, math.nan
    fit = stats.linregress(np.log(sizes), np.log(np.maximum(seconds, 1e-9)))
    half = float(stats.t.ppf(0.975, len(sizes) - 2)) * float(fit.stderr)
    return float(fit.slope), float(fit.slope) - half, float(fit.slope) + half


def smallest(family: str, name: str) -> Size:
    """One run in one dimension, or the least that the learner's set has: nearly all that is left is Python."""
    domain = home(family, name)
    flat = 4 if domain == "nuclear" else 1 if family in ("online", "erm") and domain == "ball" else 2
    return Size(1, flat, {"bandits": 4096, "experts": 2048}.get(family, 512))


def sweeps() -> list[tuple[str, str]]:
    """What is swept: T is the number of iterations where a learner of a risk has a cap on it, or of fresh records."""
    has_rounds = {name for name, kind in learners("erm").items() if one_pass(kind) or hasattr(kind, "MAX_ITERATIONS")}
    found = [each for family in SWEEPS for each in every(family)]
    return [(family, name) for family, name in found if name not in DEAR and (family != "erm" or name in has_rounds)]


@pytest.mark.nightly
@pytest.mark.parametrize(("family", "name"), sweeps())
def test_growth(race: Race, family: str, name: str) -> None:
    """CPU seconds of whole plays, best of a few laps over all horizons in turn."""
    # a budget that lets a private learner of a risk go on so long
    base = replace(BASES[family], epsilons=(1000.0 if family == "erm" else 8.0,))
    sizes: tuple[int, ...] = SWEEPS[family]
    if race.quick:
        sizes, base = TINY[family], replace(base, runs=3, dimension=2)
    else:
        spent = Case(family, name, replace(base, rounds=sizes[-1])).play()
        times = min(LONGER, 4 ** max(0, math.ceil(math.log(LEAST / max(spent, 1e-9), 4))))  # squares stay squares
        sizes = tuple(times * each for each in sizes)
    cases = [Case(family, name, replace(base, rounds=each)) for each in sizes]
    laps = race.seconds(*(case.play for case in cases), rounds=LAPS)
    sizes = tuple(int(case.steps / case.size.runs) if family == "erm" else case.size.rounds for case in cases)
    exponent, low, high = slope(list(map(float, sizes)), [min(lap) for lap in laps])
    held = f"{cases[0].size.runs} runs, d = {cases[0].size.dimension}"
    race.note(
        "growth", learner=name, family=family, parameter="T", condition=f"{sizes[0]} to {sizes[-1]}; {held}",
        exponent=exponent, low=low, high=high,
    )  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize(("family", "name"), [each for family in SWEEPS for each in every(family)])
def test_overhead(race: Race, family: str, name: str) -> None:
    """A round of the smallest problem: what NumPy's and Python's calls cost, before any numbers are many."""
    case = Case(family, name, replace(smallest(family, name), **({"rounds": 256, "runs": 3} if race.quick else {})))
    (spent,) = race.seconds(case.play, rounds=25)  # no ratio: only many laps find a quiet one
    rounds = case.steps / case.size.runs
    race.note(
        "overhead", learner=name, family=family, condition=str(case.size), rounds=rounds,
        microseconds=1e6 * min(spent) / rounds,
    )  # fmt: skip


PROBE = """
import sys
sys.path.insert(0, sys.argv[1])
from bench_problems import Case, Size
rounds, window = int(sys.argv[2]), int(sys.argv[3])
case = Case("online", "wdp-cocop-gaussian", Size(8, 16, rounds, "ball", window=window), lazy=True)
case.play()
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def peak(folder: str, rounds: int, window: int) -> int:
    """Peak resident kibibytes of a fresh interpreter that plays `rounds` rounds.

    As the kernel counts it for the new program: what getrusage says includes the process that started it.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROBE, folder, str(rounds), str(window)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.nightly
@pytest.mark.parametrize("window", [256, 2**20])
def test_memory(race: Race, request: pytest.FixtureRequest, window: int) -> None:
    """Peak of a fresh process at T = 2^20 against T = 2^14."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc")
    short, long = (2**6, 2**6) if race.quick else (2**14, 2**20)
    found: dict[int, int] = {}
    folder = str(request.path.parent)
    race.benchmark.pedantic(
        lambda: found.update((each, peak(folder, each, window)) for each in {short, long}), rounds=1
    )
    race.note(
        "ratios", group="memory", what=f"peak memory of wdp-cocop-gaussian, W = {window}",
        condition=f"8 runs, d = 16, T = {long} against T = {short}; {found[long] / 1024:.0f} MiB against "
        f"{found[short] / 1024:.0f} MiB", ratio=found[long] / found[short], median=None, target=1.1, microseconds=None,
    )  # fmt: skip
