from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from dpregret.paper_figs.claims_files import ClaimsError, load_claims, load_errata
from dpregret.paper_figs.planted import make_claim

CLAIM = {
    "id": "thm3-T", "source": "s", "statement": "t", "learner": "l", "variant": "v", "experiment": "e",
    "stream": "n", "parameter": "horizon", "predicted": {"power": 1.0},
}  # fmt: skip
ROW = {
    "id": "r", "label": "r", "group": "g", "learner": "l", "variant": "v", "privacy": "p", "neighbouring": "n",
    "window": "w", "operation": "o", "bound_text": "b", "bound_latex": "b", "exponents": {"horizon": "thm3-T"},
}  # fmt: skip


def write(folder: Path, claim: dict[str, object], row: dict[str, object] | None = None) -> Path:
    table = {"caption": "c", "reference": {"experiment": "e", "stream": "n"}, "rows": [{**ROW, **(row or {})}]}
    path = folder / "claims.yaml"
    path.write_text(yaml.safe_dump({"paper": "p", "title": "t", "claims": [{**CLAIM, **claim}], "tables": [table]}))
    return path


def test_a_plain_number_of_rounds_is_accepted(tmp_path: Path) -> None:
    claims = load_claims(write(tmp_path, {"asymptotic_from": 512}))
    assert claims.claims[0].asymptotic_from.rounds == 512


@pytest.mark.parametrize(
    ("claim", "parts"),
    [
        ({"toll": 0.2}, ["claim 'thm3-T'", "unknown key 'toll'", "allowed: id, source", "nearest: 'tol'"]),
        ({"predicted": {"power": 1, "log": 2}}, ["'thm3-T'", "'log'", "power, log_power", "nearest: 'log_power'"]),
        ({"predicted": {"power": "x"}}, ["'thm3-T'", "predicted.power", "number"]),
        ({"parameter": "time"}, ["'thm3-T'", "parameter", "'horizon', 'samples', 'dimension'"]),
        ({"tol": 0.2}, ["'thm3-T'", "tol_reason"]),
        ({"response": "overhead"}, ["'thm3-T'", "needs twin"]),
        ({"kind": "below"}, ["'thm3-T'", "takes no predicted"]),
        ({"predicted": None}, ["'thm3-T'", "needs predicted"]),
        ({"predicted": {"power": 0}, "response": "log_slope"}, ["constant law"]),
        ({"predicted": {"power": 1, "log_power": 1}, "parameter": "window"}, ["log_power exists"]),
    ],
)
def test_bad_claims_are_refused_in_one_line(tmp_path: Path, claim: dict[str, object], parts: list[str]) -> None:
    path = write(tmp_path, claim)
    with pytest.raises(ClaimsError) as refusal:
        load_claims(path)
    message = str(refusal.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_dangling_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ClaimsError, match="unknown claim 'thm3-t'; nearest: 'thm3-T'"):
        load_claims(write(tmp_path, {}, {"exponents": {"horizon": "thm3-t"}}))
    claims = load_claims(write(tmp_path, {"errata": ["L19"]}))
    errata = tmp_path / "errata.yaml"
    erratum = {"id": "L1", "place": "p", "printed": "q", "right": "r", "why": "w", "experiment": None, "reason": "x"}
    errata.write_text(yaml.safe_dump({"paper": "p", "errata": [erratum]}))
    with pytest.raises(ClaimsError, match="no erratum 'L19', named by 'thm3-T'"):
        load_errata(errata, claims)
    errata.write_text(yaml.safe_dump({"paper": "p", "errata": [erratum, erratum]}))
    with pytest.raises(ClaimsError, match="erratum 'L1' occurs twice"):
        load_errata(errata)
    errata.write_text(yaml.safe_dump({"paper": "p", "errata": [{**erratum, "reason": ""}]}))
    with pytest.raises(ClaimsError, match="erratum 'L1': an erratum without experiment needs reason"):
        load_errata(errata)
    errata.write_text("a: [")
    with pytest.raises(ClaimsError, match="not YAML"):
        load_errata(errata)


def test_shipped_claims_and_errata_agree(repository: Path) -> None:
    claims = load_claims(repository / "workflows/claims/lou_cheung_2020.yaml")
    errata = load_errata(repository / "workflows/errata/lou_cheung_2020.yaml", claims)
    assert [erratum.id for erratum in errata.errata] == [f"L{number}" for number in range(1, 19)]
    tested = {name for row in claims.rows for name in row.claim_ids()}
    assert {"thm3-T", "thm4-d", "thm6-W", "thm7-eps", "pftal-T-corrected", "alg1-printed-gamma"} <= tested
    sources = " ".join(claim.source for claim in claims.claims)
    for theorem in (1, 2, 3, 4, 5, 6, 7):
        assert f"Theorem {theorem}" in sources


def test_worst_case_claims_of_powers_name_a_tolerance() -> None:
    assert make_claim().tol == 0.1
    assert make_claim(tol=0.2, tol_reason="short grid").tol == 0.2
