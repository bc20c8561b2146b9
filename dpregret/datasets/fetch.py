"""Declared data sets: what comes from where, under which licence, with which digest, and who else vouches for it.

They are downloaded, verified, and converted to the .npz form of ``bundled`` by ``dpregret fetch NAME``.
Every failure is one line on standard error, exit code 2, and no new file: a download stays in memory until its digest
is right. Nothing in the default run calls this.

Files as their publishers made them are turned into features and labels by public constants only. Nothing is read off
the data: ranges come from the meaning of a column, levels from the published dictionary of a set, the hash of columns
from their numbers. Each record is treated by itself, so neighbouring data stay neighbouring and a learner's guarantee
is one for the records as their publisher scaled them. What lies outside a range is clipped to it.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import http.client
import io
import re
import sys
import tarfile
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, Self
from urllib.parse import urlsplit

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from dpregret.core.errors import NAME_PATTERN, not_allowed, one_line
from dpregret.core.files import atomic_write
from dpregret.core.yaml_source import entries, validate
from dpregret.datasets.examples import check_finite, save, unit_rows
from dpregret.numerics.arrays import Array

SOURCES = Path(__file__).resolve().parent.parent / "workflows" / "config" / "sources.yaml"
MOST_CELLS: Final = 1 << 26
"""Rows times columns of the features: half a gigabyte as numbers."""
_PART: Final = r"[A-Za-z0-9_~+-][A-Za-z0-9._~+-]*"
# https, or http on this machine; parts of plain characters that begin with no dot: no query, nothing that leads upwards
_URL: Final = rf"^(https://[A-Za-z0-9.-]+|http://(localhost|127\.0\.0\.1)(:[0-9]+)?)(/{_PART})+$"
_DIGEST: Final = r"^[0-9a-f]{64}$"
_VOUCHER: Final = r"https://([A-Za-z0-9.-]+)/([^/\s,:]+)"
"""A voucher's address; its host and first part (on a forge: the owner) make one place."""
SILENCE: Final = 30.0
"""Seconds without a byte after which a download is given up."""
MOST_BYTES: Final = 1 << 26
"""Of a download that does not declare its size."""
MOST_CONTENT: Final = 1 << 30
"""Of what a compressed file holds; a digest is of no more."""
_OPENERS: Final[dict[str, Callable[[Any], Any]]] = {".gz": gzip.open, ".tgz": gzip.open, ".bz2": bz2.open}


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
    if len(distinct) != 2:
        raise ValueError(f"{len(distinct)} classes, expected 2")
    if hashed is not None:
        bucket, sign = hashed_columns(columns, hashed)
        matrix = matrix @ csr_matrix((sign, (np.arange(columns), bucket)), shape=(columns, hashed))
    return matrix.toarray(), np.where(classes == distinct[-1], 1.0, -1.0)


_ADULT_NUMBERS: Mapping[int, float] = {
    0: 100.0,  # age
    4: 16.0,  # education-num: 16 levels
    10: 100_000.0,  # capital-gain; the census writes 99,999 for more
    11: 5_000.0,  # capital-loss
    12: 100.0,  # hours-per-week: two digits
}
_ADULT_LEVELS: Mapping[int, str] = {
    # workclass
    1: "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
    # marital-status
    5: "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse",
    # occupation
    6: "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces",
    7: "Wife Own-child Husband Not-in-family Other-relative Unmarried",  # relationship
    8: "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",  # race
    9: "Female Male",  # sex
    # native-country
    13: "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan "
    "Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal "
    "Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua "
    "Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
}


def _adult(path: Path, columns: int, hashed: int | None) -> tuple[Array, Array]:
    """A constant 1, five numbers, seven categories; no sampling weight, and education as its number only.

    Label +1: above 50,000 dollars.
    """
    from pandas import Index, read_csv  # slow to import

    table = read_csv(path, header=None, dtype=str, encoding="ascii", skipinitialspace=True, keep_default_na=False)

    def codes(column: int, levels: Sequence[str]) -> Any:
        indices = Index(levels).get_indexer(Index(table[column]))
        if (indices < 0).any():
            row = int(np.argmin(indices))
            raise ValueError(f"row {row}: {table[column][row]!r} in column {column} is not in the set's dictionary")
        return indices

    parts = [np.ones((len(table), 1))]
    parts += [table[[column]].to_numpy(dtype=np.float64) / largest for column, largest in _ADULT_NUMBERS.items()]
    for column, known in _ADULT_LEVELS.items():
        levels = known.split()
        parts.append((codes(column, [*levels, "?"])[:, None] == np.arange(len(levels))).astype(np.float64))
    return np.clip(np.concatenate(parts, axis=1), -1.0, 1.0), 2.0 * codes(14, ["<=50K", ">50K"]) - 1.0


