"""What Snakemake runs."""
