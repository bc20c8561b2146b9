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
    threads: NEEDS["run"].threads
    resources:
        mem_mb=run_memory,
        runtime=run_minutes,
    params:
        settings=lambda wildcards: CONFIG.hash(wildcards.experiment, wildcards.paper),
        code=run_code,
    script:
        "../scripts/run.py"


rule costs:
    output:
        f"{RESULTS}/{{paper}}/oracles.parquet",
    log:
        f"{RESULTS}/log/{{paper}}/oracles.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/oracles.tsv"
    conda:
        "../envs/bench.yaml"
    threads: NEEDS["costs"].threads
    resources:
        mem_mb=memory("costs"),
        runtime=minutes("costs"),
    params:
        dimensions=lambda wildcards: CONFIG.papers[wildcards.paper].oracle_costs,
        code=fingerprint.module_fingerprint("dpregret.workflows.costs", "costs.py"),
    script:
        "../scripts/costs.py"


rule expiry:
    output:
        f"{RESULTS}/{{paper}}/expiry.parquet",
    log:
        f"{RESULTS}/log/{{paper}}/expiry.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/expiry.tsv"
    conda:
        "../envs/bench.yaml"
    threads: NEEDS["expiry"].threads
    resources:
        mem_mb=memory("expiry"),
        runtime=minutes("expiry"),
    params:
        code=fingerprint.module_fingerprint("dpregret.workflows.expiry", "expiry.py"),
    script:
        "../scripts/expiry.py"


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
    threads: NEEDS["complete"].threads
    resources:
        mem_mb=memory("complete"),
        runtime=minutes("complete"),
    params:
        code=fingerprint.module_fingerprint("dpregret.paper_figs.runs", "complete.py"),
    script:
        "../scripts/complete.py"
