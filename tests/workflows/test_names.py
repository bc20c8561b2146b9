from __future__ import annotations

from collections import Counter

from dpregret.workflows.families import FAMILIES
from dpregret.workflows.names import VARIANTS, display_names


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
