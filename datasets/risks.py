"""Empirical risks by name; the one entrance to the families of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np

from dpregret.datasets import risk_lasso, risk_simple
from dpregret.datasets.families import build
from dpregret.datasets.risk_base import EmpiricalRisk, RiskDomain
from dpregret.datasets.risk_lasso import growing_dimension

__all__ = ["REAL_RISKS", "RISKS", "EmpiricalRisk", "RiskDomain", "growing_dimension", "make_risk"]

REAL_RISKS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"diabetes-risk": (442, 10), "breast-cancer-risk": (569, 30), "digits-risk": (1797, 64)}
)
"""Real risks -> number of records and of features."""

RISKS: Mapping[str, Callable[..., EmpiricalRisk]] = MappingProxyType(
    {
        "norm-kink-risk": risk_simple.NormKinkRisk,
        "quadratic-risk": risk_simple.QuadraticRisk,
        "collapse": risk_simple.Collapse,
        "lasso-easy": risk_lasso.lasso_easy,
        "hetero-consensus": risk_lasso.hetero_consensus,
        "dense-growing": risk_lasso.dense_growing,
        "fingerprint": risk_lasso.fingerprint,
        "logistic-risk": risk_simple.LogisticRisk,
        **{name: partial(risk_lasso.real_risk, name, name.removesuffix("-risk")) for name in REAL_RISKS},
    }
)
"""Risk name -> its family, whose parameters after domain, samples and generators are the options of ``make_risk``."""


def make_risk(
    name: str, domain: RiskDomain, samples: int, generators: Sequence[np.random.Generator], **options: object
) -> EmpiricalRisk:
    """Build the risk of a data set of ``samples`` records on a constraint set, one data set a run.

    A run's data depend on its own generator only. Options: norm-kink-risk (majority, radius), quadratic-risk
    (strong_convexity, spread), collapse (active), lasso-easy (sparsity, truth_norm, noise), hetero-consensus (strength,
    spread), dense-growing (none), fingerprint (tau, flipped), logistic-risk (pool_size, pool_seed, signal),
    diabetes-risk, breast-cancer-risk and digits-risk (data_dir, scale).

    Raises ValueError for an unknown name or option, a missing option, or values that the family cannot serve.
    """
    risk: EmpiricalRisk = build("risk", RISKS, name, (domain, samples, generators), options)
    return risk
