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

Median CPU time of at least five calls, theirs over ours, at the same work with the same result (checked by
[tests/benchmarks/test_speed.py](../tests/benchmarks/test_speed.py), which says what each call does; random numbers of
OpenDP are secure, and those of jax_privacy from another generator, which ours are not). Above 1 the peer is slower,
below 1 it is faster. Loops in NumPy and numba are written by hand for that loss, set and mechanism alone, "by
coordinates" with all in one loop; `dpregret.play` also checks its input, accounts for privacy, and finds the comparator
and the bound. `make peers bench` writes this page.

| work | peer | theirs / ours | ours, CPU ms |
|---|---|---|---|
"""


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


def _said(name: str, value: object) -> str:
    return f"{value} {name}" if isinstance(value, int) else str(value)


def page(content: Mapping[str, Any]) -> str:
    """The page as Markdown."""
    found = rows(content["benchmarks"])
    there = {who.partition(",")[0] for _, who, *_ in found}
    lacking = [peer for peer in PEERS if peer not in there]
    lines = [f"| {work} | {who} | {significant(ratio)} | {significant(1e3 * own)} |" for work, who, ratio, own in found]
    versions = ", ".join(f"{peer} {metadata.version(name)}" for peer, name in PEERS.items() if peer in there)
    made = (
        f"Measured on {content['datetime'][:10]} with Python {platform.python_version()}, {versions}; {machine()}, "
        f"load {os.getloadavg()[1]:.0f}."
    )
    missing = f"\n\nNot measured there: {', '.join(lacking)}." if lacking else ""
    return HEAD + "\n".join(lines) + f"\n\n{made}{missing}\n"


if __name__ == "__main__":
    source, out = map(Path, sys.argv[1:])
    out.write_text(page(json.loads(source.read_text(encoding="utf-8"))), encoding="utf-8")
    print(out)
