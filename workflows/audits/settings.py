"""What the audit asks of learners beyond the defaults of their families: the file settings.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from dpregret.core.validation import validate
from dpregret.core.yaml_source import read_source
from dpregret.workflows.families import FAMILIES

SETTINGS = Path(__file__).with_name("settings.yaml")
ROUNDS = 11
"""Rounds where nothing else is asked for: odd, and log2 of it is rounded up to 4, down and to the nearest to 3."""


class Special(BaseModel):
    """What one learner needs; see settings.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epsilon: float | None = Field(default=None, gt=0)
    losses: Literal["kink", "quadratic", "flat", "square", "squared"] = "kink"
    rounds: PositiveInt | None = None
    most_runs: int | None = Field(default=None, ge=100)
    variants: tuple[str, ...] | None = None
    skip: str = ""


class AuditSettings(BaseModel):
    """The file settings.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    delta: float = Field(gt=0, lt=1)
    learners: dict[str, Special]


def load_settings(path: Path = SETTINGS) -> AuditSettings:
    """Read and check the file. Raises ValueError for a wrong key or value, and for what does not exist."""
    settings = validate(AuditSettings, read_source(path, path.name))
    known = {name: each for family in FAMILIES.values() for name, each in family.learners.items()}
    for name, special in settings.learners.items():
        if name not in known or not known[name].card.private:
            raise ValueError(f"{path.name}: learners.{name}: no private learner of this name")
        for variant in special.variants or ():
            if variant not in known[name].card.variants:
                allowed = ", ".join(known[name].card.variants)
                raise ValueError(f"{path.name}: learners.{name}: no variant {variant!r}; allowed: {allowed}")
    return settings
