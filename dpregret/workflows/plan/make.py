"""Turn a configuration into a plan: every play and every item that a job makes, each with its key.

`python -m dpregret.workflows.plan.make OPTIONS` prints the plan for some options, or what is wrong; all as JSON.
"""

from __future__ import annotations

import contextlib
import csv
import gc
import hashlib
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from dpregret.core import child
from dpregret.core.errors import ConfigError, fault
from dpregret.core.files import checksum, reference
from dpregret.core.paper_names import short_names
from dpregret.datasets import records
from dpregret.paper_figs.judge.claims import ClaimsFile
from dpregret.paper_figs.judge.confirmed import FOLDER, TABLE
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.interface import Experiment
from dpregret.workflows.plan import cross_references, facts, fingerprint, frozen, load
from dpregret.workflows.plan.config import AuditSize, Config, ValidationSize, data_of, parse_limits, results_of
from dpregret.workflows.plan.keys import STORE, here, holds, key_of
from dpregret.workflows.plan.read import ALL_VERSIONS, DIGITS, FORMAT, Item, Play, versions
from dpregret.workflows.plan.semantic_checks import predicted

PLAYS_PER_JOB: Final = 32
"""Unless a profile says another number: to start a job takes as long as one or two plays."""
JOBS: Final = "jobs.csv"
COMPARED: Final = ("claims.csv", "checks.csv", JOBS, "audit.csv", "planted.csv", "exact_losses.csv")
"""The files of the reference that a gate reads."""


def planned(options: Mapping[str, Any], on_progress: child.OnProgress) -> dict[str, Any]:
    """plan: content of a `read.Plan`, None where there are problems; problems: one line for each mistake."""
    try:
        source = load.check_options(dict(options))
        read: dict[str, str] = {}
        check_records()
        config = load.load_config(
            source, limits=parse_limits(options.get("limits")), read=read, on_progress=on_progress, unplayed=unplayed
        )
        papers = cross_references.check_references(config)
        read |= {str(file.path): checksum(file.path) for file in records.declared().values()}
        plan = _PlanMaker(config, papers).plan(read)
        fingerprint.keep()
        return {"plan": plan, "problems": []}
    except (ConfigError, OSError) as error:
        return {"plan": None, "problems": list(getattr(error, "problems", [str(error)]))}
    except Exception as error:
        return {"plan": None, "problems": [fault(error)]}


def unplayed(config: Config, paper: str, name: str) -> list[str]:
    """The learners of an experiment of which a play is neither in the store nor in the committed reference: only these
    need a check."""
    committed, settings = _committed(reference(results_of(config)) / paper / JOBS), config.hash(paper, name)
    new = (
        play.learner
        for play, _ in plays(config.seed, config.experiment(paper, name))
        if (settings, play.learner, play.variant, play.code) not in committed and not holds(play.key)
    )
    return list(dict.fromkeys(new))


@cache
def _committed(jobs: Path) -> frozenset[tuple[str, ...]]:
    """Settings, learner, variant and code of the plays that a reference holds; none where it cannot be read."""
    decided = itemgetter("config_hash", "learner", "variant", "code_hash")
    with contextlib.suppress(OSError, ValueError, LookupError, csv.Error):
        rows = csv.DictReader(jobs.read_text(encoding="utf-8").splitlines())
        return frozenset(decided(row) for row in rows if row["status"] == "ok")
    return frozenset()


def short(content: object) -> str:
    """A short key."""
    return key_of(content)[:DIGITS]


def plays(seed: int, experiment: Experiment) -> Iterator[tuple[Play, list[Path]]]:
    """The plays of an experiment in its order, each with the files of its code.

    A key is the hash of all that decides the rows: settings, seed, data, versions, learner and code.
    """
    family = FAMILIES[experiment.family]
    common = {
        "settings": experiment.model_dump(mode="json", exclude={"title", "learners"}),
        "seed": seed,
        "data": {name: data_key(name) for name in data_of(experiment)},
        "versions": versions(),
    }
    streams = [family.streams[name].__module__ for name in experiment.streams]
    for learner, variants in experiment.learners.items():
        module = family.learners[learner].__module__
        code, files = fingerprint.play_code(family.name, module, *streams)
        for variant in variants:
            key = key_of({**common, "learner": learner, "variant": variant, "code": code})
            yield Play(learner, variant, module, code, key), files


