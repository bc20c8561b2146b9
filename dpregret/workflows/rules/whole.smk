# What is made of all papers.


# In every setting the learner of least regret under the same guarantee, and what that says of others.
rule winners:
    input:
        [ancient(file) for file in PLAN.inputs("winners/all")],
    output:
        directory(PLAN.made["winners/all"].file),
    log:
        f"{RESULTS}/log/winners.log",
    benchmark:
        f"{RESULTS}/benchmark/winners.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "compare the learners of all papers"
    script:
        "../scripts/winners.py"


# Are fits and verdicts to be trusted? Planted laws, simulated.
rule validation:
    output:
        directory(PLAN.made["validation/all"].file),
    log:
        f"{RESULTS}/log/validation.log",
    benchmark:
        f"{RESULTS}/benchmark/validation.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "simulate fits and verdicts"
    script:
        "../scripts/validation.py"


rule errata_page:
    input:
        [ancient(file) for file in PLAN.inputs("errata_page/all")],
    output:
        directory(PLAN.made["errata_page/all"].file),
    log:
        f"{RESULTS}/log/errata_page.log",
    benchmark:
        f"{RESULTS}/benchmark/errata_page.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "write the errata of all papers"
    script:
        "../scripts/errata_page.py"


# The face of a run: one page that opens without a network.
rule html_report:
    input:
        [ancient(file) for file in PLAN.inputs("html_report/all")],
    output:
        PLAN.made["html_report/all"].file,
    log:
        f"{RESULTS}/log/html_report.log",
    benchmark:
        f"{RESULTS}/benchmark/html_report.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "write the report"
    script:
        "../scripts/html_report.py"


# Outside the default run: is everything still as in the committed reference?
rule gate:
    input:
        [ancient(file) for file in PLAN.inputs("gate/all")],
    output:
        PLAN.made["gate/all"].file,
    log:
        f"{RESULTS}/log/gate.log",
    benchmark:
        f"{RESULTS}/benchmark/gate.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "compare with the reference"
    script:
        "../scripts/gate.py"


# A file by the name that people read. Snakemake is asked for it only where it is not there: see run/publish.py.
rule copy:
    input:
        lambda wildcards: ancient(PLAN.shown[wildcards.shown][0]),
    output:
        f"{RESULTS}/{{shown}}",
    log:
        f"{RESULTS}/log/copy/{{shown}}.log",
    conda:
        "../envs/bench.yaml"
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
        "../envs/bench.yaml"
    message:
        "publish {output}"
    shell:
        "cp -r {input:q} {output:q} 2> {log:q}"
