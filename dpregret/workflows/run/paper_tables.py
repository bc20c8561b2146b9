"""The tables of one paper, as the plan of its run judges it, for the job of a run and `dpregret table --to`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from dpregret.core.files import reference
from dpregret.paper_figs.judge.confirmed import Confirmation
from dpregret.paper_figs.judge.read_claims import load_paper
from dpregret.paper_figs.judge.result_tables import ExactLoss
from dpregret.paper_figs.tables.write_tables import write_tables
from dpregret.workflows.plan import frozen
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.read import PAPERS, Plan


def write_paper_tables(
    plan: Plan, paper: str, runs: Path, out: Path, experiments: Collection[str], exact: Mapping[str, ExactLoss]
) -> None:
    """Judge the claims of a paper, with what fresh seeds said of them, and write its tables into `out`.

    runs: folder of rows, one for each of `experiments`; exact: losses that claims name.
    """
    digests = frozen.digests(Config.of_plan(plan.config), paper, load_paper(PAPERS / paper).claims)
    confirmed = Confirmation.read(reference(plan.results))
    write_tables(runs, PAPERS / paper, out, experiments, exact, plan.content["profile"], digests, confirmed)
