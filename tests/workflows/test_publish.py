"""The names that people read: copies of what the plan names, or nothing."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pandas as pd
import pytest
from plays import NO_CODE, part_of, plan_of, run_stage

from dpregret.core import parquet
from dpregret.core.files import checksum
from dpregret.workflows.plan.read import Plan
from dpregret.workflows.run.publish import FAILED, forget_failed, publish

MADE, RESULTS = Path("results/made"), Path("results/mine")
RUNS = {name: MADE / "runs" / "p" / f"{name}.0123.parquet" for name in ("good", "bad")}
TABLES, FIGURES, AUDIT = MADE / "tables" / "p.0123", MADE / "figures" / "p.0123", MADE / "audit" / "all.0123.csv"
SHOWN = {
    **{f"p/runs/{name}.parquet": (str(file), "") for name, file in RUNS.items()},
    "p/claims.csv": (str(TABLES), "claims.csv"),
    "p/gains.csv": (str(TABLES), "gains.csv"),
    "p/figures": (str(FIGURES), ""),
    "audit.csv": (str(AUDIT), ""),
}


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan whose files are all made, but for one table that its paper does not have."""
    monkeypatch.chdir(tmp_path)
    for file in (*RUNS.values(), TABLES / "claims.csv", FIGURES / "a.png", FIGURES / "sub" / "b.csv", AUDIT):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{file}\n")
    (FIGURES / ".snakemake_timestamp").touch()
    made = {
        "tables/p": (str(TABLES), ["runs/p"], NO_CODE),
        "figures/p": (str(FIGURES), ["tables/p"], NO_CODE),
        "audit/all": (str(AUDIT), [], NO_CODE),
    }
    parts = {"p": {name: part_of(file, name) for name, file in RUNS.items()}}
    content = {"parts": parts, "made": made, "shown": SHOWN, "profile": "mine"}
    return plan_of(tmp_path, **content, everything=["tables/p", "figures/p", "audit/all"])


def tree(folder: Path) -> dict[str, str]:
    """File -> text, of all that are not about the whole folder."""
    about = {"plan.json", "SHA256SUMS", "origin.json"}
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_text() for name, path in found.items() if name not in about}


def test_copies_equal_their_originals(plan: Plan) -> None:
    publish(plan)
    assert tree(RESULTS) == {
        **{f"p/runs/{name}.parquet": f"{file}\n" for name, file in RUNS.items()},
        "p/claims.csv": f"{TABLES / 'claims.csv'}\n",
        "p/figures/a.png": f"{FIGURES / 'a.png'}\n",
        "p/figures/sub/b.csv": f"{FIGURES / 'sub/b.csv'}\n",
        "audit.csv": f"{AUDIT}\n",
    }
    assert Plan.read(RESULTS / "plan.json").content == plan.content
    before = {path: path.stat().st_mtime_ns for path in RESULTS.rglob("*")}
    publish(plan)
    assert {path: path.stat().st_mtime_ns for path in RESULTS.rglob("*")} == before


def test_the_list_follows_the_plan(plan: Plan) -> None:
    """A plan of another reference names the same files and has other words."""
    publish(plan)
    other = plan.file.with_name("other.json")
    other.write_text(json.dumps({**plan.content, "gate": "another"}))
    publish(Plan.read(other))
    listed = dict(reversed(line.split("  ")) for line in (RESULTS / "SHA256SUMS").read_text().splitlines())
    assert listed["plan.json"] == checksum(other)


def test_what_was_edited_by_hand_is_restored(plan: Plan) -> None:
    publish(plan)
    right = tree(RESULTS)
    sums = (RESULTS / "SHA256SUMS").read_bytes()
    claims, figures = RESULTS / "p" / "claims.csv", RESULTS / "p" / "figures"
    claims.write_text(claims.read_text().replace("claims", "clains"))
    os.utime(claims, ns=(TABLES.stat().st_atime_ns, TABLES.stat().st_mtime_ns))
    (figures / "a.png").unlink()
    (figures / "more.png").touch()
    (RESULTS / "audit.csv").unlink()
    (RESULTS / "audit.csv").mkdir()
    publish(plan)
    assert tree(RESULTS) == right
    assert (RESULTS / "SHA256SUMS").read_bytes().count(b"\n") == sums.count(b"\n")


def test_a_copy_without_an_original_is_removed(plan: Plan) -> None:
    publish(plan)
    before = tree(RESULTS)
    (FIGURES / "a.png").unlink()
    for path in (AUDIT, TABLES / "claims.csv"):
        path.unlink()
    (FIGURES / "sub" / "b.csv").unlink()
    publish(plan)
    assert set(before) - set(tree(RESULTS)) == {"p/figures/a.png", "p/figures/sub/b.csv", "audit.csv", "p/claims.csv"}
    assert not (RESULTS / "SHA256SUMS").exists(), "a list says that the run is whole"


def test_a_failed_play_takes_with_it_what_was_made_of_it(plan: Plan) -> None:
    publish(plan)
    mark = Path(f"{RUNS['bad']}{FAILED}")
    mark.write_text("l.v: it hangs\n")
    forget_failed(plan)
    publish(plan)
    assert not any(path.exists() for path in (RUNS["bad"], mark, TABLES, FIGURES))
    assert set(tree(RESULTS)) == {"p/runs/good.parquet", "audit.csv"}
    assert set(tree(MADE)) == {"runs/p/good.0123.parquet", "audit/all.0123.csv"}


def test_a_file_of_the_future_gets_the_date_of_today(plan: Plan) -> None:
    for path in (AUDIT, RUNS["good"], FIGURES):
        os.utime(path, (3786912000, 3786912000))  # 2090
    old = TABLES / "claims.csv"
    os.utime(old, (0, 0))
    publish(plan)
    assert all(path.stat().st_mtime <= time.time() for path in (AUDIT, RUNS["good"], FIGURES))
    assert old.stat().st_mtime == 0


def test_nothing_made_is_nothing_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = {"audit/all": (str(AUDIT), [], NO_CODE)}
    publish(plan_of(tmp_path, made=made, shown=SHOWN, profile="mine", everything=["audit/all"]))
    assert tree(tmp_path / "results") == {}


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("failed: 0.5 outside its set", 1)])
def test_a_play_that_failed_fails_the_paper(tmp_path: Path, status: str, code: int) -> None:
    rows = pd.DataFrame({"experiment": "e", "learner": "l", "variant": ["v", "w"], "status": ["ok", status]})
    parquet.write(rows, tmp_path / "e.parquet", parquet.Stamp("c", "k"))
    output = tmp_path / "complete" / "p.0123.txt"
    parts = {"p": {"0123": part_of(tmp_path / "e.parquet")}}
    plan = plan_of(tmp_path, parts=parts, made={"complete/p": [str(output), ["runs/p"], NO_CODE]})
    found, log = run_stage(plan, "complete/p")
    assert found == code
    assert output.exists() == (code == 0)
    assert ("l.w" in log, "l.v" in log) == (code == 1, False)
    assert [*output.parent.iterdir()] == [output] * (code == 0)
