"""Where privacy comes from: noise laws, budgets and ledgers, private prefix sums."""

from dpregret.algorithms.privacy.budget import (
    Budget,
    Release,
    calibrate,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    largest_within,
    smallest_epsilon,
)
from dpregret.algorithms.privacy.buffers import BufferedToeplitz, WindowBuffers
from dpregret.algorithms.privacy.choice import ALTERNATIVES, PURE_ALTERNATIVES, horizon_sums, window_sums
from dpregret.algorithms.privacy.noise import Joint, NoiseDistribution, root_mean_square_norm, unit_noise
from dpregret.algorithms.privacy.prefix_sums import (
    BLOCK,
    NoisePerItem,
    NoisePerPrefix,
    NoisePlan,
    PrefixSums,
    keyed_generators,
)
from dpregret.algorithms.privacy.toeplitz import Root, UnboundedToeplitz, WindowRoot
from dpregret.algorithms.privacy.trees import WindowTree, is_power_of_two

__all__ = [
    "ALTERNATIVES",
    "BLOCK",
    "PURE_ALTERNATIVES",
    "Budget",
    "BufferedToeplitz",
    "Joint",
    "NoiseDistribution",
    "NoisePerItem",
    "NoisePerPrefix",
    "NoisePlan",
    "PrefixSums",
    "Release",
    "Root",
    "UnboundedToeplitz",
    "WindowBuffers",
    "WindowRoot",
    "WindowTree",
    "calibrate",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "horizon_sums",
    "is_power_of_two",
    "keyed_generators",
    "largest_within",
    "root_mean_square_norm",
    "smallest_epsilon",
    "unit_noise",
    "window_sums",
]
