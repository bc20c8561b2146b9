"""Records of a study: a user's CSV file, turned into features and labels by public constants only.

`data.yaml` of the study declares them. Nothing is read off the data: `norm`, `range`, `ranges` and `levels` are
constants that the user states, and each record is treated by itself, so neighbouring files stay neighbouring. A
constant that is chosen by looking at the records is not public, and the guarantee does not cover it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from dpregret import study
from dpregret.core.errors import NAME_PATTERN, NAME_RULE, ConfigError, nearest
from dpregret.core.files import checksum, inside
from dpregret.core.yaml_source import entries, shown, validate
from dpregret.datasets.csv_file import SEPARATORS, Block, CsvFile
from dpregret.numerics.arrays import Array
from dpregret.numerics.sums import vecdot

LARGEST: Final = 1e100
"""A public constant whose square is still a number."""
MISSING: Final = frozenset(
    (
        "",
        "-",
        "?",
        "NA",
        "N/A",
        "n/a",
        "na",
        "<NA>",
        "#N/A",
        "NaN",
        "nan",
        "-nan",
        "NULL",
        "null",
        "None",
        "none",
        "NaT",
    )
)
"""What files write for a value that there is not."""
SWITCHES: Final = frozenset(("yes", "no", "on", "off", "true", "false", "null", "y", "n"))
"""Words that some readers of YAML take for something else."""
MOST_NAMED: Final = 8
"""Values of a label that a message lists."""
_UNNAMED: Final = r"(Unnamed: \d+(_level_\d+)?)?"
"""A column without a name, or what pandas calls one."""


def _word(value: object) -> object:
    """The name of a column that YAML reads as a number or as true or false."""
    return str(value) if isinstance(value, bool | int) else value


def _words(value: object) -> object:
    return tuple(map(_word, value)) if isinstance(value, list | tuple) else (_word(value),)


def _values(value: object) -> object:
    """Values of a label: words, or numbers, which are compared as numbers."""
    values = tuple(value) if isinstance(value, list | tuple | set) else (value,)
    return tuple(item.item() if isinstance(item, np.generic) else item for item in values)


def _separator(value: object) -> object:
    character = SEPARATORS.get(str(value).removeprefix("\\"), value)
    character = "\t" if value == "\\t" else character
    if not isinstance(character, str) or len(character) != 1 or character.isalnum() or character in '"\r\n.+-_':
        raise ValueError(f"must be one character, or one of {', '.join(SEPARATORS)}")
    return character


Finite = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
Name = Annotated[str, BeforeValidator(_word), Field(min_length=1)]
Names = Annotated[tuple[Annotated[str, BeforeValidator(_word)], ...], BeforeValidator(_words)]
Label = Annotated[bool, Field(strict=True)] | Annotated[int, Field(strict=True)] | float | str
Labels = Annotated[tuple[Label, ...], BeforeValidator(_values), Field(min_length=1)]


class RecordFile(BaseModel):
    """One CSV file with a line of names; every column but the label, and those that `drop` names, is a feature.

    file: path from the study on, compressed or not. label: its column. positive: the value that becomes +1 (or a list
    of them), the other value -1; of more than two values, `negative` lists those that become -1. Or range: (low, high),
    between which a label lies, mapped to [-1, 1] and clipped. norm: largest Euclidean norm of a row of features; longer
    rows are scaled down to it.

    ranges: column -> (low, high), mapped to [-1, 1] and clipped; other columns are taken as they are. levels: column ->
    its values, of which each but the first becomes a feature of 0 and 1. separator: one character, or a word of
    `csv_file.SEPARATORS`. encoding: of the text. decimal: "." or ",".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str = Field(min_length=1)
    label: Name
    norm: float = Field(gt=0, le=LARGEST, allow_inf_nan=False)
    positive: Labels | None = None
    negative: Labels | None = None
    range: tuple[Finite, Finite] | None = None
    drop: Names = ()
    ranges: dict[Name, tuple[Finite, Finite]] = {}
    levels: dict[Name, Annotated[Names, Field(min_length=2)]] = {}
    separator: Annotated[str, BeforeValidator(_separator)] = ","
    encoding: str = "utf-8"
    decimal: Annotated[str, Field(pattern=r"^[.,]$")] = "."

    @field_validator("encoding")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            "a".encode(name)
        except (LookupError, UnicodeError):
            raise ValueError("must be an encoding of text, such as utf-8, utf-16, latin-1 or cp1252") from None
        return name

    @model_validator(mode="after")
    def _has_one_kind_of_label(self) -> RecordFile:
        if (self.positive is None) == (self.range is None):
            raise ValueError("give either positive (two classes) or range (numbers) for the label")
        if self.negative is not None and self.positive is None:
            raise ValueError("negative: lists values beside those of positive, which is not given")
        if both := set(self.positive or ()) & set(self.negative or ()):
            raise ValueError(f"positive, negative: {min(map(repr, both))} is in both")
        if self.decimal == self.separator:
            raise ValueError(f"decimal: {self.decimal!r} is the separator")
        named = {"range": self.range} if self.range else {}
        for name, pair in (named | {f"ranges: {name}": pair for name, pair in self.ranges.items()}).items():
            if not pair[0] < pair[1]:
                raise ValueError(f"{name}: {list(pair)} must be [low, high] with low < high")
        for name, values in self.levels.items():
            if len(set(values)) < len(values):
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
        return shown(self.path)

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
        at, classes = file.names.index(self.label), Classes()
        features: list[Array] = []
        labels: list[Array] = []
        for block in file.blocks():
            features.append(self._numbers(block, file.names, columns))
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
        ranged = self._ranged(values, names)
        scaled, norms = shortened(ranged, self.norm)
        return Records(self, tuple(names), values, ranged, scaled, signs, norms > self.norm, counts)

    def _opened(self) -> CsvFile:
        return CsvFile(self.path, self.separator, self.encoding)

    def _columns(self, file: CsvFile) -> list[str]:
        """The columns that are features. Raises ConfigError for names of `data.yaml` that the file lacks, and for
        columns whose name is none, a second one, or a number with a fraction, as of a record."""
        file.require([self.label, *self.drop, *self.ranges, *self.levels])
        columns: dict[str, int] = {}
        for number, name in enumerate(file.names, 1):
            if name in self.drop:
                continue
            where = f"{self.location}:1: column {number}"
            if re.fullmatch(_UNNAMED, name):
                raise ConfigError(
                    f"{where} has no name{f' ({name!r})' * bool(name)}: are these row numbers? Leave the column out "
                    f"with `drop: [{quoted(name)}]`, or give it a name"
                )
            if name in columns:
                raise ConfigError(
                    f"{where}: {name!r} is the name of column {columns[name]} too: rename one of the two, or leave "
                    f"both out with `drop: [{quoted(name)}]`"
                )
            if (value := number_in(name)) is not None and not value.is_integer():
                raise ConfigError(f"{where}: {name!r} is a number: the first line holds names, not a record")
            columns[name] = number
        return [name for name in columns if name != self.label]

    def _feature_names(self, columns: Sequence[str]) -> list[str]:
        """Names of the features: a column, or COLUMN=LEVEL."""
        names: list[str] = []
        for name in columns:
            names += [f"{name}={level}" for level in self.levels[name][1:]] if name in self.levels else [name]
        return names

    def _numbers(self, block: Block, names: Sequence[str], columns: Sequence[str]) -> Array:
        """The features of some records, as they are in the file, (records, d)."""
        parts = []
        for name in columns:
            at = names.index(name)
            if name in self.levels:
                numbers = self._as_levels(block, at, name)
                parts += [(numbers == level).astype(np.float64) for level in range(1, len(self.levels[name]))]
            else:
                parts.append(self._as_numbers(block, at, name))
        return np.stack(parts, axis=1) if parts else np.zeros((len(block.lines), 0))

    def _as_numbers(self, block: Block, at: int, name: str) -> Array:
        texts = [self._pointed(text) for text in block.columns[at]] if self.decimal == "," else block.columns[at]
        numbers = [number_in(text) for text in texts]
        row = next((row for row, number in enumerate(numbers) if number is None), None)
        if row is not None:
            text = block.columns[at][row].strip()
            problem = "no value" if text in MISSING else f"{text!r} is not a finite number"
            if name == self.label:
                remedy = ""
            elif "," in text and self.decimal == ".":
                remedy = '; for decimal commas give `decimal: ","`'
            else:
                remedy = f"; leave the column out with drop, or give its values in `levels`: {{{quoted(name)}: [...]}}"
            shown = f"{problem} ({text!r})" if text and text in MISSING else problem
            raise ConfigError(f"{self.location}:{block.lines[row]}: column {name!r}: {shown}{remedy}")
        return np.array(numbers, dtype=np.float64)

    def _pointed(self, text: str) -> str:
        """The number with a decimal point; a point beside a decimal comma could mean either."""
        return "?" if "." in text else text.replace(",", ".")

    def _as_levels(self, block: Block, at: int, name: str) -> Array:
        """The number of each level. Raises ConfigError for another value."""
        numbers = {level: number for number, level in enumerate(self.levels[name])}
        found = [numbers.get(text.strip(), -1) for text in block.columns[at]]
        if -1 in found:
            row = found.index(-1)
            text = block.columns[at][row].strip()
            problem = f"{text!r} is none of the levels {', '.join(map(repr, numbers))}" if text else "no value"
            raise ConfigError(f"{self.location}:{block.lines[row]}: column {name!r}: {problem}{nearest(text, numbers)}")
        return np.array(found)

    def _ranged(self, values: Array, names: Sequence[str]) -> Array:
        """Features in units of their public ranges."""
        scaled = values.copy()
        for name, pair in self.ranges.items():
            at = names.index(name)
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
            elif matches(value, negative) or (not negative and value not in MISSING):
                sides[value] = -1.0
            elif value in MISSING:
                raise ConfigError(f"{self.location}:{line}: {where}: no value{f' ({value!r})' * bool(value)}")
            else:
                near = nearest(value, map(str, named))
                raise ConfigError(
                    f"{self.location}:{line}: {where}: {value!r} is neither in positive nor in negative{near}"
                )
        for wanted in named:
            if not any(matches(value, (wanted,)) for value in classes.first):
                word = "positive" if wanted in positive else "negative"
                quotes = "" if isinstance(wanted, str) else f" (a {type(wanted).__name__}; quotes make a word of it)"
                raise ConfigError(
                    f"{self.location}: {where}: no record has the value {wanted!r} of {word}{quotes}; its values are "
                    f"{listed}{nearest(wanted, classes.first)}"
                )
        others = [value for value, side in sides.items() if side < 0]
        if not others:
            raise ConfigError(f"{self.location}: {where}: every record is positive: {listed}")
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
        shown = [f"{value!r} ({count})" for value, count in self.counts.most_common(MOST_NAMED)]
        return ", ".join(shown) + f" and {len(self.counts) - MOST_NAMED} more" * (len(self.counts) > MOST_NAMED)


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """What was read of a file.

    names (d,): of the features. values (n, d): as in the file. ranged (n, d): in units of their ranges. features
    (n, d): these, rows of norm at most the public norm. labels (n,) in [-1, 1]. shortened (n,): rows that were longer.
    counts: value of the label -> records; of numbers, those below and above their range.
    """

    file: RecordFile
    names: tuple[str, ...]
    values: Array
    ranged: Array
    features: Array
    labels: Array
    shortened: np.ndarray
    counts: dict[str, int]


def number_in(text: str) -> float | None:
    """The finite number that a text is; None for any other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if "_" not in text and abs(number) <= 1.7976931348623157e308 else None


def _number_or_word(text: str) -> float | str:
    number = number_in(text)
    return text if number is None else number


def matches(text: str, values: Sequence[bool | float | str]) -> bool:
    """Whether the text of a file is one of the values: words as they are, numbers as numbers, true and false in
    whichever case."""
    for value in values:
        if isinstance(value, bool):
            same = text.lower() == str(value).lower()
        else:
            same = text == value if isinstance(value, str) else number_in(text) == value
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
    return text if plain and text.lower() not in SWITCHES else json.dumps(text, ensure_ascii=False)


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
