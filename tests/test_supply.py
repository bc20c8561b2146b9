"""What the project is made of, what others read about it, and what make does about paths and a user's settings."""

import errno
import logging
import os
import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from commands import ran

from dpregret.workflows.run import stage
from dpregret.workflows.run.stage import job_log

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONS = sorted((ROOT / ".github" / "actions").glob("*/action.yml"))
PINNED = r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
MODULES = sorted((ROOT / "dpregret").rglob("*.py"))


WRITES = {
    ("release.yml", "publish"): {"id-token"},
    ("release.yml", "announce"): {"contents"},
    ("release.yml", "pages"): {"pages", "id-token"},
    ("pages.yml", "deploy"): {"pages", "id-token"},
    ("speed.yml", "keep"): {"contents"},
}
"""What a job may write; all others read."""


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_digest_and_may_write_what_it_publishes_only(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert used
    own = r"\./\.github/(?:actions/\w+|workflows/\w+\.yml)"
    assert [each for each in used if not re.fullmatch(rf"{PINNED}|{own}", each)] == []
    assert re.findall(r"github\.(?:event|head_ref|actor)|secrets\.", text) == []  # no stranger's word reaches a shell
    found = yaml.safe_load(text)
    assert found["permissions"] == {"contents": "read"}
    for name, job in found["jobs"].items():
        writes = {what for what, how in job.get("permissions", {}).items() if how == "write"}
        assert writes == WRITES.get((path.name, name), set())
        assert not writes or "pull_request" not in found[True]  # YAML 1.1 reads the key "on" as true
        assert re.fullmatch(r"(?:\S+@sha256:[0-9a-f]{64})?", job.get("container", ""))
        for step in job.get("steps", []):
            assert not writes or not step.get("run", "").startswith("make")  # no code of the tree where one may write
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", ACTIONS, ids=lambda path: path.parent.name)
def test_words_of_a_caller_reach_an_action_as_data_only(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [each for each in re.findall(r"uses: (.*)", text) if not re.fullmatch(PINNED, each)] == []
    found = yaml.safe_load(text)
    scripts = [step for step in found["runs"]["steps"] if "run" in step]
    assert scripts
    for step in scripts:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    passed = {word for step in found["runs"]["steps"] for word in re.findall(r"inputs\.(\w+)", str(step.get("env")))}
    passed |= {word for step in found["runs"]["steps"] for word in re.findall(r"inputs\.(\w+)", str(step.get("with")))}
    assert passed | {"python"} == set(found["inputs"])  # an input that nothing reads would be ignored in silence


def test_no_module_unpickles_or_names_a_shared_temporary_file() -> None:
    text = {path: path.read_text(encoding="utf-8") for path in MODULES}
    loads = r"\bc?pickle\.(loads?|Unpickler)|from c?pickle|import c?pickle as"  # a hash of what is dumped is harmless
    modules = r"\b(cloudpickle|joblib|dill|shelve|marshal)\b|allow_pickle=True|read_pickle"
    bad = rf"{loads}|{modules}|gettempdir|mktemp\b|[\"']/tmp"
    assert len(text) > 200
    assert {path.name: found for path, each in text.items() if (found := re.findall(bad, each))} == {}


def test_no_name_is_a_word_of_the_shell() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "dpregret/workflows/rules").glob("*.smk"))
    commands = re.findall(r"shell:\n\s+(.*)", text)
    assert commands
    assert [word for each in commands for word in re.findall(r"{[^{}]*(?<!:q)}", each)] == []


@pytest.mark.parametrize(
    ("fault", "free", "said"),
    [
        (OSError(errno.ENOSPC, "full", "a.png"), 2**30, "a.png: No space left on device: free space and repeat"),
        (shutil.Error([("a", "b", "[Errno 28] No space")]), 2**30, "No space left on device: free space and repeat"),
        (OSError("encoder error -2"), 0, "No space left on device: free space and repeat"),
        (OSError(errno.EROFS, "read-only", "a.png"), 2**30, "a.png: Read-only file system: mend this and repeat"),
        (OSError("encoder error -2"), 2**30, "Traceback"),
        (FileNotFoundError(errno.ENOENT, "none", "a.png"), 0, "Traceback"),
    ],
)
def test_what_the_disk_refuses_is_a_line_with_its_remedy_and_no_traceback(
    fault: OSError, free: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = logging.getLogger().handlers[:]
    monkeypatch.setattr(stage.shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    monkeypatch.setattr(logging, "raiseExceptions", True)
    try:
        with pytest.raises(SystemExit), job_log(tmp_path / "log.txt"):
            raise fault
    finally:
        logging.getLogger().handlers[-1].close()
        logging.getLogger().handlers[:] = before
        logging.captureWarnings(False)
    text = (tmp_path / "log.txt").read_text(encoding="utf-8")
    assert said in text
    assert (text.count("\n") == 1) == (said != "Traceback")


def test_logs_of_jobs_hold_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    before = logging.getLogger().handlers[:]
    try:
        with pytest.raises(SystemExit), job_log(tmp_path / "log.txt"):
            raise ValueError("a\x1b]0;title\x07b\u202e\ud800")
    finally:
        logging.getLogger().handlers[-1].close()
        logging.getLogger().handlers[:] = before
        logging.captureWarnings(False)
    text = (tmp_path / "log.txt").read_text(encoding="utf-8")
    assert "\nValueError: a\\x1b]0;title\\x07b\\u202e\\ud800\n" in text
    assert all(each.isprintable() or each == "\n" for each in text)


def read(name: str) -> Any:
    text = (ROOT / name).read_text(encoding="utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else yaml.safe_load(text)  # JSON is YAML


def test_citation_and_metadata_say_the_same_and_name_every_paper() -> None:
    files = runpy.run_path(str(ROOT / "docs" / "site" / "metadata.py"))["files"]()
    assert {path.name for path in files} == {"CITATION.cff", "codemeta.json"}
    assert {path: path.read_text(encoding="utf-8") for path in files} == files  # make metadata
    citation = read("CITATION.cff")
    assert citation["license"] == read("pyproject.toml")["project"]["license"]
    papers = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "workflows/papers").glob("*/claims.yaml"))]
    titles = [each["title"] for each in papers if not each.get("chapter")]
    assert [each["title"] for each in citation["references"]] == titles
    cited = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8").replace("{", "").replace("}", "")
    assert [title for title in titles if f"title = {title}," not in cited] == []


