"""A search for streams on which regret grows faster than on ours: `python -m dpregret.workflows.worst [CPU minutes]`.

What is judged is a theorem about all streams, on one stream. Here the stream's parameters are looked for, within the
theorem's hypotheses, that make R(T) / R(T / 8) largest, summed in logarithms over two T, on seeds of training. The
search must first find the stream that is known to be tight for Theorem 3 of Lou & Cheung, from a random start; else it
proves nothing and ends. Statements are chosen by rule: claims of papers about growth with T that are below their bound
or only seen here, by the size of the gap, then by name, twelve of them.

What is found goes as parameters into the papers' experiments, where other seeds and other T judge it. That nothing
worse was found in N trials is not a verdict.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, Final

import numpy as np

from dpregret.numerics.arrays import Array
from dpregret.paper_figs.judge.cells import SATURATED_SHARE
from dpregret.paper_figs.judge.claims import load_claims
from dpregret.paper_figs.text import formats
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import Draws
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.read import PAPERS, PROFILES, papers

REFERENCE: Final = Path("results") / "reference"
CHOSEN: Final = 12
TRAINING: Final = 77_001
"""Seed of all training draws; the seed of the profiles is another."""
Ends = tuple[tuple[int, int], ...]
ROUNDS: Final[Ends] = ((2**10, 2**13), (2**12, 2**15))
SQUARES: Final[Ends] = ((2**14, 362**2), (181**2, 2**18))
"""T / 8 and T, twice; bandits need squares."""
TRIALS: Final = 40
AFAR: Final = 12
"""Trials anywhere, before steps begin from the best: a climb from a corner of the cube stays there."""
KNOWN: Final = 0.98
"""Share of the known stream's growth, ln R(T) / R(T / 8), that the search must find."""


def chosen(reference: Path = REFERENCE) -> list[dict[Any, Any]]:
    """The rows of claims that the rule names, with their paper: where each is judged, and how far from its law it
    lies."""
    rows = []
    for paper in papers():
        for row in formats.read_csv(reference / paper / "claims.csv").to_dict("records"):
            wanted = row["origin"] == "paper" and row["type"] == "exponent" and row["parameter"] == "horizon"
            if wanted and row["verdict"] in ("below bound", "seen here"):
                rows.append({**row, "paper": paper})
    return sorted(rows, key=lambda row: (-abs(row["normalised"]), str(row["claim"]), row["paper"]))[:CHOSEN]


def growth(experiment: Any, learner: str, variant: str, ends: Ends, stream: str, options: dict[str, Any]) -> float:
    """Sum over both T of ln R(T) / R(T / 8); minus infinity where regret is not positive, or saturated.

    A kink beside the center makes everything trivial, and trivial regret is linear: that is not a finding.
    """
    horizons = tuple(sorted(each for pair in ends for each in pair))
    asked = experiment.model_copy(update={"streams": (stream,), "options": options, "horizon": horizons})
    family, draws = FAMILIES[experiment.family], Draws(TRAINING, experiment.runs)
    rows = family.rows(asked, family.learners[learner], variant, draws)
    means = rows.groupby("checkpoint")["regret"].mean()
    shares = means / rows.groupby("checkpoint")["trivial_regret"].mean()
    if experiment.family == "bandits" and shares[list(horizons)].max() > SATURATED_SHARE:
        return -math.inf
    pairs = [(means[start], means[end]) for start, end in ends]
    return sum(math.log(end / start) if min(end, start) > 0 else -math.inf for start, end in pairs)


def climb(
    growth_on: Callable[[dict[str, Any]], float], size: int, seed: int, trials: int = TRIALS
) -> tuple[float, dict[str, Any], float]:
    """Largest growth with its parameters, and that of the random start.

    Points of a unit cube of dimension `size`, then steps that shrink when they fail.
    """
    generator = np.random.default_rng(seed)
    point, reach = generator.uniform(size=size), 0.4
    best = first = growth_on(parameters(point))
    for trial in range(1, trials):
        step = point + reach * generator.standard_normal(size)
        tried = generator.uniform(size=size) if trial < AFAR else np.clip(step, 0.0, 1.0)
        found = growth_on(parameters(tried))
        if found > best:
            point, best = tried, found
        elif trial >= AFAR:
            reach = max(0.05, 0.93 * reach)
    return best, parameters(point), first


def parameters(point: Array) -> dict[str, Any]:
    """A point of the unit cube as options of a placed stream: share of the way, direction, Huber's radius."""
    options: dict[str, Any] = {"share": round(0.95 * float(point[0]), 3), "towards": int(1000 * point[1])}
    return options | ({"radius": float(f"{10 ** (4.5 * point[2] - 4):.3g}")} if len(point) > 2 else {})


def main(minutes: float) -> int:
    """Recover the known stream, then search; print what was found."""
    began = process_time()
    config = load_config(PROFILES / "full.yaml", check=False)
    known = config.experiment("lou_cheung_2020", "horizon").model_copy(update={"window": (16,), "runs": 16})
    theorem = partial(growth, known, "wdp-cocop-gamma", "corrected", ROUNDS)
    target = theorem("norm-kink", {"weight": 3.0})
    for seed in range(3):
        best, options, start = climb(partial(theorem, "placed-kink"), 3, seed)
        print(f"Theorem 3, start {seed}: {start:.3f} -> {best:.3f} at {options}; norm-kink {target:.3f}", flush=True)
        if best < KNOWN * target:
            print("the known stream was not found: this search proves nothing")
            return 1
    for row in chosen():
        name, learner, paper = row["claim"], row["learner"], row["paper"]
        if process_time() - began > 60 * minutes:
            print(f"{name}: not searched, the time is over")
            continue
        experiment = config.experiment(paper, row["experiment"])
        if experiment.family != "bandits":
            print(f"{name}: not searched, no placed stream fits {learner} in {row['experiment']}")
            continue
        claims = {claim.id: claim for claim in load_claims(PAPERS / paper / "claims.yaml").claims}
        epsilon = float(claims[name].where.get("epsilon", experiment.epsilon[0]))
        asked = experiment.model_copy(update={"epsilon": (epsilon,), "runs": 4})
        claimed, stream = partial(growth, asked, learner, row["variant"], SQUARES), asked.streams[0]
        ours = claimed(stream, dict(asked.options))
        best, options, start = climb(partial(claimed, "placed-cone"), 2, seed=1)
        said = f"{'worse' if best > ours else 'no worse'} stream in {TRIALS} trials: {ours:.3f} on {stream}"
        gap = abs(row["normalised"])
        print(f"{name} (gap {gap:.3f}): {said}, start {start:.3f}, best {best:.3f} at {options}", flush=True)
    print(f"{(process_time() - began) / 60:.1f} CPU minutes")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0))
