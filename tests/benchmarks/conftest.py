"""Benchmarks measure compiled loops; with --benchmark-disable each body runs once, on small sizes, as a test."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def small(benchmark: Any, request: pytest.FixtureRequest) -> bool:
    """Whether nobody looks at the times."""
    if not benchmark.disabled:
        request.getfixturevalue("compiled")
    return bool(benchmark.disabled)
