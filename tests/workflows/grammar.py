"""Whole files of every kind, drawn from their grammar: mostly right, with something odd once in a while."""

from __future__ import annotations

import math
from typing import Any, get_args

from fuzzing import mostly
from hypothesis import strategies as st
from oddities import ODD, Tree, entry, key, one, some

from dpregret.algorithms.geometry import SETS
from dpregret.paper_figs.judge.claims import FigureType, Quantity
from dpregret.paper_figs.judge.labels import Parameter, Response
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan.limits import Limits

WORD = one("a", "a b", "T^0.5", "what is claimed")
HORIZON = mostly(st.sampled_from([[64, 128, 256, 512], "2^6..2^9", ["2^5..2^8"], [16, 33, 70, 100], ["2^7"]]), ODD)
RUNS = mostly(st.sampled_from([2, 4]), ODD, 12)
OPTIONS = (
    "active",
    "best_loss",
    "length",
    "kill",
    "probability",
    "strong_convexity",
    "strength",
    "corners",
    "curvature",
    "smoothness",
    "source",
    "classes",
    "records",
)


@st.composite
def learners(draw: st.DrawFn, family: str) -> Any:
    known = FAMILIES[family].learners
    names = draw(st.lists(st.sampled_from(sorted(known)), min_size=1, max_size=3, unique=True))
    return {name: draw(some(*known[name].card.variants, most=2)) for name in names}


def experiments(family: str) -> Tree:
    """An experiment of a family."""
    streams = some(*sorted(FAMILIES[family].streams), most=2)
    common = {
        "title": WORD,
        "epsilon": some(0.5, 1.0, 8.0, math.inf, "2^-1..2^2"),
        "delta": one(1e-6, 0.01),
        "runs": RUNS,
        "learners": mostly(learners(family), ODD),
    }
    sets = {
        "set": mostly(st.sampled_from(sorted(SETS)), some("ball", "simplex"), 6),
        "dimension": mostly(
            st.sampled_from([[2], [4, 8], [9], [12], {"ball": [2]}, {"simplex": [4], "ball": [3]}]), ODD
        ),
    }
    options = {"options": st.dictionaries(st.sampled_from(OPTIONS), mostly(some(1, 2.0, 0.5), ODD, 2), max_size=2)}
    if family == "online":
        own = {
            "sweep": one("horizon", "dimension", "window", "epsilon", "set", "stream", "none"),
            "streams": streams,
            "horizon": HORIZON,
            "window": some(1, 4, 16, "horizon", "2^0..2^3"),
            **sets,
        }
        return entry({**common, **own}, {**options, "strong_convexity": one(1.0, [0.5, 1.0]), "family": one("online")})
    if family == "erm":
        own = {
            "sweep": one("samples", "dimension", "epsilon", "width", "option", "risk", "none"),
            "risks": streams,
            "samples": HORIZON,
            "family": st.just("erm"),
            **sets,
        }
        growth = entry({"factor": one(0.1, 1.0), "power": one(0.5, 1)})
        further = {"set_options": options["options"], "dimension_growth": growth}
        return entry({**common, **own}, {**options, **further})
    own = {"family": st.just(family), "streams": streams, "horizon": HORIZON}
    if family == "bandits":
        return entry({**common, **own, **sets, "sweep": one("horizon", "dimension", "epsilon", "set", "none")}, options)
    own |= {
        "sweep": one("horizon", "experts", "epsilon", "best-loss", "option", "stream", "none"),
        "experts": some(2, 16, 64, "2^10", "2^200"),
    }
    return entry({**common, **own}, {**options, "best_loss": some(0.0, 4.0, 32.0)})


PAPERS = ("lou_cheung_2020", "talwar_2015", "asi_et_al_2023", "ene_et_al_2021", "prefix_sums")
SIZES = entry({}, {"runs": one(100, 200), "repeats": one(1, 2)})
LIMITS = entry(
    {}, {name: mostly(st.sampled_from([10.0, 1e3, "2^20", math.inf]), ODD, 8) for name in Limits.model_fields}
)
PROFILE = {
    "profile": mostly(st.just("mine"), ODD, 60),
    "seed": one(0, 7, 2**70),
    "allow_few_cells": one(True, True, False),
}
FURTHER = {"limits": LIMITS, "audit": SIZES, "validation": entry({}, {"simulations": one(20)})}


def profile(family: str) -> Tree:
    """A complete configuration of a family or two."""
    paper = entry(
        {"experiments": st.dictionaries(key("a", "b", "a-b"), experiments(family), min_size=1, max_size=2)},
        {"oracle_costs": st.dictionaries(key("ball", "simplex", "flow"), some(2, 4, 12), max_size=2)},
    )
    return entry({**PROFILE, "papers": st.dictionaries(key(*PAPERS), paper, min_size=1, max_size=1)}, FURTHER)


