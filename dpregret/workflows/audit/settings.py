"""Settings of the audit per learner, beyond the defaults of its family: the file settings.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

SETTINGS = Path(__file__).with_name("settings.yaml")
ROUNDS = 11
"""Rounds where nothing else is requested: odd, and log2 of it is rounded up to 4, down and to the nearest to 3."""
Runs = Annotated[int, Field(ge=100)]


class Special(BaseModel):
    """The settings of one learner; see settings.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epsilon: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    losses: Literal["kink", "quadratic", "flat", "square", "squared"] = "kink"
    rounds: PositiveInt | None = None
    most_runs: Runs | dict[str, Runs] = {}
    variants: tuple[str, ...] | None = None
    skip: str = ""

    def runs(self, variant: str, usual: int) -> int:
        """Runs of an input of a variant, where `usual` are requested."""
        most = self.most_runs if isinstance(self.most_runs, int) else self.most_runs.get(variant, usual)
        return min(usual, most)


class AuditSettings(BaseModel):
    """The file settings.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    delta: float = Field(gt=0, lt=1)
    learners: dict[str, Special]
