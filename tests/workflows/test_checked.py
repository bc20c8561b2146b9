"""What was checked without fault is not looked at again, until anything that could change the answer changes."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpregret.core import files
from dpregret.core.errors import ConfigError
from dpregret.workflows import checked, checks
from dpregret.workflows.checked import Checked
from dpregret.workflows.config import load_config


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Titles of the experiments that a check has looked at."""
    titles: list[str] = []
    look = checks.experiment_mistakes

    def note(experiment: Any, allow_few_cells: bool = False) -> Any:
        titles.append(experiment.title)
        return look(experiment, allow_few_cells)

    monkeypatch.setattr(checks, "experiment_mistakes", note)
    return titles


def experiments(settings: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = settings["papers"]["lou_cheung_2020"]["experiments"]
    found["window"] = {**copy.deepcopy(found["horizon"]), "title": "Another", "epsilon": [2.0]}
    return found


def test_only_what_changed_is_looked_at(
    settings: dict[str, Any], write: Callable[[Any], Path], tmp_path: Path, looked: list[str]
) -> None:
    found, kept = experiments(settings), tmp_path / "deeper" / "kept.json"

    def load() -> list[str]:
        looked.clear()
        load_config(write(settings), checked=Checked(kept))
        return list(looked)

    assert load() == ["Regret against the horizon", "Another"]
    assert load() == []
    found["window"]["epsilon"] = [4.0]
    assert load() == ["Another"]
    settings["allow_few_cells"] = True
    assert load() == ["Regret against the horizon", "Another"]
    del settings["allow_few_cells"]
    found["window"]["epsilon"] = [2.0]
    assert load() == [], "what was right before is right again"
    load_config(write(settings))
    assert looked == ["Regret against the horizon", "Another"], "nothing is kept where nobody asks for it"


def test_a_mistake_is_told_every_time(
    settings: dict[str, Any], write: Callable[[Any], Path], tmp_path: Path, looked: list[str]
) -> None:
    found, kept = experiments(settings), tmp_path / "kept.json"
    found["window"]["learners"] = {"no-such-learner": ["plain"]}
    for titles in (["Regret against the horizon", "Another"], ["Another"]):
        looked.clear()
        with pytest.raises(ConfigError, match="no-such-learner"):
            load_config(write(settings), checked=Checked(kept))
        assert looked == titles


@pytest.mark.parametrize(
    "spoil",
    [
        Path.unlink,
        lambda path: path.write_bytes(b"\xff{"),
        lambda path: path.write_text("[1]"),
        lambda path: path.write_text(path.read_text().replace("faultless", "faultles")),
        lambda path: files.keep(path, {**files.kept(path), "code": "other"}),
    ],
)
def test_what_is_missing_spoilt_or_of_other_code_counts_for_nothing(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    path = tmp_path / "kept.json"
    first = Checked(path)
    first.add({"ball": [2]}, True)
    first.save()
    assert Checked(path).knows({"ball": [2]}, True)
    assert not Checked(path).knows({"ball": [2]}, False)
    spoil(path)
    assert not Checked(path).knows({"ball": [2]}, True)


def test_another_library_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Checked(tmp_path / "kept.json")
    first.add("x")
    first.save()
    monkeypatch.setattr(checked.importlib.metadata, "version", lambda name: f"{name} 0")
    assert not Checked(tmp_path / "kept.json").knows("x")
