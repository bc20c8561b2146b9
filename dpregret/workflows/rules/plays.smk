# One job plays an experiment: what the store has not, each learner in a child of its own.


rule play:
    input:
        lambda wildcards: [ancient(file) for file in part(wildcards).data.values()],
    output:
        f"{MADE}/runs/{{paper}}/{{experiment}}.{{key}}.parquet",
    log:
        f"{RESULTS}/log/{{paper}}/{{experiment}}.{{key}}.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/{{experiment}}.{{key}}.tsv"
    conda:
        "../envs/bench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    params:
        plan=PLAN.file,
    message:
        "play {wildcards.paper}/{wildcards.experiment}"
    script:
        "../scripts/play.py"


# Data sets in the form that plays read; downloads are never part of the default run.
rule data:
    output:
        f"{MADE}/data/{{name}}.{{key}}.npz",
    log:
        f"{RESULTS}/log/data/{{name}}.{{key}}.log",
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "prepare the data {wildcards.name}"
    script:
        "../scripts/data.py"


rule oracles:
    output:
        f"{MADE}/oracles/{{name}}.{{key}}.parquet",
    log:
        f"{RESULTS}/log/{{name}}/oracles.{{key}}.log",
    benchmark:
        f"{RESULTS}/benchmark/{{name}}/oracles.{{key}}.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "time the oracles of {wildcards.name}"
    script:
        "../scripts/oracles.py"


# What a chapter computes without a run.
rule exact:
    output:
        directory(f"{MADE}/exact/{{name}}.{{key}}"),
    log:
        f"{RESULTS}/log/{{name}}/exact.{{key}}.log",
    benchmark:
        f"{RESULTS}/benchmark/{{name}}/exact.{{key}}.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "compute the exact tables of {wildcards.name}"
    script:
        "../scripts/exact.py"
