"""The stages of a run: what the rule of that name calls.

A stage writes to a fresh name, which becomes its output whole or not at all. The imports of its function are the code
that its key holds (`fingerprint.stage_files`).
"""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dpregret.core.errors import ConfigError, printable
from dpregret.core.files import atomic_write
from dpregret.workflows.plan.read import PAPERS, PROFILES, STAGES, Plan, key_in

if TYPE_CHECKING:
    from dpregret.core.parquet import Stamp
    from dpregret.workflows.plan.config import Config


@dataclass(frozen=True)
class Script:
    """The input of a stage. name: of what it makes, in the plan; out: where it writes that; folder: for scratch."""

    plan: Plan
    name: str
    out: Path
    folder: Path

    @property
    def of(self) -> str:
        """The paper, family or data set of the stage."""
        return self.name.partition("/")[2]

    @property
    def config(self) -> Config:
        """The configuration of the run."""
        from dpregret.workflows.plan.config import Config

        return Config.model_validate_json(self.plan.config)

    @property
    def stamp(self) -> Stamp:
        """The stamp of its Parquet files."""
        from dpregret.core.parquet import Stamp

        return Stamp(self.plan.key(self.name), self.plan.made[self.name].code)

    @property
    def reference(self) -> Path:
        """The committed tables of the profile."""
        from dpregret.core.files import reference

        return reference() / Path(self.plan.results).relative_to("results")

    def file(self, name: str) -> Path:
        """Where something that the plan names is."""
        return Path(self.plan.made[name].file)

    def runs(self, paper: str) -> Path:
        """A folder with the runs of a paper: EXPERIMENT/*.parquet."""
        folder = self.folder / "runs" / paper
        for part in self.plan.parts[paper].values():
            link = folder / part.experiment / Path(part.file).name
            if not link.exists():
                _link(link, Path(part.file))
        return folder

    def experiments(self, paper: str) -> set[str]:
        """The names of a paper's experiments."""
        return {part.experiment for part in self.plan.parts[paper].values()}

    def results(self) -> Path:
        """A folder of results, as it will be published, with the inputs of this stage."""
        folder, inputs = self.folder / "results", set(self.plan.inputs(self.name))
        for name, (file, inner) in self.plan.shown.items():
            if file in inputs:
                _link(folder / name, Path(file) / inner)
        return folder


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target.resolve())


def audit_family(script: Script) -> None:
    """Audit all private learners of one family."""
    from dpregret.core import parquet
    from dpregret.workflows.audit.plan import family_rows

    sizes = script.plan.content["sizes"]
    parquet.write(family_rows(script.of, sizes["seed"], sizes["runs"]), script.out, script.stamp)


def planted(script: Script) -> None:
    """Does the audit see mistakes that were made on purpose?"""
    from dpregret.core import parquet
    from dpregret.workflows.audit.planted import planted_rows

    sizes = script.plan.content["sizes"]
    parquet.write(planted_rows(sizes["seed"], sizes["repeats"]), script.out, script.stamp)


def exact_losses(script: Script) -> None:
    """Compute the privacy losses that claims name and a ledger leaves open; nothing is sampled."""
    from dpregret.paper_figs.judge.result_tables import write_exact_losses
    from dpregret.workflows.audit.exact_losses import exact_losses

    write_exact_losses(exact_losses(), script.out)


def audit_tables(script: Script) -> None:
    """Write the tables of the audit."""
    from dpregret.workflows.audit.tables import write_audit

    families = [script.file(f"audit_family/{family}") for family in script.plan.content["families"]]
    write_audit(families, script.file("planted/all"), script.out)


def audit_gate(script: Script) -> None:
    """Fail when a ledger is wrong, the audit is blind, or an accounting left its reference."""
    from dpregret.paper_figs.compare.gate import INCOMPARABLE, MOVED, report
    from dpregret.paper_figs.text.formats import DamageError
    from dpregret.workflows.audit.tables import Tables, faults

    reference = script.reference / "audit"
    try:
        now = Tables.read(script.file("audit_tables/all"), script.file("exact_losses/all"))
        wrong = faults(now, Tables.read(reference, reference / "exact_losses.csv"))
    except (DamageError, OSError) as fault:
        logging.error("audit gate: cannot compare: %s", fault)
        raise SystemExit(INCOMPARABLE) from None
    summary = f"audit gate: {len(now.audit)} private learner variants, {len(now.planted)} planted bugs"
    text = report(wrong, summary, script.plan.results)
    if wrong:
        logging.error("the audit found\n%s", text)
        raise SystemExit(MOVED)
    script.out.write_text(text)


