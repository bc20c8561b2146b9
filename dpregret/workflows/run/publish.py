"""What a command leaves behind: the plan and the list of a finished run, what it says; and `dpregret prune`.

A folder of results holds the plan that it was last made for (plan.json), with its digest and without the names of the
files that it was made of: they may lie in the folder of a user. What these plans name stays when the rest is pruned, in
`results` and in the folders of all profiles below it.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from dpregret import study
from dpregret.core.errors import nearest
from dpregret.core.files import RECORDS, atomic_write, checksum, opened, remove
from dpregret.core.machine import cpu_seconds
from dpregret.paper_figs.judge.vocabulary import CLAIMS, NOT_RUN
from dpregret.workflows.plan import keys
from dpregret.workflows.plan.read import DIGITS, MADE, PAPERS, Plan
from dpregret.workflows.run import freshness

PLAN, SUMS, ORIGIN = "plan.json", "SHA256SUMS", "origin.json"
"""The plan of a folder of results, as `dpregret prune` reads it; the list of its files, and where they were made."""


DIGEST, READ = "digest", "read"
"""What a plan in results holds besides, and what it does not hold."""
OF_PATHS: Final = frozenset({"-d", "--directory", "--report", "--archive", "--cleanup-metadata", "--cm"})
"""Options of Snakemake that a path of results may follow which is no target."""
WILDCARD: Final = re.compile(r"{\w+[^}]*}")
STAGES: Final = [file.stem for file in Path(__file__).parents[1].glob("scripts/[a-z]*.py")]
"""Rules of the Snakefile: each has a script of its name."""
LEFT: Final = re.compile(r"\.(.+\.)?[0-9a-f]{32}\.part")
"""What a process that was killed leaves of a file or folder that it was writing."""
AT_WORK: Final = 3600.0
"""Seconds for which such a file may still be written, by a run at work."""
DAMAGED: Final = "edited or damaged: run its command again, which writes it"


def begin(plan: Plan) -> None:
    """Keep the plan; while jobs run, no list says that the run is finished."""
    results = Path(plan.results)
    content = {name: value for name, value in plan.content.items() if name != READ}
    text = json.dumps({**content, DIGEST: keys.key_of(content)})
    if not _holds(results / PLAN, text):
        with atomic_write(results / PLAN) as part:
            part.write_text(text, encoding="utf-8")
    remove(results / SUMS)


def _holds(file: Path, text: str) -> bool:
    try:
        with opened(file) as content:
            return content.read() == text.encode()
    except OSError:
        return False


def kept_plan(file: Path) -> Plan:
    """A plan as `begin` kept it. Raises ValueError for any other."""
    try:
        plan = Plan.read(file)
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError(f"{file}: {DAMAGED}") from None
    content = {name: value for name, value in plan.content.items() if name != DIGEST}
    if plan.content.get(DIGEST) != keys.key_of(content):
        raise ValueError(f"{file}: {DAMAGED}")
    return plan


def not_made(plan: Plan, words: Sequence[str], outputs: Iterable[str]) -> str:
    """What is wrong with the first file of results among the words of a command that no rule makes; empty for none.

    Snakemake would call a file up to date that is there, and say nothing more of one that is not. outputs: of rules,
    with wildcards.
    """
    files = {re.sub(r"{paper\b[^}]*}", paper, output) for output in outputs for paper in plan.parts}
    pattern = "|".join(WILDCARD.sub(r"[\\w.-]+", re.sub(r"[.+]", r"\\\g<0>", file)) for file in files)
    for before, word in zip(("", *words), words, strict=False):
        file = os.path.normpath(word)
        if file.startswith("results/") and before not in OF_PATHS and not re.fullmatch(pattern, file):
            folder = next((str(parent) for parent in Path(file).parents if re.fullmatch(pattern, str(parent))), "")
            hint = f"; request its folder {folder}" if folder else nearest(file, sorted(files))
            return f"{word}: no rule makes this file{hint}"
    return ""


def lacking(plan: Plan, outputs: Iterable[str], stale: Collection[str]) -> list[str]:
    """The outputs below results that are not there, or stale."""
    outdated = {output for name in stale for output in freshness.Record.read(plan.record(name)).outputs}
    return [file for file in outputs if file.startswith("results/") and (file in outdated or not Path(file).exists())]


def ended(plan: Plan, outputs: Iterable[str], papers: Sequence[str], seconds: float) -> str:
    """List what jobs without an error have left, and say so, of the papers that were requested. outputs: of the jobs
    that were started. Ends the process where one is not as it should be: a play has failed, or Snakemake was told to
    run nothing (--touch)."""
    stale = freshness.stale_items(plan)
    if missing := lacking(plan, outputs, stale):
        what = f"{len(missing)} outputs are missing, outdated or of failed plays, such as {missing[0]}"
        sys.exit("\n".join([f"dpregret: not done: {what}", *failures(plan)]))
    write_list(plan, stale)
    took = f"dpregret: done in {seconds / 60:.1f} minutes by the clock, {cpu_seconds() / 60:.1f} CPU minutes"
    return f"{took}\n{summary(plan, papers)}".rstrip()


def write_list(plan: Plan, stale: Mapping[str, str]) -> None:
    """List the files of all fresh items."""
    from dpregret.workflows.run import archive  # late: it brings pandas

    sums, made = _sums(plan, stale)
    whole = stale.keys().isdisjoint(plan.content["everything"])
    origin = archive.origin(str(plan.content["profile"]), made)
    archive.write_sums(Path(plan.results), [*sums, PLAN], origin if whole else origin | {"part": True})


def is_listed(plan: Plan, stale: Mapping[str, str]) -> bool:
    """Whether a list of a finished run is there, of the files beside it. What has become stale since stays listed."""
    results = Path(plan.results)
    try:
        words = [line.partition("  ") for line in (results / SUMS).read_text("utf-8").splitlines()]
        wanted = {name: checksum(results / name) for name in (PLAN, ORIGIN)} | _sums(plan, stale)[0]
    except (OSError, ValueError):
        return False
    older = _sums(plan, plan.items.keys() - stale.keys())[0]
    return {name: digest for digest, _, name in words if name not in older or name in wanted} == wanted


def _sums(plan: Plan, without: Collection[str]) -> tuple[dict[str, str], dict[str, str]]:
    """File below results -> digest, and -> key, as recorded of all items but some."""
    beside = (f"{plan.results}/{MADE}/", f"{keys.STORE}/")
    sums, made = {}, {}
    for name, item in plan.items.items():
        record = freshness.Record.read(plan.record(name)) if name not in without else freshness.Record()
        for file, digest in record.files.items():
            if not file.startswith(beside):
                below = Path(file).relative_to(plan.results).as_posix()
                sums[below], made[below] = digest, item.key[:DIGITS]
    return sums, made


def summary(plan: Plan, papers: Sequence[str]) -> str:
    """The results of a run of some papers, and where they are (of a study with the whole path: its user is elsewhere):
    the table of a single paper, the findings, counts of verdicts, and the reports."""
    results = (study.FOLDER or Path()) / plan.results
    opens = f"{study.command('report', profile=Path(plan.results).name if study.FOLDER else '')} --open"
    lines: list[str] = []
    judged = [paper for paper in papers if (results / paper / "table_1.csv").exists()]
    if len(judged) == 1:
        from dpregret.paper_figs.tables.show import printed_table, protecting_more

        lines.append(printed_table(results / judged[0]))
        if study.FOLDER is not None and (more := protecting_more(results / judged[0])):
            lines.append(f"  protect all rounds, more than the window asked for: {'; '.join(more)}")
    if judged and study.FOLDER is None:
        from dpregret.paper_figs.report.findings import headlines, in_terminal

        lines.append(in_terminal(headlines(results, PAPERS, judged)))
    for paper in papers:
        counts = [_counted(results / paper / name) for name in ("claims.csv", "checks.csv")]
        if counts[0]:
            lines += [f"  {paper}: {counts[0]}", *([f"    checks: {counts[1]}"] if counts[1] else [])]
            lines.append(f"    table: {results / paper}/table_1.md")
    pages = [results / "report.html", *(results / paper / "report.html" for paper in papers)]
    lines += [f"  report: {page}  ({opens})" for page in pages if page.exists()]
    return "\n".join(lines)


def _counted(file: Path) -> str:
    """Verdicts of a table and how many there are of each; nothing where there is no table."""
    if not file.exists():
        return ""
    with io.TextIOWrapper(opened(file), encoding="utf-8", newline="") as rows:
        counts = Counter(row["verdict"] for row in csv.DictReader(rows))
    absent = counts.pop(NOT_RUN, 0)
    texts = [f"{count} {verdict}" for verdict, count in counts.most_common()]
    return ", ".join([*texts, *([f"{absent} {CLAIMS[NOT_RUN]}"] if absent else [])])


def failures(plan: Plan) -> list[str]:
    """A line for each play that failed: paper, experiment, learner and reason."""
    lines = []
    for paper in plan.parts:
        for batch in plan.batches(paper):
            receipt = Path(plan.results, MADE, "plays", paper, f"{batch}.csv")
            if receipt.is_file():
                with io.TextIOWrapper(opened(receipt), encoding="utf-8", newline="") as file:
                    failed = [row for row in csv.DictReader(file) if row["fault"]]
                names = [f"{paper}, {row['experiment']}: {row['learner']}.{row['variant']}" for row in failed]
                lines += [f"failed: {name}: {row['fault']}" for name, row in zip(names, failed, strict=True)]
    return lines


def unnamed(results: Path, plans: Sequence[Plan]) -> list[Path]:
    """Files that dpregret wrote and none of the plans names: of the store, records, what was made, logs and benchmarks.

    A play is dpregret's by its name. Any other file is dpregret's where the record of its item lists it with this
    content, and a log or benchmark where its item has a record; no file of somebody else has one.
    """
    named_keys = {item.key for plan in plans for item in plan.items.values()}
    named: set[Path] = set()
    for plan in plans:
        for part in (part for parts in plan.parts.values() for part in parts.values()):
            named_keys.update(play.key for play in part.plays)
            named.update(map(Path, part.data.values()))
        for name in plan.items:
            named.update((plan.record(name), *_files_of(Path(plan.results), name)))
            named.update(map(Path, freshness.Record.read(plan.record(name)).files))
    files: list[Path] = []
    for top in (results, *(file.parent for file in results.glob(f"*/{PLAN}"))):
        for record in sorted((top / RECORDS).rglob("*.json")):
            name = record.relative_to(top / RECORDS).with_suffix("").as_posix()
            if record not in named and (written := _written(record, top)) is not None:
                files += [*written, *_files_of(top, name)]
        files += filter(_left, (top / MADE).rglob("*"))
    files += _of_store(results / keys.STORE.name, named_keys)
    return [file for file in dict.fromkeys(files) if file.is_file() and file not in named]


def _files_of(top: Path, name: str) -> tuple[Path, Path, Path]:
    """The record, the log and the benchmark of an item in a folder of results."""
    return (top / RECORDS / f"{name}.json", top / "log" / f"{name}.log", top / "benchmark" / f"{name}.tsv")


def _written(record: Path, below: Path) -> list[Path] | None:
    """The files that a record lists and that are as it says; None where it is no record of things below a folder."""
    found = freshness.Record.read(record)
    if not found.outputs or not all(_inside(below, Path(name)) for name in (*found.outputs, *found.files)):
        return None
    now = freshness.contents(name for name in found.files if Path(name).is_file())
    return [Path(name) for name, digest in now.items() if digest == found.files[name]]


def _inside(folder: Path, file: Path) -> bool:
    return file.is_relative_to(folder) and file.resolve().is_relative_to(folder.resolve())


def _left(file: Path) -> bool:
    """Whether a process that was killed left this file or folder."""
    with contextlib.suppress(FileNotFoundError):
        return LEFT.fullmatch(file.name) is not None and file.lstat().st_mtime < time.time() - AT_WORK
    return False


def _of_store(store: Path, named: Collection[str]) -> Iterator[Path]:
    """The files of the store that dpregret wrote under keys that are not named."""
    for folder in store.glob("[0-9a-f][0-9a-f]"):
        for file in folder.iterdir():
            if _left(file):
                yield from (file.rglob("*") if file.is_dir() and not file.is_symlink() else [file])
            elif re.fullmatch(f"{folder.name}[0-9a-f]{{62}}", file.stem) and file.stem not in named:
                if file.suffix == ".json":
                    yield from [*(_written(file, file.with_suffix("")) or []), file]
                elif file.suffix == ".parquet":
                    yield file


def main(dry_run: bool = False, everything: bool = False) -> int:
    """The command `dpregret prune`; exit code 2 where a plan cannot be read."""
    results = Path("results")
    files = [] if everything else [folder / PLAN for folder in (results, *results.glob("*")) if folder.is_dir()]
    try:
        plans = [kept_plan(file) for file in sorted(files) if os.path.lexists(file)]
    except ValueError as error:
        print(f"dpregret: prune: nothing is deleted: {error}", file=sys.stderr)
        return 2
    if not plans and not everything:
        reason = "no plan is here (results/plan.json), so all would be (--all)"
        print(f"dpregret: prune: nothing is deleted: {reason}", file=sys.stderr)
        return 2
    old = unnamed(results, plans)
    size = sum(path.stat().st_size for path in old) / 2**20
    profiles = ", ".join(str(plan.content["profile"]) for plan in plans) or "none"
    if not dry_run:
        for path in old:
            path.unlink(missing_ok=True)
        for top in {path.parent for path in old}:
            with contextlib.suppress(OSError):
                os.removedirs(top)
    action = "would be deleted" if dry_run else "deleted"
    print(f"{len(old)} files, {size:.0f} MB, {action}; kept is what these profiles name: {profiles}")
    return 0
