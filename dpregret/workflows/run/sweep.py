"""Several learners over a grid of settings, played on all cores: what `dpregret.sweep` does and answers."""

from __future__ import annotations

import difflib
import html
import itertools
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from dpregret.core.arguments import plain, truth, whole
from dpregret.core.errors import ConfigError, not_allowed
from dpregret.core.machine import machine_gb, processors
from dpregret.paper_figs.judge.fits import UNKNOWN, mean_interval
from dpregret.paper_figs.text import formats
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan.config import Limits
from dpregret.workflows.plan.semantic_checks import predicted
from dpregret.workflows.run.played import SAME, Played, same_losses, without_noise
from dpregret.workflows.run.single import PLAY, Job, Shared, in_python, job, lifted, named, posed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SWEEP: Final = "sweep"
GROUPS: Final = {"private": True, "not private": False}
"""Words that stand for the usual variants of all learners, with or without privacy, that a stream serves."""
SHOWN: Final = {"rounds": "T", "dimension": "d", "window": "W", "epsilon": "ε"}
PATIENCE: Final = 1.0
"""Seconds after which progress is shown."""


@dataclass(frozen=True, repr=False, eq=False)
class Swept:
    """Plays of several learners on the same losses, unless the stream is aimed at epsilon.

    plays: in the order of learners and settings. left_out: learners of a group that could not be played -> why.
    remarks: on the window of a group. Indexed, a `Swept` gives its plays.
    """

    plays: tuple[Played, ...]
    left_out: Mapping[str, str]
    remarks: tuple[str, ...] = ()

    @property
    def frame(self) -> pd.DataFrame:
        """One row a play, columns as `Played.frame`; window 0: all rounds are protected, epsilon inf: no privacy."""
        return self._frame.copy()

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return pd.concat([play.frame for play in self.plays], ignore_index=True)

    @cached_property
    def varied(self) -> list[str]:
        """The parameters that have several values."""
        private = self._frame.loc[self._frame["epsilon"] < float("inf")]
        several = [name for name in ("rounds", "dimension") if self._frame[name].nunique() > 1]
        windowed = private if len(private) else self._frame  # windows shape plays without noise, too
        several += ["window"] * (windowed.loc[windowed["window"] > 0, "window"].nunique() > 1)
        return several + ["epsilon"] * (private["epsilon"].nunique() > 1)

    def __getitem__(self, position: int) -> Played:
        return self.plays[position]

    def __len__(self) -> int:
        return len(self.plays)

    def __iter__(self) -> Iterator[Played]:
        return iter(self.plays)

    def ranking(self) -> Ranking:
        """Learners by mean regret, in every setting of what varies.

        Returns:
            One row a setting and learner: what varies, rank (from 1), learner, protects (`last 64`, `all rounds` or
            `nothing`), regret with low and high (units of the loss; 95 % over runs), behind (mean difference to the
            first, run by run; NaN where the losses differ, as on a stream aimed at epsilon) with behind_low and
            behind_high, of_baseline (regret over that of the fixed-point baseline), accounted_epsilon, same_as (a
            learner above with the same regret in every run but for rounding: the two are one algorithm here).
            Printed, it is text of 80 columns at most.
        """
        rows: list[dict[str, Any]] = []
        for setting, plays in self._settings().items():
            ordered = sorted(plays, key=lambda play: play.regret.value)
            for rank, play in enumerate(ordered, 1):
                rows.append(dict(zip(self.varied, setting, strict=True)) | _ranked(rank, play, ordered))
        return Ranking(rows)

    def _settings(self) -> dict[tuple[float, ...], list[Played]]:
        """Values of what varies -> plays; a learner without a parameter takes part at all of its values."""
        values = [sorted(set(self._frame[name])) for name in self.varied]
        idle: dict[str, set[float]] = {"window": {0}, "epsilon": {float("inf")}}
        choices = [
            [value for value in column if value not in idle.get(name, ())]
            for name, column in zip(self.varied, values, strict=True)
        ]
        found: dict[tuple[float, ...], list[Played]] = {}
        for setting in itertools.product(*choices):
            pairs = list(zip(self.varied, setting, strict=True))
            fitting = [
                play
                for play in self.plays
                if all(getattr(play, name) in {value, *idle.get(name, ())} for name, value in pairs)
            ]
            if fitting:
                found[setting] = fitting
        return found

    def plot(self, x: str | None = None, ax: Axes | None = None) -> Axes:
        """Mean regret with 95 % bands against a parameter, one curve an algorithm.

        Args:
            x: `rounds`, `dimension`, `window` or `epsilon`; where none is given what varies, else `rounds`, whose
                curves are the course of each play.
            ax: axes of matplotlib to draw into, new ones where none are given.

        Returns:
            The axes; regret in units of the loss.

        Raises:
            ConfigError: another word, or a parameter that has one value here.
        """
        from dpregret.paper_figs.figures.plays import PARAMETERS, draw_plays
        from dpregret.workflows.plan.facts import display_names

        x = next(iter(self.varied), "rounds") if x is None else x
        if not isinstance(x, str) or x not in PARAMETERS:
            raise ConfigError(f"plot: x: {not_allowed('parameter', x, PARAMETERS)}")
        if x != "rounds" and x not in self.varied:
            raise ConfigError(
                f"plot: x: {x} has one value in this sweep; varied: {', '.join(self.varied) or 'nothing'}"
            )
        return draw_plays(self.plays, x, display_names(), ax, self._quiet)

    def to_latex(self) -> str:
        """The ranking as a table of LaTeX.

        Returns:
            A tabular (package booktabs): a row a learner, a column a setting, mean regret and half the width of its
            95 % interval, the least one of a column in bold.
        """
        settings, columns = self._settings(), {"Algorithm": list(dict.fromkeys(map(self._name, self.plays)))}
        for setting, plays in settings.items():
            pairs = zip(self.varied, setting, strict=True)
            head = ", ".join(rf"${_SYMBOL[name]} = {value:g}$" for name, value in pairs) or self._word.capitalize()
            least = min(play.regret.value for play in plays)
            if len({*map(self._name, plays)}) < len(plays):
                name = next(name for name, count in Counter(map(self._name, plays)).items() if count > 1)
                raise ConfigError(f"to_latex: {name}: stands twice in the column {head}: sweep what differs apart")
            cells = {self._name(play): _cell(play, least) for play in plays}
            columns[head] = [cells.get(name, "--") for name in columns["Algorithm"]]
        raw = [name for name in columns if name != "Algorithm"]
        return formats.latex(pd.DataFrame(columns), raw, "l" + "r" * len(raw))

    def _name(self, play: Played) -> str:
        """The learner; beside its private plays, one at epsilon inf is called what it is."""
        return f"{play.learner} without noise" if play in self._quiet else play.learner

    @cached_property
    def _quiet(self) -> list[Played]:
        return without_noise(self.plays)

    @property
    def _word(self) -> str:
        return "excess risk" if self.plays[0].family == "erm" else "regret"

    @property
    def _title(self) -> str:
        """What all plays share."""
        first, frame = self.plays[0], self._frame
        size = "n" if first.family == "erm" else "T"
        symbols = {"rounds": size, "dimension": "d"}
        parts = [f"{symbols[name]} = {frame[name].iloc[0]}" for name in symbols if name not in self.varied]
        private = frame.loc[frame["epsilon"] < float("inf")]
        if len(private) and "epsilon" not in self.varied:
            parts.append(f"eps = {private['epsilon'].iloc[0]:g}")
        runs = first.last["run"].nunique()
        return f"{first.stream}, set {first.set}: {', '.join(parts)}; {self._word}, mean of {runs} runs"

    def _notes(self) -> list[str]:
        baselines = {formats.significant(play.baseline) for play in self.plays}
        notes = [f"fixed-point baseline: {baselines.pop()}"] if len(baselines) == 1 else []
        if self.varied and max(map(len, self._settings().values())) > _FEW:
            notes.append(f"the first {_FEW} of each setting; ranking() has all")
        if any(not same_losses(play, plays[0]) for plays in self._settings().values() for play in plays):
            notes.append(f"losses of {self.plays[0].stream} depend on epsilon: plays at another one met other losses")
        unproved = {self._name(play): play.unproved for play in self.plays if play.unproved}
        notes += [f"no guarantee: {name}: {reason}" for name, reason in unproved.items()]
        overspent = {self._name(play): play for play in self.plays if play.overspent and not play.unproved}
        notes += [
            f"more is accounted than asked for: {name}: eps = {play.accounted_epsilon:.4g} for {play.epsilon:g}"
            for name, play in overspent.items()
        ]
        notes += self.remarks
        notes += [f"not played: {name}: {reason}" for name, reason in self.left_out.items()]
        return notes

    def _text(self) -> pd.DataFrame:
        """The ranking as text, of several settings the first learners of each."""
        ranking = self.ranking()
        return _as_text(ranking.loc[(ranking["rank"] <= _FEW) | (len(self.varied) == 0)], self._word)

    def __repr__(self) -> str:
        lines = [formats.terminal(self._text(), self._title).rstrip("\n")]
        for note in self._notes():
            lines += formats.folded(note)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self._notes())
        table = self._text().to_html(index=False, escape=True, border=0)
        return f"<div><b>{html.escape(self._title)}</b>{table}<ul>{notes}</ul></div>"


