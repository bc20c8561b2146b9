"""`dpregret new --data`: what a file tells is written, what it must not tell is left open, and named by a run."""

from pathlib import Path

import pytest
import yaml

from dpregret.core.errors import ConfigError
from dpregret.datasets import records
from dpregret.workflows.run import questions, studies

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
    assert questions.write(folder, path, "paid") == ["positive", "ranges.age"]
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
    assert questions.write(study_folder / "mine", study_folder / "Pay 2020.csv", None)[:2] == ["label", "positive"]
    assert "Columns of two values: job, paid" in (study_folder / "mine" / "data.yaml").read_text()


def test_the_only_column_of_two_values_is_no_feature(study_folder: Path) -> None:
    """Answers alone then make a study: neither levels nor the dimension must be taken back."""
    path, folder = study_folder / "one.csv", study_folder / "mine"
    path.write_text("age,job,paid\n" + "".join(f"{20 + n},{'abc'[n % 3]},{('no', 'yes')[n % 2]}\n" for n in range(9)))
    assert questions.write(folder, path, None) == ["label", "positive", "ranges.age"]
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
    assert questions.write(study_folder / "mine", path, "pay") == ["range", "ranges.age"]
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
