"""What the check of configurations believes of streams and sets is what they are."""

import math
from pathlib import Path

import numpy as np
import pytest

from dpregret.algorithms.geometry import make_set
from dpregret.algorithms.online import catalogue
from dpregret.datasets import bundled
from dpregret.datasets.losses import RidgeSquared
from dpregret.datasets.pools import PoolStream
from dpregret.datasets.streams import STREAMS, make_stream
from dpregret.workflows.registry import DATA_DIMENSIONS, load_registry

REGISTRY = load_registry()


@pytest.mark.parametrize("name", sorted(set(STREAMS) - {"libsvm"}))
def test_traits_of_streams(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    entry = REGISTRY.streams[name]
    cache = tmp_path_factory.mktemp("cache")
    options: dict[str, Path] = {}
    if entry.bundled:
        bundled.prepare(name, cache / f"{name}.npz")
        options["data_dir"] = cache
    stream = make_stream(name, make_set("ball", entry.dimension or 4), **options)
    assert entry.smooth == math.isfinite(stream.smoothness)
    assert entry.quadratic == (isinstance(stream, PoolStream) and stream.family is RidgeSquared)
    assert entry.bundled == stream.real
    assert entry.strongly_convex == (stream.strong_convexity > 0)
    assert entry.best_loss == hasattr(stream, "best_loss")
    loss = next(stream.rounds([np.random.default_rng(0)], 1))
    assert entry.quadratic_sums == hasattr(loss, "quadratic_form")


def test_bundled_data_are_all_known() -> None:
    assert set(DATA_DIMENSIONS) == set(bundled.BUNDLED)


def test_learners_sets_and_streams_are_those_that_are_installed() -> None:
    assert {name: entry.variants for name, entry in REGISTRY.learners.items()} == {
        name: tuple(learner.card.variants) for name, learner in catalogue().items()
    }
    assert set(REGISTRY.streams) == set(STREAMS)
    assert REGISTRY.sets["ball"]
    assert REGISTRY.sets["simplex"]


def test_options_are_tried_where_no_data_are_needed() -> None:
    REGISTRY.try_stream("drift", "ball", 4, 1.0, {"period": 64})
    REGISTRY.try_stream("digits", "ball", 4, 1.0, {"nonsense": 1})  # only the job can tell
    with pytest.raises(ValueError, match="period"):
        REGISTRY.try_stream("drift", "ball", 4, 1.0, {"period": 3})
    with pytest.raises(ValueError, match="spred"):
        REGISTRY.try_stream("drift", "ball", 4, 1.0, {"spred": 0.1})
