"""Records of a study: a user's CSV file, turned into features and labels by public constants only.

`data.yaml` of the study declares them. Nothing is read off the data: `norm`, `range`, `ranges` and `levels` are
constants that the user states, and each record is treated by itself, so neighbouring files stay neighbouring. A
constant that is chosen by looking at the records is not public, and the guarantee does not cover it.
"""

from __future__ import annotations

import codecs
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from dpregret import study
from dpregret.core import errors
from dpregret.core.errors import NAME_PATTERN, NAME_RULE, ConfigError, nearest
from dpregret.core.files import checksum, inside
from dpregret.core.progress import Progress
from dpregret.core.yaml_source import display_path, entries, validate
from dpregret.datasets.csv_file import SEPARATORS, Block, CsvFile, may_separate
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

LARGEST: Final = 1e100
"""A public constant whose square is still a number."""
SMALLEST: Final = 1e-100
"""A norm whose square is still above 0, and the least width of a range."""
NARROWEST: Final = 1e-9
"""Width of a range in units of its larger end: in a narrower one few floating-point numbers have a place."""
MISSING: Final = frozenset(
    (
        *(
            "",
            "-",
            "--",
            "---",
            "?",
            ".",
            "..",
            "...",
            "*",
            "na",
            "n/a",
            "n.a.",
            "n.a",
            "<na>",
            "#n/a",
            "#na",
            "#n/a n/a",
        ),
        *("nan", "-nan", "1.#qnan", "-1.#ind", "null", "(null)", "\\n", "none", "nil", "nat", "missing", "unknown"),
        *("#div/0!", "#name?", "#null!", "#num!", "#ref!", "#value!"),
    )
)
"""What files write, in whichever case, for a value that there is not."""
SWITCHES: Final = frozenset(("yes", "no", "on", "off", "true", "false", "null", "y", "n"))
"""Words that some readers of YAML take for something else."""
LONGEST_COLUMN: Final = 1000
"""Characters of the name of a column: YAML has no longer keys."""
MOST_NAMED: Final = 8
"""Values of a label that a message lists."""
_ESCAPES: Final = frozenset(("idna", "punycode", "unicode-escape", "raw-unicode-escape"))
"""Codecs of Python that read a text as another."""
UNNAMED: Final = r"(Unnamed: \d+(_level_\d+|\.\d+)?)?"
"""A column without a name, or what pandas calls one."""
THOUSANDS: Final = re.compile(r"[-+]?[1-9]\d{0,2}([.,]\d{3})+")
"""A number whose point or comma may be decimal, or separate thousands."""


def _word(value: object) -> object:
    """The name of a column, also one that YAML reads as a number or as true or false."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    return str(value) if isinstance(value, bool | int) else value


def _words(value: object) -> object:
    return tuple(map(_word, value)) if isinstance(value, list | tuple) else (_word(value),)


def _values(value: object) -> object:
    """Values of a column: words, or numbers, which are compared as numbers."""
    values = tuple(value) if isinstance(value, list | tuple | set) else (value,)
    values = tuple(item.item() if isinstance(item, np.generic) else item for item in values)
    for item in values:
        if not isinstance(item, str | int | float) or item != item:
            raise ValueError("must be a word, a number, true or false, or a list of these")
    return tuple(_word(item) if isinstance(item, str) else item for item in values)


def _header(value: object) -> object:
    """True, or the names of all columns."""
    if value is True or value is None:
        return value
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(
            "must be true (the first line holds names), or a list of all names (the file has no such line)"
        )
    return tuple(map(_word, value))


def _pair(value: object) -> object:
    """Two numbers."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError("must be [low, high]")
    return tuple(value)


def _is_range(pair: tuple[float, float]) -> tuple[float, float]:
    low, high = pair
    if not low < high:
        raise ValueError("must be [low, high] with low < high")
    if high - low < max(SMALLEST, NARROWEST * max(abs(low), abs(high))):
        raise ValueError(f"must be wider: low and high differ by less than {NARROWEST:g} of their size")
    return pair


