"""How much work a job is, counted from its configuration: what the cost of a job is predicted from.

A job is a list of plays (cells). Each is counted in features, numbers of things that take time or memory: rounds,
coordinates moved, random numbers drawn. `workflows/growth.py` measures what one of each costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from dpregret.algorithms.erm.base import ErmProblem
from dpregret.algorithms.erm.sgd import NoisySgd
from dpregret.algorithms.privacy.prefix_sums import BLOCK as NOISE_BLOCK
from dpregret.datasets.base import BLOCK as LOSS_BLOCK
from dpregret.workflows.config import Config, Job
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families import erm as erm_family
from dpregret.workflows.families.bandits import BanditExperiment
from dpregret.workflows.families.base import Draws
from dpregret.workflows.families.erm import ErmExperiment
from dpregret.workflows.families.experts import ExpertExperiment
from dpregret.workflows.families.online import settings_of

FIXED_LOSSES = frozenset({"norm-kink", "realizable-quadratic", "drift"})  # nothing is drawn for a round
BLOCKWISE = frozenset({"halving", "halving-transient", "halving-slow", "lower-bound"})  # many rounds are one row
SQUARE_STATE = frozenset({"pqftl"})  # learners that move d^2 numbers a round


@dataclass(frozen=True)
class Play:
    """One cell of a job.

    where: column -> value, which rows of the results it left. loop: what the learner's own loop does; its rates are
    measured for `key`. around: what is done besides (data, comparator, curves, rows). memory: arrays held at once.
    shares: plays of one cell that the measured seconds are divided by.
    """

    kind: str
    key: str
    stream: str
    where: Mapping[str, Any]
    loop: Mapping[str, float]
    around: Mapping[str, float]
    memory: Mapping[str, float]
    shares: float
    iterations: float = field(default=math.nan)


def plays(config: Config, job: Job) -> list[Play]:
    """Every cell of a job, counted; none of a family that nobody measured."""
    experiment = config.experiment(job.paper, job.experiment)
    if isinstance(experiment, ErmExperiment):
        return list(_erm_plays(experiment, job))
    if isinstance(experiment, ExpertExperiment):
        return list(_expert_plays(experiment, job))
    if isinstance(experiment, BanditExperiment):
        return list(_bandit_plays(experiment, job))
    return list(_online_plays(experiment, job)) if experiment.family == "online" else []


def _online_plays(experiment: Any, job: Job) -> Iterator[Play]:
    card = FAMILIES["online"].learners[job.learner].card
    runs = experiment.runs
    for cell in FAMILIES["online"].cells(experiment, card):
        settings = settings_of(experiment, card, cell.horizon)
        many, rounds, size = len(settings), cell.horizon, cell.dimension
        mechanisms = len({setting.window for setting in settings}) if card.private else 0
        random = cell.stream not in FIXED_LOSSES
        loop = {
            "rounds": rounds,
            "loss numbers": rounds * runs * size * random,
            "noise numbers": rounds * runs * size * mechanisms,
            "rows": rounds * many * runs,
            "coordinates": rounds * many * runs * size,
        }
        if job.learner in SQUARE_STATE:
            loop["square coordinates"] = rounds * many * runs * size**2
        around = {f"rounds {cell.stream}": rounds * random, f"numbers {cell.stream}": rounds * runs * size * random}
        memory = {
            "state": _MB * many * runs * size,
            "noise block": _MB * NOISE_BLOCK * many * runs * size * (mechanisms > 0),
            "loss block": _MB * LOSS_BLOCK * runs * size * random,
            "curve": _MB * rounds,
            "curves": _MB * many * rounds,
        }
        table = many * runs * len(cell.checkpoints)
        where = {"set": cell.set_name, "stream": cell.stream, "dimension": size, "horizon": rounds}
        key = f"{job.learner} {cell.set_name}"
        yield _play("online", key, cell.stream, where, loop, around, memory, rounds * runs * many, table, many * rounds)


def _erm_plays(experiment: ErmExperiment, job: Job) -> Iterator[Play]:
    card, runs = FAMILIES["erm"].learners[job.learner].card, experiment.runs
    private = card.private
    many = len(experiment.epsilon) if private else 1
    epsilons = experiment.epsilon if private else (math.inf,)
    for cell in FAMILIES["erm"].cells(experiment, card):
        size, records = cell.dimension, cell.samples
        steps = _iterations(cell, job.learner, job.variant, epsilons, experiment.delta)
        loop = {
            "fits": many,
            "rows": many * runs,
            "coordinates": many * runs * size,
            "steps": steps,
            "step rows": steps * runs,
            "step coordinates": steps * runs * size,
        }
        around = {
            f"numbers {cell.risk}": runs * size,
            f"records {cell.risk}": records,
            f"record numbers {cell.risk}": runs * records * size * (cell.risk in RAW_RISKS),
        }
        memory = {"state": _MB * many * runs * size, "data": _MB * runs * size, "steps": _MB * steps}
        where = {
            **{"set": cell.set_name, "stream": cell.risk, "dimension": size, "horizon": records},
            **dict(cell.options),
        }
        key = f"{job.learner} {cell.set_name} {cell.risk}"
        yield _play("erm", key, cell.risk, where, loop, around, memory, runs * many, many * runs, 0, steps)


COSTLY_RISKS, FEW = frozenset({"lasso-easy"}), 4096  # many records take a minute to make, and decide no constant
RAW_RISKS = frozenset({"lasso-easy", "fingerprint"})  # made record by record, not from sums in closed form


def _iterations(cell: erm_family.Cell, learner: str, variant: str, epsilons: tuple[float, ...], delta: float) -> float:
    """Steps of all settings: by the learner's own formula; one a fit where only the fit, or a file, tells."""
    if FAMILIES["erm"].streams[cell.risk].data is not None:
        return len(epsilons)
    if learner == "noisy-sgd":  # the same formula, without its accountant, which takes seconds
        if variant == "sampled":
            return sum(min(cell.samples**2, NoisySgd.MAX_SAMPLES) for _ in epsilons)
        learner = "noisy-gd"
    return _formula(cell, learner, variant, epsilons, delta)


