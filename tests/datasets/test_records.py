"""CSV files as people have them: read as they are, or refused in one line with file, line, column and remedy."""

import bz2
import csv
import gzip
import io
import lzma
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpregret.core.errors import ConfigError
from dpregret.core.yaml_source import read_source, validate
from dpregret.datasets import records
from dpregret.datasets.overview import overview
from dpregret.datasets.records import RecordFile

RIGHT = "a,b,label\n0.25,0.48,yes\n-0.5,0.1,no\n0.75,-0.2,yes\n"
GIVEN = {"label": "label", "positive": "yes", "norm": 2.0}


def record_file(folder: Path, content: str | bytes, **given: Any) -> RecordFile:
    file = folder / "own.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return RecordFile(**{"file": str(file), **GIVEN, **given})


def refusal(folder: Path, content: str | bytes, **given: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        record_file(folder, content, **given).read()
    (line,) = caught.value.problems
    assert "own.csv" in line
    return line


@pytest.mark.parametrize(
    ("content", "given", "named"),
    [
        # rows of another length than the line of names
        ("a,b,label\n1,2,3,yes\n", {}, ":2: 4 fields, the first line has 3 names"),
        ("a,b,label\n1,2,yes\n1,yes\n", {}, ":3: 2 fields, the first line has 3 names"),
        ("a,b,label\n1,2,yes,\n", {}, ":2: 4 fields"),
        ('a,b,label\n"1\n",2,yes\n3,no\n', {}, ":4: 2 fields"),
        ("a,b,label\n1,2,yes\n\n1,2,no\n", {}, ":3: a blank line"),
        ('a,b,label\n1,2,yes\n1,2,"no\n', {}, ":3: not a record: a quotation mark is not closed"),
        ('a,b,label\n1,2,yes\n1,"2"3,no\n', {}, ":3: not a record: a quotation mark within a field"),
        # columns that are no features
        (",a,label\n0,1,yes\n1,2,no\n", {}, 'drop: [""]'),
        ("Unnamed: 0.1,a,label\n0,1,yes\n1,2,no\n", {}, 'drop: ["Unnamed: 0.1"]'),
        ("a,label\n0,-1\n1,+1\n", {"positive": "1"}, "(a word; positive: 1, without quotes, is a number)"),
        ("Unnamed: 0,a,label\n0,1,yes\n1,2,no\n", {}, 'drop: ["Unnamed: 0"]'),
        ("a,a,label\n0,1,yes\n1,2,no\n", {}, "column 2: 'a' is the name of column 1 too"),
        ("a,label,label\n0,yes,yes\n1,no,no\n", {}, "column 3: 'label' is the name of column 2 too"),
        ("a,a\u200b,label\n0,1,yes\n1,2,no\n", {}, "column 2: 'a\\u200b' has characters that no terminal shows"),
        ("x\u00b2,x2,label\n0,1,yes\n1,2,no\n", {}, "column 2: 'x2' looks like that of column 1"),
        ("s,s=z,label\nx,1,yes\nz,0,no\n", {"levels": {"s": ["x", "z"]}}, "'s=z' is the name of a column"),
        # a first line that is a record, or has counts
        ("0.25,label\n0,yes\n1,no\n", {}, ":1: column 1: '0.25' is no name: does the first line hold a record?"),
        ("2,a,label\n0,1,yes\n1,1,no\n", {}, ":1: column 1: '2' is no name"),
        ("a,2020-01-31,label\n0,1,yes\n1,1,no\n", {}, ":1: column 2: '2020-01-31' is no name"),
        ("a,1e3,label\n0,1,yes\n1,1,no\n", {}, ":1: column 2: '1e3' is no name"),
        ("a,label\n1,yes\n2,label\n", {}, ":3: column 'label': its name is one of its values"),
        ("1,2,yes\n3,4,no\n", {"header": ["a", "label"]}, ":1: 3 fields, `header` has 2 names"),
        ("sep=;\na;label\n1;yes\n", {"separator": ";"}, ":1: a line for Excel"),
        ("# of 2020\na,label\n1,yes\n2,no\n", {}, "allowed: # of 2020"),
        # labels
        ("a,label\n1,yes\n2,no\n3,\n", {}, ":4: column 'label': no value"),
        ("a,label\n1,yes\n2,no\n3,NA\n", {}, ":4: column 'label': no value ('NA')"),
        ("a,label\n1,yes\n2,no\n3,yse\n", {}, ":4: column 'label': more than two values: 'yes' (1)"),
        ("a,label\n1,yes\n2,no\n3,yse\n", {"negative": "no"}, ":4: column 'label': 'yse' is neither"),
        ("a,label\n1,yes\n2,yes\n", {}, "every record is positive: 'yes' (2)"),
        ("a,label\n1,no\n2,no\n", {}, "no record has the value 'yes' of positive; its values are 'no' (2)"),
        ("a,label\n1,yes\n2,no\n", {"positive": 1}, "no record has the value 1"),
        ("a,label\n1,yes\n2,no\n3,N.A.\n", {}, ":4: column 'label': no value ('N.A.'); if it is a class, list it"),
        ("a,label\n1,yes\n2,Yes\n", {}, ":3: column 'label': 'Yes' is written almost like a value of positive"),
        ("a,label\n1,yes\n2,yes\u200b\n", {}, ":3: column 'label': 'yes\\u200b' is written almost like"),
        ("a,label\n1,1\n2,0\n", {"positive": 1, "negative": ["1", 0]}, "'1' is in positive and in negative"),
        ("a,label\n1,yes\n2,no\n", {"negative": ["no", "nay"]}, "no record has the value 'nay' of negative"),
        ("a,label\n1,2\n2,\n", {"positive": None, "range": (0, 9)}, ":3: column 'label': no value"),
        # features
        ("a,label\n,yes\n2,no\n", {}, ":2: column 'a': no value"),
        ("a,label\n1,yes\n1_000,no\n", {}, ":3: column 'a': '1_000' is not a finite number"),
        ("a,label\n1,yes\n1e999,no\n", {}, ":3: column 'a': '1e999' is not a finite number"),
        ("a,label\n1,yes\n1e-999,no\n", {}, ":3: column 'a': '1e-999' is too small a number"),
        ("a,label\n1,yes\nNo,no\n", {}, "levels"),
        ('a,label\n"1,5",yes\n2,no\n', {}, "'1,5' has a comma: if it is a decimal one, give `decimal: \",\"`"),
        ('a,label\n"1,500",yes\n2,no\n', {}, "`decimal: \",\"`; if it separates thousands, take"),
        ('a,label\n"1,234.5",yes\n2,no\n', {}, "write the numbers of the file without thousands separators"),
        ("a;label\n1.234,5;yes\n2;no\n", {"separator": ";", "decimal": ","}, "without thousands separators"),
        ("s,label\nx,yes\nz,no\n", {"levels": {"s": ["x", "y"]}}, ":3: column 's': 'z' is none of the levels 'x', 'y'"),
        # separators
        ("a;b;label\n1;2;yes\n", {}, "give `separator: semicolon`"),
        ("a\tb\tlabel\n1\t2\tyes\n", {}, "give `separator: tab`"),
        ("a b label\n1 2 yes\n", {}, "give `separator: blank`"),
        (RIGHT, {"separator": ";"}, "give `separator: comma`"),
        (RIGHT.replace(",", "~"), {}, 'give `separator: "~"`'), (RIGHT.replace(",", ":"), {}, 'give `separator: ":"`'),
        (RIGHT.replace(",", " \t "), {"separator": " "}, ":1: a tab, in a file that blanks separate"),
        # encodings
        (RIGHT.encode("utf-16"), {}, "give `encoding: utf-16`"),
        (RIGHT.encode("utf-16-le"), {}, "`encoding: utf-16`"),
        (RIGHT.encode("utf-32"), {}, "give `encoding: utf-32`"),
        (RIGHT.replace("no", "não").encode("latin-1"), {}, ":3: byte 0xe3 is not utf-8"),
        (RIGHT.encode("utf-8-sig"), {"encoding": "latin-1"}, "give `encoding: utf-8`"),
        (RIGHT.encode("utf-16"), {"encoding": "utf-16-be"}, "give `encoding: utf-16`, not utf-16-be"),
        (RIGHT.encode("utf-16-be"), {"encoding": "utf-16-le"}, "give `encoding: utf-16-be`"),
        (RIGHT.encode(), {"encoding": "utf-16-le"}, "give `encoding: utf-8`"),
        # other files
        ("", {}, "no names"), ("\n", {}, "no names"), ("a,b,label\n", {}, "0 records"),
        ("label\nyes\nno\n", {}, "0 features"),
        (b"PAR1\x15\x04", {}, "Parquet"), (gzip.compress(RIGHT.encode(), mtime=0)[:-9], {}, "too early"),
        (bz2.compress(RIGHT.encode()) + RIGHT.encode(), {}, "bytes after the compressed data"),
        (lzma.compress(RIGHT.encode()) + b"more", {}, "4 bytes after the compressed data"),
        (gzip.compress(gzip.compress(RIGHT.encode(), mtime=0), mtime=0), {}, "compressed twice"),
        (b"\x28\xb5\x2f\xfd\0", {}, "zstd"), (b"\xd0\xcf\x11\xe0\0", {}, "Excel"),
    ],
)  # fmt: skip
def test_what_is_not_a_file_of_records_is_one_line(
    tmp_path: Path, content: str | bytes, given: dict[str, Any], named: str
) -> None:
    assert named in refusal(tmp_path, content, **given)


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, RIGHT)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "given"),
    [
        (RIGHT, {}), (RIGHT.rstrip("\n"), {}), (RIGHT + "\n\n", {}), (RIGHT.replace("\n", "\r\n"), {}),
        (RIGHT.replace("\n", "\r"), {}), (RIGHT.encode("utf-8-sig"), {}), (RIGHT.replace(",", ", "), {}),
        (RIGHT.encode("utf-16"), {"encoding": "utf-16"}),
        (("\ufeff" + RIGHT).encode("utf-16-le"), {"encoding": "utf-16-le"}),
        (RIGHT.encode("utf-16-be"), {"encoding": "utf-16-be"}),
        (RIGHT + "  \n", {}), (RIGHT[10:], {"header": ["a", "b", "label"]}),
        (RIGHT.replace("a,", "2019,"), {"header": True}),
        (gzip.compress(RIGHT.encode()[:9], mtime=0) + gzip.compress(RIGHT.encode()[9:], mtime=0) + bytes(8), {}),
        (gzip.compress(RIGHT.encode(), mtime=0), {}),
        (bz2.compress(RIGHT.encode()), {}), (lzma.compress(RIGHT.encode()), {}),
        (zipped("own.csv", "__MACOSX/own.csv"), {}),
        (RIGHT.replace(",", ";"), {"separator": ";"}), (RIGHT.replace(",", "\t"), {"separator": "tab"}),
        (RIGHT.replace(",", "   ").replace("\n", "  \n"), {"separator": " "}),
        (RIGHT.replace(",", "|"), {"separator": "bar"}),
        (RIGHT.replace(",", ";").replace(".", ","), {"separator": "semicolon", "decimal": ","}),
        (RIGHT.replace("0.25", '"0,25"').replace("0.48", '"0,48"').replace("-0.5,0.1", '"-0,5","0,1"')
         .replace("0.75,-0.2", '"0,75","-0,2"'), {"decimal": ","}),
        (RIGHT.replace("a,", ",a,").replace("\n0", "\n7,0").replace("\n-", "\n8,-"), {"drop": [""]}),
        (RIGHT.replace("yes", "nð").encode("latin-1"), {"encoding": "latin-1", "positive": "nð"}),
        (RIGHT.replace("label", "e\u0301").replace("yes", "y\u00e9s"), {"label": "\u00e9", "positive": "ye\u0301s"}),
    ],
)  # fmt: skip
def test_files_as_people_have_them_are_read(tmp_path: Path, content: str | bytes, given: dict[str, Any]) -> None:
    features, labels = record_file(tmp_path, content, **given).read()
    assert features.tolist() == [[0.25, 0.48], [-0.5, 0.1], [0.75, -0.2]]
    assert labels.tolist() == [1.0, -1.0, 1.0]


