"""Prepared data, and downloads from this machine."""

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from local_server import Handler, Place


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that does not exist yet, for data that are prepared when they are first read."""
    return tmp_path_factory.mktemp("data") / "not" / "yet"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        Handler.over.clear()
        yield running
        Handler.over.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def place(server: ThreadingHTTPServer, tmp_path: Path) -> Place:
    folder = tmp_path / "data"
    folder.mkdir()
    return Place(f"http://127.0.0.1:{server.server_port}", folder, tmp_path / "sources.yaml")
