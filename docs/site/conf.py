"""The documentation site: `make docs` builds it from README, docs and the docstrings, none of which is imported."""

import re
import sys
from pathlib import Path
from typing import Any

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
PACKAGE = ROOT / "dpregret"
sys.path.insert(0, str(SITE))

from docstrings import to_rst  # noqa: E402

project = "dpregret"
author = copyright = "the dpregret authors"
extensions = ["myst_nb", "autoapi.extension", "sphinx.ext.napoleon"]
napoleon_numpy_docstring = False
nb_execution_mode = "off"  # the notebook holds its outputs; a test executes it
root_doc = "README"
add_module_names = False
smartquotes = False  # docstrings are plain text: quotes of code and of doctests stand as they are typed
python_use_unqualified_type_names = True

# `make docs` copies README, docs and what they link to, laid out as in the repository, so that one relative link serves
# the site and a plain Git host.
include_patterns = [
    "*.md", "docs/*.md", "docs/*.ipynb", "docs/proofs/*.md", "dpregret/numerics/README.md", "results/reference/**.md",
    "api/**.rst",
]  # fmt: skip
exclude_patterns = ["docs/site", "results/reference/ci"]

PAPERS = [
    page
    for page in sorted(ROOT.glob("docs/*.md"))
    if (PACKAGE / "workflows/papers" / page.stem / "claims.yaml").exists()
]
NAVIGATION = {
    "Start here": [
        "Tutorial <docs/tutorial>",
        "First steps in Python <docs/first_steps>",
        "An algorithm of your own <docs/own_algorithm>",
        "From a CSV file to a choice <docs/csv_to_choice>",
        "One verdict by example <docs/verdict_by_example>",
        "How claims are judged <docs/method>",
        "docs/settings",
        "docs/your_study",
        "docs/running",
        "docs/errors",
        "Python API <docs/api>",
    ],
    "Papers": [
        *(f"{page.read_text(encoding='utf-8')[2:].partition(':')[0]} <docs/{page.stem}>" for page in PAPERS),
        "Gallery <docs/gallery>",
        "Who wins <docs/winners>",
        "For authors <docs/authors>",
    ],
    "Results of our own": [
        "All on one page <docs/own_results>",
        "The best Gaussian noise for a window <docs/proofs/window_optimum>",
        "The range of report-noisy-min <docs/proofs/noisy_min_range>",
        "A bound for private bandits <docs/proofs/private_bandit_bound>",
        "Private Frank-Wolfe <docs/proofs/frank_wolfe_privacy>",
    ],
    "Privacy and security": ["The guarantee in words <docs/guarantee>", "docs/audit", "SECURITY"],
    "Development": [
        "docs/architecture",
        "Speed beside other libraries <docs/speed>",
        "The engine <dpregret/numerics/README>",
        "CONTRIBUTING",
        "AGENTS",
        "CHANGELOG",
        "RELEASING",
        "CODE_OF_CONDUCT",
    ],
}
"""Caption -> pages of the menu, with a short title where the page's own is long."""
BELOW = {"docs/api": ["/api/dpregret/index"]}
"""Pages with a menu of their own."""

myst_heading_anchors = 4
suppress_warnings = ["myst.header", "autoapi.python_import_resolution", "ref.python"]  # names that two modules have

autoapi_dirs = [str(PACKAGE)]
autoapi_root = "api"
autoapi_options = ["members", "show-inheritance", "show-module-summary"]
autoapi_add_toctree_entry = False
autoapi_python_class_content = "class"
autoapi_member_order = "bysource"
autoapi_keep_files = False
autoapi_template_dir = str(SITE / "templates")
PUBLIC = (
    "__init__", "api", "algorithms/*", "algorithms/*/*", "datasets/*", "paper_figs/__init__",
    "paper_figs/tables/show", "paper_figs/compare/compare", "paper_figs/compare/gate", "paper_figs/judge/fits",
    "paper_figs/text/formats",
    "paper_figs/judge/vocabulary",
)  # fmt: skip
"""Modules of the reference; loops that numba compiles are left out."""
public = {path for each in PUBLIC for path in PACKAGE.glob(f"{each}.py") if "kernels" not in path.name}
modules = {path for part in ("algorithms", "datasets", "paper_figs") for path in (PACKAGE / part).rglob("*.py")}
autoapi_ignore = [*map(str, modules - public), *(f"{PACKAGE}/{name}" for name in ("core", "workflows"))]

html_theme = "furo"
html_title = "dpregret"
html_static_path = [str(SITE / "static")]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False  # it would fetch pages, which a browser refuses where they are opened as files
html_theme_options = {"navigation_with_keys": True}
templates_path: list[str] = []
pygments_style, pygments_dark_style = "vs", "monokai"  # comments at a contrast of 5 to 1


def with_menu(app: Any, page: str, source: list[str]) -> None:
    """The front page gets the menu, which a Git host would show as code."""
    menus = NAVIGATION if page == root_doc else {"": BELOW[page]} if page in BELOW else {}
    for caption, entries in menus.items():
        options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
        source[0] += "\n\n```{toctree}\n" + "\n".join([*options, "", *entries]) + "\n```\n"


def with_title(app: Any, page: str, source: list[str]) -> None:
    """A measured table is in no menu, and called as its file unless it has a heading."""
    if page.startswith("results/"):
        heading = (
            "" if re.search(r"^# ", source[0], re.MULTILINE) else f"# {page.removeprefix('results/reference/')}\n\n"
        )
        source[0] = f"---\norphan: true\n---\n\n{heading}{source[0]}"


def without_dead_links(app: Any, page: str, source: list[str]) -> None:
    """A site has no folders, and measured tables name runs and figures that only a run has: their names stay."""
    folder = Path(app.srcdir, page).parent

    def kept(link: re.Match[str]) -> str:
        target = folder / link[2]
        return link[1] if target.is_dir() or (page.startswith("results/") and not target.exists()) else link[0]

    source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)\)", kept, source[0])


def to_modules(app: Any, page: str, source: list[str]) -> None:
    """Links to the source of documented modules lead to their place in the reference."""

    def place(link: re.Match[str]) -> str:
        name = re.sub(r"(/__init__)?\.py$", "", link[1])
        return f"](/api/dpregret/{name}/index.rst)" if PACKAGE / link[1] in public else link[0]

    source[0] = re.sub(
        r"\]\((?:\.\./)?(?:dpregret/)?((?:algorithms|datasets|paper_figs)/[\w/]+\.py)\)", place, source[0]
    )


def in_rst(app: Any, what: str, name: str, item: object, options: object, lines: list[str]) -> None:
    """Docstrings are plain text, not reStructuredText."""
    lines[:] = to_rst("\n".join(lines)).splitlines()


def skipped(app: Any, what: str, name: str, item: object, skip: bool, options: object) -> bool | None:
    """A folder of modules is shown without a docstring too."""
    return False if what == "package" else None


def front_page(app: Any, fault: Exception | None) -> None:
    """The front page under the name that a server looks for."""
    if fault is None and app.builder.name == "html":
        out = Path(app.outdir)
        (out / "index.html").write_bytes((out / f"{root_doc}.html").read_bytes())


def setup(app: Any) -> None:
    """Name what is done when."""
    app.connect("source-read", with_menu)
    app.connect("source-read", with_title)
    app.connect("source-read", without_dead_links)
    app.connect("source-read", to_modules)
    app.connect("autodoc-process-docstring", in_rst)
    app.connect("autoapi-skip-member", skipped)
    app.connect("build-finished", front_page)
