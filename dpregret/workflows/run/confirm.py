"""The command `dpregret confirm`: every claim again, on seeds that nobody has chosen (docs/method.md, "Confirmation").

The seeds follow from the text of the claims and experiments (plan/frozen.py). On each seed, and on the profile's own,
the plays that decide claims are played, and judged as in a run: no audit, no figure of a paper, no page. Plays are in
the store; the verdicts on a paper are kept for each seed. A command that was stopped resumes.
"""

from __future__ import annotations

import datetime
import logging
import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pandas as pd
from threadpoolctl import threadpool_limits

from dpregret.core import child
from dpregret.core.errors import ConfigError, printable
from dpregret.core.files import atomic_write
from dpregret.core.machine import processors
from dpregret.core.paper_names import paper_of
from dpregret.paper_figs.confirm.fresh_seeds import JUDGED, OVER_RUNS, POWER, SHARE, Line, compare
from dpregret.paper_figs.confirm.write_confirmation import write
from dpregret.paper_figs.judge.cells import NotRun, collect_cells
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile
from dpregret.paper_figs.judge.confirmed import FOLDER, TABLE
from dpregret.paper_figs.judge.runs import RunsError, by_experiment, read_runs
from dpregret.paper_figs.judge.verdicts import judge
from dpregret.paper_figs.judge.vocabulary import NOT_RUN
from dpregret.paper_figs.text import formats
from dpregret.workflows.plan import cross_references, fingerprint, frozen, make
from dpregret.workflows.plan.config import Config, results_of
from dpregret.workflows.plan.keys import key_of
from dpregret.workflows.plan.load import check_options, load_config
from dpregret.workflows.plan.read import FORMAT, MADE, PROFILES, ExperimentPlays, Plan, versions
from dpregret.workflows.plan.semantic_checks import predicted
from dpregret.workflows.run import check
from dpregret.workflows.run.check import number_of, plays_of
from dpregret.workflows.run.freshness import Record, contents
from dpregret.workflows.run.job import play_experiment, played

FRESH: Final = 5
"""Seeds of a confirmation."""
PLAYS: Final = 8
"""Most plays of an experiment in one task: they share what all its learners are compared with."""
SEEDS: Final = "seeds.csv"
"""The list of all sets of seeds that were ever run, in the reference."""
SEED_COLUMNS: Final = ("digest", "number", "seed", "papers")
EVERY: Final = 30.0
"""Seconds between two lines of progress."""
ALL: Final = "all"


@dataclass(frozen=True)
class Unit:
    """The lines of one paper on one seed. parts: plays that decide them, an experiment each; key: hash of what decides
    the verdicts, but for the versions of libraries; file: where they are kept."""

    seed: int
    paper: str
    lines: tuple[Claim, ...]
    experiments: frozenset[str]
    parts: tuple[ExperimentPlays, ...]
    plan: Plan
    key: str
    file: Path

    @property
    def record(self) -> Path:
        """The file that says how the verdicts were made."""
        return self.file.with_suffix(".json")

    @property
    def is_fresh(self) -> bool:
        """Whether the verdicts are there, as they were written, and of these claims, settings and code."""
        record = Record.read(self.record)
        return record.key == self.key and not record.changed


@dataclass(frozen=True)
class Confirmation:
    """A confirmation of some papers of a profile. frozen: digest of all claims and experiments; seeds: the fresh ones;
    lines: of the papers; units: the profile's own seed comes last; date: that the seeds depend on, if they do."""

    config: Config
    papers: tuple[str, ...]
    whole: bool
    frozen: str
    seeds: tuple[int, ...]
    lines: tuple[Line, ...]
    units: tuple[Unit, ...]
    date: str = ""

    @property
    def results(self) -> Path:
        """The folder of results of the profile."""
        return results_of(self.config)

    @property
    def committed(self) -> Path:
        """The folder of the committed tables of the profile, in a clone."""
        return Path("results") / "reference" / self.results.relative_to("results")

    @property
    def has_reference(self) -> bool:
        """Whether tables of the profile are committed, which its confirmation is about."""
        return any(self.committed.glob("*/claims.csv"))

    @property
    def folder(self) -> Path:
        """Where the table goes: a date has a folder below that of the seeds without one, and papers that are confirmed
        alone have one below that of all."""
        return self.results / FOLDER / self.date / ("" if self.whole else "+".join(self.papers))


