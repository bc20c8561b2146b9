"""From a configuration to a plan: every play and everything that is made of plays, each with the key in its name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from dpregret.core.errors import ConfigError, fault
from dpregret.core.files import reference
from dpregret.paper_figs.judge.claims import ClaimsFile, located_paper
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.families.fields import Experiment
from dpregret.workflows.plan import cross_references, limits, load, profiles, titles, winners
from dpregret.workflows.plan.config import AuditSize, Config, ValidationSize
from dpregret.workflows.plan.read import DIGITS, FORMAT, MADE, versions
from dpregret.workflows.run import child, fingerprint, store

TABLES: Final = (
    "claims.csv", "checks.csv", "jobs.csv", "costs.csv", "costs.md", "costs.html", "errata.csv", "errata.md",
)  # fmt: skip
FORMS: Final = ("csv", "md", "tex", "html")
PAGES: Final = ("csv", "md", "html")
VALIDATIONS: Final = ("intervals", "verdicts", "resolution")
COMPARED: Final = ("claims.csv", "checks.csv", "jobs.csv", "audit.csv", "planted.csv", "exact_losses.csv")
"""The files of the reference that a gate reads."""


def planned(options: Mapping[str, Any], say: child.Say) -> dict[str, Any]:
    """plan: what `read.Plan` reads; problems: one line for each mistake, and then no plan."""
    try:
        source = load.check_options(dict(options))
        read: dict[str, str] = {}
        config = load.load_config(
            source, limits=limits.given_limits(options.get("limits")), read=read, say=say, known=known
        )
        papers = {paper: located_paper(profiles.PAPERS / paper)[0].claims for paper in config.papers}
        cross_references.check_mentions(config)
        return {"plan": _Maker(config, papers).plan(read), "problems": []}
    except (ConfigError, OSError) as error:
        return {"plan": None, "problems": list(getattr(error, "problems", [str(error)]))}
    except Exception as error:
        return {"plan": None, "problems": [fault(error)]}


def known(config: Config, experiment: Experiment) -> bool:
    """Whether all plays of an experiment are in the store: then it was checked by playing it."""
    return not store.missing(play.key for play in plays(config, experiment))


def short(content: object) -> str:
    """A key as it is in a file's name."""
    return store.key_of(content)[:DIGITS]


class _Found:
    """A play with the paths that its code consists of."""

    def __init__(self, learner: str, variant: str, module: str, files: list[Path], decided: Mapping[str, Any]):
        self.learner, self.variant, self.module, self.files = learner, variant, module, files
        self.code = fingerprint.fingerprint(files)
        self.key = store.key_of({**decided, "learner": learner, "variant": variant, "code": self.code})


def decided(config: Config, experiment: Experiment) -> dict[str, Any]:
    """Everything that decides the plays of an experiment, except for learner and code."""
    settings = experiment.model_dump(mode="json", exclude={"title", "learners"})
    data = {name: data_key(name) for name in data_of(experiment)}
    return {"settings": settings, "seed": config.seed, "data": data, "versions": versions()}


def plays(config: Config, experiment: Experiment) -> Iterator[_Found]:
    """The plays of an experiment, in its order."""
    family, common = FAMILIES[experiment.family], decided(config, experiment)
    streams = [family.streams[name].__module__ for name in experiment.streams]
    for learner, variants in experiment.learners.items():
        module = family.learners[learner].__module__
        files = fingerprint.play_files(family.name, module, streams)
        for variant in variants:
            yield _Found(learner, variant, module, files, common)


def data_of(experiment: Experiment) -> list[str]:
    """The prepared data that the streams of an experiment read."""
    streams = FAMILIES[experiment.family].streams
    found = [data for name in experiment.streams if (data := streams[name].data) is not None]
    if "source" in experiment.options:
        found.append(experiment.options["source"])
    return list(dict.fromkeys(found))


@cache
def data_key(name: str) -> str:
    """The inputs of a prepared data set: code, versions, and its declaration where it is a download."""
    declared = load.declaration(name)
    return short([name, fingerprint.fingerprint(fingerprint.data_files()), versions(), declared])


