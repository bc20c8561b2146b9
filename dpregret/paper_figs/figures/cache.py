"""What figures find out of the same rows is found once: several show a claim, and some are drawn twice."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import pandas as pd

Found = TypeVar("Found")


class Recall:
    """Findings by the rows that they are of, the very frame; it must not be changed."""

    def __init__(self) -> None:
        self._rows: dict[int, pd.DataFrame] = {}  # held, so that no other frame gets their number
        self._found: dict[tuple[int, Hashable], Any] = {}

    def of(self, rows: pd.DataFrame, what: Hashable, find: Callable[[], Found]) -> Found:
        """What `find` says of `rows`; what: names it, with all else that it depends on."""
        key = id(self._rows.setdefault(id(rows), rows)), what
        if key not in self._found:
            self._found[key] = find()
        found: Found = self._found[key]
        return found
