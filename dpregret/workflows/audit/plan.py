"""Which learners are audited, and on what; and the audit of some alone, `dpregret audit ./my_study`.

    python -m dpregret.workflows.audit.plan my-descent       (or my_descent.py)

Each private learner that is named, or whose file is, plays neighbouring inputs in all its variants. Exit code 0: every
ledger is within the claim, and no more is shown to be lost; 1: not so; 2: it could not be judged.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from zlib import crc32

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from dpregret import study
from dpregret.algorithms.privacy import Budget
from dpregret.core import boundary
from dpregret.core.errors import ConfigError, nearest, not_allowed
from dpregret.core.yaml_source import KeyPath, read_source, shown, validate
from dpregret.paper_figs.text.formats import significant
from dpregret.workflows.audit.neighbours import Audited, Special, rows
from dpregret.workflows.audit.tables import UNJUDGED, findings
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.run import child

SETTINGS = Path(__file__).with_name("settings.yaml")
RUNS = 4000
BAD = ("BROKEN", "violates", "not proved")


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


def chosen(words: Sequence[str]) -> dict[str, str]:
    """Learner -> family, of private learners that are named or whose file is; ValueError for what is neither."""
    known = {learner: family for family, held in FAMILIES.items() for learner in held.learners}
    for word in words:
        if not any(word in (learner, _file(learner, family)) for learner, family in known.items()):
            raise ValueError(f"no learner, nor file of learners, {word!r}{nearest(word, known)}")
    return {
        learner: family
        for learner, family in known.items()
        if FAMILIES[family].learners[learner].card.private and {learner, _file(learner, family)} & set(words)
    }


def _file(learner: str, family: str) -> str:
    return Path(inspect.getfile(FAMILIES[family].learners[learner])).name


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line a learner and variant."""
    parser = boundary.Parser(prog="python -m dpregret.workflows.audit.plan", description=__doc__)
    every = sorted({path.name for path in study.files(study.FOLDER)}) if study.FOLDER else []
    parser.add_argument("learners", nargs="*" if every else "+", help="names of learners, or of their files")
    parser.add_argument("--runs", type=int, default=RUNS, help="plays of each input")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    if not options.learners:
        known = {_file(learner, family) for family, held in FAMILIES.items() for learner in held.learners}
        options.learners = [name for name in every if name in known]
    return child.judged(lambda: _judged(options), f"audit: {', '.join(options.learners)}")


def _judged(options: argparse.Namespace) -> tuple[int, list[str]]:
    """Exit code and lines."""
    try:
        learners = chosen(options.learners)
        if not learners:
            return 0, [f"audit: {', '.join(options.learners)}: not private, there is nothing to audit"]
        pairs = pair_rows(learners, options.seed, options.runs)
        if pairs.empty:
            names = ", ".join(learners)
            raise ValueError(f"{names}: left out of the audit (workflows/audit/settings.yaml says why)")
        table = findings(pairs)
    except ValueError as fault:
        return 2, [f"audit: {fault}"]
    lines = []
    for row in table.to_dict("records"):
        words = {"claimed": "claimed", "ledger": "accounted", "shown": "audited"}
        numbers = ", ".join(f"{word} {significant(row[column])}" for word, column in words.items())
        lines.append(
            f"audit: {row['learner']}.{row['variant']}: {row['finding']} (eps at delta {row['delta']:.3g}: {numbers})"
        )
    if table["finding"].str.startswith(BAD).any():
        return 1, lines
    return 2 * int(table["finding"].str.startswith(UNJUDGED).any()), lines


if __name__ == "__main__":
    boundary.end(main)
