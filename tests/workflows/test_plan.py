"""The plan: what decides a number is in its name, and nothing else is; what an edit makes run again, and what not."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from checkout import make_checkout
from plays import small

from dpregret.core.errors import ConfigError
from dpregret.workflows.plan import make, read
from dpregret.workflows.plan.make import planned
from dpregret.workflows.plan.read import Plan, load
from dpregret.workflows.run import fingerprint

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


def files(plan: Plan) -> dict[str, str]:
    """What is made -> its file."""
    runs = {f"runs/{part.experiment}": folder for folder, parts in plan.jobs.items() for part in parts}
    return runs | {name: each.file for name, each in plan.made.items()}


def moved(one: dict[str, str], other: dict[str, str]) -> set[str]:
    """Names whose key or file is another."""
    return {name for name in one if one[name] != other.get(name)}


def experiment(settings: Settings) -> Settings:
    found: Settings = settings["papers"][PAPER]["experiments"]["horizon"]
    return found


def test_every_input_is_made_before_it_is_used(base: Plan) -> None:
    there = {f"runs/{PAPER}"}
    for name, each in base.made.items():
        assert set(each.inputs) <= there, name
        assert base.key(name) in each.file
        there.add(name)
    assert set(base.content["everything"]) <= there
    assert {file for file, _ in base.shown.values()} <= set(files(base).values())
    assert len(set(files(base).values())) == len(files(base))


CHANGES: dict[str, Callable[[Settings, pytest.MonkeyPatch], object]] = {
    "seed": lambda s, _: s.update(seed=8),
    "runs": lambda s, _: experiment(s).update(runs=3),
    "an option": lambda s, _: experiment(s).update(streams=["drift"], options={"period": 16}),
    "a version": lambda _, patch: patch.setattr(make, "versions", lambda: {"numpy": "9.9"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_decides_numbers_is_in_all_keys(
    base: Plan, made: Any, settings: Settings, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    CHANGES[change](settings, monkeypatch)
    before, after = base, made(settings)
    assert moved(keys(before), keys(after)) == set(keys(before))
    lost = {"runs/horizon", "winners/all", "html_report/all", "errata_page/all", f"tables/{PAPER}", f"figures/{PAPER}"}
    assert (set(files(before)) if change == "a version" else lost) <= moved(files(before), files(after))


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
    (tmp_path / "other.yaml").write_text(json.dumps({**settings, "profile": "other"}))
    other = planned({"profile": str(tmp_path / "other.yaml")}, lambda where: None)["plan"]
    assert keys(Plan(Path(), other)) == keys(plan)
    assert other["results"] != plan.results


def test_a_job_plays_as_much_as_a_profile_says(made: Any, settings: Settings) -> None:
    experiments = settings["papers"][PAPER]["experiments"]
    experiments.update({name: {**experiment(settings), "title": name} for name in ("second", "third")})
    expected = {1: [[1]] * 6, 3: [[2]] * 3, 4: [[2, 2], [2]], None: [[2, 2, 2]]}
    plans = {most: made({**settings, "plays_per_job": most}) for most in expected}
    for most, plan in plans.items():
        assert [[len(part.plays) for part in parts] for parts in plan.jobs.values()] == expected[most]
    assert len({json.dumps(keys(plan)) for plan in plans.values()}) == 1
    assert all(plan.runs(PAPER) == list(plan.jobs) for plan in plans.values())


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
    assert {name for name in moved(files(before), files(after)) if name.startswith(("runs/", "data/"))} == {
        "runs/horizon",
        "data/digits",
    }


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
    own = {each for each, (_, _, code) in before.made.items() if file in before.files_of(code)}
    assert {each.split("/")[0] for each in own} == {"audit_family", "exact_losses"}
    changed = {files(before)[each] for each in (*own, "runs/horizon")}
    changed |= set(before.made_of(changed))
    assert moved(files(before), files(after)) == {each for each, place in files(before).items() if place in changed}
    assert not {files(before)[each] for each in ("runs/other", "planted/all", "validation/all")} & changed
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
    assert moved(files(first), files(second)) == {"gate/all"}
    (reference / "claims.csv").write_text("a\n2\n")
    assert moved(files(second), files(load(options, kept))) == {"gate/all"}
    monkeypatch.setattr(read, "versions", dict)
    load(options, kept)
    assert len(asked) == 4


# Files that count


ONLINE = "dpregret.algorithms.online"
STREAMS = ["dpregret.datasets.synthetic", "dpregret.datasets.pool_streams"]


@pytest.fixture(scope="module")
def counted() -> dict[str, list[Path]]:
    """The files that a fingerprint is of."""
    return {
        "cocop": fingerprint.play_files("online", f"{ONLINE}.wdp_cocop", *STREAMS),
        "pocp": fingerprint.play_files("online", f"{ONLINE}.pocp", *STREAMS),
        "data": fingerprint.stage_files("data"),
        "tables": fingerprint.stage_files("tables", "lou_cheung_2020"),
        "page": fingerprint.stage_files("report", "lou_cheung_2020", "talwar_2015"),
        "oracles": fingerprint.stage_files("oracles"),
        "audit": fingerprint.stage_files("audit_family"),
    }


@pytest.mark.parametrize(
    ("edited", "changed"),
    [
        ("algorithms/online/wdp_cocop.py", {"cocop", "audit"}),
        ("algorithms/online/ftal.py", {"cocop", "audit"}),
        ("algorithms/learner.py", {"cocop", "pocp", "audit"}),
        ("algorithms/privacy/buffers.json", {"cocop", "pocp", "audit"}),
        ("datasets/bundled.py", {"cocop", "pocp", "data"}),
        ("workflows/families/base.py", {"cocop", "pocp", "audit"}),
        ("datasets/risk_population.py", set()),
        ("workflows/run/oracle_costs.py", {"oracles"}),
        ("workflows/run/stages.py", {"data", "tables", "page", "audit", "oracles"}),
        ("workflows/audit/settings.yaml", {"audit"}),
        ("paper_figs/judge/fits.py", {"tables", "page"}),
        ("workflows/papers/lou_cheung_2020/claims.yaml", {"tables", "page"}),
        ("workflows/papers/lou_cheung_2020/experiments.yaml", set()),
        ("paper_figs/report/templates/report.css", {"page"}),
        ("workflows/plan/config.py", set()),
    ],
)
def test_a_file_counts_for_exactly_what_depends_on_it(
    counted: dict[str, list[Path]], edited: str, changed: set[str]
) -> None:
    file = fingerprint.ROOT / "dpregret" / edited
    assert file.is_file()
    assert {name for name, files in counted.items() if file in files} == changed
