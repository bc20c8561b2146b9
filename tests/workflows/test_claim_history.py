"""What changed in how a claim is judged, read from the texts of two commits."""

from __future__ import annotations

import shutil

import pytest

from dpregret.paper_figs.judge.claims import CHANGES, ClaimsError, load_changes
from dpregret.workflows.plan.read import PAPERS
from dpregret.workflows.run import claim_history

CLAIMS = """\
settings: {here: {experiment: sweep, stream: s, parameter: horizon}}
claims:
- {id: a, at: here, learner: l.v, says: one, rate: T}
- {id: b, at: here, learner: l.v, says: two, rate: T^0.5, tol: 0.2}
"""
GRID = (
    "defaults: {runs: 16}\nexperiments: {base: {horizon: 2^8..2^10}, sweep: {like: base, title: x, learners: {l: [v]}}}"
)


def facts(claims: str, grid: str) -> dict[str, dict[str, object]]:
    grids = claim_history._experiments(grid, "p")
    return {
        name: {
            **{key: claim.get(key) for key in ("learner", *claim_history.CLAIM_KEYS)},
            "grid": grids[claim["experiment"]],
        }
        for name, claim in claim_history._claims(claims).items()
    }


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("says: one", "says: three", {}),
        ("tol: 0.2", "tol: 0.3", {"b": ["tolerance"]}),
        ("rate: T}", "rate: T ln T}", {"a": ["law"]}),
        ("stream: s", "stream: t", {"a": ["stream"], "b": ["stream"]}),
        ("2^8..2^10", "[256, 512, 1024.0]", {}),
        ("2^8..2^10", "2^8..2^11", {"a": ["horizon"], "b": ["horizon"]}),
        ("runs: 16", "runs: 32", {"a": ["runs"], "b": ["runs"]}),
        ("learners: {l: [v]}", "learners: {l: [v], m: [w]}", {}),
        ("sweep", "renamed", {}),
    ],
)
def test_only_what_a_claim_is_judged_by_counts(old: str, new: str, changed: dict[str, list[str]]) -> None:
    before, now = facts(CLAIMS, GRID), facts(CLAIMS.replace(old, new), GRID.replace(old, new))
    found = {claim: claim_history._differences(before[claim], now[claim]) for claim in before}
    assert {claim: what for claim, what in found.items() if what} == changed


def test_a_merge_changes_what_differs_from_each_parent() -> None:
    ours, theirs = facts(CLAIMS, GRID), facts(CLAIMS.replace("tol: 0.2", "tol: 0.3"), GRID)
    assert claim_history.changes([ours], theirs) == {"b": ["tolerance"]}
    assert claim_history.changes([ours, theirs], theirs) == {}
    assert claim_history.changes([ours, ours], theirs) == {"b": ["tolerance"]}
    assert claim_history.changes([ours], facts(CLAIMS, GRID.replace("runs: 16", "runs: 32"))) == {}  # all of them


def test_a_new_id_is_found_where_nothing_else_changed() -> None:
    before = facts(CLAIMS, GRID)
    assert claim_history.renamed(before, facts(CLAIMS.replace("id: b", "id: c"), GRID)) == {"b": "c"}
    assert claim_history.renamed(before, facts(CLAIMS.replace("id: b", "id: c").replace("0.2", "0.3"), GRID)) == {}
    assert claim_history.renamed(before, before) == {}


def test_a_file_of_another_form_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("paper")
    assert load_changes(folder) == {}
    (folder / CHANGES).write_text("a-b: [{commit: x}]\n")
    with pytest.raises(ClaimsError, match="write it again"):
        load_changes(folder)
    shutil.copy(PAPERS / "prefix_sums" / CHANGES, folder)
    assert all("(2026-" in text for each in load_changes(folder).values() for text in each)
