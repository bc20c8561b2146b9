"""What an edit makes run again, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpregret.workflows.run import fingerprint

ONLINE = "dpregret.algorithms.online"
STREAMS = ["dpregret.datasets.synthetic", "dpregret.datasets.pool_streams"]


@pytest.fixture(scope="module")
def counted() -> dict[str, list[Path]]:
    """The files that a fingerprint is of."""
    return {
        "cocop": fingerprint.play_files("online", f"{ONLINE}.wdp_cocop", *STREAMS),
        "pocp": fingerprint.play_files("online", f"{ONLINE}.pocp", *STREAMS),
        "data": fingerprint.stage_files("data"),
        "tables": fingerprint.stage_files("tables", "lou_cheung_2020"),
        "page": fingerprint.stage_files("report", "lou_cheung_2020", "talwar_2015"),
        "oracles": fingerprint.stage_files("oracles"),
        "audit": fingerprint.stage_files("audit_family"),
    }


@pytest.mark.parametrize(
    ("edited", "changed"),
    [
        ("algorithms/online/wdp_cocop.py", {"cocop", "audit"}),
        ("algorithms/online/ftal.py", {"cocop", "audit"}),
        ("algorithms/learner.py", {"cocop", "pocp", "audit"}),
        ("algorithms/privacy/buffers.json", {"cocop", "pocp", "audit"}),
        ("datasets/bundled.py", {"cocop", "pocp", "data"}),
        ("workflows/families/base.py", {"cocop", "pocp", "audit"}),
        ("workflows/families/online.py", {"cocop", "pocp", "audit"}),
        ("datasets/risk_population.py", set()),
        ("core/discovery.py", {"cocop", "pocp", "audit"}),
        ("workflows/run/oracle_costs.py", {"oracles"}),
        ("workflows/run/stages.py", {"data", "tables", "page", "audit", "oracles"}),
        ("workflows/audit/settings.yaml", {"audit"}),
        ("paper_figs/judge/fits.py", {"tables", "page"}),
        ("workflows/papers/lou_cheung_2020/claims.yaml", {"tables", "page"}),
        ("workflows/papers/lou_cheung_2020/experiments.yaml", set()),
        ("paper_figs/report/templates/report.css", {"page"}),
        ("workflows/plan/config.py", set()),
    ],
)
def test_a_file_counts_for_exactly_what_depends_on_it(
    counted: dict[str, list[Path]], edited: str, changed: set[str]
) -> None:
    file = fingerprint.ROOT / "dpregret" / edited
    assert file.is_file()
    assert {name for name, files in counted.items() if file in files} == changed


def test_what_is_written_or_renamed_in_a_file_that_counts_is_another_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprint, "ROOT", tmp_path)
    file = tmp_path / "a.py"
    found = []
    for name, text in (("a.py", "x = 1"), ("a.py", "x = 2"), ("b.py", "x = 2")):
        file = file.rename(tmp_path / name) if file.exists() else file
        file.write_text(text)
        fingerprint.forget()
        found.append(fingerprint.fingerprint([tmp_path]))
    assert len(set(found)) == 3
