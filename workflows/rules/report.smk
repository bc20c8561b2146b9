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
