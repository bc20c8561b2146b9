"""Which learners are audited, on what, and one table of what was found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from dpregret.algorithms import bandits, erm, experts, online
from dpregret.core.validation import validate
from dpregret.core.yaml_source import read_source
from dpregret.workflows.audits.bandits import AuditedBandit
from dpregret.workflows.audits.erm import AuditedRisk
from dpregret.workflows.audits.experts import AuditedExperts
from dpregret.workflows.audits.neighbours import Audited, rows
from dpregret.workflows.audits.online import AuditedOnline

Family = Literal["online", "experts", "bandits", "risks"]
FAMILIES: dict[Family, Any] = {"online": online, "experts": experts, "bandits": bandits, "risks": erm}
SETTINGS = Path(__file__).with_name("settings.yaml")
WINDOW = 8
ROUNDING = 1e-9


class Special(BaseModel):
    """What one learner needs; see settings.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epsilon: float | None = Field(default=None, gt=0)
    losses: Literal["kink", "quadratic", "flat", "squared"] = "kink"
    rounds: PositiveInt | None = None
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
    known = {name: kind for package in FAMILIES.values() for name, kind in package.catalogue().items()}
    for name, special in settings.learners.items():
        if name not in known or not known[name].card.private:
            raise ValueError(f"{path.name}: learners.{name}: no private learner of this name")
        for variant in special.variants or ():
            if variant not in known[name].card.variants:
                allowed = ", ".join(known[name].card.variants)
                raise ValueError(f"{path.name}: learners.{name}: no variant {variant!r}; allowed: {allowed}")
    return settings


def family_rows(family: Family, seed: int, runs: int) -> pd.DataFrame:
    """Audit every private learner of a family in all its variants; one row a pair of worlds."""
    frames = []
    for learner, variant, audited in audits(family, seed, load_settings()):
        frames.append(rows(audited, runs).assign(family=family, learner=learner, variant=variant))
    return pd.concat(frames, ignore_index=True)


def audits(family: Family, seed: int, settings: AuditSettings) -> Iterator[tuple[str, str, Audited]]:
    """Learner, variant, and what is audited of them."""
    for name, kind in FAMILIES[family].catalogue().items():
        special = settings.learners.get(name, Special())
        if not kind.card.private or special.skip:
            continue
        for variant in special.variants or kind.card.variants:
            # another learner leaves this one's draws alone; four words, since shorter labels are padded with zeros
            key = (seed, *(crc32(word.encode()) for word in (family, name, variant)))
            made = _audited(family, kind, variant, special.epsilon or 4.0, settings.delta, special, key)
            if special.epsilon is None and made.delta == 0:  # only a learner that was made tells that it is pure
                made = _audited(family, kind, variant, 2.0, settings.delta, special, key)
            yield name, variant, made


def _audited(
    family: Family, kind: Any, variant: str, epsilon: float, delta: float, special: Special, seed: tuple[int, ...]
) -> Audited:
    if family == "online":
        rounds = special.rounds or (WINDOW + 1 if kind.card.windowed else 8)
        return AuditedOnline(kind, variant, epsilon, delta, special.losses, rounds, WINDOW, seed)
    if family == "experts":
        return AuditedExperts(kind, variant, epsilon, delta, special.rounds or 8, seed)
    if family == "bandits":
        return AuditedBandit(kind, variant, epsilon, delta, special.rounds or 16, seed)
    return AuditedRisk(kind, variant, epsilon, delta, seed)


def findings(pairs: pd.DataFrame) -> pd.DataFrame:
    """One row a learner and variant, that of the pair which proves most, with a finding in words."""
    best = pairs.loc[pairs.groupby(["family", "learner", "variant"], sort=False)["audited"].idxmax()]
    best = best.assign(
        pairs=pairs.groupby(["family", "learner", "variant"])["pair"].transform("size").loc[best.index],
        finding=[finding(*each) for each in best[["claimed", "accounted", "exact", "audited"]].to_numpy()],
    )
    columns = ["family", "learner", "variant", "claimed", "delta", "accounted", "exact", "audited", "finding", "pair",
               "pairs", "likely", "unlikely", "audited_mu", "runs", "alarm"]  # fmt: skip
    return best[columns].reset_index(drop=True)


def finding(claimed: float, accounted: float, exact: float, audited: float) -> str:
    """What the four numbers say."""
    if audited > accounted * (1 + ROUNDING) or exact > accounted * (1 + ROUNDING):
        return "BROKEN: delivers more than its ledger says"
    if accounted > claimed * (1 + ROUNDING):
        shown = exact if np.isfinite(exact) else audited
        if audited > claimed:
            return f"violates its claim: {audited / claimed:.3g} times is shown, {accounted / claimed:.3g} times proved"
        if shown > claimed:
            return f"violates its claim: {shown / claimed:.3g} times, exact; {accounted / claimed:.3g} times proved"
        return f"not proved: its ledger proves {accounted / claimed:.3g} times its claim"
    if accounted < 0.9 * claimed:
        return f"keeps its claim, spends {accounted / claimed:.2g} of it"
    return "keeps its claim"


def broken(table: pd.DataFrame) -> list[str]:
    """Learners whose ledger is wrong, in words."""
    wrong = table.loc[table["finding"].str.startswith("BROKEN")]
    return [
        f"{row.learner}.{row.variant}: ledger {row.accounted:.4g}, exact {row.exact:.4g}, audited {row.audited:.4g}"
        for row in wrong.itertuples()
    ]