class Ranking(pd.DataFrame):
    """A ranking of learners; printed, text of the columns that have room on a terminal."""

    def __repr__(self) -> str:
        return formats.terminal(_as_text(self), "").rstrip("\n")


def _as_text(ranking: pd.DataFrame, word: str = "regret") -> pd.DataFrame:
    text = {shown: ranking[name].map("{:g}".format) for name, shown in SHOWN.items() if name in ranking}
    text |= {"": ranking["rank"].astype(str), "algorithm": ranking["learner"]}
    intervals = zip(*(ranking[name].map(formats.significant) for name in ("regret", "low", "high")), strict=True)
    text[word] = pd.Series([f"{value} [{low}, {high}]" for value, low, high in intervals], ranking.index)
    text["protects"] = ranking["protects"]
    if (ranking["same_as"] != "").any():
        text["same as"] = ranking["same_as"]
    return pd.DataFrame(text)


_SYMBOL: Final = {"rounds": "T", "dimension": "d", "window": "W", "epsilon": r"\varepsilon"}
_FEW: Final = 3
"""Learners of each setting that are printed where there are several settings."""


def _ranked(rank: int, play: Played, ordered: Sequence[Played]) -> dict[str, Any]:
    regret, first = play.last.set_index("run")["regret"], ordered[0].last.set_index("run")["regret"]
    behind = mean_interval((regret - first).to_numpy()) if same_losses(play, ordered[0]) else UNKNOWN
    above = ordered[: rank - 1]
    runs = regret.to_numpy()
    same = next((other for other in above if np.allclose(other.last["regret"], runs, rtol=SAME, atol=0)), None)
    return {
        "rank": rank,
        "learner": play.learner,
        "protects": play.protects,
        "regret": play.regret.value,
        "low": play.regret.low,
        "high": play.regret.high,
        "behind": behind.value,
        "behind_low": behind.low,
        "behind_high": behind.high,
        "of_baseline": play.regret.value / play.baseline if play.baseline else float("nan"),
        "accounted_epsilon": play.accounted_epsilon,
        "same_as": "" if same is None else same.learner,
    }


