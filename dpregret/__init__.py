"""Reproducibility benchmark for differentially private online and projection-free optimisation.

>>> import dpregret as dp
>>> print(*filter(str.islower, dir(dp)))
audit check claim claims compare errata learners load papers play profiles records sets streams sweep

`play` a learner on a stream; `sweep` several over a grid of settings; `claim` of a paper, to `measure`; `check` it with
its figure; `audit` correlated noise of your own; `compare` two plays or two runs; `load` a run or the committed
reference; `records` of a CSV file. `learners`, `streams`, `sets`, `papers`, `profiles`, `claims` and `errata` list what
there is. A mistake of the caller is a `ConfigError`, what a learner or a stream does wrong a `LearnerFault` or a
`StreamFault`, rows that cannot be trusted a `RunsError`. Nothing is imported before it is used.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpregret.api import (
        audit,
        check,
        claim,
        claims,
        compare,
        errata,
        learners,
        load,
        papers,
        play,
        profiles,
        records,
        sets,
        streams,
        sweep,
    )
    from dpregret.core.errors import ConfigError
    from dpregret.core.learner_output import LearnerFault, StreamFault
    from dpregret.paper_figs.judge.runs import RunsError

    __version__: str

__all__ = [
    "ConfigError",
    "LearnerFault",
    "RunsError",
    "StreamFault",
    "audit",
    "check",
    "claim",
    "claims",
    "compare",
    "errata",
    "learners",
    "load",
    "papers",
    "play",
    "profiles",
    "records",
    "sets",
    "streams",
    "sweep",
]


_ERRORS = {
    "ConfigError": "core.errors",
    "LearnerFault": "core.learner_output",
    "RunsError": "paper_figs.judge.runs",
    "StreamFault": "core.learner_output",
}
"""Errors that callers meet, and where they are."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"dpregret.{_ERRORS.get(name, 'api')}"), name)


def _version() -> str:
    """The version that was installed: of the last tag, and how many commits later."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dpregret")
    except PackageNotFoundError:
        return "0+unknown"


def __dir__() -> list[str]:
    return list(__all__)


if os.environ.get("DPREGRET_STUDY"):  # see study.py; without a study nothing is imported
    from dpregret import study

    study.mount()