@cache
def data_key(name: str) -> str:
    """Hash of the inputs of a prepared data set: code, versions, and its declaration where it is a download."""
    from dpregret.datasets import fetch

    declared = records.declaration(name)
    if declared is None and (download := fetch.Declared.read_all().get(name)):
        declared = download.model_dump(mode="json")
    return short([name, fingerprint.fingerprint(fingerprint.stage_files("data")), versions(), declared])


def data_file(name: str) -> str:
    """The file of a prepared data set."""
    return f"{STORE}/data/{name}.{data_key(name)}.npz"


def data_files(experiment: Experiment) -> dict[str, str]:
    """Prepared data that an experiment reads -> their file."""
    return {name: data_file(name) for name in data_of(experiment)}


def check_records() -> None:
    """Read the records of the study that are not prepared yet. Raises ConfigError for what is wrong with a file."""
    problems: list[str] = []
    for name, file in records.declared().items():
        try:
            if not Path(data_file(name)).exists():
                file.read()
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)


def listed_code(code: Mapping[str, Sequence[Path]]) -> dict[str, Any]:
    """Fingerprints and the files behind them, as a plan holds them: each file is named once."""
    files = sorted({path for paths in code.values() for path in paths})
    numbers = {path: number for number, path in enumerate(files)}
    return {
        "files": [fingerprint.name_of(path) for path in files],
        "code": {name: [numbers[path] for path in paths] for name, paths in code.items()},
    }


