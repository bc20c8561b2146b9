"""The command `dpregret advise`: its arguments, and advice as text, CSV or JSON.

Exit code 0: advice; 2: bad input, or nothing that fits, in one line.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from dpregret.core.text import printable
from dpregret.paper_figs.text.formats import DASH, folded, significant, size, terminal
from dpregret.paper_figs.winners.cells import OBLIVIOUS, STOCHASTIC
from dpregret.paper_figs.winners.laws import AVERAGES
from dpregret.workflows.advice.advise import WORDS, Advice, Advised, Request, advise, read_cells
from dpregret.workflows.advice.bounds import Bounds
from dpregret.workflows.plan.facts import FEEDBACK, POPULATION
from dpregret.workflows.run.fingerprint import ROOT

ABOUT = """\
Which private learner for my problem? Learners are ranked by the regret (of records: excess risk) that measured cells
predict, with a 95 % interval, beside their own proved bound. Numbers are those of one stream of losses, named in the
answer: a measured instance, not the worst case. 'extrapolated' says which parameter lies outside of what was measured,
and learners that were measured at one value only of a parameter come last: their power in it is a guess."""
EXAMPLES = """\
examples:
  dpregret advise --rounds 1e5 --dimension 32 --epsilon 1 --window 1024
  dpregret advise --rounds 2^16 --dimension 4 --epsilon 2 --feedback bandit --set ball --delta 0
  dpregret advise --rounds 1e6 --dimension 1024 --epsilon 0.5 --feedback experts --adversarial --why
  dpregret advise --rounds 20000 --dimension 100 --epsilon 1 --feedback erm --set l1-ball --format csv"""
CALL_WORDS = {
    "projections": "projection", "linear_oracles": "linear oracle", "local_oracles": "local oracle",
    "solves": "solve", "gauges": "gauge", "separations": "separation",
}  # fmt: skip


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, exit code 2."""
        print(f"advise: {printable(message)}", file=sys.stderr)
        sys.exit(2)


def whole(text: str, most: float = 2.0**40) -> int:
    """A whole number: 1000, 1e5 or 2^17. Raises argparse.ArgumentTypeError."""
    base, power, exponent = text.partition("^")
    try:
        value = float(base) ** float(exponent) if power else float(text)
    except (ValueError, OverflowError):
        value = math.nan
    if not (1 <= value <= most and value == math.floor(value)):
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number up to {size(most)}, such as 1000, 1e5 or 2^17")
    return int(value)


def _dimension(text: str) -> int:
    return whole(text, 2.0**1000)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (0 < value < math.inf):
        raise argparse.ArgumentTypeError(f"{text!r}: give a positive number")
    return value