def _cell(play: Played, least: float) -> str:
    regret = play.regret
    text = rf"{formats.significant(regret.value)} \pm {formats.significant((regret.high - regret.low) / 2)}"
    return rf"$\mathbf{{{text}}}$" if regret.value == least else f"${text}$"


def sweep(
    learners: Any, stream: Any, rounds: Any, dimension: Any, window: Any, epsilon: Any, shared: Shared,
    cores: int | None, progress: bool | None, keep: bool,
) -> Swept:  # fmt: skip
    """See `dpregret.sweep`."""
    with _in_own_words():
        stream = posed(stream, shared.data)
        workers = processors() if cores is None else whole(f"{PLAY}: cores", cores)
        keep = truth(f"{PLAY}: keep", keep)
        progress = None if progress is None else truth(f"{PLAY}: progress", progress)
        listed, bounds = _listed(learners), lifted(shared.limits)
        grid = {key: _several(key, value, bounds) for key, value in (("rounds", rounds), ("dimension", dimension))}
        windows = None if window is None else _several("window", window, bounds)
        grouped, remarks = any(isinstance(word, str) and word in GROUPS for word in listed), list[str]()
        if windows is not None and grouped:
            windows, remarks = _served(windows)
        budgets = _several("epsilon", epsilon, bounds)

        def jobs_of(learner: str | type[Any]) -> list[Job]:
            _, kind, _ = named(learner)
            here = windows if kind.card.windowed and kind.card.private else None
            calls = []
            for size, dims in itertools.product(grid["rounds"], grid["dimension"]):
                one = partial(job, learner, stream, size, dims, epsilons=budgets, shared=shared)
                calls += [one(here)] if here is None or not grouped else _within_rounds(one, here)
            return calls

        chosen, left_out = _chosen(listed, stream, jobs_of)
        if windows is not None and not any(call.windowed for call in chosen):
            if not grouped:
                no_effect = "none of these learners has one, so that it has no effect: leave it out"
                raise ConfigError(f"{PLAY}: window: {no_effect}")
            remarks = ["no algorithm with a window serves this stream: all protect all rounds, which is more"]
        longest = sorted({call.experiment.horizon[0] for call in chosen if call.windowed})
        beyond = [(size, [window for window in windows or () if window > size]) for size in longest]
        remarks += [f"T = {size}: W = {min(wide)} protects all rounds" for size, wide in beyond if wide]
        hours = sum(predicted(call.experiment)[1] for call in chosen) / 3600
        if message := bounds.beyond("hours", hours):
            raise ConfigError(f"{PLAY}: {message}".replace("--config ", ""))
        largest = max(predicted(call.experiment)[0] for call in chosen)
        workers = max(1, min(workers, len(chosen), int(machine_gb() / (largest + 0.3))))
        found = itertools.chain.from_iterable(_played(chosen, workers, progress, keep))
        return Swept(tuple(found), left_out, tuple(remarks))


