"""The privacy audit of some learners alone: `dpregret audit ./my_study`, `dpregret audit-learners my-descent` (or
my_descent.py).

Each learner that is named, or whose file is, plays neighbouring inputs in all its variants. Exit code 0: every ledger
is within the claim, and no more is shown to be lost; 1: not so; 2: it could not be judged, or is undecided.

Undecided is a learner of a study whose noise the audit cannot follow into what is played: only its own code states what
it loses, and a black-box audit alone is blind to a mistake of some tens of percent.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dpregret import study
from dpregret.core import child
from dpregret.core.errors import ConfigError, nearest
from dpregret.core.machine import MOST_RUNS
from dpregret.paper_figs.text.formats import significant
from dpregret.workflows.audit.plan import pair_rows
from dpregret.workflows.audit.tables import UNJUDGED, findings
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan.config import bounds_of_play

RUNS = 4000
FEWEST = 100
BAD = ("BROKEN", "violates", "not proved")
UNDECIDED = "undecided: its own code states its ledger, and the audit cannot follow its noise"


def chosen(names: Sequence[str]) -> dict[str, str]:
    """Private learners given by name or by file -> family; ValueError for an unknown name."""
    families = {learner: family for family, kind in FAMILIES.items() for learner in kind.learners}
    for name in names:
        if not any(name in (learner, _file(learner, family)) for learner, family in families.items()):
            raise ValueError(f"no learner, nor file of learners, {name!r}{nearest(name, families)}")
    return {
        learner: family
        for learner, family in families.items()
        if FAMILIES[family].learners[learner].card.private and {learner, _file(learner, family)} & set(names)
    }


def _file(learner: str, family: str) -> str:
    return Path(inspect.getfile(FAMILIES[family].learners[learner])).name


def in_gate() -> int:
    """The step of `dpregret gate`, which looks for changes: what is undecided today was so before."""
    return main(undecided=0)


def main(learners: Sequence[str] = (), runs: int = RUNS, seed: int = 1, undecided: int = 2) -> int:
    """Print a line a learner and variant. No learners: those of the study. undecided: its exit code."""
    own_files = sorted({path.name for path in study.files(study.FOLDER)}) if study.FOLDER else []
    if not (learners or own_files):
        raise ConfigError("audit: name learners, or their files")
    if not FEWEST <= runs <= MOST_RUNS:
        raise ConfigError(f"audit: --runs: must lie between {FEWEST} and {MOST_RUNS:,.0f}, not {runs}")
    names = ", ".join(learners or own_files)
    return child.judged(
        lambda: _judged(learners, runs, seed, own_files, undecided), f"audit: {names}", bounds_of_play()
    )


def _judged(
    named: Sequence[str], runs: int, seed: int, own_files: Sequence[str], undecided: int
) -> tuple[int, list[str]]:
    """Exit code and lines. own_files: those of the study, which a call that names no learner is about."""
    try:
        if not named:
            files = {_file(learner, family) for family, kind in FAMILIES.items() for learner in kind.learners}
            named = [name for name in own_files if name in files]
        learners = chosen(named)
        if not learners:
            return 0, [f"audit: {', '.join(named)}: not private, there is nothing to audit"]
        pairs = pair_rows(learners, seed, runs)
        if pairs.empty:
            names = ", ".join(learners)
            raise ValueError(f"{names}: left out of the audit (workflows/audit/settings.yaml says why)")
        table = of_study(findings(pairs), own_files)
    except ValueError as fault:
        return child.REFUSED, [f"audit: {child.outgrown(fault, bounds_of_play()) or fault}"]
    lines = []
    for row in table.to_dict("records"):
        claimed, ledger, audited = (significant(row[column]) for column in ("claimed", "accounted", "audited"))
        numbers = f"eps at delta {row['delta']:.3g}: claimed {claimed}, ledger {ledger}, shown {audited}"
        lines.append(f"audit: {row['learner']}.{row['variant']}: {row['finding']} ({numbers})")
    if table["finding"].str.startswith(BAD).any():
        return 1, lines
    if table["finding"].str.startswith(UNJUDGED).any():
        return 2, lines
    return undecided * int(table["finding"].eq(UNDECIDED).any()), lines


def of_study(table: pd.DataFrame, own_files: Sequence[str]) -> pd.DataFrame:
    """The findings, where nothing but the learner's own statement speaks for a claim UNDECIDED.

    A learner of this project has tests of its ledger and its noise; one of a study has this audit.
    """
    files = [_file(learner, family) for learner, family in zip(table["learner"], table["family"], strict=True)]
    stated = table["reached"].isna() & ~table["finding"].str.startswith((*BAD, UNJUDGED))
    return table.assign(finding=table["finding"].mask(stated & np.isin(files, own_files), UNDECIDED))
