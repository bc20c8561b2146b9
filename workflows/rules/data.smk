# Data sets in the form that jobs read. Only experiments that name such a stream ask for them.


rule data:
    output:
        "datasets/cache/{name}.npz",
    log:
        "results/log/data/{name}.log",
    benchmark:
        "results/benchmark/data/{name}.tsv"
    wildcard_constraints:
        name="|".join(INDEX.prepared),
    conda:
        "../envs/bench.yaml"
    params:
        code=fingerprint.data_fingerprint(),
    script:
        "../scripts/data.py"


# Downloads: never part of the default run.
rule fetch:
    output:
        "datasets/cache/{name}.npz",
    log:
        "results/log/fetch/{name}.log",
    benchmark:
        "results/benchmark/fetch/{name}.tsv"
    wildcard_constraints:
        name="|".join(configuration.declared_sources()),
    conda:
        "../envs/bench.yaml"
    script:
        "../scripts/fetch.py"
