# The face of a run: one page that opens without a network.


rule html_report:
    input:
        shown_files,
    output:
        f"{RESULTS}/report.html",
    log:
        f"{RESULTS}/log/report.log",
    benchmark:
        f"{RESULTS}/benchmark/report.tsv"
    conda:
        "../envs/bench.yaml"
    params:
        settings=[CONFIG.fingerprint(paper) for paper in CONFIG.papers],
        code=fingerprint.figures_fingerprint("html_report.py", *CONFIG.papers),
    script:
        "../scripts/html_report.py"
