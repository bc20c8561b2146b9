"""The findings of the first screen: one sentence each, picked by rule from what a run measured.

Nothing is said that the run did not measure: refuted promises of privacy, laws that were not met, mistakes in print
with a measured effect, laws that were met most sharply, the largest gain of a mechanism, and who wins. Formulas stand
between dollars (`formula.in_html`, `formula.in_text`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dpregret.paper_figs.judge.judgement import POWER
from dpregret.paper_figs.judge.labels import labels_of
from dpregret.paper_figs.judge.rates import law
from dpregret.paper_figs.judge.vocabulary import REPRODUCED, STEEPER, VIOLATED
from dpregret.paper_figs.report.claim_views import ClaimView, response_words
from dpregret.paper_figs.report.names import Names, learner_name
from dpregret.paper_figs.report.sections import PaperView, records, short, slug
from dpregret.paper_figs.tables.errata import QUANTITY_TEXT
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.winners.write import TABLE

MOST: Final = 10
PRIVACY, UNMET, MISTAKE, MET, GAIN, WINS = (
    "privacy refuted", "law not met", "mistake in print", "law met", "gain", "who wins"
)  # fmt: skip
QUOTAS: Final = {PRIVACY: 2, UNMET: 2, MISTAKE: 2, MET: 2, GAIN: 1, WINS: 1}
"""Kind of finding -> how many of ten."""
FILLING: Final = (MET, PRIVACY, UNMET, MISTAKE)
"""Kinds that take the places which others leave, in turn."""
DELIVERED: Final = QUANTITY_TEXT["delivered_epsilon"]
LONGEST_SOURCE: Final = 40
"""Characters of a source that still go into a sentence."""
FEWEST_RUNS: Final = 8
"""Of a gain: an interval over fewer runs says little."""
ORDER_OF_GROWTH: Final = 1e3
"""Effects on an exponent rank above all effects on a size, effects on noise below them."""

SWEPT: Final = {"experts": "d", "window": "W", "landau": "W", "items": "W", "beta": "1/beta", "corners": "k"}
"""Parameters whose law is written in something else -> what is swept."""


@dataclass(frozen=True)
class Headline:
    """A finding: its kind, its paper (none of all together), a sentence, and the place in the page that it leads to."""

    kind: str
    paper: str
    sentence: str
    anchor: str


def headlines(views: Sequence[PaperView], results: Path, names: Names) -> tuple[Headline, ...]:
    """At most ten findings of a run, by kind; within a kind the papers take turns, the strongest finding first."""
    ranked = _ranked(views, results, names)
    chosen: list[Headline] = []
    for kind, quota in QUOTAS.items():
        for _ in range(quota):
            _take(ranked[kind], chosen)
    while len(chosen) < MOST and any(ranked[kind] for kind in FILLING):
        for kind in FILLING:
            if len(chosen) < MOST:
                _take(ranked[kind], chosen)
    return tuple(sorted(chosen, key=lambda each: list(QUOTAS).index(each.kind)))


def _take(candidates: list[Headline], chosen: list[Headline]) -> None:
    """Move the best candidate of the paper that has least been heard of, first in its kind."""
    if not candidates:
        return
    own = Counter(each.paper for each in chosen if each.kind == candidates[0].kind)
    every = Counter(each.paper for each in chosen)
    best = min(candidates, key=lambda each: (own[each.paper], every[each.paper]))
    candidates.remove(best)
    chosen.append(best)


def _ranked(views: Sequence[PaperView], results: Path, names: Names) -> dict[str, list[Headline]]:
    makers = {PRIVACY: _refuted, UNMET: _unmet, MISTAKE: _mistakes, MET: _met}
    found: dict[str, list[tuple[float, Headline]]] = {
        kind: [pair for view in views for pair in make(view)] for kind, make in makers.items()
    }
    found[GAIN] = [pair for view in views for pair in _gains(view, results, names)]
    found[WINS] = list(_wins(results, names))
    return {kind: [each for _, each in sorted(pairs, key=lambda pair: -pair[0])] for kind, pairs in found.items()}


def _stated(view: PaperView) -> Iterator[ClaimView]:
    """Claims of the paper itself that this run tests, with a statement that can stand in a sentence."""
    for claim in view.tested:
        if claim.record["origin"] == "paper" and not claim.check and "$" not in claim.record["statement"]:
            yield claim


def _cite(view: PaperView, claim: ClaimView | None = None) -> str:
    """The paper in short, with the place of a claim where that is short too."""
    cite = short(view.claims_file.cite or view.paper)
    source = claim.record["source"].split(";")[0] if claim else ""
    return f"{cite}, {source}" if source and len(source) <= LONGEST_SOURCE and "$" not in source else cite


def _headline(kind: str, view: PaperView, claim: ClaimView, sentence: str) -> Headline:
    return Headline(kind, view.paper, sentence, f"claim-{view.paper}-{slug(claim.id)}")


def _statement(claim: ClaimView) -> str:
    """The first part of what is stated; the rest says where."""
    return claim.record["statement"].split(";")[0].strip()


def _refuted(view: PaperView) -> Iterator[tuple[float, Headline]]:
    """Promises of privacy that are broken, by how far."""
    for claim in _stated(view):
        if claim.record["type"] != "private" or claim.verdict != VIOLATED:
            continue
        lost = re.match(r"loses eps = (\S+) where (\S+) is claimed(, exactly)?", claim.record["reason"])
        times = re.search(r"delivers .* to (\S+) times", claim.record["reason"])
        if lost:
            shown = f"it loses eps = {lost[1]} where {lost[2]} is claimed{lost[3] or ''}"
            far = float(lost[1]) / float(lost[2])
        elif times:
            shown, far = f"it delivers {times[1]} times the claimed eps", float(times[1])
        else:
            continue
        yield (
            far,
            _headline(PRIVACY, view, claim, f"{_cite(view, claim)}: that {_statement(claim)} is refuted: {shown}."),
        )


def _unmet(view: PaperView) -> Iterator[tuple[float, Headline]]:
    """Laws that the measured growth exceeds, by how many powers; not where an explicit bound holds all the same."""
    for claim in _stated(view):
        if claim.verdict not in (VIOLATED, STEEPER) or not claim.fitted:
            continue
        said = "is refuted" if claim.verdict == VIOLATED else "is not what was seen"
        sentence = (
            f"{_cite(view, claim)}: that {_statement(claim)} {said}: measured {_power(claim, 'fitted')}"
            f"{_range(claim)}, where {law(claim.record['rate'])} is stated."
        )
        yield abs(float(claim.record["normalised"] or "nan")), _headline(UNMET, view, claim, sentence)


def _met(view: PaperView) -> Iterator[tuple[float, Headline]]:
    """Laws that were met, by how small a change of the power would have been noticed over how wide a range."""
    for claim in _stated(view):
        tight = claim.verdict == REPRODUCED and claim.record["resolution_of"] == POWER and claim.resolution
        ends = _ends(claim)
        if not tight or ends is None or "printed" in claim.record["variant"]:
            continue
        sentence = (
            f"{_cite(view, claim)}: {_statement(claim)}; measured up to a factor {_power(claim, 'normalised')}"
            f"{_range(claim)}. A power off by {claim.resolution} would have been noticed."
        )
        yield (
            math.log2(ends[1] / ends[0]) / float(claim.record["resolution"]),
            _headline(MET, view, claim, sentence),
        )


def _power(claim: ClaimView, column: str) -> str:
    """The swept symbol to a measured power, with its interval."""
    value, low, high = (formats.number(float(claim.record[f"{column}{end}"]), 3) for end in ("", "_low", "_high"))
    return f"${{{law(claim.symbol).strip('$')}}}^{{{value}}}$ [{low}, {high}]"


def _ends(claim: ClaimView) -> tuple[float, float] | None:
    """First and last value of the swept parameter, where cells are numbers."""
    try:
        values = [float(each) for each in claim.record["cells_used"].split("; ")]
    except ValueError:
        return None
    return (min(values), max(values)) if min(values) > 0 else None


def _range(claim: ClaimView) -> str:
    ends = _ends(claim)
    if ends is None:
        return ""
    low, high = (f"{end:g}" if end < 1e6 else str(formats.size(end)) for end in ends)
    return f" for {SWEPT.get(claim.record['parameter'], claim.symbol)} from {low} to {high}"


def _mistakes(view: PaperView) -> Iterator[tuple[float, Headline]]:
    """Mistakes in print with a measured effect: on the order of growth first, then on size; noise alone comes last."""
    for row in view.effects:
        if row["quantity"] == DELIVERED or "$" in row["place"]:
            continue
        learner = row["against"].partition(".")[0]
        concerned = [claim for claim in view.tested if row["erratum"] in claim.errata]
        concerned.sort(key=lambda claim: _distance(claim, row["experiment"], learner))
        anchor = f"claim-{view.paper}-{slug(concerned[0].id)}" if concerned else f"erratum-{row['erratum']}"
        place = f"{_cite(view)}, {row['place']}"
        if row["ratio"] == formats.DASH:
            size = ORDER_OF_GROWTH + abs(_first(row["as printed"]) - _first(row["corrected"]))
            sentence = (
                f"{place}: {row['quantity']} is {row['as printed']} as printed, {row['corrected']} when corrected."
            )
        else:
            size = abs(math.log2(float(row["ratio"])))
            if size < 1:
                continue
            size -= ORDER_OF_GROWTH if row["quantity"] == QUANTITY_TEXT["noise_ratio"] else 0
            sentence = f"{place}: as printed, {row['quantity']} is {row['ratio']} times what it is when corrected."
        yield size, Headline(MISTAKE, view.paper, sentence, anchor)


def _distance(claim: ClaimView, experiment: str, learner: str) -> tuple[bool, bool, bool]:
    """How far a claim is from what an erratum is measured by."""
    record = claim.record
    return record["experiment"] != experiment, record["learner"] != learner, "printed" not in record["variant"]


def _first(text: str) -> float:
    """The number of `0.99 [0.98, 1.00]`."""
    return float(text.split()[0])


def _gains(view: PaperView, results: Path, names: Names) -> Iterator[tuple[float, Headline]]:
    """What another mechanism buys the same learner, by the lower end of the interval."""
    for row in records(results / view.paper / "gains.csv"):
        if row["cell"] != "used" or int(row["runs"]) < FEWEST_RUNS:
            continue
        other = row["with"] if "." in row["with"] else f"{row['learner']}.{row['with']}"
        ratio, low, high = (formats.significant(float(row[f"ratio{end}"])) for end in ("", "_low", "_high"))
        words = labels_of("excess" if row["response"] == "excess" else "regret")
        swept = SWEPT.get(row["parameter"], words.symbols[row["parameter"]])
        sentence = (
            f"{_cite(view)}: {response_words(row)} of {learner_name(names, row['learner'], row['over'])} is {ratio} "
            f"[{low}, {high}] times that of {learner_name(names, *other.split('.', 1))}, on the same losses, at "
            f"{swept} = {float(row['value']):g}."
        )
        same = [claim for claim in view.tested
                if claim.identifier == other and claim.record["experiment"] == row["experiment"]]  # fmt: skip
        anchor = f"claim-{view.paper}-{slug(same[0].id)}" if same else f"table-{view.paper}-gains"
        yield float(row["ratio_low"]), Headline(GAIN, view.paper, sentence, anchor)


def _wins(results: Path, names: Names) -> Iterator[tuple[float, Headline]]:
    """Who has the least regret most often, where at least two algorithms keep the same guarantee."""
    rows = [row for row in records(results / TABLE) if int(row["algorithms"]) > 1]
    wins = Counter(row["winner"] for row in rows if row["verdict"] == "wins")
    if wins:
        best, most = min(wins.items(), key=lambda each: (-each[1], each[0]))
        name = learner_name(names, *best.split(".", 1))
        sentence = (
            f"In {len(rows)} settings at least two private algorithms keep the same guarantee; in {wins.total()} of "
            f"them one has the least regret beyond chance, most often {name} ({most})."
        )
        yield 0.0, Headline(WINS, "", sentence, "winners")
