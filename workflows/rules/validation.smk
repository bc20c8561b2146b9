# Are fits, verdicts and gate to be trusted? Planted laws, simulated.


rule validation_tables:
    output:
        [trust_table(name) for name in VALIDATION_TABLES],
    log:
        f"{RESULTS}/log/validation.log",
    benchmark:
        f"{RESULTS}/benchmark/validation.tsv"
    conda:
        "../envs/bench.yaml"
    threads: NEEDS["validation_tables"].threads
    resources:
        mem_mb=memory("validation_tables"),
        runtime=minutes("validation_tables"),
    params:
        simulations=(CONFIG.validation or configuration.ValidationSize()).simulations,
        code=fingerprint.module_fingerprint(
            "dpregret.paper_figs.validation", "validation.py"
        ),
    script:
        "../scripts/validation.py"


rule validation:
    input:
        [f"{RESULTS}/{name}" for name in VALIDATION_TABLES],
