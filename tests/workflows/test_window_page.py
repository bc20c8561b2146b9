"""The page on the optimum holds the numbers of this code."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from dpregret.paper_figs.text.marked import filled
from dpregret.workflows.proof_pages import PAGES


def test_the_page_is_current_and_a_wrong_number_is_seen_and_renewed(tmp_path: Path) -> None:
    shipped = PAGES["window_optimum"]
    once = {name: functools.cache(make) for name, make in shipped.parts.items()}
    assert shipped._replace(parts=once).renew(check=True)
    text = shipped.path.read_text(encoding="utf-8")
    page = shipped._replace(path=tmp_path / "page.md", parts=once, draw=lambda: None)
    page.path.write_text(text.replace("1.943878847", "1.943878848"), encoding="utf-8")
    assert not page.renew(check=True)
    assert not page.renew()
    assert page.path.read_text(encoding="utf-8") == text
    with pytest.raises(ValueError, match="expected one <!-- ages:begin -->"):
        filled(text.replace("<!-- ages:begin -->", ""), page.parts)
