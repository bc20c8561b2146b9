"""Configurations: hashes, overlays, grids in short, the schema, limits; misspelt names in claims, tables and errata."""

import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from plays import small

from dpregret.core.errors import ConfigError
from dpregret.core.yaml_source import expand
from dpregret.paper_figs.judge.claims import CHANGES, ClaimsError, load_changes
from dpregret.workflows.families.online import OnlineExperiment
from dpregret.workflows.plan import checks, config
from dpregret.workflows.plan.config import Limits, given_limits
from dpregret.workflows.plan.cross_references import check_mentions, read_texts
from dpregret.workflows.plan.load import check_options, file_schema, load_config
from dpregret.workflows.plan.read import PAPERS, PROFILES, papers, short_names

Write = Callable[[Any], Path]
WHERE = "papers.lou_cheung_2020.experiments.small"


def test_numbers_in_exponent_form_are_numbers(write: Write) -> None:
    path = write(small("online"))
    path.write_text(path.read_text().replace("delta: 1.0e-06", "delta: 1e-6").replace("- 8.0", "- 8e0\n        - .inf"))
    experiment = load_config(path).experiment("lou_cheung_2020", "small")
    assert experiment.delta == 1e-6
    assert experiment.epsilon == (8.0, math.inf)


def test_hash_follows_what_decides_the_numbers_and_nothing_else(write: Write) -> None:
    def hash_of(seed: int = 7, **changes: Any) -> str:
        return load_config(write({**small("online", **changes), "seed": seed})).hash("lou_cheung_2020", "small")

    assert hash_of() == hash_of(title="Another", learners={"ftal": ["plain"]}, epsilon=[8])
    others = ({"seed": 8}, {"epsilon": [8.0, math.inf]}, {"window": ["horizon"]}, {"dimension": {"ball": [2]}})
    assert len({hash_of(**each) for each in ({}, *others)}) == 5


def test_other_options_than_profile_are_refused() -> None:
    with pytest.raises(ConfigError, match="profil"):
        check_options({"profil": "ci"})
    assert check_options({}) == PROFILES / "full.yaml"


@pytest.mark.parametrize("profile", ["ci", "quick", pytest.param("full", marks=pytest.mark.nightly)])
def test_shipped_profiles_pass_with_what_is_installed(profile: str) -> None:
    config = load_config(PROFILES / f"{profile}.yaml")
    assert config.profile == profile
    assert all(each.learners for paper in config.papers.values() for each in paper.experiments.values())


def test_schema_is_current_and_describes_what_the_file_may_hold() -> None:
    stored = json.loads((PROFILES.parent / "schemas" / "config.schema.json").read_text())
    assert stored == file_schema()
    experiment = stored["$defs"]["OnlineExperiment"]
    assert experiment["additionalProperties"] is False
    assert set(experiment["properties"]) == {each.alias or name for name, each in OnlineExperiment.model_fields.items()}


def test_an_overlay_changes_adds_and_takes_away(write: Write) -> None:
    text = """
profile: mine
extends: ci
only: [lou_cheung_2020, talwar_2015]
audit: null
defaults: {runs: 4}
papers:
  talwar_2015: {only: [gd-samples]}
  lou_cheung_2020:
    defaults: {delta: 1.0e-5}
    experiments:
      horizon: {horizon: [2^6, 2^8..2^10], runs: 8}
      window: null
      again: {title: Once more, sweep: horizon, set: ball, streams: [norm-kink], dimension: [4], horizon: 2^6..2^9,
        window: [2], epsilon: [8.0], learners: {ftal: [plain]}}
"""
    config, ci = load_config(write(text)), load_config(PROFILES / "ci.yaml")
    assert (config.audit, config.seed, set(config.papers)) == (None, ci.seed, {"lou_cheung_2020", "talwar_2015"})
    assert set(config.papers["talwar_2015"].experiments) == {"gd-samples"}
    horizon, again = (config.experiment("lou_cheung_2020", name) for name in ("horizon", "again"))
    assert (horizon.horizon, horizon.runs, horizon.delta) == ((64, 256, 512, 1024), 8, 1e-5)
    assert (again.title, again.runs, again.delta) == ("Once more", 4, 1e-5)
    assert set(config.papers["lou_cheung_2020"].experiments) == {
        *ci.papers["lou_cheung_2020"].experiments, "again"} - {"window"}  # fmt: skip
    assert {each.runs for each in config.papers["talwar_2015"].experiments.values()} == {4}


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("2^3..2^6", [8, 16, 32, 64]), ("4^0..4^2", [1, 4, 16]), ("2^-1..2^1", [0.5, 1, 2]), (["2^5", 3], [32, 3]),
        (["2^1..2^3", "horizon"], [2, 4, 8, "horizon"]), ({"ball": "2^1..2^2"}, {"ball": [2, 4]}), ("2^4", 16),
        ("a^2", "a^2"),
    ],
)  # fmt: skip
def test_grids_in_short(short: Any, full: Any) -> None:
    assert expand(short) == full


