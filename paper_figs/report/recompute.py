"""The one command that measures a claim again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from dpregret.paper_figs.claims import Claim

SNAKEMAKE = ".venv/bin/snakemake --cores all"


@dataclass(frozen=True)
class Recompute:
    """What commands need to know of a run.

    runs: folder of the runs, one folder a paper. results: folder of results as a command names it. profile: what
    follows `--config profile=`, empty for the full one. hosts: job whose rows stand in the file of a larger one -> that
    one; a job is `paper/experiment/learner.variant`.
    """

    runs: Path
    results: str = "results"
    profile: str = ""
    hosts: Mapping[str, str] = field(default_factory=dict)

    def command(self, paper: str, claim: Claim) -> str:
        """Play again what the claim is judged by, and judge the paper's claims.

        Of a claim that this run does not test: the command of the full profile that does.
        """
        jobs = self._jobs(paper, claim)
        if not jobs:
            return f"{SNAKEMAKE} results/{paper}/claims.csv"
        files = " ".join(f"{self.results}/{'/runs/'.join(job.split('/', 1))}.parquet" for job in jobs)
        config = f" --config profile={self.profile}" if self.profile else ""
        return f"{SNAKEMAKE} --force {files} {self.results}/{paper}/claims.csv{config}"

    def _jobs(self, paper: str, claim: Claim) -> list[str]:
        """The learner's jobs and its counterpart's, those first that hold their rows."""
        folder = self.runs / paper / claim.experiment
        wanted = [(claim.learner, claim.variant)]
        if claim.counterpart is not None:
            wanted.append((claim.counterpart.learner, claim.counterpart.variant))
        there = sorted(path.stem for path in folder.glob("*.parquet"))
        found = [f"{paper}/{claim.experiment}/{name}" for learner, variant in wanted for name in there
                 if fnmatchcase(name, f"{learner}.{variant}")]  # fmt: skip
        hosts = [self.hosts[job] for job in found if job in self.hosts]
        return list(dict.fromkeys((*hosts, *found)))