def test_an_archive_of_several_files_is_refused(tmp_path: Path) -> None:
    assert "an archive of 2 files" in refusal(tmp_path, zipped("a.csv", "b.csv"))
    assert "Excel" in refusal(tmp_path, zipped("xl/workbook.xml", "[Content_Types].xml"))


@pytest.mark.parametrize(
    ("text", "others", "positive"),
    [
        ("yes", ("no",), 2), ("no", ("yes",), 2), ("on", ("off",), 2), ("True", ("False",), 2), ("true", ("False",), 2),
        ("1", ("0",), 2), ("1", ("0.0",), 2), ("010", ("8",), 2), ("1:30", ("90",), 2), ("2^3", ("8",), 2),
        ('"1"', ("1.0",), 2), ("1e-3", ("1",), 2), ("[yes, no]", ("other",), 2), ("N", ("Y",), 2), ("null", ("x",), 0),
    ],
)  # fmt: skip
def test_a_label_of_yaml_is_the_one_in_the_file(
    tmp_path: Path, text: str, others: tuple[str, ...], positive: int
) -> None:
    (tmp_path / "data.yaml").write_text(f"file: {tmp_path}/own.csv\nlabel: y\nnorm: 1\npositive: {text}\n")
    ours = [word.strip('" ') for word in text.strip("[]").split(",")]
    rows = [*zip("12", ours * 2, strict=False), *zip("3", others, strict=False)]
    (tmp_path / "own.csv").write_text("a,y\n" + "".join(f"{a},{y}\n" for a, y in rows))
    source = read_source(tmp_path / "data.yaml")
    if not positive:
        with pytest.raises(ConfigError, match="positive"):
            validate(RecordFile, source)
        return
    assert validate(RecordFile, source).read()[1].tolist() == [1.0, 1.0, -1.0]


