"""How the claims, tables, figures and errata in a paper's folder are read (`claims.py` has their models).

`at: NAME` gives a claim the keys of an entry of `settings`, or the experiment of that name, and a row of a table those
of an entry of `guarantees`; its own keys win. Claims, tables, rows and figures need not give the stream of an
experiment with a single one, nor the parameter that the experiment sweeps. In the list of claims an entry
`origin: derived` is a heading: it holds for the claims below it, up to the next one; above the first they are the
paper's. A reason of one word names an entry of `reasons`. Nothing else is inherited. Every
mistake is one line with file, line and key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, get_args

from dpregret import study
from dpregret.core.errors import ConfigError, nearest, not_allowed
from dpregret.core.yaml_source import (
    Expanded,
    KeyPath,
    Located,
    Source,
    display_path,
    in_order,
    read_source,
    validate,
)
from dpregret.paper_figs.judge.claims import (
    IMPLY_BOUND,
    SAYS,
    ClaimsError,
    ClaimsFile,
    ErrataFile,
    TableRow,
    figure_types,
    listed,
)
from dpregret.paper_figs.judge.vocabulary import Parameter

AT, SETTINGS, GUARANTEES = "at", "settings", "guarantees"
EXPERIMENT: Final = "experiment"
"""Key of a claim or row, and the sections that it names an entry of: what claims and what rows share."""
ORIGIN, SOURCE, REASONS = "origin", "source", "reasons"
"""Keys of headings among claims, and the section of reasons that several claims share."""
HEADINGS: Final = frozenset({ORIGIN, SOURCE, SAYS})
REASONED: Final = ("check", "undecided", "tol_reason", "changed")
"""Keys whose value is a reason, or the name of one."""
PAPER_FILES: Final = ("claims.yaml", "errata.yaml", "changes.yaml", "experiments.yaml")
"""Files of a paper's folder that this module reads; the keys of stages that import it hold them. The third:
claim -> the commits that changed what it is judged by after its first reference."""
CHANGES: Final = PAPER_FILES[2]
REMOVED: Final = ": removed"
"""How the last change of a claim that is gone ends its place and begins its text."""
PLAYED: Final = ("streams", "learners")
RISKS: Final = "risks"
"""Experiments name what they play: streams of losses, which are `risks` where points of records are released."""
_ID: Final = r"`?[a-z][\w.]*(?:-\w+)+`?"
_CITED: Final = re.compile(rf"\bclaims? ({_ID}(?:(?:, and|,| and| or) {_ID})*)")


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


def load_paper(folder: Path | str) -> PaperTexts:
    """Read the claims and, where the folder has them, the errata of a paper.

    Every erratum that is named must exist, every claim that a text of either file cites, and every claim that has
    changes, unless the last of them says that it was removed. Raises ClaimsError.
    """
    return located_paper(folder)[0]


def located_paper(folder: Path | str) -> tuple[PaperTexts, Located, Located | None]:
    """The same with the positions of all keys in the claims file, and in the errata file if there is one."""
    claims, source = _claims(Path(folder) / PAPER_FILES[0])
    file = Path(folder) / PAPER_FILES[1]
    errata, errata_source = load_errata(file) if file.exists() else (ErrataFile(paper=claims.paper, errata=()), None)
    ids = {"claim": [claim.id for claim in claims.claims], "erratum": [erratum.id for erratum in errata.errata]}
    references = [(source, reference) for reference in _names_in_claims(claims)]
    references += [(errata_source or source, reference) for reference in _names_in_errata(errata)]
    _refuse(
        f"{where.at(key_path)}: unknown {kind} {name!r}{nearest(name, ids[kind])}"
        for where, (key_path, kind, name) in references
        if name not in ids[kind]
    )
    changes = load_changes(folder)
    gone = [claim for claim in changes if claim not in ids["claim"] and REMOVED not in changes[claim][-1]]
    _refuse(
        f"{display_path(Path(folder) / CHANGES)}: unknown claim {claim!r}{nearest(claim, ids['claim'])}; "
        f"a claim that is gone stands, with the reason, under `removed` of a commit"
        for claim in gone
    )
    return PaperTexts(claims, errata, changes), source, errata_source


def _names_in_claims(claims: ClaimsFile) -> Iterator[tuple[KeyPath, str, str]]:
    """Places at which claims and rows name an erratum or a claim: place, which of the two, name."""
    for number, claim in enumerate(claims.claims):
        for position, name in enumerate(claim.errata):
            yield ("claims", number, "errata", position), "erratum", name
        for key, text in (("says", claim.statement), ("check", claim.check)):
            yield from ((("claims", number, key), "claim", name) for name in cited_claims(text))
    yield from ((("privacy_claims", played), "claim", name) for played, name in claims.privacy_claims.items())
    for key_path, row in _rows(claims):
        yield from (((*key_path, "errata", position), "erratum", name) for position, name in enumerate(row.errata))
        yield from (((*key_path, "exponents"), "claim", name) for name in row.exponents.values())
        yield from (((*key_path, "also"), "claim", name) for name in row.also)


def _names_in_errata(errata: ErrataFile) -> Iterator[tuple[KeyPath, str, str]]:
    """The same of errata."""
    for number, erratum in enumerate(errata.errata):
        for position, name in enumerate(erratum.claims):
            yield ("errata", number, "claims", position), "claim", name
        for key in ("printed", "right", "why", "reason"):
            yield from ((("errata", number, key), "claim", name) for name in cited_claims(getattr(erratum, key)))


def load_changes(folder: Path | str) -> Changes:
    """The changes of a paper's claims; nothing where there is no file. Raises ClaimsError."""
    path = Path(folder) / CHANGES
    if not path.exists():
        return UNCHANGED
    data: Any = source_of(path).data
    changes: dict[str, list[str]] = {}
    try:
        for commit, change in (data or {}).items():
            date, what, removed = change["date"], change.get("what", {}), change.get("removed", {})
            if change.keys() - {"date", "what", "removed"}:
                raise KeyError
            lines = [(claim, text) for text, claims in what.items() for claim in claims]
            lines += [(claim, f"removed, {reason}") for claim, reason in removed.items()]
            for claim, text in lines:
                changes.setdefault(claim, []).append(f"{commit} ({date}): {text}")
    except (KeyError, TypeError, AttributeError):
        form = "'COMMIT': {date: 'YYYY-MM-DD', what: {TEXT: [CLAIM, ...]}, removed: {CLAIM: REASON}}"
        raise ClaimsError(f"{display_path(path)}: lists commits, the first one first, and not claims: {form}") from None
    return {claim: tuple(texts) for claim, texts in changes.items()}


