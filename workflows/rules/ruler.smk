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
    threads: NEEDS["ruler_tables"].threads
    resources:
        mem_mb=memory("ruler_tables"),
        runtime=minutes("ruler_tables"),
    params:
        simulations=(CONFIG.ruler or configuration.RulerSize()).simulations,
        code=fingerprint.module_fingerprint("dpregret.paper_figs.ruler", "ruler.py"),
    script:
        "../scripts/ruler.py"


rule ruler:
    input:
        [f"{RESULTS}/{name}" for name in RULER_TABLES],
