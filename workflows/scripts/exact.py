"""Snakemake script: compute the exact tables of a chapter."""

from pathlib import Path

from dpregret.workflows.job_log import job_log

with job_log(snakemake.log[0]):
    from dpregret.paper_figs.claims_files import load_claims
    from dpregret.workflows.mechanisms.exact import write_exact

    paper = snakemake.wildcards.paper
    texts = Path(snakemake.scriptdir).resolve().parent / "papers" / paper / "claims.yaml"
    write_exact(load_claims(texts).exact, Path(snakemake.output[0]))
