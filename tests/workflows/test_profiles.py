"""Profiles lie on top of each other, grids are written in short, papers are discovered."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpregret.core.yaml_source import expand
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.paper_names import PROFILES, short_names

Write = Callable[[Any], Path]


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