def test_numbers_match_as_numbers_and_quoted_ones_as_text(tmp_path: Path) -> None:
    content = "a,label\n1,1\n2,1.0\n3,0\n"
    assert record_file(tmp_path, content, positive=1).read()[1].tolist() == [1.0, 1.0, -1.0]
    assert record_file(tmp_path, content, positive=np.int64(1)).read()[1].tolist() == [1.0, 1.0, -1.0]
    assert "more than two values" in refusal(tmp_path, content, positive="1")


def test_long_identifiers_keep_all_their_digits(tmp_path: Path) -> None:
    large = 2**53 + 1
    assert record_file(tmp_path, f"a,label\n1,{large}\n2,{large - 1}\n", positive=large).read()[1].tolist() == [
        1.0,
        -1.0,
    ]


@pytest.mark.parametrize("levels", [[False, True], ["false", "TRUE"], [True, False]])
def test_levels_are_compared_as_labels_are(tmp_path: Path, levels: list[bool | str]) -> None:
    content = "s,n,label\nfalse,1,yes\nTRUE,2.50,no\nfalse,1.0,no\n"
    read = record_file(tmp_path, content, levels={"s": levels, "n": [1, 2.5]}).records()
    second = [0.0, 1.0, 0.0] if levels[1] in (True, "TRUE") else [1.0, 0.0, 1.0]
    assert read.values.T.tolist() == [second, [0.0, 1.0, 0.0]]
    assert read.names == (f"s={levels[1]}", "n=2.5")


