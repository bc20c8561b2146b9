# Names. Every file that is made is named results/made/STAGE/NAME.KEY.*, where KEY is a hash of all that it is made of:
# what is there under its name is right, and dates, copies and a lost .snakemake change nothing. So inputs are ancient().
import threading


def made(*names):
    """The files of what the plan names."""
    return [ancient(file) for name in names for file in PLAN.named(name)]


def output(file):
    """A file, or a folder where it has no suffix but its key."""
    return file if Path(file).suffixes[1:] else directory(file)


def inputs_of(stage):
    """What something of a stage is made of; refuses a key that is not the plan's."""

    def inputs(wildcards):
        name = f"{stage}/{wildcards.name}"
        if name not in PLAN.made or PLAN.key(name) != wildcards.key:
            raise WorkflowError(f"{name}.{wildcards.key} is not in the plan")
        return [ancient(file) for file in PLAN.inputs(name)]

    return inputs


def parts(wildcards):
    """What one job plays; refuses a key that is not the plan's."""
    folder = f"{MADE}/runs/{wildcards.paper}/{wildcards.name}.{wildcards.key}"
    if folder not in PLAN.jobs:
        raise WorkflowError(f"{wildcards.name}.{wildcards.key} is not in the plan")
    return PLAN.jobs[folder]


def source(wildcards):
    """Where a file is that has the name that people read."""
    file, inner = PLAN.shown[wildcards.shown]
    return str(Path(file, inner))


def stop_timers():
    """Let the process end: it would wait for what Snakemake sets timers for (max-jobs-per-timespan in the profile)."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()
