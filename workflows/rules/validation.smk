# Are fits, verdicts and gate to be trusted? Planted laws, simulated.


rule validation_tables:
    output:
        [trust_table(name) for name in VALIDATION_TABLES],
    log:
        f"{RESULTS}/log/validation.log",
    conda:
        "../envs/bench.yaml"
    params:
        simulations=(CONFIG.validation or configuration.ValidationSize()).simulations,
        code=fingerprint.module_fingerprint(
            "dpregret.paper_figs.validation", "validation.py"
        ),
    shell:
        task("validation", "--simulations {params.simulations}")


rule validation:
    input:
        [f"{RESULTS}/{name}" for name in VALIDATION_TABLES],
