"""README, docs and data files agree with each other."""

import fnmatch
import re
from pathlib import Path

import pytest

from dpregret.paper_figs.claims_files import load_claims, load_errata
from dpregret.paper_figs.readme import update_readme
from dpregret.workflows.config import load_config

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
PAPERS = {
    "lou_cheung_2020": "table-1",
    "talwar_2015": "talwar",
    "asi_et_al_2023": "asi",
    "ene_et_al_2021": "ene",
}  # paper -> mark of its table in the README


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_documents_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize(("paper", "mark"), PAPERS.items())
def test_readme_table_is_the_reference_table(paper, mark):
    assert update_readme(ROOT / "README.md", ROOT / f"results/reference/{paper}/table_1.csv", check=True, mark=mark)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_and_erratum_names_what_the_full_profile_runs(paper):
    experiments = load_config(ROOT / "workflows/config/full.yaml").papers[paper].experiments
    claims = load_claims(ROOT / f"workflows/claims/{paper}.yaml")
    errata = load_errata(ROOT / f"workflows/errata/{paper}.yaml", claims)
    assert {figure.experiment for figure in claims.figures if figure.experiment} <= set(experiments)
    wanted = [(claim.id, claim.experiment, claim.learner, claim.variant, claim.stream) for claim in claims.claims]
    wanted += [
        (claim.id, claim.experiment, claim.twin.learner, claim.twin.variant, claim.stream)
        for claim in claims.claims
        if claim.twin is not None
    ]
    for table in claims.tables:
        for row in table.rows:
            reference = row.reference or table.reference
            wanted.append((row.id, reference.experiment, row.learner, row.variant, reference.stream))
    for erratum in errata.errata:
        if erratum.measure is not None and erratum.experiment is not None:
            measure = erratum.measure
            wanted += [
                (erratum.id, erratum.experiment, measure.learner, variant, measure.stream)
                for variant in (measure.variant, measure.against)
            ]
    for owner, experiment, learner, variant, stream in wanted:
        assert experiment in experiments, owner
        assert fnmatch.filter(experiments[experiment].learners.get(learner, ()), variant), owner
        assert stream in experiments[experiment].streams, owner


@pytest.mark.parametrize("paper", PAPERS)
def test_the_ci_profile_is_a_part_of_the_full_one(paper):
    full, small = (load_config(ROOT / f"workflows/config/{name}.yaml").papers[paper] for name in ("full", "ci"))
    for name, experiment in small.experiments.items():
        for learner, variants in experiment.learners.items():
            assert set(variants) <= set(full.experiments[name].learners[learner]), (name, learner)
