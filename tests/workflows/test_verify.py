"""A finished run is checked offline, as a folder and as an archive; what was changed afterwards is told by name."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import Checkout

from dpregret.core.files import checksum
from dpregret.workflows import archive, verify

pytestmark = pytest.mark.workflow
PAPER = "lou_cheung_2020"


@pytest.fixture
def copied(finished: Checkout, tmp_path: Path) -> Path:
    """The results of a run, free to be spoilt."""
    return Path(shutil.copytree(finished.root / "results" / "mine", tmp_path / "mine"))


def manifest_of(results: Path) -> dict[str, dict[str, dict[str, str]]]:
    found: dict[str, dict[str, dict[str, str]]] = json.loads((results / "manifest.json").read_text())
    return found


def test_a_finished_run_is_as_listed(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify.main([str(copied)]) == 0
    assert "files are as listed" in capsys.readouterr().out
    files = manifest_of(copied)["files"]
    kinds = {name: entry["kind"] for name, entry in files.items()}
    assert kinds[f"{PAPER}/claims.csv"] == "same"
    assert kinds[f"{PAPER}/costs.csv"] == kinds["report.html"] == "times"
    assert kinds[f"log/{PAPER}/tables.log"] == "record"
    assert files[f"{PAPER}/runs/horizon/ftal.plain.parquet"]["numbers"]
    origin = json.loads((copied / "manifest.json").read_text())
    assert " cores" in origin["machine"]
    assert origin["kernels"]
    assert (origin["commit"], origin["dirty"]) == (None, None), "this checkout is no repository"


def edit(path: Path) -> None:
    path.write_text(path.read_text() + " ")


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "edited": (lambda root: edit(root / PAPER / "claims.csv"), f"{PAPER}/claims.csv: changed since"),
    "another seed": (
        lambda root: relabel(root, '"seed": 7', '"seed": 8'),
        "manifest.json: edited or damaged",
    ),
    "missing": (lambda root: (root / "report.html").unlink(), "report.html: missing"),
    "extra": (lambda root: (root / PAPER / "runs" / "old.csv").write_text(""), "runs/old.csv: not in the manifest"),
    "unsealed": (lambda root: (root / "seals/report.json").unlink(), "seals/report.json: no seal"),
    "link": (lambda root: (root / PAPER / "more").symlink_to("/etc/passwd"), f"{PAPER}/more: a link"),
    "cut": (
        lambda root: (root / PAPER / "runs/horizon/ftal.plain.parquet").write_bytes(b"PAR1"),
        "ftal.plain.parquet: damaged",
    ),
    "relabelled": (
        lambda root: (root / "manifest.json").write_text(json.dumps(manifest_of(root) | {"python": "2.7"})),
        "manifest.json: edited or damaged",
    ),
    "exchanged": (
        lambda root: relist(root, f"{PAPER}/claims.csv"),
        f"{PAPER}/claims.csv: the manifest lists another file than its job sealed",
    ),
}


def relabel(root: Path, old: str, new: str) -> None:
    text = (root / "manifest.json").read_text()
    assert old in text
    (root / "manifest.json").write_text(text.replace(old, new))


def relist(root: Path, name: str) -> None:
    """Edit a file, and the manifest with it."""
    edit(root / name)
    manifest = manifest_of(root)
    manifest["files"][name]["sha256"] = checksum(root / name)
    (root / "manifest.json").write_text(json.dumps(archive.self_checked(manifest)))


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_told_by_name(copied: Path, capsys: pytest.CaptureFixture[str], damage: str) -> None:
    change, message = DAMAGE[damage]
    change(copied)
    assert verify.main([str(copied)]) == 1
    assert message in capsys.readouterr().out


@pytest.mark.parametrize(
    "content", ["", "[" * 10**5, "7", '{"format": 1, "files": {"a": {"sha256": 5}}, "jobs": {}}', None]
)
def test_without_a_manifest_there_is_nothing_to_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    assert verify.main([str(tmp_path)]) == 2
    told = capsys.readouterr()
    assert "manifest.json" in told.err
    assert told.err.count("\n") == 1
    assert not told.out


def test_an_archive_is_the_same_bytes_and_is_checked_without_the_folder(
    finished: Checkout, copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "ROOT", finished.root)
    manifest = manifest_of(copied)
    one, two, three = (tmp_path / f"{name}.tar.gz" for name in ("one", "two", "three"))
    archive.write(copied, manifest, one)
    archive.write(copied, manifest, two)
    assert one.read_bytes() == two.read_bytes()
    edit(copied / PAPER / "claims.csv")
    archive.write(copied, manifest, three)
    shutil.rmtree(copied)
    assert verify.main([str(one)]) == 0
    assert [line for line in verify.check(three)[0] if "changed" in line] == [
        f"{PAPER}/claims.csv: changed since the manifest was written"
    ]


def pack(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as opened:
        for member in members:
            opened.addfile(member, io.BytesIO(bytes(member.size)))
    return path


def member(name: str, **values: object) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    for key, value in values.items():
        setattr(found, key, value)
    return found


HOSTILE = {
    "up": [member("results/../../x")],
    "root": [member("/x")],
    "link": [member("results/manifest.json", type=tarfile.SYMTYPE, linkname="/etc/passwd")],
    "hard link": [member("results/manifest.json", type=tarfile.LNKTYPE, linkname="/etc/passwd")],
    "device": [member("results/x", type=tarfile.FIFOTYPE)],
    "twice": [member("results/x"), member("results/x")],
    "many": [member(f"results/{number}") for number in range(12)],
    "large": [member("results/x", size=1 << 16), member("results/y", size=1 << 16)],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(archive, "MOST_FILES", 10)
    monkeypatch.setattr(archive, "MOST_BYTES", 1 << 16)
    assert verify.main([str(pack(tmp_path / "a.tar.gz", *HOSTILE[name]))]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "no manifest" not in told, "refused before it was read to the end"


NO_ARCHIVE = {
    "empty": b"",
    "text": b"hello",
    "nothing packed": gzip.compress(b""),
    "cut off": gzip.compress(bytes(600))[:20],
    "spoilt": gzip.compress(b"")[:10] + b"\xff",
}


@pytest.mark.parametrize("name", NO_ARCHIVE)  # by name: gzip writes the time, and workers must collect the same tests
def test_what_is_no_archive_is_told(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.tar.gz").write_bytes(NO_ARCHIVE[name])
    assert verify.main([str(tmp_path / "a.tar.gz")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
