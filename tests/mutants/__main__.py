"""Plant every mistake of tests/mutants, one at a time, and show which layer catches it: `make mutants`.

Layers: the test that names the concept (where it misses, the tests beside the changed file), the exponent gate and the
audit gate of the profile ci. Exit code 1 where nothing catches a mistake, a patch no longer applies, a test or gate
fails without any mistake, or less than 95 % are caught by the test of their concept.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
from planting import ROOT, Copy, Mutant, MutantError, copied, mutants, rotating

from dpregret.core.files import atomic_write
from dpregret.paper_figs.formats import markdown

TARGETS = {"gate": "gate", "audit": "audit_gate"}
LAYERS = ("unit", *TARGETS)
NAMED = 0.95  # share that the tests of their concepts must catch
MISSED = "missed"


def snakemake(copy: Copy, target: str, cores: int = 1) -> str:
    """Why a target of the profile ci fails, empty where it does not; only what changes touch is made again."""
    code, output = copy.run(
        "snakemake", "--nocolor", "--cores", str(cores), target, "--config", "profile=ci", limit=1800
    )
    if not code:
        return ""
    _, rule, output = output.partition("Error in rule ")
    log = re.search(r"^ +log: (\S+)", output, re.M)
    file = copy.root / (log[1] if log else "no log")
    told = file.read_text("utf-8").strip().splitlines() if file.is_file() else []
    moved = next((line for line in told if " was " in line), told[-1] if told else "no log")
    return f"{output.partition(':')[0]}: {moved.strip()}" if rule else "no rule failed"


def prepare(base: Copy, wanted: list[Mutant], options: argparse.Namespace) -> None:
    """Every test and gate that is asked must hold without a mistake. Raises MutantError."""
    broken = base.failing(*sorted({each.concept for each in wanted}), limit=1800) if "unit" in options.layers else ""
    if broken:
        raise MutantError(f"broken test, nothing is planted: {broken}")
    for layer in options.layers:
        if layer in TARGETS and (broken := snakemake(base, TARGETS[layer], options.jobs)):
            raise MutantError(f"broken {layer}, nothing is planted: {broken}")


def judge(mutant: Mutant, base: Copy, layers: list[str]) -> dict[str, object]:
    """One row of the table: what each layer says of one mistake."""
    row: dict[str, object] = {"mutant": mutant.name, "what is wrong": mutant.what, "concept": mutant.concept}
    began = time.monotonic()
    caught = []
    try:
        with base.again() as fresh, fresh.planted(mutant) as copy:
            for layer in layers:
                if layer == "unit":
                    found = copy.failing(mutant.concept)
                    row["by its concept"] = "yes" if found else "no"
                    found = found or copy.failing(mutant.folder, limit=1800)
                else:
                    found = snakemake(copy, TARGETS[layer])
                row[layer] = found or MISSED
                caught += [layer] if found else []
        row["caught by"] = ", ".join(caught) or "nothing"
    except MutantError as fault:
        row["caught by"] = f"error: {fault}"
    row["seconds"] = round(time.monotonic() - began)
    note = ", not by its concept" if row.get("by its concept") == "no" else ""
    print(f"{mutant.name}: {row['caught by']}{note} ({row['seconds']} s)", flush=True)
    return row


def faults(rows: list[dict[str, object]]) -> list[str]:
    """What must not be, in words."""
    wrong = [f"{row['mutant']}: {text}" for row in rows if (text := str(row["caught by"])).startswith("error: ")]
    wrong += [
        f"{row['mutant']}: caught by nothing: {row['what is wrong']}" for row in rows if row["caught by"] == "nothing"
    ]
    tried = [row for row in rows if "by its concept" in row]
    missed = [str(row["mutant"]) for row in tried if row["by its concept"] == "no"]
    if len(missed) > (1 - NAMED) * len(tried):
        wrong.append(f"not caught by the test that names the concept: {', '.join(missed)}")
    return wrong


def main() -> int:
    """Plant mistakes and show which layer catches each."""
    parser = argparse.ArgumentParser(prog="make mutants", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="mutants (all)")
    parser.add_argument("--layers", default=",".join(LAYERS), help=f"of {','.join(LAYERS)} (all)")
    parser.add_argument("--jobs", type=int, default=2, help="mutants side by side (2)")
    parser.add_argument("--rotating", type=int, help="so many only, others at the next turn")
    parser.add_argument("--turn", type=int, help="which turn (the number of the CI run, or of commits)")
    options = parser.parse_args()
    options.layers = options.layers.split(",")
    if unknown := [layer for layer in options.layers if layer not in LAYERS]:
        parser.error(f"--layers: {unknown[0]!r} is none of {', '.join(LAYERS)}")
    gates = [layer for layer in options.layers if layer in TARGETS]
    try:
        wanted = mutants(*options.names)
        if options.rotating:
            wanted = rotating(wanted, options.rotating, options.turn)
        with copied(*(["results/ci", ".snakemake/metadata", "datasets/cache"] if gates else [])) as base:
            prepare(base, wanted, options)
            with ThreadPoolExecutor(options.jobs) as pool:
                rows = list(pool.map(lambda each: judge(each, base, options.layers), wanted))
    except MutantError as fault:
        sys.exit(f"mutants: {fault}")
    table = pd.DataFrame(rows).fillna("-")
    for form, text in (("csv", table.to_csv(index=False)), ("md", markdown(table.drop(columns="seconds")) + "\n")):
        with atomic_write(ROOT / "build" / f"mutants.{form}") as file:
            file.write_text(text, encoding="utf-8")
    counts = {layer: sum(layer in str(row["caught by"]).split(", ") for row in rows) for layer in options.layers}
    told = ", ".join(f"{count} by {layer}" for layer, count in counts.items())
    print(f"{len(rows)} mistakes, caught: {told}; see build/mutants.md")
    wrong = faults(rows)
    print("\n".join(f"mutants: {each}" for each in wrong), end="\n" if wrong else "", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
