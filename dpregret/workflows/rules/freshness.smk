# What is stale is decided here, once, by keys and content (workflows/run/freshness.py). A stale item has one more input,
# the mark; the job that makes the mark has an input that is always younger, so it runs, and with it every job that needs
# the mark, however many lie between them. All other inputs are ancient(): no date decides.
STALE = stale_items(PLAN)
FRESHNESS = Path(".snakemake/freshness")
MARK, CLOCK = FRESHNESS / "mark", FRESHNESS / f"clock-{os.urandom(8).hex()}"
YEAR_2100 = 4102444800
FRESHNESS.mkdir(parents=True, exist_ok=True)
CLOCK.write_bytes(
    os.urandom(16)
)  # content of its own: Snakemake compares that of small files, too
os.utime(CLOCK, (YEAR_2100, YEAR_2100))
atexit.register(CLOCK.unlink, missing_ok=True)


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


rule mark:
    input:
        CLOCK,
    output:
        temp(touch(MARK)),
    localrule: True
    message:
        f"compare results with the plan: {summary_of(STALE)}"


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
