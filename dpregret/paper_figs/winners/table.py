"""Cells that can be compared, and the table of winners: in every setting the private learner of least mean regret.

A **cell** is one learner on one problem under one guarantee, its runs together. A **problem** is feedback, stream (with
its options), set, dimension and number of rounds T (or of records); learners meet the same losses in run number i. A
**guarantee** is the window, eps, and pure or approximate privacy (delta).

* T is the end of a play, or a power of four that the play of a learner which does not receive T passes.
* A window of at least T protects everything ("all"). A learner that protects everything takes part where its mechanism
  was made for T rounds, not at earlier checkpoints of a longer play, whose noise pays for more.
* A private learner takes part unless its accounted epsilon is above eps, or the audit refutes it, or an exact loss
  does so at this eps: then it is barred.

For a setting with k learners of the same guarantee, the winner w and a rival j, run by run on the same losses (where
runs differ: on their own), d = regret_j - regret_w has a one-sided t test with p_j = P(t_{n-1} > mean d / s.e.). To
say that w is the best all rivals have to be beaten (intersection-union test), and w was chosen from the data:

    p = min(1, k max_j p_j),

Bonferroni over the possible choices; for k = 2 it is the two-sided test. Holm's correction over all contested
settings keeps the probability of one wrong "wins" in the whole table at 5 %, whatever the settings share, as far as the
differences are near normal: p of 1e-4 from 8 to 32 runs rest on tails that skewed differences do not have. A winner
that a fixed-point baseline beats does not win: it protects less than that point, and loses more. A ratio of
means has the interval exp(ln ratio +- t s), s the standard error of the difference of the two relative deviations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge.fits import UNKNOWN, Estimate, t_quantile
from dpregret.paper_figs.judge.result_tables import ExactLoss, ExactLosses
from dpregret.paper_figs.judge.runs import OPTIONS, ORACLES, RunsError, read_file
from dpregret.paper_figs.text import formats

PROBLEM: Final = ("feedback", "stream", "set", "dimension", "options", "rounds")
GUARANTEE: Final = ("window", "epsilon", "delta")
SETTING: Final = [name for name in (*PROBLEM, *GUARANTEE) if name != "rounds"]
"""Columns that identify a setting, without its length."""
CLASSES: Final = {
    "full": "full information", "bandit": "bandit feedback", "experts": "experts", "erm": "batch (ERM)",
    "population": "fresh records (population risk)",
}  # fmt: skip
"""Feedback -> what readers call it."""
CALLS: Final = (*ORACLES, "solves")
TABLE, FOLDER, CELLS, LAWS, PROFILES = "winners.csv", "winners", "cells.csv", "laws.csv", "profiles"
"""Names below the folder of results, and in the folder of winners."""
STOCHASTIC, OBLIVIOUS, RECORDS = "stochastic", "oblivious", "records"
"""Kinds of losses: drawn from one law (or one pool in random order); any other fixed sequence; a data set."""
LEAST_ROUNDS: Final = 64
SLACK: Final = 1e-6
"""Relative error of a ledger."""
SAME: Final = 1e-9
"""Relative difference of numbers that are equal except for rounding."""
_READ: Final = (
    "learner", "variant", "stream", "set", "horizon", "anytime", "dimension", "window", "run", "checkpoint", "epsilon",
    "delta", "regret", "trivial_regret", "bound", "delivered_epsilon", "status", *CALLS, *OPTIONS,
)  # fmt: skip


class ExperimentFacts(NamedTuple):
    """feedback: stream -> what learners see. options: of the stream, as far as they are not in the rows."""

    feedback: Mapping[str, str]
    options: Mapping[str, object]


class StreamFacts(NamedTuple):
    """losses: class of losses in words. kind: stochastic, oblivious or records."""

    losses: str
    kind: str


class Refutation(NamedTuple):
    """Why a privacy claim is refuted, and the smallest eps at which it is."""

    reason: str
    fails_from: float = 0.0


@dataclass(frozen=True)
class Facts:
    """Facts beside the rows. Keys: (paper, experiment); (feedback, stream); learner.variant -> what refutes it, or why
    it is refuted at every eps.

    stochastic_only: learners (without variant) whose bounds hold for stochastic losses alone.
    """

    experiments: Mapping[tuple[str, str], ExperimentFacts]
    streams: Mapping[tuple[str, str], StreamFacts]
    refuted: Mapping[str, Refutation | str] = field(default_factory=dict)
    stochastic_only: frozenset[str] = frozenset()


class Sample(NamedTuple):
    """Regret and regret of the fixed-point baseline, by run."""

    runs: np.ndarray
    regret: Array
    trivial: Array


def refutations(audit: pd.DataFrame, exact: ExactLosses) -> dict[str, Refutation]:
    """learner.variant -> what refutes its privacy claim: an exact loss that does so, or the audit.

    An exact loss that does so at every eps stands in place of what the audit found.
    """
    found = {}
    for row in audit.to_dict("records"):
        finding = str(row["finding"])
        if finding.startswith(("violates", "BROKEN")):
            found[f"{row['learner']}.{row['variant']}"] = Refutation(finding.split(":")[0])
    for name, loss in exact.items():
        if loss.refutes and (name not in found or loss.fails_from == 0):
            reason = f"exact privacy loss eps = {loss.attained:.3g}, claimed {loss.claimed:.3g}"
            found[name] = Refutation(reason, loss.claimed if np.isnan(loss.fails_from) else loss.fails_from)
    return found


def read_refutations(*files: Path) -> dict[str, Refutation]:
    """The same from files: the table of the audit, if there is one, and last that of the exact losses."""
    *audit, exact = files
    return refutations(formats.read_csv(audit[0]) if audit else pd.DataFrame(), ExactLoss.read(exact))


def refuted_at(found: Mapping[str, Refutation | str], learner: str, epsilon: float) -> str:
    """Why the claim of learner.variant is refuted at epsilon; empty where it is not."""
    refutation = found.get(learner, "")
    reason, fails_from = (refutation, 0.0) if isinstance(refutation, str) else refutation
    return reason if epsilon >= fails_from else ""


def read_rows(files: Iterable[Path], facts: Facts) -> pd.DataFrame:
    """Rows of ``.../PAPER/EXPERIMENT/*.parquet`` that can be compared, with problem and guarantee.

    Raises RunsError for a file that is not what was written, or of an experiment that is not among the facts.
    """
    frames = []
    for path in sorted(files):
        experiment = facts.experiments.get((path.parents[1].name, path.parent.name))
        if experiment is None:
            raise RunsError(f"{path}: of an experiment that the configuration does not have")
        frames.append(comparable(read_file(path, _READ), experiment))
    frames = [frame for frame in frames if len(frame)]
    if not frames:
        raise RunsError("no run of a learner that can be compared")
    return pd.concat(frames, ignore_index=True)


def comparable(rows: pd.DataFrame, experiment: ExperimentFacts) -> pd.DataFrame:
    """Of one experiment's rows those that can be compared (see above), with the columns of PROBLEM and GUARANTEE."""
    rounds, horizon = rows["checkpoint"].to_numpy(), rows["horizon"].to_numpy()
    exponent = np.log2(np.maximum(rounds, 1)) / 2
    ends = rounds == horizon
    on_the_way = rows["anytime"].to_numpy() & (rounds >= LEAST_ROUNDS) & (exponent == np.round(exponent))
    private = np.isfinite(rows["epsilon"].to_numpy())
    window = rows["window"].to_numpy()
    windowless = (window < 1) | (window >= rounds)
    made_for = (window < 1) | (window < 2 * rounds)
    selected = (rows["status"] == "ok").to_numpy() & (ends | on_the_way) & (~private | ~windowless | made_for)
    taken: pd.DataFrame = rows.loc[selected]
    named = {"checkpoint": "rounds"}
    options = [name for name in OPTIONS if name in taken]
    columns = {
        "feedback": taken["stream"].map(dict(experiment.feedback)),
        "learner": taken["learner"] + "." + taken["variant"],
        "private": private[selected],
        "window": np.where(windowless | ~private, 0, window)[selected],
        "delta": np.where(private, rows["delta"], 0.0)[selected],
        "made_for": np.where(windowless, window, 0)[selected],
        "options": _options(taken[options], experiment.options),
    }
    return taken.rename(columns=named).assign(**columns).drop(columns=["variant", "status", "anytime", *options])


def _options(columns: pd.DataFrame, fixed: Mapping[str, object]) -> Array:
    """``name=value`` of every option of a row, in order of names; fixed: those that are the same in all rows."""
    constant = {name: _as_text(name, value) for name, value in fixed.items()}
    if not len(columns.columns):
        return np.full(len(columns), " ".join(word for _, word in sorted(constant.items())), dtype=object)
    number = columns.groupby([*columns], dropna=False, sort=False).ngroup().to_numpy()
    texts = []
    for row in columns.iloc[np.unique(number, return_index=True)[1]].to_dict("records"):
        varied = {str(name): _as_text(name, value) for name, value in row.items() if not np.isnan(value)}
        texts.append(" ".join(word for _, word in sorted((constant | varied).items())))
    return np.array(texts, dtype=object)[number]


def _as_text(name: object, value: object) -> str:
    return f"{name}={value:.10g}" if isinstance(value, int | float) else f"{name}={value}"


def measure(rows: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    """Cells of comparable rows: sample, mean regret, its standard error over runs, explicit bound, calls, and whether
    barred.

    The fixed-point baseline is none of them: its regret is beside every cell as `trivial`. Where a learner has
    played the same cell in several experiments the rows agree, and one of each run is kept.
    """
    key = [*PROBLEM, *GUARANTEE, "learner"]
    rows = rows.sort_values([*key, "run", "made_for", "horizon"], kind="stable").drop_duplicates([*key, "run"])
    rows = _without_constants(rows, key)
    rows = rows.assign(cell=rows.groupby(key, sort=True).ngroup()).reset_index(drop=True)
    grouped = rows.groupby("cell", sort=True)
    cells = rows.drop_duplicates("cell").sort_values("cell").set_index("cell")[[*key, "private"]]
    runs = grouped.size()
    cells = cells.assign(
        runs=runs,
        regret=grouped["regret"].mean(),
        error=grouped["regret"].std().fillna(0.0) / np.sqrt(runs),
        trivial=grouped["trivial_regret"].mean(),
        bound=grouped["bound"].mean(),
        **{name: grouped[name].mean() for name in CALLS if name in rows},
    )
    delivered = grouped["delivered_epsilon"].max()
    proved = [f"accounted eps = {epsilon:.3g}" for epsilon in delivered]
    refuted = [refuted_at(facts.refuted, *cell) for cell in zip(cells["learner"], cells["epsilon"], strict=True)]
    holds = delivered <= cells["epsilon"] * (1 + SLACK)
    barred = np.where(cells["private"], np.where(holds, refuted, proved), "")
    streams = [facts.streams[pair] for pair in zip(cells["feedback"], cells["stream"], strict=True)]
    kind = np.array([stream.kind for stream in streams])
    promised = (kind == STOCHASTIC) | ~cells["learner"].str.split(".").str[0].isin(facts.stochastic_only)
    bound = cells["bound"].where(promised)
    losses = [stream.losses for stream in streams]
    cuts = np.flatnonzero(np.diff(rows["cell"].to_numpy())) + 1
    parts = (np.split(rows[name].to_numpy(), cuts) for name in ("run", "regret", "trivial_regret"))
    samples = [Sample(*arrays) for arrays in zip(*parts, strict=True)]
    cells = cells.assign(barred=barred, losses=losses, kind=kind, bound=bound, sample=pd.Series(samples, dtype=object))
    return cells.reset_index(drop=True)


def _without_constants(rows: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """All but cells without privacy in which every run has the regret of the fixed point: they are that point."""
    differs = (rows["regret"] - rows["trivial_regret"]).abs() > SAME * rows["trivial_regret"].abs().clip(lower=1.0)
    return rows.loc[rows["private"] | differs.groupby([rows[name] for name in key]).transform("any")]


LEVEL: Final = 0.05
WINS, LEADS, TIED, ALONE, USELESS = "wins", "leads", "tied", "alone", "useless"
VERDICTS: Final[Mapping[str, str]] = {
    WINS: "beats every rival; if differences are near normal, 5 % is the chance that one such word in the table is "
    "wrong, and more if they are skewed",
    LEADS: "least mean, not significantly",
    TIED: "the two least means are equal",
    ALONE: "no other learner was measured under this guarantee",
    USELESS: "worse than a fixed point",
}
OWN: Final = "own variants only"
COLUMNS: Final = (
    "kind", "losses", "learners", "algorithms", "runs", "winner", "regret", "low", "high", "of_constant", "second",
    "ratio", "ratio_low", "ratio_high", "p", "least_bound", "bound_of", "bound_over_regret", "bound_gap",
    "bound_gap_low", "bound_gap_high", "reference", "price", "barred",
)  # fmt: skip
"""The columns of a setting; `p_holm` and `verdict` follow."""
_NEAR: Final = 0.01
Cell = Mapping[Any, Any]
"""A row of `measure`."""
_NOBODY: Final[Cell] = {"learner": "", "bound": np.nan, "regret": np.nan, "could_be_private": False}


def paired(rival: Sample, winner: Sample) -> tuple[Array, Array] | None:
    """Regrets on the runs that both have, if the losses were the same (decided by the regret of the fixed-point
    baseline); or None."""
    _, first, second = np.intersect1d(rival.runs, winner.runs, assume_unique=True, return_indices=True)
    if len(first) < 2:
        return None
    difference = np.abs(rival.trivial[first] - winner.trivial[second])
    if (difference > SAME * np.maximum(1.0, np.abs(rival.trivial[first]))).any():
        return None
    return rival.regret[first], winner.regret[second]


def _same_losses(first: Sample, second: Sample) -> bool:
    """Whether the losses agree: a stream may depend on eps. Other runs of the same law count as the same losses."""
    means = float(first.trivial.mean()), float(second.trivial.mean())
    return paired(first, second) is not None or abs(means[0] - means[1]) <= _NEAR * abs(means[0])


def ratio(rival: Sample, winner: Sample) -> Estimate:
    """Mean regret of the rival over the winner's, with its 95 % interval; NaN where a mean is not positive."""
    both = paired(rival, winner)
    over, under = both or (rival.regret, winner.regret)
    means = float(over.mean()), float(under.mean())
    if min(means) <= 0:
        return UNKNOWN
    value = means[0] / means[1]
    if min(len(over), len(under)) < 2:
        return Estimate(value, np.nan, np.nan)
    _, error, freedom = _difference(over / means[0], under / means[1], both is not None)
    half = float(t_quantile(freedom + 1)) * error
    return Estimate(value, value * np.exp(-half), value * np.exp(half))


def _difference(first: Array, second: Array, pairs: bool) -> tuple[float, float, float]:
    """The difference of two means, its standard error, and the degrees of freedom: of pairs, or Welch's."""
    if pairs:
        gaps = first - second
        return float(gaps.mean()), float(np.std(gaps, ddof=1)) / np.sqrt(len(gaps)), len(gaps) - 1.0
    mean, parts = float(first.mean() - second.mean()), [float(np.var(x, ddof=1)) / len(x) for x in (first, second)]
    total = parts[0] + parts[1]
    if not total:
        return mean, 0.0, min(len(first), len(second)) - 1.0
    spent = sum(part**2 / (len(x) - 1) for part, x in zip(parts, (first, second), strict=True))
    return mean, float(np.sqrt(total)), total**2 / spent


def beaten(rival: Sample, winner: Sample) -> float:
    """One-sided p of `the winner's mean regret is not below the rival's`; without any spread 0, a half if equal."""
    both = paired(rival, winner)
    over, under = both or (rival.regret, winner.regret)
    if min(len(over), len(under)) < 2:
        return 1.0
    mean, error, freedom = _difference(over, under, both is not None)
    if error <= SAME * abs(mean):
        return 0.5 if mean == 0 else float(mean < 0)
    return float(special.stdtr(freedom, -mean / error))


def holm(p: Array) -> Array:
    """Holm's step-down adjustment: the largest of (m - i + 1) p_(i) so far, in ascending order; NaN stays."""
    ranked = pd.Series(p, dtype=float).dropna().sort_values(kind="stable")
    adjusted = (ranked * np.arange(len(ranked), 0, -1)).cummax().clip(upper=1.0)
    return np.asarray(adjusted.reindex(range(len(p))), dtype=np.float64)


def winners(cells: pd.DataFrame) -> pd.DataFrame:
    """One row per setting (problem and guarantee) with a learner that keeps its guarantee; columns: docs/winners.md.

    Barred learners do not compete; that with the least regret is named where it would have won. Learners without
    privacy are the reference on the same problem.
    """
    settings, private = defaultdict(list), cells.loc[cells["private"], "learner"]
    reference: dict[tuple[Any, ...], Cell] = {}
    for cell in cells.assign(could_be_private=cells["learner"].isin(private)).to_dict("records"):
        problem = tuple(cell[name] for name in PROBLEM)
        if cell["private"]:
            settings[problem, tuple(cell[name] for name in GUARANTEE)].append(cell)
        elif problem not in reference or cell["regret"] < reference[problem]["regret"]:
            reference[problem] = cell
    rows = []
    for (problem, guarantee), rivals in sorted(settings.items()):
        ranked = sorted(rivals, key=lambda cell: (cell["regret"], cell["learner"]))
        competing = [cell for cell in ranked if not cell["barred"]]
        if competing:
            baseline = reference.get(problem)
            baseline = baseline if baseline and _same_losses(competing[0]["sample"], baseline["sample"]) else None
            barred = [cell for cell in ranked if cell["barred"] and cell["regret"] < competing[0]["regret"]]
            key = dict(zip((*PROBLEM, *GUARANTEE), (*problem, *guarantee), strict=True))
            rows.append(key | _setting(competing, barred, baseline))
    table = pd.DataFrame(rows, columns=[*PROBLEM, *GUARANTEE, *COLUMNS])
    table["p_holm"] = holm(table["p"].to_numpy(dtype=float))
    useless, tied = table["of_constant"] > 1, (table["ratio"] - 1).abs() <= SAME
    kinds = [useless, table["learners"] == 1, tied, table["p_holm"] < LEVEL]
    return table.assign(verdict=np.select(kinds, [USELESS, ALONE, TIED, WINS], LEADS))


def _setting(competing: Sequence[Cell], barred: Sequence[Cell], reference: Cell | None) -> dict[str, Any]:
    """Columns of a setting; both lists by mean regret."""
    winner, rivals = competing[0], competing[1:]
    sample, regret = winner["sample"], winner["regret"]
    second, baseline = rivals[0] if rivals else _NOBODY, reference or _NOBODY
    p = min(1.0, len(competing) * max(beaten(rival["sample"], sample) for rival in rivals)) if rivals else np.nan
    bounded = min((cell for cell in competing if cell["bound"] > 0), key=lambda cell: cell["bound"], default=_NOBODY)
    half = float(t_quantile(max(2, winner["runs"]))) * winner["error"]
    return {
        **{name: winner[name] for name in ("kind", "losses", "runs", "regret")},
        "learners": len(competing),
        "algorithms": len({cell["learner"].split(".")[0] for cell in competing}),
        "winner": winner["learner"],
        "low": regret - half,
        "high": regret + half,
        "of_constant": _over(regret, winner["trivial"]),
        "second": second["learner"],
        **_ratio("ratio", second, sample),
        "p": p,
        "least_bound": bounded["bound"],
        "bound_of": bounded["learner"],
        "bound_over_regret": _over(bounded["bound"], regret),
        **_ratio("bound_gap", bounded, sample),
        "reference": f"{baseline['learner']}{' without noise' * baseline['could_be_private']}",
        "price": _over(regret, baseline["regret"]),
        "barred": "".join(f"{cell['learner']}: {cell['barred']}" for cell in barred[:1]),
    }


def _ratio(name: str, cell: Cell, winner: Sample) -> dict[str, float]:
    """The columns of a ratio to the winner."""
    return (ratio(cell["sample"], winner) if "sample" in cell else UNKNOWN).columns(name)


def _over(numerator: float, denominator: float) -> float:
    return float(numerator / denominator) if numerator > 0 and denominator > 0 else float("nan")


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """In how many settings each winner wins, leads or is tied against another algorithm, or only its own variants.

    useless: settings in which a fixed-point baseline has less regret; they count nowhere else.
    """
    contested, variants = table["algorithms"] > 1, table["learners"] > 1
    kinds = [table["verdict"] == USELESS, contested, variants]
    kind = np.select(kinds, [USELESS, table["verdict"], OWN], ALONE)
    counted = table.assign(kind=kind).groupby(["feedback", "winner", "kind"]).size().unstack(fill_value=0)
    counted = counted.reindex(columns=[WINS, LEADS, TIED, OWN, ALONE, USELESS], fill_value=0)
    return counted.rename_axis(columns=None, index=["feedback", "learner"]).reset_index()
