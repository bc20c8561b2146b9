# Plays go into the store, each learner variant in a child process; a receipt says which failed. Their rows are then gathered.


rule play:
    input:
        stale=stale("{paper}/play/{batch}"),
        data=data_of_batch,
    output:
        f"{RESULTS}/{MADE}/plays/{{paper}}/{{batch}}.csv",
    log:
        f"{RESULTS}/log/{{paper}}/play/{{batch}}.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/play/{{batch}}.tsv"
    conda:
        CONDA
    resources:
        mem_mb=lambda wildcards, attempt: request(wildcards)["mem_mb"] * attempt,
        runtime=lambda wildcards, attempt: request(wildcards)["minutes"]
        * 4 ** (attempt - 1),
    params:
        plan=PLAN.file,
        key=key("{paper}/play/{batch}"),
        why=why("{paper}/play/{batch}"),
        experiments=experiments_of_batch,
    message:
        "play {wildcards.paper}: {params.experiments}{params.why}"
    script:
        "../scripts/play.py"


rule runs:
    input:
        plays=receipts_of_paper,
        stale=stale("{paper}/runs"),
    output:
        directory(f"{RESULTS}/{{paper}}/runs"),
    log:
        f"{RESULTS}/log/{{paper}}/runs.log",
    benchmark:
        f"{RESULTS}/benchmark/{{paper}}/runs.tsv"
    conda:
        CONDA
    params:
        plan=PLAN.file,
        key=key("{paper}/runs"),
        why=why("{paper}/runs"),
    message:
        "gather the runs of {wildcards.paper}{params.why}"
    script:
        "../scripts/runs.py"
