"""Downloads against a server on this machine: right, wrong, too long, too slow, truncated, redirected, gone."""

from __future__ import annotations

import bz2
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import yaml

from dpregret.algorithms.geometry import make_set
from dpregret.datasets import fetch
from dpregret.datasets.bundled import load
from dpregret.datasets.download import FetchError, download
from dpregret.datasets.streams import make_stream

CONTENT = b"-1 1:0.5 3:2\n+1 2:1\n-1 1:-1 2:0.25 3:1\n"
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


BOMB = bz2.compress(b"1" * 10**7)
BAD_URLS = [
    "ftp://a/b", "file:///etc/passwd", "http://elsewhere/b", "https://a/", "https://a", "https://a/../b", "https://a/..",
    "https://a/b/./c", "https://a//b", "https://a/b?c=d", "https://a/b#c", "https://a/%2e%2e", "https://a/b c",
    "https://a/b\\c", "https://u:p@a/b", "https://a/.hidden", "https://a/b\n", "https://a/\u202eb", "",
]  # fmt: skip
LENGTHS = {"truncated": len(CONTENT) + 7, "surplus": len(CONTENT) - 7, "huge": 10**12}
TARGETS = {"file": "file:///etc/passwd", "ftp": "ftp://127.0.0.1/tiny.txt", "http": "http://elsewhere.invalid/tiny.txt"}


class _Handler(BaseHTTPRequestHandler):
    """What the first part of the path asks for."""

    over = threading.Event()

    def do_GET(self) -> None:
        with suppress(OSError):  # the client has had enough
            self.answer(self.path.split("/")[1])

    def answer(self, how: str) -> None:
        if how == "missing":
            return self.send_error(404)
        if how == "silent":
            return void(self.over.wait(5))
        self.send_response(302 if how in TARGETS or how == "circle" else 200)
        if how in ("endless", "dripping"):
            self.end_headers()
            while not self.over.wait(0.01 if how == "dripping" else 0):
                self.wfile.write(b"1" if how == "dripping" else CONTENT * 1000)
            return None
        if how in TARGETS or how == "circle":
            self.send_header("Location", TARGETS.get(how, self.path))
        if how == "packed":
            self.send_header("Content-Encoding", "gzip")
        body = {"page": b"<!DOCTYPE html>", "bomb": BOMB}.get(how, CONTENT)
        if how != "unannounced":
            self.send_header("Content-Length", str(LENGTHS.get(how, len(body))))
        self.end_headers()
        self.wfile.write(body)
        return None

    def log_message(self, *_: object) -> None:
        pass


def void(_: object) -> None:
    pass


@dataclass(frozen=True)
class _Place:
    url: str
    folder: Path
    sources: Path

    def declare(self, path: str = "data/tiny.txt", /, **changes: object) -> None:
        entry = {"url": f"{self.url}/{path}", "licence": "none", "sha256": CHECKSUM, "rows": 3, "columns": 4}
        entry["vouched_by"] = ["one", "another"]
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
        _Handler.over.clear()
        yield running
        _Handler.over.set()
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
        ("tiny.txt", {"sha256": "0" * 64}, f"tiny.txt: wrong sha256: {CHECKSUM}, declared 0000"),
        ("tiny.txt", {"sha256_content": "0" * 64}, f"tiny.txt: wrong sha256_content: {CHECKSUM}, declared 0000"),
        ("tiny.txt", {"sha256": None}, "no sha256 is pinned, so tiny.txt cannot be trusted; run with --pin"),
        ("tiny.txt", {"vouched_by": ["one", "one"]}, "two sources must vouch for the digest, sources.yaml names 1"),
        ("tiny.txt", {"bytes": 7}, f"{len(CONTENT)} bytes announced, at most 7 allowed"),
        ("unannounced/tiny.txt", {"bytes": 7}, "more than the 7 bytes allowed"),
        ("tiny.txt", {"bytes": 99}, f"wrong bytes: {len(CONTENT)}, declared 99"),
        ("truncated/tiny.txt", {}, f"download failed (incomplete: {len(CONTENT)} of {len(CONTENT) + 7} bytes)"),
        ("surplus/tiny.txt", {}, "tiny.txt: wrong sha256: "),
        ("huge/tiny.txt", {}, "1000000000000 bytes announced, at most 67108864 allowed"),
        ("endless/tiny.txt", {"bytes": 10**6}, "more than the 1000000 bytes allowed"),
        ("missing/tiny.txt", {}, "download failed (HTTP Error 404"),
        ("page/tiny.txt", {}, "; it looks like a web page"),
        ("packed/tiny.txt", {}, "sent with Content-Encoding gzip"),
        ("file/tiny.txt", {}, "Redirection to url 'file:///etc/passwd' is not allowed"),
        ("ftp/tiny.txt", {}, "redirected to ftp://127.0.0.1/tiny.txt, which is not https"),
        ("http/tiny.txt", {}, "redirected to http://elsewhere.invalid/tiny.txt, which is not https"),
        ("circle/tiny.txt", {}, "infinite loop"),
        (
            "bomb/tiny.bz2",
            {"sha256_content": CHECKSUM},
            "tiny.bz2: holds more than 3 rows of 4 columns (at most 480",
        ),
        ("tiny.txt", {"rows": 2}, "holds more than 2 rows of 4 columns"),
        ("surplus/tiny.bz2", {}, "tiny.bz2: cannot be decompressed (Invalid data stream)"),
    ],
)
def test_a_bad_download_leaves_nothing(
    path: str, changes: dict[str, object], message: str, place: _Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.declare(path, **changes)
    assert place.run() == 1
    assert message in _error(capsys)
    assert place.contents() == set()


@pytest.mark.parametrize("how", ["silent", "dripping"])
def test_a_server_that_takes_for_ever_is_left(how: str, place: _Place) -> None:
    with pytest.raises(FetchError, match=r"download failed \((not done after 0.2 seconds|too slow)"):
        download(f"{place.url}/{how}/tiny.txt", most=1000, seconds=0.2)


def test_a_file_that_a_kill_left_half_written_is_cleared(place: _Place) -> None:
    place.declare()
    dead, live = (place.folder / f".tiny.txt.{name}.part" for name in ("0a", "1b"))
    for path in (dead, live):
        path.write_bytes(b"1")
    os.utime(dead, (0, 0))
    assert place.run() == 0
    assert place.contents() == {"tiny.txt", "tiny.npz", live.name}


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
    assert capsys.readouterr().out == f"bytes: {len(CONTENT)}\nsha256: {CHECKSUM}\n"
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
    assert "tiny.txt: wrong sha256" in _error(capsys)
    with pytest.raises(fetch.FetchError, match="wrong sha256"):
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
    with pytest.raises(ValueError, match="wrong sha256"):
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
        *[({"url": url}, "sources.yaml:6: tiny.url: must be https://HOST/PATH") for url in BAD_URLS],
        ({"rows": 10**6, "columns": 100}, "1000000 rows of 100 columns are more than 67108864 numbers"),
        ({"url": "https://somewhere/tiny.npz"}, "the download must not be called tiny.npz"),
        ({"bytes": 10**12}, "tiny.bytes: "),
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


def test_every_shipped_source_has_a_strong_digest_and_two_vouchers() -> None:
    sources = fetch.read_sources()
    assert {"a9a", "ijcnn1"} <= set(sources)
    for source in sources.values():
        source.require_trust()
        assert all(each.startswith("https://") for each in source.vouched_by)


def test_an_unknown_source_is_one_line_for_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dpregret.datasets.fetch", "a8a", "--to", str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("error: no declared source 'a8a'")
    assert not (tmp_path / "data").exists()
