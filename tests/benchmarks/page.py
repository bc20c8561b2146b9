"""Write docs/speed.md from the times of `make bench`: theirs over ours, at the same work, with versions.

    python tests/benchmarks/page.py build/speed.json docs/speed.md

Peers that are not installed are named: `make peers` installs all.
"""

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from dpregret.core.machine import machine
from dpregret.paper_figs.text.formats import significant

OURS = "dpregret"
PEERS = {
    "NumPy": "numpy", "numba": "numba", "river": "river", "copt": "copt", "scikit-learn": "scikit-learn",
    "cvxpy": "cvxpy", "OpenDP": "opendp", "jax_privacy": "jax-privacy", "dp-accounting": "dp-accounting",
}  # fmt: skip
"""Peer -> its distribution."""
HEAD = """# How fast, beside others

Each row is one piece of work, done by dpregret and by a peer with the same result
([tests/benchmarks/test_speed.py](../tests/benchmarks/test_speed.py) checks the results and has the calls); an empty
cell is the work of the row above. The ratio is the peer's CPU time over that of dpregret, medians of at least five
calls with warm kernels: above 1 the peer is slower. `make peers bench` writes this page.

* **COCOP**: the peers are loops by hand for this loss, set and mechanism alone, which return the total loss; "by
  coordinates" has noise, loss and projection in one loop. `dpregret.play` serves every loss, set and mechanism with the
  same code, and also checks its input, accounts for privacy, finds the comparator and the bound, and returns tables{}.
  Two runs are the fewest that `play` takes.
* **OpenDP**: its random numbers are cryptographically secure; those of dpregret are not, since experiments need seeds.
* **jax_privacy**: random numbers of another generator, from the same law.

| work | peer | theirs / ours | theirs, CPU ms | ours, CPU ms |
|---|---|---|---|---|
"""
LOOP = "COCOP with a plain tree, T = 4096, d = 32"


def rows(benchmarks: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, float, float]]:
    """(work, peer, theirs over ours, seconds of ours), of groups with a peer."""
    times: dict[tuple[str, str], dict[str, float]] = {}
    for entry in benchmarks:
        params = dict(entry["params"] or {})
        who = params.pop("who", "")
        if who:
            work = ", ".join([entry["group"], *(_said(name, value) for name, value in params.items())])
            times.setdefault((entry["group"], work), {})[who] = entry["stats"]["median"]
    return [
        (work, who, spent / own[OURS], own[OURS])
        for (_, work), own in times.items()
        if OURS in own
        for who, spent in own.items()
        if who != OURS
    ]


def fixed(benchmarks: Sequence[Mapping[str, Any]]) -> str:
    """The milliseconds of a play that do not grow with its runs, in words, by a line through both its numbers of runs;
    nothing where these were not measured."""
    spent = {work: own for work, _, _, own in rows(benchmarks)}
    few, many = (spent.get(f"{LOOP}, {runs} runs") for runs in (2, 32))
    if few is None or many is None:
        return ""
    return f":\n  {significant(1e3 * (32 * few - 2 * many) / 30, 2)} ms of each play do not grow with its runs"


def _said(name: str, value: object) -> str:
    return f"{value} {name}" if isinstance(value, int) else str(value)


def page(content: Mapping[str, Any]) -> str:
    """The page as Markdown."""
    found = rows(content["benchmarks"])
    there = {who.partition(",")[0] for _, who, *_ in found}
    lacking = [peer for peer in PEERS if peer not in there]
    lines = [
        f"| {'' if work == above else work} | {who} | {significant(ratio)} | {significant(1e3 * ratio * own)} "
        f"| {significant(1e3 * own)} |"
        for above, (work, who, ratio, own) in zip(["", *(work for work, *_ in found)], found, strict=False)
    ]
    versions = ", ".join(f"{peer} {metadata.version(name)}" for peer, name in PEERS.items() if peer in there)
    made = (
        f"Measured on {content['datetime'][:10]} with Python {platform.python_version()}, {versions}; {machine()}; "
        f"load average {os.getloadavg()[1]:.1f}, of which the benchmarks are 1."
    )
    missing = f"\n\nNot measured there: {', '.join(lacking)}." if lacking else ""
    return HEAD.format(fixed(content["benchmarks"])) + "\n".join(lines) + f"\n\n{made}{missing}\n"


if __name__ == "__main__":
    source, out = map(Path, sys.argv[1:])
    out.write_text(page(json.loads(source.read_text(encoding="utf-8"))), encoding="utf-8")
    print(out)
