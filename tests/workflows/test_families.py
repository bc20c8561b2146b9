"""What the families say of learners and streams before anything is built is what these are."""

import math
from pathlib import Path

import numpy as np
import pytest

from dpregret.algorithms.geometry import make_set
from dpregret.datasets import bundled
from dpregret.datasets.base import Source, UnreadDataError
from dpregret.datasets.losses import RidgeSquared
from dpregret.datasets.pool_streams import PoolStream
from dpregret.datasets.streams import Stream, make_stream
from dpregret.workflows.families import DEFAULT, FAMILIES

ROOT = Path(__file__).resolve().parents[2]
ONLINE = FAMILIES["online"].streams


def test_a_family_has_one_name_from_folder_to_configuration() -> None:
    assert DEFAULT in FAMILIES
    for name, family in FAMILIES.items():
        assert (ROOT / "algorithms" / name / "__init__.py").is_file()
        assert family.experiment.model_json_schema()["properties"]["family"]["const"] == name
        assert family.learners
        assert all(issubclass(stream, Source) for stream in family.streams.values())


@pytest.mark.parametrize("name", sorted(set(ONLINE) - {"fetched", "fetched-regression", "records-logistic"}))
def test_traits_of_streams(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    entry, data_dir = ONLINE[name], tmp_path_factory.mktemp("cache")
    assert issubclass(entry, Stream)
    if entry.data in bundled.BUNDLED:
        bundled.prepare(entry.data, data_dir / f"{entry.data}.npz")
    stream = make_stream(name, make_set("ball", entry.columns or 4), data_dir=data_dir)
    assert ("smooth" in entry.traits) == math.isfinite(stream.smoothness)
    assert ("quadratic" in entry.traits) == (isinstance(stream, PoolStream) and stream.family is RidgeSquared)
    assert ("strongly-convex" in entry.traits) == (stream.strong_convexity > 0)
    assert ("best-loss" in entry.traits) == (stream.best_loss is not None)
    assert (entry.data is not None) == stream.real
    loss = next(stream.rounds([np.random.default_rng(0)], 1))
    assert ("quadratic-sums" in entry.traits) == hasattr(loss, "quadratic_form")


def test_needs_of_learners_are_traits_of_streams_where_streams_decide() -> None:
    decided = {trait for stream in ONLINE.values() for trait in stream.traits}
    needs = {need for learner in FAMILIES["online"].learners.values() for need in learner.card.needs}
    assert decided - {"strongly-convex"} <= needs
    assert needs - decided == {"local-oracle", "solver"}


def test_options_are_read_before_data_are_missed() -> None:
    ball = make_set("ball", 64)
    with pytest.raises(UnreadDataError):
        make_stream("digits", ball)
    with pytest.raises(ValueError, match="'digits' has no option 'nonsense'; allowed: none"):
        make_stream("digits", ball, nonsense=1)
    with pytest.raises(ValueError, match="period"):
        make_stream("drift", ball, period=3)
    with pytest.raises(ValueError, match="spred"):
        make_stream("drift", ball, spred=0.1)
