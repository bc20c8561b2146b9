"""The page on the optimum holds the numbers of this code."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpregret.paper_figs.text.marked import filled
from dpregret.workflows.mechanisms import window_page


@pytest.fixture(scope="module", autouse=True)
def once() -> Iterator[None]:
    """Every part is computed once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_page, "PARTS", {name: functools.cache(make) for name, make in window_page.PARTS.items()})
        yield


def test_numbers_of_the_page_are_current() -> None:
    assert window_page.main(["--check"]) == 0


def test_a_wrong_number_is_seen_and_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = window_page.PAGE.read_text(encoding="utf-8")
    page = tmp_path / "page.md"
    monkeypatch.setattr(window_page, "PAGE", page)
    page.write_text(text.replace("1.943878847", "1.943878848"), encoding="utf-8")
    assert window_page.main(["--check"]) == 1
    assert window_page.main([]) == 0
    assert page.read_text(encoding="utf-8") == text
    with pytest.raises(ValueError, match="expected one <!-- ages:begin -->"):
        filled(text.replace("<!-- ages:begin -->", ""), window_page.PARTS)