def test_several_values_are_one_class_where_they_are_listed(tmp_path: Path) -> None:
    content = "a,label\n1,setosa\n2,virginica\n3,versicolor\n4,NA\n"
    negative = ["virginica", "versicolor", "NA"]
    assert record_file(tmp_path, content, positive="setosa", negative=negative).read()[1].tolist() == [1, -1, -1, -1]


@given(st.lists(st.lists(st.floats(-1e308, 1e308), min_size=3, max_size=3), min_size=1), st.floats(1e-90, 1e90))
@settings(deadline=None)
def test_no_row_is_longer_than_the_norm_and_none_is_lost(rows: list[list[float]], norm: float) -> None:
    values = np.array(rows)
    short, norms = records.shortened(values, norm)
    for value, row, length in zip(values, short, norms, strict=True):
        scale = np.abs(value).max()
        exact = scale * np.linalg.norm(value / scale) if scale > 0 else 0.0
        assert length == pytest.approx(exact)
        if exact <= norm:
            assert row.tolist() == value.tolist()
        else:
            assert row / norm == pytest.approx((value / scale) / np.linalg.norm(value / scale), abs=1e-12)
    assert np.isfinite(short).all()


def test_a_row_as_long_as_the_norm_is_not_counted_as_shortened(tmp_path: Path) -> None:
    content = "a,b,label\n3,4,yes\n0.3,0.4,no\n-4,3,no\n5,1,yes\n"
    assert record_file(tmp_path, content, norm=5.0).records().shortened.tolist() == [False, False, False, True]


