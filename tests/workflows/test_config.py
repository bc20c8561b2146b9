"""Configurations: hashes, overlays, grids, limits, names in texts; whatever a file holds is read or refused by name."""

import copy
import functools
import json
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fuzzing import check_words, fuzz, refusal
from hypothesis import given
from hypothesis import strategies as st
from plays import SMALL, small

from dpregret import study
from dpregret.core import discovery
from dpregret.core.errors import ConfigError
from dpregret.core.paper_names import short_names
from dpregret.core.yaml_source import expand
from dpregret.datasets.fetch import Source
from dpregret.paper_figs.judge.claims import ClaimsError
from dpregret.paper_figs.judge.read_claims import CHANGES, load_changes, load_claims, load_errata, load_paper
from dpregret.workflows.audit.plan import load_settings
from dpregret.workflows.families.online import OnlineExperiment
from dpregret.workflows.plan import config, load, semantic_checks
from dpregret.workflows.plan.config import Config, Limits, bound_imports, bounds_of_play, parse_limits
from dpregret.workflows.plan.cross_references import check_references, read_texts
from dpregret.workflows.plan.load import check_options, file_schema, load_config
from dpregret.workflows.plan.read import PAPERS, PROFILES, papers

Write = Callable[[Any], Path]
WHERE = "papers.lou_cheung_2020.experiments.small"


def refused(path: Path, **options: Any) -> list[str]:
    """Problems of a configuration, a line each."""
    with pytest.raises(ConfigError) as refusal:
        load_config(path, **options)
    assert all("\n" not in line for line in refusal.value.problems)
    return refusal.value.problems


def test_hash_follows_what_decides_the_numbers_and_nothing_else(write: Write) -> None:
    def hash_of(seed: int = 7, **changes: Any) -> str:
        return load_config(write({**small("online", **changes), "seed": seed})).hash("lou_cheung_2020", "small")

    assert hash_of() == hash_of(title="Another", learners={"ftal": ["plain"]}, epsilon=[8])
    others = ({"seed": 8}, {"epsilon": [8.0, math.inf]}, {"window": ["horizon"]}, {"dimension": {"ball": [2]}})
    assert len({hash_of(**each) for each in ({}, *others)}) == 5


def test_other_options_than_profile_are_refused() -> None:
    with pytest.raises(ConfigError, match="profil"):
        check_options({"profil": "ci"})
    assert check_options({}) == PROFILES / "full.yaml"


@pytest.mark.parametrize(("right", "wrong"), [("defaults", "default"), ("family", "familly")])
def test_of_a_misspelt_key_by_which_others_are_read_nothing_else_is_said(write: Write, right: str, wrong: str) -> None:
    text = """
profile: mine
defaults: {family: erm, set: ball, risks: [norm-kink-risk], samples: [64], epsilon: [1.0], delta: 1.0e-6, runs: 4}
papers: {talwar_2015: {experiments: {a: {title: One, dimension: [2]}, b: {title: Two, dimension: [2]}}}}
"""
    (said,) = refused(write(text.replace(f"{right}:", f"{wrong}:")))
    assert f"unknown key; did you mean '{right}'?" in said


@pytest.mark.parametrize("profile", ["ci", "quick", pytest.param("full", marks=pytest.mark.nightly)])
def test_shipped_profiles_pass_with_what_is_installed(profile: str) -> None:
    config = load_config(PROFILES / f"{profile}.yaml")
    assert config.profile == profile
    assert all(each.learners for paper in config.papers.values() for each in paper.experiments.values())


def test_schema_is_current_and_describes_what_the_file_may_hold() -> None:
    stored = json.loads((PROFILES.parent / "schemas" / "config.schema.json").read_text())
    assert stored == file_schema()
    experiment = stored["$defs"]["OnlineExperiment"]
    assert experiment["additionalProperties"] is False
    assert set(experiment["properties"]) == {each.alias or name for name, each in OnlineExperiment.model_fields.items()}


