import csv
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpregret.paper_figs.judge.claims import Claim, ClaimsError
from dpregret.paper_figs.judge.read_claims import cited_claims, load_claims, load_errata, load_paper
from dpregret.paper_figs.judge.vocabulary import parse, sentence

ROOT = Path(__file__).resolve().parents[2]
PAPERS, REFERENCE = ROOT / "workflows" / "papers", ROOT / "results" / "reference"
SETTING = {"experiment": "e", "stream": "n", "parameter": "horizon"}
CLAIM = {"id": "thm3-T", "at": "T", "source": "s", "says": "t", "learner": "l.v", "rate": "T"}
ROW = {
    "id": "r", "label": "r", "group": "g", "learner": "l.v", "privacy": "p", "neighbouring": "n", "window": "w",
    "operation": "o", "bound_text": "b", "exponents": {"horizon": "thm3-T"},
}  # fmt: skip
ERRATUM = {
    "id": "L1", "kind": "loose", "place": "p", "printed": "q", "right": "r", "why": "w", "experiment": None,
    "reason": "x",
}  # fmt: skip


def write(folder: Path, claims: list[dict[str, Any]], rows: list[dict[str, Any]] | None = None, **more: Any) -> Path:
    table = {"caption": "c", "reference": {"experiment": "e", "stream": "n"}, "rows": [ROW] if rows is None else rows}
    content = {"title": "t", "settings": {"T": SETTING}, "claims": claims, "tables": [table], **more}
    path = folder / "claims.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def said(path: Path) -> str:
    with pytest.raises(ClaimsError) as refusal:
        load_paper(path.parent)
    (line,) = refusal.value.problems
    return line


def line_of(path: Path, text: str) -> int:
    """The first line that holds a text, after the settings if it can be."""
    lines = path.read_text().splitlines()
    later = lines.index("claims:")
    found = [number for number, line in enumerate(lines, 1) if text in line]
    return next((number for number in found if number > later), found[0])


def test_a_paper_is_named_by_its_folder(tmp_path: Path) -> None:
    path = write(tmp_path, [CLAIM])
    assert load_claims(path).paper == tmp_path.name
    path.write_text(f"paper: lou_2020\n{path.read_text()}")
    assert said(path).startswith(f"{path}:1: paper: ")


def test_a_claim_has_the_keys_of_its_setting_and_the_last_word(tmp_path: Path) -> None:
    settings = {"T": SETTING, "W": {**SETTING, "parameter": "dimension", "where": {"window": 1}, "scope": "instance"}}
    claims = [CLAIM, {**CLAIM, "id": "d", "at": "W", "rate": "d", "stream": "m"}]
    first, second = load_claims(write(tmp_path, claims, settings=settings)).claims
    assert (first.parameter, first.stream, first.where, first.scope) == ("horizon", "n", {}, "worst-case")
    assert (second.parameter, second.stream) == ("dimension", "m")
    assert (second.where, second.scope) == ({"window": 1}, "instance")


def test_a_row_has_the_keys_of_its_guarantee_and_the_last_word(tmp_path: Path) -> None:
    own = {key: ROW[key] for key in ("id", "label", "group", "learner")}
    shared = {key: ROW[key] for key in ("privacy", "neighbouring", "window", "operation", "bound_text")}
    rows = [{**own, "at": "g"}, {**own, "id": "s", "at": "g", "window": "T", "knows": "T"}]
    first, second = load_claims(write(tmp_path, [CLAIM], rows, guarantees={"g": shared})).rows
    assert (first.privacy, first.window, first.knows, first.bound_latex, first.variant) == ("p", "w", "", "b", "v")
    assert (second.privacy, second.window, second.knows) == ("p", "T", "T")
    path = write(tmp_path, [CLAIM], [{**own, "at": "h"}], guarantees={"g": shared})
    assert said(path).startswith(f"{path}:{line_of(path, 'at: h')}: tables[0].rows[r].at: unknown guarantee 'h'")


