"""The names that people read: copies of what the plan names, or nothing; and `dpregret prune`, which deletes the rest.

Outputs lie under names that hold a key (results/made). Here each gets its public name: a file that was edited by hand
is copied again, one whose original is not made yet is removed, so that nothing stale passes as fresh.

A folder of results holds the plan that it was last made for (plan.json); what these plans name stays when the rest is
pruned, in `results` and in the folders of all profiles below it.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import shutil
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from dpregret.core import boundary
from dpregret.core.files import atomic_write, checksum, opened, remove
from dpregret.paper_figs.judge.vocabulary import CLAIMS, NOT_RUN
from dpregret.workflows.plan import keys
from dpregret.workflows.plan.read import Plan, key_in

PLAN, SUMS = "plan.json", "SHA256SUMS"
"""The plan of a folder of results, as `dpregret prune` reads it."""
MARK = ".snakemake_timestamp"
FAILED = ".failed"
"""The suffix of a file of runs in which a play failed: tables say so, and the next command plays it again."""


def publish(plan: Plan, finished: bool = False) -> None:
    """Copy outputs that exist, remove those that do not, and list the files.

    finished: what was requested is there, if only a part of the plan; its files are listed as those of a whole run are.
    """
    results = Path(plan.results)
    changed = False
    for name, (file, inner) in plan.shown.items():
        target, source = results / name, Path(file) / inner
        if not source.exists():  # not made yet, or a table that this paper does not have
            changed |= os.path.lexists(target)
            remove(target)
        elif not _equal(source, target):
            changed = True
            _copy(source, target)
    now = time.time()
    for file in named(plan):
        _not_of_the_future(Path(file), now)
    present = [name for name in plan.shown if (results / name).exists()]
    if present and not _equal(plan.file, results / PLAN):
        changed = True
        _copy(plan.file, results / PLAN)
    complete = all(Path(file).exists() for name in plan.content["everything"] for file in plan.named(name))
    if not (complete or finished):
        if changed:
            remove(results / SUMS)
    elif present and (changed or not (results / SUMS).exists()):
        from dpregret.workflows.run.archive import origin, write_sums  # late: it brings pandas

        keys = {name: Path(file).name for name, (file, _) in plan.shown.items()}
        about = origin(str(plan.content["profile"]), keys)
        write_sums(results, [*present, PLAN], about if complete else about | {"part": True})


def _not_of_the_future(file: Path, now: float) -> None:
    """Snakemake lets a job fail whose input is younger than what it has just made."""
    with contextlib.suppress(OSError):
        if file.stat().st_mtime > now:
            os.utime(file)


def _equal(source: Path, target: Path) -> bool:
    return _content(source) == _content(target)


def _content(path: Path) -> dict[str, str]:
    """Name below a file or folder -> SHA-256."""
    files = [file for file in (path, *path.rglob("*")) if file.is_file() and file.name != MARK]
    return {file.relative_to(path).as_posix(): checksum(file) for file in files}


def _copy(source: Path, target: Path) -> None:
    with atomic_write(target) as part:
        if source.is_dir():
            shutil.copytree(source, part, ignore=shutil.ignore_patterns(MARK))
        else:
            shutil.copyfile(source, part)


def lacking(plan: Plan, targets: Collection[str]) -> list[str]:
    """The outputs of targets (all where there are none) that are not there."""
    papers = {short: paper for paper, short in plan.content["papers"].items()}
    names: list[str] = []
    files: list[str] = []
    for target in targets or ["all"]:
        if target in papers:
            names += plan.content["paper_targets"][papers[target]]
        elif target in ("all", "audit"):
            names += plan.content["everything"] if target == "all" else ["audit_tables/all"]
        elif f"{target}/all" in plan.made:
            names.append(f"{target}/all")
        else:
            files.append(target)
    files += [file for name in names for file in plan.named(name)]
    return [file for file in dict.fromkeys(files) if not Path(file).exists()]


def ended(plan: Plan, targets: Collection[str], seconds: float) -> str:
    """Publish what a run without an error has left, and say so: it is done where all that was requested is there."""
    missing = lacking(plan, targets)
    publish(plan, finished=not missing)
    if missing:
        return f"dpregret: not done: {len(missing)} outputs that were requested are not there, such as {missing[0]}"
    return summary(plan, seconds)


def summary(plan: Plan, seconds: float) -> str:
    """The results of a run, and where they are: the table of a single paper, counts of verdicts, and the reports."""
    results = Path(plan.results)
    lines = [f"dpregret: done in {seconds / 60:.1f} minutes"]
    judged = [paper for paper in plan.parts if (results / paper / "table_1.csv").exists()]
    if len(judged) == 1:
        from dpregret.paper_figs.tables.show import printed_table

        lines.insert(0, printed_table(results / judged[0] / "table_1.csv"))
    for paper in plan.parts:
        counts = [_counted(results / paper / name) for name in ("claims.csv", "checks.csv")]
        if counts[0]:
            lines += [f"  {paper}: {counts[0]}", *([f"    checks: {counts[1]}"] if counts[1] else [])]
            lines.append(f"    table: {results / paper}/table_1.md")
    pages = [results / "report.html", *(results / paper / "report.html" for paper in plan.parts)]
    lines += [f"  report: {page}  (dpregret report --open)" for page in pages if page.exists()]
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
    marks = {
        f"{paper}, {part.experiment}": Path(part.file + FAILED)
        for paper, parts in plan.parts.items()
        for part in parts.values()
    }
    reasons = {name: mark.read_text(encoding="utf-8").splitlines() for name, mark in marks.items() if mark.exists()}
    return [f"failed: {name}: {line}" for name, lines in reasons.items() for line in lines]


def forget_failed(plan: Plan) -> None:
    """Remove the folders of runs in which a play failed, and all outputs that depend on them."""
    failed = {folder for folder, parts in plan.jobs.items() if any(Path(part.file + FAILED).exists() for part in parts)}
    for file in [*plan.made_of(failed), *failed] if failed else []:
        remove(Path(file))


def named(plan: Plan) -> Iterator[str]:
    """Every file and folder that a plan names."""
    for folder, parts in plan.jobs.items():
        yield folder
        for part in parts:
            yield from part.data.values()
            yield from (keys.file_of(play.key).as_posix() for play in part.plays)
    yield from (made.file for made in plan.made.values())


def unnamed(results: Path, plans: Sequence[Plan]) -> list[Path]:
    """Files of the store, outputs, logs and benchmarks that none of the plans names."""
    names = {name for plan in plans for name in named(plan)}
    keys = {None, *(key for plan in plans for key in plan.keys)}
    records = [file for top in ("log", "benchmark") for file in results.glob(f"{top}/**/*.*")]
    records += [file for top in ("log", "benchmark") for file in results.glob(f"*/{top}/**/*.*")]
    files = [file for file in records if key_in(file) not in keys]
    for top in ("store", "made"):
        for folder, below, file_names in os.walk(results / top):
            below[:] = [name for name in below if Path(folder, name).as_posix() not in names]
            files += [path for file_name in file_names if (path := Path(folder, file_name)).as_posix() not in names]
    return files


def main(arguments: Sequence[str] | None = None) -> int:
    """Delete, or with -n only list; exit code 2 where a plan cannot be read."""
    parser = boundary.Parser(
        prog="dpregret prune",
        description="Delete what no plan names: old plays of the store, and what was made of them.",
    )
    parser.add_argument("-n", "--dry-run", action="store_true", help="only tell what would be deleted")
    parser.add_argument("--all", action="store_true", help="every play and everything made, so that all is made again")
    options = parser.parse_args(arguments)
    results = Path("results")
    files = [] if options.all else [results / PLAN, *results.glob(f"*/{PLAN}")]
    try:
        plans = [Plan.read(file) for file in sorted(files) if file.is_file()]
    except (OSError, ValueError) as error:
        print(f"nothing is deleted: {error}")
        return 2
    if not plans and not options.all:
        print("nothing is deleted: no plan is here (results/plan.json), so all would be (--all)")
        return 2
    old = unnamed(results, plans)
    size = sum(path.stat().st_size for path in old) / 2**20
    profiles = ", ".join(str(plan.content["profile"]) for plan in plans) or "none"
    if not options.dry_run:
        for path in old:
            path.unlink()
        for folder, _, _ in os.walk(results / "made", topdown=False):
            if not os.listdir(folder):
                os.rmdir(folder)
    action = "would be deleted" if options.dry_run else "deleted"
    print(f"{len(old)} files, {size:.0f} MB, {action}; kept is what these profiles name: {profiles}")
    return 0
