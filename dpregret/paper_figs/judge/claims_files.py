"""Reading of a paper's folder: claims, tables, figures and errata, every mistake one line with file, line and key.

`at: NAME` gives a claim the keys of an entry of `settings`, and a row of a table those of an entry of `guarantees`; its
own keys win. Nothing else is inherited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dpregret.core.errors import ConfigError, nearest, not_allowed
from dpregret.core.validation import in_order, validate
from dpregret.core.yaml_source import Expanded, KeyPath, Located, Source, read_source, shown
from dpregret.paper_figs.judge.claims import ClaimsFile, ErrataFile

RENAMED = {
    "kind": "type", "twin": "counterpart", "predicted": "rate", "statement": "says", "asymptotic_from": "from",
}  # fmt: skip
"""Keys that had another name -> their name."""
AT, SETTINGS, GUARANTEES = "at", "settings", "guarantees"
"""Key of a claim or row, and the sections that it names an entry of: what claims and what rows share."""
CHANGES: Final = "changes.yaml"
"""File of a paper's folder: claim -> the commits that changed what it is judged by after its first reference."""
_ID: Final = r"`?[a-z][\w.]*(?:-\w+)+`?"
_CITED: Final = re.compile(rf"\bclaims? ({_ID}(?:(?:, and|,| and| or) {_ID})*)")
TEXTS: Final = {
    "errata": {key: key for key in ("printed", "right", "why", "reason")},
    "claims": {"says": "statement", "check": "check"},
}
"""Kind of entry -> its keys whose text may cite claims, as in `claims thm3-T and thm3-d` -> their name in the model."""


class ClaimsError(ConfigError):
    """A claims or errata file that is refused; one line a mistake: file, line, key, what is allowed."""


Changes = Mapping[str, tuple[str, ...]]
"""Claim -> commits that changed what it is judged by after its first reference, each with its date and what."""
UNCHANGED: Final[Changes] = MappingProxyType({})


class PaperTexts(NamedTuple):
    """The texts of a paper."""

    claims: ClaimsFile
    errata: ErrataFile
    changes: Changes = UNCHANGED


def load_claims(path: Path | str) -> ClaimsFile:
    """Read and check a claims file; the paper has the name of its folder. Raises ClaimsError."""
    return _claims(Path(path))[0]


def load_errata(path: Path | str) -> ErrataFile:
    """Read and check an errata file. Raises ClaimsError."""
    return _errata(Path(path))[0]


def _errata(path: Path) -> tuple[ErrataFile, Located]:
    source = _named(path)
    errata = validate(ErrataFile, source, RENAMED, error=ClaimsError)
    _unique(source, ((("errata", index, "id"), erratum.id) for index, erratum in enumerate(errata.errata)))
    return errata, source


def load_paper(folder: Path | str) -> PaperTexts:
    """Read the claims and, where the folder has them, the errata of a paper.

    Every erratum that is named must exist, and every claim that a text of either file cites. Raises ClaimsError.
    """
    return located_paper(folder)[0]


def load_changes(folder: Path | str) -> Changes:
    """The generated file of a paper's folder; nothing where there is none. Raises ClaimsError."""
    path = Path(folder) / CHANGES
    if not path.exists():
        return UNCHANGED
    try:
        data: Any = read_source(path, shown(path)).data
        return {
            claim: tuple(f"{each['commit']} ({each['date']}): {each['what']}" for each in commits)
            for claim, commits in (data or {}).items()
        }
    except ConfigError as error:
        raise ClaimsError(error.problems) from None
    except (KeyError, TypeError, AttributeError):
        command = "python -m dpregret.workflows.run.claim_history"
        raise ClaimsError(f"{shown(path)}: not as `{command}` writes it: write it again") from None


def located_paper(folder: Path | str) -> tuple[PaperTexts, Located, Located | None]:
    """The same with the places of all claims, and of all errata where there are any."""
    claims, source = _claims(Path(folder) / "claims.yaml")
    file = Path(folder) / "errata.yaml"
    errata, written = _errata(file) if file.exists() else (ErrataFile(paper=claims.paper, errata=()), None)
    known, ids = [erratum.id for erratum in errata.errata], [claim.id for claim in claims.claims]
    named: list[tuple[KeyPath, tuple[str, ...]]] = [
        (("claims", place, "errata"), claim.errata) for place, claim in enumerate(claims.claims)
    ]
    named += [(("tables", table, "rows", place, "errata"), row.errata) for table, place, row in _rows(claims)]
    _refuse(
        f"{source.at((*where, position))}: {not_allowed('erratum', name, known)}"
        for where, names in named for position, name in enumerate(names) if name not in known
    )  # fmt: skip
    if written is not None:
        _refuse(
            f"{written.at(('errata', place, 'claims', position))}: {not_allowed('claim', name, ids)}"
            for place, erratum in enumerate(errata.errata)
            for position, name in enumerate(erratum.claims) if name not in ids
        )  # fmt: skip
    entries: list[tuple[str, Located | None, Sequence[object]]] = [
        ("claims", source, claims.claims), ("errata", written, errata.errata)
    ]  # fmt: skip
    _refuse(
        f"{file_.at((kind, place, key))}: cites unknown claim {name!r}{nearest(name, ids)}"
        for kind, file_, group in entries if file_ is not None
        for place, entry in enumerate(group)
        for key, attribute in TEXTS[kind].items()
        for name in cited_claims(getattr(entry, attribute)) if name not in ids
    )  # fmt: skip
    return PaperTexts(claims, errata, load_changes(folder)), source, written


