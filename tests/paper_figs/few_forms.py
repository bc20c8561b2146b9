"""Figures for tests that look at few of their forms, or at none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dpregret.paper_figs.figures.layout import Plate


def only_png(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on figures are saved as PNG and nowhere else."""
    save = Plate.save
    monkeypatch.setattr(Plate, "save", lambda plate, stem, data="": save(plate, stem, ("png",), data))


def plates_of(monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], object]) -> dict[str, Plate]:
    """What would be saved, by its name."""
    found: dict[str, Plate] = {}
    monkeypatch.setattr(Plate, "save", lambda plate, stem: [found.setdefault(stem.name, plate)])
    write(Path())
    return found
