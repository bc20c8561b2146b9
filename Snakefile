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
    from dpregret.workflows.run.publish import (
        begin,
        ended,
        failures,
        not_made,
        summary,
        write_list,
    )
    from dpregret.workflows.run.progress import NAME, OURS
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


rule all:
    default_target: True
    input:
        expand(rules.complete.output, paper=PAPERS),
        rules.errata_page.output,
        rules.html_report.output,
    localrule: True
    message:
        "all done"


for paper in PAPERS:

    rule:
        name:
            PAPERS[paper]
        input:
            expand(rules.complete.output, paper=paper),
            expand(rules.paper_report.output, paper=paper),
        localrule: True
        message:
            f"{paper} done"


if WRONG := not_made(
    PLAN,
    sys.argv[1:],
    lambda file: any(rule.is_producer(file) for rule in workflow.rules),
    [str(output) for rule in workflow.rules for output in rule.output],
):
    sys.exit(WRONG)


onstart:
    present()
    begin(PLAN, len(workflow.dag))
    logger.info(
        f"dpregret: jobs by reason: {summary_of(requested_of(STALE))}", extra=OURS
    )


onsuccess:
    stop_timers()
    logger.info(
        ended(
            PLAN,
            [file for job in workflow.dag.jobs for file in job.output],
            time.monotonic() - BEGAN,
        ),
        extra=OURS,
    )


onerror:
    stop_timers()
    for line in failures(PLAN):
        logger.info(line, extra=OURS)
    logger.info("dpregret: not finished. The same command resumes.", extra=OURS)
