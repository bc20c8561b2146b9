"""What jobs are told about learners and streams is what the main process knows."""

import functools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dpregret.core import files
from dpregret.workflows import fingerprint, index
from dpregret.workflows.families import FAMILIES

MODULES = ("dpregret.algorithms.online.wdp_cocop", "dpregret.paper_figs.tables", "dpregret.workflows.oracle_costs")


@functools.cache
def known() -> index.Index:
    return index.collect()


def test_it_knows_where_everything_stands_and_what_is_read() -> None:
    assert set(known().learners) == set(FAMILIES)
    assert known().modules("online", "pqftl", ["norm-kink", "lasso"]) == (
        "online",
        "dpregret.algorithms.online.pqftl",
        ["dpregret.datasets.synthetic", "dpregret.datasets.pools"],
    )
    assert known().needed("erm", ["collapse", "diabetes-risk"]) == ["diabetes"]
    assert known().needed("online", ["norm-kink"]) == []
    assert {"digits", "digits-experts"} <= set(known().prepared)


def test_what_was_kept_is_recalled_without_importing_a_learner_or_parsing_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.keep(known(), tmp_path / "deeper" / "kept")

    def refuse(*_: object) -> None:
        raise AssertionError("learners were imported, or files parsed")

    monkeypatch.setattr(index, "collect", refuse)
    fingerprint.forget()
    parsed = {module: fingerprint.imported_files([module]) for module in MODULES}
    fingerprint.forget()
    monkeypatch.setattr(fingerprint.ast, "parse", refuse)
    assert index.recall(tmp_path / "deeper" / "kept") == known()
    assert {module: fingerprint.imported_files([module]) for module in MODULES} == parsed
    monkeypatch.undo()
    fingerprint.forget()
    assert [path.name for path in (tmp_path / "deeper").iterdir()] == ["kept"]


def test_after_an_edit_only_edited_files_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The edit is one of what was kept: a hash that no longer fits, and names that this file never imported."""
    request.addfinalizer(fingerprint.forget)
    edited, kept = "paper_figs/tables.py", tmp_path / "kept"
    index.keep(known(), kept)
    before = files.kept(kept)
    before["imports"] = {**before["imports"], edited: ["dpregret.other"]}
    files.keep(kept, {**before, "code": "other", "files": {**before["files"], edited: "0" * 12}})
    parsed: list[int] = []

    def parse(content: bytes, folders: tuple[str, ...]) -> frozenset[str]:
        parsed.append(len(content))
        return whole(content, folders)

    whole = fingerprint._parsed
    monkeypatch.setattr(fingerprint, "_parsed", parse)
    fingerprint.forget()
    assert index.recall(kept) == known()
    assert parsed == [(fingerprint.ROOT / edited).stat().st_size]
    fingerprint.forget()
    fingerprint.tell_unchanged(known().imports, {**before["files"], "workflows/fingerprint.py": "0" * 12})
    assert not fingerprint._told, "another way to parse"


@pytest.mark.parametrize(
    "spoil",
    [
        Path.unlink,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("[1]"),
        lambda path: path.write_text(path.read_text().replace("online", "onlime", 1)),
        lambda path: path.write_text(json.dumps({"code": "other", "learners": {}})),
    ],
)
def test_what_is_missing_spoilt_or_of_other_code_is_collected_anew(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    path = tmp_path / "kept"
    index.keep(known(), path)
    spoil(path)
    assert index.recall(path) == known()
