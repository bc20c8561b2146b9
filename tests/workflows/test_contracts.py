"""Contracts of learners: each is broken by a learner that errs in one way, by a twentieth or less, and by no other."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from plays import small

from dpregret.algorithms.experts.expert_learner import Play
from dpregret.algorithms.experts.hedge import ExactHedge
from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.learner import Card, Learner
from dpregret.algorithms.online.ftal import gradient_sums
from dpregret.algorithms.privacy import NoisePerItem
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.run import contracts
from dpregret.workflows.run.contracts import LEARNER, Played, learner_faults

BY = 0.05


class Honest(Learner):
    """Projected steps along gradients, each with the noise of its ledger."""

    card = Card("planted", "Planted", "none", "-", {"plain": "-"}, convex=True)

    def prepare(self) -> None:
        self.noise_plan = gradient_sums("gaussian", [NoisePerItem()] * len(self.settings), self.problem, self.settings)
        self.before = np.zeros_like(self.point)

    def moved(self, step: Any) -> Any:
        """The step, as a learner that errs takes it."""
        return step

    def observe(self, loss: Any, gradient: Any, noise: Any) -> None:
        fresh, self.before = (0.0, self.before) if noise is None else (noise - self.before, noise)
        self.point = self.domain.project(self.point - self.moved((gradient + fresh) / self.round))

    def bound(self, rounds: int) -> Any:
        return np.tile(np.sqrt(np.arange(1.0, rounds + 1)), (len(self.settings), 1))


class OfItself(Honest):
    """A generator of its own, which no seed decides."""

    def moved(self, step: Any) -> Any:
        return step * (1 + BY * np.random.default_rng().random())


class AmongRuns(Honest):
    """The step of a run follows the mean over the runs beside it a little."""

    def moved(self, step: Any) -> Any:
        return (1 - BY) * step + BY * step.mean(axis=1, keepdims=True)


class AmongSettings(Honest):
    """The step of a setting follows the mean over the settings beside it a little."""

    def moved(self, step: Any) -> Any:
        return (1 - BY) * step + BY * step.mean(axis=0, keepdims=True)


class OfTheHorizon(Honest):
    """Steps that the horizon decides a little, although the card says that it does not matter."""

    def moved(self, step: Any) -> Any:
        return step * (1 + BY / self.horizon)


class Underpriced(Honest):
    """Noise a fiftieth smaller than the budget asks for, and said so in the ledger."""

    def prepare(self) -> None:
        super().prepare()
        self.noise_plan.scales[:] = [(1 - 0.4 * BY) * scale for scale in self.noise_plan.scales]


class Falling(Honest):
    """A bound that falls by a twentieth once."""

    def bound(self, rounds: int) -> Any:
        whole = super().bound(rounds)
        whole[:, rounds // 2 :] *= (1 - BY) / math.sqrt(2)
        return whole


BROKEN: dict[str, Any] = {
    "equal draws, equal play": OfItself, "runs apart": AmongRuns, "settings apart": AmongSettings,
    "anytime": OfTheHorizon, "budget": Underpriced, "bound": Falling,
}  # fmt: skip


def played(kind: Any, family: str = "online", **changes: Any) -> Played:
    own = small(family, **{"learners": {"planted": ["plain"]}, **changes})
    (paper,) = own["papers"].values()
    experiment = FAMILIES[family].experiment.model_validate(paper["experiments"]["small"])
    return Played(FAMILIES[family], experiment, kind, "plain", Path())


@pytest.mark.parametrize("contract", ["", *BROKEN])
def test_a_learner_breaks_the_contract_that_it_breaks_by_a_little_and_no_other(contract: str) -> None:
    kind = BROKEN.get(contract, Honest)
    faults = [fault.partition(":")[0] for fault in learner_faults(played(kind))]
    assert contract in faults if contract else faults == []
    assert set(faults) <= {contract, *({"runs apart", "settings apart", "anytime"} if kind is OfItself else set())}


class Foresees(ExactHedge):
    """Hedge that moves a twentieth of its weight to the better expert of the round before it pays."""

    eta = 1.0
    share = BY

    def play(self, blocks: Any, generators: Any) -> Play:
        losses = np.concatenate([np.broadcast_to(b.losses, (b.rounds, *b.losses.shape[1:])) for b in blocks])
        total = (1 - self.share) * losses.mean(axis=-1) + self.share * losses.min(axis=-1)
        return Play(np.broadcast_to(total.sum(axis=0), (self.runs,)), np.zeros(self.runs))


def test_a_learner_that_sees_a_twentieth_of_the_round_ahead_is_found() -> None:
    experts = played(type("Planted", (Foresees,), {"card": Honest.card}), "experts")
    fault = contracts.foresees_nothing(experts)
    assert fault is not None
    assert "of 41 rounds on fair coins" in fault
    fair = played(type("Planted", (Foresees,), {"card": Honest.card, "share": 0.0}), "experts")
    assert contracts.foresees_nothing(fair) is None


def test_every_contract_of_a_learner_has_one_that_breaks_it() -> None:
    assert {*BROKEN, "no look-ahead"} == {*LEARNER}


class Bowls:
    """Losses curvature |x - z|^2 / 2, z on the border of a disc, on opposite sides in turn: all constants are tight."""

    curvature = 3.0

    def __init__(self, domain: Any, **stated: float) -> None:
        self.domain = domain
        self.side = domain.center() + np.array([0.5 * domain.diameter, 0.0])
        self.lipschitz, self.smoothness = self.curvature * domain.diameter, self.curvature
        self.strong_convexity, self.gap, self.shift = self.curvature, 0.0, 0.0
        vars(self).update(stated)

    def rounds(self, generators: Any, horizon: int) -> Any:
        center = self.domain.center()
        for now in range(horizon):
            z = self.side if now % 2 else 2 * center - self.side

            def value(x: Any, z: Any = z) -> Any:
                return 0.5 * self.curvature * np.square(x - z).sum(axis=-1)

            def both(x: Any, z: Any = z) -> Any:
                return 0.5 * self.curvature * np.square(x - z).sum(axis=-1), self.curvature * (x - z)

            yield SimpleNamespace(value=value, value_and_gradient=both)

    def comparator(self, generators: Any, checkpoints: Any) -> Any:
        least = np.full((1, len(generators)), checkpoints[0] * self.curvature * self.domain.diameter**2 / 8)
        gaps = np.zeros_like(least)
        gaps[0, 0] = self.gap  # of one run only
        return SimpleNamespace(losses=least * (1 + self.shift), stay=least, gaps=gaps)


@pytest.mark.parametrize(("name", "factor", "said"), [
    ("lipschitz", 1 - BY, "more than its lipschitz"), ("smoothness", 1 - BY, "smoothness, is wrong"),
    ("strong_convexity", 1 + BY, "strong_convexity, is wrong"), ("shift", BY, "smaller total loss than the comparator"),
    ("gap", 1e-7, "relative gap"), ("", 1.0, ""),
])  # fmt: skip
def test_a_constant_of_a_stream_that_is_wrong_by_a_twentieth_is_found(name: str, factor: float, said: str) -> None:
    domain = make_set("ball", 2)
    right = vars(Bowls(domain)).get(name) or 1.0
    faults = list(contracts.stream_faults(Bowls(domain, **({name: factor * right} if name else {})), domain))
    assert len(faults) == bool(name), faults
    assert said in "".join(faults)
