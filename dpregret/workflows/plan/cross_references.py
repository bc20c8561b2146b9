"""Names in claims, tables, figures and errata must exist: a misspelt name would be always 'not run'.

A name is right where the experiment has it, in this configuration or in the whole one (`full`): what a small profile
leaves out is not run, and that is not a mistake.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from dpregret.core.errors import nearest, not_allowed
from dpregret.core.yaml_source import KeyPath
from dpregret.paper_figs.judge.claims import QUOTED, ClaimsError, ClaimsFile, PaperTexts, located_paper
from dpregret.paper_figs.judge.runs import COLUMNS, OPTIONAL
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Experiment, ExperimentOnSets, Mistake, as_tuple
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.read import PAPERS, PROFILES

Known = Mapping[str, Sequence[Experiment]]
"""Name of an experiment -> what it is here, and in the whole configuration."""
Name = tuple[KeyPath, str]
"""A learner, as name.variant or a name alone, and the key that it stands at."""


class Mention(NamedTuple):
    """The names in an entry at `path` that belong to an experiment."""

    path: KeyPath
    experiment: str
    learners: Sequence[Name] = ()
    stream: str | None = None
    where: Mapping[str, str | float] = {}


def check_mentions(config: Config, folder: Path = PAPERS) -> dict[str, ClaimsFile]:
    """The claims of the configuration's papers. Raises `ClaimsError` for every name in their texts that is nowhere."""
    whole = config if config.profile == "full" else load_config(PROFILES / "full.yaml", check=False)
    problems: list[str] = []
    claims: dict[str, ClaimsFile] = {}
    for paper, settings in config.papers.items():
        held = [each.experiments for each in (whole.papers.get(paper), settings) if each is not None]
        known = {name: [each[name] for each in held if name in each] for each in held for name in each}
        claims[paper], found = read_texts(folder / paper, known)
        problems += found
    if problems:
        raise ClaimsError(problems)
    return claims


def read_texts(folder: Path, known: Known) -> tuple[ClaimsFile, list[str]]:
    """A paper's claims, and one line for each name in its texts that none of its experiments has."""
    texts, claims, errata = located_paper(folder)
    found = [each for mention in _claim_mentions(texts) for each in _faults(mention, known)]
    problems = [f"{claims.at(path)}: {message}" for path, message in (*found, *_exact(texts), *_rows(texts))]
    if errata is not None:
        found = [each for mention in _errata_mentions(texts) for each in _faults(mention, known)]
        problems += [f"{errata.at(path)}: {message}" for path, message in found]
    from dpregret.paper_figs.tables.printed import load_printed

    try:
        load_printed(folder, texts.claims)
    except ClaimsError as fault:
        problems += fault.problems
    return texts.claims, list(dict.fromkeys(problems))


def _claim_mentions(texts: PaperTexts) -> Iterator[Mention]:
    claims = texts.claims
    for index, claim in enumerate(claims.claims):
        name = f"{claim.learner}.{claim.variant}"
        yield Mention(("claims", index), claim.experiment, [(("learner",), name)], claim.stream, claim.where)
        if other := claim.counterpart:
            name = f"{other.learner}.{other.variant}"
            yield Mention(("claims", index, "counterpart"), claim.experiment, [((), name)], None, other.where)
    for number, table in enumerate(claims.tables):
        rows = [(("rows", index), row.reference) for index, row in enumerate(table.rows)]
        for below, reference in [((), table.reference), *rows]:
            if reference is not None:
                path = ("tables", number, *below, "reference")
                yield Mention(path, reference.experiment, (), reference.stream, reference.where)
    for index, figure in enumerate(claims.figures):
        if figure.experiment:
            drawn: list[Name] = [(("crossing", side), name) for side, name in enumerate(figure.crossing or ())]
            drawn += [(("counterpart",), figure.counterpart)] if figure.counterpart else []
            yield Mention(("figures", index), figure.experiment, drawn, None, figure.where)
    for index, gain in enumerate(claims.gains):
        full = [name if "." in name else f"{gain.learner}.{name}" for name in gain.variants]
        pairs: list[Name] = [(("over",), f"{gain.learner}.{gain.over}")]
        pairs += [(("variants", each), name) for each, name in enumerate(full)]
        yield Mention(("gains", index), gain.experiment, pairs, None, gain.where)


def _errata_mentions(texts: PaperTexts) -> Iterator[Mention]:
    for index, erratum in enumerate(texts.errata.errata):
        what = erratum.measure
        if what is not None and erratum.experiment is not None:
            variants = {"variant": what.variant, "against": what.against}
            named = [((key,), f"{what.learner}.{name}") for key, name in variants.items()]
            yield Mention(("errata", index, "measure"), erratum.experiment, named, what.stream, what.where)


