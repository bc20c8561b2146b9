# A rule for each stage of workflows/run/stages.py. How one plays, and where copies go, follow at the end.
STAGE = "../scripts/stage.py"
CONDA = "../envs/bench.yaml"


# Of a paper, a family or a data set.
for stage, (_, suffix, place, message) in EACH.items():

    rule:
        name:
            stage
        input:
            inputs_of(stage),
        output:
            output(f"{MADE}/{stage}/{{name}}.{{key}}{suffix}"),
        log:
            f"{RESULTS}/log/{place}.{{key}}.log",
        benchmark:
            f"{RESULTS}/benchmark/{place}.{{key}}.tsv"
        conda:
            CONDA
        params:
            plan=PLAN.file,
        message:
            message
        script:
            STAGE


# Of all papers together: the name of the rule is a target.
for stage, (_, _, place, message) in WHOLE.items():

    rule:
        name:
            stage
        input:
            made(*PLAN.made[f"{stage}/all"].inputs),
        output:
            output(PLAN.made[f"{stage}/all"].file),
        log:
            f"{RESULTS}/log/{place}.log",
        benchmark:
            f"{RESULTS}/benchmark/{place}.tsv"
        conda:
            CONDA
        params:
            plan=PLAN.file,
        message:
            message
        script:
            STAGE


rule audit:
    input:
        made("audit_tables/all"),
    message:
        "the audit is there"


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
        CONDA
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    params:
        plan=PLAN.file,
    message:
        "play {wildcards.paper}/{wildcards.experiment}"
    script:
        STAGE


# A file by the name that people read. Snakemake is asked for it only where it is not there: see run/publish.py.
rule copy:
    input:
        lambda wildcards: ancient(PLAN.shown[wildcards.shown][0]),
    output:
        f"{RESULTS}/{{shown}}",
    log:
        f"{RESULTS}/log/copy/{{shown}}.log",
    conda:
        CONDA
    params:
        source=source,
    message:
        "publish {output}"
    shell:
        "cp {params.source:q} {output:q} 2> {log:q}"


rule copy_folder:
    input:
        lambda wildcards: ancient(PLAN.shown[wildcards.folder][0]),
    output:
        directory(f"{RESULTS}/{{folder}}"),
    log:
        f"{RESULTS}/log/copy/{{folder}}.log",
    conda:
        CONDA
    message:
        "publish {output}"
    shell:
        "cp -r {input:q} {output:q} 2> {log:q}"
