"""The fixture of the benchmarks, and what of the machine goes into their tables."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from bench_race import Race


@pytest.fixture
def race(benchmark: Any, request: pytest.FixtureRequest) -> Race:
    if not benchmark.disabled:
        request.getfixturevalue("compiled")
    return Race(benchmark)


def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, object]) -> None:
    machine_info["numpy"] = np.__version__
    machine_info["usable_cores"] = len(os.sched_getaffinity(0))
    machine_info["load"] = round(os.getloadavg()[0], 1)
