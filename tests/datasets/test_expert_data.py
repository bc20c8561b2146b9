"""Tables of classifiers' errors: what they hold, that they are the same everywhere, and that damage is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpregret.datasets import expert_data

SAMPLES = {"digits-experts": 899, "breast-cancer-experts": 285}  # the larger halves of 1797 and 569
FEWEST = {"digits-experts": 1, "breast-cancer-experts": 6}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_table_holds_ranked_and_different_experts(name: str, data_dir: Path) -> None:
    table = expert_data.load(name, data_dir)
    assert table.shape == (SAMPLES[name], expert_data.EXPERTS)
    assert table.dtype == np.uint8
    assert set(np.unique(table)) == {0, 1}
    errors = table.sum(axis=0, dtype=int)
    assert (np.diff(errors) >= 0).all()
    assert errors[0] == FEWEST[name]
    # the comparator must be worth finding: a random expert errs ten and three times as often
    assert errors.mean() > {"digits-experts": 10, "breast-cancer-experts": 3}[name] * errors[0]
    assert len(np.unique(table, axis=1).T) > expert_data.EXPERTS // 2


def test_the_same_classifiers_give_the_same_bytes(data_dir: Path, tmp_path: Path) -> None:
    name = "breast-cancer-experts"
    expert_data.load(name, data_dir)
    expert_data.prepare(name, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (data_dir / f"{name}.npz").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["again.npz"]


def test_only_the_other_half_is_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels of the rounds are turned around after their split: whoever had seen them would be right now."""
    order = np.random.default_rng(20230228).permutation(101)
    shown = np.arange(101) % 2
    labels = shown.copy()
    labels[order[50:]] = 1 - shown[order[50:]]
    monkeypatch.setattr(expert_data, "TASKS", {"turned": lambda: (shown[:, None] * 1.0, labels)})
    table = expert_data.load("turned", tmp_path)
    assert table.shape == (51, expert_data.EXPERTS)
    assert table.all()


@pytest.mark.parametrize("experts", [2, 3, 16, 64, 100, 256])
def test_a_subset_is_spread_and_keeps_the_best(experts: int) -> None:
    table = np.tile(np.arange(256, dtype=np.uint8), (2, 1))
    chosen = expert_data.subset(table, experts)
    assert chosen.shape == (2, experts)
    places = chosen[0].astype(int)
    assert places[0] == 0
    steps = np.diff(places)
    assert set(steps) <= {256 // experts, -(-256 // experts)}
    assert 256 - places[-1] <= -(-256 // experts)


def test_a_subset_has_bounds() -> None:
    for experts in (-1, 1, 257):
        with pytest.raises(ValueError, match=f"experts must lie between 2 and 256, got {experts}"):
            expert_data.subset(np.zeros((2, 256), dtype=np.uint8), experts)


def _with(value: float) -> Any:
    errors = np.zeros((3, expert_data.EXPERTS))
    errors[2, 7] = value
    return errors


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"errors": _with(2)}, "loss in row 2, column 7 is 2.0, neither 0 nor 1"),
        ({"errors": _with(np.nan)}, "loss in row 2, column 7 is nan, neither"),
        ({"errors": np.zeros((3, 5))}, r"errors of shape \(3, 5\), expected \(samples, 256\)"),
        ({"errors": np.full((3, 256), "0")}, "errors of type <U1, expected numbers"),
        ({"labels": np.zeros((3, 256))}, "not a readable"),
    ],
)
def test_damaged_tables_are_named(arrays: dict[str, Any], message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "digits-experts.npz", **arrays)
    with pytest.raises(ValueError, match=rf"digits-experts\.npz: .*{message}") as caught:
        expert_data.load("digits-experts", tmp_path)
    assert "\n" not in str(caught.value)
