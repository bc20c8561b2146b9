"""Names in claims, tables, figures and errata must exist: a misspelt one would always be 'not run'.

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
from dpregret.paper_figs.judge.claims import LAWS, QUOTED, ClaimsError, ClaimsFile
from dpregret.paper_figs.judge.read_claims import PaperTexts, located_paper
from dpregret.paper_figs.judge.runs import COLUMNS, OPTIONAL, same_setting
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.interface import Experiment, ExperimentOnSets, Mistake, as_tuple
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.read import PAPERS, PROFILES

ExperimentVersions = Mapping[str, Sequence[Experiment]]
"""Name of an experiment -> its settings here, and in the whole configuration."""
NamedKey = tuple[KeyPath, str]
"""A learner, as name.variant or a name alone, and its key in the entry."""


class Reference(NamedTuple):
    """The names in an entry at `path` that belong to an experiment."""

    path: KeyPath
    experiment: str
    learners: Sequence[NamedKey] = ()
    stream: str | None = None
    where: Mapping[str, str | float] = {}


def check_references(config: Config, folder: Path = PAPERS) -> dict[str, ClaimsFile]:
    """The claims of the configuration's papers. Raises `ClaimsError` with a line for each unknown name."""
    full = config if config.profile == "full" else load_config(PROFILES / "full.yaml", check=False)
    problems: list[str] = []
    claims: dict[str, ClaimsFile] = {}
    for paper, settings in config.papers.items():
        grids = [version.experiments for version in (full.papers.get(paper), settings) if version is not None]
        experiments = {name: [grid[name] for grid in grids if name in grid] for grid in grids for name in grid}
        claims[paper], mistakes = read_texts(folder / paper, experiments)
        problems += mistakes
    if problems:
        raise ClaimsError(problems)
    return claims


def read_texts(folder: Path, experiments: ExperimentVersions) -> tuple[ClaimsFile, list[str]]:
    """A paper's claims, and one line for each name in its texts that none of its experiments has."""
    texts, claims, errata = located_paper(folder)
    mistakes = [mistake for reference in _claim_references(texts) for mistake in _mistakes(reference, experiments)]
    problems = [f"{claims.at(path)}: {message}" for path, message in (*mistakes, *_exact(texts), *_rows(texts))]
    if errata is not None:
        mistakes = [mistake for reference in _errata_references(texts) for mistake in _mistakes(reference, experiments)]
        problems += [f"{errata.at(path)}: {message}" for path, message in mistakes]
    from dpregret.paper_figs.tables.printed import load_printed

    try:
        load_printed(folder, texts.claims, _universal(experiments))
    except ClaimsError as fault:
        problems += fault.problems
    return texts.claims, list(dict.fromkeys(problems))


def _universal(experiments: ExperimentVersions) -> list[str]:
    """The names of all laws that hold always, on every learner of every experiment."""
    played = [
        f"{name}.{learner}.{variant}"
        for name, versions in experiments.items()
        for experiment in versions
        for learner, variants in experiment.learners.items()
        for variant in variants
    ]
    return [f"{law}.{key}" for law in LAWS for key in dict.fromkeys(played)]


def _claim_references(texts: PaperTexts) -> Iterator[Reference]:
    claims = texts.claims
    for index, claim in enumerate(claims.claims):
        name = f"{claim.learner}.{claim.variant}"
        yield Reference(("claims", index), claim.experiment, [(("learner",), name)], claim.stream, claim.where)
        if counterpart := claim.counterpart:
            name = f"{counterpart.learner}.{counterpart.variant}"
            yield Reference(("claims", index, "counterpart"), claim.experiment, [((), name)], None, counterpart.where)
    for number, table in enumerate(claims.tables):
        rows = [(("rows", index), row.reference) for index, row in enumerate(table.rows)]
        for subpath, reference in [((), table.reference), *rows]:
            if reference is not None:
                path = ("tables", number, *subpath, "reference")
                yield Reference(path, reference.experiment, (), reference.stream, reference.where)
    for index, figure in enumerate(claims.figures):
        if figure.experiment:
            learners: list[NamedKey] = [(("crossing", side), name) for side, name in enumerate(figure.crossing or ())]
            learners += [(("learners", index), name) for index, name in enumerate(figure.learners)]
            learners += [(("counterpart",), figure.counterpart)] if figure.counterpart else []
            yield Reference(("figures", index), figure.experiment, learners, None, figure.where)
    for index, gain in enumerate(claims.gains):
        full = [name if "." in name else f"{gain.learner}.{name}" for name in gain.variants]
        pairs: list[NamedKey] = [(("over",), f"{gain.learner}.{gain.over}")]
        pairs += [(("variants", number), name) for number, name in enumerate(full)]
        yield Reference(("gains", index), gain.experiment, pairs, None, gain.where)


