# From the runs of a paper to its tables and figures.


rule tables:
    input:
        runs=run_files,
        exact=f"{RESULTS}/audit/exact_losses.csv",
    output:
        [captioned(name) for name in TABLES],
    log:
        f"{RESULTS}/log/{{paper}}/tables.log",
    conda:
        "../envs/bench.yaml"
    params:
        settings=lambda wildcards: CONFIG.fingerprint(wildcards.paper),
        code=lambda wildcards: fingerprint.figures_fingerprint(
            "tables.py", wildcards.paper
        ),
    shell:
        task(
            "tables",
            f"--settings {SETTINGS} --paper {{wildcards.paper}} --runs {{input.runs:q}} --exact {{input.exact:q}}",
        )


rule further_table:
    input:
        runs=run_files,
        exact=f"{RESULTS}/audit/exact_losses.csv",
    output:
        [captioned(f"table_{{number}}.{form}") for form in ("csv", "md", "tex", "html")],
    log:
        f"{RESULTS}/log/{{paper}}/table_{{number}}.log",
    wildcard_constraints:
        number="[2-9]",
    conda:
        "../envs/bench.yaml"
    params:
        settings=lambda wildcards: CONFIG.fingerprint(wildcards.paper),
        code=lambda wildcards: fingerprint.figures_fingerprint(
            "further_table.py", wildcards.paper
        ),
    shell:
        task(
            "further_table",
            f"--settings {SETTINGS} --paper {{wildcards.paper}} --number {{wildcards.number}} --runs {{input.runs:q}} --exact {{input.exact:q}}",
        )


# What another mechanism buys the same learner: a chapter's own table.
rule gains:
    input:
        runs=run_files,
    output:
        [f"{RESULTS}/{{paper}}/gains.{form}" for form in ("csv", "md", "html")],
    log:
        f"{RESULTS}/log/{{paper}}/gains.log",
    conda:
        "../envs/bench.yaml"
    params:
        settings=lambda wildcards: CONFIG.fingerprint(wildcards.paper),
        code=lambda wildcards: fingerprint.figures_fingerprint(
            "gains.py", wildcards.paper
        ),
    shell:
        task(
            "gains",
            f"--settings {SETTINGS} --paper {{wildcards.paper}} --runs {{input.runs:q}}",
        )


rule figures:
    input:
        runs=run_files,
        costs=cost_files,
        expiry=expiry_files,
        exact=exact_files,
    output:
        report(
            directory(f"{RESULTS}/{{paper}}/figures"),
            patterns=["{figure}.png"],
            category="Figures",
            caption="../report/figure.rst",
            labels={"paper": "{paper}", "what": "{figure}"},
        ),
    log:
        f"{RESULTS}/log/{{paper}}/figures.log",
    conda:
        "../envs/bench.yaml"
    params:
        settings=lambda wildcards: CONFIG.fingerprint(wildcards.paper),
        names=fingerprint.module_fingerprint("dpregret.workflows.names", "figures.py"),
        code=lambda wildcards: fingerprint.figures_fingerprint(
            "figures.py", wildcards.paper
        ),
    shell:
        task(
            "figures",
            f"--settings {SETTINGS} --paper {{wildcards.paper}} --runs {{input.runs:q}}"
            " --costs {input.costs:q} --expiry {input.expiry:q} --exact {input.exact:q}",
        )


# In every setting the learner of least regret under the same guarantee, and what that says of others.
rule winners:
    input:
        runs=[path for paper in CONFIG.papers for path in paper_runs(paper)],
        audit=[f"{RESULTS}/audit/audit.csv"] if CONFIG.audit else [],
        exact=f"{RESULTS}/audit/exact_losses.csv",
    output:
        [f"{RESULTS}/{name}" for name in WINNERS],
    log:
        f"{RESULTS}/log/winners.log",
    conda:
        "../envs/bench.yaml"
    params:
        settings=[CONFIG.fingerprint(paper) for paper in CONFIG.papers],
        facts=fingerprint.module_fingerprint("dpregret.workflows.winners", "winners.py"),
        names=fingerprint.module_fingerprint("dpregret.workflows.names", "winners.py"),
        code=fingerprint.figures_fingerprint("winners.py"),
    shell:
        task(
            "winners",
            f"--settings {SETTINGS} --runs {{input.runs:q}} --audit {{input.audit:q}} --exact {{input.exact:q}}",
        )


rule errata_page:
    input:
        [
            f"{RESULTS}/{paper}/{name}"
            for paper in CONFIG.papers
            for name in ("errata.csv", "claims.csv", "checks.csv", "figures")
        ],
    output:
        f"{RESULTS}/errata.md",
        report(
            f"{RESULTS}/errata.html",
            category="Errata",
            caption="../report/errata_page.rst",
            labels={"paper": "all", "what": "one page"},
        ),
    log:
        f"{RESULTS}/log/errata_page.log",
    conda:
        "../envs/bench.yaml"
    params:
        papers=list(CONFIG.papers),
        code=fingerprint.figures_fingerprint("errata_page.py", *CONFIG.papers),
    shell:
        task("errata_page", "--papers {params.papers} --tables {input:q}")


# Outside the default run: is everything still as in the committed reference?
rule gate:
    input:
        current=[
            f"{RESULTS}/{paper}/{name}"
            for paper in CONFIG.papers
            for name in ("claims.csv", "checks.csv", "jobs.csv")
        ],
        reference=kept(*CONFIG.papers),
    output:
        f"{RESULTS}/gate.txt",
    log:
        f"{RESULTS}/log/gate.log",
    conda:
        "../envs/bench.yaml"
    params:
        papers=list(CONFIG.papers),
        code=fingerprint.figures_fingerprint("gate.py"),
    shell:
        task(
            "gate",
            f"--current {RESULTS} --reference {REFERENCE} --papers {{params.papers}}",
        )
