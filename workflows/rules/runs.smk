# One job plays one learner variant over the whole grid of one experiment.


def learner_code(wildcards):
    return fingerprint.learner_fingerprint(REGISTRY.learners[wildcards.learner].module)


rule run:
    input:
        lambda wildcards: data_files(CONFIG.experiment(wildcards.paper, wildcards.experiment)),
    output:
        f"{RESULTS}/{{paper}}/runs/{{experiment}}/{{learner}}.{{variant}}.parquet",
    log:
        f"{RESULTS}/log/{{paper}}/{{experiment}}/{{learner}}.{{variant}}.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/{{experiment}}/{{learner}}.{{variant}}.tsv"
    conda:
        "../envs/bench.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=60,
    params:
        settings=lambda wildcards: CONFIG.hash(wildcards.experiment, wildcards.paper),
        code=learner_code,
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
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        settings=lambda wildcards: CONFIG.fingerprint(wildcards.paper),
        code=fingerprint.module_fingerprint("dpregret.workflows.costs", "costs.py"),
    script:
        "../scripts/costs.py"


rule ages:
    output:
        f"{RESULTS}/{{paper}}/ages.parquet",
    log:
        f"{RESULTS}/log/{{paper}}/ages.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/ages.tsv"
    conda:
        "../envs/bench.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        settings=lambda wildcards: CONFIG.fingerprint(wildcards.paper),
        code=fingerprint.module_fingerprint("dpregret.workflows.ages", "ages.py"),
    script:
        "../scripts/ages.py"
