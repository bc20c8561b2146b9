# What rules request of the plan: inputs, parameters, resources; and what is done before and after a run.

REQUESTED = set()  # items that Snakemake asked the inputs of
STARTED = progress.Started()
logger.addHandler(STARTED)


def item_of(name, wildcards):
    """An item of a rule, noted as requested. Ends with one line where it is not in the plan."""
    item = name.format(**wildcards)
    if item not in PLAN.items:
        sys.exit(f"{item} is not in the plan of the profile {PLAN.content['profile']}")
    REQUESTED.add(item)
    return item


def stale(name):
    """An input: the mark, where an item is stale."""
    return lambda wildcards: [MARK] if item_of(name, wildcards) in STALE else []


def made(output, **values):
    """An input: what a rule makes, for all of some values of its wildcards; no date of it counts."""
    files = [str(file) for file in ([output] if isinstance(output, str) else output)]
    return [ancient(file) for file in (expand(files, **values) if values else files)]


def key(name):
    """A parameter: the key of an item."""
    return lambda wildcards: PLAN.items[name.format(**wildcards)].key


def why(name):
    """A parameter: why an item is made again, for the message of its rule; empty where it is new."""
    return lambda wildcards: (
        f" ({text})"
        if (text := STALE.get(name.format(**wildcards), "")) not in ("", NEW)
        else ""
    )


def shown():
    """The papers of which something was requested."""
    return [
        paper
        for paper in PAPERS
        if any(item.startswith(f"{paper}/") for item in REQUESTED)
    ]


def present():
    """Date what is of the future to now: all is decided, and Snakemake fails a job with an input of the future."""
    outputs = [
        Path(output)
        for name in PLAN.items
        for output in Record.read(PLAN.record(name)).outputs
    ]
    for path in (CLOCK, *outputs, *(output / STAMP for output in outputs)):
        if path.exists() and path.stat().st_mtime > time.time():
            os.utime(path)


def data_of_batch(wildcards):
    """The prepared data that a batch reads."""
    parts = PLAN.batch(wildcards.paper, wildcards.batch)
    return [ancient(file) for part in parts for file in part.data.values()]


def experiments_of_batch(wildcards):
    """The experiments of a batch, for its message."""
    parts = PLAN.batch(wildcards.paper, wildcards.batch)
    return ", ".join(dict.fromkeys(part.experiment for part in parts))


def request(wildcards):
    """Memory (mem_mb) and time (minutes) of a batch, as the plan predicts them."""
    return PLAN.content["batches"][wildcards.paper][wildcards.batch]


def receipts_of_paper(wildcards):
    """The receipts of all plays of a paper."""
    batches = PLAN.batches(wildcards.paper)
    return made(rules.play.output, paper=wildcards.paper, batch=batches)


def losses_of_paper(wildcards):
    """The exact losses, where a claim of the paper names one."""
    needed = "audit/exact_losses" in PLAN.items[f"{wildcards.paper}/tables"].inputs
    return made(rules.exact_losses.output) if needed else []


def made_of_paper(stage):
    """The output of a stage that only some papers have."""

    def input_of(wildcards):
        output = getattr(rules, stage).output
        papers = [paper for paper in PLAN.papers(stage) if paper == wildcards.paper]
        return made(output, paper=papers)

    return input_of


def stop_timers():
    """Cancel the timers of Snakemake (max-jobs-per-timespan in the profile), for which the process would wait."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()
