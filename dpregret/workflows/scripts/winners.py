"""Find out who wins, from the runs of all papers."""

from pathlib import Path

from dpregret.paper_figs.winners.cells import read_refutations
from dpregret.paper_figs.winners.write import write_winners
from dpregret.workflows.plan.titles import display_names
from dpregret.workflows.plan.winners import facts
from dpregret.workflows.run.script import running

with running(snakemake) as script:
    config = script.config
    audits = [script.file("audit_tables/all") / "audit.csv"] if config.audit else []
    refuted = read_refutations(*audits, script.file("exact_losses/all"))
    known = facts(config, refuted)
    files = [Path(file) for paper in config.papers for file in script.plan.runs(paper)]
    files = [file for file in files if (file.parent.name, file.name.split(".")[0]) in known.experiments]
    write_winners(files, known, script.out, display_names())