@pytest.mark.parametrize("text", ["  - claims: []\n", "  - <<: {id: a}\n", "  - id: a\n    stream:\n"])
def test_nothing_else_is_inherited_and_nothing_is_taken_away(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, [CLAIM])
    path.write_text(path.read_text().replace("claims:\n", f"claims:\n{text}"))
    with pytest.raises(ClaimsError):
        load_claims(path)


def test_the_only_row_of_a_learner_shows_the_claims_of_its_learner(tmp_path: Path) -> None:
    bare = {key: value for key, value in ROW.items() if key != "exponents"}
    by_d = {"parameter": "dimension", "rate": "d"}
    changes: dict[str, dict[str, Any]] = {
        "first": {}, "second": {}, "noise": {**by_d, "response": "noise"}, "d": {**by_d, "response": "log_slope"},
        "other": {"learner": "l.w"},
    }  # fmt: skip
    claims = [{**CLAIM, "id": name, **each} for name, each in changes.items()]

    def shown(*rows: dict[str, Any]) -> list[tuple[dict[str, str], tuple[str, ...]]]:
        found = load_claims(write(tmp_path, claims, list(rows))).rows
        return [({str(key): name for key, name in row.exponents.items()}, row.also) for row in found]

    assert shown(bare) == [({"horizon": "first", "dimension": "d"}, ("second", "noise"))]
    own = {"exponents": {"horizon": "second"}, "also": []}
    assert shown({**bare, **own}) == [({"horizon": "second"}, ())]
    assert shown(bare, {**bare, "id": "s"}) == [({}, ())] * 2


# what a claim has (...: not this key), the text on whose line the mistake stands, and the key that is named
MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    ({"toll": 0.2}, "toll:", "toll"),
    ({"rate": "T^^2"}, "rate:", "rate"),
    ({"rate": {"power": 1}}, "rate:", "rate"),
    ({"rate": "T ln n"}, "rate:", "rate"),
    ({"rate": "d"}, "id:", ""),
    ({"rate": None}, "rate:", "rate"),
    ({"at": "t"}, "at:", "at"),
    ({"learner": "l"}, "id:", ""),
    ({"parameter": "hrizon"}, "parameter:", "parameter"),
    ({"tol": "x"}, "tol:", "tol"),
    ({"tol": 0.2}, "id:", ""),
    ({"errata": "L1"}, "errata:", "errata"),
    ({"errata": ["L2"]}, "- L2", "errata[0]"),
    ({"provenance": "guessed"}, "provenance:", "provenance"),
    ({"from": {"round": 1}}, "round:", "from.round"),
    ({"where": {"window": [1]}}, "window:", "where.window"),
    ({"response": "overhead"}, "id:", ""),
    ({"type": "below"}, "id:", ""),
    ({"rate": "1", "response": "log_slope"}, "id:", ""),
    ({"response": "excess"}, "id:", ""),
    ({"parameter": "samples", "rate": "n"}, "id:", ""),
    ({"parameter": "samples", "rate": "n ln(2p)", "response": "excess"}, "id:", ""),
    ({"parameter": "dimension", "rate": ..., "type": "linear"}, "id:", ""),
    ({"parameter": "delta", "rate": "(ln 1/beta)"}, "id:", ""),
    ({"parameter": "delta", "rate": "ln(d/beta)"}, "id:", ""),
    ({"parameter": "beta", "rate": "(ln 1/beta)", "bound": "explicit"}, "id:", ""),
    ({"parameter": "dimension", "rate": "d A_W"}, "id:", ""),
    *(
        ({"rate": ..., "type": "below", "side": side, "response": response}, "id:", "")
        for side, response in (("lower", "regret"), ("upper", "noise"))
    ),
]


@pytest.mark.parametrize(("changes", "text", "key"), MISTAKES)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, changes: dict[str, Any], text: str, key: str) -> None:
    path = write(tmp_path, [{key: each for key, each in {**CLAIM, **changes}.items() if each is not ...}])
    (tmp_path / "errata.yaml").write_text(yaml.safe_dump({"errata": [ERRATUM]}))
    named = f"claims[thm3-T].{key}".rstrip(".")
    assert said(path).startswith(f"{path}:{line_of(path, text)}: {named}: ")