def _errata_references(texts: PaperTexts) -> Iterator[Reference]:
    for index, erratum in enumerate(texts.errata.errata):
        measure = erratum.measure
        if measure is not None and erratum.experiment is not None:
            variants = {"variant": measure.variant, "against": measure.against}
            learners = [((key,), f"{measure.learner}.{name}") for key, name in variants.items()]
            yield Reference(("errata", index, "measure"), erratum.experiment, learners, measure.stream, measure.where)


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
    """Learners of table rows and of privacy claims that no family has, and bounds that no page could show.

    A row may name a learner that its reference does not play.
    """
    from dpregret.paper_figs.text.formula import FormulaError, checked

    named: list[tuple[KeyPath, str, str]] = []
    for played in texts.claims.privacy_claims:
        learner, _, variant = played.partition(".")
        named.append((("privacy_claims", played), learner, variant))
    for number, table in enumerate(texts.claims.tables):
        for index, row in enumerate(table.rows):
            path = ("tables", number, "rows", index)
            named += [((*path, "learner"), row.learner, row.variant)] if row.learner != QUOTED else []
            try:
                checked(row.bound_latex)
            except FormulaError as fault:
                yield (*path, "bound_latex"), str(fault)
    variants = {name: kind.card.variants for family in FAMILIES.values() for name, kind in family.learners.items()}
    for key, learner, variant in named:
        if learner not in variants:
            yield key, not_allowed("learner", learner, variants)
        elif variant not in variants[learner]:
            yield key, not_allowed(f"variant of {learner}", variant, variants[learner])


def _mistakes(reference: Reference, experiments: ExperimentVersions) -> list[Mistake]:
    """The mistakes of a reference; none where it is right in one version of its experiment."""
    if reference.experiment not in experiments:
        entry = reference.path[:2] if reference.path[0] in ("claims", "errata") else reference.path
        return [((*entry, "experiment"), not_allowed("experiment", reference.experiment, experiments))]
    by_version = [
        [((*reference.path, *path), message) for path, message in _mistakes_in(reference, experiment)]
        for experiment in experiments[reference.experiment]
    ]
    return [] if any(not mistakes for mistakes in by_version) else by_version[0]


def _mistakes_in(reference: Reference, experiment: Experiment) -> Iterator[Mistake]:
    of = f"of experiment {reference.experiment!r}"
    for path, name in reference.learners:
        learner, dot, variant = name.partition(".")  # the variant may be a pattern
        variants = experiment.learners.get(learner, ())
        if learner not in experiment.learners:
            yield path, not_allowed(f"learner {of}", learner, experiment.learners)
        elif dot and not any(fnmatch(known, variant) for known in variants):
            yield path, not_allowed(f"variant of {learner} in this experiment:", variant, variants)
    if reference.stream is not None and reference.stream not in experiment.streams:
        yield ("stream",), not_allowed(f"stream {of}", reference.stream, experiment.streams)
    learners, columns = [name.partition(".")[0] for _, name in reference.learners], (*COLUMNS, *OPTIONAL)
    for column, value in reference.where.items():
        if column not in columns:
            yield ("where", column), not_allowed("column of a run", column, columns)
            continue
        values = _values(column, experiment, learners)
        if values is not None and not any(_same(value, existing) for existing in values):
            listed = ", ".join(f"{existing:g}" if isinstance(existing, float) else str(existing) for existing in values)
            message = f"no {column} {of} is {value!r}, there are: {listed}{nearest(value, map(str, values))}"
            yield ("where", column), message


def _same(value: str | float, existing: object) -> bool:
    if isinstance(value, str) or not isinstance(existing, int | float):
        return value == existing
    return bool(same_setting(existing, value))


def _values(column: str, experiment: Experiment, learners: Sequence[str]) -> list[object] | None:
    """The values of a column in the rows of an experiment, as far as they follow from the settings."""
    if column == "epsilon":
        known_learners = FAMILIES[experiment.family].learners
        private = {name not in known_learners or known_learners[name].card.private for name in learners}
        finite = () if private == {False} else experiment.epsilon
        return [*finite] if private == {True} else [*finite, math.inf]
    if column == "window":
        covering = [2 ** math.ceil(math.log2(horizon)) for horizon in experiment.horizon]
        listed = [window for window in getattr(experiment, "window", ()) if isinstance(window, int)]
        return list(dict.fromkeys([*listed, *(covering if hasattr(experiment, "window") else [0])]))
    dimensions = {dimension: None for _, _, dimension in experiment.sets_and_dimensions()}
    columns: dict[str, Any] = {
        **getattr(experiment, "set_options", {}),
        **experiment.options,
        "stream": experiment.streams,
        "horizon": experiment.horizon,
        "delta": (*experiment.deltas, 0.0),
        "set": experiment.sets if isinstance(experiment, ExperimentOnSets) else "experts",
        "dimension": tuple(dimensions) or getattr(experiment, "dimension", ()),
        **{name: getattr(experiment, name, None) for name in ("strong_convexity", "best_loss")},
    }
    values = columns.get(column)
    return None if values is None else [*as_tuple(values)]
