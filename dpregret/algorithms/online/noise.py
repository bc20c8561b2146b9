"""Noise plans of private gradient sums: valid calibration, and the one that Lou & Cheung 2020 print."""

import math
from collections.abc import Sequence

from dpregret.algorithms.learner import Problem, Setting
from dpregret.algorithms.privacy import Budget, NoiseDistribution, NoisePlan, PrefixSums, calibrate


def gradient_sums(
    distribution: NoiseDistribution,
    mechanisms: Sequence[PrefixSums],
    problem: Problem,
    settings: Sequence[Setting],
    printed: bool = False,
) -> NoisePlan:
    """Noise for running sums of gradients; replacing a loss moves a gradient by at most 2 L.

    printed: the scales of Lou & Cheung 2020, eqs. (15) and (16): sensitivity L + mu D (the Lipschitz constant of the
    surrogate loss, not the distance between two gradients) and, for Gaussian noise, variance
    8 (L + mu D)^2 (log2 W + 1)^2 ln^2(2/delta) / eps^2.
    """
    sensitivity = 2 * problem.lipschitz
    if printed:
        surrogate = problem.lipschitz + problem.strong_convexity * problem.domain.diameter
        scales = [
            printed_scale(distribution, setting.budget, surrogate, mechanism.nodes_per_item)
            for setting, mechanism in zip(settings, mechanisms, strict=True)
        ]
    else:
        scales = [
            calibrate(distribution, setting.budget, sensitivity, mechanism.nodes_per_item)
            for setting, mechanism in zip(settings, mechanisms, strict=True)
        ]
    return NoisePlan(distribution, mechanisms, scales, sensitivity, problem.domain.dimension)


def printed_scale(distribution: NoiseDistribution, budget: Budget, sensitivity: float, nodes: float) -> float:
    """Node scale of Lou & Cheung 2020, Lemma 1 (gamma) and Lemma 3 (gaussian, standard deviation)."""
    if math.isinf(budget.epsilon):
        return 0.0
    if distribution == "gaussian":
        return math.sqrt(8) * sensitivity * nodes * math.log(2 / budget.delta) / budget.epsilon
    return sensitivity * nodes / budget.epsilon
