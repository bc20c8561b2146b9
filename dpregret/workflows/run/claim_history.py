"""Which commits changed what a claim is judged by after its verdict had first been in the committed reference.

`python -m dpregret.workflows.run.claim_history` reads the history of git and writes `changes.yaml` into the folder of
each paper: claim -> commits, each with its date and what it changed. The number of these commits is the column
`changed` of claims.csv. Counted are the tolerance, the law, the cells that are fitted, and the grid of the experiment;
not the words of a claim, and not who else plays in its experiment.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd
import yaml

from dpregret.core import boundary
from dpregret.core.yaml_source import expand
from dpregret.paper_figs.judge.claims import AT, CHANGES, RENAMED, SETTINGS
from dpregret.workflows.plan.read import PAPERS, papers

ROOT: Final = Path(__file__).resolve().parents[3]
"""Of the checkout: paths of git are relative to it."""
CLAIM_KEYS: Final = {
    "tol": "tolerance", "rate": "law", "type": "type", "side": "law", "bound": "law", "from": "cells", "where": "cells",
    "stream": "stream", "experiment": "experiment", "parameter": "parameter", "response": "response",
    "counterpart": "response",
}  # fmt: skip
"""Key of a claim -> what a change of it is called."""
BESIDES: Final = ("title", "learners", "like", "sweep", "tight", "family", "streams", "risks")
"""Keys of an experiment that do not decide what a claim is judged by; its stream is in the claim."""
REFORMAT: Final = 0.5
"""A commit that changes more than this share of a paper's claims rewrites the file, or an experiment's defaults."""
REFERENCE: Final = ("claims", "checks")
"""Tables of the reference that have a line for each claim."""
PLACES: Final = {
    "claims": tuple(f"{folder}.yaml" for folder in (
        "dpregret/workflows/papers/{paper}/claims", "workflows/papers/{paper}/claims", "workflows/claims/{paper}")),
    "experiments": ("dpregret/workflows/papers/{paper}/experiments.yaml", "workflows/papers/{paper}/experiments.yaml",
                    "workflows/config/full.yaml"),
}  # fmt: skip
"""Texts of a paper -> where they stood, the latest place first."""
Facts = dict[str, Any]


def git(*arguments: str) -> str:
    """The output of git; the empty text where a file or a repository is not there."""
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout if found.returncode == 0 else ""


def history(paper: str) -> dict[str, list[dict[str, str]]]:
    """Claim -> its changes after its first reference, the oldest first.

    A merge changes what differs from each of its parents. A claim that got another id takes its changes along.
    """
    after = _after_first_reference(paper)
    found: dict[str, list[dict[str, str]]] = {}
    for commit, parents, date in _commits(paper):
        now, before = facts(commit, paper), [facts(parent, paper) for parent in parents]
        for old, new in renamed(before[0], now).items():
            after[new] = after.get(new, frozenset()) | after.get(old, frozenset())
            found[new] = found.pop(old, []) + found.get(new, [])
        changed = {claim: what for claim, what in changes(before, now).items() if commit in after.get(claim, ())}
        for claim, what in sorted(changed.items()):
            found.setdefault(claim, []).append({"commit": commit[:9], "date": date, "what": ", ".join(what)})
    listed = _claims((PAPERS / paper / "claims.yaml").read_text(encoding="utf-8"))
    return {claim: found[claim] for claim in listed if found.get(claim)}


def changes(before: Sequence[Mapping[str, Facts]], now: Mapping[str, Facts]) -> dict[str, list[str]]:
    """Claim -> what differs from its facts in every parent, in words; none where most claims differ: a new grammar."""
    found = {}
    for claim in now:
        each = [_differences(parent[claim], now[claim]) if claim in parent else [] for parent in before]
        if what := [word for word in each[0] if all(word in words for words in each)]:
            found[claim] = what
    return found if len(found) <= REFORMAT * len(now) else {}


def renamed(before: Mapping[str, Facts], now: Mapping[str, Facts]) -> dict[str, str]:
    """Old id -> new id of claims that are judged by the same on the same learner, where no other claim is."""
    gone = [claim for claim in before if claim not in now]
    new = [claim for claim in now if claim not in before]
    pairs = [(old, each) for old in gone for each in new if _plain(before[old]) == _plain(now[each])]
    olds, news = [old for old, _ in pairs], [each for _, each in pairs]
    return {old: each for old, each in pairs if olds.count(old) == news.count(each) == 1}


def _commits(paper: str) -> list[tuple[str, list[str], str]]:
    """Commits that touch the texts of a paper, each with its parents and its day, the oldest first."""
    paths = [path.format(paper=paper) for each in PLACES.values() for path in each]
    form = "--format=%H|%P|%ad"
    lines = git("log", "--reverse", "--topo-order", "--full-history", form, "--date=short", "--", *paths).splitlines()
    parts = [line.split("|") for line in lines]
    return [(commit, parents.split(), date) for commit, parents, date in parts if parents]


def _after_first_reference(paper: str) -> dict[str, frozenset[str]]:
    """Claim -> the commits that come after the first reference which has it."""
    paths = [f"results/reference/{paper}/{table}.csv" for table in REFERENCE]
    found: dict[str, frozenset[str]] = {}
    for commit in git("log", "--reverse", "--topo-order", "--format=%H", "--", *paths).split():
        texts = filter(None, (git("show", f"{commit}:{path}") for path in paths))
        claims = [str(claim) for text in texts for claim in pd.read_csv(io.StringIO(text))["claim"]]
        new = [claim for claim in claims if claim not in found]
        if new:
            later = frozenset(git("rev-list", "--ancestry-path", f"{commit}..HEAD").split())
            found.update(dict.fromkeys(new, later))
    return found


def facts(commit: str, paper: str) -> dict[str, Facts]:
    """Claim -> what it was judged by at a commit; empty where its files are not there."""
    blobs = [
        next(filter(None, (_blob(commit, path.format(paper=paper)) for path in paths)), "") for paths in PLACES.values()
    ]
    return _facts(*blobs, paper) if all(blobs) else {}


def _blob(commit: str, path: str) -> str:
    """Name of a file's content at a commit; empty where it was not there."""
    return git("rev-parse", "--verify", "--quiet", f"{commit}:{path}").strip()


