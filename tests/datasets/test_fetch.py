"""Downloads from a server on this machine: right, wrong, too long, silent, truncated, redirected, gone.

Every declared source: trusted, and fetched in its own format.
"""

import bz2
import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from local_server import CHECKSUM, CONTENT, VOUCHERS, Handler, Place, said

from dpregret.algorithms.geometry import make_set
from dpregret.datasets import fetch
from dpregret.datasets.bundled import load
from dpregret.datasets.examples import unit_rows
from dpregret.datasets.fetch import FORMATS, FetchError, hashed_columns
from dpregret.datasets.risks import make_risk
from dpregret.datasets.streams import make_stream
from dpregret.workflows.run import store


@pytest.mark.parametrize("path", ["tiny.txt", "unannounced/tiny.txt", "moved/tiny.txt"])
def test_the_right_file_is_converted(path: str, place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.declare(path)
    assert place.run() == 0
    assert "tiny.npz (licence: none)" in capsys.readouterr().out
    assert place.contents() == {"tiny.txt", "tiny.npz"}
    assert (place.folder / "tiny.txt").read_bytes() == CONTENT
    examples = load("tiny", place.folder)
    rows = np.array([[0.5, 0, 2, 0], [0, 1, 0, 0], [-1, 0.25, 1, 0]])
    np.testing.assert_allclose(examples.features, rows / np.linalg.norm(rows, axis=1)[:, None], rtol=1e-15)
    np.testing.assert_array_equal(examples.labels, [-1.0, 1.0, -1.0])


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("tiny.txt", {"sha256": "0" * 64}),
        ("tiny.txt", {"sha256_content": "0" * 64}),
        ("tiny.txt", {"bytes": 7}),
        ("tiny.txt", {"bytes": 99}),
        ("unannounced/tiny.txt", {"bytes": 7}),
        ("tiny.bz2", {"sha256_content": CHECKSUM}),
        ("tiny.txt", {"url": "http://127.0.0.1:9/tiny.txt"}),  # no server
        *((f"{how}/tiny.txt", {}) for how in ("endless", "truncated", "wrong", "huge", "missing", "page", "silent")),
    ],
)
def test_a_bad_download_leaves_nothing(
    path: str,
    changes: dict[str, object],
    place: Place,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetch, "SILENCE", 0.2)
    place.declare(path, **changes)
    assert place.run() == 2
    assert said(capsys)
    assert place.contents() == set()


