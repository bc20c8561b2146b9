"""Make one figure, or the tables, of a paper again from the rows of a finished run, as the run makes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from dpregret import study
from dpregret.core.errors import ConfigError, not_allowed
from dpregret.paper_figs.figures.grammar import bare
from dpregret.paper_figs.figures.style import style_context
from dpregret.paper_figs.figures.write import drawn
from dpregret.paper_figs.judge.read_claims import load_claims
from dpregret.paper_figs.judge.result_tables import ExactLoss
from dpregret.paper_figs.judge.runs import read_runs
from dpregret.paper_figs.text import formats
from dpregret.workflows.plan.facts import display_names
from dpregret.workflows.plan.read import PAPERS, Plan
from dpregret.workflows.run.paper_tables import write_paper_tables
from dpregret.workflows.run.publish import PLAN


def listed(paper: str) -> list[str]:
    """Lines for each figure of a paper: its name and its title, folded at the width of the terminal."""
    rows = [[entry.name, bare(entry.title)] for entry in load_claims(PAPERS / paper / "claims.yaml").figures]
    lines = formats.columns(rows) if rows else []
    return [*chain.from_iterable([[f"{name}: {title}"] for name, title in rows] if lines is None else lines)]


def check_names(paper: str, names: Sequence[str]) -> None:
    """Raise ConfigError for a figure that the paper does not list."""
    known = [entry.name for entry in load_claims(PAPERS / paper / "claims.yaml").figures]
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"{paper}: {not_allowed('figure', unknown[0], known)}")


def redraw(paper: str, results: Path, to: Path, names: Sequence[str]) -> list[Path]:
    """Draw figures of a paper into the folder `to`; return the paths, those of their data (CSV) last.

    results: folder of a finished run, whose rows are drawn. Raises ConfigError for a figure whose rows the run lacks.
    """
    claims, folder = load_claims(PAPERS / paper / "claims.yaml"), results / paper
    files = {"costs": folder / "oracles.parquet", "crossover": folder / "exact" / "crossover.csv"}
    wanted = [entry for entry in claims.figures if entry.name in names]
    runs = read_runs(folder / "runs")
    paths: list[Path] = []
    with style_context():
        found = dict(drawn(runs, claims, files, display_names(), names))
        for entry in wanted:
            if entry.name not in found:
                raise ConfigError(f"{paper}: {entry.name}: this run has no rows of {entry.experiment or 'its table'}")
            paths += found[entry.name].save(to / entry.name)
    return paths


def finished(paper: str, folders: Sequence[Path]) -> Path:
    """The newest of the folders of results that holds rows of a paper. Raises ConfigError where none does."""
    runs = [folder for folder in folders if (folder / paper / "runs").is_dir()]
    if not runs:
        profile = "" if folders[0] == Path("results") else folders[0].name
        makes = study.command("run", paper, profile)
        raise ConfigError(f"{folders[0]}: no rows of {paper} yet: `{makes}` makes them")
    return max(runs, key=lambda folder: (folder / paper / "runs").stat().st_mtime_ns)


def rewrite_tables(paper: str, results: Path, to: Path) -> list[Path]:
    """Judge the rows of a finished run again and write the tables of a paper into the folder `to`; return the paths.

    Raises ConfigError where the run has left no plan.
    """
    folder, losses = results / paper, results / "audit" / "exact_losses.csv"
    try:
        plan = Plan.read(results / PLAN)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{error}: make the run again") from None
    exact = ExactLoss.read(losses) if losses.is_file() else {}
    experiments = {path.name for path in (folder / "runs").iterdir() if path.is_dir()}
    experiments |= {path.stem for path in (folder / "runs").glob("*.parquet")}
    write_paper_tables(plan, paper, folder / "runs", to, experiments, exact)
    return sorted(path for path in to.iterdir() if path.is_file())
