"""The house keeps its shape: who imports whom, nothing twice or too early, what is packaged, what locks pin."""

import ast
import graphlib
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from setuptools import find_packages

from dpregret.workflows.plan.fingerprint import module_file

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("algorithms", "datasets", "paper_figs", "workflows")
PACKAGE = ROOT / "dpregret"
MODULES = sorted(path for folder in ("numerics", "core", *FOLDERS) for path in (PACKAGE / folder).rglob("*.py"))
FAMILIES = {path.parent.name for path in (PACKAGE / "algorithms").glob("*/__init__.py")} - {"privacy", "geometry"}
LEARNERS_MAY = ("numerics", "core", *(f"algorithms.{name}" for name in ("learner", "privacy", "geometry")))
JUDGED = ("numerics", "core", "paper_figs.text", "paper_figs.judge")
DATA = ("numerics", "core", "algorithms", "datasets")
CASES = ("workflows.audit", "workflows.families")
MAY_IMPORT = {
    "numerics": (),
    "core": ("numerics",),
    "algorithms": (),
    "algorithms.privacy": ("numerics", "core"),
    "algorithms.geometry": ("numerics", "core"),
    "algorithms.learner": ("numerics", "core", "algorithms.privacy", "algorithms.geometry"),
    **{f"algorithms.{name}": LEARNERS_MAY for name in FAMILIES},
    "algorithms.online": (*LEARNERS_MAY, "algorithms.experts"),  # L2P on a net
    "algorithms.lemmas": (*LEARNERS_MAY, "algorithms.online"),  # the noise of boxes
    "algorithms.erm": (*LEARNERS_MAY, "algorithms.online"),  # online-to-batch
    "datasets": ("numerics", "core"),
    "paper_figs": (),
    "paper_figs.judge.fits": ("numerics", "core"),
    "paper_figs.text": ("numerics", "core", "paper_figs.judge.fits"),
    "paper_figs.judge": ("numerics", "core", "paper_figs.text"),
    "paper_figs.figures": JUDGED,
    "paper_figs.tables": JUDGED,
    "paper_figs.compare": JUDGED,
    "paper_figs.validation": (*JUDGED, "paper_figs.compare"),
    "paper_figs.confirm": (*JUDGED, "paper_figs.figures"),
    "paper_figs.winners": (*JUDGED, "paper_figs.figures"),
    "paper_figs.report": ("numerics", "core", "paper_figs"),
    "workflows": (),
    "workflows.audit": (*DATA, "paper_figs.text", "paper_figs.judge"),
    "workflows.audit.tables": (*DATA, "paper_figs"),
    "workflows.families": (*DATA, "paper_figs.judge", "workflows.audit"),
    "workflows.audit.plan": (*DATA, "paper_figs", *CASES),
    "workflows.mechanisms": (*DATA, "paper_figs", "workflows.audit"),
    "workflows.plan": (*DATA, "paper_figs", *CASES, "workflows.mechanisms"),
    "workflows.run": (*DATA, "paper_figs", *CASES, "workflows.mechanisms", "workflows.plan"),
    "workflows.advice": (*DATA, "paper_figs", *CASES, "workflows.plan", "workflows.run"),
    "workflows.scripts": (*DATA, "paper_figs", "workflows"),
}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The longest entry of MAY_IMPORT that holds the module."""
    rooms = [room for room in MAY_IMPORT if module == room or module.startswith(f"{room}.")]
    return max(rooms, key=len)


def ours(names: set[str]) -> set[str]:
    return {name.removeprefix("dpregret.") for name in names if name.startswith("dpregret.")}


def imported(statements: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in (each for statement in statements for each in ast.walk(statement)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import of {node.module} on line {node.lineno}"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return ours(found)


@cache
def statements_of(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text(encoding="utf-8")).body


def may_import(room: str, name: str) -> bool:
    if name.partition(".")[0] == "study":  # where files are, of the standard library alone
        return True
    target, allowed = room_of(name), (room, *MAY_IMPORT[room])
    return any(target == each or target.startswith(f"{each}.") for each in allowed)


def test_imports_go_in_the_allowed_direction() -> None:
    """All modules in one test: as one each they cost pytest more than the reading."""
    found = {name_of(path): imported(statements_of(path)) for path in MODULES}
    wrong = [
        (module, name) for module, names in found.items() for name in names if not may_import(room_of(module), name)
    ]
    assert wrong == [], "module, what it imports"
    assert not may_import("datasets", "algorithms.learner")
    assert not may_import("paper_figs", "algorithms.online.ftal")


def test_public_methods_are_documented_where_they_are_first_said() -> None:
    """A method without a docstring overrides one that has it."""
    kinds = [node for path in MODULES for node in statements_of(path) if isinstance(node, ast.ClassDef)]
    methods = {kind: [each for each in kind.body if isinstance(each, ast.FunctionDef)] for kind in kinds}

    def said(kind: ast.ClassDef, method: str) -> bool:
        own = any(each.name == method and ast.get_docstring(each) for each in methods[kind])
        bases = [ast.unparse(base).partition("[")[0].split(".")[-1] for base in kind.bases]
        return own or any(said(each, method) for each in kinds if each.name in bases and each is not kind)

    public = [(kind, each) for kind in kinds if kind.name[0] != "_" for each in methods[kind] if each.name[0] != "_"]
    assert [(kind.name, each.name) for kind, each in public if not said(kind, each.name)] == []


def test_modules_import_each_other_without_circles() -> None:
    graph: dict[Path, set[Path]] = {}
    for path in MODULES:
        names = {f"dpregret.{name}" for name in imported(statements_of(path))}  # those within functions, too
        files = {module_file(name) or module_file(name.rpartition(".")[0]) for name in names}
        graph[path] = {file for file in files if file and file != path}
    assert len(list(graphlib.TopologicalSorter(graph).static_order())) >= len(MODULES)


def test_plays_take_exponentials_and_logarithms_from_numerics() -> None:
    """The last bit of NumPy's depends on the processor."""
    plays = ("algorithms/bandits", "algorithms/erm", "algorithms/experts", "algorithms/online", "algorithms/geometry")
    folders = [*plays, "core", "datasets", "workflows/families"]
    files = [file for folder in folders for file in (PACKAGE / folder).rglob("*.py")]
    for file in [*files, PACKAGE / "algorithms" / "learner.py"]:
        assert not re.search(r"\bnp\.(exp2?|expm1|log(1p|2|10)?|sinh|cosh|tanh)\(", file.read_text()), file