def test_an_overlay_changes_adds_and_takes_away(write: Write) -> None:
    text = """
profile: mine
extends: ci
only: [lou_cheung_2020, talwar_2015]
audit: null
defaults: {runs: 4}
papers:
  talwar_2015: {only: [gd-samples]}
  lou_cheung_2020:
    defaults: {delta: 1.0e-5}
    experiments:
      horizon: {horizon: [2^6, 2^8..2^10], runs: 8}
      window: null
      again: {title: Once more, sweep: horizon, set: ball, streams: [norm-kink], dimension: [4], horizon: 2^6..2^9,
        window: [2], epsilon: [8.0], learners: {ftal: [plain]}}
"""
    config, ci = load_config(write(text)), load_config(PROFILES / "ci.yaml")
    assert (config.audit, config.seed, set(config.papers)) == (None, ci.seed, {"lou_cheung_2020", "talwar_2015"})
    assert set(config.papers["talwar_2015"].experiments) == {"gd-samples"}
    horizon, again = (config.experiment("lou_cheung_2020", name) for name in ("horizon", "again"))
    assert (horizon.horizon, horizon.runs, horizon.delta) == ((64, 256, 512, 1024), 8, 1e-5)
    assert (again.title, again.runs, again.delta) == ("Once more", 4, 1e-5)
    assert set(config.papers["lou_cheung_2020"].experiments) == {*ci.papers["lou_cheung_2020"].experiments, "again"} - {
        "window"
    }
    assert {each.runs for each in config.papers["talwar_2015"].experiments.values()} == {4}


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("2^3..2^6", [8, 16, 32, 64]), ("4^0..4^2", [1, 4, 16]), ("2^-1..2^1", [0.5, 1, 2]), (["2^5", 3], [32, 3]),
        (["2^1..2^3", "horizon"], [2, 4, 8, "horizon"]), ({"ball": "2^1..2^2"}, {"ball": [2, 4]}), ("2^4", 16),
        ("a^2", "a^2"),
    ],
)  # fmt: skip
def test_grids_in_short(short: Any, full: Any) -> None:
    assert expand(short) == full


@pytest.mark.parametrize("text", ["2^5..2^3", "2^3..4^6", "2..8", "2^3...2^5", "1^2", "10^999", "2^", "..", "2^1.."])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        expand(text)


def test_papers_have_short_names_that_tell_them_apart() -> None:
    assert short_names(["asi_et_al_2023", "asi_2024", "lou_cheung_2020", "descent"]) == {
        "asi_et_al_2023": "asi_et_al_2023",
        "asi_2024": "asi_2024",
        "lou_cheung_2020": "lou_cheung",
        "descent": "descent",
    }


# What no machine can finish is refused before anything of its size is made; so are learners that raise


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"runs": 10**12}, ".runs"),
        ({"horizon": [2**41]}, ".horizon[0]"),
        ({"horizon": [2**38, 2**39, 2**40]}, ""),  # gigabytes
        ({"epsilon": [1e-10]}, ".epsilon[0]"),
        ({"dimension": [10**9]}, ".dimension[0]"),
        ({"horizon": list(range(1, 1102))}, ".horizon"),
        ({"window": [2**k for k in range(40)], "epsilon": list(range(1, 900))}, ""),  # cells
        ({"horizon": [2**29, 2**30], "epsilon": list(range(1, 100))}, ""),  # gigabytes
        ({"runs": 10**6, "horizon": [2**28], "epsilon": list(range(1, 100))}, ""),  # hours
    ],
)
def test_what_is_too_large_is_refused_before_anything_is_made(
    write: Write, changes: dict[str, Any], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*_: object) -> None:
        raise AssertionError("something was made")

    monkeypatch.setattr(semantic_checks, "experiment_mistakes", made)
    monkeypatch.setattr(semantic_checks, "_refused_set", made)
    monkeypatch.setattr(config, "machine_gb", lambda: 64.0)
    path = write(small("online", **changes))
    assert any(line.startswith(f"{path}:") and f": {WHERE}{key}: " in line for line in refused(path))


