"""Downloads against a server on this machine: right, wrong, too long, too slow, truncated, redirected, gone."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from http.server import ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from local_server import BAD_URLS, CHECKSUM, CONTENT, VOUCHERS, Place, said

from dpregret.algorithms.geometry import make_set
from dpregret.datasets import fetch
from dpregret.datasets.bundled import load
from dpregret.datasets.fetch import FetchError, download
from dpregret.datasets.streams import make_stream


@pytest.mark.parametrize("path", ["tiny.txt", "unannounced/tiny.txt"])
def test_the_right_file_is_converted(path: str, place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.declare(path)
    assert place.run() == 0
    assert "tiny.npz (licence: none)" in capsys.readouterr().out
    assert place.contents() == {"tiny.txt", "tiny.npz"}
    assert (place.folder / "tiny.txt").read_bytes() == CONTENT
    examples = load("tiny", place.folder)
    rows = np.array([[0.5, 0, 2, 0], [0, 1, 0, 0], [-1, 0.25, 1, 0]])
    np.testing.assert_allclose(examples.features, rows / np.linalg.norm(rows, axis=1)[:, None], rtol=1e-15)
    np.testing.assert_array_equal(examples.labels, [-1.0, 1.0, -1.0])


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("tiny.txt", {"sha256": "0" * 64}), ("tiny.txt", {"sha256_content": "0" * 64}), ("tiny.txt", {"bytes": 7}),
        ("tiny.txt", {"bytes": 99}), ("tiny.txt", {"rows": 2}), ("unannounced/tiny.txt", {"bytes": 7}),
        ("endless/tiny.txt", {"bytes": 10**6}), ("bomb/tiny.bz2", {"sha256_content": CHECKSUM}),
        *((f"{how}/tiny.txt", {}) for how in (
            "truncated", "surplus", "huge", "missing", "page", "packed", "file", "ftp", "http", "circle")),
        ("surplus/tiny.bz2", {}),
    ],
)  # fmt: skip
def test_a_bad_download_leaves_nothing(
    path: str, changes: dict[str, object], place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.declare(path, **changes)
    assert place.run() == 2
    assert said(capsys)
    assert place.contents() == set()


@pytest.mark.parametrize("how", ["silent", "dripping"])
def test_a_server_that_takes_for_ever_is_left(how: str, place: Place) -> None:
    with pytest.raises(FetchError):
        download(f"{place.url}/{how}/tiny.txt", most=1000, seconds=0.2)


def test_a_file_that_a_kill_left_half_written_is_cleared(place: Place) -> None:
    place.declare()
    dead, live = (place.folder / f".tiny.txt.{name}.part" for name in ("0a", "1b"))
    for path in (dead, live):
        path.write_bytes(b"1")
    os.utime(dead, (0, 0))
    assert place.run() == 0
    assert place.contents() == {"tiny.txt", "tiny.npz", live.name}


def test_a_server_that_is_gone(server: ThreadingHTTPServer, place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.declare()
    server.shutdown()
    server.server_close()
    assert place.run() == 2
    assert said(capsys)
    assert place.contents() == set()


def test_pinning_prints_the_checksum_and_keeps_nothing(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.declare(sha256=None)
    assert place.run("--pin") == 0
    assert capsys.readouterr().out == f"bytes: {len(CONTENT)}\nsha256: {CHECKSUM}\n"
    assert place.contents() == set()
    place.declare("truncated/tiny.txt", sha256=None)
    assert place.run("--pin") == 2


def test_a_file_placed_by_hand_is_verified_and_needs_no_server(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.declare("missing/tiny.txt")
    (place.folder / "tiny.txt").write_bytes(CONTENT)
    assert place.run() == 0
    assert len(load("tiny", place.folder).labels) == 3
    (place.folder / "tiny.npz").unlink()
    (place.folder / "tiny.txt").write_bytes(CONTENT[:-1] + b" ")
    capsys.readouterr()
    assert place.run() == 2
    assert "tiny.txt" in said(capsys)
    with pytest.raises(fetch.FetchError):
        fetch.fetch(fetch.Source.find("tiny", place.sources), place.folder)
    assert place.contents() == {"tiny.txt"}


def test_the_stream_verifies_what_it_converts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.declare()
    monkeypatch.setattr(fetch.Source, "find", fetch.Source.read_all(place.sources).__getitem__)
    domain = make_set("ball", 4)
    with pytest.raises(ValueError, match="tiny"):
        make_stream("fetched", domain, source="tiny", data_dir=place.folder)
    (place.folder / "tiny.txt").write_bytes(b"+1 1:3\n")
    with pytest.raises(ValueError, match="wrong sha256"):
        make_stream("fetched", domain, source="tiny", data_dir=place.folder)
    (place.folder / "tiny.txt").write_bytes(CONTENT)
    stream = make_stream("fetched", domain, source="tiny", data_dir=place.folder)
    assert (stream.name, stream.real) == ("tiny", True)


@pytest.mark.parametrize(
    "content",
    [
        b"-1 1:0.5\n+1 2:nan\n-1 3:1\n", b"-1 1:0.5\n+1 2:1\n", b"-1 1:0.5\n+1 2:1\n0 2:1\n",
        b"-1 1:0.5\n+1 9:1\n-1 2:1\n", b"no such format\n", b"-1 1:0\n+1 2:0\n-1 2:0\n",
        b"-1 1:1\n+1 2:1\n-1 2:1e200\n",
    ],
)  # fmt: skip
def test_verified_but_unusable_files_are_named(
    content: bytes, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.declare(sha256=hashlib.sha256(content).hexdigest())
    (place.folder / "tiny.txt").write_bytes(content)
    assert place.run() == 2
    assert "tiny.txt: " in said(capsys)
    assert place.contents() == {"tiny.txt"}


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        *[({"url": url}, "sources.yaml:6: tiny.url") for url in BAD_URLS],
        ({"rows": 10**6, "columns": 100}, ""), ({"url": "https://somewhere/tiny.npz"}, ""),
        ({"bytes": 10**12}, "tiny.bytes: "), ({"sha256": "abc"}, "sources.yaml:5: tiny.sha256: "),
        ({"sha256": None}, "sources.yaml:5: tiny.sha256: "), ({"md5": "0" * 32}, "tiny.md5: "),
        ({"vouched_by": []}, "sources.yaml:7: tiny.vouched_by: "),
        ({"vouched_by": [VOUCHERS[0], "https://mirror/one/two: it"]}, "tiny.vouched_by"),
        ({"vouched_by": [VOUCHERS[0], "https://a/b: it"], "url": "https://a/b"}, "tiny.vouched_by"),
        ({"vouched_by": ["one", "another"]}, "tiny.vouched_by"), ({"format": "csv"}, "tiny.format: "),
        ({"format": "covtype"}, "sources.yaml:1: tiny: "), ({"file": "../x"}, "tiny.file: "),
        ({"rows": 0}, "tiny.rows: "), ({"checksum": "abc"}, "tiny.checksum: "),
    ],
)  # fmt: skip
def test_bad_declarations_are_named(
    changes: dict[str, object], where: str, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.declare(**changes)
    assert place.run() == 2
    assert where in said(capsys)


def test_an_unknown_source_is_one_line_for_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dpregret.datasets.fetch", "a8a", "--to", str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "'a8a'" in done.stderr
    assert not (tmp_path / "data").exists()
