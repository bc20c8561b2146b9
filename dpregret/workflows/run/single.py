"""One learner on one stream at one setting, played where it is called: what `dpregret.play` does."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np
import pandas as pd

from dpregret.algorithms.learner import Card
from dpregret.core.arguments import plain, printable_value, real, whole
from dpregret.core.errors import NAME_PATTERN, NAME_RULE, ConfigError, not_allowed, raised
from dpregret.core.machine import STARTED
from dpregret.core.yaml_source import KeyPath, Source, validate
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.interface import Draws, Experiment, Family, filled
from dpregret.workflows.plan import keys
from dpregret.workflows.plan.config import Limits, data_of, parse_limits
from dpregret.workflows.plan.read import Play
from dpregret.workflows.plan.semantic_checks import experiment_sizes, predicted, within
from dpregret.workflows.run import store
from dpregret.workflows.run.account import account_of
from dpregret.workflows.run.played import Played

if TYPE_CHECKING:
    from dpregret.workflows.run.data import Read

ARGUMENTS: Final = {
    "horizon": "rounds", "samples": "rounds", "experts": "dimension", "streams": "stream", "risks": "stream",
    "learners": "learner",
}  # fmt: skip
"""Key of an experiment -> argument of a call."""
PLAY: Final = "play"
GIVEN: Final = "given records"
"""The source of records that a caller holds; the space keeps it apart from every declared name."""
SYMBOLS: Final = {
    "T": "rounds", "horizon": "rounds", "n": "rounds", "samples": "rounds", "d": "dimension", "W": "window",
    "eps": "epsilon", "mu": "strong_convexity", "data": "source", "loss": "stream", "losses": "stream",
    "n_runs": "runs", "repetitions": "runs", "repeats": "runs", "steps": "rounds", "iterations": "rounds",
    "dim": "dimension", "features": "dimension", "experts": "dimension", "budget": "epsilon", "algorithm": "learner",
    "domain": "set", "sets": "set", "streams": "stream", "learners": "learner", "random_state": "seed",
}  # fmt: skip
"""What else a caller may call an argument."""
ARGUMENTS_OF_PLAY: Final = (
    "learner", "stream", "rounds", "dimension", "data", "window", "epsilon", "delta", "runs", "set", "seed", "limits",
    "strong_convexity",
)  # fmt: skip
BASES: Final = {"Learner": "online", "ExpertLearner": "experts", "BanditLearner": "bandits", "ErmLearner": "erm"}
"""Base class of learners -> their family."""


@dataclass(frozen=True)
class Job:
    """A call that was checked: all that decides the rows of one learner. windowed: whether a window was asked for."""

    family: Family[Any, Any, Any]
    kind: type[Any]
    variant: str
    experiment: Experiment
    stream: str
    own: type[Any] | None
    seed: int
    windowed: bool
    data: Read | None

    @property
    def learner(self) -> str:
        """name.variant."""
        return f"{self.kind.card.name}.{self.variant}"

    def plays(self, store_too: bool = False, keep: bool = False) -> list[Played]:
        """One a privacy setting, in the order of the experiment. Raises ConfigError, LearnerFault, StreamFault.

        store_too: rows that the store of the working folder has of the same play are taken from there. keep: what it
        lacks is put there.
        """
        stored = self._in_store(keep) if keep or (store_too and keys.STORE.is_dir()) else None
        found = None if stored is None else store.read(stored.key)
        with contextlib.ExitStack() as stack:
            stack.enter_context(known(self.family, self.own))
            names, folder = data_of(self.experiment), None
            if names or self.own is not None:
                from dpregret.workflows.plan import make  # late: most plays read no data, and need none of a plan

                folder = Path(stack.enter_context(TemporaryDirectory(prefix="dpregret-")))
                if self.data is not None:
                    _save(self.data, folder)
                store.link({name: make.data_file(name) for name in names if name != GIVEN}, folder)
            draws = Draws(self.seed, self.experiment.runs, folder)
            try:
                pairs = list(self._played(draws) if found is None else self._stored(found, draws))
            except ConfigError:
                raise
            except ValueError as refusal:  # of the stream, for this setting
                raise ConfigError(f"{PLAY}: {raised(refusal)}") from refusal
        if keep and stored is not None and found is None:
            anytime = bool(self.kind.card.anytime and self.family.anytime)
            rows = pd.concat([filled(rows) for _, rows in pairs], ignore_index=True).assign(anytime=anytime)
            store.write(rows, stored.key, keys.key_of(PLAY), stored.code)
        return [play for learner, rows in pairs for play in self._split(learner, filled(rows))]

    def _in_store(self, keep: bool) -> Play | None:
        """The name of these rows in the store; None where a class or records of the caller decide them, and where rows
        would be kept that another text has made: a file was edited after its import."""
        mine = self.family.learners.get(self.kind.card.name) is not self.kind
        if mine or self.own is not None or self.data is not None:
            return None
        from dpregret.workflows.plan import make  # late, as above

        ((play, files),) = make.plays(self.seed, self.experiment)
        return None if keep and any(file.stat().st_mtime > STARTED for file in files) else play

    def _played(self, draws: Draws) -> Iterator[tuple[Any, pd.DataFrame]]:
        return self.family.plays(self.experiment, self.kind, self.variant, draws)

    def _stored(self, rows: pd.DataFrame, draws: Draws) -> Iterator[tuple[Any, pd.DataFrame]]:
        """The same from the rows of a play: cells are alike, one after the other."""
        cells = list(self.family.cells(self.experiment, self.kind.card))
        for cell, part in zip(cells, np.array_split(np.arange(len(rows)), len(cells)), strict=True):
            problem = self.family.problem(cell, self.experiment, draws)
            learner = self.family.learner(self.kind, problem, cell, self.experiment, self.variant)
            yield learner, rows.iloc[part].drop(columns="anytime").reset_index(drop=True)

    def _split(self, learner: Any, rows: pd.DataFrame) -> Iterator[Played]:
        """The plays of one cell, whose rows stand setting by setting."""
        for setting, part in enumerate(np.array_split(np.arange(len(rows)), len(learner.budgets))):
            own = rows.iloc[part].reset_index(drop=True)
            first = own.iloc[0]
            yield Played(
                self.learner, self.family.name, self.stream, str(first["set"]), int(first["horizon"]),
                int(first["dimension"]), int(first["window"]) if self.windowed else 0, float(first["epsilon"]),
                float(first["delta"]), own, account_of(learner, setting), self.kind.card.title,
            )  # fmt: skip


@contextlib.contextmanager
def known(family: Family[Any, Any, Any], own: type[Any] | None) -> Iterator[None]:
    """A stream of the caller's own stands among those of its family while the block runs."""
    if own is None:
        yield
        return
    streams = cast("dict[str, Any]", family.streams)
    streams[own.name] = own
    try:
        yield
    finally:
        del streams[own.name]