def data(script: Script) -> None:
    """Prepare a data set."""
    from dpregret.workflows.run.store import prepare

    prepare(script.of, script.out)


def oracles(script: Script) -> None:
    """Measure what one call of each oracle costs."""
    from dpregret.core import parquet
    from dpregret.workflows.run.oracle_costs import measure_costs

    parquet.write(measure_costs(script.config.papers[script.of].oracle_costs), script.out, script.stamp)


def exact(script: Script) -> None:
    """Compute the exact tables of a chapter."""
    from dpregret.paper_figs.judge.claims import load_paper
    from dpregret.workflows.mechanisms.exact import write_exact

    write_exact(load_paper(PAPERS / script.of).claims.exact, script.out)


def tables(script: Script) -> None:
    """Judge the claims of one paper and write its tables."""
    from dpregret.paper_figs.judge.result_tables import ExactLoss
    from dpregret.paper_figs.tables.write import write_tables

    needed = "exact_losses/all" in script.plan.made[script.name].inputs
    losses = ExactLoss.read(script.file("exact_losses/all")) if needed else {}
    write_tables(
        script.runs(script.of),
        PAPERS / script.of,
        script.out,
        script.experiments(script.of),
        losses,
        script.plan.content["profile"],
    )


def figures(script: Script) -> None:
    """Draw the figures of one paper."""
    import gc

    from dpregret.paper_figs.figures.write import write_figures

    gc.set_threshold(50_000, 20, 100)  # figures are many small objects: to look for cycles takes a tenth of the time
    further = {
        key: script.file(f"{stage}/{script.of}")
        for key, stage in (("costs_file", "oracles"), ("exact", "exact"))
        if f"{stage}/{script.of}" in script.plan.made
    }
    write_figures(
        script.runs(script.of),
        PAPERS / script.of,
        script.out,
        experiments=script.experiments(script.of),
        names=script.plan.content["names"],
        **further,
    )


def complete(script: Script) -> None:
    """Fail when a play of the paper failed, after its tables have said so."""
    from dpregret.core import parquet

    files = [Path(part.file) for part in script.plan.parts[script.of].values()]
    rows = [parquet.read(file, ["experiment", "learner", "variant", "status"]) for file in files]
    plays = [row for frame in rows for row in frame.drop_duplicates().itertuples()]
    broken = [f"{row.learner}.{row.variant} in {row.experiment} {row.status}" for row in plays if row.status != "ok"]
    if broken:
        logging.error("failed; the next command plays them again:\n%s", "\n".join(broken))
        raise SystemExit(1)
    script.out.write_text(f"{len(plays)} plays ended well\n")


def report(script: Script) -> None:
    """Write the report of a run, or of one of its papers; a profile that is not built in is named by its file."""
    from dpregret.paper_figs.report.page import Run, write_report

    plan, results = script.plan, script.results()
    papers = [script.of] if script.of in plan.parts else list(plan.parts)
    benchmarks = Path(plan.results) / "benchmark"
    for file in benchmarks.rglob("*.*"):
        if key_in(file) in (None, *plan.keys):  # not of a former job
            _link(results / file.relative_to(plan.results), file)
    for paper in papers:
        script.runs(paper)
    configured = json.loads(plan.config)["papers"]
    titles = {
        paper: {name: experiment["title"] for name, experiment in configured[paper]["experiments"].items()}
        for paper in papers
    }
    profile = plan.content["profile"]
    built_in = (PROFILES / f"{profile}.yaml").exists()
    option = "" if profile == "full" else profile if built_in else f"{profile}.yaml"
    settings = " ".join(plan.content["settings"][paper] for paper in papers)
    data = sorted({file for paper in papers for part in plan.parts[paper].values() for file in part.data.values()})
    run = Run(profile, option, settings, plan.content["names"], [Path(file) for file in data])
    write_report(results, script.folder / "runs", titles, PAPERS, script.out, run)


