from pathlib import Path

import pytest
from planted import planted_paper, write_runs


@pytest.fixture(scope="session")
def paper_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(planted_paper(), tmp_path_factory.mktemp("runs"))
