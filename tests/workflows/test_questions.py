"""`dpregret new --data`: what a file tells is written, what it must not tell is left open, and named by a run."""

from pathlib import Path

import pytest
import yaml

from dpregret.core.errors import ConfigError
from dpregret.datasets import records
from dpregret.workflows.run import data, questions, studies

TEXT = "id;age;job;note;paid\n;31;clerk;a;yes\n;44;smith;b;no\n;29;clerk;c;no\n"


@pytest.fixture
def study_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPREGRET_STUDY", str(tmp_path / "mine"))
    (tmp_path / "Pay 2020.csv").write_text(TEXT + "".join(f";{n};clerk;n{n};no\n" for n in range(20)))
    return tmp_path


def test_columns_of_codes_and_identifiers_are_asked_about(study_folder: Path) -> None:
    rows = "".join(f"{13 * n},0{n % 7}11,{n % 5}.5,{'yn'[n % 2]}\n" for n in range(60))
    (study_folder / "ids.csv").write_text(f"id,zip,v,label\n{rows}")
    questions.write(study_folder / "mine", study_folder / "ids.csv", "label")
    text = (study_folder / "mine" / "data.yaml").read_text()
    assert "    id: # another whole number in every record: an identifier?" in text
    assert "    zip: # has '0011': a code, no number?" in text
    assert "    v:\n" in text


def test_answers_to_all_questions_make_a_study(study_folder: Path) -> None:
    folder, path = study_folder / "mine", study_folder / "Pay 2020.csv"
    assert questions.write(folder, path, "paid").open_keys == ["positive", "ranges.age"]
    with pytest.raises(ConfigError) as caught:
        records.declared()
    assert [line.rpartition(": ")[0].rpartition(" ")[2] for line in caught.value.problems] == [
        "pay-2020.positive", "pay-2020.ranges.age",
    ]  # fmt: skip
    text = (folder / "data.yaml").read_text()
    assert "The file has 'no' (22), 'yes' (1)" in text
    text = text.replace("positive: #", "positive: yes #").replace("    age:", "    age: [0, 100]")
    (folder / "data.yaml").write_text(text)
    file = records.declared()["pay-2020"]
    assert file.separator == ";"
    assert file.features == ["age", "job=smith"]
    assert file.drop == ("id", "note")
    assert file.read()[1].sum() == 1 - 22
    experiment = yaml.safe_load((folder / "experiments.yaml").read_text())["experiments"]["records"]
    assert (experiment["dimension"], experiment["horizon"], experiment["options"]) == (
        [2],
        [23],
        {"source": "pay-2020"},
    )


def test_a_label_that_is_not_named_is_a_question(study_folder: Path) -> None:
    assert questions.write(study_folder / "mine", study_folder / "Pay 2020.csv", None).open_keys[:2] == [
        "label",
        "positive",
    ]
    assert "Columns of two values: job, paid" in (study_folder / "mine" / "data.yaml").read_text()


def test_the_only_column_of_two_values_is_no_feature(study_folder: Path) -> None:
    """Answers alone then make a study: neither levels nor the dimension must be taken back."""
    path, folder = study_folder / "one.csv", study_folder / "mine"
    path.write_text("age,job,paid\n" + "".join(f"{20 + n},{'abc'[n % 3]},{('no', 'yes')[n % 2]}\n" for n in range(9)))
    assert questions.write(folder, path, None).open_keys == ["label", "positive", "ranges.age"]
    text = (folder / "data.yaml").read_text()
    assert "Columns of two values: paid (left out below)" in text
    assert "becomes +1? The file has 'no' (5), 'yes' (4)" in text
    assert "dimension: [3]" in (folder / "experiments.yaml").read_text()
    assert "paid:" not in text


def test_what_cannot_be_read_is_one_line_and_writes_nothing(study_folder: Path) -> None:
    path = study_folder / "Pay 2020.csv"
    for content, label in ((TEXT, "payed"), ("a,b\n1,2,3\n", None), ("", None)):
        path.write_text(content)
        with pytest.raises(ConfigError, match="Pay 2020"):
            questions.write(study_folder / "mine", path, label)
    assert not (study_folder / "mine").exists()
    with pytest.raises(ConfigError, match="name for a study"):
        studies.new(study_folder / "My-Pay", path)


def test_a_label_of_numbers_gets_losses_that_take_it(study_folder: Path) -> None:
    path = study_folder / "Pay 2020.csv"
    path.write_text("age,pay\n" + "".join(f"{20 + n},{n / 2}\n" for n in range(20)))
    assert questions.write(study_folder / "mine", path, "pay").open_keys == ["range", "ranges.age"]
    experiment = yaml.safe_load((study_folder / "mine" / "experiments.yaml").read_text())["experiments"]["records"]
    assert experiment["streams"] == ["fetched-regression"]
    assert experiment["strong_convexity"] == 0.1