def errata_page(script: Script) -> None:
    """Write the errata of all papers on one page."""
    from dpregret.paper_figs.report.findings import write_errata_page

    write_errata_page(script.results(), list(script.plan.parts), PAPERS, script.out)


def winners(script: Script) -> None:
    """Find out who wins in every setting, from the runs of all papers."""
    from dpregret.paper_figs.winners.table import read_refutations
    from dpregret.paper_figs.winners.write import write_winners
    from dpregret.workflows.plan.facts import facts

    config = script.config
    audits = [script.file("audit_tables/all") / "audit.csv"] if config.audit else []
    experiment_facts = facts(config, read_refutations(*audits, script.file("exact_losses/all")))
    files = [file for paper in config.papers for file in script.runs(paper).glob("*/*.parquet")]
    files = [file for file in files if (file.parents[1].name, file.parent.name) in experiment_facts.experiments]
    write_winners(files, experiment_facts, script.out, script.plan.content["names"])


def validation(script: Script) -> None:
    """Are fits and verdicts to be trusted? Simulate them on planted laws."""
    from dpregret.paper_figs.validation.simulate import write_validation

    write_validation(script.out, script.plan.content["sizes"]["simulations"])


def gate(script: Script) -> None:
    """Compare the tables that the plan names with the reference; the comparison is the output, and the log."""
    from dpregret.paper_figs.compare.gate import INCOMPARABLE, MOVED, GateError, Tables, compare, papers, report
    from dpregret.paper_figs.text.formats import DamageError

    plan = script.plan
    planned: dict[tuple[str, ...], tuple[str, str]] = {
        (paper, part.experiment, play.learner, play.variant): (part.settings, play.code)
        for paper, parts in plan.parts.items()
        for part in parts.values()
        for play in part.plays
    }
    try:
        now = Tables.read({paper: script.file(f"tables/{paper}") for paper in plan.parts})
        differences, summary = compare(now, Tables.read(papers(script.reference)), planned)
    except (GateError, DamageError, OSError) as fault:
        logging.error("gate: cannot compare: %s", fault)
        raise SystemExit(INCOMPARABLE) from None
    text = report(differences, summary, plan.results)
    logging.info("comparison with the reference\n%s", text)
    if differences:
        raise SystemExit(MOVED)
    script.out.write_text(text)


def run(stage: str, plan_file: str, output: Path, log: Path) -> None:
    """The job of a rule; its failure is in its log and ends the process with code 1.

    Refuses to work with other code than that in the name of its output.
    """
    with job_log(log), TemporaryDirectory(prefix="dpregret-") as folder:
        plan = Plan.read(plan_file)
        if stage == "play":
            from dpregret.workflows.run.job import play_experiment  # late: it brings the families

            for part in plan.jobs[str(output)]:
                play_experiment(plan, part, Path(folder) / Path(part.file).name, log)
            with atomic_write(output) as out:
                shutil.copytree(folder, out)
            return
        name = f"{stage}/{output.name.split('.')[0]}"
        plan.check_code({plan.made[name].code})
        with atomic_write(output) as out:
            if not output.suffixes[1:]:  # NAME.KEY without a suffix is a folder
                out.mkdir()
            globals()[STAGES[stage].function](Script(plan, name, out, Path(folder)))


class _Printable(logging.Formatter):
    """Messages and tracebacks without control characters: they hold texts of learners."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


@contextlib.contextmanager
def job_log(path: Path) -> Iterator[None]:
    """Send messages and warnings to ``path``; log a failure's traceback there and end the process with code 1.

    Nothing is printed: Snakemake prints the log of a failed job by itself.
    """
    from dpregret.core.parquet import StampError
    from dpregret.paper_figs.judge.runs import RunsError

    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    handler.setFormatter(_Printable("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    try:
        yield
    except (RunsError, StampError, ConfigError) as fault:
        logging.error("%s", fault)
        raise SystemExit(1) from None
    except Exception:
        logging.exception("the job failed")
        raise SystemExit(1) from None
