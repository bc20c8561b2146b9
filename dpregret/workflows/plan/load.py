"""Read a configuration: everything is checked before any rule is built.

A profile is one YAML file, complete or on top of another one (docs/settings.md, "Profiles"). What `full` runs of a
paper is in the paper's `experiments.yaml`. Every mistake is one line that names the file, the line, the key, the value
and what is allowed there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from dpregret.core.errors import ConfigError, among, nearest, not_allowed
from dpregret.core.files import checksum
from dpregret.core.yaml_source import Expanded, KeyPath, Located, Source, display_path, in_order, read_source, validate
from dpregret.workflows.plan.config import Config, Limits, Paper, other_families, parse_limits
from dpregret.workflows.plan.read import PAPERS, papers, profile_path
from dpregret.workflows.plan.semantic_checks import semantic_problems, size_problems

OPTIONS = ("profile", "limits")
"""The keys of ``--config``."""
RESERVED_PROFILES = frozenset({
    "reference", "log", "benchmark", "store", "made", "papers", "winners", "check", "audit", "validation",
    "confirmation",
})  # fmt: skip
"""Names of other folders of results/, and of a base."""
ROOT_PROFILE = "papers"  # what `full` extends: the experiments of every paper's folder
LISTED = "listed"
TOP_KEYS, PAPER_KEYS = ("extends", "only", "defaults"), ("only", "defaults")
"""Keys that say how files are put together, at the top of a profile and in one of its papers."""
Locations = dict[KeyPath, tuple[Located, KeyPath]]
RANGE: Final = {"type": "string", "pattern": r"^\d+\^-?\d+(\.\.\d+\^-?\d+)?$"}
OVERLAY: Final = {
    "only": {"anyOf": [{"const": LISTED}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
    "defaults": {"type": "object"},
}


def check_options(options: dict[str, Any]) -> Path:
    """Return the configuration file that Snakemake's ``--config`` names; refuse any key but `OPTIONS`."""
    unknown = [
        f"--config {key}: unknown key, allowed: {', '.join(OPTIONS)}{nearest(key, OPTIONS)} "
        "(settings belong into a YAML file: --config profile=path/to/mine.yaml)"
        for key in options
        if key not in OPTIONS
    ]
    if unknown:
        raise ConfigError(unknown)
    return profile_path(options.get("profile", "full"))


def load_config(
    path: Path | str,
    check: bool = True,
    limits: Limits | None = None,
    read: dict[str, str] | None = None,
    on_progress: Callable[[str], None] = lambda where: None,
    unplayed: Callable[[Config, str, str], Collection[str]] = lambda config, paper, name: (
        config.experiment(paper, name).learners
    ),
) -> Config:
    """Read and check one configuration file, with all that it extends.

    Raises `ConfigError` with one line per mistake: syntax, keys and types first, then sizes, then, once these are
    right, what the installed learners, streams and sets cannot do. check False leaves out the latter. limits: go before
    those of the file. read: the files that are read, each with its SHA-256, are added. on_progress: receives what is
    checked next. unplayed: the learners of a paper's experiment that were not played: only these are built to be
    checked.
    """
    source = read_profile(Path(path), read)
    further = {0: TOP_KEYS, 2: PAPER_KEYS}
    config = validate(Config, source, further, elsewhere=other_families(), deciding=("family", *TOP_KEYS))
    limits = limits or parse_limits(None)
    if limits is not None:
        lifted = config.limits.model_copy(update=limits.model_dump(exclude_unset=True))
        config = config.model_copy(update={"limits": lifted})
    config.limits.bound_imports()
    mistakes = [*_names(config, Path(path).stem), *size_problems(config, config.limits)]
    if check and not mistakes:
        mistakes += semantic_problems(config, unplayed, on_progress)
    problems = [f"{source.at(path)}: {message}" for path, message in mistakes]
    if problems:
        raise ConfigError(problems)
    return config


def _names(config: Config, file_stem: str) -> Iterator[tuple[KeyPath, str]]:
    """Names of profiles and papers that are wrong."""
    names = papers()
    if config.profile != file_stem:
        message = f"{config.profile!r} must be the name of its file, {file_stem!r}"
        yield ("profile",), f"{message}: the results of a profile have a folder of that name"
    if config.profile in (*RESERVED_PROFILES, *names):
        yield ("profile",), f"{config.profile!r} is the name of another folder of results: choose another name"
    for paper in config.papers:
        if paper not in names:
            yield ("papers", paper), not_allowed("paper", paper, names)


