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


def test_what_cannot_be_read_is_one_line_and_writes_nothing(study_folder: Path) -> None:
    path = study_folder / "Pay 2020.csv"
    for content, label in ((TEXT, "payed"), ("a,b\n1,2,3\n", None), ("", None)):
        path.write_text(content)
        with pytest.raises(ConfigError, match="Pay 2020"):
            questions.write(study_folder / "mine", path, label)
    assert not (study_folder / "mine").exists()
    with pytest.raises(ConfigError, match="name for a study"):
        studies.new([str(study_folder / "My-Pay"), "--data", str(path)])


def test_a_label_of_numbers_gets_losses_that_take_it(study_folder: Path) -> None:
    path = study_folder / "Pay 2020.csv"
    path.write_text("age,pay\n" + "".join(f"{20 + n},{n / 2}\n" for n in range(20)))
    assert questions.write(study_folder / "mine", path, "pay") == ["range", "ranges.age"]
    experiment = yaml.safe_load((study_folder / "mine" / "experiments.yaml").read_text())["experiments"]["records"]
    assert experiment["streams"] == ["fetched-regression"]
    assert experiment["strong_convexity"] == 0.1