def test_a_row_of_large_numbers_keeps_its_direction(tmp_path: Path) -> None:
    features, _ = record_file(tmp_path, RIGHT + "1e200,1e200,no\n1e308,-1e308,no\n").read()
    assert features[3:] == pytest.approx(np.array([[2**0.5, 2**0.5], [2**0.5, -(2**0.5)]]))


def test_ranges_of_large_numbers_keep_their_place() -> None:
    numbers = np.array([-1e308, 0.0, 1e308, 5e307])
    assert records.within(numbers, -1e100, 1e100).tolist() == [-1.0, 0.0, 1.0, 1.0]
    assert records.within(np.array([0.0, 5.0, 30.0]), 0.0, 20.0).tolist() == [-1.0, -0.5, 1.0]


def test_public_ranges_and_levels_make_features(tmp_path: Path) -> None:
    content = "balance,student,label\n1500,No,no\n3500,Yes,yes\n0,No,yes\n"
    file = record_file(
        tmp_path, content, ranges={"balance": (0, 3000)}, levels={"student": ["No", "Yes"]}, norm=1.5, positive="yes"
    )
    read = file.records()
    assert file.features == list(read.names) == ["balance", "student=Yes"]
    assert read.features.tolist() == [[0.0, 0.0], [1.0, 1.0], [-1.0, 0.0]]
    assert read.values.tolist() == [[1500.0, 0.0], [3500.0, 1.0], [0.0, 0.0]]
    assert (read.counts, read.shortened.tolist()) == ({"no": 1, "yes": 2}, [False, False, False])


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"ranges": {"a": (1, 1 + 1e-15)}}, "must be wider"),
        ({"positive": None, "range": (0, 5e-324)}, "must be wider"),
        ({"norm": 1e101}, "norm"), ({"norm": 5e-324}, "norm"),
        ({"norm": float("nan")}, "norm"), ({"separator": "ab"}, "separator"),
        ({"separator": "."}, "separator"), ({"encoding": "hex"}, "encoding"), ({"encoding": "utf-9"}, "encoding"),
        ({"negative": "yes"}, "is in both"), ({"decimal": ";"}, "decimal"), ({"ranges": {"a": (1, 1)}}, "ranges.a"),
        ({"ranges": {"label": (0, 1)}}, "named twice"), ({"levels": {"a": ["x", "x"]}}, "given twice"),
        ({"levels": {"a": [True, "True"]}}, "given twice"), ({"levels": {"a": [1, 1.0]}}, "given twice"),
        ({"norm": True}, "norm"), ({"norm": "2"}, "norm"), ({"ranges": {"a": (False, 1)}}, "ranges"),
        ({"ranges": {"a": (0, 1, 2)}}, "must be .low, high."), ({"positive": {"yes": 1}}, "must be a word"),
        ({"header": False}, "must be true"), ({"header": []}, "must be true"),
        ({"encoding": "unicode_escape"}, "encoding"),
        ({"drop": ["label"]}, "named twice"), ({"positive": None, "range": (0, 1e300)}, "range"),
    ],
)  # fmt: skip
def test_declarations_that_make_no_sense_are_refused(tmp_path: Path, given: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        record_file(tmp_path, RIGHT, **given)


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@given(st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), CELLS), min_size=1, max_size=20))
@settings(deadline=None)
def test_what_csv_writes_is_read_with_the_lines_of_its_records(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, str]]
) -> None:
    file = tmp_path_factory.mktemp("csv") / "own.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["a", "text", "label"])
        lines = []
        for number, (value, text) in enumerate(rows):
            opened.flush()
            lines.append(1 + len(io.StringIO(file.read_bytes().decode(), newline=None).readlines()))
            writer.writerow([repr(value), text, "yes" if number % 2 else "no"])
    ((found, columns),) = records.CsvFile(file).blocks()
    assert found == lines
    assert [float(text) for text in columns[0]] == [value for value, _ in rows]
    composed = [unicodedata.normalize("NFC", text) for _, text in rows]  # two spellings of a letter are one level
    assert [text.strip() for text in columns[1]] == [text.strip() for text in composed]


