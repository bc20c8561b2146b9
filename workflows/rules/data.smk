# Data sets in the form that jobs read. Only experiments that name such a stream ask for them.


def data_files(experiment):
    """The prepared files that an experiment's streams need."""
    names = [name for name in experiment.streams if REGISTRY.streams[name].bundled]
    if "source" in experiment.options:
        names.append(experiment.options["source"])
    return [f"datasets/cache/{name}.npz" for name in names]


rule data:
    output:
        "datasets/cache/{name}.npz",
    wildcard_constraints:
        name="|".join(name for name, stream in REGISTRY.streams.items() if stream.bundled),
    log:
        "results/log/data/{name}.log",
    benchmark:
        "results/benchmark/data/{name}.tsv"
    conda:
        "../envs/bench.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=fingerprint.data_fingerprint(),
    script:
        "../scripts/data.py"


# Downloads: never part of the default run.
rule fetch:
    output:
        "datasets/cache/{name}.npz",
    wildcard_constraints:
        name="|".join(configuration.declared_sources()),
    log:
        "results/log/fetch/{name}.log",
    benchmark:
        "results/benchmark/fetch/{name}.tsv"
    conda:
        "../envs/bench.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    script:
        "../scripts/fetch.py"
