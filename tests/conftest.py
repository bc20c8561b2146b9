"""Long files first, so that no worker waits for another at the end; loops are compiled where it pays."""

import gc

import pytest
from hypothesis import settings
from tiers import Tiered, tiered

from dpregret.core.machine import keep_freed_memory
from dpregret.numerics import compiled as numerics_compiled

keep_freed_memory()
gc.set_threshold(20_000, 10, 10)  # to look for cycles is up to a fifth of the time; more seldom than this takes memory
numerics_compiled.specialised = tiered  # before any module takes it over
settings.register_profile("dpregret", deadline=None, max_examples=50)  # the first one may import or compile
settings.load_profile("dpregret")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every loop is compiled, however little it has to do."""
    monkeypatch.setattr(Tiered, "one", -1.0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that start Snakemake come first, then those of most text, and the shortest last.

    The order within a file stays, and a file goes to one worker.
    """
    slow = {item.path for item in items if item.get_closest_marker("workflow")}
    size = {path: path.stat().st_size for path in {item.path for item in items}}
    items.sort(key=lambda item: (item.path not in slow, -size[item.path], item.path))


def pytest_collection_finish() -> None:
    """What was collected stays until the end: no search for cycles looks at it again."""
    gc.collect()
    gc.freeze()
