"""What a run will cost: `dpregret predict PROFILE --cores 64`; `--fit` renews the rates."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dpregret.core.errors import ConfigError
from dpregret.paper_figs.formats import markdown
from dpregret.paper_figs.readme import marked, renew
from dpregret.workflows.config import Job, load_config
from dpregret.workflows.costs import model
from dpregret.workflows.costs.taken import TABLE, taken
from dpregret.workflows.profiles import profile_path

ROOT = Path(__file__).resolve().parents[2]
PAGE, MEASURED = ROOT / "docs" / "large.md", ROOT / "results" / "reference" / "large" / "measured.csv"


def table(jobs: pd.DataFrame, cores: int) -> pd.DataFrame:
    """One row a paper, and one for all."""
    parts = [*jobs.groupby("paper", sort=False), ("all", jobs)]
    hours = [(paper, part, part["seconds"] / 3600) for paper, part in parts]
    return pd.DataFrame(
        {
            "paper": paper,
            "jobs": f"{len(part)}",
            "CPU hours": f"{each.sum():.1f}",
            "longest job, hours": f"{each.max():.1f}",
            f"wall hours on {cores} cores": f"{max(each.sum() / cores, each.max()):.1f}",
            "most memory of a job, GB": f"{part['megabytes'].max() / 1024:.1f}",
        }
        for paper, part, each in hours
    )


def slice_table() -> pd.DataFrame:
    """Jobs whose cost was measured, beside what is predicted of them."""
    measured = pd.read_csv(MEASURED)
    configs = {name: load_config(profile_path(name), check=False) for name in measured["profile"].unique()}
    lines = []
    for line in measured.to_dict("records"):
        job, spent, peak = Job(*(str(line[name]) for name in Job._fields)), line["CPU seconds"], line["peak MB"]
        seconds, megabytes = model.estimate(configs[str(line["profile"])], job)
        name, ratio = f"{job.paper}/{job.experiment}/{job.learner}.{job.variant}", f"{seconds / spent:.2f}"
        lines.append(
            (line["profile"], name, f"{seconds:.0f}", f"{spent:.0f}", ratio, f"{megabytes:.0f}", f"{peak:.0f}")
        )
    names = ["profile", "job", "predicted s", "CPU s", "predicted / measured", "predicted MB", "peak MB"]
    return pd.DataFrame(lines, columns=names)


def page(text: str) -> str:
    """docs/large.md with the tables of today's rates."""
    large = load_config(profile_path("large"), check=False)
    text = marked(text, "cost", markdown(table(model.job_costs(large), 64)))
    return marked(text, "slice", markdown(slice_table()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the predicted cost of a profile, or renew the rates from finished runs."""
    parser = argparse.ArgumentParser(prog="dpregret predict", description=main.__doc__)
    parser.add_argument("profile", nargs="?", default="large", help="a name, or the path of a YAML file")
    parser.add_argument("--cores", type=int, default=64, help="for the wall time")
    parser.add_argument("--fit", nargs="+", type=Path, metavar="RESULTS", help="renew the rates, and what runs took")
    options = parser.parse_args(arguments)
    if options.fit:
        taken(options.fit).to_csv(TABLE, index=False)
        model.write({**model.read(), **model.fit_runs(options.fit)})
        model.read.cache_clear()
        renew(PAGE, page)
        return 0
    try:
        config = load_config(profile_path(options.profile), check=False)
    except (ConfigError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(markdown(table(model.job_costs(config), options.cores)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
