"""Which learners are audited, and on what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from zlib import crc32

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from dpregret.algorithms.privacy import Budget
from dpregret.core.errors import ConfigError, not_allowed
from dpregret.core.yaml_source import KeyPath, read_source, shown, validate
from dpregret.workflows.audit.neighbours import Audited, Special, rows
from dpregret.workflows.families import FAMILIES

SETTINGS = Path(__file__).with_name("settings.yaml")


class AuditSettings(BaseModel):
    """The file settings.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    delta: float = Field(gt=0, lt=1)
    learners: dict[str, Special]


def load_settings(path: Path = SETTINGS) -> AuditSettings:
    """Read and check the file. Raises ConfigError for a wrong key or value, and for what does not exist."""
    source = read_source(path, shown(path))
    settings = validate(AuditSettings, source)
    known = {name: each for family in FAMILIES.values() for name, each in family.learners.items() if each.card.private}
    problems = []
    for name, special in settings.learners.items():
        where: KeyPath = ("learners", name)
        if name not in known:
            problems.append(f"{source.at(where)}: {not_allowed('private learner', name, known)}")
            continue
        allowed = known[name].card.variants
        named: dict[KeyPath, str] = {("variants", at): variant for at, variant in enumerate(special.variants or ())}
        if isinstance(special.most_runs, dict):
            named |= {("most_runs", variant): variant for variant in special.most_runs}
        for key, variant in named.items():
            if variant not in allowed:
                problems.append(f"{source.at((*where, *key))}: {not_allowed('variant', variant, allowed)}")
    if problems:
        raise ConfigError(problems)
    return settings


def audits(family: str, name: str, seed: int, settings: AuditSettings) -> Iterator[tuple[str, Audited]]:
    """Each variant of a learner, with its audit; nothing where the learner is not private, or left out."""
    held, special = FAMILIES[family], settings.learners.get(name, Special())
    learner_class = held.learners[name]
    if not learner_class.card.private or special.skip:
        return
    audited = held.audited(learner_class)
    for variant in special.variants or learner_class.card.variants:
        # another learner leaves this one's draws alone; four words, since shorter labels are padded with zeros
        key = (seed, *(crc32(word.encode()) for word in (held.seed_word or family, name, variant)))
        made = audited(learner_class, variant, Budget(special.epsilon or 4.0, settings.delta), special, key)
        if special.epsilon is None and made.delta == 0:  # only a learner that was made tells that it is pure
            made = audited(learner_class, variant, Budget(2.0, settings.delta), special, key)
        yield variant, made


def pair_rows(learners: Mapping[str, str], seed: int, runs: int) -> pd.DataFrame:
    """Audit learners (name -> family) in all their variants; one row a pair of neighbouring inputs."""
    settings, frames = load_settings(), []
    for learner, family in learners.items():
        special = settings.learners.get(learner, Special())
        for variant, audited in audits(family, learner, seed, settings):
            pairs = rows(audited, special.runs(variant, runs))
            frames.append(pairs.assign(family=family, learner=learner, variant=variant))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def family_rows(family: str, seed: int, runs: int) -> pd.DataFrame:
    """The same of every private learner of a family."""
    return pair_rows(dict.fromkeys(FAMILIES[family].learners, family), seed, runs)
