from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np

from dpregret.paper_figs.figures.style import GREY, Looks, hue_of
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan.facts import VARIANTS, display_names
from dpregret.workflows.plan.load import read_profile


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
