# All claims again, on seeds that nobody has chosen: one job, which plays on all cores that Snakemake has.


rule confirmation:
    input:
        stale=stale("confirmation"),
    output:
        table=f"{RESULTS}/confirmation/confirmation.csv",
        text=f"{RESULTS}/confirmation/confirmation.md",
        figure=multiext(
            f"{RESULTS}/confirmation/scatter", ".csv", ".pdf", ".png", ".svg"
        ),
    log:
        f"{RESULTS}/log/confirmation.log",
    benchmark:
        f"{RESULTS}/benchmark/confirmation.tsv"
    conda:
        CONDA
    threads: 16  # or all that Snakemake has, where these are fewer
    params:
        plan=PLAN.file,
        key=key("confirmation"),
        why=why("confirmation"),
    message:
        "judge all claims on fresh seeds{params.why}"
    script:
        "../scripts/confirmation.py"
