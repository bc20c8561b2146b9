"""What claims are when they are frozen, and the seeds that follow: nobody chooses them.

The canonical text of a profile is JSON with sorted keys: of each paper what decides its claims (no prose) and its
experiments, without the master seed. Fresh seed number i = 1, 2, ... is the first 32 bits of the SHA-256 of `DIGEST i`,
where DIGEST is the SHA-256 of that text in hexadecimal digits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from dpregret.paper_figs.judge.claims import ClaimsFile
from dpregret.paper_figs.judge.confirmed import DIGITS, canonical, decisive, digest
from dpregret.workflows.families.interface import Experiment
from dpregret.workflows.plan.config import Config


def text_of(config: Config, papers: Mapping[str, ClaimsFile]) -> str:
    """The canonical text of the claims and experiments of all papers of a profile."""
    content = {
        paper: {
            "claims": [decisive(claim) for claim in papers[paper].claims],
            "experiments": {
                name: experiment.model_dump(mode="json", exclude={"title"})
                for name, experiment in settings.experiments.items()
            },
        }
        for paper, settings in config.papers.items()
    }
    return canonical({"profile": config.profile, "papers": content})


def digest_of(config: Config, papers: Mapping[str, ClaimsFile]) -> str:
    """SHA-256 of the canonical text."""
    return hashlib.sha256(text_of(config, papers).encode()).hexdigest()


def fresh_seeds(frozen: str, count: int, date: str = "") -> list[int]:
    """The first fresh seeds that follow from the digest of a canonical text, and from a date where one is given."""
    words = [f"{frozen} {date} {number}" if date else f"{frozen} {number}" for number in range(1, count + 1)]
    return [int(hashlib.sha256(each.encode()).hexdigest()[:8], 16) for each in words]


def digests(config: Config, paper: str, claims: ClaimsFile) -> dict[str, str]:
    """Claim -> hash of what decides its verdict, but for code and seed, in this profile."""
    settings = config.papers[paper].experiments if paper in config.papers else {}
    hashes = {name: settings_of(experiment) for name, experiment in settings.items()}
    return {claim.id: digest(claim, hashes.get(claim.experiment, "")) for claim in claims.claims}


def settings_of(experiment: Experiment) -> str:
    """Hash of the settings of an experiment: a title, or another learner, changes no verdict."""
    content = canonical(experiment.model_dump(mode="json", exclude={"title", "learners"}))
    return hashlib.sha256(content.encode()).hexdigest()[:DIGITS]