def cited_claims(text: str) -> list[str]:
    """Ids that a text cites: what stands after `claim` or `claims`, has a hyphen and begins with a small letter."""
    return [name.strip("`") for found in _CITED.finditer(text) for name in re.findall(_ID, found[1])]


def _claims(path: Path) -> tuple[ClaimsFile, Located]:
    source = _filled_in(_named(path))
    further = {0: (SETTINGS, GUARANTEES), 2: (AT,), 4: (AT,)}
    claims = validate(ClaimsFile, source, RENAMED, further, ClaimsError).with_claims_of_learners()
    _unique(source, ((("claims", place, "id"), claim.id) for place, claim in enumerate(claims.claims)))
    _unique(source, ((("tables", table, "rows", place, "id"), row.id) for table, place, row in _rows(claims)))
    _unique(source, ((("figures", place), figure.name) for place, figure in enumerate(claims.figures)))
    known = [claim.id for claim in claims.claims]
    _refuse(
        f"{source.at(('tables', table, 'rows', place, key))}: unknown claim {name!r}{nearest(name, known)}"
        for table, place, row in _rows(claims)
        for key, names in (("exponents", row.exponents.values()), ("also", row.also))
        for name in names if name not in known
    )  # fmt: skip
    return claims, source


def _rows(claims: ClaimsFile) -> Iterator[tuple[int, int, Any]]:
    for number, table in enumerate(claims.tables):
        for index, row in enumerate(table.rows):
            yield number, index, row


def _named(path: Path) -> Source:
    """A file whose paper is the folder that it lies in."""
    try:
        source = read_source(path, shown(path))
    except ConfigError as error:
        raise ClaimsError(error.problems) from None
    if not isinstance(source.data, dict):
        raise ClaimsError(f"{source.name}: must be a mapping")
    if "paper" in source.data:
        raise ClaimsError(f"{source.at(('paper',))}: a paper is named by its folder: leave this key out")
    return Source(source.name, {**source.data, "paper": path.resolve().parent.name}, source.lines)


def _filled_in(source: Source) -> Expanded:
    """Every claim with the keys of its setting, every row of a table with those of its guarantee."""
    data: dict[str, Any] = dict(source.data) if isinstance(source.data, dict) else {}
    places: dict[KeyPath, tuple[Source, KeyPath]] = {(): (source, ())}  # what is inherited, where it stands
    filled = Expanded(data, places)
    problems: list[str] = []

    def fill(holder: object, key: str, where: KeyPath, section: str, shared: Mapping[str, dict[str, Any]]) -> object:
        """A mapping, the entries of its list `key` with all that they inherit."""
        if not isinstance(holder, dict) or not isinstance(holder.get(key), list):
            return holder
        whole = list(holder[key])
        for number, entry in enumerate(whole):
            if not isinstance(entry, dict):
                continue
            here, name = (*where, key, number), entry.get(AT)
            inherited: dict[str, Any] = {}
            if isinstance(name, str) and name in shared:
                inherited = shared[name]
            elif AT in entry:
                problems.append(f"{source.at((*here, AT))}: {not_allowed(section[:-1], name, shared)}")
            own = {part: value for part, value in entry.items() if part != AT}
            places.update(
                {(*here, part): (source, (section, str(name), part)) for part in inherited if part not in own}
            )
            whole[number] = {**inherited, **own}
            empty = [part for part, value in whole[number].items() if value is None]
            problems.extend(f"{filled.at((*here, part))}: is empty: leave this key out" for part in empty)
        return {**holder, key: whole}

    settings, guarantees = (_shared(data.pop(section, {}), section, source) for section in (SETTINGS, GUARANTEES))
    data.update(fill(data, "claims", (), SETTINGS, settings))  # type: ignore[call-overload]
    if isinstance(data.get("tables"), list):
        data["tables"] = [
            fill(table, "rows", ("tables", number), GUARANTEES, guarantees)
            for number, table in enumerate(data["tables"])
        ]
    _refuse(in_order(problems))
    return filled


def _shared(entries: object, section: str, source: Source) -> dict[str, dict[str, Any]]:
    """A section of mappings of keys, by their names."""
    if not isinstance(entries, dict):
        raise ClaimsError(f"{source.at((section,))}: must be a mapping")
    _refuse(
        f"{source.at((section, name))}: must be a mapping" for name in entries if not isinstance(entries[name], dict)
    )
    return entries


def _unique(source: Located, names: Iterable[tuple[KeyPath, str]]) -> None:
    seen: dict[str, KeyPath] = {}
    for place, name in names:
        if name in seen:
            first = source.at(seen[name]).split(": ", 1)[0]
            raise ClaimsError(f"{source.at(place)}: {name!r} occurs twice, first at {first}")
        seen[name] = place


def _refuse(problems: Iterable[str]) -> None:
    found = list(problems)
    if found:
        raise ClaimsError(found)
