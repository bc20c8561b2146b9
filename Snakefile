"""The front door: what can be asked for. How it is made stands in workflows/rules."""

import gc
import os
import re
import shlex
import sys
from functools import cache
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

# a plan is many objects that stay: to look at all of them again and again takes a sixth of a dry run
gc.set_threshold(50_000, 20, 100)

try:
    from dpregret.core.errors import ConfigError, fault
    from dpregret.workflows import surroundings

    surroundings.check_addresses()
    from dpregret.paper_figs.claims_files import located_paper
    from dpregret.workflows import config as configuration
    from dpregret.workflows import (
        contained,
        display,
        ending,
        eta,
        fingerprint,
        index,
        limits,
        locking,
        mentions,
        profiles,
        seals,
    )
    from dpregret.workflows.checked import Checked
    from dpregret.workflows.forkserver import launch
except ModuleNotFoundError as error:
    sys.exit(f"{error}: run 'make setup' and start snakemake as .venv/bin/snakemake")
except ConfigError as error:
    sys.exit(f"{error}")


try:
    WORKS = workflow.is_main_process and locking.enter(sys.argv[1:])
    # jobs read the same file again: the main process has built every stream and learner by then
    CHECKED = Checked()
    CONFIG = configuration.load_config(
        configuration.check_options(config),
        check=workflow.is_main_process,
        checked=CHECKED,
        limits=limits.given_limits(config.get("limits")),
    )
    INDEX = index.recall()
    RESULTS = "results" if CONFIG.profile == "full" else f"results/{CONFIG.profile}"
    if WORKS:
        surroundings.check_names(Path(workflow.basedir))
        surroundings.check_writable([RESULTS, "datasets/cache"])
    read_paper = cache(located_paper)
    CLAIMS = {
        paper: read_paper(profiles.PAPERS / paper)[0].claims for paper in CONFIG.papers
    }
    if workflow.is_main_process:
        mentions.check_mentions(CONFIG, CHECKED, read=read_paper)
except (configuration.ConfigError, locking.BusyError, OSError) as error:
    sys.exit(f"{error}")  # one line per mistake, no traceback
except Exception as error:
    sys.exit(fault(error))

DISPLAY = display.take_over(logger, workflow.output_settings) if WORKS else None
if DISPLAY:
    DISPLAY.found = lambda: eta.farewell(Path(RESULTS), asked_papers())
if workflow.is_main_process:
    index.keep(INDEX)
    seals.watch(logger.info, lambda: seal_run(anew=False))

SETTINGS = CONFIG.keep()  # what the jobs read: the file may change while they run
launch.forget()
JOBS = list(configuration.experiment_jobs(CONFIG))
SHORT = profiles.short_names(profiles.papers())


report: "workflows/report/front.rst"


wildcard_constraints:
    paper="|".join(CONFIG.papers),
    experiment="[a-z0-9_-]+",
    learner="[a-z0-9-]+",
    variant="[a-z0-9-]+",


# one or two seconds each: on a cluster not worth a job of their own
localrules:
    all,
    complete,
    errata_page,
    audit_tables,
    audit_gate,
    gate,


include: "workflows/rules/common.smk"
include: "workflows/rules/data.smk"
include: "workflows/rules/runs.smk"
include: "workflows/rules/tables.smk"
include: "workflows/rules/audit.smk"
include: "workflows/rules/validation.smk"
include: "workflows/rules/report.smk"


rule all:
    default_target: True
    input:
        [paper_outputs(paper) for paper in CONFIG.papers],
        [f"{RESULTS}/{paper}/complete.txt" for paper in CONFIG.papers],
        [f"{RESULTS}/{name}" for name in WINNERS],
        [f"{RESULTS}/{name}" for name in AUDIT_TABLES if CONFIG.audit],
        [f"{RESULTS}/{name}" for name in VALIDATION_TABLES if CONFIG.validation],
        [f"{RESULTS}/errata.{form}" for form in ("md", "html")],
        f"{RESULTS}/report.html",


for paper in CONFIG.papers:

    rule:
        name:
            SHORT[paper]
        input:
            paper_outputs(paper),
            f"{RESULTS}/{paper}/complete.txt",
            f"{RESULTS}/{paper}/report.html",


onstart:
    if workflow.is_main_process:
        ending.end_on_signals()
        ending.end_with_make()
        if not CONDA and workflow.local_exec:
            launch.launch()
        if workflow.local_exec:
            # With a limit Snakemake sets a timer at each look at the jobs, which makes it look again, without end: in
            # the end as many looks a second as jobs have ended. Only a cluster needs the limit.
            workflow.scheduler.job_rate_limiter = None
    side_by_side = max(workflow.cores or 1, workflow.nodes or 1)
    if DISPLAY:
        DISPLAY.begin(eta.expect(workflow.dag.needrun_jobs(), CONFIG, side_by_side))


onsuccess:
    seal_run()
    logger.info(eta.farewell(Path(RESULTS), asked_papers(), log))


onerror:
    seal_run()
    logger.info(
        "dpregret: not finished. What is finished stays; the same command resumes."
        + eta.where_in_full(log)
    )
