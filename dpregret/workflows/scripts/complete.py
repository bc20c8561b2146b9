"""Fail when a play of the paper failed, after its tables have said so."""

import logging

from dpregret.core import parquet
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    rows = [parquet.read(file, ["experiment", "learner", "variant", "status"]) for file in script.plan.runs(script.of)]
    plays = [row for each in rows for row in each.drop_duplicates().itertuples()]
    broken = [f"{row.learner}.{row.variant} in {row.experiment} {row.status}" for row in plays if row.status != "ok"]
    if broken:
        logging.error("failed; the next command plays them again:\n%s", "\n".join(broken))
        raise SystemExit(1)
    script.out.write_text(f"{len(plays)} plays ended well\n")
