# A rule for each stage of workflows/run/stages.py; the rules that play and that copy are at the end.
STAGE = "../scripts/stage.py"
CONDA = "../envs/bench.yaml"


# Of a paper, a family or a data set.
for stage, (_, suffix, records, message) in EACH.items():

    rule:
        name:
            stage
        input:
            inputs_of(stage),
        output:
            output(f"{MADE}/{stage}/{{name}}.{{key}}{suffix}"),
        log:
            f"{RESULTS}/log/{records}.{{key}}.log",
        benchmark:
            f"{RESULTS}/benchmark/{records}.{{key}}.tsv"
        conda:
            CONDA
        params:
            plan=PLAN.file,
        message:
            message
        script:
            STAGE


# Of all papers together: the name of the rule is a target.
for stage, (_, _, records, message) in WHOLE.items():

    rule:
        name:
            stage
        input:
            outputs_of(*PLAN.made[f"{stage}/all"].inputs),
        output:
            output(PLAN.made[f"{stage}/all"].file),
        log:
            f"{RESULTS}/log/{records}.log",
        benchmark:
            f"{RESULTS}/benchmark/{records}.tsv"
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
        outputs_of("audit_tables/all"),
    message:
        "the audit is there"


# One job plays some experiments: plays that the store lacks, each learner in a child process.
rule play:
    input:
        lambda wildcards: [
            ancient(file) for part in parts(wildcards) for file in part.data.values()
        ],
    output:
        directory(f"{MADE}/runs/{{paper}}/{{name}}.{{key}}"),
    log:
        f"{RESULTS}/log/{{paper}}/{{name}}.{{key}}.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/{{name}}.{{key}}.tsv"
    conda:
        CONDA
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
    params:
        plan=PLAN.file,
        experiments=lambda wildcards: ", ".join(
            dict.fromkeys(part.experiment for part in parts(wildcards))
        ),
    message:
        "play {wildcards.paper}: {params.experiments}"
    script:
        STAGE


# A file under its public name; Snakemake makes it only where it is missing: see run/publish.py.
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
