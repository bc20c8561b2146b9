"""What jobs are told about learners is what the main process knows."""

import pickle
from pathlib import Path

import pytest

from dpregret.workflows import recall
from dpregret.workflows.registry import load_registry

REGISTRY = load_registry()


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("the learners were imported")

    monkeypatch.setattr(recall, "load_registry", refuse)


@pytest.mark.usefixtures("untouched")
def test_what_was_kept_is_recalled_without_importing_a_learner(tmp_path: Path) -> None:
    recall.keep(REGISTRY, tmp_path / "deeper" / "kept")
    assert recall.recall(tmp_path / "deeper" / "kept") == REGISTRY.trusting()
    assert [path.name for path in (tmp_path / "deeper").iterdir()] == ["kept"]


def spoil_code(path: Path) -> None:
    path.write_bytes(pickle.dumps(("other", "anything")))


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda path: path.write_bytes(b""), lambda path: path.write_text("x"), spoil_code]
)
def test_what_is_missing_spoilt_or_of_other_code_is_collected_anew(tmp_path: Path, spoil: object) -> None:
    path = tmp_path / "kept"
    recall.keep(REGISTRY, path)
    assert callable(spoil)
    spoil(path)
    assert recall.recall(path).learners == REGISTRY.learners
