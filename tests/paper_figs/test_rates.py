"""Rates are read as they are printed."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpregret.paper_figs.judge.vocabulary import Rate, parse

POWERS = st.one_of(
    st.sampled_from([-2.0, -1.0, -0.5, 0.25, 0.5, 1.0, 1.5, 2.5, 0.6667]),
    st.builds(lambda over, under: round(over / under, 10), st.integers(-9, 9), st.sampled_from([3, 6, 7])),
    st.floats(-1e6, 1e6, allow_nan=False),
).filter(bool)  # fmt: skip
SYMBOLS = st.sampled_from(["T", "n", "d", "p", "(log2 d)", "(log2 W + 1)", "G", "eps", "mu_gdp", "L*", "k"])


def rates() -> st.SearchStrategy[Rate]:
    powers = st.builds(Rate, SYMBOLS, POWERS)
    logs = st.builds(Rate, st.sampled_from(["T", "n", "d", "p"]), st.one_of(st.just(0.0), POWERS), POWERS,
                     st.just("parameter"), st.sampled_from(["ln", "log2"]))  # fmt: skip
    others = st.builds(Rate, st.sampled_from(["T", "n", "p"]), POWERS, POWERS,
                       st.sampled_from(["T/delta", "n/delta", "2np", "2p"]))  # fmt: skip
    alone = st.builds(Rate, st.just(""), st.just(0.0), POWERS, st.sampled_from(["T/delta", "2np", "2p"]))
    return st.one_of(powers, logs, others, alone, st.just(Rate()))


@settings(max_examples=50)
@example(rate=Rate("T", 1e6))  # printed as 1e+06
@given(rates())
def test_what_is_printed_is_read_again(rate: Rate) -> None:
    assert parse(str(rate)) == rate


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("1", Rate()),
        ("T", Rate("T", 1.0)),
        ("ln T", Rate("T", 0.0, 1.0)),
        ("T^0.5 ln(T)^1.5", Rate("T", 0.5, 1.5)),
        ("n^(-2/3) ln(n/delta)^2", Rate("n", -0.6666666667, 2.0, "n/delta")),
        ("ln(2p)", Rate("", 0.0, 1.0, "2p")),
        ("d log2(d)^1.5", Rate("d", 1.0, 1.5, "parameter", "log2")),
        ("(log2 W + 1)^1.5", Rate("(log2 W + 1)", 1.5)),
        ("eps^-1", Rate("eps", -1.0)),
        ("(log2 W + 1)^0.5 A_W", Rate("(log2 W + 1)", 0.5, nodes=True)),
    ],
)
def test_rates_of_the_papers(text: str, rate: Rate) -> None:
    assert parse(text) == rate
    assert str(rate) == text


@settings(max_examples=50)
@example(text="T^(1/0)")
@example(text="T^1e999")
@example(text="ln(T)^(-3/0)")
@given(st.one_of(st.text(max_size=12), st.text("Tnd^ln ().0123456789-/*", max_size=16)))
def test_anything_else_is_refused_in_words_or_read(text: str) -> None:
    rate = None
    with suppress(ValueError):
        rate = parse(text)
    if rate is not None:
        assert parse(str(rate)) == rate
        return
    with pytest.raises(ValueError, match=r"a rate is written like|logarithms are of"):
        parse(text)
