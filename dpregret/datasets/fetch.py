"""Declared data sets: what comes from where, under which licence, with which digest, and who else vouches for it.

They are downloaded, verified, and converted to the .npz form of ``bundled`` by ``python -m dpregret.datasets.fetch
NAME --to DIR``. Every failure is one line on standard error, exit code 1, and no new file: a download stays in memory
until its digest is right. Nothing in the default run calls this.

Files as their publishers made them are turned into features and labels by public constants only. Nothing is read off
the data: ranges come from the meaning of a column, levels from the published dictionary of a set, the hash of columns
from their numbers. Each record is treated by itself, so neighbouring data stay neighbouring and a learner's guarantee
is one for the records as published. What lies outside a range is clipped to it.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import hashlib
import http.client
import io
import re
import signal
import sys
import tarfile
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Final, NamedTuple, Self
from urllib.parse import urlsplit

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from dpregret.core import boundary
from dpregret.core.errors import ConfigError, not_allowed, one_line
from dpregret.core.files import atomic_write, opened
from dpregret.core.yaml_source import NAME_PATTERN, Expanded, read_source, validate
from dpregret.datasets.examples import check_finite, save, unit_rows
from dpregret.numerics.arrays import Array

SOURCES = Path(__file__).resolve().parent.parent / "workflows" / "config" / "sources.yaml"
MOST_CELLS: Final = 1 << 26
"""Rows times columns of the features: half a gigabyte as numbers."""
VOUCHERS: Final = 2
_PART: Final = r"[A-Za-z0-9_~+-][A-Za-z0-9._~+-]*"
# https, or http on this machine; parts of plain characters that begin with no dot: no query, nothing that leads upwards
_URL: Final = rf"^(https://[A-Za-z0-9.-]+|http://(localhost|127\.0\.0\.1)(:[0-9]+)?)(/{_PART})+"
_DIGEST: Final = r"^[0-9a-f]{64}$"
_VOUCHER: Final = r"https://([A-Za-z0-9.-]+/[^/\s,:]+)\S* "
"""An address, and after it what is found there; its host and first part (of a forge: the owner) are one place."""
SECONDS: Final = 300.0
"""Of a whole download, names and redirections included."""
_SILENCE: Final = 30.0
_BLOCK: Final = 1 << 16
_HEADERS: Final = {"User-Agent": "dpregret", "Accept-Encoding": "identity"}
MOST_BYTES: Final = 1 << 26
"""Of a download that does not declare its size."""
MOST_CONTENT: Final = 1 << 30
"""Of what a compressed file holds."""
_OPENERS: Final[dict[str, Callable[[Any], Any]]] = {".gz": gzip.open, ".tgz": gzip.open, ".bz2": bz2.open}


Read = Callable[[Path, int, int | None], tuple[Array, Array]]
"""File, number of its columns, how many they are hashed into -> features (n, d) in any scale, labels (n,) in [-1, 1].

