# One job plays one learner variant over the whole grid of one experiment.


rule run:
    input:
        data=data_files,
        host=host_file,
    output:
        f"{RESULTS}/{{paper}}/runs/{{experiment}}/{{learner}}.{{variant}}.parquet",
    log:
        f"{RESULTS}/log/{{paper}}/{{experiment}}/{{learner}}.{{variant}}.log",
    conda:
        "../envs/bench.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: attempt * run_need(*wildcards)[1],
        runtime=lambda wildcards, attempt: attempt * run_need(*wildcards)[0],
    params:
        settings=lambda wildcards: CONFIG.hash(wildcards.experiment, wildcards.paper),
        code=run_code,
    shell:
        task(
            "run",
            f"--settings {SETTINGS} --paper {{wildcards.paper}} --experiment {{wildcards.experiment}}"
            " --learner {wildcards.learner} --variant {wildcards.variant} --data {input.data:q} --host {input.host:q}",
        )


rule oracle_costs:
    output:
        f"{RESULTS}/{{paper}}/oracles.parquet",
    log:
        f"{RESULTS}/log/{{paper}}/oracles.log",
    conda:
        "../envs/bench.yaml"
    params:
        dimensions=lambda wildcards: CONFIG.papers[wildcards.paper].oracle_costs,
        code=fingerprint.module_fingerprint(
            "dpregret.workflows.oracle_costs", "oracle_costs.py"
        ),
    shell:
        task("oracle_costs", f"--settings {SETTINGS} --paper {{wildcards.paper}}")


rule expiry:
    output:
        f"{RESULTS}/{{paper}}/expiry.parquet",
    log:
        f"{RESULTS}/log/{{paper}}/expiry.log",
    conda:
        "../envs/bench.yaml"
    params:
        code=fingerprint.module_fingerprint("dpregret.workflows.expiry", "expiry.py"),
    shell:
        task("expiry", "")


# What a chapter computes without a run.
rule exact:
    output:
        directory(f"{RESULTS}/{{paper}}/exact"),
    log:
        f"{RESULTS}/log/{{paper}}/exact.log",
    conda:
        "../envs/bench.yaml"
    params:
        captions=lambda wildcards: CLAIMS[wildcards.paper].exact,
        code=fingerprint.module_fingerprint(
            "dpregret.workflows.mechanisms.exact", "exact.py"
        ),
    shell:
        task("exact", "--paper {wildcards.paper}")


# The last word on a paper: fails when a learner crashed, after the tables have said so.
rule complete:
    input:
        runs=run_files,
        shown=lambda wildcards: paper_outputs(wildcards.paper),
    output:
        f"{RESULTS}/{{paper}}/complete.txt",
    log:
        f"{RESULTS}/log/{{paper}}/complete.log",
    conda:
        "../envs/bench.yaml"
    params:
        code=fingerprint.module_fingerprint("dpregret.paper_figs.runs", "complete.py"),
    shell:
        task("complete", f"--settings {SETTINGS} --runs {{input.runs:q}}")
