"""Streams of losses by name; the one entrance to the families of this package."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from dpregret.datasets import pools, synthetic
from dpregret.datasets.base import Comparator, Domain, Stream

__all__ = ["STREAMS", "Comparator", "Domain", "Stream", "make_stream"]

STREAMS: Mapping[str, Callable[..., Stream]] = MappingProxyType(
    {
        "smooth-quadratic": synthetic.SmoothQuadratic,
        "random-kink": synthetic.RandomKink,
        "norm-kink": synthetic.FixedNormKink,
        "drift": synthetic.Drift,
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

    ``strong_convexity`` is mu > 0 of every loss (for the pool-based families, the weight of the ridge). Options:
    smooth-quadratic (spread), drift (spread, period), random-kink (none), norm-kink (weight), ridge-logistic
    (pool_size, pool_seed, signal), lasso (pool_size, pool_seed, sparsity, truth_norm, noise), breast-cancer, digits
    and diabetes (data_dir, the folder of the converted data), libsvm (source, data_dir).

    Raises ValueError for an unknown name or option, a missing option, a bad value, or a set whose dimension is not
    that of the data.
    """
    family = STREAMS.get(name)
    if family is None:
        nearest = difflib.get_close_matches(name, STREAMS, n=1, cutoff=0.0)[0]
        raise ValueError(f"unknown stream {name!r}; did you mean {nearest!r}? allowed: {', '.join(STREAMS)}")
    if not (np.isfinite(strong_convexity) and strong_convexity > 0.0):
        raise ValueError(f"strong_convexity must be positive and finite, got {strong_convexity}")
    parameters = list(inspect.signature(family).parameters.values())[2:]
    known = [parameter.name for parameter in parameters]
    for option in options:
        if option not in known:
            raise ValueError(f"stream {name!r} has no option {option!r}; allowed: {', '.join(known) or 'none'}")
    for parameter in parameters:
        if parameter.default is parameter.empty and parameter.name not in options:
            raise ValueError(f"stream {name!r} needs the option {parameter.name!r}")
    return family(domain, strong_convexity, **options)
