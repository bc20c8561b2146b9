# Claims are judged from runs; tables and figures show them.


rule oracles:
    input:
        stale=stale("{paper}/oracles"),
    output:
        f"{RESULTS}/{{paper}}/oracles.parquet",
    log:
        f"{RESULTS}/log/{{paper}}/oracles.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/oracles.tsv"
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("{paper}/oracles"),
        why=why("{paper}/oracles"),
    message:
        "time the oracles of {wildcards.paper}{params.why}"
    script:
        "../scripts/oracles.py"


rule exact:
    input:
        stale=stale("{paper}/exact"),
    output:
        directory(f"{RESULTS}/{{paper}}/exact"),
    log:
        f"{RESULTS}/log/{{paper}}/exact.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/exact.tsv"
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("{paper}/exact"),
        why=why("{paper}/exact"),
    message:
        "compute the exact tables of {wildcards.paper}{params.why}"
    script:
        "../scripts/exact.py"


rule tables:
    input:
        runs=made(rules.runs.output),
        losses=losses_of_paper,
        stale=stale("{paper}/tables"),
    output:
        claims=f"{RESULTS}/{{paper}}/claims.csv",
        checks=f"{RESULTS}/{{paper}}/checks.csv",
        jobs=f"{RESULTS}/{{paper}}/jobs.csv",
        costs=multiext(f"{RESULTS}/{{paper}}/costs", ".csv", ".md"),
        errata=multiext(f"{RESULTS}/{{paper}}/errata", ".csv", ".md"),
        table_1=multiext(f"{RESULTS}/{{paper}}/table_1", ".csv", ".md", ".tex", ".html"),
        table_1_all=multiext(f"{RESULTS}/{{paper}}/table_1_all", ".csv", ".md"),
    log:
        f"{RESULTS}/log/{{paper}}/tables.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/tables.tsv"
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("{paper}/tables"),
        why=why("{paper}/tables"),
    message:
        "write the tables of {wildcards.paper}{params.why}"
    script:
        "../scripts/tables.py"


# Tables that only some papers have lie beside the others: `tables` writes them all.
FURTHER = {
    "table": ["gains", *(f"table_{n}" for n in range(2, 10))],
    "form": ["csv", "md"],
}


rule further_tables:
    input:
        claims=made(rules.tables.output.claims),
        stale=stale("{paper}/tables"),
    output:
        update(f"{RESULTS}/{{paper}}/{{table}}.{{form}}"),
    log:
        f"{RESULTS}/log/{{paper}}/{{table}}.{{form}}.log",
    wildcard_constraints:
        table="|".join(FURTHER["table"]),
        form="|".join(FURTHER["form"]),
    localrule: True
    conda:
        CONDA
    message:
        "find {output}"
    shell:
        "test -e {output:q} 2> {log:q}"


rule figures:
    input:
        runs=made(rules.runs.output),
        oracles=made_of_paper("oracles"),
        exact=made_of_paper("exact"),
        stale=stale("{paper}/figures"),
    output:
        directory(f"{RESULTS}/{{paper}}/figures"),
    log:
        f"{RESULTS}/log/{{paper}}/figures.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/figures.tsv"
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("{paper}/figures"),
        why=why("{paper}/figures"),
    message:
        "draw the figures of {wildcards.paper}{params.why}"
    script:
        "../scripts/figures.py"


rule complete:
    input:
        runs=made(rules.runs.output),
        claims=made(rules.tables.output.claims),
        stale=stale("{paper}/complete"),
    output:
        f"{RESULTS}/{{paper}}/complete.txt",
    log:
        f"{RESULTS}/log/{{paper}}/complete.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/complete.tsv"
    localrule: True
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("{paper}/complete"),
        why=why("{paper}/complete"),
    message:
        "check that all runs of {wildcards.paper} finished{params.why}"
    script:
        "../scripts/complete.py"


rule winners:
    input:
        runs=made(rules.runs.output, paper=PAPERS),
        audit=made(rules.audit_tables.output.audit) if AUDITED else [],
        losses=made(rules.exact_losses.output),
        stale=stale("winners"),
    output:
        f"{RESULTS}/winners.csv",
        f"{RESULTS}/winners.md",
        f"{RESULTS}/winners/cells.csv",
        f"{RESULTS}/winners/laws.csv",
        f"{RESULTS}/winners/profiles_figure.csv",
        profiles=multiext(
            f"{RESULTS}/winners/profiles", ".csv", ".md", ".png", ".pdf", ".svg"
        ),
        coverage=multiext(f"{RESULTS}/winners/coverage", ".csv", ".md"),
    log:
        f"{RESULTS}/log/winners.log",
    benchmark:
        f"{RESULTS}/benchmark/winners.tsv"
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("winners"),
        why=why("winners"),
    message:
        "compare the learners of all papers{params.why}"
    script:
        "../scripts/winners.py"


rule validation:
    input:
        stale=stale("validation"),
    output:
        expand(
            f"{RESULTS}/validation/{{name}}.{{form}}",
            name=("intervals", "verdicts", "resolution"),
            form=("csv", "md"),
        ),
    log:
        f"{RESULTS}/log/validation.log",
    benchmark:
        f"{RESULTS}/benchmark/validation.tsv"
    priority: 1  # the longest job without an input: where it comes last, the other processors wait for it
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("validation"),
        why=why("validation"),
    message:
        "simulate fits and verdicts{params.why}"
    script:
        "../scripts/validation.py"
