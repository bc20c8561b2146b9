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


rule mark:
    input:
        CLOCK,
    output:
        temp(touch(MARK)),
    localrule: True
    message:
        "compare results with the plan"