def prepare(config: Config, papers: Sequence[str] = (), count: int = FRESH, date: str = "") -> Confirmation:
    """The plays and lines of some papers of a profile (none named: all) on so many fresh seeds; nothing is played.

    Raises ConfigError, a line for each mistake.
    """
    texts = cross_references.check_references(config)
    chosen = tuple(dict.fromkeys(paper_of(word, list(config.papers)) for word in papers)) or tuple(config.papers)
    digest = frozen.digest_of(config, texts)
    seeds = tuple(frozen.fresh_seeds(digest, count, date))
    if config.seed in seeds:
        raise ConfigError(f"profile {config.profile}: seed: {config.seed} is a fresh seed: choose another")
    lines = [
        Line(paper, claim.id, claim.kind, claim.origin, digests[claim.id], claim.type == "private")
        for paper in chosen
        for digests in [frozen.digests(config, paper, texts[paper])]
        for claim in texts[paper].claims
        if claim.experiment in config.papers[paper].experiments
    ]
    units = [
        unit
        for seed in (*seeds, config.seed)
        for paper in chosen
        for unit in [_unit(config.model_copy(update={"seed": seed}), paper, texts[paper])]
    ]
    whole = len(chosen) == len(config.papers)
    return Confirmation(config, chosen, whole, digest, seeds, tuple(lines), tuple(units), date)


def _unit(config: Config, paper: str, texts: ClaimsFile) -> Unit:
    """The lines of a paper on the seed of a configuration, with the plays that decide them."""
    experiments = config.papers[paper].experiments
    lines = tuple(each for each in texts.claims if each.type != "private" and each.experiment in experiments)
    parts: list[ExperimentPlays] = []
    code: dict[str, list[Path]] = {}
    for name in dict.fromkeys(line.experiment for line in lines):
        part, files = plays_of(config, paper, name, [line for line in lines if line.experiment == name])
        parts += [part] if part.plays else []
        code |= files
    own = config.model_copy(
        update={
            "papers": {
                paper: config.papers[paper].model_copy(
                    update={"experiments": {part.experiment: experiments[part.experiment] for part in parts}}
                )
            }
        }
    )
    plan = Plan(Path(), {"format": FORMAT, "config": own.to_json(), **make.listed_code(code)})
    digests = frozen.digests(config, paper, texts)
    judging = fingerprint.imported_files([judge.__module__])
    key = key_of(
        {
            "lines": [digests[line.id] for line in lines],
            "plays": [
                [part.experiment, part.settings, play.learner, play.variant, play.code]
                for part in parts
                for play in part.plays
            ],
            "data": fingerprint.fingerprint(fingerprint.stage_files("data")),
            "judge": fingerprint.fingerprint([*judging, Path(__file__), Path(check.__file__)]),
        }
    )
    file = results_of(config) / MADE / FOLDER / str(config.seed) / f"{paper}.csv"
    return Unit(config.seed, paper, lines, frozenset(experiments), tuple(parts), plan, key, file)


def verdicts(unit: Unit, log: Path | None = None) -> pd.DataFrame:
    """The verdicts on the lines of a paper on one seed, columns `JUDGED`; what the store has lost is played again."""
    with TemporaryDirectory(prefix="dpregret-") as folder:
        for part in unit.parts:
            file = Path(folder) / part.experiment / "runs.parquet"
            file.parent.mkdir()
            play_experiment(unit.plan, part, file, log)
        runs = read_runs(folder) if unit.parts else pd.DataFrame()
    by = by_experiment(runs) if len(runs) else {}
    return pd.DataFrame([_judged(by.get(line.experiment, runs), line, unit) for line in unit.lines], columns=[*JUDGED])


