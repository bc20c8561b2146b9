"""Reading of a paper's folder: claims, tables, figures and errata, every mistake one line with file, line and key.

In a claims file an entry that holds `claims` is a group: its other keys are inherited by the claims below it, which may
give them another value, or take them away by null. `at: NAME` puts in the keys of a setting, which is named once. Rows
of tables are grouped in the same way by `rows`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dpregret.core.errors import ConfigError, nearest, not_allowed
from dpregret.core.validation import keys, validate
from dpregret.core.yaml_source import Expanded, KeyPath, Located, Source, read_source, shown
from dpregret.paper_figs.judge.claims import Claim, ClaimsFile, ErrataFile

RENAMED = {
    "kind": "type", "twin": "counterpart", "predicted": "rate", "statement": "says", "asymptotic_from": "from",
}  # fmt: skip
"""Keys that had another name -> their name."""
AT, SETTINGS = "at", "settings"
CHANGES: Final = "changes.yaml"
"""File of a paper's folder: claim -> the commits that changed what it is judged by after its first reference."""
_ID: Final = r"`?[a-z][\w.]*(?:-\w+)+`?"
_CITED: Final = re.compile(rf"\bclaims? ({_ID}(?:(?:, and|,| and| or) {_ID})*)")
TEXTS: Final = {
    "errata": {key: key for key in ("printed", "right", "why", "reason")},
    "claims": {"says": "statement", "check": "check"},
}
"""Kind of entry -> its keys whose text may cite claims, as in `claims thm3-T and thm3-d` -> their name in the model."""
Inherited = Mapping[str, tuple[object, KeyPath]]


class ClaimsError(ConfigError):
    """A claims or errata file that is refused; one line a mistake: file, line, key, what is allowed."""


Changes = Mapping[str, tuple[str, ...]]
"""Claim -> commits that changed what it is judged by after its first reference, each with its date and what."""
UNCHANGED: Final[Changes] = MappingProxyType({})


class PaperTexts(NamedTuple):
    """What is written of a paper."""

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
    source = _expanded(_named(path))
    claims = validate(ClaimsFile, source, RENAMED, {0: (SETTINGS,), 2: (AT,)}, ClaimsError)
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


def _expanded(source: Source) -> Expanded:
    """Claims and rows with all that they inherit, one list of each."""
    data: dict[str, Any] = dict(source.data) if isinstance(source.data, dict) else {}
    places: dict[KeyPath, tuple[Source, KeyPath]] = {(): (source, ())}
    settings = data.pop(SETTINGS, {})
    _check_settings(settings, source)
    problems: list[str] = []

    def lay_out(entries: object, where: KeyPath, group: str, target: KeyPath) -> object:
        if not isinstance(entries, list):
            return entries
        result: list[Any] = []
        for entry, start in _entries(entries, where, group, {}, settings, source, problems):
            here = (*target, len(result))
            places[here] = (source, start)
            if not isinstance(entry, dict):
                result.append(entry)
                continue
            result.append({key: value for key, (value, _) in entry.items()})
            places.update({(*here, key): (source, place) for key, (_, place) in entry.items()})
        return result

    if "claims" in data:
        data["claims"] = lay_out(data["claims"], ("claims",), "claims", ("claims",))
    if isinstance(data.get("tables"), list):
        data["tables"] = [
            {**table, "rows": lay_out(table["rows"], ("tables", number, "rows"), "rows", ("tables", number, "rows"))}
            if isinstance(table, dict) and "rows" in table else table
            for number, table in enumerate(data["tables"])
        ]  # fmt: skip
    _refuse(problems)
    return Expanded(data, places)


def _entries(
    entries: list[Any], where: KeyPath, group: str, inherited: Inherited, settings: Mapping[str, Any], source: Source,
    problems: list[str],
) -> Iterator[tuple[Any, KeyPath]]:  # fmt: skip
    """Every entry below with its keys, each with the place where it stands; what is no mapping as it is."""
    for number, entry in enumerate(entries):
        start = (*where, number)
        if not isinstance(entry, dict):
            yield entry, start
            continue
        own: dict[str, tuple[object, KeyPath]] = {}
        if AT in entry and group == "claims":
            name = entry[AT]
            if not isinstance(name, str) or name not in settings:
                problems.append(f"{source.at((*start, AT))}: {not_allowed('setting', name, settings)}")
            else:
                own = {key: (value, (SETTINGS, name, key)) for key, value in settings[name].items()}
        here = {key: (value, (*start, key)) for key, value in entry.items()}
        merged = {**inherited, **own, **{key: each for key, each in here.items() if key not in (AT, group)}}
        if isinstance(entry.get(group), list):
            yield from _entries(entry[group], (*start, group), group, merged, settings, source, problems)
        else:
            if group in entry:
                merged[group] = here[group]
            yield {key: each for key, each in merged.items() if each[0] is not None}, start


def _check_settings(settings: object, source: Source) -> None:
    """Settings are mappings of a claim's keys."""
    if not isinstance(settings, dict):
        raise ClaimsError(f"{source.at((SETTINGS,))}: must be a mapping")
    allowed = [key for key in keys(Claim) if key != "id"]
    problems = []
    for name, setting in settings.items():
        if not isinstance(setting, dict):
            problems.append(f"{source.at((SETTINGS, name))}: must be a mapping")
            continue
        problems += [
            f"{source.at((SETTINGS, name, key))}: " + (
                f"is called {RENAMED[key]!r} now" if key in RENAMED else not_allowed("key", key, allowed))
            for key in setting if key not in allowed
        ]  # fmt: skip
    _refuse(problems)


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