_COVTYPE_NUMBERS = np.array([5_000.0, 360.0, 90.0, 10_000.0, 1_000.0, 10_000.0, 255.0, 255.0, 255.0, 10_000.0])
"""Metres above the sea, degrees, degrees, four distances in metres (one of them up or down), shades 0 to 255."""
_LODGEPOLE_PINE = 2.0


def _covtype(path: Path, columns: int, hashed: int | None) -> tuple[Array, Array]:
    """Ten numbers, four wilderness areas, forty kinds of soil; +1 = lodgepole pine."""
    table = np.loadtxt(path, delimiter=",", ndmin=2)
    table[:, : len(_COVTYPE_NUMBERS)] /= _COVTYPE_NUMBERS
    return np.clip(table[:, :-1], -1.0, 1.0), np.where(table[:, -1] == _LODGEPOLE_PINE, 1.0, -1.0)


def _california_housing(path: Path, columns: int, hashed: int | None) -> tuple[Array, Array]:
    """A constant 1, income, age of houses, rooms, bedrooms and people per household, people, place; label: value.

    The census writes 15.0001 (in 10,000 dollars), 52 (years) and 500,001 (dollars) for more.
    """
    with tarfile.open(path) as archive:
        file: Any = archive.extractfile("CaliforniaHousing/cal_housing.data")
        table = np.loadtxt(file, delimiter=",", ndmin=2)
    longitude, latitude, age, rooms, bedrooms, people, households, income, value = table.T
    with np.errstate(divide="ignore", invalid="ignore"):  # the check for finite values names the row
        per_home = np.stack([rooms, bedrooms, people]) / households / np.array([[20.0], [10.0], [10.0]])
    location = (latitude - 37.25) / 4.75, (longitude + 119.25) / 5.25
    parts = [np.ones(len(table)), income / 15, age / 52, *per_home, people / 5_000, *location]
    return np.clip(np.stack(parts, axis=1), -1.0, 1.0), np.minimum(value, 500_000.0) / 250_000.0 - 1.0


Read = Callable[[Path, int, int | None], tuple[Array, Array]]
FORMATS: Mapping[str, Read] = {
    "libsvm": _libsvm,
    "adult": _adult,
    "covtype": _covtype,
    "california-housing": _california_housing,
}
"""Kinds of files, with what reads them: file, number of its columns, how many they are hashed into -> features (n, d)
in any scale, labels (n,) in [-1, 1]."""


class FetchError(ValueError):
    """A data set that cannot be downloaded or cannot be trusted; the message is one line."""


