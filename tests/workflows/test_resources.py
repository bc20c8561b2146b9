"""What jobs ask for: the arithmetic on planted measurements, and an entry for every rule of the workflow."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from checkout import ROOT

from dpregret.core.errors import ConfigError
from dpregret.workflows import resources

RULES = {
    name: body
    for path in (ROOT / "workflows" / "rules").glob("*.smk")
    for name, body in re.findall(r"^rule (\w+):\n((?:    .*\n|\n)+)", path.read_text(), flags=re.MULTILINE)
    if "script:" in body
}
LONG = "results/large/lou_cheung_2020/runs/horizon/wdp-cocop-gaussian.corrected.parquet"


def plant(folder: Path, place: str, seconds: float, cpu: float, memory: object) -> None:
    path = folder / f"{place}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"s\th:m:s\tmax_rss\tcpu_time\n{seconds}\t0:00:01\t{memory}\t{cpu}\n")


def test_jobs_of_a_rule_are_counted_and_their_largest_is_kept(tmp_path: Path) -> None:
    plant(tmp_path, "paper/sweep/one.plain", 10.0, 4.0, 300.0)
    plant(tmp_path, "paper/sweep/two.plain", 0.9, 0.5, 9999.0)  # too short for its memory to mean anything
    plant(tmp_path, "other/sweep/one.plain", 12.0, 5.5, 100.0)
    plant(tmp_path, "paper/table_2", 0.2, 0.1, "-")
    table = resources.measured(tmp_path).set_index("rule")
    assert table.loc["run"].to_dict() == {
        "jobs": 3, "longest_seconds": 12.0, "cpu_seconds": 10.0, "largest_rss_mb": 300.0,
    }  # fmt: skip
    assert table.loc["further_table", "jobs"] == 1
    assert pd.isna(table.loc["further_table", "largest_rss_mb"])


def test_needs_are_twice_the_largest_of_all_runs_rounded_up() -> None:
    columns = ["rule", "jobs", "longest_seconds", "cpu_seconds", "largest_rss_mb"]
    rows = [("run", 9, 151.0, 1.0, 130.0), ("run", 2, 1.0, 1.0, 251.0), ("tables", 1, 0.4, 0.1, float("nan"))]
    needs = resources.needs_of(pd.DataFrame(rows, columns=columns))
    # 2 x 251 + 500 = 1002 MB; 2 x 151 s = 5.03 min
    assert (needs["run"].threads, needs["run"].mem_mb, needs["run"].runtime) == (1, 1250, 10)
    # nothing measured: 2 x 200 + 500 MB, and the smallest time
    assert (needs["tables"].mem_mb, needs["tables"].runtime) == (1000, 5)


def test_every_attempt_asks_for_as_much_again() -> None:
    need = resources.Need(threads=1, mem_mb=750, runtime=5)
    assert [need.memory(attempt) for attempt in (1, 2, 3)] == [750, 1500, 2250]
    assert [need.minutes(attempt) for attempt in (1, 2, 3)] == [5, 10, 15]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    for folder in ("full", "ci"):
        plant(tmp_path / folder, "paper/figures", 40.0, 20.0, 512.0)
    table, needs = tmp_path / "table.csv", tmp_path / "needs.yaml"
    folders = [str(tmp_path / folder) for folder in ("full", "ci")]
    resources.main([*folders, "--table", str(table), "--needs", str(needs)])
    assert resources.load_needs(needs)["figures"] == resources.Need(threads=1, mem_mb=1750, runtime=5)
    assert list(pd.read_csv(table)["folder"]) == [Path(folder).as_posix() for folder in folders]


def test_shipped_needs_follow_from_the_shipped_table() -> None:
    table = pd.read_csv(ROOT / "results" / "reference" / "resources.csv")
    assert dict(resources.load_needs()) == resources.needs_of(table)


def test_cluster_page_shows_the_shipped_table() -> None:
    table, page = ROOT / "results" / "reference" / "resources.csv", ROOT / "docs" / "cluster.md"
    assert resources.renew_page(table, page, resources.load_needs(), check=True)


def test_every_rule_that_runs_something_has_its_entry_and_reads_it() -> None:
    assert set(resources.load_needs()) == set(RULES)
    for rule, body in RULES.items():
        assert f'threads: NEEDS["{rule}"].threads' in body
        if rule == "run":  # the size of a run may predict more than what was measured
            assert "mem_mb=run_memory" in body
            assert "runtime=run_minutes" in body
            continue
        assert f'mem_mb=memory("{rule}")' in body
        assert f'runtime=minutes("{rule}")' in body


@pytest.mark.parametrize("rule", RULES)
def test_benchmark_file_of_a_rule_is_known_as_its_own(rule: str) -> None:
    (pattern,) = re.findall(r"benchmark/(.*)\.tsv", RULES[rule])
    assert resources.rule_of(re.sub(r"\{+number\}+", "2", re.sub(r"\{+(?!number)\w+\}+", "some", pattern))) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "rules: {run: {threads: 1, mem_mb: 0, runtime: 5}}",
            "needs.yaml:1: rules.run.mem_mb: .*greater than or equal",
        ),
        ("rules:\n  run: {threads: 1, mem_mb: 9}", "needs.yaml:2: rules.run.runtime: Field required"),
        ("rules:\n  run: {threads: 1, mem_mb: 9, runtime: 5, gpu: 1}", "needs.yaml:2: rules.run.gpu: Extra inputs"),
        ("rules: {}", "needs.yaml:1: rules: "),
    ],
)
def test_mistake_in_the_needs_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "needs.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        resources.load_needs(path)


def test_slurm_profile_keeps_what_the_default_profile_says() -> None:
    default, slurm = (
        yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text()) for name in ("default", "slurm")
    )
    assert {**slurm, **default} == slurm
    grouped = {entry.split("=")[0] for entry in slurm["groups"]}
    assert grouped <= set(RULES)


def test_a_rule_that_the_runs_did_without_keeps_its_needs(tmp_path: Path) -> None:
    needs = tmp_path / "needs.yaml"
    resources.write_needs({"compare": resources.Need(threads=1, mem_mb=1000, runtime=5)}, needs)
    plant(tmp_path / "full", "paper/tables", 10.0, 10.0, 300.0)
    resources.main([str(tmp_path / "full"), "--table", str(tmp_path / "table.csv"), "--needs", str(needs)])
    assert set(resources.load_needs(needs)) == {"compare", "fetch", "tables"}


def test_a_long_run_asks_for_what_its_size_predicts(checkout: Any) -> None:
    done = checkout.snakemake(LONG, "-n", "--cores", "1", "--config", "profile=large")
    assert done.returncode == 0, done.stderr
    asked = {name: int(value) for name, value in re.findall(r"(runtime|mem_mb)=(\d+)", done.stdout + done.stderr)}
    least = resources.load_needs()["run"]
    assert asked["runtime"] > 10 * least.runtime
    assert asked["mem_mb"] > least.mem_mb


def test_rule_without_an_entry_is_told_by_name() -> None:
    with pytest.raises(ConfigError, match=r"unknown rule .runn.*did you mean .run."):
        resources.load_needs()["runn"]


def test_stray_and_missing_benchmark_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no benchmark file"):
        resources.measured(tmp_path)
    plant(tmp_path, "a/b/c/d", 1.0, 1.0, 1.0)
    with pytest.raises(ConfigError, match=r"a/b/c/d\.tsv: no rule"):
        resources.measured(tmp_path)