def _probability(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number from 0 (pure privacy) to below 1")
    return value


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    made = _Parser(prog="dpregret advise", description=ABOUT, epilog=EXAMPLES,
                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    made.add_argument(
        "--rounds", type=whole, required=True, metavar="T", help="number of rounds (erm, population: of records)"
    )
    made.add_argument(
        "--dimension", type=_dimension, required=True, metavar="d", help="dimension, or number of experts"
    )
    made.add_argument("--epsilon", type=_positive, required=True, help="privacy budget")
    made.add_argument("--delta", type=_probability, default=1e-6, help="0: pure privacy only (default: 1e-6)")
    made.add_argument("--window", type=whole, metavar="W", help="protect the last W rounds only (default: all)")
    made.add_argument(
        "--feedback", choices=[*FEEDBACK.values(), POPULATION], default="full", help="what is seen (default: full)"
    )
    made.add_argument("--set", help="constraint set, such as ball or simplex (default: where most was measured)")
    made.add_argument("--loss", help="class of losses (smooth, kinked, linear, realizable, ...) or name of a stream")
    kinds = made.add_mutually_exclusive_group()
    for name, kind, text in (("stochastic", STOCHASTIC, "losses are drawn from one law"),
                             ("adversarial", OBLIVIOUS, "any sequence that is fixed beforehand")):  # fmt: skip
        kinds.add_argument(f"--{name}", action="store_const", dest="kind", const=kind, help=text)
    whence = "folder of results (default: results where a run has finished, else the committed reference)"
    made.add_argument("--results", type=Path, metavar="DIR", help=whence)
    made.add_argument("--format", choices=["text", "csv", "json"], default="text", help="(default: text)")
    made.add_argument("--json", action="store_const", dest="format", const="json", help="the same as --format json")
    made.add_argument(
        "--long",
        "--why",
        "--all",
        dest="why",
        action="store_true",
        help="every column, and of every other learner why it is not listed",
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Print advice; return the exit code."""
    options = parser().parse_args(arguments)
    names = ("rounds", "dimension", "epsilon", "window", "delta", "feedback", "set", "loss", "kind")
    cells, times, source = read_cells(options.results, ROOT)
    request = Request(**{name: getattr(options, name) for name in names})
    found = advise(request, cells, times, source, Bounds(ROOT / "datasets" / "cache"))
    print({"text": _text, "csv": _csv, "json": _json}[options.format](found, options.why), end="")
    return 0


def _json(found: Advice, why: bool) -> str:
    content = found.as_dict()
    if not why:
        del content["left_out"]
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _csv(found: Advice, why: bool) -> str:
    frame = pd.DataFrame([_record(place, each) for place, each in _ranked(found)])
    if why:
        reasons = [{"learner": name, "left out": text} for name, text in found.left_out.items()]
        frame = pd.concat([frame, pd.DataFrame(reasons)], ignore_index=True)
    return frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _record(place: int | None, each: Advised) -> dict[str, Any]:
    return {
        "rank": "" if place is None else str(place), "learner": each.learner, "protects": each.protects,
        "pure": each.pure, "regret": each.regret, "low": each.low, "high": each.high, "bound": each.bound,
        "calls": "; ".join(f"{name}={value:.3g}" for name, value in each.calls.items()),
        "microseconds": each.microseconds, "extrapolated": _extrapolated(each.extrapolated),
        "notes": "; ".join(each.notes),
    }  # fmt: skip


def _ranked(found: Advice) -> list[tuple[int | None, Advised]]:
    free: list[tuple[int | None, Advised]] = [(None, found.free)] if found.free else []
    return [*enumerate(found.learners, 1), *free]


def _extrapolated(ranges: Mapping[str, str]) -> str:
    return "; ".join(f"{WORDS[name]} measured: {text}" for name, text in ranges.items())


def _text(found: Advice, why: bool) -> str:
    request = found.request
    average = request.feedback in AVERAGES
    rows = [_line(place, each, found, why) for place, each in _ranked(found)]
    window = f"windows of {request.served} rounds" if request.served else "everything"
    kept = "pure eps-DP" if request.delta == 0 else f"eps at delta = {request.delta:g}"
    title = (
        f"{'n' if average else 'T'} = {request.rounds}, d = {size(request.dimension)}, eps = {request.epsilon:g} "
        f"({kept}), protecting {window}"
    )
    options = f" ({found.options})" if found.options else ""
    lines = [terminal(pd.DataFrame(rows), title)]
    if not why:
        lines.append(
            "~ extrapolated. --long adds ranges, the cost of a round, remarks, and why others are not listed.\n"
        )
    place = f"the stream {found.stream}{options}, set {found.set}: {found.losses}"
    lines.append(f"Predicted on {place}. From {found.source}.\n")
    word = "an excess risk" if average else "a regret"
    lines.append(f"A constant point, private for nothing, has {word} of about {significant(found.constant)}.\n")
    if found.others:
        lines.append(f"Also measured: {', '.join(found.others)} (--loss NAME).\n")
    if request.window is not None and request.served not in (0, request.window):
        lines.append(f"Windows are powers of two: {request.served} serves {request.window}.\n")
    if why:
        lines += ["\nNot listed:\n", *(f"  {name}: {text}\n" for name, text in found.left_out.items())]
    return "".join(f"{line}\n" for text in lines for each in text.splitlines() for line in folded(each))


def _line(place: int | None, each: Advised, found: Advice, long: bool) -> dict[str, str]:
    notes = [*each.notes, *(["not private"] if place is None else [])]
    if each.pure and found.request.delta > 0:
        notes.append("pure")
    if each.protects == "all" and found.request.served:
        notes.append("protects everything")
    if each.regret >= found.constant and place is not None:
        notes.append("no better than a constant point")
    cost = [f"{value:.3g} {CALL_WORDS[name]}{'s' * (f'{value:.3g}' != '1')}" for name, value in each.calls.items()]
    cost += [f"{each.microseconds:.3g} us"] if each.microseconds is not None else []
    shown = {
        "": "-" if place is None else str(place), "learner": each.learner,
        "excess risk" if found.request.feedback in AVERAGES else "regret":
            "~" * bool(each.extrapolated and not long) + significant(each.regret),
        "95 % interval": f"{significant(each.low)} to {significant(each.high)}",
        "proved bound": significant(each.bound) if each.bound is not None else DASH,
    }  # fmt: skip
    if not long:
        return shown
    cost_of = "cost of a fit" if found.request.feedback in AVERAGES else "cost of a round"
    ranges = {"extrapolated": _extrapolated(each.extrapolated), "remarks": "; ".join(notes)}
    return shown | {cost_of: ", ".join(cost) or DASH} | ranges
