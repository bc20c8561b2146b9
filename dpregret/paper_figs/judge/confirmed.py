"""What became of a claim on seeds that nobody has chosen, as the tables of later runs read it (docs/method.md).

The table of a confirmation has a row for each line of the claims files. A row counts for a claim as long as nothing
has changed that decides its verdict: `digest` is the hash of that.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pandas as pd

from dpregret.paper_figs.judge import vocabulary as word
from dpregret.paper_figs.judge.claims import Claim
from dpregret.paper_figs.text.formats import Form, read_table

FOLDER, TABLE = "confirmation", "confirmation.csv"
"""The folder of a confirmation, in one of results, and its table."""
PROSE: Final = {"source", "statement", "changed", "undecided", "check", "tol_reason", "errata", "failure"}
"""Keys of a claim that decide no verdict."""
DIGITS: Final = 12
AGAINST: Final = 2
"""Seeds that have to decide the opposite before a verdict counts as contradicted."""
MATCHES, KEEPS, OUTGROWS, REFUTED = "matches", "keeps", "outgrows", "refuted"
WHOLE: Final = re.compile(r"(\d+) of (\d+)(?:, .*)?")
"""An agreement in words: seeds with the same verdict, of how many."""
SIDES: Final = {
    **dict.fromkeys((word.REPRODUCED, word.UP_TO_LOGS, word.SEEN_HERE, word.HOLDS), MATCHES),
    **dict.fromkeys((word.BELOW, word.ABOVE), KEEPS),
    **dict.fromkeys((word.STEEPER, word.STEEPER_HELD), OUTGROWS),
    **dict.fromkeys((word.VIOLATED, word.FAILS), REFUTED),
}
"""Verdict that decides -> its side; a verdict of another side is the opposite."""
EXACT, DETERMINISTIC = "exact", "deterministic"
"""Lines that no seed can move: decided by a ledger or an exact computation, or without randomness."""
CONFIRMED, IN_PART, CONTRADICTED, UNDECIDED = "confirmed", "in part", "contradicted", "undecided"
STATUSES: Final = (CONFIRMED, IN_PART, CONTRADICTED, UNDECIDED, EXACT, DETERMINISTIC)
"""The same verdict on every seed; on some; the opposite on `AGAINST` seeds or more; the reference decides nothing."""
NOT_CONFIRMED: Final = "not confirmed: changed or added since"
FORM: Final = Form(
    needed=("kind", "verdict", "agreement", "reason"),
    key=("paper", "claim"),
    filled=("seeds", "same", "inconclusive", "opposite"),
    allowed={"status": frozenset(STATUSES)},
)


def tally(judged: pd.DataFrame) -> tuple[int, int, int]:
    """Of lines of claims.csv with a verdict that fresh seeds judged: how many have the same on all, how many there are,
    and the number of seeds; zeros where none has."""
    column = judged["seeds"].fillna("") if "seeds" in judged else pd.Series("", index=judged.index)
    decided = judged["verdict"].isin(list(SIDES)) | judged["reason"].str.startswith(CONTRADICTED)
    found = [match for text in column[decided] if (match := WHOLE.fullmatch(str(text)))]
    whole = sum(match[1] == match[2] for match in found)
    return whole, len(found), max((int(match[2]) for match in found), default=0)


def digest(claim: Claim, settings: str) -> str:
    """12 hexadecimal digits of all that decides the verdict on a claim but code and seed.

    settings: hash of the settings of its experiment, without the seed; empty where the profile has none.
    """
    return hashlib.sha256(canonical([decisive(claim), settings]).encode()).hexdigest()[:DIGITS]


def decisive(claim: Claim) -> dict[str, Any]:
    """A claim without its prose."""
    return claim.model_dump(mode="json", exclude=PROSE) | {"kind": claim.kind}


def canonical(content: object) -> str:
    """The one text of some content: JSON with sorted keys and without spaces."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Agreement:
    """How fresh seeds judge a line. same, inconclusive, opposite: numbers of seeds; opposites: verdict -> seeds.

    A seed that decides for the same side in another word, or that decides where the reference does not, is in none of
    the three.
    """

    seeds: int
    same: int
    inconclusive: int
    opposite: int
    opposites: Mapping[str, int]
    status: str

    @classmethod
    def of(cls, reference: str, verdicts: Sequence[str]) -> Agreement:
        """Of the reference's verdict and one verdict a seed."""
        side = SIDES.get(reference, "")
        against = Counter(each for each in verdicts if side and SIDES.get(each, side) != side)
        same, opposite = sum(each == reference for each in verdicts), sum(against.values())
        open_ones = 0 if reference == word.INCONCLUSIVE else verdicts.count(word.INCONCLUSIVE)
        status = CONFIRMED if same == len(verdicts) else IN_PART
        if not side:
            status = UNDECIDED
        elif opposite >= AGAINST:
            status = CONTRADICTED
        return cls(len(verdicts), same, open_ones, opposite, against, status)

    def __str__(self) -> str:
        parts = [f"{self.same} of {self.seeds}"]
        if self.inconclusive:
            parts.append(f"{self.inconclusive} inconclusive")
        parts += [f"{count} {verdict}" for verdict, count in self.opposites.items()]
        if other := self.seeds - self.same - self.inconclusive - self.opposite:
            parts.append(f"{other} {'decided' if self.status == UNDECIDED else 'in other words'}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Confirmation:
    """The table of a confirmation, empty where there is none; rows: (paper, claim) -> its row."""

    rows: Mapping[tuple[str, str], Mapping[str, Any]]

    @classmethod
    def read(cls, folder: Path) -> Confirmation:
        """Of the committed tables of a profile. Raises DamageError for a table that cannot be trusted."""
        file = folder / FOLDER / TABLE
        if not file.exists():
            return cls({})
        rows = read_table(file, FORM).to_dict("records")
        return cls({(row["paper"], row["claim"]): {str(name): cell for name, cell in row.items()} for row in rows})

    def of(self, paper: str, claim: str, frozen: str) -> Mapping[str, Any] | None:
        """The row of a claim; None where it is not as it was when it was frozen, or has none."""
        row = self.rows.get((paper, claim))
        return row if row is not None and row["digest"] == frozen else None

    def agreement(self, paper: str, claim: str, frozen: str) -> str:
        """The agreement of fresh seeds with the verdict on a claim, in words; empty where nothing was confirmed."""
        row = self.of(paper, claim, frozen)
        if row is None:
            return NOT_CONFIRMED if self.rows else ""
        return str(row["agreement"] or row["status"])

    def overruled(self, paper: str, claim: str, frozen: str) -> str:
        """Why a verdict does not stand: fresh seeds contradict it; empty where they do not."""
        row = self.of(paper, claim, frozen)
        if row is None or row["status"] != CONTRADICTED:
            return ""
        return f"contradicted on fresh seeds, where it is {row['verdict']} on {row['agreement']}"

    def applied(self, judged: pd.DataFrame, paper: str, digests: Mapping[str, str]) -> pd.DataFrame:
        """Lines with the columns `frozen` and `seeds`; a contradicted verdict becomes inconclusive."""
        frozen = [digests.get(name, "") for name in judged["claim"]]
        pairs = list(zip(judged["claim"], frozen, strict=True))
        run = (judged["verdict"] != word.NOT_RUN) & (pd.Series(frozen, index=judged.index, dtype="str") != "")
        agreed = pd.Series([self.agreement(paper, *pair) for pair in pairs], index=judged.index).where(run, "")
        against = pd.Series([self.overruled(paper, *pair) for pair in pairs], index=judged.index)
        overruled = (against != "") & judged["verdict"].isin(list(SIDES))
        reasons = against + "; " + judged["reason"]
        return judged.assign(
            verdict=judged["verdict"].mask(overruled, word.INCONCLUSIVE),
            reason=judged["reason"].mask(overruled, reasons),
            frozen=frozen,
            seeds=agreed,
        )


NOTHING_CONFIRMED: Final = Confirmation({})
NO_DIGESTS: Final[Mapping[str, str]] = MappingProxyType({})