class Declared(BaseModel):
    """One download, trusted or not yet.

    format: how it is read, of `FORMATS`. file: name on disk, without it the last part of the URL's path.
    bytes: size of the file. sha256: digest of the file as sent; sha256_content: that of what it holds once it is
    decompressed. vouched_by: who else has published the digest, or a file that has it. rows; columns: of the file as
    LIBSVM text, else of the features. hashed: how many columns a wide sparse file is folded into.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=NAME_PATTERN)
    url: str = Field(pattern=_URL)
    file: str | None = Field(default=None, pattern=rf"^{_PART}$")
    licence: str = Field(min_length=1)
    format: Literal["libsvm", "adult", "covtype", "california-housing"] = "libsvm"
    bytes: int | None = Field(default=None, ge=1, le=1 << 29)
    sha256_content: str | None = Field(default=None, pattern=_DIGEST)
    sha256: str | None = Field(default=None, pattern=_DIGEST, validate_default=True)
    vouched_by: tuple[str, ...] = Field(default=(), validate_default=True)
    rows: int = Field(ge=1)
    columns: int = Field(ge=1, le=1 << 24)
    hashed: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _is_bounded(self) -> Self:
        if self.rows * self.features > MOST_CELLS:
            raise ValueError(f"{self.rows} rows of {self.features} columns are more than {MOST_CELLS} numbers")
        return self

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
        """All declarations of a file by name. Raises ConfigError naming the file, the line, the entry and the field."""
        parts = entries(path, "url, licence, digest, rows and columns")
        named = {name: replace(part, data={"name": name, **part.data}) for name, part in parts.items()}
        return {name: validate(cls, part) for name, part in named.items()}

    @classmethod
    def find(cls, name: str, path: Path = SOURCES) -> Self:
        """Return one declaration of a file. Raises FetchError naming the declared ones."""
        sources = cls.read_all(path)
        if name not in sources:
            raise FetchError(f"{path}: {not_allowed('source', name, sources)}")
        return sources[name]


class Source(Declared):
    """A download that can be trusted: a strong digest is declared, and two independent places have it."""

    @field_validator("sha256")
    @classmethod
    def _is_pinned(cls, sha256: str | None, info: ValidationInfo) -> str | None:
        if sha256 is None and info.data.get("sha256_content") is None:
            raise ValueError(
                "no SHA-256 is declared, so the file cannot be trusted; run with --pin and compare what is printed "
                "with independent sources"
            )
        return sha256

    @field_validator("vouched_by")
    @classmethod
    def _is_vouched(cls, vouchers: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        sites = {matched.groups() for voucher in vouchers if (matched := re.match(_VOUCHER, voucher.lower()))}
        sender = urlsplit(info.data.get("url", "")).hostname  # who sends the file does not vouch for it
        if (count := len({place for place in sites if place[0] != sender})) < 2:
            raise ValueError(
                "two places (https://HOST/OWNER... and what is found there), independent of each other and of the "
                f"url's, must have the digest; named: {count}"
            )
        return vouchers


def download(url: str, most: int) -> bytes:
    """The content of the URL, at most `most` bytes; nothing is written.

    Raises FetchError for a server that cannot be reached, falls silent, answers with an error, or sends more than that
    or less than it announces.
    """
    request = urllib.request.Request(url, headers={"User-Agent": "dpregret"})
    try:
        with urllib.request.urlopen(request, timeout=SILENCE) as response:
            content: bytes = response.read(most + 1)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise FetchError(f"{url}: download failed ({one_line(error) or type(error).__name__})") from error
    if response.length or len(content) > most:
        raise FetchError(f"{url}: incomplete, or more than the {most} bytes allowed")
    return content


def fetch(source: Source, directory: Path) -> Path:
    """Bring the verified file to ``directory``, unless it is there, and return its path.

    Raises FetchError if the file cannot be downloaded within its limits, or is another one than declared. A failed
    download leaves nothing behind.
    """
    path = directory / source.filename
    if not path.is_file():
        content = download(source.url, source.bytes or MOST_BYTES)
        _check(source, content, source.url)
        with atomic_write(path) as temporary:
            temporary.write_bytes(content)
    return path


def pinned(source: Declared) -> str:
    """Download without verification and return what the declaration lacks, as YAML; the file is not stored."""
    content = download(source.url, source.bytes or MOST_BYTES)
    lacking = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    if Path(source.filename).suffix in _OPENERS:
        lacking["sha256_content"] = _content_digest(source, content)
    return "".join(f"{key}: {value}\n" for key, value in lacking.items())


def convert(source: Source, directory: Path, to: Path | None = None) -> Path:
    """Verify the file in ``directory`` and write ``to``, or ``directory/NAME.npz``: rows of norm 1, labels in [-1, 1].

    Raises FetchError if the file is missing, unverified, unreadable or of another size than declared; ValueError naming
    row and column of a value that is not finite.
    """
    raw = directory / source.filename
    if not raw.exists():
        raise FetchError(f"{raw} is missing; get it with: dpregret fetch {source.name} --to {directory}")
    _check(source, raw.read_bytes(), str(raw))
    try:
        features, labels = FORMATS[source.format](raw, source.columns, source.hashed)
    except Exception as error:  # readers of another format raise nearly everything
        raise FetchError(f"{raw}: not a {source.format} file ({one_line(error)})") from error
    if features.shape != (source.rows, source.features):
        raise FetchError(f"{raw}: {features.shape} rows and features, {(source.rows, source.features)} declared")
    check_finite(features, labels, str(raw))
    path = to or directory / f"{source.name}.npz"
    save(path, features=unit_rows(features, str(raw)), labels=labels)
    return path


def main(name: str, to: Path | None = None, sources: Path = SOURCES, pin: bool = False) -> int:
    """The command `dpregret fetch`. to: folder for the file and its .npz; pin: without a folder, only print what the
    URL gives now."""
    try:
        if to is None or pin:
            print(pinned(Declared.find(name, sources)), end="")
        else:
            source = Source.find(name, sources)
            fetch(source, to)
            print(f"{convert(source, to)} (licence: {source.licence})")
    except (ValueError, OSError) as error:
        print(f"dpregret: fetch: {one_line(error)}", file=sys.stderr)
        return 2
    return 0


def _check(source: Declared, content: bytes, where: str) -> None:
    """Raise FetchError unless a file of this content is the declared one; it is decompressed only for that digest."""
    actual: dict[str, object] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    if source.sha256_content is not None:
        actual["sha256_content"] = _content_digest(source, content)
    for name, value in actual.items():
        expected = getattr(source, name)
        if expected not in (None, value):
            hint = "; it looks like a web page" if content[:64].lstrip().startswith(b"<") else ""
            raise FetchError(f"{where}: wrong {name}: {value}, declared {expected}{hint}")


def _content_digest(source: Declared, content: bytes) -> str:
    """Digest of what a file holds once it is decompressed, or why it cannot be."""
    opener = _OPENERS.get(Path(source.filename).suffix, lambda file: file)
    try:
        return hashlib.sha256(opener(io.BytesIO(content)).read(MOST_CONTENT)).hexdigest()
    except (OSError, EOFError) as error:
        return f"none ({one_line(error)})"
