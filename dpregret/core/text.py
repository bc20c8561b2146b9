"""Text that came from a file, as it may appear on a terminal or in one line."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with every character that acts on a terminal or hides in it as its escape; line breaks stay.

    Such are control characters (with them the sequences that move a cursor or set a title), marks that turn the
    direction of writing, line separators, and halves of characters.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode() for each in text
    )
