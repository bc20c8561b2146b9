"""A misspelt name in claims, tables, figures or errata is one line with the nearest one, before anything starts."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpregret.paper_figs.judge.claims import CHANGES, ClaimsError, load_changes
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.cross_references import check_mentions, read_texts
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.read import PAPERS, PROFILES, papers

FULL = load_config(PROFILES / "full.yaml", check=False)
CLAIM = {
    "id": "c", "source": "Theorem 1", "says": "grows", "rate": "ln T", "learner": "ftal.plain", "stream": "norm-kink",
    "experiment": "horizon", "parameter": "horizon",
}  # fmt: skip
ROW = {
    "id": "r", "label": "r", "group": "g", "learner": "ftal.plain", "privacy": "p", "neighbouring": "n",
    "operation": "o", "bound_text": "b", "also": ["c"],
}  # fmt: skip
ERRATUM = {
    "id": "e", "kind": "mistake", "place": "p", "printed": "x", "right": "y", "why": "z", "experiment": "errata",
    "measure": {"learner": "wdp-cocop-gamma", "variant": "printed", "against": "corrected", "stream": "norm-kink",
                "quantity": "regret_ratio"},
}  # fmt: skip
WINDOW = {"experiment": "window", "learner": "wdp-cocop-gamma.corrected"}


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., list[str]]:
    """Problems of a paper of one claim, table row, figure, gain and erratum, some keys changed."""

    def problems(part: str, changes: dict[str, Any]) -> list[str]:
        reference = {"experiment": "typical", "stream": "norm-kink"}
        content: dict[str, Any] = {"claim": dict(CLAIM), "row": dict(ROW), "reference": reference, "erratum": ERRATUM}
        content |= {"figure": {"type": "regret", "experiment": "horizon"}, "exact": {"crossing": "A table."}}
        content[part] = {**content[part], **changes}
        table = {"caption": "t", "reference": content["reference"], "rows": [content["row"]]}
        claims = {"title": "t", "claims": [content["claim"]], "tables": [table], "figures": [content["figure"]]}
        (tmp_path / "claims.yaml").write_text(yaml.safe_dump({**claims, "exact": content["exact"]}, sort_keys=False))
        (tmp_path / "errata.yaml").write_text(yaml.safe_dump({"errata": [content["erratum"]]}, sort_keys=False))
        known = {name: [each] for name, each in FULL.papers["lou_cheung_2020"].experiments.items()}
        return read_texts(tmp_path, known)[1]

    return problems


@pytest.mark.parametrize(
    ("part", "changes", "key"),
    [
        ("claim", {"experiment": "horzon"}, "claims[c].experiment"),
        ("claim", {"learner": "ftal.plian"}, "claims[c].learner"),
        ("claim", {"stream": "norm-kinck"}, "claims[c].stream"),
        ("claim", {"where": {"epsilom": 8}}, "claims[c].where.epsilom"),
        ("claim", {**WINDOW, "where": {"set": "bal"}}, "claims[c].where.set"),
        ("claim", {"response": "overhead", "counterpart": "stya"}, "claims[c].counterpart"),
        ("row", {"learner": "ftal.plan"}, "tables[0].rows[r].learner"),
        ("reference", {"where": {"windows": 4}}, "tables[0].reference.where.windows"),
        ("figure", {"experiment": "horizo"}, "figures[0].experiment"),
        ("exact", {"crosing": "B."}, "exact.crosing"),
        ("erratum", {"experiment": "erata"}, "errata[e].experiment"),
        ("erratum", {"measure": {**ERRATUM["measure"], "against": "corected"}}, "errata[e].measure.against"),
    ],
)
def test_a_misspelt_name_is_one_line(told: Any, part: str, changes: dict[str, Any], key: str) -> None:
    (line,) = told(part, changes)
    place, named, _ = line.split(": ", 2)
    assert re.search(r"(claims|errata)\.yaml:\d+$", place)
    assert named == key


def test_the_untouched_texts_are_right(told: Any) -> None:
    assert told("claim", {}) == []


def small(name: str) -> Config:
    return load_config(PROFILES / f"{name}.yaml", check=False)


@pytest.mark.parametrize("profile", ["full", "ci", "quick", "smoke", "large"])
def test_what_a_smaller_profile_leaves_out_is_no_mistake(profile: str) -> None:
    config = small(profile)
    check_mentions(config)
    assert set(config.papers) <= set(papers())


def test_a_mistake_in_the_texts_of_a_paper_is_refused(tmp_path: Path) -> None:
    shutil.copytree(PAPERS, tmp_path / "papers")
    claims = tmp_path / "papers" / "lou_cheung_2020" / "claims.yaml"
    claims.write_text(claims.read_text().replace("stream: norm-kink", "stream: norm-kinck", 1))
    with pytest.raises(ClaimsError, match=r"claims\.yaml:\d+: .*stream: "):
        check_mentions(small("smoke"), tmp_path / "papers")


def test_changes_of_another_form_are_refused_by_file(tmp_path: Path) -> None:
    assert load_changes(tmp_path) == {}
    (tmp_path / CHANGES).write_text("a-b: [{commit: x}]\n")
    with pytest.raises(ClaimsError, match=CHANGES):
        load_changes(tmp_path)
    assert all("(2026-" in text for each in load_changes(PAPERS / "prefix_sums").values() for text in each)
