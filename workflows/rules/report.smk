# The face of a run: one page that opens without a network.


rule html_report:
    input:
        shown_files,
    output:
        f"{RESULTS}/report.html",
    log:
        f"{RESULTS}/log/report.log",
    conda:
        "../envs/bench.yaml"
    params:
        profile=CONFIG.profile,
        settings=[CONFIG.fingerprint(paper) for paper in CONFIG.papers],
        facts=fingerprint.module_fingerprint(
            "dpregret.workflows.names", "html_report.py"
        ),
        code=fingerprint.figures_fingerprint("html_report.py", *CONFIG.papers),
    shell:
        task(
            "html_report",
            f"--settings {SETTINGS} --hashes {{params.settings}} --shown {{input:q}}",
        )


# One paper alone: what the target of a paper ends with.
rule paper_report:
    input:
        lambda wildcards: paper_outputs(wildcards.paper)
        + paper_runs(wildcards.paper)
        + paper_costs(wildcards.paper),
    output:
        f"{RESULTS}/{{paper}}/report.html",
    log:
        f"{RESULTS}/log/{{paper}}/report.log",
    conda:
        "../envs/bench.yaml"
    params:
        profile=CONFIG.profile,
        settings=lambda wildcards: CONFIG.fingerprint(wildcards.paper),
        facts=fingerprint.module_fingerprint(
            "dpregret.workflows.names", "html_report.py"
        ),
        code=lambda wildcards: fingerprint.figures_fingerprint(
            "html_report.py", wildcards.paper
        ),
    shell:
        task(
            "html_report",
            f"--settings {SETTINGS} --paper {{wildcards.paper}}"
            " --hashes {params.settings} --shown {input:q}",
        )
