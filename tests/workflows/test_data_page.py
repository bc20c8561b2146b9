"""The page on data says what is declared."""

from pathlib import Path

import pytest

from dpregret.workflows import data_page


def test_the_page_shows_the_declared_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_page.main(["--check"]) == 0
    text = data_page.PAGE.read_text(encoding="utf-8")
    page = tmp_path / "data.md"
    monkeypatch.setattr(data_page, "PAGE", page)
    page.write_text(text.replace("581,012", "581,013"), encoding="utf-8")
    assert data_page.main(["--check"]) == 1
    assert data_page.main([]) == 0
    assert page.read_text(encoding="utf-8") == text