@st.composite
def overlays(draw: st.DrawFn) -> Any:
    """A profile on top of a shipped one."""
    names = ("horizon", "window", "gd-samples", "again", "fw-samples")
    keys = {"runs": RUNS, "horizon": HORIZON, "title": WORD, "window": some(1, 4), "x": ODD}
    change = st.dictionaries(st.sampled_from(list(keys)), st.none(), max_size=3).flatmap(
        lambda found: st.fixed_dictionaries({key: mostly(keys[key], ODD, 8) for key in found})
    )
    only = mostly(st.sampled_from(["listed", ["horizon"], ["lou_cheung_2020"]]), ODD, 8)
    inside = {"only": only, "defaults": entry({}, {"epsilon": some(1.0), "delta": one(1e-5)})}
    paper = entry({}, {**inside, "experiments": st.dictionaries(key(*names), mostly(change, ODD), max_size=3)})
    papers = st.dictionaries(key(*PAPERS[:2]), paper, max_size=2)
    top = {
        **PROFILE,
        "extends": one("ci", "smoke", "smoke", "mine", "./mine.yaml", "papers"),
        "only": st.just("listed"),
    }
    return draw(entry(top, {"papers": papers, **FURTHER, "defaults": inside["defaults"]}))


PARAMETERS, RESPONSES = get_args(Parameter), get_args(Response)
LEARNER = mostly(one("wdp-cocop-gamma.corrected", "ftal.plain"), one("ftal", "wdp-cocop-gamma.*", "ftla.plain"), 12)
FITTING = {
    "horizon": ["T^0.5", "ln T", "T^(2/3)", "T^0.5 ln(T)^1.5"],
    "dimension": ["d^0.5", "d", "1"],
    "epsilon": ["eps^-1", "1"],
}
RATE = one(
    "T^0.5",
    "ln T",
    "1",
    "T^(2/3)",
    "d^0.5",
    "(log2 W + 1)",
    "eps^-1",
    "T^0.5 ln(T)^1.5",
    "n^-1 ln(n/delta)",
    "T^(1/0)",
    "T^1e999",
    "T^-1e308",
    "A_W",
    "G_W A_W",
    "T^0.5 ln(d/beta)^2",
    "T^0.5 log2(T)^9",
    "mu_gdp^-1",
)
WHERE = st.dictionaries(
    key("epsilon", "window", "dimension", "set", "stream", "corners"), one(8.0, 4, "ball", 16), max_size=2
)
FROM = mostly(
    st.one_of(
        st.just(16),
        entry(
            {},
            {
                "rounds": one(8),
                "windows": one(1.0),
                "noise_times": one(2.0),
                "smallest_window": one(4),
                "capped": one(True),
            },
        ),
    ),
    ODD,
)
MEASURED = {
    "learner": LEARNER,
    "stream": one("norm-kink"),
    "experiment": one("horizon", "dimension"),
    "parameter": mostly(st.sampled_from(["horizon", "dimension", "epsilon"]), one(*PARAMETERS), 5),
}
CLAIM_FURTHER = {
    "type": one("exponent", "linear", "below", "private"),
    "rate": RATE,
    "response": one(*RESPONSES),
    "where": WHERE,
    "varies": some("dimension", "epsilon"),
    "counterpart": mostly(LEARNER, entry({"learner": LEARNER, "where": WHERE}), 3),
    "bound": one("rate", "explicit"),
    "tol": one(0.1, 0.2),
    "tol_reason": WORD,
    "undecided": WORD,
    "from": FROM,
    "errata": some("E1"),
    "side": one("upper", "lower"),
    "scope": one("worst-case", "instance"),
    "origin": one("paper", "derived", "baseline"),
    "check": one("", "could not be otherwise", "claim c-a"),
    "exact": one("", "noisy-gd.corrected"),
    "accounting": one("exact", "upper"),
    "at": one("here", "there"),
}


@st.composite
def claim(draw: st.DrawFn, number: int) -> Any:
    """A claim of one of the types, with the keys that it needs."""
    parameter = draw(st.sampled_from(sorted(FITTING)))
    rate = mostly(st.sampled_from(FITTING[parameter]), RATE, 6)
    needs: list[dict[str, Any]] = [
        {"rate": rate},
        {"type": st.just("linear"), "parameter": st.just("horizon")},
        {"type": st.just("private")},
        {"type": st.just("below"), "bound": st.just("explicit")},
        {"rate": rate, "response": st.just("log_slope")},
        {"rate": rate, "response": st.just("overhead"), "counterpart": LEARNER},
    ]
    own = {
        **MEASURED,
        "parameter": mostly(st.just(parameter), MEASURED["parameter"], 8),
        "id": st.just(f"c-{'abcdefgh'[number]}"),
        "source": WORD,
        "says": WORD,
        **draw(st.sampled_from(needs)),
    }
    kept = draw(st.lists(st.sampled_from(sorted(CLAIM_FURTHER)), max_size=2, unique=True))
    return draw(entry(own, {key: CLAIM_FURTHER[key] for key in kept if key not in own}))


