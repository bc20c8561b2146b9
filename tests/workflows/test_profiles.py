"""Profiles lie on top of each other, grids are written in short, papers are discovered."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from dpregret.core.errors import ConfigError
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.number_ranges import expand
from dpregret.workflows.plan.paper_names import PROFILES
from dpregret.workflows.plan.profiles import PAPERS, papers, short_names
from dpregret.workflows.plan.schema import file_schema

Write = Callable[[Any], Path]


@pytest.mark.parametrize("profile", ["full", "ci", "quick", "smoke", "large"])
def test_shipped_profiles_follow_the_schema(profile: str) -> None:
    data = yaml.safe_load((PROFILES / f"{profile}.yaml").read_text())
    if profile == "full":
        folders = {name: yaml.safe_load((PAPERS / name / "experiments.yaml").read_text()) for name in papers()}
        data["papers"] = folders
    jsonschema.validate(data, file_schema())


# what lies on top of ci, the line on which the mistake is, and what is said
OVERLAYS: list[tuple[str, str, str]] = [
    ("extends: cy", "mine.yaml:2: extends: profile: unknown profile 'cy'", "did you mean 'ci'"),
    ("extends: ./mine.yaml", "mine.yaml:2: extends", "extends itself"),
    ("extends: ci\nonly: [lou]", "mine.yaml:3: only[0]: unknown name 'lou', allowed: asi_et_al", "lou_cheung_2020"),
    ("extends: ci\nonly: all", "mine.yaml:3: only: must be the word listed or a list of names", "not 'all'"),
    ("extends: ci\nonly: listed", "mine.yaml:3: only", "keeps nothing"),
    ("extends: ci\nextend: full", "mine.yaml:3: extend: unknown key, allowed: profile, seed", "did you mean 'extends'"),
    ("extends: ci\nruler: {simulations: 20}", "mine.yaml:3: ruler", "is called 'validation' now"),
    ("extends: ci\ndefaults: {runs: 1}", "mine.yaml:3: defaults.runs: must be at least 2, not 1", ""),
    ("extends: ci\nseed: null", "mine.yaml:3: seed: this key is missing", ""),
    ("extends: ci\npapers: {lou_cheung_2020: {experiments: {horizn: {runs: 4}}}}", "mine.yaml:3: papers."
     "lou_cheung_2020.experiments.horizn: no such experiment in what this extends", "did you mean 'horizon'"),
    ("extends: ci\npapers: {lou_cheung_2020: {experiments: {horizon: {kind: erm}}}}", "mine.yaml:3: papers."
     "lou_cheung_2020.experiments.horizon.kind", "is called 'family' now"),
    ("extends: ci\npapers: {lou_cheung_2020: {experiments: {horizon: {horizon: 2^9..4^10}}}}", "mine.yaml:3: papers."
     "lou_cheung_2020.experiments.horizon.horizon: a range is written 2^8..2^17", "not '2^9..4^10'"),
    ("extends: ci\npapers: {lou_cheung_2020: {experiments: {horizon: {window: [2^3, 24]}}}}", "mine.yaml:3: papers."
     "lou_cheung_2020.experiments.horizon.window[1]: must be a power of two", "not 24"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "start", "end"), OVERLAYS)
def test_each_mistake_of_an_overlay_is_pointed_at(write: Write, text: str, start: str, end: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(f"profile: mine\n{text}\n"))
    (line,) = caught.value.problems
    assert start in line
    assert end in line


def test_a_mistake_in_what_is_extended_is_pointed_at_there(write: Write, tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        "profile: base\nextends: ci\npapers:\n  lou_cheung_2020: {defaults: {delta: 2.0}}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_config(write("profile: mine\nextends: ./base.yaml\n"))
    (line,) = caught.value.problems
    assert "base.yaml:4: papers.lou_cheung_2020.defaults.delta: must be less than 1.0, not 2.0" in line


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
    with pytest.raises(ValueError, match=r"range is written|no number of a setting"):
        expand(text)


def test_papers_have_short_names_that_tell_them_apart() -> None:
    assert short_names(["asi_et_al_2023", "asi_2024", "lou_cheung_2020", "descent"]) == {
        "asi_et_al_2023": "asi_et_al_2023", "asi_2024": "asi_2024", "lou_cheung_2020": "lou_cheung",
        "descent": "descent",
    }  # fmt: skip