class Shared(NamedTuple):
    """Arguments of a call that all of its plays share."""

    delta: float
    runs: int
    set: str | None
    seed: int
    options: Mapping[str, Any]
    limits: str | None
    data: Read | None


def play_one(
    learner: Any, stream: Any, rounds: int | None, dimension: int | None, window: int | None, epsilon: float,
    shared: Shared,
) -> Played:  # fmt: skip
    """See `dpregret.play`."""
    for key, value in (("rounds", rounds), ("dimension", dimension), ("window", window), ("epsilon", epsilon)):
        if isinstance(value, list | tuple):
            expected = "a number" if key == "epsilon" else "a whole number"
            raise ConfigError(f"{PLAY}: {key}: must be {expected}, not {value!r}; `dpregret.sweep` takes lists")
    windows = None if window is None else [window]
    (play,) = job(learner, stream, rounds, dimension, windows, [epsilon], shared).plays()
    return play


def posed(stream: Any, data: Any) -> Any:
    """The stream, that of records where none is given. Raises ConfigError for what is neither a name nor a class."""
    from dpregret.workflows.run.data import Read

    if data is not None and not isinstance(data, Read):
        raise ConfigError(f"{PLAY}: data: must be the answer of `dpregret.records`, not {type(data).__name__}")
    if stream is not None and not isinstance(stream, str | type):
        raise ConfigError(f"{PLAY}: stream: must be a name of `dpregret.streams()` or a class, not {stream!r}")
    if stream is None and data is not None:
        return "fetched-regression" if data.overview.positive is None else "records-logistic"
    return stream