HOSTILE = (
    "../../../X", "/etc/x", "a/b", "..", ".", ".hidden", "-option", "a b", "a\nb", "a\0b", "a\x1b[2J", "é", "",
    "a" * 300, "<b>", "a|b", "`x`", "$(x)", "con:", "a\\b",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_can_become_another_path(tmp_path: Path, name: str) -> None:
    """An id is a file's name in `dpregret check`; a row's and an erratum's are anchors."""

    def refused(key: str) -> bool:
        with pytest.raises(ClaimsError) as refusal:
            load_paper(tmp_path)
        return any(f".{key}: " in line for line in refusal.value.problems)

    for key in ("id", "experiment", "stream"):
        write(tmp_path, [{**CLAIM, key: name}], rows=[{**ROW, "exponents": {}}])
        assert refused(key)
    for key in ("id", "learner", "variant"):
        write(tmp_path, [CLAIM], rows=[{**ROW, "variant": "v", "learner": "l", key: name}])
        assert refused(key)
    write(tmp_path, [CLAIM])
    (tmp_path / "errata.yaml").write_text(yaml.safe_dump({"errata": [{**ERRATUM, "id": name}]}))
    assert refused("id")


@pytest.mark.parametrize(("key", "value"), [("steam", "n"), ("parameter", "time")])
def test_what_is_inherited_is_pointed_at_where_it_stands(tmp_path: Path, key: str, value: str) -> None:
    path = write(tmp_path, [CLAIM], settings={"T": {**SETTING, key: value}})
    assert said(path).startswith(f"{path}:{line_of(path, key)}: settings.T.{key}: ")


def test_names_that_lead_nowhere_and_names_that_stand_twice_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, [CLAIM], [{**ROW, "exponents": {"horizon": "thm3-t"}}])
    assert f"{line_of(path, 'exponents')}: tables[0].rows[r].exponents: unknown claim 'thm3-t'; did you" in said(path)
    path = write(tmp_path, [{**CLAIM, "source": "x"}, CLAIM])
    assert said(path).endswith(f"first at {path}:{line_of(path, 'id: thm3-T')}")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (yaml.safe_dump({"errata": [ERRATUM, {**ERRATUM}]}), r"11: errata\[L1\]\.id"),
        (yaml.safe_dump({"errata": [{**ERRATUM, "reason": ""}]}), r"2: errata\[L1\]"),
        ("a: ]", "1"),
    ],
)
def test_a_mistake_of_an_errata_file_has_its_place(tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "errata.yaml").write_text(text)
    with pytest.raises(ClaimsError, match=rf"^[^\n]*errata\.yaml:{place}: [^\n]*$"):
        load_errata(tmp_path / "errata.yaml")


def test_claims_that_a_text_cites_must_exist(tmp_path: Path) -> None:
    path = write(tmp_path, [CLAIM, {**CLAIM, "id": "thm3-d"}])
    errata = tmp_path / "errata.yaml"
    good = "claims thm3-T, `thm3-d` and thm3-T show it; what they claim is right, and claims of others, or of T^2, too"
    errata.write_text(yaml.safe_dump({"errata": [{**ERRATUM, "reason": good}]}))
    assert cited_claims(good) == ["thm3-T", "thm3-d", "thm3-T"]
    load_paper(tmp_path)
    for key, text in (("reason", "claims thm3-T and thm3-W show it"), ("why", "see claim thm3-W.")):
        errata.write_text(yaml.safe_dump({"errata": [{**ERRATUM, key: text}]}, sort_keys=False))
        place = next(number for number, line in enumerate(errata.read_text().splitlines(), 1) if f"{key}:" in line)
        assert re.match(rf"{errata}:{place}: errata\[L1\]\.{key}: .*'thm3-W'", said(path))
    errata.unlink()
    path = write(tmp_path, [{**CLAIM, "check": "the same sweep as claim thm3-x"}])
    assert re.search(r"claims\[thm3-T\]\.check: .*'thm3-x'", said(path))