def _exact(texts: PaperTexts) -> Iterator[Mistake]:
    """Exact tables and exact losses that are not computed."""
    from dpregret.workflows.audit.exact_losses import LOSSES
    from dpregret.workflows.mechanisms.exact import TABLES

    for name in texts.claims.exact:
        if name not in TABLES:
            yield ("exact", name), not_allowed("exact table", name, TABLES)
    for index, claim in enumerate(texts.claims.claims):
        if claim.exact and claim.exact not in LOSSES:
            yield ("claims", index, "exact"), not_allowed("exact loss", claim.exact, LOSSES)


def _rows(texts: PaperTexts) -> Iterator[Mistake]:
    """Learners of table rows that no family has, and bounds that no page could show.

    A row may name a learner that its reference does not play.
    """
    from dpregret.paper_figs.text.formula import FormulaError, checked

    known = {name: each.card.variants for family in FAMILIES.values() for name, each in family.learners.items()}
    for number, table in enumerate(texts.claims.tables):
        for index, row in enumerate(table.rows):
            path = ("tables", number, "rows", index)
            if row.learner not in (QUOTED, *known):
                yield (*path, "learner"), not_allowed("learner", row.learner, known)
            elif row.learner != QUOTED and row.variant not in known[row.learner]:
                yield (*path, "learner"), not_allowed(f"variant of {row.learner}", row.variant, known[row.learner])
            try:
                checked(row.bound_latex)
            except FormulaError as fault:
                yield (*path, "bound_latex"), str(fault)


def _faults(mention: Mention, known: Known) -> list[Mistake]:
    """The fault of a mention wherever its experiment is known; nothing where it is right somewhere."""
    if mention.experiment not in known:
        entry = mention.path[:2] if mention.path[0] in ("claims", "errata") else mention.path
        return [((*entry, "experiment"), not_allowed("experiment", mention.experiment, known))]
    lists = [
        [((*mention.path, *path), message) for path, message in _compared(mention, experiment)]
        for experiment in known[mention.experiment]
    ]
    return [] if any(not each for each in lists) else lists[0]


def _compared(mention: Mention, experiment: Experiment) -> Iterator[Mistake]:
    of = f"of experiment {mention.experiment!r}"
    for path, name in mention.learners:
        learner, dot, variant = name.partition(".")  # the variant may be a pattern
        variants = experiment.learners.get(learner, ())
        if learner not in experiment.learners:
            yield path, not_allowed(f"learner {of}", learner, experiment.learners)
        elif dot and not any(fnmatch(each, variant) for each in variants):
            yield path, not_allowed(f"variant of {learner} in this experiment:", variant, variants)
    if mention.stream is not None and mention.stream not in experiment.streams:
        yield ("stream",), not_allowed(f"stream {of}", mention.stream, experiment.streams)
    learners, columns = [name.partition(".")[0] for _, name in mention.learners], (*COLUMNS, *OPTIONAL)
    for column, value in mention.where.items():
        if column not in columns:
            yield ("where", column), not_allowed("column of a run", column, columns)
            continue
        values = _values(column, experiment, learners)
        if values is not None and not any(_same(value, each) for each in values):
            listed = ", ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in values)
            said = f"no {column} {of} is {value!r}, there are: {listed}{nearest(value, map(str, values))}"
            yield ("where", column), said


def _same(value: str | float, other: object) -> bool:
    if isinstance(value, str) or not isinstance(other, int | float):
        return value == other
    return value == other or math.isclose(value, other, rel_tol=1e-5, abs_tol=1e-8)


def _values(column: str, experiment: Experiment, learners: Sequence[str]) -> list[object] | None:
    """The values of a column in the rows of an experiment, as far as they follow from the settings."""
    if column == "epsilon":
        held = FAMILIES[experiment.family].learners
        private = {name not in held or held[name].card.private for name in learners}
        own = () if private == {False} else experiment.epsilon
        return [*own] if private == {True} else [*own, math.inf]
    if column == "window":
        covering = [2 ** math.ceil(math.log2(each)) for each in experiment.horizon]
        listed = [each for each in getattr(experiment, "window", ()) if isinstance(each, int)]
        return list(dict.fromkeys([*listed, *(covering if hasattr(experiment, "window") else [0])]))
    places = {dimension: None for _, _, dimension in experiment.places()}
    known: dict[str, Any] = {
        **getattr(experiment, "set_options", {}),
        **experiment.options,
        "stream": experiment.streams,
        "horizon": experiment.horizon,
        "delta": (*experiment.deltas, 0.0),
        "set": experiment.sets if isinstance(experiment, ExperimentOnSets) else "experts",
        "dimension": tuple(places) or getattr(experiment, "dimension", ()),
        **{name: getattr(experiment, name, None) for name in ("strong_convexity", "best_loss")},
    }
    found = known.get(column)
    return None if found is None else [*as_tuple(found)]
