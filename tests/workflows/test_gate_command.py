"""`dpregret gate` with steps that end in every way: success is a mark that a step leaves at its end."""

import faulthandler
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from checkout import ROOT
from markdown_it import MarkdownIt

from dpregret import study
from dpregret.core.errors import ConfigError
from dpregret.workflows.plan import read
from dpregret.workflows.run import studies

PAPER = "my_study"
RUN = f"""
import os, pathlib, signal, sys
END = sys.argv[1]
results = pathlib.Path("results/study")
def tables():
    (results / "{PAPER}").mkdir(parents=True, exist_ok=True)
    for name in {studies.TABLES!r}:
        (results / "{PAPER}" / name).write_text("new")
def die(): os.kill(os.getpid(), signal.SIGKILL)
if END == "killed": die()
if END == "crashed": os.kill(os.getpid(), signal.SIGSEGV)
if END == "early": os._exit(0)
if END in ("2", "1"): sys.exit(int(END))
tables()
if END == "tables, then killed": die()
if END == "tables, then early": os._exit(0)
if END == "tables, then 1": sys.exit(1)
(results / "{PAPER}" / "{studies.MARK}").write_text("new")
if END == "mark, then killed": die()
"""
ENDS: dict[str, Callable[[], object]] = {
    "0": lambda: 0,
    "1": lambda: 1,
    "2": lambda: 2,
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "crashed": lambda: (faulthandler.disable(), os.kill(os.getpid(), signal.SIGSEGV)),  # that of the tests
    "terminated": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "early": lambda: os._exit(0),
    "exits": lambda: sys.exit(0),
    "half": lambda: (print("half a", end="", flush=True), os._exit(0)),
    "no answer": lambda: None,
    "another answer": lambda: 137,
    "raises": lambda: ENDS["nothing of this name"],
}
RUNS = (
    "killed", "crashed", "early", "1", "2", "tables, then killed", "tables, then early", "tables, then 1",
    "mark, then killed",
)  # fmt: skip


def test_step() -> object:
    """Called by name, as a step is."""
    return ENDS[os.environ["STEP_TEST"]]()


def audit_step() -> object:
    return ENDS[os.environ["STEP_AUDIT"]]()