def test_what_a_paper_states_inherits_the_provenance_of_its_text(tmp_path: Path) -> None:
    claims = [CLAIM, {**CLAIM, "id": "c", "provenance": "printed"}, {"origin": "derived"}, {**CLAIM, "id": "b"}]
    found = load_claims(write(tmp_path, claims, provenance="reconstructed")).claims
    assert [claim.provenance for claim in found] == ["reconstructed", "printed", "printed"]


def test_a_heading_gives_its_origin_to_the_claims_below_it(tmp_path: Path) -> None:
    claims = [CLAIM, {"origin": "derived"}, {**CLAIM, "id": "b"}, {**CLAIM, "id": "c"}, {"origin": "paper"}]
    path = write(tmp_path, [*claims, {**CLAIM, "id": "d", "toll": 1}])
    assert said(path).startswith(f"{path}:{line_of(path, 'toll')}: claims[d].toll: ")  # headings are no claims
    found = load_claims(write(tmp_path, [*claims, {**CLAIM, "id": "d"}])).claims
    assert [(claim.id, claim.origin) for claim in found] == [
        ("thm3-T", "paper"), ("b", "derived"), ("c", "derived"), ("d", "paper"),
    ]  # fmt: skip
    path = write(tmp_path, [{"origin": "derive"}, CLAIM, {**CLAIM, "id": "b"}])
    assert said(path).startswith(f"{path}:{line_of(path, 'origin:')}: claims[0].origin: unknown word ")


def test_a_heading_gives_its_source_to_the_claims_that_name_none(tmp_path: Path) -> None:
    bare = {key: value for key, value in CLAIM.items() if key != "source"}
    claims = [{"source": "Theorem 2"}, bare, {**CLAIM, "id": "b"}, {"origin": "derived"}, {**bare, "id": "c"}]
    claims += [{"origin": "paper", "source": "Theorem 3"}, {**bare, "id": "d"}]
    found = load_claims(write(tmp_path, claims)).claims
    assert [(claim.id, claim.origin, claim.source) for claim in found] == [
        ("thm3-T", "paper", "Theorem 2"), ("b", "paper", CLAIM["source"]), ("c", "derived", "Theorem 2"),
        ("d", "paper", "Theorem 3"),
    ]  # fmt: skip
    path = write(tmp_path, [{"source": 3}, bare])
    assert said(path).startswith(f"{path}:{line_of(path, 'source:')}: claims[0].source: ")
    assert ".source: this key is missing" in said(write(tmp_path, [bare]))
    assert "unknown heading 'sources'" in said(write(tmp_path, [{"sources": "Theorem 2"}, CLAIM]))


def test_a_heading_gives_its_sentence_to_the_claims_next_to_it(tmp_path: Path) -> None:
    """It ends at a claim with a sentence of its own, and at any heading."""
    bare = {key: value for key, value in CLAIM.items() if key != "says"}
    claims = [{"source": "s", "says": "it grows"}, bare, {**bare, "id": "b"}, {**CLAIM, "id": "c"}]
    found = load_claims(write(tmp_path, claims)).claims
    assert [claim.statement for claim in found] == ["it grows", "it grows", CLAIM["says"]]
    for ended in ([], [{"origin": "derived"}]):
        path = write(tmp_path, [*(claims[:3] if ended else claims), *ended, {**bare, "id": "d"}])
        assert load_claims(path).claims[-1].statement == "regret grows like T"


