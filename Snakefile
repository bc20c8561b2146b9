"""The targets of the workflow; the rules that make them are in workflows/rules."""

import re
import sys
import time
from pathlib import Path

try:
    from dpregret.core import machine
    from dpregret.core.errors import ConfigError
    from dpregret.workflows.plan.read import EACH, MADE, WHOLE, load
    from dpregret.workflows.run.publish import ended, failures, forget_failed, publish
except ModuleNotFoundError as error:
    sys.exit(f"{error}: run 'make setup' and start snakemake as .venv/bin/snakemake")

try:
    machine.check_addresses()
    PLAN = load(config)  # in a child process: no learner is imported here
    if workflow.is_main_process and not any(Path(".snakemake/locks").glob("*")):
        # not while another run is at work, whose outputs must stay
        machine.check_writable([PLAN.results, MADE])
        forget_failed(PLAN)
        publish(PLAN)
except (ConfigError, OSError) as error:
    sys.exit(f"{error}")  # one line per mistake, no traceback

RESULTS, PAPERS = PLAN.results, PLAN.content["papers"]
BEGAN = time.monotonic()


wildcard_constraints:
    paper="|".join(PAPERS),
    name="[a-z0-9_-]+",
    key="[0-9a-f]+",
    shown="|".join(re.escape(name) for name in PLAN.shown if Path(name).suffix),
    folder="|".join(re.escape(name) for name in PLAN.shown if not Path(name).suffix),


# a second or two each: not worth a job of a cluster
localrules:
    all,
    complete,
    errata_page,
    audit_tables,
    audit_gate,
    gate,
    copy,
    copy_folder,


include: "workflows/rules/common.smk"
include: "workflows/rules/stages.smk"


rule all:
    default_target: True
    input:
        outputs_of(*PLAN.content["everything"]),
    message:
        "everything is there"


for paper in PAPERS:

    rule:
        name:
            PAPERS[paper]
        input:
            outputs_of(*PLAN.content["paper_targets"][paper]),
        message:
            f"{paper} is there"


onsuccess:
    stop_timers()
    logger.info(ended(PLAN, workflow.dag_settings.targets, time.monotonic() - BEGAN))


onerror:
    stop_timers()
    publish(PLAN)
    for line in failures(PLAN):
        logger.info(line)
    logger.info("dpregret: not finished. The same command resumes.")