def _separator(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("must be a character")
    character = "\t" if value == "\\t" else SEPARATORS.get(value.removeprefix("\\"), value)
    if not may_separate(character):
        raise ValueError(f"must be one character, or one of {', '.join(SEPARATORS)}")
    return character


Finite = Annotated[float, Field(strict=True, ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
Pair = Annotated[tuple[Finite, Finite], BeforeValidator(_pair), AfterValidator(_is_range)]
ColumnName = Annotated[str, BeforeValidator(_word), Field(min_length=1)]
Names = Annotated[tuple[Annotated[str, BeforeValidator(_word)], ...], BeforeValidator(_words)]
Value = Annotated[bool, Field(strict=True)] | Annotated[int, Field(strict=True)] | float | str
Values = Annotated[tuple[Value, ...], BeforeValidator(_values), Field(min_length=1)]
Header = Annotated[Annotated[bool, Field(strict=True)] | tuple[ColumnName, ...] | None, BeforeValidator(_header)]


class RecordFile(BaseModel):
    """One CSV file of records; every column but the label, and those that `drop` names, is a feature.

    file: path from the study on, compressed or not. label: its column. positive: the value that becomes +1 (or a list
    of them), the other value -1; of more than two values, `negative` lists those that become -1. Or range: (low, high),
    between which a label lies, mapped to [-1, 1] and clipped. norm: largest Euclidean norm of a row of features; longer
    rows are scaled down to it.

    ranges: column -> (low, high), mapped to [-1, 1] and clipped; other columns are taken as they are. levels: column ->
    its values, of which each but the first becomes a feature of 0 and 1. header: true for a first line whose names look
    like a record; the names of all columns for a file without a line of names. separator: one character, or a word of
    `csv_file.SEPARATORS`. encoding: of the text. decimal: "." or ",".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str = Field(min_length=1)
    label: ColumnName
    norm: float = Field(strict=True, ge=SMALLEST, le=LARGEST, allow_inf_nan=False)
    positive: Values | None = None
    negative: Values | None = None
    range: Pair | None = None
    drop: Names = ()
    ranges: dict[ColumnName, Pair] = {}
    levels: dict[ColumnName, Annotated[Values, Field(min_length=2)]] = {}
    header: Header = None
    separator: Annotated[str, BeforeValidator(_separator)] = ","
    encoding: str = "utf-8"
    decimal: Annotated[str, Field(pattern=r"^[.,]$")] = "."

    @field_validator("encoding")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            "a".encode(name)
            known = codecs.lookup(name).name not in _ESCAPES
        except (LookupError, UnicodeError, ValueError):
            known = False
        if not known:
            raise ValueError("must be an encoding of text, such as utf-8, utf-16, latin-1 or cp1252")
        return name

    @model_validator(mode="after")
    def _has_one_kind_of_label(self) -> RecordFile:
        if (self.positive is None) == (self.range is None):
            raise ValueError("give either positive (two classes) or range (numbers) for the label")
        if self.negative is not None and self.positive is None:
            raise ValueError("negative: lists values beside those of positive, which is not given")
        if both := set(self.positive or ()) & set(self.negative or ()):
            raise ValueError(f"positive, negative: {min(map(repr, both))} is in both")
        for name, values in self.levels.items():
            if any(matches(str(value), [other]) for at, value in enumerate(values) for other in values[:at]):
                raise ValueError(f"levels: {name}: a value is given twice")
        taken = [self.label, *self.drop, *self.ranges, *self.levels]
        if twice := sorted(name for name, count in Counter(taken).items() if count > 1):
            raise ValueError(f"{twice[0]!r} is named twice in label, drop, ranges and levels")
        return self

    @property
    def path(self) -> Path:
        """Where the file is."""
        return Path(study.folder() or ".", self.file)

    @property
    def location(self) -> str:
        """The file as messages name it."""
        return display_path(self.path)

    @property
    def features(self) -> list[str]:
        """Names of the features, from the first line of the file. Raises ConfigError for names missing there."""
        return self._feature_names(self._columns(self._opened()))

    def read(self) -> tuple[Array, Array]:
        """Features (n, d), rows of norm at most `norm`, and labels (n,) in [-1, 1].

        Raises ConfigError, one line that names the file, the line and the column of what is wrong.
        """
        records = self.records()
        return records.features, records.labels

    def records(self) -> Records:
        """Features and labels, with what was read. Raises ConfigError as `read`."""
        file = self._opened()
        columns = self._columns(file)
        at, classes = file.positions[self.label], Classes()
        features: list[Array] = []
        labels: list[Array] = []
        codes: dict[str, str] = {}
        points = {name: "" for name in [*columns, *[self.label] * (self.range is not None)] if name not in self.levels}
        blanks = Counter[str]()
        words = [*self.levels, *[self.label] * (self.range is None)]
        progress = Progress(f"reads {self.location}")
        for block in file.blocks():
            progress.tick()
            blanks.update(
                name for name in words for text in block.columns[file.positions[name]] if text != text.strip()
            )
            features.append(self._numbers(block, file.positions, columns))
            for name in columns:
                if name not in self.levels and (code := padded(block.columns[file.positions[name]])):
                    codes.setdefault(name, code)
            for name in [*points]:
                pointed = [text.strip() for text in block.columns[file.positions[name]] if self.decimal in text]
                if all(map(THOUSANDS.fullmatch, pointed)):
                    points[name] = points[name] or next(iter(pointed), "")
                else:
                    del points[name]
            if self.range is not None:
                labels.append(self._as_numbers(block, at, self.label))
            else:
                classes.add(block.lines, block.columns[at])
        names = self._feature_names(columns)
        if not features or not names:
            raise ConfigError(
                f"{self.location}: {sum(map(len, features))} records of {len(names)} features: at least one of each"
            )
        values = np.concatenate(features)
        if self.range is not None:
            (low, high), numbers = self.range, np.concatenate(labels)
            signs = within(numbers, low, high)
            counts = {f"below {low:g}": int((numbers < low).sum()), f"above {high:g}": int((numbers > high).sum())}
        else:
            signs, counts = self._signs(classes)
            if self.header is None and self.label in classes.first:
                raise ConfigError(
                    f"{self.location}:{classes.first[self.label]}: column {self.label!r}: its name is one of its "
                    f"values: {_NO_NAMES}"
                )
        ranged = self._ranged(values, names)
        scaled, norms = shortened(ranged, self.norm)
        points = {name: text for name, text in points.items() if text}
        longer = norms > self.norm
        return Records(self, tuple(names), values, ranged, scaled, signs, longer, counts, codes, points, +blanks)

    def _opened(self) -> CsvFile:
        names = self.header if isinstance(self.header, tuple) else None
        return CsvFile(self.path, self.separator, self.encoding, names)

    def _columns(self, file: CsvFile) -> list[str]:
        """The columns that are features. Raises ConfigError for names of `data.yaml` that the file lacks, and for names
        of the file that are none, that repeat another one, or that are those of a record."""
        if self.header is None:
            check_first_line(file)
        file.require([self.label, *self.drop, *self.ranges, *self.levels])
        return [name for name in named_columns(file, self.drop) if name != self.label]

    def _feature_names(self, columns: Sequence[str]) -> list[str]:
        """Names of the features: a column, or COLUMN=LEVEL. Raises ConfigError for equal ones."""
        names: list[str] = []
        for name in columns:
            names += [f"{name}={level}" for level in self.levels[name][1:]] if name in self.levels else [name]
        if len(set(names)) < len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise ConfigError(f"{self.location}:1: {twice!r} is the name of a column and of a level: rename the column")
        return names

    def _numbers(self, block: Block, positions: Mapping[str, int], columns: Sequence[str]) -> Array:
        """The features of some records, as they are in the file, (records, d)."""
        parts = []
        for name in columns:
            at = positions[name]
            if name in self.levels:
                numbers = self._as_levels(block, at, name)
                parts += [(numbers == level).astype(np.float64) for level in range(1, len(self.levels[name]))]
            else:
                parts.append(self._as_numbers(block, at, name))
        return np.stack(parts, axis=1) if parts else np.zeros((len(block.lines), 0))

    def _as_numbers(self, block: Block, at: int, name: str) -> Array:
        texts = [self._pointed(text) for text in block.columns[at]] if self.decimal == "," else block.columns[at]
        suspects: Sequence[int] = range(len(texts))
        try:
            numbers = np.array([float(text) for text in texts])
            if "_" not in "".join(texts):
                suspects = np.flatnonzero(~np.isfinite(numbers) | (numbers == 0.0)).tolist()
        except ValueError:
            numbers = np.zeros(0)
        for row in suspects:
            if number_in(texts[row]) is None:
                problem = self._no_number(block.columns[at][row].strip(), name)
                raise ConfigError(f"{self.location}:{block.lines[row]}: column {name!r}: {problem}")
        return numbers

    def _pointed(self, text: str) -> str:
        """The number with a decimal point; a point beside a decimal comma could mean either."""
        return "?" if "." in text else text.replace(",", ".")

    def _no_number(self, text: str, name: str) -> str:
        """Why a text is no number of a column, with the remedy."""
        if is_missing(text):
            word = f" ({text!r})" * bool(text)
            remedy = "" if name == self.label else f", or the column with `drop: [{quoted(name)}]`"
            return f"no value{word}: nothing is filled in; leave the record out of the file{remedy}"
        if re.fullmatch(r"[-+]?[\d.,' \xa0\u2009\u202f\u2019]*\d", text) and not (text.isdigit()):
            if self.decimal == "." and number_in(text.replace(",", ".")) is not None:
                both = (
                    "; if it separates thousands, take it out of the file"
                    if re.fullmatch(r"[-+]?\d{1,3},\d{3}", text)
                    else ""
                )
                return f'{text!r} has a comma: if it is a decimal one, give `decimal: ","`{both}'
            marks = ", ".join(repr(mark) for mark in dict.fromkeys(re.sub(r"[-+\d]", "", text)))
            beside = f"{text!r} has {marks} beside `decimal: {quoted(self.decimal)}`"
            return f"{beside}: write the numbers of the file without thousands separators"
        small = re.fullmatch(r"[-+.\d]+[eE]-\d+", text)
        problem = f"{text!r} is {'too small a' if small else 'not a finite'} number"
        if name == self.label or small:
            return problem
        remedy = f"give its values in `levels: {{{quoted(name)}: [...]}}`, or leave it out with `drop`"
        return f"{problem}; of a column of words {remedy}"

    def _as_levels(self, block: Block, at: int, name: str) -> Array:
        """The number of each level. Raises ConfigError for another value."""
        levels, cache = self.levels[name], dict[str, int]()
        for text, line in zip(block.columns[at], block.lines, strict=True):
            if text in cache:
                continue
            word = text.strip()
            found = next((number for number, level in enumerate(levels) if matches(word, [level])), None)
            if found is None:
                listed = ", ".join(map(repr, levels))
                problem = f"{word!r} is none of the levels {listed}{nearest(word, map(str, levels))}"
                if is_missing(word):
                    problem = f"no value ({word!r}): leave the record out of the file, or list {word!r} in `levels`"
                raise ConfigError(f"{self.location}:{line}: column {name!r}: {problem}")
            cache[text] = found
        return np.array([cache[text] for text in block.columns[at]])

    def _ranged(self, values: Array, names: Sequence[str]) -> Array:
        """Features in units of their public ranges."""
        scaled, positions = values.copy(), {name: at for at, name in enumerate(names)}
        for name, pair in self.ranges.items():
            at = positions[name]
            scaled[:, at] = within(values[:, at], *pair)
        return scaled

    def _signs(self, classes: Classes) -> tuple[Array, dict[str, int]]:
        """Labels -1 and +1, and how many records have each value. Raises ConfigError where a value has no class."""
        where, positive, negative = f"column {self.label!r}", self.positive or (), self.negative or ()
        listed = classes.listed()
        named = [*positive, *negative]
        sides: dict[str, float] = {}
        for value, line in classes.first.items():
            if matches(value, positive):
                sides[value] = 1.0
                if matches(value, negative):
                    raise ConfigError(f"{self.location}:{line}: {where}: {value!r} is in positive and in negative")
            elif matches(value, negative) or (not negative and not is_missing(value)):
                sides[value] = -1.0
            elif is_missing(value):
                word = f" ({value!r}); if it is a class, list it in `negative`" if value else ""
                raise ConfigError(f"{self.location}:{line}: {where}: no value{word}")
            else:
                near = nearest(value, map(str, named))
                raise ConfigError(
                    f"{self.location}:{line}: {where}: {value!r} is neither in positive nor in negative{near}"
                )
        for wanted in named:
            if not any(matches(value, (wanted,)) for value in classes.first):
                word = "positive" if wanted in positive else "negative"
                quotes = "" if isinstance(wanted, str) else f" (a {_kind(wanted)}; quotes make a word of it)"
                near = nearest(wanted, classes.first)
                same = isinstance(wanted, str) and _exact(wanted)
                if isinstance(same, Decimal) and same in map(_exact, classes.first):  # `nearest` of "1" may be "-1"
                    quotes, near = f" (a word; {word}: {str(wanted).strip()}, without quotes, is a number)", ""
                raise ConfigError(
                    f"{self.location}: {where}: no record has the value {wanted!r} of {word}{quotes}; its values are "
                    f"{listed}{near}"
                )
        others = [value for value, side in sides.items() if side < 0]
        if not others:
            raise ConfigError(f"{self.location}: {where}: every record is positive: {listed}")
        alike = {_folded(value) for value, side in sides.items() if side > 0}
        for value in others if not negative else ():
            if _folded(value) in alike:
                raise ConfigError(
                    f"{self.location}:{classes.first[value]}: {where}: {value!a} is written almost like a value of "
                    f"positive: {listed}; list it in `positive` or in `negative`"
                )
        if not negative and len(set(map(_number_or_word, others))) > 1:
            shown = ", ".join(map(quoted, others[:MOST_NAMED])) + ", ..." * (len(others) > MOST_NAMED)
            raise ConfigError(
                f"{self.location}:{classes.first[others[1]]}: {where}: more than two values: {listed}; if all but "
                f"positive are one class, list them: `negative: [{shown}]`"
            )
        return np.array([sides[value] for value in classes.values]), dict(classes.counts)


@dataclass
class Classes:
    """Values of a label: that of each record, the line of the first record with each, and how many have it."""

    values: list[str] = field(default_factory=list)
    first: dict[str, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, lines: Sequence[int], texts: Sequence[str]) -> None:
        """Some more records."""
        values = [text.strip() for text in texts]
        for line, value in zip(lines, values, strict=True):
            self.first.setdefault(value, line)
        self.counts.update(values)
        self.values += values

    def listed(self) -> str:
        """`'no' (5), 'yes' (3)`."""
        counted = [f"{value!r} ({count})" for value, count in self.counts.most_common(MOST_NAMED)]
        return ", ".join(counted) + f" and {len(self.counts) - MOST_NAMED} more" * (len(self.counts) > MOST_NAMED)


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """What was read of a file.

    names (d,): of the features. values (n, d): as in the file. ranged (n, d): in units of their ranges. features
    (n, d): these, rows of norm at most the public norm. labels (n,) in [-1, 1]. shortened (n,): rows that were longer.
    counts: value of the label -> records; of numbers, those below and above their range. padded: column of numbers ->
    the first that is written with zeros before it, as codes are. points: column of numbers -> the first with a decimal
    mark, where each mark may separate thousands. blanks: column of words -> values with blanks around them, which are
    no part of a value.
    """

    file: RecordFile
    names: tuple[str, ...]
    values: Array
    ranged: Array
    features: Array
    labels: Array
    shortened: np.ndarray
    counts: dict[str, int]
    padded: dict[str, str]
    points: dict[str, str]
    blanks: Counter[str]


_NO_NAMES: Final = (
    "does the first line hold a record? Give `header: true` if it holds names, or the names of all columns, "
    "`header: [...]`, if the file has no line of names"
)


_NUMBER: Final = r"[-+]?(\d+(\.\d*)?e[-+]?\d+|0x[0-9a-f]+|inf(inity)?|nan)"
"""A number with letters."""


def check_first_line(file: CsvFile) -> None:
    """Raise ConfigError for a first line that does not look like names: one has no letter, or is a number. A column
    without a name is no mistake here."""
    for number, name in enumerate(file.names, 1):
        record = re.fullmatch(_NUMBER, name.lower()) or not any(map(str.isalpha, name))
        if name and record:
            raise ConfigError(f"{file.name}:1: column {number}: {name!r} is no name: {_NO_NAMES}")


def named_columns(file: CsvFile, drop: Sequence[str] = ()) -> list[str]:
    """The columns that are not dropped. Raises ConfigError for one without a name, one whose name does not show, and
    one that has, or seems to have, the name of another."""
    columns: dict[str, tuple[str, int]] = {}
    dropped = frozenset(drop)
    for number, name in enumerate(file.names, 1):
        if name in dropped:
            continue
        where = f"{file.name}:1: column {number}"
        if re.fullmatch(UNNAMED, name):
            raise ConfigError(
                f"{where} has no name{f' ({name!r})' * bool(name)}: are these row numbers? Leave the column out "
                f"with `drop: [{quoted(name)}]`, or give it a name"
            )
        if not all(char.isprintable() or unicodedata.category(char) == "Zs" for char in name):
            raise ConfigError(f"{where}: {name!a} has characters that no terminal shows: rename it")
        if len(name) > LONGEST_COLUMN:
            raise ConfigError(f"{where}: the name has {len(name)} characters, at most {LONGEST_COLUMN} are allowed")
        other, first = columns.setdefault(unicodedata.normalize("NFKC", name), (name, number))
        if first != number:
            same = f"is the name of column {first} too" if other == name else f"looks like that of column {first}"
            raise ConfigError(
                f"{where}: {name!r} {same}: rename one of the two, or leave both out with "
                f"`drop: [{', '.join(map(quoted, dict.fromkeys((other, name))))}]`"
            )
    return [name for name, _ in columns.values()]


def padded(texts: Sequence[str]) -> str | None:
    """The first whole number that is written with zeros before it."""
    found = re.search(r"^\s*(0\d+)\s*$", "\n".join(texts), re.MULTILINE)
    return found[1] if found else None


def is_missing(text: str) -> bool:
    """Whether a file writes this for a value that there is not."""
    return text.lower() in MISSING


def number_in(text: str) -> float | None:
    """The finite number that a text is; None for any other text, and for a number that would become 0 or infinite."""
    try:
        number = float(text)
    except ValueError:
        return None
    if "_" in text or not math.isfinite(number) or (number == 0.0 and re.search("[1-9]", re.split("[eE]", text)[0])):
        return None
    return number


def _exact(text: str) -> Decimal | None:
    """The number that a text is, with all its digits: long identifiers differ that a float would make equal."""
    return None if number_in(text) is None else Decimal(text.strip())


def _kind(value: float) -> str:
    return "truth value" if isinstance(value, bool) else "number"


def _number_or_word(text: str) -> Decimal | str:
    number = _exact(text)
    return text if number is None else number


def _folded(text: str) -> str:
    """A word without case, marks that do not show, and forms of the same letters."""
    visible = "".join(char for char in unicodedata.normalize("NFKC", text) if char.isprintable())
    return " ".join(visible.casefold().split())


def matches(text: str, values: Sequence[bool | float | str]) -> bool:
    """Whether the text of a file is one of the values: words as they are, numbers as numbers, true and false in
    whichever case."""
    number = _exact(text)
    for value in values:
        if isinstance(value, bool):
            same = text.lower() == str(value).lower()
        elif isinstance(value, str):
            same = text == value
        else:
            same = number is not None and number == Decimal(repr(value))
        if same:
            return True
    return False


def within(numbers: Array, low: float, high: float) -> Array:
    """Numbers clipped to [low, high], mapped to [-1, 1]; the halves keep the difference of large numbers finite."""
    middle, half = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    return np.clip((np.clip(numbers, low, high) - middle) / half, -1.0, 1.0)


def shortened(rows: Array, norm: float) -> tuple[Array, Array]:
    """Rows (n, d) scaled down to a norm where they are longer, and their norms (n,), inf where that is no number.

    A row is divided by its largest entry before it is squared, so that no square is too large a number.
    """
    largest = np.abs(rows).max(axis=1, initial=0.0)
    unit = rows / np.where(largest > 0.0, largest, 1.0)[:, None]
    lengths = np.sqrt(vecdot(unit, unit))
    with np.errstate(over="ignore"):
        norms = largest * lengths
    longer = norms > norm
    result = rows.copy()
    result[longer] = unit[longer] * (norm / lengths[longer])[:, None]
    return result, norms


def quoted(text: str) -> str:
    """A word as YAML reads it."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_. -]*", text) and text.strip() == text
    return text if plain and text.lower() not in SWITCHES else json.dumps(text, ensure_ascii=not text.isprintable())


def declared() -> dict[str, RecordFile]:
    """Name -> records of the study; none without a study. Raises ConfigError with file, line and key."""
    folder = study.folder()
    if folder is None or not (folder / study.DATA).is_file():
        return {}
    parts = entries(folder / study.DATA, "file, label and norm")
    problems = []
    for name, part in parts.items():
        if not re.fullmatch(NAME_PATTERN, name):
            problems.append(f"{part.at(())}: {NAME_RULE}")
        elif len(name) > errors.LONGEST_NAME:
            problems.append(f"{part.at(())}: may have at most {errors.LONGEST_NAME} characters, not {len(name)}")
        elif name in taken():
            problems.append(f"{part.at(())}: dpregret has a data set of this name: give another")
        for key, value in part.data.items():
            nested = [(key, inner) for inner, item in value.items() if item is None] if isinstance(value, dict) else []
            problems += [f"{part.at(path)}: no value yet" for path in ([(key,)] if value is None else nested)]
    if problems:
        raise ConfigError(problems)
    files = {name: validate(RecordFile, part) for name, part in parts.items()}
    for name, file in files.items():
        try:
            inside(folder, file.file)
        except ValueError as error:
            problems.append(f"{parts[name].at(('file',))}: {error}")
    if problems:
        raise ConfigError(problems)
    missing = [name for name, file in files.items() if not file.path.is_file()]
    if missing:
        raise ConfigError([f"{parts[name].at(('file',))}: {files[name].location}: no such file" for name in missing])
    return files


@cache
def taken() -> frozenset[str]:
    """Names of the data sets of dpregret."""
    from dpregret.datasets import bundled, expert_data, fetch, flights

    return frozenset((*bundled.BUNDLED, *fetch.Declared.read_all(), *expert_data.TASKS, *flights.TABLES))


def declaration(name: str) -> dict[str, object] | None:
    """Everything that decides a data set of the study, its content included; None for any other name."""
    file = declared().get(name)
    return None if file is None else {**file.model_dump(mode="json"), "sha256": checksum(file.path)}