def cited_claims(text: str) -> list[str]:
    """Ids that a text cites: words after `claim` or `claims` with a hyphen that begin with a small letter."""
    return [name.strip("`") for match in _CITED.finditer(text) for name in re.findall(_ID, match[1])]


def load_errata(path: Path) -> tuple[ErrataFile, Located]:
    """Read and check an errata file; return it with the places of its keys. Raises ClaimsError."""
    source = _named(path)
    errata = validate(ErrataFile, source, error=ClaimsError)
    _unique(source, [(("errata", number, "id"), erratum.id) for number, erratum in enumerate(errata.errata)])
    _refuse(
        f"{source.at(('errata', number, 'read_in'))}: {not_allowed('text', name, errata.texts)}"
        for number, erratum in enumerate(errata.errata)
        for name in erratum.read_in
        if name not in errata.texts
    )
    return errata, source


def _claims(path: Path) -> tuple[ClaimsFile, Located]:
    source = _filled_in(_named(path), _implied(path))
    further = {0: (SETTINGS, GUARANTEES, REASONS), 2: (AT,), 4: (AT,)}
    claims = validate(ClaimsFile, source, further, ClaimsError).with_claims_of_learners()
    _unique(source, [(("claims", number, "id"), claim.id) for number, claim in enumerate(claims.claims)])
    _unique(source, [((*key_path, "id"), row.id) for key_path, row in _rows(claims)])
    _unique(source, [(("figures", number), figure.name) for number, figure in enumerate(claims.figures)])
    return claims, source


def _rows(claims: ClaimsFile) -> Iterator[tuple[KeyPath, TableRow]]:
    """The rows of all tables with their places."""
    for number, table in enumerate(claims.tables):
        for index, row in enumerate(table.rows):
            yield ("tables", number, "rows", index), row


def source_of(path: Path) -> Source:
    """A YAML file of a paper. Raises ClaimsError."""
    try:
        return read_source(path, display_path(path))
    except ConfigError as error:
        raise ClaimsError(error.problems) from None


def _experiments(path: Path) -> dict[str, dict[str, Any]]:
    """The experiments in the file beside a claims file, with the defaults of that file: name -> keys."""
    data = source_of(path.with_name(PAPER_FILES[3])).data
    experiments: dict[str, Any] = data if isinstance(data, dict) else {}
    found, common = experiments.get("experiments"), experiments.get("defaults")
    shared = common if isinstance(common, dict) else {}
    if not isinstance(found, dict):
        return {}
    merged = {name: shared | (given if isinstance(given, dict) else {}) for name, given in found.items()}
    return {name: {PLAYED[0]: given.get(RISKS), **given} for name, given in merged.items()}