def test_limits_are_lifted_by_the_profile_and_by_the_command(write: Write) -> None:
    settings = small("online") | {"limits": {"memory_gb": 1e-12, "hours": "2^-60"}}
    assert len(refused(write(settings), check=False)) == 2
    assert load_config(write(settings), check=False, limits=parse_limits("memory_gb:1,hours:2^7")).limits.hours == 128
    assert load_config(write(settings), check=False, limits=parse_limits("off")).limits.hours == math.inf
    assert parse_limits(None) is None
    assert parse_limits({"hours": "1e7"}) == Limits(hours=1e7)


@pytest.mark.parametrize(
    ("option", "said"),
    [("tiny", "not 'tiny'; names: memory_gb"), ("", "not ''"), ("hours", "hours:1e5"), ("hours:1,hours:2", "twice"),
     ("hours:tiny", "not 'tiny'"), ("hour:1", "did you mean 'hours'?"), ("hours:nan", "not 'nan'")],
)  # fmt: skip
def test_a_mistake_in_limits_is_a_line_that_names_the_option(option: str, said: str) -> None:
    with pytest.raises(ConfigError, match=r"^--limits: ") as refusal:
        parse_limits(option, "--limits")
    assert said in str(refusal.value)


def test_limits_of_imports_hold_in_a_plan_its_jobs_and_commands_on_a_study(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "limits", dict(discovery.limits))
    config = load_config(write(small("online")), check=False, limits=parse_limits("check_seconds:60"))
    assert discovery.limits == {"check_seconds": 60.0, "check_gb": 1.0}
    discovery.limits.update(check_seconds=30.0)
    Config.of_plan(config.to_json())
    assert discovery.limits["check_seconds"] == 60.0
    monkeypatch.setenv(study.LIMITS, "check_gb:7")
    load_config(write(small("online")), check=False)
    assert discovery.limits == {"check_seconds": 30.0, "check_gb": 1.0}  # the variable is that of a study
    monkeypatch.setattr(study, "FOLDER", Path())
    bound_imports()
    assert discovery.limits["check_gb"] == 7.0
    lifted = parse_limits(None)
    discovery.limits.update(check_gb=1.0)
    monkeypatch.setattr(study, "FOLDER", None)
    monkeypatch.setattr(load, "parse_limits", lambda option: lifted)
    load_config(write(small("online")), check=False)
    assert discovery.limits["check_gb"] == 7.0
    monkeypatch.setattr(study, "FOLDER", Path())
    monkeypatch.setenv(study.LIMITS, "play_minutes:3,play_gb:2")
    assert bounds_of_play()[:2] == (3.0, 2.0)  # of `test` and `audit`
    monkeypatch.setenv(study.LIMITS, "check_g:7")
    with pytest.raises(ConfigError, match="did you mean 'check_gb'"):
        bound_imports()


@pytest.mark.parametrize(
    ("raises", "key"),
    [
        (OverflowError("too large"), ".learners.wdp-cocop-gamma[0]"),
        (SystemExit(0), ".learners.wdp-cocop-gamma[0]"),
        (MemoryError(), ""),
        (semantic_checks.TooMuch(), ""),
    ],
)
def test_whatever_making_a_learner_raises_is_a_refusal_with_its_key(
    write: Write, raises: BaseException, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learner(*_: object) -> None:
        raise raises

    monkeypatch.setattr(type(semantic_checks.FAMILIES["online"]), "learner", learner)
    assert any(f": {WHERE}{key}" in line for line in refused(write(small("online"))))


FULL = load_config(PROFILES / "full.yaml", check=False)
KNOWN = {name: [each] for name, each in FULL.papers["lou_cheung_2020"].experiments.items()}


def endless(*_: object) -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("making", "limits", "most"),
    [(endless, {"check_seconds": 0.05}, "0.05 s"), (lambda *_: bytearray(2**29), {"check_gb": 0.25}, "0.25 GB")],
)
def test_endless_and_greedy_making_is_ended(
    making: Callable[..., object], limits: dict[str, float], most: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(semantic_checks.FAMILIES["online"]), "problem", making)
    ((_, message),) = semantic_checks.within(Limits(**limits), KNOWN["horizon"][0], True)
    assert f"takes more than {most} (limit check_" in message
    assert len(bytearray(2**29)) == 2**29, "the bound is gone"