@cache
def _facts(claims: str, experiments: str, paper: str) -> dict[str, Facts]:
    grids = _experiments(git("cat-file", "blob", experiments), paper)
    return {
        name: {
            **{key: claim.get(key) for key in ("learner", *CLAIM_KEYS)},
            "grid": grids.get(str(claim.get("experiment"))),
        }
        for name, claim in _claims(git("cat-file", "blob", claims)).items()
    }


def _loaded(text: str) -> Any:
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return {}


def _claims(text: str) -> dict[str, Facts]:
    """Claims with all that they inherit, by their ids."""
    data = _loaded(text) or {}
    settings = data.get(SETTINGS) or {}

    def laid_out(entries: Sequence[Any], inherited: Facts) -> Iterator[Facts]:
        for entry in entries:
            own = {**inherited, **settings.get(entry.get(AT), {}), **entry}
            if isinstance(entry.get("claims"), list):
                yield from laid_out(entry["claims"], {key: own[key] for key in own if key not in ("claims", AT)})
            else:
                yield {RENAMED.get(key, key): value for key, value in own.items() if value is not None}

    return {str(claim["id"]): claim for claim in laid_out(data.get("claims") or [], {}) if "id" in claim}


def _experiments(text: str, paper: str) -> dict[str, Facts]:
    """Experiments with all that they inherit, as numbers."""
    data = _loaded(text) or {}
    part = data.get("papers", {}).get(paper, data) if isinstance(data.get("papers"), dict) else data
    listed, defaults = part.get("experiments") or {}, {**(data.get("defaults") or {}), **(part.get("defaults") or {})}

    def whole(name: str, depth: int = 0) -> Facts:
        own = listed.get(name) or {}
        base = whole(own["like"], depth + 1) if own.get("like") in listed and depth < len(listed) else defaults
        return {**base, **own}

    found = {}
    for name in listed:
        try:
            found[name] = {key: expand(value) for key, value in whole(name).items() if key not in BESIDES}
        except ValueError:
            continue
    return found


def _differences(before: Facts, now: Facts) -> list[str]:
    """The differences, in words.

    An experiment of another name with the same grid is the same. What `where` fixes belongs to the claim: other values
    beside it in the grid do not.
    """
    old, new = before["grid"], now["grid"]
    same = old is not None and _plain(old) == _plain(new)
    keys = [key for key in CLAIM_KEYS if not (same and key == "experiment")]
    found = [CLAIM_KEYS[key] for key in keys if _plain(before[key]) != _plain(now[key])]
    if old is not None and new is not None and before["experiment"] == now["experiment"]:
        fixed = before["where"] or {}
        found += [key for key in {**old, **new} if key not in fixed and _plain(old.get(key)) != _plain(new.get(key))]
    return list(dict.fromkeys(found))


def _plain(value: object) -> object:
    """A value as it reads, whatever its form: 8, 8.0, [8] and an absent default alike."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return _plain(value[0]) if len(value) == 1 else [_plain(each) for each in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def main() -> int:
    """Write the files."""
    if git("rev-parse", "--is-shallow-repository").strip() != "false":
        print("claim_history: the whole history of git is needed here", file=sys.stderr)
        return 2
    for paper in papers():
        text = "# Commits that changed how a claim is judged, by `python -m dpregret.workflows.run.claim_history`.\n"
        text += yaml.safe_dump(history(paper), sort_keys=False, width=120, default_flow_style=None)
        (PAPERS / paper / CHANGES).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    boundary.end(main)
