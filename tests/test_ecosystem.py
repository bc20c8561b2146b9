"""What others read about this project says the same everywhere: citation, metadata, packages, container, action."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import dpregret
from dpregret.paper_figs.compare.reference import PAPER, check
from dpregret.paper_figs.judge.claims_csv import read_lines

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("dpregret",)


def read(name: str) -> Any:
    text = (ROOT / name).read_text(encoding="utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else yaml.safe_load(text)  # JSON is YAML


def test_citation_and_metadata_agree_with_the_package() -> None:
    project, citation = read("pyproject.toml")["project"], read("CITATION.cff")
    metadata = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    assert {project["version"], citation["version"], metadata["version"]} == {dpregret.__version__}
    assert citation["title"].partition(":")[0] == metadata["name"] == project["name"]
    assert citation["title"] == metadata["alternateName"]
    assert metadata["description"] == project["description"]
    assert metadata["license"].rpartition("/")[2] == citation["license"] == project["license"]
    assert metadata["runtimePlatform"] == f"Python {project['requires-python']}"
    assert [each["name"] for each in metadata["author"]] == [each["name"] for each in citation["authors"]]
    assert metadata["keywords"] == citation["keywords"]


def test_every_paper_is_cited() -> None:
    papers = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "workflows/papers").glob("*/claims.yaml"))]
    titles = [each["title"] for each in papers if not each.get("chapter")]
    cited = read("CITATION.cff")["references"]
    listed = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))["referencePublication"]
    assert [each["title"] for each in cited] == titles
    assert [(each["name"], each["datePublished"]) for each in listed] == [
        (each["title"], str(each["year"])) for each in cited
    ]


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


EXAMPLE = ROOT / "docs" / "examples" / "gate"
GIVEN = {
    "DPREGRET_ALGORITHM": f"\n  {EXAMPLE}/my_descent.py\n", "DPREGRET_PAPER": f"{EXAMPLE}/my_descent_2026",
    "DPREGRET_PYTHON": "/nonexistent/python",
}  # fmt: skip


def test_the_example_of_the_action_has_its_reference() -> None:
    check(EXAMPLE / "reference", PAPER)
    kept = read_lines(EXAMPLE / "reference")["claim"]
    claims = yaml.safe_load((EXAMPLE / "my_descent_2026" / "claims.yaml").read_text(encoding="utf-8"))["claims"]
    assert set(kept) == {each["id"] for each in claims}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ALGORITHM": " \n"}, "algorithm: name at least one Python file"),
        ({"ALGORITHM": "$(touch planted).py"}, "algorithm: no file '$(touch planted).py'"),
        ({"ALGORITHM": f"{ROOT}/algorithms/online/noise.py"}, "there is a file algorithms/online/noise.py already"),
        ({"PAPER": f"{ROOT}/workflows/papers/talwar_2015"}, "paper: there is a paper 'talwar_2015' already"),
        ({"PAPER": ""}, "paper: no experiments.yaml and claims.yaml in ''"),
        ({"FAMILY": "../x"}, "family: '../x' is none of online, experts, bandits, erm"),
        ({"AUDIT": "no"}, "audit: 'no' is neither true nor false"),
        ({"CORES": "2; ls"}, "cores: '2; ls' is no number"),
        ({"PROFILE": "none.yaml"}, "profile: no file 'none.yaml'"),
        ({"PROFILE": f"{ROOT}/pyproject.toml"}, "has no line 'profile: NAME' of its own"),
    ],
)
def test_the_action_refuses_wrong_inputs_in_one_line(changes: dict[str, str], message: str, tmp_path: Path) -> None:
    given = GIVEN | {f"DPREGRET_{name}": value for name, value in changes.items()}
    script = ROOT / ".github" / "actions" / "gate" / "run.sh"
    done = subprocess.run([script], cwd=tmp_path, env=os.environ | given, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
