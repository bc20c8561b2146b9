"""What can be wrong with a configuration, said in one line each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from dpregret.core.text import printable


class ConfigError(ValueError):
    """A configuration that cannot be run; ``problems`` holds one printable line per mistake."""

    def __init__(self, problems: Sequence[str] | str) -> None:
        self.problems = tuple(map(printable, (problems,) if isinstance(problems, str) else problems))
        super().__init__("\n".join(self.problems))


def nearest(word: object, allowed: Iterable[str]) -> str:
    """Return ``; did you mean 'ball'?`` for the closest allowed word, or nothing when none is close."""
    matches = difflib.get_close_matches(str(word), list(allowed), n=1, cutoff=0.5)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def not_allowed(kind: str, word: object, allowed: Iterable[str]) -> str:
    """Return ``unknown set 'bal', allowed: ball, simplex; did you mean 'ball'?``."""
    choices = sorted(allowed)
    return f"unknown {kind} {word!r}, allowed: {', '.join(choices) or 'none'}{nearest(word, choices)}"


def one_line(error: Exception) -> str:
    """The message of an error without line breaks, and nothing in it that a terminal would act on."""
    return printable(" ".join(str(error).split()))
