"""A study outside of the tree: what `new` writes runs, mistakes name their file, planted mistakes are caught."""

import copy
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from checkout import ROOT, environment
from commands import ran

from dpregret import study
from dpregret.algorithms.geometry import make_set
from dpregret.core.errors import ConfigError
from dpregret.datasets.losses import RidgeLogistic
from dpregret.datasets.pool_streams import RecordsLogistic
from dpregret.datasets.records import RecordFile
from dpregret.paper_figs.compare.gate import Tables
from dpregret.paper_figs.judge.result_tables import AUTOMATIC, read_judged
from dpregret.workflows.run import studies
from dpregret.workflows.run.contracts import stream_faults
from dpregret.workflows.run.freshness import STAMP

REPOSITORY = ROOT / "docs" / "examples" / "repository"
DESCENT = Path("algorithms") / "online" / "my_descent.py"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    studies.write(tmp_path / "my_study")
    return tmp_path / "my_study"


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`dpregret WORDS`, called beside the folder of a study."""
    return ran([sys.executable, "-m", "dpregret", *words], folder.parent, **environment(ROOT))


def test_what_new_writes_is_a_study(written: Path) -> None:
    assert list(study.mistakes(written)) == []
    names = [path.relative_to(written).as_posix() for path in study.files(written)]
    assert names == ["algorithms/online/my_descent.py", "datasets/my_hinge.py"]
    assert (written / ".gitignore").is_file()
    assert not (written / "printed.yaml").exists()
    with pytest.raises(FileExistsError):
        studies.write(written)


@pytest.mark.parametrize("name", ["My-Study", "talwar_2015", "1st", "all", "audit", "tables", "further_tables"])
def test_new_refuses_names_that_no_study_may_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=name):
        studies.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("planted", "named"),
    [
        ("algorithms/online/ftal.py", "ftal.py"), ("datasets/source.py", "source.py"), ("mine.py", "mine.py"),
        ("algorithms/onlin/mine.py", "onlin"), ("algorithms/online/my-own.py", "my-own.py"),
    ],
)  # fmt: skip
def test_a_file_that_would_not_be_found_is_named(written: Path, planted: str, named: str) -> None:
    path = written / planted
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    (said,) = study.mistakes(written)
    assert named in said


def test_a_study_needs_its_experiments(written: Path) -> None:
    (written / "claims.yaml").unlink()
    assert list(study.mistakes(written)) == []
    (written / "experiments.yaml").unlink()
    (said,) = study.mistakes(written)
    assert "experiments.yaml" in said
    done = command(written, "run", "./my_study")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.nightly
@pytest.mark.workflow
def test_the_gate_of_a_study_that_declares_no_figures_passes(written: Path) -> None:
    """Claims and tables without figures, as the example of the docs: its stage of figures writes an empty folder."""
    assert "figures" not in yaml.safe_load((written / "claims.yaml").read_text())
    experiments = yaml.safe_load((written / "experiments.yaml").read_text())
    only = experiments["experiments"]["descent"] | {"horizon": "2^5..2^8", "learners": {"my-descent": ["plain"]}}
    (written / "experiments.yaml").write_text(yaml.safe_dump({**experiments, "experiments": {"descent": only}}))
    for words in (("--keep",), ()):
        done = command(written, "gate", "./my_study", "--no-audit", "--cores", "1", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.splitlines()[-1] == "gate: passed"
    assert (written / "reference" / "claims.csv").is_file()
    figures = written / "results" / "study" / "my_study" / "figures"
    assert {path.name for path in figures.iterdir()} <= {STAMP}


def test_records_are_clipped_by_the_public_constants(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("a,b,skipped,y\n3,4,x,10\n0.6,-0.8,x,0\n0,0,x,99\n")
    features, labels = RecordFile(file=str(file), label="y", norm=2.0, range=(0.0, 20.0), drop=("skipped",)).read()
    assert features == pytest.approx(np.array([[1.2, 1.6], [0.6, -0.8], [0.0, 0.0]]))
    assert labels == pytest.approx([0.0, -1.0, 1.0])
    classes = RecordFile(file=str(file), label="y", norm=9, positive=10, negative=(0, 99), drop=("skipped",))
    assert classes.read()[1].tolist() == [1, -1, -1]


@pytest.mark.parametrize(
    ("text", "given", "named"),
    [
        ("a,y\n1,2\n?,3\n", {}, ":3: column 'a'"), ("a,y\n1,2\n1,nan\n", {}, ":3: column 'y'"),
        ("a,y\n", {}, "0 records"), ("y\n1\n", {}, "0 features"),
        ("a,y\n1,2\n", {"label": "z"}, ":1: unknown column 'z'"),
        ("a,y\n1,2\n", {"range": None, "positive": "yes"}, "'yes'"), ("", {}, "not a CSV file"),
    ],
)  # fmt: skip
def test_a_wrong_file_of_records_is_one_line(tmp_path: Path, text: str, given: dict[str, Any], named: str) -> None:
    file = tmp_path / "some.csv"
    file.write_text(text)
    records = RecordFile(**{"file": str(file), "label": "y", "norm": 1.0, "range": (0.0, 1.0), **given})
    with pytest.raises(ConfigError) as caught:
        records.read()
    assert named in str(caught.value)
    assert str(file) in str(caught.value)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    "given", [{}, {"positive": 1, "range": (0, 1)}, {"range": (1, 0)}, {"range": (0, 1), "norm": 0}]
)
def test_constants_of_records_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (the texts are pydantic's)
        RecordFile(**{"file": "some.csv", "label": "y", "norm": 1.0, **given})


@pytest.fixture
def logistic(tmp_path: Path) -> RecordsLogistic:
    """Sixteen records of norm at most 3, which is stated."""
    generator = np.random.default_rng(3)
    features = generator.uniform(-1, 1, (16, 2)) / np.sqrt(2)
    np.savez(tmp_path / "mine.npz", features=features, labels=generator.choice([-1.0, 1.0], 16), norm=3.0)
    return RecordsLogistic(make_set("ball", 2), 1.0, source="mine", data_dir=tmp_path)


def test_logistic_losses_of_records_are_theirs_without_ridge(logistic: RecordsLogistic) -> None:
    (loss,) = logistic.rounds([np.random.default_rng(0)], 1)
    x = np.array([[0.3, -0.4]])
    margin = float(loss.labels[0] * (loss.features[0] @ x[0]))
    assert type(loss) is RidgeLogistic
    assert loss.value(x) == pytest.approx(np.log1p(np.exp(-margin)))
    assert loss.gradient(x)[0] == pytest.approx(-loss.labels[0] * loss.features[0] / (1 + np.exp(margin)))
    assert (logistic.lipschitz, logistic.smoothness, logistic.strong_convexity) == (3.0, 2.25, 0.0)
    assert list(stream_faults(logistic, logistic.domain)) == []


@pytest.mark.parametrize(("name", "factor"), [("lipschitz", 0.1), ("smoothness", 0.01), ("strong_convexity", None)])
def test_a_wrong_constant_of_a_stream_breaks_its_contract(
    logistic: RecordsLogistic, name: str, factor: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = copy.copy(logistic)
    for method in ("rounds", "comparator"):  # the weight of the ridge is the strong convexity
        monkeypatch.setattr(logistic, method, getattr(honest, method))
    setattr(logistic, name, 0.5 if factor is None else factor * getattr(logistic, name))
    assert any(name in fault for fault in stream_faults(logistic, logistic.domain))


def test_a_comparator_that_is_not_the_best_point_breaks_its_contract(
    logistic: RecordsLogistic, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = logistic.comparator(list(map(np.random.default_rng, [[1, 0], [1, 1]])), [128])
    worse = type(honest)(honest.stay + 1.0, honest.gaps, honest.stay)
    monkeypatch.setattr(logistic, "comparator", lambda generators, checkpoints: worse)
    assert any("comparator" in fault for fault in stream_faults(logistic, logistic.domain))


@pytest.mark.workflow
@pytest.mark.parametrize(
    "words",
    [
        *(
            pytest.param(words, marks=pytest.mark.nightly)
            for words in (
                ("check", "descent-T"), ("advise", "--rounds", "1e3", "--dimension", "4", "--epsilon", "1"),
                ("audit",), ("test",), ("run", "-n"),
            )
        ),
        ("gate",),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_file_that_ends_the_process_with_success_is_no_success(written: Path, words: tuple[str, ...]) -> None:
    planted = written / "algorithms" / "online" / "aaa.py"
    planted.write_text("import os\nos._exit(0)\n")
    if words[0] == "advise":  # wants a run first
        shutil.copytree(ROOT / "results" / "reference" / "winners", written / "results" / "study" / "winners")
    done = command(written, words[0], "./my_study", *words[1:])
    assert done.returncode != 0
    assert "dpregret.algorithms.online.aaa was imported" in done.stderr + done.stdout


@pytest.mark.workflow
@pytest.mark.parametrize("again", [("--until", "tables"), pytest.param((), marks=pytest.mark.nightly)], ids=len)
def test_a_study_runs_and_keeps_its_contracts_and_has_a_table_without_claims(
    written: Path, again: tuple[str, ...]
) -> None:
    """again: how it is run without claims, to its tables or to the end."""
    experiments = yaml.safe_load((written / "experiments.yaml").read_text())
    for each in experiments["experiments"].values():
        first = next(iter(each["learners"].items()))
        each |= {"horizon": "2^6..2^9", "learners": dict([first])}  # each further one is compiled
    (written / "experiments.yaml").write_text(yaml.safe_dump(experiments, sort_keys=False))
    done = command(written, "run", "./my_study", "--cores", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    results = written / "results" / "study" / "my_study"
    bounds = {f"bound.{name}.plain" for name in ("descent.my-descent", "hinge.my-descent")}
    assert {"descent-T", *bounds, "ledger.descent.my-descent.plain"} <= set(read_judged(results)["claim"])
    report = (results / "report.html").read_text()
    assert "my descent" in report
    assert "Data: my-records" in report
    assert list((written / "results" / "store").rglob("*.parquet"))
    tested = command(written, "test", "./my_study")
    assert (tested.returncode, tested.stdout.count("keeps its contracts")) == (0, 3), tested.stdout + tested.stderr
    table = command(written, "table", "./my_study")
    assert table.returncode == 0
    assert "my descent" in table.stdout
    automatic = read_judged(results).query("origin == @AUTOMATIC")["claim"]
    (written / "claims.yaml").unlink()
    done = command(written, "run", "./my_study", *again, "--cores", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = re.findall(r"^(\w+) +\d+$", done.stderr, re.MULTILINE)  # in Snakemake's words, where it has an option
    assert "tables" in jobs or not again
    assert not re.search(r"\d\] play ", done.stderr), "plays are kept"
    assert "play" not in jobs
    assert set(read_judged(results)["claim"]) == set(automatic)  # what holds always
    rows = pd.read_csv(results / "table_1_all.csv")
    assert set(rows["group"]) == {"study"}
    names = {"my-descent.plain, descent", "my-descent.plain, hinge", "dp-ftrl-lipschitz.corrected, logistic"}
    assert set(rows["algorithm"]) == names
    assert again or "Data: my-records" in (results / "report.html").read_text()


def test_the_repository_of_the_docs_has_the_example_and_its_reference() -> None:
    assert (REPOSITORY / "regret" / DESCENT).read_text() == (studies.TEMPLATE / DESCENT).read_text()
    claims = yaml.safe_load((REPOSITORY / "regret" / "claims.yaml").read_text())["claims"]
    lines = Tables.read({"": REPOSITORY / "regret" / "reference"}).lines
    stated = {each["id"] for each in claims if "id" in each}
    assert set(lines.loc[lines["origin"] != AUTOMATIC, "claim"]) == stated
    assert list(study.mistakes(REPOSITORY / "regret")) == []


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("mistake", "step", "named"),
    [
        ("halved_noise", "audit", "my-descent.plain: BROKEN"),
        ("look_ahead", "test", "algorithms/experts/my_hedge.py:14: my-hedge.plain in experts: no look-ahead"),
    ],
)
def test_each_planted_mistake_is_caught_and_the_original_is_not(
    mistake: str, step: str, named: str, tmp_path: Path
) -> None:
    shutil.copytree(REPOSITORY, tmp_path / "repository", ignore=shutil.ignore_patterns("results", ".snakemake"))
    folder = tmp_path / "repository" / "regret"
    honest = command(folder, step, "./regret")
    assert honest.returncode == 0, honest.stdout + honest.stderr
    patch = folder.parent / "mistakes" / f"{mistake}.patch"
    subprocess.run(["git", "apply", patch], cwd=folder.parent, check=True)
    caught = command(folder, step, "./regret")
    assert caught.returncode == 1, caught.stdout + caught.stderr
    assert named in caught.stdout
