"""What the ci profile combines: 20 rounds, and 20 steps of descents, in Python have the bits of compiled ones."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpregret.algorithms.bandits import batched_arms, linear_bandit, noisy_leader
from dpregret.algorithms.bandits.base import Given
from dpregret.algorithms.erm import mirror_descent
from dpregret.algorithms.erm.mirror_descent import MirrorDescent
from dpregret.algorithms.learner import play
from dpregret.algorithms.play import rounds
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Draws
from dpregret.workflows.plan.config import experiment_jobs
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.paper_names import PROFILES

ROUNDS, RUNS = 20, 3
SQUARE = 16**2  # rounds of a bandit: of batches of 16


def combined() -> Iterator[tuple[str, Any, Any, str, Any]]:
    """One play for each combination of state, loss and set: (name, experiment, learner's class, variant, cell)."""
    config, family, met = load_config(PROFILES / "ci.yaml"), FAMILIES["online"], set()
    for job in experiment_jobs(config):
        experiment = config.experiment(job.paper, job.experiment)
        kind = family.learners.get(job.learner) if experiment.family == "online" else None
        if kind is None or not kind.is_compiled():
            continue
        for cell in family.cells(experiment, kind.card):
            key = (kind.state, job.variant == "printed", cell.stream, cell.set_name)
            if key not in met and family.streams[cell.stream].data is None:
                met.add(key)
                yield f"{job.learner} on {cell.stream}, {cell.set_name}", experiment, kind, job.variant, cell


def played(experiment: Any, kind: Any, variant: str, cell: Any) -> tuple[Any, Any]:
    family = FAMILIES["online"]
    problem = family.problem(cell, experiment, Draws(7, RUNS, Path(), None))
    learner = family.learner(kind, problem, cell, experiment.model_copy(update={"runs": RUNS}), variant)
    made = [np.random.default_rng([1, run]) for run in range(RUNS)]
    noise = [np.random.default_rng([2, run]) for run in range(RUNS)]
    return learner, play(learner, problem.stream.rounds(made, ROUNDS), noise, [ROUNDS])


@pytest.mark.nightly
def test_python_plays_what_is_compiled(compiled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(combined())
    assert len(found) > 10
    for name, *settings in found:
        one, record = played(*settings)
        with monkeypatch.context() as patch:
            patch.setattr(rounds, "specialised", lambda function, *kinds: function)
            other, plain = played(*settings)
        np.testing.assert_array_equal(one.point, other.point, err_msg=name)
        np.testing.assert_array_equal(record.losses, plain.losses, err_msg=name)


def descents() -> Iterator[tuple[str, Any, Any, str, Any]]:
    """One fit for each combination of learner, risk and set."""
    config, family, met = load_config(PROFILES / "ci.yaml"), FAMILIES["erm"], set()
    for job in experiment_jobs(config):
        experiment = config.experiment(job.paper, job.experiment)
        kind = family.learners.get(job.learner) if experiment.family == "erm" else None
        if kind is None or not issubclass(kind, MirrorDescent):
            continue
        for cell in family.cells(experiment, kind.card):
            key = (kind, job.variant, cell.stream, cell.set_name)
            if key not in met:
                met.add(key)
                yield f"{job.learner} on {cell.stream}, {cell.set_name}", experiment, kind, job.variant, cell


def released(experiment: Any, kind: Any, variant: str, cell: Any) -> Any:
    family = FAMILIES["erm"]
    problem = family.problem(cell, experiment, Draws(7, RUNS, Path(), None))
    short = type(kind.__name__, (kind,), {"MAX_ITERATIONS": ROUNDS, "MAX_SAMPLES": ROUNDS})
    learner = family.learner(short, problem, cell, experiment.model_copy(update={"runs": RUNS}), variant)
    return learner.fit([np.random.default_rng([2, run]) for run in range(RUNS)])


@pytest.mark.nightly
def test_python_takes_the_steps_that_are_compiled(compiled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(descents())
    assert found
    for name, *settings in found:
        points = released(*settings)
        with monkeypatch.context() as patch:
            patch.setattr(mirror_descent, "specialised", lambda function, *kinds: function)
            np.testing.assert_array_equal(released(*settings), points, err_msg=name)


def bandits() -> Iterator[tuple[str, Any, Any, str, Any]]:
    """One play for each bandit learner, variant, loss and set."""
    config, family, met = load_config(PROFILES / "ci.yaml"), FAMILIES["bandits"], set()
    for job in experiment_jobs(config):
        experiment = config.experiment(job.paper, job.experiment)
        kind = family.learners.get(job.learner) if experiment.family == "bandits" else None
        for cell in [] if kind is None else family.cells(experiment, kind.card):
            key = (kind, job.variant, cell.stream, cell.set_name)
            if key not in met and family.streams[cell.stream].data is None:
                met.add(key)
                yield f"{job.learner} on {cell.stream}, {cell.set_name}", experiment, kind, job.variant, cell


def heard(experiment: Any, kind: Any, variant: str, cell: Any) -> Any:
    family, made = FAMILIES["bandits"], [[np.random.default_rng([k, run]) for run in range(RUNS)] for k in range(3)]
    cell = replace(cell, horizon=SQUARE)
    problem = family.problem(cell, experiment, Draws(7, RUNS, Path(), None))
    learner = family.learner(kind, problem, cell, experiment.model_copy(update={"runs": RUNS}), variant)
    return learner.play(Given(problem.stream.source(made[0]), *made[1:]))


@pytest.mark.nightly
def test_python_plays_the_bandits_that_are_compiled(compiled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(bandits())
    assert len(found) > 3
    for name, *settings in found:
        record = heard(*settings)
        with monkeypatch.context() as patch:
            for module in (noisy_leader, linear_bandit, batched_arms):
                patch.setattr(module, "specialised", lambda function, *kinds: function)
            plain = heard(*settings)
        np.testing.assert_array_equal(record.losses, plain.losses, err_msg=name)
        np.testing.assert_array_equal(record.clipped, plain.clipped, err_msg=name)
