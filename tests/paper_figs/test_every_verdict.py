"""Every verdict that there is comes out of some planted curve, and what is judged is what the files and cards say."""

from __future__ import annotations

from dataclasses import asdict
from math import isnan
from pathlib import Path

import pandas as pd
import pytest

from dpregret.paper_figs.judge import result_tables
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile
from dpregret.paper_figs.judge.verdicts import Judgement, judge, judge_claims
from dpregret.paper_figs.judge.vocabulary import CHECKS, CLAIMS
from dpregret.paper_figs.validation.planted_laws import Sweep, make_claim
from dpregret.paper_figs.validation.simulate import CASES

CHECKED = {"check": "dictated"}
MORE: tuple[tuple[Sweep, dict[str, object]], ...] = (
    (Sweep(lambda checkpoints, value: checkpoints**0.7), {"side": "lower"}),
    (Sweep(lambda checkpoints, value: checkpoints**0.3), {"side": "lower"}),
    (Sweep(lambda checkpoints, value: checkpoints**0.5), {"experiment": "elsewhere"}),
    (Sweep(lambda checkpoints, value: checkpoints**0.5), CHECKED),
    (Sweep(lambda checkpoints, value: checkpoints**0.3), CHECKED),
    (Sweep(lambda checkpoints, value: checkpoints**0.6, scatter=0.5), CHECKED),
    (Sweep(lambda checkpoints, value: checkpoints**0.5), CHECKED | {"experiment": "elsewhere"}),
    (Sweep(lambda checkpoints, value: checkpoints**0.5), {"type": "below", "bound": "explicit", "rate": None}),
    (Sweep(lambda checkpoints, value: checkpoints**0.5, bound_factor=0.5),
     {"type": "below", "bound": "explicit", "rate": None}),
    (Sweep(lambda checkpoints, value: checkpoints**0.5, delivered=1.5), {"type": "private", "rate": None}),
    (Sweep(lambda checkpoints, value: checkpoints**0.5), {"type": "private", "rate": None}),
)  # fmt: skip
"""Curves beside the cases of the validation, and how their claim differs from T^0.5."""


def planted() -> list[tuple[Claim, Judgement]]:
    cases = [(Sweep(case.law, **case.sweep), dict(case.claim)) for case in CASES.values()]  # type: ignore[arg-type]
    claims = [make_claim(**changes) for _, changes in (*cases, *MORE)]
    played = [sweep.frame() for sweep, _ in (*cases, *MORE)]
    return [(claim, judge(frame, claim, {"horizon"})) for claim, frame in zip(claims, played, strict=True)]


def test_every_verdict_has_a_planted_curve() -> None:
    found = planted()
    for kind, words in (("claim", CLAIMS), ("check", CHECKS)):
        assert {judgement.verdict for claim, judgement in found if claim.kind == kind} == set(words)


@pytest.mark.parametrize("text", [True, False])
def test_every_column_reads_back_as_it_was_judged(text: bool, tmp_path: Path) -> None:
    frame = Sweep(lambda checkpoints, value: checkpoints**0.5, scatter=0.1).frame()
    claims = [
        make_claim(id="whole", errata=["L1"]), make_claim(id="dictated", **CHECKED),
        make_claim(id="held", type="below", bound="explicit", rate=None),
        make_claim(id="absent", experiment="elsewhere"),
        make_claim(id="logarithm", rate="ln T"), make_claim(id="kept", type="private", rate=None),
    ]  # fmt: skip
    paper = ClaimsFile.model_construct(claims=tuple(claims))
    result_tables.write_lines(judge_claims(frame, paper, {"horizon"}), tmp_path)
    lines = result_tables.read_lines(tmp_path, text=text).set_index("claim")
    assert list(lines.index[lines["kind"] == "check"]) == ["dictated", "held"]
    for claim in claims:
        line, judged = lines.loc[claim.id], asdict(judge(frame, claim, {"horizon"}))
        told = {
            "source": claim.source, "origin": claim.origin, "type": claim.type, "learner": claim.learner,
            "variant": claim.variant, "experiment": claim.experiment, "stream": claim.stream,
            "parameter": claim.parameter, "response": claim.response, "tolerance": claim.tol,
            "errata": " ".join(claim.errata), "statement": claim.statement, "why": claim.check or (
                "an explicit bound" if claim.type == "below" else ""),
        }  # fmt: skip
        for column, value in (told | judged).items():
            shown = line[column]
            if isinstance(value, str):
                assert ("" if pd.isna(shown) else str(shown)) == value, column
            elif isnan(value):
                assert pd.isna(shown) or shown == "", column
            else:
                assert float(shown) == pytest.approx(value, rel=1e-5, abs=1e-8), column
