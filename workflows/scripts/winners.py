"""Find out who wins, from the runs of all papers."""

from dpregret.paper_figs.winners.cells import read_refutations
from dpregret.paper_figs.winners.write import write_winners
from dpregret.workflows.names import display_names
from dpregret.workflows.results import check_run
from dpregret.workflows.task import Asked
from dpregret.workflows.winners import facts


def main(asked: Asked) -> None:
    """--settings --runs --audit --exact --output"""
    config, files = asked.settings, asked.paths("runs")
    for path in files:
        check_run(path, config)
    refuted = read_refutations(*asked.paths("audit"), *asked.paths("exact"))
    write_winners(files, facts(config, refuted), asked.output.parent, display_names())
