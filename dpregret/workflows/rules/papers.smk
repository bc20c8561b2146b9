# From the runs of a paper to its tables, figures and report.


rule tables:
    input:
        inputs_of("tables"),
    output:
        directory(f"{MADE}/tables/{{name}}.{{key}}"),
    log:
        f"{RESULTS}/log/{{name}}/tables.{{key}}.log",
    benchmark:
        f"{RESULTS}/benchmark/{{name}}/tables.{{key}}.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "write the tables of {wildcards.name}"
    script:
        "../scripts/tables.py"


rule figures:
    input:
        inputs_of("figures"),
    output:
        directory(f"{MADE}/figures/{{name}}.{{key}}"),
    log:
        f"{RESULTS}/log/{{name}}/figures.{{key}}.log",
    benchmark:
        f"{RESULTS}/benchmark/{{name}}/figures.{{key}}.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "draw the figures of {wildcards.name}"
    script:
        "../scripts/figures.py"


# One paper alone: what the target of a paper ends with.
rule paper_report:
    input:
        inputs_of("paper_report"),
    output:
        f"{MADE}/paper_report/{{name}}.{{key}}.html",
    log:
        f"{RESULTS}/log/{{name}}/paper_report.{{key}}.log",
    benchmark:
        f"{RESULTS}/benchmark/{{name}}/paper_report.{{key}}.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "write the report of {wildcards.name}"
    script:
        "../scripts/paper_report.py"


# The last word on a paper: fails when a play failed, after the tables have said so.
rule complete:
    input:
        inputs_of("complete"),
    output:
        f"{MADE}/complete/{{name}}.{{key}}.txt",
    log:
        f"{RESULTS}/log/{{name}}/complete.{{key}}.log",
    benchmark:
        f"{RESULTS}/benchmark/{{name}}/complete.{{key}}.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "look whether every play of {wildcards.name} ended well"
    script:
        "../scripts/complete.py"
