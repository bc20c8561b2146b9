"""Papers and profiles by their names. Imports next to nothing: a shell that completes a word waits for it.

A paper is a folder of `workflows/papers` with its `claims.yaml`; a profile is a file of `workflows/config`. Where a
study is given, it is the only paper.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dpregret import study
from dpregret.core.errors import ConfigError, not_allowed

PAPERS = study.PAPERS
PROFILES = Path(__file__).parents[1] / "config"
NOT_PROFILES = {"sources", "resources"}  # declared downloads and what jobs request, in the same folder


def papers(folder: Path = PAPERS) -> tuple[str, ...]:
    """Return the names of all papers: the folders that hold claims."""
    name = study.FOLDER.name if study.FOLDER and folder == PAPERS else "*"
    return tuple(sorted(path.parent.name for path in folder.glob(f"{name}/claims.yaml")))


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return what each paper may be called: its name without year and et al., where that distinguishes it from the
    others."""
    short = {name: re.sub(r"(_et_al)?_\d+$", "", name) for name in names}
    taken = list(short.values())
    return {name: each if taken.count(each) == 1 else name for name, each in short.items()}


def profile_names() -> list[str]:
    """Return the names of the profiles that come with the project."""
    other = NOT_PROFILES if study.FOLDER else {*NOT_PROFILES, study.PROFILE}
    return sorted({path.stem for path in PROFILES.glob("*.yaml")} - other)


def profile_path(profile: object) -> Path:
    """Return the file of a profile: a name of a file in `workflows/config`, or the path of a YAML file."""
    if not isinstance(profile, str) or not profile:
        raise ConfigError(f"profile: give a name or the path of a YAML file, not {profile!r}")
    if "/" in profile or profile.endswith((".yaml", ".yml")):
        return Path(profile)
    known = profile_names()
    if profile not in known:
        raise ConfigError(f"profile: {not_allowed('profile', profile, known)} (or the path of a YAML file)")
    return PROFILES / f"{profile}.yaml"
