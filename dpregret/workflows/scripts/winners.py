"""Find out who wins in every setting, from the runs of all papers."""

from dataclasses import replace

from dpregret.paper_figs.winners.table import read_refutations
from dpregret.paper_figs.winners.write_winners import write_winners
from dpregret.workflows.plan.facts import facts
from dpregret.workflows.run.stage import Job, make


def winners(job: Job) -> None:
    """Rows are compared where the plan knows the experiment."""
    refutations = read_refutations(*job.of("audit"), *job.of("losses"))
    experiment_facts = replace(facts(job.config, {}), refuted=refutations)
    files = [job.runs_of(paper, experiment) for paper, experiment in experiment_facts.experiments]
    write_winners([file for part in files for file in part], experiment_facts, job.out, job.plan.content["names"])


make(snakemake, winners)
