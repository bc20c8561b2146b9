"""README, docs and data files agree with each other."""

import fnmatch
import re
from functools import cache
from pathlib import Path

import pytest

from dpregret.paper_figs.judge.claims import QUOTED
from dpregret.paper_figs.judge.claims_files import cited_claims, load_paper
from dpregret.paper_figs.report.readme import update_page, update_table
from dpregret.workflows import boxes_page
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.profiles import papers

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
PAPERS = papers()
WITH_PAGE = [
    each for each in PAPERS if (ROOT / f"docs/{each}.md").exists() and (ROOT / f"results/reference/{each}").exists()
]


@cache
def profile(name):
    """A profile as it is read; that it passes every check is shown where it is planned."""
    return load_config(ROOT / f"workflows/config/{name}.yaml", check=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_documents_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_places_in_documents_exist(page):
    for target, place in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8")):
        text = (page.parent / target).read_text(encoding="utf-8") if target else page.read_text(encoding="utf-8")
        heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        assert place in {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in heads}, (
            page.name,
            place,
        )


def test_names_in_the_api_reference_stand_in_their_modules():
    rows = re.findall(r"^\| \[[\w.]+\]\(([^)]+)\) \| (.*) \|$", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    named = [(path, name) for path, about in rows for name in re.findall(r"`([A-Z]\w+)`", about)]
    assert len(named) > 8
    for path, name in named:
        assert re.search(rf"^class {name}\b", (ROOT / "docs" / path).read_text(), re.MULTILINE), (path, name)


@pytest.mark.parametrize("paper", WITH_PAGE)
def test_table_of_a_paper_is_the_reference_table(paper):
    assert update_table(ROOT / f"docs/{paper}.md", ROOT / f"results/reference/{paper}/table_1_all.csv", check=True)


@pytest.mark.parametrize("page", ["README.md", "docs/glossary.md"])
def test_generated_parts_are_those_of_the_reference(page):
    assert update_page(ROOT / page, ROOT / "results/reference", ROOT / "workflows/papers", check=True)


def test_boxes_in_the_pages_are_those_of_the_docstrings():
    assert boxes_page.main(["--check"]) == 0


@cache
def claims_of_papers():
    return {claim.id for paper in PAPERS for claim in load_paper(ROOT / f"workflows/papers/{paper}").claims.claims}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_claims_that_a_document_cites_exist(page):
    assert set(cited_claims(page.read_text(encoding="utf-8"))) <= claims_of_papers()


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_and_erratum_names_what_the_full_profile_runs(paper):
    experiments = profile("full").papers[paper].experiments
    claims, errata, _ = load_paper(ROOT / f"workflows/papers/{paper}")
    assert {figure.experiment for figure in claims.figures if figure.experiment} <= set(experiments)
    wanted = [(claim.id, claim.experiment, claim.learner, claim.variant, claim.stream) for claim in claims.claims]
    wanted += [
        (claim.id, claim.experiment, claim.counterpart.learner, claim.counterpart.variant, claim.stream)
        for claim in claims.claims
        if claim.counterpart is not None
    ]
    for table in claims.tables:
        for row in table.rows:
            reference = row.reference or table.reference
            if row.learner == QUOTED:
                continue
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
    full, small = (profile(name).papers.get(paper) for name in ("full", "ci"))
    if full is None or small is None:
        pytest.skip("not in the ci profile")
    for name, experiment in small.experiments.items():
        for learner, variants in experiment.learners.items():
            assert set(variants) <= set(full.experiments[name].learners[learner]), (name, learner)