def _judged(runs: pd.DataFrame, line: Claim, unit: Unit) -> dict[str, Any]:
    row: dict[str, Any] = {"claim": line.id, "verdict": NOT_RUN, "reason": "no play"}
    if runs.empty:
        return row
    judgement = judge(runs, line, unit.experiments)
    row |= {"verdict": judgement.verdict, "reason": judgement.reason, "runs": judgement.runs}
    if judgement.verdict == NOT_RUN:
        return row
    try:
        _, number, low, high = number_of(line, judgement, collect_cells(runs, line))
    except NotRun:
        return row
    bounded = line.type in ("below", "stated")
    row |= {"number": number, "low": low, "high": high, "quantity": SHARE if bounded else POWER}
    return row | {"over": judgement.interval_over or OVER_RUNS, "largest_run": judgement.largest_run}


def keep_verdicts(unit: Unit, log: Path | None = None) -> None:
    """Judge a paper on one seed and keep the verdicts, with the versions that numbers come from."""
    table = verdicts(unit, log)
    table["software"] = ", ".join(f"{name} {version}" for name, version in versions().items())
    unit.file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(unit.file) as part:
        formats.write_csv(table, part)
    Record(unit.key, (unit.file.as_posix(),), contents([unit.file])).write(unit.record)


def kept(unit: Unit) -> pd.DataFrame:
    """The verdicts of a unit that is fresh."""
    texts = [name for name in JUDGED if name in ("claim", "verdict", "quantity", "over", "reason")]
    table = formats.read_csv(unit.file, keep_default_na=False, na_values={"number": [""], "low": [""], "high": [""],
                             "runs": [""], "largest_run": [""]}, dtype=dict.fromkeys(texts, "str"))  # fmt: skip
    return table.fillna(dict.fromkeys(texts, ""))


_units: Sequence[Unit] = ()
"""Those of the command, in its processes."""