def test_the_package_holds_every_file_that_its_code_reads() -> None:
    data = read("pyproject.toml")["tool"]["setuptools"]["package-data"]
    package = ROOT / "dpregret"
    packages = [path.parent for path in package.rglob("__init__.py")]
    packed = {path for package in packages for pattern in data["*"] for path in package.glob(pattern)}
    files = [path for path in package.rglob("*") if path.is_file() and "cache" not in path.parts]
    wanted = {path for path in files if not path.name.endswith((".py", ".pyc", "README.md"))}
    whole = {path for pattern in data["dpregret"] for path in package.glob(pattern)}
    assert len(wanted) > 20
    assert wanted <= packed | whole
    assert package / "Snakefile" in whole
    for kept in (ROOT / "results" / "reference").iterdir():  # each by a link, that a wheel has as files
        link = package / "results" / "reference" / kept.name
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
    assert [line for line in lines[lines.index("USER dpregret") :] if "apt-get" in line] == []


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"STUDY": ""}, "study"),
        ({"STUDY": "$(touch planted)"}, "study"),
        ({"AUDIT": "no"}, "audit"),
        ({"CORES": "2; ls"}, "cores"),
    ],
)
def test_the_action_refuses_wrong_inputs_in_one_line(changes: dict[str, str], word: str, tmp_path: Path) -> None:
    study = {"STUDY": f"{ROOT}/docs/examples/repository/regret", "PYTHON": "/nonexistent/python"}
    given = {f"GATE_{name}": value for name, value in (study | changes).items()}
    script = ROOT / ".github" / "actions" / "gate" / "run.sh"
    done = ran([script], tmp_path, **given)
    assert (done.returncode, done.stdout) == (2, "")
    assert word in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def make(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run make in a folder that has the Makefile, the locks and a package, and nothing else."""
    for name in ("requirements", "dpregret/algorithms"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    locks = [f"requirements/{name}.txt" for name in ("bootstrap", "run", "dev")]
    for name in ("Makefile", "pyproject.toml", *locks):
        shutil.copy(ROOT / name, folder / name)
    own = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    return subprocess.run(
        ["make", *words], cwd=folder, env={**own, **environment}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("letter", ["$", "\n"])
def test_a_path_that_no_environment_can_hold_is_told(tmp_path: Path, letter: str) -> None:
    done = make(tmp_path / f"a{letter}b", "setup")
    assert done.returncode != 0
    assert done.stderr.startswith("the path of this clone holds a double quote, dollar sign,")
    assert not list(tmp_path.glob("*/.venv"))


def test_other_paths_are_fine(tmp_path: Path) -> None:
    done = make(tmp_path / "-a b 'c' é" / ("long" * 50), "links")
    assert (done.returncode, done.stderr) == (0, "")


def test_tools_are_called_as_modules(tmp_path: Path) -> None:
    """The first line of a script in .venv/bin cannot name an interpreter whose path holds a space."""
    said = make(tmp_path, "-n", "reproduce", "test", "lint", "lock", "unlock", "ci-check").stdout
    assert set(re.findall(r"\.venv/bin/(\S+)", said)) == {"python"}
    assert "-m snakemake --config profile=full --cores" in said


def test_settings_of_the_user_do_not_reach_the_tools(tmp_path: Path) -> None:
    """Nor does a home folder matter that cannot be written."""
    show = ("--eval", "show: ; @env", "show")
    done = make(tmp_path, *show, PYTHONOPTIMIZE="2", PYTHONHOME="/x", SNAKEMAKE_PROFILE="y", HOME="/proc")
    told = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert not {"PYTHONOPTIMIZE", "PYTHONHOME", "SNAKEMAKE_PROFILE", "PYTHONPATH"} & set(told)
    assert told["PYTHONSAFEPATH"] == "1"
    assert told["XDG_CACHE_HOME"] == f"{tmp_path}/.cache"
    kept = make(tmp_path, *show, HOME=str(tmp_path / "home"))
    assert "XDG_CACHE_HOME" not in kept.stdout
