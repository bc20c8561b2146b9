"""One file over the network, whole, in memory and within limits, or one line that says why not."""

from __future__ import annotations

import http.client
import threading
import time
import urllib.error
import urllib.request
from typing import IO, Final
from urllib.parse import urlsplit

from dpregret.core.errors import one_line

SECONDS: Final = 300.0
"""Of a whole download, names and redirections included."""
_SILENCE: Final = 30.0
_BLOCK: Final = 1 << 16
_HEADERS: Final = {"User-Agent": "dpregret", "Accept-Encoding": "identity"}


class FetchError(ValueError):
    """A data set that cannot be had or cannot be trusted; the message is one line."""


def download(url: str, most: int, seconds: float = SECONDS) -> bytes:
    """The content of the URL: at most `most` bytes, within `seconds`. Nothing is written.

    Raises FetchError for a server that cannot be reached, answers with an error, redirects to anything but https,
    sends more than allowed, less than announced or compressed on the way, or takes too long.
    """
    found: list[bytes | Exception] = []

    def work() -> None:
        try:
            found.append(_read(url, most, time.monotonic() + seconds))
        except Exception as error:
            found.append(error)

    # a thread, since neither looking up a name nor reading headers byte by byte has a time-out of its own
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    outcome = found[0] if found else TimeoutError(f"not done after {seconds:g} seconds")
    if isinstance(outcome, bytes):
        return outcome
    if not isinstance(outcome, OSError | http.client.HTTPException | ValueError):
        raise outcome
    if isinstance(outcome, urllib.error.HTTPError):
        outcome.close()
    raise FetchError(f"{url}: download failed ({one_line(outcome) or type(outcome).__name__})") from outcome


def _read(url: str, most: int, deadline: float) -> bytes:
    request = urllib.request.Request(url, headers=_HEADERS)
    with urllib.request.build_opener(_HttpsOnly).open(request, timeout=_SILENCE) as response:
        coding = response.headers.get("Content-Encoding", "identity")
        if coding.lower() != "identity":
            raise FetchError(f"sent with Content-Encoding {coding}, not as it is")
        announced = response.length
        if announced is not None and announced > most:
            raise FetchError(f"{announced} bytes announced, at most {most} allowed")
        body = bytearray()
        while part := response.read1(_BLOCK):
            body += part
            if len(body) > most:
                raise FetchError(f"more than the {most} bytes allowed")
            if time.monotonic() > deadline:
                raise TimeoutError("too slow")
        if announced is not None and len(body) < announced:
            raise FetchError(f"incomplete: {len(body)} of {announced} bytes")
        return bytes(body)


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    """Redirections to https, or within this machine."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:  # fmt: skip
        fp.close()  # or all that comes with the redirection would be read
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        here = (old.scheme, old.hostname) == (new.scheme, new.hostname) == ("http", old.hostname)
        if new.scheme != "https" and not here:
            raise FetchError(f"redirected to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
