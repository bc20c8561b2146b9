"""Profiles, put together from what they extend.

A profile is one YAML file, complete or on top of another one (docs/settings.md, "Profiles"). What `full` runs of a
paper is in the paper's `experiments.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dpregret.core.errors import ConfigError, nearest, not_allowed
from dpregret.core.files import checksum
from dpregret.core.validation import in_order
from dpregret.core.yaml_source import Bounds, Expanded, KeyPath, Source, read_source, shown
from dpregret.workflows.plan.limits import Limits, long_lists
from dpregret.workflows.plan.number_ranges import expand
from dpregret.workflows.plan.paper_names import PAPERS, PROFILES, papers, profile_path, short_names

__all__ = [
    "LISTED", "PAPERS", "PAPER_KEYS", "PROFILES", "TOP_KEYS", "papers", "profile_path", "read_profile",
    "short_names",
]  # fmt: skip

ROOT_PROFILE = "papers"  # what `full` extends: the experiments of every paper's folder
LISTED = "listed"
TOP_KEYS, PAPER_KEYS = ("extends", "only", "defaults"), ("only", "defaults")
"""Keys that say how files are put together, at the top of a profile and in one of its papers."""
Places = dict[KeyPath, tuple[Source, KeyPath]]


def read_profile(
    path: Path, folder: Path = PAPERS, limits: Limits | None = None, read: dict[str, str] | None = None
) -> Expanded:
    """Read a profile with all that it extends; powers and ranges are numbers, every part has its place.

    limits: on files and lists. read: the files, each with its SHA-256, are added. Raises `ConfigError` with one line
    per mistake.
    """
    limits = limits or Limits()
    data: dict[str, Any] = {}
    places: Places = {}
    for layer in _layers(path, folder, limits.file_bounds, {} if read is None else read):
        if not isinstance(layer.data, dict):
            raise ConfigError(f"{layer.name}: must be a mapping that starts with 'profile:'")
        data.pop("profile", None)  # every file has its own
        places.pop(("profile",), None)
        problems = list(_problems(layer.data, data, layer))
        if problems:
            raise ConfigError(in_order(problems))
        _select(layer.data, data)
        _merge(layer, data, places)
    problems = list(_numbers(data, places))
    expanded = Expanded(data, places)
    problems += [
        f"{expanded.at(where)}: {message}" for where, message in long_lists(_at(data, "papers"), limits, ("papers",))
    ]
    if problems:
        raise ConfigError(in_order(problems))
    return expanded


def _layers(path: Path, folder: Path, bounds: Bounds, read: dict[str, str]) -> list[Source]:
    """The files of a profile, the base of all first."""
    layers: list[Source] = []
    while True:
        source = read_source(path, shown(path), bounds)
        read[str(path)] = checksum(path)
        if any(source.name == each.name for each in layers):
            raise ConfigError(f"{source.at(('extends',))}: extends itself")
        layers.insert(0, source)
        base = source.data.get("extends") if isinstance(source.data, dict) else None
        if base is None:
            return layers
        if base == ROOT_PROFILE:
            return [_root(folder), *layers]
        try:
            beside = path.parent / str(base)
            path = beside if isinstance(base, str) and ("/" in base or base.endswith(".yaml")) else profile_path(base)
        except ConfigError as error:
            raise ConfigError(f"{source.at(('extends',))}: {error}") from None


class _Root(Source):
    """The experiments of all papers, each in the words of its own file."""

    def at(self, path: KeyPath) -> str:
        sources: Mapping[str, Source] = self.lines  # type: ignore[assignment]
        return sources[str(path[1])].at(path[2:]) if len(path) > 1 else self.name


def _root(folder: Path) -> Source:
    files = {name: folder / name / "experiments.yaml" for name in papers(folder)}
    sources = {name: read_source(file, shown(file)) for name, file in files.items() if file.exists()}
    data = {"papers": {name: source.data for name, source in sources.items()}}
    return _Root(shown(folder), data, sources)  # type: ignore[arg-type]


def _at(node: object, *path: str) -> dict[str, Any]:
    """A mapping inside mappings; empty where there is none."""
    for part in path:
        node = node.get(part) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


def _problems(layer: dict[str, Any], base: dict[str, Any], source: Source) -> Iterator[str]:
    """The faults in how a profile changes the one below it."""
    known = _at(base, "papers")
    parts: list[tuple[KeyPath, dict[str, Any], dict[str, Any], dict[str, Any]]]
    parts = [((), layer, known, _at(layer, "papers"))]
    parts += [
        (("papers", name), each, _at(known, name, "experiments"), _at(each, "experiments"))
        for name, each in _at(layer, "papers").items() if isinstance(each, dict)
    ]  # fmt: skip
    for where, node, allowed, listed in parts:
        only = node.get("only")
        if only is not None and only != LISTED and not isinstance(only, list):
            yield f"{source.at((*where, 'only'))}: must be the word {LISTED} or a list of names, not {only!r}"
        for position, name in enumerate(only if isinstance(only, list) else []):
            if not isinstance(name, str) or name not in allowed:
                yield f"{source.at((*where, 'only', position))}: {not_allowed('name', name, map(str, allowed))}"
        if only in (LISTED, []) and not listed:
            yield f"{source.at((*where, 'only'))}: keeps nothing: name what is kept"
        if not isinstance(node.get("defaults", {}), dict | None):
            yield f"{source.at((*where, 'defaults'))}: must be a mapping, not {node['defaults']!r}"
    for paper, settings in _at(layer, "papers").items():
        there = _at(known, paper, "experiments")
        for name, experiment in _at(settings, "experiments").items():
            if known and name not in there and not _at(experiment).get("title"):
                place = source.at(("papers", paper, "experiments", name))
                yield f"{place}: no such experiment in what this extends, nor a title{nearest(name, there)}"


def _select(layer: dict[str, Any], base: dict[str, Any]) -> None:
    """Drop from the base what the file leaves out."""
    listed = layer.get("only") == LISTED
    _keep(_at(base, "papers"), layer.get("only"), _at(layer, "papers"))
    for paper, settings in _at(base, "papers").items():
        own = _at(layer, "papers", paper)
        _keep(_at(settings, "experiments"), own.get("only", LISTED if listed and "experiments" in own else None),
              _at(own, "experiments"))  # fmt: skip
        if listed and "oracle_costs" not in own:
            settings.pop("oracle_costs", None)


def _keep(entries: dict[str, Any], only: object, listed: Mapping[str, Any]) -> None:
    kept = listed if only == LISTED else (*only, *listed) if isinstance(only, list) else entries
    for name in [each for each in entries if each not in kept]:
        del entries[name]


def _merge(source: Source, data: dict[str, Any], places: Places) -> None:
    """Lay a file over the data: its defaults over all experiments, its own keys over these; null takes a key away."""
    layer = _at(source.data)
    places[()] = (source, ())
    _put({key: value for key, value in layer.items() if key not in (*TOP_KEYS, "papers")}, data, places, source, (), ())
    if "papers" not in layer and "papers" not in data:
        return
    own = layer.get("papers", {})
    if not isinstance(own, dict) or (not own and "papers" not in data):
        _put({"papers": own}, data, places, source, (), ())
        return
    target = data.setdefault("papers", {})
    if "papers" in layer:
        places["papers",] = (source, ("papers",))
    for paper in [*target, *(each for each in own if each not in target)]:
        start = ("papers", paper)
        settings = own.get(paper, {})
        if not isinstance(settings, dict):
            _put({paper: settings}, target, places, source, ("papers",), ("papers",))
            continue
        there = target.setdefault(paper, {})
        if paper in own:
            places[start] = (source, start)
        plain = {key: value for key, value in settings.items() if key not in (*PAPER_KEYS, "experiments")}
        _put(plain, there, places, source, start, start)
        changes = settings.get("experiments", {})
        if not isinstance(changes, dict):
            _put({"experiments": changes}, there, places, source, start, start)
            continue
        if "experiments" in settings:
            places[*start, "experiments"] = (source, (*start, "experiments"))
            there.setdefault("experiments", {})
        below = there.get("experiments", {})
        for name in [*below, *(each for each in changes if each not in below)]:
            here = (*start, "experiments", name)
            change = changes.get(name, {})
            if not isinstance(change, dict):
                _put({name: change}, below, places, source, here[:-1], here[:-1])
                continue
            if name not in below:
                for stale in [place for place in places if place[: len(here)] == here]:
                    del places[stale]
            experiment = below.setdefault(name, {})
            if name in changes:
                places[here] = (source, here)
            _put(_at(layer, "defaults"), experiment, places, source, here, ("defaults",))
            _put(_at(settings, "defaults"), experiment, places, source, here, (*start, "defaults"))
            _put(change, experiment, places, source, here, here)


def _put(
    values: Mapping[str, Any], target: dict[str, Any], places: Places, source: Source, here: KeyPath, start: KeyPath
) -> None:
    for key, value in values.items():
        places[*here, key] = (source, (*start, key))
        if value is None:
            target.pop(key, None)
        else:
            target[key] = value


def _numbers(data: dict[str, Any], places: Places) -> Iterator[str]:
    """Write out powers and ranges of all grids; a problem for each that is none."""
    expanded = Expanded(data, places)
    own = _at(data, "limits")
    for name, value in own.items():
        try:
            own[name] = expand(value)
        except ValueError as error:
            yield f"{expanded.at(('limits', name))}: {error}"
    for paper, settings in _at(data, "papers").items():
        grids: dict[KeyPath, dict[str, Any]] = {("oracle_costs",): _at(settings, "oracle_costs")}
        grids |= {("experiments", name): _at(each) for name, each in _at(settings, "experiments").items()}
        for where, entries in grids.items():
            for key, value in entries.items():
                try:
                    entries[key] = value if key in ("title", "learners") else expand(value)
                except ValueError as error:
                    yield f"{expanded.at(('papers', paper, *where, key))}: {error}"
