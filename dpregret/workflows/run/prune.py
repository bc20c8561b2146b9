"""`dpregret prune`: delete what no plan names: old plays of the store, and what was made of them.

A folder of results holds the plan that it was last made for (plan.json); what these plans name stays, in `results` and
in the folders of all profiles below it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpregret.core import boundary
from dpregret.workflows.plan.read import Plan, key_in
from dpregret.workflows.run import store
from dpregret.workflows.run.publish import FAILED, PLAN


def named(plan: Plan) -> Iterator[str]:
    """Every file and folder that a plan names."""
    for parts in plan.parts.values():
        for part in parts.values():
            yield part.file
            yield part.file + FAILED
            yield from part.data.values()
            yield from (store.file_of(play.key).as_posix() for play in part.plays)
    yield from (each.file for each in plan.made.values())


def unnamed(results: Path, plans: Sequence[Plan]) -> list[Path]:
    """Files of the store, of what was made, and of what jobs have said and taken, that none of the plans names."""
    kept = {name for plan in plans for name in named(plan)}
    keys = {None, *(key for plan in plans for key in plan.keys)}
    records = [file for top in ("log", "benchmark") for file in results.glob(f"{top}/**/*.*")]
    records += [file for top in ("log", "benchmark") for file in results.glob(f"*/{top}/**/*.*")]
    found = [file for file in records if key_in(file) not in keys]
    for top in ("store", "made"):
        for folder, below, files in os.walk(results / top):
            below[:] = [each for each in below if Path(folder, each).as_posix() not in kept]
            found += [path for name in files if (path := Path(folder, name)).as_posix() not in kept]
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Delete, or with -n only list; exit code 2 where a plan cannot be read."""
    parser = boundary.Parser(prog="dpregret prune", description=__doc__.partition("\n")[0])
    parser.add_argument("-n", "--dry-run", action="store_true", help="only tell what would be deleted")
    parser.add_argument("--all", action="store_true", help="every play and everything made, so that all is made again")
    options = parser.parse_args(words)
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
    told = "would be deleted" if options.dry_run else "deleted"
    print(f"{len(old)} files, {size:.0f} MB, {told}; kept is what these profiles name: {profiles}")
    return 0