def job(
    learner: Any, stream: Any, rounds: int | None, dimension: int | None, windows: Sequence[int] | None,
    epsilons: Sequence[float], shared: Shared,
) -> Job:  # fmt: skip
    """The call of one learner at some windows and budgets, checked before anything is played. Raises ConfigError."""
    delta, runs, set, seed, options, limits, data = shared
    allowed = lifted(limits)
    own, stream = _own_stream(posed(stream, data))
    if data is not None:
        rounds, dimension = _of_records(data, rounds, dimension)
        if "source" in options:
            raise ConfigError(f"{PLAY}: source: the records are given as data: leave it out")
        options = {**options, "source": GIVEN}
    options = plain(options)
    if mistaken := [key for key in options if key in SYMBOLS]:
        raise ConfigError([f"{PLAY}: {key}: no argument; did you mean {SYMBOLS[key]}?" for key in mistaken])
    for key, value in (("stream", stream), ("rounds", rounds), ("dimension", dimension)):
        if value is None:
            raise ConfigError(f"{PLAY}: {key}: this argument is missing; only data, of `dpregret.records`, replaces it")
    if set is not None and not isinstance(set, str):
        raise ConfigError(f"{PLAY}: set: must be a name of `dpregret.sets()`, not {set!r}")
    rounds, dimension, runs = (
        whole(f"{PLAY}: {key}", value) for key, value in (("rounds", rounds), ("dimension", dimension), ("runs", runs))
    )
    windows = None if windows is None else [whole(f"{PLAY}: window", value) for value in windows]
    seed = whole(f"{PLAY}: seed", seed, low=0, most=None)
    epsilons, delta = [real(f"{PLAY}: epsilon", value) for value in epsilons], real(f"{PLAY}: delta", delta)
    family, kind, variant = named(learner)
    name, card = kind.card.name, kind.card
    if own is not None:
        _check_own(own, family)
    stream_class = own or family.streams.get(stream)
    if stream_class is None and not isinstance(learner, str):
        raise ConfigError(f"{PLAY}: stream: {not_allowed('stream', stream, family.streams)}")
    if stream_class is not None:
        _check_options(options, family, stream_class)
    if data is not None and "source" not in (inspect.signature(stream_class).parameters if stream_class else {}):
        taking = [title for title, kind in family.streams.items() if "source" in inspect.signature(kind).parameters]
        where_else = f"allowed: {', '.join(taking)}" if taking else f"no stream of the family {family.name} does"
        raise ConfigError(f"{PLAY}: stream: {stream!r} takes no records, {where_else}")
    if stream_class is not None and family.name == "online" and "strongly-convex" not in stream_class.traits:
        convexity, options = options.get("strong_convexity", 0), dict(options)
        options.pop("strong_convexity", None)
        if convexity != 0:
            raise ConfigError(f"{PLAY}: strong_convexity: losses of the stream {stream!r} have none: leave it out")
    if set is not None and "sets" not in family.experiment.model_fields:
        raise ConfigError(f"{PLAY}: set: learners of the family {family.name} play on no set: leave it out")
    if windows is not None and family.name == "online" and not (card.windowed and card.private):
        what = "is not windowed" if card.private else "is not private"
        raise ConfigError(f"{PLAY}: window: {name} {what}, so that a window has no effect: leave it out")
    experiment = experiment_of(
        family,
        {
            "streams": [stream],
            "horizon": [rounds],
            "dimension": [dimension],
            "window": ["horizon"] if windows is None else windows,
            "epsilon": epsilons,
            "delta": delta,
            "runs": runs,
            "sets": "ball" if set is None else set,
            "learners": {name: [variant]},
        },
        options,
        windows is not None,
    )
    mistakes = list(experiment_sizes(experiment, allowed))
    if not mistakes:
        gigabytes, seconds = predicted(experiment)
        messages = allowed.beyond("play_gb", gigabytes), allowed.beyond("play_minutes", seconds / 60)
        mistakes += [((), message) for message in messages if message]
    if not mistakes:
        with known(family, own):
            bundled = isinstance(learner, str)
            mistakes = list(within(allowed, experiment, True, [GIVEN]) if bundled else experiment.mistakes())
    if mistakes:
        raise ConfigError([f"{where(path)}: {in_python(message)}" for path, message in mistakes])
    return Job(family, kind, variant, experiment, stream, own, seed, windows is not None, data)


