"""Every mistake in a configuration is one line: file, key, value, what is allowed."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpregret.core.errors import ConfigError
from dpregret.workflows.families.online import OnlineExperiment
from dpregret.workflows.plan.config import Config, Job, experiment_jobs
from dpregret.workflows.plan.load import check_options, load_config
from dpregret.workflows.plan.profiles import PROFILES, profile_path
from dpregret.workflows.plan.schema import file_schema

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


# what is set, to what, the key that must be named, and fragments of the message
MISTAKES: list[tuple[str, Any, str, tuple[str, ...]]] = [
    (".sed", 3, "sed", ("unknown key", "profile, seed", "'seed'")),
    ("windows", [4], f"{HORIZON}.windows", ("unknown key", "streams", "'window'")),
    ("papers", {}, f"{HORIZON}.papers", ("unknown key",)),
    (".papers.lou_cheung_2020.experiment", {}, "papers.lou_cheung_2020.experiment", ("'experiments'",)),
    (".seed", KeyError, "seed", ("missing",)),
    ("epsilon", KeyError, f"{HORIZON}.epsilon", ("missing",)),
    (".seed", "20", "seed", ("whole number", "'20'")),
    (".seed", True, "seed", ("whole number", "True")),
    (".seed", -1, "seed", ("at least 0", "-1")),
    (".profile", "full", "profile", ("'full'", "'mine'")),
    (".profile", "Mine now", "profile", ("small letters", "'Mine now'")),
    (".papers", {}, "papers", ("empty",)),
    (".papers", [1], "papers", ("mapping", "[1]")),
    ("sweep", "windw", f"{HORIZON}.sweep", ("'horizon'", "'epsilon'", "'windw'", "did you mean 'window'")),
    ("title", "", f"{HORIZON}.title", ("empty",)),
    ("title", 3, f"{HORIZON}.title", ("a word", "not 3")),
    ("dimension", 4, f"{HORIZON}.dimension", ("give a list", "not 4")),
    ("dimension", [], f"{HORIZON}.dimension", ("empty",)),
    ("dimension", [0], f"{HORIZON}.dimension[0]", ("greater than 0", "not 0")),
    ("dimension", [2.5], f"{HORIZON}.dimension[0]", ("whole number", "2.5")),
    ("dimension", {"ball": [4, -1]}, f"{HORIZON}.dimension.ball[1]", ("greater than 0", "-1")),
    (
        "dimension",
        {"ball": [4], "bal": [4]},
        f"{HORIZON}.dimension.bal",
        ("'bal'", "allowed: ball", "did you mean 'ball'"),
    ),
    ("horizon", [64, "128", 256, 512], f"{HORIZON}.horizon[1]", ("whole number", "'128'")),
    ("horizon", [64, 64, 128, 256], f"{HORIZON}.horizon", ("64 is given twice",)),
    ("horizon", [64, 128, 256], f"{HORIZON}.horizon", ("too few cells for a fit", "3", "4")),
    ("window", [4, 24], f"{HORIZON}.window[1]", ("power of two", "16 or 32", "not 24")),
    ("window", [0], f"{HORIZON}.window[0]", ("power of two", "not 0")),
    ("window", [4.0], f"{HORIZON}.window[0]", ("power of two", "4.0")),
    ("window", ["Horizon"], f"{HORIZON}.window[0]", ("the word horizon", "'Horizon'")),
    ("window", [4, 1024], f"{HORIZON}.window[1]", ("1024", "largest horizon, 128")),
    ("epsilon", [8.0, 0], f"{HORIZON}.epsilon[1]", ("greater than 0", "not 0")),
    ("epsilon", [-1.0], f"{HORIZON}.epsilon[0]", ("greater than 0", "-1.0")),
    ("epsilon", [math.nan], f"{HORIZON}.epsilon[0]", ("greater than 0", "nan")),
    ("epsilon", ["big"], f"{HORIZON}.epsilon[0]", ("number", "'big'")),
    ("delta", 0, f"{HORIZON}.delta", ("greater than 0", "not 0")),
    ("delta", 1.0, f"{HORIZON}.delta", ("less than 1", "not 1.0")),
    ("delta", math.nan, f"{HORIZON}.delta", ("nan",)),
    ("strong_convexity", math.inf, f"{HORIZON}.strong_convexity", ("finite", "inf")),
    ("runs", 0, f"{HORIZON}.runs", ("at least 2", "not 0")),
    ("runs", [4], f"{HORIZON}.runs", ("whole number", "[4]")),
    ("options", {"spread": [1]}, f"{HORIZON}.options.spread", ("[1]",)),
    ("set", "bal", f"{HORIZON}.set[0]", ("'bal'", "ball, box", "did you mean 'ball'")),
    ("set", [], f"{HORIZON}.set", ("empty",)),
    ("streams", "norm-kink", f"{HORIZON}.streams", ("give a list", "'norm-kink'")),
    ("streams", ["norm-kinks"], f"{HORIZON}.streams[0]", ("lasso, norm-kink", "did you mean 'norm-kink'")),
    ("learners", {}, f"{HORIZON}.learners", ("empty",)),
    ("learners", {"ftla": ["plain"]}, f"{HORIZON}.learners.ftla", ("ftal, ftal-endless", "did you mean 'ftal'")),
    ("learners", {"ftal": "plain"}, f"{HORIZON}.learners.ftal", ("give a list", "'plain'")),
    (
        "learners",
        {"wdp-cocop-gamma": ["corected"]},
        f"{HORIZON}.learners.wdp-cocop-gamma[0]",
        ("'corected'", "allowed: blocks, corrected, items, printed, printed-noise", "did you mean 'corrected'"),
    ),
    ("learners", {"pocp-giga": ["corrected"]}, f"{HORIZON}.learners.pocp-giga", ("smooth losses", "'norm-kink'")),
    (
        "learners",
        {"pqftl": ["corrected"]},
        f"{HORIZON}.learners.pqftl",
        ("quadratic", "that have them: diabetes, fetched-regression, lasso"),
    ),
]


@pytest.mark.parametrize(("path", "value", "key", "fragments"), MISTAKES)
def test_each_mistake_is_one_line_with_file_key_value_and_choices(
    settings: dict[str, Any], write: Write, path: str, value: Any, key: str, fragments: tuple[str, ...]
) -> None:
    spoil(settings, path, value)
    with pytest.raises(ConfigError) as caught:
        load_config(write(settings))
    (line,) = caught.value.problems
    place, named, message = line.split(": ", 2)
    assert place.rpartition(":")[0].endswith("mine.yaml")
    assert int(place.rpartition(":")[2]) > 0
    assert named == key
    assert "\n" not in line
    for fragment in fragments:
        assert fragment in message


def test_learner_that_needs_a_local_oracle_is_refused_on_a_set_without(settings: dict[str, Any], write: Write) -> None:
    spoil(settings, "set", "grouped-l1")
    spoil(settings, "learners", {"wdp-cocol-gamma": ["practical"]})
    with pytest.raises(
        ConfigError,
        match=r"local linear optimisation oracle.*'grouped-l1'.*ball, box, flow, hypersimplex, l1-ball, simplex",
    ):
        load_config(write(settings))


def test_dimension_that_a_set_refuses_is_pointed_at(settings: dict[str, Any], write: Write) -> None:
    spoil(settings, "set", ["ball", "flow"])
    spoil(settings, "dimension", {"ball": [5], "flow": [24, 25]})
    with pytest.raises(ConfigError, match=r"dimension\.flow\[1\]: the set 'flow' refuses 25: "):
        load_config(write(settings))


def test_set_without_dimensions_and_sweep_of_one_set_are_both_reported(settings: dict[str, Any], write: Write) -> None:
    spoil(settings, "sweep", "set")
    spoil(settings, "dimension", {"simplex": [4]})
    with pytest.raises(ConfigError) as caught:
        load_config(write(settings))
    assert len(caught.value.problems) == 3  # simplex is no set here, ball has no dimension, one set is no sweep


def test_unknown_paper_and_reserved_profile(settings: dict[str, Any], tmp_path: Path) -> None:
    settings["papers"]["lou_2020"] = settings["papers"].pop("lou_cheung_2020")
    settings["profile"] = "reference"
    path = tmp_path / "reference.yaml"
    path.write_text(json.dumps(settings))
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert "another folder of results" in caught.value.problems[0]
    assert "did you mean 'lou_cheung_2020'" in caught.value.problems[1]


def test_all_mistakes_are_reported_in_the_order_of_the_file(settings: dict[str, Any], write: Write) -> None:
    for path, value in (("runs", 0), (".seed", -1), ("window", [3])):
        spoil(settings, path, value)
    with pytest.raises(ConfigError) as caught:
        load_config(write(settings))
    keys = [line.split(": ")[1].rpartition(".")[2] for line in caught.value.problems]
    assert keys == ["seed", "window[0]", "runs"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("profile: mine\nseed: [1\npapers: {}\n", r"mine\.yaml:3: is not valid YAML: .*expected"),
        ("profile: mine\nseed: 1\nseed: 2\n", r"mine\.yaml:3: seed: repeated key \(first on line 2\)"),
        ("papers:\n  a: {b: 1, b: 1}\n", r"mine\.yaml:2: papers\.a\.b: repeated key"),
        ("", r"mine\.yaml: is empty"),
        ("- profile\n", r"mine\.yaml: must be a mapping"),
        ("profile: &a {x: *a}\n", r"mine\.yaml:1: .*contains itself"),
        ("profile: !!python/object:os.system x\n", r"mine\.yaml:1: profile: is not valid YAML here: python"),
        ("profile: mine\n\tseed: 1\n", r"mine\.yaml:2: is not valid YAML"),
        ("profile: a\n\x07\n", r"mine\.yaml:2: is not valid YAML: control characters"),
    ],
)
def test_files_that_are_no_configuration(write: Write, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(write(text))
    assert all("\n" not in line for line in caught.value.problems)


def test_file_that_is_missing_a_folder_or_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: there is no such file"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path)
    path = tmp_path / "latin.yaml"
    path.write_bytes("title: Gr\xf6\xdfe".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"latin\.yaml: is not UTF-8 text \(byte 9\)"):
        load_config(path)


def test_numbers_in_exponent_form_are_numbers(settings: dict[str, Any], write: Write) -> None:
    path = write(settings)
    path.write_text(path.read_text().replace("delta: 1.0e-06", "delta: 1e-6").replace("- 8.0", "- 8e0\n        - .inf"))
    experiment = load_config(path).experiment("lou_cheung_2020", "horizon")
    assert experiment.delta == 1e-6
    assert experiment.epsilon == (8.0, math.inf)


def test_few_cells_are_allowed_where_the_file_says_so(settings: dict[str, Any], write: Write) -> None:
    spoil(settings, "horizon", [64, 128])
    settings["allow_few_cells"] = True
    assert load_config(write(settings)).allow_few_cells


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


def test_jobs_are_learner_variants_in_order(settings: dict[str, Any], write: Write) -> None:
    assert list(experiment_jobs(load_config(write(settings)))) == [
        Job("lou_cheung_2020", "horizon", "wdp-cocop-gamma", "corrected"),
        Job("lou_cheung_2020", "horizon", "ftal", "plain"),
    ]


def test_dimensions_by_set(settings: dict[str, Any], write: Write) -> None:
    spoil(settings, "set", ["ball", "simplex"])
    spoil(settings, "dimension", {"ball": [2], "simplex": [4, 8]})
    experiment = load_config(write(settings)).experiment("lou_cheung_2020", "horizon")
    assert experiment.sets == ("ball", "simplex")
    assert [experiment.dimensions(name) for name in experiment.sets] == [(2,), (4, 8)]


def test_profiles_by_name_and_by_path() -> None:
    assert profile_path("ci") == PROFILES / "ci.yaml"
    assert profile_path("some/where/mine.yaml") == Path("some/where/mine.yaml")
    with pytest.raises(ConfigError, match="full, large, large-slice, quick, smoke; did you mean 'full'"):
        profile_path("fulll")
    with pytest.raises(ConfigError, match="not 5"):
        profile_path(5)


def test_other_options_than_profile_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"--config profil: unknown key, allowed: profile, limits; did you mean 'profile'"
    ):
        check_options({"profil": "ci"})
    assert check_options({}) == PROFILES / "full.yaml"


@pytest.mark.parametrize("profile", ["full", "ci", "quick", "smoke"])
def test_shipped_profiles_pass_with_what_is_installed(profile: str) -> None:
    config = load_config(PROFILES / f"{profile}.yaml")
    assert config.profile == profile
    assert 3 <= len(list(experiment_jobs(config))) <= 1000


def test_schema_is_current_and_describes_what_the_file_may_hold() -> None:
    stored = json.loads((PROFILES.parent / "schemas" / "config.schema.json").read_text())
    assert stored == file_schema()
    experiment = stored["$defs"]["OnlineExperiment"]
    assert experiment["additionalProperties"] is False
    assert set(experiment["properties"]) == {each.alias or name for name, each in OnlineExperiment.model_fields.items()}
