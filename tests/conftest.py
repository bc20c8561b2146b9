"""Long tests first, so that no worker of pytest-xdist waits for another at the end."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that start Snakemake come first; the order within a file stays.

    With `--dist loadgroup` a file goes to one worker, but for tests that start Snakemake in a checkout of their own.
    """
    slow = {item.path for item in items if item.get_closest_marker("workflow")}
    items.sort(key=lambda item: item.path not in slow)
    for item in items:
        alone = item.get_closest_marker("workflow") and "checkout" in getattr(item, "fixturenames", ())
        if not alone:
            item.add_marker(pytest.mark.xdist_group(item.path.name))
