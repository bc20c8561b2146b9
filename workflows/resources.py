"""What a job of each rule asks of a cluster: measured, enlarged by a stated margin, kept as data.

`python -m dpregret.workflows.resources results/benchmark results/ci/benchmark` reads what Snakemake's `benchmark:`
left of finished runs, writes the table of what was measured, and from it the file that the rules read.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, ValidationError

from dpregret.core.errors import ConfigError, not_allowed
from dpregret.core.yaml_source import read_source
from dpregret.workflows.families.fields import Settings

if TYPE_CHECKING:  # every job of a workflow loads this module: half a second for pandas is not for them
    import pandas as pd

NEEDS_FILE = Path(__file__).parent / "config" / "resources.yaml"
MARGIN = 2.0  # machines are slower than ours, and neighbours are loud
SAMPLED = 1.0  # seconds; memory is sampled, and that of shorter jobs is nonsense (0.02 MB)
SNAKEMAKE_MB = 500  # the two Snakemake processes of 232 MB that run beside the script in every Slurm job
MEMORY_STEP = 250  # MB
RUNTIME_STEP = 5  # minutes; the smallest request too: cold file systems make the start of Python slow
SMALLEST_MB = 200  # of a script that loads pandas and scipy and does nothing
UNMEASURED = {"fetch": 60.0}  # seconds; downloads are no part of any run

# Where the rules put their benchmark files, the first that fits.
PLACES = (
    ("data/*", "data"),
    ("fetch/*", "fetch"),
    ("audit/tables", "audit_tables"),
    ("audit/planted", "planted"),
    ("audit/gate", "audit_gate"),
    ("audit/*", "audit_family"),
    ("validation", "validation_tables"),
    ("errata_page", "errata_page"),
    ("report", "html_report"),
    ("*/*/*", "run"),
    ("*/oracles", "costs"),
    ("*/expiry", "expiry"),
    ("*/tables", "tables"),
    ("*/table_*", "further_table"),
    ("*/figures", "figures"),
    ("*/complete", "complete"),
    ("*/gate", "compare"),
)


class Need(Settings):
    """What the first attempt of a job asks for; every further attempt asks for as much again."""

    threads: Annotated[int, Field(ge=1)]
    mem_mb: Annotated[int, Field(ge=1)]
    runtime: Annotated[int, Field(ge=1)]  # minutes

    def memory(self, attempt: int) -> int:
        """Megabytes that attempt 1, 2, ... asks for."""
        return self.mem_mb * attempt

    def minutes(self, attempt: int) -> int:
        """Minutes that attempt 1, 2, ... asks for."""
        return self.runtime * attempt


class _File(Settings):
    rules: dict[str, Need] = Field(min_length=1)


class Needs(Mapping[str, Need]):
    """The needs of every rule; a rule without an entry is told by name."""

    def __init__(self, rules: Mapping[str, Need]) -> None:
        self._rules = dict(rules)

    def __getitem__(self, rule: str) -> Need:
        if rule not in self._rules:
            raise ConfigError([f"{NEEDS_FILE.name}: {not_allowed('rule', rule, self._rules)}"])
        return self._rules[rule]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)


def load_needs(path: Path = NEEDS_FILE) -> Needs:
    """Read the needs; raise `ConfigError` with one line (file, line, key) per mistake."""
    source = read_source(path, path.name)
    try:
        return Needs(_File.model_validate(source.data).rules)
    except ValidationError as error:
        raise ConfigError([f"{source.at(each['loc'])}: {each['msg']}" for each in error.errors()]) from None


def rule_of(place: str) -> str:
    """The rule that wrote a benchmark file, from its place below the benchmark folder (without ``.tsv``)."""
    for pattern, rule in PLACES:
        if place.count("/") == pattern.count("/") and fnmatchcase(place, pattern):
            return rule
    raise ConfigError([f"{place}.tsv: no rule writes its benchmark there"])


def measured(folder: Path) -> pd.DataFrame:
    """One row a rule: jobs, the longest (s), their CPU time (s), the largest memory (MB; NaN where all were short)."""
    from dpregret.paper_figs.report.provenance import job_times

    times = job_times(folder)
    if times.empty:
        raise ConfigError([f"{folder}: holds no benchmark file of a finished run"])
    rule, memory = times["job"].map(rule_of), times["max_rss"].where(times["s"] >= SAMPLED)
    grouped = times.assign(rule=rule, memory=memory).groupby("rule", as_index=False)
    return grouped.agg(
        jobs=("s", "size"), longest_seconds=("s", "max"), cpu_seconds=("cpu_time", "sum"),
        largest_rss_mb=("memory", "max"),
    ).round(1)  # fmt: skip


def up(value: float, step: int) -> int:
    """Round up to a whole number of steps, at least one."""
    return max(1, math.ceil(value / step)) * step


def needs_of(measurements: pd.DataFrame) -> dict[str, Need]:
    """Enlarge the largest measured time and memory of each rule by `MARGIN`, and round up."""
    largest = measurements.groupby("rule")[["longest_seconds", "largest_rss_mb"]].max()
    for rule, seconds in UNMEASURED.items():
        largest.loc[rule] = (seconds, float("nan"))
    memory = MARGIN * largest["largest_rss_mb"].fillna(0.0).clip(lower=SMALLEST_MB) + SNAKEMAKE_MB
    minutes = MARGIN * largest["longest_seconds"] / 60
    return {
        str(rule): Need(threads=1, mem_mb=up(memory[rule], MEMORY_STEP), runtime=up(minutes[rule], RUNTIME_STEP))
        for rule in sorted(largest.index)
    }


def write_needs(needs: Mapping[str, Need], path: Path) -> None:
    """Write the file that `load_needs` reads."""
    lines = [
        "# What a job asks of a cluster; written by `make resources` from results/reference/resources.csv.",
        f"# mem_mb: {MARGIN:g} x the largest measured + {SNAKEMAKE_MB} for Snakemake, rounded up to {MEMORY_STEP}s;",
        f"# runtime (minutes): {MARGIN:g} x the longest measured, rounded up to {RUNTIME_STEP}s.",
        "# Attempt n asks for n times as much.",
        "rules:",
    ]
    for rule, need in needs.items():
        lines.append(f"  {rule}: {{threads: {need.threads}, mem_mb: {need.mem_mb}, runtime: {need.runtime}}}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def page_table(measurements: pd.DataFrame, needs: Mapping[str, Need]) -> str:
    """What one profile's rules took and ask for, as the Markdown table of docs/cluster.md."""
    lines = ["| rule | jobs | longest (s) | CPU (s) | memory (MB) | asks for |", "|---|---|---|---|---|---|"]
    for row in measurements.sort_values("cpu_seconds", ascending=False).to_dict("records"):
        need, memory = needs[str(row["rule"])], float(row["largest_rss_mb"])
        shown = f"{memory:.0f}" if memory >= 0 else "too short to tell"
        lines.append(
            f"| {row['rule']} | {row['jobs']} | {row['longest_seconds']:.0f} | {row['cpu_seconds']:.0f} | {shown} "
            f"| {need.mem_mb} MB, {need.runtime} min |"
        )
    return "\n".join(lines) + "\n"