def _listed(learners: Any) -> list[Any]:
    """Learners in a list. Raises ConfigError for none, and for a set, which has no order."""
    learners = plain(learners)
    alone = isinstance(learners, str | bytes | type) or not isinstance(learners, Iterable)
    listed = [learners] if alone else list(learners)
    if not listed or isinstance(learners, set | frozenset):
        raise ConfigError(f"{PLAY}: learners: must be a name, a class, a list of them or one of {', '.join(GROUPS)}")
    return listed


def _served(windows: Sequence[Any]) -> tuple[list[int], list[str]]:
    """The next powers of two, which trees need, so that a group meets one window; and what to say of it."""
    asked = [whole(f"{PLAY}: window", window) for window in windows]
    served = list(dict.fromkeys(1 << (window - 1).bit_length() for window in asked))
    moved = [window for window in asked if window & (window - 1)]
    said = [f"windows are powers of two: {1 << (window - 1).bit_length()} serves {window}" for window in moved]
    return served, said


def _within_rounds(one: Callable[[Sequence[int] | None], Job], windows: Sequence[int]) -> list[Job]:
    """Calls of a learner at windows of at most T rounds; a larger one protects all rounds, as W = T does."""
    whole_sequence = one(None)
    rounds = whole_sequence.experiment.horizon[0]
    inside = [window for window in windows if window <= rounds]
    calls = [one(inside)] if inside else []
    if len(inside) < len(windows) and rounds not in inside:
        calls.append(replace(whole_sequence, windowed=True))
    return calls


def _several(key: str, value: Any, bounds: Limits) -> list[Any]:
    """The values of an argument that may be a list. Raises ConfigError for an empty one, one that has more values than
    an experiment may have cells, or a value given twice."""
    with suppress(TypeError):  # no list
        try:
            count = 0.0 if isinstance(value, str) else float(len(value))
        except OverflowError:  # a range beyond whole numbers
            count = float("inf")
        if message := bounds.beyond("cells", count):
            raise ConfigError(f"{PLAY}: {key}: {in_python(message)}")
    values = plain(value)
    values = list(values) if isinstance(values, list | tuple | range) else [values]
    if not values:
        raise ConfigError(f"{PLAY}: {key}: must be a number or a list of numbers, not an empty list")
    seen: list[Any] = []
    for item in values:
        if isinstance(item, list | tuple):
            raise ConfigError(f"{PLAY}: {key}: must be a number or a flat list of numbers, not {values!r}")
        if item in seen:
            raise ConfigError(f"{PLAY}: {key}: {item!r} is given twice")
        seen.append(item)
    return values


@contextmanager
def _in_own_words() -> Iterator[None]:
    """Messages of a play, as those of a sweep."""
    try:
        yield
    except ConfigError as error:
        lines = [f"{SWEEP}{line.removeprefix(PLAY)}" if line.startswith(PLAY) else line for line in error.problems]
        raise ConfigError(lines) from error.__cause__