@pytest.mark.parametrize("text", ["2^5..2^3", "2^3..4^6", "2..8", "2^3...2^5", "1^2", "10^999", "2^", "..", "2^1.."])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        expand(text)


def test_papers_have_short_names_that_tell_them_apart() -> None:
    assert short_names(["asi_et_al_2023", "asi_2024", "lou_cheung_2020", "descent"]) == {
        "asi_et_al_2023": "asi_et_al_2023", "asi_2024": "asi_2024", "lou_cheung_2020": "lou_cheung",
        "descent": "descent",
    }  # fmt: skip


# What no machine can finish is refused before anything of its size is made; so are learners that raise


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"runs": 10**12}, ".runs"),
        ({"horizon": [2**38, 2**39, 2**40]}, ".horizon[0]"),
        ({"dimension": [10**9]}, ".dimension[0]"),
        ({"horizon": list(range(1, 1102))}, ".horizon"),
        ({"window": [2**k for k in range(40)], "epsilon": list(range(1, 900))}, ""),  # cells
        ({"horizon": [2**29, 2**30], "epsilon": list(range(1, 100))}, ""),  # gigabytes
        ({"runs": 10**6, "horizon": [2**28], "epsilon": list(range(1, 100))}, ""),  # hours
    ],
)
def test_what_is_too_large_is_refused_before_anything_is_made(
    write: Write, changes: dict[str, Any], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*_: object) -> None:
        raise AssertionError("something was made")

    monkeypatch.setattr(checks, "experiment_mistakes", made)
    monkeypatch.setattr(checks, "_refused_set", made)
    monkeypatch.setattr(config, "machine_gb", lambda: 64.0)
    path = write(small("online", **changes))
    with pytest.raises(ConfigError) as refusal:
        load_config(path)
    assert any(line.startswith(f"{path}:") and f": {WHERE}{key}: " in line for line in refusal.value.problems)


def test_limits_are_lifted_by_the_profile_and_by_the_command(write: Write) -> None:
    settings = small("online") | {"limits": {"runs": 2, "rounds": "2^6"}}
    with pytest.raises(ConfigError) as refusal:
        load_config(write(settings), check=False)
    assert len(refusal.value.problems) == 2
    assert load_config(write(settings), check=False, limits=given_limits("runs:3,rounds:2^7")).limits.rounds == 128
    assert load_config(write(settings), check=False, limits=given_limits("off")).limits.runs == math.inf
    assert given_limits(None) is None
    assert given_limits({"runs": "1e7"}) == Limits(runs=1e7)


@pytest.mark.parametrize(
    ("raises", "key"),
    [(OverflowError("too large"), ".learners.wdp-cocop-gamma[0]"), (SystemExit(0), ".learners.wdp-cocop-gamma[0]"),
     (MemoryError(), ""), (checks.TooMuch(), "")],
)  # fmt: skip
def test_whatever_making_a_learner_raises_is_a_refusal_with_its_key(
    write: Write, raises: BaseException, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learner(*_: object) -> None:
        raise raises

    monkeypatch.setattr(type(checks.FAMILIES["online"]), "learner", learner)
    with pytest.raises(ConfigError) as refusal:
        load_config(write(small("online")))
    assert all("\n" not in line for line in refusal.value.problems)
    assert any(f": {WHERE}{key}" in line for line in refusal.value.problems)


def endless() -> None:
    with checks.guard(Limits(check_seconds=0.05)):
        while True:
            pass


def test_endless_and_greedy_making_is_ended() -> None:
    with pytest.raises(checks.TooMuch):
        endless()
    with pytest.raises(MemoryError), checks.guard(Limits(check_gb=0.25)):
        bytearray(2**29)
    assert len(bytearray(2**29)) == 2**29, "the bound is gone"


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


@pytest.mark.parametrize("profile", ["full", "ci", "quick", "smoke", "large"])
def test_what_a_smaller_profile_leaves_out_is_no_mistake(profile: str) -> None:
    config = load_config(PROFILES / f"{profile}.yaml", check=False)
    check_mentions(config)
    assert set(config.papers) <= set(papers())


def test_a_mistake_in_the_texts_of_a_paper_is_refused(tmp_path: Path) -> None:
    shutil.copytree(PAPERS, tmp_path / "papers")
    claims = tmp_path / "papers" / "lou_cheung_2020" / "claims.yaml"
    claims.write_text(claims.read_text().replace("stream: norm-kink", "stream: norm-kinck", 1))
    with pytest.raises(ClaimsError, match=r"claims\.yaml:\d+: .*stream: "):
        check_mentions(load_config(PROFILES / "smoke.yaml", check=False), tmp_path / "papers")


def test_changes_of_another_form_are_refused_by_file(tmp_path: Path) -> None:
    assert load_changes(tmp_path) == {}
    (tmp_path / CHANGES).write_text("a-b: [{commit: x}]\n")
    with pytest.raises(ClaimsError, match=CHANGES):
        load_changes(tmp_path)
    assert all("(2026-" in text for each in load_changes(PAPERS / "prefix_sums").values() for text in each)
