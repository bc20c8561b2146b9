"""Trials of what results, tables and archives may hold; in the form of cases.py."""

from __future__ import annotations

import math
from pathlib import Path

import doors
from doors import COMPARE, TABLE, WORKS, cell, cut, edit, gated, gone, npz, put, rows, verified

ROW, TABLES = "lou_cheung_2020/runs/horizon/ftal.plain.parquet", "lou_cheung_2020/claims.csv"

STALE = {
    "a run as it was made": (verified(lambda _: None), f"{WORKS}.*as listed"),
    "verify: a table edited": (verified(edit(TABLES, "1,2", "1,3")), "claims.csv: changed since"),
    "verify: a space behind a table": (verified(edit(TABLES, "1,2", "1,2 ")), "claims.csv: changed since"),
    "verify: a row file cut": (verified(cut(ROW, 0.5)), "ftal.plain.parquet: changed since"),
    "verify: a file missing": (verified(gone(TABLES)), "claims.csv: missing"),
    "verify: a file more": (verified(put("lou_cheung_2020/more.csv")), "more.csv: not listed"),
    "verify: a link": (verified(lambda root: (root / "more").symlink_to("/etc/passwd")), "more: not listed"),
    "verify: a link in a circle": (verified(lambda root: (root / "a").symlink_to(root / "a")), "a: not listed"),
    "verify: the profile edited": (verified(edit("origin.json", "mine", "full")), "origin.json: changed since"),
    "verify: a list cut": (verified(cut("SHA256SUMS", 0.5)), "SHA256SUMS: edited or damaged"),
    "verify: an empty list": (verified(put("SHA256SUMS")), "SHA256SUMS: edited or damaged"),
    "verify: no list": (verified(gone("SHA256SUMS")), "no SHA256SUMS"),
    "verify: a list of a number": (verified(put("SHA256SUMS", "7")), "SHA256SUMS: edited or damaged"),
    "an archive as it was packed": (verified(lambda _: None, True), f"{WORKS}.*as listed"),
    "an archive cut": (verified(cut("a.tar.gz", 0.7), True), "a.tar.gz: "),
    "an archive of nothing": (verified(put("a.tar.gz"), True), "a.tar.gz: "),
    "an archive with bytes behind it": (
        verified(lambda folder: (folder / "a.tar.gz").open("ab").write(b"x" * 99), True),
        "a.tar.gz: .*(damaged|gzip)",
    ),
    "rows as they were written": (rows(), f"{WORKS}\\d+ rows"),
    "rows with a byte changed": (rows(after=lambda folder: flip(folder / "a.parquet")), "a.parquet: "),
    "rows cut": (rows(after=cut("a.parquet", 0.6)), "a.parquet: damaged"),
    "rows of a million brackets": (rows(after=put("a.parquet", "[" * 10**6)), "a.parquet: damaged"),
    "no rows": (rows(after=gone("a.parquet")), "no Parquet file"),
    "rows by another program": (
        rows(after=lambda folder: doors.damaged.ROWS.to_parquet(folder / "a.parquet")),
        "does not say what it was made with",
    ),
    "the same rows twice": (rows(lambda frame: doors.pd.concat([frame, frame])), "the same row twice"),
    "rows of two configurations": (
        rows(lambda frame: doors.pd.concat([frame, frame.assign(config_hash="x")])),
        "different configurations",
    ),
    "a column left out": (rows(lambda frame: frame.drop(columns="bound")), "missing columns bound"),
    "a column of words": (rows(lambda frame: frame.assign(regret="x")), "column regret holds"),
    "regret NaN": (rows(lambda frame: frame.assign(regret=math.nan)), "regret is nan"),
    "regret inf": (rows(lambda frame: frame.assign(regret=math.inf)), "regret is inf"),
    "violation -1": (rows(lambda frame: frame.assign(violation=-1.0)), "violation is -1"),
    "delta 2": (rows(lambda frame: frame.assign(delta=2.0)), "delta is 2"),
    "an npz cut": (npz(cut("tiny.npz", 0.5)), "tiny.npz: not a readable"),
    "an npz of text": (npz(put("tiny.npz", "hello")), "tiny.npz: not a readable"),
    "an npz with a byte changed": (npz(lambda folder: flip(folder / "tiny.npz", 200)), "tiny.npz: "),
    "an npz that pickles": (
        npz(lambda folder: doors.damaged.np.savez(folder / "tiny.npz", features=[{}], labels=[{}])),
        "tiny.npz: .*pickle",
    ),
}


