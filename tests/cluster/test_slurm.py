"""The smoke profile through a real Slurm, with a job, the controller of Slurm and Snakemake killed: the same tables."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import one_node
import pytest
from checkout import HANGS, ROOT, Checkout, make_checkout, shared

pytestmark = pytest.mark.slurm

PROFILE = ("--config", "profile=smoke")
# what the profile leaves to a cluster: smaller groups, and quicker questions
ON_ONE_NODE = (
    "--profile", "profiles/slurm", "--group-components", "pages=3",
    "--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "20",
)  # fmt: skip
CPUS = 3


@pytest.fixture(scope="module", autouse=True)
def slurm() -> None:
    """Whoever asks for these tests wants them run: what is missing is a failure, no skip that passes as green."""
    if reason := one_node.lacking():
        pytest.fail(reason, pytrace=False)


@pytest.fixture
def local() -> Path:
    """The working tree with a finished smoke profile."""
    command = [sys.executable, "-m", "snakemake", "--nocolor", "--cores", str(CPUS), *PROFILE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return ROOT


@pytest.fixture
def node(tmp_path: Path) -> Iterator[one_node.OneNode]:
    state = tmp_path / "node"
    state.mkdir()
    with one_node.OneNode(state, CPUS) as node:
        yield node


class Run:
    """A Snakemake in the background, with its words in a file."""

    def __init__(self, checkout: Checkout, log: Path, *arguments: str) -> None:
        self.log = log
        self.process = checkout.start(log, *arguments, *PROFILE)

    @property
    def words(self) -> str:
        return self.log.read_text(errors="replace")

    def finish(self) -> None:
        assert self.process.wait(timeout=HANGS) == 0, self.words[-8000:]

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def test_killed_run_on_slurm_ends_with_the_tables_of_a_local_run(
    tmp_path: Path, local: Path, node: one_node.OneNode
) -> None:
    cluster = make_checkout(tmp_path / "cluster")
    runs: list[Run] = []
    try:
        runs.append(first := Run(cluster, tmp_path / "first.log", *ON_ONE_NODE))

        one_node.wait_for(lambda: node.jobs("R"), "a running job")
        victim = node.jobs("R")[0]
        node.ask("scancel", victim)
        one_node.wait_for(lambda: victim not in node.jobs(), "the end of a cancelled job")
        one_node.wait_for(lambda: node.jobs() and int(node.jobs()[-1]) > int(victim), "further jobs")
        assert first.process.poll() is None, "a lost job ends no run: " + first.words[-4000:]

        node.crash_controller()
        one_node.wait_for(lambda: len(list(cluster.root.glob("results/store/*/*.parquet"))) >= 6, "six finished plays")
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait()
        running, waiting = node.jobs("R"), node.jobs("PD")
        assert running, "no job was left behind: killed too late"
        for job in (*waiting, *running[:-1]):  # as docs/running.md advises, but for one, which goes on at its own risk
            node.ask("scancel", job)

        unlocked = cluster.snakemake(*PROFILE, "--unlock")
        assert unlocked.returncode == 0, unlocked.stderr
        runs.append(second := Run(cluster, tmp_path / "second.log", *ON_ONE_NODE))
        second.finish()
    finally:
        for run in runs:
            run.kill()
    expected, found = (shared(root / "results" / "smoke") for root in (local, cluster.root))
    assert len(expected) > 30
    assert sorted(found) == sorted(expected)
    assert [name for name in expected if found[name] != expected[name]] == []
    again = cluster.snakemake("--cores", "1", *PROFILE)
    assert "Nothing to be done" in again.stderr, again.stderr
