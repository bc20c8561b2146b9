"""What was read of a user's records: the page, its numbers, the first lines of a run, the pictures of the report."""

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest
from checkout import ROOT, environment
from commands import ran

import dpregret as dp
from dpregret.algorithms.privacy.budget import Budget, gaussian_epsilon, gaussian_mu
from dpregret.core.boundary import as_json
from dpregret.core.errors import ConfigError
from dpregret.datasets.overview import BINS, identifies
from dpregret.datasets.records import RecordFile
from dpregret.paper_figs.report.page import Run
from dpregret.workflows.run import data, studies
from dpregret.workflows.run.data import Page, planned_at

WIDE = "row,age,balance,student,default\n1,20,10,No,No\n2,95,4000,Yes,Yes\n3,50,1e9,No,No\n4,-7,-30,Yes,No\n"
PUBLIC = {
    "label": "default", "positive": "Yes", "norm": 1.5, "ranges": {"age": [0, 100], "balance": [0, 5000]},
    "levels": {"student": ["No", "Yes"]},
}  # fmt: skip


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    file = tmp_path / "wide.csv"
    file.write_text(WIDE)
    return file


def test_the_page_says_what_was_read(wide: Path) -> None:
    read = dp.records(wide, **PUBLIC)
    found = read.overview
    assert (found.records, found.classes, found.positive) == (4, {"No": 3, "Yes": 1}, 1)
    assert [(c.name, c.least, c.most, c.outside) for c in found.columns] == [
        ("row", 1.0, 4.0, 0), ("age", -7.0, 95.0, 1), ("balance", -30.0, 1e9, 2), ("student=Yes", 0.0, 1.0, 0),
    ]  # fmt: skip
    assert [sum(c.counts) for c in found.columns] == [4] * 4
    assert all(len(c.counts) == BINS for c in found.columns)
    assert found.columns[1].span == (-7.0, 100.0)
    lengths = np.sqrt((read.features**2).sum(axis=1))
    assert lengths.max() == pytest.approx(1.5)
    assert (found.shortened, found.longest) == (4, "row")
    page = str(read)
    for part in ("4 records of 4 features", "'No' 3, 'Yes' 1; 1 are +1, 3 are -1", "[0, 5000]", "most often for row"):
        assert part in page
    assert "row: is another whole number in every record" in page
    assert "balance: 50% of its values are outside" in page


