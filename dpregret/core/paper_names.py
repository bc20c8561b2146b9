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


def paper_of(word: object, names: Sequence[str], known: Collection[str] = ()) -> str:
    """Return the paper that a word means: the one that it names, in full or in short, else the only one that it begins.

    known: further papers; the whole name of one is not the beginning of another. Raises ConfigError in one line.
    """
    short = short_names(names)
    if isinstance(word, str) and word:
        begun = [] if word in known else [name for name in names if name.startswith(word)]
        found = [name for name in names if word in (name, short[name])] or begun
        if len(found) == 1:
            return found[0]
        if found:
            raise ConfigError(f"paper {word!r} may be any of {', '.join(found)}: write more of the name")
    raise ConfigError(not_allowed("paper", word, names))