ROW = {
    "id": one("r"),
    "label": WORD,
    "group": WORD,
    "learner": one("wdp-cocop-gamma.corrected", "ftal.plain", "quoted."),
    "privacy": WORD,
    "neighbouring": WORD,
    "operation": one("projections", "linear_oracles"),
    "bound_text": WORD,
}
ROW_FURTHER = {
    "bound_latex": one("$O(\\sqrt{T})$", "\\input{x}", "$"),
    "exponents": st.dictionaries(key(*PARAMETERS), one("c-a", "c-b"), max_size=2),
    "also": some("c-a"),
    "window": WORD,
    "errata": some("E1"),
    "lower": WORD,
    "at": one("here", "there"),
}
REFERENCE = entry({"experiment": one("horizon"), "stream": one("norm-kink")}, {"where": WHERE})


@st.composite
def claims(draw: st.DrawFn) -> Any:
    """A claims file."""
    rows = st.lists(entry(ROW, ROW_FURTHER), min_size=1, max_size=1)
    tables = st.lists(entry({"caption": WORD, "reference": REFERENCE, "rows": rows}), min_size=1, max_size=2)
    figures = st.lists(
        entry(
            {"type": one(*get_args(FigureType))},
            {
                "experiment": one("horizon"),
                "parameter": one(*PARAMETERS),
                "crossing": some("ftal", "ogd", most=2),
                "where": WHERE,
                "scaled": one(0.5),
            },
        ),
        max_size=2,
    )
    gain = {
        **{key: each for key, each in MEASURED.items() if key != "stream"},
        "variants": some("printed", "ftal.plain"),
    }
    top = {"title": WORD, "tables": mostly(tables, ODD)}
    further = {
        "figures": figures,
        "gains": st.lists(entry(gain, {"response": one(*RESPONSES), "where": WHERE}), max_size=1),
        "problem": one("online", "erm"),
        "glossary": st.dictionaries(key("T", "W"), WORD, max_size=1),
        "cite": WORD,
        "exact": st.dictionaries(key("crossing", "league"), WORD, max_size=1),
        "chapter": one(True),
        "settings": st.dictionaries(key("here"), entry({}, {**MEASURED, "x": ODD}), max_size=1),
        "guarantees": st.dictionaries(key("here"), entry({}, {**ROW, "x": ODD}), max_size=1),
    }
    found = draw(entry(top, further))
    if isinstance(found, dict):
        found["claims"] = draw(mostly(st.just([draw(claim(number)) for number in range(draw(st.integers(1, 3)))]), ODD))
    return found


MEASURE = entry(
    {
        "learner": one("wdp-cocop-gamma"),
        "variant": one("printed", "corrected"),
        "against": one("corrected"),
        "quantity": one(*get_args(Quantity)),
    },
    {"stream": one("norm-kink"), "where": WHERE},
)
ERRATUM = entry(
    dict.fromkeys(("place", "printed", "right", "why"), WORD)
    | {"id": one("E1", "E2"), "kind": one("mistake", "convention", "loose", "reading")},
    {
        "reason": WORD,
        "measure": MEASURE,
        "experiment": mostly(st.none(), one("horizon"), 2),
        "provenance": one("printed", "reconstructed"),
    },
)
ERRATA = entry({"errata": st.lists(ERRATUM, max_size=2)})
SPECIAL = entry(
    {},
    {
        "epsilon": one(8),
        "losses": one("kink", "flat"),
        "rounds": one(81),
        "most_runs": one(400),
        "variants": some("corrected", "printed"),
        "skip": WORD,
    },
)
AUDIT = entry(
    {"delta": one(1e-6), "learners": st.dictionaries(key("dp-ftrl", "pqftl", "noisy-gd", "ftal"), SPECIAL, max_size=3)}
)
DIGEST = one("0" * 64, "a" * 64, "A" * 64)
SOURCE = entry(
    {
        "url": one("https://host/data/tiny.txt", "http://127.0.0.1:9/a.bz2", "https://a/../b"),
        "licence": WORD,
        "rows": one(3, 100),
        "columns": one(4, 10),
    },
    {
        "bytes": one(99),
        "sha256": DIGEST,
        "sha256_content": DIGEST,
        "vouched_by": some("https://mirror/one: it", "https://mirror/another: it", "one"),
    },
)
SOURCES = mostly(st.dictionaries(key("tiny", "a9a"), SOURCE, max_size=2), ODD)