class _Maker:
    """Puts a plan together; everything that is made stands before what is made of it."""

    def __init__(self, config: Config, papers: Mapping[str, ClaimsFile]):
        self.config, self.papers = config, papers
        self.results = "results" if config.profile == "full" else f"results/{config.profile}"
        self.code: dict[str, list[Path]] = {}
        self.made: dict[str, tuple[str, list[str], str]] = {}
        self.keys: dict[str, str] = {}
        self.shown: dict[str, tuple[str, str]] = {}
        self.parts: dict[str, dict[str, Any]] = {}
        self.everything: list[str] = []
        self.targets: dict[str, list[str]] = {}
        self.words = short(titles.display_names())

    def plan(self, read: Mapping[str, str]) -> dict[str, Any]:
        """All of it in types of JSON."""
        for paper in self.config.papers:
            self._runs(paper)
        audit = self.config.audit or AuditSize()
        self._audit(audit)
        for paper in self.config.papers:
            self._paper(paper)
        self._whole(self.config.audit is not None, self.config.validation)
        simulated = self.config.validation or ValidationSize()
        sizes = {**audit.model_dump(), **simulated.model_dump(), "seed": self.config.seed}
        files = sorted({path for paths in self.code.values() for path in paths})
        numbers = {path: number for number, path in enumerate(files)}
        return {
            "format": FORMAT, "profile": self.config.profile, "results": self.results, "config": self.config.to_json(),
            "read": {_near(name): digest for name, digest in read.items()},
            "papers": profiles.short_names(list(self.config.papers)),
            "families": list(FAMILIES), "sizes": sizes, "parts": self.parts, "made": self.made, "shown": self.shown,
            "everything": self.everything, "paper_targets": self.targets,
            "files": [fingerprint.name_of(path) for path in files],
            "code": {code: [numbers[path] for path in paths] for code, paths in self.code.items()},
        }  # fmt: skip

    def _runs(self, paper: str) -> None:
        """The parts of a paper's experiments."""
        self.parts[paper] = {}
        gather = [fingerprint.WORKFLOWS / f"{each}.py" for each in ("run/job", "run/store", "scripts/play")]
        for name, experiment in self.config.papers[paper].experiments.items():
            found = list(plays(self.config, experiment))
            most = self.config.plays_per_job or len(found)
            data = {each: f"{MADE}/data/{each}.{data_key(each)}.npz" for each in data_of(experiment)}
            for each, file in data.items():
                self.made[f"data/{each}"] = (file, [], self._note(fingerprint.data_files()))
            for first in range(0, len(found), most):
                some = found[first : first + most]
                self.code.update({each.code: each.files for each in some})
                named = [[each.learner, each.variant, each.key] for each in some]
                key = short([paper, name, named, self._note(gather)])
                file = f"{MADE}/runs/{paper}/{name}.{key}.parquet"
                self.parts[paper][key] = {
                    "experiment": name, "file": file, "settings": self.config.hash(name, paper), "data": data,
                    "plays": [[each.learner, each.variant, each.module, each.code, each.key] for each in some],
                }  # fmt: skip
                several = f".{first // most}" if most < len(found) else ""
                self.shown[f"{paper}/runs/{name}{several}.parquet"] = (file, "")
        self.keys[f"runs/{paper}"] = short(list(self.parts[paper]))

    def _note(self, files: list[Path]) -> str:
        code = fingerprint.fingerprint(files)
        self.code[code] = files
        return code

    def _make(
        self, name: str, suffix: str, files: list[Path], inputs: Sequence[str] = (), *further: object
    ) -> str:  # fmt: skip
        """Note what a rule makes: a file, or a folder where there is no suffix."""
        code = self._note(files)
        key = short([name, code, versions(), [self.keys[each] for each in inputs], further])
        self.keys[name], file = key, f"{MADE}/{name}.{key}{suffix}"
        self.made[name] = (file, list(inputs), code)
        return file

    def _show(self, folder: str, below: str, files: Iterable[str]) -> None:
        """Publish files of a made folder below a folder of the results."""
        for each in files:
            self.shown[f"{below}{each}"] = (folder, each)

    def _audit(self, audit: AuditSize) -> None:
        plain, of, seed = fingerprint.module_files, "dpregret.workflows.audit", self.config.seed
        for family in FAMILIES:
            self._make(f"audit_family/{family}", ".parquet", fingerprint.audit_files(), (), seed, audit.runs)
        self._make("planted/all", ".parquet", plain(f"{of}.planted", "planted"), (), seed, audit.repeats)
        exact = self._make("exact_losses/all", ".csv", plain(f"{of}.exact_losses", "exact_losses"))
        self.shown["audit/exact_losses.csv"] = (exact, "")
        inputs = [*(f"audit_family/{family}" for family in FAMILIES), "planted/all"]
        folder = self._make("audit_tables/all", "", plain(f"{of}.tables", "audit_tables"), inputs)
        tables = [f"{name}.{form}" for name in ("audit", "planted") for form in PAGES]
        self._show(folder, "audit/", ["audit_pairs.csv", *tables])

    def _paper(self, paper: str) -> None:
        """Tables, figures and report of one paper."""
        claims, settings, plain = self.papers[paper], self.config.papers[paper], fingerprint.module_files
        shown = self.config.fingerprint(paper)
        of, inputs = "dpregret.workflows", [f"runs/{paper}"]
        if settings.oracle_costs:
            files = plain(f"{of}.oracle_costs", "oracles")
            file = self._make(f"oracles/{paper}", ".parquet", files, (), settings.oracle_costs, store.here())
            self.shown[f"{paper}/oracles.parquet"] = (file, "")
        if claims.exact:
            file = self._make(f"exact/{paper}", "", plain(f"{of}.mechanisms.exact", "exact"), (), claims.exact)
            self.shown[f"{paper}/exact"] = (file, "")
        page = fingerprint.page_files
        exact = ["exact_losses/all"] if any(claim.exact for claim in claims.claims) else []
        tables = self._make(
            f"tables/{paper}", "", page("tables", paper), (*inputs, *exact), shown, self.config.profile, store.here()
        )
        wanted = [*TABLES, *(f"{name}.{form}" for name in ("table_1", "table_1_all") for form in FORMS)]
        wanted += [f"table_{number}.{form}" for number in range(2, len(claims.tables) + 1) for form in FORMS]
        wanted += [f"gains.{form}" for form in PAGES if claims.gains]
        self._show(tables, f"{paper}/", wanted)
        own = [name for stage in ("oracles", "exact") if (name := f"{stage}/{paper}") in self.made]
        figures = self._make(f"figures/{paper}", "", page("figures", paper), (*inputs, *own), shown, self.words)
        self.shown[f"{paper}/figures"] = (figures, "")
        complete = self._make(f"complete/{paper}", ".txt", page("complete"), (*inputs, f"tables/{paper}"))
        self.shown[f"{paper}/complete.txt"] = (complete, "")
        shows = (*inputs, f"tables/{paper}", f"figures/{paper}", *own)
        report = self._make(
            f"paper_report/{paper}", ".html", page("paper_report", paper), shows, shown, self.config.profile, self.words
        )
        self.shown[f"{paper}/report.html"] = (report, "")

    def _whole(self, audited: bool, validation: ValidationSize | None) -> None:
        """The outputs for all papers together."""
        papers, page = list(self.config.papers), fingerprint.page_files
        settings = [self.config.fingerprint(paper) for paper in papers]
        runs = [f"runs/{paper}" for paper in papers]
        audit = ["audit_tables/all"] if audited else []
        known = winners.facts(self.config, {})
        facts = [*(sorted(map(repr, each.items())) for each in (known.experiments, known.streams))]
        facts.append(sorted(known.stochastic_only))
        inputs = (*runs, *audit, "exact_losses/all")
        folder = self._make("winners/all", "", page("winners"), inputs, settings, facts, self.words)
        wanted = ["winners.csv", "winners.md"]
        wanted += [f"winners/{name}.csv" for name in ("cells", "times", "profiles_figure")]
        wanted += [f"winners/{name}.{form}" for name in ("profiles", "pairs", "coverage") for form in PAGES]
        wanted += [f"winners/profiles.{form}" for form in ("png", "pdf", "svg")]
        self._show(folder, "", wanted)
        simulations = (validation or ValidationSize()).simulations
        files = fingerprint.module_files("dpregret.paper_figs.validation.simulate", "validation")
        folder = self._make("validation/all", "", files, (), simulations)
        if validation:
            self._show(folder, "validation/", [f"{name}.{form}" for name in VALIDATIONS for form in PAGES])
        tables = [f"{stage}/{paper}" for stage in ("tables", "figures") for paper in papers]
        folder = self._make("errata_page/all", "", page("errata_page", *papers), (*runs, *tables))
        self._show(folder, "", [f"errata.{form}" for form in ("md", "html")])
        own = [name for name in self.made if name.split("/")[0] in ("oracles", "exact")]
        parts = [*runs, *tables, *own, "winners/all", *audit, *(["validation/all"] if validation else [])]
        further = (settings, self.config.profile, self.words)
        report = self._make("html_report/all", ".html", page("html_report", *papers), parts, *further)
        self.shown["report.html"] = (report, "")
        self.everything = [*parts, "errata_page/all", "html_report/all", *(f"complete/{paper}" for paper in papers)]
        self.everything = [each for each in self.everything if not each.startswith("runs/")]
        stages = ("tables", "figures", "complete", "paper_report")
        self.targets = {paper: [f"{stage}/{paper}" for stage in stages] for paper in papers}
        kept = reference() / Path(self.results).relative_to("results")
        judged = [f"tables/{paper}" for paper in papers]
        gate = self._make("gate/all", ".txt", page("gate"), judged, [_sums(kept / paper) for paper in papers])
        self.shown["gate.txt"] = (gate, "")
        files = fingerprint.module_files("dpregret.workflows.audit.tables", "audit_gate")
        inputs = ("audit_tables/all", "exact_losses/all")
        gate = self._make("audit_gate/all", ".txt", files, inputs, _sums(kept / "audit"))
        self.shown["audit/gate.txt"] = (gate, "")


def _near(file: str) -> str:
    """A file by its name from here, where it is below: a plan is published, and must not contain a home folder."""
    path, here = Path(file), Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file


def _sums(folder: Path) -> dict[str, str]:
    """SHA-256 of the tables of a committed folder."""
    wanted = [path for path in sorted(folder.glob("*")) if path.name in COMPARED]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in wanted if path.is_file()}
