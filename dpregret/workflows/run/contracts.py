"""The command `dpregret test ./my_study`: the learners and streams of a study against their contracts.

Each learner of the study plays the smallest cell of each experiment that names it, and each stream of online losses is
evaluated at random points of its set. Exit code 0: every contract is kept; 1: one is broken; 2: the study is wrong, one
line a mistake. Contracts of a learner are stated in `LEARNER`, contracts of a stream in `STREAM`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import pandas as pd

from dpregret import study
from dpregret.core import child, discovery
from dpregret.core.errors import ConfigError, one_line
from dpregret.core.learner_output import LearnerFault
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.interface import Draws, Experiment, Family
from dpregret.workflows.families.online import FIRST_RECORDED
from dpregret.workflows.plan.config import bounds_of_play
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.make import data_files
from dpregret.workflows.plan.read import PROFILES
from dpregret.workflows.run import store

ROUNDS: Final = 128
RUNS: Final = 3
POINTS: Final = 24
SEED: Final = 1
SLACK: Final = 1e-9
"""Of numbers that are equal up to rounding, relative to the size of what is compared."""
GAP: Final = 1e-8
"""Largest relative duality gap of a comparator."""
COINS: Final = 2500
"""Runs: a learner that moves a twentieth of its weight to the better of two experts beforehand is seen."""
DEVIATIONS: Final = 5.0
"""Standard deviations from the mean that fair coins never come to: once in 1.7 million tests."""
Check = Callable[["Played"], str | None]


class Played:
    """The plays of one learner variant on the smallest cell of an experiment; made when they are requested."""

    def __init__(self, family: Family[Any, Any, Any], experiment: Experiment, kind: Any, variant: str, data: Path):
        self.family, self.kind, self.variant, self.data = family, kind, variant, data
        self.small = smallest(experiment)
        self.usual = self.rows()

    def rows(self, runs: int = RUNS, **changes: Any) -> pd.DataFrame:
        """One row a setting, run and checkpoint. Raises LearnerFault."""
        experiment = self.small.model_copy(update={"runs": runs, **changes})
        rows = self.family.rows(experiment, self.kind, self.variant, Draws(SEED, runs, self.data))
        return rows[[name for name in rows if not str(name).startswith("seconds")]]


def smallest(experiment: Experiment) -> Experiment:
    """The experiment in its smallest dimension, with the longest horizon up to `ROUNDS`."""
    changes: dict[str, Any] = {
        "horizon": (max((size for size in experiment.horizon if size <= ROUNDS), default=ROUNDS),)
    }
    dimensions, windows = getattr(experiment, "dimension", None), getattr(experiment, "window", None)
    if isinstance(dimensions, tuple):
        changes["dimension"] = (min(dimensions),)
    if windows:
        changes["window"] = tuple(size for size in windows if size == "horizon" or size <= ROUNDS) or ("horizon",)
    return experiment.model_copy(update=changes)


def repeats(played: Played) -> str | None:
    """The same draws give the same rows."""
    same = played.rows().equals(played.usual)
    return None if same else "two plays with the same seed differ: draw from the generators that it is given only"


def keeps_runs_apart(played: Played) -> str | None:
    """A run does not change where more runs are played beside it."""
    fewer, usual = played.rows(RUNS - 1), played.usual
    same = np.array_equal(fewer["regret"], usual.loc[usual["run"] < RUNS - 1, "regret"])
    return None if same else "a run changes with the number of runs beside it: use its own generator and row only"


def keeps_settings_apart(played: Played) -> str | None:
    """A privacy setting, a budget with a window, does not change where another setting is played beside it."""
    several: dict[str, Any] = {"epsilon": (1.0, 4.0)} if played.kind.card.private else {}
    if getattr(played.small, "window", None):
        several["window"] = (4, 8)
    both, alone = (played.rows(**{name: each[first:] for name, each in several.items()}) for first in (0, -1))
    for name, each in several.items():
        both = both.loc[both[name] == each[-1]] if both[name].nunique() > 1 else both
    same = np.array_equal(both["regret"], alone["regret"])
    return None if same else "a privacy setting changes with the settings beside it: keep an entry a setting"


def serves_shorter(played: Played) -> str | None:
    """With `anytime` on the card, a play without noise is the beginning of every longer play."""
    if not (played.kind.card.anytime and played.family.anytime):
        return None
    (rounds,) = played.small.horizon
    half = 2 ** (max(rounds, 2 * FIRST_RECORDED).bit_length() - 2)  # a checkpoint of longer plays
    plays = [played.rows(epsilon=(math.inf,), horizon=(horizon,)) for horizon in (half, 2 * half)]
    first, second = (rows.loc[rows["checkpoint"] == half, "regret"] for rows in plays)
    same = np.allclose(first, second, rtol=SLACK, atol=SLACK * rounds)
    return None if same else "the first rounds depend on the horizon: write anytime=False on the card"


def keeps_budget(played: Played) -> str | None:
    """The accounted epsilon is at most the one that was requested."""
    over = played.usual.loc[played.usual["delivered_epsilon"] > played.usual["epsilon"] * (1 + 1e-6)]
    if over.empty or not played.kind.card.private:
        return None
    worst = over.iloc[0]
    return f"its accounted epsilon is {worst['delivered_epsilon']:.4g} where {worst['epsilon']:.4g} was asked for"


def bound_grows(played: Played) -> str | None:
    """The bound on regret does not fall from one checkpoint to the next."""
    for _, rows in played.usual.groupby(["epsilon", "run"], sort=False):
        bound = rows.sort_values("checkpoint")["bound"].to_numpy(dtype=float)
        if (np.diff(bound) < -SLACK * np.abs(bound[1:])).any():
            return f"bound() falls with the rounds: {bound[0]:.4g} ... {bound[-1]:.4g}"
    return None


def foresees_nothing(played: Played) -> str | None:
    """Fair coins cost half of the rounds, whatever is played before they fall; who looks ahead pays less."""
    if played.family.name != "experts":
        return None  # online learners and bandits are given a loss after their point was charged
    from dpregret.algorithms.experts.expert_learner import ExpertProblem
    from dpregret.algorithms.privacy import Budget
    from dpregret.datasets.expert_streams import ExpertBlock

    rounds = 41
    coins = np.random.default_rng(SEED).integers(0, 2, (rounds, COINS, 2)).astype(float)
    learner = played.kind(ExpertProblem(np.ones(2), rounds, 1.0), Budget(math.inf), COINS, played.variant)
    blocks = [ExpertBlock(coins[:17], 17), ExpertBlock(coins[17:], rounds - 17)]
    losses = learner.play(blocks, [np.random.default_rng([SEED, run]) for run in range(COINS)]).losses
    width = DEVIATIONS * math.sqrt(rounds / 4 / COINS)
    if abs(losses.mean() - rounds / 2) <= width:
        return None
    message = f"it loses {losses.mean():.3g} of {rounds} rounds on fair coins, half of them within {width:.3g} are fair"
    return f"{message}: charge what is played before the round's loss is used"


LEARNER: Final[Mapping[str, Check]] = {
    "equal draws, equal play": repeats, "runs apart": keeps_runs_apart, "settings apart": keeps_settings_apart,
    "anytime": serves_shorter, "budget": keeps_budget, "bound": bound_grows, "no look-ahead": foresees_nothing,
}  # fmt: skip
"""Contract -> what checks it. That points have the right type and shape and lie in the set, every play checks."""


def learner_faults(played: Played) -> Iterator[str]:
    """One line for each contract of a learner that is broken."""
    for name, check in LEARNER.items():
        try:
            message = check(played)
        except LearnerFault as fault:
            message = one_line(fault)
        if message:
            yield f"{name}: {message}"


def stream_faults(stream: Any, domain: Any) -> Iterator[str]:
    """One line for each contract of a stream of online losses that is broken.

    At random points x, y of the set: |g(x)| <= L; f(y) >= f(x) + <g(x), y - x> + mu |y - x|^2 / 2, which is convexity
    and a subgradient; f(y) <= f(x) + <g(x), y - x> + beta |y - x|^2 / 2 where it is smooth. No point does better than
    the comparator; a run's losses depend on its own generator only, and not on the horizon.
    """
    generator = np.random.default_rng(SEED)
    dimension, center = domain.dimension, domain.center()
    offsets = generator.standard_normal((POINTS, 2, dimension)) * domain.diameter
    x = domain.project(center + offsets * generator.random((POINTS, 1, 1)))
    y = x[generator.permutation(POINTS)]
    squared_distances = np.square(y - x).sum(axis=-1)

    def generators(count: int = 2) -> list[np.random.Generator]:
        return [np.random.default_rng([SEED, run]) for run in range(count)]

    totals, stays, steepest, below, above = np.zeros((POINTS, 2)), np.zeros(2), 0.0, 0.0, 0.0
    values = []
    for loss in stream.rounds(generators(), ROUNDS):
        fx, gradient = loss.value_and_gradient(x)
        fy = loss.value(y)
        if not (np.isfinite(fx).all() and np.isfinite(gradient).all()):
            yield "a loss or a gradient on the set is not finite"
            return
        size = 1.0 + np.abs(fx) + np.abs(fy)
        line = fx + (gradient * (y - x)).sum(axis=-1)
        steepest = max(steepest, float(np.sqrt(np.square(gradient).sum(axis=-1).max())))
        below = max(below, float(((line + 0.5 * stream.strong_convexity * squared_distances - fy) / size).max()))
        if math.isfinite(stream.smoothness):
            above = max(above, float(((fy - line - 0.5 * stream.smoothness * squared_distances) / size).max()))
        totals, stays = totals + fx, stays + loss.value(center)
        values.append(fx)
    if steepest > stream.lipschitz * (1 + SLACK):
        yield f"a gradient on the set has norm {steepest:.6g}, more than its lipschitz {stream.lipschitz:.6g}"
    if below > 1e-7:
        yield f"f(y) < f(x) + <g, y - x> + mu |y - x|^2 / 2 by {below:.2g}: gradient, or strong_convexity, is wrong"
    if above > 1e-7:
        yield f"f(y) > f(x) + <g, y - x> + beta |y - x|^2 / 2 by {above:.2g}: gradient, or smoothness, is wrong"
    best = stream.comparator(generators(), [ROUNDS])
    better = (best.losses[0] - totals.min(axis=0)) / (1 + np.abs(totals.min(axis=0)))
    if better.max() > GAP:
        yield f"a point of the set has a smaller total loss than the comparator, by {better.max():.2g} of it"
    if not np.allclose(best.stay[0], stays, rtol=1e-7, atol=1e-9):
        yield f"stay is {best.stay[0, 0]:.6g}, the losses of the set's center sum to {stays[0]:.6g}"
    if not (best.gaps <= GAP).all():
        yield f"the comparator's relative gap is {best.gaps.max():.2g}, at most {GAP:g} is allowed"
    others = [loss.value(x[:, :1]) for loss in stream.rounds(generators(1), ROUNDS // 2)]
    if not all(np.allclose(long[:, :1], short, rtol=1e-12) for long, short in zip(values, others, strict=False)):
        yield "the losses of a run change with the horizon or the runs beside it: use its own generator only"


def of_study(kind: Any) -> bool:
    """Whether a class is defined in a file of the study."""
    return study.FOLDER is not None and Path(inspect.getfile(kind)).is_relative_to(study.FOLDER)


def tested(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The tested classes, with the contracts that they break, in the order of experiments.yaml."""
    config = load_config(PROFILES / f"{study.PROFILE}.yaml")
    for settings in config.papers.values():
        for name, experiment in settings.experiments.items():
            family = FAMILIES[experiment.family]
            store.link(data_files(experiment), folder)
            for learner, variants in experiment.learners.items():
                kind = family.learners[learner]
                for variant in variants if of_study(kind) else ():
                    where = f"{where_defined(kind)}: {learner}.{variant} in {name}"
                    try:
                        yield where, list(learner_faults(Played(family, experiment, kind, variant, folder)))
                    except LearnerFault as fault:
                        yield where, [one_line(fault)]
            for stream in experiment.streams:
                kind = family.streams[stream]
                if family.name == "online" and of_study(kind):
                    reduced = smallest(experiment).model_copy(update={"streams": (stream,)})
                    card = family.learners[next(iter(experiment.learners))].card
                    cell = next(iter(family.cells(reduced, card)))
                    problem = family.problem(cell, reduced, Draws(SEED, 2, folder))
                    yield (
                        f"{where_defined(kind)}: {stream} in {name}",
                        list(stream_faults(problem.stream, problem.domain)),
                    )


def where_defined(kind: Any) -> str:
    """`algorithms/online/my_descent.py:16`: where a class of the study is; its name, where no line defines it."""
    file = Path(inspect.getfile(kind)).relative_to(study.FOLDER or "").as_posix()
    try:
        return f"{file}:{inspect.getsourcelines(kind)[1]}"
    except OSError:  # made by `type`
        return f"{file}: {kind.__name__}"


def main() -> int:
    """The command `dpregret test`: one line for what keeps its contracts, one line a contract that is broken."""
    return child.judged(_judged, "test", bounds_of_play())


def _judged() -> tuple[int, list[str]]:
    try:
        with TemporaryDirectory(prefix="dpregret-") as folder, discovery.unchanged_inputs("a file of the study"):
            results = list(tested(Path(folder)))
    except ConfigError as error:
        return child.REFUSED, [f"test: {line}" for line in error.problems]
    lines = [f"test: {where}: {fault}" for where, faults in results for fault in faults or ["keeps its contracts"]]
    if not results:
        return child.REFUSED, ["test: no experiment of the study has a learner or an online stream of the study"]
    return int(any(faults for _, faults in results)), lines