def read_profile(path: Path, read: dict[str, str] | None = None) -> Expanded:
    """Read a profile with all that it extends; each part with its location.

    read: the files, each with its SHA-256, are added. Raises `ConfigError` with one line per mistake.
    """
    data: dict[str, Any] = {}
    locations: Locations = {}
    for layer in _layers(path, {} if read is None else read):
        if not isinstance(layer.data, dict):
            raise ConfigError(f"{layer.at(())}: must be a mapping that starts with 'profile:'")
        data.pop("profile", None)  # every file has its own
        locations.pop(("profile",), None)
        problems = list(_problems(layer.data, data, layer))
        if problems:
            raise ConfigError(in_order(problems))
        _select(layer.data, data)
        locations[()] = (layer, ())
        _lay_defaults(layer, data, locations)
        _lay(layer, (), data, (), locations)
    return Expanded(data, locations)


def _layers(path: Path, read: dict[str, str], above: tuple[str, ...] = ()) -> list[Located]:
    """The files of a profile, the base of all first. above: names of those that extend this one."""
    source = read_source(path, display_path(path))
    read[str(path)] = checksum(path)
    if source.name in above:
        raise ConfigError(f"{source.at(('extends',))}: extends itself")
    base = source.data.get("extends") if isinstance(source.data, dict) else None
    if base is None:
        return [source]
    if base == ROOT_PROFILE:
        return [_root(), source]
    try:
        beside = isinstance(base, str) and ("/" in base or base.endswith(".yaml"))
        below = path.parent / base if beside else profile_path(base)
    except ConfigError as error:
        raise ConfigError(f"{source.at(('extends',))}: {error}") from None
    return [*_layers(below, read, (*above, source.name)), source]


def _root() -> Expanded:
    """The experiments of all papers, each as its own file states them."""
    files = {name: PAPERS / name / "experiments.yaml" for name in papers()}
    sources = {name: read_source(file, display_path(file)) for name, file in files.items() if file.exists()}
    locations: Locations = {(): (Source(display_path(PAPERS), {}, {}), ())}
    locations |= {("papers", name): (source, ()) for name, source in sources.items()}
    return Expanded({"papers": {name: source.data for name, source in sources.items()}}, locations)


def _at(node: object, *path: str | int) -> dict[str, Any]:
    """The mapping at a path in nested mappings; empty where there is none."""
    for part in path:
        node = node.get(part) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


def _problems(layer: dict[str, Any], base: dict[str, Any], source: Located) -> Iterator[str]:
    """Mistakes in how a profile changes the one that it extends."""
    papers_below = _at(base, "papers")
    parts: list[tuple[KeyPath, dict[str, Any], dict[str, Any], dict[str, Any]]]
    parts = [((), layer, papers_below, _at(layer, "papers"))]
    parts += [
        (("papers", name), settings, _at(papers_below, name, "experiments"), _at(settings, "experiments"))
        for name, settings in _at(layer, "papers").items()
        if isinstance(settings, dict)
    ]
    for where, node, allowed, listed in parts:
        keys = [*(Paper if where else Config).model_fields, *(PAPER_KEYS if where else TOP_KEYS)]
        only = node.get("only")
        if only is not None and only != LISTED and not isinstance(only, list):
            yield f"{source.at((*where, 'only'))}: must be the word {LISTED} or a list of names, not {only!r}"
        for position, name in enumerate(only if isinstance(only, list) else []):
            if not isinstance(name, str) or name not in allowed:
                yield f"{source.at((*where, 'only', position))}: {not_allowed('name', name, map(str, allowed))}"
        if only in (LISTED, []) and not listed:
            unknown = [key for key in node if key not in keys]  # such as `paper` for `papers`
            yield from (f"{source.at((*where, key))}: unknown key{among(key, keys)}" for key in unknown)
            if not unknown:
                yield f"{source.at((*where, 'only'))}: keeps nothing: name what is kept"
        if not isinstance(node.get("defaults", {}), dict | None):
            yield f"{source.at((*where, 'defaults'))}: must be a mapping, not {node['defaults']!r}"
    for paper, settings in _at(layer, "papers").items():
        experiments = _at(papers_below, paper, "experiments")
        for name, experiment in _at(settings, "experiments").items():
            if papers_below and name not in experiments and not _at(experiment).get("title"):
                location = source.at(("papers", paper, "experiments", name))
                yield f"{location}: no such experiment in what this extends, nor a title{nearest(name, experiments)}"


