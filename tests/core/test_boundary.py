"""The boundary of commands: one line and exit code 2 for whatever is raised, read, or cannot be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import ran

ROOT = Path(__file__).resolve().parents[2]
FEW = "import os, sys; from dpregret.core import boundary; from dpregret.core.errors import ConfigError\n"


def ended(work: str, *words: str, shell: str = '"$@"', **environment: str) -> subprocess.CompletedProcess[str]:
    """A command that does some work, started by a shell."""
    script = f"{FEW}def work():\n    {work}\nboundary.end(work)\n"
    return ran(["bash", "-c", shell, "bash", sys.executable, "-c", script, *words], **environment)


@pytest.mark.parametrize(
    ("work", "named"),
    [
        ("raise RuntimeError('a\\nb')", "RuntimeError: a b"),
        ("raise ConfigError('x.yaml:3: tol')", "x.yaml:3: tol"),
        ("open('/nowhere/at/all')", "/nowhere/at/all: No such file or directory"),
        ("open('x' * 5000)", "File name too long"),
        ("work()", "RecursionError"),
        ("raise BaseException", "BaseException"),
        ("raise UnicodeError('\\x1b[31m')", "UnicodeError: \\x1b[31m"),
        ("'ε'.encode('ascii')", "UnicodeEncodeError"),
    ],
)
def test_whatever_is_raised_is_one_line(work: str, named: str) -> None:
    done = ended(work)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert named in done.stderr


def test_each_mistake_is_a_line() -> None:
    done = ended("raise ConfigError(['x.yaml:3: tol', 'x.yaml:4: \\x1b[31m'])")
    assert (done.returncode, done.stderr) == (2, "dpregret: x.yaml:3: tol\ndpregret: x.yaml:4: \\x1b[31m\n")


def test_a_traceback_is_shown_where_it_is_asked_for() -> None:
    debugged = ended("raise RuntimeError", "--debug")
    assert debugged.returncode == 2
    assert "Traceback" in debugged.stderr


def test_the_exit_code_is_what_the_command_returns() -> None:
    assert [ended(work).returncode for work in ("pass", "return 1", "sys.exit(2)", "raise KeyboardInterrupt")] == [
        0,
        1,
        2,
        130,
    ]


def test_a_reader_that_has_read_enough_is_no_message() -> None:
    done = ended("print('verdict: kept')", shell='set -o pipefail; { sleep 1; "$@"; } | true')
    assert (done.returncode, done.stderr) == (141, "")


def test_a_pipe_to_another_process_that_breaks_is_a_failure_with_its_line() -> None:
    work = "read, write = os.pipe(); os.close(read); os.write(write, b'x')"
    done = ended(work, shell='"$@" | cat; exit ${PIPESTATUS[0]}')
    assert (done.returncode, done.stderr) == (2, "dpregret: cannot read or write: Broken pipe\n")


@pytest.mark.parametrize("shell", ['"$@" > /dev/full', '"$@" >&-'])
def test_an_output_that_cannot_be_written_is_no_success(shell: str) -> None:
    done = ended("print('verdict: kept')", shell=shell)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize("shell", ['"$@" > /dev/full 2>&1', '"$@" >&- 2>&-', '"$@" 2>&-', '"$@" 2>/dev/full'])
def test_where_nothing_can_be_said_the_code_is_right(shell: str) -> None:
    assert ended("print('kept'); print('so', file=sys.stderr); return 2", shell=shell).returncode == 2


def test_a_file_does_not_take_the_place_of_a_closed_stream() -> None:
    work = "file = open('/dev/null', 'w'); print(file.fileno() > 2)"
    assert ended(work, shell='"$@" <&- 2>&-').stdout == "True\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_any_terminal_shows_every_character(encoding: str) -> None:
    done = ended("print('ε')", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stdout) == (0, "\\u03b5\n")


FILES = {
    "missing": lambda path: None,
    "folder": lambda path: path.mkdir(),
    "pipe": lambda path: os.mkfifo(path),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "circle": lambda path: path.symlink_to(path),
    "bytes": lambda path: path.write_bytes(b"\xff\xfe\x00\x9b" * 99),
    "empty": lambda path: path.touch(),
}
READERS = [
    (".tar.gz", "dpregret verify {0}"), (".tar.gz", "dpregret compare {0} {0}"), (".py", "dpregret audit {0}:right"),
    (".yaml", "dpregret run --profile {0} -n"), (".json", "dpregret.workflows.mechanisms.vectors {0} --check"),
]  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(("suffix", "words"), READERS)
def test_what_is_no_readable_file_is_refused(suffix: str, words: str, kind: str, tmp_path: Path) -> None:
    """And read for no longer than a file is. Snakemake's exit code is 1."""
    path = tmp_path / f"given{suffix}"
    FILES[kind](path)
    done = ran([sys.executable, "-m", *words.format(path).split()], tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode in (1, 2)
    (said,) = (line for line in done.stderr.splitlines() if not line.startswith(("$ snakemake", "Using workflow")))
    assert "Traceback" not in said
