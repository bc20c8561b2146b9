"""Tables of the benchmarks: rows find their table, targets are judged, absent peers are named."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest

from dpregret.paper_figs.tables import speed

CONTEST = {"table": "ratios", "group": "mechanism", "what": "tree", "condition": "d = 2", "median": 1.3}
ROWS = [
    {**CONTEST, "ratio": 1.35, "target": 1.35, "microseconds": 2.0},
    {**CONTEST, "ratio": 1.36, "target": 1.35, "microseconds": 2.0},
    {**CONTEST, "ratio": None, "target": None, "microseconds": 3.0},
    {"table": "overhead", "learner": "ftal", "family": "online", "condition": "", "microseconds": 20.0, "rounds": 9},
    {"table": "overhead", "learner": "slow", "family": "online", "condition": "", "microseconds": 20.1, "rounds": 9},
    *(
        {"table": "growth", "learner": "ftal", "family": "online", "parameter": parameter, "condition": "",
         "exponent": exponent, "low": exponent - 0.01, "high": exponent + 0.01}
        for parameter, exponent in (("T", 0.96), ("d", 0.5))
    ),
    {"table": "peers", "peer": "river", "version": "1", "what": "a step, us", "ours": 1.0, "theirs": 30.0,
     "ratio": 30.0, "remark": "slower"},
]  # fmt: skip
REPORT = {
    "machine_info": {"node": "secret", "cpu": {"brand_raw": "A chip"}, "usable_cores": 4, "numpy": "2"},
    "benchmarks": [{"extra_info": {"rows": ROWS}}, {"extra_info": {}}],
}


def test_tables(tmp_path: Path) -> None:
    source = tmp_path / "report.json"
    source.write_text(json.dumps(REPORT))
    assert speed.main([str(source), str(tmp_path)]) == 0
    ratios = pd.read_csv(tmp_path / "ratios.csv")
    assert list(ratios.columns) == list(speed.RATIOS)
    assert ratios["reached"].tolist()[:2] == [True, False]
    assert math.isnan(ratios["ratio"][2])
    growth = pd.read_csv(tmp_path / "growth.csv")
    assert growth["learner"].tolist() == ["ftal", "ftal", "slow"]
    assert growth["reached"].tolist()[0] is True
    assert growth["reached"].isna().tolist() == [False, True, True]
    assert growth["overhead_reached"].tolist() == [True, True, False]
    peers = pd.read_csv(tmp_path / "peers.csv").set_index("peer")
    assert set(peers.index) == set(speed.EXPECTED)
    assert peers.loc["copt", "remark"] == "not installed where this was measured"
    page = (tmp_path / "ratios.md").read_text()
    assert "A chip, 4 cores" in page
    assert "secret" not in page
    assert "| yes " in page


@pytest.mark.parametrize("content", ["{}", "no JSON"])
def test_files_that_are_no_report(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "report.json"
    source.write_text(content)
    assert speed.main([str(source), str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("speed: ")