CLAIMS = """title: t
claims:
- {id: c, source: s, says: grows, rate: ln T, learner: ftal.plain, stream: norm-kink, experiment: horizon,
   parameter: horizon, response: overhead, counterpart: ftal}
- {id: w, source: s, says: grows, rate: ln T, learner: wdp-cocop-gamma.corrected, stream: norm-kink,
   experiment: window, parameter: horizon, where: {set: ball, epsilon: 8}}
tables:
- caption: t
  reference: {experiment: typical, stream: norm-kink, where: {epsilon: 8}}
  rows:
  - {id: r, label: r, group: g, learner: ftal.plain, privacy: p, neighbouring: n, operation: o, bound_text: b}
figures: [{type: regret, experiment: horizon}]
exact: {crossover: A table.}
"""
ERRATA = """errata:
- {id: e, kind: loose, place: p, printed: x, right: y, why: z, experiment: errata, measure: {
    learner: wdp-cocop-gamma, variant: printed, against: corrected, stream: norm-kink, quantity: regret_ratio}}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "key"),
    [
        ("", "", ""),
        ("experiment: horizon,\n", "experiment: horzon,\n", "claims[c].experiment"),
        ("learner: ftal.plain, stream", "learner: ftal.plian, stream", "claims[c].learner"),
        ("stream: norm-kink, experiment: h", "stream: norm-kinck, experiment: h", "claims[c].stream"),
        ("counterpart: ftal", "counterpart: stya", "claims[c].counterpart"),
        ("epsilon: 8", "epsilom: 8", "claims[w].where.epsilom"),
        ("set: ball", "set: bal", "claims[w].where.set"),
        ("set: ball", "delta: 1e-24", "claims[w].where.delta"),  # neither 1e-6 nor 0
        ("learner: ftal.plain, privacy", "learner: ftal.plan, privacy", "tables[0].rows[r].learner"),
        ("where: {epsilon: 8}}\n  rows", "where: {eps: 8}}\n  rows", "tables[0].reference.where.eps"),
        ("experiment: horizon}", "experiment: horizo}", "figures[0].experiment"),
        ("crossover", "crosover", "exact.crosover"),
        ("experiment: errata", "experiment: erata", "errata[e].experiment"),
        ("against: corrected", "against: corected", "errata[e].measure.against"),
    ],
)
def test_a_misspelt_name_is_one_line(tmp_path: Path, right: str, wrong: str, key: str) -> None:
    for name, text in (("claims.yaml", CLAIMS), ("errata.yaml", ERRATA)):
        (tmp_path / name).write_text(text.replace(right, wrong, 1))
    told = [line.split(": ", 2) for line in read_texts(tmp_path, KNOWN)[1]]
    assert [named for _, named, _ in told] == [key] * bool(key)
    assert all(re.search(r"(claims|errata)\.yaml:\d+$", place) for place, _, _ in told)


@pytest.mark.parametrize("profile", ["full", "ci", "quick", "smoke", "large"])
def test_what_a_smaller_profile_leaves_out_is_no_mistake(profile: str) -> None:
    config = load_config(PROFILES / f"{profile}.yaml", check=False)
    check_references(config)
    assert set(config.papers) <= set(papers())


def test_a_mistake_in_the_texts_of_a_paper_is_refused(tmp_path: Path) -> None:
    shutil.copytree(PAPERS, tmp_path / "papers")
    claims = tmp_path / "papers" / "lou_cheung_2020" / "claims.yaml"
    claims.write_text(claims.read_text().replace("stream: norm-kink", "stream: norm-kinck", 1))
    with pytest.raises(ClaimsError, match=r"claims\.yaml:\d+: .*stream: "):
        check_references(load_config(PROFILES / "smoke.yaml", check=False), tmp_path / "papers")


def test_changes_of_another_form_are_refused_by_file(tmp_path: Path) -> None:
    assert load_changes(tmp_path) == {}
    for text in ("a-b: [{commit: x}]\n", "x: {date: y, whats: {law: [a-b]}}\n"):
        (tmp_path / CHANGES).write_text(text)
        with pytest.raises(ClaimsError, match=f"{CHANGES}: lists commits"):
            load_changes(tmp_path)
    assert all("(2026-" in text for each in load_changes(PAPERS / "prefix_sums").values() for text in each)


def test_changes_of_a_claim_that_is_gone_say_that_it_was_removed(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(PAPERS / "prefix_sums", tmp_path / "prefix_sums"))
    renamed, kept = "last-year", (folder / CHANGES).read_text()
    (folder / CHANGES).write_text(f"{kept}x: {{date: y, what: {{law: [{renamed}]}}}}\n")
    with pytest.raises(ClaimsError, match=rf"{CHANGES}: unknown claim '{renamed}'"):
        load_paper(folder)
    (folder / CHANGES).write_text(f"{kept}x: {{date: y, removed: {{{renamed}: twice judged}}}}\n")
    assert load_paper(folder).changes[renamed] == ("x (y): removed, twice judged",)


# Whatever stands in a file that we read: it is read, or refused in lines that name the file, the line and the key


WORKFLOWS = Path(__file__).resolve().parents[2] / "workflows"
TALWAR = WORKFLOWS / "papers" / "talwar_2015"
NUMBERS = (10**30, -(10**30), 2**63, 1e308, 5e-324, math.inf, math.nan)
POWERS = st.builds("{}^{}".format, st.integers(0, 40), st.integers(-2000, 10**9))
RANGES = st.builds("{0}^{1}..{0}^{2}".format, st.integers(0, 40), st.integers(-9, 2000), st.integers(-9, 10**9))
WORDS = st.sampled_from(["", "horizon", "ball", "\u202e", "\x1b[2J", "a" * 3000, "1e3", "=1+1", "../../x", "off"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(0, 1100).map(lambda power: 2**power),
    POWERS,
    RANGES,
    st.sampled_from(NUMBERS),
    st.floats(),
    st.text(max_size=6),
    WORDS,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=5,
)


def overlay() -> Any:
    """A profile on top of another one, with all that its grammar has."""
    changed = {"runs": 4, "horizon": ["2^4..2^7", "2^9"], "window": None}
    return {
        "profile": "mine", "extends": "ci", "only": "listed", "seed": 3, "defaults": {"delta": 1e-5},
        "limits": {"hours": 1e5}, "audit": {"runs": 100, "repeats": 1},
        "papers": {"lou_cheung_2020": {
            "defaults": {"epsilon": "2^-1..2^2"}, "only": ["horizon", "window"],
            "experiments": {
                "horizon": {**changed, "window": [1]}, "window": {"title": "Again", "runs": 2},
            },
        }},
    }  # fmt: skip


def parsed(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def reread(path: Path) -> None:
    """Load a configuration; jobs read another form of it, which must be the same."""
    config = load_config(path)
    again = Config.model_validate_json(config.to_json())
    assert again == config
    assert [again.fingerprint(each) for each in again.papers] == [config.fingerprint(each) for each in config.papers]


def claims_beside_experiments(path: Path) -> object:
    """Load a claims file where it stands: beside the experiments of its paper, which imply some of its keys."""
    shutil.copyfile(TALWAR / "experiments.yaml", path.with_name("experiments.yaml"))
    return load_claims(path)


READERS: dict[str, tuple[Callable[[], Any], Callable[[Path], object], type[Exception]]] = {
    **{family: (functools.partial(small, family), reread, ConfigError) for family in SMALL},
    "overlay": (overlay, reread, ConfigError),
    "claims": (lambda: parsed(TALWAR / "claims.yaml"), claims_beside_experiments, ClaimsError),
    "errata": (lambda: parsed(TALWAR / "errata.yaml"), load_errata, ClaimsError),
    "audit": (lambda: parsed(WORKFLOWS / "audit" / "settings.yaml"), load_settings, ConfigError),
    "sources": (lambda: parsed(WORKFLOWS / "config" / "sources.yaml"), Source.read_all, ConfigError),
}


@functools.cache
def known(kind: str) -> Any:
    """The content of a file that is read."""
    return READERS[kind][0]()


def places(data: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything in a tree of mappings and lists."""
    found = [here] if here else []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += places(value, (*here, key))
    return found


