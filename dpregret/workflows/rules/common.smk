# Names. Every output is named results/made/STAGE/NAME.KEY.*, where KEY is a hash of all its inputs: a file that exists
# under its name is up to date, whatever its date. So inputs are ancient().
import threading


def outputs_of(*names):
    """The output files of names in the plan."""
    return [ancient(file) for name in names for file in PLAN.named(name)]


def output(file):
    """A file, or a folder where the name has no suffix after its key."""
    return file if Path(file).suffixes[1:] else directory(file)


def inputs_of(stage):
    """The inputs of an output of a stage; refuses a key that is not in the plan."""

    def inputs(wildcards):
        name = f"{stage}/{wildcards.name}"
        if name not in PLAN.made or PLAN.key(name) != wildcards.key:
            raise WorkflowError(f"{name}.{wildcards.key} is not in the plan")
        return [ancient(file) for file in PLAN.inputs(name)]

    return inputs


def parts(wildcards):
    """The parts that one job plays; refuses a key that is not in the plan."""
    folder = f"{MADE}/runs/{wildcards.paper}/{wildcards.name}.{wildcards.key}"
    if folder not in PLAN.jobs:
        raise WorkflowError(f"{wildcards.name}.{wildcards.key} is not in the plan")
    return PLAN.jobs[folder]


def source(wildcards):
    """The path of the output behind a public name."""
    file, inner = PLAN.shown[wildcards.shown]
    return str(Path(file, inner))


def stop_timers():
    """Cancel the timers of Snakemake (max-jobs-per-timespan in the profile), for which the process would wait."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()
