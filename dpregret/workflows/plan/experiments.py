"""The experiments that a configuration may hold: one model for each family, distinguished by the key ``family``."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Discriminator, Tag

from dpregret.workflows.families import DEFAULT, FAMILIES
from dpregret.workflows.families.fields import Experiment

TAGS = {name: f"<{name}>" for name in FAMILIES}


def family_of(value: object) -> str:
    """Tag of the model that an experiment in a file, or one already read, belongs to; that of `DEFAULT` without."""
    if isinstance(value, Experiment):
        return TAGS[value.family]
    family = value.get("family", DEFAULT) if isinstance(value, dict) else DEFAULT
    return f"<{family}>"


def _union() -> Any:
    models: list[Any] = [Annotated[family.experiment, Tag(TAGS[name])] for name, family in FAMILIES.items()]
    return Annotated[reduce(or_, models), Discriminator(family_of)]


if TYPE_CHECKING:
    AnyExperiment = Experiment
else:
    AnyExperiment = _union()


def other_families() -> dict[str, str]:
    """Keys that not all families have -> a hint at those that do, for experiments that name another or none."""
    keys = {
        name: {family.experiment.key(each) for each in family.experiment.model_fields}
        for name, family in FAMILIES.items()
    }
    every = set.intersection(*keys.values())
    found: dict[str, str] = {}
    for key in sorted(set.union(*keys.values()) - every):
        owners = " or ".join(f"family: {name}" for name, own in keys.items() if key in own)
        found[key] = f" ({key!r} is a key of {owners})"
    return found