def test_columns_far_apart_and_constant_ones_are_noted(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("small,large,same,y\n0.01,1000,5,1\n-0.02,700,5,0\n0.01,-3,5,1\n")
    notes = dp.records(file, label="y", positive=1, norm=2000).overview.notes
    assert [note.split(":")[0].split(" is ")[0] for note in notes] == ["same", "large"]
    assert "50000 times as large as small" in notes[1]


@pytest.mark.parametrize(
    ("numbers", "odd"),
    [
        (range(4), True), (range(4, 0, -1), True), ((3, 1, 4, 2), True), ((3, 1, 4, 9), False), ((1, 2, 2), False),
        ((0.5, 1.5, 2.5), False), (range(1000, 1500, 7), True), ((1, 2), False), (range(1000, 1070, 7), False),
    ],
)  # fmt: skip
def test_a_column_that_numbers_the_records_is_noted(numbers: Sequence[float], odd: bool) -> None:
    assert identifies(np.array([*map(float, numbers)])) == odd


def test_codes_and_labels_of_one_value_are_noted(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("zip,much,y\n01234,1e308,7\n 99999,-1e308,7\n")
    notes = dp.records(file, label="y", range=(0, 5), norm=9).overview.notes
    assert notes[0].startswith("much: has whole numbers beyond 2^53")
    assert notes[1].startswith("zip: has '01234', with zeros before it: a code, no")
    assert notes[2:4] == ("label y: 100% of its values are outside of its range", "label y: has one value only")
    assert "much is 1e+303 times as large as zip" in notes[-1]


def test_labels_of_numbers_are_counted_outside_of_their_range(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,y\n1,-5\n2,0.5\n3,7\n4,8\n")
    assert "1 below 0, 2 above 1" in str(dp.records(file, label="y", range=(0, 1), norm=9))


@pytest.mark.parametrize(("rounds", "size", "passes"), [(160, 160, 1), (161, 160, 2), (4096, 160, 26)])
def test_the_epsilon_of_a_record_is_that_of_all_its_rounds(rounds: int, size: int, passes: int) -> None:
    planned = planned_at("x", rounds, size, 8.0, 1e-6)
    mu = gaussian_mu(Budget(8.0, 1e-6))
    either = [gaussian_epsilon(mu * factor, 1e-6) for factor in (passes**0.5, passes)]
    assert planned.participations == passes
    assert planned.record_epsilon == pytest.approx(either)


NUMBERS = {"label": "age", "range": [0, 100], "norm": 1.5, "drop": ["student", "default"]}


@pytest.mark.parametrize("public", [PUBLIC, NUMBERS], ids=["classes", "numbers"])
def test_the_answer_in_json_is_as_its_schema_says(wide: Path, public: dict[str, Any]) -> None:
    """A label of numbers has no positive class; a column may have no range."""
    page = Page(dp.records(wide, **public).overview, (planned_at("logistic", 12, 4, 1.0, 1e-6),))
    schema = json.loads((ROOT / "workflows/schemas/answers.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(as_json([page])), {**schema, "$ref": "#/$defs/data"})


def test_a_mistake_of_a_call_is_one_line(wide: Path) -> None:
    for given, named in (({"norm": 0}, "records: norm"), ({"positive": "yes"}, "'Yes'"), ({"drop": "x"}, "column 'x'")):
        with pytest.raises(ConfigError, match=named):
            dp.records(wide, **{**PUBLIC, **given})
    with pytest.raises(ConfigError, match=r"nowhere\.csv"):
        dp.records("nowhere.csv", **PUBLIC)


@pytest.mark.parametrize(
    ("budgets", "line"),
    [
        ([math.inf], "e, T = 8: plays without noise only, which protect no record"),
        ([math.inf, 2.0, 4.0], "e, T = 8: a record is in one round; its eps is that of a round, 4"),
    ],
)
def test_plays_without_noise_have_no_epsilon(
    budgets: list[float], line: str, wide: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside plays with noise they hide the budget of none."""
    one = SimpleNamespace(horizon=[8], epsilon=budgets, deltas=[1e-6])
    monkeypatch.setattr(data, "_experiments", lambda: [("e", "mine", one)])
    declared = {"mine": RecordFile(file=str(wide), **{**PUBLIC, "drop": "row"})}
    monkeypatch.setattr("dpregret.datasets.records.declared", lambda: declared)
    overviewed = replace(dp.records(wide, **PUBLIC).overview, records=8)
    monkeypatch.setattr(data, "overview", lambda *_: overviewed)
    (page,) = data.pages()
    assert line in str(page)
    assert "inf" not in str(page)


@pytest.mark.nightly
@pytest.mark.workflow
def test_the_command_and_the_first_lines_of_a_run(tmp_path: Path) -> None:
    studies.write(tmp_path / "mine")
    command = ["-m", "dpregret"]
    python = sys.executable
    page = ran([python, *command, "data", "./mine"], tmp_path, **environment(ROOT))
    assert page.returncode == 0, page.stderr
    assert "160 records of 3 features" in page.stdout
    assert "logistic, T = 128: a record is in one round; its eps is that of a round, 8" in page.stdout
    (answer,) = json.loads(ran([python, *command, "data", "./mine", "--json"], tmp_path, **environment(ROOT)).stdout)
    assert answer["data"]["classes"] == {"no": 95, "yes": 65}
    run = ran([python, *command, "run", "./mine", "-n", "--cores", "1"], tmp_path, **environment(ROOT))
    assert run.stderr.startswith("my-records: data/my_records.csv, 160 records of 3 features\n"), run.stderr
    (tmp_path / "mine" / "data" / "my_records.csv").write_text("age,bought\n1,yes\n")
    refused = ran([python, *command, "run", "./mine"], tmp_path, **environment(ROOT))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


def test_the_report_gets_the_columns_of_prepared_records(tmp_path: Path, wide: Path) -> None:
    from dpregret.datasets import examples, overview, records

    examples.save(tmp_path / "plain.npz", features=np.eye(2), labels=np.ones(2))
    declared = records.RecordFile(file=str(wide), **PUBLIC)
    overview.write(declared, "wide", tmp_path / "wide.npz")
    (found,) = Run(data=[tmp_path / "plain.npz", tmp_path / "wide.npz"]).overviews
    assert found["columns"][1]["low"] == 0.0
    assert found["constants"]["norm"] == 1.5
    assert str(Page(dp.records(wide, **PUBLIC).overview)).startswith("wide.csv: ")


def test_records_are_played_without_a_study(tmp_path: Path) -> None:
    """The regret of the centre is T ln 2 less the smallest loss, by brute force over the ball of dimension 1."""
    file = tmp_path / "one.csv"
    values, signs = [0.9, -0.4, 1.3, 0.2, -1.1], ["y", "n", "y", "n", "y"]
    file.write_text("a,b\n" + "".join(f"{value},{sign}\n" for value, sign in zip(values, signs, strict=True)))
    read = dp.records(file, label="b", positive="y", norm=1.2)
    played = dp.play("dp-ftrl-lipschitz", data=read, runs=2)
    features, labels = np.clip(values, -1.2, 1.2), np.where(np.array(signs) == "y", 1.0, -1.0)
    points = np.linspace(-1.0, 1.0, 200001)
    best = np.logaddexp(0.0, -(labels * features)[:, None] * points).sum(axis=0).min()
    assert (played.stream, played.rounds, played.dimension, played.participations) == ("records-logistic", 5, 1, 1)
    assert played.baseline == pytest.approx(5 * np.log(2.0) - best, abs=1e-8)
    longer = dp.play("dp-ftrl-lipschitz", data=read, rounds=12, runs=2)
    assert longer.participations == 3
    assert longer.record_epsilon > longer.accounted_epsilon


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stream": "norm-kink"}, "play: stream: 'norm-kink' takes no records, allowed: .*records-logistic"),
        ({"dimension": 7}, "play: dimension: the records have 4 features"),
        ({"source": "digits"}, "play: source: the records are given as data"),
        ({"data": "wide.csv"}, "play: data: must be the answer of `dpregret.records`, not str"),
        ({"data": None}, "play: stream: this argument is missing"),
        ({"learner": "ftal"}, "needs strongly-convex losses"),
        ({"learner": "hedge"}, "takes no records, no stream of the family experts does"),
    ],
)
def test_what_records_cannot_be_played_with_is_one_line(wide: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        dp.play(**({"learner": "dp-ftrl-lipschitz", "data": dp.records(wide, **PUBLIC)} | given))


def test_records_that_were_lengthened_are_not_played(wide: Path) -> None:
    read = dp.records(wide, **PUBLIC)
    read.features[:] *= 2.0
    with pytest.raises(ConfigError, match="exceeds 1"):
        dp.play("dp-ftrl-lipschitz", data=read)
