"""One list of findings: the same sentences, in the same order, in the README and in the report; none that is not so."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from dpregret.paper_figs.judge.claims import ClaimsError
from dpregret.paper_figs.report.findings import headlines, load_findings, markdown, refutations
from dpregret.workflows.plan.read import PAPERS

TEXTS = """\
title: A paper
cite: A & B 2020
settings: {here: {experiment: e, stream: s, parameter: horizon}}
claims:
- {id: grows-T, at: here, source: Theorem 1, says: it grows, learner: l.v, rate: T}
- {id: safe, at: here, source: "Theorem 2, eq. (3)", says: it is eps-DP, type: private, learner: l.v}
- {id: safe-ours, at: here, source: ours, says: it is, type: private, learner: l.v, origin: derived}
- {id: safe-lost, at: here, source: Theorem 4, says: it is, type: private, learner: l.v, provenance: reconstructed}
- {id: safe-sum, at: here, source: Theorem 5, says: it is, type: private, learner: l.v, check: a sum}
tables:
- caption: c
  reference: {experiment: e, stream: s}
  rows: [{id: r, label: r, group: g, learner: l.v, privacy: p, neighbouring: n, operation: o, bound_text: b}]
"""
FINDINGS = """\
findings:
- {id: second, refuted: true, title: "{count} fail", text: On a pair., page: docs/x.md}
- id: first
  paper: p_2020
  claims: {grows-T: reproduced}
  title: It grows
  text: "Like T^{grows-T}; {E1: as printed} becomes {E1: corrected} ({E1: setting}); {ratios} times ({setting})."
  page: docs/p_2020.md
  gains: {learner: l, over: v, with: w, experiment: e, stream: s, values: [4, 16]}
"""


def lines(verdict: str = "reproduced", refuted: str = "violated") -> pd.DataFrame:
    private = [(name, refuted, "private") for name in ("safe", "safe-ours", "safe-lost")]
    frame = pd.DataFrame([("grows-T", verdict, "exponent"), *private], columns=["claim", "verdict", "type"])
    reason = (
        "loses eps = 2.5 where 2 is claimed, exactly: a | b; "
        "fails down to eps = 0.01, the least tried; in the runs the ledger proves more"
    )
    return frame.assign(log_aware=0.987, log_aware_low=0.9, log_aware_high=1.1, reason=reason)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    texts, results = tmp_path / "papers" / "p_2020", tmp_path / "results" / "p_2020"
    for folder in (texts, results):
        folder.mkdir(parents=True)
    (texts / "claims.yaml").write_text(TEXTS)
    (texts.parent / "findings.yaml").write_text(FINDINGS)
    lines().to_csv(results / "claims.csv", index=False)
    row = {"erratum": "E1", "status": "measured", "as printed": "7", "corrected": "5", "setting": "T = 8"}
    pd.DataFrame([row]).to_csv(results / "errata.csv", index=False)
    gain = {"learner": "l", "over": "v", "with": "w", "experiment": "e", "stream": "s", "setting": "d = 4"}
    gains = pd.DataFrame([gain | {"value": value, "ratio": ratio} for value, ratio in ((4, 1.26), (16, 2.0), (64, 9))])
    gains.to_csv(results / "gains.csv", index=False)
    return tmp_path


def told(run: Path) -> list[str]:
    return [each.id for each in headlines(run / "results", run / "papers", ["p_2020"])]


def test_sentences_are_filled_from_the_tables_in_the_order_of_the_file(run: Path) -> None:
    assert markdown(headlines(run / "results", run / "papers", ["p_2020"])).splitlines() == [
        "1. **[One fail](docs/x.md).** On a pair. Loss for claim: A & B 2020, Theorem 2, eq. (3) (ε = 2.5 for 2).",
        "2. **[It grows](docs/p_2020.md).** Like T^0.99 [0.90, 1.10]; 7 becomes 5 (T = 8); 1.3, 2.0 times (d = 4).",
    ]
    found = refutations(run / "results", run / "papers", ["p_2020"])  # statements that a paper prints, and no others
    assert [(item.claim, item.statement) for item in found] == [("safe", "it is eps-DP")]


def test_a_finding_that_did_not_come_out_so_is_gone(run: Path) -> None:
    file = run / "results" / "p_2020" / "claims.csv"
    for verdict, refuted, left in (
        ("inconclusive", "violated", ["second"]),
        ("not run", "violated", ["second"]),
        ("reproduced", "reproduced", ["first"]),
        ("reproduced", "not run", ["first"]),
    ):
        lines(verdict, refuted).to_csv(file, index=False)
        assert told(run) == left
    lines().to_csv(file, index=False)
    for name, column in (("errata.csv", "setting"), ("gains.csv", "setting")):
        path = run / "results" / "p_2020" / name
        whole = pd.read_csv(path)
        whole.drop(columns=column).to_csv(path, index=False)
        assert told(run) == ["second"], name
        whole.to_csv(path, index=False)
    file.unlink()
    assert told(run) == []


def test_a_finding_names_its_paper_or_lists_what_is_refuted(run: Path) -> None:
    path = run / "papers" / "findings.yaml"
    path.write_text(FINDINGS.replace("  paper: p_2020\n", ""))
    with pytest.raises(ClaimsError, match=r"a finding names its paper, or lists what is refuted"):
        load_findings(path.parent)
    path.unlink()
    assert load_findings(run / "papers") == ()


def test_shipped_findings_name_claims_and_errata_that_exist() -> None:
    from dpregret.paper_figs.judge.claims import load_paper

    for entry in load_findings(PAPERS):
        if entry.paper:
            claims, errata, _ = load_paper(PAPERS / entry.paper)
            known = {claim.id for claim in claims.claims} | {erratum.id for erratum in errata.errata}
            named = re.findall(r"\{([^:}]+)(?::[^}]*)?\}", entry.title + entry.text)
            assert {*named, *entry.claims} - {"ratios", "setting"} <= known
        assert (PAPERS.parents[2] / entry.page).exists(), entry.page
