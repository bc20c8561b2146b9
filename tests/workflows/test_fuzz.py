"""Whatever stands in a configuration, a claims file, an errata file or a results file: it is read, or refused in words.

Files are mutated at random places with random values; loaders may raise their own error with the file's name, never
another one.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fuzzing import check_words, fuzz, refusal
from hypothesis import given
from hypothesis import strategies as st

from dpregret.core import parquet
from dpregret.core.errors import ConfigError
from dpregret.core.yaml_source import Bounds, read_source
from dpregret.paper_figs.judge.claims_files import ClaimsError, load_claims, load_errata
from dpregret.paper_figs.judge.runs import RunsError, read_runs
from dpregret.paper_figs.validation.planted_laws import Sweep
from dpregret.workflows.audit.plan import load_settings
from dpregret.workflows.plan.load import load_config

WORKFLOWS = Path(__file__).resolve().parents[2] / "workflows"

NUMBERS = (10**30, -(10**30), 2**63, 1e308, 5e-324, math.inf, math.nan)
WORDS = ("horizon", "window", "ball", "norm-kink", "corrected", "1e3", "\u202e")
POWERS = st.builds("{}^{}".format, st.integers(0, 40), st.integers(-2000, 10**9))
RANGES = st.builds("{0}^{1}..{0}^{2}".format, st.integers(0, 40), st.integers(-9, 2000), st.integers(-9, 10**9))
SIZES = st.one_of(
    st.integers(0, 1100).map(lambda power: 2**power), st.integers(0, 2000).map(lambda power: 10**power),
    POWERS, RANGES,
)  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), SIZES, st.sampled_from(NUMBERS), st.floats(), st.text(max_size=6),
    st.sampled_from(WORDS),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=5,
)


def places(data: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything in a tree of mappings and lists."""
    found = [here] if here else []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += places(value, (*here, key))
    return found


def mutated(data: Any, where: tuple[Any, ...], value: Any, how: str) -> Any:
    changed = copy.deepcopy(data)
    target = changed
    for part in where[:-1]:
        target = target[part]
    if how == "drop":
        del target[where[-1]]
    elif how == "rename" and isinstance(target, dict):
        target[f"{where[-1]}x"] = target.pop(where[-1])
    else:
        target[where[-1]] = value
    return changed


def smoke() -> Any:
    """A complete configuration, with nothing below it."""
    config = load_config(WORKFLOWS / "config" / "smoke.yaml")
    return _lists(config.model_dump(by_alias=True, exclude_none=True))


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(each) for key, each in value.items()}
    return [_lists(each) for each in value] if isinstance(value, tuple | list) else value


def claims() -> Any:
    """A few claims of each type, and a row: a file as small as it is whole."""
    data = yaml.safe_load((WORKFLOWS / "papers" / "talwar_2015" / "claims.yaml").read_text())
    row = {"id": "r", "label": "r", "group": "g", "learner": "l.v", "at": "g", "also": ["fall-n"]}
    words = {"privacy": "p", "neighbouring": "n", "operation": "o", "bound_text": "b"}
    claims = [*data["claims"][:8], *yaml.safe_load(FURTHER)]
    used = {claim["at"] for claim in claims if "at" in claim}
    settings = {name: setting for name, setting in data["settings"].items() if name in used}
    return {
        **data,
        "settings": settings,
        "guarantees": {"g": words},
        "tables": [{**data["tables"][0], "rows": [row]}],
        "claims": claims,
    }


FURTHER = """
- id: fall-n
  says: falls
  source: Theorem 3.2
  at: gd-samples
  learner: noisy-gd.corrected
  rate: n^-1 ln(n/delta)
- id: grow-p
  says: grows
  source: Theorem 3.2
  at: gd-dimension
  learner: noisy-gd.corrected
  rate: p^0.5
  from: {rounds: 8}
  where: {epsilon: 1}
"""


def errata() -> Any:
    return yaml.safe_load((WORKFLOWS / "papers" / "talwar_2015" / "errata.yaml").read_text())


def overlay() -> Any:
    """A profile on top of another one, with all that its grammar has."""
    changed = {"runs": 4, "horizon": ["2^4..2^7", "2^9"], "window": None}
    return {
        "profile": "smoke", "extends": "ci", "only": "listed", "seed": 3, "defaults": {"delta": 1e-5},
        "papers": {"lou_cheung_2020": {
            "defaults": {"epsilon": "2^-1..2^2"},
            "only": ["horizon", "window"],
            "experiments": {
                "horizon": {**changed, "window": [1]}, "window": {"title": "Again", "runs": 2},
            },
        }},
    }  # fmt: skip


FILES: dict[str, tuple[Callable[[], Any], Callable[[Path], object], type[Exception]]] = {
    "config": (smoke, load_config, ConfigError),
    "overlay": (overlay, load_config, ConfigError),
    "claims": (claims, load_claims, ClaimsError),
    "errata": (errata, load_errata, ClaimsError),
    "audit": (lambda: yaml.safe_load((WORKFLOWS / "audit" / "settings.yaml").read_text()), load_settings, ValueError),
}