@pytest.mark.parametrize(
    ("content", "given", "written"),
    [
        ("1,2,paid\n3,4,yes\n5,6,no\n", {"header": "yes"}, {"header": True, "ranges": {"1": None, "2": None}}),
        ("3,4,yes\n5,6,no\n", {"header": "a, b, paid"}, {"header": ["a", "b", "paid"]}),
        ("a,paid\n3,yes\n5,no\n".encode("utf-16"), {}, {"encoding": "utf-16", "ranges": {"a": None}}),
        ("\xe4,paid\n3,yes\n5,no\n".encode("latin-1"), {"encoding": "latin-1"}, {"ranges": {"\xe4": None}}),
        ("a;b;paid\n3,5;1;yes\n5;1,000;no\n", {}, {"decimal": ",", "ranges": {"a": None, "b": None}}),
        ("a;paid\n3;yes\n1,000;no\n", {}, {"decimal": None, "ranges": {"a": None}}),
        ("a,b,paid\n3,x,yes\nNA,,no\n4,z,no\n", {}, {"ranges": {"a": None}, "levels": {"b": ["x", "z"]}}),
        (",id,a,paid\n1,7,3,yes\n2,7,5,no\n", {}, {"drop": ["", "id"], "ranges": {"a": None}}),
    ],
)  # fmt: skip
def test_nothing_of_a_file_is_left_out_unseen(
    study_folder: Path, content: str | bytes, given: dict[str, str], written: dict[str, object]
) -> None:
    path, folder = study_folder / "a: b.csv", study_folder / "mine"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    questions.write(folder, path, "paid", **given)
    ((_, entry),) = yaml.safe_load((folder / "data.yaml").read_text()).items()
    assert entry["file"] == "data/a: b.csv"
    assert {key: entry[key] for key in written} == written
    lacking = content.count("NA") if isinstance(content, str) else 0
    assert (folder / "data.yaml").read_text().count("no value in 1 records") == 2 * lacking


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("150,4,a,b,paid\n1,2,3,4,0\n1,2,3,5,1\n", "--header yes"),
        ("a,a,paid\n1,2,yes\n2,3,no\n", "the name of column 1 too"),
        ("a\u200b,paid\n1,yes\n2,no\n", "no terminal shows"),
        ("a" * 1001 + ",paid\n1,yes\n2,no\n", "1001 characters"),
    ],
)  # fmt: skip
def test_names_that_a_run_would_refuse_are_refused_here(study_folder: Path, content: str, named: str) -> None:
    (study_folder / "Pay 2020.csv").write_text(content)
    with pytest.raises(ConfigError, match=named):
        questions.write(study_folder / "mine", study_folder / "Pay 2020.csv", "paid")
    assert not (study_folder / "mine").exists()


def written(folder: Path, content: str, label: str = "paid") -> tuple[questions.Written, str]:
    """A study for a file of some content, and its data.yaml."""
    path = folder / "my.csv"
    path.write_text(content)
    found = questions.write(folder / "mine", path, label)
    return found, (folder / "mine" / "data.yaml").read_text()


def answered(folder: Path, **answers: str) -> dict[str, records.RecordFile]:
    """The study with values for some open keys."""
    path = folder / "mine" / "data.yaml"
    lines = path.read_text().splitlines()
    for key, value in answers.items():
        (at,) = (at for at, line in enumerate(lines) if line.strip().startswith(f"{key}:"))
        lines[at] = lines[at].replace(f"{key}:", f"{key}: {value}")
    path.write_text("\n".join(lines) + "\n")
    return records.declared()


@pytest.mark.parametrize(
    ("numbers", "odd", "remark"),
    [
        ([*map(str, range(20, 80))], "31y", "numbers, but for '31y' in line 62: a mistake? Else move it to levels, "),
        (["1", "2", "3"], "4more", 'in line 5: a mistake? Else move it to levels as ["1", "2", "3", "4more"]'),
        ([f"1.2{n},50" for n in range(10, 60)], "950,00", "has '1.210,50' in line 2 and 50 more: write its numbers"),
        ([f"1,2{n},500" for n in range(10, 60)], "950", "has '1,210,500' in line 2 and 49 more: write its numbers"),
        ([f"1 2{n}" for n in range(10, 60)], "950", "has '1 210' in line 2 and 49 more: write its numbers"),
    ],
)  # fmt: skip
def test_a_column_that_is_mostly_numbers_is_asked_about_and_refused(
    study_folder: Path, numbers: list[str], odd: str, remark: str
) -> None:
    """It was left out, or made levels, without a word."""
    rows = "".join(f"{text};{n % 2};{'yn'[n % 2]}\n" for n, text in enumerate([*numbers, odd]))
    found, text = written(study_folder, f"age;b;paid\n{rows}")
    assert found.open_keys == ["positive", "ranges.age", "ranges.b"]
    assert (found.dropped, found.levels) == ({}, {})
    assert remark in text
    line = int(remark.partition("in line ")[2].split()[0].rstrip(":"))
    (file,) = answered(study_folder, positive="y", age="[0, 1e5]", b="[0, 1]").values()
    with pytest.raises(ConfigError, match=rf"my\.csv:{line}: column 'age': "):
        file.read()


