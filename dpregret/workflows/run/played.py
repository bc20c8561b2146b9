"""The plays of one learner at one setting, as an object: its numbers, its guarantee in one sentence, its picture."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from dpregret.core.errors import ConfigError
from dpregret.paper_figs.judge.fits import Estimate, mean_interval
from dpregret.paper_figs.judge.result_tables import PRIVACY_ROUNDING
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.winners.table import refuted_at
from dpregret.workflows.run.account import UNKNOWN, Account, refutations, sentence

if TYPE_CHECKING:
    from matplotlib.axes import Axes


SETTING: Final = ("stream", "set", "rounds", "dimension", "window", "epsilon", "delta")
SAME: Final = 1e-6
"""Relative difference of regrets, in every run, of two algorithms that are one but for rounding or a solver."""


@dataclass(frozen=True, repr=False, eq=False)
class Played:
    """The play of one learner on one stream: `runs` independent runs at one setting.

    learner: name.variant. stream, set: names. rounds T (records n), dimension d (experts: their number), window W (0:
    none), epsilon (inf: not private), delta: the setting. rows: one row a run and checkpoint; columns as in the files
    of a run (docs/architecture.md), among them checkpoint (t), run, regret (in units of the loss), trivial_regret
    (of the fixed-point baseline), bound (the learner's own), delivered_epsilon (its ledger). account: how its epsilon
    is accounted. title: the learner's, as figures show it.
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
    account: Account = UNKNOWN
    title: str = ""

    @property
    def last(self) -> pd.DataFrame:
        """The rows at the end, one a run."""
        return self._last.copy()

    @cached_property
    def _last(self) -> pd.DataFrame:
        last: pd.DataFrame = self.rows.loc[self.rows["checkpoint"] == self.rows["checkpoint"].max()]
        return last.sort_values("run")

    @cached_property
    def regret(self) -> Estimate:
        """Mean regret after all rounds (excess risk of records) with its 95 % interval over runs."""
        return mean_interval(self._last["regret"].to_numpy(dtype=float))

    @property
    def baseline(self) -> float:
        """Mean regret of the fixed-point baseline, on the same losses."""
        return float(self._last["trivial_regret"].mean())

    @property
    def bound(self) -> float:
        """The bound of the learner's own theorem, with its constants; NaN where it has none."""
        return float(self._last["bound"].mean())

    @property
    def accounted_epsilon(self) -> float:
        """The epsilon that the privacy ledger proves at `delta`; inf without privacy."""
        return float(self._last["delivered_epsilon"].max())

    @property
    def participations(self) -> int:
        """The most rounds that one record is in: above 1 where a stream repeats its records."""
        return int(self._last["participations"].max()) if "participations" in self._last else 1

    @property
    def record_epsilon(self) -> float:
        """An epsilon of a record in all its rounds, at `delta`; `accounted_epsilon` is that of one round."""
        return float(self._last["record_epsilon"].max()) if "record_epsilon" in self._last else self.accounted_epsilon

    @property
    def curve(self) -> pd.DataFrame:
        """One row a checkpoint: rounds, regret with low and high (95 %), baseline, bound."""
        means = by_checkpoint(self.rows, "regret", ["trivial_regret", "bound"])
        return means.rename(columns={"trivial_regret": "baseline"})

    @property
    def noise_scale(self) -> float:
        """Scale of the noise where it is added: standard deviation of a coordinate (gaussian), scale of a coordinate
        (laplace) or of the radius (gamma), of a score (gumbel, laplace of choices); NaN where there is no ledger."""
        return self.account.scale

    @property
    def mu(self) -> float:
        """The parameter of Gaussian differential privacy; NaN where it is not accounted so."""
        return self.account.mu

    @property
    def rho(self) -> float:
        """The parameter of zero-concentrated differential privacy; NaN where the accountant has none."""
        return self.account.rho

    @property
    def guarantee(self) -> str:
        """One sentence: accounted epsilon, what is released, for which neighbours, window, adaptivity, theorem."""
        if math.isinf(self.epsilon):
            return "No privacy: this algorithm is played on the losses themselves."
        if self.unproved:
            return f"No guarantee: {self.unproved}."
        accounted, records = self.accounted_epsilon, (self.participations, self.record_epsilon)
        return sentence(self.family, self.account, accounted, self.delta, self.window, self.epsilon, records)

    @property
    def unproved(self) -> str:
        """Why no finite epsilon is guaranteed where one was asked for; empty where one is."""
        if math.isinf(self.epsilon):
            return ""
        accounted = "no finite epsilon is accounted" if math.isinf(self.accounted_epsilon) else ""
        return refuted_at(refutations(), self.learner, self.epsilon) or accounted

    @property
    def protects(self) -> str:
        """The rounds of which one is protected by the guarantee: `last 64`, `all rounds`, or `nothing` without one."""
        if math.isinf(self.epsilon) or self.unproved:
            return "nothing"
        expires = 0 < self.window < self.rounds and not self.account.permanent
        return f"last {self.window}" if expires else "all rounds"

    @property
    def overspent(self) -> bool:
        """Whether more is accounted than was asked for."""
        return self.accounted_epsilon > self.epsilon * (1 + PRIVACY_ROUNDING)

    @property
    def frame(self) -> pd.DataFrame:
        """One row: the setting, the number of runs, regret with low and high (95 %), baseline, bound,
        accounted_epsilon, noise_scale."""
        regret = self.regret
        row: dict[str, Any] = {name: getattr(self, name) for name in ("learner", *SETTING)}
        row |= {"runs": self._last["run"].nunique(), "regret": regret.value, "low": regret.low, "high": regret.high}
        row |= {name: getattr(self, name) for name in ("baseline", "bound", "accounted_epsilon", "noise_scale")}
        return pd.DataFrame([row])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Mean regret against rounds with its 95 % band, beside the fixed-point baseline and the explicit bound.

        Args:
            ax: axes of matplotlib to draw into, new ones where none are given.

        Returns:
            The axes: regret in units of the loss, summed over rounds.
        """
        from dpregret.paper_figs.figures.plays import draw_curve
        from dpregret.workflows.plan.facts import display_names

        return draw_curve(self, display_names(), ax)

    def _repr_html_(self) -> str:
        first, *lines = repr(self).splitlines()
        items = "".join(f"<li>{html.escape(line)}</li>" for line in (*lines, self.guarantee))
        return f"<div><b>{html.escape(first)}</b><ul>{items}</ul></div>"

    def __repr__(self) -> str:
        private = f", eps = {self.epsilon:g}, delta = {self.delta:g}" if self.epsilon < float("inf") else ""
        window = f", W = {self.window}" if self.window else ""
        word = "excess risk" if self.family == "erm" else "regret"
        runs = self._last["run"].nunique()
        proved = f"upper bound {formats.significant(self.bound)}" if math.isfinite(self.bound) else "no bound proved"
        lines = [
            f"{self.learner} on {self.stream}, set {self.set}: {'n' if self.family == 'erm' else 'T'} = {self.rounds}, "
            f"d = {formats.size(self.dimension)}{window}{private}",
            f"{word} {formats.significant_interval(self.regret)} (95 % over {runs} runs); fixed-point baseline "
            f"{formats.significant(self.baseline)}; {proved}",
        ]
        if private:
            of_round = " of a round" if self.participations > 1 else ""
            lines.append(f"accounted eps = {self.accounted_epsilon:.4g}{of_round} at delta = {self.delta:g}")
            if self.overspent:
                lines[-1] += f": more than the {self.epsilon:g} that was asked for"
            if reason := refuted_at(refutations(), self.learner, self.epsilon):
                lines.append(f"the claim of this variant is refuted: {reason}")
        if private and self.participations > 1:
            exactly = self.last["record_least"].min() >= self.record_epsilon * (1 - PRIVACY_ROUNDING)
            spent = f"{'' if exactly else 'at most '}eps = {self.record_epsilon:.4g} of a record"
            lines.append(f"a record is in {self.participations} rounds: {spent}")
        return "\n".join(lines)


def without_noise(plays: Sequence[Played]) -> list[Played]:
    """The plays at epsilon inf of learners that others of these plays make private."""
    private = {play.learner for play in plays if math.isfinite(play.epsilon)}
    return [play for play in plays if play.learner in private and math.isinf(play.epsilon)]


def by_checkpoint(rows: pd.DataFrame, column: str, others: list[str]) -> pd.DataFrame:
    """One row a checkpoint: rounds, the mean of a column with low and high (95 % over runs), the means of others."""
    means = []
    for rounds, part in rows.groupby("checkpoint", sort=True):
        means.append((rounds, *mean_interval(part[column].to_numpy(dtype=float)), *part[others].mean()))
    return pd.DataFrame(means, columns=["rounds", column, "low", "high", *others])


def compare_plays(first: Played, second: Played) -> pd.DataFrame:
    """One row a common checkpoint: rounds, regret of both in columns that are named after them, difference (second
    minus first) with low and high (95 %).

    Run by run, on the same losses. Raises ConfigError where the plays have no two runs, or no checkpoint, in common, or
    met other losses.
    """
    names = _told_apart(first, second)
    both = _together(first, second, "regret", names).reset_index()
    if both["run"].nunique() < 2:
        raise ConfigError("compare: the plays have no two runs at one checkpoint in common")
    if not same_losses(first, second):
        differing = _differing(first, second, ("stream", "set", "rounds", "dimension", "epsilon"))
        why = f"{', '.join(differing)} differ" if differing else "their seeds or options differ"
        raise ConfigError(f"compare: the plays met other losses: {why}, and no difference of regrets is of algorithms")
    both["difference"] = both[names[1]] - both[names[0]]
    means = by_checkpoint(both, "difference", names)
    return means[["rounds", *names, "difference", "low", "high"]]


def same_losses(first: Played, second: Played) -> bool:
    """Whether the fixed-point baseline has the same regret in every run and checkpoint that both have: runs of one
    seed and setting have, but for those of a stream that is aimed at epsilon."""
    one, other = _together(first, second, "trivial_regret", ["first", "second"]).to_numpy(dtype=float).T
    return bool(np.allclose(one, other, rtol=SAME, atol=SAME, equal_nan=True))


def _together(first: Played, second: Played, column: str, names: list[str]) -> pd.DataFrame:
    """A column of both plays, one row a checkpoint and run that both have."""
    columns = [play.rows.set_index(["checkpoint", "run"])[column] for play in (first, second)]
    return pd.concat(columns, keys=names, axis=1, join="inner")


def _differing(first: Played, second: Played, settings: Sequence[str] = SETTING) -> list[str]:
    """The settings that differ."""
    return [name for name in settings if getattr(first, name) != getattr(second, name)]


def _told_apart(first: Played, second: Played) -> list[str]:
    """What to call two plays: their learners, with the settings that differ."""
    differing = _differing(first, second)
    if math.inf in (first.epsilon, second.epsilon) and "delta" in differing:
        differing.remove("delta")  # which means nothing without privacy
    if not differing and first.learner != second.learner:
        return [first.learner, second.learner]
    if not differing:
        return [f"{first.learner}, first", f"{second.learner}, second"]
    return [
        ", ".join([play.learner, *(f"{name} = {_text(getattr(play, name))}" for name in differing)])
        for play in (first, second)
    ]


def _text(value: str | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