def _chosen(
    listed: Sequence[Any], stream: Any, jobs_of: Callable[[Any], list[Job]]
) -> tuple[list[Job], dict[str, str]]:
    """The jobs of learners that were named, and of groups those that can be played; why the others cannot."""
    chosen: list[Job] = []
    left_out: dict[str, str] = {}
    for learner in listed:
        if not isinstance(learner, str) or learner not in GROUPS:
            try:
                chosen += jobs_of(learner)
            except ConfigError as error:
                raise ConfigError([_of_learner(line, learner) for line in error.problems]) from error.__cause__
            continue
        for name in _group(learner, stream):
            try:
                chosen += jobs_of(name)
            except ConfigError as error:
                left_out[name] = error.problems[0].removeprefix(f"{PLAY}: ").removeprefix("learner: ")
        if not chosen:
            first = next(iter(left_out.items()), ("", "none there is"))
            raise ConfigError(f"{PLAY}: no learner of the group {learner!r} can be played; {': '.join(first)}")
    names = [call.learner for call in chosen]
    families = {call.family.name for call in chosen}
    if len(families) > 1:
        raise ConfigError(f"{PLAY}: learners: of several families, {', '.join(sorted(families))}: sweep each by itself")
    unique = {(call.learner, str(call.experiment)) for call in chosen}
    if len(unique) < len(chosen):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"{PLAY}: learners: {twice!r} is given twice")
    return chosen, left_out


def _of_learner(line: str, learner: Any) -> str:
    """A refusal with the learner that it is about."""
    name = learner if isinstance(learner, str) else getattr(learner, "__name__", repr(learner))
    head = f"{PLAY}: "
    if line.startswith(f"{head}learner: unknown learner"):
        near = difflib.get_close_matches(name, GROUPS, n=1, cutoff=0.7)
        return f"{line.partition('; did you mean')[0]}; did you mean {near[0]!r}?" if near else line
    if not line.startswith(head) or name in line:
        return line
    return f"{head}{name}: {line.removeprefix(head)}"


def _group(word: str, stream: Any) -> list[str]:
    """The names of a group: learners of the stream's family whose needs it serves."""
    if stream is None:
        raise ConfigError(f"{PLAY}: stream: a group of learners needs a stream, or data")
    for family in FAMILIES.values():
        kind: Any = stream if isinstance(stream, type) else family.streams.get(stream)
        if kind is None or not issubclass(kind, family.source_class):
            continue
        served = kind.traits | {"local-oracle", "solver"}
        return [
            name
            for name, learner in family.learners.items()
            if learner.card.private == GROUPS[word] and family.needs(learner) <= served
        ]
    names = [name for family in FAMILIES.values() for name in family.streams]
    raise ConfigError(f"{PLAY}: stream: {not_allowed('stream', stream, names)}")


_jobs: Sequence[Job] = ()
"""Those of the sweep that runs, in its processes."""


def _one(number: int, keep: bool) -> list[Played]:
    return _jobs[number].plays(store_too=True, keep=keep)


def _played(jobs: Sequence[Job], workers: int, progress: bool | None, keep: bool) -> list[list[Played]]:
    """The plays of all jobs, in order; each depends on its job alone, whatever the number of workers."""
    global _jobs
    with _shown(len(jobs), progress) as step:
        if workers == 1:
            return [step(call.plays(store_too=True, keep=keep)) for call in jobs]
        _jobs = jobs
        context: Any = multiprocessing.get_context("fork")
        pool = ProcessPoolExecutor(workers, mp_context=context)
        try:
            futures = [pool.submit(_one, number, keep) for number in range(len(jobs))]
            for future in as_completed(futures):
                step(future.result())
            return [future.result() for future in futures]
        except BrokenProcessPool:
            raise RuntimeError(
                "sweep: a process ended without an answer, perhaps for lack of memory: set cores=1"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            _jobs = ()


@contextmanager
def _shown(count: int, progress: bool | None) -> Iterator[Callable[[Any], Any]]:
    """A function that counts what is done, on a line of standard error where somebody looks at it."""
    seen = progress if progress is not None else sys.stderr.isatty() or "ipykernel" in sys.modules
    started, done, width = time.monotonic(), 0, 0

    def step(answer: Any) -> Any:
        nonlocal done, width
        done += 1
        spent = int(time.monotonic() - started)
        if seen and (spent >= PATIENCE or progress):
            line = f"sweep: {done} of {count} plays, {spent // 60}:{spent % 60:02}"
            width = len(line)
            print(f"\r{line}", end="", file=sys.stderr, flush=True)
        return answer

    try:
        yield step
    finally:
        if width:
            print(file=sys.stderr, flush=True)
