"""One learner on one stream at one setting, played where it is called: what `dpregret.play` does."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from dpregret.core.arguments import plain, real, whole
from dpregret.core.errors import ConfigError, not_allowed, raised
from dpregret.core.yaml_source import KeyPath, Source, validate
from dpregret.paper_figs.judge.fits import Estimate, mean_interval
from dpregret.paper_figs.judge.result_tables import PRIVACY_ROUNDING
from dpregret.paper_figs.text import formats
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Draws, Experiment, Family
from dpregret.workflows.plan.checks import experiment_sizes, within
from dpregret.workflows.plan.config import CONFIG, Limits, parse_limits
from dpregret.workflows.plan.make import data_files
from dpregret.workflows.run import store

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
}  # fmt: skip
"""What else a caller may call an argument."""
BASES: Final = {"Learner": "online", "ExpertLearner": "experts", "BanditLearner": "bandits", "ErmLearner": "erm"}
"""Base class of learners -> their family."""


@dataclass(frozen=True, repr=False, eq=False)
class Played:
    """The play of one learner on one stream: `runs` independent runs at one setting.

    learner: name.variant. stream, set: names. rounds T (records n), dimension d (experts: their number), window W (0:
    none), epsilon (inf: not private), delta: the setting. rows: one row a run and checkpoint; columns as in the files
    of a run (docs/architecture.md), among them checkpoint (t), run, regret (in units of the loss), trivial_regret
    (of the point that never moves), bound (the learner's own), delivered_epsilon (its ledger).
    """

    learner: str
    family: str
    stream: str
    set: str
    rounds: int
    dimension: int
    window: int
    epsilon: float
    delta: float
    rows: pd.DataFrame

    @property
    def last(self) -> pd.DataFrame:
        """The rows at the end, one a run."""
        last: pd.DataFrame = self.rows.loc[self.rows["checkpoint"] == self.rows["checkpoint"].max()]
        return last.sort_values("run")

    @property
    def regret(self) -> Estimate:
        """Mean regret after all rounds (excess risk of records) with its 95 % interval over runs."""
        return mean_interval(self.last["regret"].to_numpy(dtype=float))

    @property
    def stay(self) -> float:
        """Mean regret of a point that never moves, on the same losses."""
        return float(self.last["trivial_regret"].mean())

    @property
    def bound(self) -> float:
        """The bound of the learner's own theorem, with its constants; NaN where it has none."""
        return float(self.last["bound"].mean())

    @property
    def delivered_epsilon(self) -> float:
        """The epsilon that the privacy ledger proves at `delta`; inf without privacy."""
        return float(self.last["delivered_epsilon"].max())

    @property
    def participations(self) -> int:
        """The most rounds that one record is in: above 1 where a stream repeats its records."""
        return int(self.last["participations"].max()) if "participations" in self.last else 1

    @property
    def record_epsilon(self) -> float:
        """An epsilon of a record in all its rounds, at `delta`; `delivered_epsilon` is that of one round."""
        return float(self.last["record_epsilon"].max()) if "record_epsilon" in self.last else self.delivered_epsilon

    @property
    def curve(self) -> pd.DataFrame:
        """One row a checkpoint: rounds, regret with low and high (95 %), stay, bound."""
        means = by_checkpoint(self.rows, "regret", ["trivial_regret", "bound"])
        return means.rename(columns={"trivial_regret": "stay"})

    def __repr__(self) -> str:
        private = f", eps = {self.epsilon:g}, delta = {self.delta:g}" if self.epsilon < float("inf") else ""
        window = f", W = {self.window}" if self.window else ""
        word = "excess risk" if self.family == "erm" else "regret"
        runs = self.last["run"].nunique()
        lines = [
            f"{self.learner} on {self.stream}, set {self.set}: {'n' if self.family == 'erm' else 'T'} = {self.rounds}, "
            f"d = {formats.size(self.dimension)}{window}{private}",
            f"{word} {formats.significant_interval(self.regret)} (95 % over {runs} runs); a point that never moves "
            f"{formats.significant(self.stay)}; proved at most {formats.significant(self.bound)}",
        ]
        if private:
            of_round = " of a round" if self.participations > 1 else ""
            lines.append(f"the ledger delivers eps = {self.delivered_epsilon:.4g}{of_round} at delta = {self.delta:g}")
            if self.delivered_epsilon > self.epsilon * (1 + PRIVACY_ROUNDING):
                lines[-1] += f": more than the {self.epsilon:g} that was asked for"
        if private and self.participations > 1:
            exactly = self.last["record_least"].min() >= self.record_epsilon * (1 - PRIVACY_ROUNDING)
            spent = f"{'' if exactly else 'at most '}eps = {self.record_epsilon:.4g} of a record"
            lines.append(f"a record is in {self.participations} rounds: {spent}")
        return "\n".join(lines)


def by_checkpoint(rows: pd.DataFrame, column: str, others: list[str]) -> pd.DataFrame:
    """One row a checkpoint: rounds, the mean of a column with low and high (95 % over runs), the means of others."""
    means = []
    for rounds, part in rows.groupby("checkpoint", sort=True):
        means.append((rounds, *mean_interval(part[column].to_numpy(dtype=float)), *part[others].mean()))
    return pd.DataFrame(means, columns=["rounds", column, "low", "high", *others])


def play_one(
    learner: str | type[Any],
    stream: str | None,
    rounds: int | None,
    dimension: int | None,
    window: int | None,
    epsilon: float,
    delta: float,
    runs: int,
    set: str | None,
    seed: int,
    options: Mapping[str, Any],
    limits: str | None = None,
    data: Read | None = None,
) -> Played:
    """See `dpregret.play`."""
    lifted = parse_limits(limits)
    if data is not None:
        stream, rounds, dimension = _of_records(data, stream, rounds, dimension)
        if "source" in options:
            raise ConfigError(f"{PLAY}: source: the records are given as data: leave it out")
        options = {**options, "source": GIVEN}
    for key, value in (("stream", stream), ("rounds", rounds), ("dimension", dimension)):
        if value is None:
            raise ConfigError(f"{PLAY}: {key}: this argument is missing; only data, of `dpregret.records`, replaces it")
    rounds, dimension, runs = (
        whole(f"{PLAY}: {key}", value) for key, value in (("rounds", rounds), ("dimension", dimension), ("runs", runs))
    )
    window = None if window is None else whole(f"{PLAY}: window", window)
    seed = whole(f"{PLAY}: seed", seed, low=0)
    epsilon, delta = real(f"{PLAY}: epsilon", epsilon), real(f"{PLAY}: delta", delta)
    options = plain(options)
    if mistaken := [key for key in options if key in SYMBOLS]:
        raise ConfigError([f"{PLAY}: {key}: no argument; did you mean {SYMBOLS[key]}?" for key in mistaken])
    name, variant = learner, ""
    if isinstance(learner, str):
        name, _, variant = learner.partition(".")
        family = family_of(name)
        learner_class: type[Any] = family.learners[name]
    else:
        family, learner_class = family_of_class(learner), learner
        name = learner.card.name
    card = learner_class.card
    made = family.streams.get(stream) if isinstance(stream, str) else None
    if data is not None and "source" not in (inspect.signature(made).parameters if made else {}):
        taking = [title for title, kind in family.streams.items() if "source" in inspect.signature(kind).parameters]
        where_else = f"allowed: {', '.join(taking)}" if taking else f"no stream of the family {family.name} does"
        raise ConfigError(f"{PLAY}: stream: {stream!r} takes no records, {where_else}")
    if made is not None and family.name == "online" and "strongly-convex" not in made.traits:
        convexity, options = options.get("strong_convexity", 0), dict(options)
        options.pop("strong_convexity", None)
        if convexity != 0:
            raise ConfigError(f"{PLAY}: strong_convexity: losses of the stream {stream!r} have none: leave it out")
    if set is not None and "sets" not in family.experiment.model_fields:
        raise ConfigError(f"{PLAY}: set: learners of the family {family.name} play on no set: leave it out")
    variant = variant or card.usual
    if window is not None and family.name == "online" and not (card.windowed and card.private):
        what = "protects all rounds" if card.private else "is not private"
        raise ConfigError(f"{PLAY}: window: {name} {what}, so that a window has no effect: leave it out")
    experiment = experiment_of(
        family,
        {
            "streams": [stream],
            "horizon": [rounds],
            "dimension": [dimension],
            "window": ["horizon" if window is None else window],
            "epsilon": [epsilon],
            "delta": delta,
            "runs": runs,
            "sets": set or "ball",
            "learners": {name: [variant]},
        },
        options,
        window is not None,
    )
    allowed = Limits().model_copy(update=lifted.model_dump(exclude_unset=True) if lifted else {})
    mistakes = list(experiment_sizes(experiment, allowed))
    if not mistakes:
        mistakes = list(
            within(allowed, experiment, True, [GIVEN]) if isinstance(learner, str) else experiment.mistakes()
        )
    if mistakes:
        raise ConfigError([f"{where(path)}: {message.replace(CONFIG, '')}" for path, message in mistakes])
    with TemporaryDirectory(prefix="dpregret-") as folder:
        if data is not None:
            _save(data, Path(folder))
        store.link({name: file for name, file in data_files(experiment).items() if name != GIVEN}, Path(folder))
        try:
            rows = family.rows(experiment, learner_class, variant, Draws(seed, runs, Path(folder)))
        except ConfigError:
            raise
        except ValueError as refusal:  # of the stream, for this setting
            raise ConfigError(f"{PLAY}: {raised(refusal)}") from refusal
    first = rows.iloc[0]
    window_of = int(first["window"]) if window is not None else 0
    return Played(
        f"{name}.{variant}",
        family.name,
        str(stream),
        str(first["set"]),
        int(first["horizon"]),
        int(first["dimension"]),
        window_of,
        float(first["epsilon"]),
        float(first["delta"]),
        rows,
    )


def _of_records(data: Read, stream: str | None, rounds: int | None, dimension: int | None) -> tuple[str, int, int]:
    """Stream, T and d of records where they are not given: each record in one round. Raises ConfigError."""
    from dpregret.workflows.run.data import Read

    if not isinstance(data, Read):
        raise ConfigError(f"{PLAY}: data: must be the answer of `dpregret.records`, not {type(data).__name__}")
    records, features = data.features.shape
    if dimension not in (None, features):
        raise ConfigError(f"{PLAY}: dimension: the records have {features} features: leave it out")
    usual = "fetched-regression" if data.overview.positive is None else "records-logistic"
    return stream or usual, records if rounds is None else rounds, features


def _save(data: Read, folder: Path) -> None:
    """Records in the form that streams read; a row that was lengthened since it was read is refused there."""
    from dpregret.datasets.examples import save

    save(folder / f"{GIVEN}.npz", features=data.features / data.norm, labels=data.labels, norm=np.float64(data.norm))


def family_of(learner: str) -> Family[Any, Any, Any]:
    """The kind of problem of a learner. Raises ConfigError, one line with the nearest and the allowed."""
    for family in FAMILIES.values():
        if learner in family.learners:
            return family
    names = [name for family in FAMILIES.values() if family.compared for name in family.learners]
    raise ConfigError(f"{PLAY}: learner: {not_allowed('learner', learner, names)}")


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


def compare_plays(first: Played, second: Played) -> pd.DataFrame:
    """One row a common checkpoint: rounds, regret of both, difference (second minus first) with low and high (95 %).

    Run by run where the two met the same losses, which runs of one seed and stream did. Raises ConfigError where they
    have no two runs, or no checkpoint, in common.
    """
    first_regret, second_regret = (play.rows.set_index(["checkpoint", "run"])["regret"] for play in (first, second))
    both = pd.concat({"first": first_regret, "second": second_regret}, axis=1, join="inner").reset_index()
    if both["run"].nunique() < 2:
        raise ConfigError("compare: the plays have no two runs at one checkpoint in common")
    both["difference"] = both["second"] - both["first"]
    means = by_checkpoint(both, "difference", ["first", "second"])
    return means[["rounds", "first", "second", "difference", "low", "high"]]