def mutated(data: Any, where: tuple[Any, ...], value: Any, how: str) -> Any:
    changed = copy.deepcopy(data)
    target = functools.reduce(lambda tree, part: tree[part], where[:-1], changed)
    if how == "drop":
        del target[where[-1]]
    elif how == "rename" and isinstance(target, dict):
        target[f"{where[-1]}x"] = target.pop(where[-1])
    else:
        target[where[-1]] = value
    return changed


@pytest.mark.parametrize("kind", READERS)
def test_the_untouched_file_is_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(known(kind), sort_keys=False, allow_unicode=True))
    READERS[kind][1](path)


@pytest.mark.parametrize("kind", READERS)
@fuzz(8)
@given(data=st.data())
def test_a_mutated_file_is_read_or_refused_with_its_name(kind: str, data: st.DataObject, tmp_path: Path) -> None:
    _, load, error = READERS[kind]
    path, tree = tmp_path / "mine.yaml", known(kind)
    where, how = data.draw(st.sampled_from(places(tree))), data.draw(st.sampled_from(["set", "set", "drop", "rename"]))
    changed = mutated(tree, where, data.draw(VALUES), how)
    path.write_text(yaml.safe_dump(changed, sort_keys=False, allow_unicode=True), encoding="utf-8")
    check_words(refusal(load, path, error), "mine.yaml")


