"""The settings of a small valid run, and a checkout that has them."""

from __future__ import annotations

import copy
from typing import Any

import yaml
from checkout import Checkout

EXPERIMENT: dict[str, Any] = {
    "title": "Regret against the horizon",
    "sweep": "horizon",
    "set": "ball",
    "streams": ["norm-kink"],
    "dimension": [2],
    "horizon": [16, 32, 64, 128],
    "window": [4],
    "epsilon": [8.0],
    "delta": 1e-6,
    "runs": 2,
    "learners": {"wdp-cocop-gamma": ["corrected"], "ftal": ["plain"]},
}


def settings_of_a_run() -> dict[str, Any]:
    experiments = {"horizon": copy.deepcopy(EXPERIMENT)}
    return {"profile": "mine", "seed": 7, "papers": {"lou_cheung_2020": {"experiments": experiments}}}


def with_settings(checkout: Checkout, settings: dict[str, Any]) -> Checkout:
    (checkout.root / "mine.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
    return checkout
