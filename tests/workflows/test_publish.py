"""Rows are read as written; finished runs are verified and packed."""

import contextlib
import gzip
import io
import json
import math
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from fuzzing import check_words, damage, fuzz, refusal
from hypothesis import given
from hypothesis import strategies as st

from dpregret import study
from dpregret.core import parquet
from dpregret.core.errors import ConfigError
from dpregret.core.files import checksum
from dpregret.datasets import examples
from dpregret.paper_figs.compare import gate
from dpregret.paper_figs.judge.result_tables import FILES, JOBS, read_jobs, read_judged
from dpregret.paper_figs.judge.runs import RunsError, read_runs
from dpregret.paper_figs.tables import show
from dpregret.paper_figs.text.formats import DamageError
from dpregret.paper_figs.validation.simulate import Sweep
from dpregret.workflows.plan import keys
from dpregret.workflows.plan.fingerprint import ROOT, code_fingerprint
from dpregret.workflows.plan.read import Plan
from dpregret.workflows.run import archive, load_run, publish, store
from dpregret.workflows.run.archive import lock, origin

pytestmark = pytest.mark.filterwarnings("default")  # of what reads damaged tables
KEY, OTHER = keys.key_of({"seed": 1}), keys.key_of({"seed": 2})
ROWS = pd.DataFrame(
    {
        "regret": [0.1 + 0.2, -0.0, 5e-324, math.inf, math.nan],
        "horizon": [2**62, 1, 2, 3, 4],
        "stream": ["norm-kink", "", "é", "\n", "x" * 1000],
        "tight": [True, False, True, False, True],
        "seconds": [1e-9, 2.0, 3.0, 4.0, 5.0],
        "seconds_projection": 1.0,
    }
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of `KEY`."""
    store.write(ROWS, KEY, "5e77", "c0de", tmp_path)
    return keys.file_of(KEY, tmp_path)


def test_keys_follow_content_and_not_its_order() -> None:
    assert keys.key_of({"a": 1, "b": [1, 2]}) == keys.key_of({"b": [1, 2], "a": 1})
    assert len({keys.key_of(each) for each in ({"a": 1}, {"a": 1.0}, {"a": "1"}, {"b": 1}, [1], [[1]])}) == 6


def test_what_is_written_is_read_bit_for_bit(file: Path, tmp_path: Path) -> None:
    rows = store.read(KEY, tmp_path)
    assert rows is not None
    pd.testing.assert_frame_equal(rows, pd.read_parquet(file), check_exact=True)
    assert rows["regret"].to_numpy().tobytes() == ROWS["regret"].to_numpy().tobytes()
    assert rows.drop(columns="regret").to_dict("list") == ROWS.drop(columns="regret").to_dict("list")
    assert [keys.holds(key, tmp_path) for key in (KEY, OTHER)] == [True, False]
    assert store.read(OTHER, tmp_path) is None


def test_a_file_under_the_name_of_another_counts_as_missing(file: Path, tmp_path: Path) -> None:
    place = keys.file_of(OTHER, tmp_path)
    place.parent.mkdir(exist_ok=True)
    file.rename(place)
    assert store.read(OTHER, tmp_path) is None
    store.write(ROWS, OTHER, "5e77", "c0de", tmp_path)
    assert store.read(OTHER, tmp_path) is not None
    parquet.write(ROWS, place, parquet.Stamp("5e77", "c0de"))  # without a key, as of files from elsewhere
    assert store.read(OTHER, tmp_path) is None


def test_seconds_of_another_machine_are_left_out(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "here", lambda: "another machine")
    rows = store.read(KEY, tmp_path)
    assert rows is not None
    assert set(ROWS) - set(rows) == {"seconds", "seconds_projection"}
    assert rows["regret"].to_numpy().tobytes() == ROWS["regret"].to_numpy().tobytes()


def test_writers_and_readers_at_once_see_whole_files(tmp_path: Path) -> None:
    def work(number: int) -> None:
        for _ in range(10):
            store.write(ROWS.assign(horizon=number), KEY, "5e77", "c0de", tmp_path)
            rows = store.read(KEY, tmp_path)
            assert rows is not None
            assert rows["horizon"].nunique() == 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{KEY}.parquet"]


def test_times_do_not_count_as_numbers(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abc"]
    for path, frame in zip(paths, (ROWS, ROWS.assign(seconds=0.2), ROWS.assign(regret=0.5)), strict=True):
        parquet.write(frame, path, parquet.Stamp("5e77", "c0de"))
    first, timed, other = map(parquet.Stamp.of, paths)
    assert (first.config, first.code) == ("5e77", "c0de")
    assert first.numbers == timed.numbers != other.numbers
    assert first.columns["seconds"] != timed.columns["seconds"]


@pytest.mark.parametrize("column", ["regret", "horizon", "stream", "tight", "seconds"])
def test_an_edited_column_is_refused_by_name(file: Path, column: str) -> None:
    table = pq.read_table(file)
    edited = table[column].take([1, 1, 2, 3, 4])
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, edited), file)
    with pytest.raises(parquet.StampError, match=rf"{KEY}.parquet: column {column} "):
        parquet.read(file)
    table.to_pandas().to_parquet(file)
    with pytest.raises(parquet.StampError):
        parquet.read(file, ["horizon"])


# A finished run, as a folder and as one file: changes are told by name, what cannot be read is refused


PAPER = "lou_cheung_2020"
RUN = f"{PAPER}/runs/horizon/ftal.plain.parquet"
FRAME = pd.DataFrame({"x": [0.5, 1.5], "name": ["a", "b"]})
TOLD = (*FILES.values(), JOBS)
KEPT = ROOT / "results" / "reference" / "ci" / PAPER
LISTED = {f"{PAPER}/claims.csv", RUN, f"{PAPER}/figures/with spaces.csv", "report.html", archive.ORIGIN}


def finish(root: Path) -> Path:
    """A small finished run, and what lies beside it: logs, a store, a kept reference, another profile."""
    beside = {f"{each}/x.txt" for each in (*archive.BESIDE, "new/log")} | {"ci/SHA256SUMS", "ci/report.html", "new/x"}
    for name in (LISTED - {RUN, archive.ORIGIN}) | beside | {f"{PAPER}/figures/{archive.MARK}"}:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{name}\n1,2\n")
    parquet.write(FRAME, root / RUN, parquet.Stamp("5e77", "c0de"))
    archive.write_sums(root, [PAPER, "report.html"], {"profile": "mine", "commit": "c0ffee", "lock": lock()})
    return root


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return finish(tmp_path / "run")


def verified(place: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """The exit code, and what each line is about; one that cannot be checked has one line, on the other stream."""
    code = archive.main([place])
    told = capsys.readouterr()
    assert (told.out == "") == (code == 2)
    assert told.err.count("\n") == (code == 2)
    return code, [line.split(": ")[1] for line in (told.out + told.err).splitlines()]


def test_the_list_is_that_of_sha256sum_and_all_is_as_listed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(archive.listed(run)) == LISTED
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", archive.SUMS], cwd=run, check=True)
    assert archive.faults(run) == []
    assert archive.main([run]) == 0
    told = capsys.readouterr().out
    assert all(word in told for word in (str(run), str(len(LISTED)), "c0ffee", "mine"))
    assert archive.main([run, run / "nowhere"]) == 2


def edit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def linked(root: Path, name: str) -> None:
    """The same content, by a link."""
    (root / name).rename(root.parent / "elsewhere")
    (root / name).symlink_to(root.parent / "elsewhere")


def plant(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(KEPT / file.name, file) if (KEPT / file.name).is_file() else file.touch()


DAMAGE: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "one bit": (lambda root: edit(root / PAPER / "claims.csv"), {f"{PAPER}/claims.csv"}),
    "missing": (lambda root: (root / "report.html").unlink(), {"report.html"}),
    "more": (lambda root: (root / PAPER / "runs" / "old.csv").touch(), {f"{PAPER}/runs/old.csv"}),
    "more at the top": (lambda root: (root / "old\n\x1b.csv").touch(), {"old\\n\\x1b.csv"}),
    "a paper with a log": (
        lambda root: plant(root / "evil_2026" / "claims.csv", root / "evil_2026" / "log" / "x.log"),
        {"evil_2026/claims.csv", "evil_2026/log/x.log"},
    ),
    "link in a circle": (lambda root: (root / "a").symlink_to(root / "a"), {"a"}),
    "link to what is listed": (lambda root: linked(root, f"{PAPER}/claims.csv"), {f"{PAPER}/claims.csv"}),
    "a folder in its place": (
        lambda root: [(root / "report.html").unlink(), (root / "report.html").mkdir()],
        {"report.html"},
    ),
    "a pipe in its place": (
        lambda root: [(root / "report.html").unlink(), os.mkfifo(root / "report.html")],
        {"report.html"},
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_told_by_name(run: Path, capsys: pytest.CaptureFixture[str], damage: str) -> None:
    change, names = DAMAGE[damage]
    change(run)
    code, told = verified(run, capsys)
    assert (code, set(told), len(told)) == (1, names, len(names))
    assert archive.pack(run, run.parent / "a.tar.gz") == 1
    assert not (run.parent / "a.tar.gz").exists()


ZERO = "0" * 64
OUT = ("../x", "a/../b", "/etc/passwd", "./x", "a//b", "a/.", "a\\b", "a\rb")
LISTS = {
    "nothing": "",
    "text": "hello\n",
    "no origin": f"{ZERO}  report.html\n",
    **{name: f"{ZERO}  {name}\n{ZERO}  origin.json\n" for name in OUT},
    "another order": f"{ZERO}  origin.json\n{ZERO}  a\n",
    "not UTF-8": f"{ZERO}  \udcff\n{ZERO}  origin.json\n",
}


@pytest.mark.parametrize("name", [*LISTS, "none", "link", "old"])
def test_without_a_list_there_is_nothing_to_check(run: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (run / archive.SUMS).rename(run.parent / "kept")
    if name in LISTS:
        (run / archive.SUMS).write_text(LISTS[name], errors="surrogateescape")
    if name == "link":
        (run / archive.SUMS).symlink_to(run.parent / "kept")
    if name == "old":
        (run / "manifest.json").write_text("{}")
    assert verified(run, capsys)[0] == 2
    with pytest.raises(archive.UnreadableError, match=archive.SUMS):
        archive.faults(run)


def test_the_folder_of_one_paper_names_the_run_that_has_the_list(run: Path) -> None:
    (run / "inner").mkdir()
    with pytest.raises(archive.UnreadableError, match=f"dpregret verify {run}$"):
        archive.faults(run / "inner")


def test_the_origin_tells_commit_and_machine_and_nobody(tmp_path: Path) -> None:
    made = origin("mine", {"report.html": "4e77"})
    assert made["machine"].count(" cores") == 1
    assert made["kernels"]
    assert made["code"] == code_fingerprint()
    assert made["lock"] == checksum(ROOT / archive.LOCK)
    assert made["keys"] == {"report.html": "4e77"}
    assert {type(made["commit"]), type(made["dirty"])} in ({str, bool}, {type(None)})
    assert str(ROOT) not in json.dumps(made)
    assert lock(tmp_path) is None


def packed(results: Path, name: str = "a.tar.gz") -> Path:
    assert archive.pack(results, results.parent / name) == 0
    return results.parent / name


def test_an_archive_is_the_same_bytes_whoever_packs_it_where_and_when(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = packed(run)
    elsewhere = Path(shutil.copytree(run, run.parent / "with spaces" / "run"))
    for path in filter(Path.is_file, elsewhere.rglob("*")):
        path.chmod(0o600)
        os.utime(path, (0, 0))
    monkeypatch.setattr("time.time", lambda: 4e9)
    monkeypatch.setattr("platform.platform", lambda: "another machine")
    monkeypatch.chdir(elsewhere)
    assert packed(elsewhere, "other.tar.gz").read_bytes() == one.read_bytes()
    with tarfile.open(one) as opened:
        assert opened.getnames() == sorted({f"results/{name}" for name in (archive.SUMS, *LISTED)} | {archive.LOCK})
    shutil.rmtree(run)
    capsys.readouterr()
    assert verified(one, capsys)[0] == 0
    with archive.opened(one) as (folder, found):
        assert found == archive.faults(folder) == []
    assert not folder.exists()


def test_a_run_of_another_lock_is_not_packed(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.write_sums(run, [PAPER, "report.html"], {"lock": ZERO})
    assert archive.pack(run, run.parent / "a.tar.gz") == 2
    assert not (run.parent / "a.tar.gz").exists()
    archive.write(run, run.parent / "a.tar.gz")
    capsys.readouterr()
    assert verified(run.parent / "a.tar.gz", capsys) == (1, [archive.LOCK])


def pack(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as opened:
        for each in members:
            opened.addfile(each, io.BytesIO(bytes(each.size)))
    return path


def member(name: str, **values: object) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    for key, value in values.items():
        setattr(found, key, value)
    return found


LINK = {"linkname": "/etc/passwd"}
BESIDE = (
    "results/evil_2026/claims.csv", "results/evil_2026/log/x", "results/log/claims.csv", "results/ci/SHA256SUMS",
    "results/store/x", "x", ".x", "requirements/x.txt", "requirements/dev.txt", f"results/{PAPER}/{archive.MARK}",
    f"results/{PAPER}/table_9.csv",
)  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_an_archive_holds_exactly_what_is_listed_the_list_and_the_lock(
    name: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tarfile.open(packed(run)) as first, tarfile.open(run.parent / "more.tar.gz", "w:gz") as more:
        for each in first.getmembers():
            more.addfile(each, first.extractfile(each))
        more.addfile(member(name))
    capsys.readouterr()
    assert verified(run.parent / "more.tar.gz", capsys) == (1, [name])
    with pytest.raises(ConfigError, match="not listed"), load_run.opened(str(run.parent / "more.tar.gz")):
        pass


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """A folder of results with one listed paper, of real tables."""
    shutil.copytree(KEPT, tmp_path / "results" / PAPER)
    archive.write_sums(tmp_path / "results", [PAPER], {})
    return tmp_path / "results"


def test_load_reads_listed_papers(finished: Path) -> None:
    plant(*(finished / "evil_2026" / name for name in (*TOLD, "table_1.csv", "log")))
    plant(*(finished / beside / "claims.csv" for beside in archive.BESIDE))
    found = load_run.load(finished)
    assert found.papers == (PAPER,)
    assert {name.partition("/")[0] for name in found.tables} == {PAPER}
    assert set(load_run.read_run(str(finished))["paper"]) == {PAPER}
    with pytest.raises(ConfigError, match="evil_2026"):
        found.rows("evil_2026")


@pytest.mark.parametrize("name", ["claims.csv", "jobs.csv", "table_1.csv"])
def test_load_refuses_a_listed_table_that_is_another_one(finished: Path, name: str) -> None:
    edit(finished / PAPER / name)
    for read in (load_run.load, lambda place: load_run.read_run(str(place))):
        with pytest.raises(ValueError, match=f"{name}: changed"):
            read(finished)


def test_load_refuses_a_table_that_is_not_listed_in_a_listed_paper(finished: Path) -> None:
    plant(finished / PAPER / "gains_of_mine.csv")
    with pytest.raises(ConfigError, match="not listed"):
        load_run.load(finished)


def test_load_reads_all_papers_where_there_is_no_list(finished: Path) -> None:
    (finished / archive.SUMS).unlink()
    plant(*(finished / "other_2026" / name for name in TOLD), finished / "store" / "claims.csv")
    assert load_run.load(finished).papers == (PAPER, "other_2026")
    (finished / "other_2026" / "jobs.csv").unlink()
    with pytest.raises(ConfigError, match=f"^{finished}: no results of dpregret: other_2026/jobs.csv is missing$"):
        load_run.load(finished)


HOSTILE = {
    "up": [member("results/../../x")],
    "root": [member("/x")],
    "link": [member("results/SHA256SUMS", type=tarfile.SYMTYPE, **LINK)],
    "hard link": [member("results/SHA256SUMS", type=tarfile.LNKTYPE, **LINK)],
    "pipe": [member("results/x", type=tarfile.FIFOTYPE)],
    "folder": [member("results", type=tarfile.DIRTYPE)],
    "twice": [member("results/x"), member("results/x")],
    "a file as a folder": [member("results/x"), member("results/x/y")],
    "many": [member(f"results/{number}") for number in range(12)],
    "deep": [member(f"results/{'a/' * 2000}x")],
    "large": [member("results/x", size=1 << 17), member("results/y", size=1 << 17)],
    "a large name": [member(f"results/{'x' * (1 << 18)}")],
    "of before": [member("provenance.json"), member("results/manifest.json")],
    "no list": [member("results/report.html")],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(archive, "MOST_FILES", 10)
    monkeypatch.setattr(archive, "MOST_BYTES", 1 << 17)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    path = pack(tmp_path / "a.tar.gz", *HOSTILE[name])
    assert verified(path, capsys)[0] == 2
    assert list((tmp_path / "scratch").iterdir()) == []
    with contextlib.suppress(archive.UnreadableError), path.open("rb") as opened:
        archive.unpack(opened, tmp_path / "scratch")
    assert {each.name for each in tmp_path.iterdir()} == {"a.tar.gz", "scratch"}


def test_a_bomb_is_refused_before_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand times its size: of zeros, and of a header that announces more than there is."""
    monkeypatch.setattr(archive, "MOST_BYTES", 1 << 20)
    for size, content in ((1 << 26, bytes(1 << 26)), (1 << 60, b"")):
        header = member("results/x", size=size).tobuf(tarfile.GNU_FORMAT)
        with pytest.raises(archive.UnreadableError):
            archive.unpack(io.BytesIO(gzip.compress(header + content)), tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_a_crate_holds_and_names_what_the_run_lists(tmp_path: Path) -> None:
    results = tmp_path / "results"
    (results / "paper").mkdir(parents=True)
    (results / "paper" / "claims.csv").write_text("claim\n")
    archive.write_sums(results, ["paper"], {"profile": "mine", "commit": "abc", "dpregret": "1.2.3"})
    output = tmp_path / "run.zip"
    assert archive.pack(results, output) == 0
    with zipfile.ZipFile(output) as packed:
        described = json.loads(packed.read(archive.METADATA))
        held = set(packed.namelist())
    entities = {each["@id"]: each for each in described["@graph"]}
    named = {name for name, each in entities.items() if "File" in each["@type"]}
    assert (
        held
        == named | {archive.METADATA}
        == {archive.METADATA, "Snakefile", "results/origin.json", "results/paper/claims.csv"}
    )
    assert entities["results/paper/claims.csv"]["sha256"] == checksum(results / "paper" / "claims.csv")
    assert {each["@id"] for each in entities["./"]["hasPart"]} == named
    assert entities["#run"]["instrument"]["@id"] == entities["./"]["mainEntity"]["@id"] == "Snakefile"
    told = json.dumps(described["@graph"])
    assert {each["@id"] for each in entities["./"]["conformsTo"]} <= set(entities)
    assert str(tmp_path) not in told
    (results / "paper" / "claims.csv").write_text("edited\n")
    assert archive.pack(results, output) == 1


# Results, archives and tables with damaged bytes: refused in words, or read as they were written


SWEPT = Sweep(lambda checkpoints, value: checkpoints**0.5, runs=2, horizon=64).frame()


def called(main: Callable[..., int], *given: object) -> tuple[int, str]:
    """Exit code of a command and all that it says; code 0 or 1: about what was read, 2: it cannot be read."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        code = main(*given)
    said = told.getvalue()
    assert "Traceback" not in said
    assert code == 0 or said.strip()
    assert code != 2 or all(len(line) < 2000 for line in said.splitlines())
    return code, said


@fuzz(30)
@given(data=st.data())
def test_damaged_results_are_refused_or_as_written(data: st.DataObject, tmp_path: Path) -> None:
    """In the store, what is refused counts as missing."""
    key = keys.key_of("some")
    path = keys.file_of(key, tmp_path)
    store.write(SWEPT, key, "5e77", "c0de", tmp_path)
    whole = store.read(key, tmp_path)
    path.write_bytes(data.draw(damage(path.read_bytes())))
    found: list[pd.DataFrame] = []
    said = refusal(lambda path: found.append(parquet.read(path)), path, parquet.StampError)
    check_words(said, path.name)
    if not said:
        pd.testing.assert_frame_equal(found[0], SWEPT, check_exact=True)
    kept = store.read(key, tmp_path)
    if kept is not None and whole is not None:
        pd.testing.assert_frame_equal(kept, whole[list(kept)], check_exact=True)
        assert all(name.startswith("seconds") for name in set(whole) - set(kept))
    check_words(refusal(parquet.Stamp.of, path, parquet.StampError), path.name)
    check_words(refusal(read_runs, path.parent, RunsError), path.name)


@fuzz(30)
@given(data=st.data())
def test_damaged_examples_are_refused_or_as_written(data: st.DataObject, tmp_path: Path) -> None:
    path, features, labels = tmp_path / "tiny.npz", np.eye(3) / 2, np.array([1.0, -1.0, 0.5])
    path.unlink(missing_ok=True)
    examples.save(path, features=features, labels=labels)
    path.write_bytes(data.draw(damage(path.read_bytes())))
    found: list[examples.Examples] = []
    said = refusal(lambda path: found.append(examples.read(path)), path, ValueError)
    check_words(said, "tiny.npz")
    if not said:
        np.testing.assert_array_equal(found[0].features, features)
        np.testing.assert_array_equal(found[0].labels, labels)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two equal folders of results, of one paper: the header of each table, and a few lines that follow it."""
    now, kept = (tmp_path_factory.mktemp(name) for name in ("now", "kept"))
    (now / KEPT.name).mkdir()
    for name in (*TOLD, "table_1.csv"):
        lines = (KEPT / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (now / KEPT.name / name).write_text("".join(lines[:8]), encoding="utf-8")
    shutil.copytree(now, kept, dirs_exist_ok=True)
    return now, kept


@pytest.mark.parametrize("name", [*TOLD, "table_1.csv"])
@fuzz(7)
@given(data=st.data())
def test_a_damaged_table_is_refused_or_told(name: str, data: st.DataObject, sides: tuple[Path, Path]) -> None:
    """The gate refuses a damaged table or tells what is different; only numbers that moved less than they may pass."""
    now, kept = sides
    for side in sides:
        file = side / KEPT.name / name
        whole = file.read_bytes()
        spoilt = data.draw(damage(whole))
        file.write_bytes(spoilt)
        try:
            code, _ = called(gate.main, now, kept)
            if code == 0 and name in TOLD:
                lines = [gate.Tables.read(gate.papers(each)) for each in sides]
                for frame in ("lines", "jobs"):
                    assert len(getattr(lines[0], frame)) == len(getattr(lines[1], frame))
                assert lines[0].lines["verdict"].tolist() == lines[1].lines["verdict"].tolist()
            assert called(load_run.main, str(now), str(kept))[0] in (0, 2)
            assert called(show.main, KEPT.name, [side])[0] in (0, 2)
        finally:
            file.write_bytes(whole)


@pytest.mark.parametrize("name", TOLD)
def test_a_table_that_lost_a_column_is_refused_in_one_line_or_read(name: str, tmp_path: Path) -> None:
    """Each column in turn; of a number with an interval all three are there, or none."""
    kept = pd.read_csv(KEPT / name, dtype=str, keep_default_na=False).head(3)
    for other in TOLD:
        shutil.copy(KEPT / other, tmp_path)
    for column in kept:
        kept.drop(columns=[column]).to_csv(tmp_path / name, index=False)
        said = refusal(read_jobs if name == JOBS else read_judged, tmp_path, DamageError)
        assert said in ("", f"{tmp_path / name}:1: no column {column!r}")
        assert said or not column.endswith(("_low", "_high")) or column.startswith("end_")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finish(tmp_path_factory.mktemp("run"))


@pytest.mark.parametrize("name", [archive.SUMS, archive.ORIGIN, f"{PAPER}/claims.csv", RUN])
@fuzz(15)
@given(data=st.data())
def test_no_damaged_byte_of_a_run_is_as_listed(name: str, data: st.DataObject, whole: Path) -> None:
    right = (whole / name).read_bytes()
    spoilt = data.draw(damage(right))
    (whole / name).write_bytes(spoilt)
    try:
        code, _ = called(archive.main, [whole])
        assert (code == 0) == (spoilt == right)
        assert code != 2 or name == archive.SUMS
    finally:
        (whole / name).write_bytes(right)


@pytest.mark.parametrize("inside", [False, True])
@fuzz(15)
@given(data=st.data())
def test_a_damaged_archive_is_refused_or_as_packed(
    inside: bool, data: st.DataObject, whole: Path, tmp_path: Path
) -> None:
    """inside: the damage was done before it was compressed, so that no checksum of gzip tells."""
    path = tmp_path / "a.tar.gz"
    archive.write(whole, path)
    right = path.read_bytes()
    spoilt = data.draw(damage(gzip.decompress(right) if inside else right))
    path.write_bytes(gzip.compress(spoilt, 1) if inside else spoilt)
    if called(archive.main, [path])[0] == 0:
        with archive.opened(path) as (folder, _):
            found = {name: (folder / name).read_bytes() for name in archive.listed(folder)}
        assert found == {name: (whole / name).read_bytes() for name in archive.listed(whole)}


@pytest.mark.parametrize(("profile", "named"), [("study", ""), ("small", " --profile small")])
def test_a_run_of_a_study_ends_with_the_command_that_opens_its_report(
    profile: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = f"results/{profile}"
    page = tmp_path / results / "report.html"
    page.parent.mkdir(parents=True)
    page.touch()
    monkeypatch.setattr(study, "FOLDER", tmp_path)
    plan = Plan(Path(), {"results": results})
    assert publish.summary(plan, ["mine"]) == f"  report: {page}  (dpregret report {tmp_path}{named} --open)"
