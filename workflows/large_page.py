"""The tables of docs/large.md: what the profile `large` will cost, and predictions against measurements.

Written from the committed rates and the measured slice, to results/reference/large and, between its marks, to the page:

    python -m dpregret.workflows.large_page
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from dpregret.paper_figs import formats
from dpregret.paper_figs.readme import marked, renew
from dpregret.workflows.config import Config, Job, load_config, profile_path
from dpregret.workflows.growth import factor
from dpregret.workflows.predict import by_learner, estimate, job_costs, measured_rates, totals

ROOT = Path(__file__).resolve().parents[1]
FOLDER, PAGE = ROOT / "results" / "reference" / "large", ROOT / "docs" / "large.md"
CORES = 64
KINDS = {
    "lou_cheung_2020": "online",
    "talwar_2015": "risks",
    "asi_et_al_2023": "experts, online",
    "ene_et_al_2021": "bandits",
}


def cost_table(jobs: pd.DataFrame) -> pd.DataFrame:
    """One row a paper, and one for all."""
    parts = [(paper, KINDS.get(str(paper), ""), part) for paper, part in jobs.groupby("paper", sort=False)]
    lines = []
    for paper, kind, part in [*parts, ("all", "", jobs)]:
        sums = totals(part, CORES)
        lines.append(
            {
                "paper": paper,
                "problems": kind,
                "jobs": f"{len(part)}",
                "CPU hours": f"{sums['CPU hours']:.0f}",
                "longest job, hours": f"{sums['longest job, hours']:.1f}",
                "most memory of a job, GB": f"{sums['most memory of a job, GB']:.1f}",
            }
        )
    return pd.DataFrame(lines)


def slice_table(measured: pd.DataFrame, configs: dict[str, Config]) -> pd.DataFrame:
    """Predicted and measured costs of the slice, predictions by the rates of today."""
    lines = []
    for line in measured.to_dict("records"):
        job = Job(*(str(line[name]) for name in Job._fields))
        seconds, megabytes = estimate(configs[str(line["profile"])], job)
        lines.append(
            {
                "profile": line["profile"],
                "job": f"{job.paper}/{job.experiment}/{job.learner}.{job.variant}",
                "predicted s": f"{seconds:.0f}",
                "CPU s": f"{line['CPU seconds']:.0f}",
                "predicted / measured": f"{seconds / line['CPU seconds']:.2f}",
                "predicted MB": f"{megabytes:.0f}",
                "peak MB": f"{line['peak MB']:.0f}",
            }
        )
    return pd.DataFrame(lines)


def error_table() -> pd.DataFrame:
    """How far off predictions of jobs are whose whole experiment took no part in the fit."""
    return pd.DataFrame(
        {
            "learners": kind,
            "jobs": f"{values['jobs']:.0f}",
            "off by a factor of, median": f"{values['median']:.2f}",
            "90 % below": f"{values['ninety']:.2f}",
        }
        for (part, kind, _), values in measured_rates().items()
        if part == "error"
    )


def page(text: str, folder: Path = FOLDER) -> str:
    """The page with the tables of a folder."""
    for mark in ("cost", "errors", "slice"):
        table = pd.read_csv(folder / f"{mark}.csv", dtype=str, keep_default_na=False)
        text = marked(text, mark, formats.markdown(table))
    return text


def main() -> None:
    """Write the tables and the page."""
    measured = pd.read_csv(FOLDER / "measured.csv")
    configs = {name: load_config(profile_path(name), check=False) for name in {"large", *measured["profile"]}}
    jobs = job_costs(configs["large"])
    compared = slice_table(measured, configs)
    for name, table in (("cost", cost_table(jobs)), ("errors", error_table()), ("slice", compared)):
        table.to_csv(FOLDER / f"{name}.csv", index=False)
    by_learner(jobs).to_csv(FOLDER / "prediction.csv", index=False, float_format="%.3g")
    renew(PAGE, page)
    off = factor(measured["CPU seconds"], compared["predicted s"].astype(float))
    print(f"slice: {len(off)} jobs, off by a factor of {off.median():.2f} (median), {off.max():.2f} at most")
    print("\n".join(f"{name}: {value:.4g}" for name, value in totals(jobs, CORES).items()))


if __name__ == "__main__":
    main()