def _implied(path: Path) -> dict[str, dict[str, str]]:
    """What an experiment says of the claims on it: its only stream, and the parameter that it sweeps.

    Nothing where the file cannot be read: its own reader tells why.
    """
    try:
        experiments = _experiments(path)
    except ClaimsError:
        return {}
    implied: dict[str, dict[str, str]] = {}
    for name, given in experiments.items():
        streams, swept = given.get(PLAYED[0]), given.get("sweep")
        implied[name] = {"experiment": name}
        if isinstance(streams, list) and len(streams) == 1:
            implied[name]["stream"] = streams[0]
        if isinstance(swept, str) and swept in get_args(Parameter):
            implied[name]["parameter"] = swept
    return implied


def _without_claims(path: Path) -> dict[str, Any]:
    """A claims file for the experiments beside it: no claims, and a table of all that they play."""
    rows: dict[str, Any] = {}
    for name, given in _experiments(path).items():
        streams, learners = (given.get(key) for key in PLAYED)
        stream = streams[0] if isinstance(streams, list) and streams else ""
        for learner, variants in learners.items() if isinstance(learners, dict) else ():
            for variant in variants if isinstance(variants, list) else ():
                reference = {"experiment": name, "stream": stream}
                row = {"id": f"{name}-{learner}-{variant}", "label": f"{learner}.{variant}, {name}", "group": "study"}
                words = {"learner": f"{learner}.{variant}", "privacy": "-", "operation": "-", "bound_text": "-"}
                rows[row["id"]] = {**row, **words, "reference": reference}
    listed = list(rows.values())
    tables = [{"caption": "What was played.", "reference": listed[0]["reference"], "rows": listed}] if listed else []
    return {"title": path.parent.name, "claims": [], "tables": tables}


def _named(path: Path) -> Source:
    """A file with the name of its folder as its paper. A study may do without claims, tables, or the whole file."""
    of_study = study.FOLDER is not None and path.parent.resolve() == study.FOLDER.resolve()
    source = Source(display_path(path), {}, {}) if of_study and not path.exists() else source_of(path)
    if not isinstance(source.data, dict):
        raise ClaimsError(f"{source.name}: must be a mapping")
    if of_study:
        source = replace(source, data=_without_claims(path) | source.data)
    if not source.data.get("claims", True) and not of_study:
        raise ClaimsError(f"{source.at(('claims',))}: must not be empty")
    if "paper" in source.data:
        raise ClaimsError(f"{source.at(('paper',))}: a paper is named by its folder: leave this key out")
    return Source(source.name, {**source.data, "paper": path.resolve().parent.name}, source.lines)


def _filled_in(source: Source, implied: Mapping[str, Mapping[str, str]]) -> Expanded:
    """Fill in settings and what experiments imply in claims, guarantees in rows; what headings say; reasons."""
    data: Any = deepcopy(source.data)
    sections = (SETTINGS, GUARANTEES, REASONS)
    unknown = [key for key in data if key not in (*sections, *ClaimsFile.model_fields)]
    _refuse(f"{source.at((key,))}: unknown key{hint}" for key in unknown if (hint := nearest(key, sections)))
    reasons = data.pop(REASONS, {})
    shared = {section: data.pop(section, {}) for section in (SETTINGS, GUARANTEES)}
    if not isinstance(reasons, dict) or not all(isinstance(text, str) for text in reasons.values()):
        raise ClaimsError(f"{source.at((REASONS,))}: must be a mapping of names to sentences")
    _refuse(
        f"{source.at((section,))}: must be a mapping" for section in shared if not isinstance(shared[section], dict)
    )
    _refuse(
        f"{source.at((section, name))}: must be a mapping"
        for section, entries in shared.items()
        for name, entry in entries.items()
        if not isinstance(entry, dict)
    )
    origins: dict[KeyPath, tuple[Source, KeyPath]] = {(): (source, ())}  # inherited key -> where it is written
    filled = Expanded(data, origins)
    problems = [*_under_headings(source, data, origins)]
    tables = enumerate(listed(data, "tables"))
    lists: list[tuple[KeyPath, str, list[Any]]] = [(("claims",), SETTINGS, listed(data, "claims"))]
    lists += [(("tables", number, "rows"), GUARANTEES, listed(table, "rows")) for number, table in tables]
    for where, section, entries in lists:
        for number, entry in enumerate(entries):
            if not isinstance(entry, dict):
                continue
            path, inherited = (*where, number), {}
            if AT in entry:
                name = entry.pop(AT)
                if isinstance(name, str) and name in shared[section]:
                    inherited = shared[section][name]
                    written = [key for key in inherited if key not in entry]
                    origins.update({(*path, key): (source, (section, name, key)) for key in written})
                elif section == SETTINGS and isinstance(name, str) and name in implied:
                    inherited = {EXPERIMENT: name}
                else:
                    allowed = [*shared[section], *(implied if section == SETTINGS else ())]
                    problems.append(f"{source.at((*path, AT))}: {not_allowed(section[:-1], name, allowed)}")
            entries[number] = entry = {**inherited, **entry}
            if section == SETTINGS and isinstance(played := entry.get(EXPERIMENT), str):
                entries[number] = entry = {**implied.get(played, {}), **entry}
                if implied and played not in implied and "parameter" not in entry:  # which it would have implied
                    problems.append(f"{filled.at((*path, EXPERIMENT))}: {not_allowed(EXPERIMENT, played, implied)}")
            for key in REASONED if section == SETTINGS else ():
                reason = entry.get(key)
                if isinstance(reason, str) and reason and " " not in reason:
                    if reason in reasons:
                        entry[key] = reasons[reason]
                    else:
                        problems.append(f"{filled.at((*path, key))}: {not_allowed('reason', reason, reasons)}")
            empty = [key for key, value in entries[number].items() if value is None]
            problems += [f"{filled.at((*path, key))}: is empty: leave this key out" for key in empty]
    _imply_swept(data, implied)
    _refuse(in_order(problems))
    return filled