Raises ValueError, OSError or EOFError for another format."""


class Format(NamedTuple):
    """How a kind of file is read. columns: of its features, None as declared."""

    read: Read
    columns: int | None = None


def hashed_columns(columns: int, buckets: int) -> tuple[np.ndarray, Array]:
    """Bucket (columns,) and sign (columns,) of each column, by the SplitMix64 mix of its number (Steele et al. 2014).

    Signed hashing of features (Weinberger et al. 2009) keeps inner products in expectation, with variance about
    1 / buckets for unit rows.
    """
    mixed = (np.arange(1, columns + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    bucket = (mixed % np.uint64(buckets)).astype(np.int64)
    return bucket, np.where(mixed >> np.uint64(63), 1.0, -1.0)


def _libsvm(path: Path, columns: int, hashed: int | None) -> tuple[Array, Array]:
    """Features as in the file; the larger of two classes is +1."""
    from scipy.sparse import csr_matrix
    from sklearn.datasets import load_svmlight_file  # slow to import, and checks read this module

    matrix, classes = load_svmlight_file(str(path), n_features=columns)
    distinct = np.unique(classes)
    if len(distinct) != 2 and np.isfinite(classes).all():
        raise ValueError(f"{len(distinct)} classes, expected 2")
    if hashed is not None:
        bucket, sign = hashed_columns(columns, hashed)
        matrix = matrix @ csr_matrix((sign, (np.arange(columns), bucket)), shape=(columns, hashed))
    return matrix.toarray(), np.where(classes == distinct[-1], 1.0, -1.0)


_ADULT_NUMBERS: Mapping[int, float] = MappingProxyType(
    {
        0: 100.0,  # age
        4: 16.0,  # education-num: 16 levels
        10: 100_000.0,  # capital-gain; the census writes 99,999 for more
        11: 5_000.0,  # capital-loss
        12: 100.0,  # hours-per-week: two digits
    }
)
_ADULT_LEVELS: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        1: ("workclass",
            "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked"),
        5: ("marital-status",
            "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
            "Married-AF-spouse"),
        6: ("occupation",
            "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
            "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv "
            "Armed-Forces"),
        7: ("relationship", "Wife Own-child Husband Not-in-family Other-relative Unmarried"),
        8: ("race", "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"),
        9: ("sex", "Female Male"),
        13: ("native-country",
            "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan "
            "Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal "
            "Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua "
            "Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands"),
    }
)  # fmt: skip
_ADULT_CLASSES: Mapping[str, float] = MappingProxyType({"<=50K": -1.0, ">50K": 1.0})
_ADULT_FIELDS = 15
_ADULT_COLUMNS = 1 + len(_ADULT_NUMBERS) + sum(len(levels.split()) for _, levels in _ADULT_LEVELS.values())


def _adult(path: Path, columns: int, hashed: int | None) -> tuple[Array, Array]:
    """A constant 1, five numbers, seven categories; no sampling weight, and education as its number only.

    Label +1: above 50,000 dollars.
    """
    with io.TextIOWrapper(opened(path), encoding="ascii", newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if row]
    for number, row in enumerate(rows):
        if len(row) != _ADULT_FIELDS:
            raise ValueError(f"row {number} has {len(row)} fields, not {_ADULT_FIELDS}")
    fields = list(zip(*rows, strict=True))
    parts = [np.ones((len(rows), 1))]
    for place, largest in _ADULT_NUMBERS.items():
        parts.append(np.array(fields[place], dtype=np.float64)[:, None] / largest)
    for place, (name, known) in _ADULT_LEVELS.items():
        codes = _coded(name, fields[place], {level: code for code, level in enumerate(known.split())} | {"?": -1})
        parts.append((codes[:, None] == np.arange(len(known.split()))).astype(np.float64))
    return np.clip(np.concatenate(parts, axis=1), -1.0, 1.0), _coded("income", fields[-1], _ADULT_CLASSES)


def _coded(name: str, values: tuple[str, ...], codes: Mapping[str, float]) -> Array:
    for number, value in enumerate(values):
        if value not in codes:
            raise ValueError(f"row {number}: {name} is {value[:40]!r}, which the set's dictionary does not know")
    return np.array([codes[value] for value in values], dtype=np.float64)


_COVTYPE_NUMBERS = np.array([5_000.0, 360.0, 90.0, 10_000.0, 1_000.0, 10_000.0, 255.0, 255.0, 255.0, 10_000.0])
"""Metres above the sea, degrees, degrees, four distances in metres (one of them up or down), shades 0 to 255."""
_LODGEPOLE_PINE = 2.0


def _covtype(path: Path, columns: int, hashed: int | None) -> tuple[Array, Array]:
    """Ten numbers, four wilderness areas, forty kinds of soil; +1 = lodgepole pine."""
    table = _table(path, columns + 1)
    table[:, : len(_COVTYPE_NUMBERS)] /= _COVTYPE_NUMBERS
    return np.clip(table[:, :-1], -1.0, 1.0), np.where(table[:, -1] == _LODGEPOLE_PINE, 1.0, -1.0)


def _california_housing(path: Path, columns: int, hashed: int | None) -> tuple[Array, Array]:
    """A constant 1, income, age of houses, rooms, bedrooms and people per household, people, place; label: value.

    The census writes 15.0001 (in 10,000 dollars), 52 (years) and 500,001 (dollars) for more.
    """
    try:
        with opened(path) as plain, tarfile.open(fileobj=plain, mode="r:gz") as archive:
            table = _table(archive.extractfile("CaliforniaHousing/cal_housing.data"), columns)
    except (tarfile.TarError, KeyError, TypeError) as error:
        raise ValueError(str(error)) from None
    longitude, latitude, age, rooms, bedrooms, people, households, income, value = table.T
    with np.errstate(divide="ignore", invalid="ignore"):  # said of the row, if it happens
        parts = [
            np.ones(len(table)),
            income / 15,
            age / 52,
            rooms / households / 20,
            bedrooms / households / 10,
            people / households / 10,
            people / 5_000,
            (latitude - 37.25) / 4.75,
            (longitude + 119.25) / 5.25,
        ]
    return np.clip(np.stack(parts, axis=1), -1.0, 1.0), np.minimum(value, 500_000.0) / 250_000.0 - 1.0


def _table(file: Any, columns: int) -> Array:
    table = np.loadtxt(file, delimiter=",", ndmin=2)
    if table.shape[1] != columns:
        raise ValueError(f"{table.shape[1]} numbers a row, not {columns}")
    return table


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "libsvm": Format(_libsvm),
        "adult": Format(_adult, _ADULT_COLUMNS),
        "covtype": Format(_covtype, 54),
        "california-housing": Format(_california_housing, 9),
    }
)
"""Known kinds of files."""


class FetchError(ValueError):
    """A data set that cannot be had or cannot be trusted; the message is one line."""


class Declared(BaseModel):
    """One download, trusted or not yet.

    format: how it is read, of `FORMATS`. file: name on disk, without it the last part of the URL's path.
    bytes: size of the file. sha256: digest of the file as sent; sha256_content: that of what it holds once it is
    decompressed. vouched_by: who else has published the digest, or a file that has it. rows; columns: of the file as
    LIBSVM text, else of the features. hashed: how many columns a wide sparse file is folded into.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=NAME_PATTERN)
    url: str
    file: str | None = Field(default=None, pattern=rf"^{_PART}$")
    licence: str = Field(min_length=1)
    format: str = "libsvm"
    bytes: int | None = Field(default=None, ge=1, le=1 << 29)
    sha256_content: str | None = Field(default=None, pattern=_DIGEST)
    sha256: str | None = Field(default=None, pattern=_DIGEST, validate_default=True)
    vouched_by: tuple[str, ...] = Field(default=(), validate_default=True)
    rows: int = Field(ge=1)
    columns: int = Field(ge=1, le=1 << 24)
    hashed: int | None = Field(default=None, ge=1)

    @field_validator("url")
    @classmethod
    def _is_plain(cls, url: str) -> str:
        if not re.fullmatch(_URL, url):
            raise ValueError(
                "must be https://HOST/PATH, parts of letters, digits and . _ ~ + - that do not begin with a dot"
            )
        return url

    @field_validator("format")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in FORMATS:
            raise ValueError(not_allowed("format", name, FORMATS))
        return name

    @model_validator(mode="after")
    def _is_bounded(self) -> Declared:
        fixed = self.how.columns
        if fixed is not None and (self.columns, self.hashed) != (fixed, None):
            raise ValueError(f"{self.format} has {fixed} columns, not hashed")
        if self.rows * self.features > MOST_CELLS:
            raise ValueError(f"{self.rows} rows of {self.features} columns are more than {MOST_CELLS} numbers")
        if self.filename == f"{self.name}.npz":
            raise ValueError(f"the download must not be called {self.filename}: that is what it is converted to")
        return self

    @property
    def how(self) -> Format:
        """How the file is read."""
        return FORMATS[self.format]

    @property
    def features(self) -> int:
        """Number of features."""
        return self.hashed or self.columns

    @property
    def filename(self) -> str:
        """Name on disk; its suffix tells whether the file is compressed."""
        return self.file or self.url.rsplit("/", 1)[-1]

    @classmethod
    def read_all(cls, path: Path = SOURCES) -> dict[str, Self]:
        """All declarations of a file by name. Raises FetchError naming the file, the line, the entry and the field."""
        try:
            declared = read_source(path)
            if not isinstance(declared.data, dict) or not all(
                isinstance(each, dict) for each in declared.data.values()
            ):
                raise FetchError(f"{path}: expected a mapping from names to mappings of fields")
            return {
                name: validate(cls, Expanded({"name": name, **entry}, {(): (declared, (name,))}))
                for name, entry in declared.data.items()
            }
        except ConfigError as error:
            raise FetchError(str(error)) from None

    @classmethod
    def find(cls, name: str, path: Path = SOURCES) -> Self:
        """Return one declaration of a file. Raises FetchError naming the declared ones."""
        sources = cls.read_all(path)
        if name not in sources:
            raise FetchError(f"no declared source {name!r}; {path} has: {', '.join(sources)}")
        return sources[name]


