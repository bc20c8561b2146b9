# One job plays one learner variant over the whole grid of one experiment.


rule run:
    input:
        data_files,
    output:
        f"{RESULTS}/{{paper}}/runs/{{experiment}}/{{learner}}.{{variant}}.parquet",
    log:
        f"{RESULTS}/log/{{paper}}/{{experiment}}/{{learner}}.{{variant}}.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/{{experiment}}/{{learner}}.{{variant}}.tsv"
    conda:
        "../envs/bench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * run_need(*wildcards)[1],
        runtime=lambda wildcards, attempt: attempt * run_need(*wildcards)[0],
    params:
        settings=lambda wildcards: CONFIG.hash(wildcards.experiment, wildcards.paper),
        code=run_code,
    script:
        "../scripts/run.py"


rule oracle_costs:
    output:
        f"{RESULTS}/{{paper}}/oracles.parquet",
    log:
        f"{RESULTS}/log/{{paper}}/oracles.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/oracles.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        dimensions=lambda wildcards: CONFIG.papers[wildcards.paper].oracle_costs,
        code=fingerprint.module_fingerprint(
            "dpregret.workflows.oracle_costs", "oracle_costs.py"
        ),
    script:
        "../scripts/oracle_costs.py"


rule expiry:
    output:
        f"{RESULTS}/{{paper}}/expiry.parquet",
    log:
        f"{RESULTS}/log/{{paper}}/expiry.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/expiry.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        code=fingerprint.module_fingerprint("dpregret.workflows.expiry", "expiry.py"),
    script:
        "../scripts/expiry.py"


# What a chapter computes without a run.
rule exact:
    output:
        directory(f"{RESULTS}/{{paper}}/exact"),
    log:
        f"{RESULTS}/log/{{paper}}/exact.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/exact.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        captions=lambda wildcards: CLAIMS[wildcards.paper].exact,
        code=fingerprint.module_fingerprint(
            "dpregret.workflows.mechanisms.exact", "exact.py"
        ),
    script:
        "../scripts/exact.py"


# The last word on a paper: fails when a learner crashed, after the tables have said so.
rule complete:
    input:
        runs=run_files,
        shown=lambda wildcards: paper_outputs(wildcards.paper),
    output:
        f"{RESULTS}/{{paper}}/complete.txt",
    log:
        f"{RESULTS}/log/{{paper}}/complete.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/complete.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        code=fingerprint.module_fingerprint("dpregret.paper_figs.runs", "complete.py"),
    script:
        "../scripts/complete.py"
