"""What a paper may be called: its folder's name, that name without year and et al., or the beginning of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from dpregret.core.errors import ConfigError, not_allowed


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return what each paper may be called: its name without year and et al., where that distinguishes it from the
    others."""
    short = {name: re.sub(r"(_et_al)?_\d+$", "", name) for name in names}
    taken = list(short.values())
    return {name: shorter if taken.count(shorter) == 1 else name for name, shorter in short.items()}


def meant(word: object, names: Sequence[str], known: Collection[str] = ()) -> list[str]:
    """Return the papers that a word may mean: those that it names, in full or in short, else those that it begins.

    known: further papers; the whole name of one is not the beginning of another.
    """
    if not isinstance(word, str) or not word:
        return []
    short = short_names(names)
    begun = [] if word in known else [name for name in names if name.startswith(word)]
    return [name for name in names if word in (name, short[name])] or begun


def paper_of(word: object, names: Sequence[str], known: Collection[str] = ()) -> str:
    """Return the only paper that a word may mean (`meant`). Raises ConfigError in one line."""
    found = meant(word, names, known)
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(f"paper {word!r} may be any of {', '.join(found)}: write more of the name")
    raise ConfigError(not_allowed("paper", word, names))