@lru_cache(maxsize=4096)
def _formula(cell: erm_family.Cell, learner: str, variant: str, epsilons: tuple[float, ...], delta: float) -> float:
    import numpy as np

    from dpregret.algorithms.geometry import make_set
    from dpregret.algorithms.privacy import Budget
    from dpregret.datasets.risks import make_risk

    kind = FAMILIES["erm"].learners[learner]
    name = variant if variant in kind.card.variants else next(iter(kind.card.variants))
    domain = make_set(cell.set_name, cell.dimension)
    records = min(cell.samples, FEW) if cell.risk in COSTLY_RISKS else cell.samples
    risk = make_risk(cell.risk, domain, records, [np.random.default_rng(0)], **dict(cell.options))
    risk.samples = cell.samples
    built = kind(ErmProblem(domain, risk), [Budget(epsilon, delta) for epsilon in epsilons], 1, name)
    return float(sum(max(1, steps) for steps in built.iterations()))


def _expert_plays(experiment: ExpertExperiment, job: Job) -> Iterator[Play]:
    card, runs = FAMILIES["experts"].learners[job.learner].card, experiment.runs
    for cell in FAMILIES["experts"].cells(experiment, card):
        problem = FAMILIES["experts"].problem(cell, experiment, Draws(0, 1))
        groups, rounds = len(problem.told.sizes), cell.horizon
        varied = cell.stream not in BLOCKWISE
        loop = {
            "plays": 1,
            "rows": runs,
            "phases": runs * groups * (not varied),
            "rounds": rounds,
            "groups": rounds * groups,
            "round rows": rounds * runs,
            "coordinates": rounds * runs * groups,
        }
        if job.learner in EVENTFUL and not varied:
            loop = {name: loop[name] for name in ("plays", "rows", "phases")}
        around = {"plays": 1, "rows": runs, f"numbers {cell.stream}": rounds * runs * groups * varied}
        memory = {"state": _MB * runs * groups, "rounds": _MB * min(rounds, 2**22 // max(1, runs * groups)) * groups}
        where = {"stream": cell.stream, "dimension": cell.experts, "horizon": rounds, "epsilon": cell.epsilon}
        if cell.best_loss is not None:
            where["best_loss"] = cell.best_loss
        where |= dict(cell.options)
        key = f"{job.learner} {'rounds' if varied else 'phases'}"
        yield _play("experts", key, cell.stream, where, loop, around, memory, rounds * runs, runs, 0)


EVENTFUL = frozenset({"sparse-vector"})  # cost by draw, not by round, where losses come in phases


def _bandit_plays(experiment: BanditExperiment, job: Job) -> Iterator[Play]:
    card, runs = FAMILIES["bandits"].learners[job.learner].card, experiment.runs
    many = len(experiment.epsilon) if card.private else 1
    for cell in FAMILIES["bandits"].cells(experiment, card):
        rounds, size = cell.horizon, cell.dimension
        loop = {
            "batches": math.sqrt(rounds),
            "rounds": rounds,
            "rows": rounds * many * runs,
            "coordinates": rounds * many * runs * size,
        }
        around = {f"rounds {cell.stream}": rounds, f"numbers {cell.stream}": rounds * runs * size}
        memory = {"state": _MB * many * runs * size * NOISE_BLOCK}
        where = {"set": cell.set_name, "stream": cell.stream, "dimension": size, "horizon": rounds}
        key = f"{job.learner}.{job.variant} {cell.set_name}"
        yield _play("bandits", key, cell.stream, where, loop, around, memory, rounds * runs * many, many * runs, 0)


_MB = 8 / 2**20


def _play(
    kind: str,
    key: str,
    stream: str,
    where: Mapping[str, Any],
    loop: Mapping[str, float],
    around: Mapping[str, float],
    memory: Mapping[str, float],
    shares: float,
    table: float,
    curves: float,
    iterations: float = math.nan,
) -> Play:
    """A play with what all kinds share: rows of the table, and curves of one number a round."""
    around = {**around, "table rows": table, "curves": curves}
    memory = {**memory, "table": table / 2**10}
    return Play(kind, key, stream, where, loop, around, memory, shares, iterations)