def in_python(message: str) -> str:
    """A message about a configuration, in the words of a call."""
    message = re.sub(r"--limits (\S+), or snakemake --config limits=\1", r"limits='\1'", message)
    return message.replace("(for W = T write horizon)", "(for W = T leave it out)")


def lifted(limits: str | None) -> Limits:
    """The limits of a profile, with those that a caller lifts. Raises ConfigError."""
    if limits is not None and not isinstance(limits, str):
        raise ConfigError(f"{PLAY}: limits: must be text such as 'hours:1e5' or 'off', not {printable_value(limits)}")
    given = parse_limits(limits, f"{PLAY}: limits")
    return Limits().model_copy(update=given.model_dump(exclude_unset=True) if given else {})


def named(learner: str | type[Any]) -> tuple[Family[Any, Any, Any], type[Any], str]:
    """Family, class and variant of a learner: a name with its variant behind a dot, or a class. Raises ConfigError."""
    if isinstance(learner, str):
        name, dot, variant = learner.partition(".")
        family = family_of(name)
        kind: type[Any] = family.learners[name]
        if dot and not variant:
            raise ConfigError(f"{PLAY}: learner: {not_allowed('variant', variant, kind.card.variants)}")
    else:
        family, kind, variant = family_of_class(learner), learner, ""
        if not isinstance(getattr(kind, "card", None), Card):
            raise ConfigError(f"{PLAY}: learner: {kind.__name__} needs a class attribute `card`, a `Card`")
        for word in (kind.card.name, *kind.card.variants):
            if not re.fullmatch(NAME_PATTERN, word):
                raise ConfigError(f"{PLAY}: learner: {kind.__name__}: {word!r} {NAME_RULE}")
    variant = variant or kind.card.usual
    if variant not in kind.card.variants:
        refusal = not_allowed("variant", variant, kind.card.variants)
        raise ConfigError(f"{PLAY}: learner: {kind.card.name}: {refusal}")
    return family, kind, variant


def _own_stream(stream: Any) -> tuple[type[Any] | None, Any]:
    """A class of the caller's and its name; None and the name for a name."""
    if not isinstance(stream, type):
        return None, stream
    name = vars(stream).get("name")
    if not isinstance(name, str) or not re.fullmatch(NAME_PATTERN, name):
        raise ConfigError(f"{PLAY}: stream: {stream.__name__} needs a class attribute `name`, which {NAME_RULE}")
    return stream, name


def _check_own(own: type[Any], family: Family[Any, Any, Any]) -> None:
    """Raises ConfigError for a stream of the caller's that its learner cannot be played on."""
    if not issubclass(own, family.source_class):
        need = f"{family.source_class.__name__}, as learners of the family {family.name} need"
        raise ConfigError(f"{PLAY}: stream: {own.__name__} does not derive from {need}")
    if family.streams.get(own.name, own) is not own:
        raise ConfigError(f"{PLAY}: stream: {own.name!r} is the name of another stream: choose one of its own")


def _of_records(data: Read, rounds: int | None, dimension: int | None) -> tuple[int, int]:
    """T and d of records where they are not given: each record in one round. Raises ConfigError."""
    records, features = data.features.shape
    if dimension not in (None, features):
        raise ConfigError(f"{PLAY}: dimension: the records have {features} features: leave it out")
    return records if rounds is None else rounds, features


