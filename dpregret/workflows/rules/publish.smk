# Pages for readers, and the comparison with the committed reference.


rule paper_report:
    input:
        runs=made(rules.runs.output),
        tables=made(rules.tables.output.claims),
        figures=made(rules.figures.output),
        oracles=made_of_paper("oracles"),
        exact=made_of_paper("exact"),
        stale=stale("{paper}/report"),
    output:
        f"{RESULTS}/{{paper}}/report.html",
    log:
        f"{RESULTS}/log/{{paper}}/report.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/report.tsv"
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("{paper}/report"),
        why=why("{paper}/report"),
    message:
        "write the report of {wildcards.paper}{params.why}"
    script:
        "../scripts/paper_report.py"


rule errata_page:
    input:
        runs=made(rules.runs.output, paper=PAPERS),
        tables=made(rules.tables.output.claims, paper=PAPERS),
        figures=made(rules.figures.output, paper=PAPERS),
        stale=stale("errata"),
    output:
        f"{RESULTS}/errata.md",
    log:
        f"{RESULTS}/log/errata.log",
    benchmark:
        f"{RESULTS}/benchmark/errata.tsv"
    localrule: True
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("errata"),
        why=why("errata"),
    message:
        "write the errata of all papers{params.why}"
    script:
        "../scripts/errata_page.py"


rule html_report:
    input:
        runs=made(rules.runs.output, paper=PAPERS),
        tables=made(rules.tables.output.claims, paper=PAPERS),
        figures=made(rules.figures.output, paper=PAPERS),
        oracles=made(rules.oracles.output, paper=PLAN.papers("oracles")),
        exact=made(rules.exact.output, paper=PLAN.papers("exact")),
        winners=made(rules.winners.output),
        audit=made(rules.audit_tables.output) if AUDITED else [],
        validation=made(rules.validation.output) if VALIDATED else [],
        stale=stale("report"),
    output:
        f"{RESULTS}/report.html",
    log:
        f"{RESULTS}/log/report.log",
    benchmark:
        f"{RESULTS}/benchmark/report.tsv"
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("report"),
        why=why("report"),
    message:
        "write the report{params.why}"
    script:
        "../scripts/html_report.py"


rule gate:
    input:
        tables=made(rules.tables.output.claims, paper=PAPERS),
        stale=stale("gate"),
    output:
        f"{RESULTS}/gate.txt",
    log:
        f"{RESULTS}/log/gate.log",
    benchmark:
        f"{RESULTS}/benchmark/gate.tsv"
    localrule: True
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("gate"),
        why=why("gate"),
    message:
        "compare with the reference{params.why}"
    script:
        "../scripts/gate.py"