@pytest.fixture
def data_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`data.yaml` of a study that the process works on."""
    monkeypatch.setenv("DPREGRET_STUDY", str(tmp_path))
    (tmp_path / "own.csv").write_text(RIGHT)
    return tmp_path / "data.yaml"


@pytest.mark.parametrize(
    ("name", "named"),
    [("MyRecords", "letters"), ("my records", "letters"), ("digits", "dpregret has"), ("flights", "dpregret has")],
)
def test_names_of_data_sets_follow_one_rule(data_yaml: Path, name: str, named: str) -> None:
    data_yaml.write_text(f"{name}:\n  file: own.csv\n  label: label\n  positive: yes\n  norm: 1\n")
    with pytest.raises(ConfigError) as caught:
        records.declared()
    (line,) = caught.value.problems
    assert line.startswith(f"{data_yaml}:1: {name}: ")
    assert named in line


@pytest.mark.parametrize("file", ["/proc/self/environ", "../own.csv", "data/../../own.csv", "out.csv"])
def test_files_of_records_stay_below_the_study(data_yaml: Path, file: str) -> None:
    """Results of another folder's file are not portable; and a message would quote what the file holds."""
    (data_yaml.parent / "out.csv").symlink_to("/proc/self/environ")
    data_yaml.write_text(f"mine:\n  file: {file}\n  label: y\n  norm: 1\n  range: [0, 1]\n")
    with pytest.raises(ConfigError) as caught:
        records.declared()
    (line,) = caught.value.problems
    assert line.startswith(f"{data_yaml}:2: mine.file: ")
    assert "PATH=" not in line


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("range: [5, 1]", ":5: mine.range: must be [low, high] with low < high, not [5, 1]"),
        ("levels: {a: x}", ":5: mine.levels.a: must have at least 2 values, not 'x'"),
        ("ranges: {a: [0, 1.0e+101]}", ":5: mine.ranges.a[1]: must be less than or equal to 1e+100, not 1e+101"),
    ],
)
def test_what_a_key_may_not_hold_is_named_with_its_line(data_yaml: Path, line: str, named: str) -> None:
    data_yaml.write_text(f"mine:\n  file: own.csv\n  label: label\n  norm: 1\n  {line}\n")
    with pytest.raises(ConfigError) as caught:
        records.declared()
    assert caught.value.problems == (f"{data_yaml}{named}",)


def test_a_name_that_no_file_can_have_is_refused(data_yaml: Path) -> None:
    data_yaml.write_text(f"{'a' * 200}:\n  file: own.csv\n  label: label\n  norm: 1\n  positive: yes\n")
    with pytest.raises(ConfigError, match="may have at most 100 characters, not 200"):
        records.declared()


def test_a_question_that_is_not_answered_is_named(data_yaml: Path) -> None:
    data_yaml.write_text("mine:\n  file: own.csv\n  label: label\n  positive: # which?\n  norm:\n")
    with pytest.raises(ConfigError) as caught:
        records.declared()
    assert [line.removeprefix(str(data_yaml)) for line in caught.value.problems] == [
        ":4: mine.positive: no value yet", ":5: mine.norm: no value yet",
    ]  # fmt: skip


def test_blanks_around_words_are_left_out_and_said(tmp_path: Path) -> None:
    content = 'a, s,label \n 1,x, yes\n2, x,yes\n3 ,z,no\n4,z ," no"\n5,\u00a0z,no\n'
    found = record_file(tmp_path, content, levels={"s": ["x", "z"]}).records()
    assert found.labels.tolist() == [1, 1, -1, -1, -1]
    assert found.values.tolist() == [[1, 0], [2, 0], [3, 1], [4, 1], [5, 1]]
    assert found.blanks == {"s": 3, "label": 2}
    notes = overview("own", found).notes
    assert [note for note in notes if "blanks" in note] == [
        f"{name}: {count} of its values (of 5) have blanks around them, which are left out"
        for name, count in (("s", 3), ("label", 2))
    ]


def test_blanks_before_a_quotation_mark_are_no_part_of_a_field(tmp_path: Path) -> None:
    found = record_file(tmp_path, 'a, "s", label\n1, "x, y", yes\n2, z, no\n', levels={"s": ["x, y", "z"]}).records()
    assert found.values.tolist() == [[1, 0], [2, 1]]
    assert not found.blanks


def test_whole_numbers_that_a_float_rounds_are_said(tmp_path: Path) -> None:
    content = "a,b,label\n9007199254740993,1e20,yes\n2,0.5,no\n"
    notes = overview("own", record_file(tmp_path, content).records()).notes
    assert [note.partition(",")[0] for note in notes if "2^53" in note] == ["a: has whole numbers beyond 2^53"]