def test_a_sentence_follows_from_the_rate_and_is_missing_where_there_is_none(tmp_path: Path) -> None:
    bare = {key: value for key, value in CLAIM.items() if key not in ("says", "rate")}
    assert ".says: this key is missing" in said(write(tmp_path, [{**bare, "type": "linear"}]))
    for response, parameter, rate, words in (
        ("log_slope", "dimension", "d^0.5", "regret grows like sqrt(d)"),
        ("excess", "samples", "n^-2 ln n", "excess risk falls like ln n / n^2"),
        ("excess", "samples", "n^(-2/3) ln(2np)", "excess risk falls like ln(2np) / n^(2/3)"),
        ("excess", "dimension", "p^0.25 log2(p)^0.5", "excess risk grows like p^(1/4) ln(p)^0.5"),
        ("regret", "experts", "(log2 d)^1.5", "regret grows like (ln d)^1.5"),
        ("overhead", "epsilon", "eps^(-2/3)", "the cost of privacy grows like 1 / eps^(2/3)"),
        ("regret", "delta", "(ln 1/delta)^0.5", "regret grows like sqrt(ln(1/delta))"),
        ("noise", "window", "(log2 W + 1)^0.5 A_W", "the noise grows like sqrt(log2 W + 1) A_W"),
        ("noise", "mu", "mu_gdp^-1", "the noise is inversely proportional to the Gaussian DP parameter"),
        ("regret", "horizon", "1", "regret does not grow with T"),
        ("regret", "horizon", "T^0.75 ln(T)^2", "regret grows like T^(3/4) ln(T)^2"),
    ):
        assert sentence(response, parameter, parse(rate)) == words
    assert sentence("noise", "window", parse("(log2 W + 1)"), "lower") == "the noise grows at least like (log2 W + 1)"


def test_rows_and_figures_take_what_their_experiment_and_privacy_imply(tmp_path: Path) -> None:
    (tmp_path / "experiments.yaml").write_text("experiments: {e: {sweep: dimension, streams: [n]}}\n")
    own = {key: ROW[key] for key in ("id", "label", "operation", "bound_text")}
    row = {**own, "learner": "l.printed-noise", "privacy": "window eps-DP", "reference": {"experiment": "e"}}
    path = write(tmp_path, [CLAIM], [row, {**own, "id": "s", "group": "g", "learner": "l.v"}])
    path.write_text(
        f"{path.read_text()}figures:\n- {{type: exponent, experiment: e}}\n- {{type: regret, experiment: e}}\n"
    )
    loaded = load_claims(path)
    first, second = loaded.rows
    assert (first.group, first.neighbouring, first.window) == ("printed noise", "replace one loss", "W")
    assert first.reference is not None
    assert first.reference.stream == "n"
    assert (second.group, second.neighbouring, second.window) == ("g", "-", "-")
    assert [figure.parameter for figure in loaded.figures] == ["dimension", None]


def test_a_bound_that_a_comma_cut_off_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, [CLAIM], [{**ROW, "bound_text": "O(sqrt(T) max(1"}])
    assert "rows[r].bound_text: 'O(sqrt(T) max(1' has an open bracket" in said(path)


def test_the_only_risk_of_an_experiment_need_not_be_repeated(tmp_path: Path) -> None:
    bare = {key: value for key, value in CLAIM.items() if key not in ("experiment", "stream", "parameter")}
    experiments = {"defaults": {"risks": ["lasso-easy"]}, "experiments": {"e": {"sweep": "samples"}}}
    (tmp_path / "experiments.yaml").write_text(yaml.safe_dump(experiments))
    (claim,) = load_claims(write(tmp_path, [{**bare, "at": "e", "response": "excess", "rate": "n"}])).claims
    assert (claim.experiment, claim.stream, claim.parameter) == ("e", "lasso-easy", "samples")


def test_a_reason_of_one_word_is_one_of_the_files_reasons(tmp_path: Path) -> None:
    claims = [{**CLAIM, "check": "stream"}, {**CLAIM, "id": "b", "check": "in full words"}]
    found = load_claims(write(tmp_path, claims, reasons={"stream": "the stream dictates it"})).claims
    assert [claim.check for claim in found] == ["the stream dictates it", "in full words"]
    path = write(tmp_path, [{**CLAIM, "check": "steam"}], reasons={"stream": "the stream dictates it"})
    assert said(path).startswith(f"{path}:{line_of(path, 'check:')}: claims[thm3-T].check: unknown reason 'steam'")