def flip(path: Path, place: int = -300) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 255
    path.write_bytes(content)


C, J = "claims.csv", "jobs.csv"
GATES = {
    "equal tables": (gated(lambda _: None), f"{WORKS}all as in the reference"),
    **{
        f"results: {name}": (gated(change), said)
        for name, (change, said) in {
            "an interval of NaN": (
                cell(C, 2, "fitted_low", "nan"),
                "claims.csv:4: column fitted_low: 'nan' is no finite",
            ),
            "an interval of inf": (cell(C, 2, "fitted_high", "inf"), "'inf' is no finite number"),
            "an exponent moved by 5": (cell(C, 2, "fitted", "5.5"), "is not within its interval"),
            "an exponent and its interval moved by 5": (
                lambda folder: [cell(C, 2, f"fitted{end}", "5.5")(folder) for end in ("", "_low", "_high")],
                "fitted was .*is 5.5",
            ),
            "a verdict changed": (cell(C, 2, "verdict", "violated"), "verdict was .*is .violated"),
            "a verdict misspelt": (cell(C, 2, "verdict", "reproducd"), "unknown verdict 'reproducd'.*did you mean"),
            "a rate changed": (cell(C, 2, "rate", "T^0.9"), "rate was .*is 'T\\^0.9'"),
            "a tolerance flipped": (cell(C, 2, "tolerance", "-0.1"), "tolerance was 0.1, is -0.1"),
            "a line left out": (lambda folder: drop(folder / C, 3), "only in the reference"),
            "a line twice": (lambda folder: drop(folder / C, 3, twice=True), "stands twice"),
            "cut after 900 bytes": (cut(C, 900), "cut off|cells, the header has"),
            "empty": (put(C), "claims.csv: empty"),
            "the header alone": (
                lambda folder: (folder / C).write_text((folder / C).read_text().split("\n")[0] + "\n"),
                "only in the reference",
            ),
            "zero bytes": (put(C, bytes(500)), "claims.csv"),
            "not UTF-8": (put(C, b"\xff\xfe\n"), "claims.csv:1: not UTF-8"),
            "a column left out": (edit(C, ",verdict,", ",verdikt,"), "no column 'verdict'"),
            "a violation": (cell(J, 1, "violation", "0.5"), "violation of the set was .*is 0.5"),
            "a failed play": (cell(J, 1, "status", "failed: left its set"), "status was ok, is failed"),
            "a ledger of 5/3": (cell(J, 1, "delivered", "1.6667"), "delivered over claimed eps was .*is 1.6667"),
            "a scale of the noise": (cell(J, 1, "noise_scale", "99"), "scale of the noise was .*is 99"),
            "jobs of another profile": (edit(J, "ci,", "full,", 99), "results are of profile 'full'"),
            "no jobs": (gone(J), "jobs.csv"),
            "no claims": (gone(C), "claims.csv"),
        }.items()
    },
    **{
        f"reference: {name}": (gated(change, which="kept"), said)
        for name, (change, said) in {
            "cut in the middle": (cut(C, 0.5), "cut off|cells, the header has"),
            "no jobs": (gone(J), "jobs.csv: not there"),
        }.items()
    },
    "compare: damaged claims": (gated(cut(C, 700), COMPARE), "compare: .*claims.csv"),
    "compare: equal": (gated(lambda _: None, COMPARE), f"{WORKS}0 exponents moved"),
    "make claims: damaged": (gated(cut(C, 700), TABLE), "show: .*claims.csv"),
}


def drop(path: Path, place: int, twice: bool = False) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    lines[place : place + 1] = [lines[place]] * 2 if twice else []
    path.write_text("".join(lines), encoding="utf-8")
