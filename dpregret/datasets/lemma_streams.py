"""Streams of lemmas: no losses, but noise and vectors that the lemma itself draws."""

from dpregret.datasets.base import Source


class Quantities(Source):
    """Whatever a lemma bounds."""


class Noise(Quantities):
    """Noise, or random vectors, by the lemma's own law: any other would not be the lemma's."""

    name = "noise"
    tight = True
    stochastic = True
