"""The script of every rule: the stage of its name."""

from pathlib import Path

from dpregret.workflows.run.stages import run

run(snakemake.rule, snakemake.params.plan, Path(snakemake.output[0]), Path(snakemake.log[0]))
