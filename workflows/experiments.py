"""The experiments that a configuration may hold: one model for each family, told apart by the key ``family``."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Discriminator, Tag

from dpregret.workflows.families import DEFAULT, FAMILIES
from dpregret.workflows.families.fields import FORMS, Experiment

TAGS = {name: f"<{name}>" for name in FAMILIES}
PRINTED_NOT = {*FORMS, *TAGS.values(), "[key]"}
"""Parts of the place of an error that are no keys of a file."""
FORMER_KEYS = {"feedback": "family"}
"""Keys of earlier versions, with what replaced them."""


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


def model_of(value: object) -> type[Experiment]:
    """The model of an experiment in a file, whatever else is wrong with it."""
    models = {TAGS[name]: family.experiment for name, family in FAMILIES.items()}
    return models.get(family_of(value), FAMILIES[DEFAULT].experiment)


def hint(key: object, experiment: object) -> str:
    """What may have been meant by a key that the model of an experiment has not."""
    if key in FORMER_KEYS:
        return f"; it is now {FORMER_KEYS[str(key)]!r}, one of {', '.join(FAMILIES)}"
    if isinstance(experiment, dict) and "family" in experiment:
        return ""
    owners = [
        f"family: {name}"
        for name, family in FAMILIES.items()
        if key in {family.experiment.key(field) for field in family.experiment.model_fields}
    ]
    return f"; it is a key of {' or '.join(owners)}" if owners else ""
