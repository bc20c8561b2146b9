"""What matplotlib works out anew for every file, though it comes out the same, is kept: formulas, fonts of PDFs.

Inside `kept` two private functions of matplotlib are answered from memory, and elsewhere left alone. Answers are
theirs: files have the same bytes with and without. A matplotlib of another series than `SERIES` is used as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any, BinaryIO, Final
from unittest.mock import patch

import matplotlib as mpl
from matplotlib.backends import _backend_pdf_ps
from matplotlib.font_manager import get_font
from matplotlib.mathtext import MathTextParser

_FORMULAS: Any = MathTextParser  # its private parts have no types
_FONTS: Any = _backend_pdf_ps

SERIES: Final = "3.11."
MANY: Final = 4096
"""Formulas, or cuts of a font, that are remembered."""
COMMON: Final = "0123456789 .,;:()[]+-=/%abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Characters that the cut of a font holds from the start."""


@contextmanager
def kept() -> Iterator[None]:
    """Draw inside this context, in one style: the memory knows no settings but those that matplotlib passes on."""
    if not mpl.__version__.startswith(SERIES):
        yield
        return
    with patch.object(_FORMULAS, "_parse_cached", _parse), patch.object(_FONTS, "get_glyphs_subset", _cut):
        yield


_PLAIN_PARSE: Final[Any] = getattr(_FORMULAS, "_parse_cached", None)
_PLAIN_CUT: Final[Any] = getattr(_FONTS, "get_glyphs_subset", None)


def _parse(parser: Any, *asked: Any) -> Any:
    """A parsed formula; matplotlib keeps 50 of them, for each renderer its own, and has a renderer a file."""
    return _parsed(parser._output_type, *asked)


@lru_cache(MANY)
def _parsed(output: str, *asked: Any) -> Any:
    return _PLAIN_PARSE.__wrapped__(_FORMULAS({"vector": "path", "raster": "agg"}[output]), *asked)


@dataclass(frozen=True)
class Cut:
    """A font with some of its glyphs, ready to be written; glyph_index_map: their places before -> now."""

    data: bytes
    glyph_index_map: Mapping[int, int]

    @property
    def font(self) -> Cut:
        """Itself: what can be saved."""
        return self

    def save(self, file: BinaryIO, reorderTables: bool | None = None) -> None:  # noqa: N803 - as of fontTools
        """Write the font."""
        file.write(self.data)


class _Source(BytesIO):
    """A font in memory, as a path to a file of one font."""

    face_index = 0


_wide: dict[Any, tuple[frozenset[int], Cut]] = {}
"""Font -> glyphs that were asked for, and the cut that has them; it also has such as can be put in their place."""


def _cut(path: Any, glyphs: Collection[int]) -> AbstractContextManager[Cut]:
    return nullcontext(_cut_once(path, frozenset(glyphs)))


@lru_cache(MANY)
def _cut_once(path: Any, glyphs: frozenset[int]) -> Cut:
    """Cut from a wider cut: most of the time of a cut goes by the glyphs that there are, not by those that stay."""
    asked, wide = _wide.get(path) or (_common(path), None)
    if wide is None or not glyphs <= asked:
        asked |= glyphs
        wide = _plain(path, asked)
        _wide[path] = asked, wide
    places = wide.glyph_index_map
    found = _plain(_Source(wide.data), {places[glyph] for glyph in glyphs})
    return Cut(found.data, {glyph: found.glyph_index_map[places[glyph]] for glyph in glyphs})


def _plain(source: Any, glyphs: Collection[int]) -> Cut:
    with _PLAIN_CUT(source, set(glyphs)) as found:
        return Cut(_FONTS.font_as_file(found.font).getvalue(), dict(found.glyph_index_map))


def _common(path: Any) -> frozenset[int]:
    font = get_font(path)
    return frozenset(font.get_char_index(ord(each)) for each in COMMON)
