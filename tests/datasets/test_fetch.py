"""Downloads against a server on this machine: right, wrong, truncated, missing, gone."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import yaml

from dpregret.algorithms.geometry import make_set
from dpregret.datasets import fetch
from dpregret.datasets.bundled import load
from dpregret.datasets.streams import make_stream

CONTENT = b"-1 1:0.5 3:2\n+1 2:1\n-1 1:-1 2:0.25 3:1\n"
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if "missing" in self.path:
            self.send_error(404)
            return
        self.send_response(200)
        surplus = 7 if "truncated" in self.path else 0
        if "unannounced" not in self.path:
            self.send_header("Content-Length", str(len(CONTENT) + surplus))
        self.end_headers()
        self.wfile.write(CONTENT)

    def log_message(self, *_: object) -> None:
        pass


@dataclass(frozen=True)
class _Place:
    url: str
    folder: Path
    sources: Path

    def declare(self, path: str = "data/tiny.txt", /, **changes: object) -> None:
        entry = {"url": f"{self.url}/{path}", "licence": "none", "sha256": CHECKSUM, "rows": 3, "columns": 4}
        self.sources.write_text(yaml.safe_dump({"tiny": entry | changes}))

    def run(self, *extra: str) -> int:
        return fetch.main(["tiny", "--to", str(self.folder), "--sources", str(self.sources), *extra])

    def contents(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def place(server: ThreadingHTTPServer, tmp_path: Path) -> _Place:
    folder = tmp_path / "data"
    folder.mkdir()
    return _Place(f"http://127.0.0.1:{server.server_port}", folder, tmp_path / "sources.yaml")


def _error(capsys: pytest.CaptureFixture[str]) -> str:
    """The single line on standard error."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("path", ["tiny.txt", "unannounced/tiny.txt"])
