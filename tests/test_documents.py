"""README, docs and data files agree with each other; that links lead somewhere is checked by `make docs`."""

import re
from functools import cache
from pathlib import Path

import pytest

from dpregret.paper_figs.judge.claims import cited_claims, load_paper
from dpregret.paper_figs.report import readme
from dpregret.workflows.plan.load import load_config
from dpregret.workflows.plan.read import papers

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PAPERS = papers()


@cache
def profile(name):
    """A profile as it is read; that it passes every check is shown where it is planned."""
    return load_config(ROOT / f"workflows/config/{name}.yaml", check=False)


def test_names_in_the_api_reference_stand_in_their_modules():
    rows = re.findall(r"^\| \[[\w.]+\]\(([^)]+)\) \| (.*) \|$", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    named = [(path, name) for path, about in rows for name in re.findall(r"`([A-Z]\w+)`", about)]
    assert len(named) > 8
    for path, name in named:
        assert re.search(rf"^class {name}\b", (ROOT / "docs" / path).read_text(), re.MULTILINE), (path, name)


GENERATED = [page for page in PAGES if ":begin -->" in page.read_text() and page.parent.name != "proofs"]


@pytest.fixture(scope="module")
def read_once():
    """The lines of the reference, which every page shows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readme, "_lines", cache(readme._lines))
        yield


@pytest.mark.parametrize("page", GENERATED, ids=lambda page: page.name)
@pytest.mark.usefixtures("read_once")
def test_generated_parts_are_those_of_the_reference(page):
    assert readme.update_page(page, ROOT / "results/reference", ROOT / "workflows/papers", check=True)


def test_the_page_of_each_paper_has_its_verdicts():
    pages = {each for each in PAPERS if (ROOT / f"docs/{each}.md").exists()}
    assert len(pages) >= 5
    assert pages <= {page.stem for page in GENERATED}


@cache
def claims_of_papers():
    return {claim.id for paper in PAPERS for claim in load_paper(ROOT / f"workflows/papers/{paper}").claims.claims}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_claims_that_a_document_cites_exist(page):
    assert set(cited_claims(page.read_text(encoding="utf-8"))) <= claims_of_papers()


@pytest.mark.parametrize("paper", PAPERS)
def test_the_ci_profile_is_a_part_of_the_full_one(paper):
    full, small = (profile(name).papers.get(paper) for name in ("full", "ci"))
    if full is None or small is None:
        pytest.skip("not in the ci profile")
    for name, experiment in small.experiments.items():
        for learner, variants in experiment.learners.items():
            assert set(variants) <= set(full.experiments[name].learners[learner]), (name, learner)
