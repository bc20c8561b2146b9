"""How much work a job is, counted from its configuration: rounds, numbers moved, and the memory of its arrays."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.sgd import NoisySgd
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.privacy import Budget
from dpregret.algorithms.privacy.prefix_sums import BLOCK as NOISE_BLOCK
from dpregret.datasets.base import BLOCK as LOSS_BLOCK
from dpregret.datasets.risks import make_risk
from dpregret.workflows import bandit_job, erm_job, expert_job, online_job
from dpregret.workflows.registry import DATA_RISKS, load_registry

MB = 8 / 2**20  # of one number
FIXED_LOSSES = frozenset({"norm-kink", "realizable-quadratic", "drift"})  # nothing is drawn for a round


class Counts(NamedTuple):
    """Rounds of the outer loop, numbers that these rounds move, and megabytes of arrays that are held at once."""

    rounds: float
    numbers: float
    memory_mb: float


def work(experiment: Any, kind: Any, variant: str) -> Counts:
    """The work of one job: all cells of one learner variant."""
    count = {"online": _online, "erm": _erm, "experts": _experts, "bandits": _bandits}[experiment.family]
    cells = count(experiment, kind, variant)
    rounds, numbers, memory = zip(*cells, strict=True)
    return Counts(sum(rounds), sum(numbers), max(memory))


def _online(experiment: Any, kind: Any, variant: str) -> list[Counts]:
    """A round moves (settings, runs, d) numbers, d times as many where d x d matrices are kept."""
    counted = []
    for cell in online_job.cells(experiment, kind.card):
        many = len(online_job.settings_of(experiment, kind.card, cell.horizon))
        points = many * experiment.runs * cell.dimension
        square = cell.dimension if "quadratic" in kind.card.needs else 1
        drawn = LOSS_BLOCK * experiment.runs * cell.dimension * (cell.stream not in FIXED_LOSSES)
        blocks = 4 * NOISE_BLOCK * points * kind.card.private + 3 * drawn
        curves = 4 * (many + 1) * cell.horizon + 60 * many * experiment.runs * len(cell.checkpoints)
        counted.append(Counts(cell.horizon, cell.horizon * points * square, MB * (blocks + curves)))
    return counted


def _erm(experiment: Any, kind: Any, variant: str) -> list[Counts]:
    """A round is a step of one setting."""
    epsilons = experiment.epsilon if kind.card.private else (math.inf,)
    counted = []
    for cell in erm_job.cells(experiment):
        steps, points = _steps(cell, kind, variant, epsilons, experiment.delta), experiment.runs * cell.dimension
        memory = MB * (12 * points * len(epsilons) + 5 * steps)
        counted.append(Counts(steps, steps * points, memory))
    return counted


@lru_cache(maxsize=4096)
def _steps(cell: erm_job.Cell, kind: Any, variant: str, epsilons: tuple[float, ...], delta: float) -> float:
    """Steps of all settings, by the learner's own formula; one a fit where only the data tell."""
    if cell.risk in DATA_RISKS:
        return len(epsilons)
    if kind is NoisySgd and variant == "sampled":  # its accountant takes seconds
        return len(epsilons) * min(cell.samples**2, NoisySgd.MAX_SAMPLES)
    domain = make_set(cell.set_name, cell.dimension)
    few = min(cell.samples, 4096) if cell.risk == "lasso-easy" else cell.samples  # many take a minute to make
    risk = make_risk(cell.risk, domain, few, [np.random.default_rng(0)], **dict(cell.options))
    risk.samples = cell.samples
    built = kind(ErmProblem(domain, risk), [Budget(epsilon, delta) for epsilon in epsilons], 1, variant)
    return float(sum(max(1, steps) for steps in built.iterations()))


EVENTFUL = frozenset({"sparse-vector", "adaptive-sparse-vector"})  # cost by draw, not by round
PLAY = 500  # rounds that starting a play is worth
BLOCKWISE = frozenset({"halving", "halving-transient", "halving-slow", "lower-bound"})  # many rounds are one row


def _experts(experiment: Any, kind: Any, variant: str) -> list[Counts]:
    """Streams of few distinct rows are played row by row; others round by round, a number a run."""
    counted = []
    for cell in expert_job.cells(experiment, kind.card.private):
        stream = load_registry().try_expert_stream(
            cell.stream, cell.experts, cell.horizon, cell.epsilon, cell.best_loss, dict(cell.options)
        )
        groups, varied = len(getattr(stream, "sizes", ())), cell.stream not in BLOCKWISE
        numbers = cell.horizon * (10 * experiment.runs if varied else groups)
        if kind.card.name in EVENTFUL:
            numbers = experiment.runs * (groups + 2)
        block = min(cell.horizon * groups * experiment.runs, 2**22)
        counted.append(Counts(PLAY + cell.horizon * varied, numbers, 6 * MB * block))
    return counted


def _bandits(experiment: Any, kind: Any, variant: str) -> list[Counts]:
    """A round moves (settings, runs, d) numbers, but only the about sqrt(T) batches ask an oracle."""
    many = (len(experiment.epsilon) if kind.card.private else 1) * experiment.runs
    return [
        Counts(
            math.sqrt(cell.horizon),
            cell.horizon * many * cell.dimension,
            MB * NOISE_BLOCK * many * cell.dimension,
        )
        for cell in bandit_job.cells(experiment)
    ]
