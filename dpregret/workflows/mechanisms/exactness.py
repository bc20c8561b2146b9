"""The cost of exact noise for WDP-COCOP: `python -m dpregret.workflows.mechanisms.exactness` (a minute or two).

The learner is played with noise in floating point and with sums released from whole numbers (`integer_sums.py`), on the
same losses, for the window tree and the window root. Written to results/reference/exactness.csv, which
docs/proofs/window_optimum.md cites.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Loss, Problem, Setting, play
from dpregret.algorithms.online.noise import gradient_sums
from dpregret.algorithms.online.wdp_cocop import WdpCocopGaussian
from dpregret.algorithms.privacy import Budget, PrefixSums, WindowRoot, WindowTree, unit_noise
from dpregret.algorithms.privacy.integer_sums import Grid, WholeSums, WholeWindowRoot, WholeWindowTree, fill
from dpregret.datasets.streams import make_stream
from dpregret.numerics.arrays import Array
from dpregret.workflows.run.seeds import generators

TABLE = Path(__file__).resolve().parents[3] / "results" / "reference" / "exactness.csv"
MECHANISMS: dict[str, tuple[type[WindowTree] | type[WindowRoot], type[WholeSums]]] = {
    "window tree": (WindowTree, WholeWindowTree),
    "window root": (WindowRoot, WholeWindowRoot),
}
STREAM, DIMENSION, DELTA = "random-kink", 4, 1e-6
WINDOWS, EPSILONS, HORIZON, RUNS = (16, 64, 256), (1.0, 8.0), 2**14, 64
DATA, SEED = f"data {STREAM} ball {DIMENSION}", 1
Generators = list[np.random.Generator]


class FloatingLeader(WdpCocopGaussian):
    """WDP-COCOP with a mechanism of one's choice."""

    def __init__(self, problem: Problem, settings: Sequence[Setting], runs: int, mechanism: PrefixSums):
        super().__init__(problem, settings, runs, "corrected")
        self.noise_plan = gradient_sums(self.distribution, [mechanism], problem, settings)


class WholeLeader(WdpCocopGaussian):
    """The same learner on sums that are released from whole numbers; one setting."""

    def __init__(self, problem: Problem, setting: Setting, sums: type[WholeSums], generators: Generators):
        super().__init__(problem, [setting], len(generators), "corrected")
        self.noise_plan = None
        self.grid = Grid(problem.lipschitz, problem.domain.dimension)
        # roundings come from generators of their own
        self.chances = [each.spawn(1)[0] for each in generators]
        self.sums = sums(setting.window, setting.budget, self.grid, generators)
        self.points = np.zeros_like(self.point)

    def observe(self, loss: Loss, gradient: Array, noise: Array | None) -> None:
        """x_{t+1} = Proj( (sum x_s - (released sum) / mu) / t )."""
        chances = np.stack([each.random(gradient.shape[-1]) for each in self.chances])
        released = self.sums.observe(self.grid.round(gradient[0], chances))
        self.points += self.point
        self.point = self.domain.project((self.points - released / self.strong_convexity) / self.round)


@dataclass(frozen=True)
class Case:
    """A mechanism, a window and a budget, and how long to play."""

    mechanism: str
    window: int
    epsilon: float
    horizon: int = HORIZON
    runs: int = RUNS

    def measure(self) -> dict[str, object]:
        """A row of the table."""
        domain = make_set("ball", DIMENSION)
        stream = make_stream(STREAM, domain)
        problem = Problem(domain, self.horizon, stream.lipschitz, stream.strong_convexity, stream.smoothness)
        setting = Setting(self.window, Budget(self.epsilon, DELTA))
        floating, whole = MECHANISMS[self.mechanism]
        comparator = stream.comparator(generators(SEED, DATA, self.runs), [self.horizon])
        twin = FloatingLeader(problem, [setting], self.runs, floating(self.window))
        exact = WholeLeader(problem, setting, whole, generators(SEED, "noise", self.runs))
        assert twin.noise_plan is not None
        scale = twin.noise_plan.scales[0]
        regrets, seconds = [], []
        for learner in (twin, exact):
            losses = stream.rounds(generators(SEED, DATA, self.runs), self.horizon)
            record = play(learner, losses, generators(SEED, "noise", self.runs), [self.horizon])
            regrets.append(record.losses[0, :, 0] - comparator.losses[0])
            seconds.append(record.seconds)
        ratio, half = ratio_of_means(regrets[1], regrets[0])
        sums = exact.sums
        bits = sums.bits if isinstance(sums, WholeWindowRoot) else 0
        return {
            "mechanism": self.mechanism, "window": self.window, "epsilon": self.epsilon, "horizon": self.horizon,
            "runs": self.runs, "scale": sums.scale, "bits": bits,
            "deviation_ratio": round(sums.scale * exact.grid.step / 2**bits / scale, 6),
            "regret_floating": round(float(regrets[0].mean()), 4), "regret_exact": round(float(regrets[1].mean()), 4),
            "regret_ratio": round(ratio, 4), "half_width": round(half, 4),
            "cpu_ratio": round(seconds[1] / seconds[0], 2),
        }  # fmt: skip


def ratio_of_means(over: Array, under: Array) -> tuple[float, float]:
    """mean(over) / mean(under) of paired runs, and half of its 95 % interval by the delta method."""
    ratio = float(over.mean() / under.mean())
    spread = (over - ratio * under).std(ddof=1) / math.sqrt(len(over)) / abs(under.mean())
    return ratio, float(1.96 * spread)


def price_of_a_number(scale: int = 2**24, laps: int = 9) -> tuple[float, float]:
    """Nanoseconds of an exact number and of one in floating point, in turn, best of several."""
    own = generators(SEED, "time", 1)

    def clock(body: Callable[[], object]) -> float:
        started = process_time()
        body()
        return (process_time() - started) / 2**16 * 1e9

    contests = (lambda: fill(own, scale, 2**12, 16), lambda: unit_noise("gaussian", own, 2**12, 16))
    times = [[clock(body) for body in contests] for _ in range(laps)]
    return min(each[0] for each in times), min(each[1] for each in times)


def main() -> int:
    """Write the table."""
    for name in MECHANISMS:  # compiled code is loaded before anything is timed
        for window in WINDOWS:
            Case(name, window, 1.0, horizon=256, runs=2).measure()
    rows = [Case(name, window, epsilon).measure() for name in MECHANISMS for window in WINDOWS for epsilon in EPSILONS]
    exact, floating = price_of_a_number()
    table = pd.DataFrame(rows).assign(number_ns=round(exact), floating_number_ns=round(floating, 1))
    table.to_csv(TABLE, index=False, lineterminator="\n")
    print(table.to_string(), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
