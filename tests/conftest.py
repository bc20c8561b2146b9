"""Long tests first, so that no worker of pytest-xdist waits for another at the end."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that start Snakemake come first; the order within a file stays, and a file goes to one worker."""
    slow = {item.path for item in items if item.get_closest_marker("workflow")}
    items.sort(key=lambda item: item.path not in slow)