class _PlanMaker:
    """Builds a plan; every item comes after its inputs."""

    def __init__(self, config: Config, papers: Mapping[str, ClaimsFile]):
        self.config, self.papers = config, papers
        self.results = results_of(config).as_posix()
        self.code: dict[str, list[Path]] = {}
        self.items: dict[str, Item] = {}
        self.parts: dict[str, dict[str, Any]] = {}
        self.batches: dict[str, dict[str, dict[str, Any]]] = {}
        self.names = facts.display_names()
        self.name_key = short(self.names)

    def plan(self, read: Mapping[str, str]) -> dict[str, Any]:
        """The whole plan in types of JSON."""
        papers = list(self.config.papers)
        audit, simulated = self.config.audit or AuditSize(), self.config.validation or ValidationSize()
        for paper in papers:
            self._runs(paper)
        self._audit(audit)
        for paper in papers:
            self._paper(paper)
        everything = self._whole(papers, simulated.simulations)
        self._confirmation(papers)
        self._gates(papers)
        return {
            "format": FORMAT,
            "profile": self.config.profile,
            "results": self.results,
            "config": self.config.to_json(),
            "read": {_relative(name): digest for name, digest in {**read, **self._read_of_study()}.items()},
            "papers": short_names(papers),
            "families": list(FAMILIES),
            "audit": self.config.audit is not None,
            "validation": self.config.validation is not None,
            "names": self.names,
            "settings": {paper: self.config.fingerprint(paper) for paper in papers},
            "sizes": {**audit.model_dump(), **simulated.model_dump(), "seed": self.config.seed},
            "parts": self.parts,
            "batches": self.batches,
            "items": self.items,
            "everything": everything,
            **listed_code(self.code),
        }

    def _read_of_study(self) -> dict[str, str]:
        """The files that are part of keys and lie outside of the package, each with its SHA-256."""
        files = {path for paths in self.code.values() for path in paths}
        theirs = [path for path in files if not path.is_relative_to(fingerprint.ROOT / fingerprint.PACKAGE)]
        return {str(path): hashlib.sha256(fingerprint.content(path)).hexdigest() for path in sorted(theirs)}

    def _add(
        self, name: str, stage: str, inputs: Iterable[str] = (), *further: object, texts: Iterable[str] = ()
    ) -> None:
        """Add what the script of a stage makes. Part of its key are `further` and the texts of the papers `texts`."""
        files, needed = fingerprint.stage_files(stage, *texts), tuple(inputs)
        code = fingerprint.fingerprint(files)
        self.code[code] = files
        key = key_of([name, code, versions(ALL_VERSIONS), [self.items[each].key for each in needed], further])
        self.items[name] = Item(key, code, needed)

    def _runs(self, paper: str) -> None:
        """The parts of a paper's experiments, and the batches that play them."""
        parts: dict[str, dict[str, Any]] = {}
        for name, experiment in self.config.papers[paper].experiments.items():
            experiment_plays = list(plays(self.config.seed, experiment))
            self.code.update({play.code: files for play, files in experiment_plays})
            size = self.config.plays_per_job or len(experiment_plays)
            data = data_files(experiment)
            for file in data.values():
                self._add(f"data/{Path(file).stem}", "data", (), Path(file).stem)
            for first in range(0, len(experiment_plays), size):
                job_plays = [play for play, _ in experiment_plays[first : first + size]]
                number = f".{first // size}" if size < len(experiment_plays) else ""
                key = short([paper, name, [[play.learner, play.variant, play.key] for play in job_plays]])
                parts[key] = {
                    "experiment": name,
                    "file": f"{self.results}/{paper}/runs/{name}{number}.parquet",
                    "settings": self.config.hash(paper, name),
                    "data": data,
                    "plays": job_plays,
                }
        self.parts[paper], self.batches[paper] = parts, {}
        for keys in _jobs_of(parts, self.config.plays_per_job or PLAYS_PER_JOB):
            batch = Path(parts[keys[0]]["file"]).stem
            self.batches[paper][batch] = {"parts": keys, **self._request([parts[key] for key in keys], paper)}
            needed = [f"data/{Path(file).stem}" for key in keys for file in parts[key]["data"].values()]
            self._add(f"{paper}/play/{batch}", "play", dict.fromkeys(needed), keys)
        self._add(f"{paper}/runs", "runs", [f"{paper}/play/{batch}" for batch in self.batches[paper]])

    def _request(self, parts: Iterable[Mapping[str, Any]], paper: str) -> dict[str, int]:
        """Memory (MB) and time (minutes) that a job asks for to play some parts.

        An interpreter with its libraries, and a half more than the largest play is predicted to take; two minutes, and
        what the plays are predicted to take, within the limit of each play.
        """
        gigabytes, total = 0.0, 120.0
        for part in parts:
            memory, seconds = predicted(self.config.papers[paper].experiments[part["experiment"]])
            gigabytes = max(gigabytes, memory)
            total += min(seconds, 60 * self.config.limits.play_minutes) * len(part["plays"])
        return {"mem_mb": 1000 + round(1536 * gigabytes), "minutes": math.ceil(total / 60)}

    def _audit(self, audit: AuditSize) -> None:
        families = [f"audit/family/{family}" for family in FAMILIES]
        for name in families:
            self._add(name, "audit_family", (), self.config.seed, audit.runs)
        self._add("audit/planted", "planted", (), self.config.seed, audit.repeats)
        self._add("audit/exact_losses", "exact_losses")
        self._add("audit/tables", "audit_tables", [*families, "audit/planted"])

    def _paper(self, paper: str) -> None:
        """Tables, figures and report of one paper."""
        claims, settings = self.papers[paper], self.config.papers[paper]
        digest, profile = self.config.fingerprint(paper), self.config.profile
        runs, tables, figures = (f"{paper}/{name}" for name in ("runs", "tables", "figures"))
        if settings.oracle_costs:
            self._add(f"{paper}/oracles", "oracles", (), settings.oracle_costs, here())
        if claims.exact:
            self._add(f"{paper}/exact", "exact", (), claims.exact)
        further = [name for stage in ("oracles", "exact") if (name := f"{paper}/{stage}") in self.items]
        exact = ["audit/exact_losses"] if any(claim.exact for claim in claims.claims) else []
        confirmed = [_confirmed(self.results), frozen.digests(self.config, paper, claims)]
        self._add(tables, "tables", (runs, *exact), digest, profile, here(), confirmed, texts=[paper])
        self._add(figures, "figures", (runs, *further), digest, self.name_key, texts=[paper])
        self._add(f"{paper}/complete", "complete", (runs, tables))
        inputs = (runs, tables, figures, *further)
        self._add(f"{paper}/report", "paper_report", inputs, digest, profile, self.name_key, texts=[paper])

    def _whole(self, papers: list[str], simulations: int) -> list[str]:
        """What is made of all papers together; returns the names of everything that a run makes."""
        digests = [self.config.fingerprint(paper) for paper in papers]
        runs = [f"{paper}/runs" for paper in papers]
        audit = ["audit/tables"] if self.config.audit else []
        all_facts = facts.facts(self.config, {})
        compared = [*(sorted(map(repr, part.items())) for part in (all_facts.experiments, all_facts.streams))]
        compared.append(sorted(all_facts.stochastic_only))
        winners = (*runs, *audit, "audit/exact_losses")
        self._add("winners", "winners", winners, digests, compared, self.name_key)
        self._add("validation", "validation", (), simulations)
        validation = ["validation"] if self.config.validation else []
        tables = [f"{paper}/{stage}" for stage in ("tables", "figures") for paper in papers]
        self._add("errata", "errata_page", (*runs, *tables), texts=papers)
        further = [name for name in self.items if name.split("/")[-1] in ("oracles", "exact")]
        reported = (*runs, *tables, *further, "winners", *audit, *validation)
        self._add("report", "html_report", reported, digests, self.config.profile, self.name_key, texts=papers)
        return [*reported, "errata", "report", *(f"{paper}/complete" for paper in papers)]

    def _confirmation(self, papers: list[str]) -> None:
        """Verdicts on fresh seeds, which follow from the text of the claims."""
        digest = frozen.digest_of(self.config, self.papers)
        codes = sorted(
            {play.code for parts in self.parts.values() for part in parts.values() for play in part["plays"]}
        )
        self._add("confirmation", "confirmation", (), digest, codes, self.config.seed, texts=papers)

    def _gates(self, papers: list[str]) -> None:
        """Comparisons with the committed reference."""
        committed = reference(self.results)
        sums = [_sums(committed / paper) for paper in papers]
        self._add("gate", "gate", [f"{paper}/tables" for paper in papers], sums)
        self._add("audit/gate", "audit_gate", ("audit/tables", "audit/exact_losses"), _sums(committed / "audit"))