@functools.cache
def known(kind: str) -> tuple[Any, Callable[[Path], object], type[Exception]]:
    """The content of a file that is read, what reads it, and how it refuses."""
    content, load, error = FILES[kind]
    return content(), load, error


@pytest.mark.parametrize("kind", FILES)
def test_the_untouched_file_is_read(kind: str, tmp_path: Path) -> None:
    data, load, error = known(kind)
    path = tmp_path / "smoke.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
    assert refusal(load, path, error) == ""


@pytest.mark.parametrize("kind", FILES)
@fuzz(40)
@given(data=st.data())
def test_a_mutated_file_is_read_or_refused_with_its_name(kind: str, data: st.DataObject, tmp_path: Path) -> None:
    tree, load, error = known(kind)
    where = data.draw(st.sampled_from(places(tree)))
    changed = mutated(tree, where, data.draw(VALUES), data.draw(st.sampled_from(["set", "set", "drop", "rename"])))
    path = tmp_path / "smoke.yaml"
    path.write_text(yaml.safe_dump(changed, sort_keys=False, allow_unicode=True), encoding="utf-8")
    said = refusal(load, path, error)
    check_words(said, "smoke.yaml")


@pytest.mark.parametrize("kind", FILES)
@fuzz(40)
@given(
    content=st.one_of(st.binary(max_size=60), st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
)
def test_any_bytes_are_refused_with_the_name_of_the_file(kind: str, content: bytes, tmp_path: Path) -> None:
    _, load, error = known(kind)
    path = tmp_path / "smoke.yaml"
    path.write_bytes(content)
    assert "smoke.yaml" in refusal(load, path, error)


FORMS = ("[{}]", "{{<<: [{}], z: 1}}", "{{a: [{}], b: [{}]}}", "{{? [{}] : 1}}", "{{<<: {}}}")


@st.composite
def aliased(draw: st.DrawFn) -> str:
    """A file whose every line may hold those above it several times: in lists, in mappings, merged, or as keys."""
    lines = ["l0: &l0 {x: 1, y: [2, 3]}"]
    for level in range(1, draw(st.integers(1, 12))):
        names = draw(st.lists(st.integers(0, level - 1).map("*l{} ".format), min_size=1, max_size=6))
        form = draw(
            st.sampled_from(["[{}]", "{{<<: [{}], z: 1}}", "{{a: [{}], b: [{}]}}", "{{? [{}] : 1}}", "{{<<: {}}}"])
        )
        lines.append(f"l{level}: &l{level} {form.format(*[', '.join(names)] * 2)}")
    return "\n".join(lines)


@fuzz(40)
@given(text=aliased())
def test_aliases_make_no_more_than_a_file_may_hold(text: str, tmp_path: Path) -> None:
    path = tmp_path / "smoke.yaml"
    path.write_text(text)
    made: list[object] = []
    said = refusal(lambda file: made.append(read_source(file, bounds=Bounds(nodes=300)).data), path, ConfigError)
    assert ("smoke.yaml" in said) != bool(made)
    assert not made or len(places(made[0])) <= 300


@pytest.mark.parametrize("kind", FILES)
def test_no_file_or_a_folder_is_refused_in_words(kind: str, tmp_path: Path) -> None:
    _, load, _ = known(kind)
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises((ConfigError, ClaimsError, OSError, ValueError)) as fault:
            load(path)
        assert str(path.name) in str(fault.value)


ROWS = Sweep(lambda checkpoints, value: checkpoints**0.5, runs=2, horizon=64).frame()


@fuzz(40)
@given(data=st.data())
def test_mutated_results_are_read_or_refused_with_the_name_of_the_file(data: st.DataObject, tmp_path: Path) -> None:
    column = data.draw(st.sampled_from(list(ROWS.columns)))
    value = data.draw(st.one_of(st.floats(), st.integers(-5, 5), st.text(max_size=4), st.booleans(), st.none()))
    rows = data.draw(st.sampled_from([slice(None), slice(0, 1)]))
    frame = ROWS.astype({column: object})
    frame.iloc[rows, frame.columns.get_loc(column)] = value
    try:
        parquet.write(frame, tmp_path / "rows.parquet", parquet.Stamp("", ""))
    except Exception:
        return
    said = refusal(read_runs, tmp_path, RunsError)
    assert not said or "rows.parquet" in said or "horizon" in said


@fuzz(40)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_no_results(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_bytes(content)
    assert "rows.parquet" in refusal(read_runs, tmp_path, RunsError)


def test_cut_off_results_are_refused(tmp_path: Path) -> None:
    parquet.write(ROWS, tmp_path / "rows.parquet", parquet.Stamp("", ""))
    whole = (tmp_path / "rows.parquet").read_bytes()
    (tmp_path / "rows.parquet").write_bytes(whole[: len(whole) // 2])
    assert "rows.parquet" in refusal(read_runs, tmp_path, RunsError)
