# Data sets, in the form that plays read. The name of a file holds its key, as names of plays do.


rule data:
    input:
        stale=stale("data/{name}"),
    output:
        f"{STORE}/data/{{name}}.npz",
    log:
        f"{RESULTS}/log/data/{{name}}.log",
    benchmark:
        f"{RESULTS}/benchmark/data/{{name}}.tsv"
    priority: 1  # plays wait for it
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("data/{name}"),
        why=why("data/{name}"),
    message:
        "prepare the data {wildcards.name}{params.why}"
    script:
        "../scripts/data.py"