ANYTHING = st.one_of(st.binary(max_size=60), st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))


@pytest.mark.parametrize("kind", ["online", "claims", "errata", "audit", "sources"])
@fuzz(10)
@given(content=ANYTHING)
def test_any_bytes_are_refused_with_the_name_of_the_file(kind: str, content: bytes, tmp_path: Path) -> None:
    _, load, error = READERS[kind]
    path = tmp_path / "mine.yaml"
    path.write_bytes(content)
    said = refusal(load, path, error)
    assert "mine.yaml" in said or (kind == "sources" and Source.read_all(path) == {})


@pytest.mark.parametrize("kind", READERS)
def test_no_file_or_a_folder_is_refused_with_its_name(kind: str, tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises((ConfigError, OSError, ValueError)) as fault:
            READERS[kind][1](path)
        assert path.name in str(fault.value)


def grown(factor: float, power: float) -> dict[str, Any]:
    return {"dimension": None, "dimension_growth": {"factor": factor, "power": power}}


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("online", {"windows": [4]}, "windows"),
    ("online", {"epsilon": None}, "epsilon"),
    ("online", {"sweep": "windw"}, "sweep"),
    ("online", {"dimension": [2.5]}, "dimension[0]"),
    ("online", {"dimension": {"ball": [4], "bal": [4]}}, "dimension.bal"),
    ("online", {"horizon": [64, "128", 256, 512]}, "horizon[1]"),
    ("online", {"horizon": "2^0..2^1000000"}, "horizon"),
    ("online", {"window": [4, 24]}, "window[1]"),
    ("online", {"epsilon": [math.nan]}, "epsilon[0]"),
    ("online", {"epsilon": [1.0, 5e-324]}, "epsilon[1]"),
    ("online", {"delta": 1.0}, "delta"),
    ("online", {"options": {"spread": [1]}}, "options.spread"),
    ("online", {"set": "bal"}, "set[0]"),
    ("online", {"set": "flow", "dimension": [24, 25]}, "dimension[1]"),
    ("online", {"streams": ["norm-kinks"]}, "streams[0]"),
    ("online", {"learners": {"ftla": ["plain"]}}, "learners.ftla"),
    ("online", {"learners": {"ftal": ["plian"]}}, "learners.ftal[0]"),
    ("online", {"learners": {"pocp-giga": ["corrected"]}}, "learners.pocp-giga"),
    ("online", {"learners": {"pftal": ["corrected"], "ftal": ["plain"]}, "window": ["horizon", 4]}, "window[1]"),
    ("erm", {"dimension": [4], "dimension_growth": {"factor": 1.0, "power": 0.5}}, ""),
    ("erm", grown(math.inf, 1.0), "dimension_growth.factor"),
    ("erm", grown(1.0, 1e308), "dimension_growth.power"),
    ("erm", grown(1e308, 4.0), ""),  # gigabytes
    ("erm", {"learners": {"noisy-eg": ["corrected"]}}, "learners.noisy-eg[0]"),
    ("erm", {"learners": {"noisy-gd-strong": ["corrected"]}}, "learners.noisy-gd-strong[0]"),
    ("erm", {"samples": [2, 128, 256, 512]}, "learners.noisy-gd[0]"),
    ("erm", {"options": {"majority": 0.2}}, "risks"),
    ("erm", {"set_options": {"corners": [4, 8]}}, "set_options"),
    ("bandits", {"streams": ["ranking"]}, "streams"),
    ("bandits", {"horizon": [256, 1000, 4096, 16384]}, "horizon[1]"),
    ("bandits", {"dimension": [40]}, "horizon[0]"),
    ("bandits", {"learners": {"private-linear-bandit": ["corrected"]}}, "learners.private-linear-bandit"),
    ("experts", {"experts": [12]}, "experts[0]"),
    ("experts", {"streams": ["lower-bound"], "epsilon": [0.1]}, "learners.hedge[0]"),
    ("experts", {"options": {"kill": {"half": 1}}}, "options.kill"),
    ("experts", {"learners": {"private-ftrl": ["gaussian"]}, "experts": [2**22]}, "learners.private-ftrl[0]"),
]


