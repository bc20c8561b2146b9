"""A noise scale that is 1 % too small under an unchanged budget is seen by the ledger, for every private learner.

A mechanism owns its draws, its price and its error; so the ledger must read its price from a number that the learner
holds, and not repeat the budget. Each number that a learner holds is moved by 1 %, and one of them at least must raise
what the ledger delivers. That noise is drawn at the scale in the ledger is test_released_noise.py.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from dpregret.workflows.audit.neighbours import Special
from dpregret.workflows.audit.plan import audits, load_settings
from dpregret.workflows.families import FAMILIES

PRIVATE = [
    (family, name)
    for family, kind in FAMILIES.items()
    for name, learner in kind.learners.items()
    if learner.card.private
]
BLIND = {"epoch-leader": "it draws by the budget, which its ledger repeats; its exact loss is 1 % larger"}
"""Learners whose ledger cannot see it, and what does."""
DAILY = {next(each for each in PRIVATE if each[0] == family) for family, _ in PRIVATE} | {
    each for each in PRIVATE if each[1] in BLIND
}
"""One learner of each family, and those that are blind; the others are in the nightly tests."""
METHODS = ("value_scales",)
"""Where learners compute their scales anew."""
MOVED = 0.01
RISE = 1e-3
"""Least relative rise of the delivered epsilon."""
NOT_NOISE = ("budget", "budgets", "problem", "settings", "sensitivity", "lipschitz", "horizon", "runs")


def moved(value: Any, factor: float, depth: int = 3) -> Iterator[Any]:
    """Copies of a value with one number in it moved."""
    if isinstance(value, bool):
        return
    if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        yield value * factor
    elif isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        if value and all(isinstance(item, float) for item in value):
            yield type(value)(item * factor for item in value)
        elif depth and len(value) == 1:
            yield from (type(value)([changed]) for changed in moved(value[0], factor, depth - 1))
    elif depth and hasattr(value, "_fields"):
        for name in value._fields:
            yield from (value._replace(**{name: changed}) for changed in moved(getattr(value, name), factor, depth - 1))
    elif depth and dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            if field.init and field.name not in NOT_NOISE:
                for changed in moved(getattr(value, field.name), factor, depth - 1):
                    try:
                        yield dataclasses.replace(value, **{field.name: changed})
                    except (TypeError, ValueError):
                        continue
        kinds = {name: kind for base in type(value).__mro__ for name, kind in vars(base).items()}
        for name in [name for name, kind in kinds.items() if isinstance(kind, cached_property)]:
            for number in moved(getattr(value, name), factor, 0):
                other = copy.copy(value)
                vars(other)[name] = number  # as the property itself does
                yield other


def seen_by_ledger(make: Any) -> bool:
    """Whether a number that is moved by 1 % raises the delivered epsilon."""
    learner = make()
    promised = learner.delivered_epsilon()[0]
    computed = {name: getattr(learner, name)() for name in METHODS if hasattr(learner, name)}
    for name, value in [*vars(learner).items(), *computed.items()]:
        for factor in (1 - MOVED, 1 + MOVED) if name not in NOT_NOISE else ():
            for changed in moved(value, factor):
                other = make()
                setattr(other, name, (lambda changed=changed: changed) if name in computed else changed)
                try:
                    delivered = other.delivered_epsilon()[0]
                except (TypeError, ValueError, AttributeError):
                    continue
                if delivered > promised * (1 + RISE):
                    return True
    return False


@pytest.mark.parametrize(
    ("family", "name"), [pytest.param(*each, marks=() if each in DAILY else pytest.mark.nightly) for each in PRIVATE]
)
def test_a_scale_that_is_too_small_is_seen_by_the_ledger(family: str, name: str) -> None:
    for variant, audited in audits(family, name, 1, load_settings()):
        seen = seen_by_ledger(lambda audited=audited: audited.make(1))
        assert seen == (name not in BLIND), variant


def test_the_exact_loss_of_an_epoch_leader_sees_what_its_ledger_cannot() -> None:
    ((_, audited),) = audits("experts", "epoch-leader", 1, load_settings())
    kind = FAMILIES["experts"].audited(audited.learner_class)

    class Loud(audited.learner_class):  # type: ignore[misc, name-defined]
        def law(self, sums: Any) -> Any:
            return super().law(sums * (1 + MOVED))

    loud = kind(Loud, audited.variant, audited.budget, Special(), audited.seed)
    assert loud.accounted == audited.accounted
    assert loud.exact > audited.exact * (1 + MOVED / 2)
