"""Snakemake script: write the errata of all papers on one page."""

from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.paper_figs.errata_page import write_errata_page

    workflows = Path(snakemake.scriptdir).resolve().parent
    results = Path(snakemake.output[0]).parent
    write_errata_page(results, snakemake.params.papers, workflows / "papers")
