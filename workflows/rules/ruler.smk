# Are fits, verdicts and gate to be trusted? Planted laws, simulated.


rule ruler_tables:
    output:
        [trust_table(name) for name in RULER_TABLES],
    log:
        f"{RESULTS}/log/ruler.log",
    benchmark:
        f"{RESULTS}/benchmark/ruler.tsv"
    conda:
        "../envs/bench.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=20,
    params:
        simulations=(CONFIG.ruler or configuration.RulerSize()).simulations,
        code=fingerprint.module_fingerprint("dpregret.paper_figs.ruler", "ruler.py"),
    script:
        "../scripts/ruler.py"


rule ruler:
    input:
        [f"{RESULTS}/{name}" for name in RULER_TABLES],
