"""What the full profile combines (of bandits, ci): in Python 20 rounds or steps have the bits of compiled loops."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import generators

from dpregret.algorithms import learner as loops
from dpregret.algorithms.bandits import batched_arms, linear_bandit, noisy_leader
from dpregret.algorithms.bandits.bandit_learner import Given
from dpregret.algorithms.erm import mirror_descent
from dpregret.algorithms.erm.mirror_descent import MirrorDescent
from dpregret.algorithms.learner import play
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.interface import Draws
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.read import PROFILES

ROUNDS, RUNS = 20, 3
SQUARE = 16**2  # rounds of a bandit: of batches of 16
Key = Callable[[Any, str, Any], Any]


def combined(family: str, key: Key) -> Iterator[tuple[str, Any, Any, str, Any]]:
    """One play for each key that is not None: (name, experiment, learner's class, variant, cell)."""
    config = load_config(PROFILES / ("ci.yaml" if family == "bandits" else "full.yaml"), check=False)
    held, met = FAMILIES[family], set()
    experiments = [each for paper in config.papers.values() for each in paper.experiments.values()]
    jobs = [(each, *job) for each in experiments if each.family == family for job in each.learners.items()]
    for experiment, learner, variant in ((each, name, variant) for each, name, own in jobs for variant in own):
        kind = held.learners[learner]
        for cell in held.cells(experiment, kind.card):
            found = (key(kind, variant, cell), cell.stream, cell.set_name)
            if found[0] is not None and found not in met and held.streams[cell.stream].data is None:
                met.add(found)
                yield f"{learner} on {cell.stream}, {cell.set_name}", experiment, kind, variant, cell


def made(family: str, experiment: Any, kind: Any, variant: str, cell: Any) -> tuple[Any, Any]:
    """The problem of a cell, and the learner of a few runs."""
    held = FAMILIES[family]
    problem = held.problem(cell, experiment, Draws(7, RUNS, Path(), None))
    return problem, held.learner(kind, problem, cell, experiment.model_copy(update={"runs": RUNS}), variant)


def played(*given: Any) -> list[Any]:
    """Points and losses of an online learner."""
    problem, learner = made("online", *given)
    record = play(learner, problem.stream.rounds(generators(RUNS, 1), ROUNDS), generators(RUNS, 2), [ROUNDS])
    return [learner.point, record.losses]


def released(experiment: Any, kind: Any, variant: str, cell: Any) -> list[Any]:
    """What a descent releases."""
    short = type(kind.__name__, (kind,), {"MAX_ITERATIONS": ROUNDS, "MAX_SAMPLES": ROUNDS})
    return [made("erm", experiment, short, variant, cell)[1].fit(generators(RUNS, 2))]


def heard(experiment: Any, kind: Any, variant: str, cell: Any) -> list[Any]:
    """Losses and clipped values of a bandit."""
    problem, learner = made("bandits", experiment, kind, variant, replace(cell, horizon=SQUARE))
    record = learner.play(Given(problem.stream.source(generators(RUNS, 0)), generators(RUNS, 1), generators(RUNS, 2)))
    return [record.losses, record.clipped]


PLAYS: dict[str, tuple[Key, Callable[..., list[Any]], list[Any]]] = {
    "online": (
        lambda kind, variant, cell: (kind.state, variant == "printed") if kind.is_compiled() else None,
        played,
        [loops],
    ),
    "erm": (
        lambda kind, variant, cell: (kind, variant) if issubclass(kind, MirrorDescent) else None,
        released,
        [mirror_descent],
    ),
    "bandits": (lambda kind, variant, cell: (kind, variant), heard, [noisy_leader, linear_bandit, batched_arms]),
}
"""Family -> what combines to one play, the play, and the modules with its compiled loops."""


@pytest.mark.nightly
@pytest.mark.parametrize("family", PLAYS)
def test_python_plays_what_is_compiled(family: str, compiled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    key, run, modules = PLAYS[family]
    found = list(combined(family, key))
    assert found
    for name, *given in found:
        fast = run(*given)
        with monkeypatch.context() as patch:
            for module in modules:
                patch.setattr(module, "specialised", lambda function, *kinds: function)
            plain = run(*given)
        for one, other in zip(fast, plain, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)
