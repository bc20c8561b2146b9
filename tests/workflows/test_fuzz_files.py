"""Whole files drawn from their grammar: read or refused in words, in ten seconds and a gigabyte, without traceback.

What is accepted must be what was written, and good for the work that comes after it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grammar
import oddities
import pandas as pd
import pytest
import yaml
from fuzzing import bounded, check_words, fuzz, refusal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpregret.core import parquet
from dpregret.core.errors import ConfigError
from dpregret.datasets import sources
from dpregret.datasets.download import FetchError
from dpregret.paper_figs.judge.claims_files import ClaimsError, load_paper
from dpregret.paper_figs.judge.runs import RunsError
from dpregret.paper_figs.tables.write import write_tables
from dpregret.paper_figs.validation.planted_laws import Sweep
from dpregret.workflows.audit.plan import load_settings
from dpregret.workflows.plan.config import Config
from dpregret.workflows.plan.cross_references import text_problems
from dpregret.workflows.plan.limits import given_limits
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.profiles import PROFILES

pytestmark = pytest.mark.filterwarnings("default")


def reread(path: Path) -> None:
    """Load a configuration; jobs read another form of it, which must be the same."""
    config = load_config(path)
    assert Config.model_validate_json(config.to_json()) == config
    assert config.profile == path.stem


@pytest.mark.parametrize("family", ["online", "erm", "bandits", "experts", "overlay"])
@fuzz(6)
@given(data=st.data())
def test_a_configuration_is_read_or_refused_with_its_name(family: str, data: st.DataObject, tmp_path: Path) -> None:
    tree = grammar.overlays() if family == "overlay" else grammar.profile(family)
    path = tmp_path / "mine.yaml"
    path.write_text(data.draw(oddities.texts(tree)), encoding="utf-8")
    check_words(refusal(reread, path, ConfigError), ".yaml" if family == "overlay" else "mine.yaml")


@fuzz(40)
@given(
    st.one_of(
        st.text(max_size=12),
        oddities.ODD,
        st.sampled_from(["off", "rounds:2^42,runs:1e7", "runs:", "rounds:2^9999", "a:b:c"]),
        st.dictionaries(st.sampled_from(["runs", "rounds", "file_mb", "x"]), oddities.ODD, max_size=2),
    )
)
def test_limits_are_read_or_refused(option: Any) -> None:
    said = refusal(lambda _: given_limits(option), Path(), ConfigError)
    assert not said or "limits" in said


RUNS = pd.concat(
    [
        Sweep(lambda checkpoints, value: checkpoints**0.5, runs=2, horizon=1024).frame(),
        Sweep(
            lambda checkpoints, value: checkpoints**0.5 * value,
            runs=2,
            horizon=1024,
            experiment="dimension",
            parameter="dimension",
            values=(2, 4, 8, 16),
            settings={"config_hash": "d"},
        ).frame(),
        Sweep(
            lambda checkpoints, value: 3 + checkpoints**0.25,
            runs=2,
            horizon=1024,
            learner="ftal",
            variant="plain",
            settings={"epsilon": float("inf"), "delta": 0.0},
        ).frame(),
    ]
)
KNOWN = {
    name: [each]
    for name, each in load_config(PROFILES / "smoke.yaml", check=False).papers["lou_cheung_2020"].experiments.items()
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Planted rows of three learners, as a folder."""
    folder = tmp_path_factory.mktemp("runs")
    parquet.write(RUNS, folder / "rows.parquet", parquet.Stamp("", ""))
    return folder


def write_paper(folder: Path, claims: str, errata: str = "errata: []\n") -> None:
    (folder / "claims.yaml").write_text(claims, encoding="utf-8")
    (folder / "errata.yaml").write_text(errata, encoding="utf-8")


@fuzz(25)
@given(claims=oddities.texts(grammar.claims()), errata=oddities.texts(grammar.ERRATA))
def test_a_paper_is_read_or_refused_with_the_name_of_its_file(claims: str, errata: str, tmp_path: Path) -> None:
    write_paper(tmp_path, claims, errata)
    said = refusal(load_paper, tmp_path, ClaimsError)
    check_words(said, ".yaml")
    if not said:
        with bounded():
            found = text_problems(tmp_path, KNOWN)
        check_words("\n".join(found), ".yaml")


@fuzz(15)
@given(claims=oddities.texts(grammar.claims()), errata=oddities.texts(grammar.ERRATA))
def test_claims_that_are_accepted_are_judged_or_refused(claims: str, errata: str, tmp_path: Path, runs: Path) -> None:
    """Every line has a verdict, whatever was claimed, even of what was not run."""
    write_paper(tmp_path, claims, errata)
    if refusal(load_paper, tmp_path, ClaimsError):
        return
    out = tmp_path / "out"
    out.mkdir(exist_ok=True)
    said = refusal(lambda folder: write_tables(runs, folder, out, profile="ci"), tmp_path, (ClaimsError, RunsError))
    assert len(said.splitlines()) <= 1
    if not said:
        judged = sum(len(pd.read_csv(out / f"{name}.csv")) for name in ("claims", "checks"))
        assert judged == len(load_paper(tmp_path).claims.claims)


@pytest.mark.parametrize(
    ("tree", "load", "error"),
    [(grammar.SOURCES, sources.read_sources, FetchError), (grammar.AUDIT, load_settings, ConfigError)],
    ids=["sources", "audit"],
)
@fuzz(30)
@given(data=st.data())
def test_settings_are_read_or_refused_with_the_name_of_their_file(
    tree: Any, load: Any, error: type[Exception], data: st.DataObject, tmp_path: Path
) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(data.draw(oddities.texts(tree)), encoding="utf-8")
    check_words(refusal(load, path, error), "some.yaml")


def test_the_grammar_makes_files_that_are_accepted(tmp_path: Path) -> None:
    """Or the properties above would hold of nothing."""
    accepted: dict[str, int] = dict.fromkeys(("online", "experts", "claims", "sources", "audit"), 0)
    path = tmp_path / "mine.yaml"

    @settings(max_examples=12, database=None, suppress_health_check=list(HealthCheck), deadline=None)
    @given(data=st.data())
    def look(data: st.DataObject) -> None:
        for name, tree, load in (
            ("online", grammar.profile("online"), lambda path: load_config(path, check=False)),
            ("experts", grammar.profile("experts"), lambda path: load_config(path, check=False)),
            ("claims", grammar.claims(), lambda path: load_paper(path.parent)),
            ("sources", grammar.SOURCES, sources.read_sources),
            ("audit", grammar.AUDIT, load_settings),
        ):
            text = data.draw(tree)
            for file in (path, path.with_name("claims.yaml")):
                file.write_text(yaml.safe_dump(text), encoding="utf-8")
            accepted[name] += not refusal(load, path, (ConfigError, FetchError))

    look()
    assert min(accepted.values()) > 0, accepted
