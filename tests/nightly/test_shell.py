"""Trials of the commands: files that are none, strangers' code, outputs, bounds, stopped jobs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).resolve().parents[2]
NOISE = ROOT / "docs" / "examples" / "my_noise.py"
SECONDS = 120


def start(folder: Path, *words: str, **options: object) -> subprocess.Popen[str]:
    own = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-m", "dpregret", *words], cwd=folder, text=True,
                            env=os.environ | own | dict(options.pop("env", {})), **options)  # type: ignore[call-overload]  # fmt: skip


def refused(folder: Path, *words: str) -> None:
    """Exit code 2 (of a run Snakemake's, 1), one line on standard error, no verdict, no traceback."""
    process = start(folder, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    out, said = process.communicate(timeout=SECONDS)
    lines = [
        line for line in said.splitlines() if not line.startswith(("$ snakemake", "Using workflow specific profile"))
    ]
    assert process.returncode in ((1, 2) if words[0] == "run" else (2,)), (process.returncode, out, said)
    assert len(lines) == 1, said
    assert "Traceback" not in said
    assert "kept" not in out


FILES = {
    "missing": lambda path: None,
    "folder": lambda path: path.mkdir(),
    "pipe": lambda path: os.mkfifo(path),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "circle": lambda path: path.symlink_to(path),
    "bytes": lambda path: path.write_bytes(b"\xff\xfe\x00\x9b" * 99),
    "empty": lambda path: path.touch(),
}
READERS = {
    "verify": ("verify", "{}"), "compare": ("compare", "{}", "{}"), "audit": ("audit", "{}:right"),
    "vectors": ("vectors", "{}"), "profile": ("run", "--profile", "{}", "-n"),
}  # fmt: skip
SUFFIXES = {"audit": ".py", "profile": ".yaml", "verify": ".tar.gz", "compare": ".tar.gz", "vectors": ".json"}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_readable_file_is_refused(reader: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"given{SUFFIXES[reader]}"
    FILES[kind](path)
    if reader == "vectors":
        words = [sys.executable, "-m", "dpregret.workflows.mechanisms.vectors", str(path), "--check"]
        done = subprocess.run(words, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True,
                              text=True, check=False, timeout=SECONDS)  # fmt: skip
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    else:
        refused(tmp_path, *(word.format(path) for word in READERS[reader]))


NOISY = "lambda generator, dimension: "
STRANGERS = {
    "exits": "os._exit(0)", "leaves": "sys.exit(0)", "dies": "os.kill(os.getpid(), 9)",
    "stops": "raise KeyboardInterrupt", "closes": "sys.stdout.close(); return 1 / 0",
    "forks": "os.fork(); os._exit(0)", "recurses": "return right()",
    "own draws": f"return {NOISY} np.random.default_rng(3).normal(size=(64, dimension))",
    "global draws": f"return {NOISY} np.random.normal(size=(64, dimension))",
}  # fmt: skip


@pytest.mark.parametrize("how", STRANGERS)
def test_strangers_code_is_never_taken_for_a_verdict(how: str, tmp_path: Path) -> None:
    text = f"import os, sys\nimport numpy as np\n\ndef right():\n    {STRANGERS[how]}\n"
    (tmp_path / "own.py").write_text(text)
    refused(tmp_path, "audit", "own.py:right", "--rounds", "64", "--epsilon", "1", "--delta", "1e-6")


WRONG = [
    ("run", "--cores", "0"), ("run", "--cores", "many"), ("run", "no_such_paper"), ("run", "--profile", "\x1b[31m"),
    ("run", "--limits", "rounds:soon"), ("run", "./no_such_study"), ("advise", "--rounds", "nan", "--dimension", "3"),
    ("advise", "--rounds", "1e5", "--dimension", "-3", "--epsilon", "1"), ("table", "nobody"), ("claims", "nobody"),
    ("check", "lou_cheung", "no-such-claim"), ("compare", "one"), ("new", "1st"), ("test", "./nothing"),
    ("gate", "./nothing"), ("audit", "nothing.py:right"), ("table", "lou_cheung", "--no-such-option"), ("verify",),
]  # fmt: skip


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_words_are_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    refused(tmp_path, *words)


def begun(folder: Path) -> subprocess.Popen[str]:
    """The run of a study of one small experiment."""
    folder.mkdir()
    assert start(folder, "new", "few", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait(SECONDS) == 0
    path = folder / "few" / "experiments.yaml"
    path.write_text(path.read_text().replace("2^11..2^16", "2^6..2^9").replace("2^9..2^12", "2^6..2^9"))
    return start(folder, "run", "./few", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_a_stopped_job_goes_on(tmp_path: Path) -> None:
    """SIGSTOP to every process of a run for some seconds, and SIGCONT."""
    process = begun(tmp_path / "stopped")
    time.sleep(6)
    family = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
    for sent in (signal.SIGSTOP, signal.SIGCONT):
        for each in family:
            each.send_signal(sent)
        time.sleep(5)
    assert process.wait(SECONDS) == 0
    assert begun(tmp_path / "calm").wait(SECONDS) == 0
    stopped, calm = (tmp_path / name / "few/results/study/few/claims.csv" for name in ("stopped", "calm"))
    assert stopped.read_text() == calm.read_text()