def _imply_swept(data: Any, implied: Mapping[str, Mapping[str, str]]) -> None:
    """Give references of tables and rows the only stream of their experiment, and figures the parameter it sweeps."""
    tables = listed(data, "tables")
    holders = [*tables, *(row for table in tables for row in listed(table, "rows"))]
    references = [holder.get("reference") for holder in holders if isinstance(holder, dict)]
    for entry, key in [
        *((each, "stream") for each in references),
        *((each, "parameter") for each in listed(data, "figures")),
    ]:
        experiment = entry.get(EXPERIMENT) if isinstance(entry, dict) else None
        if not isinstance(experiment, str) or key not in implied.get(experiment, {}):
            continue
        if key == "stream" or key in figure_types().get(str(entry.get("type")), ()):
            entry.setdefault(key, implied[experiment][key])


def _under_headings(source: Source, data: Any, origins: dict[KeyPath, tuple[Source, KeyPath]]) -> Iterator[str]:
    """Take the headings out of the claims of `data` and give their keys to the claims below; yield mistakes.

    A key of a heading holds until another heading gives it; a sentence, until the next heading or the next claim that
    has one. origins: what is moved -> where it is written.
    """
    entries, claims = listed(data, "claims"), list[Any]()
    heading: dict[str, tuple[KeyPath, Any]] = {}
    for number, entry in enumerate(entries):
        path: KeyPath = ("claims", number)
        if isinstance(entry, dict) and entry and set(entry) <= HEADINGS:
            heading.pop(SAYS, None)
            heading |= {key: ((*path, key), value) for key, value in entry.items()}
            continue
        if isinstance(entry, dict) and (
            len(entry) == 1 or ("id" not in entry and HEADINGS & entry.keys() and len(entry) <= len(HEADINGS))
        ):
            wrong = [key for key in entry if key not in HEADINGS]
            yield from (f"{source.at((*path, key))}: {not_allowed('heading', key, HEADINGS)}" for key in wrong)
            continue
        moved: KeyPath = ("claims", len(claims))
        origins[moved] = source, path
        if isinstance(entry, dict):
            if ORIGIN in entry:
                yield f"{source.at((*path, ORIGIN))}: is a heading above the claims: - origin: {entry[ORIGIN]}"
            if entry.get("type") in IMPLY_BOUND and "bound" in entry:
                yield f"{source.at((*path, 'bound'))}: type {entry['type']} implies it: leave this key out"
            if SAYS in entry:
                heading.pop(SAYS, None)
            for key in heading.keys() - (entry.keys() - {ORIGIN}):
                origins[*moved, key], entry[key] = (source, heading[key][0]), heading[key][1]
        claims.append(entry)
    entries[:] = claims


def _unique(source: Located, names: Iterable[tuple[KeyPath, str]]) -> None:
    seen: dict[str, KeyPath] = {}
    for key_path, name in names:
        if name in seen:
            first = source.at(seen[name]).split(": ", 1)[0]
            raise ClaimsError(f"{source.at(key_path)}: {name!r} occurs twice, first at {first}")
        seen[name] = key_path


def _refuse(problems: Iterable[str]) -> None:
    if lines := list(problems):
        raise ClaimsError(lines)
