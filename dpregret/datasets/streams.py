"""Streams of losses by name; the one entrance to the streams of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpregret.core.sets import ConstraintSet
from dpregret.datasets.base import Comparator, Stream
from dpregret.datasets.catalogue import build

__all__ = ["Comparator", "Stream", "make_stream"]


def make_stream(
    name: str,
    domain: ConstraintSet,
    *,
    strong_convexity: float = 1.0,
    data_dir: str | Path | None = None,
    clip: bool = False,
    **options: Any,
) -> Stream:
    """Build a stream of losses on a constraint set.

    ``strong_convexity`` is mu > 0 of every loss (for the pool-based streams, the weight of the ridge; the realizable
    ones have none and ignore it). ``data_dir`` is the folder of prepared data, for streams that read some. ``clip``:
    what learners see of a gradient is at most the declared Lipschitz constant long. Options are the parameters of the
    stream's class after the first two.

    Raises ValueError for an unknown name or option, a missing option, a bad value, or a set whose dimension is not
    that of the data; `catalogue.UnreadDataError` where all fits but data are needed and `data_dir` was not given.
    """
    if not (np.isfinite(strong_convexity) and strong_convexity > 0.0):
        raise ValueError(f"strong_convexity must be positive and finite, got {strong_convexity}")
    stream: Stream = build("stream", Stream, name, (domain, strong_convexity), options, data_dir)
    stream.clip = clip
    return stream
