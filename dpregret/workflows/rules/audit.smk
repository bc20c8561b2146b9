# Is every private learner as private as it says? And bugs planted to see whether the audit sees.


rule audit_family:
    output:
        f"{MADE}/audit_family/{{name}}.{{key}}.parquet",
    log:
        f"{RESULTS}/log/audit/{{name}}.audit_family.{{key}}.log",
    benchmark:
        f"{RESULTS}/benchmark/audit/{{name}}.audit_family.{{key}}.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "audit the learners of {wildcards.name}"
    script:
        "../scripts/audit_family.py"


rule planted:
    output:
        PLAN.made["planted/all"].file,
    log:
        f"{RESULTS}/log/audit/planted.log",
    benchmark:
        f"{RESULTS}/benchmark/audit/planted.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "audit planted mistakes"
    script:
        "../scripts/planted.py"


# What decides the claims of privacy that a ledger leaves open; computed, not sampled.
rule exact_losses:
    output:
        PLAN.made["exact_losses/all"].file,
    log:
        f"{RESULTS}/log/audit/exact_losses.log",
    benchmark:
        f"{RESULTS}/benchmark/audit/exact_losses.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "compute exact privacy losses"
    script:
        "../scripts/exact_losses.py"


rule audit_tables:
    input:
        [ancient(file) for file in PLAN.inputs("audit_tables/all")],
    output:
        directory(PLAN.made["audit_tables/all"].file),
    log:
        f"{RESULTS}/log/audit/tables.log",
    benchmark:
        f"{RESULTS}/benchmark/audit/tables.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "write the tables of the audit"
    script:
        "../scripts/audit_tables.py"


rule audit:
    input:
        made("audit_tables/all"),
    message:
        "the audit is there"


# Outside the default run: fails when a ledger is wrong, or an accounting left the committed reference.
rule audit_gate:
    input:
        [ancient(file) for file in PLAN.inputs("audit_gate/all")],
    output:
        PLAN.made["audit_gate/all"].file,
    log:
        f"{RESULTS}/log/audit/gate.log",
    benchmark:
        f"{RESULTS}/benchmark/audit/gate.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        plan=PLAN.file,
    message:
        "compare the audit with the reference"
    script:
        "../scripts/audit_gate.py"
