# Is every private learner as private as it says? And bugs planted to see whether the audit sees.


rule audit_family:
    output:
        f"{RESULTS}/audit/pairs/{{family}}.parquet",
    log:
        f"{RESULTS}/log/audit/{{family}}.log",
    wildcard_constraints:
        family="|".join(FAMILIES),
    conda:
        "../envs/bench.yaml"
    params:
        seed=CONFIG.seed,
        runs=AUDIT.runs,
        code=fingerprint.audit_fingerprint(),
    shell:
        task(
            "audit",
            "--family {wildcards.family} --seed {params.seed} --runs {params.runs}",
        )


rule planted:
    output:
        f"{RESULTS}/audit/planted.parquet",
    log:
        f"{RESULTS}/log/audit/planted.log",
    conda:
        "../envs/bench.yaml"
    params:
        seed=CONFIG.seed,
        repeats=AUDIT.repeats,
        code=fingerprint.module_fingerprint(
            "dpregret.workflows.audits.planted", "planted.py"
        ),
    shell:
        task("planted", "--seed {params.seed} --repeats {params.repeats}")


# What decides the claims of privacy that a ledger leaves open; computed, not sampled.
rule exact_losses:
    output:
        f"{RESULTS}/audit/exact_losses.csv",
    log:
        f"{RESULTS}/log/audit/exact_losses.log",
    conda:
        "../envs/bench.yaml"
    params:
        code=fingerprint.module_fingerprint(
            "dpregret.workflows.audits.exact_losses", "exact_losses.py"
        ),
    shell:
        task("exact_losses", "")


rule audit_tables:
    input:
        families=[f"{RESULTS}/audit/pairs/{family}.parquet" for family in FAMILIES],
        planted=f"{RESULTS}/audit/planted.parquet",
    output:
        [trust_table(name) for name in AUDIT_TABLES],
    log:
        f"{RESULTS}/log/audit/tables.log",
    conda:
        "../envs/bench.yaml"
    params:
        code=fingerprint.module_fingerprint(
            "dpregret.workflows.audits.tables", "audit_tables.py"
        ),
    shell:
        task(
            "audit_tables", "--families {input.families:q} --planted {input.planted:q}"
        )


rule audit:
    input:
        [f"{RESULTS}/{name}" for name in AUDIT_TABLES],


# Outside the default run: fails when a ledger is wrong, or an accounting left the committed reference.
rule audit_gate:
    input:
        audit=f"{RESULTS}/audit/audit.csv",
        planted=f"{RESULTS}/audit/planted.csv",
        exact=f"{RESULTS}/audit/exact_losses.csv",
        reference=kept("audit"),
    output:
        f"{RESULTS}/audit/gate.txt",
    log:
        f"{RESULTS}/log/audit/gate.log",
    conda:
        "../envs/bench.yaml"
    params:
        code=fingerprint.module_fingerprint(
            "dpregret.workflows.audits.tables", "audit_gate.py"
        ),
    shell:
        task(
            "audit_gate",
            f"--audit {RESULTS}/audit --exact {{input.exact:q}} --reference {REFERENCE}/audit --profile {CONFIG.profile}",
        )
