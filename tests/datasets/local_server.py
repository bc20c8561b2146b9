"""A server on this machine that does whatever the path asks for, and a place to which it is downloaded."""

import hashlib
import threading
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest
import yaml

from dpregret.datasets import fetch

CONTENT = b"-1 1:0.5 3:2\n+1 2:1\n-1 1:-1 2:0.25 3:1\n"
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


VOUCHERS = ["https://mirror/one: the file", "https://mirror/another: the digest"]
LONGER = {"truncated": 7, "huge": 10**12 - len(CONTENT)}


class Handler(BaseHTTPRequestHandler):
    """What the first part of the path asks for, of the file that the last one names."""

    over = threading.Event()
    files: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        with suppress(OSError):  # the client has had enough
            self.answer(self.path.split("/")[1])

    def answer(self, how: str) -> None:
        if how == "missing":
            self.send_error(404)
            return
        if how == "silent":
            self.over.wait(5)
            return
        self.send_response(302 if how == "moved" else 200)
        if how == "endless":
            self.end_headers()
            while not self.over.is_set():
                self.wfile.write(CONTENT * 1000)
        if how == "moved":
            self.send_header("Location", self.path.replace("/moved/", "/data/"))
        right = self.files.get(self.path.split("/")[-1], CONTENT)
        wrong = right[:-1] + bytes([right[-1] ^ 1])
        body = {"page": b"<!DOCTYPE html>", "wrong": wrong}.get(how, right)
        if how != "unannounced":
            self.send_header("Content-Length", str(len(body) + LONGER.get(how, 0)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@dataclass(frozen=True)
class Place:
    url: str
    folder: Path
    sources: Path

    def declare(self, path: str = "data/tiny.txt", /, **changes: object) -> None:
        entry = {"url": f"{self.url}/{path}", "licence": "none", "sha256": CHECKSUM, "rows": 3, "columns": 4}
        entry["vouched_by"] = VOUCHERS
        self.sources.write_text(yaml.safe_dump({"tiny": entry | changes}))

    def run(self, pin: bool = False) -> int:
        return fetch.main("tiny", self.folder, self.sources, pin)

    def contents(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """The single line on standard error."""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("dpregret: fetch: ")
    assert captured.err.count("\n") == 1
    return captured.err