def test_a_label_that_is_mostly_numbers_is_no_class(study_folder: Path) -> None:
    rows = "".join(f"{n % 3},{text}\n" for n, text in enumerate([*map(str, range(20)), "NA", "31y"]))
    found, text = written(study_folder, f"a,pay\n{rows}", "pay")
    assert found.open_keys == ["range", "ranges.a"]
    assert "clipped. no value in 1 records" in text
    assert "numbers, but for '31y' in line 23: a mistake?" in text


def test_columns_that_are_left_out_are_printed(study_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"t{n},5,{'x' * (n % 2)},{n % 9},{'ab'[n < 3]},{'yn'[n % 2]}\n" for n in range(40))
    (study_folder / "my.csv").write_text(f"note,one,flag,size,job,paid\n{rows}")
    studies.new(study_folder / "mine", study_folder / "my.csv", "paid")
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:6] == [
        "  leaves out 'note': words, or no numbers, of 40 kinds",
        "  leaves out 'one': it has one value only",
        "  leaves out 'flag': 'x' or no value",
        "  levels of 'job' are read off the records, and must be public: few records have 'b' (3): public?",
    ]
    assert "  levels: # read off these records" in (study_folder / "mine" / "data.yaml").read_text()
    answered(study_folder, positive="y", size="[0, 9]")
    first = data.first_lines()
    assert "left out by drop: 'note', 'one', 'flag'" in first
    (page,) = data.pages()
    assert "left out by drop: 'note', 'one', 'flag'" in str(page)
    assert "never read off" not in str(page)
    assert "constants as declared, which must be public: norm" in str(page)


@pytest.mark.parametrize(
    ("texts", "other", "asked", "noted"),
    [
        (["3.200", "950", "4.100"], "7", True, True),
        (["3.200", "950", "4.100"], "0.5", False, True),  # the file has a decimal point
        (["3.200", "950", "4.15"], "7", False, False),
        (["0.125", "950", "4.100"], "7", False, False),
    ],
)
def test_points_that_may_separate_thousands_are_asked_about(
    study_folder: Path, texts: list[str], other: str, asked: bool, noted: bool
) -> None:
    """`3.200` was read as 3.2 without a word."""
    rows = "".join(f"{text};{other if n else 8};{'yn'[n % 2]}\n" for n, text in enumerate(texts))
    found, text = written(study_folder, f"gehalt;b;paid\n{rows}")
    assert ("decimal" in found.open_keys) == asked
    assert ("gehalt: # is 3.200 above a thousand? Then take the points out" in text) == noted
    given = {"decimal": '"."'} if asked else {}
    answered(study_folder, positive="y", gehalt="[0, 10000]", b="[0, 10]", **given)
    notes = [note for note in data.pages()[0].data.notes if "thousands" in note]
    said = "gehalt: each number with a point is written as '3.200', read as 3.2: if the point separates "
    assert notes == [f"{said}thousands, take it out of the file"] * noted


def test_commas_that_may_separate_thousands_are_noted_beside_decimal_ones(study_folder: Path) -> None:
    _, text = written(study_folder, "a;b;paid\n3,5;950;y\n5;1,200;n\n2,5;2,100;n\n")
    assert "    b: # is 1,200 above a thousand? Then take the commas out of the file" in text
    answered(study_folder, positive="y", a="[0, 10]", b="[0, 10000]")
    assert any("b: each number with a comma is written as '1,200'" in line for line in data.first_lines())


@pytest.mark.parametrize("features", [1, 2, 4, 8, 9, 11, 12])
def test_no_row_within_its_ranges_is_longer_than_the_norm(study_folder: Path, features: int) -> None:
    """The square root of 2 was rounded down, so that all rows were longer."""
    names = [f"c{n}" for n in range(features)]
    rows = "".join(",".join([*[str(n % 2)] * features, "yn"[n % 2]]) + "\n" for n in range(4))
    written(study_folder, f"{','.join(names)},paid\n{rows}")
    (file,) = answered(study_folder, positive="y", **dict.fromkeys(names, "[0, 1]")).values()
    assert not file.records().shortened.any()
    assert file.norm - features**0.5 < 1e-4