def renew_page(table: Path, page: Path, needs: Mapping[str, Need], check: bool = False) -> bool:
    """Write the table of the first folder (the full profile) into the page; return whether it stood there."""
    import pandas as pd

    from dpregret.paper_figs.readme import marked, renew

    measurements = pd.read_csv(table)
    first = measurements.loc[measurements["folder"] == measurements["folder"].iloc[0]]
    return renew(page, lambda text: marked(text, "resources", page_table(first, needs)), check)


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure finished runs; write the table and the needs."""
    import pandas as pd

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="benchmark folders of finished runs")
    parser.add_argument("--table", type=Path, default=Path("results/reference/resources.csv"))
    parser.add_argument("--needs", type=Path, default=NEEDS_FILE)
    parser.add_argument("--page", type=Path, help="docs/cluster.md, to show it there too")
    options = parser.parse_args(None if arguments is None else list(arguments))
    table = pd.concat({folder.as_posix(): measured(folder) for folder in options.folders}, names=["folder"])
    table.droplevel(1).to_csv(options.table)
    earlier = load_needs(options.needs) if options.needs.exists() else {}  # of rules that these runs did without
    needs = dict(sorted({**earlier, **needs_of(table)}.items()))
    write_needs(needs, options.needs)
    if options.page is not None:
        renew_page(options.table, options.page, needs)


if __name__ == "__main__":
    main()
