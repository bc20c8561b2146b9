"""The pages with proofs hold the numbers of this code; a wrong number is seen and renewed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpregret.paper_figs.text.formats import filled
from dpregret.workflows.proof_pages import PAGES


def test_a_wrong_number_is_seen_and_renewed(tmp_path: Path) -> None:
    shipped = PAGES["frank_wolfe_privacy"]
    text = shipped.path.read_text(encoding="utf-8")
    page = shipped._replace(path=tmp_path / "page.md", draw=lambda: None)
    page.path.write_text(text.replace("**3.034**", "**3.035**"), encoding="utf-8")
    assert not page.renew(check=True)
    assert not page.renew()
    assert page.path.read_text(encoding="utf-8") == text
    with pytest.raises(ValueError, match="expected one <!-- edges:begin -->"):
        filled(text.replace("<!-- edges:begin -->", ""), page.parts)