def _select(layer: dict[str, Any], base: dict[str, Any]) -> None:
    """Drop from the base what the file leaves out."""
    listed = layer.get("only") == LISTED
    _keep(_at(base, "papers"), layer.get("only"), _at(layer, "papers"))
    for paper, settings in _at(base, "papers").items():
        change = _at(layer, "papers", paper)
        _keep(
            _at(settings, "experiments"),
            change.get("only", LISTED if listed and "experiments" in change else None),
            _at(change, "experiments"),
        )
        if listed and "oracle_costs" not in change:
            settings.pop("oracle_costs", None)


def _keep(entries: dict[str, Any], only: object, listed: Mapping[str, Any]) -> None:
    names = listed if only == LISTED else (*only, *listed) if isinstance(only, list) else entries
    for name in [name for name in entries if name not in names]:
        del entries[name]


def _lay_defaults(source: Located, data: dict[str, Any], locations: Locations) -> None:
    """Apply the defaults of a file, and those of its papers, to all experiments, new ones too."""
    layer = _at(source.data)
    for paper in dict.fromkeys([*_at(data, "papers"), *_at(layer, "papers")]):
        settings = _at(layer, "papers", paper)
        defaults: list[KeyPath] = [("defaults",), ("papers", paper, "defaults")]
        changes = {name: change for name, change in _at(settings, "experiments").items() if isinstance(change, dict)}
        for name in dict.fromkeys([*_at(data, "papers", paper, "experiments"), *changes]):
            here: KeyPath = ("papers", paper, "experiments", name)
            for start in defaults:
                if _at(layer, *start):
                    _lay(source, start, data, here, locations)


def _lay(source: Located, start: KeyPath, data: dict[str, Any], here: KeyPath, locations: Locations) -> None:
    """Merge what a file has at `start` into the data at `here`: papers and experiments key by key, anything else as a
    whole. A null removes a key.
    """
    target = _inside(data, here, locations)
    for key, value in _at(source.data, *start).items():
        path = (*here, key)
        if key in {0: TOP_KEYS, 2: PAPER_KEYS}.get(len(here), ()):
            continue
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and _merged(path):
            _lay(source, (*start, key), data, path, locations)
        else:
            target[key] = value
        locations[path] = (source, (*start, key))


def _merged(path: KeyPath) -> bool:
    """Whether a file is merged into the mapping at a key, and does not replace it."""
    return path[0] == "papers" and len(path) <= 4 and path[2:3] in ((), ("experiments",))


def _inside(data: dict[Any, Any], path: KeyPath, locations: Locations) -> dict[Any, Any]:
    """The mapping at a path; a new one drops the locations of what it replaces."""
    node = data
    for number, part in enumerate(path, 1):
        if not isinstance(node.get(part), dict):
            node[part] = {}
            for stale in [key for key in locations if key[:number] == path[:number]]:
                del locations[stale]
        node = node[part]
    return node


def file_schema() -> dict[str, Any]:
    """Return the JSON schema of a profile: that of the models, and how files are put together."""
    schema: dict[str, Any] = _in_file(Config.model_json_schema())
    schema["properties"] |= {"extends": {"type": "string"}, **OVERLAY}
    schema["$defs"]["Paper"]["properties"] |= OVERLAY
    return schema | {"required": ["profile"]}


def _in_file(schema: Any) -> Any:
    """The schema of a file: keys may be left out, or be null to remove one; numbers in lists may be ranges."""
    if isinstance(schema, list):
        return [_in_file(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _in_file(value) for key, value in schema.items() if key != "required"}
    if "oneOf" in changed:  # what leaves keys out may fit several families
        changed["anyOf"] = changed.pop("oneOf")
    for key in {"properties", "patternProperties"} & changed.keys():
        changed[key] = {name: {"anyOf": [value, {"type": "null"}]} for name, value in changed[key].items()}
    if changed.get("type") == "array" and any(name in str(changed["items"]) for name in ("integer", "number")):
        return {"anyOf": [{**changed, "items": {"anyOf": [changed["items"], RANGE]}}, RANGE]}
    return changed


if __name__ == "__main__":
    print(json.dumps(file_schema(), indent=2))
