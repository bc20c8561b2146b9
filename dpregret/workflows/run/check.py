"""The command `dpregret check PAPER CLAIM`: one claim, decided by what it needs and nothing else.

It needs plays, which go into the store, or an exact computation. The statement, its place in the paper, the numbers,
the verdict and the path of the figure are printed. Exit code 0: the claim is decided, whatever the verdict; 2: it could
not be decided, in one line (no such play in the profile, or it failed).

The plays are those of a run, under the same keys: what a run has played is not played again, and a run finds what was
played here.
"""

from __future__ import annotations

import logging
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from dpregret import study
from dpregret.core.arguments import path, printable_value
from dpregret.core.boundary import FAILED, as_json
from dpregret.core.errors import ConfigError, nearest, printable, printable_line
from dpregret.core.files import reference
from dpregret.core.machine import check_writable
from dpregret.core.paper_names import paper_of
from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge import fits
from dpregret.paper_figs.judge.cells import Cells, collect_cells, coordinate, log_factor, select_rows, setting
from dpregret.paper_figs.judge.claims import Claim
from dpregret.paper_figs.judge.confirmed import SIDES, Confirmation, digest
from dpregret.paper_figs.judge.read_claims import load_paper
from dpregret.paper_figs.judge.result_tables import PRIVACY_ROUNDING, ExactLoss
from dpregret.paper_figs.judge.runs import read_runs, rows_at
from dpregret.paper_figs.judge.verdicts import FACTOR, Judgement, delivered_of, judge, rate_text
from dpregret.paper_figs.judge.vocabulary import (
    CHECKS,
    CLAIMS,
    INCONCLUSIVE,
    NOT_RUN,
    RESPONSE_AXES,
    VIOLATED,
    labels_of,
)
from dpregret.paper_figs.text import formats
from dpregret.workflows.plan.read import FORMAT, PAPERS, ExperimentPlays, Plan, papers, profile_path

if TYPE_CHECKING:
    from dpregret.workflows.plan.config import Config

FIGURES: Final = Path("results") / "check"
"""Where figures of single claims go: PAPER/CLAIM.png below it."""
EXACT, PLAYS = "exact computation", "plays"
"""The method that decides a claim."""
POWER, SHARE, LOST = "power of {symbol}", "{response} / bound, worst cell", "eps lost / eps claimed"
DELIVERED: Final = "accounted eps / eps claimed"
"""The quantity of a claim's number."""
Columns = Mapping[str, Sequence[Any]]
"""Name of a column of `Measured.cells` -> its values."""
Number = tuple[str, float, float, float]
"""The quantity of a claim's number, and the number with its interval."""