def told(path: Path) -> list[tuple[int, str]]:
    """(line, key) of all that is said of a file, a line each."""
    found = []
    for line in refused(path):
        place, key, _ = line.split(": ", 2)
        assert Path(place.rpartition(":")[0]).name == path.name
        found.append((int(place.rpartition(":")[2]), key))
    return found


@pytest.mark.parametrize(("family", "changes", "key"), MISTAKES)
def test_a_mistake_in_an_experiment_is_a_line_with_file_line_and_key(
    write: Write, family: str, changes: dict[str, Any], key: str
) -> None:
    path = write(small(family, **changes))
    found = told(path)
    where = f"papers.{SMALL[family][0]}.experiments.small" + (f".{key}" if key else "")
    assert where in {name for _, name in found}, found
    lines = path.read_text().splitlines()
    for number, name in found:
        words = {part.partition("[")[0] for part in name.split(".")}
        assert any(word in lines[number - 1] for word in words) or lines[number - 1].strip().startswith("-")


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("extends: cy", 2, "extends"),
        ("extends: ./mine.yaml", 2, "extends"),
        ("extends: ci\nonly: [lou]", 3, "only[0]"),
        ("extends: ci\nextend: full", 3, "extend"),
        ("extends: ci\nonly: listed", 3, "only"),
        ("extends: ci\nonly: listed\npaper: {lou_cheung_2020: {}}", 4, "paper"),
        ("extends: ci\npapers: {lou_cheung_2020: {only: listed, experiment: {}}}", 3,
         "papers.lou_cheung_2020.experiment"),
        ("extends: ci\ndefaults: {runs: 1}", 3, "defaults.runs"),
        ("extends: ci\nseed: null", 3, "seed"),
        ("extends: ci\nprofile: mine", 3, "profile"),
        ("extends: ci\npapers: {lou_cheung_2020: {experiments: {horizn: {runs: 4}}}}", 3,
         "papers.lou_cheung_2020.experiments.horizn"),
        ("extends: ci\npapers: {lou_cheung_2020: {experiments: {horizon: {horizon: 2^9..4^10}}}}", 3,
         "papers.lou_cheung_2020.experiments.horizon.horizon"),
        ("seed: [1\npapers: {}", 3, None), ("seed: 1\n\tseed: 1", 3, None),
        ("seed: !!python/object:os.system x", 2, "seed"), ("on: 1", 2, None), ("? [a, b]\n: c", 2, None),
        ("seed: -1\npapers: {}", 2, "seed"), ("extends: ci\naudit: {runs: 1000000000}", 3, "audit.runs"),
        ("extends: ci\nvalidation: {simulations: 1000000000}", 3, "validation.simulations"),
    ],
)  # fmt: skip
def test_a_mistake_of_a_profile_is_a_line_with_file_line_and_key(
    write: Write, text: str, line: int, key: str | None
) -> None:
    path = write(f"profile: mine\n{text}\n")
    assert refused(path)[0].startswith(f"{path}:{line}: " + (f"{key}: " if key else ""))


