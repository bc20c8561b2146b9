"""Whatever stands in a file that we read: it is read, or refused in lines that name the file, the line and the key."""

from __future__ import annotations

import copy
import functools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fuzzing import check_words, fuzz, refusal
from hypothesis import given
from hypothesis import strategies as st
from plays import SMALL, small

from dpregret.core.errors import ConfigError
from dpregret.datasets.fetch import Source
from dpregret.paper_figs.judge.claims import ClaimsError, load_claims, load_errata
from dpregret.workflows.audit.plan import load_settings
from dpregret.workflows.plan.config import Config, given_limits
from dpregret.workflows.plan.load import load_config

WORKFLOWS = Path(__file__).resolve().parents[2] / "workflows"
TALWAR = WORKFLOWS / "papers" / "talwar_2015"
Write = Callable[[Any], Path]

NUMBERS = (10**30, -(10**30), 2**63, 1e308, 5e-324, math.inf, math.nan)
POWERS = st.builds("{}^{}".format, st.integers(0, 40), st.integers(-2000, 10**9))
RANGES = st.builds("{0}^{1}..{0}^{2}".format, st.integers(0, 40), st.integers(-9, 2000), st.integers(-9, 10**9))
WORDS = st.sampled_from(["", "horizon", "ball", "\u202e", "\x1b[2J", "a" * 3000, "1e3", "=1+1", "../../x", "off"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.integers(0, 1100).map(lambda power: 2**power), POWERS, RANGES,
    st.sampled_from(NUMBERS), st.floats(), st.text(max_size=6), WORDS,
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=5,
)


def overlay() -> Any:
    """A profile on top of another one, with all that its grammar has."""
    changed = {"runs": 4, "horizon": ["2^4..2^7", "2^9"], "window": None}
    return {
        "profile": "mine", "extends": "ci", "only": "listed", "seed": 3, "defaults": {"delta": 1e-5},
        "limits": {"runs": 1e5}, "audit": {"runs": 100, "repeats": 1},
        "papers": {"lou_cheung_2020": {
            "defaults": {"epsilon": "2^-1..2^2"}, "only": ["horizon", "window"],
            "experiments": {
                "horizon": {**changed, "window": [1]}, "window": {"title": "Again", "runs": 2},
            },
        }},
    }  # fmt: skip


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def reread(path: Path) -> None:
    """Load a configuration; jobs read another form of it, which must be the same."""
    config = load_config(path)
    again = Config.model_validate_json(config.to_json())
    assert again == config
    assert [again.fingerprint(each) for each in again.papers] == [config.fingerprint(each) for each in config.papers]


READERS: dict[str, tuple[Callable[[], Any], Callable[[Path], object], type[Exception]]] = {
    **{family: (functools.partial(small, family), reread, ConfigError) for family in SMALL},
    "overlay": (overlay, reread, ConfigError),
    "claims": (lambda: parsed(TALWAR / "claims.yaml"), load_claims, ClaimsError),
    "errata": (lambda: parsed(TALWAR / "errata.yaml"), load_errata, ClaimsError),
    "audit": (lambda: parsed(WORKFLOWS / "audit" / "settings.yaml"), load_settings, ConfigError),
    "sources": (lambda: parsed(WORKFLOWS / "config" / "sources.yaml"), Source.read_all, ConfigError),
}


@functools.cache
def known(kind: str) -> Any:
    """The content of a file that is read."""
    return READERS[kind][0]()


def places(data: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything in a tree of mappings and lists."""
    found = [here] if here else []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += places(value, (*here, key))
    return found


def mutated(data: Any, where: tuple[Any, ...], value: Any, how: str) -> Any:
    changed = copy.deepcopy(data)
    target = functools.reduce(lambda tree, part: tree[part], where[:-1], changed)
    if how == "drop":
        del target[where[-1]]
    elif how == "rename" and isinstance(target, dict):
        target[f"{where[-1]}x"] = target.pop(where[-1])
    else:
        target[where[-1]] = value
    return changed


@pytest.mark.parametrize("kind", READERS)
def test_the_untouched_file_is_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(known(kind), sort_keys=False, allow_unicode=True))
    READERS[kind][1](path)


@pytest.mark.parametrize("kind", READERS)
@fuzz(8)
@given(data=st.data())
def test_a_mutated_file_is_read_or_refused_with_its_name(kind: str, data: st.DataObject, tmp_path: Path) -> None:
    _, load, error = READERS[kind]
    path, tree = tmp_path / "mine.yaml", known(kind)
    where, how = data.draw(st.sampled_from(places(tree))), data.draw(st.sampled_from(["set", "set", "drop", "rename"]))
    changed = mutated(tree, where, data.draw(VALUES), how)
    path.write_text(yaml.safe_dump(changed, sort_keys=False, allow_unicode=True), encoding="utf-8")
    check_words(refusal(load, path, error), "mine.yaml")


ANYTHING = st.one_of(st.binary(max_size=60), st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))


@pytest.mark.parametrize("kind", ["online", "claims", "errata", "audit", "sources"])
@fuzz(10)
@given(content=ANYTHING)
def test_any_bytes_are_refused_with_the_name_of_the_file(kind: str, content: bytes, tmp_path: Path) -> None:
    _, load, error = READERS[kind]
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    said = refusal(load, path, error)
    assert "mine.yaml" in said or (kind == "sources" and Source.read_all(path) == {})


@pytest.mark.parametrize("kind", READERS)
def test_no_file_or_a_folder_is_refused_with_its_name(kind: str, tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises((ConfigError, OSError, ValueError)) as fault:
            READERS[kind][1](path)
        assert path.name in str(fault.value)


def grown(factor: float, power: float) -> dict[str, Any]:
    return {"dimension": None, "dimension_growth": {"factor": factor, "power": power}}


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("online", {"windows": [4]}, "windows"),
    ("online", {"epsilon": None}, "epsilon"),
    ("online", {"sweep": "windw"}, "sweep"),
    ("online", {"dimension": [2.5]}, "dimension[0]"),
    ("online", {"dimension": {"ball": [4], "bal": [4]}}, "dimension.bal"),
    ("online", {"horizon": [64, "128", 256, 512]}, "horizon[1]"),
    ("online", {"horizon": "2^0..2^1000000"}, "horizon"),
    ("online", {"window": [4, 24]}, "window[1]"),
    ("online", {"epsilon": [math.nan]}, "epsilon[0]"),
    ("online", {"epsilon": [1.0, 5e-324]}, "epsilon[1]"),
    ("online", {"delta": 1.0}, "delta"),
    ("online", {"options": {"spread": [1]}}, "options.spread"),
    ("online", {"set": "bal"}, "set[0]"),
    ("online", {"set": "flow", "dimension": [24, 25]}, "dimension[1]"),
    ("online", {"streams": ["norm-kinks"]}, "streams[0]"),
    ("online", {"learners": {"ftla": ["plain"]}}, "learners.ftla"),
    ("online", {"learners": {"ftal": ["plian"]}}, "learners.ftal[0]"),
    ("online", {"learners": {"pocp-giga": ["corrected"]}}, "learners.pocp-giga"),
    ("erm", {"dimension": [4], "dimension_growth": {"factor": 1.0, "power": 0.5}}, ""),
    ("erm", grown(math.inf, 1.0), "dimension_growth.factor"),
    ("erm", grown(1.0, 1e308), "dimension_growth.power"),
    ("erm", grown(1e308, 4.0), "dimension_growth"),
    ("erm", grown(1e300, 1e-300), "dimension_growth"),
    ("erm", {"learners": {"noisy-eg": ["corrected"]}}, "learners.noisy-eg[0]"),
    ("erm", {"learners": {"noisy-gd-strong": ["corrected"]}}, "learners.noisy-gd-strong[0]"),
    ("erm", {"samples": [2, 128, 256, 512]}, "learners.noisy-gd[0]"),
    ("erm", {"options": {"majority": 0.2}}, "risks"),
    ("erm", {"set_options": {"corners": [4, 8]}}, "set_options"),
    ("bandits", {"streams": ["ranking"]}, "streams"),
    ("bandits", {"horizon": [256, 1000, 4096, 16384]}, "horizon[1]"),
    ("bandits", {"dimension": [40]}, "horizon[0]"),
    ("bandits", {"learners": {"private-linear-bandit": ["corrected"]}}, "learners.private-linear-bandit"),
    ("experts", {"experts": [12]}, "experts[0]"),
    ("experts", {"streams": ["lower-bound"], "epsilon": [0.1]}, "learners.hedge[0]"),
    ("experts", {"options": {"kill": {"half": 1}}}, "options.kill"),
    ("experts", {"learners": {"private-ftrl": ["gaussian"]}, "experts": [2**22]}, "learners.private-ftrl[0]"),
]  # fmt: skip


def told(path: Path) -> list[tuple[int, str]]:
    """(line, key) of all that is said of a file, a line each."""
    with pytest.raises(ConfigError) as refusal:
        load_config(path)
    found = []
    for line in refusal.value.problems:
        assert "\n" not in line
        place, key, _ = line.split(": ", 2)
        assert Path(place.rpartition(":")[0]).name == path.name
        found.append((int(place.rpartition(":")[2]), key))
    return found


@pytest.mark.parametrize(("family", "changes", "key"), MISTAKES)
def test_a_mistake_in_an_experiment_is_a_line_with_file_line_and_key(
    write: Write, family: str, changes: dict[str, Any], key: str
) -> None:
    path = write(small(family, **changes))
    found = told(path)
    where = f"papers.{SMALL[family][0]}.experiments.small" + (f".{key}" if key else "")
    assert where in {name for _, name in found}, found
    lines = path.read_text().splitlines()
    for number, name in found:
        words = {part.partition("[")[0] for part in name.split(".")}
        assert any(word in lines[number - 1] for word in words) or lines[number - 1].strip().startswith("-")


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("extends: cy", 2, "extends"),
        ("extends: ./mine.yaml", 2, "extends"),
        ("extends: ci\nonly: [lou]", 3, "only[0]"),
        ("extends: ci\nextend: full", 3, "extend"),
        ("extends: ci\ndefaults: {runs: 1}", 3, "defaults.runs"),
        ("extends: ci\nseed: null", 3, "seed"),
        ("extends: ci\nprofile: mine", 3, "profile"),
        ("extends: ci\npapers: {lou_cheung_2020: {experiments: {horizn: {runs: 4}}}}", 3,
         "papers.lou_cheung_2020.experiments.horizn"),
        ("extends: ci\npapers: {lou_cheung_2020: {experiments: {horizon: {horizon: 2^9..4^10}}}}", 3,
         "papers.lou_cheung_2020.experiments.horizon.horizon"),
        ("seed: [1\npapers: {}", 3, None), ("seed: 1\n\tseed: 1", 3, None),
        ("seed: !!python/object:os.system x", 2, "seed"), ("on: 1", 2, None), ("? [a, b]\n: c", 2, None),
        ("seed: -1\npapers: {}", 2, "seed"), ("extends: ci\naudit: {runs: 1000000000}", 3, "audit.runs"),
        ("extends: ci\nvalidation: {simulations: 1000000000}", 3, "validation.simulations"),
    ],
)  # fmt: skip
def test_a_mistake_of_a_profile_is_a_line_with_file_line_and_key(
    write: Write, text: str, line: int, key: str | None
) -> None:
    path = write(f"profile: mine\n{text}\n")
    with pytest.raises(ConfigError) as refusal:
        load_config(path)
    first = refusal.value.problems[0]
    assert first.startswith(f"{path}:{line}: " + (f"{key}: " if key else ""))


def test_all_mistakes_are_told_in_the_order_of_the_file_each_once(write: Write) -> None:
    found = told(write({**small("online", runs=0, window=[0]), "seed": -1}))
    assert [key.rpartition(".")[2] for _, key in found] == ["seed", "runs", "window[0]"]
    assert len(told(write(small("experts", experts=[12, 24], epsilon=[1.0, 4.0])))) == 2  # whatever else is crossed


def test_a_mistake_in_what_is_extended_is_told_there(write: Write, tmp_path: Path) -> None:
    base = "profile: base\nextends: ci\npapers:\n  lou_cheung_2020: {defaults: {delta: 2.0}}\n"
    (tmp_path / "base.yaml").write_text(base)
    with pytest.raises(ConfigError) as refusal:
        load_config(write("profile: mine\nextends: ./base.yaml\n"))
    (line,) = refusal.value.problems
    assert "base.yaml:4: papers.lou_cheung_2020.defaults.delta: " in line


def test_a_reserved_profile_and_an_unknown_paper(tmp_path: Path) -> None:
    content = small("online") | {"profile": "reference"}
    content["papers"]["lou_2020"] = content["papers"].pop("lou_cheung_2020")
    (tmp_path / "reference.yaml").write_text(json.dumps(content))
    assert {key.split(".")[0] for _, key in told(tmp_path / "reference.yaml")} == {"profile", "papers"}


@fuzz(30)
@given(
    st.one_of(
        st.text(max_size=12), SCALARS,
        st.sampled_from(["off", "rounds:2^42,runs:1e7", "runs:", "rounds:2^9999", "a:b:c", "rounds:-1"]),
        st.dictionaries(st.sampled_from(["runs", "rounds", "cells", "x"]), SCALARS, max_size=2),
    )
)  # fmt: skip
def test_limits_are_read_or_refused(option: Any) -> None:
    said = refusal(lambda _: given_limits(option), Path(), ConfigError)
    assert not said or "limits" in said
