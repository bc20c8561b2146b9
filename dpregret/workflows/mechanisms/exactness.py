"""The cost of exact noise for WDP-COCOP: `python -m dpregret.workflows.mechanisms.exactness` (a minute or two).

The learner is played with noise in floating point and with sums released from whole numbers (`integer_sums.py`), on the
same losses, for the window tree and the window root. Written to results/reference/exactness.csv, which
docs/proofs/window_optimum.md cites.
"""

import math
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Loss, Problem, Setting, play
from dpregret.algorithms.online.wdp_cocop import WdpCocopGaussian
from dpregret.algorithms.privacy import Budget, unit_noise
from dpregret.algorithms.privacy.integer_sums import Grid, WholeSums, WholeWindowRoot, WholeWindowTree, fill
from dpregret.datasets.streams import make_stream
from dpregret.numerics.arrays import Array
from dpregret.workflows.families.base import generators

TABLE = Path(__file__).resolve().parents[3] / "results" / "reference" / "exactness.csv"
MECHANISMS: dict[str, tuple[str, type[WholeSums]]] = {
    "window tree": ("corrected", WholeWindowTree),
    "window root": ("root", WholeWindowRoot),
}
"""The variant in floating point, and the sums from whole numbers."""
STREAM, DIMENSION, DELTA = "random-kink", 4, 1e-6
WINDOWS, EPSILONS, HORIZON, RUNS = (16, 64, 256), (1.0, 8.0), 2**14, 64
DATA, SEED = f"data {STREAM} ball {DIMENSION}", 1


class WholeLeader(WdpCocopGaussian):
    """WDP-COCOP on sums that are released from whole numbers; one setting."""

    def __init__(self, problem: Problem, setting: Setting, sums: type[WholeSums], sources: list[np.random.Generator]):
        super().__init__(problem, [setting], len(sources), "corrected")
        self.noise_plan = None
        self.grid = Grid(problem.lipschitz, problem.domain.dimension)
        # roundings come from generators of their own
        self.chances = [each.spawn(1)[0] for each in sources]
        self.sums = sums(setting.window, setting.budget, self.grid, sources)
        self.points = np.zeros_like(self.point)

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """x_{t+1} = Proj( (sum x_s - (released sum) / mu) / t )."""
        chances = np.stack([each.random(gradient.shape[-1]) for each in self.chances])
        released = self.sums.observe(self.grid.round(gradient[0], chances))
        self.points += self.point
        self.point = self.domain.project((self.points - released / self.strong_convexity) / self.round)


def measure(
    mechanism: str, window: int, epsilon: float, horizon: int = HORIZON, runs: int = RUNS
) -> dict[str, str | float]:
    """A row of the table."""
    domain = make_set("ball", DIMENSION)
    stream = make_stream(STREAM, domain)
    problem = Problem(domain, horizon, stream.lipschitz, stream.strong_convexity, stream.smoothness)
    setting = Setting(window, Budget(epsilon, DELTA))
    variant, sums = MECHANISMS[mechanism]
    comparator = stream.comparator(generators(SEED, DATA, runs), [horizon])
    twin = WdpCocopGaussian(problem, [setting], runs, variant)
    exact = WholeLeader(problem, setting, sums, generators(SEED, "noise", runs))
    assert twin.noise_plan is not None
    regrets, seconds = [], []
    for learner in (twin, exact):
        losses = stream.rounds(generators(SEED, DATA, runs), horizon)
        record = play(learner, losses, generators(SEED, "noise", runs), [horizon])
        regrets.append(record.losses[0, :, 0] - comparator.losses[0])
        seconds.append(record.seconds)
    ratio, half = ratio_of_means(regrets[1], regrets[0])
    bits = exact.sums.bits if isinstance(exact.sums, WholeWindowRoot) else 0
    deviation = exact.sums.scale * exact.grid.step / 2**bits
    return {
        "mechanism": mechanism,
        "window": window,
        "epsilon": epsilon,
        "horizon": horizon,
        "runs": runs,
        "scale": exact.sums.scale,
        "bits": bits,
        "deviation_ratio": round(deviation / twin.noise_plan.scales[0], 6),
        "regret_floating": round(float(regrets[0].mean()), 4),
        "regret_exact": round(float(regrets[1].mean()), 4),
        "regret_ratio": round(ratio, 4),
        "half_width": round(half, 4),
        "cpu_ratio": round(seconds[1] / seconds[0], 2),
    }


def ratio_of_means(over: Array, under: Array) -> tuple[float, float]:
    """mean(over) / mean(under) of paired runs, and half of its 95 % interval by the delta method."""
    ratio = float(over.mean() / under.mean())
    spread = (over - ratio * under).std(ddof=1) / math.sqrt(len(over)) / abs(under.mean())
    return ratio, float(1.96 * spread)


def price_of_a_number() -> tuple[float, float]:
    """Nanoseconds of an exact number and of one in floating point, in turn, best of several."""
    sources = generators(SEED, "time", 1)

    def clock(body: Callable[[], object]) -> float:
        started = process_time()
        body()
        return (process_time() - started) / 2**16 * 1e9

    contests = (lambda: fill(sources, 2**24, 2**12, 16), lambda: unit_noise("gaussian", sources, 2**12, 16))
    times = [[clock(body) for body in contests] for _ in range(9)]
    return min(each[0] for each in times), min(each[1] for each in times)


def main() -> int:
    """Write the table."""
    for name in MECHANISMS:  # compiled code is loaded before anything is timed
        for window in WINDOWS:
            measure(name, window, 1.0, horizon=256, runs=2)
    rows = [measure(name, window, epsilon) for name in MECHANISMS for window in WINDOWS for epsilon in EPSILONS]
    exact, floating = price_of_a_number()
    table = pd.DataFrame(rows).assign(number_ns=round(exact), floating_number_ns=round(floating, 1))
    table.to_csv(TABLE, index=False, lineterminator="\n")
    print(table.to_string(), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