@dataclass(frozen=True, repr=False)
class Measured:
    """The judgement of one claim.

    statement: what the claim says, in words; source: its place in the paper; stated: the rate, or what else is stated.
    measured, low, high: the number `quantity` says, with its 95 % interval; for a claim of a rate the power that was
    fitted beside the law's logarithms, as in column `log_aware` of claims.csv; NaN where nothing was fitted.
    resolution: the smallest change of `resolution_of` that would have been seen. verdict: a word of
    docs/method.md; reason: why. decided_by: `exact computation` or `plays`. setting: of these. columns: those of
    `cells`. errata: entries of the paper's list that bear on it. seeds: the agreement of fresh seeds with the verdict
    of the reference, in words; empty where the profile has no confirmation.
    figure: the PNG that was drawn, None where none was requested.
    """

    paper: str
    claim: str
    statement: str
    source: str
    learner: str
    experiment: str
    stream: str
    profile: str
    stated: str
    quantity: str
    measured: float
    low: float
    high: float
    resolution: float
    resolution_of: str
    verdict: str
    reason: str
    decided_by: str
    setting: str
    errata: tuple[str, ...]
    columns: Columns
    seeds: str = ""
    figure: Path | None = None

    @property
    def cells(self) -> pd.DataFrame:
        """One row a cell: value, mean, low, high (95 %), bound, law (as stated, scaled to the fitted cells), status."""
        return pd.DataFrame(self.columns)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of `measured`; of an exact number that number twice."""
        return self.low, self.high

    def __repr__(self) -> str:
        meaning = {**CHECKS, **CLAIMS}[self.verdict]
        number = formats.with_interval(fits.Estimate(self.measured, *self.interval), 3)
        resolution = f"{formats.significant(self.resolution, 2)} ({self.resolution_of})"
        printable_line = {
            "claim": f"{self.paper} {self.claim}",
            "statement": self.statement,
            "place": self.source,
            "algorithm": self.learner,
            "on": ", ".join(filter(None, ("" if self.decided_by == EXACT else self.stream, self.setting))),
            "stated": self.stated,
            "measured": f"{number}  ({self.quantity})" if math.isfinite(self.measured) else formats.DASH,
            "resolution": resolution if math.isfinite(self.resolution) else self.resolution_of,
            "decided by": self.decided_by,
            "verdict": f"{self.verdict}: {meaning}",
            "because": self.reason,
            "fresh seeds": f"{'this verdict on ' * (' of ' in self.seeds)}{self.seeds}",
            "errata": " ".join(self.errata),
            "figure": self.figure or "",
        }
        rows = [[f"{key:<11}", str(value)] for key, value in printable_line.items() if value]
        lines = formats.columns(rows) or [["  ".join(row)] for row in rows]
        return "\n".join(chain.from_iterable(lines))

    def _repr_png_(self) -> bytes | None:
        """The figure, where a notebook shows it."""
        return None if self.figure is None else self.figure.read_bytes()


@dataclass(frozen=True)
class ClaimOf:
    """One claim of a paper: `measure` plays what decides it.

    paper: full name. id, statement, source, stated: as in `Measured`. learner: name.variant. entry: the line of the
    claims file.
    """

    paper: str
    id: str
    statement: str
    source: str
    stated: str
    learner: str
    entry: Claim = field(repr=False)

    def measure(self, profile: str | Path = "full", figure: str | Path | None = None) -> Measured:
        """Decide the claim by what it needs.

        Args:
            profile: name of a profile, or path of one (YAML), whose experiment is played. Plays go into results/store
                of the working folder.
            figure: the PNG to draw, a name that ends in .png (None: no figure).

        Returns:
            Number, 95 % interval and verdict.

        Raises:
            ConfigError: there is no such profile, or a mistake in its file.
            RunsError: a play cannot be trusted.
        """
        figure = None if figure is None else drawable(figure)
        if not (file := profile_path(profile)).is_file():  # an exact claim reads none
            raise ConfigError(f"profile: {profile}: there is no such file")
        claim, exact = self.entry, None
        if claim.exact:
            from dpregret.workflows.audit.exact_losses import LOSSES

            exact = LOSSES[claim.exact]()
        if exact is not None and exact.refutes:
            refuted = Judgement(VIOLATED, str(exact), PRIVACY_ROUNDING, resolution_of=FACTOR)
            number = (LOST, *3 * (exact.attained / exact.claimed,))
            columns = _losses(np.array([exact.claimed]), np.array([exact.attained]))
            measured = self._measured(refuted, file.stem, number, EXACT, exact.on, columns)
        else:
            measured = self._played(file, exact)
        if figure is not None:
            from dpregret.paper_figs.figures.write import draw_claim

            drawn = draw_claim(claim, measured.cells, measured.stated, measured.verdict, figure)
            measured = replace(measured, figure=Path(figure) if drawn else None)
        return measured

    def _measured(
        self, judgement: Judgement, profile: str, number: Number, decided_by: str, context: str, columns: Columns
    ) -> Measured:
        claim = self.entry
        return Measured(
            self.paper, self.id, self.statement, self.source, self.learner, claim.experiment, claim.stream, profile,
            self.stated, *number, judgement.resolution, judgement.resolution_of, judgement.verdict, judgement.reason,
            decided_by, context, claim.errata, columns,
        )  # fmt: skip

    def _played(self, file: Path, exact: ExactLoss | None) -> Measured:
        from dpregret.workflows.plan.load import load_config  # late: an exact loss needs no play, nor a plan
        from dpregret.workflows.run.job import play_experiment

        claim, config = self.entry, load_config(file, check=False)

        def missing(reason: str) -> Measured:
            judgement = Judgement(NOT_RUN, reason, resolution_of="none: not run")
            return self._measured(judgement, config.profile, ("", *3 * (math.nan,)), "", "", {})

        settings = config.papers.get(self.paper)
        if settings is None or claim.experiment not in settings.experiments:
            return missing(f"experiment {claim.experiment} is not in the profile {config.profile}")
        plan, part = part_of(config, self.paper, claim)
        if not part.plays:
            return missing(f"{self.learner} is not in {claim.experiment} of the profile {config.profile}")
        with TemporaryDirectory(prefix="dpregret-") as folder:
            file = Path(folder) / claim.experiment / "runs.parquet"
            file.parent.mkdir()
            play_experiment(plan, part, file)
            runs = read_runs(folder)
        judgement = judge(runs, claim, None, {} if exact is None else {claim.exact: exact})
        if judgement.verdict == NOT_RUN:
            return missing(judgement.reason)
        cells = collect_cells(runs, claim)
        if claim.type == "private":
            rows = select_rows(runs, claim.learner, claim.variant, claim.experiment, claim.stream, claim.where)
            rows = rows.assign(delivered=delivered_of(rows, claim))
            largest = rows.loc[np.isfinite(rows["epsilon"])].groupby("epsilon")["delivered"].max()
            claimed, delivered = (np.asarray(values, dtype=float) for values in (largest.index, largest))
            columns = _losses(claimed, delivered)
            number = (DELIVERED, *3 * (max(delivered / claimed, default=math.nan),))
        else:
            columns, number = _cells(claim, cells), number_of(claim, judgement, cells)
        rows = runs.loc[(runs["learner"] == claim.learner) & (runs["stream"] == claim.stream)]
        for key, value in claim.where.items():
            rows = rows.loc[rows_at(rows[key], value)]
        context = setting(rows, (claim.parameter, "horizon" if claim.parameter == "samples" else ""))
        measured = self._measured(judgement, config.profile, number, PLAYS, context, columns)
        return measured if study.FOLDER else self._confirmed(measured, config)

    def _confirmed(self, measured: Measured, config: Config) -> Measured:
        """With the agreement of fresh seeds, which overrule a verdict that they contradict."""
        from dpregret.workflows.plan.config import results_of  # late, as above
        from dpregret.workflows.plan.frozen import settings_of

        confirmed = Confirmation.read(reference(results_of(config)))
        frozen_now = digest(self.entry, settings_of(config.experiment(self.paper, self.entry.experiment)))
        line = (self.paper, self.id, frozen_now)
        measured = replace(measured, seeds=confirmed.agreement(*line))
        against = confirmed.overruled(*line) if measured.verdict in SIDES else ""
        return replace(measured, verdict=INCONCLUSIVE, reason=f"{against}; {measured.reason}") if against else measured


def find(paper: str, claim: str) -> ClaimOf:
    """A claim by the name of its paper, or the beginning of that, and its own name. Raises ConfigError in one line."""
    name = paper_of(paper, papers())
    claims = {entry.id: entry for entry in claims_of(name)}
    if not isinstance(claim, str) or claim not in claims:
        near = nearest(claim, claims) or ";"
        raise ConfigError(
            f"{name}: unknown claim {printable_value(claim)}{near} `{study.command('claims', name)}` lists all"
        )
    return claims[claim]


def drawable(figure: object) -> Path:
    """The place of a figure, before anything is played for it. Raises ConfigError."""
    place = path("figure", figure)
    if place.suffix.lower() != ".png":
        raise ConfigError(f"figure: {printable_value(str(figure))}: must end in .png")
    check_writable([place.parent.resolve()])
    try:
        problem = "is no plain file" if place.exists() and not place.is_file() else ""
        problem = "may not be written" if place.is_file() and not os.access(place, os.W_OK) else problem
    except OSError as error:
        problem = str(error.strerror)
    if problem:
        raise ConfigError(f"figure: {printable_value(str(figure))}: {problem}")
    return place


def claims_of(paper: str) -> list[ClaimOf]:
    """Every claim of a paper, in the order of its file."""
    return [
        ClaimOf(
            paper, entry.id, entry.statement, entry.source, rate_text(entry), f"{entry.learner}.{entry.variant}", entry
        )
        for entry in load_paper(PAPERS / paper).claims.claims
    ]


def check(paper: str, claim: str, profile: str | Path = "full", figure: str | Path | None = None) -> Measured:
    """See `dpregret.check`."""
    found = find(paper, claim)
    if figure is None and not found.entry.exact:  # an exact computation gives one number, which needs no picture
        figure = FIGURES / found.paper / f"{found.id}.png"
    return found.measure(profile, figure)


def part_of(config: Config, paper: str, claim: Claim) -> tuple[Plan, ExperimentPlays]:
    """The plays of a profile that decide a claim."""
    from dpregret.workflows.plan import make  # late, as above

    part, code = plays_of(config, paper, claim.experiment, [claim])
    return Plan(Path(), {"format": FORMAT, "config": config.to_json(), **make.listed_code(code)}), part


def plays_of(
    config: Config, paper: str, name: str, claims: Sequence[Claim]
) -> tuple[ExperimentPlays, dict[str, list[Path]]]:
    """The plays of an experiment that decide some claims: of their learners, and of their counterparts; the files
    behind the fingerprints of their code."""
    from dpregret.workflows.plan import make  # late, as above

    experiment = config.experiment(paper, name)
    needed = [line for claim in claims for line in (claim, claim.counterpart) if line is not None]
    globs = [(line.learner, line.variant) for line in needed]
    learners = {
        learner: tuple(name for name in variants if any(learner == key and fnmatch(name, glob) for key, glob in globs))
        for learner, variants in experiment.learners.items()
    }
    small = experiment.model_copy(update={"learners": {key: names for key, names in learners.items() if names}})
    planned = list(make.plays(config.seed, small))
    plays = tuple(play for play, _ in planned)
    key = make.short([paper, name, [play.key for play in plays]])
    part = ExperimentPlays(paper, name, key, "", config.hash(paper, name), plays, make.data_files(experiment))
    return part, {play.code: files for play, files in planned}


def number_of(claim: Claim, judgement: Judgement, cells: Cells) -> Number:
    """The number of a claim that is not about privacy, from the cells of its reason: of a lower bound the fitted ones;
    NaN where there is none."""
    if claim.type in ("below", "stated"):
        quantity = SHARE.format(response=claim.response)
        cells = cells.fitted() if claim.side == "lower" else cells
        if not len(cells.values):
            return quantity, *3 * (math.nan,)
        ratios = np.array([fits.mean_interval(responses) for responses in cells.responses.T]) / cells.bounds[:, None]
        worst = int(ratios[:, 0].argmin() if claim.side == "lower" else ratios[:, 0].argmax())
        value, low, high = map(float, ratios[worst])
        return quantity, value, low, high
    symbol = labels_of(claim.response).symbols[claim.parameter]
    quantity = f"{POWER.format(symbol=symbol)} in the {RESPONSE_AXES[claim.response]}, beside the law's logarithms"
    return quantity, *judgement.log_aware


def _losses(claimed: Array, attained: Array) -> Columns:
    """One row a claimed epsilon, with the one that is attained."""
    return _columns(claimed, np.tile(attained, (2, 1)), claimed, ("used",) * len(claimed), claimed)


def _cells(claim: Claim, cells: Cells) -> Columns:
    """One row a cell; the law goes through the middle of the fitted cells, unknown where none is."""
    law, means, used = cells.bounds, cells.responses.mean(axis=0), cells.used
    if claim.rate is not None and claim.bound != "explicit":
        law = np.full(len(means), np.nan)
        used &= means > 0
        if used.any():
            log = log_factor(claim, claim.rate, cells) + claim.rate.power * coordinate(claim, cells.values)
            law = np.exp(log - log[used].mean() + np.log(means[used]).mean())
    return _columns(cells.values, cells.responses, cells.bounds, cells.status, law)


def _columns(values: Array, responses: Array, bounds: Array, status: Sequence[str], law: Array) -> Columns:
    """One row a cell; responses (runs, cells)."""
    mean, low, high = np.array([fits.mean_interval(runs) for runs in responses.T]).reshape(-1, 3).T
    numbers = {"value": values, "mean": mean, "low": low, "high": high, "bound": bounds, "law": law}
    return {**{name: column.tolist() for name, column in numbers.items()}, "status": list(status)}


def _answer(measured: Measured) -> dict[str, Any]:
    """What the command says in JSON: every field, and the cells as rows."""
    named = {"columns": ("cells", measured.cells)}
    return dict(named.get(name, (name, value)) for name, value in vars(measured).items())


def main(paper: str, claim: str, profile: str, figure: Path | None = None, in_json: bool = False) -> int:
    """The command `dpregret check`: measure, draw, print."""
    logging.disable(logging.ERROR)  # the verdict reports a learner that fails
    try:
        measured = check(paper, claim, profile, figure)
    finally:
        logging.disable(logging.NOTSET)
    undecided = measured.verdict == NOT_RUN
    if undecided:
        line = printable_line(
            f"dpregret: check: {measured.paper} {measured.claim}: could not be decided: {measured.reason}"
        )
        print(line, file=sys.stderr)
    if in_json or not undecided:
        print(as_json(_answer(measured)).rstrip("\n") if in_json else printable(str(measured)))
    return FAILED if undecided else 0
