# Bundled data sets, converted once to npz files that the jobs can read fast.


rule data:
    output:
        "datasets/cache/{name}.npz",
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