class Source(Declared):
    """A download that can be trusted: a strong digest is declared, and two places independent of each other have it."""

    @field_validator("sha256")
    @classmethod
    def _is_pinned(cls, sha256: str | None, found: ValidationInfo) -> str | None:
        if sha256 is None and found.data.get("sha256_content") is None:
            raise ValueError(
                "no SHA-256 is declared, so the file cannot be trusted; run with --pin and compare what is printed "
                "with independent sources"
            )
        return sha256

    @field_validator("vouched_by")
    @classmethod
    def _is_vouched(cls, named: tuple[str, ...], found: ValidationInfo) -> tuple[str, ...]:
        own = found.data.get("url", "").split("/")[2:3]
        places: set[str] = set()
        for voucher in named:
            matched = re.match(_VOUCHER, f"{voucher} ")
            if matched is None:
                raise ValueError(f"{voucher[:60]!r} is not an address (https://HOST/OWNER...) and what is found there")
            if matched[1].split("/")[:1] != own:  # who sends the file does not vouch for it
                places.add(matched[1].lower())
        if len(places) < VOUCHERS:
            raise ValueError(
                f"two places, independent of each other and of the url's, must have the digest; named: {len(places)}"
            )
        return named


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

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        fp.close()  # or all that comes with the redirection would be read
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        here = (old.scheme, old.hostname) == (new.scheme, new.hostname) == ("http", old.hostname)
        if new.scheme != "https" and not here:
            raise FetchError(f"redirected to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(source: Source, directory: Path) -> Path:
    """Bring the verified file to ``directory`` and return its path; a file that is already there is only verified.

    Raises FetchError if the file cannot be downloaded within its limits, or is another one than declared. A failed
    download leaves nothing behind.
    """
    path = directory / source.filename
    if path.is_file():
        verify(source, path)
        return path
    content = download(source.url, source.bytes or MOST_BYTES)
    _check(source, io.BytesIO(content), source.url)
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)
    return path


