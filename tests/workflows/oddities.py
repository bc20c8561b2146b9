"""Parts of a grammar: values and mappings that are mostly right, and texts that are mostly whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import yaml
from fuzzing import mostly
from hypothesis import strategies as st

Tree = st.SearchStrategy[Any]
NUMBERS = (0, -1, 10**30, -(10**30), 2**63, 2**40, 1e308, 5e-324, math.inf, -math.inf, math.nan, "2^0..2^9999", "9^9^9")
WORDS = ("", "horizon", "\u202e", "\x1b[2J", "a" * 3000, "nan", "1e3", "=1+1", "../../x", "ball", "off")
ODD: Tree = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.floats(),
    st.sampled_from(NUMBERS),
    st.sampled_from(WORDS),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
    st.just([[1]]),
    st.just({"a": {"b": []}}),
    st.just([1, 1]),
)


def one(*right: Any) -> Tree:
    return mostly(st.sampled_from(right), ODD)


def key(*right: str) -> Tree:
    """A key of a mapping."""
    return mostly(
        st.sampled_from(right), st.one_of(st.text(max_size=5), st.none(), st.integers(), st.just(math.inf)), 40
    )


def some(*right: Any, most: int = 3) -> Tree:
    return mostly(st.lists(one(*right), min_size=1, max_size=most, unique_by=str), ODD)


def entry(needed: Mapping[str, Tree], further: Mapping[str, Tree] | None = None) -> Tree:
    """A mapping with all that is needed, but for one key in a few draws, and some of the others."""

    def without(content: dict[str, Any], key: str | None) -> dict[str, Any]:
        return {name: each for name, each in content.items() if name != key}

    drawn = st.fixed_dictionaries(dict(needed), optional=dict(further or {}))
    left_out = mostly(st.none(), st.sampled_from([*needed, "x"]), 30)
    added = mostly(st.just({}), st.dictionaries(st.text(max_size=5), ODD, max_size=1), 30)
    return mostly(st.builds(lambda *parts: {**without(*parts[:2]), **parts[2]}, drawn, left_out, added), ODD, 60)


SPLICES = (
    "&a [*a]",
    "*a",
    "&x 1",
    "<<: *a",
    "!!python/object:os.system 1",
    "!!int x",
    "? [1]",
    ": 1",
    "- -",
    "\t",
    "{",
    "]",
    "%YAML 9",
    "---",
    "...",
    "'",
    '"\\x',
    "2026-01-01",
    "0x1F",
    "1_000",
    "!!binary x",
    "|",
    "# \u2028",
    "\ufeff",
)


@st.composite
def texts(draw: st.DrawFn, tree: Tree) -> str:
    """A file as YAML; once in a while with lines repeated, left out, or spliced in."""
    content = draw(tree)
    text = str(yaml.dump(content, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True))
    lines = text.split("\n")
    for _ in range(draw(mostly(st.just(0), st.integers(1, 3), 4))):
        place = draw(st.integers(0, len(lines) - 1))
        splice = draw(st.sampled_from(SPLICES))
        changes = [
            [lines[place]] * 2,
            [],
            [lines[place] + splice],
            [splice, lines[place]],
            [lines[place].lstrip()],
            [lines[place].partition(":")[0] + ": " + splice],
        ]
        lines[place : place + 1] = draw(st.sampled_from(changes))
        lines = lines or [""]
    return "\n".join(lines)
