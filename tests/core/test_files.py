"""Names of files that people give: below their folder, or refused."""

from pathlib import Path

import pytest

from dpregret.core.files import inside


@pytest.mark.parametrize("name", ["a.csv", "data/a.csv", "./a.csv", "a..b.csv", "link.csv"])
def test_a_path_below_its_folder_is_itself(tmp_path: Path, name: str) -> None:
    (tmp_path / "link.csv").symlink_to("a.csv")
    assert inside(tmp_path, name) == tmp_path / name


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "/proc/self/environ", "../a.csv", "data/../../a.csv", "a\0b", "out.csv", "away/a.csv"]
)
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "out.csv").symlink_to("/etc/passwd")
    (tmp_path / "away").symlink_to(tmp_path.parent)
    with pytest.raises(ValueError, match="folder"):
        inside(tmp_path, name)