def pin(source: Declared) -> str:
    """Download without verification and return what the declaration lacks, as YAML; the file is not kept."""
    content = download(source.url, source.bytes or MOST_BYTES)
    file = io.BytesIO(content)
    found = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    if Path(source.filename).suffix in _OPENERS:
        found["sha256_content"] = _content_digest(source, file, source.url)
    return "".join(f"{key}: {value}\n" for key, value in found.items())


def verify(source: Source, path: Path) -> None:
    """Raise FetchError unless the file is the declared one."""
    with opened(path) as file:
        _check(source, file, str(path))


def convert(source: Source, directory: Path) -> Path:
    """Verify the file in ``directory`` and write ``directory/NAME.npz``: rows of norm 1, labels in [-1, 1].

    Raises FetchError if the file is missing, unverified, unreadable or of another size than declared; ValueError naming
    row and column of a value that is not finite.
    """
    raw = directory / source.filename
    if not raw.exists():
        raise FetchError(
            f"{raw} is missing; get it with: python -m dpregret.datasets.fetch {source.name} --to {directory}"
        )
    verify(source, raw)
    try:
        features, labels = source.how.read(raw, source.columns, source.hashed)
    except (OSError, EOFError, ValueError) as error:
        raise FetchError(
            f"{raw}: not a {source.format} file of {source.columns} columns ({one_line(error)})"
        ) from error
    if len(labels) != source.rows:
        raise FetchError(f"{raw}: {len(labels)} rows, {source.rows} declared")
    check_finite(features, labels, str(raw))
    path = directory / f"{source.name}.npz"
    save(path, features=unit_rows(features, str(raw)), labels=labels)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = boundary.Parser(prog="python -m dpregret.datasets.fetch", description=main.__doc__)
    parser.add_argument("name", help="entry of the declared sources")
    parser.add_argument("--to", type=Path, required=True, metavar="DIR", help="folder for the file and its .npz")
    parser.add_argument("--sources", type=Path, default=SOURCES, help="YAML file of declared sources")
    parser.add_argument("--pin", action="store_true", help="only print size and SHA-256 of what the URL gives now")
    options = parser.parse_args(arguments)
    try:
        if options.pin:
            print(pin(Declared.find(options.name, options.sources)), end="")
        else:
            source = Source.find(options.name, options.sources)
            fetch(source, options.to)
            print(f"{convert(source, options.to)} (licence: {source.licence})")
    except (ValueError, OSError) as error:
        print(f"error: {one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    return 0


def _check(source: Declared, file: BinaryIO, where: str) -> None:
    """Raise FetchError unless the open file is the declared one; it is decompressed only for that digest."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    found = {"bytes": size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}  # type: ignore[arg-type]
    if source.sha256_content is not None:
        found["sha256_content"] = _content_digest(source, file, where)
    for name, value in found.items():
        expected = getattr(source, name)
        if expected is not None and value != expected:
            file.seek(0)
            hint = "; it looks like a web page" if file.read(64).lstrip().startswith(b"<") else ""
            raise FetchError(f"{where}: wrong {name}: {value}, declared {expected}{hint}")


def _content_digest(source: Declared, file: BinaryIO, where: str) -> str:
    """Digest of what an open file holds once it is decompressed, at most `MOST_CONTENT` bytes. Raises FetchError."""
    opener = _OPENERS.get(Path(source.filename).suffix)
    digest, held = hashlib.sha256(), 0
    file.seek(0)
    try:
        content = opener(file) if opener else file
        while block := content.read(_BLOCK):
            digest.update(block)
            held += len(block)
            if held > MOST_CONTENT:
                raise FetchError(f"{where}: holds more than {MOST_CONTENT} bytes")
    except (OSError, EOFError, zlib.error) as error:
        raise FetchError(f"{where}: cannot be decompressed ({one_line(error)})") from error
    return digest.hexdigest()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what is being written is then removed
    sys.exit(main())