def test_the_right_file_is_converted(path: str, place: _Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.declare(path)
    assert place.run() == 0
    assert "tiny.npz (licence: none)" in capsys.readouterr().out
    assert place.contents() == {"tiny.txt", "tiny.npz"}
    assert (place.folder / "tiny.txt").read_bytes() == CONTENT
    examples = load("tiny", place.folder)
    rows = np.array([[0.5, 0, 2, 0], [0, 1, 0, 0], [-1, 0.25, 1, 0]])
    np.testing.assert_allclose(examples.features, rows / np.linalg.norm(rows[0]), rtol=1e-15)
    np.testing.assert_array_equal(examples.labels, [-1.0, 1.0, -1.0])


@pytest.mark.parametrize(
    ("path", "changes", "message"),
    [
        ("tiny.txt", {"sha256": "0" * 64}, f"SHA256 checksum of tiny.txt ({CHECKSUM}) differs from expected (0000"),
        ("truncated/tiny.txt", {}, f"retrieval incomplete: got only {len(CONTENT)} out of {len(CONTENT) + 7} bytes"),
        ("missing/tiny.txt", {}, "download failed (HTTP Error 404"),
        ("tiny.txt", {"sha256": None}, "no sha256 is pinned, so tiny.txt cannot be trusted; run with --pin"),
    ],
)
def test_a_bad_download_leaves_nothing(
    path: str, changes: dict[str, object], message: str, place: _Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.declare(path, **changes)
    assert place.run() == 1
    assert message in _error(capsys)
    assert place.contents() == set()


def test_a_server_that_is_gone(server: ThreadingHTTPServer, place: _Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.declare()
    server.shutdown()
    server.server_close()
    assert place.run() == 1
    assert "download failed" in _error(capsys)
    assert place.contents() == set()


def test_pinning_prints_the_checksum_and_keeps_nothing(place: _Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.declare(sha256=None)
    assert place.run("--pin") == 0
    assert capsys.readouterr().out == f"sha256: {CHECKSUM}\n"
    assert place.contents() == set()
    place.declare("truncated/tiny.txt", sha256=None)
    assert place.run("--pin") == 1
    assert "incomplete" in _error(capsys)


def test_a_file_placed_by_hand_is_verified_and_needs_no_server(
    place: _Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.declare("missing/tiny.txt")
    (place.folder / "tiny.txt").write_bytes(CONTENT)
    assert place.run() == 0
    assert len(load("tiny", place.folder).labels) == 3
    (place.folder / "tiny.npz").unlink()
    (place.folder / "tiny.txt").write_bytes(CONTENT[:-1] + b" ")
    capsys.readouterr()
    assert place.run() == 1
    assert "tiny.txt: wrong checksum" in _error(capsys)
    with pytest.raises(fetch.FetchError, match="wrong checksum"):
        fetch.fetch(fetch.find_source("tiny", place.sources), place.folder)
    assert place.contents() == {"tiny.txt"}


def test_the_stream_verifies_what_it_converts(place: _Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.declare()
    sources = fetch.read_sources(place.sources)
    monkeypatch.setattr(fetch, "find_source", sources.__getitem__)
    domain = make_set("ball", 4)
    with pytest.raises(
        ValueError, match=r"tiny\.txt is missing; get it with: python -m dpregret\.datasets\.fetch tiny"
    ):
        make_stream("libsvm", domain, source="tiny", data_dir=place.folder)
    (place.folder / "tiny.txt").write_bytes(b"+1 1:3\n")
    with pytest.raises(ValueError, match="wrong checksum"):
        make_stream("libsvm", domain, source="tiny", data_dir=place.folder)
    (place.folder / "tiny.txt").write_bytes(CONTENT)
    stream = make_stream("libsvm", domain, source="tiny", data_dir=place.folder)
    assert (stream.name, stream.real) == ("tiny", True)


@pytest.mark.parametrize(
    ("content", "changes", "message"),
    [
        (b"-1 1:0.5\n+1 2:nan\n-1 3:1\n", {}, "feature in row 1, column 1 is nan"),
        (b"-1 1:0.5\n+1 2:1\n", {}, "2 rows, 3 declared"),
        (b"-1 1:0.5\n+1 2:1\n0 2:1\n", {}, "3 classes, expected 2"),
        (b"-1 1:0.5\n+1 9:1\n-1 2:1\n", {}, "not a LIBSVM file of 4 columns"),
        (b"no such format\n", {}, "not a LIBSVM file"),
        (b"-1 1:0\n+1 2:0\n-1 2:0\n", {}, "every feature is 0"),
    ],
)
def test_verified_but_unusable_files_are_named(
    content: bytes,
    changes: dict[str, object],
    message: str,
    place: _Place,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place.declare(sha256=hashlib.sha256(content).hexdigest(), **changes)
    (place.folder / "tiny.txt").write_bytes(content)
    assert place.run() == 1
    error = _error(capsys)
    assert "tiny.txt: " in error
    assert message in error
    assert place.contents() == {"tiny.txt"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"url": "ftp://somewhere/file"}, "sources.yaml:6: tiny.url: "),
        ({"sha256": "abc"}, "sources.yaml:5: tiny.sha256: "),
        ({"rows": 0}, "tiny.rows: must be at least 1, not 0"),
        ({"checksum": "abc"}, "tiny.checksum: unknown key, allowed: name, url"),
    ],
)
def test_bad_declarations_are_named(
    changes: dict[str, object], message: str, place: _Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.declare(**changes)
    assert place.run() == 1
    assert message in _error(capsys)


@pytest.mark.parametrize(("text", "message"), [("- a", "expected a mapping"), ("a: [", "is not valid YAML")])
def test_a_bad_declaration_file_is_named(
    text: str, message: str, place: _Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.sources.write_text(text)
    assert place.run() == 1
    assert message in _error(capsys)


def test_the_shipped_sources_are_complete_and_unpinned_ones_are_refused(tmp_path: Path) -> None:
    sources = fetch.read_sources()
    assert {"a9a", "ijcnn1"} <= set(sources)
    command = [sys.executable, "-m", "dpregret.datasets.fetch"]
    for name, message in (("a9a", "no sha256 is pinned"), ("a8a", "no declared source 'a8a'")):
        if name in sources and sources[name].sha256 is not None:
            continue
        done = subprocess.run(
            [*command, name, "--to", str(tmp_path / "data")], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert message in done.stderr
        assert not (tmp_path / "data").exists()