def test_a_claim_has_no_origin_of_its_own_and_no_bound_that_its_type_implies(tmp_path: Path) -> None:
    path = write(tmp_path, [{**CLAIM, "origin": "derived"}])
    where = f"{path}:{line_of(path, 'origin:')}: claims[thm3-T].origin: "
    assert said(path) == f"{where}is a heading above the claims: - origin: derived"
    below = {key: value for key, value in CLAIM.items() if key != "rate"} | {"type": "below", "bound": "explicit"}
    assert ".bound: type below implies it: leave this key out" in said(write(tmp_path, [below]))


def test_a_mistake_in_print_names_the_texts_in_which_it_was_read(tmp_path: Path) -> None:
    """A file's texts are named once; only a printed mistake needs one, and none may be named that is not there."""
    path, texts = tmp_path / "errata.yaml", {"a": "the paper", "b": "a copy"}

    def refused(changes: dict[str, Any]) -> str:
        erratum = {**ERRATUM, "kind": "mistake", "of": "step", **changes}
        path.write_text(yaml.safe_dump({"texts": texts, "errata": [erratum]}))
        try:
            load_errata(path)
        except ClaimsError as refusal:
            return str(refusal)
        return ""

    assert "needs read_in" in refused({})
    assert not refused({"read_in": "a"})
    assert not refused({"read_in": ["a", "b"]})
    assert not refused({"provenance": "reconstructed"})
    assert not refused({"kind": "convention", "of": None})
    assert "kind convention takes no of" in refused({"kind": "convention"})
    assert "needs of: statement, step or slip" in refused({"read_in": "a", "of": None})
    assert re.search(r"errata\.yaml:\d+: errata\[L1\]\.read_in: .*'c'", refused({"read_in": "c"}))


def test_proofs_that_nobody_read_are_called_ours() -> None:
    """The proofs of Lou & Cheung are in a supplement that is not among the texts."""
    texts, errata = load_paper(PAPERS / "lou_cheung_2020")[:2]
    assert all("supplement" in text for text in errata.texts.values())
    said_there = [*(f"{claim.source} {claim.statement} {claim.check}" for claim in texts.claims)]
    said_there += [f"{each.printed} {each.right} {each.why} {each.reason}" for each in errata.errata]
    for text in said_there:
        rest = re.sub("a proof of ours|A proof of ours|the supplement with the paper's proofs", "", text, flags=re.I)
        assert not re.search(r"\bproofs?\b", rest), text


def committed() -> Iterator[tuple[Claim, dict[str, str | None], dict[str, str]]]:
    """Lines that are claims, with the mistakes in print of their paper, id -> class, and their committed rows."""
    for path in sorted(PAPERS.glob("*/claims.yaml")):
        texts, errata = load_paper(path.parent)[:2]
        mistakes = {erratum.id: erratum.of for erratum in errata.errata if erratum.printed_mistake}
        with (REFERENCE / path.parent.name / "claims.csv").open(encoding="utf-8") as file:
            rows = {row["claim"]: {**row, "paper": path.parent.name} for row in csv.DictReader(file)}
        for claim in texts.claims:
            if claim.kind == "claim" and claim.id in rows:
                yield claim, mistakes, rows[claim.id]


def test_a_violated_statement_of_a_paper_has_a_mistake_in_print() -> None:
    found = [(claim, mistakes) for claim, mistakes, row in committed() if row["verdict"] == "violated"]
    assert found
    for claim, mistakes in found:
        if (claim.origin, claim.provenance) == ("paper", "printed"):
            assert "statement" in map(mistakes.get, claim.errata), claim.id
            assert claim.type != "private" or claim.exact, "an accounting of inner noise refutes no released point"


def test_what_a_formula_dictates_is_a_check() -> None:
    """Exact responses whose local slopes fall like 1/T differ from their law by a constant, whatever is played."""
    for claim, _, row in committed():
        slopes = [float(slope) for slope in row["local_slopes"].split(";") if slope]
        if claim.parameter != "horizon" or len(slopes) < 3 or min(map(abs, slopes)) < 1e-4:
            continue
        sizes = [float(size) for size in row["cells_used"].split(";")]
        steps = [after / before for before, after in pairwise(sizes)]
        falls = [
            abs(after / before * step - 1) < 0.05
            for (before, after), step in zip(pairwise(slopes), steps[1:], strict=True)
        ]
        length = float(row["normalised_high"]) - float(row["normalised_low"])
        assert not (all(falls) and length < 0.01 * claim.tol), claim.id


