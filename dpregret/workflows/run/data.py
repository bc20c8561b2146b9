"""What was read of a user's records, the command `dpregret data ./my_study` and `dpregret.records`.

To be looked at before anything runs: rows, features with their ranges, classes, rows that the public norm scales down,
and the epsilon of a record at the planned number of rounds. `dpregret run ./my_study` begins with the first lines of
it. The numbers are read off the records: they are for the owner's eyes, and no guarantee covers them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pandas as pd
from pydantic import ValidationError

from dpregret import study
from dpregret.algorithms.privacy.budget import Budget, Release, gaussian_mu
from dpregret.core import arguments
from dpregret.core.boundary import as_json
from dpregret.core.errors import ConfigError, not_allowed
from dpregret.core.yaml_source import Source, validate
from dpregret.datasets import records
from dpregret.datasets.overview import Overview, overview
from dpregret.numerics.arrays import Array
from dpregret.paper_figs.text import formats

MOST_CLASSES: Final = 12
"""Values of a label that the page lists."""


@dataclass(frozen=True)
class Planned:
    """One experiment at its longest: rounds, the rounds that a record is in, epsilon of a round, and of a record.

    record_epsilon: of fresh Gaussian noise in every round, and of correlated noise by group privacy.
    """

    experiment: str
    rounds: int
    participations: int
    epsilon: float
    delta: float
    record_epsilon: tuple[float, float]


@dataclass(frozen=True)
class Page:
    """What was read of one data set, and what is planned on it."""

    data: Overview
    planned: tuple[Planned, ...] = ()

    def __str__(self) -> str:
        """Lines of at most 120 columns."""
        lines = [*_first(self.data), *_columns(self.data), *_constants(self.data), *map(of_record, self.planned)]
        return "\n".join([*lines, *(line for note in self.data.notes for line in formats.folded(f"note: {note}"))])


@dataclass(frozen=True, eq=False, repr=False)
class Read:
    """Records of a CSV file. names (d,): of the features. features (n, d): rows of norm at most `norm`. labels (n,): in
    [-1, 1]. overview: what was read, as `dpregret data --json` has it. Printed, it is the page of that command."""

    names: tuple[str, ...]
    features: Array
    labels: Array
    norm: float
    overview: Overview

    def __repr__(self) -> str:
        return str(Page(self.overview))


def read(file: str | Path, options: dict[str, Any]) -> Read:
    """See `dpregret.records`."""
    place = arguments.path("records: file", file)
    for name, value in options.items():
        if isinstance(value, bytes):  # which would be read as text
            raise ConfigError(f"records: {name}: must be text or a number, not {value!r}")
    data = {"file": str(place.absolute()), **arguments.plain(options)}
    declared = validate(records.RecordFile, _Call("records", data, {}))
    found = declared.records()
    return Read(found.names, found.features, found.labels, declared.norm, overview(place.name, found))


class _Call(Source):
    """The arguments of a call, for messages."""

    def at(self, path: tuple[str | int, ...]) -> str:
        return ": ".join(["records", *map(str, path[: 2 if path[:1] in (("ranges",), ("levels",)) else 1])])


def planned_at(experiment: str, rounds: int, size: int, epsilon: float, delta: float) -> Planned:
    """The privacy of a record of `size` at T rounds, of which it is in ceil(T / size)."""
    participations = -(-rounds // size)
    either = (participations * epsilon,) * 2  # pure: group privacy
    if participations > 1 and delta > 0 and not math.isinf(epsilon):
        line = Release("gaussian", 1.0, gaussian_mu(Budget(epsilon, delta)), 1.0)
        fresh = replace(line, apart=True).of_record(participations).epsilon(delta)
        either = fresh, line.of_record(participations).epsilon(delta)
    return Planned(experiment, rounds, participations, epsilon, delta, either)


def pages(names: Sequence[str] = ()) -> list[Page]:
    """The data sets of the study (those of some names). Raises ConfigError, a line for each mistake of each file."""
    declared, found, problems = records.declared(), {}, list[str]()
    for name in names:
        if name not in declared:
            raise ConfigError(f"{study.DATA}: {not_allowed('data set', name, declared)}")
    for name in names or declared:
        try:
            found[name] = overview(name, declared[name].records())
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    planned = list(_experiments())
    return [
        Page(
            data,
            tuple(
                planned_at(title, max(one.horizon), data.records, _largest(one.epsilon), max(one.deltas))
                for title, source, one in planned
                if source == name
            ),
        )
        for name, data in found.items()
    ]


def _largest(budgets: Iterable[float]) -> float:
    """The largest privacy budget; inf where all plays are without noise."""
    return max(filter(math.isfinite, budgets), default=math.inf)


def _experiments() -> Iterator[tuple[str, str, Any]]:
    """(name, its data set, experiment) of the study, as far as they can be read."""
    from dpregret.workflows.plan.load import load_config
    from dpregret.workflows.plan.read import profile_path

    try:
        papers = load_config(profile_path(study.PROFILE), check=False).papers
    except (ConfigError, ValidationError):
        return
    for paper in papers.values():
        for name, experiment in paper.experiments.items():
            if source := experiment.options.get("source"):
                yield name, str(source), experiment


def plays_of(source: str) -> list[tuple[str, str]]:
    """(stream, set) of the plays of a data set by experiments of online learners."""
    experiments = [one for _, name, one in _experiments() if name == source and one.family == "online"]
    return [(stream, one_set) for one in experiments for stream in one.streams for one_set in one.sets]


def first_lines() -> list[str]:
    """What a run of the study begins with. Raises ConfigError."""
    lines = []
    for page in pages():
        lines += [*_first(page.data), _norm(page.data), *map(of_record, page.planned[-1:])]
        lines += [f"note: {note}" for note in page.data.notes]
    return lines


def _first(data: Overview) -> list[str]:
    classes = [f"{value!r} {count}" for value, count in list(data.classes.items())[:MOST_CLASSES]]
    classes += [f"{len(data.classes) - MOST_CLASSES} further values"] * (len(data.classes) > MOST_CLASSES)
    if data.positive is None:
        classes = [f"{count} {place}" for place, count in data.classes.items()]
    sides = "" if data.positive is None else f"; {data.positive} are +1, {data.records - data.positive} are -1"
    size = f"{data.records} records of {len(data.columns)} features"
    lines = [f"{data.name}: {data.file}, {size}", *formats.folded(f"label {data.label!r}: {', '.join(classes)}{sides}")]
    return [
        *lines,
        *(formats.folded(f"left out by drop: {', '.join(map(repr, data.dropped))}") if data.dropped else ()),
    ]


def _columns(data: Overview) -> list[str]:
    rows = []
    for column in data.columns:
        ranged = column.low is not None
        numbers = {"least": column.least, "mean": column.mean, "most": column.most}
        rows.append(
            {
                "feature": column.name,
                **{name: f"{value:.4g}" for name, value in numbers.items()},
                "public range": f"[{column.low:g}, {column.high:g}]" if ranged else "-",
                "outside": str(column.outside) if ranged else "-",
            }
        )
    return formats.terminal(pd.DataFrame(rows), "").strip("\n").splitlines()


def _norm(data: Overview) -> str:
    share = f"{data.shortened} of {data.records} rows ({data.shortened / data.records:.1%})"
    longest = f", most often for {data.longest}" if data.longest else ""
    return f"norm {data.constants['norm']:g}: {share} are longer and are scaled down to it{longest}"


def _constants(data: Overview) -> list[str]:
    constants = ", ".join(f"{key} {_text(value)}" for key, value in data.constants.items())
    return [_norm(data), *formats.folded(f"constants as declared, which must be public: {constants}")]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]" if len(value) > 1 else _text(value[0])
    return f"{value:g}" if isinstance(value, float) else str(value)


def of_record(planned: Planned) -> str:
    """What a record loses, in one line."""
    low, high = (f"{value:.3g}" for value in planned.record_epsilon)
    where = f"{planned.experiment}, T = {planned.rounds}"
    if math.isinf(planned.epsilon):
        return f"{where}: plays without noise only, which protect no record"
    if planned.participations == 1:
        return f"{where}: a record is in one round; its eps is that of a round, {planned.epsilon:g}"
    between = low if low == high else f"{low} (fresh Gaussian noise) to {high} (group privacy)"
    return (
        f"{where}: a record is in {planned.participations} rounds; eps {planned.epsilon:g} of a round is eps {between} "
        f"of a record"
    )


def main(names: Sequence[str] = (), in_json: bool = False) -> int:
    """The command `dpregret data`: print the pages of a study's data sets."""
    if study.FOLDER is None:
        raise ConfigError("data: name the folder of a study; `dpregret new pay --data my.csv` writes one of a CSV file")
    found = pages(names)
    if not found:
        raise ConfigError(f"{study.DATA}: declares no data set")
    print(as_json(found).rstrip("\n") if in_json else "\n\n".join(map(str, found)))
    return 0


def announce() -> None:
    """Print the first lines on standard error, where a run's own lines are. Raises ConfigError."""
    for line in first_lines():
        print(line, file=sys.stderr)
