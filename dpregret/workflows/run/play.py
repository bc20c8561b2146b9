"""One play: a learner variant over the whole grid of one experiment, all runs together, as tidy rows."""

from __future__ import annotations

import contextlib
import errno
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from dpregret.core.checks import LearnerFault
from dpregret.paper_figs.judge.runs import check_rows
from dpregret.workflows.families.base import Draws, Experiment, Family
from dpregret.workflows.run.child import in_words

MACHINE = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE", "ESTALE", "ENOMEM", "ETIMEDOUT", "ENOLCK")
    if hasattr(errno, name)
}
"""Faults of files that are the machine's, whatever requested the file."""
PLAIN: dict[str, Any] = {
    "window": 0, "noise_distribution": "none",
    **dict.fromkeys(("noise_scale", "mu_gdp", "bound"), math.nan),
    **dict.fromkeys(("noise_norm", "displacement", "violation", "comparator_gap"), 0.0),
}  # fmt: skip
"""Columns that a family without them may leave out."""
Say = Callable[[str], None]


@contextlib.contextmanager
def blamed(where: str) -> Iterator[None]:
    """Turn whatever is raised into a LearnerFault that names the cell; faults of the machine stay what they are."""
    try:
        yield
    except BaseException as fault:
        if isinstance(fault, MemoryError) or (isinstance(fault, OSError) and fault.errno in MACHINE):
            raise
        raise LearnerFault(f"{fault if isinstance(fault, LearnerFault) else in_words(fault)}; {where}") from fault


@contextlib.contextmanager
def own_generators() -> Iterator[None]:
    """Refuse draws from the global random state of NumPy or Python: no seed of the configuration decides them."""
    before = _global_state()
    yield
    if _global_state() != before:
        raise LearnerFault("changes a global random state: draw from the generators that the learner is given")


def _global_state() -> tuple[Any, ...]:
    name, keys, *rest = np.random.get_state()  # noqa: NPY002
    return name, np.asarray(keys).tobytes(), *rest, random.getstate()


def play(
    family: Family[Any, Any, Any], experiment: Experiment, learner_class: Any, variant: str, draws: Draws, say: Say
) -> pd.DataFrame:
    """Rows of every run and cell; columns as in docs/architecture.md, without the labels of an experiment.

    say: receives the cell that comes next. Raises LearnerFault for whatever a learner does, MemoryError and OSError
    where it is the machine's.
    """
    frames = []
    for cell in family.cells(experiment, learner_class.card):
        where = f"on {cell}"
        say(where)
        problem = family.problem(cell, experiment, draws)
        with blamed(where), own_generators():
            learner = family.learner(learner_class, problem, cell, experiment, variant)
            frame = family.play(learner, problem, cell, draws)
            check_rows(frame, getattr(problem, "domain", None))
        frames.append(frame)
    rows = pd.concat(frames, ignore_index=True)
    return rows.assign(**{name: value for name, value in PLAIN.items() if name not in rows})
