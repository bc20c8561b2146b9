"""Mathematics in sentences: letters, powers and indices are shown, names and text of strangers stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpregret.paper_figs.text.formula import marked_up, unicode


@pytest.mark.parametrize(
    ("typed", "text", "page"),
    [
        ("window (eps, delta)-DP", "window (ε, δ)-DP", "window (ε, δ)-DP"),
        ("d^(1/4) sqrt(T) <= eps^-1", "d^(1/4) √T ≤ ε^−1", "d<sup>1/4</sup> √T ≤ ε<sup>−1</sup>"),
        ("sqrt(ln(1/delta))", "√(ln(1/δ))", "√(ln(1/δ))"),
        ("log2(W)^1.5 of A_W", "log2(W)^1.5 of A_W", "log<sub>2</sub>(W)<sup>1.5</sup> of A<sub>W</sub>"),
        ("mu_gdp, delta = 1e-06", "μ_gdp, δ = 1e-06", "μ<sub>gdp</sub>, δ = 10<sup>−6</sup>"),
        ("theta_(t+1) - theta_0", "θ_(t+1) − θ_0", "θ<sub>t+1</sub> − θ<sub>0</sub>"),
        ("the Gamma noise, Gamma^(1/3)", "the Gamma noise, Γ^(1/3)", "the Gamma noise, Γ<sup>1/3</sup>"),
        ("-0.06 [-0.07, -0.05]", "−0.06 [−0.07, −0.05]", "−0.06 [−0.07, −0.05]"),
        ("claim thm3-beta, delta.csv, noise_norm", *["claim thm3-beta, delta.csv, noise_norm"] * 2),
        ("docs/proofs/frank_wolfe.md --eps", *["docs/proofs/frank_wolfe.md --eps"] * 2),
        ("|x|^2/2 - <-eta s, x>", "|x|^2/2 − <−η s, x>", "|x|<sup>2</sup>/2 − &lt;−η s, x&gt;"),
        ("-norm of -x and -1", *["-norm of −x and −1"] * 2),
        ("Delta-strongly convex", *["Δ-strongly convex"] * 2),
    ],
)
def test_letters_powers_and_indices(typed: str, text: str, page: str) -> None:
    assert (unicode(typed), marked_up(typed)) == (text, page)


@given(st.text(alphabet="<>&\"'^_()ab12 eps\n-", max_size=40))
def test_no_markup_of_strangers_passes(text: str) -> None:
    rest = marked_up(text)
    for tag in ("sup", "sub"):
        assert rest.count(f"<{tag}>") == rest.count(f"</{tag}>")
        rest = rest.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    assert not set(rest) & set("<>\"'")
