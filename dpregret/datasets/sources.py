"""Declared downloads: what comes from where, under which licence, with which digest, and who else vouches for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from dpregret.core.errors import ConfigError, not_allowed
from dpregret.core.validation import NAME_PATTERN, validate
from dpregret.core.yaml_source import Expanded, read_source
from dpregret.datasets.download import FetchError
from dpregret.datasets.prepared import FORMATS, Format

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


class Declared(BaseModel):
    """One download, trusted or not yet.

    format: how it is read, of `prepared.FORMATS`. file: name on disk, without it the last part of the URL's path.
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


Kind = TypeVar("Kind", bound=Declared)


def read_sources(path: Path = SOURCES) -> dict[str, Source]:
    """Read the declarations: name -> source. Raises FetchError naming the file, the line, the entry and the field."""
    return _read(path, Source)


def find_source(name: str, path: Path = SOURCES) -> Source:
    """Return one declared source. Raises FetchError naming the declared ones."""
    return _find(name, path, Source)


def find_declared(name: str, path: Path = SOURCES) -> Declared:
    """Return one declaration of a file in which some may have no digest or voucher yet; see `find_source`."""
    return _find(name, path, Declared)


def _read(path: Path, kind: type[Kind]) -> dict[str, Kind]:
    try:
        declared = read_source(path)
        if not isinstance(declared.data, dict) or not all(isinstance(entry, dict) for entry in declared.data.values()):
            raise FetchError(f"{path}: expected a mapping from names to mappings of fields")
        entries = {
            name: Expanded({"name": name, **entry}, {(): (declared, (name,))}) for name, entry in declared.data.items()
        }
        return {name: validate(kind, entry) for name, entry in entries.items()}
    except ConfigError as error:
        raise FetchError(str(error)) from None


def _find(name: str, path: Path, kind: type[Kind]) -> Kind:
    sources = _read(path, kind)
    if name not in sources:
        raise FetchError(f"no declared source {name!r}; {path} has: {', '.join(sources)}")
    return sources[name]
