"""One interpreter for many jobs: each ends by itself, whatever the others do, and nothing outlives the run."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from checkout import HANGS, Checkout

from dpregret.algorithms.catalogue import learners
from dpregret.workflows.forkserver import launch
from dpregret.workflows.forkserver.client import ask
from dpregret.workflows.task import Asked, record_of

PLAYED = """
import ctypes, json, os, time
def run_job(config, paper, experiment, learner, variant, output, data_dir, **others):
    with open("faults.json") as faults:
        exec(json.load(faults).get(learner, ""), globals())
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(f"{os.getppid()} {os.getcwd()} {os.environ['TOLD']}")
"""
SCRIPT = """
from pathlib import Path
from dpregret.workflows.job import run_job
def main(asked):
    labels = {name: asked.one(name) for name in ("paper", "experiment", "learner", "variant")}
    run_job(asked.settings, **labels, output=asked.output, data_dir=Path())
"""
RUNS = Path("results/mine/lou_cheung_2020/runs/horizon")
MINE = ("--config", "profile=mine.yaml", "--cores", "2", "--until", "run")
GOOD = ("wdp-cocop-gamma", "ogd")
FAULTS = {
    "ftal": ("os.kill(os.getpid(), 9)", 137),
    "wdp-cocop-gaussian": ("os._exit(5)", 5),
    "wdp-cocol-gamma": ("ctypes.string_at(0)", 139),
    "pftal": ("raise MemoryError('planted')", 1),
}


Plant = Callable[[Mapping[str, str]], None]


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first command of each set of learners has looked at, and others of the same code need not."""
    return tmp_path_factory.mktemp("looked")


