"""Findings of the audit: as text, as tables, and the gate that fails where one is a mistake of this project.

`audit` has one row a learner and variant, `audit_pairs` one a pair of neighbouring inputs, `planted` one a bug.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from dpregret.core import parquet
from dpregret.paper_figs.compare.gate import LEDGER
from dpregret.paper_figs.text import formats
from dpregret.paper_figs.text.formats import Form, read_table

ROUNDING = 1e-9
TELLING = 0.5
"""Share of the ledger that has to be shown from the outside, exactly or by the audit, for the audit to say anything."""
UNINFORMATIVE = "ledger within claim, audit uninformative"
UNJUDGED = "could not be judged"
BROKEN = "BROKEN"
REACHED = 1e-6
"""Rounding, in the share of the noise that reaches what is played."""
CAUGHT = 0.95
AUDIT = Form(
    needed=("finding",),
    key=("family", "learner", "variant"),
    filled=("claimed", "delta", "accounted", "audited"),
    numbers=("exact",),
)
PLANTED = Form(needed=(), key=("bug",), filled=("caught", "false_alarms"))
EXACT = Form(needed=("on",), key=("name",), filled=("claimed", "attained"))
CAPTION = (
    "Privacy of every private learner: eps as claimed, accounted by its ledger, exact for the transcript of the "
    "audit's neighbours, and the audited lower bound (significance 1e-6)."
)
PLANTED_CAPTION = (
    "Injected bugs: share of the repeats in which the audit catches the bug, and in which it accuses the correct code."
)


def findings(pairs: pd.DataFrame) -> pd.DataFrame:
    """One row a learner and variant with its finding as text: of the pair that proves most, a BROKEN one first."""
    numbers = pairs[["claimed", "accounted", "exact", "audited", "reached"]].to_numpy()
    key = ["family", "learner", "variant"]
    found = pairs.assign(
        finding=[finding(*row) for row in numbers], pairs=pairs.groupby(key)["audited"].transform("size")
    )
    found["weight"] = found["audited"].where(~found["finding"].str.startswith(BROKEN), math.inf)
    best = found.loc[found.groupby(key, sort=False)["weight"].idxmax()]
    columns = ["family", "learner", "variant", "claimed", "delta", "accounted", "exact", "audited", "finding", "pair",
               "pairs", "power", "false_positive_rate", "audited_mu", "runs", "significance", "reached"]  # fmt: skip
    return best[columns].reset_index(drop=True)


def finding(claimed: float, accounted: float, exact: float, audited: float, reached: float = math.nan) -> str:
    """The finding from the numbers. "keeps its claim": by its ledger, at least half of which is shown to be lost.

    What is shown to be lost is at most the exact loss, and that is at most what the ledger says: anything else is a
    contradiction, as is another noise in what is played than that of the plan.
    """
    if not (0 < claimed < math.inf and accounted >= 0 and audited >= 0) or exact < 0:
        return f"{UNJUDGED}: claimed {claimed:.3g}, ledger {accounted:.3g}, exact {exact:.3g}, audited {audited:.3g}"
    if audited > accounted * (1 + ROUNDING) or exact > accounted * (1 + ROUNDING):
        return f"{BROKEN}: loses more than the accounted eps"
    if audited > exact * (1 + ROUNDING):
        return f"{BROKEN}: more is shown to be lost than its exact loss"
    if abs(reached - 1) > REACHED:
        return f"{BROKEN}: {reached:.3g} times the noise of its plan reaches what is played"
    if accounted > claimed * (1 + ROUNDING):
        above = {"exact": exact, "audited": audited}
        losses = [f"{how} loss {_factor(lost / claimed)} times" for how, lost in above.items() if lost > claimed]
        if losses:
            return f"violates its claim: {', '.join([*losses, f'accounted {_factor(accounted / claimed)} times'])}"
        return f"not proved: accounted eps is {_factor(accounted / claimed)} times its claim"
    attained = np.fmax(exact, audited)
    text = "keeps its claim" if attained >= TELLING * accounted else UNINFORMATIVE
    return text if accounted >= 0.9 * claimed else f"{text}, spends {accounted / claimed:.2g} of its budget"


def _factor(ratio: float) -> str:
    """A ratio above 1 with three significant digits, or as many as show that it is."""
    texts = (f"{ratio:.{digits}g}" for digits in range(3, 18))
    return next(text for text in texts if text != "1")


def write_audit(families: Sequence[Path], planted: Path, out: Path) -> None:
    """Write audit.*, audit_pairs.csv and planted.* into `out`."""
    pairs = pd.concat([parquet.read(path) for path in families], ignore_index=True)
    table = findings(pairs)
    formats.write_csv(pairs, out / "audit_pairs.csv")
    formats.write_csv(table, out / "audit.csv")
    formats.write_captioned(_audit_text(table), CAPTION, out, "audit")
    bugs = parquet.read(planted)
    formats.write_csv(bugs, out / "planted.csv")
    cells = bugs.astype({"repeats": str, "runs": str})
    for column in ("caught", "caught_at_least", "false_alarms"):
        cells[column] = [formats.significant(value) for value in bugs[column]]
    formats.write_captioned(cells, PLANTED_CAPTION, out, "planted")


def _audit_text(table: pd.DataFrame) -> pd.DataFrame:
    """The columns of audit.csv for readers, as text; first what keeps no claim."""
    table = table.sort_values("finding", key=lambda values: values.map(_rank), kind="stable")
    numbers = {
        title: [formats.significant(value) for value in table[column]]
        for title, column in (
            ("eps claimed", "claimed"),
            ("delta", "delta"),
            ("eps accounted", "accounted"),
            ("eps exact", "exact"),
            ("eps audited, at least", "audited"),
        )
    }
    points = table[["audited", "power", "false_positive_rate"]].to_numpy()
    point = [f"{power:.3g} / {rate:.3g}" if audited > 0 else formats.DASH for audited, power, rate in points]
    return pd.DataFrame({
        "learner": table["learner"], "variant": table["variant"], **numbers, "finding": table["finding"],
        "worst pair": table["pair"], "operating point": point,
    })  # fmt: skip


def _rank(finding: str) -> int:
    """BROKEN before a violated claim before what could not be judged before all others."""
    first = ("BROKEN", "violates", "could not")
    return next((rank for rank, word in enumerate(first) if finding.startswith(word)), len(first))


@dataclass(frozen=True)
class Tables:
    """The result of an audit: audit.csv, planted.csv and exact_losses.csv."""

    audit: pd.DataFrame
    planted: pd.DataFrame
    exact: pd.DataFrame

    @classmethod
    def read(cls, audit: Path, exact: Path) -> Tables:
        """Read the tables in the folder `audit`, and the file `exact`; raises DamageError and OSError."""
        planted = read_table(audit / "planted.csv", PLANTED)
        return cls(read_table(audit / "audit.csv", AUDIT), planted, read_table(exact, EXACT))


def faults(now: Tables, before: Tables) -> list[str]:
    """Faults of an audit: a ledger that is wrong, a blind or unjust audit, an accounting that left its reference.

    What is audited may differ from the reference (another number of runs); what is computed, and which learners, bugs
    and losses there are, not.
    """
    wrong = now.audit.loc[now.audit["finding"].str.startswith((BROKEN, UNJUDGED))]
    problems = [
        f"{row.learner}.{row.variant}: ledger {row.accounted:.4g}, exact {row.exact:.4g}, audited {row.audited:.4g}"
        for row in wrong.itertuples()
    ]
    for bug in now.planted.to_dict("records"):
        if not bug["caught"] >= CAUGHT:
            problems.append(f"injected bug {bug['bug']!r}: caught {bug['caught']:.0%} of the time")
        if not bug["false_alarms"] <= 0:
            problems.append(f"injected bug {bug['bug']!r}: the right code was accused")
    problems += _changed(now.audit, before.audit, AUDIT.key, ("claimed", "delta", "accounted", "exact"))
    problems += _changed(now.planted, before.planted, PLANTED.key, ())
    problems += _changed(now.exact, before.exact, EXACT.key, ("claimed", "attained"))
    return problems


def _changed(now: pd.DataFrame, before: pd.DataFrame, key: Sequence[str], numbers: Sequence[str]) -> list[str]:
    """Rows of one side only, and computed numbers that differ from the reference."""
    problems = []
    both = before.merge(now, on=list(key), how="outer", suffixes=("_reference", ""), indicator=True)
    for row in both.to_dict("records"):
        name = ".".join(str(row[column]) for column in key if column != "family")
        if row["_merge"] != "both":
            problems.append(f"{name}: only in the {'reference' if row['_merge'] == 'left_only' else 'new audit'}")
            continue
        for column in numbers:
            old, new = row[f"{column}_reference"], row[column]
            if not np.isclose(old, new, rtol=LEDGER, atol=0, equal_nan=True):
                word = column if column == "delta" else f"{column} eps"
                problems.append(f"{name}: {word} was {old:.6g} and is {new:.6g}")
    return problems
