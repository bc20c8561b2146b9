"""What the families say of learners and streams before anything is built is what these are; each has its name."""

import math
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from dpregret.algorithms.geometry import make_set
from dpregret.datasets import bundled
from dpregret.datasets.base import Source, UnreadDataError
from dpregret.datasets.losses import RidgeSquared
from dpregret.datasets.pool_streams import PoolStream
from dpregret.datasets.streams import Stream, make_stream
from dpregret.paper_figs.figures.style import GREY, Looks, hue_of
from dpregret.workflows.families import DEFAULT, FAMILIES
from dpregret.workflows.plan.facts import VARIANTS, display_names
from dpregret.workflows.plan.load import read_profile

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
    with pytest.raises(UnreadDataError):
        make_stream("digits", make_set("ball", 64))
    with pytest.raises(ValueError, match="'digits' has no option 'nonsense'; allowed: none"):
        make_stream("digits", make_set("ball", 64), nonsense=1)


def test_every_learner_has_a_name_of_its_own_that_fits_a_legend() -> None:
    names = display_names()
    for family in FAMILIES.values():
        learners = [names[learner] for learner in family.learners]
        full = [names[f"{name}.{variant}"] for name, each in family.learners.items() for variant in each.card.variants]
        for found in (learners, full):
            assert not [name for name, count in Counter(found).items() if count > 1]
        assert max(map(len, learners)) <= 32, max(learners, key=len)
        assert max(map(len, full)) <= 48, max(full, key=len)
    assert names["wdp-cocop-gaussian.printed-noise"] == "WDP-COCOP (Gaussian), noise as printed"
    assert names["wdp-cocop-gaussian.corrected"] == "WDP-COCOP (Gaussian), corrected"
    assert names["noise-per-gradient.corrected"] == names["noise-per-gradient"] == "FTAL, noise per gradient"


def test_no_words_are_of_a_variant_that_is_not_there() -> None:
    names = display_names()
    assert [variant for variant in VARIANTS if f".{variant}" not in names] == []


def test_private_learners_of_an_experiment_never_look_alike() -> None:
    """Neither the same marker in close colours, in any experiment of the papers."""
    looks, alike = Looks(display_names()), []
    papers = read_profile(Path("workflows/config/full.yaml")).data["papers"]
    for experiment in (each for paper in papers.values() for each in paper["experiments"].values()):
        keys = [f"{learner}.{variant}" for learner, own in experiment["learners"].items() for variant in own]
        for one, two in combinations([key for key in keys if hue_of(key) != GREY], 2):
            first, second = looks.at(one), looks.at(two)
            apart = np.linalg.norm(np.subtract(first.colour, second.colour))
            if first.marker == second.marker and apart < 0.35:
                alike.append((one, two))
    assert alike == []