@pytest.fixture
def plant(checkout: Checkout, settings: dict[str, Any], looked: Path) -> Iterator[Plant]:
    """Replace what runs do: learners by name meet a fault, all others write a line; no learner is imported."""
    kept, made = checkout.root / ".snakemake", [looked]

    def plant_faults(faults: Mapping[str, str]) -> None:
        experiment = settings["papers"]["lou_cheung_2020"]["experiments"]["horizon"]
        variants = {name: learners("online")[name].card.variants for name in (*GOOD, *faults)}
        experiment["learners"] = {name: [next(iter(each))] for name, each in variants.items()}
        (checkout.root / "mine.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
        (checkout.root / "faults.json").write_text(json.dumps(faults))
        (checkout.root / "workflows" / "job.py").write_text(PLAYED)
        (checkout.root / "workflows" / "scripts" / "run.py").write_text(SCRIPT)
        (checkout.root / "results" / "reference" / "cost_rates.csv").unlink()  # nor for a prediction of its time
        made.append(looked / "-".join(faults))
        if made[-1].exists():
            shutil.copytree(made[-1], kept, dirs_exist_ok=True)

    yield plant_faults
    if not made[-1].exists():
        made[-1].mkdir()
        for name in ("checked.json", "index.json"):
            shutil.copy(kept / name, made[-1])


Start = Callable[[], "subprocess.Popen[str]"]


@pytest.fixture
def start(checkout: Checkout) -> Iterator[Start]:
    """Start the run; whatever a test leaves of it ends with the test."""
    started = []

    def begin() -> "subprocess.Popen[str]":
        started.append(
            subprocess.Popen(
                checkout.command(*MINE), cwd=checkout.root, env={**checkout.environment, "TOLD": "x=y\nz"}, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
        )  # fmt: skip
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def servers(root: Path) -> list[int]:
    """Processes of this checkout that are no Snakemake: servers, their jobs and their clients."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
            if b"forkserver" in words and (folder / "cwd").resolve() == root.resolve():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def clients(root: Path) -> list[int]:
    found = []
    for each in servers(root):
        try:
            if b"client.py" in (Path("/proc") / str(each) / "cmdline").read_bytes():
                found.append(each)
        except OSError:
            continue
    return found


def wait_for(condition: Any, what: str, seconds: float = HANGS) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.05)


def job_that_hangs(root: Path) -> int:
    """Its number, once it has written it."""
    wait_for(lambda: list(root.glob("hangs")) and (root / "hangs").read_text(), "the hanging job")
    return int((root / "hangs").read_text())


def contents(checkout: Checkout) -> dict[str, str]:
    return {path.name: path.read_text() for path in (checkout.root / RUNS).glob("*.parquet")}


@pytest.mark.workflow
def test_jobs_that_die_touch_no_other_and_leave_records(checkout: Checkout, plant: Plant, start: Start) -> None:
    plant({name: fault for name, (fault, _) in FAULTS.items()} | {"ogd": "sum(range(3 * 10**7))"})
    process = start()
    said, _ = process.communicate(timeout=HANGS)
    assert process.returncode == 1, said
    for name, (_, code) in FAULTS.items():
        assert re.search(rf"failed: .*/{name}\.\w+ .*with exit status {code}$", said, re.M), name
    found = contents(checkout)
    assert sorted(found) == ["ogd.plain.parquet", "wdp-cocop-gamma.corrected.parquet"]
    parents = {text.split()[0] for text in found.values()}
    assert len(parents) == 1, "both are children of one server"
    assert {text.split(" ", 1)[1] for text in found.values()} == {f"{checkout.root} x=y\nz"}
    wait_for(lambda: not servers(checkout.root), "the end of the server")
    assert not list((checkout.root / ".snakemake").glob("jobs-*"))
    tables = {
        path.name: pd.read_csv(path, sep="\t").iloc[0]
        for path in (checkout.root / "results/mine/benchmark/lou_cheung_2020/horizon").glob("*.tsv")
    }
    worked, idle = tables["ogd.plain.tsv"], tables["wdp-cocop-gamma.corrected.tsv"]
    assert idle["cpu_time"] < worked["cpu_time"] <= 1.1 * worked["s"] + 0.1
    assert 20 < worked["max_rss"] < 2000


@pytest.mark.workflow
def test_a_signal_to_the_client_reaches_the_job(checkout: Checkout, plant: Plant, start: Start) -> None:
    plant({"ftal": "open('hangs', 'w').write(str(os.getpid())); time.sleep(600)"})
    process = start()
    job = job_that_hangs(checkout.root)
    wait_for(lambda: len(contents(checkout)) == 2, "the other jobs")
    wait_for(lambda: len(clients(checkout.root)) == 1, "the clients of the other jobs")
    os.kill(*clients(checkout.root), signal.SIGTERM)
    said, _ = process.communicate(timeout=HANGS)
    assert process.returncode == 1
    assert "143" in said
    assert not Path(f"/proc/{job}").exists()


@pytest.mark.workflow
@pytest.mark.parametrize("killed", ["snakemake", "server", "client"])
def test_nothing_outlives_the_run_and_the_same_command_ends_equal(
    checkout: Checkout, plant: Plant, start: Start, killed: str
) -> None:
    hangs = "long = 0 if os.path.exists('go') else 600; open('hangs', 'w').write(str(os.getpid())); time.sleep(long)"
    plant({"ftal": hangs})
    process = start()
    job = job_that_hangs(checkout.root)
    wait_for(lambda: len(contents(checkout)) == 2, "the other jobs")
    before = contents(checkout)
    wait_for(lambda: len(clients(checkout.root)) == 1, "the clients of the other jobs")
    words = {each: (Path("/proc") / str(each) / "cmdline").read_bytes() for each in servers(checkout.root)}
    kinds = {"client": b"client.py", "server": b"forkserver.server"}
    victims = [each for each, line in words.items() if killed in kinds and kinds[killed] in line and each != job]
    (checkout.root / "go").touch()
    os.kill(victims[0] if victims else process.pid, signal.SIGKILL)
    process.communicate(timeout=HANGS)
    wait_for(lambda: not servers(checkout.root), "the end of the server")
    wait_for(lambda: not Path(f"/proc/{job}").exists(), "the end of its job")
    if killed == "server":  # the client has done the job by itself
        assert process.returncode == 0
        assert contents(checkout)["ftal.plain.parquet"].split()[0] not in before["ogd.plain.parquet"].split()
        return
    assert process.returncode != 0
    again = start()
    said, _ = again.communicate(timeout=HANGS)
    assert again.returncode == 0, said
    after = contents(checkout)
    assert {name: after[name] for name in before} == before
    assert len(after) == 3


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["subprocess.Popen[bytes]"]:
    monkeypatch.chdir(tmp_path)
    assert launch.launch(tmp_path / ("long" * 20)) is None, "no address is that long"
    assert not list((tmp_path / ("long" * 20)).glob(f"{launch.PREFIX}*"))
    started = launch.launch(Path(".snakemake"))
    assert started is not None
    yield started
    launch.end(started)


def test_the_folder_is_private_and_goes_with_the_server(server: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    (folder,) = (tmp_path / ".snakemake").glob("jobs-*")
    assert folder.stat().st_mode & 0o777 == 0o700
    address = os.environ[launch.ADDRESS]
    assert len(address) < 100
    launch.end(server)
    assert server.returncode == 0
    assert not folder.exists()
    assert launch.ADDRESS not in os.environ
    assert ask(address, ["gate"]) is None, "nobody is there"


def test_every_script_can_be_served(server: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    """Imports of all scripts leave the server without a thread; a job without its files fails with a log."""
    scripts = sorted((Path(launch.ROOT) / "workflows" / "scripts").glob("[!_]*.py"))
    assert len(scripts) >= 16
    for script in scripts:
        log = tmp_path / "results" / "log" / f"{script.stem}.log"
        assert ask(os.environ[launch.ADDRESS], [script.stem, "--log", str(log)]) == 1, script.stem
        assert "KeyError" in log.read_text()
    assert ask(os.environ[launch.ADDRESS], ["no_such_script", "--log", "log/x.log"]) == 1
    assert "threads" not in (tmp_path / ".snakemake" / "jobs.log").read_text()


@pytest.mark.workflow
def test_edited_code_is_never_served(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout.root)
    program = (
        "import os\n"
        "from dpregret.workflows.forkserver import client, launch\n"
        "server, words = launch.launch(), ['gate', '--log', 'log/x.log']\n"
        "print(client.ask(os.environ[launch.ADDRESS], words))\n"
        "open('paper_figs/gate.py', 'a').write('# edited')\n"
        "print(client.ask(os.environ[launch.ADDRESS], words))\n"
    )
    done = subprocess.run(
        [*checkout.command()[:1], "-c", program], env=checkout.environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "None"]


@pytest.mark.parametrize(
    ("words", "message"),
    [([], "give a script's name"), (["x y", "--log", "l"], "give a script's name"), (["run"], "--log"),
     (["run", "value", "--log", "l"], "'value': a value without a key")],
)  # fmt: skip
def test_words_that_are_no_job(words: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Asked.parse(words)


def test_words_of_a_job() -> None:
    asked = Asked.parse(["tables", "--runs", "a", "b c", "--costs", "--log", "results/log/p/t.log"])
    assert (asked.name, asked.values["runs"], asked.paths("costs")) == ("tables", ["a", "b c"], [])
    assert asked.path("log") == Path("results/log/p/t.log")
    assert record_of(asked.path("log")) == Path("results/benchmark/p/t.tsv")
    assert record_of(Path("log/results/log/w.plain.log")) == Path("log/results/benchmark/w.plain.tsv")
    with pytest.raises(ValueError, match="too many values"):
        asked.one("runs")
