"""Comparators that jobs keep for each other: the same bits, never those of another problem, harmless when spoilt."""

from dataclasses import astuple
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpregret.algorithms.geometry import make_set
from dpregret.datasets.bandit_streams import BanditComparator, make_bandit_stream
from dpregret.datasets.base import Comparator, Stream
from dpregret.datasets.expert_streams import ExpertComparator, make_expert_stream
from dpregret.datasets.streams import make_stream
from dpregret.workflows import hindsight
from dpregret.workflows.config import load_config
from dpregret.workflows.job import run_job
from dpregret.workflows.known import profile_path
from dpregret.workflows.seeds import generators

CHECKPOINTS = (8, 100)


def logistic():
    """A stream whose comparator is computed step by step."""
    return make_stream("ridge-logistic", make_set("ball", 3), pool_size=64)


def ask(folder, stream=None, seed=1, checkpoints=CHECKPOINTS):
    return hindsight.comparator(
        Comparator, stream or logistic(), generators(seed, "data", 3), checkpoints, folder=folder
    )


def bits(found):
    return [None if each is None else (each.dtype, each.shape, each.tobytes()) for each in astuple(found)]


def refuse(*_):
    raise AssertionError("computed again")


@pytest.mark.parametrize(
    ("kind", "stream", "asked"),
    [
        (Comparator, logistic, (CHECKPOINTS,)),
        (BanditComparator, lambda: make_bandit_stream("random-linear", make_set("simplex", 4)), (300,)),
        (ExpertComparator, lambda: make_expert_stream("bernoulli", 5, 40, epsilon=1.0), ()),
    ],
)
def test_a_comparator_that_was_kept_has_the_bits_of_a_fresh_one(kind, stream, asked, tmp_path, monkeypatch):
    fresh = stream().comparator(generators(1, "data", 3), *asked)
    made = hindsight.comparator(kind, stream(), generators(1, "data", 3), *asked, folder=tmp_path)
    monkeypatch.setattr(type(stream()), "comparator", refuse)
    read = hindsight.comparator(kind, stream(), generators(1, "data", 3), *asked, folder=tmp_path)
    assert bits(fresh) == bits(made) == bits(read)


def test_another_problem_is_another_file(tmp_path):
    """A seed, a checkpoint, one number of the data or of the set, the code."""
    ask(tmp_path)
    changed, moved = logistic(), logistic()
    changed.features[5, 1] = np.nextafter(changed.features[5, 1], 1.0)
    moved.domain.radius *= 1 + 1e-15
    for asked in ({"seed": 2}, {"checkpoints": (8, 101)}, {"stream": changed}, {"stream": moved}):
        before = len([*tmp_path.rglob("*.json")])
        ask(tmp_path, **asked)
        assert len([*tmp_path.rglob("*.json")]) == before + 1


def test_comparators_of_other_code_are_removed(tmp_path, monkeypatch):
    ask(tmp_path)
    (old,) = tmp_path.iterdir()
    monkeypatch.setattr(hindsight, "code", lambda: "edited")
    ask(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["edited"]
    assert old.name != "edited"


@pytest.mark.parametrize("spoil", [lambda text: text[:-9], lambda text: text.replace("1", "2"), lambda text: ""])
def test_a_spoilt_file_is_computed_again(spoil, tmp_path):
    fresh = ask(tmp_path)
    (file,) = tmp_path.rglob("*.json")
    written = file.read_text()
    file.write_text(spoil(written))
    assert bits(ask(tmp_path)) == bits(fresh)
    assert file.read_text() == written


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    assert bits(ask(blocked)) == bits(ask(None))


@pytest.mark.parametrize("beside", [lambda: None, np.array([None]), type("<locals>.Own", (), {})])
def test_a_stream_that_cannot_be_written_down_keeps_nothing(beside, tmp_path):
    stream = logistic()
    stream.beside = beside
    ask(tmp_path, stream)
    assert not [*tmp_path.iterdir()]


def test_jobs_share_comparators_and_their_rows_do_not_tell(tmp_path, monkeypatch):
    config, output = load_config(profile_path("smoke"), check=False), tmp_path / "rows.parquet"

    def rows(learner: str, variant: str, kept: Path | None) -> pd.DataFrame:
        run_job(config, "asi_et_al_2023", "smooth-horizon", learner, variant, output, tmp_path, kept=kept)
        return pd.read_parquet(output).filter(regex="^(?!seconds)")

    alone = rows("stay", "plain", None)
    rows("dp-ftrl", "corrected", tmp_path / "kept")
    monkeypatch.setattr(Stream, "comparator", refuse)
    pd.testing.assert_frame_equal(rows("stay", "plain", tmp_path / "kept"), alone, check_exact=True)