def _begin(log: Path) -> None:
    """In a process of the pool: libraries use one processor, an interrupt is for the command, faults go into a file."""
    threadpool_limits(1)
    threading.Thread(target=child.end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(filename=log, level=logging.INFO, force=True, format="%(asctime)s %(levelname)s %(message)s")
    logging.captureWarnings(True)


def _play(number: int, experiment: str, first: int, log: Path) -> list[str]:
    """Play some plays of an experiment; the faults of those that failed."""
    unit = _units[number]
    part = next(each for each in unit.parts if each.experiment == experiment)
    part = replace(part, plays=part.plays[first : first + PLAYS])
    return [
        f"seed {unit.seed}: {unit.paper}: {play.learner}.{play.variant} in {experiment}: {printable(fault)}"
        for play, _, fault in played(unit.plan, part, log)
        if fault
    ]


def _judge(number: int, log: Path) -> None:
    keep_verdicts(_units[number], log)


def _tasks(unit: Unit) -> list[tuple[float, str, int]]:
    """Seconds as predicted, experiment, number of the first play: what a unit has to play, the longest first."""
    tasks = []
    for part in unit.parts:
        config = Config.of_plan(unit.plan.config)
        _, seconds = predicted(config.experiment(unit.paper, part.experiment))
        starts = range(0, len(part.plays), PLAYS)
        tasks += [(seconds * len(part.plays[first : first + PLAYS]), part.experiment, first) for first in starts]
    return sorted(tasks, reverse=True)


def play_all(units: Sequence[Unit], cores: int, log: Path, on_progress: Callable[[str], None]) -> list[str]:
    """Play and judge units on some cores, in their order; the faults of plays that failed. Raises RunsError."""
    global _units
    _units = units
    log.parent.mkdir(parents=True, exist_ok=True)
    context: Any = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(cores, mp_context=context, initializer=_begin, initargs=(log,))
    try:
        faults = _run(pool, units, log, on_progress)
        pool.shutdown()
        return faults
    except BrokenProcessPool:
        raise RunsError("a process ended without an answer, perhaps for lack of memory: use fewer --cores") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        _units = ()


def _run(pool: ProcessPoolExecutor, units: Sequence[Unit], log: Path, on_progress: Callable[[str], None]) -> list[str]:
    """Play what units need, then judge those of which no play failed; the faults of plays."""
    begun = last = time.monotonic()

    def show(text: str) -> None:
        spent = int(time.monotonic() - begun)
        on_progress(f"dpregret: {spent // 60}:{spent % 60:02} {text}")

    plays = {
        pool.submit(_play, number, name, first, log): number
        for number, unit in enumerate(units)
        for _, name, first in _tasks(unit)
    }
    faults = dict[int, list[str]]()
    for done, future in enumerate(as_completed(plays), 1):
        if found := future.result():
            faults.setdefault(plays[future], []).extend(found)
        if time.monotonic() - last > EVERY:
            last = time.monotonic()
            show(f"{done} of {len(plays)} groups of plays")
    judged = {pool.submit(_judge, number, log): unit for number, unit in enumerate(units) if number not in faults}
    for done, ended in enumerate(as_completed(judged), 1):
        ended.result()
        show(f"seed {judged[ended].seed}: {judged[ended].paper} judged ({done} of {len(units)})")
    return [fault for found in faults.values() for fault in found]


def listed(confirmation: Confirmation) -> None:
    """Add the seeds of a confirmation to the list of all that were ever run, before they are."""
    file = confirmation.committed / FOLDER / SEEDS
    papers = ALL if confirmation.whole else " ".join(confirmation.papers)
    rows = [(confirmation.frozen, str(number), str(seed), papers) for number, seed in enumerate(confirmation.seeds, 1)]
    before = formats.read_csv(file, dtype=str) if file.is_file() else pd.DataFrame()
    table = pd.concat([before, pd.DataFrame(rows, columns=SEED_COLUMNS)]).drop_duplicates()
    if len(table) > len(before):
        with atomic_write(file) as part:
            formats.write_csv(table, part)


def confirm(
    confirmation: Confirmation, cores: int, out: Path, on_progress: Callable[[str], None] = lambda line: None
) -> list[str]:
    """Play and judge what is not there yet, write the table into `out`, and return what it comes to, in sentences.

    Raises RunsError where plays failed: nothing is written then.
    """
    todo = [unit for unit in confirmation.units if not unit.is_fresh]
    if todo:
        faults = play_all(todo, cores, confirmation.results / "log" / FOLDER / "plays.log", on_progress)
        if faults:
            raise RunsError("\n".join(["plays failed, and nothing was confirmed:", *faults]))
    by_seed: dict[int, dict[str, pd.DataFrame]] = {}
    for unit in confirmation.units:
        by_seed.setdefault(unit.seed, {})[unit.paper] = kept(unit)
    own = by_seed.pop(confirmation.config.seed)
    table = compare(confirmation.lines, own, [by_seed[seed] for seed in confirmation.seeds])
    return write(table, confirmation.seeds, confirmation.config.profile, out)


def _is_day(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def main(profile: str, seeds: int, requested: Sequence[str] = (), cores: int | None = None, date: str = "") -> int:
    """The command `dpregret confirm`: play, judge, say what it comes to."""
    if date and not _is_day(date):
        raise ConfigError(f"confirm: --date: must be a day, written YYYY-MM-DD, not {date!r}")

    def on_progress(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    path = check_options({"profile": profile})
    config = load_config(path, check=path.parent != PROFILES)
    confirmation = prepare(config, requested, seeds, date)
    on_progress(f"dpregret: fresh seeds {', '.join(map(str, confirmation.seeds))} of claims {confirmation.frozen[:12]}")
    if not date and confirmation.has_reference:
        listed(confirmation)
    said = confirm(confirmation, cores or processors(), confirmation.folder, on_progress)
    print("\n".join(printable(sentence) for sentence in said))
    print(confirmation.folder / TABLE)
    return 0
