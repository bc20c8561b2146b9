"""Noisy mirror descent, one learner a potential.

Algorithm   Talwar, Thakurta & Zhang 2015, Alg. 1: see mirror_descent.py. Section 3.2 names the potentials,
            but for the entropy (Appendix A).
Privacy     Unit: one record; neighbours: it is replaced by another. As there.
Guarantee   As there; Section 3.2 instantiates Theorem 3.2.
Deviations  As there, and printed: the factor by which the printed potential is too small (`Potential.over_printed`).
"""

from dpregret.algorithms.erm.mirror_descent import MirrorDescent
from dpregret.algorithms.learner import Card


def talwar_card(name: str, title: str, reference: str, *needs: str) -> Card:
    """The card of a learner of Alg. 1."""
    variants = {
        "corrected": "exact Gaussian-DP noise; iterations and step from the proof",
        "printed": "noise, iterations, step and potential as the statements print them",
    }
    paper = "Talwar, Thakurta & Zhang 2015"
    return Card(name, title, paper, reference, variants, needs=frozenset(needs))


class NoisyGradientDescent(MirrorDescent):
    """Euclidean potential: noisy projected gradient descent on any set."""

    potential_name = "euclidean"
    card = talwar_card("noisy-gd", "noisy GD", "Alg. 1")


class NoisyMirrorDescent(MirrorDescent):
    """The potential of the set's geometry, Euclidean where there is none."""

    potential_name = None
    card = talwar_card("noisy-md", "noisy mirror descent", "Alg. 1, Sec. 3.2")


class NoisyExponentiatedGradient(MirrorDescent):
    """Entropy of vertex weights: EG on the simplex, EG+- on the l1 ball, k weights on a polytope."""

    potential_name, natural_set = "entropy", "l1-ball"
    card = talwar_card("noisy-eg", "noisy mirror descent (entropy)", "Alg. 1, App. A", "potential:entropy")


class NoisyQNorm(MirrorDescent):
    """|theta|_q^2 on the l1 ball; printed 1 / (4 (q - 1)), half of what modulus 1 requires (Fact 3.4)."""

    potential_name, natural_set = "q-norm", "l1-ball"
    card = talwar_card("noisy-qnorm", "noisy mirror descent (q-norm)", "Alg. 1, Fact 3.4", "potential:q-norm")


class NoisyGrouped(MirrorDescent):
    """Power of block norms on the grouped l1 ball."""

    potential_name, natural_set = "grouped", "grouped-l1"
    card = talwar_card("noisy-grouped", "noisy mirror descent (grouped)", "Alg. 1, Sec. 3.2", "potential:grouped")


class NoisyNuclear(MirrorDescent):
    """Power of singular values on the nuclear-norm ball; printed 4 sqrt(e ln 2m) instead of 4 sqrt(e) ln 2m."""

    potential_name, natural_set = "spectral", "nuclear"
    card = talwar_card("noisy-nuclear", "noisy mirror descent (nuclear)", "Alg. 1, Sec. 3.2", "potential:spectral")
