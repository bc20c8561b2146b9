"""What others read about this project says the same everywhere: citation, metadata, packages, container, action."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("dpregret",)


def read(name: str) -> Any:
    text = (ROOT / name).read_text(encoding="utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else yaml.safe_load(text)  # JSON is YAML


def test_citation_and_metadata_say_the_same_and_name_every_paper() -> None:
    files = runpy.run_path(str(ROOT / "docs" / "site" / "metadata.py"))["files"]()
    assert {path.name for path in files} == {"CITATION.cff", "codemeta.json"}
    assert {path: path.read_text(encoding="utf-8") for path in files} == files  # make metadata
    project, citation = read("pyproject.toml")["project"], read("CITATION.cff")
    assert citation["title"].partition(":")[0] == project["name"]
    assert citation["license"] == project["license"]
    papers = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "workflows/papers").glob("*/claims.yaml"))]
    titles = [each["title"] for each in papers if not each.get("chapter")]
    assert [each["title"] for each in citation["references"]] == titles
    cited = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8").replace("{", "").replace("}", "")
    assert [title for title in titles if f"title = {title}," not in cited] == []


def test_a_release_stops_at_the_first_open_item_of_the_owners(tmp_path: Path) -> None:
    def ready(tag: str) -> tuple[int, str]:
        done = subprocess.run([script, tag], capture_output=True, text=True, check=False)
        assert done.stderr.count("\n") == bool(done.returncode)
        return done.returncode, done.stderr

    script = shutil.copy(ROOT / ".github" / "ready.sh", tmp_path / "ready.sh")
    (tmp_path / "inside").mkdir()
    script = shutil.move(script, tmp_path / "inside")
    text = (ROOT / "RELEASING.md").read_text(encoding="utf-8")
    (tmp_path / "RELEASING.md").write_text(text.replace("- [x]", "- [ ]"))
    (tmp_path / "CHANGELOG.md").write_text("## 1.2.3 (2026-01-01)\n")
    code, said = ready("v1.2.3")
    assert code == 1
    assert "RELEASING.md:" in said
    (tmp_path / "RELEASING.md").write_text(text.replace("- [ ]", "- [x]"))
    assert ready("v1.2.3") == (0, "")
    assert ready("v1.2.4")[0] == 1
    assert ready("1.2; ls")[0] == 1


FOR_READERS = ("README.md",)


def test_the_package_holds_every_file_that_its_code_reads() -> None:
    data = read("pyproject.toml")["tool"]["setuptools"]["package-data"]
    packages = [path.parent for folder in FOLDERS for path in (ROOT / folder).rglob("__init__.py")]
    packed = {path for package in packages for pattern in data["*"] for path in package.glob(pattern)}
    wanted = {
        path for folder in FOLDERS for path in (ROOT / folder).rglob("*")
        if path.is_file() and not path.name.endswith((".py", ".pyc", *FOR_READERS)) and "cache" not in path.parts
    }  # fmt: skip
    whole = {path for pattern in data["dpregret"] for path in (ROOT / "dpregret").glob(pattern)}
    assert len(wanted) > 20
    assert wanted <= packed | whole
    assert ROOT / "dpregret" / "Snakefile" in whole
    for kept in (ROOT / "results" / "reference").iterdir():  # each by a link, that a wheel has as files
        link = ROOT / "dpregret" / "results" / "reference" / kept.name
        assert link.is_symlink()
        assert link.resolve() == kept.resolve()


def names(requirements: list[object]) -> set[str]:
    return {re.split(r"[<>=; ]", each)[0].removesuffix("-base") for each in requirements if isinstance(each, str)}


def test_conda_takes_the_lock_or_all_that_jobs_need() -> None:
    project, ci = read("pyproject.toml")["project"], read(".github/workflows/ci.yml")
    whole, jobs = read("environment.yml")["dependencies"], read("workflows/envs/bench.yaml")["dependencies"]
    assert whole[-1] == {"pip": ["-r requirements/run.txt"]}
    python = next(each for each in whole if str(each).startswith("python")).partition("=")[2]
    assert python in ci["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert f"python {project['requires-python']}" in jobs
    bounds = {each for each in project["dependencies"] if re.search("[<>=]", each) and "snakemake" not in each}
    assert bounds <= {str(each).replace(" ", "") for each in jobs}
    needed = names(project["dependencies"]) - {"snakemake", "snakemake-logger-plugin-rich"}
    assert needed <= names(jobs) | names(jobs[-1]["pip"])


def test_the_container_stands_on_one_digest_and_runs_without_rights() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if line.startswith("FROM")] == [lines[0]]
    python = re.fullmatch(r"FROM python:(3\.\d+)\.\d+-slim-\w+@sha256:[0-9a-f]{64}", lines[0])
    assert python
    assert python[1] in read(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]
    user = lines.index("USER dpregret")
    assert [line for line in lines[user:] if "apt-get" in line] == []
    assert [line for line in lines if line.startswith(("RUN make", "CMD", "COPY"))] == lines[user + 2 :]
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()]
    assert {line.removeprefix("**/").rstrip("/") for line in kept} >= {*ignored, ".git"}


def test_nothing_that_plans_or_plays_loads_what_draws() -> None:
    modules = "dpregret.cli, dpregret.workflows.plan.make, dpregret.workflows.run.job"
    told = "print([each for each in ('seaborn', 'matplotlib', 'cvxpy') if each in sys.modules])"
    done = subprocess.run([sys.executable, "-c", f"import sys, {modules}; {told}"], cwd=ROOT, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"STUDY": ""}, "study"), ({"STUDY": "$(touch planted)"}, "study"), ({"AUDIT": "no"}, "audit"),
        ({"CORES": "2; ls"}, "cores"),
    ],
)  # fmt: skip
def test_the_action_refuses_wrong_inputs_in_one_line(changes: dict[str, str], word: str, tmp_path: Path) -> None:
    study = {"STUDY": f"{ROOT}/docs/examples/repository/regret", "PYTHON": "/nonexistent/python"}
    given = {f"GATE_{name}": value for name, value in (study | changes).items()}
    script = ROOT / ".github" / "actions" / "gate" / "run.sh"
    done = subprocess.run([script], cwd=tmp_path, env=os.environ | given, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert word in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
