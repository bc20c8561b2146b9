"""The tutorial's new algorithm does what the page says."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import HANGS

from dpregret.paper_figs.judge.result_tables import read_lines

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 90
AUDIT = """
from dpregret.workflows.audit.plan import pair_rows
from dpregret.workflows.audit.tables import findings
for row in findings(pair_rows({"noisy-descent": "online"}, 1, 2000)).itertuples():
    print(row.learner, row.variant, row.finding)
"""


def blocks() -> dict[str, str]:
    """Path -> content of the code blocks of the tutorial that begin with the comment of a path."""
    text = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    found = re.findall(r"^```(?:python|yaml)\n# (\S+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return dict(found)


@pytest.fixture
def extended(checkout: Any) -> Any:
    for name, content in blocks().items():
        path = checkout.root / name
        assert not path.exists(), f"{name} would be edited"
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    return checkout


def test_example_is_short() -> None:
    found = blocks()
    assert set(found) == {
        "algorithms/online/noisy_descent.py", "mine.yaml", "workflows/papers/noisy_descent/claims.yaml",
        "workflows/papers/noisy_descent/experiments.yaml",
    }  # fmt: skip
    assert sum(len(content.splitlines()) + 1 for content in found.values()) <= MOST_LINES


@pytest.mark.workflow
def test_example_gets_its_verdict_its_curve_and_its_audit(extended: Any) -> None:
    done = extended.snakemake("--cores", "2", "--config", "profile=mine.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dpregret: done" in done.stdout + done.stderr
    lines = read_lines(extended.root / "results" / "mine" / "noisy_descent").set_index("claim")
    assert lines.loc["descent-T", "verdict"] == "reproduced up to logs"
    assert lines.loc["descent-bound", ["kind", "verdict"]].tolist() == ["check", "holds"]
    assert set(lines.loc[["descent-T", "descent-bound"], "runs"]) == {16}
    value, low, high = lines.loc["descent-T", ["fitted", "fitted_low", "fitted_high"]]
    assert f"| {value:.3f} [{low:.3f}, {high:.3f}] |" in (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    page = (extended.root / "results" / "mine" / "report.html").read_text()
    assert "noisy-descent corrected" in page


@pytest.mark.workflow
def test_example_is_audited_by_itself(extended: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AUDIT], cwd=extended.root, env=extended.environment, capture_output=True, text=True,
        check=False, timeout=HANGS,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["noisy-descent corrected keeps its claim"], done.stderr
