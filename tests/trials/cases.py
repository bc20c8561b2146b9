"""The trials as data: class, name, what is done at which door, and what is expected to be said (a regular expression).

`WORKS + words` expects success with these words, everything else a refusal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import doors
import test_limits
import test_sums
from cases_of_results import GATES, STALE
from doors import WORKS, audit, config, fetched, options, paper, put, shown, text


class Trial(NamedTuple):
    """What is done, and what should be said."""

    kind: str
    name: str
    door: doors.Door
    expected: str


BOMB = "a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}]\n"
    for old, new in zip("abcdefg", "bcdefgh", strict=True)
)
HUGE = {
    **{
        f"{changes}"[:60]: (config(changes), message.replace("(", "\\(") if "GB" not in message else "limit ")
        for changes, _, message in test_limits.LARGE
    },
    "T = 2^40 as text": (config({"horizon": "2^37..2^40"}), "limit rounds"),
    "100,000 horizons": (config({"horizon": list(range(1, 100_001))}), "limit (values|nodes)|entries"),
    "an alias bomb": (text(BOMB), "mine.yaml:\\d+: .*more than 100,000 entries"),
    "10^5 brackets": (text("[" * 10**5), "nested more than 60 levels"),
    "a file of 8 MB": (text("a: " + "x" * (8 << 20)), "mine.yaml"),
    "seed of 10^5 digits": (text(f"seed: {'9' * 10**5}"), "mine.yaml:1"),
    "2^9999": (config({"horizon": "2^1..2^9999"}), "no number of a setting"),
    "audit of 10^9 runs": (config(audit={"runs": 10**9}), "audit.runs: .*limit runs"),
    "10^9 simulations": (config(validation={"simulations": 10**9}), "validation.simulations: .*limit runs"),
    "limits: 0": (config(limits={"rounds": 0}), "limits.rounds: must be greater than 0"),
    "limits: a word": (config(limits={"rounds": "many"}), "limits.rounds: must be a number"),
    "limits lifted": (config({"runs": 3}, limits={"runs": 10}), f"{WORKS}mine"),
    "--config limits=runs": (options(limits="runs"), "write limits=off or limits=rounds"),
    "--config limits=runs:x": (options(limits="runs:x"), "limits"),
    "--config limits=run:5": (options(limits="run:5"), "unknown key.*did you mean 'runs'"),
    "--config limits=off": (options(limits="off"), f"{WORKS}"),
}

TYPOS = {
    "no such learner": (config({"learners": {"ftla": ["plain"]}}), "unknown learner 'ftla'.*did you mean 'ftal'"),
    "no such variant": (config({"learners": {"ftal": ["plian"]}}), "unknown variant 'plian'.*did you mean 'plain'"),
    "no such set": (config({"set": "bal"}), "unknown set 'bal'.*did you mean 'ball'"),
    "no such stream": (config({"streams": ["norm-kinck"]}), "unknown stream 'norm-kinck'.*did you mean 'norm-kink'"),
    "no such sweep": (config({"sweep": "horizn"}), "sweep: must be one of .*did you mean 'horizon'"),
    "no such key": (config({"horizont": [4]}), "unknown key.*did you mean 'horizon'"),
    "no such key at the top": (config(sead=1), "unknown key.*did you mean 'seed'"),
    "no such paper": (config(papers={"lou_cheung": {"experiments": {}}}), "lou_cheung"),
    "the name of another profile": (config(profile="other"), "must be the name of its file, 'mine'"),
    "a reserved profile": (text("profile: reference\nseed: 1\npapers: {}", "reference.yaml"), "reference.yaml"),
    "a missing key": (config({"horizon": None}), "horizon: this key is missing"),
    "a key twice": (text("profile: mine\nseed: 1\nseed: 2\n"), "mine.yaml:3: seed: repeated key"),
    "a learner of another family": (config({"learners": {"noisy-gd": ["corrected"]}}), "needs family: erm"),
    "a window that is no power": (config({"window": [3]}), "must be a power of two.*write 2 or 4"),
    "a window longer than all": (config({"window": [1024]}), "larger than the largest horizon"),
    "a number for a list": (config({"horizon": 64}), "give a list"),
    "a value twice": (config({"horizon": [16, 16, 32, 64]}), "16 is given twice"),
    "too few cells": (config({"horizon": [16, 32]}), "too few cells for a fit"),
    "a range backwards": (config({"horizon": "2^9..2^6"}), "one base and a growing exponent"),
    "extends nothing": (text("profile: mine\nextends: smok\nonly: listed\n"), "did you mean 'smoke'"),
    "extends itself": (text("profile: mine\nextends: ./mine.yaml\n"), "extends itself"),
    "only nothing": (text("profile: mine\nextends: ci\nonly: [lou]\n"), "unknown name 'lou'"),
    "--config profil=ci": (options(profil="ci"), "unknown key.*did you mean 'profile'"),
    "--config profile=smok": (options(profile="smok"), "unknown profile 'smok'.*did you mean 'smoke'"),
    "--config profile=5": (options(profile=5), "give a name or the path"),
    **{
        f"{part}: {key} {value!r}"[:60]: (paper(part, **{key: value}), said)
        for part, key, value, said in (
            ("claim", "experiment", "horzon", "did you mean 'horizon'"),
            ("claim", "learner", "ftla.plain", "mean 'ftal'"),
            ("claim", "learner", "ftal.plian", "did you mean 'plain'"),
            ("claim", "stream", "norm-kinck", "mean 'norm-kink'"),
            ("claim", "where", {"epsilom": 8}, "did you mean 'epsilon'"),
            ("claim", "where", {"dimension": 5}, "is 5"),
            ("claim", "rate", "T^^2", "a rate is written like"),
            ("claim", "parameter", "horizn", "did you mean 'horizon'"),
            ("claim", "rates", "T", "unknown key.*did you mean 'rate'"),
            ("claim", "errata", ["E9"], "unknown erratum 'E9'"),
            ("claim", "id", None, "id: this key is missing"),
            ("row", "also", ["d"], "unknown claim 'd'"),
            ("row", "learner", "ftal.plan", "did you mean 'plain'"),
            ("reference", "experiment", "typicla", "mean 'typical'"),
            ("figure", "experiment", "horizo", "did you mean 'horizon'"),
            ("figure", "type", "regrets", "mean 'regret'"),
            ("exact", "crosing", "B.", "did you mean 'crossing'"),
            ("erratum", "experiment", "erata", "mean 'errata'"),
            ("erratum", "why", "after claims thm9-x", "cites unknown claim 'thm9-x'"),
            ("top", "claims", [], "claims: must not be empty"),
            ("top", "tables", [], "tables: must not be empty"),
            ("top", "problem", "onlin", "did you mean 'online'"),
            ("top", "paper", "x", "a paper is named by its folder"),
        )
    },
    "audit: no such learner": (audit(**{"dp-ftlr": {"losses": "flat"}}), "unknown private learner.*mean 'dp-ftrl'"),
    "audit: losses misspelt": (audit(**{"dp-ftrl": {"losses": "flatt"}}), "did you mean 'flat'"),
}

TRACEBACKS = {
    "eps 1e308": (config({"epsilon": [1e308]}), "epsilon\\[0\\]: .*limit epsilon"),
    "eps 5e-324": (config({"epsilon": [5e-324]}), "limit epsilon"),
    "eps 0": (config({"epsilon": [0.0]}), "must be greater than 0"),
    "eps NaN": (config({"epsilon": [math.nan]}), "epsilon"),
    "delta 1": (config({"delta": 1.0}), "delta: must be less than 1"),
    "delta NaN": (config({"delta": math.nan}), "delta"),
    "runs 1": (config({"runs": 1}), "runs: must be at least 2"),
    "runs 2.5": (config({"runs": 2.5}), "must be a whole number"),
    "runs a word": (config({"runs": "four"}), "runs: must be a whole number"),
    "seed -1": (config(seed=-1), "seed"),
    "dimension 0": (config({"dimension": [0]}), "must be greater than 0"),
    "growth inf": (
        config(
            papers={
                "talwar_2015": {
                    "experiments": {"x": {**test_limits.GROWTH, "dimension_growth": {"factor": math.inf, "power": 1.0}}}
                }
            }
        ),
        "growth",
    ),
    "an unhashable key": (text("? [1, 2]\n: 3\n"), "a key must be a short word"),
    "a key of a map": (text("? {a: 1}\n: 3"), "key"),
    "a date": (text("seed: 2026-01-01\n"), "mine.yaml:1: seed: must be a whole number"),
    "a tag": (text("a: !!python/object:os.x 1"), "mine.yaml:1"),
    "binary": (text("a: !!binary 4pyT\n"), "mine.yaml:1"),
    "a set": (text("a: !!set {x}\n"), "mine.yaml:1"),
    "an open bracket": (text("a: ["), "is not valid YAML"),
    "a tab": (text("a:\n\tb: 1"), "is not valid YAML"),
    "itself inside": (text("a: &a [*a]\n"), "contains itself"),
    "merge itself": (text("a: &a {<<: *a}\n"), "mine.yaml"),
    "zero bytes": (text(bytes(99)), "mine.yaml"),
    "UTF-16": (text("profile: mine".encode("utf-16")), "mine.yaml"),
    "empty": (text(""), "mine.yaml"),
    "a list": (text("- a"), "must be a mapping"),
    "a word": (text("hello"), "must be a mapping"),
    "null": (text("null"), "must be a mapping"),
    "papers null": (text("profile: mine\nseed: 1\npapers:\n"), "papers"),
    "papers a list": (text("profile: mine\nseed: 1\npapers: [1]"), "papers: must be a mapping"),
    "only a date": (text("extends: ci\nonly: 7"), "only"),
    "a surrogate": (text("profile: \udcff"), "mine.yaml"),
    "1_000": (config({"runs": "1_000"}), "runs: must be a whole"),
    "a link in a circle": (
        lambda folder: (
            (folder / "mine.yaml").symlink_to("mine.yaml"),
            doors.refused(lambda: doors.load_config(folder / "mine.yaml")),
        )[1],
        "mine.yaml: .*[Ss]ymbolic",
    ),
    "a folder": (lambda folder: doors.refused(lambda: doors.load_config(folder)), "folder|directory"),
    "no file": (lambda folder: doors.refused(lambda: doors.load_config(folder / "none.yaml")), "none.yaml"),
    "a fifo": (
        lambda folder: (
            doors.os.mkfifo(folder / "mine.yaml"),
            doors.refused(lambda: doors.load_config(folder / "mine.yaml")),
        )[1],
        "mine.yaml",
    ),
    "a device": (lambda folder: doors.refused(lambda: doors.load_config("/dev/zero")), "/dev/zero"),
    "rate T^(1/0)": (paper("claim", rate="T^(1/0)"), "claims.yaml:\\d+: .*rate is written"),
    "rate T^1e999": (paper("claim", rate="T^1e999"), "a rate is written like"),
    "where a list": (paper("claim", where={"epsilon": [1]}), "must be a number or a word"),
    "no rows of a table": (
        paper(
            "top", tables=[{"caption": "t", "reference": {"experiment": "typical", "stream": "norm-kink"}, "rows": []}]
        ),
        "rows: must not be empty",
    ),
    "LaTeX that reads files": (paper("row", bound_latex="\\input{/etc/passwd}"), "none of the commands allowed"),
    "an option that is none": (config({"options": {"no": 1}}), "options|unexpected|no option|mine.yaml"),
    "an option of the wrong kind": (config({"options": {"probability": "x"}}), "mine.yaml:\\d+"),
}

FETCH = {
    "the right file": (fetched(), f"{WORKS}tiny.npz"),
    **{f"url {url[:40]!r}": (fetched(url=url), "tiny.url: must be https://") for url in doors.web.BAD_URLS},
    "no digest": (fetched(sha256=None), "no SHA-256 is declared"),
    "one voucher": (fetched(vouched_by=doors.web.VOUCHERS[:1] * 2), "named: 1"),
    "a wrong digest": (fetched(sha256="0" * 64), "wrong sha256"),
    "truncated": (fetched("truncated/tiny.txt"), "incomplete"),
    "10^12 bytes announced": (fetched("huge/tiny.txt"), "at most 67108864"),
    "404": (fetched("missing/tiny.txt"), "404"),
    "endless": (fetched("endless/tiny.txt", bytes=10**6), "more than the 1000000 bytes"),
    "a web page": (fetched("page/tiny.txt"), "looks like a web page"),
    "a circle": (fetched("circle/tiny.txt"), "loop"),
    "to a file": (fetched("file/tiny.txt"), "not allowed"),
    "to http": (fetched("http/tiny.txt"), "which is not https"),
    "a bomb": (fetched("bomb/tiny.bz2", sha256_content=doors.web.CHECKSUM), "holds more than 3 rows"),
    "a name that is the npz": (fetched(url="https://host/tiny.npz"), "must not be called tiny.npz"),
    "10^14 numbers": (fetched(rows=10**7, columns=10**7), "are more than"),
    "a key misspelt": (fetched(sha265="x"), "mean 'sha256'"),
    "another file there": (fetched(before=put("tiny.txt", "x")), "wrong sha256"),
}

LEAVES = {
    f"{form}: {name[:24]!r}": (shown(form, name), WORKS + said)
    for form, said in (
        ("csv", r"(?m)\A(?!.*^\"?[=@\t])"),
        ("markdown", r"\A(?!.*<script)(?!.*\n\n# a)"),
        ("html", r"\A(?![\s\S]*<script>alert)"),
        ("latex", r"\A(?![\s\S]*\n[^%\n]*[^\\]\\(input|write))"),
        ("terminal", r"\A(?![\s\S]*[\x1b\x07\u202e])"),
    )
    for name in (
        "=1+1",
        "@SUM(A1)",
        "\t=1",
        "<script>alert(1)</script>",
        "\\input{a}",
        "a\x1b[2J\x07b\u202e",
        "\n\n# a",
    )
}
LEAVES |= {
    f"an archive: {name}": (
        lambda folder, each=name: doors.command(
            doors.sums.main, test_sums.pack(folder / "a.tar.gz", *test_sums.HOSTILE[each])
        ),
        "elsewhere|twice|no plain file|exists|larger|not in archives|no SHA256SUMS",
    )
    for name in test_sums.HOSTILE
    if name not in ("many", "large")
}

TRIALS = [
    Trial(kind, name, door, expected)
    for kind, group in (
        ("stale", STALE),
        ("gates", GATES),
        ("size", HUGE),
        ("typos", TYPOS),
        ("tracebacks", TRACEBACKS),
        ("fetch", FETCH),
        ("leaves", LEAVES),
    )
    for name, (door, expected) in group.items()
]