def test_the_folders_at_the_top_are_links_into_the_package() -> None:
    for folder in FOLDERS:
        assert (ROOT / folder).readlink() == Path("dpregret") / folder
        assert not (PACKAGE / folder).is_symlink()
        assert (PACKAGE / folder / "py.typed").is_file()
    found = set(find_packages(str(ROOT), include=["dpregret*"]))
    assert found == {f"dpregret.{name_of(path)}" for path in MODULES if path.name == "__init__.py"} | {"dpregret"}


@pytest.mark.parametrize(
    "name", ["run", "dev", "lint", "slurm", "bootstrap", "audit", "docs", "sbom", "peers", "peers-alone", "trial"]
)
def test_locks_pin_by_hash_and_hold_no_address(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    assert "://" not in text
    pinned = re.findall(r"^([a-z0-9][a-z0-9._-]*)==\S+.*\\\n    --hash=sha256:[0-9a-f]{64}", text, flags=re.MULTILINE)
    listed = re.findall(r"^[A-Za-z0-9][^\s;<>=]*", text, flags=re.MULTILINE)
    assert pinned == listed
    wanted = (ROOT / "requirements" / f"{name}.in").read_text(encoding="utf-8").splitlines()
    names = {re.split(r"[<>=]", line)[0].lower() for line in wanted if line and not line.startswith(("#", "-r"))}
    assert names <= set(pinned)


def test_everything_installed_at_run_time_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locked = set(re.findall(r"^([a-z0-9._-]+)==", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE))
    assert {re.split(r"[<>=]", line)[0] for line in project["dependencies"]} <= locked
    assert locked.isdisjoint({"selenium", "mypy", "basedpyright", "ruff", "hypothesis", "pytest", "sphinx"})


@pytest.mark.parametrize("folder", ["algorithms", "datasets", "paper_figs", "workflows"])
def test_no_bare_import_loads_a_second_copy(folder: str) -> None:
    """The links at the top of a clone lie on the path of whoever starts Python there."""
    command = [sys.executable, "-c", f"import {folder}"]
    here = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}  # the folder comes first
    done = subprocess.run(command, cwd=ROOT, env=here, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"ImportError: import dpregret.{folder}: ")


def test_no_library_is_loaded_before_it_is_used() -> None:
    """One process loads what needs least first: a library that comes with a step was loaded by none before it."""
    steps = {
        "dpregret": "numpy pandas pydantic",
        "dpregret.cli": "numpy pandas yaml pydantic snakemake rich",  # help and completion wait for none
        "dpregret.paper_figs.tables.show": "jinja2 scipy.optimize scipy.stats numba",
        "dpregret.workflows.plan.make, dpregret.workflows.mechanisms.exact": "scipy.stats",  # named by each plan
        "dpregret.workflows.run.job": "matplotlib cvxpy",
    }
    checks = (
        f"import {modules}; print({modules!r}, sorted({set(heavy.split())} & set(sys.modules)))"
        for modules, heavy in steps.items()
    )
    program = "\n".join(["import sys", *checks])
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{modules} []" for modules in steps]
