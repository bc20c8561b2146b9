"""Judge the claims of one paper and write its tables."""

from dpregret.paper_figs.judge.claims import load_claims
from dpregret.paper_figs.judge.gains import write_gains
from dpregret.paper_figs.judge.result_tables import ExactLoss
from dpregret.paper_figs.tables.write import write_further_table, write_tables
from dpregret.workflows.run.script import PAPERS, running

with running(snakemake) as script:
    paper, runs, config = PAPERS / script.of, script.runs(script.of), script.config
    experiments = set(config.papers[script.of].experiments)
    needed = "exact_losses/all" in script.plan.made[script.name].inputs
    exact = ExactLoss.read(script.file("exact_losses/all")) if needed else {}
    write_tables(runs, paper, script.out, experiments, exact, config.profile)
    claims = load_claims(paper / "claims.yaml")
    for number in range(2, len(claims.tables) + 1):
        write_further_table(runs, paper, script.out, number, experiments, exact)
    if claims.gains:
        write_gains(runs, paper, script.out)
