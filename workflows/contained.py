"""Experiments that lie inside another: their rows are taken from its file instead of played again.

A sweep of the horizon at three windows is part of a sweep of the window over the same rounds. A run's random numbers
depend on its seed and its problem, and its settings do not see each other, so the rows are equal byte by byte.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable

from dpregret.workflows.config import Config, Job, experiment_jobs
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.base import HasTraits, Plays


def card_of(family: str, learner: str) -> HasTraits:
    """Of the class itself."""
    card: HasTraits = FAMILIES[family].learners[learner].card
    return card


def hosts(config: Config, card: Callable[[str, str], HasTraits] = card_of) -> dict[Job, Job]:
    """Job -> the job that plays all that it asks for: of the same paper, learner and variant. Hosts have none."""
    alike: defaultdict[Hashable, dict[Job, Plays]] = defaultdict(dict)
    for job in experiment_jobs(config):
        experiment = config.experiment(job.paper, job.experiment)
        plays = FAMILIES[experiment.family].plays(experiment, card(experiment.family, job.learner))
        if plays:
            alike[job.paper, experiment.family, job.learner, job.variant][job] = plays
    found: dict[Job, Job] = {}
    for plays_of in alike.values():
        order = list(plays_of)
        above = {job: [other for other in order if _within(plays_of, order, job, other)] for job in order}
        for job, larger in above.items():
            if larger:
                found[job] = next(other for other in larger if not above[other])
    return found


def _within(plays_of: dict[Job, Plays], order: list[Job], job: Job, other: Job) -> bool:
    """Whether all of a job's plays are the other's too; of two that are equal, the first is host."""
    inner, outer = plays_of[job], plays_of[other]
    if job == other or not all(settings <= outer.get(play, frozenset()) for play, settings in inner.items()):
        return False
    return inner != outer or order.index(other) < order.index(job)
