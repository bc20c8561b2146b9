"""What an edit makes run again, and what it does not."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import make_checkout

from dpregret.workflows.run import fingerprint

ONLINE = "dpregret.algorithms.online"
STREAMS = ["dpregret.datasets.synthetic", "dpregret.datasets.pool_streams"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A copy of the code, and its fingerprints."""
    root = make_checkout(tmp_path_factory.mktemp("tree") / "checkout").root
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "ROOT", root)
        patch.setattr(fingerprint, "WORKFLOWS", root / "dpregret" / "workflows")
        patch.setattr(fingerprint, "PAPERS", root / "dpregret" / "workflows" / "papers")
        return root, fingerprints()


@pytest.fixture
def copied(tree: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The copy, which every test leaves as it was."""
    root, _ = tree
    monkeypatch.setattr(fingerprint, "ROOT", root)
    monkeypatch.setattr(fingerprint, "WORKFLOWS", root / "dpregret" / "workflows")
    monkeypatch.setattr(fingerprint, "PAPERS", root / "dpregret" / "workflows" / "papers")
    yield root
    fingerprint.forget()


@pytest.fixture
def before(tree: tuple[Path, dict[str, str]]) -> dict[str, str]:
    return tree[1]


def fingerprints() -> dict[str, str]:
    fingerprint.forget()
    made = {
        "cocop": fingerprint.play_files("online", f"{ONLINE}.wdp_cocop", STREAMS),
        "pocp": fingerprint.play_files("online", f"{ONLINE}.pocp", STREAMS),
        "data": fingerprint.stage_files("data"),
        "tables": fingerprint.stage_files("tables", "lou_cheung_2020"),
        "page": fingerprint.stage_files("report", "lou_cheung_2020", "talwar_2015"),
        "oracles": fingerprint.stage_files("oracles"),
        "audit": fingerprint.stage_files("audit_family"),
    }
    return {name: fingerprint.fingerprint(files) for name, files in made.items()}


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
        ("dpregret/core/discovery.py", {"cocop", "pocp", "audit"}),
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
def test_edit_changes_exactly_what_depends_on_the_file(
    copied: Path, before: dict[str, str], edited: str, changed: set[str]
) -> None:
    path = copied / edited
    text = path.read_text()
    path.write_text(f"{text}\n# edited\n")
    after = fingerprints()
    path.write_text(text)
    assert {name for name in before if before[name] != after[name]} == changed


def test_new_or_renamed_file_counts(copied: Path, before: dict[str, str]) -> None:
    path = copied / "algorithms" / "geometry" / "another.py"
    path.write_text("")
    found = fingerprints()
    path.unlink()
    assert found["cocop"] != before["cocop"]
