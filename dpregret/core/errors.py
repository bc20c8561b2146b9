"""Errors of a configuration, one line each, and text from files as a terminal may show it."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from dpregret import study

LONGEST, HEAD, MOST_PROBLEMS = 1800, 1300, 50
"""Characters of a line, and of its beginning where it is shortened in the middle; lines of one refusal."""
LONGEST_REASON: Final = 300
LONGEST_WORD: Final = 80  # for which the nearest one is searched
NAME_PATTERN: Final = r"^[a-z0-9][a-z0-9_-]*$"
NAME_RULE: Final = "may hold small letters, digits, - and _ only"
"""Of names in files: of experiments, data sets, streams, learners and their variants."""
ID_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
ID_RULE: Final = "may hold letters, digits, ., - and _ only, and begins with a letter or a digit"
"""Of claims, rows, errata, and what claims share: a name that may become a file, and is what people cite."""
LONGEST_NAME: Final = 100
"""A name becomes a part of a file's name, which has at most 255 bytes."""
FAULT_FILE: Final = Path(".snakemake") / "dpregret-fault.txt"


class ConfigError(ValueError):
    """A configuration that cannot be run; ``problems`` holds a printable line per mistake, at most `MOST_PROBLEMS`."""

    def __init__(self, problems: Sequence[str] | str) -> None:
        lines = (problems,) if isinstance(problems, str) else tuple(problems)
        further = len(lines) - MOST_PROBLEMS
        if further > 0:
            lines = (*lines[: MOST_PROBLEMS - 1], f"... and {further + 1} more")
        self.problems = tuple(map(printable_line, lines))
        super().__init__("\n".join(self.problems))


def printable(text: str) -> str:
    """The text with every character that acts on a terminal or hides in it as its escape; line breaks stay.

    Such are control characters (with them the sequences that move a cursor or set a title), marks that turn the
    direction of writing, line separators, and halves of characters.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode() for char in text
    )


def printable_line(line: str) -> str:
    """One line that any terminal shows: unprintable characters as escapes, a long line shortened in the middle."""
    if len(line) > LONGEST:
        line = f"{line[:HEAD]} ... {line[HEAD - LONGEST :]}"
    return printable(line).replace("\n", "\\n")


def fault(error: Exception, file: Path = FAULT_FILE) -> str:
    """Return one line on an unforeseen error; where it was raised is written to a file that the line names."""
    message = printable_line(f"{type(error).__name__}: {one_line(error)}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(traceback.format_exception(error)), encoding="utf-8", errors="backslashreplace")
    except OSError:
        return f"{message} (this is a fault of dpregret: please report it)"
    return f"{message} (this is a fault of dpregret: please report it with {file})"


def raised(error: BaseException) -> str:
    """The message of an error in one line; with its kind and `location`, if it is not a plain refusal."""
    frames = traceback.extract_tb(error.__traceback__)
    refused = isinstance(error, ValueError) and (not frames or (frames[-1].line or "").startswith("raise"))
    return one_line(error) if refused else as_text(error)


def as_text(error: BaseException) -> str:
    """One line about any exception: type, message and location."""
    try:
        message = without_places(one_line(error))[:LONGEST_REASON]
    except BaseException:
        message = "(its message cannot be read)"
    return f"{type(error).__name__}{': ' * bool(message)}{message}{location(error)}"


def without_places(text: str) -> str:
    """The text without the folders of the study, of the installation and of the user: it may be archived."""
    for place, shorter in ((study.FOLDER, ""), (study.PACKAGE.parent, ""), (Path("~").expanduser(), "~/")):
        if place is not None and len(place.parts) > 1:
            text = text.replace(f"{place}/", shorter)
    return text


def location(error: BaseException) -> str:
    """` (my_descent.py:12)`: the innermost line of the study, or of any code where none of the study was running."""
    frames = traceback.extract_tb(error.__traceback__)
    in_study = [frame for frame in frames if study.FOLDER and Path(frame.filename).is_relative_to(study.FOLDER)]
    return "".join(f" ({Path(frame.filename).name}:{frame.lineno})" for frame in (in_study or frames)[-1:])


def nearest(word: object, allowed: Iterable[str]) -> str:
    """Return ``; did you mean 'ball'?`` for the closest allowed word, or nothing when none is close."""
    names = {name.casefold(): name for name in reversed(list(allowed))}
    matches = difflib.get_close_matches(str(word)[:LONGEST_WORD].casefold(), list(names), n=1, cutoff=0.5)
    return f"; did you mean {names[matches[0]]!r}?" if matches else ""


def not_allowed(kind: str, word: object, allowed: Iterable[str]) -> str:
    """Return ``unknown set 'bal'; did you mean 'ball'? Allowed: ball, simplex``: the nearest word before the list."""
    choices = sorted(set(allowed))
    return f"unknown {kind} {word!r}{among(word, choices)}"


def among(word: object, allowed: Sequence[str]) -> str:
    """Return ``; did you mean 'ball'? Allowed: ball, simplex``, or ``, allowed: ball, simplex`` where none is close."""
    hint = nearest(word, allowed)
    return f"{hint} Allowed: {', '.join(allowed)}" if hint else f", allowed: {', '.join(allowed) or 'none'}"


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks, and nothing in it that a terminal would act on."""
    return printable_line(" ".join(str(error).split()))
