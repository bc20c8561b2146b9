"""Docstrings of this project as reStructuredText: plain text in which code stands between backticks, one or two.

A section is a word at the margin, two spaces or more, then indented text. Lines of a box keep their line breaks, as do
those of a doctest, which ends with its paragraph. Fields, such as `:param x:`, stay a list of fields.
"""

import re
from collections.abc import Iterator

HEAD = re.compile(r"([A-Z][a-z]+) {2,}(?=\S)")
BOX = re.compile(r"^ *lines? \d", re.MULTILINE)
FIELD = re.compile(r"(:(?:param|type|returns|rtype|raises)\b[^:]*:)(.*)")


def to_rst(text: str) -> str:
    """The whole docstring; what is indented or laid out in columns is shown as it stands."""
    return "\n".join(_blocks(text))


def _blocks(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if FIELD.match(paragraph):
            yield _fields(paragraph.splitlines())
            continue
        for name, part in _sections(paragraph):
            if name:
                yield f"**{name}**\n"
            yield from _shown(part)


def _fields(lines: list[str]) -> str:
    found: dict[str, str] = {}
    for line in lines:
        head = FIELD.match(line)
        name, text = (head[1], head[2]) if head else (list(found)[-1], line)
        found[name] = f"{found.get(name, '')} {text.strip()}".strip()
    if kind := found.pop(":rtype:", ""):  # what stands before a colon was taken for a type, which we write nowhere
        found[":returns:"] = f"{kind}: {found[':returns:']}"
    return "\n".join(f"{name} {inline(text)}" for name, text in found.items()) + "\n"


def _sections(paragraph: str) -> list[tuple[str, str]]:
    """Name and text of each section; the name is empty where there is none."""
    found: list[tuple[str, str]] = []
    for line in paragraph.splitlines():
        head = HEAD.match(line)
        if head:
            found.append((head[1], " " * head.end() + line[head.end() :]))
        elif found and (line.startswith(" ") or not found[-1][0]):
            found[-1] = (found[-1][0], f"{found[-1][1]}\n{line}")
        else:
            found.append(("", line))
    return [(name, _dedented(part)) for name, part in found]


def _dedented(text: str) -> str:
    lines = text.splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for line in lines)


def _shown(part: str) -> Iterator[str]:
    lines = part.splitlines()
    example = next((at for at, line in enumerate(lines) if line.lstrip().startswith(">>> ")), None)
    if example is not None:
        if example:
            yield from _shown("\n".join(lines[:example]))
        yield _literal(_dedented("\n".join(lines[example:])).splitlines(), "pycon")
        return
    box = next((at for at, line in enumerate(lines) if BOX.match(line)), None)
    if box is None and not any(line.startswith(" ") for line in lines):
        yield inline(part) + "\n"
    elif box is None:
        yield _literal(lines)
    else:
        if box:
            yield inline("\n".join(line.strip() for line in lines[:box])) + "\n"
        yield _literal(lines[box:])


def _literal(lines: list[str], language: str = "text") -> str:
    return "\n".join([f".. code-block:: {language}", "", *(f"   {line}" for line in lines), ""])


def inline(text: str) -> str:
    """Code in double backticks; every other sign that means something to reStructuredText is taken at its word."""
    pieces = re.split(r"(``[^`]+``|`[^`]+`)", text)
    return "".join(
        f"``{piece.strip('`')}``" + ("\\ " if pieces[at + 1][:1].isalnum() else "")
        if at % 2
        else re.sub(r"([\\*|_`<>\[\]:])", r"\\\1", piece)
        for at, piece in enumerate(pieces)
    )
