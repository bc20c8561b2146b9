"""Which learners are audited, and on what."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from zlib import crc32

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from dpregret.algorithms.privacy import Budget
from dpregret.core.yaml_source import display_path, read_source, validate
from dpregret.workflows.audit.neighbours import Audited, Refused, Special, rows
from dpregret.workflows.audit.tables import BROKEN, ROUNDING, finding
from dpregret.workflows.families import FAMILIES

EPSILON_AGAIN, RUNS_AGAIN = 1.0, 400
"""Of the second audit: two hundred counted runs prove up to 2.5."""
ENOUGH = 8_000
"""Runs where the ledger is within the claim: with twice as many no finding is another."""
SETTINGS = Path(__file__).with_name("settings.yaml")


class AuditSettings(BaseModel):
    """The file settings.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    delta: float = Field(gt=0, lt=1)
    learners: dict[str, Special]


def load_settings(path: Path = SETTINGS) -> AuditSettings:
    """Read and check the file. Raises ConfigError for a wrong key or value."""
    return validate(AuditSettings, read_source(path, display_path(path)))


def audits(family: str, name: str, seed: int, settings: AuditSettings) -> Iterator[tuple[str, Audited]]:
    """Each variant of a learner, with its audit; nothing where the learner is not private, or left out."""
    kind, special = FAMILIES[family], settings.learners.get(name, Special())
    learner_class = kind.learners[name]
    if not learner_class.card.private or special.skip:
        return
    audit_class = kind.audited(learner_class)
    for variant in special.variants or learner_class.card.variants:
        # so that another learner does not change these draws; four numbers, since shorter labels are padded with zeros
        key = (seed, *(crc32(word.encode()) for word in (kind.seed_word or family, name, variant)))
        audit = audit_class(learner_class, variant, Budget(special.epsilon or 4.0, settings.delta), special, key)
        if special.epsilon is None and audit.delta == 0:  # only an instance knows that it is pure
            audit = audit_class(learner_class, variant, Budget(2.0, settings.delta), special, key)
        yield variant, audit


def again(family: str, name: str, variant: str, audited: Audited, settings: AuditSettings, runs: int) -> pd.DataFrame:
    """Rows that are BROKEN at another horizon, at a smaller epsilon and with fewer runs; none where all is well.

    A learner that adds its noise only in its first rounds, only at a short horizon or only beside many runs is seen
    here, since fewer runs prove a small epsilon.
    """
    special = settings.learners.get(name, Special())
    kind, budget = FAMILIES[family].audited(audited.learner_class), Budget(EPSILON_AGAIN, settings.delta)
    odd = 2 * audited.rounds + 7
    for rounds in (odd, 2 ** math.ceil(math.log2(odd))):  # some learners need a power of two
        longer = special.model_copy(update={"rounds": rounds})
        seed = (*audited.seed, RUNS_AGAIN)
        with contextlib.suppress(Refused):
            second = kind(audited.learner_class, variant, budget, longer, seed, again=True)
            break
    else:
        return pd.DataFrame()
    pairs = rows(second, min(special.runs(variant, runs), RUNS_AGAIN))
    numbers = pairs[["claimed", "accounted", "exact", "audited", "reached"]].to_numpy()
    broken = pairs.loc[[finding(*row).startswith(BROKEN) for row in numbers]]
    return broken.assign(pair=broken["pair"] + f", {second.rounds} rounds")


def pair_rows(learners: Mapping[str, str], seed: int, runs: int, enough: int | None = None) -> pd.DataFrame:
    """Audit learners (name -> family) in all their variants; one row a pair of neighbouring inputs.

    enough: most runs where the ledger is within the claim, so that no loss beyond it has to be shown.
    Raises ValueError, which names the learner, where one refuses its inputs or its noise cannot be read.
    """
    settings, frames = load_settings(), []
    for learner, family in learners.items():
        special = settings.learners.get(learner, Special())
        try:
            for variant, audited in audits(family, learner, seed, settings):
                within = audited.accounted <= audited.claimed * (1 + ROUNDING)
                count = special.runs(variant, min(runs, enough) if enough and within else runs)
                found = [rows(each, count) for each in (audited, *audited.closer())]
                broken = again(family, learner, variant, audited, settings, runs)
                found += [] if broken.empty else [broken]
                pairs = pd.concat(found, ignore_index=True) if len(found) > 1 else found[0]
                frames.append(pairs.assign(family=family, learner=learner, variant=variant))
        except ValueError as fault:
            raise ValueError(f"{learner}: {fault}") from fault
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def family_rows(family: str, seed: int, runs: int) -> pd.DataFrame:
    """The same for every private learner of a family."""
    return pair_rows(dict.fromkeys(FAMILIES[family].learners, family), seed, runs, ENOUGH)
