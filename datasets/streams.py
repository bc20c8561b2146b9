"""Streams of losses by name; the one entrance to the families of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from dpregret.datasets import pools, realizable, synthetic
from dpregret.datasets.base import Comparator, Domain, Stream
from dpregret.datasets.families import build

__all__ = ["STREAMS", "Comparator", "Domain", "Stream", "make_stream"]

STREAMS: Mapping[str, Callable[..., Stream]] = MappingProxyType(
    {
        "smooth-quadratic": synthetic.SmoothQuadratic,
        "random-kink": synthetic.RandomKink,
        "norm-kink": synthetic.FixedNormKink,
        "drift": synthetic.Drift,
        "realizable-quadratic": realizable.RealizableQuadratic,
        "realizable-direction": realizable.RealizableDirection,
        "half-space": realizable.HalfSpaces,
        "ridge-logistic": pools.ridge_logistic,
        "lasso": pools.lasso,
        "breast-cancer": pools.breast_cancer,
        "digits": pools.digits,
        "diabetes": pools.diabetes,
        "libsvm": pools.libsvm,
    }
)
"""Stream name -> its family, whose parameters after the first two are the options of ``make_stream``."""


def make_stream(name: str, domain: Domain, *, strong_convexity: float = 1.0, **options: object) -> Stream:
    """Build a stream of losses on a constraint set.

    ``strong_convexity`` is mu > 0 of every loss (for the pool-based families, the weight of the ridge; the realizable
    ones have none and ignore it). Options: realizable-quadratic and realizable-direction (smoothness), half-space
    (none), smooth-quadratic (spread), drift (spread, period), random-kink (none), norm-kink (weight), ridge-logistic
    (pool_size, pool_seed, signal), lasso (pool_size, pool_seed, sparsity, truth_norm, noise), breast-cancer, digits
    and diabetes (data_dir, the folder of the converted data), libsvm (source, data_dir).

    Raises ValueError for an unknown name or option, a missing option, a bad value, or a set whose dimension is not
    that of the data.
    """
    if not (np.isfinite(strong_convexity) and strong_convexity > 0.0):
        raise ValueError(f"strong_convexity must be positive and finite, got {strong_convexity}")
    stream: Stream = build("stream", STREAMS, name, (domain, strong_convexity), options)
    return stream