def _jobs_of(parts: Mapping[str, Mapping[str, Any]], limit: int) -> list[list[str]]:
    """The keys of consecutive parts that one job plays: with no more plays in all than the limit, or one alone."""
    jobs: list[list[str]] = []
    plays = limit
    for key, part in parts.items():
        plays += len(part["plays"])
        if plays > limit:
            jobs.append([])
            plays = len(part["plays"])
        jobs[-1].append(key)
    return jobs


def _relative(file: str) -> str:
    """The name of a file relative to the working folder, if below it: a published plan must name no home folder."""
    path, here = Path(file), Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file


def _confirmed(results: str) -> str:
    """SHA-256 of the committed table of a profile's confirmation; empty where there is none."""
    file = reference(results) / FOLDER / TABLE
    return checksum(file) if file.is_file() else ""


def _sums(folder: Path) -> dict[str, str]:
    """SHA-256 of the tables of a committed folder."""
    files = [path for path in sorted(folder.glob("*")) if path.name in COMPARED]
    return {path.name: checksum(path) for path in files if path.is_file()}


def main() -> None:
    """Make the plan in a child process, because the import of a learner may end the process."""

    def answer(on_progress: child.OnProgress) -> dict[str, Any]:
        sys.stdout = sys.stderr  # what a learner prints when it is imported is not part of the answer
        return planned(json.loads(sys.argv[1]), on_progress)

    gc.disable()  # a tenth of the time; the process ends before garbage matters
    result, problem = child.call(answer)
    print(json.dumps(result or {"problems": [f"the plan could not be made: {problem}"], "plan": None}))


if __name__ == "__main__":
    main()
