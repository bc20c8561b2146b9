"""Figures in one form only, for tests that do not look at the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dpregret.paper_figs.figures.layout import Plate


def only(monkeypatch: pytest.MonkeyPatch, form: str, but: str = "") -> None:
    """From now on figures are saved as `form` and nowhere else, all but the one named `but`."""
    save = Plate.save

    def saved(plate: Plate, stem: Path, forms: Sequence[str] = ("pdf", "png", "svg"), data: str = "") -> list[Path]:
        wanted = forms if stem.name == but else [each for each in forms if each == form]
        return save(plate, stem, wanted, data) if wanted else []

    monkeypatch.setattr(Plate, "save", saved)
