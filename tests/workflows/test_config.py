"""Configurations: what decides their hash, profiles on top of each other, grids in short, the schema."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpregret.core.errors import ConfigError
from dpregret.core.yaml_source import expand
from dpregret.workflows.families.online import OnlineExperiment
from dpregret.workflows.plan.config import Config, experiment_jobs
from dpregret.workflows.plan.load import check_options, file_schema, load_config
from dpregret.workflows.plan.read import PROFILES, short_names

Write = Callable[[Any], Path]


HORIZON = "papers.lou_cheung_2020.experiments.horizon"


def spoil(settings: dict[str, Any], path: str, value: Any) -> None:
    """Set (or, with the value KeyError, delete) an entry; a path without a full stop at its start is below horizon."""
    target = settings
    parts = path[1:].split(".") if path.startswith(".") else [*HORIZON.split("."), *path.split(".")]
    for part in parts[:-1]:
        target = target[part]
    if value is KeyError:
        del target[parts[-1]]
    else:
        target[parts[-1]] = value


def test_numbers_in_exponent_form_are_numbers(settings: dict[str, Any], write: Write) -> None:
    path = write(settings)
    path.write_text(path.read_text().replace("delta: 1.0e-06", "delta: 1e-6").replace("- 8.0", "- 8e0\n        - .inf"))
    experiment = load_config(path).experiment("lou_cheung_2020", "horizon")
    assert experiment.delta == 1e-6
    assert experiment.epsilon == (8.0, math.inf)


def test_hash_follows_what_decides_the_numbers_and_nothing_else(settings: dict[str, Any], write: Write) -> None:
    before = load_config(write(settings)).hash("horizon")
    for path, value in (("title", "Another"), ("learners", {"ftal": ["plain"]}), ("epsilon", [8])):
        spoil(settings, path, value)
    assert load_config(write(settings)).hash("horizon") == before
    seen = {before}
    for path, value in (
        (".seed", 8),
        ("epsilon", [8.0, math.inf]),
        ("window", ["horizon"]),
        ("dimension", {"ball": [2]}),
    ):
        spoil(settings, path, value)
        seen.add(load_config(write(settings)).hash("horizon"))
    assert len(seen) == 5


def test_configuration_survives_the_way_to_a_script(settings: dict[str, Any], write: Write) -> None:
    spoil(settings, "epsilon", [8.0, math.inf])
    spoil(settings, "window", [4, "horizon"])
    spoil(settings, "options", {"spread": 0.25, "period": 8, "flag": True})
    config = load_config(write(settings), check=False)
    again = Config.model_validate_json(config.to_json())
    assert again == config
    assert again.hash("horizon") == config.hash("horizon")
    assert again.fingerprint("lou_cheung_2020") == config.fingerprint("lou_cheung_2020")


def test_other_options_than_profile_are_refused() -> None:
    with pytest.raises(ConfigError, match="profil"):
        check_options({"profil": "ci"})
    assert check_options({}) == PROFILES / "full.yaml"


@pytest.mark.parametrize("profile", ["ci", "quick"])
def test_shipped_profiles_pass_with_what_is_installed(profile: str) -> None:
    """`full` and `smoke` are planned in test_snakemake.py."""
    config = load_config(PROFILES / f"{profile}.yaml")
    assert config.profile == profile
    assert 3 <= len(list(experiment_jobs(config))) <= 1000


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
