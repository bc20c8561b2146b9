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
from dpregret.datasets import fetch, sources
from dpregret.datasets.bundled import load
from dpregret.datasets.download import FetchError, download
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
    ("path", "changes", "message"),
    [
        ("tiny.txt", {"sha256": "0" * 64}, f"tiny.txt: wrong sha256: {CHECKSUM}, declared 0000"),
        ("tiny.txt", {"sha256_content": "0" * 64}, f"tiny.txt: wrong sha256_content: {CHECKSUM}, declared 0000"),
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
    path: str, changes: dict[str, object], message: str, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.declare(path, **changes)
    assert place.run() == 1
    assert message in said(capsys)
    assert place.contents() == set()


@pytest.mark.parametrize("how", ["silent", "dripping"])
def test_a_server_that_takes_for_ever_is_left(how: str, place: Place) -> None:
    with pytest.raises(FetchError, match=r"download failed \((not done after 0.2 seconds|too slow)"):
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
    assert place.run() == 1
    assert "download failed" in said(capsys)
    assert place.contents() == set()


def test_pinning_prints_the_checksum_and_keeps_nothing(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.declare(sha256=None)
    assert place.run("--pin") == 0
    assert capsys.readouterr().out == f"bytes: {len(CONTENT)}\nsha256: {CHECKSUM}\n"
    assert place.contents() == set()
    place.declare("truncated/tiny.txt", sha256=None)
    assert place.run("--pin") == 1
    assert "incomplete" in said(capsys)


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
    assert place.run() == 1
    assert "tiny.txt: wrong sha256" in said(capsys)
    with pytest.raises(fetch.FetchError, match="wrong sha256"):
        fetch.fetch(sources.find_source("tiny", place.sources), place.folder)
    assert place.contents() == {"tiny.txt"}


def test_the_stream_verifies_what_it_converts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.declare()
    monkeypatch.setattr(sources, "find_source", sources.read_sources(place.sources).__getitem__)
    domain = make_set("ball", 4)
    with pytest.raises(
        ValueError, match=r"tiny\.txt is missing; get it with: python -m dpregret\.datasets\.fetch tiny"
    ):
        make_stream("fetched", domain, source="tiny", data_dir=place.folder)
    (place.folder / "tiny.txt").write_bytes(b"+1 1:3\n")
    with pytest.raises(ValueError, match="wrong sha256"):
        make_stream("fetched", domain, source="tiny", data_dir=place.folder)
    (place.folder / "tiny.txt").write_bytes(CONTENT)
    stream = make_stream("fetched", domain, source="tiny", data_dir=place.folder)
    assert (stream.name, stream.real) == ("tiny", True)


@pytest.mark.parametrize(
    ("content", "changes", "message"),
    [
        (b"-1 1:0.5\n+1 2:nan\n-1 3:1\n", {}, "feature in row 1, column 1 is nan"),
        (b"-1 1:0.5\n+1 2:1\n", {}, "2 rows, 3 declared"),
        (b"-1 1:0.5\n+1 2:1\n0 2:1\n", {}, "3 classes, expected 2"),
        (b"-1 1:0.5\n+1 9:1\n-1 2:1\n", {}, "not a libsvm file of 4 columns"),
        (b"no such format\n", {}, "not a libsvm file"),
        (b"-1 1:0\n+1 2:0\n-1 2:0\n", {}, "every feature is 0"),
        (b"-1 1:1\n+1 2:1\n-1 2:1e200\n", {}, "the norm of row 2 is too large a number"),
    ],
)
def test_verified_but_unusable_files_are_named(
    content: bytes,
    changes: dict[str, object],
    message: str,
    place: Place,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place.declare(sha256=hashlib.sha256(content).hexdigest(), **changes)
    (place.folder / "tiny.txt").write_bytes(content)
    assert place.run() == 1
    error = said(capsys)
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
        (
            {"sha256": None},
            "sources.yaml:5: tiny.sha256: no SHA-256 is declared, so the file cannot be trusted; run with",
        ),
        ({"md5": "0" * 32}, "tiny.md5: unknown key"),
        ({"vouched_by": []}, "sources.yaml:7: tiny.vouched_by: two places, independent of each other and of the url's"),
        ({"vouched_by": [VOUCHERS[0], "https://mirror/one/two: it"]}, "must have the digest; named: 1"),
        ({"vouched_by": [VOUCHERS[0], "https://a/b: it"], "url": "https://a/b"}, "must have the digest; named: 1"),
        ({"vouched_by": ["one", "another"]}, "'one' is not an address (https://HOST/OWNER...) and what is found there"),
        ({"format": "csv"}, "tiny.format: unknown format 'csv', allowed: adult, california-housing, covtype, libsvm"),
        ({"format": "covtype"}, "sources.yaml:1: tiny: covtype has 54 columns, not hashed"),
        ({"file": "../x"}, "tiny.file: "),
        ({"rows": 0}, "tiny.rows: must be at least 1, not 0"),
        ({"checksum": "abc"}, "tiny.checksum: unknown key, allowed: name, url"),
    ],
)
def test_bad_declarations_are_named(
    changes: dict[str, object], message: str, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.declare(**changes)
    assert place.run() == 1
    assert message in said(capsys)


@pytest.mark.parametrize(("text", "message"), [("- a", "expected a mapping"), ("a: [", "is not valid YAML")])
def test_a_bad_declaration_file_is_named(
    text: str, message: str, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.sources.write_text(text)
    assert place.run() == 1
    assert message in said(capsys)


def test_an_unknown_source_is_one_line_for_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dpregret.datasets.fetch", "a8a", "--to", str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("error: no declared source 'a8a'")
    assert not (tmp_path / "data").exists()