def test_all_mistakes_are_told_in_the_order_of_the_file_each_once(write: Write) -> None:
    found = told(write({**small("online", runs=0, window=[0]), "seed": -1}))
    assert [key.rpartition(".")[2] for _, key in found] == ["seed", "runs", "window[0]"]
    assert len(told(write(small("experts", experts=[12, 24], epsilon=[1.0, 4.0])))) == 2  # whatever else is crossed


def test_a_mistake_in_what_is_extended_is_told_there(write: Write, tmp_path: Path) -> None:
    base = "profile: base\nextends: ci\npapers:\n  lou_cheung_2020: {defaults: {delta: 2.0}}\n"
    (tmp_path / "base.yaml").write_text(base)
    (line,) = refused(write("profile: mine\nextends: ./base.yaml\n"))
    assert "base.yaml:4: papers.lou_cheung_2020.defaults.delta: " in line


def test_a_reserved_profile_and_an_unknown_paper(tmp_path: Path) -> None:
    content = small("online") | {"profile": "reference"}
    content["papers"]["lou_2020"] = content["papers"].pop("lou_cheung_2020")
    (tmp_path / "reference.yaml").write_text(json.dumps(content))
    assert {key.split(".")[0] for _, key in told(tmp_path / "reference.yaml")} == {"profile", "papers"}


@fuzz(30)
@given(
    st.one_of(
        st.text(max_size=12),
        SCALARS,
        st.sampled_from(["off", "hours:2^42,cells:1e7", "cells:", "hours:2^9999", "a:b:c", "hours:-1"]),
        st.dictionaries(st.sampled_from(["hours", "memory_gb", "cells", "x"]), SCALARS, max_size=2),
    )
)
def test_limits_are_read_or_refused(option: Any) -> None:
    said = refusal(lambda _: parse_limits(option), Path(), ConfigError)
    assert not said or "limits" in said
