# What rules request of the plan: inputs, parameters, resources; and what is done before and after a run.


def stale(name):
    """An input: the mark, where an item is stale."""
    return lambda wildcards: [MARK] if name.format(**wildcards) in STALE else []


def made(output, **values):
    """An input: what a rule makes, for all of some values of its wildcards; no date of it counts."""
    files = [str(file) for file in ([output] if isinstance(output, str) else output)]
    return [ancient(file) for file in (expand(files, **values) if values else files)]


def key(name):
    """A parameter: the key of an item. Refuses an item that is not in the plan."""

    def key_of(wildcards):
        item = name.format(**wildcards)
        if item not in PLAN.items:
            raise WorkflowError(
                f"{item} is not in the plan of the profile {PLAN.content['profile']}"
            )
        return PLAN.items[item].key

    return key_of


def why(name):
    """A parameter: why an item is made again, for the message of its rule; empty where it is new."""
    return lambda wildcards: (
        f" ({text})"
        if (text := STALE.get(name.format(**wildcards), "")) not in ("", NEW)
        else ""
    )


def requested_of(items):
    """Those of some items that the jobs of this run make."""
    keys = {job.params.get("key") for job in workflow.dag.needrun_jobs()}
    return {
        name: value for name, value in items.items() if PLAN.items[name].key in keys
    }


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
    """Memory and time of a batch, as the plan predicts them."""
    return PLAN.request(wildcards.paper, wildcards.batch)


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


@atexit.register
def settle():
    """Restore a list of files that was lost: where nothing is to be done, Snakemake calls no hook."""
    if workflow.executor_plugin and not workflow.dryrun and workflow._dag is not None:
        if not len(workflow.dag):
            begin(PLAN, 0)
            write_list(PLAN, STALE)
            if NAME in workflow.output_settings.log_handler_settings:
                rules_of = {rule.name for rule in workflow.dag.targetrules}
                papers = [paper for paper in PAPERS if PAPERS[paper] in rules_of]
                print(
                    f"dpregret: nothing to do\n{summary(PLAN, papers or PAPERS)}",
                    file=sys.stderr,
                )
