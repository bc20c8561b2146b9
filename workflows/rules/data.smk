# Data sets in the form that jobs read. Only experiments that name such a stream ask for them.


rule data:
    output:
        "datasets/cache/{name}.npz",
    log:
        "results/log/data/{name}.log",
    wildcard_constraints:
        name="|".join(INDEX.prepared),
    conda:
        "../envs/bench.yaml"
    params:
        code=fingerprint.data_fingerprint(),
    shell:
        task("data", "--name {wildcards.name}")


# Downloads: never part of the default run.
rule fetch:
    output:
        "datasets/cache/{name}.npz",
    log:
        "results/log/fetch/{name}.log",
    wildcard_constraints:
        name="|".join(configuration.declared_sources()),
    conda:
        "../envs/bench.yaml"
    shell:
        task("fetch", "--name {wildcards.name}")