def test_rates_that_an_instance_computes_are_checks() -> None:
    """Without chance a rate is no finding where the slope follows the law to a hundredth of the tolerance, nor on
    nested halving and blocks of equal losses, where the regret is a known function of a step that a formula sets."""
    formulas = ("printed", "printed-pure", "balanced")
    for claim, _, row in committed():
        slopes = [abs(float(slope)) for slope in row["local_slopes"].split(";") if slope]
        if not slopes or claim.type not in ("exponent", "linear"):
            continue
        length = float(row["normalised_high"]) - float(row["normalised_low"])
        assert max(*slopes, length) > 0.01 * claim.tol, claim.id
        known = row["stream"] == "halving" or (row["stream"] == "turns" and claim.origin != "paper")
        if row["interval_over"] == "cells" and known and claim.response == "regret":
            assert claim.variant not in formulas, claim.id


def test_a_ledger_held_against_the_budget_that_it_was_built_for_is_a_check() -> None:
    for paper in sorted(path.parent.name for path in PAPERS.glob("*/claims.yaml")):
        with (REFERENCE / paper / "jobs.csv").open(encoding="utf-8") as file:
            delivered = {
                (row["experiment"], row["learner"], row["variant"]): float(row["delivered"] or "nan")
                for row in csv.DictReader(file)
            }
        for claim in load_claims(PAPERS / paper / "claims.yaml").claims:
            if claim.type == "private" and claim.kind == "claim" and not claim.exact:
                spent = delivered[claim.experiment, claim.learner, claim.variant]
                assert abs(spent - 1) > 1e-6, claim.id


def test_no_two_decided_claims_are_one_measurement() -> None:
    """The same fit under two laws is a claim and a check; an upper and a lower side are two statements."""
    keys = ("paper", "experiment", "learner", "variant", "stream", "parameter", "response", "fitted", "cells_used")
    decided = Counter(
        (claim.origin, claim.side, *(row[key] for key in keys))
        for claim, _, row in committed()
        if row["fitted"] and row["verdict"] != "inconclusive"
    )
    assert [key for key, count in decided.items() if count > 1] == []


@pytest.mark.parametrize(("key", "right", "wrong", "told"), [
    ("learner", "learner: l.v", "lerner: l.v", "claims[thm3-T].lerner: unknown key; did you mean 'learner'?"),
    ("says", "says: t", "say: t", "claims[thm3-T].say: unknown key; did you mean 'says'?"),
    ("source", "origin: derived", "{origin: derived, sorce: s}", "unknown heading 'sorce'; did you mean 'source'?"),
    ("origin", "origin: derived", "origins: derived", "unknown heading 'origins'; did you mean 'origin'?"),
    ("settings", "settings:", "setings:", "setings: unknown key; did you mean 'settings'?"),
    ("experiment", "experiment: e\n", "experiment: f\n", "unknown experiment 'f', allowed: e"),
])  # fmt: skip
def test_a_typo_is_one_line(tmp_path: Path, key: str, right: str, wrong: str, told: str) -> None:
    """Not a line for what the word would have filled in, too."""
    experiments = {"experiments": {"e": {"streams": ["n"], "sweep": "horizon"}}}
    (tmp_path / "experiments.yaml").write_text(yaml.safe_dump(experiments))
    claims = [CLAIM, {"origin": "derived"}, {**CLAIM, "id": "b"}]
    path = write(tmp_path, claims, settings={"T": {"experiment": "e"}})
    load_claims(path)
    text = path.read_text()
    assert right in text, key
    path.write_text(text.replace(right, wrong, 1))
    assert told in said(path)


def test_an_erratum_has_its_name_alone_in_all_papers() -> None:
    counted = Counter(each.id for file in PAPERS.glob("*/errata.yaml") for each in load_errata(file)[0].errata)
    assert [name for name, times in counted.items() if times > 1] == []
