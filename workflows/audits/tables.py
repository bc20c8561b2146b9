"""The tables of the audit, and the gate that fails when the audit finds a mistake of ours.

`audit` has one row a learner and variant, `audit_pairs` one a pair of neighbouring inputs, `planted` one a planted bug.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dpregret.core import stamped
from dpregret.paper_figs import formats
from dpregret.workflows.audits.plan import broken, findings

CAUGHT = 0.95
TOLERANCE = 1e-5
"""Of exact and accounted values against the reference, which keeps six digits."""
CAPTION = (
    "Privacy of every private learner: eps as claimed, as its ledger proves it, exact for the transcript of the "
    "audit's neighbours, and the audited lower bound (significance 1e-6)."
)
PLANTED_CAPTION = "Mistakes made on purpose: how often the audit proves them, and how often it accuses the right code."


def write_audit(families: Sequence[Path], planted: Path, out: Path) -> None:
    """Write audit.*, audit_pairs.csv and planted.* into `out`."""
    pairs = pd.concat([stamped.read(path) for path in families], ignore_index=True)
    found = findings(pairs)
    formats.write_csv(pairs, out / "audit_pairs.csv")
    formats.write_csv(found, out / "audit.csv")
    formats.write_captioned(_audit_text(found), CAPTION, out, "audit")
    bugs = stamped.read(planted)
    formats.write_csv(bugs, out / "planted.csv")
    shown = bugs.astype({"repeats": str, "runs": str})
    for column in ("caught", "caught_at_least", "false_alarms"):
        shown[column] = [formats.significant(value) for value in bugs[column]]
    formats.write_captioned(shown, PLANTED_CAPTION, out, "planted")


def _audit_text(found: pd.DataFrame) -> pd.DataFrame:
    """What a reader needs of audit.csv, as text."""
    numbers = {
        title: [formats.significant(value) for value in found[column]]
        for title, column in (("eps claimed", "claimed"), ("delta", "delta"), ("eps accounted", "accounted"),
                              ("eps exact", "exact"), ("eps audited, at least", "audited"))
    }  # fmt: skip
    points = found[["audited", "power", "false_positive_rate"]].to_numpy()
    point = [f"{power:.3g} / {rate:.3g}" if audited > 0 else formats.DASH for audited, power, rate in points]
    return pd.DataFrame({
        "learner": found["learner"], "variant": found["variant"], **numbers, "finding": found["finding"],
        "worst pair": found["pair"], "operating point": point,
    })  # fmt: skip


def faults(found: pd.DataFrame, planted: pd.DataFrame, reference: pd.DataFrame) -> list[str]:
    """What must not be, in words: a ledger that is wrong, a blind or unjust audit, an accounting that moved.

    `reference` is an audit.csv too. What is audited there may differ (another number of runs); what is computed not.
    """
    wrong = broken(found)
    for bug in planted.to_dict("records"):
        if bug["caught"] < CAUGHT:
            wrong.append(f"planted bug {bug['bug']!r}: caught {bug['caught']:.0%} of the time")
        if bug["false_alarms"] > 0:
            wrong.append(f"planted bug {bug['bug']!r}: the right code was accused")
    key = ["family", "learner", "variant"]
    both = reference.merge(found, on=key, how="outer", suffixes=("_reference", ""), indicator=True)
    for row in both.to_dict("records"):
        name = f"{row['learner']}.{row['variant']}"
        if row["_merge"] != "both":
            wrong.append(f"{name}: only in the {'reference' if row['_merge'] == 'left_only' else 'new audit'}")
            continue
        for column in ("claimed", "accounted", "exact"):
            before, now = row[f"{column}_reference"], row[column]
            if not np.isclose(before, now, rtol=TOLERANCE, atol=0, equal_nan=True):
                wrong.append(f"{name}: {column} eps was {before:.6g} and is {now:.6g}")
    return wrong