def test_pinning_prints_the_checksum_and_keeps_nothing(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.declare(sha256=None)
    assert place.run(pin=True) == 0
    assert capsys.readouterr().out == f"bytes: {len(CONTENT)}\nsha256: {CHECKSUM}\n"
    assert place.contents() == set()
    place.declare("truncated/tiny.txt", sha256=None)
    assert place.run(pin=True) == 2


def test_a_file_placed_by_hand_is_verified_and_needs_no_server(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.declare("missing/tiny.txt")
    file, domain = place.folder / "tiny.txt", make_set("ball", 4)
    for content, code in ((CONTENT[:-1] + b" ", 2), (CONTENT, 0)):
        file.write_bytes(content)
        assert place.run() == code
    (place.folder / "tiny.npz").unlink()
    monkeypatch.setattr(fetch.Source, "find", fetch.Source.read_all(place.sources).__getitem__)
    stream = make_stream("fetched", domain, source="tiny", data_dir=place.folder)
    assert (stream.name, stream.real) == ("tiny", True)
    (place.folder / "tiny.npz").unlink()
    file.write_bytes(b"+1 1:3\n")
    with pytest.raises(FetchError, match="wrong sha256"):
        make_stream("fetched", domain, source="tiny", data_dir=place.folder)
    file.unlink()
    with pytest.raises(FetchError, match="is missing"):
        make_stream("fetched", domain, source="tiny", data_dir=place.folder)


def test_a_run_elsewhere_takes_the_download_of_the_clone(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study is another folder, and no server answers here: the working folder's own file is taken before it."""
    place.declare("missing/tiny.txt")
    declared = fetch.Source.read_all(place.sources)
    for kind in (fetch.Declared, fetch.Source):
        monkeypatch.setattr(kind, "read_all", lambda: declared)
    monkeypatch.setattr(fetch.Source, "find", declared.__getitem__)
    clone, away, out = place.folder / "clone", place.folder / "study", place.folder / "out.npz"
    away.mkdir()
    monkeypatch.chdir(away)
    monkeypatch.setattr(store, "ROOT", clone)
    assert not store.at_hand("tiny", out)
    with pytest.raises(FetchError, match="download failed"):
        store.prepare("tiny", out)
    file = clone / store.DOWNLOADS / "tiny.txt"
    file.parent.mkdir(parents=True)
    file.write_bytes(CONTENT)
    assert store.at_hand("tiny", out)
    store.prepare("tiny", out)
    np.testing.assert_array_equal(np.load(out)["labels"], [-1.0, 1.0, -1.0])
    assert list(away.iterdir()) == []
    assert list(file.parent.iterdir()) == [file]  # the clone may be somebody else's
    assert not store.at_hand("of another study", place.folder / "none.npz")
    assert store.at_hand("breast-cancer", place.folder / "none.npz")
    store.DOWNLOADS.mkdir(parents=True)
    (store.DOWNLOADS / "tiny.txt").write_bytes(b"+1 1:3\n")
    with pytest.raises(FetchError, match=r"^datasets/cache/tiny\.txt: wrong sha256"):
        store.prepare("tiny", out)


@pytest.mark.parametrize(
    "content",
    [
        b"-1 1:0.5\n+1 2:nan\n-1 3:1\n", b"-1 1:0.5\n+1 2:1\n", b"-1 1:0.5\n+1 2:1\n0 2:1\n",
        b"-1 1:0.5\n+1 9:1\n-1 2:1\n", b"no such format\n", b"-1 1:0\n+1 2:0\n-1 2:0\n",
        b"-1 1:1\n+1 2:1\n-1 2:1e200\n",
    ],
)  # fmt: skip
def test_verified_but_unusable_files_are_named(
    content: bytes, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.declare(sha256=hashlib.sha256(content).hexdigest())
    (place.folder / "tiny.txt").write_bytes(content)
    assert place.run() == 2
    assert "tiny.txt: " in said(capsys)
    assert place.contents() == {"tiny.txt"}


URLS = ("ftp://a/b", "https://a/", "https://a/../b", "https://a/b?c", "https://u:p@a/b", "https://a/b\n")


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        *(({"url": url}, "sources.yaml:6: tiny.url") for url in URLS),
        ({"rows": 10**6, "columns": 100}, ""),
        ({"bytes": 10**12}, "tiny.bytes: "),
        ({"sha256": "abc"}, "sources.yaml:5: tiny.sha256: "),
        ({"sha256": None}, "sources.yaml:5: tiny.sha256: "),
        ({"md5": "0" * 32}, "tiny.md5: "),
        ({"vouched_by": []}, "sources.yaml:7: tiny.vouched_by: "),
        ({"vouched_by": [VOUCHERS[0], "https://mirror/one/two: it"]}, "tiny.vouched_by"),
        ({"vouched_by": [VOUCHERS[0], "https://a/b: it"], "url": "https://a/b"}, "tiny.vouched_by"),
        ({"vouched_by": ["one", "another"]}, "tiny.vouched_by"),
        ({"format": "csv"}, "tiny.format: "),
        ({"file": "../x"}, "tiny.file: "),
        ({"rows": 0}, "tiny.rows: "),
    ],
)
def test_bad_declarations_are_named(
    changes: dict[str, object], where: str, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.declare(**changes)
    assert place.run() == 2
    assert where in said(capsys)


SHIPPED = fetch.Source.read_all()


def _sample(source: fetch.Source, rows: int = 3) -> bytes:
    """Three rows, or the first of them, in the form of the declared file, whatever its format."""
    lines = {
        "libsvm": (b"-1 1:0.5 %d:2\n" % source.columns, b"+1 2:1\n", b"-1 1:-1\n"),
        "adult": (
            b"39, State-gov, 77516, Bachelors, 13, Divorced, Sales, Unmarried, White, Male, 2174, 0, 40, ?, <=50K\n",
            b"50, ?, 83311, HS-grad, 9, Divorced, ?, Wife, Black, Female, 0, 1902, 13, Cuba, >50K\n",
            b"8, Private, 1, 11th, 7, Widowed, Sales, Husband, Other, Male, 99999, 0, 99, Peru, <=50K\n",
        ),
        "covtype": tuple(
            b",".join(b"%d" % (kind * (i % 2)) for i in range(54)) + b",%d\n" % kind for kind in (1, 2, 7)
        ),
        "california-housing": tuple(b"-122,37,41,%d,129,322,126,8.3,452600\n" % rooms for rooms in (880, 90, 9000)),
    }
    content = b"".join(lines[source.format][:rows]) + b"\n" * (source.format == "adult")
    if source.format == "california-housing":
        archive, entry = io.BytesIO(), tarfile.TarInfo("CaliforniaHousing/cal_housing.data")
        entry.size = len(content)
        with tarfile.open(fileobj=archive, mode="w") as tar:
            tar.addfile(entry, io.BytesIO(content))
        content = archive.getvalue()
    packed = {".bz2": bz2.compress, ".gz": gzip.compress, ".tgz": gzip.compress}
    return packed.get(Path(source.filename).suffix, bytes)(content)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_source_is_fetched(
    name: str, place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = SHIPPED[name]
    right = _sample(shipped)
    monkeypatch.setattr(Handler, "files", {shipped.filename: right})
    entry = shipped.model_dump(exclude={"name"}, exclude_none=True)
    entry |= {"url": f"{place.url}/data/{shipped.filename}", "file": shipped.filename, "rows": 3}
    if shipped.bytes is not None:
        entry["bytes"] = len(right)
    if shipped.sha256 is not None:
        entry["sha256"] = hashlib.sha256(right).hexdigest()
    if shipped.sha256_content is not None:
        entry["sha256_content"] = hashlib.sha256(bz2.decompress(right)).hexdigest()
    place.sources.write_text(yaml.safe_dump({name: entry | {"vouched_by": list(shipped.vouched_by)}}))
    assert fetch.main(name, place.folder, place.sources) == 0
    assert capsys.readouterr().out == f"{place.folder / name}.npz (licence: {shipped.licence})\n"
    assert place.contents() == {shipped.filename, f"{name}.npz"}
    examples = load(name, place.folder)
    assert examples.features.shape == (3, shipped.features)
    np.testing.assert_allclose(np.linalg.norm(examples.features, axis=1), 1.0)
    stream = "fetched-regression" if name == "california-housing" else "fetched"
    domain = make_set("ball", shipped.features)
    assert make_stream(stream, domain, source=name, data_dir=place.folder).name == name
    risk = make_risk("fetched-risk", domain, 3, [np.random.default_rng(0)], source=name, data_dir=place.folder)
    halves = 0.5 * (examples.features.sum(axis=1) / 8 - examples.labels) ** 2
    np.testing.assert_allclose(risk.value(np.full((1, shipped.features), 1 / 8)), halves.mean())


@pytest.mark.parametrize("name", SHIPPED)
def test_nothing_that_a_record_becomes_depends_on_other_records(name: str, tmp_path: Path) -> None:
    source = SHIPPED[name]
    path = tmp_path / source.filename
    path.write_bytes(_sample(source))
    features, labels = FORMATS[source.format](path, source.columns, source.hashed)
    path.write_bytes(_sample(source, rows=2))
    fewer, left = FORMATS[source.format](path, source.columns, source.hashed)
    np.testing.assert_array_equal(fewer, features[:2])
    np.testing.assert_array_equal(left, labels[:2])
    np.testing.assert_array_equal(unit_rows(fewer, ""), unit_rows(features, "")[:2])


def test_records_become_what_their_format_says(tmp_path: Path) -> None:
    made = {}
    for name in ("adult", "covtype", "california-housing"):
        path = tmp_path / SHIPPED[name].filename
        path.write_bytes(_sample(SHIPPED[name]))
        made[name] = FORMATS[name](path, SHIPPED[name].columns, None)
    features, labels = made["adult"]
    np.testing.assert_allclose(features[1, :6], [1, 0.5, 9 / 16, 0, 1902 / 5000, 0.13])
    places = [np.flatnonzero(row[6:]).tolist() for row in features]  # of 8, 7, 14, 6, 5, 2 and 41 levels
    assert places[0] == [5, 8 + 1, 15 + 3, 29 + 5, 35 + 0, 40 + 1]  # the land of birth is not known
    assert places[1] == [8 + 1, 29 + 0, 35 + 4, 40 + 0, 42 + 12]
    assert labels.tolist() == [-1, 1, -1]
    features, labels = made["covtype"]
    np.testing.assert_allclose(features[1, [0, 1, 3, 5, 7, 9, 11]], [0, 2 / 360, 2e-4, 2e-4, 2 / 255, 2e-4, 1])
    assert labels.tolist() == [-1, 1, -1]
    features, labels = made["california-housing"]
    rooms = [880 / 126 / 20, 90 / 126 / 20, 1]
    np.testing.assert_allclose(features[:, 3], rooms)
    people = [322 / 1260, 322 / 5000, -0.25 / 4.75, -2.75 / 5.25]
    np.testing.assert_allclose(np.delete(features[0], 3), [1, 8.3 / 15, 41 / 52, 129 / 1260, *people])
    np.testing.assert_allclose(labels, 452600 / 250000 - 1)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("adult", b"Cuba", b"Atlantis"), ("adult", b", >50K", b""), ("adult", b"39, S", b"39, 7, S"),
        ("adult", b"39", b"\xff9"), ("covtype", b",7\n", b",7,7\n"), ("covtype", b",7\n", b"\n"),
        ("california-housing", b"CaliforniaHousing", b"california"),
    ],
)  # fmt: skip
def test_other_files_of_a_format_are_refused_in_a_line(name: str, old: bytes, new: bytes, tmp_path: Path) -> None:
    content = _sample(SHIPPED[name])
    if name != "adult":
        content = gzip.compress(gzip.decompress(content).replace(old, new.ljust(len(old), b"\0")))
    else:
        content = content.replace(old, new)
    digest = hashlib.sha256(content).hexdigest()
    source = SHIPPED[name].model_copy(update={"bytes": None, "sha256": digest, "rows": 3})
    (tmp_path / source.filename).write_bytes(content)
    with pytest.raises(FetchError) as caught:
        fetch.convert(source, tmp_path)
    assert "\n" not in str(caught.value)


def test_a_wide_file_is_hashed_into_few_columns(place: Place) -> None:
    place.declare(columns=47_236, hashed=8)
    assert place.run() == 0
    bucket, sign = hashed_columns(47_236, 8)
    rows = np.zeros((3, 8))
    for row, entries in enumerate(({0: 0.5, 2: 2.0}, {1: 1.0}, {0: -1.0, 1: 0.25, 2: 1.0})):
        for column, value in entries.items():
            rows[row, bucket[column]] += sign[column] * value
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    np.testing.assert_allclose(load("tiny", place.folder).features, rows, rtol=1e-15)
    assert np.abs(np.bincount(bucket) - 47_236 / 8).max() < 5 * np.sqrt(47_236 / 8)
    assert abs(sign.sum()) < 5 * np.sqrt(47_236)
    assert bucket[:4].tolist() == hashed_columns(4, 8)[0].tolist()  # of a column's number, not of how many there are
