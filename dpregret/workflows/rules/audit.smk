# The privacy audit: of all private learners, of injected bugs, and exact losses.


rule audit_family:
    input:
        stale=stale("audit/family/{family}"),
    output:
        f"{RESULTS}/{MADE}/audit/{{family}}.parquet",
    log:
        f"{RESULTS}/log/audit/family/{{family}}.log",
    benchmark:
        f"{RESULTS}/benchmark/audit/family/{{family}}.tsv"
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("audit/family/{family}"),
        why=why("audit/family/{family}"),
    message:
        "audit the learners of {wildcards.family}{params.why}"
    script:
        "../scripts/audit_family.py"


rule planted:
    input:
        stale=stale("audit/planted"),
    output:
        f"{RESULTS}/{MADE}/audit/planted.parquet",
    log:
        f"{RESULTS}/log/audit/planted.log",
    benchmark:
        f"{RESULTS}/benchmark/audit/planted.tsv"
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("audit/planted"),
        why=why("audit/planted"),
    message:
        "audit injected bugs{params.why}"
    script:
        "../scripts/planted.py"


rule exact_losses:
    input:
        stale=stale("audit/exact_losses"),
    output:
        f"{RESULTS}/audit/exact_losses.csv",
    log:
        f"{RESULTS}/log/audit/exact_losses.log",
    benchmark:
        f"{RESULTS}/benchmark/audit/exact_losses.tsv"
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("audit/exact_losses"),
        why=why("audit/exact_losses"),
    message:
        "compute exact privacy losses{params.why}"
    script:
        "../scripts/exact_losses.py"


rule audit_tables:
    input:
        families=made(rules.audit_family.output, family=FAMILIES),
        planted=made(rules.planted.output),
        stale=stale("audit/tables"),
    output:
        audit=f"{RESULTS}/audit/audit.csv",
        text=f"{RESULTS}/audit/audit.md",
        pairs=f"{RESULTS}/audit/audit_pairs.csv",
        planted=multiext(f"{RESULTS}/audit/planted", ".csv", ".md"),
    log:
        f"{RESULTS}/log/audit/tables.log",
    benchmark:
        f"{RESULTS}/benchmark/audit/tables.tsv"
    localrule: True
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("audit/tables"),
        why=why("audit/tables"),
    message:
        "write the tables of the audit{params.why}"
    script:
        "../scripts/audit_tables.py"


rule audit_gate:
    input:
        audit=made(rules.audit_tables.output),
        losses=made(rules.exact_losses.output),
        stale=stale("audit/gate"),
    output:
        f"{RESULTS}/audit/gate.txt",
    log:
        f"{RESULTS}/log/audit/gate.log",
    benchmark:
        f"{RESULTS}/benchmark/audit/gate.tsv"
    localrule: True
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("audit/gate"),
        why=why("audit/gate"),
    message:
        "compare the audit with the reference{params.why}"
    script:
        "../scripts/audit_gate.py"


rule audit:
    input:
        rules.audit_tables.output,
    localrule: True
    message:
        "audit done"