def _check_options(options: Mapping[str, Any], family: Family[Any, Any, Any], stream: type[Any]) -> None:
    """Raises ConfigError for an option that looks like an argument, and for one with several values."""
    fields = family.experiment.model_fields
    taken = {*inspect.signature(stream).parameters, *fields, *(family.experiment.key(field) for field in fields)}
    for key, value in options.items():
        near = difflib.get_close_matches(key, ARGUMENTS_OF_PLAY, n=1, cutoff=0.75) if key not in taken else []
        if near:
            raise ConfigError(f"{PLAY}: {key}: no argument; did you mean {near[0]}?")
        if isinstance(value, list | tuple) and len(value) > 1:
            raise ConfigError(f"{PLAY}: {key}: has one value in a play, not {value!r}")


def _save(data: Read, folder: Path) -> None:
    """Records in the form that streams read; a row that was lengthened since it was read is refused there."""
    from dpregret.datasets.examples import save

    save(folder / f"{GIVEN}.npz", features=data.features / data.norm, labels=data.labels, norm=np.float64(data.norm))


def family_of(learner: str) -> Family[Any, Any, Any]:
    """The kind of problem of a learner. Raises ConfigError, one line with the nearest and the allowed."""
    for family in sorted(FAMILIES.values(), key=lambda family: not _named_in(family, learner)):
        if learner in family.learners:
            return family
    names = [name for family in FAMILIES.values() if family.compared for name in family.learners]
    raise ConfigError(f"{PLAY}: learner: {not_allowed('learner', learner, names)}")


@cache
def _named_in(family: Family[Any, Any, Any], learner: str) -> bool:
    """Whether a file of a family's learners has this name in quotes: then these are imported, and perhaps no others."""
    folders = importlib.import_module(f"dpregret.algorithms.{family.name}").__path__
    files = (file for folder in folders for file in Path(folder).glob("*.py"))
    return any(f'"{learner}"'.encode() in file.read_bytes() for file in files)


def family_of_class(learner: type[Any]) -> Family[Any, Any, Any]:
    """The same for a class of the user, by its base class."""
    for base in getattr(learner, "__mro__", ()):
        if base.__name__ in BASES:
            return FAMILIES[BASES[base.__name__]]
    name = getattr(learner, "__name__", repr(learner))
    raise ConfigError(f"{PLAY}: learner: {name} is no name, and derives from none of {', '.join(BASES)}")


def experiment_of(
    family: Family[Any, Any, Any], values: Mapping[str, Any], options: Mapping[str, Any], windowed: bool
) -> Experiment:
    """An experiment of one cell. Raises ConfigError, a line for each mistake."""
    fields = family.experiment.model_fields
    if windowed and "window" not in fields:
        raise ConfigError(f"{PLAY}: window: learners of the family {family.name} know no window")
    data = {family.experiment.key(key): value for key, value in values.items() if key in fields}
    data |= {"family": family.name, "title": PLAY, "sweep": "none"}
    if family.name == "lemmas":
        data.pop("set")
    further = {family.experiment.key(key) for key in fields} - data.keys() - {"options"}
    data.update({key: value for key, value in options.items() if key in further})
    data["options"] = {key: value for key, value in options.items() if key not in further}
    return validate(family.experiment, _Call(PLAY, data, {}))


class _Call(Source):
    """The text of a call, for messages."""

    def at(self, path: KeyPath) -> str:
        """The argument that a key stands for."""
        return where(path)


def where(path: KeyPath) -> str:
    """`play: rounds` for a key of the experiment; positions in lists are left out."""
    parts = [ARGUMENTS.get(str(part), str(part)) for part in path if not isinstance(part, int)]
    if parts and parts[0] in ("learner", "options"):
        parts = parts[-1:] if parts[0] == "options" else parts[:1]
    return f"{PLAY}: {'.'.join(parts)}" if parts else PLAY
