"""What is made: the rules are in workflows/rules, one for each stage."""

import atexit
import os
import sys
import threading
import time
from pathlib import Path

try:
    from dpregret.core import machine
    from dpregret.core.errors import ConfigError
    from dpregret.workflows.plan.keys import STORE
    from dpregret.workflows.plan.read import MADE, load
    from dpregret.workflows.run.freshness import (
        NEW,
        STAMP,
        Record,
        stale_items,
        summary_of,
    )
    from dpregret.workflows.run import progress
    from dpregret.workflows.run.publish import (
        STAGES,
        begin,
        ended,
        is_listed,
        not_made,
        summary,
    )
except ModuleNotFoundError as error:
    sys.exit(f"{error}: run 'make setup' and start snakemake as .venv/bin/snakemake")

try:
    machine.check_addresses()
    PLAN = load(config)  # in a child process: no learner is imported here
    machine.check_writable([PLAN.results, f"{PLAN.results}/{MADE}", STORE])
except (ConfigError, OSError) as error:
    sys.exit(f"{error}")  # one line per mistake, no traceback

RESULTS, PAPERS = PLAN.results, PLAN.content["papers"]
FAMILIES = PLAN.content["families"]
AUDITED, VALIDATED = PLAN.content["audit"], PLAN.content["validation"]
CONDA = "../envs/bench.yaml"
BEGAN = time.monotonic()


wildcard_constraints:
    paper="|".join(PAPERS),
    family="|".join(FAMILIES),
    batch="[a-z0-9_.-]+",
    name="[a-z0-9_.-]+",


include: "workflows/rules/common.smk"
include: "workflows/rules/freshness.smk"
include: "workflows/rules/data.smk"
include: "workflows/rules/play.smk"
include: "workflows/rules/audit.smk"
include: "workflows/rules/judge.smk"
include: "workflows/rules/publish.smk"
include: "workflows/rules/confirm.smk"


# A list of files that was lost is written again at the end of a run: a target then has a job.
LISTED = [] if is_listed(PLAN, STALE) else [MARK]


rule all:
    default_target: True
    input:
        expand(rules.complete.output, paper=PAPERS),
        rules.errata_page.output,
        rules.html_report.output,
        LISTED,
    localrule: True
    message:
        "list the files of all papers"


for paper in PAPERS:
    progress.NO_WORK.add(PAPERS[paper])

    rule:
        name:
            PAPERS[paper]
        input:
            expand(rules.complete.output, paper=paper),
            expand(rules.paper_report.output, paper=paper),
            LISTED,
        localrule: True
        message:
            f"list the files of {paper}"


OUTPUTS = [
    *(str(file) for stage in STAGES for file in getattr(rules, stage).output),
    *expand(rules.further_tables.output, **FURTHER, allow_missing=True),
]
if WRONG := not_made(PLAN, sys.argv[1:], OUTPUTS):
    sys.exit(WRONG)


onstart:
    try:
        present()
        begin(PLAN)
    except OSError as error:  # such as of a full disk
        sys.exit(f"dpregret: {PLAN.results}: {error.strerror or error}")
    wanted = {item: STALE[item] for item in REQUESTED & STALE.keys()}
    if reasons := summary_of(wanted):
        part = (
            ""
            if STARTED.jobs in (None, len(wanted))
            else f"; this command runs {STARTED.jobs}"
        )
        logger.info(
            f"dpregret: requested and not up to date: {reasons}{part}",
            extra=progress.OURS,
        )


onsuccess:
    stop_timers()
    text = ended(PLAN, STARTED.outputs, shown(), time.monotonic() - BEGAN)
    logger.info(text, extra=progress.OURS)


onerror:
    stop_timers()
    logger.info(
        f"dpregret: not finished; done and kept: {STARTED.done} of {STARTED.jobs} jobs. "
        "The same command resumes.",
        extra=progress.OURS,
    )


progress.AT_REST.append(lambda: summary(PLAN, shown()))