test_step.__test__ = False  # type: ignore[attr-defined]


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The exit code of the gate with stub steps, in a study whose last run left a mark and good tables."""
    folder = tmp_path / PAPER
    (folder / "results" / "study" / PAPER).mkdir(parents=True)
    (folder / "reference").mkdir()
    for name in (studies.MARK, *studies.TABLES):
        (folder / "results" / "study" / PAPER / name).write_text("old")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(study, "FOLDER", folder)
    steps = {"test": f"{__name__}:test_step", "audit": f"{__name__}:audit_step"}
    monkeypatch.setattr(studies, "STEPS", steps)

    def call(
        no_audit: bool = False,
        keep: bool = False,
        *,
        test: str = "0",
        run: str = "0",
        tables: int = 0,
        audit: str = "0",
    ) -> int:
        monkeypatch.setenv("STEP_TEST", test)
        monkeypatch.setenv("STEP_AUDIT", audit)
        monkeypatch.setattr(studies, "COMMAND", (sys.executable, "-c", RUN, run))
        judged = SimpleNamespace(main=lambda new, old: tables if read_tables() == {"new"} else 1)
        monkeypatch.setattr(studies, "tables_gate", judged)
        return studies.gate("study", no_audit=no_audit, keep=keep)

    def read_tables() -> set[str]:
        return {(folder / "results" / "study" / PAPER / name).read_text() for name in studies.TABLES}

    return call


def test_all_steps_kept_pass(gate: Callable[..., int], capfd: pytest.CaptureFixture[str]) -> None:
    assert gate() == 0
    said = capfd.readouterr()
    assert said.out.splitlines()[-1] == "gate: passed"
    assert said.err == ""


@pytest.mark.parametrize("place", ["test", "audit"])
@pytest.mark.parametrize("end", ENDS)
def test_a_step_that_does_not_answer_could_not_be_judged(
    place: str, end: str, gate: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    code = gate(**{place: end})
    said = capfd.readouterr()
    assert code == (int(end) if end.isdigit() else 2)
    assert said.out.splitlines()[-1].endswith(studies.ENDS[code])
    assert ("could not be judged" in said.err) == (end not in ("0", "1", "2"))


@pytest.mark.parametrize("end", RUNS)
def test_tables_of_a_run_that_did_not_finish_are_not_judged_as_this_run(
    end: str, gate: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    """The mark and the tables of the last run lie there, and are good: they are not compared."""
    assert gate(run=end) == 2
    said = capfd.readouterr()
    assert "gate: run: could not be judged" in said.err
    assert said.out.splitlines()[-1] == "gate: could not be judged"


@pytest.mark.parametrize("code", [1, 2])
def test_what_the_comparison_finds_is_the_end(code: int, gate: Callable[..., int]) -> None:
    assert gate(tables=code) == code
    assert gate(no_audit=True, tables=code, audit="killed") == code


def test_a_finding_is_not_hidden_by_a_step_that_died(gate: Callable[..., int]) -> None:
    assert gate(tables=1, audit="killed") == 1
    assert gate(test="1", run="killed") == 1


@pytest.mark.parametrize("end", RUNS)
def test_a_run_that_did_not_finish_is_not_kept_as_the_reference(end: str, gate: Callable[..., int]) -> None:
    assert gate(keep=True, run=end) == 2
    assert list(Path("reference").iterdir()) == []


def test_a_finished_run_is_kept(gate: Callable[..., int]) -> None:
    assert gate(keep=True) == 0
    assert {path.name for path in Path("reference").iterdir()} == set(studies.TABLES)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("echo 'gate: passed'", 0),
        ("echo 'gate: something was found'; exit 1", 1),
        ("echo 'no reference yet'; exit 2", 2),
        ("true", 2),
        ("printf 'half a'", 2),
        ("echo 'gate: passed'; exit 1", 2),
        ("exit 1", 2),
        ("exit 77", 2),
        ("kill -KILL $$", 2),
        ("kill -SEGV $$", 2),
        ("echo 'gate: passed'; kill -TERM $$", 2),
    ],
)
def test_the_action_believes_a_code_only_beside_the_last_line(script: str, code: int, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/bash\n{script}\n")
    python.chmod(0o755)
    (tmp_path / "regret").mkdir()
    own = os.environ | {"GATE_STUDY": str(tmp_path / "regret"), "GATE_PYTHON": str(python)}
    action = ROOT / ".github" / "actions" / "gate" / "run.sh"
    done = subprocess.run([action], env=own, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    if code == 2 and "no reference" not in script:
        assert "could not be judged" in done.stdout.splitlines()[-1]


def test_the_summary_of_the_action_shows_the_output_and_nothing_else(tmp_path: Path) -> None:
    lines = ["```", "<script>alert(1)</script>", "[a](javascript:b)", "", "    # a", "gate: passed"]
    python, summary = tmp_path / "python", tmp_path / "summary.md"
    python.write_text("#!/bin/bash\ncat <<'END'\n" + "\n".join(lines) + "\nEND\n")
    python.chmod(0o755)
    own = os.environ | {"GATE_STUDY": str(tmp_path), "GATE_PYTHON": str(python), "GITHUB_STEP_SUMMARY": str(summary)}
    summary.write_text("of another step\n")
    subprocess.run([ROOT / ".github" / "actions" / "gate" / "run.sh"], env=own, capture_output=True, check=True)
    tokens = MarkdownIt("commonmark").parse(summary.read_text())
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close", "code_block"]
    assert tokens[-1].content.splitlines() == lines


@pytest.mark.parametrize(
    "child",
    [
        "import os; os._exit(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "print('{\"plan\": null', end='')",
        "print('7')",
        "print('{}')",
        'print(\'{"plan": null, "problems": []}\')',
        f'print(\'{{"plan": {{"format": {read.FORMAT}}}, "problems": []}}\'); raise SystemExit(1)',
    ],
)
def test_a_plan_is_believed_whole_and_from_a_process_that_ended_well(
    child: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **how: started([sys.executable, "-c", child], **how))
    with pytest.raises(ConfigError, match="could not be made"):
        read._from_child("{}")
