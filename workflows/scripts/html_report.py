"""Snakemake script: write the report of a run."""

from pathlib import Path
from tempfile import TemporaryDirectory

from dpregret.workflows.config import Config
from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]), TemporaryDirectory() as folder:
    from dpregret.paper_figs.report import write_report
    from dpregret.workflows.results import link_files

    config = Config.model_validate_json(snakemake.config["settings"])
    workflows = Path(snakemake.scriptdir).resolve().parent
    page = Path(snakemake.output[0])
    for paper in config.papers:
        below = page.parent / paper / "runs"
        link_files([name for name in snakemake.input if below in Path(name).parents], Path(folder) / paper)
    write_report(
        page.parent,
        Path(folder),
        {
            paper: {name: experiment.title for name, experiment in settings.experiments.items()}
            for paper, settings in config.papers.items()
        },
        workflows / "papers",
        page,
        profile=config.profile,
        config=" ".join(snakemake.params.settings),
        reference=Path("results") / "reference",
    )
