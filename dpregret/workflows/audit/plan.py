"""Which learners are audited, on what, and one table of what was found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd

from dpregret.core.errors import ConfigError, not_allowed
from dpregret.core.validation import validate
from dpregret.core.yaml_source import KeyPath, read_source, shown
from dpregret.workflows.audit.neighbours import Audited, rows
from dpregret.workflows.audit.settings import SETTINGS, AuditSettings, Special
from dpregret.workflows.families import FAMILIES

ROUNDING = 1e-9
TELLING = 0.5
"""Share of the ledger that has to be shown from the outside, exactly or by the audit, for the audit to say anything."""
UNINFORMATIVE = "ledger within claim, audit uninformative"
UNJUDGED = "could not be judged"
REACHED = 1e-6
"""Rounding, in the share of the noise that reaches what is played."""


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
        named: list[tuple[str, str | int, str]] = [
            ("variants", place, variant) for place, variant in enumerate(special.variants or ())
        ]
        if isinstance(special.most_runs, dict):
            named += [("most_runs", variant, variant) for variant in special.most_runs]
        problems += [
            f"{source.at((*where, key, place))}: {not_allowed('variant', variant, allowed)}"
            for key, place, variant in named
            if variant not in allowed
        ]
    if problems:
        raise ConfigError(problems)
    return settings


def family_rows(family: str, seed: int, runs: int) -> pd.DataFrame:
    """Audit every private learner of a family in all its variants; one row a pair of neighbouring inputs."""
    frames, settings = [], load_settings()
    for learner, variant, audited in audits(family, seed, settings):
        most = settings.learners.get(learner, Special()).runs(variant, runs)
        frames.append(rows(audited, most).assign(family=family, learner=learner, variant=variant))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def audits(family: str, seed: int, settings: AuditSettings) -> Iterator[tuple[str, str, Audited]]:
    """Learner, variant, and what is audited of them."""
    held = FAMILIES[family]
    for name, learner_class in held.learners.items():
        special = settings.learners.get(name, Special())
        if not learner_class.card.private or special.skip:
            continue
        for variant in special.variants or learner_class.card.variants:
            # another learner leaves this one's draws alone; four words, since shorter labels are padded with zeros
            key = (seed, *(crc32(word.encode()) for word in (held.seed_word or family, name, variant)))
            made = held.neighbours(learner_class, variant, special.epsilon or 4.0, settings.delta, special, key)
            if special.epsilon is None and made.delta == 0:  # only a learner that was made tells that it is pure
                made = held.neighbours(learner_class, variant, 2.0, settings.delta, special, key)
            yield name, variant, made


def findings(pairs: pd.DataFrame) -> pd.DataFrame:
    """One row a learner and variant, that of the pair which proves most, with a finding in words."""
    best = pairs.loc[pairs.groupby(["family", "learner", "variant"], sort=False)["audited"].idxmax()]
    best = best.assign(
        pairs=pairs.groupby(["family", "learner", "variant"])["pair"].transform("size").loc[best.index],
        finding=[finding(*each) for each in best[["claimed", "accounted", "exact", "audited", "reached"]].to_numpy()],
    )
    columns = ["family", "learner", "variant", "claimed", "delta", "accounted", "exact", "audited", "finding", "pair",
               "pairs", "power", "false_positive_rate", "audited_mu", "runs", "significance", "reached"]  # fmt: skip
    return best[columns].reset_index(drop=True)


def finding(claimed: float, accounted: float, exact: float, audited: float, reached: float = math.nan) -> str:
    """The finding from the numbers. "keeps its claim": by its ledger, half of which at least is seen to be lost.

    What is shown to be lost is at most the exact loss, and that is at most what the ledger says: anything else is a
    contradiction, as is another noise in what is played than that of the plan.
    """
    if not (0 < claimed < math.inf and accounted >= 0 and audited >= 0) or exact < 0:
        return f"{UNJUDGED}: claimed {claimed:.3g}, ledger {accounted:.3g}, exact {exact:.3g}, audited {audited:.3g}"
    if audited > accounted * (1 + ROUNDING) or exact > accounted * (1 + ROUNDING):
        return "BROKEN: delivers more than its ledger says"
    if audited > exact * (1 + ROUNDING):
        return "BROKEN: more is shown to be lost than its exact loss"
    if abs(reached - 1) > REACHED:
        return f"BROKEN: {reached:.3g} times the noise of its plan reaches what is played"
    if accounted > claimed * (1 + ROUNDING):
        shown = exact if np.isfinite(exact) else audited
        if audited > claimed:
            return f"violates its claim: {audited / claimed:.3g} times is shown, {accounted / claimed:.3g} times proved"
        if shown > claimed:
            return f"violates its claim: {shown / claimed:.3g} times, exact; {accounted / claimed:.3g} times proved"
        return f"not proved: its ledger proves {accounted / claimed:.3g} times its claim"
    attained = np.fmax(exact, audited)
    said = "keeps its claim" if attained >= TELLING * accounted else UNINFORMATIVE
    return said if accounted >= 0.9 * claimed else f"{said}, spends {accounted / claimed:.2g} of it"


def broken(table: pd.DataFrame) -> list[str]:
    """Learners whose ledger is wrong, or which could not be judged, in words."""
    wrong = table.loc[table["finding"].str.startswith(("BROKEN", UNJUDGED))]
    return [
        f"{row.learner}.{row.variant}: ledger {row.accounted:.4g}, exact {row.exact:.4g}, audited {row.audited:.4g}"
        for row in wrong.itertuples()
    ]
